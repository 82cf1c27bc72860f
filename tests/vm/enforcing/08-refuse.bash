# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Bad input that needs SELinux or the machine's own disks to be seen as such. Nothing may change.

T=$pods/bad/v
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
wipefs -qa /dev/scratch1
from() { mount_with s0:c1,c2 bad "$1" "$T" "${@:2}"; }

# targets outside the roots, with .., that are a root, missing, a file, a mount, or behind a symbolic link: root /refuse/target
# kubelet's own directory as a target: unit /request/target/registry
# sources that are missing, no block device, a directory, a link, or outside the roots: root /refuse/source
# somebody's image, one in an emptyDir: root /refuse/images-of-others, /refuse/image-on-volume
# what a superblock asks for: root /refuse/superblock-asks
# another file system, none, or one that is not allowed: root /refuse/contents, /refuse/type; bus /daemon/bad/fs-type-other
# options: root /refuse/option, /refuse/bad-value; unit /mount-options/allow-list
# a context that is none, a category beyond all: unit /context/full/two-parts; bus /daemon/bad/category-range
truncate -s 1M /dev/shm/image
refused 'source is shared memory' PathNotAllowed 'another file system than /dev' from /dev/shm/image
rm /dev/shm/image
refused 'source has no file system' InvalidVolume 'has no file system' from /dev/scratch1
refused 'source holds the host'\''s own system' PathNotAllowed "host's own system" from /dev/vda

context() { mount_volume bad /dev/scratch0 "$T" "SELinuxContext s $1" "$policy" "$supported"; }
refused 'a type that is not allowed' TypeNotAllowed LabelTypes= context system_u:object_r:shadow_t:s0
configure '[Worker]\nLabelTypes=container_file_t absent_file_t'
refused 'a type that the policy does not have' InvalidContext 'does not know' context system_u:object_r:absent_file_t:s0:c1
configure

# a damaged file system
mkfs.xfs -q -f /dev/scratch1
dd if=/dev/zero of=/dev/scratch1 bs=4k seek=1 count=64 conv=fsync status=none
refused 'a damaged file system' MountFailed '' from /dev/scratch1
wipefs -qa /dev/scratch1
rm -rf "$pods/bad"
clean refuse
