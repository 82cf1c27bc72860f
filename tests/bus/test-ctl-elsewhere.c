/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl names processes that have a device mounted in their own mount namespaces. */
#include <signal.h>
#include <unistd.h>

#include "ctl-support.h"
#include "support/files.h"
#include "support/program.h"
#include "support/wait.h"

/* Processes with mount namespaces of their own, of which each has what the first one has mounted. */
typedef struct Elsewhere {
        char *directory, *log;
        GPid pid; /* 0: there are none */
} Elsewhere;

/* mount: a command that mounts at "$1"; the first line of the log has the number of the device then. Returns
 * false, and marks the test as skipped, if that is not possible here. */
static bool elsewhere_start(Elsewhere *e, const char *mount, unsigned n) {
        g_autofree char *script =
                g_strdup_printf("{ %s; } && mountpoint -d \"$1\" && for i in $(seq 2 %u); do "
                                "unshare --mount --propagation private sh -c 'echo ready; exec sleep 1000' & done; "
                                "echo ready; exec sleep 1000",
                                mount, n);

        e->directory = g_dir_make_tmp("selvolctl-elsewhere-XXXXXX", NULL);
        e->log = g_strdup_printf("%s.log", e->directory);
        e->pid = launch(&(Launch){ .log = e->log }, "unshare", "--mount", "--propagation", "private", "--pid",
                        "--fork", "--kill-child", "sh", "-c", script, "sh", e->directory, NULL);
        WAIT_FOR(file_count_lines(e->log, "ready") == n || program_get_end(e->pid) >= 0);
        if (file_count_lines(e->log, "*:*") > 0 && program_get_end(e->pid) < 0)
                return true;
        g_test_skip("no mount namespace, or nothing to mount there");
        return false;
}

static void elsewhere_end(Elsewhere *e) {
        if (e->pid > 0 && program_get_end(e->pid) < 0)
                (void) program_end(e->pid, SIGKILL);
        if (e->log)
                (void) unlink(e->log);
        if (e->directory)
                (void) rmdir(e->directory);
        g_free(e->log);
        g_free(e->directory);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Elsewhere, elsewhere_end)

/* After an unmount whose device is still in use by so many, selvolctl says so. */
typedef struct UsersCase {
        const char *name;
        unsigned n;
        const char *users, *note; /* as regular expressions */
} UsersCase;

#define USER        "process [0-9]+ \\((sh|sleep|unshare)\\) at /[^ ]*/selvolctl-elsewhere-[^ ,]+"
#define IN_OWN_NOTE "a process has it mounted in its own mount namespace\\."
static const UsersCase users_cases[] = {
        { "none", 0, NULL, "but not by a mount in another mount namespace" },
        { "one", 1, USER, IN_OWN_NOTE },
        { "three", 3, USER ", " USER ", " USER, IN_OWN_NOTE },
        { "five", 5, USER ", " USER ", " USER ", and 2 more", IN_OWN_NOTE },
};

TEST_FIXTURE_ROWS(test_users, "/ctl/unmount/still-open", users_cases) {
        const UsersCase *row = data;
        g_auto(Elsewhere) elsewhere = { 0 };
        g_autofree char *device = NULL, *reply = NULL, *pattern = NULL, *out = NULL, *err = NULL;
        g_autoptr(GSubprocess) child = NULL;
        g_autoptr(GError) error = NULL;

        if (geteuid() != 0)
                return g_test_skip("only root can look into other mount namespaces");
        if (row->n > 0 && !elsewhere_start(&elsewhere, "mount -t tmpfs x \"$1\"", row->n))
                return;
        device = row->n > 0 ? file_read(elsewhere.log) : g_strdup("4095:9");
        device[strcspn(device, "\n")] = '\0';
        reply = g_strdup_printf("({'Unmounted': <true>, 'StillOpen': <true>, 'Device': <'%s'>},)", device);
        const Exchange exchange = CALL("UnmountVolume", "('', '/t', " NO_OPTIONS ")", reply);

        child = ctl_start("unmount /t", -1);
        serve_calls(f, &exchange, 1);
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, &err, &error);
        g_assert_no_error(error);
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, 0);
        pattern = g_strdup_printf("^    Target: /t\n Unmounted: yes\nStill open: yes\n    Device: %s\n%s%s%s$",
                                  device, row->users ? "Mounted by: " : "", row->users ?: "", row->users ? "\n" : "");
        if (!g_regex_match_simple(pattern, out, 0, 0))
                g_error("%s does not match %s", out, pattern);
        g_assert_true(g_str_has_prefix(err, "selvolctl: /t: The device is still in use"));
        g_assert_true(g_regex_match_simple(row->note, err, 0, 0));
}

/* doctor finds the devices of a volume's source itself. */
typedef struct KeptCase {
        const char *name;
        bool of_image, held, inside; /* inside: doctor runs in one of the mount namespaces */
        bool told;
} KeptCase;

static const KeptCase kept_cases[] = {
        { "device", .told = true },
        { "image", .of_image = true, .told = true },
        { "held", .held = true },
        { "seen", .inside = true },
};

#define MOUNT_IMAGE "truncate -s 16M \"$1.img\" && mkfs.ext4 -q \"$1.img\" && mount -o loop \"$1.img\" \"$1\""

static char *run_doctor(Fixture *f, const char *source, bool held) {
        g_autofree char *objects =
                g_strdup_printf("({objectpath '" PVC1
                                "': {'org.selvol1.Volume': {'Id': <'pvc-1'>, 'Source': <'%s'>, 'Holders': <%s>}}},)",
                                source, held ? "[{'Target': <'/t'>}]" : "@aa{sv} []");
        const Exchange exchanges[] = {
                GET_OF_MANAGER("Version", "(<'1.2'>,)"),
                GET_OF_MANAGER("Configuration", "(<''>,)"),
                GET_OF_MANAGER("WorkerConfiguration", "(<''>,)"),
                GET_OBJECTS(objects),
        };
        g_autoptr(GSubprocess) child = ctl_start("doctor", -1);
        g_autoptr(GError) error = NULL;
        char *out;

        serve_calls(f, exchanges, G_N_ELEMENTS(exchanges));
        g_subprocess_communicate_utf8(child, NULL, NULL, &out, NULL, &error);
        g_assert_no_error(error);
        return out;
}

TEST_FIXTURE_ROWS(test_kept, "/ctl/doctor/volumes", kept_cases) {
        const KeptCase *row = data;
        g_autofree char *ctl = g_strdup(g_getenv("SELVOLCTL")), *image = NULL, *log = NULL, *source = NULL,
                        *out = NULL;
        g_auto(Elsewhere) elsewhere = { 0 };

        if (geteuid() != 0)
                return g_test_skip("only root can look into other mount namespaces");
        if (!elsewhere_start(&elsewhere, MOUNT_IMAGE, 2))
                return;
        image = g_strdup_printf("%s.img", elsewhere.directory);
        log = file_read(elsewhere.log);
        source = row->of_image ? g_strdup(image) : g_strdup_printf("/dev/loop%i", atoi(strchr(log, ':') + 1));
        if (row->inside) {
                g_autofree char *in_namespace = g_strdup_printf(
                        "nsenter --mount --target %i %s", (int) wait_for_child(elsewhere.pid, CHILDREN_ALL), ctl);

                g_setenv("SELVOLCTL", in_namespace, TRUE);
        }
        out = run_doctor(f, source, row->held);
        g_setenv("SELVOLCTL", ctl, TRUE);
        must(unlink(image));
        if (!g_regex_match_simple(
                    row->told ? "\nwarning  volumes   Nobody holds volume pvc-1, but another mount namespace "
                                "has it mounted: " USER ", " USER "\\.\n"
                              : "\nok       volumes   No volume that nobody holds is mounted in another "
                                "mount namespace\\.\n",
                    out, 0, 0))
                g_error("%s", out);
}
