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

static void test_denied(Fixture *f, gconstpointer data) {
        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                GAsyncResult *pending = call_start(f, methods[i].method, parse(methods[i].arguments));
                GDBusMethodInvocation *question = polkit_pop(f);
                GError *error = NULL;

                check_question(question, methods[i].action);
                polkit_answer(question, FALSE, FALSE);
                g_assert_null(call_end(f, pending, &error));
                assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", methods[i].action);
        }
        g_autofree char *table = mount_table(f);
        g_assert_cmpstr(table, ==, "");
}

/* What sd-bus answers by itself. */
static void test_standard_interfaces(Fixture *f, gconstpointer data) {
        static const struct {
                const char *path, *interface, *method, *arguments, *action;
        } calls[] = {
                { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL,
                  "org.selvol1.inspect" },
                { "/org/selvol1/volume", "org.freedesktop.DBus.Introspectable", "Introspect", NULL,
                  "org.selvol1.inspect" },
                { "/org/selvol1", "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Manager',)",
                  "org.selvol1.inspect" },
                { "/org/selvol1", "org.freedesktop.DBus.Properties", "Get", "('org.selvol1.Manager', 'Version')",
                  "org.selvol1.inspect" },
                { "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Get",
                  "('org.freedesktop.LogControl1', 'LogLevel')", "org.selvol1.inspect" },
                { "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Set",
                  "('org.freedesktop.LogControl1', 'LogLevel', <'debug'>)", "org.selvol1.set-log-level" },
        };

        for (size_t i = 0; i < 2 * G_N_ELEMENTS(calls); i++) {
                size_t k = i / 2;
                gboolean allowed = i % 2;
                GDBusMethodInvocation *question;
                GAsyncResult *pending;
                g_autoptr(GVariant) reply = NULL;
                GError *error = NULL;

                pending = call_start_at(f, calls[k].path, calls[k].interface, calls[k].method,
                                        parse(calls[k].arguments));
                question = polkit_pop(f);
                check_question(question, calls[k].action);
                polkit_answer(question, allowed, FALSE);
                reply = call_end(f, pending, &error);
                if (allowed)
                        g_assert_no_error(error);
                else
                        assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", calls[k].action);
        }
}

/* A method without a row in the table above would be a method without a test. */
static void test_table_is_complete(Fixture *f, gconstpointer data) {
        g_autofree char *xml = NULL;
        g_autoptr(GDBusNodeInfo) node = NULL;
        GDBusMethodInfo **m;

        g_assert_true(g_file_get_contents(SOURCE_ROOT "/dbus/org.selvol1.Manager.xml", &xml, NULL, NULL));
        node = g_dbus_node_info_new_for_xml(xml, NULL);
        for (m = node->interfaces[0]->methods; *m; m++) {
                size_t i = 0;

                while (i < G_N_ELEMENTS(methods) && g_strcmp0(methods[i].method, (*m)->name) != 0)
                        i++;
                g_assert_cmpuint(i, <, G_N_ELEMENTS(methods));
        }
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

static void test_challenge(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", parse(methods[0].arguments));
        GError *error = NULL;

        polkit_answer(polkit_pop(f), FALSE, TRUE);
        g_assert_null(call_end(f, pending, &error));
        assert_error(error, "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "Interactive");
}

static void test_error(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", parse(methods[0].arguments));
        GError *error = NULL;

        g_dbus_method_invocation_return_dbus_error(polkit_pop(f), "org.freedesktop.PolicyKit1.Error.Failed",
                                                   "broken");
        g_assert_null(call_end(f, pending, &error));
        assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", "unavailable");
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
        assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", "unavailable");
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

static void set_up_without_polkit(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_OTHER, FALSE);
}

static void test_absent(Fixture *f, gconstpointer data) {
        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                GError *error = NULL;

                g_assert_null(call(f, methods[i].method, parse(methods[i].arguments), &error));
                assert_error(error, "org.freedesktop.DBus.Error.AccessDenied", "unavailable");
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/authorize/denied", Fixture, NULL, set_up, test_denied, tear_down);
        g_test_add("/authorize/standard-interfaces", Fixture, NULL, set_up, test_standard_interfaces, tear_down);
        g_test_add("/authorize/table-is-complete", Fixture, NULL, set_up, test_table_is_complete, tear_down);
        g_test_add("/authorize/job", Fixture, NULL, set_up, test_job, tear_down);
        g_test_add("/authorize/allowed", Fixture, NULL, set_up, test_allowed, tear_down);
        g_test_add("/authorize/challenge", Fixture, NULL, set_up, test_challenge, tear_down);
        g_test_add("/authorize/error", Fixture, NULL, set_up, test_error, tear_down);
        g_test_add("/authorize/silence", Fixture, NULL, set_up, test_silence, tear_down);
        g_test_add("/authorize/bad-input-first", Fixture, NULL, set_up, test_bad_input_first, tear_down);
        g_test_add("/authorize/object-gone", Fixture, NULL, set_up, test_object_gone, tear_down);
        g_test_add("/authorize/absent", Fixture, NULL, set_up_without_polkit, test_absent, tear_down);
        return g_test_run();
}
