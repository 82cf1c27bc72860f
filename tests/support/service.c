/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
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

/* "NUMBER: REFERENCES PROTOCOL FLAGS TYPE STATE INODE PATH", and among the flags is __SO_ACCEPTCON. */
bool socket_listens(const char *path) {
        g_autofree char *table = file_read("/proc/net/unix"), *end = path_printf(" %s", path);
        g_auto(GStrv) lines = g_strsplit(table, "\n", -1);

        for (char **line = lines; *line; line++)
                if (g_str_has_suffix(*line, end) && strstr(*line, " 00010000 "))
                        return true;
        return false;
}

void socket_wait(GPid server, const Launch *how, const char *path) {
        if (!HOLDS_WITHIN(WAIT_SEC, socket_listens(path) || program_get_end(server) >= 0) || !socket_listens(path))
                program_give_up(server, how ? how->log : NULL, "It does not listen.");
}

GPid selvold_start(const Launch *how, const Service *s, GDBusConnection *bus) {
        g_autofree char *program = program_path("src/selvold"), *usr = source_path("src"),
                        *uid = path_printf("%u", s->trusted);
        GPid pid = launch(how, program, "--state-directory", s->state, "--worker", s->socket, "--config-usr", usr,
                          "--config-etc", s->etc, "--trusted-uid", uid, NULL);

        /* A worker that does not answer delays it. */
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
