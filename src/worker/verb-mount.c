/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "basic/log.h"
#include "core/context.h"
#include "core/request.h"
#include "core/worker-protocol.h"
#include "label/selinux.h"
#include "mount/publish.h"
#include "mount/stage.h"
#include "worker/marshal.h"
#include "worker/outcome.h"
#include "worker/verbs.h"

/* The arguments of the call; strings belong to the message but for those in request. */
typedef struct MountCall {
        Request request;
        char *context; /* canonical; "" for none */
        const char *share;
        uint64_t share_id;
} MountCall;

static void mount_call_done(MountCall *c) {
        request_done(&c->request);
        free(c->context);
}

static int read_call(sd_bus_message *m, MountCall *ret) {
        const char *source, *fs_type, *target, *context;
        Request *q = &ret->request;
        int r, read_only;

        r = sd_bus_message_read(m, "sss", &source, &fs_type, &target);
        if (r >= 0)
                r = sd_bus_message_read_strv(m, &q->mount_options);
        if (r >= 0)
                r = sd_bus_message_read(m, "sbst", &context, &read_only, &ret->share, &ret->share_id);
        if (r < 0)
                return r;

        q->read_only = read_only;
        r = free_and_strdup(&q->volume, "volume");
        if (r >= 0)
                r = free_and_strdup(&q->source, source);
        if (r >= 0)
                r = free_and_strdup(&q->fs_type, fs_type);
        if (r >= 0)
                r = free_and_strdup(&q->target, target);
        if (r >= 0 && !isempty(context))
                r = free_and_strdup(&q->context, context);
        return r;
}

static int check_context(const Settings *settings, const Node *node, const char *context, char **ret, Failure *f) {
        _cleanup_free_ char *type = NULL;

        if (isempty(context)) {
                *ret = strdup("");
                return *ret ? 0 : -ENOMEM;
        }
        if (!node->selinux)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "SELinux is off on this node, so nothing can be mounted with a context.");
        type = context_part(context, CONTEXT_TYPE);
        if (!type)
                return -ENOMEM;
        if (!strv_contains(settings->label_types, type))
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "Type %s is not one that volumes may be labelled with; an administrator can add it to "
                        "LabelTypes= of [Worker].",
                        type);
        return selinux_check_context(context, ret, f);
}

/* The checks that selvold has made already; it isn't trusted to have. */
static int check_call(const Settings *settings, MountCall *c, Failure *f) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        if (isempty(c->request.fs_type))
                return failure_set(f, FAILURE_TYPE_NOT_ALLOWED, "The call names no file system type.");
        r = request_validate(&c->request, settings, f);
        if (r != 0)
                return r;
        r = selinux_read_node(&node);
        if (r < 0)
                return r;
        return check_context(settings, &node, c->request.context, &c->context, f);
}

/* A mount that failed with the type that was given: if the source holds something else, or nothing, that is why. */
static int explain_failure(const Child *child, const MountCall *c, int r, Failure *f) {
        _cleanup_(source_done) Source source = SOURCE_INIT;
        _cleanup_failure_ Failure found = { 0 };
        int k;

        if (r != FAILURE_MOUNT_FAILED)
                return r;
        k = source_open(c->request.source, c->request.fs_type, true, child->settings, &source, &found);
        if (k <= 0)
                return r;
        failure_done(f);
        *f = found;
        found = (Failure){ 0 };
        return k;
}

static int stage(const Child *child, const MountCall *c, int *ret_tree, MountOutcome *ret, Failure *f) {
        _cleanup_(source_done) Source source = SOURCE_INIT;
        _cleanup_(target_done) Target share = TARGET_INIT;
        int r;

        r = source_open(c->request.source, c->request.fs_type, false, child->settings, &source, f);
        if (r != 0)
                return r;

        const StageSpec spec = {
                .source = &source,
                .options = c->request.mount_options,
                .context = c->context,
                .read_only = c->request.read_only,
                .directory = child->stage_directory,
        };
        if (isempty(c->share))
                return explain_failure(child, c, stage_mount(&spec, ret_tree, ret, f), f);

        r = target_open(c->share, child->settings, &share, f);
        return r != 0 ? r : stage_clone(&spec, &share, c->share_id, ret_tree, ret, f);
}

/* Whatever the mount table says, this is what a container will see. */
static int check_label(const MountCall *c, const MountOutcome *o, Failure *f) {
        if (isempty(c->context) || streq(o->root_context, c->context))
                return 0;
        return failure_set(f, FAILURE_LABEL_MISMATCH,
                           "%s was mounted with context %s, but its root has label '%s'; nothing was published.",
                           c->request.source, c->context, o->root_context);
}

static int do_mount(Child *child, const MountCall *c, MountOutcome *ret, Failure *f) {
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int tree = -EBADF;
        int r;

        r = target_open_free(c->request.target, child->settings, &target, f);
        if (r == 0)
                r = stage(child, c, &tree, &o, f);
        if (r == 0)
                r = outcome_read_root(tree, &o);
        if (r == 0)
                r = check_label(c, &o, f);
        if (r == 0)
                r = publish_mount(tree, &target, child_peer_is_gone, child, &o, f);
        if (r != 0)
                return r;

        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

static int reply(sd_bus_message *m, const MountOutcome *o) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = marshal_outcome(answer, o);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

static uint64_t now_usec(void) {
        struct timespec ts = { 0 };

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static void log_mounted(const MountOutcome *o, uint64_t usec) {
        _cleanup_free_ char *target = string_escape(o->fact.target, 200),
                            *source = string_escape(o->fact.source, 200),
                            *duration = strdup_printf("%llu", (unsigned long long) usec);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_CONTEXT", o->fact.context },
                { "SELVOL_DURATION_USEC", duration },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Mounted %s on %s%s%s%s.", strempty(source),
                   strempty(target), isempty(o->fact.context) ? "" : " with context ", o->fact.context,
                   o->fact.read_only ? ", read-only" : "");
}

int verb_mount(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(mount_call_done) MountCall c = { .request = REQUEST_INIT };
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        uint64_t start = now_usec();
        int r;

        r = read_call(m, &c);
        if (r < 0)
                return r;

        r = child_check_propagation(child, &f);
        if (r == 0)
                r = check_call(child->settings, &c, &f);
        if (r == 0)
                r = do_mount(child, &c, &o, &f);
        if (r == 0) {
                log_mounted(&o, now_usec() - start);
                r = reply(m, &o);
        }
        return child_finish(WORKER_MOUNT, c.request.target, r, &f, error);
}
