/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/request.h"
#include "support.h"

#define TARGET "/var/lib/kubelet/pods/1/volumes/v/mount"

typedef struct Fixture {
        Settings settings;
        Request request;
        Failure failure;
} Fixture;

static void fixture_set_up(Fixture *x, gconstpointer data) {
        x->settings = test_settings(NULL);
        x->request = REQUEST_INIT;
        x->request.by_root = true;
        x->request.volume = copy("pvc-1");
        x->request.source = copy("/dev/vdb");
        x->request.target = copy(TARGET);
        x->request.fs_type = copy("ext4");
}

static void fixture_tear_down(Fixture *x, gconstpointer data) {
        failure_done(&x->failure);
        request_done(&x->request);
}

static int validate(Fixture *x) {
        failure_done(&x->failure);
        return request_validate(&x->request, &x->settings, &x->failure);
}

static void set(char **field, const char *value) {
        g_assert_cmpint(free_and_strdup(field, value), ==, 0);
}

/* --- one string each --- */

static void assert_row(const Row *row, int r, const Failure *f) {
        const char *expected = row_get(row, "=result") ? row_get(row, "=result") : "ok";

        g_assert_cmpstr(result_word(r, f), ==, expected);
        if (r != 0) {
                g_auto(GStrv) says = g_strsplit(row_need(row, "=says"), " & ", -1);

                assert_failure_at(__FILE__, __LINE__, r, f, (FailureKind) failure_kind_from_string(expected),
                                  (const char *const *) says);
        } else
                assert_success(r, f);
}

TEST_TABLE(test_id, "/request/id", "volume-ids.table", "id value =result =says") {
        _cleanup_failure_ Failure f = { 0 };

        assert_row(row, volume_id_validate(row_need(row, "value"), &f), &f);
}

TEST_TABLE(test_target, "/request/target", "targets.table", "id value =result =says") {
        Settings s = test_settings(NULL);
        _cleanup_failure_ Failure f = { 0 };

        assert_row(row, target_validate(row_need(row, "value"), &s, &f), &f);
}

TEST_TABLE(test_source, "/request/source", "sources.table", "id fs value =result =says") {
        Fixture x = { 0 };
        const char *fs = row_get(row, "fs");

        fixture_set_up(&x, NULL);
        set(&x.request.source, row_need(row, "value"));
        set(&x.request.fs_type, fs);
        assert_row(row, validate(&x), &x.failure);
        fixture_tear_down(&x, NULL);
}

TEST(test_id_length, "/request/id-length") {
        g_autofree char *fits = g_strnfill(VOLUME_ID_MAX, 'a'), *too_long = g_strnfill(VOLUME_ID_MAX + 1, 'a');
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpuint(strlen(too_long), ==, 513);
        assert_success(volume_id_validate(fits, &f), &f);
        assert_failure(volume_id_validate(too_long, &f), &f, FAILURE_INVALID_VOLUME, "volume id", "512 bytes");
}

TEST(test_target_roots, "/request/target-roots") {
        Settings none = test_settings("[Worker];TargetRoots="),
                 two = test_settings("[Worker];TargetRoots=;TargetRoots=/srv/a /srv/b");
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(target_validate(TARGET, &none, &f), &f, FAILURE_PATH_NOT_ALLOWED, TARGET, "none is configured",
                       "TargetRoots=", "[Worker]");
        assert_failure(target_validate(TARGET, &two, &f), &f, FAILURE_PATH_NOT_ALLOWED, TARGET, "/srv/a, /srv/b");
        failure_done(&f);
        assert_success(target_validate("/srv/b/x", &two, &f), &f);
}

TEST(test_long_target, "/request/target-length") {
        g_autofree char *tail = g_strnfill(5000, 'a'), *target = g_strconcat("/var/lib/kubelet/", tail, NULL);
        Settings s = test_settings(NULL);
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(target_validate(target, &s, &f), &f, FAILURE_INVALID_TARGET, "absolute path without");
        g_assert_cmpuint(strlen(f.message), <, 400);
}

TEST_FIXTURE(test_long_source, "/request/source-length") {
        g_autofree char *tail = g_strnfill(4096, 'a'), *source = g_strconcat("/dev/", tail, NULL);

        set(&f->request.source, source);
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_VOLUME, "source");
        g_assert_cmpuint(strlen(f->failure.message), <, 400);
}

/* --- whole requests --- */

TEST_FIXTURE(test_defaults, "/request/defaults") {
        assert_success(validate(f), &f->failure);
        g_assert_cmpstr(f->request.volume_type, ==, "csi");
        g_assert_cmpstr(f->request.holder, ==, TARGET);
        g_assert_null(f->request.context);
        g_assert_null(f->request.level);
        g_assert_cmpint(f->request.policy, ==, -1);
        g_assert_cmpint(f->request.relabel_by, ==, RELABEL_BY_RUNTIME);
        g_assert_cmpint(f->request.selinux_mount_supported, ==, -1);
        g_assert_cmpuint(f->request.fs_group, ==, GID_NONE);
        g_assert_false(f->request.read_only);
        g_assert_cmpuint(strv_length(f->request.mount_options), ==, 0);
}

TEST_TABLE(test_row, "/request", "requests.table", "id with =result =then =says") {
        const char *then = row_get(row, "=then");
        g_auto(GStrv) words = g_strsplit(row_need(row, "with"), " ", -1);
        Fixture x = { 0 };
        Request *q = &x.request;

        fixture_set_up(&x, NULL);
        for (char **word = words; *word; word++)
                g_assert_true(request_set_word(q, *word));
        /* A second check changes nothing. */
        for (int i = 0; i < 2; i++)
                assert_row(row, validate(&x), &x.failure);
        if (then) {
                _cleanup_free_ char *options = strv_join(q->mount_options, ",");
                g_autofree char *form =
                        g_strdup_printf("%s %s %s %s [%s]", streq(q->holder, TARGET) ? "TARGET" : q->holder,
                                        q->context ? q->context : "-", q->level ? q->level : "-",
                                        q->read_only ? "ro" : "rw", options);

                g_assert_cmpstr(form, ==, then);
        }
        fixture_tear_down(&x, NULL);
}

TEST_FIXTURE(test_long_level, "/request/level-length") {
        g_autofree char *huge = g_strnfill(4096, 'c');

        set(&f->request.level, huge);
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_CONTEXT, "1024 bytes");
        set(&f->request.level, "");
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_CONTEXT, "malformed");
        set(&f->request.level, NULL);
        set(&f->request.role, "");
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_CONTEXT, "SELinuxRole");
}

TEST_FIXTURE(test_long_option, "/request/option-length") {
        g_autofree char *option = g_strnfill(4096, 'a');

        g_assert_cmpint(strv_extend(&f->request.mount_options, option), ==, 0);
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_OPTION, "1024 bytes");
}

TEST_WORDS(test_name_options, "/request/name", word, "driver", "holder") {
        static const char *const bad[] = { "",    "a\nb", "a\033", "\177",  "a\"b",
                                           "a,b", "a\\b", "\344",  "a\302", "a\302\233b" };
        g_autofree char *fits = g_strnfill(255, 'a'), *too_long = g_strnfill(256, 'a');
        const bool is_driver = g_str_equal(word, "driver");
        const char *name = is_driver ? "Driver" : "Holder";
        Fixture x = { 0 };
        char **field;

        fixture_set_up(&x, NULL);
        field = is_driver ? &x.request.driver : &x.request.holder;
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                set(field, bad[i]);
                assert_failure(validate(&x), &x.failure, FAILURE_INVALID_OPTION, name);
        }
        set(field, too_long);
        assert_failure(validate(&x), &x.failure, FAILURE_INVALID_OPTION, name, "255 bytes");
        set(field, fits);
        assert_success(validate(&x), &x.failure);
        set(field, "web-0 of team grün (uid 7)");
        assert_success(validate(&x), &x.failure);
        fixture_tear_down(&x, NULL);
}

TEST(test_policies, "/request/policies") {
        g_assert_cmpint(relabel_policy_parse("Always"), ==, RELABEL_ALWAYS);
        g_assert_cmpint(relabel_policy_parse("Recursive"), ==, RELABEL_ALWAYS);
        g_assert_cmpint(relabel_policy_parse("OnVolumeMount"), ==, RELABEL_ON_VOLUME_MOUNT);
        g_assert_cmpint(relabel_policy_parse("MountOption"), ==, RELABEL_ON_VOLUME_MOUNT);
        g_assert_cmpint(relabel_policy_parse(""), ==, -EINVAL);
        g_assert_cmpint(relabel_policy_parse("always"), ==, -EINVAL);
        g_assert_cmpstr(relabel_policy_to_string(RELABEL_ALWAYS), ==, "Always");
        g_assert_cmpstr(relabel_policy_to_string(RELABEL_ON_VOLUME_MOUNT), ==, "OnVolumeMount");
}

TEST(test_failure_replaced, "/request/failure-replaced") {
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpint(failure_set(&f, FAILURE_BUSY, "one %i", 1), ==, FAILURE_BUSY);
        g_assert_cmpint(failure_set(&f, FAILURE_TIMED_OUT, "two"), ==, FAILURE_TIMED_OUT);
        assert_failure((int) FAILURE_TIMED_OUT, &f, FAILURE_TIMED_OUT, "two");
}

TEST_FIXTURE(test_walk_options, "/request/walk-options") {
        f->request.walk = (WalkOptions){ .entries_per_sec = WALK_ENTRIES_PER_SEC_MAX, .force = true };
        assert_success(validate(f), &f->failure);

        f->request.walk.entries_per_sec = (uint64_t) WALK_ENTRIES_PER_SEC_MAX + 1;
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_OPTION, "MaxEntriesPerSecond", "1000000001");
        f->request.walk.entries_per_sec = UINT64_MAX;
        assert_failure(validate(f), &f->failure, FAILURE_INVALID_OPTION, "18446744073709551615", "no limit");
}
