/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* selvold has limits, and metrics in the form of Prometheus. calls/daemon has the answers of methods. */

#include "model/limits.h"
#include "support.h"

#define POD_A "{'SELinuxLevel': <'s0:c10,c0'>, 'Holder': <'pod-a'>, " OVM "}"

TEST_FIXTURE(test_long_strings, "/daemon/long-strings") {
        g_autofree char *filler = g_strnfill(4096, 'a'), *target = g_strdup_printf("/var/lib/kubelet/%s", filler),
                        *level = g_strdup_printf("{'SELinuxLevel': <'s0:%s'>}", filler),
                        *holder = g_strdup_printf("{'Holder': <'%s'>}", filler),
                        *option = g_strdup_printf("{'MountOptions': <['%s']>}", filler);

        expect_error(f, start_mount(f, filler, "/dev/vdb", T1, "{}"), "InvalidVolume", "longer than 512");
        expect_error(f, start_mount(f, "v", "/dev/vdb", target, "{}"), "InvalidTarget", "");
        expect_error(f, start_mount(f, "v", "/dev/vdb", T1, level), "InvalidContext", "");
        expect_error(f, start_mount(f, "v", "/dev/vdb", T1, holder), "InvalidOption", "Holder");
        expect_error(f, start_mount(f, "v", "/dev/vdb", T1, option), "InvalidOption", "longer");
}

/* selvold asks the bus for the uid of each caller, and does not remember the uids of so many. */
TEST_FIXTURE(test_many_callers, "/daemon/many-callers") {
        enum { MANY = 100 };
        GDBusConnection *callers[MANY];

        for (size_t i = 0; i < MANY; i++) {
                callers[i] = bus_connect(g_getenv("DBUS_SESSION_BUS_ADDRESS"));
                g_assert_nonnull(callers[i]);
        }
        for (size_t i = 0; i < 2 * MANY; i++) {
                g_autoptr(GVariant) metrics = NULL;
                GError *error = NULL;

                metrics = g_dbus_connection_call_sync(callers[i % MANY], "org.selvol1", "/org/selvol1",
                                                      "org.selvol1.Manager", "GetMetrics", NULL, NULL,
                                                      G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
                g_assert_no_error(error);
        }
        for (size_t i = 0; i < MANY; i++)
                g_object_unref(callers[i]);
}

/* Prometheus' own tool accepts the text. */
TEST_FIXTURE(test_promtool, "/daemon/promtool") {
        g_autofree char *promtool = g_find_program_in_path("promtool");
        g_autoptr(GVariant) metrics = NULL;
        g_autoptr(GSubprocess) check = NULL;
        g_autofree char *said = NULL;
        GError *error = NULL;
        const char *text;

        if (!promtool) {
                g_test_skip("promtool is not installed (Debian: prometheus)");
                return;
        }
        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        metrics = expect_reply(f, call_start(f, "GetMetrics", NULL));
        g_variant_get(metrics, "(&s)", &text);
        check = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                         G_SUBPROCESS_FLAGS_STDERR_MERGE,
                                 &error, promtool, "check", "metrics", NULL);
        g_assert_no_error(error);
        g_subprocess_communicate_utf8(check, text, NULL, &said, NULL, &error);
        g_assert_no_error(error);
        if (!g_subprocess_get_successful(check))
                g_test_message("%s", said);
        g_assert_true(g_subprocess_get_successful(check));
}

/* Only so many calls may wait for one job. */
TEST_FIXTURE(test_join_limit, "/daemon/join/limit") {
        GAsyncResult *calls[WAITERS_MAX + 16];

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = start_mount(f, "v", "/dev/hang-observe", T1, "{}");
        end_unmount(f, start_unmount(f, "v", T1), FALSE);
        g_assert_cmpuint(count_refused(f, calls, G_N_ELEMENTS(calls), "", "Canceled"), ==, 16);
}

/* A volume has the most holders that it can have. */
TEST_FIXTURE(test_holders_limit, "/daemon/holders/limit") {
        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                g_autofree char *target = g_strdup_printf("/var/lib/kubelet/pods/%zu/volumes/v", i);

                mount_volume(f, "v", "/dev/vdb", target, POD_A);
        }
        expect_error(f, start_mount(f, "v", "/dev/vdb", "/var/lib/kubelet/pods/more/volumes/v", POD_A),
                     "LimitReached", "can't have more: unmount one");
}
