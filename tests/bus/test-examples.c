/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The shell functions of docs/examples tell a plugin what became of a call to a mock of org.selvol1. */

#include "ctl-support.h"

/* The functions wait for two minutes, which is too long for a test. The script prints the status of the CSI
 * driver, and the message. */
#define SCRIPT(file, commands)                                                                            \
        "-c 'busctl() { command busctl \"${@/--timeout=120/--timeout=1}\"; }; . \"$0/docs/examples/" file \
        "\"; " commands "' \"@SOURCE@\""
#define CSI  SCRIPT("csi-node.bash", "node_unpublish_volume db /t || { grpc_status; echo \"$selvol_message\"; }")
#define FLEX SCRIPT("flexvolume.bash", "flex_unmount /t")
#define UNMOUNT(volume, reply, error, message) \
        { MANAGER, "UnmountVolume", "('" volume "', '/t', " NO_OPTIONS ")", reply, error, message }
#define DB "disk.example.org:db"

/* An exchange with neither a reply nor an error gets no answer. */
static const Case cases[] = {
        { "csi/success", CSI, CALLS(UNMOUNT(DB, "(@a{sv} {},)", NULL, NULL)), .out = "" },
        { "csi/refused", CSI, CALLS(UNMOUNT(DB, NULL, "org.selvol1.Error.Busy", "Files are open.")),
          .out = "ABORTED\nFiles are open.\n" },
        { "csi/no-answer", CSI, CALLS(UNMOUNT(DB, NULL, NULL, NULL)),
          .out = "DEADLINE_EXCEEDED\nConnection timed out\n" },
        { "csi/wrong-arguments",
          SCRIPT("csi-node.bash",
                 "node_publish_volume db /dev/vdb /t false staff || { grpc_status; echo \"${selvol_message%% *}\"; }"),
          .out = "INVALID_ARGUMENT\nFailed\n" },
        { "flex/no-answer", FLEX, CALLS(UNMOUNT("", NULL, NULL, NULL)), .code = 1,
          .out = "{\"status\":\"Failure\",\"message\":\"Connection timed out\"}\n" },
};

TEST_FIXTURE_ROWS(test_script, "/examples", cases) {
        const Case *c = data;
        const Exchange *x = &c->exchanges[0];
        g_autoptr(GString) command = g_string_new(c->command);
        g_autoptr(GDBusMethodInvocation) call = NULL;
        g_autoptr(GSubprocess) child = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *out = NULL;

        if (!g_file_test("/usr/bin/busctl", G_FILE_TEST_EXISTS)) {
                g_test_skip("busctl(1) is not installed");
                return;
        }
        g_string_replace(command, "@SOURCE@", g_test_get_dir(G_TEST_DIST), 0);
        child = ctl_start(command->str, -1);
        if (x->method)
                call = await_call(f, x);
        if (x->reply || x->error)
                answer_call(call, x);
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(out, ==, c->out);
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, c->code);
        if (x->method && !x->reply && !x->error)
                g_dbus_method_invocation_return_dbus_error(g_steal_pointer(&call), "org.selvol1.Error.Busy", "Late.");
}
