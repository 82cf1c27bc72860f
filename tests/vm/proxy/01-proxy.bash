# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # of lib.bash; for eval
# selvol-csi in its domain, between kubelet, which csi-call plays, and a driver that really mounts, as a unit.

driver=disk.example.org
socket=/run/selvol/csi/$driver.sock
a=$file_type:s0:c1,c2 b=$file_type:s0:c3,c4
S=/var/lib/kubelet/plugins/kubernetes.io/csi/$driver T=$pods/a/volumes/kubernetes.io~csi
mkdir -p "$conf_dir" "/var/lib/kubelet/plugins/$driver" /run/vm-volumes "$pods/b"
restorecon -RF /var/lib/kubelet
ln -sf /dev/scratch0 /run/vm-volumes/one
ln -sf /dev/scratch1 /run/vm-volumes/two

csi() { ./csi-call "$socket" "$@"; }
start_driver() { # BEHAVIOR
    systemctl stop csi-driver 2>/dev/null
    rm -f "/var/lib/kubelet/plugins/$driver/csi.sock"
    systemd-run -q --unit=csi-driver /usr/bin/python3 "$PWD/csi-driver" "/var/lib/kubelet/plugins/$driver/csi.sock" /run/vm-volumes "$1"
    wait_for test -S "/var/lib/kubelet/plugins/$driver/csi.sock"
}
set_driver() { # KEY=VALUE...
    printf '%s\n' "[Driver $driver]" "$@" >"$conf_dir/60-driver.conf"
    systemctl reload selvold
}

mkfs.ext4 -q -F /dev/scratch0
mkfs.xfs -q -f /dev/scratch1
start_driver lying
yes 'the socket' systemctl enable --now "selvol-csi@$driver.socket"

for volume in 'one ext4' 'two xfs'; do
    read -r name type <<<"$volume"
    is "$type: stage" "$(csi stage "$name" "$type" "$a")" OK
    is_labeled "$type: the driver has dropped the context, and selvol has mounted the volume again" "$S/$name/globalmount" s0:c1,c2
    is "$type: it is logged once" "$(journalctl -q -b -o cat -u "selvol-csi@$driver" | grep -c "dropped the context of volume $driver/$name")" 1
    is "$type: publish" "$(csi publish "$name" "$type" "$a")" OK
    is_labeled "$type: the label of the target" "$T/$name/mount" s0:c1,c2
    like "$type: the holder" "$(property "$driver/$name" Holders)" '"default/web-a"' "\"$T/$name/mount\""
    touch "$T/$name/mount/file"
    is "$type: publish again" "$(csi publish "$name" "$type" "$a")" OK
    refused "$type: another label" ContextConflict web-a mount_with s0:c3,c4 other "$(findmnt -n -o SOURCE "$T/$name/mount")" "$pods/b"
    is "$type: unpublish" "$(csi unpublish "$name")" OK
    is "$type: unstage" "$(csi unstage "$name")" OK
    yes "$type: nothing is mounted" is_not_mounted "$S/$name/globalmount"
    yes "$type: no holder" has_no_holder "$driver/$name"
    is "$type: another label afterwards" "$(csi stage "$name" "$type" "$b")" OK
    is_labeled "$type: that label" "$S/$name/globalmount" s0:c3,c4
    is "$type: unstage again" "$(csi unstage "$name")" OK
done
is 'its domain' "$(ps -o label= -p "$(main_pid "selvol-csi@$driver")" | cut -d: -f3)" selvol_csi_t
is 'its capabilities' "$(sed -n 's/^CapBnd:\s*//p' "/proc/$(main_pid "selvol-csi@$driver")/status")" 0000000000000000

set_driver Context=verify
like 'verify: stage' "$(csi stage one ext4 "$a")" 'FAILED_PRECONDITION selvol: ' 'dropped the option'
yes 'verify: the driver has unmounted' is_not_mounted "$S/one/globalmount"

start_driver honest
set_driver Groups=selvol
start=$(date +%s)
is 'group: stage' "$(csi stage two xfs "$a" 2000)" OK
is 'group: publish' "$(csi publish two xfs "$a" 2000)" OK
is 'group: it is given' "$(stat -c %g "$T/two/mount" "$T/two/mount/file" | xargs)" '2000 2000'
is 'group: unpublish' "$(csi unpublish two)$(csi unstage two)" OKOK
is 'group: stage again' "$(csi stage two xfs "$a" 2000)" OK
like 'group: nothing was changed the second time' "$(journalctl -q -b -o cat --since="@$start" SELVOL_VOLUME="$driver/two" | grep 'the group of' | tail -n 1)" 'No need to change'
is 'group: unstage' "$(csi unstage two)" OK

start_driver beneath
set_driver Context=repair
is 'beneath: stage' "$(csi stage one ext4 "$a")" OK
is_labeled 'beneath: the label' "$S/one/globalmount/one" s0:c1,c2
is 'beneath: unstage' "$(csi unstage one)" OK

# A call that runs when the service is restarted is answered; a killed one is repeated by kubelet.
start_driver slow
csi stage one ext4 "$a" >"$scratch/answer" &
sleep 1
systemctl restart "selvol-csi@$driver"
wait $!
is 'a restart: the call is answered' "$(cat "$scratch/answer")" OK
csi unstage one >/dev/null &
sleep 1
systemctl kill -s KILL "selvol-csi@$driver"
wait $!
is 'a kill: the next call' "$(csi unstage one)" OK
yes 'a kill: nothing is mounted' is_not_mounted "$S/one/globalmount"

systemctl stop csi-driver
like 'no driver' "$(csi stage one ext4 "$a")" 'UNAVAILABLE ' "can't be reached"
like 'doctor: the driver does not answer' "$(selvolctl doctor)" "Driver $driver does not answer"
systemctl disable --now "selvol-csi@$driver.socket"
systemctl stop "selvol-csi@$driver"
rm -f "$conf_dir/60-driver.conf"
systemctl reload selvold
clean proxy
