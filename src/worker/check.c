/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/selinux.h"
#include "model/context.h"
#include "mount/denial.h"
#include "mount/host-use.h"
#include "mount/mount-table.h"
#include "mount/superblock.h"
#include "plan/plan-common.h"
#include "worker/check.h"
#include "worker/observe.h"

int check_call(const Child *c, const char *volume, const char *source, const char *fs_type, const char *target,
               Failure *f) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        int r;

        /* source_open() checks the source for the caller. */
        q.by_root = true;

        if (!c->configuration->propagating)
                return failure_set(
                        f, FAILURE_NOT_PROPAGATING,
                        "selvol-worker runs in a mount namespace of its own, so its mounts would never reach the host: remove the option of its unit that creates one (ProtectSystem=, PrivateTmp=, and the like).");
        if (!target && strv_length(c->settings->target_roots) == 0)
                return failure_set(
                        f, FAILURE_PATH_NOT_ALLOWED,
                        "No directory is allowed to have volumes. To allow one, add TargetRoots=DIRECTORY under [Worker] " SETTINGS_REMEDY);
        r = free_and_strdup(&q.volume, volume);
        if (r < 0)
                return r;
        r = free_and_strdup(&q.source, source);
        if (r < 0)
                return r;
        r = free_and_strdup(&q.fs_type, isempty(fs_type) ? NULL : fs_type);
        if (r < 0)
                return r;
        /* A request without a target gets one that passes the check and is not used otherwise. */
        q.target = target ? strdup(target) : strdup_printf("%s/staged", c->settings->target_roots[0]);
        if (!q.target)
                return -ENOMEM;
        return request_validate(&q, c->settings, f);
}

static int check_answer_context(const Settings *settings, char **context, Failure *f) {
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

int ask_checked(Child *c, const PlanQuestion *question, const FileSystem *fs, PlanAnswer *ret, Failure *f) {
        _cleanup_(mount_options_done) MountOptions options = { 0 };
        const FilesWanted *w = &ret->files;
        int r;

        r = ask_plan(c, question, ret, f);
        if (r != 0 || ret->step != PLAN_GO)
                return r;
        if (fs) {
                r = mount_options_parse(ret->mount_options, &options, f);
                if (r != 0)
                        return r;
                if (options.context)
                        return failure_set(
                                f, FAILURE_INVALID_OPTION,
                                "The mount options must not have the context: pass it as \"SELinuxContext\".");
                r = mount_options_check(options.options, c->settings, fs, f);
                if (r != 0)
                        return r;
                strv_free(ret->mount_options);
                ret->mount_options = TAKE_PTR(options.options);
                ret->read_only = ret->read_only || options.read_only;
        }
        if (!isempty(ret->context) && !question->node.selinux)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "SELinux is off on this node, so nothing can be mounted with a context.");
        r = check_answer_context(c->settings, &ret->context, f);
        if (r != 0)
                return r;
        /* A clone of a holder's mount needs no such permission. */
        r = fs && isempty(ret->share_target) ? denial_check_context(fs->name, ret->context, f) : 0;
        if (r != 0)
                return r;
        r = check_answer_context(c->settings, &ret->files.context, f);
        if (r != 0)
                return r;
        if (w->gid == GID_NONE &&
            (w->ownership == OWNERSHIP_WALK || w->ownership == OWNERSHIP_MAP || w->ownership == OWNERSHIP_OPTION))
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "The files should get a group, but none is named: pass \"FSGroup\".");
        return 0;
}

static int check_foreign_mounts(const Child *c, const MountFact *mounts, size_t n_mounts, Failure *f) {
        for (size_t i = 0; i < n_mounts; i++) {
                int r = host_has_mount(c->settings, &mounts[i]);

                if (r < 0)
                        return r;
                if (r > 0)
                        return failure_set_about(
                                f, FAILURE_PATH_NOT_ALLOWED, mounts[i].target,
                                "The file system is mounted at '%s', outside of TargetRoots=, so it may be the host's own. Unmount it there, or, to allow it, add the directory: ForeignRoots=DIRECTORY under [Worker] " SETTINGS_REMEDY);
        }
        return 0;
}

int foreign_check_source(const Child *c, const Source *s, Observed *o, Failure *f) {
        int r;

        r = observe_source_mounts(s, o);
        return r < 0 ? r : check_foreign_mounts(c, o->mounts, o->n_mounts, f);
}

int foreign_check_mounts(const Child *c, const Source *s, size_t *ret_n, Failure *f) {
        MountFact *mounts;
        int r;

        r = source_find_mounts(s, &mounts, ret_n);
        if (r < 0)
                return r;
        r = check_foreign_mounts(c, mounts, *ret_n, f);
        mount_facts_free(mounts, *ret_n);
        return r;
}

int foreign_check_unobserved(const Child *c, const Source *s, Failure *f) {
        _cleanup_(observed_done) Observed o = { 0 };

        return foreign_check_source(c, s, &o, f);
}

int foreign_check_table(const Child *c, const MountTable *table, const MountFact *fact, size_t *ret_n, Failure *f) {
        MountFact *mounts = NULL;
        size_t n = 0;
        dev_t device;
        int r;

        r = device_parse(fact->device, &device);
        if (r < 0)
                return r;
        r = mount_table_find_devices(table, &device, 1, &mounts, &n);
        if (r < 0)
                return r;
        r = observe_drop_peers(fact->mount_id, mounts, &n);
        if (r >= 0)
                r = check_foreign_mounts(c, mounts, n, f);
        mount_facts_free(mounts, n);
        if (ret_n)
                *ret_n = n;
        return r;
}

int foreign_check(const Child *c, const MountFact *fact, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = mount_table_read(NULL, &table);
        return r < 0 ? r : foreign_check_table(c, table, fact, NULL, f);
}

int noted_write(int fd, MountNote *note, Failure *f) {
        int r = mount_note_write(fd, note);

        if (r >= 0 || r == -ENOMEM)
                return r;
        if (r == -ENAMETOOLONG)
                return failure_set_about(f, FAILURE_INVALID_TARGET, note->target,
                                         "Target '%s' is too long to be noted: use one that is shorter.");
        return failure_set(
                f, FAILURE_WORKER_FAILED,
                "The mount can't be noted in " MOUNT_NOTES
                ": %s. Make room in /run, or restart selvol-worker, which makes the directory, and try again.",
                strerrordesc_np(-r));
}

static bool may_be_secret(const Child *c, const MountFact *fact) {
        const FileSystem *fs = settings_file_system(c->settings, fact->fs_type);

        return fs && fs->source == SOURCE_NONE;
}

int noted_check_shared(const Child *c, const Source *source, const MountFact *fact, Failure *f) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        int r;

        r = mount_note_find(fact->mount_id, fact->device, fact->target, &note);
        if (r < 0)
                return r;
        /* The worker has checked the source of each mount that it made. */
        if (r > 0 && !note.adopted)
                return 0;
        if (source->fs->source == SOURCE_BLOCK)
                return foreign_check_unobserved(c, source, f);
        if (r > 0 && !may_be_secret(c, fact))
                return foreign_check(c, fact, f);
        return failure_set_about(
                f, FAILURE_PATH_NOT_ALLOWED, fact->target,
                "The mount at '%s' is somebody else's, and is not shared: let selvol mount it, or adopt it if it is on a server.");
}

int noted_check_change(const Child *c, const MountFact *fact, bool adopting, Failure *f) {
        _cleanup_(mount_note_done) MountNote note = { .adopted = true };
        int r;

        r = mount_note_find(fact->mount_id, fact->device, fact->target, &note);
        if (r < 0)
                return r;
        if (r == 0 && !adopting)
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, fact->target,
                        "The mount at '%s' is somebody else's, and its files are not changed: adopt it first.");
        if (note.adopted && may_be_secret(c, fact))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, fact->target,
                        "The mount at '%s' has no device and is somebody else's: it may hold a secret, so its files are not changed. Let selvol mount it.");
        return 0;
}
