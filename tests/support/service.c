/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "files.h"
#include "service.h"
#include "wait.h"

char *source_path(const char *name) {
        return g_build_filename(g_getenv("G_TEST_SRCDIR"), name, NULL);
}

char *program_path(const char *name) {
        return g_build_filename(g_getenv("G_TEST_BUILDDIR"), name, NULL);
}

GDBusConnection *bus_connect(const char *address) {
        return g_dbus_connection_new_for_address_sync(address,
                                                      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                              G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                                      NULL, NULL, NULL);
}

GDBusConnection *bus_start(const Launch *how, const char *socket) {
        g_autofree char *address = path_printf("unix:path=%s", socket),
                        *option = path_printf("--address=%s", address);
        GPid pid = launch(how, "dbus-daemon", "--session", "--nofork", "--nopidfile", option, NULL);
        GDBusConnection *bus;

        socket_wait(pid, how, socket);
        bus = bus_connect(address);
        g_assert_nonnull(bus);
        return bus;
}

bool bus_has_name(GDBusConnection *bus, const char *name) {
        g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
                bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
                g_variant_new("(s)", name), G_VARIANT_TYPE("(b)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        gboolean owned;

        g_assert_nonnull(reply);
        g_variant_get(reply, "(b)", &owned);
        return owned;
}

static GVariant *ask_bus_about(GDBusConnection *bus, const char *method, GVariant *arguments) {
        return g_dbus_connection_call_sync(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                           "org.freedesktop.DBus", method, arguments, NULL, G_DBUS_CALL_FLAGS_NONE,
                                           -1, NULL, NULL);
}

char *bus_owner_of(GDBusConnection *bus, const char *name) {
        g_autoptr(GVariant) reply = ask_bus_about(bus, "GetNameOwner", g_variant_new("(s)", name));
        char *owner;

        g_assert_nonnull(reply);
        g_variant_get(reply, "(s)", &owner);
        return owner;
}

char *bus_name_of(GDBusConnection *bus, GPid pid, const char *other) {
        g_autoptr(GVariant) reply = ask_bus_about(bus, "ListNames", NULL);
        g_autofree const char **names = NULL;

        g_assert_nonnull(reply);
        g_variant_get(reply, "(^a&s)", &names);
        for (const char **name = names; *name; name++) {
                g_autoptr(GVariant) owner =
                        **name == ':' ? ask_bus_about(bus, "GetConnectionUnixProcessID", g_variant_new("(s)", *name))
                                      : NULL;
                guint32 found = 0;

                if (owner)
                        g_variant_get(owner, "(u)", &found);
                if (found == (guint32) pid && g_strcmp0(*name, other) != 0)
                        return g_strdup(*name);
        }
        return NULL;
}

static void on_pong(GObject *source, GAsyncResult *result, gpointer userdata) {
        g_autoptr(GVariant) reply = g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, NULL);

        *(bool *) userdata = true;
}

/* The answer to a Ping shows that the program has read all that came before. */
static void await_reader(GDBusConnection *bus, const char *name, GPid pid, long peak_max) {
        static bool answered;

        answered = false;
        g_dbus_connection_call(bus, name, "/", "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
                               G_DBUS_CALL_FLAGS_NONE, WAIT_SEC * 1000, NULL, on_pong, &answered);
        WAIT_FOR(answered || program_peak(pid) > peak_max);
        g_assert_cmpint(program_peak(pid), <=, peak_max);
        g_assert_cmpint(program_peak(pid), >, 0);
}

void bus_flood(GDBusConnection *bus, const char *name, GPid pid) {
        enum { SIGNALS = 100, BATCH = 50, SIZE = 1024 * 1024, GROWTH_KIB_MAX = 24 * 1024 };
        const long peak_max = program_peak(pid) + GROWTH_KIB_MAX;
        g_autofree char *text = g_strnfill(SIZE, 'x');
        g_autoptr(GVariant) arguments = g_variant_ref_sink(g_variant_new("(s)", text));

        for (unsigned i = 1; i <= SIGNALS; i++) {
                g_assert_true(g_dbus_connection_emit_signal(bus, name, "/", "a.b", "C", arguments, NULL));
                if (i % BATCH == 0)
                        await_reader(bus, name, pid, peak_max);
        }
}

static bool has_open(GPid pid, const char *inode) {
        g_autofree char *directory = path_printf("/proc/%i/fd", (int) pid),
                        *wanted = path_printf("socket:[%s]", inode);
        g_autoptr(GDir) d = g_dir_open(directory, 0, NULL);
        const char *name;

        while (d && (name = g_dir_read_name(d))) {
                g_autofree char *path = g_build_filename(directory, name, NULL),
                                *target = g_file_read_link(path, NULL);

                if (g_strcmp0(target, wanted) == 0)
                        return true;
        }
        return false;
}

/* A line is "NUMBER: REFERENCES PROTOCOL FLAGS TYPE STATE INODE PATH". A socket that listens has the flag
 * __SO_ACCEPTCON. Other mount namespaces may have sockets with the same path. */
static bool listens(GPid server, const char *path) {
        g_autofree char *table = file_read("/proc/net/unix");
        g_auto(GStrv) lines = g_strsplit(table, "\n", -1);

        for (char **line = lines; *line; line++) {
                char inode[32], at[256];

                if (sscanf(*line, "%*s %*s %*s 00010000 %*s %*s %31s %255s", inode, at) == 2 &&
                    g_str_equal(at, path) && has_open(server, inode))
                        return true;
        }
        return false;
}

void socket_wait(GPid server, const Launch *how, const char *path) {
        if (!HOLDS_WITHIN(WAIT_SEC, listens(server, path) || program_get_end(server) >= 0) || !listens(server, path))
                program_give_up(server, how ? how->log : NULL, "It does not listen.");
}

const char *const socket_activation[] = { "sh", "-c", "export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\"", NULL };

char *socket_receive(int fd) {
        const struct timeval patience = { .tv_sec = 2 * WAIT_SEC };
        g_autoptr(GString) reply = g_string_new(NULL);
        char text[4096];
        ssize_t n;

        must(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
        while ((n = recv(fd, text, sizeof(text), 0)) > 0)
                g_string_append_len(reply, text, n);
        g_assert_false(n < 0 && errno == EAGAIN);
        close(fd);
        return g_string_free(g_steal_pointer(&reply), FALSE);
}

char *socket_ask(int fd, const char *request, size_t size) {
        /* The server may close before it has taken everything. */
        (void) send(fd, request, size, MSG_NOSIGNAL);
        return socket_receive(fd);
}

GPid selvold_start(const Launch *how, const Service *s, GDBusConnection *bus) {
        g_autofree char *program = program_path("src/selvold"), *usr = source_path("src"),
                        *uid = path_printf("%u", s->trusted);
        GPid pid = launch(how, program, "--state-directory", s->state, "--worker", s->socket, "--config-usr", usr,
                          "--config-etc", s->etc, "--trusted-uid", uid, s->polkit_sec ? "--polkit-timeout" : NULL,
                          s->polkit_sec, NULL);

        /* A worker that does not answer delays the start. */
        if (!HOLDS_WITHIN(WAIT_SEC, bus_has_name(bus, "org.selvol1")))
                program_give_up(pid, how ? how->log : NULL, "selvold does not take its name.");
        return pid;
}

GPid selvol_worker_start(const Launch *how, const Service *s) {
        g_autofree char *program = program_path("src/selvol-worker"), *usr = source_path("src"),
                        *uid = path_printf("%u", s->trusted);
        GPid pid;

        (void) unlink(s->socket);
        pid = launch(how, program, "--socket", s->socket, "--config-usr", usr, "--config-etc", s->etc, "--peer-uid",
                     uid, NULL);
        socket_wait(pid, how, s->socket);
        return pid;
}
