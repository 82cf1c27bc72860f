# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# The bus lets root and the group selvol call, and polkit decides about the group, with a rule that looks at the
# details of the call. 08-matrix tests all methods.

T=$pods/callers/v V=bob/callers
mkdir -p "$T" "$pods/callers/w"
mkfs.ext4 -q -F /dev/scratch0
usermod -aG selvol bob
rule=/etc/polkit-1/rules.d/50-selvol-test.rules

caller=alice refused 'alice is not in the group' AccessDenied '' mount_with s0:c1,c2 "$V" /dev/scratch0 "$T"
caller=alice call GetMetrics ''
is 'alice may not even look' "$error" AccessDenied
caller=bob refused 'bob is in the group, but no device is for others than root' PathNotAllowed SourceDevices= \
    mount_with s0:c1,c2 "$V" /dev/scratch0 "$T"
configure '[Worker]\nSourceDevices=/dev/scratch[01]'
caller=bob refused 'bob is in the group, and polkit wants a password' InteractiveAuthorizationRequired '' \
    mount_with s0:c1,c2 "$V" /dev/scratch0 "$T"
caller=bob refused 'nor may bob plan a mount, which opens the disk' InteractiveAuthorizationRequired '' \
    plan_volume "$V" /dev/scratch0 "$T" 'SELinuxLevel s s0:c1,c2' "$policy" "$supported"
caller=bob call GetVolume s "$V"
is 'bob may look' "$error" NoSuchVolume
caller=bob call GetMetrics ''
is 'bob may see metrics' "$error" ''

cat >"$rule" <<'END'
polkit.addRule(function (action, subject) {
    if (action.id == "org.selvol1.mount-volume" && subject.user == "bob" && action.lookup("volume") == "bob/callers" &&
        action.lookup("source") == "/dev/scratch0" && action.lookup("fs-group") == "" &&
        action.lookup("relabel-by") != "service" && action.lookup("target").indexOf("/var/lib/kubelet/pods/callers/") == 0)
        return polkit.Result.YES;
    if (action.id == "org.selvol1.unmount-volume" && subject.user == "bob")
        return polkit.Result.NO;
});
END
restorecon "$rule"
caller=bob wait_for mount_with s0:c1,c2 "$V" /dev/scratch0 "$T"
caller=bob mount_with s0:c1,c2 "$V" /dev/scratch0 "$T"
answers 'bob may mount what a rule allows' "$file_type:s0:c1,c2" ''

caller=bob refused 'and no other volume' InteractiveAuthorizationRequired '' mount_with s0:c1,c2 other none "$pods/callers" 'FSType s tmpfs' 'MountOptions as 1 size=1m'
printf 'polkit.addRule(function (action, subject) { if (action.lookup("source") == "/dev/scratch2") return polkit.Result.YES; });' \
    >/etc/polkit-1/rules.d/40-selvol-test.rules
restorecon /etc/polkit-1/rules.d/40-selvol-test.rules
allowed() { caller=bob call MountVolume "sssa{sv}" "$V" /dev/scratch2 "$pods/callers/w" 0; [[ $error == PathNotAllowed ]]; }
soon 'nor a device that is not on the list, though polkit allows it' allowed
rm /etc/polkit-1/rules.d/40-selvol-test.rules
caller=bob refused 'nor from elsewhere' InteractiveAuthorizationRequired '' mount_with s0:c1,c2 "$V" /dev/scratch1 "$T"
caller=bob refused 'nor for a group' InteractiveAuthorizationRequired '' \
    mount_with s0:c1,c2 "$V" /dev/scratch0 "$T" 'FSGroup u 1000'
caller=bob refused 'nor have it relabeled' InteractiveAuthorizationRequired '' \
    mount_volume "$V" /dev/scratch0 "$T" "$always" 'SELinuxLevel s s0:c1,c2' 'RelabelBy s service'
caller=bob refused 'what a rule denies' AccessDenied org.selvol1.unmount-volume unmount_volume "$V" "$T"
# The journal has one denied call of a user in ten seconds.
is_logged() { caller=bob unmount_volume "$V" "$T"; journalctl -q -b -o cat MESSAGE_ID=f56c450d604a4fbebc0ec814cb0e3fad | grep -q '^UnmountVolume of volume bob/callers by uid '; }
soon 'which is in the journal' is_logged
caller=bob refused 'nor drop the record' InteractiveAuthorizationRequired '' forget_volume "$V"
journalctl --sync
like 'the history knows who it was' "$(selvolctl history "$V")" "uid $(id -u bob): Mounted "
as() { setpriv --reuid "$1" --regid "$1" --init-groups socat -u OPEN:/dev/null UNIX-CONNECT:/run/selvol/worker; }
like 'alice can not talk to the worker' "$(as alice 2>&1)" 'Permission denied'
like 'nor can bob, group or not' "$(as bob 2>&1)" 'Permission denied'
systemctl stop polkit
ln -sfn /dev/null /run/systemd/system/polkit.service
systemctl daemon-reload
caller=bob refused 'without polkit nobody but root' AccessDenied 'polkit did not answer' mount_with s0:c1,c2 "$V" /dev/scratch0 "$T" 'Holder s x'
unmount_volume "$V" "$T"
is 'without polkit root may' "$error$(field Unmounted)" true
rm -f /run/systemd/system/polkit.service "$rule"
systemctl daemon-reload
configure
clean callers
