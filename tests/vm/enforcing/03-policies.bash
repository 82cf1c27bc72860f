# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Cases in which selvol mounts a volume without context=, and its answers to the runtime then.

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
plain 'vfat' /dev/scratch3 '' '' none no-seclabel "$level" "$always"
# Other rings test these cases:
# no policy, no level: unit /plan/kubernetes/E2; bus /daemon/always
# the driver says nothing, or no: unit /plan/types/on-volume-mount/persistentVolumeClaim/RWO,
# /plan/overrides/unsupported-request-over-driver
# read-only: unit /plan/kep/note1-read-only
# types and access modes: unit /plan/types/always, /plan/types/on-volume-mount
# OnVolumeMount without a level, a level beyond all: bus /daemon/bad/no-level, /daemon/bad/category-range
# SELinuxMount=no with ReadWriteOncePod: unit /plan/overrides/gate-mount-off-rwop
# relabeling for another pod while one relies on the labels: unit /plan/kubernetes/K1, K5, G2.7

configure '[Service]\nSELinuxRelabelPolicy=no'
plain 'gate off' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel gate-disabled "$level" "$policy" "$supported"
configure '[Service]\nSELinuxMount=no'
plain 'gate SELinuxMount off' /dev/scratch0 "$file_type:s0:c5,c6" Z relabel access-mode-unsupported "$level" "$policy" "$supported"
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

mount_volume policy /dev/scratch0 "$T" "MountOptions as 1 context=\"$file_type:s0:c1,c2\"" "$policy" "$supported"
answers 'the form of kubelet: context="..." as a mount option' "$file_type:s0:c1,c2" '' context-mount context-mount
is_labeled 'the form of kubelet: the label' "$T" s0:c1,c2
unmount_volume policy "$T"
mount_volume policy /dev/scratch0 "$T" "SELinuxContext s $file_type:s0:c2,c1" "$policy" "$supported" 'MountOptions as 2 noatime commit=30'
is_labeled 'a full context' "$T" s0:c1,c2
like 'options of the file system and of the mount' "$(flags "$T")$(super "$T")" ,noatime, ,commit=30,
unmount_volume policy "$T"
clean policies
