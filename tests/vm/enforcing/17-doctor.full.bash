# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2086 # of lib.bash; words
# The remedies of "selvolctl doctor" are followed as remedies.bash says, and doctor finds nothing any more. Where a volume
# could not be mounted before, it can be mounted then.

T=$pods/doctor/v targets=/var/lib/selvol-volumes state=/var/lib/selvol I=/var/lib/selvol-images/doctor
plugin_conf=/etc/containers/containers.conf.d/selvol.conf
mkdir -p "$T" "${plugin_conf%/*}"
mkfs.ext4 -q -F /dev/scratch0
mkfs.ext4 -q -F /dev/scratch1
semodule -l | grep -qx selvol || semodule -X 200 -i /usr/share/selinux/packages/selvol.pp

# mounts NAME [TARGET]
mounts() {
    mount_default doctor /dev/scratch0 "${2:-$T}"
    is "$1: a volume can be mounted" "$error$message" ''
    unmount_volume doctor "${2:-$T}"
}

# ---- SELinux, directories, kernel and clock ------------------------------------------------------------------
setenforce 0
remedy 'permissive' found run_as_told 'setenforce 1' -- examine selinux
mv /var/lib/kubelet /var/lib/kubelet.away
mv $targets $targets.away
remedy 'no directory for targets' found run_as_told 'mkdir -p /var/lib/selvol-volumes' -- examine targets
mkdir $targets/v
mounts 'no directory for targets' $targets/v
rm -r $targets
mv $targets.away $targets
mv /var/lib/kubelet.away /var/lib/kubelet
mount --bind $pods $pods
mount --make-private $pods
remedy 'targets that containers do not see' found run_as_told 'mount --make-shared .*' -- examine targets
umount $pods
mount -t tmpfs -o ro tmpfs $pods
remedy 'targets on a read-only file system' found run_as_told 'mount -o remount,rw .*' -- examine targets
umount $pods
printf '[engine.volume_plugins]\nselvol = "/run/selvol/volume-plugin.sock"\n' >$plugin_conf
remedy 'the volume plugin is off' found run_as_told 'systemctl enable --now selvol-volume-plugin.socket' -- examine podman
systemctl -q disable --now selvol-volume-plugin.socket
rm $plugin_conf
sysctl -q user.max_user_namespaces=0
remedy 'no user namespaces' found run_as_told 'sysctl user.max_user_namespaces=10000' -- examine kernel
mount_default doctor /dev/scratch0 "$T"
unmount_volume doctor "$T"
selvolctl mount -q doctor /dev/scratch0 "$T" --level s0:c1
selvolctl verify -q doctor
selvolctl unmount -q doctor
now=$EPOCHSECONDS
date -s "@$((now - 86400))" >/dev/null
behind() { examine clock; [[ $message == *"is before"* ]] || error=""; }
remedy 'a clock that is behind' found run_as_told 'timedatectl set-time TIME' TIME "'$(date -d "@$((now + 60))" "+%F %T")'" -- behind
examine clock
yes 'a clock that nobody sets' run_as_told 'timedatectl set-ntp true'
is 'a clock that nobody sets: a service does' "$(timedatectl show -p NTP --value)" yes
timedatectl set-ntp false

# ---- configuration and records --------------------------------------------------------------------------------
printf '[Service]\nMetricsTextfile=/srv/none/selvol.prom\n' >$conf_dir/50-doctor.conf
remedy 'files that nobody has read' found run_as_told 'systemctl reload selvold' -- examine config
examine metrics
like 'metrics that can not be written' "$message" '/srv/none'
mkdir /srv/none
examine metrics
yes 'metrics that can not be written: the journal' run_as_told 'journalctl -u selvold -g metrics'
rm -r $conf_dir/50-doctor.conf /srv/none
systemctl reload selvold
mkdir -p $I
truncate -s 8M $I/a
mkfs.ext4 -q -F $I/a
for id in used other; do
    mount_default $id $I/a "$T"
    unmount_volume $id "$T"
done
remedy 'two ids of a file system' found run_as_told 'selvolctl forget .*' -- examine disks
rm -r $I

# ---- the service ----------------------------------------------------------------------------------------------
useradd -r doctor
caller=doctor remedy 'a user who may not call' found run_as_told 'usermod -aG selvol doctor' -- examine bus
userdel doctor
systemctl stop selvold
service=/usr/share/dbus-1/system-services/org.selvol1.service
mv $service $service.away
systemctl reload dbus
install_again() { mv $service.away $service && run_as_told 'systemctl reload dbus'; }
remedy 'a bus that does not know the name' found install_again -- examine bus
printf '[Service]\nFrobnicate=yes\n' >$conf_dir/50-doctor.conf
systemctl restart selvold >/dev/null 2>&1
start_again() {
    rm $conf_dir/50-doctor.conf
    run_as_told 'journalctl -u selvold -n 20' && run_as_told 'systemctl restart selvold'
}
remedy 'selvold has failed' found start_again -- examine bus
rm /run/selvol/worker
remedy 'a socket that is gone' found run_as_told 'systemctl restart selvol-worker.socket' -- examine worker
mounts 'a socket that is gone'
systemctl stop selvol-worker.socket
remedy 'a socket that was stopped' found run_as_told 'systemctl restart selvol-worker.socket' -- examine worker
mounts 'a socket that was stopped'
chown -R root:root $state
remedy 'a state of another user' found run_as_told 'chown -R selvol:selvol /var/lib/selvol' -- examine store
mounts 'a state of another user'
rm -r $state
remedy 'a state that is gone' found run_as_told 'systemctl restart selvold' -- examine store
mounts 'a state that is gone'
systemctl stop selvold
mount /dev/scratch1 $state
chown selvol:selvol $state
chmod 700 $state
restorecon -F $state
umount $state
mount -o ro /dev/scratch1 $state
bring_up start selvold
remedy 'a state that is read-only' found run_as_told 'mount -o remount,rw \$\(findmnt -n -o TARGET -T /var/lib/selvol\) && systemctl restart selvold' -- examine store
mounts 'a state that is read-only'
systemctl stop selvold
umount $state
bring_up start selvold

# ---- the policy module -----------------------------------------------------------------------------------------
# The bus knows selvold's type no more.
provoked+="|denied  { send_msg } .* tpid=$(main_pid selvold) .*tclass=dbus"
semodule -X 200 -r selvol
load_again() {
    run_as_told 'semodule -X 200 -i /usr/share/selinux/packages/selvol.pp && restorecon -RFi /usr/libexec/selvol\* /usr/sbin/mount.selvol /usr/lib/selvol /etc/selvol /run/selvol /run/selvold /var/lib/selvol /var/lib/selvol-volume-plugin && restorecon -RFix /var/lib/selvol-images && restorecon -Fi /var/lib/selvol-volumes/podman && systemctl restart selvol-worker.socket selvol-worker selvold'
}
remedy 'no policy module' found load_again -- examine module
mounts 'no policy module'
is 'no policy module: selvold in its domain' "$(ps -o label= -p "$(main_pid selvold)" | cut -d: -f3)" selvold_t

rm -rf "$pods/doctor"
wipefs -qa /dev/scratch0 /dev/scratch1
clean doctor
