/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The FlexVolume driver turns the words of kubelet into calls of selvold, and the answers into text for
 * kubelet. */

#include "ctl-support.h"

#define T "/var/lib/kubelet/pods/0cf08/volumes/selvol~volume/v"

/* kubelet 1.20 passes these options of each volume. */
#define POD \
        "\"kubernetes.io/fsType\":\"\",\"kubernetes.io/pod.name\":\"web\",\"kubernetes.io/pod.namespace\":\"default\",\"kubernetes.io/pod.uid\":\"0cf08\",\"kubernetes.io/pvOrVolumeName\":\"pvc-1\",\"kubernetes.io/readwrite\":\"rw\",\"kubernetes.io/serviceAccount.name\":\"\""
#define MOUNT(options) "mount " T " '{" options "}'"

#define POLICY    "'SELinuxRelabelPolicy': <'OnVolumeMount'>, "
#define SUPPORTED "'SELinuxMountSupported': <true>, "
#define SERVICE   "'RelabelBy': <'service'>"
#define HOLDER    ", 'Holder': <'default/web'>"
#define TYPE      ", 'VolumeType': <'flexVolume'>"
#define MOUNTS(volume, source, options, reply) \
        CALL("MountVolume", "('" volume "', '" source "', '" T "', {" options "})", reply)
#define MOUNTED "('" CONTEXT "', '', @a{sv} {})"
#define DEFAULT MOUNTS("pvc-1", "/dev/vdb", POLICY SUPPORTED SERVICE HOLDER TYPE, MOUNTED)
#define UNMOUNT CALL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "(@a{sv} {},)")

#define SUCCESS          "{\"status\":\"Success\"}\n"
#define FAILURE(message) "{\"status\":\"Failure\",\"message\":\"" message "\"}\n"
#define NOT_SUPPORTED    "{\"status\":\"Not supported\",\"message\":\"This driver has init, mount and unmount.\"}\n"
#define UNKNOWN(name)    FAILURE("Unknown option '" name "' of the volume: selvol-flexvolume(8) has all of them.")
#define NO_OBJECT        FAILURE("The options of the volume are not one JSON object.")

static const Case cases[] = {
        { "init", "init",
          .out = "{\"status\":\"Success\",\"capabilities\":{\"attach\":false,\"selinuxRelabel\":false,\"fsGroup\":false,"
                 "\"supportsMetrics\":true,\"requiresFSResize\":false}}\n" },
        { "no-word", "", .code = 1, .out = NOT_SUPPORTED },
        { "other-word/attach", "attach '{}' node", .code = 1, .out = NOT_SUPPORTED },
        { "other-word/getvolumename", "getvolumename '{}'", .code = 1, .out = NOT_SUPPORTED },
        { "other-word/expandfs", "expandfs '{}' /dev/vdb " T " 2 1", .code = 1, .out = NOT_SUPPORTED },
        { "other-word/beginning", "mountdevice " T " /dev/vdb '{}'", .code = 1, .out = NOT_SUPPORTED },

        { "arguments/mount-few", "mount " T, .code = 1, .out = FAILURE("Usage: volume mount DIRECTORY OPTIONS") },
        { "arguments/mount-many", "mount " T " '{}' more", .code = 1,
          .out = FAILURE("Usage: volume mount DIRECTORY OPTIONS") },
        { "arguments/unmount-few", "unmount", .code = 1, .out = FAILURE("Usage: volume unmount DIRECTORY") },
        { "arguments/unmount-many", "unmount / /", .code = 1, .out = FAILURE("Usage: volume unmount DIRECTORY") },

        { "json/empty", "mount " T " ''", .code = 1, .out = NO_OBJECT },
        { "json/broken", "mount " T " '{\"device\":\"/dev/vdb\"'", .code = 1, .out = NO_OBJECT },
        { "json/two", "mount " T " '{} {}'", .code = 1, .out = NO_OBJECT },
        { "json/array", "mount " T " '[\"device\"]'", .code = 1, .out = NO_OBJECT },
        { "json/no-utf-8", "mount " T " '{\"device\":\"\377\"}'", .code = 1, .out = NO_OBJECT },
        { "json/nul", MOUNT("\"device\":\"/dev/vdb\\u0000\""), .code = 1, .out = NO_OBJECT },
        { "json/twice", MOUNT("\"level\":\"s0:c1\",\"level\":\"s0:c2\""), .code = 1, .out = NO_OBJECT },
        { "json/number", MOUNT(POD ",\"fs-group\":1000"), .code = 1,
          .out = FAILURE("Option 'fs-group' is not a string.") },
        { "json/null", MOUNT(POD ",\"a\\u001b\":null"), .code = 1,
          .out = FAILURE("Option 'a\\\\x1b' is not a string.") },
        { "json/noncharacter", MOUNT("\"device\":\"/dev/\\uffff\""), .code = 1,
          .out = FAILURE("Option 'device' has a noncharacter of Unicode, which D-Bus does not take.") },

        { "mount/no-level", MOUNT(POD ",\"device\":\"/dev/vdb\""), CALLS(DEFAULT), .out = SUCCESS },
        { "mount/level", MOUNT(POD ",\"device\":\"/dev/vdb\",\"level\":\"s0:c10,c20\""),
          CALLS(MOUNTS("pvc-1", "/dev/vdb", "'SELinuxLevel': <'s0:c10,c20'>, " POLICY SUPPORTED SERVICE HOLDER TYPE,
                       MOUNTED)),
          .out = SUCCESS },
        { "mount/source", MOUNT(POD ",\"source\":\"/dev/vdb\""), CALLS(DEFAULT), .out = SUCCESS },
        { "mount/volume", MOUNT(POD ",\"device\":\"/dev/vdb\",\"volume\":\"disk/7\""),
          CALLS(MOUNTS("disk/7", "/dev/vdb", POLICY SUPPORTED SERVICE HOLDER TYPE, MOUNTED)), .out = SUCCESS },
        { "mount/kubelet-keys",
          MOUNT("\"kubernetes.io/fsType\":\"xfs\",\"kubernetes.io/mounterArgs.FsGroup\":\"1000\",\"kubernetes.io/readwrite\":\"ro\","
                "\"kubernetes.io/pvOrVolumeName\":\"pvc-1\",\"device\":\"/dev/vdb\""),
          CALLS(MOUNTS("pvc-1", "/dev/vdb",
                       POLICY SUPPORTED SERVICE ", 'FSType': <'xfs'>, 'ReadOnly': <true>" TYPE
                                                ", 'FSGroup': <uint32 1000>",
                       MOUNTED)),
          .out = SUCCESS },
        { "mount/no-namespace",
          MOUNT("\"kubernetes.io/pod.name\":\"web\",\"kubernetes.io/pvOrVolumeName\":\"pvc-1\",\"device\":\"/dev/vdb\""),
          CALLS(MOUNTS("pvc-1", "/dev/vdb", POLICY SUPPORTED SERVICE ", 'Holder': <'web'>" TYPE, MOUNTED)),
          .out = SUCCESS },
        { "mount/secret",
          MOUNT(POD
                ",\"device\":\"/dev/vdb\",\"kubernetes.io/secret/key\":\"c2VjcmV0\",\"kubernetes.io/later\":\"x\""),
          CALLS(DEFAULT), .out = SUCCESS },
        { "mount/all",
          MOUNT(POD
                ",\"device\":\"server:/a\",\"options\":\"noatime,nodiratime\",\"policy\":\"Recursive\",\"relabel-by\":\"none\","
                "\"selinux-mount-supported\":\"no\",\"read-only\":\"yes\",\"holder\":\"me\",\"volume-type\":\"nfs\",\"wait\":\"1min\","
                "\"fs-group\":\"7\",\"fs-group-policy\":\"File\",\"fs-group-change-policy\":\"OnRootMismatch\",\"fs-type\":\"nfs4\""),
          CALLS(MOUNTS(
                  "pvc-1", "server:/a",
                  "'SELinuxRelabelPolicy': <'Recursive'>, 'SELinuxMountSupported': <false>, 'RelabelBy': <'none'>, 'FSType': <'nfs4'>, "
                  "'MountOptions': <['noatime', 'nodiratime']>, 'ReadOnly': <true>, 'Holder': <'me'>, 'VolumeType': <'nfs'>, "
                  "'FSGroup': <uint32 7>, 'FSGroupPolicy': <'File'>, 'FSGroupChangePolicy': <'OnRootMismatch'>, 'WaitUSec': <uint64 60000000>",
                  MOUNTED)),
          .out = SUCCESS },

        { "options/no-device", MOUNT(POD), .code = 1,
          .out = FAILURE("Option device is missing: pass the device or the image that the volume is on.") },
        { "options/device-and-source", MOUNT(POD ",\"device\":\"/dev/vdb\",\"source\":\"/dev/vdc\""), .code = 1,
          .out = FAILURE("Options device and source mean the same: pass one of them.") },
        { "options/no-volume", MOUNT("\"device\":\"/dev/vdb\""), .code = 1,
          .out = FAILURE("Option volume is missing, and kubelet has passed no name of the volume.") },
        { "options/unknown", MOUNT(POD ",\"--level\":\"s0\""), .code = 1, .out = UNKNOWN("--level") },
        { "options/escaped", MOUNT(POD ",\"a\\n\\\"\":\"\""), .code = 1, .out = UNKNOWN("a\\\\x0a\\\"") },
        { "options/of-another-method", MOUNT(POD ",\"depth\":\"full\""), .code = 1, .out = UNKNOWN("depth") },
        { "options/word", MOUNT(POD ",\"policy\":\"Never\""), .code = 1,
          .out = FAILURE("Option policy: 'Never' must be OnVolumeMount, MountOption, Always or Recursive.") },
        { "options/group-of-kubelet", MOUNT("\"kubernetes.io/mounterArgs.FsGroup\":\"-1\""), .code = 1,
          .out = FAILURE(
                  "Option kubernetes.io/mounterArgs.FsGroup: '-1' must be the number of a group, at most 4294967294.") },

        { "refused/conflict", MOUNT(POD ",\"device\":\"/dev/vdb\""),
          CALLS(FAIL("MountVolume", "('pvc-1', '/dev/vdb', '" T "', {" POLICY SUPPORTED SERVICE HOLDER TYPE "})",
                     "org.selvol1.Error.ContextConflict", "It is held by default/db: pass \"WaitUSec\" to wait.")),
          .code = 1, .out = FAILURE("It is held by default/db: pass wait to wait.") },
        { "refused/no-service", "unmount " T,
          CALLS(FAIL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "org.freedesktop.DBus.Error.ServiceUnknown",
                     "No.")),
          .code = 1, .out = FAILURE("selvold is not running (No.). See 'systemctl status selvold'.") },
        { "refused/runtime", MOUNT(POD ",\"device\":\"/dev/vdb\",\"relabel-by\":\"runtime\""),
          CALLS(MOUNTS("pvc-1", "/dev/vdb", POLICY SUPPORTED "'RelabelBy': <'runtime'>" HOLDER TYPE,
                       "('', 'Z', @a{sv} {})"),
                UNMOUNT),
          .code = 1,
          .out = FAILURE(
                  "Nobody would label the files for the container: kubelet leaves that to selvold, and selvold to the container runtime. "
                  "Pass level, with relabel-by=service, or relabel-by=none if the container relies on no labels.") },
        { "refused/runtime-and-busy", MOUNT(POD ",\"device\":\"/dev/vdb\""),
          CALLS(MOUNTS("pvc-1", "/dev/vdb", POLICY SUPPORTED SERVICE HOLDER TYPE, "('', 'Z', @a{sv} {})"),
                FAIL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "Files are open.")),
          .code = 1, .out = FAILURE("Files are open.") },
        { "refused/text-for-terminals", "unmount " T,
          CALLS(FAIL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "a\"\n\033.")),
          .code = 1, .out = FAILURE("a\\\" \\u001B.") },

        { "unmount", "unmount " T, CALLS(UNMOUNT), .out = SUCCESS },
        { "unmount/outside", "unmount " T,
          CALLS(FAIL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "org.selvol1.Error.PathNotAllowed",
                     "It is not beneath an allowed directory.")),
          .out = SUCCESS },
        { "unmount/unheld", "unmount " T,
          CALLS(FAIL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "org.selvol1.Error.NoSuchVolume",
                     "No volume is held there.")),
          .out = SUCCESS },
        { "unmount/no-utf-8", "unmount /\377", .code = 1, .out = FAILURE("Invalid argument") },
};

static const Case flooded_cases[] = {
        { "mount", MOUNT(POD ",\"device\":\"/dev/vdb\""), CALLS(DEFAULT), .out = SUCCESS },
        { "unmount", "unmount " T, CALLS(UNMOUNT), .out = SUCCESS },
        { "unmount-again", MOUNT(POD ",\"device\":\"/dev/vdb\",\"relabel-by\":\"runtime\""),
          CALLS(MOUNTS("pvc-1", "/dev/vdb", POLICY SUPPORTED "'RelabelBy': <'runtime'>" HOLDER TYPE,
                       "('', 'Z', @a{sv} {})"),
                FAIL("UnmountVolume", "('', '" T "', " NO_OPTIONS ")", "org.selvol1.Error.Busy", "Files are open.")),
          .code = 1, .out = FAILURE("Files are open.") },
};

TEST_FIXTURE_ROWS(test_flooded, "/flexvolume/flooded", flooded_cases) {
        test_flooded_case(f, data);
}

TEST_FIXTURE(test_no_bus, "/flexvolume/no-bus") {
        g_autofree char *driver = g_strdup(g_getenv("SELVOLCTL")),
                        *elsewhere = g_strdup_printf("env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent %s", driver);

        g_setenv("SELVOLCTL", elsewhere, TRUE);
        test_case(f, &(Case){ .command = "unmount " T,
                              .code = 1,
                              .out = FAILURE("Can't connect to the system bus: No such file or directory") });
        g_setenv("SELVOLCTL", driver, TRUE);
}

void add_tests(void) {
        add_ctl_rows("/flexvolume", cases, test_case);
}
