# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# SELinux is off: selvol mounts without context=, and another level is no conflict.

T=$pods/disabled/v U=$pods/disabled/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
no 'SELinux is off' selinuxenabled
mount_with s0:c1,c2 disabled /dev/scratch0 "$T"
answers 'mounted' '' '' none selinux-disabled
is 'the mode' "$(selinux_mode)" disabled
unlike 'no context' "$(super "$T")" context= seclabel
like 'nosuid and nodev' "$(flags "$T")" ,nosuid, ,nodev,
yes 'can be written' touch "$T/file"
# Files that are made here have no label, and another node may have SELinux on.
is 'tainted' "$(property disabled Tainted)" true
mark_says 'the volume carries it to where labels count' "$T" ' tainted=yes '
mount_with s0:c3,c4 disabled /dev/scratch0 "$U"
answers 'another level for another holder: no conflict' '' '' none selinux-disabled
unmount_volume disabled "$U"
call VerifyLabel 'ssa{sv}' disabled "$file_type:s0:c1,c2" 0
is 'verify answers' "$error" ''
like 'verify: nothing is there' "$reply" 'bsa{sv} false ""' '"SELinuxMode" s "disabled"'
plan_volume disabled /dev/scratch0 "$U" "$policy" "$supported"
is 'no level is needed' "$error$(field Reason)" selinux-disabled
mount_volume disabled /dev/scratch0 "$U" 'MountOptions as 1 context="system_u:object_r:container_file_t:s0:c1,c2"' "$policy" "$supported"
answers 'the form of kubelet' '' '' none selinux-disabled
unmount_volume disabled "$U"
unmount_volume disabled "$T"
mount_service s0:c1,c2 disabled /dev/scratch0 "$T"
answers 'Always, by the service: there is nothing to relabel' '' '' none selinux-disabled
is 'nor is it done' "$(field Relabel)" ''
unmount_volume disabled "$T"
mount /dev/scratch0 "$T"
adopt_with s0:c1,c2 disabled "$T"
answers 'adopted' '' '' none selinux-disabled
unmount_volume disabled "$T"
like 'metrics' "$(busctl call org.selvol1 /org/selvol1 org.selvol1.Manager GetMetrics)" 'selvol_selinux_enforcing -1'
clean disabled
