/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selvolctl's command line: mistakes, help and completion. */
#include <string.h>

#include "ctl-support.h"
#include "wire/option-table.h"

#define OBJECTS_CALL                                                                                                    \
        GET_OBJECTS(                                                                                                    \
                "({objectpath '" PVC1                                                                                   \
                "': {'org.selvol1.Volume': {'Id': <'pvc-1'>, 'Holders': <[{'Target': <'/var/a'>}, "                     \
                "{'Target': <'/srv/b'>}]>}}, '/org/selvol1/volume/x': {'org.selvol1.Volume': {'Id': <'x\033'>}}, "      \
                "'/org/selvol1/volume/data': {'org.selvol1.Volume': {'Id': <'data'>, 'Holders': <@aa{sv} []>}}, '" JOB6 \
                "': {'org.selvol1.Job': {'Id': <uint64 6>, 'State': <'ended'>}}, '" JOB7                                \
                "': {'org.selvol1.Job': {'Id': <uint64 7>, 'State': <'walking'>}}},)")

#define MISTAKE(name, command, message) \
        { "usage/" name, command, .code = 2, .err = "selvolctl: " message "\n" }

static const Case cases[] = {
        { "complete/verb", "__complete re", .out = "relabel\n" },
        { "complete/verb-after-option", "__complete -q --json=short u", .out = "unmount\n" },
        { "complete/help", "__complete help me", .out = "metrics\n" },
        { "complete/option", "__complete mount a b c --fs-",
          .out = "--fs-type=\n--fs-group=\n--fs-group-policy=\n--fs-group-change-policy=\n" },
        { "complete/option-of-verb", "__complete unmount --t", .out = "--timeout=\n" },
        { "complete/option-without-value", "__complete plan --re",
          .out = "--relabel-by=\n--read-only\n--replace\n--release-on-umount\n" },
        { "complete/no-option", "__complete verify -- --", CALLS(OBJECTS_CALL), .out = "/\n" },
        { "complete/value", "__complete plan --policy=O", .out = "--policy=OnVolumeMount\n" },
        { "complete/value-word", "__complete plan --policy A", .out = "Always\n" },
        { "complete/value-boolean", "__complete plan --selinux-mount-supported=",
          .out = "--selinux-mount-supported=yes\n--selinux-mount-supported=no\n" },
        { "complete/value-any", "__complete mount --holder ''" },
        { "complete/value-letter", "__complete mount -o ''" },
        { "complete/source", "__complete mount --level s0 a /nowhere", .out = "/\n" },
        { "complete/too-many", "__complete cancel 1 ''" },
        { "complete/unknown", "__complete frobnicate ''" },
        { "complete/key", "__complete config JobTimeoutSec Target", .out = "TargetRoots\n" },
        { "complete/nothing", "__complete cancel", .out = "cancel\n" },
        { "complete/volume", "__complete relabel pvc-", CALLS(OBJECTS_CALL), .out = "pvc-1\n" },
        { "complete/volumes", "__complete forget a ''", CALLS(OBJECTS_CALL), .out = "pvc-1\ndata\n" },
        { "complete/target", "__complete unmount pvc-1 /v", CALLS(OBJECTS_CALL), .out = "/var/a\n/\n" },
        { "complete/volume-or-target", "__complete unmount ''", CALLS(OBJECTS_CALL, OBJECTS_CALL),
          .out = "pvc-1\ndata\n/var/a\n/srv/b\n/\n" },
        { "complete/job", "__complete cancel ''", CALLS(OBJECTS_CALL), .out = "7\n" },
        MISTAKE("verb", "frobnicate", "Unknown command 'frobnicate'. See 'selvolctl --help'."),
        MISTAKE("verb-misspelled", "mont a b c", "Unknown command 'mont'. See 'selvolctl --help'."),
        MISTAKE("verb-exchanged", "relable a", "Unknown command 'relable'. See 'selvolctl --help'."),
        MISTAKE("verb-begun", "own a 1", "Unknown command 'own'. See 'selvolctl --help'."),
        MISTAKE("verb-synonym", "rm a", "Unknown command 'rm'. Type: selvolctl forget"),
        MISTAKE("verb-synonym-of-others", "reload", "Unknown command 'reload'. Type: systemctl reload selvold"),
        MISTAKE("verb-of-before", "conflicts", "Unknown command 'conflicts'. Type: selvolctl jobs"),
        MISTAKE("verb-escaped", "'\033[2J'", "Unknown command '\\x1b[2J'. See 'selvolctl --help'."),
        MISTAKE("verb-long", "mountmountmountmountmountmountmountmount",
                "Unknown command 'mountmountmountmountmountmountmountmount'. See 'selvolctl --help'."),
        MISTAKE("key-misspelled", "config JobTimeoutSec TargetRots",
                "Unknown key 'TargetRots'. 'selvolctl config' prints the keys that are set; selvol.conf(5) has all."),
        MISTAKE("option-misspelled", "mount a b c --levle=s0", "Unknown option '--levle'. See 'selvolctl --help'."),
        MISTAKE("option-unknown", "list --frobnicate", "Unknown option '--frobnicate'. See 'selvolctl --help'."),
        MISTAKE("option-letter", "list -x", "Unknown option '-x'. See 'selvolctl --help'."),
        MISTAKE("option-without-value", "mount a b c --level", "Option --level needs a value: --level=LEVEL."),
        MISTAKE("letter-without-value", "mount a b c -o", "Option -o needs a value."),
        MISTAKE("option-with-value", "mount a b c --read-only=no", "Option --read-only takes no value."),
        MISTAKE("word", "mount a b c --policy=onvolumemount",
                "--policy=onvolumemount: must be OnVolumeMount, MountOption, Always or Recursive."),
        MISTAKE("word-part", "verify a --depth=roo", "--depth=roo: must be root or full."),
        MISTAKE("word-two", "verify a --depth='root full'", "--depth=root full: must be root or full."),
        MISTAKE("json-form", "list --json=yaml", "--json=yaml: must be short or pretty."),
        MISTAKE("operands", "mount pvc-1", "'mount' takes VOLUME SOURCE [TARGET]. See 'selvolctl mount --help'."),
        MISTAKE("unmount-operands", "unmount",
                "'unmount' takes VOLUME, TARGET, VOLUME TARGET or --holder=NAME. See 'selvolctl unmount --help'."),
        MISTAKE("unmount-all", "unmount /t --all",
                "'unmount' takes either a target, or --all or --holder. See 'selvolctl unmount --help'."),
        MISTAKE("mount-print-flags", "mount v /dev/vdb --print-flags --json",
                "'mount' takes either --print-flags or --json. See 'selvolctl mount --help'."),
        MISTAKE("since", "history --since=soon",
                "--since=soon: must be a time, such as 2h (ago), today, yesterday, \"2026-01-31 18:00\" or 2026-01-31."),
        MISTAKE("output-name", "show a -o name", "--output=name is only for 'list'."),
        MISTAKE("output", "list -o yaml", "--output=yaml: must be wide, name or json."),
        MISTAKE("sort", "list --sort=size", "--sort=size: must be id, target, holder, level, state or age."),
        MISTAKE("utf-8", "show 'pvc\xff'", "'pvc\\xff' is not UTF-8."),
        MISTAKE("utf-8-option", "mount a b c --holder='\xff'", "--holder=\\xff: must be UTF-8."),
        MISTAKE("option-of-another-verb", "unmount pvc-1 /t --level s0",
                "Option --level is not for 'unmount' (only for plan, verify, mount, adopt, relabel)."),
        MISTAKE("lines", "history -n x", "--lines=x: must be a number."),
        MISTAKE("lines-of-another-verb", "list -n 3", "Option --lines is not for 'list' (only for history)."),
        MISTAKE("json", "metrics --json", "Option --json is not for 'metrics'."),
        MISTAKE("boolean", "mount a b c --selinux-mount-supported=perhaps",
                "--selinux-mount-supported=perhaps: must be yes or no."),
        MISTAKE("timeout", "mount a b c --timeout='5 fortnights'",
                "--timeout=5 fortnights: must be a time such as 20s, 1min or 500ms."),
        MISTAKE("wait-empty", "mount a b c --wait=", "--wait=: must be a time such as 20s, 1min or 500ms."),
        MISTAKE("wait-overflow", "mount a b c --wait='18446744073709s 1s'",
                "--wait=18446744073709s 1s: must be a time such as 20s, 1min or 500ms."),
        MISTAKE("wait-verb", "adopt a b --wait=1s", "Option --wait is not for 'adopt' (only for plan, mount)."),
        MISTAKE("adopt-fs-type", "adopt a b --fs-type=ext4",
                "Option --fs-type is not for 'adopt' (only for plan, mount)."),
        MISTAKE("number", "mount a b c --max-entries-per-second=18446744073709551616",
                "--max-entries-per-second=18446744073709551616: must be a number."),
        MISTAKE("number-sign", "mount a b c --max-entries-per-second=-1",
                "--max-entries-per-second=-1: must be a number."),
        MISTAKE("force", "verify a --force",
                "Option --force is not for 'verify' (only for plan, mount, adopt, relabel, ownership)."),
        MISTAKE("no-wait", "mount a b c --no-wait",
                "Option --no-wait is not for 'mount' (only for relabel, ownership)."),
        MISTAKE("fs-group", "mount a b c --fs-group=staff",
                "--fs-group=staff: must be the number of a group, at most 4294967294."),
        MISTAKE("fs-group-none", "verify a --fs-group=4294967295",
                "--fs-group=4294967295: must be the number of a group, at most 4294967294."),
        MISTAKE("fs-group-policy", "verify a --fs-group-policy=File",
                "Option --fs-group-policy is not for 'verify' (only for plan, mount, adopt)."),
        MISTAKE("fs-group-change-policy", "relabel a --fs-group-change-policy=Always",
                "Option --fs-group-change-policy is not for 'relabel' (only for plan, mount, adopt)."),
        MISTAKE("forget/nothing", "forget",
                "'forget' takes VOLUME..., or --unused[=AGE]. See 'selvolctl forget --help'."),
        MISTAKE("forget/both", "forget a --unused",
                "'forget' takes VOLUME..., or --unused[=AGE]. See 'selvolctl forget --help'."),
        MISTAKE("forget/age", "forget --unused=old", "--unused=old: must be a time, such as 30d or 12h."),
        MISTAKE("user-namespace", "ownership a 1 --user-namespace",
                "Option --user-namespace is not for 'ownership' (only for plan, mount, adopt)."),
        MISTAKE("unmount-fs-group", "unmount a b --fs-group=1",
                "Option --fs-group is not for 'unmount' (only for plan, verify, mount, adopt)."),
        MISTAKE("quotes", "mount a b c -o 'context=\"u'",
                "--options=context=\"u: must be UTF-8, with a closing quote for each opening one."),
        { "version", "--version", .out = "selvolctl " SELVOL_VERSION "\n" },
        { "help/verb", "unmount --help",
          .out = "selvolctl [OPTIONS...] unmount [VOLUME] [TARGET]\n"
                 "\n"
                 "Unmount a volume.\n"
                 "'selvolctl umount' is the same.\n"
                 "\n"
                 "Example: selvolctl unmount pvc-1\n"
                 "\n"
                 "Mount:\n"
                 "     --holder=NAME                    Who uses the volume; TARGET if not given\n"
                 "\n"
                 "Waiting:\n"
                 "     --timeout=TIME                   How long the operation may take (default: JobTimeoutSec=)\n"
                 "\n"
                 "Output, and the command itself:\n"
                 "  -a --all                            list: also volumes that nobody holds; adopt: all mounts; "
                 "unmount: all holders\n"
                 "     --volume=ID                      The volume's id, also one that begins as a path does\n"
                 "     --json[=FORM]                    Print JSON: short or pretty\n"
                 "     --no-legend                      Print no headings and no summary\n"
                 "     --no-pager                       Do not show output in a pager\n"
                 "  -q --quiet                          Print nothing on success\n"
                 "     --ask-password                   Let polkit ask for a password (the default)\n"
                 "     --no-ask-password                Do not let polkit ask for a password\n"
                 "  -h --help                           Print this help\n"
                 "     --version                        Print the version\n" },
        { "help/verb-unknown-2", "help frobnicate", .code = 2,
          .err = "selvolctl: Unknown command 'frobnicate'. See 'selvolctl --help'.\n" },
        { "help/verb-unknown", "frobnicate --help", .code = 2,
          .err = "selvolctl: Unknown command 'frobnicate'. See 'selvolctl --help'.\n" },
};

/* Nothing is started, or waited for, to complete a word. */
TEST_FIXTURE(test_no_service, "/ctl-usage/complete/no-service") {
        release_name(f);
        test_case(f, &(Case){ .command = "__complete cancel ''" });
}

/* Without a bus. */
TEST_FIXTURE(test_no_bus, "/ctl-usage/no-bus") {
        g_autofree char *ctl = g_strdup(g_getenv("SELVOLCTL")),
                        *astray = g_strdup_printf("env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere/bus %s", ctl);

        g_setenv("SELVOLCTL", astray, TRUE);
        test_case(f, &(Case){ .command = "list",
                              .code = 1,
                              .err = "selvolctl: Can't connect to the system bus: No such file or directory\n" });
        test_case(f, &(Case){ .command = "cancel x",
                              .code = 2,
                              .err = "selvolctl: 'x' is not the number of a job. See 'selvolctl jobs'.\n" });
        test_case(f, &(Case){ .command = "list --json",
                              .code = 1,
                              .json = "{\"ErrorMessage\":\"Can't connect to the system bus: No such file or "
                                      "directory\",\"ErrorName\":\"org.freedesktop.DBus.Error.NoServer\"}" });
        g_setenv("SELVOLCTL", ctl, TRUE);
}

/* The help of a verb has the options that it takes, and no others. */
TEST_FIXTURE(test_help, "/ctl-usage/help/options") {
        static const struct {
                const char *verb;
                RequestMethod method;
        } verbs[] = {
                { "plan", METHOD_MOUNT },          { "mount", METHOD_MOUNT },     { "adopt", METHOD_ADOPT },
                { "unmount", METHOD_UNMOUNT },     { "verify", METHOD_VERIFY },   { "relabel", METHOD_RELABEL },
                { "ownership", METHOD_OWNERSHIP }, { "list", (RequestMethod) 0 },
        };

        g_autoptr(GSubprocess) all = ctl_start("--help", -1);
        g_autofree char *text = NULL;

        g_subprocess_communicate_utf8(all, NULL, NULL, &text, NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
                g_autofree char *line = g_strdup_printf("\n  %s ", verbs[i].verb);
                g_autofree char *command = g_strdup_printf("%s --help", verbs[i].verb), *out = NULL;
                g_autoptr(GSubprocess) child = ctl_start(command, -1);

                g_subprocess_communicate_utf8(child, NULL, NULL, &out, NULL, NULL);
                g_assert_nonnull(strstr(text, line));
                g_assert_nonnull(strstr(out, verbs[i].verb));
                for (size_t k = 0; k < REQUEST_OPTIONS; k++) {
                        g_autofree char *option = g_strdup_printf(" --%s%s", request_options[k].long_name,
                                                                  request_options[k].argument ? "\\[?=" : " ");

                        /* unmount takes --holder, but UnmountVolume does not. */
                        if (k == OPTION_HOLDER && verbs[i].method == METHOD_UNMOUNT)
                                continue;
                        g_assert_cmpint(g_regex_match_simple(option, out, 0, 0), ==,
                                        (request_options[k].methods & verbs[i].method) != 0);
                }
        }
}

/* The devices of this machine. */
TEST_FIXTURE(test_devices, "/ctl-usage/complete/devices") {
        g_autoptr(GDir) devices = g_dir_open("/sys/class/block", 0, NULL);
        g_autoptr(GSubprocess) child = ctl_start("__complete mount v ''", -1);
        g_autofree char *out = NULL;
        const char *name;

        g_subprocess_communicate_utf8(child, NULL, NULL, &out, NULL, NULL);
        g_assert_null(strstr(out, "/dev/loop"));
        g_assert_true(g_str_has_suffix(out, "/\n"));
        while (devices && (name = g_dir_read_name(devices))) {
                g_autofree char *line = g_strdup_printf("/dev/%s\n", name);

                if (!g_str_has_prefix(name, "loop") && !g_str_has_prefix(name, "ram") && !strchr(name, '!'))
                        g_assert_nonnull(strstr(out, line));
        }
}

void add_tests(void) {
        add_ctl_rows("/ctl-usage", cases, test_case);
}
