/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <mntent.h>
#include <signal.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "client/client-call.h"
#include "client/values.h"
#include "mount-helper/mount-request.h"

/* mount.selvol: mount(8) runs it for the types selvol and selvol.TYPE. */

#define USAGE \
        "Usage: mount.selvol SOURCE DIRECTORY [-fnsv] [-o OPTIONS] [-t TYPE]. It is made for mount(8): mount -t selvol -o 'volume=ID,level=\"LEVEL\"' SOURCE DIRECTORY"

typedef struct Switches {
        const char *type;
        bool fake, verbose;
} Switches;

static void end_on_signal(int signal_number) {
        static const char text[] = PROGRAM
                ": Interrupted. selvold goes on with what it has begun: the same command collects the result, 'selvolctl jobs' shows it.\n";

        (void) !write(STDERR_FILENO, text, sizeof(text) - 1);
        _exit(MOUNT_INTERRUPTED);
}

/* Whether the path is a mount that triggers when a process opens the directory, as of systemd's automount
 * units. */
static bool is_automount(const char *path) {
        FILE *table = setmntent("/proc/self/mounts", "re");
        const struct mntent *m;
        bool found = false;

        if (!table)
                return false;
        while ((m = getmntent(table)))
                if (streq(m->mnt_dir, path))
                        found = streq(m->mnt_type, "autofs"); /* the last mount is on top */
        (void) endmntent(table);
        return found;
}

#define OPTIONS_AT_BOOT "nofail,x-systemd.requires=selvol.target"

/* Prints a field as fstab(5) has it: in octal all that would end the field, that a terminal would obey, and
 * that would make the line a comment. */
static void print_field(FILE *stream, const char *field) {
        for (const char *s = field; *s; s++)
                if (*s <= ' ' || *s > '~' || *s == '\\' || (*s == '#' && s == field))
                        fprintf(stream, "\\%03o", (unsigned int) (unsigned char) *s);
                else
                        fputc(*s, stream);
}

/* Formats the line of fstab(5) that makes systemd mount the volume when selvold runs, and boot without it if
 * that fails. Returns NULL on lack of memory. */
static char *format_fstab(const MountRequest *q, const char *type) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&line, &size);

        if (!stream)
                return NULL;
        print_field(stream, q->source);
        fputc(' ', stream);
        print_field(stream, q->target);
        fputc(' ', stream);
        print_field(stream, type);
        fputc(' ', stream);
        STRV_FOREACH (option, q->options) {
                if (streq(*option, "rw") || streq(*option, "nofail"))
                        continue;
                print_field(stream, *option);
                fputc(',', stream);
        }
        fputs(OPTIONS_AT_BOOT " 0 0", stream);
        return fclose(stream) == 0 ? TAKE_PTR(line) : NULL;
}

static int report_failure(const MountRequest *q, const char *type, const sd_bus_error *error) {
        _cleanup_free_ char *text = explain_error("", error->name, strempty(error->message)), *line = NULL;
        char *second;

        if (!text)
                return -ENOMEM;
        /* The second line of a message says what to do. */
        second = strchr(text, '\n');
        if (second)
                *second++ = '\0';
        (void) report(MOUNT_FAILED, "%s", text);
        if (second)
                (void) report(MOUNT_FAILED, "%s", second);
        if (!explain_is_absent(error->name))
                return MOUNT_FAILED;
        /* At boot selvold starts after the local file systems, so a mount has to wait for selvold, and the
         * local file systems must not wait for the mount. */
        line = format_fstab(q, type);
        if (!line)
                return -ENOMEM;
        return report(MOUNT_FAILED, "If it is to be mounted at boot, the line in fstab that waits for selvold is: %s",
                      line);
}

/* mount(8) has no container runtime to pass the reply's flag to, so the flag only leads to a warning. */
static int report_mounted(const MountRequest *q, sd_bus_message *reply, bool verbose) {
        const OptionValue *values = q->values, *relabel_by = &values[OPTION_RELABEL_BY];
        const char *context, *flag, *reason = "", *text = "";
        const StringMember members[] = { { "Reason", &reason }, { "Text", &text } };
        _cleanup_free_ char *explained = NULL;
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        r = call_read_strings(reply, members, ELEMENTSOF(members));
        if (r < 0)
                return r;
        explained = explain_text("", text);
        if (!explained)
                return -ENOMEM;
        if (verbose)
                (void) report(0, "%s, volume %s, is mounted at %s%s%s. %s", q->source, q->volume, q->target,
                              isempty(context) ? "" : " with context ", context, explained);
        if (!isempty(flag) && isempty(context))
                return report(
                        0,
                        "Warning: the files of volume %s are not labeled, as no level was passed. Pass level=LEVEL, or relabel-by=none if nobody relies on labels.",
                        q->volume);
        if (!isempty(flag))
                return report(
                        0,
                        "Warning: the files of volume %s are not labeled: that is left to a container runtime. Pass relabel-by=service to have selvold do it, or relabel-by=none if nobody relies on labels.",
                        q->volume);
        /* Labels are useless with SELinux off, and to a caller who passed relabel-by=none. */
        if (!isempty(context) || streq(reason, "selinux-disabled") ||
            (!values[OPTION_SELINUX_LEVEL].set && !values[OPTION_SELINUX_CONTEXT].set) ||
            (relabel_by->set && streq(relabel_by->string, "none")))
                return 0;
        return report(
                0,
                "Warning: volume %s is mounted without the label that was passed. %s Pass policy=OnVolumeMount,selinux-mount-supported=yes to have it mounted with the label, or relabel-by=none if nobody relies on labels.",
                q->volume, explained);
}

/* Calls MountVolume and waits for the reply. Reports the result if verbose, and in any case if files got no
 * label. Returns an exit status after a report, 0 or a negative errno. */
static int run_mount(const MountRequest *q, const char *type, bool verbose) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        /* autofs passes only the process group of systemd to such a directory while systemd waits for the
         * mount. */
        if (is_automount(q->target))
                return report(
                        MOUNT_FAILED,
                        "%s is an automount, where selvol-worker would wait for this very mount: leave x-systemd.automount out of fstab. A unit that uses the volume can have it mounted with RequiresMountsFor=.",
                        q->target);
        r = call_open(true, UINT64_MAX, &bus, &error);
        if (r < 0)
                return report_failure(q, type, &error);
        r = call_manager(bus, q->values, UINT64_MAX, &reply, &error, "MountVolume", "sss", q->volume, q->source,
                         q->target);
        if (r < 0)
                return report_failure(q, type, &error);
        return report_mounted(q, reply, verbose);
}

static int read_arguments(int argc, char **argv, MountRequest *q, Switches *s) {
        int c, r;

        opterr = 0;
        while ((c = getopt(argc, argv, "fnsvN:o:t:")) >= 0)
                switch (c) {
                case 'f':
                        s->fake = true;
                        break;
                case 'v':
                        s->verbose = true;
                        break;
                case 'n': /* there is no mtab */
                case 's': /* only selvold knows which options are valid */
                        break;
                case 't':
                        s->type = optarg;
                        break;
                case 'o':
                        r = parse_mount_options(optarg, &q->options);
                        if (r == -ENOMEM)
                                return r;
                        if (r != 0)
                                return report(MOUNT_USAGE, "A double quote in the options has no end: %s", optarg);
                        break;
                case 'N':
                        return report(
                                MOUNT_USAGE,
                                "-N is not possible: selvold mounts in the mount namespace of the host. Leave it out, or mount without selvol.");
                default:
                        return report(MOUNT_USAGE, USAGE);
                }
        if (argc - optind != 2)
                return report(MOUNT_USAGE, USAGE);
        q->source = argv[optind];
        q->target = argv[optind + 1];
        return mount_request_read(q, s->type);
}

static int run_helper(int argc, char **argv) {
        _cleanup_(mount_request_done) MountRequest q = { 0 };
        Switches s = { .type = "selvol" };
        int r;

        r = read_arguments(argc, argv, &q, &s);
        if (r != 0)
                return r;
        assert(q.target);
        if (!s.fake)
                return run_mount(&q, s.type, s.verbose);
        return s.verbose ? report(0, "%s, volume %s, would be mounted at %s; nothing was done.", q.source, q.volume,
                                  q.target)
                         : 0;
}

int main(int argc, char **argv) {
        const struct sigaction interrupt = { .sa_handler = end_on_signal };
        int r;

        (void) sigaction(SIGINT, &interrupt, NULL);
        (void) sigaction(SIGTERM, &interrupt, NULL);
        r = run_helper(argc, argv);
        return r < 0 ? report(MOUNT_SYSTEM, "%s", strerror(-r)) : r;
}
