# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# selvol refuses bad input that only a kernel can recognize, and changes nothing.

T=$pods/bad/v I=/var/lib/selvol-images/bad
mkdir -p "$T" "$pods/bad/real" "$I/directory" /srv/outside
mkfs.ext4 -q -F /dev/scratch0
wipefs -qa /dev/scratch1
ln -sfn real "$pods/bad/link"
ln -sfn /srv/outside "$pods/bad/out"
: >"$pods/bad/file"
to() { mount_with s0:c1,c2 bad /dev/scratch0 "$1"; }
plan_with() { plan_volume bad /dev/scratch0 "$T" "SELinuxLevel s $1" "$policy" "$supported"; }
from() { mount_with s0:c1,c2 bad "$1" "$T" "${@:2}"; }

refused 'target outside the roots' PathNotAllowed TargetRoots= to /srv/outside
refused 'target with ..' InvalidTarget '' to "$pods/bad/../../../../../srv/outside"
refused 'target is a root' PathNotAllowed '' to /var/lib/kubelet/pods
refused "target is kubelet's own" PathNotAllowed TargetRoots= to /var/lib/kubelet/plugins_registry
refused 'target is a symbolic link' InvalidTarget 'symbolic link' to "$pods/bad/link"
refused 'target behind a symbolic link' InvalidTarget 'symbolic link' to "$pods/bad/out/v"
refused 'target does not exist' InvalidTarget 'does not exist' to "$pods/bad/none"
refused 'target is a file' InvalidTarget 'not a directory' to "$pods/bad/file"
mount -t tmpfs -o size=1m taken "$pods/bad/real"
refused 'target is a mount already' InvalidTarget 'is a mount already' to "$pods/bad/real"
umount "$pods/bad/real"

refused 'source does not exist' InvalidVolume 'does not exist' from /dev/nothing
refused 'source is a character device' InvalidVolume 'not a block device' from /dev/null
refused 'source is a directory' InvalidVolume 'neither a block device' from "$I/directory"
refused 'source outside the roots' PathNotAllowed SourceRoots= from /srv/outside
ln -sfn /dev/scratch0 "$I/link"
refused 'source is a link' PathNotAllowed 'followed beneath /dev only' from "$I/link"
truncate -s 1M /dev/shm/image
refused 'source is shared memory' PathNotAllowed 'another file system than /dev' from /dev/shm/image
rm /dev/shm/image
truncate -s 1M "$I/others"
chown 1000 "$I/others"
refused "source is somebody's image" PathNotAllowed ImagesOfOthers= from "$I/others"
# Root in a container can make such an image, which then belongs to root.
emptydir=$pods/bad/volumes/kubernetes.io~empty-dir/v
mkdir -p "$emptydir"
truncate -s 16M "$emptydir/image"
mkfs.ext4 -q -F "$emptydir/image"
refused 'source is in an emptyDir' PathNotAllowed SourceRoots= from "$emptydir/image"
configure '[Worker]\nSourceRoots=/var/lib/kubelet/pods'
refused 'source is in an emptyDir, and that is a source root' PathNotAllowed ImagesOfOthers= from "$emptydir/image"
configure
tune2fs -E mount_opts=debug /dev/scratch0
refused 'superblock asks for an option' InvalidOption "'debug' is not allowed" from /dev/scratch0
tune2fs -E mount_opts= -o bsdgroups /dev/scratch0
refused 'superblock sets the bit of an option' InvalidOption "'grpid' is not allowed" from /dev/scratch0
tune2fs -o ^bsdgroups /dev/scratch0
refused 'source has no file system' InvalidVolume 'has no file system' from /dev/scratch1
refused 'source has another file system' Incompatible ext4 from /dev/scratch0 'FSType s xfs'
refused 'source holds the host'\''s own system' PathNotAllowed "host's own system" from /dev/vda
refused 'file system that is not allowed' TypeNotAllowed proc from none 'FSType s proc'
truncate -s 1M "$I/empty"
refused 'an image without file system' InvalidVolume 'has no file system' from "$I/empty"
refused 'an option that is not allowed' InvalidOption suid from /dev/scratch0 'MountOptions as 1 suid'
refused 'an option of another file system' InvalidOption nouuid from /dev/scratch0 'MountOptions as 1 nouuid'
refused 'an option that smuggles a context' InvalidOption '' from /dev/scratch0 'MountOptions as 1 rootcontext=a:b:c:s0'
refused 'an option with a comma' InvalidOption '' from /dev/scratch0 'MountOptions as 1 noatime,suid'
# commit= is allowed, and only the kernel knows that this value is wrong.
refused 'a value that the kernel refuses' MountFailed '' from /dev/scratch0 'MountOptions as 1 commit=nonsense'

# Nodes of drivers, and rbd, have the type of /dev; mmcblk that of sticks.
disk=$(realpath /dev/scratch0)
for type in device_t removable_device_t; do
    chcon -t "$type" "$disk"
    yes "a disk of type $type" mount_with s0:c1,c2 bad /dev/scratch0 "$T"
    unmount_volume bad "$T"
    forget_volume bad
done
restorecon -F "$disk"
mknod /dev/to-be-denied b $(stat -L -c '0x%t 0x%T' /dev/scratch0)
chcon -t tape_device_t /dev/to-be-denied
refused 'a disk of a type that no disk has' SELinuxDenied 'of type tape_device_t' from /dev/to-be-denied
like 'a disk of such a type: the remedy' "$message" 'semanage fcontext -a -f b -t fixed_disk_device_t'
rm /dev/to-be-denied
chcon -t mnt_t "$T"
refused 'a target of a type that is not allowed' SELinuxDenied 'of type mnt_t' to "$T"
told=$message
refused 'a target of such a type: a plan' SELinuxDenied "$told" plan_with s0:c1,c2
restorecon -F "$T"
truncate -s 16M "$I/to-be-denied"
mkfs.ext4 -q -F "$I/to-be-denied"
chcon -t user_home_t "$I/to-be-denied"
refused 'an image of a type that is not allowed' SELinuxDenied 'of type user_home_t' from "$I/to-be-denied"
like 'an image of such a type: the remedy' "$message" "restorecon -RFx $I"
# The types of other files of the node
chcon -t var_lib_t "$I/to-be-denied"
refused 'to write an image of such a type' SELinuxDenied 'of type var_lib_t' from "$I/to-be-denied"
like 'to write such an image: the remedy' "$message" "restorecon -RFx $I" 'setsebool -P selvol_write_other_images on'
from "$I/to-be-denied" 'ReadOnly b true'
is 'to read one' "$error" ''
unmount_volume bad "$T"
setsebool selvol_write_other_images on
from "$I/to-be-denied"
is 'to write one, with the boolean' "$error" ''
unmount_volume bad "$T"
setsebool selvol_write_other_images off
restorecon -F "$I/to-be-denied"
is 'an image has its type' "$(label_of "$I/to-be-denied" | cut -d: -f3)" selvol_image_t
from "$I/to-be-denied"
is 'to write one of that type' "$error" ''
unmount_volume bad "$T"
no_loop_is_left 'to write one of that type'
forget_volume bad
rm "$I/to-be-denied"

context() { mount_volume bad /dev/scratch0 "$T" "SELinuxContext s $1" "$policy" "$supported"; }
refused 'a type that is not allowed' TypeNotAllowed LabelTypes= context system_u:object_r:shadow_t:s0
refused 'a context that is none' InvalidContext '' context system_u:object_r
refused 'a category that the policy does not have' InvalidContext '' context "$file_type:s0:c1024"
refused 'a level that the policy does not have' InvalidContext 'does not know' mount_with s1:c1,c2 bad /dev/scratch0 "$T"
told=$message
refused 'a level that the policy does not have: a plan' InvalidContext "$told" plan_with s1:c1,c2
configure '[Worker]\nLabelTypes=absent_file_t'
refused 'a type that the policy does not have' InvalidContext 'does not know' context system_u:object_r:absent_file_t:s0:c1
configure

mkfs.xfs -q -f /dev/scratch1
dd if=/dev/zero of=/dev/scratch1 bs=4k seek=1 count=64 conv=fsync status=none
refused 'a damaged file system' MountFailed '' from /dev/scratch1
wipefs -qa /dev/scratch1
rm -rf /srv/outside "$pods/bad" "$I"
clean refuse
