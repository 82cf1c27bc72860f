/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Three users call each method as fast, and with as large arguments, as they can, when there are as many
 * volumes as can be. A fourth user, and root, still get answers. The test has a bus of its own, which lets
 * other users in, and polkit allows everything. */

#include <sys/stat.h>
#include <unistd.h>

#include "model/limits.h"
#include "support.h"
#include "support/files.h"
#include "support/records.h"

enum {
        CROWD = 3,
        CALLS = 100,   /* of each user and method */
        FIRST_UID = 1, /* dbus-daemon lets in users of /etc/passwd only: daemon, bin, sys, sync */
        FACTOR = 30,   /* the work of the others may delay answers so much */
};

static const char bus_config[] =
        "<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>"
        "<policy context='default'><allow user='*'/><allow send_destination='*' eavesdrop='true'/>"
        "<allow eavesdrop='true'/><allow own='*'/></policy></busconfig>";

typedef struct Crowd {
        Fixture service; /* root's connection, to the bus of this test */
        Fixture users[CROWD], fourth;
        GDBusConnection *polkit;
        GPid bus;
        char *own_address;
} Crowd;

static Fixture connect_as(const Fixture *f, uid_t uid) {
        Fixture user;

        g_assert_cmpint(seteuid(uid), ==, 0);
        user = other_caller(f);
        g_assert_cmpint(seteuid(0), ==, 0);
        return user;
}

static void on_question(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                        const char *method, GVariant *parameters, GDBusMethodInvocation *question,
                        gpointer userdata) {
        polkit_answer(question, TRUE, FALSE);
}

static void serve_polkit(Crowd *c) {
        static const GDBusInterfaceVTable vtable = { .method_call = on_question };
        g_autoptr(GDBusNodeInfo) node = g_dbus_node_info_new_for_xml(
                "<node><interface name='org.freedesktop.PolicyKit1.Authority'><method name='CheckAuthorization'>"
                "<arg type='(sa{sv})' direction='in'/><arg type='s' direction='in'/><arg type='a{ss}' direction='in'/>"
                "<arg type='u' direction='in'/><arg type='s' direction='in'/><arg type='(bba{ss})' direction='out'/>"
                "</method></interface></node>",
                NULL);
        Fixture polkit = other_caller(&c->service);

        c->polkit = polkit.client;
        g_assert_cmpuint(g_dbus_connection_register_object(c->polkit, "/org/freedesktop/PolicyKit1/Authority",
                                                           node->interfaces[0], &vtable, NULL, NULL, NULL),
                         >, 0);
        (void) g_bus_own_name_on_connection(c->polkit, "org.freedesktop.PolicyKit1", G_BUS_NAME_OWNER_FLAGS_NONE,
                                            NULL, NULL, NULL, NULL);
        WAIT_FOR(bus_has_name(c->polkit, "org.freedesktop.PolicyKit1"));
}

static void connect_all(Crowd *c) {
        for (guint i = 0; i < CROWD; i++)
                c->users[i] = connect_as(&c->service, FIRST_UID + i);
        c->fourth = connect_as(&c->service, FIRST_UID + CROWD);
}

static void set_up(Crowd *c, gconstpointer data) {
        Fixture *f = &c->service;
        g_autofree char *socket = NULL, *config = NULL, *state = NULL, *address = NULL, *text = NULL;

        fixture_set_up(f, data);
        mount_volume(f, "v", "/dev/vdb", T1, "{}");
        unmount_volume(f, "v", T1);
        daemon_stop(f, SIGTERM);
        state = file_path(f, "state/state.db");
        records_fill(state, VOLUMES_MAX - 1, "UPDATE volume SET source='/dev/'||id");

        socket = file_path(f, "bus");
        config = file_path(f, "bus.conf");
        text = g_strdup_printf(bus_config, socket);
        file_write(config, text);
        g_assert_cmpint(chmod(f->directory, 0755), ==, 0);
        text = (g_free(text), g_strdup_printf("--config-file=%s", config));
        c->bus = launch(NULL, "dbus-daemon", text, "--nofork", "--nopidfile", NULL);
        socket_wait(c->bus, NULL, socket);
        c->own_address = g_strdup(g_getenv("DBUS_SESSION_BUS_ADDRESS"));
        address = g_strdup_printf("unix:path=%s", socket);
        g_setenv("DBUS_SESSION_BUS_ADDRESS", address, TRUE);
        *f = connect_as(f, 0);
        serve_polkit(c);
        daemon_start(f);
        connect_all(c);
}

static void tear_down(Crowd *c, gconstpointer data) {
        daemon_stop(&c->service, SIGKILL);
        close_callers(c->users, CROWD);
        close_caller(&c->fourth);
        g_object_unref(c->polkit);
        close_caller(&c->service);
        g_setenv("DBUS_SESSION_BUS_ADDRESS", c->own_address, TRUE);
        c->service.client = gt_dbus_queue_get_client_connection(c->service.queue);
        fixture_tear_down(&c->service, data);
        (void) program_end(c->bus, SIGKILL);
        g_free(c->own_address);
}

#define MANAGER    "/org/selvol1", "org.selvol1.Manager"
#define LARGE_PATH "/var/lib/kubelet/pods/$X"
#define SLOW       "{'TimeoutUSec': <@t 600000000>, 'Depth': <'full'>}"

/* $N: the number of the call, $U: the uid, $X: 3900 bytes, $O: options of 60 KiB */
static const struct {
        const char *path, *interface, *method, *arguments;
} rows[] = {
        { MANAGER, "MountVolume", "('$U/$N', '/dev/$N/hang-observe', '/var/lib/kubelet/pods/$U/$N', @a{sv} {})" },
        { MANAGER, "MountVolume", "('$U/$N', '/dev/$N/hang-observe', '" LARGE_PATH "$U$N', {$O})" },
        { MANAGER, "MountVolume", "('$N', '/dev/vdb', '" LARGE_PATH "', {$O})" },
        { MANAGER, "PlanVolume", "('$U/$N', '/dev/$N/hang-observe', '" LARGE_PATH "$U$N', {$O})" },
        { MANAGER, "AdoptVolume", "('$U/$N', '" LARGE_PATH "$U$N', {$O})" },
        { MANAGER, "UnmountVolume", "('v-$N', '" LARGE_PATH "$U$N', @a{sv} {})" },
        { MANAGER, "VerifyLabel", "('v-$N', '', " SLOW ")" },
        { MANAGER, "Relabel", "('v-$N', 'a:b:c:s0:c$N,c0', @a{sv} {})" },
        { MANAGER, "ApplyOwnership", "('v-$N', uint32 $N, @a{sv} {})" },
        { MANAGER, "ForgetVolume", "('$U/v-$N', @a{sv} {})" },
        { MANAGER, "GetVolume", "('v-$N',)" },
        { MANAGER, "GetVolumeByTarget", "('" LARGE_PATH "',)" },
        { MANAGER, "GetJob", "(@t $N,)" },
        { MANAGER, "GetMetrics", "()" },
        { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "()" },
        { "/org/selvol1/volume", "org.freedesktop.DBus.Introspectable", "Introspect", "()" },
        { "/org/selvol1/volume/v_2d7", "org.freedesktop.DBus.Properties", "GetAll", "('org.selvol1.Volume',)" },
        { "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Set",
          "('org.freedesktop.LogControl1', 'LogLevel', <'$X'>)" },
};

static char *make_options(void) {
        g_autofree char *word = g_strnfill(1000, 'x');
        g_autoptr(GString) options = g_string_new("'MountOptions': <[");

        for (guint i = 0; i < 60; i++)
                g_string_append_printf(options, "%s'subvol=/%s'", i == 0 ? "" : ", ", word);
        g_string_append(options, "]>");
        return g_string_free(g_steal_pointer(&options), FALSE);
}

static void send_call(Fixture *user, gsize row, guint uid, guint n) {
        static char *filler, *options;
        g_autofree char *number = g_strdup_printf("%u", n), *owner = g_strdup_printf("%u", uid);
        g_autoptr(GString) arguments = g_string_new(rows[row].arguments);
        g_autoptr(GDBusMessage) m =
                g_dbus_message_new_method_call("org.selvol1", rows[row].path, rows[row].interface, rows[row].method);
        g_autoptr(GError) error = NULL;
        GVariant *body;

        filler = filler ?: g_strnfill(200, 'x');
        options = options ?: make_options();
        (void) g_string_replace(arguments, "$X", "$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y/$Y", 0);
        (void) g_string_replace(arguments, "$Y", filler, 0);
        (void) g_string_replace(arguments, "$O", options, 0);
        (void) g_string_replace(arguments, "$N", number, 0);
        (void) g_string_replace(arguments, "$U", owner, 0);
        body = g_variant_parse(NULL, arguments->str, NULL, NULL, &error);
        g_assert_no_error(error);
        g_dbus_message_set_flags(m, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED);
        g_dbus_message_set_body(m, body);
        g_assert_true(g_dbus_connection_send_message(user->client, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL));
}

static void send_calls(Crowd *c, gsize row, guint n) {
        for (guint i = 0; i < n; i++)
                for (guint k = 0; k < CROWD; k++)
                        send_call(&c->users[k], row, FIRST_UID + k, i);
}

/* Returns how long the calls of both callers take that the others must not hold up. */
static gint64 measure(Crowd *c) {
        g_autofree char *id = g_strdup_printf("%i/w", FIRST_UID + CROWD);
        Fixture *callers[] = { &c->fourth, &c->service };
        const char *ids[] = { id, "w" }, *targets[] = { T1, T2 };
        gint64 start = g_get_monotonic_time();

        for (guint i = 0; i < 2; i++) {
                mount_volume(callers[i], ids[i], "tmpfs", targets[i],
                             "{'FSType': <'tmpfs'>, 'MountOptions': <['size=1m']>}");
                g_variant_unref(
                        expect_reply(callers[i], call_start(callers[i], "GetVolume", g_variant_new("(s)", ids[i]))));
                unmount_volume(callers[i], ids[i], targets[i]);
        }
        return g_get_monotonic_time() - start;
}

static void check_row(Crowd *c, gsize row, gint64 quiet) {
        gint64 busy;

        send_calls(c, row, CALLS);
        busy = measure(c);
        g_test_message("%s: %i ms instead of %i ms", rows[row].method, (int) (busy / 1000), (int) (quiet / 1000));
        g_assert_cmpint(busy, <, FACTOR * quiet);
}

static void test_badly(Crowd *c, gconstpointer data) {
        gint64 quiet = measure(c);

        /* A call has to wait for one of each other caller, which may be for a list of all objects. */
        for (guint i = 0; i < CROWD; i++) {
                gint64 start = g_get_monotonic_time();

                g_variant_unref(expect_reply(&c->service, call_start_at(&c->service, "/org/selvol1",
                                                                        "org.freedesktop.DBus.ObjectManager",
                                                                        "GetManagedObjects", NULL)));
                quiet += g_get_monotonic_time() - start;
        }
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                check_row(c, i, quiet);
        /* All at once, and selvold has just been started. */
        daemon_stop(&c->service, SIGKILL);
        daemon_start(&c->service);
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                send_calls(c, i, CALLS / 10);
        check_row(c, 0, quiet);
}

void add_tests(void) {
        if (getuid() == 0)
                g_test_add("/crowd/badly", Crowd, NULL, set_up, test_badly, tear_down);
}
