#!/bin/zsh -f
# SPDX-License-Identifier: LGPL-2.1-or-later
# complete.zsh FILE LINE prints the words into which zsh completes the last word of a command line, by the
# completion in FILE, each with the blank that zsh would add.
functions[complete]=$(<$1)

# The completion calls these two functions of zsh's completion system.
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
