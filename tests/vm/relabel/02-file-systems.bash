# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The service relabels a volume on ext4, and volumes that it can't relabel. 02-others.full.bash has xfs and btrfs.

# shellcheck source-path=SCRIPTDIR source=life.bash
. ./life.bash

with_file_systems a_life ext4

truncate -s 40M /var/lib/selvol-images/image
mkfs.ext4 -q -F /var/lib/selvol-images/image
mount_service s0:c1,c2 walk-image /var/lib/selvol-images/image "$T"
is_walked 'image: all entries are looked at' unknown
all_labeled 'image: all of them have the label' "$T" "$file_type:s0:c1,c2"
unmount_volume walk-image "$T"
no_loop_is_left image
mkfs.vfat /dev/scratch3 >/dev/null
mount_service s0:c1,c2 walk-vfat /dev/scratch3 "$T"
answers 'vfat: there is nothing to relabel' '' '' none no-seclabel
is 'vfat: nor is it done' "$(field Relabel)" ''
unmount_volume walk-vfat "$T"
mount_service s0:c7 walk-ext4 /dev/scratch0 "$T" 'ReadOnly b true'
answers 'read-only: it can not be relabeled' '' '' none read-only
unmount_volume walk-ext4 "$T"

# Two entries can't be labeled. The volume is not mounted, the root keeps its label, and the next mount finishes.
mount /dev/scratch0 /mnt
chattr +i /mnt/d0/f3
chattr +a /mnt/d1
umount /mnt
mount_service s0:c8 walk-ext4 /dev/scratch0 "$T"
expect_error 'immutable: refused, with the remedy' EntriesFailed d0/f3 d1 chattr
no 'immutable: nothing is mounted' is_mounted "$T"
is 'immutable: what is known' "$(property walk-ext4 LabelState)" '"partial"'
mount /dev/scratch0 /mnt
is 'immutable: the root has the old label' "$(label_of /mnt)" "$file_type:s0:c7"
mark_says 'immutable: the volume carries its mark' /mnt ' label=partial '
is 'immutable: all others have the new label' "$(labels /mnt | grep -c .) $(label_of /mnt/d0/f4)" "2 $file_type:s0:c8"
chattr -i /mnt/d0/f3
chattr -a /mnt/d1
umount /mnt
mount_service s0:c8 walk-ext4 /dev/scratch0 "$T"
is_walked 'immutable no more' partial
is 'immutable no more: all are looked at' "$(field EntriesDone) $(field EntriesChanged)" "$(entries "$T") $(entries "$T")"
all_labeled 'immutable no more: all have the label' "$T" "$file_type:s0:c8"
unmount_volume walk-ext4 "$T"

# The policy denies the worker files with the label of /etc/shadow, also on a volume.
mount /dev/scratch0 /mnt
chcon --reference=/etc/shadow /mnt/d0/f3
mv /mnt/d0/f3 /mnt/d0/to-be-denied
umount /mnt
mount_service s0:c9 walk-ext4 /dev/scratch0 "$T"
expect_error 'a secret by its label: refused' EntriesFailed d0/to-be-denied 'SELinux policy' ausearch
is 'a secret by its label: the denial is audited' "$(audited | grep -c '{ getattr }.*/to-be-denied"')" 1
mount /dev/scratch0 /mnt
is 'a secret by its label: stays' "$(label_of /mnt/d0/to-be-denied)" "$shadow"
rm /mnt/d0/to-be-denied
umount /mnt
rm /var/lib/selvol-images/image
clean walk
