# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The power fails while selvol relabels one volume, and just after it has reported another one as done. Then the machine
# boots, first as another node with the same disks, and then as itself with its old database.

T=$pods/power/v state=/var/lib/selvol
mkdir -p "$T" "$pods/right/v"

# use_state: puts selvold's database on a scratch disk, which stays
use_state() {
    systemctl stop selvold
    mount -o "rootcontext=$(label_of $state)" /dev/scratch3 $state
    chown selvol: $state
    chmod 700 $state
    bring_up start selvold
}

# relabel_both: the walk over "half" is slow, and that over "whole" ends
relabel_both() {
    relabel half "$file_type:s0:c1,c2" 'MaxEntriesPerSecond t 10'
    wait_for job_has EntriesChanged 50
    relabel whole "$file_type:s0:c3,c4"
    job_call Wait ''
    echo "# before the power fails: $reply$error$message"
}

if ((SELVOL_GUEST_BOOT == 1)); then
    mkfs.ext4 -q -F /dev/scratch0
    mkfs.xfs -q -f /dev/scratch1
    mkfs.ext4 -q -F /dev/scratch3
    use_state
    for volume in half whole; do
        device=/dev/scratch0
        [[ $volume == half ]] || device=/dev/scratch1
        fill_disk $device 600
        mount_service s0:c10 $volume $device "$T"
        is_walked "$volume: before" unknown
        unmount_volume $volume "$T"
    done
    # This volume has right labels, and a pod uses it when the power fails.
    mkfs.ext4 -q -F /dev/scratch2
    mount_service s0:c5 right /dev/scratch2 "$T"
    unmount_volume right "$T"
    mount_service s0:c5 right /dev/scratch2 "$pods/right/v"
    is_skipped 'right: before'
    sync -f "$pods/right/v"
    cut_power_after relabel_both
fi

# Another node
half_and_half() { labels /mnt | cut -d: -f4- | sort; }
like 'half: the volume says partial' " $(on_disk /dev/scratch0 mark /mnt) " ' label=partial ' " context=$file_type:s0:c1,c2 "
like 'whole: the volume says complete' " $(on_disk /dev/scratch1 mark /mnt) " ' label=complete ' " context=$file_type:s0:c3,c4 "
total=$(on_disk /dev/scratch1 entries /mnt)
is 'whole: and it is' "$(on_disk /dev/scratch1 labels /mnt)" "$total $file_type:s0:c3,c4"
echo "# half: $(on_disk /dev/scratch0 half_and_half | xargs)"
yes 'another node: knows nothing' is_unknown whole
mount_service s0:c5 right /dev/scratch2 "$T"
is_skipped 'another node: right: ext4 is believed'
unmount_volume right "$T"
mount_service s0:c3,c4 whole /dev/scratch1 "$T"
is_walked 'another node: whole: xfs is compared' mounted-elsewhere
is 'another node: whole: and is right' "$(field EntriesChanged)" 0
unmount_volume whole "$T"
clean 'another node'

# The same node
use_state
is 'the same node: half: partial' "$(property half LabelState)" '"partial"'
is 'the same node: whole: complete' "$(property whole LabelState)" '"complete"'
is 'the same node: half: nothing is mounted' "$(left_mounts)$(property half Holders)" '0'
mount_service s0:c3,c4 whole /dev/scratch1 "$T"
is_walked 'the same node: whole: another node had it' mounted-elsewhere
unmount_volume whole "$T"
total=$(on_disk /dev/scratch0 entries /mnt)
mount_service s0:c1,c2 half /dev/scratch0 "$T"
is_walked 'the same node: half: finished' partial
is 'the same node: half: all are looked at' "$(field EntriesDone) $(field EntriesChanged)" "$total $total"
all_labeled 'the same node: half: all have the label' "$T" "$file_type:s0:c1,c2"
sees_all 'the same node: half: a container uses everything' s0:c1,c2 "$T"
unmount_volume half "$T"
clean power
systemctl stop selvold
umount $state
bring_up start selvold
