# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# Each kind of caller calls all methods that selvold lists, with polkit as installed, with a rule, and without polkit.
# "matrix" has the calls, which change nothing. polkit asks for a password for "change" and allows "inspect"; "free"
# methods reveal nothing of the service. bus /authorize/matrix tests all properties, and a polkit that denies,
# challenges, does not answer, or is replaced.

T=$pods/matrix/v matrix=/usr/local/bin/matrix rows=/run/vm-matrix
rule=/etc/polkit-1/rules.d/50-selvol-test.rules
cp matrix $matrix     # users can't read this directory
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
usermod -aG selvol bob
configure '[Worker]\nSourceDevices=/dev/scratch*'
mount_volume matrix /dev/scratch0 "$T" "$always" 'SELinuxLevel s s0:c1,c2'
# selvold keeps an ended job for ten minutes, so callers can wait for it and cancel it any number of times.
call Relabel 'ssa{sv}' matrix '' 0
job=$(cut -d'"' -f2 <<<"$reply")
object=$job interface=org.selvol1.Job call Wait ''
like 'there is a volume, and a job' "$reply" '"done"'
$matrix list >$rows
for path in /org/selvol1 "$(volume_path matrix)" "$job" /org/freedesktop/LogControl1; do
    like "the list has $path" "$(<$rows)" "[\"$path\", "
done
daemon=$(main_pid selvold)
state() { selvolctl list --json=short && mount_table; }
before=$(state)

as() { setpriv --reuid "$1" --regid "$(id -g "$1")" --init-groups "${@:2}"; }
polkit_allows() {
    echo "polkit.addRule(function (action, subject) { if (subject.user == 'bob') return polkit.Result.YES; });" >$rule
    restorecon $rule
    systemctl restart polkit
}
polkit_is_absent() {
    systemctl stop polkit
    ln -sfn /dev/null /run/systemd/system/polkit.service
    systemctl daemon-reload
}

free='free allowed'
all="change allowed, $free, inspect allowed"
while IFS=: read -r name set_up bob; do
    $set_up
    while read -r user wanted; do
        is "$user, polkit $name" "$(as "$user" $matrix call <$rows)" "$wanted"
    done <<END
root $all
bob $bob
alice change rejected, free rejected, inspect rejected
nobody change rejected, free rejected, inspect rejected
END
done <<END
as installed:true:change challenged, $free, inspect allowed
allows:polkit_allows:$all
absent:polkit_is_absent:change unanswered, $free, inspect unanswered
END

# Only polkit's user may own polkit's name on the bus.
for user in root bob; do
    like "$user may not be polkit" "$(as $user busctl call org.freedesktop.DBus / org.freedesktop.DBus RequestName su \
        org.freedesktop.PolicyKit1 4 2>&1)" 'Access denied'
done
rm $rule
rm -f /run/systemd/system/polkit.service
systemctl daemon-reload
caller=bob call GetMetrics ''
is 'polkit is back' "$error" ''
is 'it is the same selvold' "$(main_pid selvold)" "$daemon"
is 'nothing has changed' "$(state)" "$before"
unmount_volume matrix "$T"
configure
clean matrix
