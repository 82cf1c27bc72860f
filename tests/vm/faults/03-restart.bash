# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# Services are restarted, and mounts and holders stay. selvold notices that others have unmounted a volume.

T=$pods/restart/v U=$pods/restart/u
mkdir -p "$T" "$U"
mkfs.ext4 -q -F /dev/scratch0
systemctl reset-failed selvold

mount_with s0:c1,c2 restart /dev/scratch0 "$T" 'Holder s pod-A'
mount_with s0:c1,c2 restart /dev/scratch0 "$U" 'Holder s pod-C' 'ReadOnly b true'
line=$(mount_line "$T") holders=$(property restart Holders)
stays() {
    wait_for answers_calls
    is "$1: the mount stays" "$(mount_line "$T")" "$line"
    is "$1: the holders stay" "$(property restart Holders)" "$holders"
}
systemctl restart selvold
stays 'selvold restarted'
systemctl restart selvol-worker
stays 'selvol-worker restarted'
systemctl restart selvold selvol-worker
stays 'both restarted'
pid=$(main_pid selvold)
kill -KILL "$pid"
wait_for eval '[[ $(main_pid selvold) != "$pid" && $(main_pid selvold) != 0 ]]'
stays 'selvold killed'
pid=$(main_pid selvol-worker)
kill -KILL "$pid"
stays 'selvol-worker killed'
mount_with s0:c1,c2 restart /dev/scratch0 "$T" 'Holder s pod-A'
answers 'calls work' "$file_type:s0:c1,c2" ''
refused 'conflicts are still seen' ContextConflict pod- mount_with s0:c3,c4 other /dev/scratch0 "$pods/restart"

systemctl stop selvold
umount "$U"
bring_up start selvold
no 'unmounted while selvold was down: released' is_held restart "$U"
yes 'the other holder stays' is_held restart "$T"
journal_has 'unmounted while selvold was down: in the journal' SELVOL_VOLUME=restart "SELVOL_TARGET=$U" \
    SELVOL_OPERATION=release SELVOL_RESULT=done MESSAGE_ID=902caebf0cf3421aa9f1388cd7ef37e3

# The restarted worker has to watch the mount table again.
systemctl restart selvol-worker
busctl monitor --match "type='signal',sender='org.selvol1',interface='org.selvol1.Manager'" \
    </dev/null >"$scratch/signals" 2>"$scratch/monitor" &
monitor=$!
wait_for grep -q Monitoring "$scratch/monitor"
wait_for eval '[[ $(counter selvol_mount_table_watched) == 1 ]]'
umount "$T"
soon 'unmounted behind our back: released' has_no_holder restart
soon 'unmounted behind our back: ContextReleased' grep -q 'Member=ContextReleased' "$scratch/signals"
like 'ContextReleased names volume and context' "$(<"$scratch/signals")" '"restart"' "$file_type:s0:c1,c2"
end_process $monitor
journal_has 'unmounted behind our back: in the journal' SELVOL_VOLUME=restart MESSAGE_ID=26084ea48ac9441b8527edf1709d9aa7
mount_with s0:c3,c4 restart /dev/scratch0 "$T"
answers 'another context then' "$file_type:s0:c3,c4" '' context-mount context-mount
umount -l "$T"
soon 'detached behind our back: released' has_no_holder restart

systemctl stop selvold
yes 'selvold is started by the bus' answers_calls
systemctl stop selvol-worker.service
mount_with s0:c3,c4 restart /dev/scratch0 "$T"
answers 'selvol-worker is started by its socket' "$file_type:s0:c3,c4" ''
unmount_volume restart "$T"
systemctl stop selvol-worker.service
mv /run/selvol/worker /run/selvol/elsewhere
mount_with s0:c3,c4 restart /dev/scratch0 "$T"
is 'without a worker: an error' "$error" WorkerFailed
no 'without a worker: nothing is mounted' is_mounted "$T"
mv /run/selvol/elsewhere /run/selvol/worker
mount_with s0:c3,c4 restart /dev/scratch0 "$T"
answers 'it comes back' "$file_type:s0:c3,c4" ''
unmount_volume restart "$T"

# The worker can't start because of a mistake in its configuration, and then can.
mkdir -p "$conf_dir"
printf '[Worker]\nTargetRoot=/\n' >"$conf_dir/50-test.conf"
restorecon -R /etc/selvol
systemctl stop selvol-worker.service
mount_with s0:c3,c4 restart /dev/scratch0 "$T" 'TimeoutUSec t 4000000'
like 'a worker that can not start: an error' "${error:-none}" TimedOut
no 'a worker that can not start: nothing is mounted' is_mounted "$T"
rm "$conf_dir/50-test.conf"
yes 'when the mistake is corrected, it starts by itself' wait_for mount_with s0:c3,c4 restart /dev/scratch0 "$T"
is_labeled 'when the mistake is corrected: mounted' "$T" s0:c3,c4
unmount_volume restart "$T"
clean restart
