# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The mount table does not show that the device of a file system is gone, that the kernel has shut a file system down,
# or that ext4 has noted errors. The next operation tells the caller. Unmounting always works.

T=$pods/broken/v U=$pods/broken/u
mkdir -p "$T" "$U"
verify() { call VerifyLabel 'ssa{sv}' "$1" "$file_type:s0:c1,c2" 0; }

# all_refuse NAME WORD: the calls that rely on the file system fail
all_refuse() {
    mount_with s0:c1,c2 broken $source "$T"
    expect_error "$1: the mount again" MountFailed "$2" 'Unmount the volume everywhere'
    verify "$T"
    expect_error "$1: verified" MountFailed "$2"
    mount_with s0:c1,c2 broken $source "$U"
    is "$1: no further holder" "${error:+refused}" refused
    yes "$1: the holder is there still" is_held broken "$T"
}
ends() {
    unmount_volume broken "$T"
    is "$1: unmounted" "$error$(field Unmounted)" true
}
works_again() {
    mount_with s0:c1,c2 broken $source "$T"
    answers "$1: mounted again" "$file_type:s0:c1,c2" '' context-mount context-mount
    unmount_volume broken "$T"
}

source=/dev/scratch1
mkfs.xfs -q -f $source
mount_with s0:c1,c2 broken $source "$T"
xfs_io -x -c shutdown "$T"
all_refuse 'shut down' 'fails with EIO'
ends 'shut down'
works_again 'shut down'

# The id is for another disk from here on.
forget_volume broken
source=/dev/scratch2
mkfs.ext4 -q -F $source
mount_with s0:c1,c2 broken $source "$T"
name=$(basename "$(readlink -f $source)")
echo word >"/sys/fs/ext4/$name/trigger_fs_error"
mount_with s0:c1,c2 broken $source "$T"
# ext4 goes on read-only. Since Linux 6.12 it also counts as shut down.
if kernel_has 6.12; then
    expect_error 'errors of ext4: the mount again' MountFailed 'Unmount the volume everywhere'
else
    answers 'errors of ext4: the mount again' "$file_type:s0:c1,c2" '' context-mount context-mount
fi
# The kernel may note a second error when it writes the journal.
soon 'errors of ext4: in the journal' eval "journalctl -q -o cat SYSLOG_IDENTIFIER=selvol-worker |
    grep -qx '$T: ext4 has noted [12] errors on $name since it was checked last, and may take no more writes: see dmesg\\. Unmount the volume everywhere, and mount it again when e2fsck has checked it\\.'"
ends 'errors of ext4'
e2fsck -fy $source >/dev/null 2>&1

mount_with s0:c1,c2 broken $source "$T"
virtio=$(basename "$(readlink -f "/sys/block/$name/device")")
echo "$virtio" >/sys/bus/virtio/drivers/virtio_blk/unbind
all_refuse 'the device has gone' 'is gone'
ends 'the device has gone'
echo "$virtio" >/sys/bus/virtio/drivers/virtio_blk/bind
soon 'the device has gone: it is back' test -b $source
e2fsck -fy $source >/dev/null 2>&1
works_again 'the device has gone'
clean broken
