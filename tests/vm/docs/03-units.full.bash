# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the unit with podman in selvol-integration(7), and the quadlet if this podman has quadlets. The image masks the
# generator of quadlets, so this file unmasks it for a while.

yes 'podman has an image' container_image
# These files of root's podman are not there after a boot, and podman in a unit may not open them.
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
