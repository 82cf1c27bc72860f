/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/mount-options.h"
#include "mount/on-disk.h"
#include "mount/stage-spec.h"

enum { EXPLANATION_MAX = 1024 };

int stage_spec_options(const StageSpec *spec, char ***ret) {
        _cleanup_strv_ char **options = NULL;
        int r;

        r = strv_copy(spec->options, &options);
        if (r < 0)
                return r;
        /* A superblock can ask for a panic of the kernel when it finds damage. */
        if (ext_is_type(spec->source->fs->name)) {
                r = mount_options_add(&options, (char *[]){ (char *) "errors=remount-ro", NULL });
                if (r < 0)
                        return r;
        }
        if (!isempty(spec->context)) {
                r = mount_options_add(&options, spec->source->fs->context_options);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(options);
        return 0;
}

static const char *remedy(int number) {
        switch (number) {
        case EBUSY:
                return "something uses it: a mount in another namespace, RAID, the device mapper or swap";
        case EROFS:
        case EACCES:
                return "the device can't be written: ask for a read-only mount";
        case ENODEV:
                return "the kernel has no driver for this type of file system";
        case EIO:
        case EUCLEAN:
        case ENOTBLK:
                return "the device or the file system on it is damaged: run fsck(8)";
        default:
                return "the kernel's log says more: journalctl -k";
        }
}

int stage_spec_failure(const StageSpec *spec, const char *text, int number, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(text, EXPLANATION_MAX);

        if (number == ENOMEM || !escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_MOUNT_FAILED, "Mounting %s as %s failed: %s (%s); %s.", spec->source->name,
                           spec->source->fs->name, escaped,
                           number > 0 ? strempty(strerrorname_np(number)) : "no errno", remedy(number));
}
