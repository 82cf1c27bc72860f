/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who may call: polkit is the test, and allows, denies, challenges, stays silent or isn't there. */

#include "support.h"

#define T1 "/var/lib/kubelet/pods/a/volumes/v"

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_OTHER, TRUE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

/* Every method, with arguments that are good enough to get as far as the question. */
static const struct {
        const char *method, *arguments, *action;
} methods[] = {
        { "MountVolume", "('v', '/dev/vdb', '" T1 "', @a{sv} {})", "org.selvol1.mount-volume" },
        { "PlanVolume", "('v', '/dev/vdb', '" T1 "', @a{sv} {})", "org.selvol1.inspect" },
        { "UnmountVolume", "('v', '" T1 "', @a{sv} {})", "org.selvol1.unmount-volume" },
        { "AdoptVolume", "('v', '" T1 "', @a{sv} {})", "org.selvol1.adopt-volume" },
        { "VerifyLabel", "('v', '', @a{sv} {})", "org.selvol1.verify-label" },
        { "Relabel", "('v', '', @a{sv} {})", "org.selvol1.relabel-volume" },
        { "ApplyOwnership", "('v', uint32 1000, @a{sv} {})", "org.selvol1.apply-ownership" },
        { "ForgetVolume", "('v', @a{sv} {})", "org.selvol1.forget-volume" },
        { "GetVolume", "('v',)", "org.selvol1.inspect" },
        { "GetVolumeByTarget", "('" T1 "',)", "org.selvol1.inspect" },
        { "GetJob", "(@t 1,)", "org.selvol1.inspect" },
        { "GetHistory", NULL, "org.selvol1.inspect" },
        { "GetMetrics", NULL, "org.selvol1.inspect" },
};

static GVariant *parse(const char *text) {
        return text ? g_variant_parse(NULL, text, NULL, NULL, NULL) : NULL;
}

static void check_question(GDBusMethodInvocation *question, const char *action) {
        g_autoptr(GVariant) subject = NULL, details = NULL;
        const char *kind, *asked;
        guint32 flags;

        g_variant_get(g_dbus_method_invocation_get_parameters(question), "((&s@a{sv})&s@a{ss}us)", &kind, &subject,
                      &asked, &details, &flags, NULL);
        g_assert_cmpstr(kind, ==, "system-bus-name");
        g_assert_cmpstr(asked, ==, action);
        g_assert_cmpuint(flags, ==, 0);
}

/* A call and the action that polkit is asked about. */
typedef struct Row {
        const char *path, *interface, *method;
        char *arguments;
        const char *action;
} Row;

static void add_row(GArray *rows, const char *path, const char *interface, const char *method, const char *arguments,
                    const char *action) {
        const Row row = { path, interface, method, g_strdup(arguments), action };

        g_array_append_val(rows, row);
}

static void row_clear(gpointer data) {
        g_free(((Row *) data)->arguments);
}

static GDBusNodeInfo *read_xml(const char *name) {
        g_autofree char *path = g_strdup_printf(SOURCE_ROOT "/dbus/%s.xml", name), *xml = NULL;

        g_assert_true(g_file_get_contents(path, &xml, NULL, NULL));
        return g_dbus_node_info_new_for_xml(xml, NULL);
}

static size_t find_method(const char *name) {
        size_t i = 0;

        while (i < G_N_ELEMENTS(methods) && !g_str_equal(methods[i].method, name))
                i++;
        /* A method without a row would be a method without a test. */
        g_assert_cmpuint(i, <, G_N_ELEMENTS(methods));
        return i;
}

static void add_properties(GArray *rows, const char *path, GDBusInterfaceInfo *interface) {
        for (GDBusPropertyInfo **p = interface->properties; p && *p; p++) {
                g_autofree char *arguments = g_strdup_printf("('%s', '%s')", interface->name, (*p)->name);

                add_row(rows, path, "org.freedesktop.DBus.Properties", "Get", arguments, "org.selvol1.inspect");
        }
}

/* All that the introspection data have, and what sd-bus answers by itself. */
static GArray *make_rows(void) {
        g_autoptr(GDBusNodeInfo) manager = read_xml("org.selvol1.Manager"), volume = read_xml("org.selvol1.Volume");
        GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));

        g_array_set_clear_func(rows, row_clear);
        for (GDBusMethodInfo **m = manager->interfaces[0]->methods; *m; m++) {
                size_t i = find_method((*m)->name);

                add_row(rows, "/org/selvol1", "org.selvol1.Manager", methods[i].method, methods[i].arguments,
                        methods[i].action);
        }
        add_properties(rows, "/org/selvol1", manager->interfaces[0]);
        for (GDBusMethodInfo **m = volume->interfaces[0]->methods; *m; m++) {
                g_assert_cmpstr((*m)->name, ==, "GetHistory");
                add_row(rows, "/org/selvol1/volume/v", "org.selvol1.Volume", "GetHistory", NULL,
                        "org.selvol1.inspect");
        }
        add_properties(rows, "/org/selvol1/volume/v", volume->interfaces[0]);
        add_row(rows, "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL,
                "org.selvol1.inspect");
        add_row(rows, "/org/selvol1/volume", "org.freedesktop.DBus.Introspectable", "Introspect", NULL,
                "org.selvol1.inspect");
        add_row(rows, "/org/selvol1", "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Manager',)",
                "org.selvol1.inspect");
        add_row(rows, "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Get",
                "('org.freedesktop.LogControl1', 'LogLevel')", "org.selvol1.inspect");
        add_row(rows, "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Set",
                "('org.freedesktop.LogControl1', 'LogLevel', <'info'>)", "org.selvol1.set-log-level");
        return rows;
}

static GAsyncResult *start_row(Fixture *f, const Row *row) {
        return call_start_at(f, row->path, row->interface, row->method, parse(row->arguments));
}

/* There must be something to ask about. */
static void mount_first(Fixture *f) {
        GAsyncResult *pending = call_start(f, "MountVolume",
                                           parse("('v', '/dev/walk-crawl', '" T1 "', {'SELinuxLevel': <'s0:c1'>})"));
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;

        polkit_answer(polkit_pop(f), TRUE, FALSE);
        mounted = call_end(f, pending, &error);
        g_assert_no_error(error);
}

typedef enum Polkit { POLKIT_YES, POLKIT_NO, POLKIT_CHALLENGE, POLKIT_BROKEN, POLKIT_SILENT } Polkit;

static void answer_as(Polkit polkit, GDBusMethodInvocation *question) {
        if (polkit == POLKIT_BROKEN)
                g_dbus_method_invocation_return_dbus_error(question, "org.freedesktop.PolicyKit1.Error.Failed",
                                                           "broken");
        else if (polkit != POLKIT_SILENT)
                polkit_answer(question, polkit == POLKIT_YES, polkit == POLKIT_CHALLENGE);
}

static void assert_answered(Polkit polkit, const Row *row, GError *error) {
        static const char denied[] = "org.freedesktop.DBus.Error.AccessDenied";
        g_autofree char *name = error ? g_dbus_error_get_remote_error(error) : NULL;

        switch (polkit) {
        case POLKIT_YES:
                /* It may well be refused for another reason. */
                g_assert_cmpstr(name, !=, denied);
                g_clear_error(&error);
                break;
        case POLKIT_NO:
                assert_error(error, denied, row->action);
                break;
        case POLKIT_CHALLENGE:
                assert_error(error, "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "password");
                break;
        case POLKIT_BROKEN:
        case POLKIT_SILENT:
        default:
                assert_error(error, denied, "did not answer");
        }
}

/* Each of them with what polkit may answer. */
static void test_matrix(Fixture *f, gconstpointer data) {
        const Polkit polkit = GPOINTER_TO_INT(data);
        g_autoptr(GArray) rows = make_rows();
        g_autofree char *before = NULL, *after = NULL;

        mount_first(f);
        before = mount_table(f);
        for (guint i = 0; i < rows->len; i++) {
                const Row *row = &g_array_index(rows, Row, i);
                GAsyncResult *pending = start_row(f, row);
                GDBusMethodInvocation *question = polkit_pop(f);
                g_autoptr(GVariant) reply = NULL;
                GError *error = NULL;

                check_question(question, row->action);
                answer_as(polkit, question);
                reply = call_end(f, pending, &error);
                assert_answered(polkit, row, error);
        }
        after = mount_table(f);
        if (polkit != POLKIT_YES)
                g_assert_cmpstr(after, ==, before);
}

/* All at once, and each after the same ten seconds. */
static void test_matrix_silent(Fixture *f, gconstpointer data) {
        enum { AT_ONCE = 32 };
        g_autoptr(GArray) rows = make_rows();
        GDBusMethodInvocation *questions[AT_ONCE];
        GAsyncResult *pending[AT_ONCE];

        mount_first(f);
        for (guint first = 0; first < rows->len; first += AT_ONCE) {
                guint n = MIN(rows->len - first, AT_ONCE);

                for (guint i = 0; i < n; i++) {
                        pending[i] = start_row(f, &g_array_index(rows, Row, first + i));
                        questions[i] = polkit_pop(f);
                }
                for (guint i = 0; i < n; i++) {
                        GError *error = NULL;

                        g_assert_null(call_end(f, pending[i], &error));
                        assert_answered(POLKIT_SILENT, &g_array_index(rows, Row, first + i), error);
                        /* Too late. */
                        polkit_answer(questions[i], TRUE, FALSE);
                }
        }
}

/* All that a rule may want to limit. */
static void test_details(Fixture *f, gconstpointer data) {
        static const struct {
                const char *key, *value;
        } expected[] = {
                { "volume", "v" },        { "source", "/dev/vdb" },
                { "target", T1 },         { "holder", "pod-1" },
                { "fs-type", "ext4" },    { "mount-options", "noatime,commit=5" },
                { "read-only", "true" },  { "context", "" },
                { "level", "s0:c1,c2" },  { "relabel-by", "service" },
                { "fs-group", "1000" },   { "driver", "" },
                { "volume-type", "csi" }, { "user", "" },
                { "role", "" },           { "type", "" },
        };
        GAsyncResult *pending =
                call_start(f, "PlanVolume",
                           parse("('v', '/dev/vdb', '" T1 "', {'Holder': <'pod-1'>, 'FSType': <'ext4'>, "
                                 "'MountOptions': <['noatime', 'ro', 'commit=5']>, 'SELinuxLevel': <'s0:c2,c1'>, "
                                 "'RelabelBy': <'service'>, 'FSGroup': <uint32 1000>})"));
        GDBusMethodInvocation *question = polkit_pop(f);
        g_autoptr(GVariant) details = NULL, reply = NULL;
        GError *error = NULL;
        const char *value;

        g_variant_get(g_dbus_method_invocation_get_parameters(question), "((sa{sv})s@a{ss}us)", NULL, NULL, NULL,
                      &details, NULL, NULL);
        g_assert_cmpuint(g_variant_n_children(details), ==, G_N_ELEMENTS(expected));
        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                g_assert_true(g_variant_lookup(details, expected[i].key, "&s", &value));
                g_assert_cmpstr(value, ==, expected[i].value);
        }
        polkit_answer(question, TRUE, FALSE);
        reply = call_end(f, pending, &error);
        g_assert_no_error(error);
}

/* The bus has then told selvold, which hears of it before it hears of what is called next. */
static void wait_until_gone(Fixture *f, const char *name) {
        gboolean there = TRUE;

        while (there) {
                g_autoptr(GError) error = NULL;
                g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
                        f->client, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                        "NameHasOwner", g_variant_new("(s)", name), NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);

                g_assert_no_error(error);
                g_variant_get(reply, "(b)", &there);
        }
}

/* Without one no reply would be expected. */
static void ignore_answer(GObject *source, GAsyncResult *result, gpointer userdata) {
}

/* What polkit was asked for somebody who has gone leaves room to others. */
static void test_gone(Fixture *f, gconstpointer data) {
        enum { QUESTIONS = 32 };
        GDBusMethodInvocation *questions[QUESTIONS];
        Fixture other = other_caller(f);
        g_autofree char *name = g_strdup(g_dbus_connection_get_unique_name(other.client));
        g_autoptr(GVariant) metrics = NULL;
        GAsyncResult *pending;
        GError *error = NULL;

        for (size_t i = 0; i < QUESTIONS; i++) {
                g_dbus_connection_call(other.client, "org.selvol1", "/org/selvol1", "org.selvol1.Manager",
                                       "GetMetrics", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, ignore_answer,
                                       NULL);
                questions[i] = polkit_pop(f);
        }
        g_assert_null(call(f, "GetMetrics", NULL, &error));
        assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.AccessDenied", "too many calls wait");
        close_caller(&other);
        wait_until_gone(f, name);

        pending = call_start(f, "GetMetrics", NULL);
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        metrics = call_end(f, pending, &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < QUESTIONS; i++)
                polkit_answer(questions[i], TRUE, FALSE);
}

/* It has gone on until somebody may end it. */
static void assert_allowed_job(Fixture *f, const char *job) {
        GAsyncResult *waiting = call_start_at(f, job, "org.selvol1.Job", "Wait", NULL), *canceling;
        g_autoptr(GVariant) waited = NULL, canceled = NULL;
        GError *error = NULL;
        const char *result;

        polkit_answer(polkit_pop(f), TRUE, FALSE);
        canceling = call_start_at(f, job, "org.selvol1.Job", "Cancel", NULL);
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        canceled = call_end(f, canceling, &error);
        g_assert_no_error(error);
        waited = call_end(f, waiting, &error);
        g_assert_no_error(error);
        g_variant_get(waited, "(&s@a{sv})", &result, NULL);
        g_assert_cmpstr(result, ==, "Canceled");
}

/* Those of a job, which has to be there first. */
static void test_job(Fixture *f, gconstpointer data) {
        static const struct {
                const char *interface, *method, *arguments, *action;
        } calls[] = {
                { "org.selvol1.Job", "Wait", NULL, "org.selvol1.inspect" },
                { "org.selvol1.Job", "Cancel", NULL, "org.selvol1.cancel-job" },
                { "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Job',)", "org.selvol1.inspect" },
        };
        g_autofree char *xml = NULL, *job = NULL;
        g_autoptr(GDBusNodeInfo) node = NULL;
        g_autoptr(GVariant) mounted = NULL, started = NULL;
        GAsyncResult *pending;
        GError *error = NULL;

        g_assert_true(g_file_get_contents(SOURCE_ROOT "/dbus/org.selvol1.Job.xml", &xml, NULL, NULL));
        node = g_dbus_node_info_new_for_xml(xml, NULL);
        for (GDBusMethodInfo **m = node->interfaces[0]->methods; *m; m++)
                g_assert_true(g_str_equal((*m)->name, "Wait") || g_str_equal((*m)->name, "Cancel"));

        pending = call_start(f, "MountVolume",
                             parse("('v', '/dev/walk-crawl', '" T1 "', {'SELinuxLevel': <'s0:c1'>})"));
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        mounted = call_end(f, pending, &error);
        g_assert_no_error(error);
        pending = call_start(f, "Relabel", parse("('v', '', @a{sv} {})"));
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        started = call_end(f, pending, &error);
        g_assert_no_error(error);
        g_variant_get(started, "(o)", &job);

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                GDBusMethodInvocation *question;

                pending = call_start_at(f, job, calls[i].interface, calls[i].method, parse(calls[i].arguments));
                question = polkit_pop(f);
                check_question(question, calls[i].action);
                polkit_answer(question, FALSE, FALSE);
                g_assert_null(call_end(f, pending, &error));
                assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.AccessDenied", calls[i].action);
        }
        assert_allowed_job(f, job);
}

static void test_allowed(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", parse(methods[0].arguments));
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        polkit_answer(polkit_pop(f), TRUE, FALSE);
        reply = call_end(f, pending, &error);
        g_assert_no_error(error);
        g_assert_nonnull(reply);
}

static void test_silence(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", parse(methods[0].arguments));
        GDBusMethodInvocation *question = polkit_pop(f);
        GAsyncResult *other;
        g_autoptr(GVariant) metrics = NULL;
        GError *error = NULL;

        /* Who waits for polkit holds up nobody. */
        other = call_start(f, "GetMetrics", NULL);
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        metrics = call_end(f, other, &error);
        g_assert_no_error(error);
        g_assert_null(call_end(f, pending, &error));
        assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", "did not answer");
        polkit_answer(question, TRUE, FALSE);
}

/* Bad input is refused without troubling polkit. */
static void test_bad_input_first(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        g_assert_null(call_mount(f, "a/../b", "/dev/vdb", T1, "{}", &error));
        assert_error(error, "InvalidVolume", "'..'");
}

/* When the answer comes, what was asked for may be gone. That uses nothing up: many may ask, one after the other. */
static void test_object_gone(Fixture *f, gconstpointer data) {
        GAsyncResult *mounting = call_start(f, "MountVolume", parse(methods[0].arguments)), *pending;
        g_autoptr(GVariant) mounted = NULL, unmounted = NULL, forgotten = NULL;
        GDBusMethodInvocation *questions[30];
        GAsyncResult *calls[10];
        GError *error = NULL;

        polkit_answer(polkit_pop(f), TRUE, FALSE);
        mounted = call_end(f, mounting, &error);
        g_assert_no_error(error);
        pending = call_start(f, "UnmountVolume", parse(methods[2].arguments));
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        unmounted = call_end(f, pending, &error);
        g_assert_no_error(error);

        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
                g_dbus_connection_call(f->client, "org.selvol1", "/org/selvol1/volume/v", "org.selvol1.Volume",
                                       "GetHistory", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
                questions[i] = polkit_pop(f);
                check_question(questions[i], "org.selvol1.inspect");
        }
        pending = call_start(f, "ForgetVolume", parse("('v', @a{sv} {})"));
        polkit_answer(polkit_pop(f), TRUE, FALSE);
        forgotten = call_end(f, pending, &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++)
                polkit_answer(questions[i], TRUE, FALSE);

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                calls[i] = call_start(f, "GetMetrics", NULL);
                questions[i] = polkit_pop(f);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autoptr(GVariant) metrics = NULL;

                polkit_answer(questions[i], TRUE, FALSE);
                metrics = call_end(f, calls[i], &error);
                g_assert_no_error(error);
        }
}

static void on_acquired(GDBusConnection *connection, const char *name, gpointer acquired) {
        *(gboolean *) acquired = TRUE;
}

/* All but what a volume has, if there is none. */
static void assert_nothing_answered(Fixture *f, gboolean with_volume) {
        g_autoptr(GArray) rows = make_rows();

        for (guint i = 0; i < rows->len; i++) {
                const Row *row = &g_array_index(rows, Row, i);
                GError *error = NULL;

                if (!with_volume && g_str_has_prefix(row->path, "/org/selvol1/volume/"))
                        continue;
                g_assert_null(call_end(f, start_row(f, row), &error));
                assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", "did not answer");
        }
}

/* Somebody else has polkit's name from now on, here the caller himself, and does not know what he is asked. Who was asked before
 * still has a say. */
static void test_replaced(Fixture *f, gconstpointer data) {
        GDBusMethodInvocation *question;
        GAsyncResult *asked;
        g_autoptr(GVariant) metrics = NULL;
        gboolean acquired = FALSE;
        GError *error = NULL;
        guint name;

        mount_first(f);
        asked = call_start(f, "GetMetrics", NULL);
        question = polkit_pop(f);
        gt_dbus_queue_unown_name(f->queue, f->polkit_name);
        f->polkit_name = 0;
        name = g_bus_own_name_on_connection(f->client, "org.freedesktop.PolicyKit1", G_BUS_NAME_OWNER_FLAGS_NONE,
                                            on_acquired, NULL, &acquired, NULL);
        WAIT_FOR(f, acquired);
        assert_nothing_answered(f, TRUE);
        polkit_answer(question, TRUE, FALSE);
        metrics = call_end(f, asked, &error);
        g_assert_no_error(error);
        g_bus_unown_name(name);
}

static void set_up_without_polkit(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_OTHER, FALSE);
}

static void test_absent(Fixture *f, gconstpointer data) {
        assert_nothing_answered(f, FALSE);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/authorize/matrix/yes", Fixture, GINT_TO_POINTER(POLKIT_YES), set_up, test_matrix, tear_down);
        g_test_add("/authorize/matrix/no", Fixture, GINT_TO_POINTER(POLKIT_NO), set_up, test_matrix, tear_down);
        g_test_add("/authorize/matrix/challenge", Fixture, GINT_TO_POINTER(POLKIT_CHALLENGE), set_up, test_matrix,
                   tear_down);
        g_test_add("/authorize/matrix/broken", Fixture, GINT_TO_POINTER(POLKIT_BROKEN), set_up, test_matrix,
                   tear_down);
        g_test_add("/authorize/matrix/silent", Fixture, NULL, set_up, test_matrix_silent, tear_down);
        g_test_add("/authorize/details", Fixture, NULL, set_up, test_details, tear_down);
        g_test_add("/authorize/gone", Fixture, NULL, set_up, test_gone, tear_down);
        g_test_add("/authorize/job", Fixture, NULL, set_up, test_job, tear_down);
        g_test_add("/authorize/allowed", Fixture, NULL, set_up, test_allowed, tear_down);
        g_test_add("/authorize/silence", Fixture, NULL, set_up, test_silence, tear_down);
        g_test_add("/authorize/bad-input-first", Fixture, NULL, set_up, test_bad_input_first, tear_down);
        g_test_add("/authorize/object-gone", Fixture, NULL, set_up, test_object_gone, tear_down);
        g_test_add("/authorize/replaced", Fixture, NULL, set_up, test_replaced, tear_down);
        g_test_add("/authorize/absent", Fixture, NULL, set_up_without_polkit, test_absent, tear_down);
        return g_test_run();
}
