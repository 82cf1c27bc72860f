# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2034,SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The files have one group, and the next pod another. The mount shows the other group, and no file changes.

T=$pods/mapped/v U=$pods/mapped/u
mkdir -p "$T" "$U" "$U-2"

# a_change FILE_SYSTEM DEVICE
a_change() {
    local fs=$1 source=$2 volume=mapped-$1 total before
    fill_disk $source 40
    mount_group 1000 $volume $source "$T"
    gives "$fs: the first group" walked unknown
    total=$(entries "$T")
    unmount_volume $volume "$T"
    before=$(on_disk $source times /mnt)

    mount_group 2000 $volume $source "$T"
    gives "$fs: the second group" mapped other-group
    known "$fs: what is known" 2000 1000 complete
    unlike "$fs: nothing was looked at" "$reply" Entries
    like "$fs: the mount is idmapped" "$(flags "$T") $(findmnt -n -o OPTIONS "$T")" ,idmapped, ,nosuid, ,nodev, 'idmapped'
    like "$fs: the holder's groups" "$(property $volume Holders)" '"FSGroup" u 2000 "DiskGroup" u 1000'
    is "$fs: all show the second group" "$(groups_of "$T")" "$total 2000"
    is "$fs: no entry is touched" "$(touched "$before" "$T")" ''
    pod_uses "$fs: a process with the second group uses everything" 2000 "$T" second
    pod_sees_nothing "$fs: one with the first group does not" 1000 "$T"
    is "$fs: new files show the second group" "$(stat -c %g "$T"/second "$T"/second.d{,/file,/link} | sort | uniq -c | xargs)" '4 2000'
    # A file with the first group on the mount has the second group on disk, so the groups are swapped.
    chgrp 1000 "$T/second.d/file"
    is "$fs: the groups are swapped" "$(stat -c %g "$T/second.d/file")" 1000
    chgrp 2000 "$T/second.d/file"
    total=$(entries "$T")
    unmount_volume $volume "$T"
    is "$fs: on the disk, new files have the first group too" "$(on_disk $source groups_of /mnt)" "$total 1000"

    # The mount for the third group is a context mount, too.
    before=$(on_disk $source times /mnt)
    mount_with s0:c1,c2 $volume $source "$T" 'FSGroup u 3000'
    answers "$fs: the third group, with a context mount" "$file_type:s0:c1,c2" '' context-mount context-mount
    gives "$fs: the third group" mapped other-group
    known "$fs: the third group: what is known" 3000 1000 complete
    is_labeled "$fs: the third group: the label" "$T" s0:c1,c2
    is "$fs: all show the third group, and the label" "$(groups_of "$T"), $(labels "$T")" "$total 3000, $total $file_type:s0:c1,c2"
    # selvol writes "tainted" into the mark, which is on the root.
    is "$fs: the third group: no entry is touched" "$(touched "$before" "$T" | grep -vx "$(inodes "$T")")" ''
    pod_uses "$fs: a process with the third group uses everything" 3000 "$T" third
    yes "$fs: what the second pod has made, too" as_pod 3000 "$T" 'cat second >/dev/null && echo more >>second && rm second.d/file'
    pod_sees_nothing "$fs: one with the second group does not" 2000 "$T"
    is "$fs: new files have group and label" "$(stat -c '%g %C' "$T"/third.d/file)" "3000 $file_type:s0:c1,c2"
    total=$(entries "$T")
    unmount_volume $volume "$T"

    mount_group 1000 $volume $source "$T"
    gives "$fs: the first group again" skipped complete
    unlike "$fs: the first group again: not idmapped" "$(flags "$T")" ,idmapped,
    is "$fs: the first group again: all have it" "$(groups_of "$T")" "$total 1000"
    pod_uses "$fs: a process with the first group uses everything" 1000 "$T" again
    unmount_volume $volume "$T"
}

with_file_systems a_change ext4 xfs btrfs

# Pods with the usual umask make files that their group can't write. A walk gives them the mode and the group.
mount_group 1000 mapped-xfs /dev/scratch1 "$T"
as_pod 1000 "$T" 'umask 022; for n in 0 1 2 3 4 5 6 7 8 9; do echo word >mine$n; done'
unmount_volume mapped-xfs "$T"
mount_group 2000 mapped-xfs /dev/scratch1 "$T"
gives 'umask 022' walked files-differ
is 'umask 022: on disk, too' "$(field FSGroup) $(field DiskGroup)" '2000 2000'
journal_has 'umask 022: in the journal' SYSLOG_IDENTIFIER=selvol-worker MESSAGE_ID=ca4bc256f440452789c93131cb1d70b6
like 'umask 022: one is named' "$(field OwnershipDetail)" 'group 1000 and mode 0644'
yes 'umask 022: another group writes' as_pod 2000 "$T" 'echo more >>mine0 && echo more >>mine9'
all_owned 'umask 022: all show the new group' "$T" 2000
unmount_volume mapped-xfs "$T"

# ---- two at once -------------------------------------------------------------------------------------------

mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$T" 'FSGroup u 1000' 'Holder s pod-A'
gives 'two at once: one has the first group' skipped complete
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$U" 'FSGroup u 2000' 'Holder s pod-B'
gives 'two at once: one has the second group' mapped other-group
is_labeled 'two at once: one label' "$U" s0:c1,c2
unlike 'two at once: the first is not idmapped' "$(flags "$T")" ,idmapped,
like 'two at once: the second is' "$(flags "$U")" ,idmapped,
yes 'two at once: the first writes' as_pod 1000 "$T" 'echo one >shared && echo more >>secret'
yes 'two at once: the second reads that, and writes' as_pod 2000 "$U" 'test "$(cat shared)" = one && echo two >shared && echo more >>secret && touch of-B'
yes 'two at once: and the first again' as_pod 1000 "$T" 'test "$(cat shared)" = two && echo three >>of-B'
no 'two at once: not through the other mount' as_pod 2000 "$T" 'cat secret'
no 'two at once: nor the other way round' as_pod 1000 "$U" 'cat secret'
is 'two at once: a file in both mounts' "$(stat -c %g "$T/of-B" "$U/of-B" | xargs)" '1000 2000'
mounts=$(mount_table)
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$U" 'FSGroup u 2000' 'Holder s pod-B'
is 'two at once: the same call again' "$error$(field FSGroup) $(field DiskGroup)" '2000 1000'
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$U" 'FSGroup u 3000' 'Holder s pod-B'
is 'two at once: another group at the same target' "$error" Incompatible
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$U-2" 'FSGroup u 3000' "$policy_always"
expect_error 'two at once: files are not taken from them' GroupConflict pod-A
mount --bind "$U" "$U-2"
volume_call AdoptVolume 'ssa{sv}' mapped-bound "$U-2" -- 'FSGroup u 2000' "$policy" "$supported" 'SELinuxLevel s s0:c1,c2'
expect_error 'two at once: what somebody bound: nor there' GroupConflict 'pod-A (as volume mapped-ext4)'
umount "$U-2"
is 'two at once: nothing is mounted but these' "$(mount_table)" "$mounts"
like 'two at once: what is known stays known' " $(mark "$T") " ' ownership=complete gid=1000 '
unmount_volume mapped-ext4 "$T"
# Now only the mapped mount is left, and others come beside it. What was bound by hand could be written.
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$T" 'FSGroup u 2000' 'Holder s pod-C'
gives 'beside a mapped mount: the same group' walked mounted-elsewhere
is 'beside a mapped mount: the same group: shown' "$(stat -c %g "$T/of-B")" 2000
unmount_volume mapped-ext4 "$T"
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$T" 'FSGroup u 2000' 'Holder s pod-C'
gives 'beside a mapped mount: the same group again' mapped other-group
unmount_volume mapped-ext4 "$T"
mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$T" 'FSGroup u 3000' 'Holder s pod-C'
gives 'beside a mapped mount: another group' mapped other-group
yes 'beside a mapped mount: another group: writes' as_pod 3000 "$T" 'echo four >>of-B'
yes 'beside a mapped mount: it goes on' as_pod 2000 "$U" 'tail -n 1 of-B | grep -qx four && echo five >>of-B'
unmount_volume mapped-ext4 "$U"
unmount_volume mapped-ext4 "$T"
is 'two at once: all files have the first group' "$(on_disk /dev/scratch0 groups_of /mnt | cut -d' ' -f2)" 1000

# ---- a container -------------------------------------------------------------------------------------------

mount_with s0:c1,c2 mapped-ext4 /dev/scratch0 "$T" 'FSGroup u 4000'
container_options=(--user=5000:5000 --group-add=4000)
container_says 'a container: the group, and the label' s0:c1,c2 \
    'cat /data/secret >/dev/null && echo word >/data/of-container && cat /data/of-container' word "$T:/data"
container_options=(--user=5000:5000 --group-add=1000)
container_may_not 'a container with the group on disk' s0:c1,c2 'cat /data/secret' "$T:/data"
container_options=(--user=5000:5000 --group-add=4000)
container_may_not 'a container with other categories' s0:c3,c4 'cat /data/secret' "$T:/data"
container_options=()
unmount_volume mapped-ext4 "$T"
is 'a container: on the disk' "$(on_disk /dev/scratch0 stat -c '%u %g' /mnt/of-container)" '5000 1000'
clean mapped
