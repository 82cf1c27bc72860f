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

/* The sentence among the results, which says what is done to labels; NULL if there is none. */
static int read_text(sd_bus_message *m, const char **ret) {
        const char *key, *text = NULL;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = sd_bus_message_read(m, "s", &key);
                if (r < 0)
                        return r;
                r = streq(key, "Text") ? sd_bus_message_read(m, "v", "s", &text) : sd_bus_message_skip(m, "v");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        *ret = text;
        return r;
}

static int report_mounted(const MountRequest *q, sd_bus_message *reply) {
        const char *context, *flag, *text;
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        r = read_text(reply, &text);
        if (r < 0)
                return r;
        return report(0, "%s, volume %s, is mounted at %s%s%s. %s", q->source, q->volume, q->target,
                      isempty(context) ? "" : " with context ", context, strempty(text));
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
        return verbose ? report_mounted(q, reply) : 0;
}
