# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# What benchmarks of whole trees share: options, volumes on loop devices, runs that are timed, medians, tables. Sourced;
# needs $top and $SELVOL_BUILD. Times are in microseconds, without a fraction, until they are printed.
#
# A benchmark sets file_systems, trees, caches, phases (all that it has unless told otherwise), only=(), and for trees
# that not everybody can do peers and whole_phase; main_peer, if each row is to be compared with that one too; and it
# has these functions:
#   usage
#   own_flag OPTION; own_option OPTION VALUE    takes an option of its own, or fails
#   phase_text PHASE                            what it is called in a table
#   subjects_of SHAPE CACHE PHASE               prints who takes part, by choose_subjects
#   dress_tree                                  makes everything on $volume right
#   stage SUBJECT PHASE SEED                    makes wrong what there is to change; sets expected: how many entries
#   make_command SUBJECT PHASE                  sets command, which makes everything right again
#   check_state SUBJECT                         sets checked[wrong], by check_entries
#   check_counts SUBJECT EXPECTED               compares what the subject says of itself

bin=$SELVOL_BUILD/tests/bench
label_a=system_u:object_r:container_file_t:s0:c1,c2
label_b=system_u:object_r:container_file_t:s0:c3,c4

die() {
    echo "bench: $*" >&2
    exit 1
}
say() { echo "bench: $*" >&2; }

# ---- the beginning ----

files=1000000 rounds=3 json='' main_peer=''
parse_options() { # ARGUMENT...
    local o
    while (($#)); do
        o=$1
        shift
        case $o in
            --json) json=1 && continue ;;
            --*=*) set -- "${o#*=}" "$@" && o=${o%%=*} ;;
            *) ! own_flag "$o" || continue ;;
        esac
        (($#)) || usage
        case $o in
            --entries) files=$1 ;;
            --rounds) rounds=$1 ;;
            --fs) IFS=, read -ra file_systems <<<"$1" ;;
            --trees) IFS=, read -ra trees <<<"$1" ;;
            --cache) IFS=, read -ra caches <<<"$1" ;;
            --phases) IFS=, read -ra phases <<<"$1" ;;
            --subjects) IFS=, read -ra only <<<"$1" ;;
            *) own_option "$o" "$1" || usage ;;
        esac
        shift
    done
    if ! [[ $files =~ ^[1-9][0-9]{0,7}$ && $rounds =~ ^[1-9][0-9]{0,2}$ ]]; then
        usage
    fi
}

need_programs() { # PROGRAM...
    local program
    for program; do
        [[ -n $(type -P "$program") ]] || die "$program is missing"
    done
}

# Sets go: the program. With Debian's packages of sources, not the network.
build_go() { # NAME
    go=$bin/$1
    GOPATH=/usr/share/gocode GO111MODULE=off GOCACHE=$bin/go-cache GOFLAGS='' \
        go build -o "$go" "$top/tests/bench/$1.go" || die "$1 was not built"
}

print_header() { # PACKAGE...
    local p versions='' selinux='off'
    ! selinuxenabled || selinux='on'
    for p; do
        versions+=", $p $(dpkg-query -W -f '${Version}' "$p" 2>/dev/null || echo unknown)"
    done
    echo "$(nproc) CPUs (load $(cut -d' ' -f1 /proc/loadavg)), Linux $(uname -r), SELinux $selinux$versions"
    echo "Seconds, medians of $rounds rounds; synced: until it is durable; ratio: how many times as long as selvol"
}

# Starts the calling script again in a mount namespace that goes with it. What is mounted, and the loop devices with
# it, disappears whatever ends the script; the images have no name by then. $place: where beneath $work volumes are mounted.
enter_scene() { # SCRIPT ARGUMENT...
    ((EUID == 0)) || die 'run as root: it mounts'
    [[ -n ${SELVOL_BENCH_UNSHARED:-} ]] || SELVOL_BENCH_UNSHARED=1 exec unshare --mount --propagation private "$@"
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/selvol-bench.XXXXXX")
    trap leave_scene EXIT
    trap 'exit 130' INT TERM HUP
    volume=$work/${place:-v} view=$work/w # view: to mount it a second time
    mkdir -p "$volume" "$view"
}
leave_scene() {
    umount --lazy "$view" 2>/dev/null || true
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

# A tree of a volume's own, that is right; sets current and other, the label that it has and another one.
declare -A entries_of tried
build_tree() { # FS TREE SHAPE N
    say "$1, $2: building"
    make_volume "$1" "$3" "$4"
    current=$label_a other=$label_b tried=()
    dress_tree
    entries_of[$1:$2]=$entries
}

swap_labels() {
    local l=$current
    current=$other other=$l
}

# What $volume has must be on the disk already: only what is clean can be dropped. The program is read again, so that
# nobody pays for the loading of one.
empty_caches() { # PROGRAM
    echo 3 >/proc/sys/vm/drop_caches || die 'the caches can not be dropped here: use --cache hot'
    cat "$(type -P "$1")" "$bin/bench-run" >/dev/null
}

# ---- runs ----

# Runs a command; sets took[]: wall, flush, rss (KiB), status and what it says of itself (see bench-run), and time:
# without what it spent on making its work durable, durable: with that and what was left to do. Whoever called it waits for time
# and sync. Its complaints are in
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

# Sets checked[]: entries, wrong.
declare -A checked
check_entries() { # VERB WANTED [DIRECTORY]; of bench-label
    local line word
    line=$("$bin/bench-label" "$1" "$2" "${3:-$volume}") || [[ $line == bench\ * ]] || die 'the entries were not checked'
    for word in ${line#bench }; do
        checked[${word%%=*}]=${word#*=}
    done
    ((checked[entries] == entries)) || die "${checked[entries]} entries where $entries were made"
}

# ---- measuring ----

# Prints those that are wanted and can do the tree.
choose_subjects() { # NAME...
    local s
    for s; do
        if ((${#only[@]})) && [[ " ${only[*]} " != *" $s "* ]]; then
            continue
        fi
        [[ ${tried[$s]:-} == failed ]] || echo "$s"
    done
}

measure_tree() { # FS TREE
    local shape=$2 n=$files cache phase
    case $2 in
        fan) ;;
        flat) n=$((files / 5)) ;;
        deep) n=$((files / 200)) ;;
        # the longest chain whose paths are short enough for those that use paths
        chain) shape=deep n=$((files / 200)) && n=$((n < 1900 ? n : 1900)) ;;
        *) die "there is no tree $2" ;;
    esac
    build_tree "$1" "$2" "$shape" $((n > 0 ? n : 1))
    [[ $2 != deep ]] || try_peers "$1"
    for cache in "${caches[@]}"; do
        for phase in "${phases[@]}"; do
            measure_phase "$1" "$2" "$cache" "$phase"
            print_phase "$1" "$2" "$cache" "$phase"
        done
    done
}

# Some peers can't do every tree. That is a result, not an error of the measurement.
try_peers() { # FS
    local s expected
    for s in "${peers[@]}"; do
        stage "$s" "$whole_phase" 1
        make_command "$s" "$whole_phase"
        run_timed "${command[@]}"
        check_state "$s"
        if ((checked[wrong] > 0)); then
            tried[$s]=failed
            say "$1, deep: $s leaves ${checked[wrong]} of $entries entries wrong; its status is ${took[status]}," \
                "its last words: $(tail -n 1 "$work/complaints" | sed 's/^\(.\{24\}\).*\(.\{40\}\)$/\1...\2/')"
        fi
        dress_tree
    done
}

measure_phase() { # FS TREE CACHE PHASE
    local round s
    local -a subjects
    mapfile -t subjects < <(subjects_of "$2" "$3" "$4")
    say "$1, $2, $3, $4: ${subjects[*]}"
    check_state "${subjects[0]}" # and have all in the caches
    for ((round = 0; round < rounds; round++)); do
        for s in $(rotate "$round" "${subjects[@]}"); do
            measure_once "$s" "$3" "$4" $((round + 1))
            add_value "$1:$2:$3:$4:$s:time" "${took[time]}"
            add_value "$1:$2:$3:$4:$s:durable" "${took[durable]}"
            add_value "$1:$2:$3:$4:$s:wait" $((took[time] + took[sync]))
            add_value "$1:$2:$3:$4:$s:cpu" $((took[user] + took[sys]))
            add_value "$1:$2:$3:$4:$s:rss" "${took[rss]}"
        done
    done
}

measure_once() { # SUBJECT CACHE PHASE SEED
    local expected
    stage "$1" "$3" "$4"
    make_command "$1" "$3"
    sync --file-system "$volume"
    sleep 0.1 # what has just been changed could be taken for a change during the walk
    [[ $2 != cold ]] || empty_caches "${command[0]}"
    run_timed "${command[@]}"
    check_state "$1"
    if ((checked[wrong] > 0 || took[status] != 0)); then
        tail -n 3 "$work/complaints" >&2
        die "$1: status ${took[status]}, ${checked[wrong]} of $entries entries left wrong: the figure is void"
    fi
    check_counts "$1" "$expected"
}

# What the engine says of itself.
check_engine_counts() { # SUBJECT EXPECTED
    ((took[entries] == entries && took[changed] == $2 && took[failed] == 0)) ||
        die "$1: ${took[changed]} of ${took[entries]} changed, ${took[failed]} failed, where $2 of $entries differed"
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

# ---- printing ----

print_phase() { # FS TREE CACHE PHASE
    local s key=$1:$2:$3:$4 selvol=0 selvol_durable=0 peer=0
    if has_values "$key:selvol:time"; then
        selvol=$(median "$key:selvol:time") selvol_durable=$(median "$key:selvol:durable")
    fi
    if [[ -n $main_peer ]] && has_values "$key:$main_peer:time"; then
        peer=$(median "$key:$main_peer:time")
    fi
    [[ -n $json ]] ||
        printf '\n%s\n%-16s %9s %9s %7s %9s %7s %9s %9s%s\n' "$1 $2 ($entries entries), $3, $(phase_text "$4")" \
            '' time min ratio synced ratio cpu 'rss MiB' "${main_peer:+   $main_peer/}"
    for s in $(subjects_of "$2" "$3" "$4"); do
        print_row "$@"
    done
}

print_row() { # FS TREE CACHE PHASE; of print_phase()
    local time durable min cpu rss ratios=(- -) times=''
    time=$(median "$key:$s:time") min=$(pick_value "$key:$s:time" min)
    durable=$(median "$key:$s:durable") cpu=$(median "$key:$s:cpu") rss=$(pick_value "$key:$s:rss" max)
    ((peer == 0)) || times=$(format_ratio "$(ratio "$peer" "$time")")
    if [[ -n $json ]]; then
        print_json fs "$1" tree "$2" entries "$entries" cache "$3" phase "$4" subject "$s" rounds "$rounds" \
            usec "$time" min_usec "$min" durable_usec "$durable" wait_usec "$(median "$key:$s:wait")" \
            wait_min_usec "$(pick_value "$key:$s:wait" min)" wait_max_usec "$(pick_value "$key:$s:wait" max)" \
            cpu_usec "$cpu" rss_kib "$rss" \
            ${times:+"${main_peer}_ratio" "$times"}
        return
    fi
    if ((selvol > 0)); then
        ratios=("$(format_ratio "$(ratio "$time" "$selvol")")")
        ratios+=("$(format_ratio "$(ratio "$durable" "$selvol_durable")")")
    fi
    printf '%-16s %9s %9s %7s %9s %7s %9s %9s%s\n' "$s" "$(format_seconds "$time")" "$(format_seconds "$min")" \
        "${ratios[0]}" "$(format_seconds "$durable")" "${ratios[1]}" "$(format_seconds "$cpu")" \
        "$(format_ratio $((rss * 1000 / 1024)))" "${times:+$(printf '%*s' $((4 + ${#main_peer})) "$times")}"
}

# ---- the targets ----

print_target_header() {
    [[ -n $json ]] || printf '\n%-62s %9s %9s %9s\n' "Targets, on the tree of $files files" wanted is synced
}

# How many times as long the peers take.
at_least() { # FS CACHE PHASE SUBJECT PEER:WANTED...
    local key=$1:fan:$2:$3 subject=$4 text peer wanted
    text="$1, $2, $(phase_text "$3"): $4"
    shift 4
    for peer; do
        wanted=${peer#*:} peer=${peer%:*}
        if has_values "$key:$subject:time" && has_values "$key:$peer:time"; then
            print_target "$text against $peer" 'at least' "$wanted" \
                "$(ratio "$(median "$key:$peer:time")" "$(median "$key:$subject:time")")" \
                "$(ratio "$(median "$key:$peer:durable")" "$(median "$key:$subject:durable")")"
        fi
    done
}

print_target() { # TEXT at-least|at-most WANTED IS [WITH-SYNC]
    local met='not met' sign='<=' with_sync='' low=$4 high=$3
    if [[ $2 == 'at least' ]]; then
        sign='>=' low=$3 high=$4
    fi
    ((low > high)) || met='met'
    if [[ -n $json ]]; then
        print_json target "$1" "${2/ /_}" "$(format_ratio "$3")" is "$(format_ratio "$4")" \
            met "$([[ $met == met ]] && echo true || echo false)"
        return
    fi
    [[ -z ${5:-} ]] || with_sync=$(format_ratio "$5")
    printf '%-62s %s%6s %9s %9s  %s\n' "$1" "$sign" "$(format_ratio "$3")" "$(format_ratio "$4")" "$with_sync" "$met"
}
