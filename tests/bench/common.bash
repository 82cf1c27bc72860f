# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# Helpers for the benchmarks of whole trees, relabel and chgrp, which source this file after they have set $top and
# $SELVOL_BUILD. Times are whole microseconds until the script prints them.
#
# A benchmark sets these variables: file_systems, trees, caches, phases (defaults of the options), only=(), peers (the
# subjects that may fail on deep trees), whole_phase (the phase of that attempt), and if need be main_peer (the table
# has another column that compares with it). The benchmark has these functions:
#   usage
#   own_flag OPTION; own_option OPTION VALUE    accepts an option of the benchmark alone, or fails
#   phase_text PHASE                            prints a text for a table
#   subjects_of SHAPE CACHE PHASE               prints the subjects to measure, by choose_subjects
#   dress_tree                                  makes all entries of $volume right
#   stage SUBJECT PHASE SEED                    makes entries wrong; sets expected, the number of these entries
#   make_command SUBJECT PHASE                  sets command, which makes all entries right again
#   check_state SUBJECT                         sets checked[wrong], by check_entries
#   check_counts SUBJECT EXPECTED               compares the numbers that the subject prints with the expected ones

# shellcheck source-path=SCRIPTDIR source=service.bash
. "$top/tests/bench/service.bash"

label_a=system_u:object_r:container_file_t:s0:c1,c2
label_b=system_u:object_r:container_file_t:s0:c3,c4

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

# Sets go, the path of the program. The build uses Debian's packages of sources, and no network.
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

# The images have no name once they are attached, so the kernel frees them, the mounts and the loop devices with the
# namespace, however the script ends. $place: the path of the volume beneath $work.
enter_scene() { # SCRIPT ARGUMENT...
    enter_private_namespace "$@"
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/selvol-bench.XXXXXX")
    trap leave_scene EXIT
    trap 'exit 130' INT TERM HUP
    volume=$work/${place:-v} view=$work/w # view: mount point of a second mount
    mkdir -p "$volume" "$view"
}
leave_scene() {
    umount --lazy "$view" 2>/dev/null || true
    umount --lazy "$volume" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}

# ---- volumes ----

# Makes a file system, mounts it on $volume, and makes a tree there; sets entries, their number with the root.
make_volume() { # FS-TYPE SHAPE N
    local -a options=(-q)
    local size=$3
    drop_volume
    [[ $2 != deep ]] || size=$(($3 * 4))
    # Without these options the kernel would initialize the file system during the measurement.
    [[ $1 != ext4 ]] || options+=(-E 'lazy_itable_init=0,lazy_journal_init=0')
    # mkfs.ext4 makes an inode for each 16 KiB; the image has room for half as many again.
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

# Makes a tree with right labels; sets current, this label, and other, another label.
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

# The caller has to sync $volume before, because the kernel drops only clean pages. cat reads the program into the
# cache again, so that its loading is not part of the measurement.
empty_caches() { # PROGRAM
    echo 3 >/proc/sys/vm/drop_caches || die 'the caches can not be dropped here: use --cache hot'
    cat "$(type -P "$1")" "$bin/bench-run" >/dev/null
}

# ---- runs ----

# Runs a command; its standard error goes to $work/complaints. Sets took[]: the words of bench-run and the command, and
#   time       of the command without its own syncfs
#   durable    with its own syncfs and with the one that bench-run makes afterwards
declare -A took
run_timed() { # COMMAND...
    local line word
    line=$("$bin/bench-run" "$volume" "$@" 2>"$work/complaints") || die "$(cat "$work/complaints")"
    took=([sync]=0)
    for word in $line; do
        took[${word%%=*}]=${word#*=}
    done
    # loop is the time of the bare loop without the preparation of its list.
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

# Leaves out the subjects that --subjects does not name, and those that have failed on this tree.
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
        # All paths of this chain are shorter than PATH_MAX.
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

# A peer that fails on a tree does not end the benchmark: the failure is a result.
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
    check_state "${subjects[0]}" # fills the caches, too
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
    sleep 0.1 # otherwise the engine could take a recent change for one during its walk
    [[ $2 != cold ]] || empty_caches "${command[0]}"
    run_timed "${command[@]}"
    check_state "$1"
    if ((checked[wrong] > 0 || took[status] != 0)); then
        tail -n 3 "$work/complaints" >&2
        die "$1: status ${took[status]}, ${checked[wrong]} of $entries entries left wrong: the figure is void"
    fi
    check_counts "$1" "$expected"
}

check_engine_counts() { # SUBJECT EXPECTED
    ((took[entries] == entries && took[changed] == $2 && took[failed] == 0)) ||
        die "$1: ${took[changed]} of ${took[entries]} changed, ${took[failed]} failed, where $2 of $entries differed"
}

# ---- figures ----

declare -A series # series[KEY]: words, one for each value
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
ratio() { # A B; prints thousandths
    echo $(($1 * 1000 / ($2 > 0 ? $2 : 1)))
}
format_ratio() { # RATIO
    printf '%d.%02d' $((($1 + 5) / 1000)) $((($1 + 5) % 1000 / 10))
}

# Prints the words, and begins with another word in each round.
rotate() { # ROUND WORD...
    local n=$1
    shift
    n=$((n % $#))
    echo "${@:n+1}" "${@:1:n}"
}

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

print_row() { # FS TREE CACHE PHASE; uses variables of print_phase
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

# The wanted ratio is the time of the peer to that of the subject.
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
