/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "label/record-xattr.h"
#include "mount/clone.h"
#include "mount/publish.h"
#include "mount/stage.h"
#include "worker/staged.h"

Staged *staged_free(Staged *s) {
        if (s) {
                fd_close(s->tree);
                target_done(&s->target);
                mounted_done(&s->mounted);
                free(s->context);
                free(s);
        }
        return NULL;
}

int staged_check(const Child *child, bool wanted, Failure *f) {
        if (!child->staged == !wanted)
                return 0;
        return failure_set(f, FAILURE_NOT_SUPPORTED,
                           wanted ? "Nothing is staged on this connection."
                                  : "Something is staged on this connection already.");
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

static int stage_share(const Child *child, const MountCall *c, const StageSpec *spec, Staged *s, Failure *f) {
        _cleanup_(target_done) Target share = TARGET_INIT;
        int r;

        r = target_open(c->share, child->settings, &share, f);
        if (r == 0)
                r = stage_clone(spec, &share, c->share_id, &s->tree, &s->mounted.outcome, f);
        if (r != 0)
                return r;
        r = clone_is_part(share.fd);
        if (r < 0)
                return r;
        s->part = r > 0;
        return 0;
}

static int stage(const Child *child, const MountCall *c, Staged *s, Failure *f) {
        _cleanup_(source_done) Source source = SOURCE_INIT;
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
        if (!isempty(c->share))
                return stage_share(child, c, &spec, s, f);
        return explain_failure(child, c, stage_mount(&spec, &s->tree, &s->mounted.outcome, f), f);
}

int staged_make(const Child *child, const MountCall *c, Staged **ret, Failure *f) {
        _cleanup_(staged_freep) Staged *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        s->tree = -EBADF;
        s->target = TARGET_INIT;
        s->context = strdup(c->context);
        if (!s->context)
                return -ENOMEM;

        if (c->publish) {
                r = target_open_free(c->request.target, child->settings, &s->target, f);
                if (r != 0)
                        return r;
        }
        r = stage(child, c, s, f);
        if (r == 0)
                r = mounted_read_root(s->tree, &s->mounted);
        if (r == 0)
                r = mounted_check_label(&s->mounted, s->context, f);
        if (r != 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
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

/* What is on disk must say no more than will be true once somebody can write. */
static int mark(int tree, RecordEffect effect, Failure *f) {
        _cleanup_close_ int root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return root < 0 ? -errno : record_xattr_mark(root, effect, f);
}

int staged_publish(Child *child, Staged *s, RecordEffect effect, uint64_t start, Failure *f) {
        int r;

        if (!s->target.path)
                return failure_set(f, FAILURE_NOT_SUPPORTED, "It was staged without a target to publish it at.");
        r = mark(s->tree, effect, f);
        if (r == 0)
                r = mounted_read_root(s->tree, &s->mounted);
        if (r == 0)
                r = mounted_check_label(&s->mounted, s->context, f);
        if (r == 0)
                r = publish_mount(s->tree, &s->target, child_peer_is_gone, child, &s->mounted.outcome, f);
        if (r != 0)
                return r;

        s->tree = fd_close(s->tree);
        target_done(&s->target);
        log_mounted(&s->mounted.outcome, now_monotonic_usec() - start);
        return 0;
}
