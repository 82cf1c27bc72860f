# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# When a volume is mounted without a context, and what the runtime is told then.

T=$pods/policy/v
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
mkfs.vfat /dev/scratch3 >/dev/null
level='SELinuxLevel s s0:c5,c6'

# plain NAME SOURCE CONTEXT FLAG STRATEGY REASON OPTION...
plain() {
    local name=$1 source=$2
    mount_volume policy "$source" "$T" "${@:7}"
    answers "$name: the answer" "$3" "$4" "$5" "$6"
    unlike "$name: no context" "$(super "$T")" context=
    unmount_volume policy "$T"
}

mount_volume policy /dev/scratch0 "$T" "$level" "$always"
answers 'Always: the runtime relabels' "$file_type:s0:c5,c6" Z relabel policy-always
like 'Always: seclabel, no context' "$(super "$T")" ,seclabel,
unlike 'Always: no context' "$(super "$T")" context=
like 'Always: nosuid and nodev' "$(flags "$T")" ,nosuid, ,nodev,
is 'Always: not tainted' "$(property policy Tainted)" false
chcon "$file_type:s0:c5,c6" "$T" && is 'Always: files can be relabeled' "$(label_of "$T")" "$file_type:s0:c5,c6"
unmount_volume policy "$T"
plain 'no policy: Always' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel policy-always "$level"
plain 'the driver says nothing' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel driver-unsupported "$level" "$policy"
plain 'the driver says no' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel driver-unsupported "$level" "$policy" \
    'SELinuxMountSupported b false'
plain 'no level: the runtime chooses' /dev/scratch0 '' Z relabel policy-always "$always"
plain 'vfat' /dev/scratch3 '' '' none no-seclabel "$level" "$always"
plain 'read-only' /dev/scratch0 '' '' none read-only "$level" "$always" 'ReadOnly b true'
plain 'hostPath: never' /dev/scratch0 '' '' none type-not-managed "$level" "$policy" "$supported" 'VolumeType s hostPath'
plain 'nfs: not managed' /dev/scratch0 '' '' none type-not-managed "$level" "$policy" 'VolumeType s nfs'
plain 'by access mode' /dev/scratch0 '' '' none access-mode-not-managed "$level" "$policy" 'VolumeType s iscsi' \
    'AccessMode s ReadWriteMany'
mount_volume policy /dev/scratch0 "$T" "$level" "$policy" 'VolumeType s iscsi' 'AccessMode s ReadWriteOnce'
answers 'the volume type says yes' "$file_type:s0:c5,c6" '' context-mount context-mount
unmount_volume policy "$T"

forget_volume policy
refused 'OnVolumeMount without a level' LevelRequired SELinuxLevel mount_volume policy /dev/scratch0 "$T" "$policy" "$supported"
refused 'a level without a policy for it' InvalidContext '' mount_with s0:c5000 policy /dev/scratch0 "$T"

configure '[Service]\nSELinuxRelabelPolicy=no'
plain 'gate off' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel gate-disabled "$level" "$policy" "$supported"
configure '[Service]\nSELinuxMount=no'
plain 'gate SELinuxMount off' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel access-mode-unsupported "$level" "$policy" "$supported"
mount_volume policy /dev/scratch0 "$T" "$level" "$policy" "$supported" 'AccessMode s ReadWriteOncePod'
answers 'gate SELinuxMount off: but ReadWriteOncePod' "$file_type:s0:c5,c6" '' context-mount context-mount
unmount_volume policy "$T"
configure '[Driver test.example]\nSELinuxMountSupported=yes'
mount_volume policy /dev/scratch0 "$T" "$level" "$policy" 'Driver s test.example'
answers 'the driver, in the configuration, says yes' "$file_type:s0:c5,c6" '' context-mount context-mount
unmount_volume policy "$T"
configure '[Service]\nSELinuxRelabelPolice=no'
journal_has 'a mistake is reported' MESSAGE_ID=6bf03bf3ad9e4a35b78b2ba3f5317ef7
yes 'and the service goes on' answers_calls
configure
mount_with s0:c5,c6 policy /dev/scratch0 "$T"
answers 'gate on again' "$file_type:s0:c5,c6" '' context-mount context-mount
unmount_volume policy "$T"

# Relabeling for another pod while one relies on the labels
U=$pods/policy/u
mkdir -p "$U"
mount_volume policy /dev/scratch0 "$T" "$level" "$always"
refused 'Always with another level: refused' ContextConflict "$T" \
    mount_volume policy /dev/scratch0 "$U" 'SELinuxLevel s s0:c7' "$always"
refused 'a context mount of what is relabeled: refused' ContextConflict "$T" mount_with s0:c5,c6 policy /dev/scratch0 "$U"
mount_volume policy /dev/scratch0 "$U" "$level" "$always"
answers 'Always with the same level: shared' "$file_type:s0:c5,c6" Z relabel policy-always
unmount_volume policy "$U"
unmount_volume policy "$T"

# as kubelet passes it
mount_volume policy /dev/scratch0 "$T" "MountOptions as 1 context=\"$file_type:s0:c1,c2\"" "$policy" "$supported"
answers 'the form of kubelet: context="..." as a mount option' "$file_type:s0:c1,c2" '' context-mount context-mount
is_labeled 'the form of kubelet: the label' "$T" s0:c1,c2
unmount_volume policy "$T"
mount_volume policy /dev/scratch0 "$T" "SELinuxContext s $file_type:s0:c2,c1" "$policy" "$supported" 'MountOptions as 2 noatime commit=30'
is_labeled 'a full context' "$T" s0:c1,c2
like 'options of the file system and of the mount' "$(flags "$T")$(super "$T")" ,noatime, ,commit=30,
unmount_volume policy "$T"
clean policies
