# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# The unit of selvol-integration(7) that runs podman, and the quadlet, where podman has that: the image masks its
# generator.

yes 'podman has an image' container_image
# As after a boot: podman in a unit may not open the files of root's own.
rm -rf /run/containers /run/libpod /run/crun /run/lock/netavark.lock /dev/shm/libpod_lock
run_page pages/selvol-integration.7.rst 'PODMAN IN UNITS'

mask=/etc/systemd/system-generators/podman-system-generator
if [[ -x ${mask/etc/usr\/lib} ]]; then
    mv $mask $mask.masked
    run_page pages/selvol-integration.7.rst QUADLETS
    mv $mask.masked $mask
    systemctl daemon-reload
else
    skip 'a quadlet' "$(podman --version) has none, 4.4 would"
fi
