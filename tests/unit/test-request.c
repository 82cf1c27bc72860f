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

static void test_id(gconstpointer data) {
        _cleanup_failure_ Failure f = { 0 };

        assert_row(data, volume_id_validate(row_need(data, "value"), &f), &f);
}

static void test_target(gconstpointer data) {
        Settings s = test_settings(NULL);
        _cleanup_failure_ Failure f = { 0 };

        assert_row(data, target_validate(row_need(data, "value"), &s, &f), &f);
}

static void test_source(gconstpointer data) {
        Fixture x = { 0 };
        const char *fs = row_get(data, "fs");

        fixture_set_up(&x, NULL);
        set(&x.request.source, row_need(data, "value"));
        set(&x.request.fs_type, fs);
        assert_row(data, validate(&x), &x.failure);
        fixture_tear_down(&x, NULL);
}

static void test_id_length(void) {
        g_autofree char *fits = g_strnfill(VOLUME_ID_MAX, 'a'), *too_long = g_strnfill(VOLUME_ID_MAX + 1, 'a');
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpuint(strlen(too_long), ==, 257);
        assert_success(volume_id_validate(fits, &f), &f);
        assert_failure(volume_id_validate(too_long, &f), &f, FAILURE_INVALID_VOLUME, "volume id", "256 bytes");
}

static void test_target_roots(void) {
        Settings none = test_settings("[Worker];TargetRoots="),
                 two = test_settings("[Worker];TargetRoots=/srv/a /srv/b");
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(target_validate(TARGET, &none, &f), &f, FAILURE_PATH_NOT_ALLOWED, TARGET, "none is configured",
                       "TargetRoots=", "[Worker]");
        assert_failure(target_validate(TARGET, &two, &f), &f, FAILURE_PATH_NOT_ALLOWED, TARGET, "/srv/a, /srv/b");
        failure_done(&f);
        assert_success(target_validate("/srv/b/x", &two, &f), &f);
}

static void test_long_target(void) {
        g_autofree char *tail = g_strnfill(5000, 'a'), *target = g_strconcat("/var/lib/kubelet/", tail, NULL);
        Settings s = test_settings(NULL);
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(target_validate(target, &s, &f), &f, FAILURE_INVALID_TARGET, "absolute path without");
        g_assert_cmpuint(strlen(f.message), <, 400);
}

static void test_long_source(Fixture *x, gconstpointer data) {
        g_autofree char *tail = g_strnfill(4096, 'a'), *source = g_strconcat("/dev/", tail, NULL);

        set(&x->request.source, source);
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_VOLUME, "source");
        g_assert_cmpuint(strlen(x->failure.message), <, 400);
}

/* --- whole requests --- */

static void test_defaults(Fixture *x, gconstpointer data) {
        assert_success(validate(x), &x->failure);
        g_assert_cmpstr(x->request.volume_type, ==, "csi");
        g_assert_cmpstr(x->request.holder, ==, TARGET);
        g_assert_null(x->request.context);
        g_assert_null(x->request.level);
        g_assert_cmpint(x->request.policy, ==, -1);
        g_assert_cmpint(x->request.relabel_by, ==, RELABEL_BY_RUNTIME);
        g_assert_cmpint(x->request.selinux_mount_supported, ==, -1);
        g_assert_cmpuint(x->request.fs_group, ==, GID_NONE);
        g_assert_false(x->request.read_only);
        g_assert_cmpuint(strv_length(x->request.mount_options), ==, 0);
}

static void test_row(gconstpointer data) {
        const char *then = row_get(data, "=then");
        g_auto(GStrv) words = g_strsplit(row_need(data, "with"), " ", -1);
        Fixture x = { 0 };
        Request *q = &x.request;

        fixture_set_up(&x, NULL);
        for (char **word = words; *word; word++)
                g_assert_true(request_set_word(q, *word));
        /* A second check changes nothing. */
        for (int i = 0; i < 2; i++)
                assert_row(data, validate(&x), &x.failure);
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

static void test_long_level(Fixture *x, gconstpointer data) {
        g_autofree char *huge = g_strnfill(4096, 'c');

        set(&x->request.level, huge);
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_CONTEXT, "1024 bytes");
        set(&x->request.level, "");
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_CONTEXT, "malformed");
        set(&x->request.level, NULL);
        set(&x->request.role, "");
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_CONTEXT, "SELinuxRole");
}

static void test_long_option(Fixture *x, gconstpointer data) {
        g_autofree char *option = g_strnfill(4096, 'a');

        g_assert_cmpint(strv_extend(&x->request.mount_options, option), ==, 0);
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_OPTION, "1024 bytes");
}

static void test_name_options(gconstpointer data) {
        static const char *const bad[] = { "",    "a\nb", "a\033", "\177",  "a\"b",
                                           "a,b", "a\\b", "\344",  "a\302", "a\302\233b" };
        g_autofree char *fits = g_strnfill(255, 'a'), *too_long = g_strnfill(256, 'a');
        bool is_driver = strcmp(data, "Driver") == 0;
        Fixture x = { 0 };
        char **field;

        fixture_set_up(&x, NULL);
        field = is_driver ? &x.request.driver : &x.request.holder;
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                set(field, bad[i]);
                assert_failure(validate(&x), &x.failure, FAILURE_INVALID_OPTION, data);
        }
        set(field, too_long);
        assert_failure(validate(&x), &x.failure, FAILURE_INVALID_OPTION, data, "255 bytes");
        set(field, fits);
        assert_success(validate(&x), &x.failure);
        set(field, "web-0 of team grün (uid 7)");
        assert_success(validate(&x), &x.failure);
        fixture_tear_down(&x, NULL);
}

static void test_policies(void) {
        g_assert_cmpint(relabel_policy_parse("Always"), ==, RELABEL_ALWAYS);
        g_assert_cmpint(relabel_policy_parse("Recursive"), ==, RELABEL_ALWAYS);
        g_assert_cmpint(relabel_policy_parse("OnVolumeMount"), ==, RELABEL_ON_VOLUME_MOUNT);
        g_assert_cmpint(relabel_policy_parse("MountOption"), ==, RELABEL_ON_VOLUME_MOUNT);
        g_assert_cmpint(relabel_policy_parse(""), ==, -EINVAL);
        g_assert_cmpint(relabel_policy_parse("always"), ==, -EINVAL);
        g_assert_cmpstr(relabel_policy_to_string(RELABEL_ALWAYS), ==, "Always");
        g_assert_cmpstr(relabel_policy_to_string(RELABEL_ON_VOLUME_MOUNT), ==, "OnVolumeMount");
}

static void test_failure_replaced(void) {
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpint(failure_set(&f, FAILURE_BUSY, "one %i", 1), ==, FAILURE_BUSY);
        g_assert_cmpint(failure_set(&f, FAILURE_TIMED_OUT, "two"), ==, FAILURE_TIMED_OUT);
        assert_failure((int) FAILURE_TIMED_OUT, &f, FAILURE_TIMED_OUT, "two");
}

static void test_walk_options(Fixture *x, gconstpointer data) {
        x->request.walk = (WalkOptions){ .entries_per_sec = WALK_ENTRIES_PER_SEC_MAX, .force = true };
        assert_success(validate(x), &x->failure);

        x->request.walk.entries_per_sec = (uint64_t) WALK_ENTRIES_PER_SEC_MAX + 1;
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_OPTION, "MaxEntriesPerSecond", "1000000001");
        x->request.walk.entries_per_sec = UINT64_MAX;
        assert_failure(validate(x), &x->failure, FAILURE_INVALID_OPTION, "18446744073709551615", "no limit");
}

void add_tests(void) {
        table_add_tests(table_load("volume-ids.table", "id value =result =says"), "/request/id", test_id);
        table_add_tests(table_load("targets.table", "id value =result =says"), "/request/target", test_target);
        table_add_tests(table_load("sources.table", "id fs value =result =says"), "/request/source", test_source);
        table_add_tests(table_load("requests.table", "id with =result =then =says"), "/request", test_row);
        g_test_add_func("/request/id-length", test_id_length);
        g_test_add_func("/request/target-roots", test_target_roots);
        g_test_add_func("/request/target-length", test_long_target);
        g_test_add_func("/request/policies", test_policies);
        g_test_add_func("/request/failure-replaced", test_failure_replaced);
        g_test_add_data_func("/request/name/driver", "Driver", test_name_options);
        g_test_add_data_func("/request/name/holder", "Holder", test_name_options);

#define ADD(name, function) g_test_add("/request/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)
        ADD("source-length", test_long_source);
        ADD("defaults", test_defaults);
        ADD("level-length", test_long_level);
        ADD("option-length", test_long_option);
        ADD("walk-options", test_walk_options);
}
