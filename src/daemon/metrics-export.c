/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/log.h"
#include "daemon/metrics-export.h"
#include "job/job-metrics.h"

enum { EXPORT_INTERVAL_USEC = 5000000, EXPORT_ACCURACY_USEC = 1000000 };

static int write_file(const char *path, const char *text) {
        _cleanup_free_ char *temporary = strdup_printf("%s.new", path);
        _cleanup_close_ int fd = -EBADF;
        size_t n = strlen(text);

        if (!temporary)
                return -ENOMEM;
        fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        /* The collector runs as another user, whatever our umask. */
        if (fchmod(fd, 0644) < 0)
                return -errno;
        for (size_t done = 0; done < n;) {
                ssize_t k = write(fd, text + done, n - done);

                if (k < 0)
                        return -errno;
                done += (size_t) k;
        }
        return rename(temporary, path) < 0 ? -errno : 0;
}

static int on_export(sd_event_source *source, uint64_t usec, void *userdata) {
        MetricsExport *e = userdata;
        const char *path = e->jobs->state->settings.metrics_textfile;
        _cleanup_free_ char *text = jobs_render_metrics(e->jobs);
        int r;

        r = text ? write_file(path, text) : -ENOMEM;
        /* Said when it begins to fail, not every five seconds. */
        if (r < 0 && !e->failed)
                log_error_errno(r, "Failed to write the metrics to %s: %m", path);
        e->failed = r < 0;
        r = sd_event_source_set_time_relative(source, EXPORT_INTERVAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* By the clock: most counters move without anything else that could be waited for, and a file that gets old is how
 * node_exporter's users see that a service has gone. */
int metrics_export_start(MetricsExport *e, const Jobs *jobs) {
        metrics_export_stop(e);
        e->jobs = jobs;
        if (!jobs->state->settings.metrics_textfile)
                return 0;
        return sd_event_add_time_relative(jobs->state->event, &e->source, CLOCK_MONOTONIC, 0, EXPORT_ACCURACY_USEC,
                                          on_export, e);
}

void metrics_export_stop(MetricsExport *e) {
        e->source = sd_event_source_disable_unref(e->source);
}
