# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2034,SC2154 # for the tests; of lib.bash
# Helpers for guests that get the Debian packages, which are in "new", "other" (a later version with another version of the wire)
# and "old" (of the release of Debian before).

targets=/var/lib/selvol-volumes

# Packages that are not Debian's: a guest has no apt that could fetch what they depend on, but it has all of that.
install() { dpkg -i --force-depends "$1"/*.deb; }
version_in() { dpkg-deb -f "$1"/selvol_*.deb Version; }
version() { dpkg-query -W -f '${Version}' selvol; }

runs() { wait_for systemctl -q is-active selvold.service selvol-worker.socket; }
domain() { ps -eo label=,comm= | awk -v c="$1" '$2 == c { split($1, part, ":"); print part[3]; exit }'; }
type_of() { stat -c %C "$1" | cut -d: -f3; }
# modules NAME...: the priorities and names of these modules
modules() { semodule -lfull | awk -v names=" $* " 'index(names, " " $2 " ") { print $1 + 0, $2 }' | sort | xargs; }
is_listed() { selvolctl list --json | grep -q "\"Target\":\"$1\""; }

# retried COMMAND...: a caller that repeats its call after an error, for half a minute; "heard" has the errors
retried() {
    local try
    for try in {1..30}; do
        ! "$@" 2>>heard || return 0
        sleep 1
    done
    echo "failed $try times: $*"
    return 1
}
