/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "csi/csi-message.h"
#include "fuzz.h"

/* The first byte of the input chooses a type, the rest is a message. A message that was read is written as a
 * message that is read in the same way. */

static const ProtobufCMessageDescriptor *const types[] = {
        &csi__node_stage_volume_request__descriptor,
        &csi__node_publish_volume_request__descriptor,
        &csi__node_unstage_volume_request__descriptor,
        &csi__node_unpublish_volume_request__descriptor,
        &csi__node_get_capabilities_response__descriptor,
        &csi__node_get_volume_stats_request__descriptor,
        &csi__get_plugin_info_response__descriptor,
        &csi__plugin_info__descriptor,
        &csi__registration_status__descriptor,
};

static void check_flags(const Csi__NodePublishVolumeRequest *q) {
        const Csi__MountVolume *mount = q->volume_capability ? q->volume_capability->mount : NULL;

        for (size_t i = 0; mount && i < mount->n_mount_flags; i++) {
                _cleanup_free_ char *s = NULL;
                int r = csi_text(&mount->mount_flags[i], &s);

                assert(r < 0 || strlen(s) == mount->mount_flags[i].len);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_grpc_bytes_ GrpcBytes written = { 0 }, again = { 0 };
        const ProtobufCMessageDescriptor *type;
        ProtobufCMessage *m;

        if (size == 0)
                return 0;
        type = types[data[0] % ELEMENTSOF(types)];
        if (csi_read(type, data + 1, size - 1, &m) < 0)
                return 0;
        if (type == &csi__node_publish_volume_request__descriptor)
                check_flags((const Csi__NodePublishVolumeRequest *) m);
        assert(csi_write(m, &written) == 0);
        csi_free(m);
        assert(csi_read(type, written.data, written.size, &m) == 0);
        assert(csi_write(m, &again) == 0);
        csi_free(m);
        assert(again.size == written.size && (again.size == 0 || memcmp(again.data, written.data, again.size) == 0));
        return 0;
}
