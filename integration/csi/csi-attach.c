/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "basic/log.h"
#include "csi/csi-attach.h"
#include "csi/csi-detach.h"
#include "csi/csi-message.h"
#include "csi/csi-place.h"
#include "csi/csi-selvold.h"
#include "csi/csi-volume.h"
#include "grpc/grpc-server.h"
#include "wire/message-ids.h"

/* A volume that kubelet wants to be staged or published. */
typedef struct Attachment {
        ProtobufCMessage *request;
        const ProtobufCBinaryData *handle;
        Csi__VolumeCapability *capability;
        CsiVolume volume; /* context and group as selvol has to see to them */
        bool staged;
} Attachment;

static void attachment_done(Attachment *a) {
        csi_volume_done(&a->volume);
        csi_freep(&a->request);
}

static bool is_wanted(const Attachment *a) {
        return a->volume.context || !isempty(a->volume.group);
}

/* Returns 0, or a kind of failure with the reply set, or a negative errno; -EBADMSG if it is no request for a
 * file system: selvol has nothing to do with it. */
static int attachment_read(const CsiCall *c, bool staged, Attachment *ret, GrpcReply *reply) {
        _cleanup_(attachment_done) Attachment a = { .staged = staged };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = csi_read(staged ? &csi__node_stage_volume_request__descriptor
                            : &csi__node_publish_volume_request__descriptor,
                     c->request->message, c->request->size, &a.request);
        if (r < 0)
                return r;
        if (staged) {
                Csi__NodeStageVolumeRequest *q = (Csi__NodeStageVolumeRequest *) a.request;

                a.handle = &q->volume_id;
                a.capability = q->volume_capability;
                r = csi_volume_read_stage(c->driver, q, &a.volume, &f);
        } else {
                Csi__NodePublishVolumeRequest *q = (Csi__NodePublishVolumeRequest *) a.request;

                a.handle = &q->volume_id;
                a.capability = q->volume_capability;
                r = csi_volume_read_publish(c->driver, q, &a.volume, &f);
        }
        if (!a.capability || !a.capability->mount)
                return -EBADMSG;
        if (r != 0)
                return r < 0 ? r : csi_reply_failure(&f, reply);
        *ret = TAKE_STRUCT(a);
        return 0;
}

/* Drops the wishes that are not for selvol. Returns whether the driver is not to see the group, or a negative
 * errno, with the reply set if the driver could not be asked. */
static int leave_to_others(const CsiCall *c, Attachment *a, GrpcReply *ret) {
        int r;

        if (c->settings.context == DRIVER_CONTEXT_IGNORE)
                a->volume.context = (free(a->volume.context), NULL);
        if (isempty(a->volume.group))
                return 0;
        r = c->settings.groups == DRIVER_GROUPS_SELVOL ? csi_driver_takes_group(c, ret) : 1;
        if (r < 0)
                return r;
        /* Kubelet leaves the group of a volume alone that is read-only. */
        if (r > 0 || a->volume.read_only)
                a->volume.group[0] = '\0';
        return r == 0;
}

static int forward_attachment(const CsiCall *c, Attachment *a, bool without_group, GrpcReply *ret) {
        _cleanup_grpc_bytes_ GrpcBytes message = { 0 };
        Csi__MountVolume *m;
        ProtobufCBinaryData group;
        int r;

        assert(a->capability && a->capability->mount); /* or it would not be an attachment */

        if (!without_group)
                return csi_forward(c, ret);
        m = a->capability->mount;
        group = m->volume_mount_group;
        m->volume_mount_group = (ProtobufCBinaryData){ 0 };
        r = csi_write(a->request, &message);
        m->volume_mount_group = group;
        return r < 0 ? r : csi_forward_message(c, &message, ret);
}

static void set_string(OptionValue *v, const char *s) {
        *v = (OptionValue){ .set = true, .string = s };
}

static void set_true(OptionValue *v) {
        *v = (OptionValue){ .set = true, .number = true };
}

/* Sets the options that MountVolume and AdoptVolume share, or the reply if one of them can't be read. */
static int set_values(const CsiCall *c, const Attachment *a, OptionValue values[static REQUEST_OPTIONS],
                      GrpcReply *reply) {
        const int policy = c->settings.fs_group_change_policy;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = csi_volume_set_values(&a->volume, c->driver, values, &f);
        if (r != 0)
                return r < 0 ? r : csi_reply_failure(&f, reply);
        if (values[OPTION_FS_GROUP].set) {
                set_string(&values[OPTION_FS_GROUP_CHANGE_POLICY],
                           fs_group_change_policy_to_string(policy < 0 ? FS_GROUP_CHANGE_ON_ROOT_MISMATCH
                                                                       : (FSGroupChangePolicy) policy));
                if (c->settings.user_namespaces)
                        set_true(&values[OPTION_USER_NAMESPACE]);
        }
        if (!a->volume.context) {
                /* Kubelet has the runtime relabel the files. */
                set_string(&values[OPTION_SELINUX_RELABEL_POLICY], relabel_policy_to_string(RELABEL_ALWAYS));
                return 0;
        }
        set_string(&values[OPTION_SELINUX_RELABEL_POLICY], relabel_policy_to_string(RELABEL_ON_VOLUME_MOUNT));
        set_true(&values[OPTION_SELINUX_MOUNT_SUPPORTED]);
        return 0;
}

static int adopt_mount(const CsiCall *c, const Attachment *a, const CsiPlace *p, GrpcReply *ret) {
        OptionValue values[REQUEST_OPTIONS] = { 0 };
        int r;

        r = set_values(c, a, values, ret);
        if (r != 0)
                return r;
        if (a->volume.context)
                set_string(&values[OPTION_SELINUX_CONTEXT], a->volume.context);
        /* The driver unmounts it, also where kubelet does not call it through this program. */
        set_true(&values[OPTION_RELEASE_ON_UMOUNT]);
        return csi_call_adopt(a->volume.id, p->target, values, c->until_usec, ret);
}

/* Mounts in place of the driver, or goes on with that. */
static int mount_anew(const CsiCall *c, const Attachment *a, const char *source, const char *target, GrpcReply *ret) {
        OptionValue values[REQUEST_OPTIONS] = { 0 };
        int r;

        r = set_values(c, a, values, ret);
        if (r != 0)
                return r;
        values[OPTION_MOUNT_OPTIONS] = (OptionValue){ .set = true, .list = a->volume.options };
        set_true(&values[OPTION_REPLACE]);
        return csi_call_mount(a->volume.id, source, target, values, c->until_usec, ret);
}

static void log_repair(const CsiCall *c, const Attachment *a, const CsiPlace *p) {
        _cleanup_free_ char *volume = string_escape(a->volume.id, 200);
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_REPAIRED },
                { "SELVOL_VOLUME", volume },
                { "SELVOL_TARGET", p->target },
                { "SELVOL_CONTEXT", a->volume.context },
        };

        log_fields(LOG_NOTICE, fields, ELEMENTSOF(fields),
                   "Driver %s dropped the context of volume %s: selvol mounted it again with %s.", c->driver,
                   strempty(volume), a->volume.context);
}

/* Kubelet takes the volume for unmounted after all other codes. */
static bool is_final(GrpcCode code) {
        switch (code) {
        case GRPC_ABORTED:
        case GRPC_CANCELLED:
        case GRPC_DEADLINE_EXCEEDED:
        case GRPC_RESOURCE_EXHAUSTED:
        case GRPC_UNAVAILABLE:
                return false;
        default:
                return true;
        }
}

/* Repairs a mount without the context. If that is not possible, the reply has both texts: what is wrong, and
 * why it stays so. */
static int repair_mount(const CsiCall *c, const Attachment *a, const CsiPlace *p, int failure, GrpcReply *ret) {
        _cleanup_grpc_reply_ GrpcReply dropped = TAKE_STRUCT(*ret);
        _cleanup_free_ char *why = NULL;
        int r;

        r = mount_anew(c, a, p->source, p->target, ret);
        /* A node without udev has no links by number, and selvold says that there is no such source. */
        if (r == FAILURE_INVALID_VOLUME && p->named) {
                grpc_reply_done(ret);
                r = mount_anew(c, a, p->named, p->target, ret);
        }
        if (r == 0)
                log_repair(c, a, p);
        /* A mount that is in use stays so as long as kubelet does not take it back. */
        if (r <= 0 || (r != FAILURE_BUSY && !is_final(ret->code)))
                return r;
        why = TAKE_PTR(ret->text);
        grpc_reply_done(ret);
        r = grpc_reply_set(ret, dropped.code, "%s It can't be mounted again with the context: %s", dropped.text,
                           startswith(why, "selvol: ") ?: why);
        return r < 0 ? r : failure;
}

/* Has selvold see to what the driver has mounted. */
static int settle_mount(const CsiCall *c, const Attachment *a, const CsiPlace *p, GrpcReply *ret) {
        int r;

        r = adopt_mount(c, a, p, ret);
        if ((r != FAILURE_CONTEXT_DROPPED && r != FAILURE_LABEL_MISMATCH) || !p->source ||
            c->settings.context != DRIVER_CONTEXT_REPAIR)
                return r;
        return repair_mount(c, a, p, r, ret);
}

/* Looks where the driver has mounted the volume, and has selvold see to it. */
static int settle_mounted(const CsiCall *c, const Attachment *a, GrpcReply *ret) {
        _cleanup_csi_place_ CsiPlace p = { 0 };
        int r;

        r = csi_place_find(c->mountinfo, a->volume.target, a->staged, &p);
        if (r == -ENOMEM)
                return r;
        if (r > 0)
                return settle_mount(c, a, &p, ret);
        if (r < 0) {
                r = grpc_reply_set(ret, GRPC_INTERNAL, "selvol: The mount table can't be read: %s", strerror(-r));
                return r < 0 ? r : FAILURE_MOUNT_FAILED;
        }
        /* Where a stage mounts nothing, the publish will. */
        if (a->staged || !is_wanted(a))
                return 0;
        r = grpc_reply_set(ret, GRPC_INTERNAL,
                           "selvol: Driver %s has published the volume, but nothing is mounted at the target.",
                           c->driver);
        return r < 0 ? r : FAILURE_MOUNT_FAILED;
}

/* Takes back what the driver has done, for a reply after which kubelet does not do so. Nothing is taken back
 * if kubelet has given up: its next call may be under way. */
static int undo_attachment(const CsiCall *c, const Attachment *a, GrpcReply *reply) {
        _cleanup_grpc_reply_ GrpcReply undone = { 0 };
        int r;

        if (!is_final(reply->code) || grpc_caller_is_gone(c->request->caller))
                return 0;
        r = csi_undo(c, a->volume.id, a->handle, a->volume.target, a->staged, &undone);
        if (r < 0)
                return r;
        if (undone.code != GRPC_OK)
                reply->code = GRPC_ABORTED;
        return 0;
}

static void log_unwanted(const CsiCall *c, const Attachment *a, const char *text) {
        _cleanup_free_ char *volume = string_escape(a->volume.id, 200), *escaped = text_make_clean(strempty(text));

        log_info("%s: Volume %s is not recorded: %s", c->driver, strempty(volume), strempty(escaped));
}

/* Decides what selvold's failure means for the answer, which is the driver's so far. */
static int conclude_attachment(const CsiCall *c, const Attachment *a, int failure, GrpcReply *selvol,
                               GrpcReply *ret) {
        int r;

        if (!is_wanted(a) || (failure == FAILURE_WORKER_FAILED && c->settings.when_away == DRIVER_AWAY_FORWARD)) {
                log_unwanted(c, a, selvol->text);
                return 0;
        }
        r = undo_attachment(c, a, selvol);
        if (r < 0)
                return r;
        grpc_reply_done(ret);
        *ret = TAKE_STRUCT(*selvol);
        return 0;
}

/* Finds what selvol itself has mounted there, or is about to: a repair outlives the call. */
static int find_own(const CsiCall *c, const Attachment *a, CsiPlace *ret) {
        _cleanup_grpc_reply_ GrpcReply reply = { 0 };
        int r;

        if (!a->volume.context || c->settings.context != DRIVER_CONTEXT_REPAIR)
                return 0;
        r = csi_find_own(a->volume.id, a->volume.target, a->staged, c->until_usec, &ret->target, &ret->source,
                         &reply);
        return r < 0 ? r : 0;
}

static int attach_volume(const CsiCall *c, Attachment *a, GrpcReply *ret) {
        _cleanup_grpc_reply_ GrpcReply selvol = { 0 };
        _cleanup_csi_place_ CsiPlace own = { 0 };
        int without_group, r;

        without_group = leave_to_others(c, a, ret);
        if (without_group < 0)
                return without_group == -ENOMEM ? -ENOMEM : 0;
        r = find_own(c, a, &own);
        if (r < 0)
                return r;
        if (own.target)
                /* The driver would mount beside it. */
                r = mount_anew(c, a, own.source, own.target, &selvol);
        else {
                r = forward_attachment(c, a, without_group, ret);
                if (r < 0 || ret->code != GRPC_OK)
                        return r;
                r = settle_mounted(c, a, &selvol);
        }
        return r <= 0 ? r : conclude_attachment(c, a, r, &selvol, ret);
}

static int answer_attach(const CsiCall *c, bool staged, GrpcReply *ret) {
        _cleanup_(attachment_done) Attachment a = { 0 };
        int r;

        r = attachment_read(c, staged, &a, ret);
        if (r == -EBADMSG)
                return csi_forward(c, ret);
        if (r != 0)
                return r < 0 ? r : 0;
        return attach_volume(c, &a, ret);
}

int csi_answer_stage(const CsiCall *c, GrpcReply *ret) {
        return answer_attach(c, true, ret);
}

int csi_answer_publish(const CsiCall *c, GrpcReply *ret) {
        return answer_attach(c, false, ret);
}
