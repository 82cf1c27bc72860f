/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

#define CSI_SOCKETS        "/run/selvol/csi"
#define CSI_REGISTRY       "/var/lib/kubelet/plugins_registry"
#define CSI_SOCKET_DEFAULT "/var/lib/kubelet/plugins/%s/csi.sock"

/* Looks whether drivers answer, and what their registrars tell kubelet: each driver with Socket=, and each
 * that selvol-csi has a socket for. Prints a line for each finding, for selvolctl doctor and the packages:
 * "ok", "warning" or "problem", the driver, the text, and what to type, with a tab between two. "ok": kubelet
 * calls the driver through selvol-csi. sockets, registry: CSI_SOCKETS,
 * CSI_REGISTRY, or a test's. Returns 0 or -ENOMEM. */
int csi_check(const Settings *s, const char *sockets, const char *registry) _warn_unused_;
