/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libmount.h>

#include "mount/attach.h"
#include "mount/loop.h"

enum { EXPLANATION_MAX = 1024 };

DEFINE_CLEANUP_FUNC(struct libmnt_context *, mnt_free_context);

/* The context is quoted for the kernel, which would take "c2" of an unquoted "c1,c2" for an option. It contains
 * neither quotes nor backslashes: context_canonicalize() has checked it. */
static int build_options(const StageSpec *spec, char **ret) {
        _cleanup_strv_ char **options = NULL;
        int r;

        r = stage_spec_options(spec, &options);
        if (r < 0)
                return r;
        r = strv_extend(&options, "nosuid");
        if (r < 0)
                return r;
        r = strv_extend(&options, "nodev");
        if (r < 0)
                return r;
        r = strv_extend(&options, spec->read_only ? "ro" : "rw");
        if (r < 0)
                return r;
        if (!isempty(spec->context)) {
                r = strv_consume(&options, strdup_printf("context=\"%s\"", spec->context));
                if (r < 0)
                        return r;
        }

        *ret = strv_join(options, ",");
        return *ret ? 0 : -ENOMEM;
}

static int helper_failure(const StageSpec *spec, const char *text, int status, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(text, EXPLANATION_MAX);

        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED,
                           "Mounting %s by mount.%s failed with status %i: %s. See the journal for its output.",
                           spec->source->name, spec->source->fs->name, status, escaped);
}

static int mount_failure(const StageSpec *spec, struct libmnt_context *context, int status, int *ret_errno,
                         Failure *f) {
        char text[EXPLANATION_MAX] = "";

        (void) mnt_context_get_excode(context, status, text, sizeof(text));
        if (isempty(text))
                (void) snprintf(text, sizeof(text), "no explanation");
        if (mnt_context_helper_executed(context)) {
                *ret_errno = 0;
                return helper_failure(spec, text, mnt_context_get_helper_status(context), f);
        }
        *ret_errno = mnt_context_syscall_called(context) ? mnt_context_get_syscall_errno(context) : -status;
        return stage_spec_failure(spec, text, *ret_errno, f);
}

static int prepare(const StageSpec *spec, const char *source, const char *options, struct libmnt_context **ret) {
        _cleanup_(mnt_free_contextp) struct libmnt_context *context = mnt_new_context();
        int r;

        if (!context)
                return -ENOMEM;
        r = mnt_context_set_optsmode(context, MNT_OMODE_NOTAB);
        if (r < 0)
                return r;
        r = mnt_context_disable_mtab(context, 1);
        if (r < 0)
                return r;
        /* A device that turns out to be read-only is an error, not a read-only mount. */
        r = mnt_context_enable_rwonly_mount(context, !spec->read_only);
        if (r < 0)
                return r;
        r = mnt_context_set_source(context, source);
        if (r < 0)
                return r;
        r = mnt_context_set_target(context, spec->staging->directory);
        if (r < 0)
                return r;
        r = mnt_context_set_fstype(context, spec->source->fs->name);
        if (r < 0)
                return r;
        r = mnt_context_set_options(context, options);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(context);
        return 0;
}

bool attach_uses_helper(const char *fs_type) {
        static const char *const directories[] = { "/sbin", "/sbin/fs.d", "/sbin/fs" };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                char path[256];

                /* A name that is too long is no helper's. */
                if (snprintf(path, sizeof(path), "%s/mount.%s", directories[i], fs_type) < (int) sizeof(path) &&
                    access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

int attach_file_system(const StageSpec *spec, int *ret_errno, Failure *f) {
        _cleanup_(mnt_free_contextp) struct libmnt_context *context = NULL;
        _cleanup_free_ char *options = NULL, *loop = NULL;
        _cleanup_close_ int loop_fd = -EBADF;
        int r;

        assert(spec && spec->source);
        assert(ret_errno);

        r = build_options(spec, &options);
        if (r < 0)
                return r;
        if (spec->source->is_image) {
                r = image_open_loop(spec->source, spec->staging->locks, spec->read_only, &loop_fd, &loop, f);
                if (r != 0)
                        return r;
        }
        r = prepare(spec, loop ?: spec->source->path, options, &context);
        if (r < 0)
                return r;

        r = mnt_context_mount(context);
        if (r != 0 || mnt_context_get_status(context) != 1)
                return mount_failure(spec, context, r, ret_errno, f);
        return 0;
}
