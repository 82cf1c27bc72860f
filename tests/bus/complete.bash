#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# complete.bash FILE LINE prints the words into which bash completes the last word of a command line, by the
# completion in FILE, each with the blank that readline would add.
# shellcheck disable=SC1090,SC1091,SC2034 # of others; they read what is set here
. /usr/share/bash-completion/bash_completion
. "$1"

# Without readline the function would fail.
compopt() { [[ $* != *nospace* ]] || blank=''; }

blank=' ' COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=() rest=$2
while [[ $rest =~ ^[[:blank:]]*([=:]+|[^[:blank:]=:]+)(.*) ]]; do
    COMP_WORDS+=("${BASH_REMATCH[1]}")
    rest=${BASH_REMATCH[2]}
done
[[ $2 != *[[:blank:]] ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
word=${2##*[[:blank:]]}

function=$(complete -p "${COMP_WORDS[0]}")
function=${function#*-F }
"${function%% *}"
# readline keeps the text in front of its word.
[[ $word == *[=:]* ]] && before=${word%"${word##*[=:]}"} || before=''
((${#COMPREPLY[@]} == 0)) || printf "%s$blank\n" "${COMPREPLY[@]/#/$before}" | LC_ALL=C sort
