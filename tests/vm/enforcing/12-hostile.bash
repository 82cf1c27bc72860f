# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Users who can write to a raw block device can make file systems that do harm. The node goes on, nothing hangs, and
# selvol reports no volume as complete that is not.

T=$pods/hostile/v U=$pods/hostile/u
mkdir -p "$T" "$U"
disk=/dev/scratch0

# make [OPTION...]: makes an ext4 with a small tree
make() {
    mkfs.ext4 -q -F -b 1024 "$@" $disk
    mount $disk /mnt
    mkdir -p /mnt/concealed /mnt/loop/inside
    echo inner >/mnt/concealed/inner
    umount /mnt
}
# poke PATH-OF-DIRECTORY NAME OFFSET BYTES: writes the bytes at OFFSET from the name in the directory's first block
poke() {
    local block at
    block=$(debugfs -R "blocks $1" $disk 2>/dev/null | cut -d' ' -f1)
    at=$(dd if=$disk bs=1024 skip="$block" count=1 status=none | grep -obUaF "$2" | head -n 1 | cut -d: -f1)
    printf '%b' "$4" | dd of=$disk bs=1 seek=$((block * 1024 + at + $3)) conv=notrunc,fsync status=none
}
verify_fully() { volume_call VerifyLabel 'ssa{sv}' hostile "$1" -- 'Depth s full'; }
hostile() { mount_volume hostile $disk "$T" "$@"; }
goes_on() { yes "$1: the node goes on" answers_calls; }
is_incomplete() {
    no "$1: nothing is mounted" is_mounted "$T"
    unlike "$1: no mark says complete" "$(debugfs -R 'ea_get / trusted.selvol' $disk 2>/dev/null)" =complete
}

# The directory above calls this directory a file, so a walk does not reach the files in it.
make -O ^metadata_csum
poke / concealed -1 '\x01'
hostile 'FSGroup u 4242'
expect_error 'a directory said to be a file' EntriesFailed concealed damaged e2fsck
is_incomplete 'a directory said to be a file'
hostile "$always" 'SELinuxLevel s s0:c1,c2' 'RelabelBy s service'
expect_error 'a directory said to be a file, labels' EntriesFailed concealed damaged e2fsck
is_incomplete 'a directory said to be a file, labels'
forget_volume hostile

# The link count of the directory above does not give that away either: 2 says no directories, 1 says not counted.
for links in 2 1; do
    make -O ^metadata_csum
    poke / concealed -1 '\x01'
    debugfs -w -R "sif / links_count $links" $disk 2>/dev/null
    hostile "$always" 'SELinuxLevel s s0:c1,c2' 'RelabelBy s service'
    expect_error "a directory said to be a file, $links links" EntriesFailed concealed damaged e2fsck
    is_incomplete "a directory said to be a file, $links links"
    forget_volume hostile
done

# A directory contains itself. The kernel refuses to enter it there, and the walk has visited it above.
make -O ^metadata_csum,^dir_index
poke /loop inside -8 '\x02\x00\x00\x00'
hostile 'FSGroup u 4242'
is 'a directory in itself: there is an end to it, and what can be reached has the group' "$error$(stat -c %g "$T" "$T/loop" "$T/concealed/inner" | sort -u)" 4242
verify_fully ''
like 'a directory in itself: verified' "$error$reply" 'bsa{sv} true '
goes_on 'a directory in itself'
unmount_volume hostile "$T"
forget_volume hostile

# A directory is damaged, and the superblock asks the kernel to panic after an error.
make
tune2fs -e panic $disk >/dev/null
poke /concealed inner 0 'X'
mount_with s0:c1,c2 hostile $disk "$T"
answers 'a damaged directory: mounted' "$file_type:s0:c1,c2" ''
like 'a damaged directory: whatever the superblock says' "$(super "$T")" errors=remount-ro
no 'a damaged directory: it is noticed' ls "$T/concealed"
verify_fully "$file_type:s0:c1,c2"
unlike 'a damaged directory: not verified' "$error$reply" 'bsa{sv} true '
goes_on 'a damaged directory'
no 'a damaged directory: nothing is written any more' touch "$T/new"
unmount_volume hostile "$T"
is 'a damaged directory: unmounted' "$error" ''
hostile 'FSGroup u 4242'
like 'a damaged directory: no group for what is in there' "$error" Failed
unlike 'a damaged directory: a failure that says what to do' "$error" WorkerFailed
is_incomplete 'a damaged directory'
forget_volume hostile

# Names contain terminal sequences and characters that change the direction of text.
make
mount $disk /mnt
touch $'/mnt/one\033[2Jtwo' $'/mnt/three\342\200\256four'
chattr +i $'/mnt/one\033[2Jtwo' $'/mnt/three\342\200\256four'
umount /mnt
hostile 'FSGroup u 4242'
is 'names: refused, as they are immutable' "$error" EntriesFailed
like 'names: escaped' "$message" 'one\x1b[2Jtwo' 'three\xe2\x80\xaefour'
unlike 'names: no control character in the journal' "$(journalctl -q -b -o cat -u selvold -u selvol-worker | grep one)" $'\033'
forget_volume hostile

# Two disks have the same UUID. selvol does not take one for the other.
make -U 11111111-2222-3333-4444-555555555555
mkfs.ext4 -q -F -U 11111111-2222-3333-4444-555555555555 /dev/scratch1
mount_with s0:c1,c2 hostile $disk "$T"
answers "another disk's UUID: the one" "$file_type:s0:c1,c2" ''
mount_with s0:c3,c4 innocent /dev/scratch1 "$U"
answers "another disk's UUID: the other" "$file_type:s0:c3,c4" ''
is_labeled "another disk's UUID: the label of the one" "$T" s0:c1,c2
no "another disk's UUID: nothing of the one in the other" test -e "$U/concealed"
unmount_volume hostile "$T"
unmount_volume innocent "$U"
forget_volume hostile
forget_volume innocent

# The journal is on another device, which the kernel would open by a number in the superblock.
mke2fs -q -F -b 1024 -O journal_dev /dev/scratch1
mkfs.ext4 -q -F -b 1024 -J device=/dev/scratch1 $disk
refused 'a journal elsewhere' InvalidOption 'journal on another device' hostile

# The btrfs has two devices, and the caller names one.
wipefs -qa $disk /dev/scratch1
mkfs.btrfs -q -f $disk /dev/scratch1
refused 'a btrfs on two devices' NotSupported 'on several devices' hostile
wipefs -qa $disk /dev/scratch1

# The block of a directory on an xfs is overwritten.
mkfs.xfs -q -f $disk
mount $disk /mnt
mkdir /mnt/damaged
touch /mnt/damaged/{1..60}
umount /mnt
block=$(xfs_db -r -c 'path /damaged' -c bmap $disk | sed -n 's/.* startblock \([0-9]*\) .*/\1/p')
dd if=/dev/urandom of=$disk bs=4096 seek="$block" count=1 conv=notrunc,fsync status=none
hostile 'FSGroup u 4242'
like 'a damaged xfs: refused' "$error" Failed
no 'a damaged xfs: nothing is mounted' is_mounted "$T"
mount_with s0:c1,c2 hostile $disk "$T"
mark_says 'a damaged xfs: the mark' "$T" ' ownership=partial gid=4242 '
[[ -n $error ]] || verify_fully "$file_type:s0:c1,c2"
unlike 'a damaged xfs: not verified' "$error$reply" 'bsa{sv} true '
goes_on 'a damaged xfs'
unmount_volume hostile "$T"
wipefs -qa $disk /dev/scratch1
for directory in /dev/shm /dev/mqueue; do
    refused "an image in $directory" PathNotAllowed 'another file system than /dev' mount_volume hostile $directory/image "$T"
done
clean hostile
