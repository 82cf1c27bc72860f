/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/limits.h"
#include "mount/stage-explain.h"
#include "mount/superblock.h"

/* Fills f if the superblock is mounted somewhere with another context, which the kernel's EINVAL doesn't tell.
 * Returns CONTEXT_CONFLICT, 0 if there is no such mount, or a negative errno. */
static int find_conflict(const StageSpec *spec, const MountFact *mounts, size_t n, Failure *f) {
        _cleanup_free_ char *target = NULL, *context = NULL;
        const MountFact *m = NULL;

        for (size_t i = 0; i < n && !m; i++)
                if (!streq(mounts[i].context, spec->context))
                        m = &mounts[i];
        if (!m)
                return 0;

        target = string_escape(m->target, 200);
        context = string_escape(m->context, CONTEXT_MAX);
        if (!target || !context)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_CONTEXT_CONFLICT,
                "%s is mounted at '%s' %s%s, and a file system can have one context at a time: unmount it there first.",
                spec->source->name, target, isempty(context) ? "without a context" : "with context ", context);
}

/* The superblock existed already and kept its context: btrfs may ignore the one that is passed without an error. */
static int shared_failure(const StageSpec *spec, const MountFact *fact, Failure *f) {
        _cleanup_free_ char *context = string_escape(fact->context, CONTEXT_MAX);
        MountFact *mounts;
        size_t n;
        int r;

        if (!context)
                return -ENOMEM;
        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        r = find_conflict(spec, mounts, n, f);
        mount_facts_free(mounts, n);
        if (r != 0)
                return r;
        return failure_set(
                f, FAILURE_CONTEXT_CONFLICT,
                "%s is in use with context %s, perhaps in another mount namespace, and a file system can have one context at a time.",
                spec->source->name, context);
}

/* Compares what was requested with what the kernel did. libmount leaves the context out where libselinux considers
 * SELinux disabled. */
static int check_context(const StageSpec *spec, const MountFact *fact, Failure *f) {
        if (!isempty(fact->context) && !streq(fact->context, spec->context))
                return shared_failure(spec, fact, f);
        if (!isempty(spec->context) && (fact->seclabel || isempty(fact->context)))
                return failure_set(f, FAILURE_CONTEXT_DROPPED,
                                   "The kernel mounted %s without the context %s; nothing was published.",
                                   spec->source->name, spec->context);
        return 0;
}

int stage_check_outcome(const StageSpec *spec, const MountOutcome *o, Failure *f) {
        int r;

        r = check_context(spec, &o->fact, f);
        if (r != 0)
                return r;
        if (!spec->read_only && o->fact.read_only)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "%s could only be mounted read-only: ask for a read-only mount, or repair the file system or device.",
                        spec->source->name);
        return 0;
}

int stage_explain_failure(const StageSpec *spec, int number, Failure *f) {
        _cleanup_free_ char *target = NULL;
        MountFact *mounts;
        size_t n;
        int r;

        if (number != EINVAL && number != EBUSY)
                return 0;
        r = source_find_mounts(spec->source, &mounts, &n);
        if (r < 0)
                return r;
        r = find_conflict(spec, mounts, n, f);
        if (n > 0)
                target = string_escape(mounts[0].target, 200);
        mount_facts_free(mounts, n);
        if (r != 0 || n == 0)
                return r;
        if (!target)
                return -ENOMEM;
        if (spec->alone)
                return failure_set(f, FAILURE_BUSY, "%s was mounted at '%s' by somebody else meanwhile: try again.",
                                   spec->source->name, target);
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "%s is mounted at '%s' with other options and can't also be mounted %s (%s): unmount it there first.",
                spec->source->name, target, spec->read_only ? "read-only" : "read-write", strerrorname_np(number));
}
