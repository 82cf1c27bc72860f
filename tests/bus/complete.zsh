#!/bin/zsh -f
# SPDX-License-Identifier: LGPL-2.1-or-later
# complete.zsh FILE LINE: what zsh makes of the last word of a command line with the completion in FILE, each with the blank that would
# be added behind it.
functions[complete]=$(<$1)

# The two of zsh's completion system that it calls.
compadd() {
    local blank=' '
    [[ $1 != -S ]] || { blank=$2; shift 2 }
    shift
    (( $# == 0 )) || print -lr -- ${@/%/$blank}
}
_files() { compadd -- ${(Q)words[CURRENT]}*(N) }

words=(${(z)2})
[[ $2 != *' ' ]] || words+=('')
CURRENT=$#words
complete | LC_ALL=C sort
