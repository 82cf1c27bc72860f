# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2034,SC2154,SC2016 # of lib.bash; for eval
# podman creates, uses and removes named volumes that selvold mounts. The commands are those of selvol-volume-plugin(8).

((SELVOL_GUEST_BOOT == 1)) || return 0
# shellcheck source-path=SCRIPTDIR source=volumes.bash
. ./volumes.bash

is 'off by default' "$(systemctl is-enabled selvol-volume-plugin.socket)" disabled
# An earlier version, which ran as root, has left this.
mkdir -m 700 /var/lib/selvol-volume-plugin
: >/var/lib/selvol-volume-plugin/.old
restorecon -R /var/lib/selvol-volume-plugin
set_up_volumes

like 'create: without a source' "$(create bad --opt level=$level)" 'Pass --opt source=SOURCE'
like 'create: without a level' "$(create bad --opt source=/dev/scratch0)" 'Pass --opt level=LEVEL'
like 'create: a mistake in the level' "$(create bad --opt source=/dev/scratch0 --opt level=c1)" "creating volume \"bad\" in plugin selvol" 'c1'
like 'create: no such device' "$(create bad --opt source=/dev/nothing --opt level=$level)" '/dev/nothing'
is 'create' "$(create db --opt source=/dev/scratch0 --opt level=$level)" db
is 'ls' "$(podman volume ls --format '{{.Driver}} {{.Name}}')" 'selvol db'
is 'inspect: not mounted' "$(inspect db Mountpoint)" ''
is 'its user' "$(stat -c '%U %G' "/proc/$(plugin_pid)")" "$user $user"
is 'its capabilities' "$(sed -n 's/^CapBnd:\s*//p' "/proc/$(plugin_pid)/status")" 0000000000000000
is 'systemd has given it the records' "$(stat -c '%U %a' /var/lib/selvol-volume-plugin /var/lib/selvol-volume-plugin/.old | xargs)" "$user 700 $user 644"
rm /var/lib/selvol-volume-plugin/.old
is 'its domain' "$(ps -o label= -p "$(plugin_pid)" | cut -d: -f3)" selvol_volume_plugin_t
is 'the socket' "$(stat -c '%U %a' /run/selvol/volume-plugin.sock)" 'root 600'

start one 'echo word >/data/one; sleep 1000' -v db:/data >/dev/null
soon 'one: runs' is_in_volume one
is_labeled 'one: the label' "$T" $level
is 'inspect: mounted' "$(inspect db Mountpoint)" "$T"
like 'the holder' "$(property $V Holders)" '"podman:db"' "\"$T\""
container_says 'two: the same level at once' $level 'cat /data/one' word db:/data
is 'two: one holder' "$(property $V Holders | cut -d' ' -f1)" 1
container_may_not 'three: another level' s0:c1,c2 'cat /data/one' db:/data
yes 'still mounted for the first one' is_held $V "$T"

# systemd starts each killed process again.
pid=$(plugin_pid)
dies selvol-volume-plugin
container_says 'the plugin was killed: four' $level 'cat /data/one' word db:/data
dies selvold
wait_for answers_calls
dies selvol-worker
podman rm -f -t 0 one >/dev/null 2>&1
soon 'selvold and the worker were killed: unmounted after the last one' is_not_mounted "$T"
isnt_old() { [[ $(plugin_pid) != "$pid" && $(plugin_pid) != 0 ]]; }
yes 'the plugin is another process' isnt_old
yes 'no holder' has_no_holder $V

# podman 4 fails with :Z, and podman 5 ignores that it can't write labels.
if [[ $(podman --version) == *' 4.'* ]]; then
    in_container $level true db:/data:Z
    like ':Z' "$output" "setxattr $T" 'operation not supported'
else
    container_says ':Z' $level 'cat /data/one' word db:/data:Z
    container_may_not ':Z, another level' s0:c1,c2 'cat /data/one' db:/data:Z
fi
container_says ':U' $level 'cat /data/one' word db:/data:U

# Another holder has the volume with another label.
mkdir -p "$pods/a/v"
mount_with s0:c3,c4 $V /dev/scratch0 "$pods/a/v" 'Holder s pod-A'
in_container $level true db:/data
like 'in use: refused' "$output" "in use by pod-A with level s0:c3,c4 since" "Stop pod-A, wait for it with wait, or use its level."
# polkit allows the plugin no more than its page says.
denied=InteractiveAuthorizationRequired
mkdir -p $targets-else/v
sized='MountOptions as 1 size=1m'
for target in "$pods/b/v" $targets-else/v; do
    caller=$user refused "the plugin may not mount at $target" $denied org.selvol1.mount-volume mount_volume $user/b none "$target" 'FSType s tmpfs' "$sized"
    caller=$user refused "nor plan for $target" $denied org.selvol1.plan-volume plan_volume $user/b none "$target" 'FSType s tmpfs' "$sized"
done
caller=$user refused 'nor unmount what others have' $denied org.selvol1.unmount-volume unmount_volume $V "$pods/a/v"
caller=$user refused 'nor have it relabeled' $denied org.selvol1.relabel-volume call Relabel 'ssa{sv}' $V '' 0
caller=$user refused 'nor forget it' $denied org.selvol1.forget-volume forget_volume $V
rmdir $targets-else/v $targets-else
unmount_volume $V "$pods/a/v"
container_says 'no more in use' $level 'cat /data/one' word db:/data

# podman copies the files of the image into an empty volume.
create up --opt source=/dev/scratch1 --opt level=$level >/dev/null
in_container $level 'ls /bin | wc -l'
wanted=$output
in_container $level '/up/busybox ls /up | wc -l' up:/bin up:/up
yes 'copied up' test "$output" -gt 1 -a "$output" -eq "$wanted"

# The relabel takes longer than the plugin waits.
mount /dev/scratch2 /mnt && fill /mnt 600 && umount /mnt
create slow --opt source=/dev/scratch2 --opt level=$level --opt policy=Always --opt max-entries-per-second=60 >/dev/null
plugin_waits ''
in_container $level true slow:/data
# the progress in the message: bus /volume-plugin/relabel
like 'relabel: told' "$output" "Volume $user/slow is not mounted yet" "see 'selvolctl jobs'"
plugin_waits 290s
soon 'relabel: goes on' is_mounted $targets/slow
yes 'relabel: held, and podman does not know' is_held $user/slow $targets/slow
yes 'relabel: selvolctl unmount' selvolctl unmount -q $targets/slow
yes 'relabel: selvolctl unmount: it is free' has_no_holder $user/slow
yes 'relabel: selvolctl unmount: not mounted' is_not_mounted $targets/slow
sees_all_of_it() { in_container "$level" 'look /data' slow:/data && [[ $output == *'refused 0' ]]; }
yes 'relabel: the next start has it' sees_all_of_it
is 'relabel: once' "$(counter 'selvol_relabels_total{outcome="walked",reason="unknown"}')" 1
is 'relabel: unmounted' "$(left_mounts)" ''

# The remedies of the plugin, and of the refusal of another holder, are followed (remedies.bash). The plugin loses a record.
records=/var/lib/selvol-volume-plugin
use_db() {
    if in_container "$level" true db:/data; then error=''; else error=failed message=$output; fi
}
create_db() { try create db --opt source=/dev/scratch0 --opt "level=$level"; }
rm $records/db
remedy 'a record that is lost' failed run_as_told 'podman volume rm db; podman volume create --driver selvol --opt source=SOURCE --opt level=LEVEL db' \
    SOURCE /dev/scratch0 LEVEL $level -- use_db
echo >$records/db
create_again() { run_as_told 'podman volume rm db' && create_db && [[ -z $error ]]; }
remedy 'a record that is damaged' failed create_again -- use_db
start held 'sleep 1000' -v db:/data >/dev/null
soon 'held: mounted' is_mounted "$T"
remedy 'held by a container' ContextConflict run_as_told 'podman stop \$\(podman ps -q --filter volume=db\)' -- \
    mount_with s0:c3,c4 $V /dev/scratch0 "$pods/a/v"
unmount_volume $V "$pods/a/v"
podman rm -f -t 0 held >/dev/null 2>&1

rm_volumes
in_container $level true db:/data
is 'rm: the name is free' "$(podman volume ls --format '{{.Driver}} {{.Name}}')" 'local db'
podman volume rm db >/dev/null
clean podman
