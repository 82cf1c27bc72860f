# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A skip is believed only if nobody else had the volume since: what is mounted by hand, with a context and without, on each
# file system, and what an end of selvold or of the worker, or a shutdown, does to what is kept.

T=$pods/elsewhere/v
U=$pods/elsewhere-too/v
mkdir -p "$T" "$U"

# next NAME RESULT: mounts, looks, unmounts
next() {
    mount_service s0:c1,c2 $volume $source "$T"
    is "$1" "${error:-$(field Relabel) $(field RelabelReason)}" "$2"
    all_labeled "$1: all have the label" "$T" "$file_type:s0:c1,c2"
    unmount_volume $volume "$T"
}
a_file_system() {
    local fs=$1 source=$2 volume=elsewhere-$1

    mount $source /mnt
    fill /mnt 40
    umount /mnt
    next "$fs: first" 'walked unknown'
    next "$fs: nobody else" 'skipped complete'

    # What is alive and ours is believed, whatever ends.
    mount_service s0:c1,c2 $volume $source "$T"
    systemctl kill -s KILL selvold
    wait_for answers_calls
    mount_service s0:c1,c2 $volume $source "$U"
    is_skipped "$fs: beside, after selvold was killed"
    systemctl kill -s KILL selvol-worker
    wait_for answers_calls
    unmount_volume $volume "$U"
    unmount_volume $volume "$T"
    next "$fs: after that" 'skipped complete'

    # kubelet's, or an administrator's
    mount -o "context=\"$file_type:s0:c7,c8\"" $source /mnt
    echo word >/mnt/new
    umount /mnt
    next "$fs: a context mount by hand" 'walked mounted-elsewhere'
    mount $source /mnt
    chcon "$file_type:s0:c9" /mnt/d0/f1
    umount /mnt
    next "$fs: a label changed by hand" 'walked mounted-elsewhere'
    next "$fs: and it is believed again" 'skipped complete'

    # Unmounted by somebody else, as at a shutdown: of xfs and btrfs nothing is kept.
    mount_service s0:c1,c2 $volume $source "$T"
    umount "$T"
    wait_for has_no_holder $volume
    if [[ $fs == ext4 ]]; then
        next "$fs: unmounted by hand" 'skipped complete'
    else
        next "$fs: unmounted by hand" 'walked mounted-elsewhere'
    fi
}

mkfs.ext4 -q -F /dev/scratch0
mkfs.xfs -q -f /dev/scratch1
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1
a_file_system ext4 /dev/scratch0
a_file_system xfs /dev/scratch1
a_file_system btrfs /dev/scratch2
clean elsewhere
