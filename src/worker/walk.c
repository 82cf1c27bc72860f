/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/protocol.h"
#include "worker/marshal.h"
#include "worker/walk.h"

typedef struct Reporter {
        Child *child;
        uint64_t total;
} Reporter;

/* Sent at once, as the event loop doesn't run while the verb does. */
static int report(const TreeCounts *counts, void *userdata) {
        const Reporter *reporter = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
        sd_bus *bus = reporter->child->bus;
        int r;

        if (child_peer_is_gone(reporter->child))
                return -ECANCELED;
        r = sd_bus_message_new_signal(bus, &signal, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS);
        if (r >= 0)
                r = marshal_counts(signal, counts);
        if (r >= 0)
                r = sd_bus_message_append(signal, "t", reporter->total);
        if (r >= 0)
                r = sd_bus_send(bus, signal, NULL);
        if (r >= 0)
                r = sd_bus_flush(bus);
        return r < 0 ? r : 0;
}

/* Each directory on the way down is kept open, and a tree may be deep. */
static void raise_file_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) >= 0 && limit.rlim_cur < limit.rlim_max) {
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &limit);
        }
}

/* Threads that are started inherit it. */
static void set_io_class(int io_class) {
        (void) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(io_class, 0));
}

static int check_canceled(int r, Failure *f) {
        return r == -ECANCELED ? failure_set(f, FAILURE_CANCELED, "The caller hung up.") : r;
}

/* What comes after the walk, such as publishing the mount, is waited for: it is not idle. */
static void begin_io(const Child *child) {
        raise_file_limit();
        if (child->settings->io_class == IO_CLASS_IDLE)
                set_io_class(IOPRIO_CLASS_IDLE);
}

static void end_io(const Child *child) {
        if (child->settings->io_class == IO_CLASS_IDLE)
                set_io_class(IOPRIO_CLASS_NONE);
}

static const TreeCounts no_counts = { 0 };

int walk_tell_start(Child *child, uint64_t total, Failure *f) {
        Reporter reporter = { .child = child, .total = total };

        return check_canceled(report(&no_counts, &reporter), f);
}

int walk_files(Child *child, FilesSpec *spec, uint64_t total, TreeResult *ret, Failure *f) {
        Reporter reporter = { .child = child, .total = total };
        int r;

        if (spec->tree.entries_per_sec > WALK_ENTRIES_PER_SEC_MAX)
                spec->tree.entries_per_sec = WALK_ENTRIES_PER_SEC_MAX;
        spec->tree.progress = report;
        spec->tree.userdata = &reporter;
        begin_io(child);
        r = files_walk(spec, ret, f);
        end_io(child);
        return check_canceled(r, f);
}

/* What is only counted is not done yet. */
static int report_counting(const TreeCounts *counts, void *userdata) {
        return report(&no_counts, userdata);
}

int walk_count(Child *child, const FilesSpec *spec, uint64_t *ret, Failure *f) {
        _cleanup_(tree_result_done) TreeResult result = { 0 };
        Reporter reporter = { .child = child };
        const TreeSpec count = {
                .fd = spec->tree.fd,
                .part = spec->tree.part,
                .progress = report_counting,
                .userdata = &reporter,
        };
        int r;

        begin_io(child);
        r = tree_walk(&count, &result);
        end_io(child);
        if (r < 0)
                return check_canceled(r, f);
        *ret = result.counts.done;
        return 0;
}
