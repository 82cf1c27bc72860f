/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "csi/csi-volume.h"

#define CSI_DRIVER_NAME "org.selvol.csi"

/* A volume that kubelet asks selvol's own driver for: an administrator has written it into a
 * PersistentVolume. */
typedef struct DriverVolume {
        CsiVolume csi;
        const char *source; /* the device, the image, or any word for a tmpfs */
        OptionValue values[REQUEST_OPTIONS];
        char **texts; /* own the strings of the values */
} DriverVolume;

/* Reads a request, and checks what selvold does not: it has a source, a target, which is a path, and the
 * access type "mount"; it is not of a pod's own definition; all volumeAttributes are options of MountVolume.
 * Kubelet's own keys of volume_context, which may be secrets, are not copied. Returns 0, -ENOMEM or
 * a failure, which is GRPC_INVALID_ARGUMENT. */
int driver_volume_read(const Csi__NodePublishVolumeRequest *q, DriverVolume *ret, Failure *f) _warn_unused_;
void driver_volume_done(DriverVolume *v);

#define _cleanup_driver_volume_ _cleanup_(driver_volume_done)
