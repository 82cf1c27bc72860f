# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# On each file system selvol makes a context mount, leaves no trace of it, and makes another one with another context.

T=$pods/fs/v U=$pods/fs/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
mkfs.xfs -q -f /dev/scratch1
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1
mkfs.vfat /dev/scratch3 >/dev/null
mount /dev/scratch2 "$T"
btrfs -q subvolume create "$T/one" && echo one >"$T/one/file"
btrfs -q subvolume create "$T/two"
umount "$T"
truncate -s 40M /var/lib/selvol-images/image
mkfs.ext4 -q -F /var/lib/selvol-images/image

# round NAME FSTYPE SOURCE OPTION...
round() {
    local name=$1 fs_type=$2 source=$3 mounts
    shift 3
    mounts=$(mount_table)
    mount_with s0:c1,c2 "fs-$name" "$source" "$T" "$@"
    answers "$name: mounted with a context" "$file_type:s0:c1,c2" '' context-mount context-mount
    is "$name: the type" "$(field FSType)" "$fs_type"
    is_labeled "$name: the label" "$T" s0:c1,c2
    like "$name: nosuid and nodev" "$(flags "$T")" ,nosuid, ,nodev, ,rw,
    yes "$name: can be written" touch "$T/new"
    # vfat and NFS can't carry the mark.
    [[ $fs_type == vfat || $fs_type == nfs4 ]] || is "$name: tainted" "$(property "fs-$name" Tainted)" true
    unmount_volume "fs-$name" "$T"
    is "$name: the mount table is as before" "$(mount_table)" "$mounts"
    no_loop_is_left "$name"
    mount_with s0:c3,c4 "fs-$name" "$source" "$T" "$@"
    is_labeled "$name: another label then" "$T" s0:c3,c4
    unmount_volume "fs-$name" "$T"
    is "$name: unmounted" "$(field Unmounted)" true
}

round ext4 ext4 /dev/scratch0
round xfs xfs /dev/scratch1
round btrfs btrfs /dev/scratch2
round btrfs-subvolume btrfs /dev/scratch2 'MountOptions as 1 subvol=one'
mount_with s0:c1,c2 fs-btrfs-subvolume /dev/scratch2 "$T" 'MountOptions as 1 subvol=one'
is 'btrfs-subvolume: it is that one' "$(cat "$T/file")" one
unmount_volume fs-btrfs-subvolume "$T"
round vfat vfat /dev/scratch3
round tmpfs tmpfs none 'FSType s tmpfs' 'MountOptions as 1 size=1m'
round image ext4 /var/lib/selvol-images/image

mount_with s0:c1,c2 fs-image /var/lib/selvol-images/image "$T"
mount_with s0:c1,c2 fs-image /var/lib/selvol-images/image "$U"
answers 'image: shared' "$file_type:s0:c1,c2" '' context-mount context-shared
is 'image: by one loop device' "$(loops | wc -l)" 1
unmount_volume fs-image "$U"
# Another image takes the path while the first one is mounted.
mv /var/lib/selvol-images/image /var/lib/selvol-images/held
cp /var/lib/selvol-images/held /var/lib/selvol-images/image
refused 'image: replaced' Incompatible 'the image with inode' mount_with s0:c1,c2 fs-image /var/lib/selvol-images/image "$U"
mv /var/lib/selvol-images/held /var/lib/selvol-images/image
mount_with s0:c1,c2 fs-image /var/lib/selvol-images/image "$U"
answers 'image: the same again' "$file_type:s0:c1,c2" '' context-mount context-shared
unmount_volume fs-image "$T"
unmount_volume fs-image "$U"
no_loop_is_left 'image: the last holder has gone'

if start_nfs_server </dev/null >"$scratch/nfs-server" 2>&1; then
    refused 'nfs: without leave to use the network' NotSupported selvol-worker-network.conf \
        mount_with s0:c1,c2 fs-nfs 127.0.0.1:/ "$T" 'FSType s nfs4'
    allow_network
    round nfs nfs4 127.0.0.1:/ 'FSType s nfs4' 'MountOptions as 1 vers=4.2'
    mount_with s0:c1,c2 fs-nfs 127.0.0.1:/ "$T" 'FSType s nfs4'
    like 'nfs: a superblock of its own' "$(super "$T")" ,nosharecache,
    mount_with s0:c3,c4 fs-nfs-2 127.0.0.1:/ "$U" 'FSType s nfs4'
    is_labeled 'nfs: another context besides, as another volume' "$U" s0:c3,c4
    is_labeled 'nfs: the first keeps its label' "$T" s0:c1,c2
    unmount_volume fs-nfs "$T"
    unmount_volume fs-nfs-2 "$U"
    mount_volume fs-nfs 127.0.0.1:/ "$T" 'FSType s nfs4' 'SELinuxLevel s s0:c1,c2' "$always"
    answers 'nfs: Always: there is nothing to relabel' '' '' none no-seclabel
    unmount_volume fs-nfs "$T"
    forbid_network
else
    not_ok 'nfs: a server in the guest' "$(<"$scratch/nfs-server")"
fi
clean 'file systems'
