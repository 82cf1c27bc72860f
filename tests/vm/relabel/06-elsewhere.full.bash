# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# selvold skips the walk only if nobody else has mounted the volume since. On each file system others mount the volume,
# with context= and without it, and selvold or the worker is killed, or others unmount the volume as at a shutdown.

T=$pods/elsewhere/v
U=$pods/elsewhere-too/v
mkdir -p "$T" "$U"

next() { # NAME RESULT
    mount_service s0:c1,c2 $volume $source "$T"
    is "$1" "${error:-$(field Relabel) $(field RelabelReason)}" "$2"
    all_labeled "$1: all have the label" "$T" "$file_type:s0:c1,c2"
    unmount_volume $volume "$T"
}
a_file_system() {
    local fs=$1 source=$2 volume=elsewhere-$1

    fill_disk $source 40
    next "$fs: first" 'walked unknown'
    next "$fs: nobody else" 'skipped complete'

    # selvold still trusts its own mounts after a process was killed.
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

    # Others mount the volume.
    mount -o "context=\"$file_type:s0:c7,c8\"" $source /mnt
    echo word >/mnt/new
    umount /mnt
    next "$fs: a context mount by hand" 'walked mounted-elsewhere'
    mount $source /mnt
    chcon "$file_type:s0:c9" /mnt/d0/f1
    umount /mnt
    next "$fs: a label changed by hand" 'walked mounted-elsewhere'
    next "$fs: and it is believed again" 'skipped complete'

    # Others unmount the volume, as at a shutdown. The mark has no fingerprint of xfs and btrfs.
    mount_service s0:c1,c2 $volume $source "$T"
    umount "$T"
    wait_for has_no_holder $volume
    if [[ $fs == ext4 ]]; then
        next "$fs: unmounted by hand" 'skipped complete'
    else
        next "$fs: unmounted by hand" 'walked mounted-elsewhere'
    fi
}

with_file_systems a_file_system ext4 xfs btrfs
clean elsewhere
