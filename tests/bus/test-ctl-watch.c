/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl monitor and jobs --watch: what goes on until it is interrupted. */
#include <signal.h>
#include <string.h>

#include "ctl-support.h"
#include "support/service.h"

typedef struct Emitted {
        const char *path, *interface, *signal, *arguments;
} Emitted;

static const Emitted emitted[] = {
        { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
          "(objectpath '/org/selvol1/volume/w', {'org.selvol1.Volume': {'Id': <'w\033'>}})" },
        { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
          "(objectpath '" JOB7
          "', {'org.selvol1.Job': {'Id': <uint64 7>, 'Operation': <'relabel'>, 'Volume': <'w'>, 'State': "
          "<'waiting'>}})" },
        { MANAGER, "JobNew", "(uint64 7, objectpath '" JOB7 "')" },
        { JOB7, "org.freedesktop.DBus.Properties", "PropertiesChanged",
          "('org.selvol1.Job', {'State': <'waiting'>, 'EntriesDone': <uint64 3>}, @as [])" },
        { JOB7, "org.freedesktop.DBus.Properties", "PropertiesChanged",
          "('org.selvol1.Job', {'State': <'running'>, 'EntriesDone': <uint64 4>}, @as [])" },
        { MANAGER, "JobRemoved", "(uint64 7, objectpath '" JOB7 "', 'w', 'relabel', 'done')" },
        { PVC1, "org.freedesktop.DBus.Properties", "PropertiesChanged",
          "('org.selvol1.Volume', {'LabelState': <'complete'>, 'Tainted': <false>}, @as [])" },
        { PVC1, "org.freedesktop.DBus.Properties", "PropertiesChanged",
          "('org.selvol1.Volume', {'LabelState': <'complete'>, 'Tainted': <true>}, @as [])" },
        { MANAGER, "ContextConflict", "('pvc-1', 'u:r:t:s0', 'u:r:t:s0:c1', [{'Holder': <'pod-A'>}])" },
        { MANAGER, "GroupConflict", "('pvc-1', uint32 5, @aa{sv} [])" },
        { MANAGER, "MountChanged", "('pvc-1', '/t', 'Hidden by /x.')" },
        { MANAGER, "ContextReleased", "('pvc-1', 'u:r:t:s0')" },
        { MANAGER, "GroupReleased", "('pvc-1', uint32 5)" },
        { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
          "(objectpath '/org/selvol1/volume/w', ['org.selvol1.Volume'])" },
};

/* A stranger sends what selvold and the bus could send. */
static const Emitted forged[] = {
        { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
          "(objectpath '/org/selvol1/volume/forged', {'org.selvol1.Volume': {'Id': <'forged'>}})" },
        { "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
          "(objectpath '" PVC1 "', ['org.selvol1.Volume'])" },
        { PVC1, "org.freedesktop.DBus.Properties", "PropertiesChanged",
          "('org.selvol1.Volume', {'LabelState': <'partial'>}, @as [])" },
        { MANAGER, "JobNew", "(uint64 8, objectpath '/org/selvol1/job/8')" },
        { MANAGER, "MountChanged", "('pvc-1', '/t', 'Forged.')" },
        { "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "('org.selvol1', ':1.0', '')" },
};

typedef struct Monitor {
        const char *command;
        const char *lines[12]; /* without the time */
} Monitor;

static const Monitor monitors[] = {
        { "monitor",
          { "Volume w\\x1b is new.", "Job 7: relabel of volume w begins.", "Job 7 of volume w is running",
            "Job 7: relabel of volume w has ended: done", "Volume pvc-1 has changed. LabelState: complete.",
            "Volume pvc-1 has changed. Tainted: yes.",
            "Volume pvc-1 can't be used with s0 while it is used with s0:c1 held by pod-A",
            "Volume pvc-1 can't be given to group 5", "Volume pvc-1 at /t: Hidden by /x.",
            "Volume pvc-1 is not in use any more, and free for another context.",
            "Volume pvc-1 is not in use any more, and free for another group.", "Volume w\\x1b is forgotten." } },
        { "monitor pvc-1 --json",
          { "\"Event\":\"VolumeChanged\",\"Volume\":\"pvc-1\",\"LabelState\":\"complete\"}",
            "\"Event\":\"VolumeChanged\",\"Volume\":\"pvc-1\",\"Tainted\":true}",
            "\"Event\":\"ContextConflict\",\"Volume\":\"pvc-1\",\"Wanted\":\"u:r:t:s0\",\"Held\":\"u:r:t:s0:c1\","
            "\"Holders\":[{\"Holder\":\"pod-A\"}]}",
            "\"Event\":\"GroupConflict\",\"Volume\":\"pvc-1\",\"Wanted\":5,\"Holders\":[]}",
            "\"Event\":\"MountChanged\",\"Volume\":\"pvc-1\",\"Target\":\"/t\",\"Text\":\"Hidden by /x.\"}",
            "\"Event\":\"ContextReleased\",\"Volume\":\"pvc-1\",\"Context\":\"u:r:t:s0\"}",
            "\"Event\":\"GroupReleased\",\"Volume\":\"pvc-1\",\"Group\":5}" } },
        { "monitor --json=pretty",
          { "\"Event\":\"VolumeAdded\",\"Volume\":\"w\\u001B\"}",
            "\"Event\":\"JobNew\",\"Job\":7,\"Operation\":\"relabel\",\"Volume\":\"w\"}",
            "\"Event\":\"JobChanged\",\"Job\":7,\"Volume\":\"w\",\"State\":\"running\"}",
            "\"Event\":\"JobRemoved\",\"Job\":7,\"Volume\":\"w\",\"Operation\":\"relabel\",\"Result\":\"done\"}",
            "\"Event\":\"VolumeChanged\",\"Volume\":\"pvc-1\",\"LabelState\":\"complete\"}",
            "\"Event\":\"VolumeChanged\",\"Volume\":\"pvc-1\",\"Tainted\":true}",
            "\"Event\":\"ContextConflict\",\"Volume\":\"pvc-1\",\"Wanted\":\"u:r:t:s0\",\"Held\":\"u:r:t:s0:c1\","
            "\"Holders\":[{\"Holder\":\"pod-A\"}]}",
            "\"Event\":\"GroupConflict\",\"Volume\":\"pvc-1\",\"Wanted\":5,\"Holders\":[]}",
            "\"Event\":\"MountChanged\",\"Volume\":\"pvc-1\",\"Target\":\"/t\",\"Text\":\"Hidden by /x.\"}",
            "\"Event\":\"ContextReleased\",\"Volume\":\"pvc-1\",\"Context\":\"u:r:t:s0\"}",
            "\"Event\":\"GroupReleased\",\"Volume\":\"pvc-1\",\"Group\":5}",
            "\"Event\":\"VolumeRemoved\",\"Volume\":\"w\\u001B\"}" } },
        { "jobs --watch",
          { "Job 7: relabel of volume w begins.", "Job 7 of volume w is running",
            "Job 7: relabel of volume w has ended: done" } },
        { "jobs -w --json",
          { "\"Event\":\"JobNew\",\"Job\":7,\"Operation\":\"relabel\",\"Volume\":\"w\"}",
            "\"Event\":\"JobChanged\",\"Job\":7,\"Volume\":\"w\",\"State\":\"running\"}",
            "\"Event\":\"JobRemoved\",\"Job\":7,\"Volume\":\"w\",\"Operation\":\"relabel\",\"Result\":\"done\"}" } },
};

/* The signal goes to all that have asked for it if destination is NULL. */
static void emit_from(GDBusConnection *bus, const char *destination, const char *path, const char *interface,
                      const char *signal, const char *arguments) {
        g_autoptr(GError) error = NULL;
        GVariant *value = g_variant_parse(NULL, arguments, NULL, NULL, &error);

        g_assert_no_error(error);
        g_dbus_connection_emit_signal(bus, destination, path, interface, signal, value, &error);
        g_assert_no_error(error);
        g_variant_unref(value);
}

static void emit(GDBusMethodInvocation *call, const char *path, const char *interface, const char *signal,
                 const char *arguments) {
        emit_from(g_dbus_method_invocation_get_connection(call), NULL, path, interface, signal, arguments);
}

static void forge_signals(const char *destination) {
        g_autoptr(GDBusConnection) stranger = bus_connect(g_getenv("DBUS_SESSION_BUS_ADDRESS"));

        for (size_t k = 0; k < G_N_ELEMENTS(forged); k++)
                emit_from(stranger, destination, forged[k].path, forged[k].interface, forged[k].signal,
                          forged[k].arguments);
        /* The bus has passed the signals on when it answers. */
        g_assert_true(bus_has_name(stranger, "org.selvol1"));
}

/* The monitor prints a line for each event, at once, and none for a value that has not changed, nor for what
 * strangers send. It prints the end of the service, too, and ends when it is interrupted. */
TEST_FIXTURE_ROWS(test_monitor, "/ctl-watch", monitors) {
        static const Exchange objects =
                GET_OBJECTS("({objectpath '" PVC1
                            "': {'org.selvol1.Volume': {'Id': <'pvc-1'>, 'LabelState': <'unknown'>, 'Tainted': "
                            "<false>}}},)");
        const Monitor *m = data;
        g_autoptr(GSubprocess) child = ctl_start(m->command, -1);
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &objects);
        g_autoptr(GDataInputStream) out = g_data_input_stream_new(g_subprocess_get_stdout_pipe(child));
        g_autofree char *last = NULL;
        g_autoptr(GError) error = NULL;

        forge_signals(g_dbus_method_invocation_get_sender(call));
        answer_call(call, &objects);
        forge_signals(g_dbus_method_invocation_get_sender(call));
        for (size_t k = 0; k < G_N_ELEMENTS(emitted); k++)
                emit(call, emitted[k].path, emitted[k].interface, emitted[k].signal, emitted[k].arguments);
        for (size_t k = 0; k < G_N_ELEMENTS(m->lines) && m->lines[k]; k++) {
                g_autofree char *line = g_data_input_stream_read_line(out, NULL, NULL, &error);

                g_assert_no_error(error);
                g_assert_nonnull(line);
                if (!g_str_has_suffix(line, m->lines[k]))
                        g_error("%s is not %s", line, m->lines[k]);
        }
        release_name(f);
        last = g_data_input_stream_read_line(out, NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_nonnull(strstr(last, strstr(m->command, "json") ? "ServiceStopped" : "selvold has stopped."));
        g_subprocess_send_signal(child, (m - monitors) % 2 == 0 ? SIGTERM : SIGINT);
        g_assert_true(g_subprocess_wait_check(child, NULL, &error));
}

void add_tests(void) {
}
