# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2086,SC2046 # of lib.bash; words
# The remedies in the messages of selvold and of the worker. remedies.bash says how they are followed,
# tests/data/remedies.table which test follows each of them.

S=/srv/remedies M=/srv/remedies-images I=/var/lib/selvol-images/remedies T=$pods/remedies/v dropin=$conf_dir/50-local.conf
own=/root/remedies # semodule may read files here
mkdir -p $S/t $M $I "$T" "$pods/remedies/u" $own
mkfs.ext4 -q -F /dev/scratch0
# semanage makes the policy anew, from the modules of the store.
semodule -l | grep -qx selvol || semodule -X 200 -i /usr/share/selinux/packages/selvol.pp
systemctl start auditd # ausearch reads its log
disk=$(realpath /dev/scratch0)

# beneath SOURCE TARGET: both are allowed, whatever else is in the way
is_beneath() { mount_default t "$@" && return; [[ $error != PathNotAllowed ]] && error=''; }

# ---- configuration -----------------------------------------------------------------------------------------
remedy 'a target outside of TargetRoots=' PathNotAllowed set_as_told $S -- is_beneath "$disk" $S/t
remedy 'a target of another type' SELinuxDenied run_as_told 'semanage fcontext -a -t .*' -- mount_default t "$disk" $S/t
unmount_volume t $S/t
truncate -s 8M $M/to-be-denied
mkfs.ext4 -q -F $M/to-be-denied
remedy 'a source outside of SourceRoots=' PathNotAllowed set_as_told $M -- is_beneath $M/to-be-denied "$T"
remedy 'a source of another type' SELinuxDenied run_as_told 'semanage fcontext -a -t .*' -- mount_default s $M/to-be-denied "$T"
unmount_volume s "$T"
remedy 'a file system that is not allowed' TypeNotAllowed set_as_told 'Source=none' -- mount_default r none "$T" 'FSType s ramfs'
unmount_volume r "$T"
remedy 'a mount option that is not allowed' InvalidOption set_as_told '' -- mount_default o "$disk" "$T" 'MountOptions as 1 debug'
unmount_volume o "$T"
remedy 'a type of volume' InvalidOption set_as_told Managed=always -- mount_default v "$disk" "$T" 'VolumeType s example'
unmount_volume v "$T"
truncate -s 8M $I/to-be-denied
mkfs.ext4 -q -F $I/to-be-denied
chown 1000 $I/to-be-denied
chmod 666 $I/to-be-denied
own_as_told() { run_as_told 'chown root' root "root $I/to-be-denied" && run_as_told 'chmod go-w' go-w "go-w $I/to-be-denied"; }
remedy 'an image of others' PathNotAllowed own_as_told -- mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"
chown 1000 $I/to-be-denied
remedy 'an image of others that is to be allowed' PathNotAllowed set_as_told '' -- mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"
chown root $I/to-be-denied
sed -i /ImagesOfOthers/d $dropin
systemctl reload selvold

# ---- SELinux -----------------------------------------------------------------------------------------------
mknod /dev/to-be-denied b $(stat -L -c '0x%t 0x%T' "$disk")
chcon -t tape_device_t /dev/to-be-denied
remedy 'a disk of another type' SELinuxDenied run_as_told 'semanage fcontext -a -f b -t .*' -- mount_default d /dev/to-be-denied "$T"
unmount_volume d "$T"
semanage fcontext -d -f b /dev/to-be-denied
rm /dev/to-be-denied
chcon -t user_home_t $I/to-be-denied
remedy 'an image of another type' SELinuxDenied run_as_told 'restorecon -RFx [^ ]*' -- mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"
chcon -t var_lib_t $I/to-be-denied
remedy 'an image of a type that others write' SELinuxDenied run_as_told 'setsebool -P selvol_write_other_images on' -- \
    mount_default others $I/to-be-denied "$T"
unmount_volume others "$T"
setsebool selvol_write_other_images off
# The administrator's module lacks a right, and the second message has another remedy.
mount_type() { mount_volume type "$disk" "$T" 'SELinuxContext s system_u:object_r:mnt_t:s0' "$policy" "$supported"; }
is_set() { mount_type && return; [[ $error != TypeNotAllowed ]] && error=''; }
is_loaded() { mount_type && return; [[ $message != *'semodule -i FILE'* ]] && error=''; }
allow_as_told() { (cd $own && run_as_told 'ausearch -m AVC -c selvol-worker \| audit2allow -M selvol-local && semodule -i selvol-local.pp'); }
provoked+='|denied  { mount } .*:mnt_t:.*tclass=filesystem'
remedy 'a type for labels' TypeNotAllowed set_as_told '' -- is_set
echo '(allow selvol_worker_t mnt_t (filesystem (getattr remount unmount relabelfrom relabelto)))' >$own/type.cil
remedy 'a type that the policy module lacks' SELinuxDenied run_as_told 'semodule -i FILE' FILE $own/type.cil -- is_loaded
remedy 'a mount that SELinux denies' SELinuxDenied allow_as_told -- mount_type
unmount_volume type "$T"

# ---- disks and files ---------------------------------------------------------------------------------------
truncate -s 32M $I/parts
# One partition of the table of a PC, from sector 2048 to the end.
printf '\203\0\0\0\0\010\0\0\0\350\0\0' | dd of=$I/parts bs=1 seek=450 conv=notrunc status=none
printf '\125\252' | dd of=$I/parts bs=1 seek=510 conv=notrunc status=none
pass_partition() {
    device=$(run_as_told 'losetup -Pf --show IMAGE' IMAGE $I/parts)p1 && mkfs.ext4 -q -F "$device"
}
mount_partition() { mount_default parts "${device:-$I/parts}" "$T"; }
device=
remedy 'an image with partitions' InvalidVolume pass_partition -- mount_partition
unmount_volume parts "$T"
losetup -d "${device%p1}"
# Another file takes the name of an image that is attached.
truncate -s 16M $I/shown
mkfs.ext4 -q -F $I/shown
device=$(losetup -f --show $I/shown)
cp $I/shown $I/other
mv $I/other $I/shown
attach_shown() { losetup -d "$device" && device=$(run_as_told 'losetup -f --show IMAGE' IMAGE $I/shown); }
mount_shown() { mount_default shown "$device" "$T"; }
remedy 'a loop device of an image that has gone' PathNotAllowed attach_shown -- mount_shown
unmount_volume shown "$T"
losetup -d "$device"
losetup -f /dev/scratch1
mkfs.ext4 -q -F /dev/scratch1
remedy 'a disk that is a raw device' PathNotAllowed run_as_told 'losetup -d /dev/loop[0-9]*' -- mount_default raw /dev/scratch1 "$T"
unmount_volume raw "$T"
# A clone of a disk in use: its journal is not clean.
mount /dev/scratch0 /mnt
echo >/mnt/file
sync
dd if=/dev/scratch0 of=/dev/scratch1 bs=1M status=none
umount /mnt
blockdev --setro /dev/scratch1
mount_clone() { mount_default clone /dev/scratch1 "$T" "${clone_options[@]}"; }
add_option() { [[ $message == *'mount option noload'* ]] && clone_options+=('MountOptions as 1 noload'); }
clone_options=('ReadOnly b true')
remedy 'a clone that can not be written' MountFailed add_option -- mount_clone
unmount_volume clone "$T"
clone_options=()
remedy 'a clone that is to be written' MountFailed run_as_told 'blockdev --setrw DEVICE' DEVICE /dev/scratch1 -- mount_clone
unmount_volume clone "$T"
mkfs.btrfs -q -f -d single -m dup /dev/scratch2 /dev/scratch3 >/dev/null 2>&1
remove_device() {
    mount /dev/scratch2 /mnt
    run_as_told 'btrfs device remove DEVICE DIRECTORY' DEVICE /dev/scratch3 DIRECTORY /mnt
    umount /mnt
}
remedy 'a btrfs on two disks' NotSupported remove_device -- mount_default btrfs /dev/scratch2 "$T"
unmount_volume btrfs "$T"
# A copy has the UUID of the file system that is mounted.
for copied in 'xfs 300M xfs_admin -U generate DEVICE' 'btrfs 120M btrfstune -m DEVICE'; do
    read -r type size command <<<"$copied"
    truncate -s $size $I/original
    mkfs.$type -q $I/original >/dev/null 2>&1
    cp $I/original $I/copy
    mount_default original $I/original "$pods/remedies/u"
    remedy "a copy of a $type" MountFailed run_as_told "$command" DEVICE $I/copy -- mount_default copy $I/copy "$T"
    unmount_volume copy "$T"
    unmount_volume original "$pods/remedies/u"
    forget_volume copy
    forget_volume original
    rm $I/original $I/copy
done
wipefs -qa /dev/scratch2 /dev/scratch3
mke2fs -q -F -b 4096 -O journal_dev /dev/scratch3
mkfs.ext4 -q -F -b 4096 -J device=/dev/scratch3 /dev/scratch2
# e2fsck wants a terminal.
own_journal() {
    run_as_told 'tune2fs -O \^has_journal DEVICE' DEVICE /dev/scratch2 &&
        run_as_told 'e2fsck -f DEVICE' 'e2fsck -f DEVICE' 'script -qec "e2fsck -f /dev/scratch2" /dev/null' &&
        run_as_told 'tune2fs -j DEVICE' DEVICE /dev/scratch2
}
remedy 'a journal on another disk' InvalidOption own_journal -- mount_default journal /dev/scratch2 "$T"
unmount_volume journal "$T"
echo '/dev/scratch2 /data ext4 noauto 0 0' >>/etc/fstab
systemctl daemon-reload
leave_to_us() { sed -i /scratch2/d /etc/fstab && run_as_told 'systemctl daemon-reload'; }
remedy 'a disk of fstab' PathNotAllowed leave_to_us -- mount_default journal /dev/scratch2 "$T"
unmount_volume journal "$T"
mount_volume files "$disk" "$T" "$always" 'RelabelBy s none'
echo >"$T/file"
chattr +i "$T/file"
relabel() { try selvolctl relabel files "$file_type:s0:c7,c8"; }
remedy 'an immutable file' failed run_as_told 'chattr -i -a FILE' FILE "$T/file" -- relabel
unmount_volume files "$T"

# ---- the network -------------------------------------------------------------------------------------------
open_network() {
    run_as_told 'install -D -m 644 /usr/share/doc/selvol/selvol-worker-network.conf /etc/systemd/system/selvol-worker.service.d/network.conf.*systemctl restart selvol-worker' &&
        run_as_told 'setsebool -P selvol_use_network on'
}
if start_nfs_server </dev/null >"$scratch/nfs-server" 2>&1; then
    remedy 'the network' NotSupported open_network -- mount_default nfs 127.0.0.1:/ "$T" 'FSType s nfs4'
    unmount_volume nfs "$T"
    forbid_network
else
    not_ok 'a server of NFS' "$(<"$scratch/nfs-server")"
fi

# ---- names that moved --------------------------------------------------------------------------------------
wipefs -qa /dev/scratch1
mkfs.ext4 -q -F /dev/scratch1
mount_default one /dev/scratch0 "$T"
unmount_volume one "$T"
mount_default two /dev/scratch1 "$T"
unmount_volume two "$T"
remedy 'an id of another disk' SourceChanged run_as_told 'selvolctl forget one' -- mount_default one /dev/scratch1 "$T"
unmount_volume one "$T"

# ---- mounts of others --------------------------------------------------------------------------------------
mount -t tmpfs -o size=1m others "$T"
remedy 'a target that is a mount' InvalidTarget run_as_told 'umount TARGET' TARGET "$T" -- mount_default target /dev/scratch0 "$T"
unmount_volume target "$T"
mount /dev/scratch0 "$T"
remedy 'a mount that selvol does not know' InvalidTarget run_as_told 'selvolctl adopt VOLUME TARGET' VOLUME ours TARGET "$T" -- \
    unmount_volume ours "$T"
csi=$pods/remedies/volumes/kubernetes.io~csi/pvc-9/mount
mkdir -p "$csi"
mount /dev/scratch1 "$csi"
wait_for eval 'selvolctl adopt --all /var/lib/kubelet | grep pvc-9'
remedy 'mounts of a driver' told run_as_told 'selvolctl adopt --all .* --yes' -- \
    told_by 'Nothing was adopted' selvolctl adopt --all /var/lib/kubelet
yes 'mounts of a driver: held' is_held pvc-9 "$csi"
unmount_volume pvc-9 "$csi"

# ---- conflicts ---------------------------------------------------------------------------------------------
mount_default conflict /dev/scratch0 "$T" 'Holder s pod-A' 'ReleaseOnUmount b true'
remedy 'another label' ContextConflict run_as_told 'selvolctl unmount [^)]*' -- mount_with s0:c3 conflict /dev/scratch0 "$pods/remedies/u"
unmount_volume conflict "$pods/remedies/u"
explained ae52486311d54c8c9b0d81305620a478
yes 'another label: what the journal says' run_as_told 'selvolctl show conflict'
like 'another label: to wait' "$message" '"selvolctl mount" with'
yes 'another label: with --wait' selvolctl mount conflict /dev/scratch0 "$T" --level s0:c1 --wait
yes 'another label: no more' selvolctl unmount conflict

# ---- files and labels --------------------------------------------------------------------------------------
mount /dev/scratch0 /mnt
mkdir /mnt/many
touch /mnt/many/{1..200}
umount /mnt
mount_volume slow /dev/scratch0 "$T" "$always" 'RelabelBy s none'
try selvolctl verify slow
yes 'nothing to compare with' run_as_told 'selvolctl verify VOLUME CONTEXT' VOLUME slow CONTEXT "$(label_of "$T")"
unmount_volume slow "$T"
try selvolctl relabel slow
yes 'no context is recorded' run_as_told 'selvolctl relabel slow --level LEVEL' LEVEL s0:c7
slowly='--max-entries-per-second=1 --force'
busy() { mount_default slow /dev/scratch0 "$T" 'TimeoutUSec t 5000000'; }
selvolctl relabel slow --level s0:c8 $slowly --no-wait >/dev/null
remedy 'a volume that is busy' Busy run_as_told 'selvolctl cancel [0-9]*' -- busy
unmount_volume slow "$T"
try timeout -s INT 20 selvolctl relabel slow --level s0:c8 $slowly
yes 'a relabel whose caller has gone' run_as_told 'selvolctl cancel [0-9]*'
selvolctl relabel slow --level s0:c8 $slowly --no-wait >/dev/null
walks() { [[ $(selvolctl jobs --json | jq '.[] | select(.State == "running") | .EntriesDone') -gt 0 ]]; }
wait_for walks
explained 5bad547bfa5a42e6ac1cc774ac94c619
yes 'a relabel that has started' run_as_told 'selvolctl cancel [0-9]*'
# selvold tells what is partial when it starts.
partial() {
    bring_up restart selvold
    told_by 'are partial' journalctl -q -o cat _SYSTEMD_INVOCATION_ID="$(systemctl show -P InvocationID selvold)"
}
remedy 'labels that are partial' told run_as_told 'selvolctl relabel slow [^[:space:]]*' CONTEXT $file_type:s0:c8 -- partial
busy
unmount_volume slow "$T"
explained 1213543d9f12431d9700f95bff98a221
yes 'files without a label on disk' run_as_told 'selvolctl relabel slow [a-z][^ ]*c1,c2'
is 'files without a label on disk: they have one' "$(property slow Tainted)" false
# The mark says that all is right, and can't be corrected while nothing can be written.
mount_volume marked /dev/scratch0 "$T" "$always" "SELinuxLevel s s0:c7" 'RelabelBy s service' 'FSGroup u 1000'
chcon -l s0:c8 "$T/many/1"
chgrp 0 "$T/many/2"
mount -o remount,ro "$T"
selvolctl verify marked --depth=full --fs-group 1000 >/dev/null 2>&1
mount -o remount,rw "$T"
explained ca4bc256f440452789c93131cb1d70b6
yes 'a mark that is wrong: labels' run_as_told 'selvolctl relabel marked --force'
yes 'a mark that is wrong: groups' run_as_told 'selvolctl ownership marked GID --force' GID 1000
yes 'a mark that is wrong: no more' selvolctl verify marked --depth=full --fs-group 1000
unmount_volume marked "$T"

# ---- records that were lost --------------------------------------------------------------------------------
# lose_records: selvold forgets what is mounted
lose_records() {
    systemctl stop selvold
    rm /var/lib/selvol/state.db*
    bring_up start selvold
}
is_listed() { told_by 'not recorded' selvolctl list; }
mount_default lost /dev/scratch0 "$T"
lose_records
remedy 'a lost record: to record it' told run_as_told 'selvolctl adopt lost [^"]*' -- is_listed
lose_records
explained a2cfdda7c5784aa194de868c41737085
yes 'a lost record: what the journal says' run_as_told 'selvolctl adopt lost .* --holder NAME' NAME pod-A
yes 'a lost record: held' is_held lost "$T"
lose_records
remedy 'a lost record: to unmount it' told run_as_told 'selvolctl unmount [^"]*' -- is_listed

# ---- the service -------------------------------------------------------------------------------------------
# mistake COMMAND: the configuration has a mistake, the command fails, and the journal says what to do then
mistake() {
    printf '[Service]\nFrobnicate=yes\n' >$conf_dir/50-remedies.conf
    systemctl "$1" selvold >/dev/null 2>&1
    explained 6bf03bf3ad9e4a35b78b2ba3f5317ef7
    like "a mistake in the configuration, $1: shown" "$(run_as_told 'selvolctl config' 2>&1)" 50-remedies.conf:2 Frobnicate
    rm $conf_dir/50-remedies.conf
}
mistake reload
yes 'a mistake in the configuration: corrected' run_as_told 'systemctl reload selvold'
mistake restart
yes 'a mistake in the configuration: corrected, and started' run_as_told 'systemctl restart selvold'
systemctl mask --now selvold >/dev/null 2>&1
remedy 'a masked service' failed run_as_told 'systemctl unmask selvold' -- try selvolctl list
useradd -r remedies
as_user() { try setpriv --reuid remedies --regid remedies --init-groups selvolctl "$1"; }
remedy 'a user who may not call' failed run_as_told 'usermod -aG selvol USER' USER remedies -- as_user list
remedy 'a user who may not read the journal' failed run_as_told 'usermod -aG systemd-journal USER' USER remedies -- as_user history

# ---- commands that show something ----------------------------------------------------------------------------
# shows COMMAND...: each is known, takes its options, and has something to show; 3 is of a unit that does not run
shows() {
    local command said
    for command; do
        said=$(eval "timeout 600 $command" 2>&1 </dev/null)
        case $?$said in
            0?* | 3?*) ok "shows: $command" ;;
            *) not_ok "shows: $command" "$said" ;;
        esac
    done
}
mount_default shown $I/shown "$T" 'Holder s pod-A'
exec {user}<"$T"
exec {opened}</dev/scratch0
loop=$(losetup -n -O NAME -j $I/shown)
mkfs.btrfs -q -f /dev/scratch3 >/dev/null 2>&1
# The bus denies a call of this domain.
echo '(allow unconfined_t unconfined_mount_t (process (transition siginh noatsecure rlimitinh)))
(allow unconfined_mount_t bin_t (file (entrypoint read open execute getattr map)))
(allow unconfined_mount_t unconfined_t (fd (use)))
(allow unconfined_mount_t unconfined_t (fifo_file (read write getattr append ioctl)))' >$own/deaf.cil
semodule -i $own/deaf.cil
timeout 60 runcon -t unconfined_mount_t -r unconfined_r -u unconfined_u selvolctl list </dev/null >/dev/null 2>&1
shows 'ausearch -m USER_AVC' 'ausearch -m avc' 'btrfs check /dev/scratch3' \
    "findmnt -T $T" 'fuser -v /dev/scratch0' "fuser -vm $T" "losetup -j $I/shown" \
    'journalctl -k' 'journalctl -u selvol-worker' 'journalctl -u selvold -n 20' 'journalctl SELVOL_VOLUME=shown' \
    'systemctl status dbus' 'systemctl status polkit' 'systemctl status selvol-worker' 'systemctl status selvol-worker.socket' \
    'systemctl status selvol-worker.socket selvol-worker.service' 'systemctl status selvold' 'systemctl status systemd-journald' \
    'selvolctl --help' 'selvolctl --version' 'selvolctl mount --help' 'selvolctl unmount --help' 'selvolctl adopt --help' \
    'selvolctl forget --help' 'selvolctl config' 'selvolctl doctor' 'selvolctl history' 'selvolctl jobs' 'selvolctl list' \
    'selvolctl list --all' 'selvolctl list shown' 'selvolctl show shown' \
    "selvolctl plan other /dev/scratch0 $pods/remedies/u --level s0:c1" 'selvolctl forget --unused=30d' 'lsblk -f' 'lsblk -o NAME,LABEL,UUID,PARTLABEL,PARTUUID' 'ls /dev/disk/by-*' 'ls -Z /dev/scratch0' \
    "grep -l '$(stat -L -c %Hr:%Lr /dev/vda)' /proc/[0-9]*/mountinfo" "grep -l $loop /proc/[0-9]*/mountinfo" 'semodule -DB' 'semodule -B'
exec {user}<&- {opened}<&-
unmount_volume shown "$T"

semodule -r type -r selvol-local -r deaf
userdel remedies
semanage fcontext -d "$S(/.*)?"
semanage fcontext -d "$M(/.*)?"
rm -f $dropin
configure
systemctl stop auditd
rm -rf $S $M $I "$pods/remedies" $own
wipefs -qa /dev/scratch0 /dev/scratch1 /dev/scratch2 /dev/scratch3
clean remedies
