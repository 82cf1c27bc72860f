# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# The worker is killed at any time of a mount: the volume is mounted and recorded then, or neither.

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

# How long does one take? The quickest counts, so that kills don't come too late.
usual=60000000
for n in 1 2 3 4 5; do
    start=${EPOCHREALTIME/./}
    mount_with s0:c1,c2 kill /dev/scratch0 "$T"
    time=$((${EPOCHREALTIME/./} - start))
    ((time >= usual)) || usual=$time
    unmount_volume kill "$T"
done

exec {never}<> <(:)

# round VICTIMS MICROSECONDS
round() {
    local main pid pids seconds victim
    main=$(main_pid selvol-worker)
    printf -v seconds '%d.%06d' $(($2 / 1000000)) $(($2 % 1000000))
    busctl --timeout=120 call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' kill /dev/scratch0 "$T" \
        3 SELinuxLevel s s0:c1,c2 $policy $supported </dev/null >"$scratch/kill" 2>&1 &
    pid=$!
    # without a process of ours, which would take longer than the mount
    read -rt "$seconds" -u "$never"
    mapfile -t pids </sys/fs/cgroup/system.slice/selvol-worker.service/cgroup.procs
    for victim in "${pids[@]}"; do
        [[ $1 == children && $victim == "$main" ]] || kill -KILL "$victim" 2>/dev/null
    done
    wait "$pid"
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

# at one certain moment: after publishing, before the answer
strace -f -qq -e trace=move_mount -e inject=move_mount:signal=KILL -p "$(main_pid selvol-worker)" </dev/null >"$scratch/strace" 2>&1 &
tracer=$!
wait_for_tracer "$(main_pid selvol-worker)"
# The child that waits was there before the tracer: the next one is traced.
plan_volume spare none "$T" 'FSType s tmpfs'
mount_with s0:c1,c2 kill /dev/scratch0 "$T"
is 'killed while it publishes: an error' "${error:-none}" WorkerFailed
kill "$tracer" 2>/dev/null
wait "$tracer" 2>/dev/null
soon 'killed while it publishes: mounted and recorded, or neither' consistent
unmount_volume kill "$T"

# A child that can't be killed, as in uninterruptible sleep, publishes long after selvold has started again: only its
# own volume and target wait for it, and the mount is known.
strace -f -qq -e trace=move_mount,kill -e inject=move_mount:delay_enter=30000000 -e inject=kill:retval=0 \
    -p "$(main_pid selvol-worker)" </dev/null >"$scratch/strace" 2>&1 &
tracer=$!
wait_for_tracer "$(main_pid selvol-worker)"
plan_volume spare none "$T" 'FSType s tmpfs'
busctl --timeout=120 call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' kill /dev/scratch0 "$T" \
    3 SELinuxLevel s s0:c1,c2 $policy $supported </dev/null >"$scratch/kill" 2>&1 &
pid=$!
is_mounting() { [[ $(property kill Holders) == *'"mounting"'* ]]; }
wait_for is_mounting
kill -KILL "$(main_pid selvold)"
wait "$pid"
wait_for answers_calls
yes 'a child of before: its volume is being mounted' is_mounting
like 'a child of before: named' "$(journalctl -q -b -u selvold -o cat | tail -n 20)" 'kill: worker process' "from before selvold was restarted, still runs (Mount at $T)"
plan_volume other none "$pods/kill/w" 'FSType s tmpfs'
is 'a child of before: others are served' "${error:-none}" none
mount_with s0:c1,c2 kill /dev/scratch0 "$T" 'TimeoutUSec t 300000'
like 'a child of before: its volume waits for it' "$error $message" Busy 'Mount by process'
mount_with s0:c1,c2 kill /dev/scratch0 "$T"
answers 'a child of before: what it has published is the volume' "$file_type:s0:c1,c2" '' context-mount context-mount
is 'a child of before: once' "$(mount_table | grep -c " $T ")" 1
kill "$tracer" 2>/dev/null
wait "$tracer" 2>/dev/null
unmount_volume kill "$T"
yes 'a child of before: unmounted' has_no_holder kill

# selvold is killed in the middle
systemctl reset-failed selvold
for ((n = 0; n < 3; n++)); do
    busctl --timeout=120 call org.selvol1 /org/selvol1 org.selvol1.Manager MountVolume 'sssa{sv}' kill /dev/scratch0 "$T" \
        3 SELinuxLevel s s0:c1,c2 $policy $supported </dev/null >"$scratch/kill" 2>&1 &
    pid=$!
    time=$((usual * (n + 1) / 6))
    sleep "$(printf '0.%06d' $((time % 1000000)))"
    kill -KILL "$(main_pid selvold)"
    wait "$pid"
    wait_for answers_calls
    wait_for consistent || bad+=("selvold killed at $time of $usual µs: $(state)")
    unmount_volume kill "$T"
    is_mounted "$T" && bad+=("selvold killed at $time: mounted still: $error $message") && umount "$T"
done
is 'selvold killed: never mounted without a record, never recorded without a mount' "${bad[*]-}" ''
clean kill
