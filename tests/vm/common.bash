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

# ---- releases of Debian ------------------------------------------------------------------------------------

# Those that selvol is made for. What is made of packages of one is cached, and can be made on another.
declare -A debian_version=([bookworm]=12 [trixie]=13)
selvol_cache=${SELVOL_CACHE:-${XDG_CACHE_HOME:-/var/cache}/selvol}

# the release that runs here, whatever it is
host_release() { (. /etc/os-release && echo "${VERSION_CODENAME:-}"); }

# the one that is taken where none is named
default_release() {
    local release
    release=$(host_release)
    [[ -n ${debian_version[${release:-none}]:-} ]] || release=bookworm
    echo "$release"
}

check_release() {
    [[ -n ${debian_version[${1:-none}]:-} ]] || die 2 "there is no release '$1', only: ${!debian_version[*]}"
}

# What of Debian's the host has in its sources, for another release: its updates and security too if the host has them.
release_sources() {
    local sources
    # their labels are in the package lists
    sources=$(list_sources "$1")
    [[ -n $sources ]] || { apt_update && sources=$(list_sources "$1"); } || return
    [[ -n $sources ]] || { say "apt has no source for Debian to take $1 from"; return 1; }
    printf '%s\n' "$sources"
}

list_sources() {
    # shellcheck disable=SC2016 # apt's variables
    apt-get indextargets --format '$(LABEL) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        awk -v host="$(host_release)" -v release="$1" '$1 ~ /^Debian(-Security)?$/ && $2 == "main" && index($3, host) == 1 {
            line = "deb " $4 " " release substr($3, length(host) + 1) " main"
            if (!seen[line]++) print line
        }'
}

# of_release RELEASE COMMAND...: with apt's configuration for it. Another release than the host's has one of its own, whose
# package lists are fetched again after a day.
of_release() {
    local release=$1 lists=$selvol_cache/apt/$1
    shift
    if [[ $release == "$(host_release)" ]]; then
        "$@"
        return
    fi
    ! lists_are_old "$lists" || update_release "$release" || [[ -e $lists/fetched ]] || return
    APT_CONFIG=$lists/apt.conf "$@"
}

update_release() {
    local sources
    if [[ $1 == "$(host_release)" ]]; then
        apt_update
        return
    fi
    sources=$(release_sources "$1") || return
    fetch_lists "$selvol_cache/apt/$1" "$sources"
}

# fetch_lists DIRECTORY SOURCES: of packages, and an apt.conf there that uses nothing else
fetch_lists() {
    local lists=$1 sources=$2 begun=$EPOCHSECONDS lock status=0
    mkdir -p "$lists"/{lists/partial,cache/archives/partial,parts}
    exec {lock}>"$lists/lock"
    flock "$lock"
    # unless another process has done it while this one waited
    if (($(stat -c %Y "$lists/fetched" 2>/dev/null || echo 0) < begun)); then
        : >"$lists/status"
        printf '%s\n' "$sources" >"$lists/sources.list"
        printf '%s "%s";\n' Dir::State "$lists" Dir::State::status "$lists/status" Dir::Cache "$lists/cache" \
            Dir::Etc::sourcelist "$lists/sources.list" Dir::Etc::sourceparts "$lists/parts" \
            Dir::Etc::preferences "$lists/preferences" Dir::Etc::preferencesparts "$lists/parts" >"$lists/apt.conf"
        APT_CONFIG=$lists/apt.conf apt-get -qq update >&2 && touch "$lists/fetched" || status=$?
    fi
    exec {lock}>&-
    return "$status"
}

# lists_are_old DIRECTORY: not fetched within a day
lists_are_old() { [[ -z $(find "$1/fetched" -mtime -1 2>/dev/null) ]]; }

# ---- roots made of packages --------------------------------------------------------------------------------

# Packages that were downloaded, in files as apt names them. They stay while they are in the lists.
packages_of() { echo "$selvol_cache/packages/$1"; }

# bootstrap RELEASE DIRECTORY PACKAGE...: what is missing of them is downloaded, by the lists that apt has of the release. Ends
# the shell that it is called in: a signal to that process ends everything that it has begun.
bootstrap() {
    local release=$1 root=$2 kept lists=/var/lib/apt/lists sources=() file list
    shift 2
    list=$(IFS=,; echo "$*")
    release_sources "$release" >/dev/null || exit
    if [[ $release == "$(host_release)" ]]; then
        for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do [[ ! -s $file ]] || sources+=("$file"); done
    else
        of_release "$release" true || exit
        lists=$selvol_cache/apt/$release/lists sources=("$selvol_cache/apt/$release/sources.list")
    fi
    kept=$(packages_of "$release")
    mkdir -p "$kept"
    # hard links: both are in the same cache
    exec unshare --mount --propagation private --pid --kill-child --mount-proc \
        mmdebstrap --mode=root --variant=minbase --format=directory --include="$list" --skip=update,essential/unlink \
        --setup-hook="mkdir -p \"\$1\"/var/cache/apt/archives && cp -r ${lists@Q} \"\$1\"/var/lib/apt/" \
        --setup-hook="find ${kept@Q} -name '*.deb' -exec cp -lt \"\$1\"/var/cache/apt/archives {} +" \
        --customize-hook="cp -ln \"\$1\"/var/cache/apt/archives/*.deb ${kept@Q}" \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/info/*' \
        "$release" "$root" ${sources[@]+"${sources[@]}"}
}

# download KEPT COMMAND...: the files that apt-get's COMMAND downloads into this directory, if they are not in the directory KEPT
download() {
    local kept=$1 file files
    shift
    mkdir -p "$kept"
    mapfile -t files < <("$@" -qq --print-uris | cut -d' ' -f2)
    for file in "${files[@]}"; do [[ ! -e $kept/$file ]] || cp -l "$kept/$file" .; done
    "$@" && cp -ln -t "$kept" "${files[@]}"
}

# drop_packages RELEASE: those that the lists have newer versions of
drop_packages() {
    of_release "$1" apt-get -qq -o Dir::Cache::Archives="$(packages_of "$1")" autoclean >/dev/null || true
}

# Keep the newest COUNT directories of a cache, of those whose names begin with PREFIX. One that is in use is locked and
# stays, whatever its age.
keep_newest() { # CACHE PREFIX COUNT
    local lock
    find "$1" -mindepth 2 -maxdepth 2 -path "$1/$2*/lock" -printf '%T@ %p\n' | sort -rn | tail -n +$(($3 + 1)) | cut -d' ' -f2- |
        while read -r lock; do flock -n "$lock" rm -rf "${lock%/lock}" || true; done
}
