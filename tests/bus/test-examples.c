/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The shell functions of docs/examples tell a plugin what became of a call to a mock of org.selvol1, and so
 * does the driver examples/flexvolume. */

#include "ctl-support.h"

/* The functions wait for two minutes, which is too long for a test. The script prints the status of the CSI
 * driver, and the message. */
#define SCRIPT(file, commands)                                                                            \
        "-c 'busctl() { command busctl \"${@/--timeout=120/--timeout=1}\"; }; . \"$0/docs/examples/" file \
        "\"; " commands "' \"@SOURCE@\""
#define CSI SCRIPT("csi-node.bash", "node_unpublish_volume db /t || { grpc_status; echo \"$selvol_message\"; }")
#define FLEX(words)                                                                               \
        "-c 'busctl() { command busctl \"${@/--timeout=120/--timeout=1}\"; }; export -f busctl; " \
        "exec \"$0/examples/flexvolume\" \"$@\"' \"@SOURCE@\" " words
#define KUBELET                                                                           \
        "\"kubernetes.io/fsType\":\"\",\"kubernetes.io/mounterArgs.FsGroup\":\"1000\","   \
        "\"kubernetes.io/readwrite\":\"ro\",\"kubernetes.io/pod.namespace\":\"default\"," \
        "\"kubernetes.io/pod.name\":\"web\",\"kubernetes.io/pvOrVolumeName\":\"data\""
#define MOUNT(options) FLEX("mount /t '{" options KUBELET "}'")
#define MOUNTED(volume, source, level, reply, error, message)                                                           \
        {                                                                                                               \
                MANAGER, "MountVolume",                                                                                 \
                        "('" volume "', '" source "', '/t', {" level                                                    \
                        "'FSGroup': <uint32 1000>, 'Holder': <'default/web'>, "                                         \
                        "'ReadOnly': <true>, 'VolumeType': <'flexVolume'>, 'SELinuxRelabelPolicy': <'OnVolumeMount'>, " \
                        "'SELinuxMountSupported': <true>, 'RelabelBy': <'service'>})",                                  \
                        reply, error, message                                                                           \
        }
#define LEVEL "'SELinuxLevel': <'s0:c1,c2'>, "
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
        { "flex/init", FLEX("init"),
          .out = "{\"status\":\"Success\",\"capabilities\":{\"attach\":false,\"selinuxRelabel\":false,\"fsGroup\":false}}\n" },
        { "flex/other-word", FLEX("attach '{}' node"), .code = 1, .out = "{\"status\":\"Not supported\"}\n" },
        { "flex/mount", MOUNT("\"device\":\"/dev/vdb\",\"level\":\"s0:c1,c2\","),
          CALLS(MOUNTED("data", "/dev/vdb", LEVEL, "('u:r:t:s0', '', @a{sv} {})", NULL, NULL)),
          .out = "{\"status\":\"Success\"}\n" },
        { "flex/a-volume-and-characters", MOUNT("\"device\":\"/dev/a b\\n*\",\"volume\":\"-v\","),
          CALLS(MOUNTED("-v", "/dev/a b\\n*", "", "('', '', @a{sv} {})", NULL, NULL)),
          .out = "{\"status\":\"Success\"}\n" },
        { "flex/refused", MOUNT("\"device\":\"/dev/vdb\",\"level\":\"s0:c1,c2\","),
          CALLS(MOUNTED("data", "/dev/vdb", LEVEL, NULL, "org.selvol1.Error.ContextConflict",
                        "default/db \"has\" it.")),
          .code = 1, .out = "{\"status\":\"Failure\",\"message\":\"default/db \\\"has\\\" it.\"}\n" },
        { "flex/no-json", FLEX("mount /t no"), .code = 1,
          .out = "{\"status\":\"Failure\",\"message\":\"Too few parameters for signature.\"}\n" },
        { "flex/unmount", FLEX("unmount /t"), CALLS(UNMOUNT("", "(@a{sv} {},)", NULL, NULL)),
          .out = "{\"status\":\"Success\"}\n" },
        { "flex/no-answer", FLEX("unmount /t"), CALLS(UNMOUNT("", NULL, NULL, NULL)), .code = 1,
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
