# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2034,SC2154 # the variables are for the tests; of lib.bash
# The line of mount.selvol(8) for fstab, and its unit. suite.sh sources this file.

volumes=/var/lib/selvol-volumes D=$volumes/db
options='volume=db,level="s0:c1,c2"'
at_boot=nofail,x-systemd.requires=selvol.target
unit_of() { systemd-escape --path --suffix=mount "$1"; }

# boot_with_line: the machine boots with this line, and with another line that does not wait for selvold. The timeout is
# long because a busy machine finds its disks late.
boot_with_line() {
    mkdir -p "$D" "$volumes/early" /etc/systemd/system/selvol-guest.target.d
    mkfs.ext4 -q -F /dev/scratch0
    echo "UUID=$(blkid -s UUID -o value /dev/scratch0) $D selvol $options,$at_boot,x-systemd.device-timeout=10min 0 0
tmpfs $volumes/early selvol.tmpfs volume=early,nofail 0 0" >/etc/fstab
    printf '[Unit]\nWants=multi-user.target\n' >/etc/systemd/system/selvol-guest.target.d/multi-user.conf
    systemctl daemon-reload
    reboot_guest
}

# booted NAME
booted() {
    soon "$1: multi-user" systemctl -q is-active multi-user.target
    is "$1: no emergency" "$(systemctl is-active emergency.target)" inactive
    soon "$1: the unit of the line" systemctl -q is-active "$(unit_of "$D")"
    is_labeled "$1: the label" "$D" s0:c1,c2
    yes "$1: the holder" is_held db "$D"
    like "$1: the line that doesn't wait fails, with the one that does" \
        "$(journalctl -b -o cat -u "$(unit_of "$volumes/early")")" "tmpfs $volumes/early selvol" \
        "$at_boot 0 0"
    is "$1: nothing else of selvol has failed" "$(systemctl --failed --plain --no-legend | grep -o '^[^ ]*selvol[^ ]*')" "$(unit_of "$volumes/early")"
    is "$1: no ordering cycle" "$(journalctl -b -o cat -g 'ordering cycle')" ''
}
