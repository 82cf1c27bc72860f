# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Volumes that others have mounted, so that selvol has no records of these mounts.

T=$pods/foreign/v U=$pods/foreign/u W=$pods/foreign/w
mkdir -p "$T" "$U" "$W" /mnt/other /mnt/bind
mkfs.ext4 -q -F /dev/scratch0
mkfs.ext4 -q -F /dev/scratch1
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1

# A disk of the host's own is mounted outside of ForeignRoots=. selvol neither mounts it nor changes its files.
mkdir -p /var/lib/etcd
mount /dev/scratch0 /var/lib/etcd
echo cluster >/var/lib/etcd/secret
etcd=$(stat -c '%C %g %a %z' /var/lib/etcd /var/lib/etcd/secret)
refused "a disk of the host's" PathNotAllowed /var/lib/etcd mount_with s0:c1,c2 foreign /dev/scratch0 "$T"
refused "a disk of the host's: to relabel" PathNotAllowed /var/lib/etcd \
    mount_volume foreign /dev/scratch0 "$T" "$always" 'SELinuxLevel s s0:c1,c2'
refused "a disk of the host's: to give to a group" PathNotAllowed ForeignRoots= \
    mount_with s0:c1,c2 foreign /dev/scratch0 "$T" 'FSGroup u 1000'
is "a disk of the host's: nothing has changed" "$(stat -c '%C %g %a %z' /var/lib/etcd /var/lib/etcd/secret)" "$etcd"
no "a disk of the host's: nothing is mounted" is_mounted "$T"
rm /var/lib/etcd/secret
umount /var/lib/etcd
mkfs.ext4 -q -F /dev/scratch0
configure '[Worker]\nForeignRoots=/mnt'

mount -o "context=\"$file_type:s0:c1,c2\"" /dev/scratch0 /mnt/other
mount_with s0:c2,c1 foreign /dev/scratch0 "$T"
answers 'mounted with the same context: no conflict' "$file_type:s0:c1,c2" '' context-mount context-mount
is_labeled 'mounted with the same context: the label' "$T" s0:c1,c2
unmount_volume foreign "$T"
yes 'and only ours is unmounted' is_mounted /mnt/other
forget_volume foreign
refused 'mounted with another context' ContextConflict /mnt/other mount_with s0:c3,c4 foreign /dev/scratch0 "$T"
like 'not by us, which it says' "$message" 'not by selvol' "$file_type:s0:c1,c2"
refused 'wanted without a context' ContextConflict /mnt/other mount_volume foreign /dev/scratch0 "$T" "$always"
umount /mnt/other

mount /dev/scratch0 /mnt/other
refused 'mounted without a context' ContextConflict /mnt/other mount_with s0:c1,c2 foreign /dev/scratch0 "$T"
mkdir /mnt/other/sub
mount --bind /mnt/other/sub /mnt/bind
umount /mnt/other
refused 'a subdirectory is mounted elsewhere' ContextConflict /mnt/bind mount_with s0:c1,c2 foreign /dev/scratch0 "$T"
umount /mnt/bind
mount /dev/scratch0 "$U"
refused 'mounted beneath a target root' ContextConflict "$U" mount_with s0:c1,c2 foreign /dev/scratch0 "$T"
umount "$U"

# selvol can't see mounts in another mount namespace, but the kernel refuses to open the device exclusively.
unshare -m --propagation private sh -c 'mount /dev/scratch0 /mnt/other && echo mounted && exec sleep 1000' \
    </dev/null >"$scratch/hidden" 2>&1 &
hidden=$!
wait_for grep -q mounted "$scratch/hidden"
refused 'mounted where nobody sees it' Busy mountinfo mount_with s0:c1,c2 foreign /dev/scratch0 "$T"
end_process $hidden
forget_volume foreign

# A container has a copy of the host's mounts, and so still has the volume mounted after selvol has unmounted it.
mount_with s0:c1,c2 foreign /dev/scratch0 "$T"
unshare -m --propagation private sh -c 'echo copied && exec sleep 1000' </dev/null >"$scratch/copy" 2>&1 &
hidden=$!
wait_for grep -q copied "$scratch/copy"
unmount_volume foreign "$T"
is 'a copy is left: told' "$(field Unmounted) $(field StillOpen)" 'true true'
no 'a copy is left: unmounted here' is_mounted "$T"
like 'a copy is left: who has it' "$(selvolctl doctor)" "process $hidden (sleep) at $T"
mount_with s0:c2,c1 foreign /dev/scratch0 "$T"
answers 'a copy is left: mounted again' "$file_type:s0:c1,c2" '' context-mount context-mount
is_labeled 'a copy is left: the label' "$T" s0:c1,c2
unmount_volume foreign "$T"
refused 'a copy is left: another context' ContextConflict 'selvolctl doctor' mount_with s0:c3,c4 foreign /dev/scratch0 "$T"
end_process $hidden
mount_with s0:c3,c4 foreign /dev/scratch0 "$T"
is_labeled 'the copy has gone: the other context' "$T" s0:c3,c4
unmount_volume foreign "$T"
forget_volume foreign

mount /dev/scratch2 /mnt/other
btrfs -q subvolume create /mnt/other/one
btrfs -q subvolume create /mnt/other/two
umount /mnt/other
mount -o subvol=one /dev/scratch2 /mnt/other
refused 'another subvolume without a context' ContextConflict /mnt/other \
    mount_with s0:c1,c2 foreign /dev/scratch2 "$T" 'MountOptions as 1 subvol=two'
umount /mnt/other
mount -o "subvol=one,context=\"$file_type:s0:c1,c2\"" /dev/scratch2 /mnt/other
refused 'another subvolume with another context' ContextConflict /mnt/other \
    mount_with s0:c3,c4 foreign /dev/scratch2 "$T" 'MountOptions as 1 subvol=two'
refused 'btrfs would silently inherit the context' ContextConflict /mnt/other \
    mount_volume foreign /dev/scratch2 "$T" "$always" 'MountOptions as 1 subvol=two'
mount_with s0:c1,c2 foreign /dev/scratch2 "$T" 'MountOptions as 1 subvol=two'
is_labeled 'another subvolume with the same context' "$T" s0:c1,c2
unmount_volume foreign "$T"
umount /mnt/other

mount_with s0:c1,c2 foreign /dev/scratch0 "$T" 'Holder s first'
refused 'another id for the device, another context' ContextConflict "$T" mount_with s0:c3,c4 twin /dev/scratch0 "$U"
like 'which names the other volume and its holder' "$message" 'volume foreign' first
mount_with s0:c1,c2 twin /dev/scratch0 "$U"
answers 'another id for the device, same context' "$file_type:s0:c1,c2" '' context-mount context-mount
is_labeled 'another id for the device: the label' "$U" s0:c1,c2
unmount_volume twin "$U"
refused 'another source for the id' Incompatible scratch0 mount_with s0:c1,c2 foreign /dev/scratch1 "$U"
refused 'the target of another volume' InvalidTarget 'volume foreign' mount_with s0:c1,c2 twin /dev/scratch0 "$T"
refused 'another context for the same holder and target' Incompatible '' mount_with s0:c3,c4 foreign /dev/scratch0 "$T"
refused 'unmounting as another volume' InvalidTarget foreign unmount_volume twin "$T"
mkdir "$T/beneath"
mount -t tmpfs beneath "$T/beneath"
refused 'something is mounted beneath: busy' Busy "$T" unmount_volume foreign "$T"
umount "$T/beneath"

(cd "$T" && exec sleep 1000) </dev/null >/dev/null 2>&1 &
user=$!
wait_for eval '[[ $(readlink /proc/$user/cwd) == "$T" ]]'
refused 'somebody uses it: busy' Busy fuser unmount_volume foreign "$T"
end_process $user

# selvol does not unmount a mount of others on top of its own.
mount -t tmpfs over "$T"
unmount_volume foreign "$T"
is 'a mount over ours is left alone' "$(findmnt -n -o SOURCE "$T" | tail -n 1)" over
umount "$T"
is_mounted "$T" && umount "$T"
wait_for has_no_holder foreign
configure
clean foreign
