/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/protocol.h"
#include "label/entry-label.h"
#include "label/selinux.h"
#include "mount/mount-table.h"
#include "worker/marshal.h"
#include "worker/subject.h"
#include "worker/verbs.h"
#include "worker/walk.h"

typedef enum Depth { DEPTH_ROOT, DEPTH_FULL, DEPTHS } Depth;

static const char *const depth_table[DEPTHS] = {
        [DEPTH_ROOT] = "root",
        [DEPTH_FULL] = "full",
};
DECLARE_STRING_TABLE(depth, Depth);
DEFINE_STRING_TABLE(depth, Depth);

typedef struct VerifyCall {
        const char *path;
        const char *expected;
        int depth;
        uint64_t entries_per_sec;
        Ownership ownership; /* GID_NONE: groups don't matter */
} VerifyCall;

typedef struct Verified {
        bool matches;
        char *actual;
        TreeResult tree;
} Verified;

static void verified_done(Verified *v) {
        free(v->actual);
        tree_result_done(&v->tree);
}

static int verify_root(const char *expected, Verified *v) {
        TreeResult *tree = &v->tree;

        tree->counts.done = 1;
        if (streq(v->actual, expected))
                return 0;
        tree->counts.differ[DIFFERS_LABEL] = 1;
        tree->issues[0] = (TreeIssue){ .path = strdup("."), .text = label_describe(v->actual) };
        tree->n_issues = 1;
        return tree->issues[0].path && tree->issues[0].text ? 0 : -ENOMEM;
}

static int check_mount(const Target *target, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = mount_table_read_mount(NULL, target->mount_id, &table);
        if (r >= 0)
                r = mount_table_overrides_labels(table, target->mount_id);
        return r < 0 ? r : subject_check_overridden(r > 0, f);
}

/* What lies beneath, on a private copy of the mount, which it can't lead out of. */
static int verify_full(Child *child, const VerifyCall *c, const Target *target, const char *expected, Verified *v,
                       Failure *f) {
        _cleanup_(clone_done) Clone clone = CLONE_INIT;
        FilesSpec spec = {
                .mode = FILES_VERIFY,
                .context = expected,
                .tree.entries_per_sec = c->entries_per_sec,
                .ownership = c->ownership.gid != GID_NONE ? &c->ownership : NULL,
        };
        int r;

        r = check_mount(target, f);
        if (r != 0)
                return r;
        r = subject_clone(target, CLONE_READ_ONLY, &clone, f);
        if (r != 0)
                return r;
        spec.tree.fd = clone.root;
        return walk_files(child, &spec, 0, &v->tree, f);
}

static int verify(Child *child, const VerifyCall *c, Verified *v, Failure *f) {
        _cleanup_(target_done) Target target = TARGET_INIT;
        const TreeCounts *counts = &v->tree.counts;
        _cleanup_free_ char *expected = NULL;
        int r;

        if (c->depth < 0)
                return failure_set(f, FAILURE_INVALID_OPTION, "The depth is neither root nor full.");
        r = selinux_check_context(c->expected, &expected, f);
        if (r == 0)
                r = target_open(c->path, child->settings, &target, f);
        if (r == 0)
                r = selinux_read_label(target.fd, &v->actual);
        if (r == 0)
                r = c->depth == DEPTH_ROOT || !target.is_directory ? verify_root(expected, v)
                                                                   : verify_full(child, c, &target, expected, v, f);
        if (r != 0)
                return r;

        /* What could not be looked at is no match either. */
        v->matches = streq(v->actual, expected) && counts->differ[DIFFERS_LABEL] == 0 && counts->failed == 0;
        return 0;
}

static int reply(sd_bus_message *m, const Verified *v) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = sd_bus_message_append(answer, "bs", v->matches, v->actual);
        if (r >= 0)
                r = marshal_tree(answer, &v->tree);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

int verb_verify(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(verified_done) Verified v = { 0 };
        VerifyCall c = { 0 };
        const char *depth;
        int r;

        r = sd_bus_message_read(m, WORKER_VERIFY_IN, &c.path, &c.expected, &depth, &c.entries_per_sec,
                                &c.ownership.gid);
        if (r < 0)
                return r;

        c.depth = depth_from_string(depth);
        r = verify(child, &c, &v, &f);
        if (r == 0)
                r = reply(m, &v);
        return child_finish(WORKER_VERIFY, c.path, r, &f, error);
}
