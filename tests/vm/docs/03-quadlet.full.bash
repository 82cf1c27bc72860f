# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# The quadlet of selvol-integration(7), where podman has that. The image masks its generator.

mask=/etc/systemd/system-generators/podman-system-generator
if [[ -x ${mask/etc/usr\/lib} ]]; then
    yes 'podman has an image' container_image
    mv $mask $mask.masked
    run_page pages/selvol-integration.7.rst QUADLETS
    mv $mask.masked $mask
    systemctl daemon-reload
else
    skip 'a quadlet' "$(podman --version) has none, 4.4 would"
fi
