# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # of lib.bash
# All that selvold takes, as it says itself, by each kind of caller with each kind of polkit: "matrix" has the calls, which change
# nothing. Of "change" polkit asks for a password, "inspect" it allows, and "free" tells nothing of the service.

T=$pods/matrix/v matrix=/usr/local/bin/matrix rows=/run/vm-matrix
rule=/etc/polkit-1/rules.d/50-selvol-test.rules
cp matrix $matrix     # where users may read
mkdir -p "$T"
mkfs.ext4 -q -F /dev/scratch0
usermod -aG selvol bob
mount_volume matrix /dev/scratch0 "$T" "$always" 'SELinuxLevel s s0:c1,c2'
# The job is kept for ten minutes when it has ended: it can be waited for, and canceled, again and again.
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
rule() { # RESULT of polkit's
    echo "polkit.addRule(function (action, subject) { if (subject.user == 'bob') return polkit.Result.$1; });" >$rule
    restorecon $rule
    systemctl restart polkit
}
polkit_asks() { rm -f $rule && systemctl restart polkit; }     # as it is installed
polkit_is_silent() { polkit_asks && kill -STOP "$(main_pid polkit)"; }
polkit_is_absent() {
    kill -CONT "$(main_pid polkit)"
    systemctl stop polkit
    ln -sfn /dev/null /run/systemd/system/polkit.service
    systemctl daemon-reload
}
# Only polkit's user may have its name.
polkit_is_replaced() {
    local user
    for user in root bob; do is "$user may not be polkit" "$(as $user $matrix own org.freedesktop.PolicyKit1)" AccessDenied; done
    setpriv --reuid polkitd --regid polkitd --init-groups $matrix own org.freedesktop.PolicyKit1 </dev/null >/dev/null 2>&1 &
    stranger=$!
    wait_for busctl --timeout=5 call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s org.freedesktop.PolicyKit1
}

free='free allowed'
all="change allowed, $free, inspect allowed"
while IFS=: read -r name set_up bob; do
    $set_up
    # polkit answers five questions or so in a second under emulation, and each has to be answered within ten. If it does not answer
    # at all, as many wait at once as a user may have, or it would take a quarter of an hour.
    if [[ $name == silent ]]; then ask=(32 1); else ask=(4 3); fi
    while read -r user wanted; do
        began=${EPOCHREALTIME/./}
        is "$user, polkit $name" "$(as "$user" $matrix call "${ask[@]}" <$rows)" "$wanted"
        echo "# in $(((${EPOCHREALTIME/./} - began) / 100000)) tenths of a second"
    done <<END
root $all
bob $bob
alice change rejected, free rejected, inspect rejected
nobody change rejected, free rejected, inspect rejected
END
done <<END
allows:rule YES:$all
denies:rule NO:change denied, $free, inspect denied
asks for a password:rule AUTH_ADMIN:change challenged, $free, inspect challenged
as installed:polkit_asks:change challenged, $free, inspect allowed
silent:polkit_is_silent:change unanswered, $free, inspect unanswered
absent:polkit_is_absent:change unanswered, $free, inspect unanswered
replaced:polkit_is_replaced:change unanswered, $free, inspect unanswered
END
kill "$stranger"
wait "$stranger"
rm -f /run/systemd/system/polkit.service
systemctl daemon-reload
caller=bob call GetMetrics ''
is 'polkit is back' "$error" ''
is 'it is the same selvold' "$(main_pid selvold)" "$daemon"
is 'nothing has changed' "$(state)" "$before"
unmount_volume matrix "$T"
clean matrix
