# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # of lib.bash, and for the tests
# Each remedy is followed to the letter: the test takes section, file and commands from the message, puts a name where
# the message has a word for one, and makes the same call again. lib.bash sources this file.

# set_as_told VALUE: adds the setting that the message names, with VALUE as its directory, or, if the message names no
# setting, makes VALUE a line of the section
set_as_told() {
    local section file command line=$1
    [[ $message =~ (under|section)\ \[([^]]*)\]\ in\ ([^,]*),\ then\ run\ \'([^\']*)\' ]] || return 1
    section=${BASH_REMATCH[2]} file=${BASH_REMATCH[3]} command=${BASH_REMATCH[4]}
    if [[ $message =~ ([A-Za-z]+=[^ ]*)\ under ]]; then
        line=${BASH_REMATCH[1]//DIRECTORY/$1}
    fi
    mkdir -p "$(dirname "$file")"
    printf '[%s]\n%s\n' "$section" "$line" >>"$file"
    $command
}

# run_as_told REGEX [WORD NAME]...: runs the command in the message that the expression finds, with names for words
run_as_told() {
    local command
    [[ $message =~ $1 ]] || return 1
    command=${BASH_REMATCH[1]:-${BASH_REMATCH[0]}}
    shift
    for ((; $# > 0;)); do
        command=${command//"$1"/$2}
        shift 2
    done
    eval "$command"
}

# remedy NAME ERROR FOLLOW... -- CALL...: the call fails with the error, and succeeds when the remedy was followed
remedy() {
    local name=$1 kind=$2 follow=() told
    shift 2
    while [[ $1 != -- ]]; do
        follow+=("$1")
        shift
    done
    shift
    "$@"
    told="$error $message"
    if [[ $error != "$kind" ]]; then
        not_ok "$name" "got:      $told $reply" "expected: $kind"
        return
    fi
    if ! "${follow[@]}" >"$scratch/follow" 2>&1; then
        not_ok "$name" "the remedy fails: $told" "$(<"$scratch/follow")"
        return
    fi
    answers_calls >/dev/null
    "$@"
    if [[ -z $error ]]; then ok "$name"; else not_ok "$name" "first: $told" "then:  $error $message"; fi
}

# A text of selvolctl or of the journal is an error until it is printed no more.

# try COMMAND...: sets error and message as call does
try() { if message=$("$@" 2>&1); then error=''; else error=failed; fi; }
# told_by WORDS COMMAND...: what the command prints is an error if it has the words
told_by() {
    message=$("${@:2}" 2>&1) error=''
    [[ $message != *"$1"* ]] || error=told
}
# examine CHECK: what doctor finds is an error unless it is in order; "examine" may be run by another user, with $caller
examine() {
    local as=()
    [[ -z ${caller:-} ]] || as=(setpriv --reuid "$caller" --regid "$caller" --init-groups)
    message=$("${as[@]}" selvolctl doctor --json | jq -r --arg check "$1" \
        '.[] | select(.Check == $check and (.State == "warning" or .State == "problem")) | .Text + "\n" + .Remedy')
    error=${message:+found}
}
# explained MESSAGE-ID: takes the newest record with this id, and the catalog's text, which explains it
explained() { message=$(journalctl -q -x -n 1 MESSAGE_ID="$1" | sed 's/^-- //'); }

mount_default() { mount_with s0:c1,c2 "$@"; }
