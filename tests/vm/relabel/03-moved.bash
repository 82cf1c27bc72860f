# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A volume brings its own truth along: nodes are states of selvold's. What a volume carries is hostile until checked.

T=$pods/moved/v state=/var/lib/selvol nodes=/root/nodes node=first
mkdir -p "$T"

# go_to NODE: a new one knows nothing
go_to() {
    systemctl stop selvold
    mkdir -p $nodes/$node $nodes/$1
    find $state -name 'state.db*' -exec mv -t $nodes/$node {} +
    find $nodes/$1 -name 'state.db*' -exec mv -t $state {} +
    node=$1
    systemctl start selvold
    wait_for 10 answers_calls
}
# next_try NAME REASON OPTION...: mounts, looks, unmounts
next_try() {
    mount_service s0:c1,c2 $volume $source "$T" "${@:3}"
    is "$1" "${error:-$(field Relabel) $(field RelabelReason)}" "$2"
    unmount_volume $volume "$T"
}
# a_journey FILE_SYSTEM DEVICE
a_journey() {
    local fs=$1 source=$2 volume=moved-$1 before total
    mount $source /mnt
    fill /mnt 40
    total=$(entries /mnt)
    umount /mnt
    next_try "$fs: first node" 'walked unknown'
    before=$(on_disk $source times /mnt)

    go_to second-$fs
    yes "$fs: second node: knows nothing" is_unknown $volume
    next_try "$fs: second node: skipped" 'skipped complete'
    is "$fs: second node: no entry is touched" "$(on_disk $source touched "$before" /mnt)" ''
    is "$fs: second node: knows it now" "$(property $volume LabelState)" '"complete"'
    mount_with s0:c1,c2 $volume $source "$T"
    record_says "$fs: second node: a context mount: the volume says tainted" "$T" ' tainted=yes '
    echo word >"$T/d0/new"
    unmount_volume $volume "$T"

    go_to first
    is "$fs: first node: believes that all is well" "$(property $volume LabelState) $(property $volume Tainted)" '"complete" false'
    mount_service s0:c1,c2 $volume $source "$T"
    is_walked "$fs: first node: but the volume says tainted" tainted
    is "$fs: first node: what is new is written" "$(field EntriesChanged)" 1
    unmount_volume $volume "$T"
    go_to third-$fs
    next_try "$fs: third node: skipped" 'skipped complete'

    # interrupted on one node, finished on another
    relabel $volume "$file_type:s0:c3" 'MaxEntriesPerSecond t 20'
    wait_for 20 job_has EntriesChanged 10 || echo "# $job: $(job_property EntriesChanged)"
    job_call Cancel ''
    is "$fs: third node: canceled" "$error$(job_property Result)" '"Canceled"'
    go_to fourth-$fs
    mount_service s0:c3 $volume $source "$T"
    is_walked "$fs: fourth node: finished there" partial
    like "$fs: fourth node: what is right already is not written again" " $(seq -s ' ' 1 $((total - 9))) " " $(field EntriesChanged) "
    all_labeled "$fs: fourth node: all have the label" "$T" "$file_type:s0:c3"
    unmount_volume $volume "$T"
    go_to first
    mount_service s0:c3 $volume $source "$T"
    is_skipped "$fs: first node: skipped"
    unmount_volume $volume "$T"
}

mkfs.ext4 -q -F /dev/scratch0
mkfs.xfs -q -f /dev/scratch1
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1
a_journey ext4 /dev/scratch0
a_journey xfs /dev/scratch1
a_journey btrfs /dev/scratch2

# ---- what the record may say -------------------------------------------------------------------------------

volume=moved-ext4 source=/dev/scratch0
text() { # GENERATION STATE TAINTED CONTEXT
    echo "version=1 generation=$1 label=$2 tainted=$3 ownership=unknown gid=0 context=$4"
}
good=$file_type:s0:c1,c2

# reports: what the journal has of records that are not as expected, and of one verdict
reports() { journalctl -q -o cat SELVOL_VOLUME=$volume MESSAGE_ID=6e843cc7510240deba9e1ad5b13d11da ${1:+SELVOL_VERDICT=$1}; }
are_reported() { (($(reports "$1" | wc -l) == $2)); }
# says NAME TEXT RESULT [VERDICT]: the volume carries this; the next mount's result; and whether it is in the journal
says() {
    local reported
    reported=$(reports "${4:-}" | wc -l)
    mount $source /mnt
    if [[ -n $2 ]]; then put_record /mnt "$2"; else setfattr -x trusted.selvol /mnt; fi
    umount /mnt
    next_try "$1" "$3"
    [[ -z ${4:-} ]] || soon "$1: it is in the journal" 5 are_reported "$4" $((reported + 1))
}
hostile() { says "hostile: $1" "$2" 'walked unknown' bad; }
next_try 'a good one to begin with' 'walked other-context'
next_try 'a good one' 'skipped complete'
hostile 'empty' '""'
hostile 'garbage' '"garbage"'
hostile 'not text' 0x0001feff
hostile 'escapes' "0x$(printf 'version=1 \e[2J\e]0;x\a generation=1' | od -An -v -tx1 | tr -d ' \n')"
hostile 'another version' "\"$(text 900 complete no "$good" | sed 's/version=1/version=2/')\""
hostile 'a number without bounds' "\"$(text 99999999999999999999 complete no "$good")\""
hostile 'a state that is none' "\"$(text 900 perfect no "$good")\""
hostile 'a context out of order' "\"$(text 900 complete no "$file_type:s0:c2,c1")\""
hostile 'a context that is none' "\"$(text 900 complete no none)\""
hostile 'something behind it' "\"$(text 900 complete no "$good") and=more\""
hostile 'a line' "0x$(text 900 complete no "$good" | od -An -v -tx1 | tr -d ' \n')"
hostile 'complete without a context' "\"$(text 900 complete no '')\""
hostile 'long' "\"$(text 900 complete no "$(printf '%3000s' '' | tr ' ' x)")\""

# Those that make sense
next_try 'the next one is good again' 'skipped complete'
mount $source /mnt
old=$(record /mnt)
umount /mnt
mount_with s0:c1,c2 $volume $source "$T"
unmount_volume $volume "$T"
says 'an old copy' "\"$old\"" 'walked unknown' rolled-back
says 'lost' '' 'walked unknown' missing
like 'what was there is escaped' "$(reports bad)" '\x1b[2J'
unlike 'wherever it is shown' "$(reports bad)" $'\e'
generation=$(on_disk $source record /mnt | sed 's/.*generation=\([0-9]*\).*/\1/')
says 'newer, and partial' "\"$(text $((generation + 10)) partial no "$good")\"" 'walked partial'
says 'newer, and tainted' "\"$(text $((generation + 20)) complete yes "$good")\"" 'walked tainted'
says 'newer, and complete for a context that the root does not have' \
    "\"$(text $((generation + 30)) complete no "$file_type:s0:c9")\"" 'walked other-context'
mount $source /mnt
chcon "$file_type:s0:c9" /mnt
umount /mnt
next_try 'complete, but the root has another label' 'walked root-differs'
next_try 'good in the end' 'skipped complete'

# What was found wrong on one node is not believed on another.
mount_service s0:c1,c2 $volume $source "$T"
chcon "$file_type:s0:c9" "$T/d1/f1"
volume_call VerifyLabel 'ssa{sv}' $volume '' -- 'Depth s full'
like 'verified: one is wrong' "$reply" 'bsa{sv} false' '"d1/f1"'
unlike 'verified: the volume says so too' " $(record "$T") " ' label=complete '
unmount_volume $volume "$T"
go_to fifth
mount_service s0:c1,c2 $volume $source "$T"
is 'another node: looks at all entries' "$error$(field Relabel) $(field EntriesChanged)" 'walked 1'
all_labeled 'another node: all have the label' "$T" "$good"
unmount_volume $volume "$T"
go_to first
rm -rf $nodes
clean moved
