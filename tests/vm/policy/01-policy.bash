# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# From Debian 12's policy to Debian 13's with the modules of selvol-selinux loaded, as "apt full-upgrade" does it: first the policy,
# later selvol-selinux. In the guest of Debian 13, whose semodule can read both.

disk=$(readlink -f /dev/scratch0)
mkfs.ext4 -q "$disk"
# works NAME
works() {
    yes "$1: the services start anew" systemctl restart selvold selvol-worker
    is "$1: selvold in its domain" "$(domain selvold)" selvold_t
    yes "$1: a mount" selvolctl mount -q data "$disk" --level s0:c1,c2
    is "$1: its label" "$(stat -c %C "$targets/data")" "$file_type:s0:c1,c2"
    yes "$1: the end of the mount" selvolctl unmount -q "$targets/data"
}

# Files here have labels that Debian 12's policy does not know.
setenforce 0
yes "Debian 12's policy" dpkg -i --force-depends old/selinux-policy-default_*.deb
is "Debian 12's policy: no modules for containers" "$(modules container podman)" ''
yes 'selvol, with the modules for Debian 12' dpkg -i --force-depends new/selvol_*.deb old/selvol-selinux_*.deb
is 'selvol: its modules' "$(modules container podman selvol)" '200 selvol 50 container 50 podman'
works "Debian 12's policy"

yes 'the policy alone is upgraded' dpkg -i --force-depends policy/selinux-policy-default_*.deb
is "the policy: its modules are in force" "$(modules container podman selvol)" '100 container 100 podman 200 selvol 50 container 50 podman'
setenforce 1
works "Debian 13's policy"

yes 'selvol-selinux is upgraded' dpkg -i --force-depends new/selvol-selinux_*.deb
is 'selvol-selinux: it has taken its modules away' "$(modules container podman selvol)" '100 container 100 podman 200 selvol'
works 'the modules for Debian 13'
