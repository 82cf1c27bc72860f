# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The worker is killed at any time of a mount. Then the volume is mounted and recorded, or neither.

T=$pods/kill/v
mkdir -p "$T" "$pods/kill/w"
mkfs.ext4 -q -F /dev/scratch0
rounds=20

consistent() {
    if is_mounted "$T"; then is_held kill "$T"; else has_no_holder kill || is_unknown kill; fi
}
state() {
    is_mounted "$T" && echo mounted
    property kill Holders
}

# Measures the quickest of five mounts, so that the kills do not come too late.
usual=60000000
for n in 1 2 3 4 5; do
    start=${EPOCHREALTIME/./}
    mount_with s0:c1,c2 kill /dev/scratch0 "$T"
    time=$((${EPOCHREALTIME/./} - start))
    ((time >= usual)) || usual=$time
    unmount_volume kill "$T"
done

exec {never}<> <(:)

begin_mount() {
    begin_call kill MountVolume 'sssa{sv}' kill /dev/scratch0 "$T" 3 SELinuxLevel s s0:c1,c2 $policy $supported
}
# round VICTIMS MICROSECONDS
round() {
    local main pids seconds victim
    main=$(main_pid selvol-worker)
    printf -v seconds '%d.%06d' $(($2 / 1000000)) $(($2 % 1000000))
    begin_mount
    # A builtin waits here, because to start sleep(1) takes longer than the mount.
    read -rt "$seconds" -u "$never"
    mapfile -t pids </sys/fs/cgroup/system.slice/selvol-worker.service/cgroup.procs
    for victim in "${pids[@]}"; do
        [[ $1 == children && $victim == "$main" ]] || kill -KILL "$victim" 2>/dev/null
    done
    wait "$caller_pid"
}
after() {
    if is_mounted "$T"; then mounted=$((mounted + 1)); else unmounted=$((unmounted + 1)); fi
    wait_for consistent || bad+=("round $n, $1 at $2 of $usual µs: $(state) $(<"$scratch/kill")")
    unmount_volume kill "$T" || wait_for unmount_volume kill "$T" || bad+=("round $n, unmount: $error $message")
    is_mounted "$T" && bad+=("round $n: mounted still")
}
for victims in children all; do
    mounted=0 unmounted=0 bad=()
    for ((n = 0; n < rounds / 2; n++)); do
        time=$((usual * (n * 2 + RANDOM % 2) / rounds))
        round $victims $time
        after $victims $time
    done
    is "killed, $victims: never mounted without a record, never recorded without a mount" "${bad[*]-}" ''
    echo "# killed, $victims: $mounted mounted, $unmounted not, of $usual µs each"
done
mount_with s0:c1,c2 kill /dev/scratch0 "$T"
answers 'it can be mounted afterwards' "$file_type:s0:c1,c2" '' context-mount context-mount
unmount_volume kill "$T"

# The child is killed between the publication of the mount and the answer.
trace_worker -e trace=move_mount -e inject=move_mount:signal=KILL
mount_with s0:c1,c2 kill /dev/scratch0 "$T"
is 'killed while it publishes: an error' "${error:-none}" WorkerFailed
end_process $tracer
soon 'killed while it publishes: mounted and recorded, or neither' consistent
unmount_volume kill "$T"

# A child that can't be killed, as in uninterruptible sleep, publishes its mount long after selvold has started again.
# Only its own volume and target wait for it, and selvold learns of the mount.
trace_worker -e trace=move_mount,kill -e inject=move_mount:delay_enter=30000000 -e inject=kill:retval=0
begin_mount
is_mounting() { [[ $(property kill Holders) == *'"mounting"'* ]]; }
wait_for is_mounting
kill -KILL "$(main_pid selvold)"
wait "$caller_pid"
wait_for answers_calls
yes 'a child of before: its volume is being mounted' is_mounting
like 'a child of before: named' "$(journalctl -q -b -u selvold -o cat | tail -n 20)" 'kill: worker process' "from before selvold was restarted, still runs (Mount at $T)"
plan_volume other none "$pods/kill/w" 'FSType s tmpfs'
is 'a child of before: others are served' "${error:-none}" none
mount_with s0:c1,c2 kill /dev/scratch0 "$T" 'TimeoutUSec t 300000'
like 'a child of before: its volume waits for it' "$error $message" Busy 'Mount by process'
# The child publishes 30 seconds after its call: that may be more than JobTimeoutSec= away.
mount_with s0:c1,c2 kill /dev/scratch0 "$T" 'TimeoutUSec t 120000000'
answers 'a child of before: what it has published is the volume' "$file_type:s0:c1,c2" '' context-mount context-mount
is 'a child of before: once' "$(mount_table | grep -c " $T ")" 1
end_process $tracer
unmount_volume kill "$T"
yes 'a child of before: unmounted' has_no_holder kill

systemctl reset-failed selvold
for ((n = 0; n < 3; n++)); do
    begin_mount
    time=$((usual * (n + 1) / 6))
    sleep "$(printf '0.%06d' $((time % 1000000)))"
    kill -KILL "$(main_pid selvold)"
    wait "$caller_pid"
    wait_for answers_calls
    wait_for consistent || bad+=("selvold killed at $time of $usual µs: $(state)")
    unmount_volume kill "$T"
    is_mounted "$T" && bad+=("selvold killed at $time: mounted still: $error $message") && umount "$T"
done
is 'selvold killed: never mounted without a record, never recorded without a mount' "${bad[*]-}" ''
clean kill
