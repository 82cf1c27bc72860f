# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared by the scripts that build and run the guest. Sourced, not executed.
# shellcheck shell=bash

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$2"; exit "$1"; }

# install PACKAGE...: what is missing, quietly. Package lists can be absent (a bare machine) or older than the
# mirror, so a failure is tried once more with fresh lists.
install_packages() {
    local missing=() p
    for p in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
    done
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    apt_install "${missing[@]}" || { apt_update && apt_install "${missing[@]}"; } || {
        say "cannot install ${missing[*]}"
        return 1
    }
}

# apt does not wait for another update to end
apt_update() {
    flock /var/lib/apt apt-get -qq update >&2
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" </dev/null >/dev/null 2>&1
}
