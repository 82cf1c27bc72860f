# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A context mount taints a volume, because files that are written through it get no label on disk.

T=$pods/taint/v
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0

mount_with s0:c1,c2 taint /dev/scratch0 "$T" 'ReadOnly b true'
is 'read-only: not tainted' "$(property taint Tainted)" false
unmount_volume taint "$T"
mount_with s0:c1,c2 taint /dev/scratch0 "$T"
is 'read-write: tainted at once' "$(property taint Tainted)" true
echo word >"$T/file"
is 'the label through the mount' "$(label_of "$T/file")" "$file_type:s0:c1,c2"
unmount_volume taint "$T"
is 'tainted after the unmount' "$(property taint Tainted)" true
is 'what is known of the labels: nothing' "$(property taint LabelState)" '"unknown"'
mount /dev/scratch0 /mnt
is 'no label on the disk: file' "$(getfattr --only-values -n security.selinux /mnt/file 2>/dev/null | tr -d '\0')" \
    system_u:object_r:unlabeled_t:s0
umount /mnt
unlike 'no label on the disk: not even an attribute' "$(debugfs -R 'ea_list /file' /dev/scratch0 2>&1)" selinux
like 'the file is on the disk' "$(debugfs -R 'stat /file' /dev/scratch0 2>&1)" 'Type: regular'
bring_up restart selvold
is 'tainted after a restart' "$(property taint Tainted)" true
clean taint
