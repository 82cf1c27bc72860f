/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/values.h"
#include "csi/csi.pb-c.h"
#include "model/failure.h"
#include "model/request.h"

/* A volume as kubelet speaks of it, in the words of selvold. */

typedef struct CsiVolume {
        char *id;                /* DRIVER/HANDLE */
        char *target;            /* the target path, or the staging path */
        char *holder;            /* NAMESPACE/POD, or the UID of the pod, or HOLDER_STAGE */
        char *fs_type;           /* "": none */
        char **options;          /* the mount flags, one option in each string */
        char *context;           /* of the options, in canonical form; NULL: none */
        char *group;             /* volume_mount_group; "": none */
        const char *access_mode; /* in the words of Kubernetes; NULL: none that it has a word for */
        bool read_only;          /* "ro" is among the options, or the pod asked for it */
} CsiVolume;

/* Makes the id that selvold has for the volume of a driver. The handle stays as it came: selvold escapes ids
 * where that is necessary. Returns 0, -ENOMEM, or INVALID_VOLUME if the handle is empty or no text. */
int csi_volume_id(const char *driver, const ProtobufCBinaryData *handle, char **ret, Failure *f) _warn_unused_;

/* Read a request, whose capability may be missing. Return 0, -ENOMEM, or the failure of a field that is no
 * text, or can't be parsed: all of these are GRPC_INVALID_ARGUMENT. selvold checks the values. */
int csi_volume_read_stage(const char *driver, const Csi__NodeStageVolumeRequest *q, CsiVolume *ret,
                          Failure *f) _warn_unused_;
int csi_volume_read_publish(const char *driver, const Csi__NodePublishVolumeRequest *q, CsiVolume *ret,
                            Failure *f) _warn_unused_;
void csi_volume_done(CsiVolume *v);
#define _cleanup_csi_volume_ _cleanup_(csi_volume_done)

/* Sets the options of MountVolume and AdoptVolume that follow from the volume: Driver, Holder, AccessMode and
 * FSGroup. They borrow its strings. Returns 0, -ENOMEM or INVALID_OPTION. */
int csi_volume_set_values(const CsiVolume *v, const char *driver, OptionValue values[static REQUEST_OPTIONS],
                          Failure *f) _warn_unused_;
