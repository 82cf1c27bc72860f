# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A volume moves between nodes with its mark; each node here is a database of selvold's. selvold trusts no mark that it
# can't check.

T=$pods/moved/v state=/var/lib/selvol nodes=/root/nodes node=first
mkdir -p "$T"

# go_to NODE: exchanges the database; a new node has none
go_to() {
    systemctl stop selvold
    mkdir -p $nodes/$node $nodes/$1
    find $state -name 'state.db*' -exec mv -t $nodes/$node {} +
    find $nodes/$1 -name 'state.db*' -exec mv -t $state {} +
    node=$1
    bring_up start selvold
}
# next_try NAME REASON OPTION...: mounts, looks, unmounts
next_try() {
    mount_service s0:c1,c2 $volume $source "$T" "${@:3}"
    is "$1" "${error:-$(field Relabel) $(field RelabelReason)}" "$2"
    unmount_volume $volume "$T"
}
# comes_from_elsewhere NAME OPTION...: only a mark on ext4 has a fingerprint, which tells that nobody else had the
# volume
comes_from_elsewhere() {
    if [[ $fs == ext4 ]]; then next_try "$1" 'skipped complete' "${@:2}"; else next_try "$1" 'walked mounted-elsewhere' "${@:2}"; fi
}
# a_journey FILE_SYSTEM DEVICE
a_journey() {
    local fs=$1 source=$2 volume=moved-$1 before total
    fill_disk $source 40
    next_try "$fs: first node" 'walked unknown'
    before=$(on_disk $source times /mnt)

    go_to second-$fs
    yes "$fs: second node: knows nothing" is_unknown $volume
    comes_from_elsewhere "$fs: second node: believed if it can be"
    is "$fs: second node: no entry is touched" "$(on_disk $source touched "$before" /mnt)" ''
    is "$fs: second node: knows it now" "$(property $volume LabelState)" '"complete"'
    mount_with s0:c1,c2 $volume $source "$T"
    mark_says "$fs: second node: a context mount: the volume says tainted" "$T" ' tainted=yes '
    echo word >"$T/d0/new"
    unmount_volume $volume "$T"

    go_to first
    is "$fs: first node: believes that all is well" "$(property $volume LabelState) $(property $volume Tainted)" '"complete" false'
    mount_service s0:c1,c2 $volume $source "$T"
    is_walked "$fs: first node: but the volume says tainted" tainted
    is "$fs: first node: what is new is written" "$(field EntriesChanged)" 1
    unmount_volume $volume "$T"
    go_to third-$fs
    comes_from_elsewhere "$fs: third node: likewise"

    # The relabel is interrupted on one node and finished on another.
    relabel $volume "$file_type:s0:c3" 'MaxEntriesPerSecond t 10'
    wait_for job_has EntriesChanged 10 || echo "# $job: $(job_property EntriesChanged)"
    job_call Cancel ''
    is "$fs: third node: canceled" "$error$(job_property Result)" '"Canceled"'
    go_to fourth-$fs
    mount_service s0:c3 $volume $source "$T"
    is_walked "$fs: fourth node: finished there" partial
    like "$fs: fourth node: what is right already is not written again" \
        " $(written $fs $((total + 1)) "$(seq -s ' ' 1 $((total - 9)))") " " $(field EntriesChanged) "
    all_labeled "$fs: fourth node: all have the label" "$T" "$file_type:s0:c3"
    unmount_volume $volume "$T"
    go_to first
    mount_service s0:c3 $volume $source "$T"
    if [[ $fs == ext4 ]]; then is_skipped "$fs: first node: skipped"; else is_walked "$fs: first node: compared" mounted-elsewhere; fi
    unmount_volume $volume "$T"
}

with_file_systems a_journey ext4 xfs btrfs

# ---- contents of the mark ----------------------------------------------------------------------------------

volume=moved-ext4 source=/dev/scratch0
text() { # STATE TAINTED CONTEXT
    echo "version=2 @ label=$1 tainted=$2 ownership=unknown gid=0 context=$3"
}
good=$file_type:s0:c1,c2

# says NAME MARK RESULT: writes the mark, with inode and fingerprint for @, and the next mount has this result
says() {
    mount $source /mnt
    if [[ -n $2 ]]; then put_mark /mnt "${2//@/inode=2 fingerprint=$(fingerprint $source)}"; else setfattr -x trusted.selvol /mnt; fi
    umount /mnt
    next_try "$1" "$3"
}
hostile() { says "hostile: $1" "$2" 'walked unknown'; }
in_hex() { echo "0x$(od -An -v -tx1 | tr -d ' \n')"; }
next_try 'a good one to begin with' 'walked other-context'
says 'a good one, written by somebody else' "\"$(text complete no "$good")\"" 'skipped complete'
hostile 'empty' '""'
hostile 'garbage' '"garbage"'
hostile 'not text' 0x0001feff
hostile 'escapes' "$(printf 'version=2 \e[2J\e]0;x\a label=complete' | in_hex)"
hostile 'another version' "\"$(text complete no "$good" | sed 's/version=2/version=3/')\""
hostile 'a key of before' "\"$(text complete no "$good" | sed 's/version=2 @/version=1/')\""
hostile 'a number without bounds' "\"$(text complete no "$good" | sed 's/gid=0/gid=99999999999999999999/')\""
hostile 'a group beside a state that has none' "\"$(text complete no "$good" | sed 's/gid=0/gid=1000/')\""
hostile 'a state that is none' "\"$(text perfect no "$good")\""
hostile 'a context out of order' "\"$(text complete no "$file_type:s0:c2,c1")\""
hostile 'a context that is none' "\"$(text complete no none)\""
hostile 'something behind it' "\"$(text complete no "$good") and=more\""
hostile 'a line' "$(text complete no "$good" | in_hex)"
hostile 'complete without a context' "\"$(text complete no '')\""
hostile 'long' "\"$(text complete no "$(printf '%3000s' '' | tr ' ' x)")\""
unlike 'nothing of that is shown as it is' "$(journalctl -q -a -o cat -u selvold -u selvol-worker SELVOL_VOLUME=$volume)" $'\e'

# These marks are valid.
next_try 'the next one is good again' 'skipped complete'
says 'lost' '' 'walked unknown'
says 'partial' "\"$(text partial no "$good")\"" 'walked partial'
says 'tainted' "\"$(text complete yes "$good")\"" 'walked tainted'
says 'complete for a context that the root does not have' "\"$(text complete no "$file_type:s0:c9")\"" 'walked other-context'
mount $source /mnt
chcon "$file_type:s0:c9" /mnt
put_mark /mnt "\"$(text complete no "$good" | sed "s/@/inode=2 fingerprint=$(fingerprint $source)/")\""
umount /mnt
next_try 'complete, but the root has another label' 'walked root-differs'
says 'of another inode' "\"$(text complete no "$good" | sed "s/@/inode=3 fingerprint=/")\"" 'walked mounted-elsewhere'
next_try 'good in the end' 'skipped complete'

# One node finds a wrong label, and the next node does not skip the walk.
mount_service s0:c1,c2 $volume $source "$T"
chcon "$file_type:s0:c9" "$T/d1/f1"
volume_call VerifyLabel 'ssa{sv}' $volume '' -- 'Depth s full'
like 'verified: one is wrong' "$reply" 'bsa{sv} false' '"d1/f1"'
unlike 'verified: the volume says so too' " $(mark "$T") " ' label=complete '
journal_has 'verified: it is in the journal' SELVOL_VOLUME=$volume MESSAGE_ID=ca4bc256f440452789c93131cb1d70b6
unmount_volume $volume "$T"
go_to fifth
mount_service s0:c1,c2 $volume $source "$T"
is 'another node: looks at all entries' "$error$(field Relabel) $(field EntriesChanged)" 'walked 1'
all_labeled 'another node: all have the label' "$T" "$good"
unmount_volume $volume "$T"
go_to first
rm -rf $nodes
clean moved
