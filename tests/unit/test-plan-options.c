/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "plan-fixture.h"

/* A further holder asks for mount options that the mounted file system may not have. */

typedef enum Who { OWN, OTHER, STRANGER, HIDDEN } Who;

typedef struct Case {
        const char *name;
        Who who; /* has mounted the file system: OWN is a holder of the volume, OTHER one of another volume */
        const char *have, *wanted; /* options, separated by commas */
        const char *refused;       /* the message has this text; NULL: the mount is shared */
        const char *fs_type;       /* NULL: ext4 */
        bool unknown;              /* selvold does not know the options of the mount */
        bool adopted;
} Case;

static const Case cases[] = {
        { "nothing", OWN, "", "", NULL },
        { "attributes", OWN, "", "noexec,noatime,nosymfollow", NULL },
        { "other-attributes", OWN, "noexec,relatime", "exec,strictatime,nodiratime", NULL },
        { "same", OWN, "commit=5,discard", "discard,commit=5", NULL },
        { "fewer", OWN, "commit=5,discard", "commit=5", NULL },
        { "none-any-more", OWN, "commit=5", "", NULL },
        { "new", OWN, "", "commit=5", "'commit=5': its file system is mounted with none (in use by pod-1 since " },
        { "another-value", OWN, "commit=5,noexec", "commit=6",
          "'commit=6': its file system is mounted with commit=5,noexec (" },
        { "one-of-two", OWN, "discard", "discard,data=journal", "'data=journal'" },
        /* The option may be the default of the file system, but selvold does not know defaults. */
        { "default", OWN, "", "data=ordered", "'data=ordered'" },
        { "flag-of-superblock", OWN, "", "sync", "'sync'" },
        { "subvolume", OWN, "subvol=a", "subvol=a", NULL, .fs_type = "btrfs" },
        { "other-subvolume", OWN, "subvol=a", "subvol=b", "'subvol=b'", .fs_type = "btrfs" },
        { "not-known", OWN, "commit=5", "commit=5", "options that selvol does not know", .unknown = true },
        { "not-known-attributes", OWN, "", "noexec", NULL, .unknown = true },
        { "adopted-same", OWN, "commit=5", "commit=5", NULL, .unknown = true, .adopted = true },
        { "adopted-other", OWN, "commit=5", "commit=6", "mounted with commit=5", .unknown = true, .adopted = true },

        { "volume-same", OTHER, "commit=5", "commit=5", NULL },
        { "volume-new", OTHER, "", "commit=5", "with none (in use by pod-1 (as volume other) since " },
        { "volume-subvolume", OTHER, "subvol=a,discard", "subvol=b,discard", NULL, .fs_type = "btrfs" },
        { "volume-subvolume-new", OTHER, "subvol=a", "subvolid=300,discard", "'discard'", .fs_type = "btrfs" },

        { "stranger", STRANGER, NULL, "", NULL },
        { "stranger-attributes", STRANGER, NULL, "noatime", NULL },
        { "stranger-new", STRANGER, NULL, "discard",
          "options that selvol does not know (in use by a mount at /mnt/x (not selvol's))" },
        { "stranger-subvolume", STRANGER, NULL, "subvol=b", NULL, .fs_type = "btrfs" },

        { "hidden-same", HIDDEN, "commit=5", "commit=5", NULL },
        { "hidden-new", HIDDEN, "", "commit=5", "with none (kept mounted where it can't be seen)" },
};

static void has_mounted(Fixture *x, const Case *c) {
        const char *volume = c->who == OTHER ? "other" : TEST_VOLUME;
        Holder *h = fixture_hold(x, volume, TARGET_1, "pod-1", STRATEGY_CONTEXT_MOUNT, CONTEXT_0_1);
        Volume *v = h->volume;

        v->mounted_here = !c->unknown;
        v->mounted_this_boot = true;
        h->adopted = c->adopted;
        g_assert_cmpint(strv_split(c->have, ",", &v->mount_options), ==, 0);
        if (c->who == HIDDEN)
                volume_remove_holder(v, h);
}

static void test_case(gconstpointer data) {
        const Case *c = data;
        const char *fs_type = c->fs_type ? c->fs_type : "ext4";
        Fixture x = { 0 };
        int r;

        fixture_set_up(&x, NULL);
        g_assert_cmpint(free_and_strdup(&x.request.fs_type, fs_type), ==, 0);
        g_assert_cmpint(strv_split(c->wanted, ",", &x.request.mount_options), ==, 0);
        if (c->who != STRANGER)
                has_mounted(&x, c);
        if (c->who == HIDDEN)
                x.observed.hidden = true;
        else
                observe(&x.observed, c->who == STRANGER ? "/mnt/x" : TARGET_1, fs_type, CONTEXT_0_1);

        r = fixture_plan(&x);
        if (r != (c->refused ? FAILURE_INCOMPATIBLE : 0))
                g_error("%i: %s", r, x.failure.message);
        if (c->refused && !strstr(x.failure.message, c->refused))
                g_error("no \"%s\" in: %s", c->refused, x.failure.message);
        fixture_tear_down(&x, NULL);
}

/* A driver has mounted the volume: the request only describes that mount, and nothing is shared. */
static void test_adopt(void) {
        Fixture x = { 0 };

        fixture_set_up(&x, NULL);
        g_assert_cmpint(strv_split("commit=5", ",", &x.request.mount_options), ==, 0);
        observe(&x.observed, TARGET_2, "ext4", CONTEXT_0_1);
        observe(&x.observed, "/mnt/x", "ext4", CONTEXT_0_1);
        g_assert_cmpint(fixture_adopt(&x), ==, 0);
        fixture_tear_down(&x, NULL);
}

void add_tests(void) {
        add_rows("/plan/options", cases, test_case);
        g_test_add_func("/plan/options/adopt", test_adopt);
}
