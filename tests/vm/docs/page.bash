# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# Runs the commands of a page in their order, as a new user types them, and compares the output with the page. Before,
# /dev/vdb to /dev/vde are disks with some files, the directories of pods exist, and selvol knows no volume. "cat FILE"
# in /etc shows a file that the reader has to make.

# These commands run until the user presses a key. The test runs them for two seconds and does not compare the output.
endless=('busctl monitor*' 'selvolctl monitor*' '*--watch*')
# These commands only look, or need a container that is starting. The test repeats them until the output is right,
# because it is faster than a user.
looks=('journalctl*' 'systemctl status*' 'selvolctl' 'selvolctl list*' 'selvolctl history*' 'selvolctl jobs' 'ls *' 'podman exec *')

page_stage() { # PAGE
    local n disk
    mkdir -p "$scratch/files/data"
    for n in {1..40}; do echo word >"$scratch/files/data/$n"; done
    touch "$scratch/files/data/"{a,b}
    for disk in "${own_disks[@]}"; do mkfs.ext4 -q -F -d "$scratch/files" "$disk"; done
    grep -o '/var/lib/kubelet/pods/[A-Z]/volumes/[a-z]' "$1" | sort -u | xargs -r mkdir -p
    page_files=() page_last=0
    declare -gA page_jobs=()
}

page_clean() {
    local ids
    left_mounts | tac | while read -r left; do umount "$left"; done
    if ((${#page_files[@]} > 0)); then
        rm "${page_files[@]}"
        rmdir --ignore-fail-on-non-empty "${page_files[@]%/*}" 2>/dev/null
    fi
    rm -rf /var/lib/selvol-metrics /var/lib/prometheus/node-exporter/selvol.prom
    systemctl daemon-reload
    systemctl reload selvold
    bring_up restart selvold        # which forgets the jobs
    soon "$page: the end" nobody_holds
    ids=$(records | grep -o '"Id" s "[^"]*"' | cut -d'"' -f4)
    # shellcheck disable=SC2086 # words
    [[ -z $ids ]] || selvolctl forget $ids
}

# Disks have other names here, and jobs other numbers. The byte 1 marks numbers that are already replaced.
page_disks=(/dev/vdb /dev/vdc /dev/vdd /dev/vde) own_disks=(/dev/scratch{0..3})
to_here() { # COMMAND
    local text=$1 n job
    for n in {0..3}; do text=${text//"${page_disks[n]}"/${own_disks[n]}}; done
    for job in "${!page_jobs[@]}"; do text=$(sed -E "s,(job/|cancel |GetJob t )$job\b,\1\x01${page_jobs[$job]},g" <<<"$text"); done
    printf '%s' "${text//$'\001'/}"
}
from_here() {
    local text n
    text=$(cat)
    # mount(8) prints the target of a link.
    for n in {0..3}; do text=${text//"$(readlink -f "${own_disks[n]}")"/${own_disks[n]}}; done
    for n in {0..3}; do text=${text//"${own_disks[n]}"/${page_disks[n]}}; done
    printf '%s\n' "$text"
}

page_write() { # FILE TEXT
    mkdir -p "${1%/*}"
    page_files+=("$1")
    to_here "$2" >"$1"
    restorecon "$1"
}

is_like() { # COMMAND PATTERN...
    local command=$1 pattern
    shift
    # shellcheck disable=SC2053 # a pattern
    for pattern; do [[ $command != $pattern ]] || return 0; done
    return 1
}

# page_try COMMAND SHOWN: runs the command, sets page_last for "echo $?", and prints the first difference to the page
page_try() {
    local text
    text=$(to_here "$1")
    # The page shows Control-C, which erases the lines before it from the screen.
    [[ $2 != *'^C'* ]] || text="timeout -s INT 4 $text"
    page_status=0
    (exit "$page_last")
    eval "$text" </dev/null >"$scratch/page.printed" 2>&1 || page_status=$?
    # On a terminal selvolctl draws a bar instead of these lines, and erases the bar at the end.
    sed -E '/^selvolctl: .*: job [0-9]+: .* left$/d' "$scratch/page.printed" | from_here >"$scratch/page.output"
    printf '%s\n' "${2##*'^C'}" >"$scratch/page.shown"
    if [[ -n $2 ]]; then
        ./commands compare "$scratch/page.shown" "$scratch/page.output" >"$scratch/page.jobs" 2>"$scratch/page.difference"
    elif ((page_status > 0)); then
        printf 'status %s\n%s\n' "$page_status" "$(<"$scratch/page.output")" >"$scratch/page.difference"
        return 1
    fi
}

# A word such as VOLUME or FILE stands for a word of the reader's.
is_pattern() { [[ $1 =~ (^| )[A-Z]{3,}([. ]|$) ]]; }

# page_command COMMAND SHOWN: "commands" turns a page into calls of this function, which run in one shell
page_command() {
    local page_name="$page: ${1%%$'\n'*}" page_status=0 page_line page_tries=1
    if [[ $1 =~ ^cat\ (/etc/[^ ]+)$ ]]; then
        page_write "${BASH_REMATCH[1]}" "$2"
        return
    fi
    if is_pattern "$1"; then
        skip "$page_name" 'it has words that stand for others'
        return
    fi
    if is_like "$1" "${endless[@]}"; then
        timeout 2 bash -c "$1" </dev/null >/dev/null 2>&1 || page_status=$?
        is "$page_name" $page_status 124
        return
    fi
    ! is_like "$1" "${looks[@]}" || page_tries=100
    until page_try "$1" "$2"; do
        ((--page_tries > 0)) || { page_last=$page_status; not_ok "$page_name" "$(<"$scratch/page.difference")"; return; }
        sleep 0.2
    done
    page_last=$page_status
    ok "$page_name"
    [[ -z $2 ]] || while read -r -a page_line; do page_jobs[${page_line[0]}]=${page_line[1]}; done <"$scratch/page.jobs"
}

run_page() { # PAGE [SECTION]; in a shell of its own, because pages set variables
    ./commands list "$@" >"$scratch/page.commands" 2>&1
    yes "${*##*/} has commands" grep -q ^page_command "$scratch/page.commands"
    (
        page=${1##*/}
        page_stage "$scratch/page.commands"
        # shellcheck source=/dev/null
        . "$scratch/page.commands"
        page_clean
        echo "$count $failed $skipped" >"$scratch/page.counts"
    )
    read -r count failed skipped <"$scratch/page.counts"
}
