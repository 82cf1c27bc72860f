/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of selvolctl that look at the service and the node as a whole, against a mock of org.selvol1. */
#include <string.h>
#include <unistd.h>

#include "ctl-support.h"

#define OURS  "selvold.service"
#define FIRST "17672256"

#define OF_JOB(number, run)      "SELVOL_VOLUME=pvc-1\nSELVOL_JOB=" number "\n_SYSTEMD_INVOCATION_ID=" run "\n"
#define ENDED(operation, result) "SELVOL_OPERATION=" operation "\nSELVOL_RESULT=" result "\n"
#define MOUNT                    OF_JOB("1", "a") ENDED("mount", "done") "SELVOL_TARGET=/t\n"
#define MOUNT_FIELDS \
        "SELVOL_REASON=context-mount\nSELVOL_HOLDER=pod-A\nSELVOL_CONTEXT=" CONTEXT "\nSELVOL_CALLER=uid 0, :1.42\n"

/* The record of a job follows that of what became of its files. Not of the history are what others log,
 * what has not ended, and mistakes of callers. */
#define HISTORY                                                                                                      \
        RECORD(FIRST "00000000", OURS, MOUNT "MESSAGE=Relabeled volume pvc-1.\n")                                    \
        RECORD(FIRST "00000000", OURS,                                                                               \
               MOUNT MOUNT_FIELDS "SELVOL_DURATION_USEC=18250\nSELVOL_WAIT_USEC=7\nMESSAGE=Mounted volume pvc-1.\n") \
        RECORD(FIRST "01000000", "other.service", MOUNT "MESSAGE=Forged.\n")                                         \
        RECORD(FIRST "02000000", OURS, OF_JOB("2", "a") "SELVOL_OPERATION=mount\nMESSAGE=Waiting.\n")                \
        RECORD(FIRST "03000000", OURS,                                                                               \
               OF_JOB("1", "b")                                                                                      \
                       ENDED("mount", "ContextConflict") "PRIORITY=4\nMESSAGE=Not at /u\033: pass \"WaitUSec\".\n")  \
        RECORD(FIRST "04000000", OURS,                                                                               \
               OF_JOB("2", "b") ENDED("mount", "LevelRequired") "PRIORITY=5\nMESSAGE=Mistaken.\n")                   \
        RECORD(FIRST "04000000", OURS,                                                                               \
               "SELVOL_VOLUME=pvc-1\nSELVOL_JOB=3\n" ENDED("verify", "done") "PRIORITY=6\nMESSAGE=Verified.\n")      \
        RECORD(FIRST "05000000", OURS,                                                                               \
               "SELVOL_VOLUME=pvc-2\nSELVOL_TARGET=/t\n" ENDED("release", "done") "PRIORITY=5\nMESSAGE=Released.\n")

#define MOUNTED_LINE  "2026-01-01 00:00:00 UTC uid 0: Mounted volume pvc-1. Relabeled volume pvc-1.\n"
#define REFUSED_LINE  "2026-01-01 00:00:03 UTC ContextConflict: Not at /u\\x1b: pass --wait.\n"
#define RELEASED_LINE "2026-01-01 00:00:05 UTC Released.\n"

#define NOT_KEPT                                                                                                   \
        "The history would be in the journal, but none is kept: see Storage= in journald.conf(5), and 'systemctl " \
        "status systemd-journald'."
#define NOT_ALLOWED                                                                                                 \
        "The history is in the journal, which only root and members of the group systemd-journal or adm can read. " \
        "'usermod -aG systemd-journal USER' adds one, from the next login on."

#define WAITING_JOBS                                                                                                       \
        "({objectpath '/org/selvol1/job/3': {'org.selvol1.Job': {'Id': <uint64 3>, 'Operation': <'mount'>, 'Volume': "     \
        "<'pvc-1'>, 'Target': <'/t'>, 'Holder': <'pod-B'>, 'Context': <'u:r:t:s0'>, 'State': <'waiting'>, 'StartedUSec': " \
        "<uint64 1767225600000000>, 'WaitsFor': <[{'Volume': <'pvc-1'>, 'Holder': <'pod-A'>, 'Target': <'/a\\u001b'>, "    \
        "'Context': <'u:r:t:s0:c7'>, 'SinceUSec': <uint64 1767225600000000>}, {'Target': <'/mnt'>}]>}}, "                  \
        "'/org/selvol1/job/4': {'org.selvol1.Job': {'Id': <uint64 4>, 'Operation': <'unmount'>, 'Volume': <'pvc-1'>, "     \
        "'Holder': <''>, 'State': <'waiting'>, 'WaitsFor': <[{'Job': <uint64 3>, 'Operation': <'mount'>, 'Volume': "       \
        "<'pvc-1'>, 'Target': <'/t'>}]>}}, '/org/selvol1/job/5': {'org.selvol1.Job': {'Id': <uint64 5>, 'Operation': "     \
        "<'verify'>, 'Volume': <'/x'>, 'State': <'waiting'>, 'WaitsFor': <@aa{sv} []>}}, '/org/selvol1/job/6': "           \
        "{'org.selvol1.Job': {'Id': <uint64 6>, 'State': <'running'>, 'WaitsFor': <@aa{sv} []>}}},)"
#define LATER "32503680000000000"
#define REFUSED                                                                                            \
        RECORD("5", OURS, OF_JOB("1", "a") ENDED("mount", "ContextConflict") "MESSAGE=Long ago.\n")        \
        RECORD(LATER, OURS,                                                                                \
               OF_JOB("2", "a") ENDED("mount", "GroupConflict") "MESSAGE=Failed to mount volume pvc-1.\n") \
        RECORD(LATER, OURS, OF_JOB("3", "a") ENDED("mount", "done"))
#define REFUSED_JSON                                                                                                            \
        "[{\"Operation\":\"mount\",\"Result\":\"GroupConflict\",\"Text\":\"Failed to mount volume pvc-1.\",\"TimeUSec\":" LATER \
        ",\"Volume\":\"pvc-1\"}]"
#define REFUSED_LATE_LINE "3000-01-01 00:00:00 UTC GroupConflict: Failed to mount volume pvc-1.\n"

#define VOLUMES                                                                                                   \
        "({objectpath '/a': {'org.selvol1.Volume': {'Id': <'a'>, 'LabelState': <'complete'>, 'Tainted': <true>, " \
        "'Holders': <[{'Target': <'/t'>}, {'Target': <'/u'>}]>}}, '/b': {'org.selvol1.Volume': {'Id': <'b'>, "    \
        "'LabelState': <'partial'>, 'Holders': <@aa{sv} []>}}, '/c': {'org.selvol1.Volume': {'Id': <'c'>, "       \
        "'LabelState': <'unknown'>}}},)"
#define STATUS                                                                                                       \
        CALLS(GET_MANAGER(                                                                                           \
                      "({'Version': <'1.2'>, 'SELinuxMode': <'enforcing'>, 'UnrecordedMounts': <[('v', '/t')]>},)"), \
              GET_OBJECTS(VOLUMES), GET_OBJECTS(WAITING_JOBS))

static const Case cases[] = {
        { "status/text", "status", STATUS, .journal = REFUSED,
          .out = "          Running: yes\n          Version: 1.2\n     SELinux mode: enforcing\n"
                 "Unrecorded mounts: 1\n          Volumes: 3\n          Holders: 2\n   Labels partial: 1\n"
                 "     Jobs running: 1\n     Jobs waiting: 3\n           Failed: 1\n"
                 "\nFailed in the last hour:\n  " REFUSED_LATE_LINE
                 "\nTo see more:\n  selvolctl jobs       what runs, and who waits for whom\n"
                 "  selvolctl list --all which volumes have partial labels\n"
                 "  selvolctl list       which mounts are not recorded\n"
                 "  selvolctl history    what was done before\n"
                 "  selvolctl doctor     whether this node is fit for selvol\n" },
        { "status/json", "status --json", STATUS, .journal = REFUSED,
          .json = "{\"Failed\":" REFUSED_JSON ",\"Holders\":2,\"JobsRunning\":1,\"JobsWaiting\":3,"
                  "\"LabelsPartial\":1,\"Running\":true,\"SELinuxMode\":\"enforcing\","
                  "\"UnrecordedMounts\":[[\"v\",\"/t\"]],\"Version\":\"1.2\",\"Volumes\":3}" },
        { "status/no-journal", "status --no-legend", CALLS(GET_MANAGER("(@a{sv} {},)"), NO_OBJECTS, NO_OBJECTS),
          .out = "       Running: yes\n       Volumes: 0\n       Holders: 0\nLabels partial: 0\n  Jobs running: 0\n"
                 "  Jobs waiting: 0\n\nWhat failed in the last hour is not known: 'selvolctl history' says why.\n" },
        { "status/denied", "status", CALLS(GET_MANAGER(NULL, "org.freedesktop.DBus.Error.AccessDenied", "No.")),
          .code = 4,
          .err = "selvolctl: Access denied: only root and members of the group selvol can call selvold. 'usermod -aG selvol USER' adds one, from the next login on.\n" },

        { "history/all", "history", .journal = HISTORY, .out = MOUNTED_LINE REFUSED_LINE RELEASED_LINE },
        { "history/volume", "history pvc-1", .journal = HISTORY, .out = MOUNTED_LINE REFUSED_LINE },
        { "history/target", "history /t", .journal = HISTORY, .out = MOUNTED_LINE RELEASED_LINE },
        { "history/lines", "history --lines=2", .journal = HISTORY, .out = REFUSED_LINE RELEASED_LINE },
        { "history/lines-volume", "history pvc-1 -n 1", .journal = HISTORY, .out = REFUSED_LINE },
        { "history/since", "history --since='2026-01-01 00:00:03'", .journal = HISTORY,
          .out = REFUSED_LINE RELEASED_LINE },
        { "history/until", "history --until='2026-01-01 00:00:03'", .journal = HISTORY,
          .out = MOUNTED_LINE REFUSED_LINE },
        { "history/since-day", "history -S 2026-01-02 --json", .journal = HISTORY, .json = "[]" },
        { "history/since-ago", "history --since=1h --json", .journal = HISTORY, .json = "[]" },
        { "history/failed", "history --failed", .journal = HISTORY, .out = REFUSED_LINE },
        /* Where there is no terminal. */
        { "history/empty", "history pvc-9", .journal = HISTORY },
        { "history/empty-json", "history pvc-9 --json", .journal = HISTORY, .json = "[]" },
        { "history/json", "history pvc-1 --json", .journal = HISTORY,
          .json = "[{\"Caller\":\"uid 0, :1.42\",\"Context\":\"" CONTEXT
                  "\",\"DurationUSec\":18250,\"Holder\":\"pod-A\","
                  "\"Operation\":\"mount\",\"Reason\":\"context-mount\",\"Result\":\"done\",\"Target\":\"/t\","
                  "\"Text\":\"Mounted volume pvc-1. Relabeled volume pvc-1.\",\"TimeUSec\":" FIRST "00000000,"
                  "\"Volume\":\"pvc-1\",\"WaitUSec\":7},{\"Operation\":\"mount\",\"Result\":\"ContextConflict\",\"Text\":"
                  "\"Not at /u\\u001b: pass \\\"WaitUSec\\\".\",\"TimeUSec\":" FIRST
                  "03000000,\"Volume\":\"pvc-1\"}]" },
        { "history/not-kept", "history", .code = 1, .err = "selvolctl: " NOT_KEPT "\n" },
        { "history/not-kept-json", "history pvc-1 --json", .code = 1,
          .json = "{\"ErrorMessage\":\"" NOT_KEPT "\",\"ErrorName\":\"org.freedesktop.DBus.Error.FileNotFound\"}" },
};

/* A user has a journal of his own, which is no substitute. */
TEST_FIXTURE(test_history_denied, "/ctl/history/denied") {
        static const Case denied = { .command = "history", .code = 4, .err = "selvolctl: " NOT_ALLOWED "\n" };
        g_autofree char *hide = g_strdup_printf(
                                "sh -c 'cd %s && cp system.journal user-0.journal && chmod 0 system.journal'",
                                f->journal),
                        *ctl = g_strdup(g_getenv("SELVOLCTL")),
                        *without_rights = g_strdup_printf("unshare --user %s", ctl);

        write_journal(f, HISTORY);
        g_assert_true(g_spawn_command_line_sync(hide, NULL, NULL, NULL, NULL));
        g_setenv("SELVOLCTL", without_rights, TRUE);
        test_case(f, &denied);
        g_setenv("SELVOLCTL", ctl, TRUE);
}

/* The rest of what doctor says depends on the machine. */
TEST_FIXTURE(test_doctor, "/ctl/doctor") {
        static const Exchange exchanges[] = {
                GET_OF_MANAGER("Version", "(<'1.2\033'>,)"),
                GET_OF_MANAGER("Configuration", "(<''>,)"),
                GET_OF_MANAGER("WorkerConfiguration", "(<''>,)"),
                GET_OBJECTS("({objectpath '" PVC1
                            "': {'org.selvol1.Volume': {'LastVerifiedUSec': <uint64 32503680000000000>}}},)"),
        };
        g_autoptr(GSubprocess) child = ctl_start("doctor", -1);
        g_autofree char *out = NULL, *err = NULL;
        g_autoptr(GError) error = NULL;

        serve_calls(f, exchanges, G_N_ELEMENTS(exchanges));
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(err, ==, "");
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, 1);
        g_assert_nonnull(strstr(out, "ok       bus       selvold 1.2\\x1b answers.\n"));
        g_assert_nonnull(
                strstr(out, "problem  clock     The clock is before the last time in the records, 3000-01-01 "));
}

/* To ask does not start it. */
TEST_FIXTURE(test_status_stopped, "/ctl/status/stopped") {
        static const Case stopped = {
                .command = "status",
                .code = 3, /* as of systemctl */
                .out = "Running: no\n\nTo see more:\n  selvolctl doctor     whether this node is fit for selvol\n",
        };

        release_name(f);
        test_case(f, &stopped);
}

/* Files beneath the directory ROOT, and what config says of them. */
typedef struct ConfigCase {
        Case run;
        const char *usr, *etc; /* NULL: no file */
} ConfigCase;

#define NOT_USED "selvolctl: Correct it: until then selvol uses none of these files.\n"

static const ConfigCase config_cases[] = {
        { { "none", "config --root ROOT" } },
        { { "drop-in", "config --root=ROOT",
            .out = "[Service]\n# ROOT/usr/lib/selvol/selvol.conf:2\nSELinuxMount=yes\n"
                   "# ROOT/etc/selvol/selvol.conf.d/50-x.conf:2\nJobTimeoutSec=30\n\n"
                   "[Worker]\n# ROOT/usr/lib/selvol/selvol.conf:6\nTargetRoots=/a /b\n" },
          "[Service]\nSELinuxMount=yes\nJobTimeoutSec=20\n\n[Worker]\nTargetRoots=/a /b\n",
          "[Service]\nJobTimeoutSec=30\n" },
        { { "list", "config --root=ROOT",
            .out = "[Worker]\n# ROOT/usr/lib/selvol/selvol.conf:2\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:2\n"
                   "# ROOT/etc/selvol/selvol.conf.d/50-x.conf:4\nTargetRoots=/a /b /c /d\n"
                   "# ROOT/etc/selvol/selvol.conf.d/50-x.conf:5\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:6\n"
                   "SourceRoots=/e\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:3\nLabelTypes=\n" },
          "[Worker]\nTargetRoots=/a /b\nSourceRoots=/dev\nLabelTypes=a_t\n",
          "[Worker]\nTargetRoots=/c\nLabelTypes=\nTargetRoots=/d\nSourceRoots=\nSourceRoots=/e\n" },
        { { "keys", "config MountOptions= JobTimeoutSec --root=ROOT",
            .out = "[Service]\n# ROOT/usr/lib/selvol/selvol.conf:2\nJobTimeoutSec=20\n\n"
                   "[Worker]\n# ROOT/usr/lib/selvol/selvol.conf:5\nMountOptions=a\n\n"
                   "[FileSystem ext4]\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:2\nMountOptions=b\n" },
          "[Service]\nJobTimeoutSec=20\n[Worker]\nTargetRoots=/a\nMountOptions=a\n",
          "[FileSystem ext4]\nMountOptions=b\nLabels=yes\n" },
        { { "key-not-set", "config TrustedMark --root=ROOT" }, "[Service]\nSELinuxMount=yes\n" },
        { { "changed", "config --changed --root=ROOT",
            .out = "[Service]\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:3\nJobTimeoutSec=30\n\n"
                   "[Worker]\n# ROOT/usr/lib/selvol/selvol.conf:5\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:5\n"
                   "TargetRoots=/a /b\n\n[Driver d]\n# ROOT/etc/selvol/selvol.conf.d/50-x.conf:9\nManaged=never\n" },
          "[Service]\nSELinuxMount=yes\nJobTimeoutSec=20\n[Worker]\nTargetRoots=/a\nSourceRoots=/dev\n",
          "[Service]\nSELinuxMount=yes\nJobTimeoutSec=30\n[Worker]\nTargetRoots=/b\nSourceRoots=\nSourceRoots=/dev\n"
          "[Driver d]\nManaged=never\n" },
        { { "json", "config TargetRoots --root=ROOT --json",
            .json = "[{\"Key\":\"TargetRoots\",\"Places\":[\"ROOT/usr/lib/selvol/selvol.conf:2\","
                    "\"ROOT/etc/selvol/selvol.conf.d/50-x.conf:2\"],\"Section\":\"Worker\",\"Value\":\"/a /b\"}]" },
          "[Worker]\nTargetRoots=/a\n",
          "[Worker]\nTargetRoots=/b\n" },
        /* A wrong key does not look as if it was in force. */
        { { "mistake", "config --root=ROOT", .code = 1,
            .err = "selvolctl: Configuration: ROOT/etc/selvol/selvol.conf.d/50-x.conf:2: [Service] has no key Nope=, see selvol.conf(5).\n" NOT_USED },
          "[Service]\nSELinuxMount=yes\n",
          "[Service]\nNope=1\n" },
        { { "mistake-json", "config --root=ROOT --json", .code = 1,
            .err = "selvolctl: Configuration: ROOT/usr/lib/selvol/selvol.conf:2: [Service] MetricsTextfile=/a\\x1bb is not valid: use an absolute path without '.', '..' and extra slashes, see selvol.conf(5).\n" NOT_USED },
          "[Service]\nMetricsTextfile=/a\033b\n" },
        { { "mistake-quiet", "config --root=ROOT -q", .code = 1,
            .err = "selvolctl: Configuration: ROOT/etc/selvol/selvol.conf.d/50-x.conf:1: ']' is missing at the end.\n" NOT_USED },
          "[Service]\nSELinuxMount=yes\n",
          "[Service\n" },
        { { "bytes", "config --root=ROOT", .code = 1,
            .err = "selvolctl: Invalid or incomplete multibyte or wide character\n" },
          "[Driver \xff]\nManaged=never\n" },
};

static void write_config(const char *directory, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        g_autoptr(GError) error = NULL;

        g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
        if (!text)
                return;
        g_file_set_contents(path, text, -1, &error);
        g_assert_no_error(error);
}

static char *expand(const char *text, const char *root) {
        g_auto(GStrv) parts = text ? g_strsplit(text, "ROOT", -1) : NULL;

        return parts ? g_strjoinv(root, parts) : NULL;
}

TEST_FIXTURE_ROWS(test_config, "/ctl/config", config_cases) {
        const ConfigCase *c = data;
        g_autofree char *root = g_dir_make_tmp("selvolctl-XXXXXX", NULL),
                        *usr = g_build_filename(root, "usr/lib/selvol", NULL),
                        *etc = g_build_filename(root, "etc/selvol/selvol.conf.d", NULL),
                        *remove = g_strdup_printf("rm -r '%s'", root), *command = expand(c->run.command, root),
                        *out = expand(c->run.out, root), *err = expand(c->run.err, root),
                        *json = expand(c->run.json, root);
        const Case run = { .command = command, .code = c->run.code, .out = out, .err = err, .json = json };

        write_config(usr, "selvol.conf", c->usr);
        write_config(etc, "50-x.conf", c->etc);
        test_case(f, &run);
        g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
}

#define CSI  "/var/lib/kubelet/pods/uid-1/volumes/kubernetes.io~csi/pvc-1/mount"
#define LOST "/var/lib/kubelet/lost"
/* A device that another program has mounted. */
#define FOREIGN(target, source) "{'Target': <'" target "'>, 'Source': <'" source "'>, 'FSType': <'ext4'>}"
#define UNHELD(...)             CALL("ListUnheldMounts", "()", "([" __VA_ARGS__ "],)")
#define GET_UNHELD                                                                                                    \
        UNHELD("{'Volume': <'lost'>, 'Target': <'" LOST "'>, 'Source': <'/dev/vdc'>, 'FSType': <'ext4'>}, "           \
               "{'Target': <'" CSI                                                                                    \
               "'>, 'Source': <'/dev/vdb'>, 'FSType': <'ext4'>, 'Context': <'u:r:t:s0'>}, " FOREIGN(                  \
                       "/srv/x",                                                                                      \
                       "/dev/vdf") ", " FOREIGN("/var/lib/kubelet/x",                                                 \
                                                "/dev/vde") ", " FOREIGN("/var/lib/kubelet-2/pods/uid-1/volumes/p/v", \
                                                                         "/dev/vdf"))
#define POD "/k/pods/uid-1/volumes/"
#define NO_ID(target) \
        "selvolctl: " target ": its path names no volume: adopt it with 'selvolctl adopt VOLUME TARGET'\n"
#define FOUND(holder, source, target, volume)                                                           \
        "{\"FSType\":\"ext4\",\"Holder\":\"" holder "\",\"Source\":\"" source "\",\"Target\":\"" target \
        "\",\"Volume\":\"" volume "\"}"
#define NOT_DONE "selvolctl: Nothing was adopted. To adopt these: selvolctl adopt --all /k --yes\n"

static const Case adopt_cases[] = {
        { "plan", "adopt --all /var/lib/kubelet", CALLS(GET_UNHELD),
          .out = "VOLUME HOLDER TARGET                                                            SOURCE   FS-TYPE CONTEXT\n"
                 "lost   -      /var/lib/kubelet/lost                                             /dev/vdc ext4    -\n"
                 "pvc-1  uid-1  " CSI " /dev/vdb ext4    u:r:t:s0\n"
                 "\n2 mounts listed.\n",
          .err = NO_ID(
                  "/var/lib/kubelet/x") "selvolctl: Nothing was adopted. To adopt these: selvolctl adopt --all /var/lib/kubelet --yes\n" },
        { "yes", "adopt --all /var/lib/kubelet --yes --fs-group 5",
          CALLS(GET_UNHELD,
                CALL("AdoptVolume", "('lost', '" LOST "', {'FSGroup': <uint32 5>})", "('', '', @a{sv} {})"),
                FAIL("AdoptVolume",
                     "('pvc-1', '" CSI
                     "', {'SELinuxContext': <'u:r:t:s0'>, 'SELinuxRelabelPolicy': <'OnVolumeMount'>, "
                     "'SELinuxMountSupported': <true>, 'Holder': <'uid-1'>, 'FSGroup': <uint32 5>})",
                     "org.selvol1.Error.LabelMismatch", "No.")),
          .code = 1,
          .out = "VOLUME TARGET                SOURCE   FS-TYPE\n"
                 "lost   /var/lib/kubelet/lost /dev/vdc ext4\n\n1 adopted mount listed.\n",
          .err = NO_ID("/var/lib/kubelet/x") "selvolctl: pvc-1: No.\n" },
        { "ids", "adopt --all /k --json",
          CALLS(UNHELD(FOREIGN(POD "kubernetes.io~csi/pvc-1/mount", "/dev/sdb") ", " FOREIGN(
                  POD "kubernetes.io~aws-ebs/pvc-2", "/dev/sdc") ", " FOREIGN(POD "kubernetes.io~csi/mount/mount",
                                                                              "/dev/sdd"))),
          .json = "[" FOUND("uid-1", "/dev/sdc", POD "kubernetes.io~aws-ebs/pvc-2", "pvc-2") "," FOUND(
                  "uid-1", "/dev/sdd", POD "kubernetes.io~csi/mount/mount",
                  "mount") "," FOUND("uid-1", "/dev/sdb", POD "kubernetes.io~csi/pvc-1/mount", "pvc-1") "]",
          .err = NOT_DONE },
        { "no-ids", "adopt --all /k --json",
          CALLS(UNHELD(FOREIGN(POD "kubernetes.io~csi/pvc-1/other", "/dev/sdb") ", " FOREIGN(
                  POD "kubernetes.io~csi",
                  "/dev/sdb") ", " FOREIGN("/k/pods/uid-1/volume-subpaths/pvc-1/c/0",
                                           "/dev/sdb") ", " FOREIGN("/k/plugins/kubernetes.io/csi/d/h/globalmount",
                                                                    "/dev/sdb") ", " FOREIGN("/k/mount",
                                                                                             "/dev/sdb"))),
          .json = "[]",
          .err = NO_ID("/k/mount") NO_ID("/k/plugins/kubernetes.io/csi/d/h/globalmount")
                  NO_ID("/k/pods/uid-1/volume-subpaths/pvc-1/c/0") NO_ID(POD "kubernetes.io~csi")
                          NO_ID(POD "kubernetes.io~csi/pvc-1/other") },
        { "other-device", "adopt --all /k --json",
          CALLS(UNHELD(FOREIGN("/k/pods/a/volumes/p/v", "/dev/sdb") ", " FOREIGN(
                  "/k/pods/b/volumes/p/v", "/dev/sdc") ", " FOREIGN("/k/pods/c/volumes/p/v", "/dev/sdb"))),
          .json = "[" FOUND("a", "/dev/sdb", "/k/pods/a/volumes/p/v",
                            "v") "," FOUND("c", "/dev/sdb", "/k/pods/c/volumes/p/v", "v") "]",
          .err = "selvolctl: /k/pods/b/volumes/p/v: another device is mounted with this volume id: adopt it with "
                 "'selvolctl adopt VOLUME TARGET'\n" NOT_DONE },
        { "refused", "adopt --all /k", CALLS(FAIL("ListUnheldMounts", "()", "org.selvol1.Error.Busy", "No.")),
          .code = 3, .err = "selvolctl: No.\n" },
        { "usage/relative", "adopt --all x", .code = 2,
          .err = "selvolctl: adopt --all takes one directory, an absolute path without '.', '..' and extra slashes.\n" },
        { "usage/one", "adopt v", .code = 2,
          .err = "selvolctl: 'adopt' takes VOLUME TARGET, or --all ROOT [--yes]. See 'selvolctl adopt --help'.\n" },
};

void add_tests(void) {
        add_ctl_rows("/ctl", cases, test_case);
        add_ctl_rows("/ctl/adopt-all", adopt_cases, test_case);
}
