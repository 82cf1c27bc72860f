/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mount.selvol calls a mock of org.selvol1 on a private bus, by itself, and started by mount(8). The cases
 * have its calls, texts and exit statuses. */
#include <signal.h>
#include <unistd.h>

#include "ctl-support.h"

#define PREFERRED "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>"
#define LEVEL     "'SELinuxLevel': <'s0:c1,c2'>"
#define RELEASE   "'ReleaseOnUmount': <true>"
#define HOLDER    "'Holder': <'mount:/t'>, " RELEASE
#define MOUNTED \
        "('" CONTEXT "', '', {'Strategy': <'context-mount'>, 'Text': <'No file is changed.'>, 'MountID': <uint64 7>})"
#define UNLABELED(reason) "('', '', {'Strategy': <'none'>, 'Reason': <'" reason "'>, 'Text': <'Why.'>})"
#define MOUNT(options)    CALLS(CALL("MountVolume", "('db', '/dev/vdb', '/t', {" options "})", MOUNTED))
#define REFUSED(error, message) \
        CALLS(FAIL("MountVolume", "('db', '/dev/vdb', '/t', {" HOLDER "})", "org.selvol1.Error." error, message))
#define USAGE                                                                                                          \
        "mount.selvol: Usage: mount.selvol SOURCE DIRECTORY [-fnsv] [-o OPTIONS] [-t TYPE]. It is made for mount(8): " \
        "mount -t selvol -o 'volume=ID,level=\"LEVEL\"' SOURCE DIRECTORY\n"
#define COMMA(option, value, rest)                                                                               \
        "mount.selvol: A comma ends an option unless it is in double quotes: write " option "=\"" value "," rest \
        "\". A shell takes such quotes away: there put all options in single quotes, as in "                     \
        "-o 'volume=db,level=\"s0:c1,c2\"'.\n"
#define LINE(options)                                                                                 \
        "mount.selvol: If it is to be mounted at boot, the line in fstab that waits for selvold is: " \
        "/dev/vdb /t selvol " options ",nofail,x-systemd.requires=selvol.target 0 0\n"

static const Case cases[] = {
        { "usage/none", "", .code = 1, .err = USAGE },
        { "usage/three", "/dev/vdb /t /u", .code = 1, .err = USAGE },
        { "usage/switch", "/dev/vdb /t -x", .code = 1, .err = USAGE },
        { "usage/no-value", "/dev/vdb /t -o", .code = 1, .err = USAGE },
        { "usage/namespace", "/dev/vdb /t -N 7 -o volume=db", .code = 1,
          .err = "mount.selvol: -N is not possible: selvold mounts in the mount namespace of the host. Leave it out, or "
                 "mount without selvol.\n" },
        { "usage/no-volume", "/dev/vdb /t -o rw,volume=", .code = 1,
          .err = "mount.selvol: Option volume= is missing: the id under which selvold knows the volume, such as volume=db.\n" },
        { "usage/remount", "/dev/vdb /t -o rw,remount,volume=db", .code = 1,
          .err = "mount.selvol: A mount of selvol's can't be changed by a remount: unmount it, and mount it with the options "
                 "that it is to have.\n" },
        { "usage/utf8", "/dev/vdb '/t\377' -o volume=db", .code = 1,
          .err = "mount.selvol: Source, directory, type and volume have to be UTF-8: '/dev/vdb' at '/t\\xff', volume=db.\n" },
        { "usage/open-quote", "/dev/vdb /t -o 'volume=db,level=\"s0'", .code = 1,
          .err = "mount.selvol: A double quote in the options has no end: volume=db,level=\"s0\n" },
        { "usage/terminal", "/dev/vdb /t -o volume=db,wait=\033[1m", .code = 1,
          .err = "mount.selvol: wait=\\x1b[1m: must be a time such as 20s, 1min or 500ms.\n" },

        { "level/quoted", "/dev/vdb /t -o 'rw,volume=db,level=\"s0:c1,c2\"'",
          MOUNT(LEVEL ", " PREFERRED ", " HOLDER) },
        { "level/unquoted", "/dev/vdb /t -o rw,volume=db,level=s0:c1,c2", .code = 1,
          .err = COMMA("level", "s0:c1", "c2") },
        { "level/unquoted-categories", "/dev/vdb /t -o volume=db,level=s0:c1,c2,c3.c5,ro,c7", .code = 1,
          .err = COMMA("level", "s0:c1", "c2,c3.c5,c7") },
        { "level/unquoted-context", "/dev/vdb /t -o volume=db,context=u:r:t:s0:c1,c2.c5", .code = 1,
          .err = COMMA("context", "u:r:t:s0:c1", "c2.c5") },
        { "level/context", "/dev/vdb /t -o 'volume=db,context=\"u:r:t:s0:c1,c2\"'",
          MOUNT("'SELinuxContext': <'u:r:t:s0:c1,c2'>, " PREFERRED ", " HOLDER) },
        { "level/relabel-by", "/dev/vdb /t -o volume=db,level=s0:c1,relabel-by=service",
          MOUNT("'SELinuxLevel': <'s0:c1'>, " PREFERRED ", 'RelabelBy': <'service'>, " HOLDER) },
        { "level/policy", "/dev/vdb /t -o volume=db,level=s0:c1,policy=Always,relabel-by=service",
          MOUNT("'SELinuxLevel': <'s0:c1'>, 'SELinuxRelabelPolicy': <'Always'>, 'RelabelBy': <'service'>, " HOLDER) },

        { "options/none", "/dev/vdb /t -o volume=db", MOUNT(HOLDER) },
        { "options/type", "/dev/vdb /t -o volume=db -t selvol.ext4", MOUNT("'FSType': <'ext4'>, " HOLDER) },
        { "options/holder", "/dev/vdb /t -o volume=db,holder=backup", MOUNT("'Holder': <'backup'>, " RELEASE) },
        { "options/unnamed-holder", "/dev/vdb '/t,x' -o volume=db",
          CALLS(CALL("MountVolume", "('db', '/dev/vdb', '/t,x', {" RELEASE "})", MOUNTED)) },
        { "options/read-only", "/dev/vdb /t -o rw,volume=db,ro", MOUNT("'ReadOnly': <true>, " HOLDER) },
        { "options/read-write", "/dev/vdb /t -o ro,volume=db,rw", MOUNT(HOLDER) },
        { "options/of-mount",
          "/dev/vdb /t -n -s -o defaults,nofail,_netdev,auto,noauto,user,nouser,users,owner,group,volume=db "
          "-o user=root,comment=a,uhelper=b,x-systemd.requires=c,X-d",
          MOUNT(HOLDER) },
        { "options/of-the-file-system", "/dev/vdb /t -o noexec,volume=db,noatime,data=ordered,options=x,c1",
          MOUNT("'MountOptions': <['noexec', 'noatime', 'data=ordered', 'options=x', 'c1']>, " HOLDER) },
        { "options/values",
          "/dev/vdb /t -o volume=db,fs-group=7,force,user-namespace=no,max-entries-per-second=9,wait,timeout=1min",
          MOUNT("'Holder': <'mount:/t'>, 'FSGroup': <uint32 7>, 'UserNamespace': <false>, " RELEASE
                ", 'Force': <true>, 'MaxEntriesPerSecond': "
                "<uint64 9>, 'WaitUSec': <uint64 3600000000>, 'TimeoutUSec': <uint64 60000000>") },
        { "options/release-on-umount", "/dev/vdb /t -o volume=db,release-on-umount", MOUNT(HOLDER) },
        { "options/no-release-on-umount", "/dev/vdb /t -o volume=db,release-on-umount=no",
          MOUNT("'Holder': <'mount:/t'>, 'ReleaseOnUmount': <false>") },
        { "options/no-value", "/dev/vdb /t -o volume=db,fs-group", .code = 1,
          .err = "mount.selvol: Option fs-group needs a value: fs-group=GID.\n" },
        { "options/bad-value", "/dev/vdb /t -o volume=db,relabel-by=me", .code = 1,
          .err = "mount.selvol: relabel-by=me: must be runtime, service or none.\n" },

        { "fake/silent", "/dev/vdb /t -f -o volume=db" },
        { "fake/verbose", "/dev/vdb /t -f -v -o volume=db",
          .err = "mount.selvol: /dev/vdb, volume db, would be mounted at /t; nothing was done.\n" },
        { "fake/wrong", "/dev/vdb /t -f -o volume=db,level=s0:c1,c2", .code = 1,
          .err = COMMA("level", "s0:c1", "c2") },
        { "verbose", "/dev/vdb /t -v -o volume=db", MOUNT(HOLDER),
          .err = "mount.selvol: /dev/vdb, volume db, is mounted at /t with context " CONTEXT
                 ". No file is changed.\n" },

        { "label/runtime", "/dev/vdb /t -o volume=db,level=s0:c1,policy=Always",
          CALLS(CALL(
                  "MountVolume",
                  "('db', '/dev/vdb', '/t', {'SELinuxLevel': <'s0:c1'>, 'SELinuxRelabelPolicy': <'Always'>, " HOLDER
                  "})",
                  "('u:r:t:s0:c1', 'Z', {'Strategy': <'relabel'>, 'Reason': <'policy-always'>, 'Text': <'Why.'>})")),
          .err = "mount.selvol: Warning: the files of volume db are not labeled: that is left to a container runtime. "
                 "Pass relabel-by=service to have selvold do it, or relabel-by=none if nobody relies on labels.\n" },
        { "label/no-level", "/dev/vdb /t -o volume=db",
          CALLS(CALL("MountVolume", "('db', '/dev/vdb', '/t', {" HOLDER "})",
                     "('', 'Z', {'Strategy': <'relabel'>, 'Reason': <'policy-always'>, 'Text': <'Why.'>})")),
          .err = "mount.selvol: Warning: the files of volume db are not labeled, as no level was passed. Pass "
                 "level=LEVEL, or relabel-by=none if nobody relies on labels.\n" },
        { "label/unused", "server:/db /t -v -o volume=db,level=s0:c1",
          CALLS(CALL("MountVolume", "('db', 'server:/db', '/t', {'SELinuxLevel': <'s0:c1'>, " HOLDER "})",
                     UNLABELED("no-seclabel"))),
          .err = "mount.selvol: server:/db, volume db, is mounted at /t. Why.\n"
                 "mount.selvol: Warning: volume db is mounted without the label that was passed. Why. Pass "
                 "policy=OnVolumeMount,selinux-mount-supported=yes to have it mounted with the label, or relabel-by=none "
                 "if nobody relies on labels.\n" },
        { "label/option", "/dev/vdb /t -v -o volume=db,relabel-by=none",
          CALLS(CALL(
                  "MountVolume", "('db', '/dev/vdb', '/t', {'RelabelBy': <'none'>, " HOLDER "})",
                  "('', '', {'Strategy': <'none'>, 'Text': <'\"RelabelBy\" is none: the files keep their labels.'>})")),
          .err = "mount.selvol: /dev/vdb, volume db, is mounted at /t. relabel-by is none: the files keep their labels.\n" },
        { "label/no-label", "server:/db /t -o volume=db",
          CALLS(CALL("MountVolume", "('db', 'server:/db', '/t', {" HOLDER "})", UNLABELED("no-seclabel"))) },
        { "label/no-selinux", "server:/db /t -o volume=db,level=s0:c1",
          CALLS(CALL("MountVolume", "('db', 'server:/db', '/t', {'SELinuxLevel': <'s0:c1'>, " HOLDER "})",
                     UNLABELED("selinux-disabled"))) },
        { "label/of-no-matter", "server:/db /t -o volume=db,level=s0:c1,relabel-by=none",
          CALLS(CALL("MountVolume",
                     "('db', 'server:/db', '/t', {'SELinuxLevel': <'s0:c1'>, 'RelabelBy': <'none'>, " HOLDER "})",
                     UNLABELED("no-seclabel"))) },

        { "refused/conflict", "/dev/vdb /t -o volume=db",
          REFUSED("ContextConflict", "Held by pod-A. Pass \"WaitUSec\" to wait."), .code = 32,
          .err = "mount.selvol: Held by pod-A. Pass wait to wait.\n" },
        { "refused/two-lines", "/dev/vdb /t -o volume=db",
          REFUSED("ContextConflict", "Held by pod-A.\nPass \"WaitUSec\" to wait."), .code = 32,
          .err = "mount.selvol: Held by pod-A.\nmount.selvol: Pass wait to wait.\n" },
        { "refused/timed-out", "/dev/vdb /t -o volume=db", REFUSED("TimedOut", "Too slow\033."), .code = 32,
          .err = "mount.selvol: Too slow\\x1b.\n" },
};

/* mount(8) looks for helpers only in /sbin. Before a remount mount(8) of util-linux 2.41 looks for the
 * directory. */
#define AS_MOUNT \
        "unshare --mount sh -c 'mount -t tmpfs helpers /usr/sbin && cp \"$0\" /usr/sbin/mount.selvol && exec \"$@\"' "

static const Case mount_cases[] = {
        { "options",
          "mount -t selvol -o 'volume=db,level=\"s0:c1,c2\",noatime,nofail,x-systemd.requires=selvol.target' /dev/vdb /t",
          MOUNT(LEVEL ", " PREFERRED ", 'MountOptions': <['noatime']>, " HOLDER) },
        { "type", "mount -t selvol.ext4 -r -o volume=db /dev/vdb /t",
          MOUNT("'FSType': <'ext4'>, 'ReadOnly': <true>, " HOLDER) },
        { "unquoted", "mount -t selvol -o volume=db,level=s0:c1,c2 /dev/vdb /t", .code = 1,
          .err = COMMA("level", "s0:c1", "c2") },
        { "fake", "mount -f -v -t selvol -o volume=db /dev/vdb /t",
          .err = "mount.selvol: /dev/vdb, volume db, would be mounted at /t; nothing was done.\n" },
        { "remount", "mount -t selvol -o remount,volume=db /dev/vdb /tmp", .code = 1,
          .err = "mount.selvol: A mount of selvol's can't be changed by a remount: unmount it, and mount it with the options "
                 "that it is to have.\n" },
        { "refused", "mount -t selvol -o volume=db /dev/vdb /t", REFUSED("ContextConflict", "Held by pod-A."),
          .code = 32, .err = "mount.selvol: Held by pod-A.\n" },
        { "fstab",
          "sh -c 'echo \"/dev/vdb /t selvol volume=db,level=\\\"s0:c1,c2\\\",ro,users,nofail,x-systemd.requires=selvol.target\" "
          ">/usr/sbin/fstab; exec mount -T /usr/sbin/fstab /t'",
          MOUNT(LEVEL ", " PREFERRED
                      ", 'MountOptions': <['noexec', 'nosuid', 'nodev']>, 'ReadOnly': <true>, " HOLDER) },
};

/* Runs the words before the helper, which becomes their last argument. */
static void run_with(Fixture *f, const Case *c, const char *before) {
        g_autofree char *helper = g_strdup(g_getenv("SELVOLCTL")), *program = g_strdup_printf("%s%s", before, helper);

        g_setenv("SELVOLCTL", program, TRUE);
        test_case(f, c);
        g_setenv("SELVOLCTL", helper, TRUE);
}

TEST_FIXTURE_ROWS(test_mount, "/mount-helper/mount", mount_cases) {
        if (geteuid() != 0)
                g_test_skip("only root can put a helper where mount(8) looks for it");
        else
                run_with(f, data, AS_MOUNT);
}

#define NO_BUS "mount.selvol: Can't connect to the system bus: No such file or directory\n"

static const Case no_bus_cases[] = {
        { "no-bus", "/dev/vdb /t -o 'rw,nofail,volume=db,level=\"s0:c1,c2\"'", .code = 32,
          .err = NO_BUS LINE("volume=db,level=\"s0:c1,c2\"") },
        { "fstab", "'#src' '/t #' -o volume=db -t selvol.tmpfs", .code = 32,
          .err = NO_BUS "mount.selvol: If it is to be mounted at boot, the line in fstab that waits for selvold is: "
                        "\\043src /t\\040# selvol.tmpfs volume=db,nofail,x-systemd.requires=selvol.target 0 0\n" },
};

TEST_FIXTURE_ROWS(test_no_bus, "/mount-helper", no_bus_cases) {
        run_with(f, data, "env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent ");
}

TEST_FIXTURE(test_no_service, "/mount-helper/no-service") {
        release_name(f);
        test_case(
                f,
                &(Case){
                        .command = "/dev/vdb /t -o volume=db",
                        .code = 32,
                        .err = "mount.selvol: selvold is not running (The name org.selvol1 was not provided by any .service files). See 'systemctl status selvold'.\n" LINE(
                                "volume=db") });
}

static const Case flooded_cases[] = {
        { "mounted", "/dev/vdb /t -v -o volume=db", MOUNT(HOLDER),
          .err = "mount.selvol: /dev/vdb, volume db, is mounted at /t with context " CONTEXT
                 ". No file is changed.\n" },
        { "refused", "/dev/vdb /t -o volume=db", REFUSED("ContextConflict", "Held by pod-A."), .code = 32,
          .err = "mount.selvol: Held by pod-A.\n" },
};

TEST_FIXTURE_ROWS(test_flooded, "/mount-helper/flooded", flooded_cases) {
        test_flooded_case(f, data);
}

/* systemd sends SIGTERM when the time of a mount unit is over. */
static void test_signal(Fixture *f, gconstpointer data) {
        static const Case c = { .exchanges = MOUNT(HOLDER) };
        g_autoptr(GSubprocess) child = ctl_start("/dev/vdb /t -o volume=db", -1);
        g_autoptr(GDBusMethodInvocation) call = await_call(f, &c.exchanges[0]);
        g_autoptr(GError) error = NULL;
        g_autofree char *err = NULL;

        g_subprocess_send_signal(child, GPOINTER_TO_INT(data));
        g_subprocess_communicate_utf8(child, NULL, NULL, NULL, &err, &error);
        g_assert_no_error(error);
        g_assert_true(g_subprocess_get_if_exited(child));
        g_assert_cmpint(g_subprocess_get_exit_status(child), ==, 8);
        g_assert_cmpstr(
                err, ==,
                "mount.selvol: Interrupted. selvold goes on with what it has begun: the same command collects the result, 'selvolctl jobs' shows it.\n");
        answer_call(call, &c.exchanges[0]);
}

void add_tests(void) {
        add_ctl_rows("/mount-helper", cases, test_case);
        g_test_add("/mount-helper/interrupt", Fixture, GINT_TO_POINTER(SIGINT), fixture_set_up, test_signal,
                   fixture_tear_down);
        g_test_add("/mount-helper/terminate", Fixture, GINT_TO_POINTER(SIGTERM), fixture_set_up, test_signal,
                   fixture_tear_down);
}
