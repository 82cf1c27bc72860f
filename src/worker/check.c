/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/context.h"
#include "label/selinux.h"
#include "plan/plan-common.h"
#include "worker/check.h"

/* A target that passes, for a request that has none. It is never looked at. */
static int invent_target(Request *q, const Settings *settings, Failure *f) {
        if (strv_length(settings->target_roots) == 0)
                return failure_set(
                        f, FAILURE_PATH_NOT_ALLOWED,
                        "No directory is allowed to have volumes. To allow one, list it as TargetRoots= under [Worker] " SETTINGS_REMEDY);
        q->target = strdup_printf("%s/staged", settings->target_roots[0]);
        return q->target ? 0 : -ENOMEM;
}

int check_call(const Settings *settings, const char *volume, const char *source, const char *fs_type,
               const char *target, Failure *f) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        int r;

        r = free_and_strdup(&q.volume, volume);
        if (r < 0)
                return r;
        r = free_and_strdup(&q.source, source);
        if (r < 0)
                return r;
        r = free_and_strdup(&q.fs_type, isempty(fs_type) ? NULL : fs_type);
        if (r < 0)
                return r;
        r = target ? free_and_strdup(&q.target, target) : invent_target(&q, settings, f);
        if (r != 0)
                return r;
        return request_validate(&q, settings, f);
}

static int check_context(const Settings *settings, char **context, Failure *f) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        if (isempty(*context))
                return 0;
        r = context_canonicalize(*context, &canonical, f);
        if (r != 0)
                return r;
        r = plan_check_label_type(settings, canonical, f);
        if (r != 0)
                return r;
        free(*context);
        *context = NULL;
        return selinux_check_context(canonical, context, f);
}

static int check_options(const Settings *settings, const FileSystem *fs, PlanAnswer *a, Failure *f) {
        _cleanup_(mount_options_done) MountOptions options = { 0 };
        int r;

        r = mount_options_parse(a->mount_options, &options, f);
        if (r != 0)
                return r;
        if (options.context)
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "The mount options must not have the context: pass it as \"SELinuxContext\".");
        r = mount_options_check(options.options, settings, fs, f);
        if (r != 0)
                return r;
        strv_free(a->mount_options);
        a->mount_options = TAKE_PTR(options.options);
        a->read_only = a->read_only || options.read_only;
        return 0;
}

static int check_files(const FilesWanted *w, Failure *f) {
        bool needs_group =
                w->ownership == OWNERSHIP_WALK || w->ownership == OWNERSHIP_MAP || w->ownership == OWNERSHIP_OPTION;

        if (!needs_group || w->gid != GID_NONE)
                return 0;
        return failure_set(f, FAILURE_INVALID_OPTION,
                           "The files should get a group, but none is named: pass \"FSGroup\".");
}

int check_answer(const Settings *settings, const Node *node, const FileSystem *fs, PlanAnswer *a, Failure *f) {
        int r;

        if (fs) {
                r = check_options(settings, fs, a, f);
                if (r != 0)
                        return r;
        }
        if (!isempty(a->context) && !node->selinux)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "SELinux is off on this node, so nothing can be mounted with a context.");
        r = check_context(settings, &a->context, f);
        if (r != 0)
                return r;
        r = check_context(settings, &a->files.context, f);
        if (r != 0)
                return r;
        return check_files(&a->files, f);
}
