/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The test plays polkit, which allows a call, denies it, challenges the caller, stays silent, or is absent.
 * calls/authorize has the details that selvold gives polkit. */

#include "model/limits.h"
#include "support.h"
#include "support/files.h"

static void set_up_logged(Fixture *f, gconstpointer data) {
        f->logged = TRUE;
        fixture_set_up_other(f, data);
}

/* selvold waits data seconds for polkit; NULL: ten seconds. */
static void set_up_silent(Fixture *f, gconstpointer data) {
        f->polkit_sec = data;
        fixture_set_up_other(f, data);
}

#define SILENCE_SEC "2"
#define INSPECT     "org.selvol1.inspect"
#define PROPERTIES  "org.freedesktop.DBus.Properties"

/* The methods are called in the order of the introspection data. */
static const struct {
        const char *method;
        const char *arguments; /* selvold asks polkit about these; own_id() replaces OWN/v */
        const char *action;    /* NULL: anybody may call the method */
        const char *failure;   /* the error of a call that polkit allows; NULL: none */
} methods[] = {
        { "MountVolume", "('OWN/v', '/dev/vdb', '" T1 "', @a{sv} {})", "org.selvol1.mount-volume",
          "org.selvol1.Error.Incompatible" },
        { "PlanVolume", "('OWN/v', '/dev/vdb', '" T1 "', @a{sv} {})", "org.selvol1.plan-volume" },
        { "UnmountVolume", "('OWN/v', '" T1 "', @a{sv} {})", "org.selvol1.unmount-volume" },
        { "AdoptVolume", "('OWN/v', '" T1 "', @a{sv} {})", "org.selvol1.adopt-volume",
          "org.selvol1.Error.InvalidTarget" },
        { "VerifyLabel", "('OWN/v', '', @a{sv} {})", "org.selvol1.verify-label", "org.selvol1.Error.NoSuchVolume" },
        { "Relabel", "('OWN/v', '', @a{sv} {})", "org.selvol1.relabel-volume" },
        { "ApplyOwnership", "('w', uint32 1000, @a{sv} {})", "org.selvol1.apply-ownership",
          "org.selvol1.Error.NoSuchVolume" },
        { "ForgetVolume", "('OWN/v', @a{sv} {})", "org.selvol1.forget-volume", "org.selvol1.Error.Busy" },
        { "GetVolume", "('OWN/v',)", INSPECT },
        { "GetVolumeByTarget", "('" T1 "',)", INSPECT, "org.selvol1.Error.NoSuchVolume" },
        { "GetJob", "(@t 1,)", INSPECT, "org.selvol1.Error.NoSuchJob" },
        { "GetMetrics", NULL, INSPECT },
        { "ListUnheldMounts", NULL, INSPECT },
        { "Cancel", NULL, "org.selvol1.cancel-job" },
        { "Wait", NULL, INSPECT },
        { "GetManagedObjects", NULL, INSPECT },
        { "Introspect", NULL, INSPECT },
        /* These tell nothing about the service. */
        { "Ping", NULL, NULL },
        { "GetMachineId", NULL, NULL },
};

static GVariant *parse(const char *text) {
        g_autoptr(GString) expanded = g_string_new(text);

        (void) g_string_replace(expanded, "OWN/v", own_id("v"), 0);
        return text ? g_variant_parse(NULL, expanded->str, NULL, NULL, NULL) : NULL;
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

/* failure is the error if polkit allows the action. */
typedef struct Row {
        const char *path, *interface, *method;
        char *arguments;
        const char *action, *failure;
} Row;

static void add_row(GArray *rows, const char *path, const char *interface, const char *method, const char *arguments,
                    const char *action, const char *failure) {
        const Row row = { g_intern_string(path),
                          g_intern_string(interface),
                          g_intern_string(method),
                          g_strdup(arguments),
                          action,
                          failure };

        g_array_append_val(rows, row);
}

static void row_clear(gpointer data) {
        g_free(((Row *) data)->arguments);
}

static size_t find_method(const char *name) {
        size_t i = 0;

        while (i < G_N_ELEMENTS(methods) && !g_str_equal(methods[i].method, name))
                i++;
        /* A method without a row would have no test. */
        g_assert_cmpuint(i, <, G_N_ELEMENTS(methods));
        return i;
}

/* selvold asks polkit before it refuses to set a property that can't be set, so Set is called for all
 * properties. */
static void add_properties(GArray *rows, const char *path, GDBusInterfaceInfo *interface) {
        g_autofree char *all = g_strdup_printf("('%s',)", interface->name);

        if (!interface->properties || !*interface->properties)
                return;
        add_row(rows, path, PROPERTIES, "GetAll", all, INSPECT, NULL);
        for (GDBusPropertyInfo **p = interface->properties; *p; p++) {
                g_autofree char *get = g_strdup_printf("('%s', '%s')", interface->name, (*p)->name),
                                *set = g_strdup_printf("('%s', '%s', <'info'>)", interface->name, (*p)->name);

                add_row(rows, path, PROPERTIES, "Get", get, INSPECT, NULL);
                add_row(rows, path, PROPERTIES, "Set", set, "org.selvol1.set-log-level",
                        (*p)->flags & G_DBUS_PROPERTY_INFO_FLAGS_WRITABLE
                                ? NULL
                                : "org.freedesktop.DBus.Error.PropertyReadOnly");
        }
}

/* Some containers have no machine id. */
static bool has_machine_id(void) {
        g_autofree char *text = file_read("/etc/machine-id");

        return strlen(text) >= 32;
}

static void add_interface(GArray *rows, const char *path, GDBusInterfaceInfo *interface) {
        add_properties(rows, path, interface);
        if (g_str_equal(interface->name, PROPERTIES))
                return;
        for (GDBusMethodInfo **m = interface->methods; m && *m; m++) {
                const size_t i = find_method((*m)->name);
                const bool no_id = g_str_equal((*m)->name, "GetMachineId") && !has_machine_id();

                add_row(rows, path, interface->name, methods[i].method, methods[i].arguments, methods[i].action,
                        no_id ? "org.freedesktop.DBus.Error.Failed" : methods[i].failure);
        }
}

static GVariant *call_allowed(Fixture *f, Caller caller, const char *path, const char *interface, const char *method,
                              const char *arguments) {
        GAsyncResult *pending = call_start_at(f, path, interface, method, parse(arguments));

        return (caller == CALLER_OTHER ? expect_allowed : expect_reply)(f, pending);
}

/* Adds the calls of an object and of those beneath it, as the service describes them. Those beneath come
 * first, since methods of the manager change them. */
static void add_object(Fixture *f, Caller caller, const char *path, GArray *rows) {
        g_autoptr(GVariant) reply =
                call_allowed(f, caller, path, "org.freedesktop.DBus.Introspectable", "Introspect", NULL);
        g_autoptr(GDBusNodeInfo) node = NULL;
        const char *xml;

        g_variant_get(reply, "(&s)", &xml);
        node = g_dbus_node_info_new_for_xml(xml, NULL);
        g_assert_nonnull(node);
        for (GDBusNodeInfo **n = node->nodes; n && *n; n++) {
                g_autofree char *child = g_build_path("/", path, (*n)->path, NULL);

                add_object(f, caller, child, rows);
        }
        for (GDBusInterfaceInfo **i = node->interfaces; i && *i; i++)
                add_interface(rows, path, *i);
}

/* There is a volume, with a job that does not end by itself. */
static GArray *make_rows(Fixture *f, Caller caller) {
        g_autoptr(GVariant) mounted = NULL, started = NULL;
        GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));

        g_array_set_clear_func(rows, row_clear);
        mounted = call_allowed(f, caller, "/org/selvol1", "org.selvol1.Manager", "MountVolume",
                               "('OWN/v', '/dev/walk-crawl', '" T1 "', {'SELinuxLevel': <'s0:c1'>})");
        started =
                call_allowed(f, caller, "/org/selvol1", "org.selvol1.Manager", "Relabel", "('OWN/v', '', @a{sv} {})");
        add_object(f, caller, "/", rows);
        g_assert_cmpuint(rows->len, >, 100);
        return rows;
}

typedef enum Polkit {
        POLKIT_YES,
        POLKIT_NO,
        POLKIT_CHALLENGE,
        POLKIT_BROKEN,
        POLKIT_SILENT,
        POLKIT_ABSENT,
        POLKIT_REPLACED,
} Polkit;

/* A private bus has only these two kinds of callers, as its policy does not tell users apart. The guest shows
 * that only members of the group reach the service, and polkit (faults/08-matrix). */
typedef struct Case {
        Caller caller;
        Polkit polkit;
} Case;

static void set_up_case(Fixture *f, gconstpointer data) {
        const Case *c = data;

        f->polkit_sec = c->polkit == POLKIT_SILENT ? SILENCE_SEC : NULL;
        fixture_start(f, c->caller, TRUE);
}

static void on_acquired(GDBusConnection *connection, const char *name, gpointer acquired) {
        *(gboolean *) acquired = TRUE;
}

/* Takes polkit's name away, or gives it to somebody else: to the caller, who does not understand the
 * question. */
static void remove_polkit(Fixture *f, gboolean replace) {
        gboolean acquired = FALSE;

        gt_dbus_queue_unown_name(f->queue, f->polkit_name);
        f->polkit_name = 0;
        if (!replace) {
                WAIT_FOR(!bus_has_name(f->client, "org.freedesktop.PolicyKit1"));
                return;
        }
        /* The end of the connection gives the name up. */
        (void) g_bus_own_name_on_connection(f->client, "org.freedesktop.PolicyKit1", G_BUS_NAME_OWNER_FLAGS_NONE,
                                            on_acquired, NULL, &acquired, NULL);
        WAIT_FOR(acquired);
}

static void answer_as(Polkit polkit, GDBusMethodInvocation *question) {
        if (polkit == POLKIT_BROKEN)
                g_dbus_method_invocation_return_dbus_error(question, "org.freedesktop.PolicyKit1.Error.Failed",
                                                           "broken");
        else if (polkit != POLKIT_SILENT)
                polkit_answer(question, polkit == POLKIT_YES, polkit == POLKIT_CHALLENGE);
}

static void assert_answered(const Case *c, const Row *row, GError *error) {
        static const char denied[] = "org.freedesktop.DBus.Error.AccessDenied";
        const Polkit polkit = c->caller == CALLER_ROOT || !row->action ? POLKIT_YES : c->polkit;
        g_autofree char *name = error ? g_dbus_error_get_remote_error(error) : NULL;

        if (polkit == POLKIT_NO)
                assert_error(error, denied, row->action);
        else if (polkit == POLKIT_CHALLENGE)
                assert_error(error, "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "password");
        else if (polkit != POLKIT_YES)
                assert_error(error, denied, "did not answer");
        else {
                if (g_strcmp0(name, row->failure) != 0)
                        g_test_message("%s %s.%s %s: %s", row->path, row->interface, row->method, row->arguments,
                                       error ? error->message : "no error");
                g_assert_cmpstr(name, ==, row->failure);
                g_clear_error(&error);
        }
}

/* Makes n calls at once. */
static void call_rows(Fixture *f, const Case *c, const Row *rows, guint n) {
        const gboolean asked = c->caller == CALLER_OTHER && c->polkit < POLKIT_ABSENT;
        g_autofree GDBusMethodInvocation **questions = g_new0(GDBusMethodInvocation *, n);
        g_autofree GAsyncResult **pending = g_new0(GAsyncResult *, n);

        for (guint i = 0; i < n; i++) {
                pending[i] =
                        call_start_at(f, rows[i].path, rows[i].interface, rows[i].method, parse(rows[i].arguments));
                if (!asked || !rows[i].action)
                        continue;
                questions[i] = polkit_pop(f);
                check_question(questions[i], rows[i].action);
                answer_as(c->polkit, questions[i]);
        }
        for (guint i = 0; i < n; i++) {
                g_autoptr(GVariant) reply = NULL;
                GError *error = NULL;

                reply = call_end(f, pending[i], &error);
                assert_answered(c, &rows[i], error);
                /* This answer is too late. */
                if (questions[i] && c->polkit == POLKIT_SILENT)
                        polkit_answer(questions[i], TRUE, FALSE);
        }
}

/* Each caller makes each call with each polkit. */
static void test_matrix(Fixture *f, gconstpointer data) {
        const Case *c = data;
        const gboolean allowed = c->caller == CALLER_ROOT || c->polkit == POLKIT_YES;
        /* With a silent polkit each call waits for seconds, so as many as a user may have wait at once. Calls
         * that are carried out need their order. */
        const guint at_once = !allowed && c->polkit == POLKIT_SILENT ? QUESTIONS_OF_USER_MAX : 1;
        g_autoptr(GArray) rows = make_rows(f, c->caller);
        g_autofree char *before = mount_table(f), *after = NULL;

        if (c->polkit >= POLKIT_ABSENT)
                remove_polkit(f, c->polkit == POLKIT_REPLACED);
        for (guint i = 0; i < rows->len; i += at_once)
                call_rows(f, c, &g_array_index(rows, Row, i), MIN(rows->len - i, at_once));
        after = mount_table(f);
        if (!allowed)
                g_assert_cmpstr(after, ==, before);
}

/* Without a callback GDBus asks for no reply. */
static void ignore_answer(GObject *source, GAsyncResult *result, gpointer userdata) {
}

/* Questions about a caller who has gone leave room to others. */
TEST_SET_UP(test_gone, "/authorize/gone", fixture_set_up_other) {
        enum { QUESTIONS = QUESTIONS_OF_USER_MAX };
        GDBusMethodInvocation *questions[QUESTIONS];
        Fixture other = other_caller(f);
        g_autofree char *name = g_strdup(g_dbus_connection_get_unique_name(other.client));
        g_autoptr(GVariant) metrics = NULL;

        for (size_t i = 0; i < QUESTIONS; i++) {
                g_dbus_connection_call(other.client, "org.selvol1", "/org/selvol1", "org.selvol1.Manager",
                                       "GetMetrics", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, ignore_answer,
                                       NULL);
                questions[i] = polkit_pop(f);
        }
        expect_error(f, call_start(f, "GetMetrics", NULL), "org.freedesktop.DBus.Error.AccessDenied",
                     "too many calls wait");
        close_caller(&other);
        /* The bus tells selvold of the end before it passes on the next call. */
        WAIT_FOR(!bus_has_name(f->client, name));

        metrics = expect_allowed(f, call_start(f, "GetMetrics", NULL));
        for (size_t i = 0; i < QUESTIONS; i++)
                polkit_answer(questions[i], TRUE, FALSE);
}

static void test_silence(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", parse(methods[0].arguments));
        GDBusMethodInvocation *question = polkit_pop(f);
        g_autoptr(GVariant) metrics = NULL;

        /* /limits/questions shows that other calls go on meanwhile. */
        metrics = expect_allowed(f, call_start(f, "GetMetrics", NULL));
        expect_error(f, pending, "org.freedesktop.DBus.Error.AccessDenied", "did not answer");
        polkit_answer(question, TRUE, FALSE);
}

/* The object of a call may be gone when polkit answers. Many such calls, one after the other, use nothing
 * up. */
TEST_SET_UP(test_object_gone, "/authorize/object-gone", fixture_set_up_other) {
        GDBusMethodInvocation *questions[QUESTIONS_OF_USER_MAX - 1];
        g_autoptr(GVariant) found = NULL;
        GAsyncResult *calls[10];
        const char *volume;

        g_variant_unref(expect_allowed(f, call_start(f, "MountVolume", parse(methods[0].arguments))));
        found = expect_allowed(f, call_start(f, "GetVolume", parse("('OWN/v',)")));
        g_variant_get(found, "(&o)", &volume);
        g_variant_unref(expect_allowed(f, call_start(f, "UnmountVolume", parse(methods[2].arguments))));
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
                g_dbus_connection_call(f->client, "org.selvol1", volume, PROPERTIES, "GetAll",
                                       g_variant_new("(s)", "org.selvol1.Volume"), NULL, G_DBUS_CALL_FLAGS_NONE, -1,
                                       NULL, NULL, NULL);
                questions[i] = polkit_pop(f);
                check_question(questions[i], "org.selvol1.inspect");
        }
        g_variant_unref(expect_allowed(f, call_start(f, "ForgetVolume", parse("('OWN/v', @a{sv} {})"))));
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++)
                polkit_answer(questions[i], TRUE, FALSE);

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                calls[i] = call_start(f, "GetMetrics", NULL);
                questions[i] = polkit_pop(f);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                polkit_answer(questions[i], TRUE, FALSE);
                g_variant_unref(expect_reply(f, calls[i]));
        }
}

/* An answer counts although polkit has lost its name since the question. */
TEST_SET_UP(test_replaced, "/authorize/replaced", fixture_set_up_other) {
        GAsyncResult *asked = call_start(f, "GetMetrics", NULL);
        GDBusMethodInvocation *question = polkit_pop(f);
        g_autoptr(GVariant) metrics = NULL;

        remove_polkit(f, TRUE);
        polkit_answer(question, TRUE, FALSE);
        metrics = expect_reply(f, asked);
}

/* A user whose calls are denied does not fill the journal. */
TEST_SET_UP(test_denied_often, "/authorize/denied-often", set_up_logged) {
        static const char *const patterns[] = { "*GetMetrics by * is not authorized *", "*is not authorized*" };
        g_autofree char *log = file_path(f, "log");

        for (guint i = 0; i < 40; i++) {
                GAsyncResult *call = i % 2 ? call_start(f, "GetMetrics", NULL)
                                           : call_start(f, "ForgetVolume", parse("('v', @a{sv} {})"));

                polkit_answer(polkit_pop(f), FALSE, FALSE);
                expect_error(f, call, "org.freedesktop.DBus.Error.AccessDenied", "not authorized");
        }
        g_assert_cmpuint(file_count_lines(log, patterns[0]), ==, 0);
        g_assert_cmpuint(file_count_lines(log, patterns[1]), ==, 1);
}

static void set_up_root(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, TRUE);
}

/* polkit alone decides about an id that root has introduced. */
TEST_SET_UP(test_known, "/authorize/known", set_up_root) {
        mount_volume(f, "v", "/dev/vdb", T1, "{}");
        daemon_stop(f, SIGTERM);
        f->caller = CALLER_OTHER;
        daemon_start(f);
        g_variant_unref(expect_allowed(f, start_mount(f, "v", "/dev/vdb", T2, "{}")));
        g_variant_unref(expect_allowed(f, start_mount(f, own_id("w"), "/dev/vdc", T3, "{}")));
}

void add_tests(void) {
        static const char *const callers[] = { [CALLER_ROOT] = "root", [CALLER_OTHER] = "other" },
                                 *const polkits[] = { "yes",    "no",     "challenge", "broken",
                                                      "silent", "absent", "replaced" };
        static Case cases[G_N_ELEMENTS(callers)][G_N_ELEMENTS(polkits)];

        for (size_t i = 0; i < G_N_ELEMENTS(callers); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(polkits); k++) {
                        g_autofree char *path = g_strdup_printf("/authorize/matrix/%s/%s", callers[i], polkits[k]);

                        cases[i][k] = (Case){ (Caller) i, (Polkit) k };
                        g_test_add(path, Fixture, &cases[i][k], set_up_case, test_matrix, fixture_tear_down);
                }
        g_test_add("/authorize/silence", Fixture, SILENCE_SEC, set_up_silent, test_silence, fixture_tear_down);
        if (g_test_slow())
                g_test_add("/authorize/silence-long", Fixture, NULL, set_up_silent, test_silence, fixture_tear_down);
}
