#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The life of the Debian packages in a guest that never had selvol, with a volume mounted throughout: installed from files alone,
# upgraded, removed, installed again, purged. 'tools/package try' runs this beside the packages. Prints TAP; exits with the number
# of failures.
# shellcheck disable=SC2317 # check runs functions by their names
export LC_ALL=C TERM=dumb SYSTEMD_PAGER='' SYSTEMD_COLORS=0
cd "$(dirname "$0")" || exit 125
count=0 failed=0

# check NAME COMMAND...
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "ok $((++count)) - $name"
    else
        echo "not ok $((++count)) - $name"
        printf '%s\n' "$*" "$output" | sed 's/^/# /'
        failed=$((failed + 1))
    fi
}
not() { ! "$@"; }
wait_until() { timeout 60 bash -c 'until "$@"; do sleep 1; done' bash "$@"; }
runs() { wait_until systemctl -q is-active selvold.service selvol-worker.socket; }
runs_in_domain() { [[ $(ps -eo label=,comm= | awk -v c="$1" '$2 == c { print $1; exit }') == *":$2:"* ]]; }
has_label() { [[ $(stat -c %C "$1") == *":$2:"* ]]; }
has_module() { semodule -lfull | grep -q '^200 selvol '; }
denials() { journalctl -b -o cat -g 'avc:.*selvol' --since "@$since" | grep .; }
# Packages that are not Debian's: a guest has no apt that could fetch what they depend on, but it has all of that.
install() { dpkg -i --force-depends ./*.deb; }

# The policy that comes with the image has the modules for containers at semodule's usual priority.
since=$(date +%s)
device=$(readlink -f /dev/scratch0)
mkfs.ext4 -q "$device"

check 'the guest never had selvol' not test -e /usr/libexec/selvold
check 'install' install
check 'install: it runs' runs
check 'install: selvold in its domain' runs_in_domain selvold selvold_t
check 'install: selvol-worker in its domain' runs_in_domain selvol-worker selvol_worker_t
check 'install: the label of mount.selvol' has_label /usr/sbin/mount.selvol selvol_mount_exec_t
check 'install: the module' has_module
check 'install: doctor finds no problem' selvolctl doctor -q
check 'a volume' selvolctl mount data "$device" --level s0:c1,c2
target=/var/lib/selvol-volumes/data
check 'a volume: its label' has_label "$target" container_file_t
check 'a volume: a file' touch "$target/file"

check 'upgrade' install
check 'upgrade: it runs' runs
check 'upgrade: the volume stays mounted' test -e "$target/file"
check 'upgrade: its holder stays' eval "selvolctl list --json | grep -q '\"Target\":\"$target\"'"
check 'upgrade: the same mount again' selvolctl mount -q data "$device" --level s0:c1,c2

check 'remove' eval "dpkg -r selvol-podman selvol selvol-selinux 2>&1 | grep 'volumes stay mounted'"
check 'remove: nothing runs' not pgrep -f /usr/libexec/selvol
check 'remove: the module is gone' not has_module
check 'remove: the volume stays mounted' test -e "$target/file"

check 'install again' install
check 'install again: it runs' runs
check 'install again: the holder is known' eval "selvolctl list --json | grep -q '\"Target\":\"$target\"'"
check 'no denials' not denials

check 'purge' dpkg -P selvol-podman selvol selvol-selinux
check 'purge: nothing is left but volumes' eval '! ls -d /var/lib/selvol /var/lib/selvol-images /var/lib/private/selvol /etc/selvol /run/selvol /run/selvold'
check 'purge: the volume stays mounted' test -e "$target/file"
check 'purge: umount(8)' umount "$target"
echo "1..$count"
exit "$failed"
