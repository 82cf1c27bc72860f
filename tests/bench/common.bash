# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# What benchmarks of whole trees share: volumes on loop devices, runs that are timed, medians. Sourced; needs $top and
# $SELVOL_BUILD. Times are in microseconds, without a fraction, until they are printed.

bin=$SELVOL_BUILD/tests/bench

die() {
    echo "bench: $*" >&2
    exit 1
}
say() { echo "bench: $*" >&2; }

# Starts the calling script again in a mount namespace that goes with it. What is mounted, and the loop devices with
# it, disappears whatever ends the script; the images have no name by then.
enter_scene() { # SCRIPT ARGUMENT...
    ((EUID == 0)) || die 'run as root: it mounts'
    [[ -n ${SELVOL_BENCH_UNSHARED:-} ]] || SELVOL_BENCH_UNSHARED=1 exec unshare --mount --propagation private "$@"
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/selvol-bench.XXXXXX")
    trap leave_scene EXIT
    trap 'exit 130' INT TERM HUP
    volume=$work/v
    mkdir "$volume"
}
leave_scene() {
    umount --lazy "$volume" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}

# ---- volumes ----

# Makes a tree on a file system of its own, mounted on $volume; sets entries: how many, the root included.
make_volume() { # FS-TYPE SHAPE N
    local -a options=(-q)
    local size=$3
    drop_volume
    [[ $2 != deep ]] || size=$(($3 * 4))
    # nothing that the file system would do later, behind a measurement
    [[ $1 != ext4 ]] || options+=(-E 'lazy_itable_init=0,lazy_journal_init=0')
    # 16 KiB for each inode, as ext4 has it unless told otherwise, and to spare
    truncate -s $((640 + size * 24 / 1024))M "$work/image"
    "mkfs.$1" "${options[@]}" "$work/image" >"$work/log" 2>&1 || die "mkfs.$1: $(tail -n 1 "$work/log")"
    mount -t "$1" -o loop "$work/image" "$volume" || die "$1 can't be mounted on a loop device"
    rm "$work/image"
    "$bin/bench-tree" "$2" "$3" "$volume" || die 'the tree was not made'
    entries=$(find "$volume" -printf x | wc -c)
}
drop_volume() {
    ! mountpoint -q "$volume" || umount "$volume"
}

# What $volume has must be on the disk already: only what is clean can be dropped. The program is read again, so that
# nobody pays for the loading of one.
empty_caches() { # PROGRAM
    echo 3 >/proc/sys/vm/drop_caches || die 'the caches can not be dropped here: use --cache hot'
    cat "$(type -P "$1")" "$bin/bench-run" >/dev/null
}

# ---- runs ----

# Runs a command; sets took[]: wall, flush, rss (KiB), status and what it says of itself (see bench-run), and time:
# without what it spent on making its work durable, durable: with that and what was left to do. Its complaints are in
# $work/complaints.
declare -A took
run_timed() { # COMMAND...
    local line word
    line=$("$bin/bench-run" "$volume" "$@" 2>"$work/complaints") || die "$(cat "$work/complaints")"
    took=([sync]=0)
    for word in $line; do
        took[${word%%=*}]=${word#*=}
    done
    # a bare loop is timed without its preparation
    took[time]=$((${took[loop]:-${took[wall]}} - took[sync]))
    took[durable]=$((took[time] + took[sync] + took[flush]))
}

# ---- figures ----

# series[KEY]: all values, as words
declare -A series
add_value() { # KEY VALUE
    series[$1]+=" $2"
}
has_values() { # KEY
    [[ -n ${series[$1]:-} ]]
}
pick_value() { # KEY median|min|max
    local -a values
    mapfile -t values < <(tr ' ' '\n' <<<"${series[$1]# }" | sort -n)
    case $2 in
        median) echo $(((values[(${#values[@]} - 1) / 2] + values[${#values[@]} / 2]) / 2)) ;;
        min) echo "${values[0]}" ;;
        max) echo "${values[-1]}" ;;
    esac
}
median() { pick_value "$1" median; }

format_seconds() { # USEC
    printf '%d.%03d' $(($1 / 1000000)) $(($1 / 1000 % 1000))
}
# A ratio is in thousandths.
ratio() { # A B
    echo $(($1 * 1000 / ($2 > 0 ? $2 : 1)))
}
format_ratio() { # RATIO
    printf '%d.%02d' $((($1 + 5) / 1000)) $((($1 + 5) % 1000 / 10))
}

# Prints the words, beginning with another one each round.
rotate() { # ROUND WORD...
    local n=$1
    shift
    n=$((n % $#))
    echo "${@:n+1}" "${@:1:n}"
}

# Prints an object in a line.
print_json() { # KEY VALUE ...
    local separator='{'
    while (($#)); do
        if [[ $2 =~ ^([0-9]+([.][0-9]+)?|true|false)$ ]]; then
            printf '%s"%s":%s' "$separator" "$1" "$2"
        else
            printf '%s"%s":"%s"' "$separator" "$1" "$2"
        fi
        separator=','
        shift 2
    done
    echo '}'
}
