# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# A stock Debian has no container types: contexts/lxc_contexts names a type that the policy does not have, or the file
# is missing. The guest's policy has the types, so the test binds another file over lxc_contexts.

T=$pods/stock/v
mkdir -p "$T"
contexts=/etc/selinux/default/contexts/lxc_contexts
sed 's/container_file_t/absent_file_t/' $contexts >"$scratch/lxc_contexts"
chcon --reference=$contexts "$scratch/lxc_contexts"

configure '[Worker]\nLabelTypes=absent_file_t'
mount --bind "$scratch/lxc_contexts" $contexts
refused 'a type that the policy does not have' InvalidContext absent_file_t mount_with s0:c1,c2 stock none "$T" 'FSType s tmpfs'
mount_volume stock none "$T" 'FSType s tmpfs' 'SELinuxLevel s s0:c1,c2' "$policy" "$supported" \
    "Holder s later"
is 'each time' "$error" InvalidContext
umount $contexts
: >"$scratch/lxc_contexts"
mount --bind "$scratch/lxc_contexts" $contexts
refused 'no type at all' InvalidContext 'load a policy with container types' mount_with s0:c1,c2 stock none "$T" 'FSType s tmpfs'
mount_volume stock none "$T" 'FSType s tmpfs' "SELinuxContext s $file_type:s0:c1,c2" "$policy" "$supported"
answers 'but a full context will do' "$file_type:s0:c1,c2" '' context-mount context-mount
unmount_volume stock "$T"
mount_volume stock none "$T" 'FSType s tmpfs'
answers 'and so will no context' '' Z relabel policy-always
unmount_volume stock "$T"
umount $contexts
configure
clean stock
