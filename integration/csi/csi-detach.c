/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "csi/csi-detach.h"
#include "csi/csi-message.h"
#include "csi/csi-selvold.h"
#include "csi/csi-volume.h"
#include "grpc/grpc-client.h"
#include "grpc/grpc-server.h"

#define UNPUBLISH "/csi.v1.Node/NodeUnpublishVolume"
#define UNSTAGE   "/csi.v1.Node/NodeUnstageVolume"

/* The time for the driver's answer when nobody waits for it. */
#define UNDO_USEC (30 * USEC_PER_SEC)

/* A volume that is to be detached. */
typedef struct Detachment {
        char *volume; /* NULL: selvold is not asked */
        char *path;
        bool staged;
} Detachment;

static void detachment_done(Detachment *d) {
        free(d->volume);
        free(d->path);
}

static void log_failure(const CsiCall *c, const Detachment *d, const char *text) {
        _cleanup_free_ char *volume = string_escape(d->volume, 200), *escaped = text_make_clean(strempty(text));

        log_warning("%s: Volume %s: %s", c->driver, strempty(volume), strempty(escaped));
}

/* Has selvold let go of the volume, and of the driver's mounts, too, if of_driver is true. */
static int release_volume(const CsiCall *c, const Detachment *d, bool of_driver) {
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        int r;

        r = csi_call_release(d->volume, d->path, of_driver, c->until_usec, &reply);
        if (r > 0)
                log_failure(c, d, reply.text);
        return r < 0 ? r : 0;
}

/* CSI has no code for a mount that is in use; drivers pass on what umount(8) or the kernel say. */
static bool is_busy(const GrpcReply *reply) {
        return reply->code != GRPC_OK && reply->text && strcasestr(reply->text, "busy");
}

static int forward_while_busy(const CsiCall *c, GrpcReply *ret) {
        const uint64_t busy_until = csi_busy_until();
        int r;

        do {
                grpc_reply_done(ret);
                r = csi_forward(c, ret);
        } while (r >= 0 && is_busy(ret) && !(c->request->caller && grpc_caller_is_gone(c->request->caller)) &&
                 csi_wait_while_busy(busy_until));
        return r;
}

static int detach_volume(const CsiCall *c, const Detachment *d, GrpcReply *ret) {
        int r;

        if (!d->volume)
                return csi_forward(c, ret);
        /* Where selvol gives files to groups it unmounts what is staged: only before the last unmount can it
         * note in which state it left the volume, and then skips the walk the next time. */
        r = release_volume(c, d, d->staged && c->settings.groups == DRIVER_GROUPS_SELVOL);
        if (r >= 0)
                r = forward_while_busy(c, ret);
        return r < 0 || ret->code != GRPC_OK ? r : release_volume(c, d, true);
}

/* Leaves *ret empty if it can't be read: then the driver says what is wrong with the request. */
static int detachment_read(const CsiCall *c, const ProtobufCBinaryData *handle, const ProtobufCBinaryData *path,
                           bool staged, Detachment *ret) {
        _cleanup_(detachment_done) Detachment d = { .staged = staged };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = csi_volume_id(c->driver, handle, &d.volume, &f);
        if (r == 0)
                r = csi_text(path, &d.path);
        if (r == -ENOMEM)
                return r;
        if (r == 0)
                *ret = TAKE_STRUCT(d);
        return 0;
}

int csi_answer_unpublish(const CsiCall *c, GrpcReply *ret) {
        _cleanup_(detachment_done) Detachment d = { 0 };
        _cleanup_csi_ ProtobufCMessage *m = NULL;
        int r;

        if (csi_read(&csi__node_unpublish_volume_request__descriptor, c->request->message, c->request->size, &m) >=
            0) {
                const Csi__NodeUnpublishVolumeRequest *q = (Csi__NodeUnpublishVolumeRequest *) m;

                r = detachment_read(c, &q->volume_id, &q->target_path, false, &d);
                if (r < 0)
                        return r;
        }
        return detach_volume(c, &d, ret);
}

int csi_answer_unstage(const CsiCall *c, GrpcReply *ret) {
        _cleanup_(detachment_done) Detachment d = { 0 };
        _cleanup_csi_ ProtobufCMessage *m = NULL;
        int r;

        if (csi_read(&csi__node_unstage_volume_request__descriptor, c->request->message, c->request->size, &m) >= 0) {
                const Csi__NodeUnstageVolumeRequest *q = (Csi__NodeUnstageVolumeRequest *) m;

                r = detachment_read(c, &q->volume_id, &q->staging_target_path, true, &d);
                if (r < 0)
                        return r;
        }
        return detach_volume(c, &d, ret);
}

static int write_request(const ProtobufCBinaryData *handle, const char *path, bool staged, GrpcBytes *ret) {
        Csi__NodeUnpublishVolumeRequest unpublish = CSI__NODE_UNPUBLISH_VOLUME_REQUEST__INIT;
        Csi__NodeUnstageVolumeRequest unstage = CSI__NODE_UNSTAGE_VOLUME_REQUEST__INIT;

        unpublish.volume_id = unstage.volume_id = *handle;
        unpublish.target_path = unstage.staging_target_path = csi_bytes(path);
        return csi_write(staged ? &unstage.base : &unpublish.base, ret);
}

int csi_undo(const CsiCall *c, const char *volume, const ProtobufCBinaryData *handle, const char *path, bool staged,
             GrpcReply *ret) {
        const Detachment d = { .volume = (char *) volume, .path = (char *) path, .staged = staged };
        _cleanup_grpc_bytes_ GrpcBytes message = { 0 };
        CsiCall undo = *c;
        GrpcRequest q = {
                .method = staged ? UNSTAGE : UNPUBLISH,
                .deadline_usec = now_monotonic_usec() + UNDO_USEC,
        };
        int r;

        r = write_request(handle, path, staged, &message);
        if (r < 0)
                return r;
        q.message = message.data;
        q.size = message.size;
        undo.request = &q;
        undo.until_usec = q.deadline_usec;
        return detach_volume(&undo, &d, ret);
}
