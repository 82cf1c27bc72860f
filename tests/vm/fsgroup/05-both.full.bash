# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# One walk changes labels and group, and the policy keeps some files from it.

T=$pods/both/v source=/dev/scratch0
mkdir -p "$T"
mkfs.ext4 -q -F $source
fill_disk $source 40

# both NAME RELABEL OWNERSHIP: the last mount did this with labels and group, for these reasons
both() { is "$1" "${error:-$(field Relabel) $(field RelabelReason), $(field Ownership) $(field OwnershipReason)}" "$2, $3"; }

mount_service s0:c1,c2 both $source "$T" 'FSGroup u 1000'
both 'first' 'walked unknown' 'walked unknown'
is 'first: one walk' "$(field EntriesDone) $(field EntriesChanged)" "$total $total"
all_labeled 'first: all have the label' "$T" "$file_type:s0:c1,c2"
all_owned 'first: all have the group' "$T" 1000
mark_says 'first: the mark' "$T" ' label=complete ' ' ownership=complete gid=1000 ' " context=$file_type:s0:c1,c2 "
pod_uses 'first: a process with the group uses everything' 1000 "$T" new
total=$(entries "$T")
unmount_volume both "$T"
before=$(on_disk $source times /mnt)
mount_service s0:c1,c2 both $source "$T" 'FSGroup u 1000'
both 'again' 'skipped complete' 'skipped complete'
is 'again: no entry is touched' "$(touched "$before" "$T")" ''
unmount_volume both "$T"
mount_service s0:c3 both $source "$T" 'FSGroup u 1000'
both 'another label' 'walked other-context' 'skipped complete'
all_owned 'another label: the group stays' "$T" 1000
unmount_volume both "$T"
before=$(on_disk $source times /mnt)
mount_service s0:c3 both $source "$T" 'FSGroup u 2000'
both 'another group' 'skipped complete' 'mapped other-group'
is 'another group: no entry is touched' "$(touched "$before" "$T")" ''
is 'another group: both are right' "$(groups_of "$T"), $(labels "$T")" "$total 2000, $total $file_type:s0:c3"
unmount_volume both "$T"
# A walk through the mapped mount would write the wrong groups.
mount_service s0:c4 both $source "$T" 'FSGroup u 2000'
both 'another label and another group' 'walked other-context' 'mapped other-group'
is 'another label and another group: both are right' "$(groups_of "$T"), $(labels "$T")" "$total 2000, $total $file_type:s0:c4"
unmount_volume both "$T"
is 'another label and another group: on the disk' "$(on_disk $source groups_of /mnt), $(on_disk $source labels /mnt)" \
    "$total 1000, $total $file_type:s0:c4"
mount_service s0:c4 both $source "$T" 'FSGroup u 2000' "$policy_always"
both 'the group, always' 'skipped complete' 'walked policy-always'
is 'the group, always: on the disk' "$(groups_of "$T") $(field DiskGroup) $(mark "$T" | grep -o 'gid=[0-9]*')" "$total 2000 2000 gid=2000"
unmount_volume both "$T"

# ---- the policy keeps the system's secrets from the worker -------------------------------------------------

mount $source /mnt
chcon --reference=/etc/shadow /mnt/d0/f3
mv /mnt/d0/f3 /mnt/d0/to-be-denied
umount /mnt
mount_group 4000 both $source "$T" "$policy_always"
expect_error 'a secret by its label: refused' EntriesFailed d0/to-be-denied
mount $source /mnt
is 'a secret by its label: stays' "$(stat -c '%g %C' /mnt/d0/to-be-denied)" "2000 $(label_of /etc/shadow)"
rm /mnt/d0/to-be-denied
umount /mnt
mount_group 4000 both $source "$T"
gives 'a secret by its label, gone' walked partial
unmount_volume both "$T"
clean both
