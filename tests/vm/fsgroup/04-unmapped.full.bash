# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Where the mount can't show another group, selvol changes the group of the files. Some file systems have a single
# group.

T=$pods/unmapped/v U=$pods/unmapped/u
mkdir -p "$T" "$U"

# With a user namespace the runtime makes an idmapped mount itself, so selvol must not.
mkfs.ext4 -q -F /dev/scratch1 32M
mount_group 1000 userns /dev/scratch1 "$T"
as_pod 1000 "$T" 'mkdir d0 && echo word >d0/file'
unmount_volume userns "$T"
mount_group 2000 userns /dev/scratch1 "$T" 'UserNamespace b true'
gives 'a user namespace' walked user-namespace
known 'a user namespace: what is known' 2000 2000 complete
unlike 'a user namespace: not idmapped' "$(flags "$T")" ,idmapped,
all_owned 'a user namespace: all files have the group' "$T" 2000
mount_group 3000 userns /dev/scratch1 "$U" 'UserNamespace b true'
expect_error 'a user namespace, while another pod relies on its group' GroupConflict "$T"
no 'a user namespace: nothing is mounted' is_mounted "$U"
all_owned 'a user namespace: the other pod keeps its files' "$T" 2000
unmount_volume userns "$T"
mount_group 2000 userns /dev/scratch1 "$T" 'UserNamespace b true'
gives 'a user namespace: the same again' skipped complete
unmount_volume userns "$T"

# Linux has idmapped mounts of tmpfs since 6.3.
mount_volume memory none "$T" 'FSType s tmpfs' 'MountOptions as 1 size=1m' 'FSGroup u 1000'
gives 'tmpfs: the first group' walked unknown
yes 'tmpfs: a process with it writes' as_pod 1000 "$T" 'mkdir d0 && echo word >d0/file'
mount_volume memory none "$U" 'FSType s tmpfs' 'FSGroup u 2000'
if kernel_has 6.3; then
    gives 'tmpfs: another group, while a pod relies on the first' mapped other-group
    known 'tmpfs: what is known' 2000 1000 complete
    all_owned 'tmpfs: all files have it' "$U" 2000
    all_owned 'tmpfs: the first pod keeps its files' "$T" 1000
    yes 'tmpfs: a process with it writes' as_pod 2000 "$U" 'echo more >>d0/file'
    unmount_volume memory "$U"
else
    expect_error 'tmpfs: another group, while a pod relies on the first' GroupConflict "$T"
    no 'tmpfs: nothing is mounted' is_mounted "$U"
fi
unmount_volume memory "$T"
mount_volume memory none "$T" 'FSType s tmpfs'
apply memory 1000
applied 'tmpfs: mounted for nobody, and given to a group' unknown
as_pod 1000 "$T" 'mkdir d0 && echo word >d0/file'
mount_volume memory none "$U" 'FSType s tmpfs' 'FSGroup u 2000'
if kernel_has 6.3; then
    gives 'tmpfs: another group' mapped other-group
    like 'tmpfs: another group: idmapped' "$(flags "$U")" ,idmapped,
    all_owned 'tmpfs: another group: not on the volume' "$T" 1000
else
    gives 'tmpfs: another group' walked no-idmap
    like 'tmpfs: another group: why' "$(field OwnershipDetail)" EINVAL tmpfs
fi
all_owned 'tmpfs: another group: all files have it' "$U" 2000
unmount_volume memory "$U"
unmount_volume memory "$T"

# ---- the file system's own option --------------------------------------------------------------------------

by_mount='FSGroupPolicy s Mount'
mkfs.vfat /dev/scratch3 >/dev/null
mount_with s0:c1,c2 vfat /dev/scratch3 "$T" 'FSGroup u 3000' "$by_mount"
gives 'vfat' option policy-mount
known 'vfat: what is known' 3000 3000 unknown
like 'vfat: the option' "$(super "$T")" ,gid=3000,
unlike 'vfat: nothing was looked at' "$reply" Entries
is_labeled 'vfat: the label' "$T" s0:c1,c2
yes 'vfat: a process with the group writes' as_pod 3000 "$T" 'mkdir d0 && echo word >d0/file && echo more >>d0/file'
no 'vfat: one without does not' as_pod 3001 "$T" 'echo more >>d0/file'
all_owned 'vfat: all files have the group' "$T" 3000
volume_call VerifyLabel 'ssa{sv}' vfat '' -- 'Depth s full'
unlike 'vfat: modes are not verified' "$error$reply" EntriesMisowned FSGroup
mount_with s0:c1,c2 vfat /dev/scratch3 "$U" 'FSGroup u 4000' "$by_mount"
expect_error 'vfat: another group meanwhile' GroupConflict "$T"
mount_with s0:c1,c2 vfat /dev/scratch3 "$U" 'FSGroup u 3000' "$by_mount"
gives 'vfat: the same group meanwhile' option policy-mount
unmount_volume vfat "$U"
unmount_volume vfat "$T"
mount_with s0:c1,c2 vfat /dev/scratch3 "$T" 'FSGroup u 4000' "$by_mount"
gives 'vfat: another group then' option policy-mount
yes 'vfat: another group then: it writes' as_pod 4000 "$T" 'echo more >>d0/file'
unmount_volume vfat "$T"
mount_group 5000 vfat-2 /dev/scratch3 "$T" 'FSGroupPolicy s File'
expect_error 'vfat can not be given to a group otherwise' EntriesFailed d0/file "'FSGroupPolicy=None' or 'Mount'"
no 'vfat can not be given to a group otherwise: nothing is mounted' is_mounted "$T"
refused 'ext4 has no such option' InvalidOption Mount mount_group 3000 userns /dev/scratch1 "$T" "$by_mount"
mount_volume memory none "$T" 'FSType s tmpfs' 'FSGroup u 3000' "$by_mount"
gives 'tmpfs: by its option' option policy-mount
yes 'tmpfs: by its option: a process with the group writes' as_pod 3000 "$T" 'mkdir d0 && echo word >d0/file'
all_owned 'tmpfs: by its option: files have the group' "$T" 3000
unmount_volume memory "$T"
clean unmapped
