# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# Debian as it is installed, with SELinux off: selvol is installed first, then two commands turn SELinux on. The guest has no boot
# loader: it boots with the arguments in /etc/default/grub.

selinux_is() { [[ "$(cat /sys/fs/selinux/enforce 2>&1)" == "$1" ]]; }
selvol_works() {
    yes "$1: selvold runs" runs
    is "$1: selvold in its domain" "$(domain selvold)" selvold_t
    is "$1: the label of mount.selvol" "$(type_of /usr/sbin/mount.selvol)" selvol_mount_exec_t
}

case $SELVOL_GUEST_BOOT in
    1)
        no 'SELinux is off' test -e /sys/fs/selinux
        echo "deb [trusted=yes] file:$PWD/repository ./" >/etc/apt/sources.list
        rm -f /etc/apt/sources.list.d/*
        yes 'a mirror' apt-get -q update
        echo 'GRUB_CMDLINE_LINUX=""' >/etc/default/grub
        printf '#!/bin/sh\n' >/usr/sbin/update-grub
        chmod +x /usr/sbin/update-grub

        cd new || exit
        yes 'apt install ./selvol_*.deb ./selvol-selinux_*.deb' apt -y install ./selvol_*.deb ./selvol-selinux_*.deb
        cd ..
        yes 'off: selvold runs' runs
        is 'off: the module waits in the store' "$(modules selvol)" '200 selvol'
        yes 'apt install selinux-basics' apt -y install selinux-basics
        yes 'selinux-activate' selinux-activate
        sed -n 's/^GRUB_CMDLINE_LINUX="\(.*\)"/\1/p' /etc/default/grub >"$RESULTS/arguments"
        # once more, as Debian labels all files then
        reboot_guest 1
        ;;
    3)
        yes 'permissive' selinux_is 0
        selvol_works permissive
        yes 'selinux-config-enforcing' selinux-config-enforcing
        reboot_guest
        ;;
    *)
        yes 'enforcing' selinux_is 1
        selvol_works enforcing
        yes 'enforcing: doctor finds no problem' selvolctl doctor -q
        run_page README.md
        ;;
esac
