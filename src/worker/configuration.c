/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "basic/string-util.h"
#include "mount/mount-table.h"
#include "worker/configuration.h"

/* Returns 1 if mounts beneath the roots reach the host; 0 if the mount with the roots is a slave: an option
 * of the unit has put the worker in its own mount namespace, where systemd makes all mounts slaves of the
 * host. */
static int read_propagation(const Settings *settings) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_close_ int fd = -EBADF;
        uint64_t id;
        int r;

        STRV_FOREACH (root, settings->target_roots) {
                fd = open(*root, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd >= 0)
                        break;
        }
        if (fd < 0)
                fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        r = mount_identify(fd, &id, NULL);
        if (r < 0)
                return r;
        r = mount_table_read_own(fd, false, &table);
        if (r < 0)
                return r;
        r = mount_table_is_slave(table, id);
        return r < 0 ? r : !r;
}

void configuration_done(Configuration *c) {
        settings_done(&c->settings);
}

int configuration_read(Configuration *c, Failure *f) {
        _cleanup_(settings_done) Settings settings = { 0 };
        int r;

        r = settings_load(c->usr_dir, c->etc_dir, &settings, f);
        if (r != 0)
                return r;
        r = read_propagation(&settings);
        if (r < 0)
                return r;
        settings_done(&c->settings);
        c->settings = TAKE_STRUCT(settings);
        c->propagating = r > 0;
        return 0;
}

int configuration_follow(Configuration *c, uint64_t digest, bool *ret_changed, Failure *f) {
        _cleanup_(configuration_done) Configuration files = { .usr_dir = c->usr_dir, .etc_dir = c->etc_dir };
        _cleanup_failure_ Failure mistake = { 0 };
        int r;

        *ret_changed = false;
        if (digest == 0 || digest == c->settings.digest)
                return 0;
        r = configuration_read(&files, &mistake);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set(
                        f, FAILURE_WORKER_FAILED,
                        "selvol-worker has another configuration than selvold, and can't read the files again: %s Correct that file, then run 'systemctl reload selvold'.",
                        mistake.message);
        if (files.settings.digest != digest)
                return failure_set(
                        f, FAILURE_WORKER_FAILED,
                        "selvol-worker has another configuration than selvold, whose files have changed since it read them. Run 'systemctl reload selvold'.");
        configuration_done(c);
        c->settings = TAKE_STRUCT(files.settings);
        c->propagating = files.propagating;
        *ret_changed = true;
        return 0;
}
