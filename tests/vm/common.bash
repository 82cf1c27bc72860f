# SPDX-License-Identifier: LGPL-2.1-or-later
# The scripts that build and run the guest source this file.

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$2"; exit "$1"; }

# install_packages PACKAGE...: installs the missing ones. Package lists can be absent (on a bare machine) or older
# than the mirror, so after a failure this tries again with new lists.
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

# apt does not wait for the end of another update, so flock does.
apt_update() {
    flock /var/lib/apt apt-get -qq update >&2
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" </dev/null >/dev/null 2>&1
}

# ---- releases of Debian ------------------------------------------------------------------------------------

# selvol is made for these releases. A machine with one can also build guests of the other.
declare -A debian_version=([bookworm]=12 [trixie]=13)
selvol_cache=${SELVOL_CACHE:-${XDG_CACHE_HOME:-/var/cache}/selvol}

host_release() { (. /etc/os-release && echo "${VERSION_CODENAME:-}"); }

default_release() {
    local release
    release=$(host_release)
    [[ -n ${debian_version[${release:-none}]:-} ]] || release=bookworm
    echo "$release"
}

check_release() {
    [[ -n ${debian_version[${1:-none}]:-} ]] || die 2 "there is no release '$1', only: ${!debian_version[*]}"
}

# release_sources RELEASE: prints the host's sources of Debian, with those of updates and security, for this release
release_sources() {
    local sources
    # apt takes the labels from the package lists, so there are none before the first update.
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

# of_release RELEASE COMMAND...: runs the command with apt's configuration for the release. A release that is not the
# host's has a configuration of its own, and new package lists after a day.
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

# fetch_lists DIRECTORY SOURCES: fetches package lists, and writes an apt.conf that uses only these
fetch_lists() {
    local lists=$1 sources=$2 begun=$EPOCHSECONDS lock status=0
    mkdir -p "$lists"/{lists/partial,cache/archives/partial,parts}
    exec {lock}>"$lists/lock"
    flock "$lock"
    # Another process may have fetched them while this one waited.
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

# lists_are_old DIRECTORY: the last fetch is more than a day ago
lists_are_old() { [[ -z $(find "$1/fetched" -mtime -1 2>/dev/null) ]]; }

# ---- roots made of packages --------------------------------------------------------------------------------

# packages_of RELEASE: prints the directory of downloaded packages, which stay while the lists have them
packages_of() { echo "$selvol_cache/packages/$1"; }

# bootstrap RELEASE DIRECTORY PACKAGE...: makes a root from packages, and downloads the missing ones. It replaces the
# shell that calls it, so that a signal to that process ends everything.
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

# download KEPT COMMAND...: gets the files that apt-get's COMMAND downloads into this directory, first from KEPT, and
# keeps the others there
download() {
    local kept=$1 file files
    shift
    mkdir -p "$kept"
    mapfile -t files < <("$@" -qq --print-uris | grep -v "^'file:" | cut -d' ' -f2)
    for file in "${files[@]}"; do [[ ! -e $kept/$file ]] || cp -l "$kept/$file" .; done
    "$@" && cp -ln -t "$kept" "${files[@]}"
}

# drop_packages RELEASE: removes packages that the lists do not have any more
drop_packages() {
    of_release "$1" apt-get -qq -o Dir::Cache::Archives="$(packages_of "$1")" autoclean >/dev/null || true
}

# keep_newest CACHE PREFIX COUNT: removes all but the newest directories with this prefix, except those in use, which
# are locked
keep_newest() {
    local lock
    find "$1" -mindepth 2 -maxdepth 2 -path "$1/$2*/lock" -printf '%T@ %p\n' | sort -rn | tail -n +$(($3 + 1)) | cut -d' ' -f2- |
        while read -r lock; do flock -n "$lock" rm -rf "${lock%/lock}" || true; done
}
