/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "basic/log.h"
#include "label/mark-xattr.h"
#include "label/selinux.h"
#include "mount/device.h"
#include "mount/mount-note.h"
#include "mount/mount-state.h"
#include "mount/mount-table.h"
#include "mount/superblock.h"
#include "plan/plan-files.h"
#include "worker/observe.h"

int observe_source(const Source *s, Observed *ret) {
        _cleanup_(observed_done) Observed o = { .device_read_only = s->read_only };
        int r;

        o.fs_type = strdup(s->fs->name);
        if (!o.fs_type)
                return -ENOMEM;
        if (s->device != 0) {
                o.device = strdup_printf("%u:%u", major(s->device), minor(s->device));
                if (!o.device)
                        return -ENOMEM;
        }
        r = superblock_name_source(s, &o.superblock);
        if (r < 0)
                return r;
        o.identity = source_identify(s, -EBADF);
        r = device_find_link(s->device, &o.link);
        if (r < 0)
                return r;
        r = source_is_claimed(s);
        if (r < 0)
                return r;
        o.mounts_unknown = r > 0;

        *ret = TAKE_STRUCT(o);
        return 0;
}

/* Returns how much there is for keeping the mount, or a negative errno. */
static int rank_peer(uint64_t id, const MountFact *m) {
        int r;

        if (m->mount_id == id)
                return 3;
        r = mount_note_find(m->mount_id, m->device, m->target, NULL);
        return r <= 0 ? r : 2;
}

int observe_drop_peers(uint64_t id, MountFact *mounts, size_t *n) {
        _cleanup_free_ int *ranks = calloc(*n + 1, sizeof(int));
        size_t kept = 0;

        if (!ranks)
                return -ENOMEM;
        for (size_t i = 0; i < *n; i++) {
                ranks[i] = mounts[i].peer_id != 0 ? rank_peer(id, &mounts[i]) : 0;
                if (ranks[i] < 0)
                        return ranks[i];
        }
        for (size_t i = 0; i < *n; i++)
                for (size_t k = 0; k < *n; k++)
                        if (k != i && mounts[i].peer_id != 0 && mounts[k].peer_id == mounts[i].peer_id &&
                            ranks[k] > 0 && (ranks[k] > ranks[i] || (ranks[k] == ranks[i] && k < i)))
                                ranks[i] = -1;
        for (size_t i = 0; i < *n; i++) {
                if (ranks[i] < 0)
                        mount_fact_done(&mounts[i]);
                else if (i != kept++)
                        mounts[kept - 1] = TAKE_STRUCT(mounts[i]);
        }
        *n = kept;
        return 0;
}

int observe_source_mounts(const Source *s, Observed *o) {
        int r;

        mount_facts_free(o->mounts, o->n_mounts);
        o->mounts = NULL;
        o->n_mounts = 0;
        o->mounts_unknown = false;
        r = source_find_mounts(s, &o->mounts, &o->n_mounts);
        if (r < 0)
                return r;
        if (o->n_mounts > 0)
                return observe_drop_peers(0, o->mounts, &o->n_mounts);
        r = source_is_claimed_for_long(s);
        if (r < 0)
                return r;
        o->hidden = r > 0;
        return 0;
}

static int open_root(int fd) {
        int root = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return root < 0 ? -errno : root;
}

int observe_mounted(const Target *t, Observed *ret, MountOutcome *ret_outcome) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_outcome_done) MountOutcome outcome = { 0 };
        _cleanup_(observed_done) Observed o = { 0 };
        _cleanup_(mark_done) Mark mark = { 0 };
        _cleanup_close_ int root = -EBADF;
        dev_t device;
        int r;

        r = observe_mount(t, &outcome, &mark);
        if (r < 0)
                return r;
        o.fs_type = strdup(outcome.fact.fs_type);
        if (!o.fs_type)
                return -ENOMEM;
        r = device_parse(outcome.fact.device, &device);
        if (r < 0)
                return r;
        o.device_read_only = source_device_is_read_only(device);
        o.identity = outcome.identity;
        r = device_find_link(device, &o.link);
        if (r < 0)
                return r;
        root = open_root(t->fd);
        if (root < 0)
                return root;
        r = superblock_name_mounted(root, device, &o.superblock);
        if (r < 0)
                return r;
        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_devices(table, &device, 1, &o.mounts, &o.n_mounts);
        if (r < 0)
                return r;
        r = observe_drop_peers(t->mount_id, o.mounts, &o.n_mounts);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(o);
        *ret_outcome = TAKE_STRUCT(outcome);
        return 0;
}

int observe_root(int root, MountOutcome *o, Mark *mark) {
        _cleanup_free_ char *context = NULL;
        struct stat st;
        Mark found;
        int r;

        if (fstat(root, &st) < 0)
                return -errno;
        r = selinux_read_label(root, &context);
        if (r < 0)
                return r;
        r = mark_xattr_read(root, &found);
        if (r < 0)
                return r;

        free(o->root_context);
        /* A source has told the identity of a staged mount already. */
        if (!identity_is_known(&o->identity))
                o->identity = superblock_identify(root, &o->fact);
        o->proof.identity = identity_is_known(&o->identity) ? o->identity : superblock_identify_for_mark(root);
        o->root_context = TAKE_PTR(context);
        o->root_inode = st.st_ino;
        o->root_gid = st.st_gid;
        o->root_mode = st.st_mode;
        mark_done(mark);
        *mark = found;
        return 0;
}

int observe_mount(const Target *t, MountOutcome *ret, Mark *ret_mark) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int root = open_root(t->fd);
        Mark mark = { 0 };
        int r;

        if (root < 0)
                return root;
        r = read_back_mount(t->fd, t->path, &o);
        if (r < 0)
                return r;
        r = observe_root(root, &o, &mark);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(o);
        *ret_mark = mark;
        return 0;
}

int observe_check_label(const MountOutcome *o, const char *context, Failure *f) {
        _cleanup_free_ char *source = NULL;

        if (isempty(context) || streq(o->root_context, context))
                return 0;
        source = string_escape(o->fact.source, 200);
        if (!source)
                return -ENOMEM;
        return failure_set(f, FAILURE_LABEL_MISMATCH, "%s is mounted with context %s, but its root has label '%s'.",
                           source, context, o->root_context);
}

static void judge_mark(const MarkEvidence *e, OperationResult *result) {
        static const char *const words[] = { "stale", "trusted by TrustedMark=", "trusted" };
        MarkProof *proof = &result->outcome.proof;

        proof->trust = files_judge_mark(e);
        proof->fingerprint = fingerprint_is_kept_in_mark(&e->now) ? e->now : (Fingerprint){ 0 };
        log_debug(
                "The mark is %s: it is of '%s', the root of '%s'; it has '%s', kept is '%s', before '%s', now '%s'%s%s%s%s.",
                words[proof->trust], result->mark.identity.text, e->identity.text, result->mark.fingerprint.text,
                e->history.kept.text, e->before.text, e->now.text, e->history.alive ? ", alive" : "",
                e->history.beside ? ", others beside" : "", e->history.elsewhere ? ", others before" : "",
                e->fresh ? ", fresh" : "");
}

void judge_staged(const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                  const Fingerprint *before, OperationResult *result) {
        const Observed *o = &question->observed;
        const MarkEvidence e = {
                .mark = &result->mark,
                .identity = result->outcome.proof.identity,
                .root_inode = result->outcome.root_inode,
                .before = *before,
                .now = fingerprint_is_kept_in_mark(before) ? source_read_fingerprint(source) : *before,
                .fresh = isempty(answer->share_target) && o->n_mounts == 0 && !o->mounts_unknown && !o->hidden,
                .hidden = o->hidden,
                .writable = !result->outcome.superblock_read_only,
                .history = answer->history,
        };

        judge_mark(&e, result);
}

void judge_mounted(int root, const PlanAnswer *answer, bool adopted, OperationResult *result) {
        MarkEvidence e = {
                .mark = &result->mark,
                .identity = result->outcome.proof.identity,
                .root_inode = result->outcome.root_inode,
                .adopted = adopted,
                .writable = !result->outcome.superblock_read_only,
                .history = answer->history,
        };

        /* The fingerprint is compared with the recorded one, and another program's changes may not be on disk
         * yet. */
        if (adopted && !e.history.alive && fingerprint_is_known(&e.history.kept))
                (void) syncfs(root);
        e.now = superblock_read_fingerprint(root, &result->outcome.fact);
        judge_mark(&e, result);
}

void judge_keep(const Source *unmounted, OperationResult *result) {
        const MarkProof *proof = &result->outcome.proof;

        if (result->mark.found != MARK_PRESENT || proof->trust == MARK_STALE ||
            fingerprint_is_kept_in_mark(&proof->fingerprint))
                return;
        if (unmounted)
                result->fingerprint = source_take_fingerprint(unmounted);
        else
                (void) fingerprint_from_string(FINGERPRINT_MOUNTED, &result->fingerprint);
}
