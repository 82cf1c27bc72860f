/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "csi/csi-message.h"
#include "csi/driver-volume.h"
#include "fuzz.h"

/* The input is the request NodePublishVolume that kubelet sends to selvol's own driver. D-Bus must be able to
 * carry accepted options, and the text of a mistake must be fit for an event of a pod. */

static void check_volume(const DriverVolume *v) {
        assert(utf8_is_valid(v->csi.id) && utf8_is_valid(v->csi.target) && utf8_is_valid(v->source));
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                assert(!v->values[i].set || !v->values[i].string || utf8_is_valid(v->values[i].string));
                STRV_FOREACH (option, v->values[i].list)
                        assert(utf8_is_valid(*option));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_driver_volume_ DriverVolume v = { .source = NULL };
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_csi_ ProtobufCMessage *m = NULL;
        int r;

        if (csi_read(&csi__node_publish_volume_request__descriptor, data, size, &m) < 0)
                return 0;
        r = driver_volume_read((const Csi__NodePublishVolumeRequest *) m, &v, &f);
        assert(r >= 0);
        if (r == 0)
                check_volume(&v);
        else
                assert(!isempty(f.message) && text_is_clean(f.message) && !v.csi.id);
        return 0;
}
