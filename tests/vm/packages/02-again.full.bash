# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# Installed after a removal: the services run, and know what stayed mounted.

disk=$(readlink -f /dev/scratch0) T=$targets/data
yes 'install' install new
yes 'a volume' selvolctl mount -q data "$disk" --level s0:c1,c2
yes 'remove' dpkg -r selvol-podman selvol-csi selvol selvol-selinux
yes 'install again' install new
yes 'install again: it runs' runs
yes 'install again: the holder is known' is_listed "$T"
is 'install again: selvold in its domain' "$(domain selvold)" selvold_t
yes 'install again: the end of the mount' selvolctl unmount -q "$T"
yes 'purge' dpkg -P selvol-podman selvol-csi selvol selvol-selinux
