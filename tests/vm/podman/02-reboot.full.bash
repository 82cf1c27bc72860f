# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2016 # of lib.bash; for eval
# The machine is rebooted while a container uses a volume.

# shellcheck source-path=SCRIPTDIR source=volumes.bash
. ./volumes.bash

if ((SELVOL_GUEST_BOOT == 1)); then
    set_up_volumes
    n=0
    for volume in db slow up; do create $volume --opt source=/dev/scratch$((n++)) --opt level=$level >/dev/null; done
    systemctl enable -q selvold
    start one 'sleep 1000' -v db:/data >/dev/null
    soon 'before the reboot: mounted' is_held $V "$T"
    reboot_guest
fi

is 'rebooted: nothing is mounted' "$(left_mounts)" ''
# selvold may still be starting, for longer than podman waits.
soon 'rebooted: ls' eval '[[ $(podman volume ls -q | sort | xargs) == "db slow up" ]]'
podman start one >/dev/null 2>&1
soon 'rebooted: mounted' is_held $V "$T"
is_labeled 'rebooted: the label' "$T" $level
podman rm -f -t 0 one >/dev/null 2>&1
soon 'rebooted: unmounted' is_not_mounted "$T"
rm_volumes
clean podman
