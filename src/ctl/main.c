/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>
#include <signal.h>

#include "ctl/agent.h"
#include "ctl/verbs.h"
#include "selvol-config.h"

#define BIT(option) (1u << (option))

_Static_assert(REQUEST_OPTIONS < 32, "sets of options are bits of an int");

enum {
        OPTIONS_NONE = 0,
        OPTIONS_REQUEST = BIT(OPTION_DEPTH) - 1, /* all before it: those of MountVolume */
        OPTIONS_TIMEOUT = BIT(OPTION_TIMEOUT),
        OPTIONS_WALK = BIT(OPTION_MAX_ENTRIES_PER_SECOND) | OPTIONS_TIMEOUT,
        OPTIONS_RELABEL = OPTIONS_WALK | BIT(OPTION_FORCE),
        OPTIONS_CHGRP = OPTIONS_RELABEL | BIT(OPTION_READ_ONLY),
        OPTIONS_VERIFY = OPTIONS_WALK | BIT(OPTION_FS_GROUP) | BIT(OPTION_DEPTH),
        ANY_NUMBER = 0x10000,
};

typedef struct Verb {
        const char *name;
        const char *operands; /* for messages */
        int min, max;
        unsigned int options; /* of the request options those that it takes */
        int (*run)(sd_bus *bus, const Args *a);
} Verb;

static const Verb verbs[] = {
        { "list", "", 0, 0, OPTIONS_NONE, verb_list },
        { "show", "VOLUME...", 1, ANY_NUMBER, OPTIONS_NONE, verb_show },
        { "plan", "VOLUME SOURCE TARGET", 3, 3, OPTIONS_REQUEST, verb_plan },
        { "mount", "VOLUME SOURCE TARGET", 3, 3, OPTIONS_REQUEST, verb_mount },
        { "adopt", "VOLUME TARGET", 2, 2, OPTIONS_REQUEST, verb_adopt },
        { "unmount", "VOLUME TARGET", 2, 2, OPTIONS_TIMEOUT, verb_unmount },
        { "verify", "VOLUME|PATH [CONTEXT]", 1, 2, OPTIONS_VERIFY, verb_verify },
        { "relabel", "VOLUME [CONTEXT]", 1, 2, OPTIONS_RELABEL, verb_relabel },
        { "chgrp", "VOLUME GID", 2, 2, OPTIONS_CHGRP, verb_chgrp },
        { "jobs", "", 0, 0, OPTIONS_NONE, verb_jobs },
        { "cancel", "JOB", 1, 1, OPTIONS_NONE, verb_cancel },
        { "forget", "VOLUME...", 1, ANY_NUMBER, OPTIONS_NONE, verb_forget },
        { "metrics", "", 0, 0, OPTIONS_NONE, verb_metrics },
};

static const char help_text[] =
        "selvolctl [OPTIONS...] VERB ...\n\n"
        "See and change the volumes that selvol mounts with an SELinux context.\n\n"
        "Verbs:\n"
        "  list                           List the volumes (the default)\n"
        "  show VOLUME...                 Show volumes and who holds them\n"
        "  plan VOLUME SOURCE TARGET      Say what mount would do, and why\n"
        "  mount VOLUME SOURCE TARGET     Mount a volume\n"
        "  adopt VOLUME TARGET            Record a mount made by somebody else\n"
        "  unmount VOLUME TARGET          Take a mount away\n"
        "  verify VOLUME|PATH [CONTEXT]   Check the label, or those of all files\n"
        "  relabel VOLUME [CONTEXT]       Give all files the context\n"
        "  chgrp VOLUME GID               Give all files to the group\n"
        "  jobs                           List what is being done, and was lately\n"
        "  cancel JOB                     End a job\n"
        "  forget VOLUME...               Drop the record of a volume that nobody holds\n"
        "  metrics                        Print the metrics\n\n"
        "Options of plan, mount and adopt:\n"
        "     --level=LEVEL               SELinux level, such as s0:c10,c20\n"
        "     --context=CONTEXT           Full SELinux context instead\n"
        "     --user=USER --role=ROLE --type=TYPE\n"
        "                                 Parts of the context\n"
        "     --policy=POLICY             OnVolumeMount or Always\n"
        "     --selinux-mount-supported=BOOL\n"
        "                                 Whether the driver allows a context for each volume\n"
        "     --fs-type=TYPE              File system type; found out if not given\n"
        "  -o --options=OPTION,...        Mount options\n"
        "     --read-only                 Mount read-only; with chgrp: for readers\n"
        "     --holder=NAME               Who uses the volume; TARGET if not given\n"
        "     --driver=NAME               Driver that provides the volume\n"
        "     --volume-type=TYPE          Volume type; csi if not given\n"
        "     --access-mode=MODE          ReadWriteOnce, ReadWriteOncePod, ReadOnlyMany or\n"
        "                                 ReadWriteMany\n"
        "     --fs-group=GID              Group that has to have the files\n"
        "     --fs-group-policy=POLICY    None, File, ReadWriteOnceWithFSType or Mount\n"
        "     --fs-group-change-policy=POLICY\n"
        "                                 Always or OnRootMismatch\n"
        "     --user-namespace            The container idmaps the mount itself\n"
        "     --relabel-by=WHO            Who relabels: runtime (the default) or service\n\n"
        "Options of relabel, chgrp, verify, plan, mount and adopt:\n"
        "     --force                     Look at all files in any case (not verify)\n"
        "     --max-entries-per-second=N  Look at no more files in a second\n"
        "     --timeout=TIME              How long it may take (also unmount)\n"
        "     --no-wait                   With relabel and chgrp: print the job and leave it\n"
        "                                 alone\n\n"
        "Options of verify:\n"
        "     --fs-group=GID              Expected group\n"
        "     --depth=DEPTH               How deep to look: root or full\n\n"
        "Other options:\n"
        "     --history                   With show: also what was decided and done\n"
        "     --json                      Print JSON\n"
        "     --no-legend                 Print no headings and no summary\n"
        "  -q --quiet                     Print nothing on success\n"
        "     --no-ask-password           Do not ask for a password\n"
        "  -h --help                      Print this\n"
        "     --version                   Print the version\n\n"
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused by a conflict, 4 not\n"
        "authorised, 5 verify: the label or the group does not match.\n\n"
        "See selvolctl(1) for details.\n";

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

static int refuse_option(const Verb *v, const char *option) {
        fprintf(stderr, "selvolctl: %s does not take --%s\n", v->name, option);
        return EXIT_USAGE;
}

static int check_usage(const Verb *v, const Args *a) {
        if (a->n_operands < v->min || a->n_operands > v->max) {
                fprintf(stderr, "selvolctl: usage: selvolctl %s%s%s\n", v->name, v->operands[0] ? " " : "",
                        v->operands);
                return EXIT_USAGE;
        }
        for (unsigned int i = 0; i < REQUEST_OPTIONS; i++)
                if (a->values[i].set && !(v->options & BIT(i)))
                        return refuse_option(v, request_options[i].name);
        if (a->history && v->run != verb_show)
                return refuse_option(v, "history");
        if (!a->wait && v->run != verb_relabel && v->run != verb_chgrp)
                return refuse_option(v, "no-wait");
        return 0;
}

static int run_verb(const Args *a) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(agent_stopp) pid_t agent = 0;
        const Verb *v = find_verb(a->verb ? a->verb : "list");
        int r;

        if (!v) {
                report_error(a->verb, "there is no such verb, see 'selvolctl --help'");
                return EXIT_USAGE;
        }
        r = check_usage(v, a);
        if (r == 0)
                r = bus_open(a, &bus);
        if (r != 0)
                return r;
        if (a->ask_password)
                agent = agent_start();
        return v->run(bus, a);
}

static int run(int argc, char **argv) {
        _cleanup_(args_done) Args a = ARGS_INIT;
        int r;

        r = args_parse(argc, argv, &a);
        if (r != 0)
                return r;
        if (a.help) {
                fputs(help_text, stdout);
                return 0;
        }
        if (a.version) {
                puts("selvolctl " SELVOL_VERSION);
                return 0;
        }
        return run_verb(&a);
}

int main(int argc, char **argv) {
        int r;

        (void) setlocale(LC_ALL, "");
        (void) setlocale(LC_NUMERIC, "C"); /* of options and JSON */
        r = run(argc, argv);
        if (r < 0) {
                report_error(NULL, strerror(-r));
                r = EXIT_FAILURE;
        }
        if (fflush(stdout) != 0 || ferror(stdout)) {
                report_error(NULL, "can't write to standard output");
                return r != 0 ? r : EXIT_FAILURE;
        }
        /* A shell that runs a script ends it only if it sees this. */
        if (r > EXIT_SIGNAL)
                (void) raise(r - EXIT_SIGNAL);
        return r;
}
