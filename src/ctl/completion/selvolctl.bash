# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Completion of selvolctl(1) for bash. selvolctl knows what a word can become: src/ctl/complete.c.

_selvolctl() {
    local cur words cword word
    _get_comp_words_by_ref -n := cur words cword || return
    COMPREPLY=()
    while IFS= read -r word; do
        case $word in
            /)
                compopt -o filenames
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
                ;;
            --*=)
                compopt -o nospace
                COMPREPLY+=("$word")
                ;;
            --*=*) COMPREPLY+=("${word#*=}") ;; # "=" begins a new word of readline's
            *) COMPREPLY+=("$word") ;;
        esac
    done < <(selvolctl __complete "${words[@]:1:cword}" 2>/dev/null)
    __ltrim_colon_completions "$cur"
}
complete -F _selvolctl selvolctl
