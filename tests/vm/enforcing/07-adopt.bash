# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# selvol adopts a mount that a CSI driver has made.

T=$pods/adopt/v U=$pods/adopt/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0

mount -o "context=\"$file_type:s0:c1,c2\"" /dev/scratch0 "$T"
adopt_with s0:c2,c1 adopt "$T" 'Holder s pod-A'
answers 'with the context' "$file_type:s0:c1,c2" '' context-mount context-mount
like 'the holder is adopted' "$(property adopt Holders)" "\"Holder\" s \"pod-A\" \"Target\" s \"$T\" \"State\" s \"mounted\" \"ReadOnly\" b false \"Adopted\" b true"
is 'tainted' "$(property adopt Tainted)" true
adopt_with s0:c2,c1 adopt "$T" 'Holder s pod-A'
is 'adopting again: one holder' "$error$(property adopt Holders | cut -d' ' -f1)" 1
mount_with s0:c1,c2 adopt "$(findmnt -n -o SOURCE "$T")" "$U"
answers 'another holder shares it' "$file_type:s0:c1,c2" '' context-mount context-shared
unmount_volume adopt "$U"
refused 'another context for another holder' ContextConflict pod-A \
    mount_with s0:c3,c4 adopt "$(findmnt -n -o SOURCE "$T")" "$U"
unmount_volume adopt "$T"
no 'unmounted by us' is_mounted "$T"
forget_volume adopt

mount -o "context=\"$file_type:s0:c3,c4\"" /dev/scratch0 "$T"
refused 'another context than the one asked for' LabelMismatch "$file_type:s0:c3,c4" adopt_with s0:c1,c2 adopt "$T"
umount "$T"
mount /dev/scratch0 "$T"
refused 'the context was dropped' ContextDropped "$file_type:s0:c1,c2" adopt_with s0:c1,c2 adopt "$T"
volume_call AdoptVolume 'ssa{sv}' adopt "$T" -- 'SELinuxLevel s s0:c1,c2' "$always"
answers 'plain: to be relabeled' "$file_type:s0:c1,c2" Z relabel policy-always
unmount_volume adopt "$T"
forget_volume adopt
refused 'nothing is mounted there' InvalidTarget "$T" adopt_with s0:c1,c2 adopt "$T"
clean adopt
