# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The first mount for a group gives all files to the group, as kubelet does, and the next mount skips the walk. Both are
# context mounts.

T=$pods/first/v source=/dev/scratch0
mkdir -p "$T"
mkfs.ext4 -q -F $source
mount $source /mnt
fill /mnt 40
chmod 6711 /mnt/d0/f5
chmod 4700 /mnt/d0/f6
chmod 1777 /mnt/empty
total=$(entries /mnt) modes=$(modes_of /mnt) owners=$(owners_of /mnt) root=$(stat -c '%u %a' /mnt)
umount /mnt
outside=$(stat -c '%u %g %a %C %Z' /etc/shadow /etc)

plan_volume first $source "$T" 'FSGroup u 1000'
is 'a plan says so' "$(field Ownership) $(field OwnershipReason) $(field FSGroup)" 'walk unknown 1000'
mount_with s0:c1,c2 first $source "$T" 'FSGroup u 1000'
answers 'mounted with a context' "$file_type:s0:c1,c2" '' context-mount context-mount
gives 'all files are looked at' walked unknown
known 'what is known' 1000 1000 complete
is 'all were looked at; a hard link has two names' "$(field EntriesDone) $(field EntriesChanged)" "$total $((total - 1))"
is 'labels are left alone' "$(field Relabel)" ''
all_owned 'all files have the group, symbolic links too' "$T" 1000
is 'modes are as kubelet makes them' "$(diff <(as_kubelet <<<"$modes") <(modes_of "$T"))" ''
is 'the root' "$(stat -c '%u %g %a' "$T") from $root" '0 1000 2775 from 0 755'
is 'users are left alone' "$(owners_of "$T")" "$owners"
is 'setuid, setgid and sticky stay' "$(stat -c %a "$T/d0/f5" "$T/d0/f6" "$T/empty" | xargs)" '6771 4760 3777'
is 'what symbolic links lead to is as it was' "$(stat -c '%u %g %a %C %Z' /etc/shadow /etc)" "$outside"
is_labeled 'the label is the context' "$T" s0:c1,c2
mark_says 'the volume carries its mark' "$T" ' ownership=complete gid=1000 ' ' tainted=yes '
unlike 'the mount is not idmapped' "$(flags "$T")" ,idmapped,
like 'the volume and its holder' "$(property first Holders) $(property first DiskGroup) $(property first OwnershipState)" \
    '"FSGroup" u 1000 "DiskGroup" u 1000 1000 "complete"'
pod_uses 'a process with the group uses everything' 1000 "$T" new
pod_sees_nothing 'one without does not' 1001 "$T"
all_owned 'new files have the group' "$T" 1000
unmount_volume first "$T"

before=$(on_disk $source times /mnt)
mount_with s0:c3,c4 first $source "$T" 'FSGroup u 1000'
gives 'the next mount, with another context: skipped' skipped complete
is_labeled 'its label' "$T" s0:c3,c4
unlike 'nothing was looked at' "$reply" Entries
is 'no entry is touched' "$(touched "$before" "$T")" ''
unmount_volume first "$T"

# Other rings test these cases:
# the policies, as in Kubernetes' own tests: unit /files/kubernetes; bus /ownership/always, /ownership/root-differs;
# root /ownership/map-differs, /ownership/readers, /tree-owner/kinds; unit /files/root, /plan-ownership/plan/rwop
# the gate and the default: bus /ownership/gate, /ownership/default-policy
# a driver that changes the group itself: unit /plan-ownership/plan/K6.10

# selvol gives none of these volumes to the group.
mount_group 1000 first $source "$T" 'ReadOnly b true'
gives 'read-only' skipped complete
unmount_volume first "$T"
mount_group 2000 first $source "$T" 'FSGroupPolicy s None'
gives 'the policy None' none policy-none
unmount_volume first "$T"
mount_group 2000 first $source "$T" 'AccessMode s ReadWriteMany'
gives 'for several nodes' none access-mode
unmount_volume first "$T"
mount_group 2000 first $source "$T" 'VolumeType s nfs'
gives 'a volume type that is not' none policy-none
all_owned 'not: the files are as they were' "$T" 1000
unmount_volume first "$T"
mount_volume first $source "$T"
unlike 'nobody asks: nothing is said' "$reply" Ownership Group
unmount_volume first "$T"
is 'not: no entry is touched' "$(on_disk $source touched "$before" /mnt)" ''
clean first
