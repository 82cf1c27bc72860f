/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* polkit, which the test plays, allows a call, denies it, challenges the caller, stays silent, or isn't
 * there. The details that selvold gives polkit are in calls/authorize. */

#include "support.h"
#include "support/files.h"

#define T1 "/var/lib/kubelet/pods/a/volumes/v"

/* data: how long selvold waits for polkit, NULL: ten seconds. */
static void set_up_silent(Fixture *f, gconstpointer data) {
        f->polkit_sec = data;
        fixture_set_up_other(f, data);
}

#define SILENCE_SEC "2"
#define INSPECT     "org.selvol1.inspect"
#define PROPERTIES  "org.freedesktop.DBus.Properties"

/* Every method, with arguments that are good enough to get as far as the question; the action, NULL if
 * anybody may call it; and what it fails with all the same, when the methods are called in the order of the
 * introspection data. */
static const struct {
        const char *method, *arguments, *action, *failure;
} methods[] = {
        { "MountVolume", "('v', '/dev/vdb', '" T1 "', @a{sv} {})", "org.selvol1.mount-volume",
          "org.selvol1.Error.Incompatible" },
        { "PlanVolume", "('v', '/dev/vdb', '" T1 "', @a{sv} {})", INSPECT },
        { "UnmountVolume", "('v', '" T1 "', @a{sv} {})", "org.selvol1.unmount-volume" },
        { "AdoptVolume", "('v', '" T1 "', @a{sv} {})", "org.selvol1.adopt-volume",
          "org.selvol1.Error.InvalidTarget" },
        { "VerifyLabel", "('v', '', @a{sv} {})", "org.selvol1.verify-label", "org.selvol1.Error.NoSuchVolume" },
        { "Relabel", "('v', '', @a{sv} {})", "org.selvol1.relabel-volume" },
        { "ApplyOwnership", "('w', uint32 1000, @a{sv} {})", "org.selvol1.apply-ownership",
          "org.selvol1.Error.NoSuchVolume" },
        { "ForgetVolume", "('v', @a{sv} {})", "org.selvol1.forget-volume", "org.selvol1.Error.Busy" },
        { "GetVolume", "('v',)", INSPECT },
        { "GetVolumeByTarget", "('" T1 "',)", INSPECT, "org.selvol1.Error.NoSuchVolume" },
        { "GetJob", "(@t 1,)", INSPECT, "org.selvol1.Error.NoSuchJob" },
        { "GetMetrics", NULL, INSPECT },
        { "Cancel", NULL, "org.selvol1.cancel-job" },
        { "Wait", NULL, INSPECT },
        { "GetManagedObjects", NULL, INSPECT },
        { "Introspect", NULL, INSPECT },
        /* They tell nothing of the service. */
        { "Ping", NULL, NULL },
        { "GetMachineId", NULL, NULL },
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

/* A call, the action that polkit is asked about, and what becomes of the call when it is allowed. */
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
        /* A method without a row would be a method without a test. */
        g_assert_cmpuint(i, <, G_N_ELEMENTS(methods));
        return i;
}

/* Get and Set of each, also of those that can't be set: polkit is asked first. */
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

/* Some containers have none. */
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

/* All that an object and those beneath it have, as the service says itself; beneath it first, since the
 * manager's methods change those. */
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

/* There is a volume, and a job at work on it that does not end by itself. */
static GArray *make_rows(Fixture *f, Caller caller) {
        g_autoptr(GVariant) mounted = NULL, started = NULL;
        GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));

        g_array_set_clear_func(rows, row_clear);
        mounted = call_allowed(f, caller, "/org/selvol1", "org.selvol1.Manager", "MountVolume",
                               "('v', '/dev/walk-crawl', '" T1 "', {'SELinuxLevel': <'s0:c1'>})");
        started = call_allowed(f, caller, "/org/selvol1", "org.selvol1.Manager", "Relabel", "('v', '', @a{sv} {})");
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

/* Two kinds of callers are all that a private bus has: its policy lets in every user whom it lets in at
 * all. That members of the group get as far as polkit, and others don't get as far as the service, is seen
 * in the guest (faults/08-matrix). */
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

/* Nobody has polkit's name any more; or somebody else, here the caller himself, who does not know what he
 * is asked. */
static void remove_polkit(Fixture *f, gboolean replace) {
        gboolean acquired = FALSE;

        gt_dbus_queue_unown_name(f->queue, f->polkit_name);
        f->polkit_name = 0;
        if (!replace) {
                WAIT_FOR(!bus_has_name(f->client, "org.freedesktop.PolicyKit1"));
                return;
        }
        /* The name is given up with the connection. */
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

        switch (polkit) {
        case POLKIT_YES:
                if (g_strcmp0(name, row->failure) != 0)
                        g_test_message("%s %s.%s %s: %s", row->path, row->interface, row->method, row->arguments,
                                       error ? error->message : "no error");
                g_assert_cmpstr(name, ==, row->failure);
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
        case POLKIT_ABSENT:
        case POLKIT_REPLACED:
        default:
                assert_error(error, denied, "did not answer");
        }
}

/* Calls n of them at once. */
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
                /* Too late. */
                if (questions[i] && c->polkit == POLKIT_SILENT)
                        polkit_answer(questions[i], TRUE, FALSE);
        }
}

/* Each of them by each caller with each polkit. */
static void test_matrix(Fixture *f, gconstpointer data) {
        const Case *c = data;
        const gboolean allowed = c->caller == CALLER_ROOT || c->polkit == POLKIT_YES;
        /* Each waits for some seconds, as many at once as a user may have. What is carried out has an
         * order. */
        const guint at_once = !allowed && c->polkit == POLKIT_SILENT ? 32 : 1;
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

        for (size_t i = 0; i < QUESTIONS; i++) {
                g_dbus_connection_call(other.client, "org.selvol1", "/org/selvol1", "org.selvol1.Manager",
                                       "GetMetrics", NULL, NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, ignore_answer,
                                       NULL);
                questions[i] = polkit_pop(f);
        }
        expect_error(f, call_start(f, "GetMetrics", NULL), "org.freedesktop.DBus.Error.AccessDenied",
                     "too many calls wait");
        close_caller(&other);
        /* The bus has then told selvold, which hears of it before it hears of what is called next. */
        WAIT_FOR(!bus_has_name(f->client, name));

        metrics = expect_allowed(f, call_start(f, "GetMetrics", NULL));
        for (size_t i = 0; i < QUESTIONS; i++)
                polkit_answer(questions[i], TRUE, FALSE);
}

static void test_silence(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", parse(methods[0].arguments));
        GDBusMethodInvocation *question = polkit_pop(f);
        g_autoptr(GVariant) metrics = NULL;

        /* That others go on meanwhile: /limits/questions. */
        metrics = expect_allowed(f, call_start(f, "GetMetrics", NULL));
        expect_error(f, pending, "org.freedesktop.DBus.Error.AccessDenied", "did not answer");
        polkit_answer(question, TRUE, FALSE);
}

/* When the answer comes, what was asked for may be gone. That uses nothing up: many may ask, one after the
 * other. */
static void test_object_gone(Fixture *f, gconstpointer data) {
        GDBusMethodInvocation *questions[30];
        GAsyncResult *calls[10];

        g_variant_unref(expect_allowed(f, call_start(f, "MountVolume", parse(methods[0].arguments))));
        g_variant_unref(expect_allowed(f, call_start(f, "UnmountVolume", parse(methods[2].arguments))));
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
                g_dbus_connection_call(f->client, "org.selvol1", "/org/selvol1/volume/v", PROPERTIES, "GetAll",
                                       g_variant_new("(s)", "org.selvol1.Volume"), NULL, G_DBUS_CALL_FLAGS_NONE, -1,
                                       NULL, NULL, NULL);
                questions[i] = polkit_pop(f);
                check_question(questions[i], "org.selvol1.inspect");
        }
        g_variant_unref(expect_allowed(f, call_start(f, "ForgetVolume", parse("('v', @a{sv} {})"))));
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

/* Who was asked before he lost his name still has a say. */
static void test_replaced(Fixture *f, gconstpointer data) {
        GAsyncResult *asked = call_start(f, "GetMetrics", NULL);
        GDBusMethodInvocation *question = polkit_pop(f);
        g_autoptr(GVariant) metrics = NULL;

        remove_polkit(f, TRUE);
        polkit_answer(question, TRUE, FALSE);
        metrics = expect_reply(f, asked);
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
        g_test_add("/authorize/gone", Fixture, NULL, fixture_set_up_other, test_gone, fixture_tear_down);
        g_test_add("/authorize/silence", Fixture, SILENCE_SEC, set_up_silent, test_silence, fixture_tear_down);
        if (g_test_slow())
                g_test_add("/authorize/silence-long", Fixture, NULL, set_up_silent, test_silence, fixture_tear_down);
        g_test_add("/authorize/object-gone", Fixture, NULL, fixture_set_up_other, test_object_gone,
                   fixture_tear_down);
        g_test_add("/authorize/replaced", Fixture, NULL, fixture_set_up_other, test_replaced, fixture_tear_down);
}
