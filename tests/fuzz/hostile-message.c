/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/sysmacros.h>

#include "hostile-message.h"
#include "mount/mount-table.h"
#include "wire/protocol.h"

static const char *const usual_targets[] = {
        TEST_TARGETS "/a", TEST_TARGETS "/b", TEST_TARGETS "/c", SECRET, OTHERS, BOUND
};

static const char *const strangers[] = { SECRET, OTHERS, BOUND };

static const char *const targets[] = {
        TEST_TARGETS "/b/dir",      HOST,       OUTSIDE, TEST_TARGETS "/link", TEST_TARGETS, "/", "",
        TEST_TARGETS "/../outside", "relative",
};

static const char *const types[] = { "ext4", "tmpfs", "", "xfs", "proc", "overlay", "ext4\n" };

static const char *const options[] = { "ro",         "noexec",        "errors=panic", "errors=remount-ro", "dev",
                                       "suid",       "uid=1000",      "mode=0777",    "size=1m",           "exec",
                                       "context=x",  "discard",       "gid=0",        "lazytime",          "",
                                       "nosuid,dev", "data=writeback" };

static const char *const contexts[] = { LABEL_1, LABEL_2, "", "system_u:object_r:shadow_t:s0", "rubbish", NULL };

/* An array of so many elements takes minutes to read if the time grows with the square of their number. */
enum { ENDLESS = 500 * 1000 };

unsigned below(const Chance *c, unsigned n) {
        return (unsigned) g_rand_int_range(c->random, 0, (int) n);
}

bool percent(const Chance *c, unsigned n) {
        return below(c, 100) < n;
}

static gid_t random_group(const Chance *c) {
        static const gid_t groups[] = { GID_NONE, GID_NONE, 0, 1000, 2000 };

        return PICK(c, groups);
}

/* Returns the identity of a mount in most cases. */
static MountIdentity random_identity(const Chance *c) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        const Mount *m;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        m = &table->mounts[below(c, (unsigned) table->n)];
        if (percent(c, 10))
                return (MountIdentity){ .id = g_rand_int(c->random), .device = g_strdup("8:1") };
        if (percent(c, 5))
                return (MountIdentity){ .id = m->id, .device = g_strdup("") };
        return (MountIdentity){ .id = m->id, .device = path_printf("%u:%u", major(m->device), minor(m->device)) };
}

/* Most values are right, so that calls pass the first check of the worker. */
static const char *some_target(const Chance *c) {
        return percent(c, 60) ? PICK(c, usual_targets) : PICK(c, targets);
}

static const char *some_type(const Chance *c, const char *source) {
        return percent(c, 20) ? PICK(c, types) : g_str_equal(source, "tmpfs") ? "tmpfs" : "ext4";
}

/* Returns the identity of the mount at the target, if the target is a mount. */
static MountIdentity right_identity(const Chance *c, const char *target) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        for (size_t i = 0; i < table->n; i++) {
                const Mount *m = &table->mounts[i];

                if (g_str_equal(m->target, target))
                        return (MountIdentity){ .id = m->id,
                                                .device = path_printf("%u:%u", major(m->device), minor(m->device)) };
        }
        return random_identity(c);
}

static MountIdentity some_identity(const Chance *c, const char *target) {
        return percent(c, 70) ? right_identity(c, target) : random_identity(c);
}

int append_rubbish(const Chance *c, sd_bus_message *m) {
        g_autofree uint64_t *many = NULL;

        switch (below(c, 4)) {
        case 0:
                return 0;
        case 1:
                return sd_bus_message_append(m, "s", PICK(c, targets));
        case 2:
                many = g_new0(uint64_t, 100000);
                return sd_bus_message_append_array(m, 't', many, 100000 * sizeof(uint64_t));
        default:
                return sd_bus_message_append(m, "(tsv)", (uint64_t) 1, "\033[2J", "s", "x");
        }
}

/* The child writes the origin into each of its journal records. */
static CallOrigin random_origin(const Chance *c) {
        static const char *const volumes[] = { "", "\033[2J", "v\nSELVOL_JOB=1\nMESSAGE=lie", "../v", "../v\n" };
        char *volume = percent(c, 1)    ? g_strnfill(1000000, 'v')
                       : percent(c, 90) ? g_strdup("volume")
                                        : g_strdup(PICK(c, volumes));

        return (CallOrigin){ .volume = volume,
                             .source = percent(c, 90) ? g_strdup("/dev/vdb") : g_strdup(PICK(c, volumes)),
                             .job = g_rand_int(c->random),
                             .by_root = percent(c, 90) };
}

static int append_expected(const Chance *c, sd_bus_message *m) {
        const char *target = some_target(c);
        _cleanup_(mount_identity_done) MountIdentity identity = some_identity(c, target);
        const MountFact fact = { .target = (char *) target,
                                 .source = (char *) "s",
                                 .fs_type = (char *) "ext4",
                                 .device = identity.device,
                                 .root = (char *) "/",
                                 .context = (char *) "",
                                 .volume = (char *) "v",
                                 .mount_id = identity.id };

        return mount_fact_append(m, &fact);
}

int append_call(const Chance *c, const char *verb, sd_bus_message *m) {
        char *target = (char *) some_target(c), *source = (char *) c->sources[below(c, (unsigned) c->n_sources)],
             *type = (char *) some_type(c, source);
        _cleanup_(call_origin_done) CallOrigin origin = random_origin(c);
        _cleanup_(mount_identity_done) MountIdentity identity = some_identity(c, target);

        if (percent(c, 5))
                return append_rubbish(c, m);
        if (g_str_equal(verb, WORKER_MOUNT))
                return mount_call_append(m,
                                         &(MountCall){ .origin = origin,
                                                       .source = source,
                                                       .fs_type = type,
                                                       .target = target,
                                                       .expected = percent(c, 30) ? identity : (MountIdentity){ 0 },
                                                       .only_plan = percent(c, 20) });
        if (g_str_equal(verb, WORKER_ADOPT))
                return adopt_call_append(m, &(AdoptCall){ origin, target });
        if (g_str_equal(verb, WORKER_CHANGE))
                return change_call_append(
                        m, &(ChangeCall){ origin, percent(c, 60) ? target : (char *) "", source, type });
        if (g_str_equal(verb, WORKER_VERIFY))
                return verify_call_append(m, &(VerifyCall){ .origin = origin,
                                                            .path = target,
                                                            .expected = (char *) PICK(c, contexts),
                                                            .depth = below(c, VERIFY_DEPTHS),
                                                            .gid = random_group(c),
                                                            .mount_target = percent(c, 50) ? target : NULL,
                                                            .mount = identity });
        if (g_str_equal(verb, WORKER_UNMOUNT))
                return unmount_call_append(m,
                                           &(UnmountCall){ origin, target, identity, percent(c, 50), source, type });
        return g_str_equal(verb, WORKER_EXPECT) ? append_expected(c, m) : sd_bus_message_append(m, "t", UINT64_C(0));
}

/* sd-bus takes messages of up to 128 MiB, with the header. */
int append_giant(const char *verb, sd_bus_message *m) {
        g_autofree char *endless = g_strnfill(128 * 1024 * 1024 - 4096, 'v');

        if (g_str_equal(verb, WORKER_MOUNT))
                return mount_call_append(m, &(MountCall){ { .volume = endless, .job = 1 },
                                                          (char *) "tmpfs",
                                                          (char *) "tmpfs",
                                                          (char *) usual_targets[0],
                                                          { 0 } });
        if (g_str_equal(verb, WORKER_UNMOUNT))
                return unmount_call_append(m, &(UnmountCall){ .target = endless });
        return verify_call_append(m, &(VerifyCall){ .path = endless, .expected = (char *) LABEL_1, .gid = GID_NONE });
}

int append_plan(const Chance *c, sd_bus_message *m) {
        /* An aimed answer shares a mount of others, and has nothing else that the worker could refuse. */
        bool aimed = percent(c, 30), shares = percent(c, 30);
        const char *share = aimed ? PICK(c, strangers) : some_target(c);
        _cleanup_(mount_identity_done) MountIdentity shared =
                aimed ? right_identity(c, share) : some_identity(c, share);
        const char *wanted[4] = { NULL };
        g_autofree char **endless = NULL;

        Reliance reliance = { .gid = random_group(c), .use = (char *) "pod-1", .end = (char *) "Stop it" };
        PlanAnswer a = {
                .step = percent(c, 90) ? PLAN_GO : below(c, PLAN_STEPS),
                .seclabel = (int) below(c, 3) - 1,
                .context = (char *) (percent(c, 80) ? NULL : PICK(c, contexts)),
                .mount_options = (char **) wanted,
                .read_only = percent(c, 20),
                .share_target = (char *) (shares ? share : NULL),
                .share_id = shares ? shared.id : 0,
                .change = below(c, MARK_CHANGES),
                .files = { .context = (char *) (percent(c, 50) ? NULL : PICK(c, contexts)),
                           .gid = random_group(c),
                           .readers = percent(c, 50),
                           .ownership = below(c, OWNERSHIP_ACTIONS),
                           .ownership_reason = below(c, OWNERSHIP_REASONS),
                           .force = percent(c, 50),
                           .gate = percent(c, 50),
                           .policy_given = percent(c, 50),
                           .user_namespace = percent(c, 10),
                           .on_disk = percent(c, 50),
                           .mounted = percent(c, 50),
                           .swapped_gid = percent(c, 80) ? GID_NONE : random_group(c) },
                .reliances = &reliance,
                .n_reliances = below(c, 2),
                .entries_per_sec = percent(c, 10) ? 1 + below(c, 10) : 0,
        };

        if (aimed)
                a = (PlanAnswer){ .seclabel = -1, .share_target = (char *) share, .share_id = shared.id };
        if (aimed || percent(c, 40))
                a.files = FILES_WANTED_INIT;
        for (size_t i = 0; !aimed && i < G_N_ELEMENTS(wanted) - 1 && percent(c, 15); i++)
                wanted[i] = PICK(c, options);
        if (percent(c, 1)) {
                endless = g_new0(char *, ENDLESS + 1);
                for (size_t i = 0; i < ENDLESS; i++)
                        endless[i] = (char *) options[0];
                a.mount_options = endless;
        }
        return plan_answer_append(m, &a);
}
