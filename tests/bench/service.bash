# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# Starts a selvold and a selvol-worker on a bus and in a mount namespace of their own, and makes devices for them. The
# benchmarks source this file after they have set $top and $SELVOL_BUILD.

targets=/run/selvol-bench
bin=$SELVOL_BUILD/tests/bench

die() {
    echo "bench: $*" >&2
    exit 1
}

need_programs() { # PROGRAM...
    local program
    for program; do
        [[ -n $(type -P "$program") ]] || die "$program is missing"
    done
}

wait_for() {
    local n
    for ((n = 0; n < 500; n++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.01
    done
    die "timeout: $*"
}

# Starts the calling script again in a mount namespace of its own, which ends with the script, and so do its mounts.
enter_private_namespace() { # SCRIPT ARGUMENT...
    ((EUID == 0)) || die 'run as root: it mounts'
    [[ -n ${SELVOL_BENCH_UNSHARED:-} ]] ||
        SELVOL_BENCH_UNSHARED=1 exec unshare --mount --propagation private "$@"
}

# Sets work, a directory that clean_up removes.
make_work() { # TEMPLATE
    pids=() loop='' loops_pid=''
    work=$(mktemp -d "$1")
    trap clean_up EXIT
    trap 'exit 130' INT TERM HUP
}

is_running() { # PID; a zombie has no exe
    [[ -e /proc/$1/exe ]]
}
end_process() { # PID
    local n
    # Another process may have the number by now.
    grep -qsFa -- "$work" "/proc/$1/cmdline" || grep -qsx "PPid:[[:space:]]*$$" "/proc/$1/status" || return 0
    kill "$1" 2>/dev/null || true
    for ((n = 0; n < 100; n++)); do
        is_running "$1" || break
        sleep 0.05
    done
    kill -KILL "$1" 2>/dev/null || true # a tracer may have stopped the process
    wait "$1" 2>/dev/null || true
}

# Unmounts the rest after a failure. In a namespace of its own the benchmark has a /run of its own, with its targets.
unmount_left() {
    local target
    if [[ -n ${SELVOL_BENCH_UNSHARED:-} && -d $targets ]]; then
        umount --lazy --recursive /run || true
    fi
    findmnt --raw --noheadings --output TARGET | grep -F "$work/" | tac | while read -r target; do
        umount --lazy "$target" || true
    done || true
}
clean_up() {
    local pid
    trap '' INT TERM HUP
    [[ ! -s $work/daemon.pid ]] || end_process "$(<"$work/daemon.pid")"
    for pid in "${pids[@]}"; do
        end_process "$pid"
    done
    unmount_left
    [[ -z $loop ]] || losetup -d "$loop" || true
    if [[ -n $loops_pid ]]; then
        kill "$loops_pid" 2>/dev/null || true
        wait "$loops_pid" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$work"
}

# Runs a measuring program in the background, so that a signal to the script ends the program too, at once.
run_bench() { # PROGRAM ARGUMENT...
    "$@" &
    pids=($! "${pids[@]}")
    wait $! || {
        tail -n 5 "$work/daemon.log" "$work/worker.log" >&2 2>/dev/null || true
        exit 1
    }
}

# Sets loop, a device with a file system, and entries, the number of its files and directories; 0 FILES: it is empty.
make_device() { # FS-TYPE FILES
    entries=0
    # mkfs.ext4 makes an inode for each 16 KiB; the image has room for half as many again.
    truncate -s $((512 + $2 * 24 / 1024))M "$work/image"
    "mkfs.$1" -q "$work/image" || die "no file system of type $1 can be made"
    loop=$(losetup --find --show "$work/image") || die 'there is no loop device'
    (($2 > 0)) || return 0
    mkdir "$work/fill"
    mount -t "$1" "$loop" "$work/fill"
    "$bin/bench-tree" fan "$2" "$work/fill" || die 'the tree was not made'
    entries=$(find "$work/fill" -printf x | wc -c)
    umount "$work/fill"
}

# Makes N copies of a file system on loop devices, and writes the names of the devices into $work/devices.
make_devices() { # N SIZE MKFS-OPTION...
    local n=$1
    truncate -s "$2" "$work/pattern"
    shift 2
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$@" "$work/pattern" || die 'no ext4 can be made'
    mkdir "$work/images"
    "$bin/bench-loops" "$work/pattern" "$work/images" "$n" "$work/devices" </dev/null &
    loops_pid=$!
    until [[ -e $work/devices ]]; do
        is_running "$loops_pid" || die 'the loop devices were not made'
        sleep 0.05
    done
}

# There may be thousands of these, hence no journal.
make_small_devices() { # N
    make_devices "$1" 1M -b 1024 -N 16 -m 0 -O ^has_journal
}

# Makes the program $work/control, too, which stops and starts selvold.
start_service() {
    need_programs dbus-daemon busctl
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run
    mkdir -p "$work/state" "$work/etc/selvol.conf.d" "$targets"
    cat >"$work/bus.conf" <<CONF
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path=$work/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/>
<allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
CONF
    printf '[Service]\nMetricsTextfile=\n[Worker]\nTargetRoots=\nTargetRoots=%s\n' "$targets" >"$work/etc/selvol.conf.d/bench.conf"
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
    dbus-daemon --nofork --nosyslog --config-file="$work/bus.conf" </dev/null >"$work/bus.log" 2>&1 &
    pids+=($!)
    wait_for test -S "$work/bus"
    # shellcheck disable=SC2086 # a command with its options, such as strace -f -o FILE
    ${SELVOL_BENCH_WORKER:-} "$SELVOL_BUILD/src/selvol-worker" --socket "$work/worker" --config-usr "$top/src" \
        --config-etc "$work/etc" --peer-uid 0 </dev/null >"$work/worker.log" 2>&1 &
    worker_pid=$!
    pids=("$worker_pid" "${pids[@]}")
    wait_for test -S "$work/worker"
    write_control
    "$work/control" start
    wait_for busctl --system status org.selvol1
}

write_control() {
    cat >"$work/control" <<CONTROL
#!/bin/sh
case \$1 in
    start)
        ${SELVOL_BENCH_DAEMON:-} "$SELVOL_BUILD/src/selvold" --state-directory="$work/state" \\
            --worker="$work/worker" --config-usr="$top/src" --config-etc="$work/etc" </dev/null >>"$work/daemon.log" 2>&1 &
        echo \$! >"$work/daemon.pid"
        ;;
    stop)
        pid=\$(cat "$work/daemon.pid")
        kill "\$pid"
        while [ -e "/proc/\$pid/exe" ]; do sleep 0.01; done
        ;;
esac
CONTROL
    chmod +x "$work/control"
}

# Makes the program $work/control for a selvold that systemd runs.
write_unit_control() {
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\nexec systemctl "$1" selvold.service\n' >"$work/control"
    chmod +x "$work/control"
}
