# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Read-only holders, alone and beside a read-write one, and read-only devices.

T=$pods/ro/v U=$pods/ro/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
mkfs.xfs -q -f /dev/scratch1

for device in /dev/scratch0 /dev/scratch1; do
    fs_type=$(blkid -o value -s TYPE "$device")
    mount_with s0:c1,c2 ro $device "$T" 'ReadOnly b true'
    is_labeled "$fs_type: read-only alone: the label" "$T" s0:c1,c2
    like "$fs_type: read-only alone: ro" "$(flags "$T")" ,ro, ,nosuid, ,nodev,
    is "$fs_type: read-only alone: said so" "$(field ReadOnly)" true
    is "$fs_type: read-only alone: not tainted" "$(property ro Tainted)" false
    no "$fs_type: read-only alone: can't be written" touch "$T/file"
    mount_with s0:c1,c2 ro $device "$U"
    answers "$fs_type: read-write after read-only: shared" "$file_type:s0:c1,c2" '' context-mount context-shared
    yes "$fs_type: read-write after read-only: can be written" touch "$U/file"
    like "$fs_type: read-write after read-only: rw" "$(flags "$U")" ,rw,
    is "$fs_type: read-write after read-only: tainted" "$(property ro Tainted)" true
    no "$fs_type: read-write after read-only: the first stays read-only" touch "$T/file2"
    unmount_volume ro "$T"
    mount_with s0:c1,c2 ro $device "$T" 'ReadOnly b true'
    no "$fs_type: read-only after read-write: can't be written" touch "$T/file3"
    yes "$fs_type: read-only after read-write: the first still can" touch "$U/file3"
    unmount_volume ro "$U"
    unmount_volume ro "$T"
    forget_volume ro
done

mount_volume ro /dev/scratch0 "$T" 'MountOptions as 1 ro' 'SELinuxLevel s s0:c1' "$policy" "$supported"
is 'the mount option ro counts as ReadOnly' "$(field ReadOnly)" true
unmount_volume ro "$T"
forget_volume ro

mkfs.ext4 -q -F /dev/scratch0       # the old mark says tainted
blockdev --setro "$(realpath /dev/scratch0)"
mount_with s0:c1,c2 ro /dev/scratch0 "$T"
answers 'read-only device: mounted' "$file_type:s0:c1,c2" ''
is 'read-only device: read-only' "$(field ReadOnly)" true
is_labeled 'read-only device: the label' "$T" s0:c1,c2
like 'read-only device: ro' "$(flags "$T")" ,ro,
is 'read-only device: not tainted' "$(property ro Tainted)" false
unmount_volume ro "$T"
blockdev --setrw "$(realpath /dev/scratch0)"
clean read-only
