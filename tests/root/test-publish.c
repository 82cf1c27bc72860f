/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib/gstdio.h>

#include "mount/detached.h"
#include "support.h"

/* Another process meddles after the worker has published a mount, and before it looks where the mount is. The
 * test wraps move_mount(2). */

#define PARENT TEST_TARGETS "/parent"
#define MOVED  TEST_TARGETS "/moved"
#define TARGET PARENT "/target"

static void (*meddle)(void);

int __real_move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);

int __wrap_move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
        int r = __real_move_mount(from_fd, from, to_fd, to, flags);

        meddle();
        return r;
}

static void leave_alone(void) {
}

static void cover(void) {
        must(mount("cover", TARGET, "tmpfs", 0, NULL));
}

static void cover_parent(void) {
        must(mount("cover", PARENT, "tmpfs", 0, NULL));
}

static void move_parent(void) {
        must(rename(PARENT, MOVED));
        must(g_mkdir_with_parents(TARGET, 0755));
}

static void take_away(void) {
        must(umount2(TARGET, MNT_DETACH));
}

typedef struct Case {
        const char *name;
        void (*meddle)(void);
        const char *message; /* of the failure; NULL: the mount is published */
        size_t n_mounts;     /* afterwards */
} Case;

static const Case cases[] = {
        { "alone", leave_alone, NULL, 1 },
        { "covered", cover, NULL, 2 },
        { "covered-parent", cover_parent, NULL, 2 },
        { "moved", move_parent, "was replaced, removed or mounted on", 0 },
        { "taken-away", take_away, "was replaced, removed or mounted on", 0 },
};

static bool is_canceled(void *userdata) {
        return false;
}

static void clean_up(void) {
        while (umount2(PARENT, MNT_DETACH) == 0)
                continue;
        while (umount2(TARGET, MNT_DETACH) == 0)
                continue;
        g_assert_cmpuint(count_mounts(), ==, 0);
        (void) g_rmdir(MOVED "/target");
        (void) g_rmdir(MOVED);
}

TEST_ROWS(test_case, "/publish", cases, c) {
        char *roots[] = { (char *) TEST_TARGETS, NULL };
        const Settings settings = { .target_roots = roots };
        _cleanup_(mount_outcome_done) MountOutcome outcome = { 0 };
        _cleanup_(failure_done) Failure f = { 0 };
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_close_ int tree = open_tree(AT_FDCWD, "/run", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

        must(tree);
        must(g_mkdir_with_parents(TARGET, 0755));
        g_assert_cmpint(target_open(TARGET, &settings, &target, &f), ==, 0);
        meddle = c->meddle;
        g_assert_cmpint(publish_mount(tree, &target, is_canceled, NULL, &outcome, &f), ==,
                        c->message ? FAILURE_INVALID_TARGET : 0);
        if (c->message)
                g_assert_nonnull(strstr(f.message, c->message));
        g_assert_cmpuint(count_mounts(), ==, c->n_mounts);
        if (c->meddle == leave_alone)
                g_assert_cmpuint(outcome.fact.mount_id, ==, mount_id_of(TARGET));
        clean_up();
}
