# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# selvold's database has no room, is damaged, or is from before a reboot.

T=$pods/store/v U=$pods/store/u
state=/var/lib/selvol
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
systemctl reset-failed selvold

# The database is on a small file system that becomes full.
systemctl stop selvold
mount -t tmpfs -o "size=400k,mode=700,uid=$(id -u selvol),gid=$(id -g selvol),rootcontext=system_u:object_r:selvold_var_lib_t:s0" small $state
bring_up start selvold
mount_with s0:c1,c2 store /dev/scratch0 "$T"
answers 'room for the state: mounted' "$file_type:s0:c1,c2" ''
dd if=/dev/zero of=$state/filler bs=4k status=none 2>/dev/null
# The first calls may still succeed, as long as the log of the database has room.
n=0
until ((++n > 60)) || ! mount_with s0:c1,c2 "store$n" none "$U" 'FSType s tmpfs'; do unmount_volume "store$n" "$U" || break; done
is 'no room for the state: refused' "$error" StoreFailed
like 'no room for the state: says so' "$message" 'state'
unmount_volume "store$n" "$U"
is 'no room for the state: nothing is mounted' "$(is_mounted "$U" && echo mounted)" ''
yes 'no room for the state: what is mounted stays' is_mounted "$T"
journal_has 'no room for the state: in the journal' MESSAGE_ID=1fe72e3ec44b4c5ab66fb04c2db4bbfb
rm $state/filler
yes 'room again: it goes on by itself' wait_for mount_with s0:c1,c2 again none "$U" 'FSType s tmpfs'
yes 'room again: nothing is forgotten' is_held store "$T"
unmount_volume again "$U"
unmount_volume store "$T"
is 'room again: unmounted' "$error$(field Unmounted)" true
systemctl stop selvold
umount $state
bring_up start selvold
yes 'the state of before is not that of the small file system' is_unknown again

# The database is damaged.
mount_with s0:c1,c2 store /dev/scratch0 "$T" 'Holder s pod-A'
mount_with s0:c1,c2 other none "$U" 'FSType s tmpfs'
systemctl stop selvold
rm -f $state/state.db-wal $state/state.db-shm
dd if=/dev/urandom of=$state/state.db bs=4k count=4 conv=notrunc status=none
bring_up start selvold
yes 'a damaged state: set aside, and a new one' is_unknown store
journal_has 'a damaged state: in the journal' MESSAGE_ID=849b45bb109c402496f22ecaa39c5a8a
is 'a damaged state: the old file is kept' "$(find $state -name 'state.db?*' ! -name '*-wal' ! -name '*-shm' | wc -l)" 1
yes 'a damaged state: what is mounted stays' is_mounted "$T"
like 'a damaged state: what is mounted is listed' "$(selvolctl list 2>&1)" "Volume store is mounted at $T, but not recorded"
unmount_volume other "$U"
is 'a damaged state: what was mounted is unmounted as ever' "$error$(field Unmounted)$(is_mounted "$U" && echo mounted)" true
refused 'a damaged state: the mount is nobody'\''s now' InvalidTarget 'adopt it' mount_with s0:c1,c2 store /dev/scratch0 "$T"
refused 'a damaged state: but conflicts are seen in the mount table' ContextConflict "$T" \
    mount_with s0:c3,c4 store /dev/scratch0 "$U"
adopt_with s0:c1,c2 store "$T" 'Holder s pod-A'
answers 'a damaged state: it can be adopted' "$file_type:s0:c1,c2" '' context-mount context-mount

# The configuration has other directories for targets.
mount_with s0:c1,c2 other none "$U" 'FSType s tmpfs'
printf '[Worker]\nTargetRoots=\nTargetRoots=/srv\n' >/etc/selvol/selvol.conf.d/roots.conf
systemctl reload selvold
yes 'other roots: the holder is there still' is_held other "$U"
unmount_volume other "$U"
is 'other roots: it can be unmounted' "$error$(field Unmounted)$(is_mounted "$U" && echo mounted)" true
rm /etc/selvol/selvol.conf.d/roots.conf
systemctl reload selvold

# This looks like a reboot: nothing is mounted, and the boot id is another one.
systemctl stop selvold
umount "$T"
tr 0-9 1-90 </proc/sys/kernel/random/boot_id >"$scratch/boot_id"
chcon -t selvold_var_lib_t "$scratch/boot_id"      # selvold may read that
mkdir -p /run/systemd/system/selvold.service.d
printf '[Service]\nBindReadOnlyPaths=%s/boot_id:/proc/sys/kernel/random/boot_id\n' "$scratch" \
    >/run/systemd/system/selvold.service.d/boot-id.conf
systemctl daemon-reload
bring_up start selvold
yes 'a reboot: nobody holds anything' has_no_holder store
like 'a reboot: which is in the journal' "$(journalctl -q -b -o cat -u selvold | tail -n 20)" 'Released 1 holders from before the reboot'
is 'a reboot: the taint stays' "$(property store Tainted)" true
mount_with s0:c3,c4 store /dev/scratch0 "$T"
answers 'a reboot: it can be mounted with another context' "$file_type:s0:c3,c4" '' context-mount context-mount
unmount_volume store "$T"
rm -r /run/systemd/system/selvold.service.d
systemctl daemon-reload
bring_up restart selvold
clean store
