/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "client/call.h"
#include "client/explain.h"
#include "mount-helper/automount.h"
#include "mount-helper/fstab.h"
#include "mount-helper/mount.h"
#include "mount-helper/report.h"

/* At boot selvold runs only after the local file systems are there, so a mount has to wait for it, and they must not wait for the mount. */
static int report_line(const MountRequest *q, const char *type) {
        _cleanup_free_ char *line = fstab_line(q, type);

        if (!line)
                return -ENOMEM;
        return report(MOUNT_FAILED, "If it is to be mounted at boot, the line in fstab that waits for selvold is: %s",
                      line);
}

static int report_failure(const MountRequest *q, const char *type, const sd_bus_error *error) {
        _cleanup_free_ char *text = explain_error("", error->name, strempty(error->message));

        if (!text)
                return -ENOMEM;
        (void) report(MOUNT_FAILED, "%s", text);
        return explain_is_absent(error->name) ? report_line(q, type) : MOUNT_FAILED;
}

/* What selvold answers. */
typedef struct Mounted {
        const char *context, *flag, *reason, *text;
} Mounted;

static int read_reply(sd_bus_message *reply, Mounted *ret) {
        Mounted m = { .reason = "", .text = "" };
        const StringMember members[] = { { "Reason", &m.reason }, { "Text", &m.text } };
        int r;

        r = sd_bus_message_read(reply, "ss", &m.context, &m.flag);
        if (r < 0)
                return r;
        r = call_read_strings(reply, members, ELEMENTSOF(members));
        if (r < 0)
                return r;
        *ret = m;
        return 0;
}

/* The flag is for a container runtime, of which mount(8) knows nothing. */
static int report_unlabeled(const MountRequest *q, const Mounted *m) {
        if (isempty(m->context))
                return report(
                        0,
                        "Warning: the files of volume %s are not labeled, as no level was passed. Pass level=LEVEL, or relabel-by=none if nobody relies on labels.",
                        q->volume);
        return report(
                0,
                "Warning: the files of volume %s are not labeled: that is left to a container runtime. Pass relabel-by=service to have selvold do it, or relabel-by=none if nobody relies on labels.",
                q->volume);
}

static int report_unused_label(const MountRequest *q, const Mounted *m) {
        return report(
                0,
                "Warning: volume %s is mounted without the label that was passed. %s Pass policy=OnVolumeMount,selinux-mount-supported=yes to have it mounted with the label, or relabel-by=none if nobody relies on labels.",
                q->volume, m->text);
}

static bool names_label(const MountRequest *q) {
        return q->values[OPTION_SELINUX_LEVEL].set || q->values[OPTION_SELINUX_CONTEXT].set;
}

/* Labels are of no use where SELinux is off, or to who says so. */
static bool relies_on_labels(const MountRequest *q, const Mounted *m) {
        const OptionValue *relabel_by = &q->values[OPTION_RELABEL_BY];

        return !streq(m->reason, "selinux-disabled") && !(relabel_by->set && streq(relabel_by->string, "none"));
}

static int report_mounted(const MountRequest *q, sd_bus_message *reply, bool verbose) {
        Mounted m;
        int r;

        r = read_reply(reply, &m);
        if (r < 0)
                return r;
        if (verbose)
                (void) report(0, "%s, volume %s, is mounted at %s%s%s. %s", q->source, q->volume, q->target,
                              isempty(m.context) ? "" : " with context ", m.context, m.text);
        if (!isempty(m.flag))
                return report_unlabeled(q, &m);
        if (names_label(q) && isempty(m.context) && relies_on_labels(q, &m))
                return report_unused_label(q, &m);
        return 0;
}

int mount_run(const MountRequest *q, const char *type, bool verbose) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        /* Only the process group of systemd passes such a directory while it waits for the mount. */
        if (automount_is_at(q->target))
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
