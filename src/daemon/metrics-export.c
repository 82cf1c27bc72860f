/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "api/signals.h"
#include "basic/log.h"
#include "basic/time-util.h"
#include "daemon/metrics-export.h"
#include "job/job-metrics.h"

enum { EXPORT_INTERVAL_USEC = 5000000, EXPORT_ACCURACY_USEC = 1000000 };

static int write_file(const char *path, const char *text) {
        _cleanup_free_ char *temporary = strdup_printf("%s.new", path);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!temporary)
                return -ENOMEM;
        fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        /* The collector runs as another user, whatever selvold's umask is. */
        r = fchmod(fd, 0644) < 0 ? -errno : 0;
        while (r >= 0 && *text) {
                ssize_t n = write(fd, text, strlen(text));

                if (n < 0)
                        r = -errno;
                else
                        text += n;
        }
        if (r >= 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0)
                (void) unlink(temporary);
        return r;
}

/* Logs an error when it begins, not every five seconds. */
static void note_result(const MetricsExport *e, const char *path, int r) {
        State *s = e->api->state;
        const bool failed = s->textfile_failure;

        if (r < 0)
                metrics_count(s->metrics, METRIC_TEXTFILE_ERRORS);
        else
                metrics_set(s->metrics, METRIC_TEXTFILE_TIME, (double) now_realtime_usec() / (double) USEC_PER_SEC);
        if (failed == (r < 0))
                return;
        free(TAKE_PTR(s->textfile_failure));
        if (r < 0)
                s->textfile_failure = strdup_printf(
                        "Can't write metrics to %s: %s. selvold.service may write to /run/selvold; for other directories see selvol-metrics(7).",
                        path, strerror(-r));
        if (s->textfile_failure)
                log_error("%s", s->textfile_failure);
        signals_notify_status(e->api);
}

static int on_export(sd_event_source *source, uint64_t usec, void *userdata) {
        MetricsExport *e = userdata;
        const char *path = e->api->state->settings.metrics_textfile;
        _cleanup_free_ char *text = jobs_render_metrics(e->api->jobs);
        int r;

        note_result(e, path, text ? write_file(path, text) : -ENOMEM);
        r = sd_event_source_set_time_relative(source, EXPORT_INTERVAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Writes at fixed intervals: there is no event to wait for, and readers take an old file as "service
 * gone". */
int metrics_export_start(MetricsExport *e, const Api *api) {
        State *s = api->state;

        metrics_export_stop(e);
        e->api = api;
        free(TAKE_PTR(s->textfile_failure));
        if (!s->settings.metrics_textfile)
                return 0;
        return sd_event_add_time_relative(s->event, &e->source, CLOCK_MONOTONIC, 0, EXPORT_ACCURACY_USEC, on_export,
                                          e);
}

void metrics_export_stop(MetricsExport *e) {
        e->source = sd_event_source_disable_unref(e->source);
}
