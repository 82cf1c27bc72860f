# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # of lib.bash and line.bash
# The machine boots with the line of mount.selvol(8) in fstab: with selvold enabled, then without, and then where it may not run. Another
# line doesn't wait for selvold: it fails, and nothing else does.

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

case $SELVOL_GUEST_BOOT in
    1)
        mkdir -p "$D" "$volumes/early" /etc/systemd/system/selvol-guest.target.d
        mkfs.ext4 -q -F /dev/scratch0
        echo "UUID=$(blkid -s UUID -o value /dev/scratch0) $D selvol $options,$at_boot 0 0
tmpfs $volumes/early selvol.tmpfs volume=early,nofail 0 0" >/etc/fstab
        printf '[Unit]\nWants=multi-user.target\n' >/etc/systemd/system/selvol-guest.target.d/multi-user.conf
        systemctl daemon-reload
        reboot_guest
        ;;
    2)
        booted enabled
        systemctl -q disable selvold
        reboot_guest
        ;;
    3)
        is 'disabled: it is' "$(systemctl is-enabled selvold)" disabled
        booted disabled
        umount "$D"
        systemctl -q mask selvold
        reboot_guest
        ;;
    4)
        soon 'masked: multi-user' systemctl -q is-active multi-user.target
        is 'masked: no emergency' "$(systemctl is-active emergency.target)" inactive
        soon 'masked: the unit of the line' systemctl -q is-failed "$(unit_of "$D")"
        no 'masked: nothing is mounted' is_mounted "$D"
        like 'masked: systemctl status says why' "$(journalctl -b -o cat -u "$(unit_of "$D")")" "'systemctl unmask selvold'"
        systemctl -q unmask selvold
        yes 'unmasked: systemctl start' systemctl start "$(unit_of "$D")"
        is_labeled 'unmasked: the label' "$D" s0:c1,c2
        umount "$D"
        soon 'unmasked: the holder is released' has_no_holder db
        clean boot
        ;;
esac
