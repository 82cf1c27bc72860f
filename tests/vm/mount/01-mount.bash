# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # of lib.bash and line.bash; for eval
# mount(8) with the types selvol and selvol.TYPE, typed by hand, from fstab and from units.

((SELVOL_GUEST_BOOT == 1)) || return 0

mkdir -p "$D" "$volumes/unit" "$volumes/on-demand" "$volumes/transient" "$pods/a/v"
mkfs.ext4 -q -F -L selvol-db /dev/scratch0
uuid=$(blkid -s UUID -o value /dev/scratch0)
# mount_says ARGUMENT...: sets said, and returns the status
mount_says() { said=$(mount "$@" 2>&1); }
has_holder() { [[ $(property "$1" Holders) == *"\"Holder\" s \"$2\""* ]]; }

# released NAME VOLUME
released() {
    soon "$1: the holder is released" has_no_holder "$2"
}

# mounted_and_released NAME DIRECTORY [VOLUME]
mounted_and_released() {
    is_labeled "$1: the label" "$2" s0:c1,c2
    yes "$1: the holder" has_holder "${3:-db}" "mount:$2"
    yes "$1: umount" umount "$2"
    released "$1" "${3:-db}"
}

# ---- by hand

yes 'the helper has its type' eval '[[ $(label_of /usr/sbin/mount.selvol) == *:selvol_mount_exec_t:* ]]'
mount_says -v -t selvol -o "$options" /dev/scratch0 "$D"
like 'verbose' "$said" "volume db, is mounted at $D" "$file_type:s0:c1,c2" 'no file has to be changed'
no 'nothing is noted for umount' grep -q selvol /run/mount/utab
lost=$(counter selvol_holders_lost_total)
mounted_and_released device "$D"
for source in LABEL=selvol-db "UUID=$uuid"; do
    yes "$source" mount -t selvol.ext4 -o "$options" "$source" "$D"
    mounted_and_released "$source" "$D"
done
yes 'context' mount -t selvol -o "volume=db,context=\"$file_type:s0:c1,c2\"" /dev/scratch0 "$D"
mounted_and_released context "$D"
yes 'tmpfs' mount -t selvol.tmpfs -o 'volume=memory,size=1m,level="s0:c1,c2"' tmpfs "$D"
mounted_and_released tmpfs "$D" memory
yes 'read-only' mount -r -t selvol -o "$options" /dev/scratch0 "$D"
like 'read-only: the mount' "$(flags "$D")" ,ro,
umount "$D"
released 'read-only' db

mount_says -t selvol -o 'volume=db,level=s0:c1,c2' /dev/scratch0 "$D"
is 'unquoted: status' $? 1
like 'unquoted: what to write' "$said" 'write level="s0:c1,c2"'
mount_says -t selvol -o "remount,$options" /dev/scratch0 "$D"
like 'remount' "$said" "can't be changed by a remount"
mount_says -f -v -t selvol -o "$options" /dev/scratch0 "$D"
like 'fake' "$said" 'nothing was done'
no 'fake: nothing is mounted' is_mounted "$D"
mount_says -t selvol -o 'volume=db,level="s0:c1,c2"' /dev/scratch0 /srv
is 'not allowed: status' $? 32
like 'not allowed' "$said" "'/srv' is not beneath an allowed directory"
mount -t selvol -o 'volume=db' /dev/scratch0 /srv 2>"$scratch/said"
like 'into a file' "$(<"$scratch/said")" "'/srv' is not beneath an allowed directory"
yes 'in a script of a unit' systemd-run -q --wait sh -c 'said=$(mount -t selvol -o volume=db /dev/scratch0 /srv 2>&1); echo "$? $said" >"$1"; cat /proc/self/attr/current >>"$1"' \
    sh "$scratch/said"
like 'in a script of a unit: it reads why' "$(<"$scratch/said")" '32 ' "'/srv' is not beneath an allowed directory" :initrc_t:
mount_says -t selvol -o "$options,policy=Always" /dev/scratch0 "$D"
is 'no label: status' $? 0
like 'no label: a warning' "$said" 'the files of volume db are not labeled'
yes 'no label: mounted' umount "$D"
released 'no label' db
mount_says -t selvol -o "$options,policy=Always,relabel-by=service" /dev/scratch0 "$D"
is 'relabeled: no warning' "$said" ''
is 'relabeled: the label' "$(label_of "$D")" "$file_type:s0:c1,c2"
umount "$D"
released 'relabeled' db

is 'umount: nothing is lost' "$(counter selvol_holders_lost_total)" "$lost"
journal_has 'umount: in the journal' SELVOL_VOLUME=db SELVOL_OPERATION=unmount PRIORITY=6 SELVOL_HOLDER="mount:$D"

# ---- conflicts

domain_of_helper() { ps -eo label,comm | sed -n 's/^[^:]*:[^:]*:\([^:]*\):.* mount\.selvol$/\1/p'; }
mount_with s0:c3,c4 db /dev/scratch0 "$pods/a/v" 'Holder s pod-A'
mount_says -t selvol -o "$options" /dev/scratch0 "$D"
is 'conflict: status' $? 32
like 'conflict: names the holder' "$said" 'in use by pod-A with level s0:c3,c4' 'mount.selvol: Stop pod-A, wait for it with wait, or use its level.'
mount -t selvol -o "$options,wait=1min" /dev/scratch0 "$D" &
waiting=$!
soon 'it waits' eval '[[ -n $(domain_of_helper) ]]'
is 'its domain' "$(domain_of_helper)" selvol_mount_t
unmount_volume db "$pods/a/v"
wait $waiting
is 'it has waited' $? 0
mounted_and_released waited "$D"

# ---- fstab

echo "UUID=$uuid $D selvol $options,$at_boot 0 0" >/etc/fstab
systemctl daemon-reload
unit=$(unit_of "$D")
yes 'fstab: systemctl start' systemctl start "$unit"
is_labeled 'fstab: the label' "$D" s0:c1,c2
yes 'fstab: the holder' has_holder db "mount:$D"
mount_id=$(findmnt -no ID "$D")
yes 'selvold is restarted' bring_up restart selvold
is 'selvold is restarted: the same mount' "$(findmnt -no ID "$D")" "$mount_id"
is 'selvold is restarted: the unit' "$(systemctl is-active "$unit")" active
yes 'fstab: systemctl stop' systemctl stop "$unit"
released 'fstab: systemctl stop' db
yes 'fstab: mount' mount "$D"
soon 'fstab: mount: the unit is active' systemctl is-active -q "$unit"
yes 'fstab: mount -a finds it mounted' mount -a
mount_says -o remount,ro "$D"
like 'fstab: remount' "$said" "can't be changed by a remount"
mounted_and_released 'fstab: mount' "$D"

mount_with s0:c3,c4 db /dev/scratch0 "$pods/a/v" 'Holder s pod-A'
no 'fstab: a conflict' systemctl start "$unit"
soon 'fstab: a conflict: systemctl status names the holder' eval '[[ $(systemctl status "$unit") == *"in use by pod-A with level "* ]]'
like 'fstab: a conflict: the result' "$(systemctl show -P Result -P ExecMount "$unit")" exit-code status=32
unmount_volume db "$pods/a/v"
# wait= is short here, because the job of an ended helper stays in line for that time, in case the caller returns.
echo "UUID=$uuid $D selvol $options,wait=30s,$at_boot 0 0" >/etc/fstab
systemctl daemon-reload
mount_with s0:c3,c4 db /dev/scratch0 "$pods/a/v" 'Holder s pod-A'
systemctl start --no-block "$unit"
soon 'systemd: it waits' eval '[[ -n $(domain_of_helper) ]]'
is 'systemd: its domain' "$(domain_of_helper)" selvol_mount_t
systemctl stop "$unit"
unmount_volume db "$pods/a/v"
soon 'systemd: ended while it waits: nothing is mounted later' has_no_holder db
no 'systemd: ended: not mounted' is_mounted "$D"

# mount(8) is setuid, and drops its rights before it runs the helper.
echo "UUID=$uuid $D selvol $options,user,$at_boot 0 0" >/etc/fstab
said=$(setpriv --reuid alice --regid alice --init-groups mount "$D" 2>&1)
is 'a user: status' $? 32
like 'a user: is told who may' "$said" 'only root and members of the group selvol'
no 'a user: nothing is mounted' is_mounted "$D"

# selvol-worker can't pass the automount while systemd waits for the mount, so the mount fails, and the helper says why.
echo "UUID=$uuid $volumes/on-demand selvol $options,x-systemd.automount,$at_boot 0 0" >>/etc/fstab
systemctl daemon-reload
systemctl start "$(systemd-escape --path --suffix=automount "$volumes/on-demand")"
no 'automount: fails' timeout 300 ls "$volumes/on-demand/"
like 'automount: says why' "$(journalctl -b -o cat -u "$(unit_of "$volumes/on-demand")")" 'leave x-systemd.automount out'
systemctl stop "$(systemd-escape --path --suffix=automount "$volumes/on-demand")"

# ---- units

cat >"/etc/systemd/system/$(unit_of "$volumes/unit")" <<EOF
[Unit]
Requires=selvol.target
After=selvol.target

[Mount]
What=LABEL=selvol-db
Where=$volumes/unit
Type=selvol
Options=$options,nofail
EOF
printf '[Unit]\nRequiresMountsFor=%s\n[Service]\nExecStart=sleep 1000\n' "$volumes/unit" >/etc/systemd/system/needs-volume.service
systemctl daemon-reload
yes 'unit: what needs it is started' systemctl start needs-volume
is_labeled 'unit: the label' "$volumes/unit" s0:c1,c2
needing=$(main_pid needs-volume) mount_id=$(findmnt -no ID "$volumes/unit")
yes 'unit: selvold is restarted' bring_up restart selvold
is 'unit: what needs it goes on' "$(main_pid needs-volume)" "$needing"
is 'unit: the same mount' "$(findmnt -no ID "$volumes/unit")" "$mount_id"
yes 'unit: stop' systemctl stop "$(unit_of "$volumes/unit")"
is 'unit: what needs it is stopped with it' "$(systemctl is-active needs-volume)" inactive
released unit db
yes 'systemd-mount' systemd-mount --quiet --fsck=no -t selvol -o "$options" /dev/scratch0 "$volumes/transient"
is_labeled 'systemd-mount: the label' "$volumes/transient" s0:c1,c2
yes 'systemd-mount: umount' systemd-umount "$volumes/transient"
released systemd-mount db

soon 'systemd: ended while it waits: nor does its job stay' eval '[[ $(selvolctl jobs --no-pager) != *waiting* ]]'
clean mount
