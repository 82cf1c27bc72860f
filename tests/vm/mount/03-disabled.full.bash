# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash and line.bash
# The machine boots with the line of mount.selvol(8) in fstab while selvold is disabled, and then while it is masked.

case $(systemctl is-enabled selvold) in
    enabled)
        systemctl -q disable selvold
        boot_with_line
        ;;
    disabled)
        booted disabled
        umount "$D"
        systemctl -q mask selvold
        reboot_guest
        ;;
    masked)
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
