/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include <utlist.h>

#include "basic/log.h"
#include "daemon/metrics-export.h"
#include "job/job-metrics.h"

enum { EXPORT_INTERVAL_USEC = 5000000, EXPORT_ACCURACY_USEC = 1000000 };

static void count_volume(Metrics *metrics, const Volume *v) {
        _cleanup_free_ char *plugin = volume_plugin_name(v->volume_type, v->driver);

        if (plugin)
                metrics_count(metrics, METRIC_TOTAL_VOLUMES, plugin, v->holders ? "held" : "free");
}

static void count_jobs(Metrics *metrics, const Jobs *jobs) {
        size_t running = 0, waiting = 0, walking = 0;
        const Job *job;

        DL_FOREACH (jobs->list, job) {
                waiting += job->state == JOB_WAITING;
                running += job->state != JOB_WAITING && job->state != JOB_ENDED;
                walking += job->state != JOB_ENDED && job->progress.started_usec > 0;
        }
        metrics_set(metrics, METRIC_JOBS, (double) running);
        metrics_set(metrics, METRIC_JOBS_WAITING, (double) waiting);
        metrics_set(metrics, METRIC_JOBS_WALKING, (double) walking);
}

static void update_gauges(const State *s, const Jobs *jobs) {
        size_t holders = 0, tainted = 0;
        Volume *v, *next;

        metrics_reset(s->metrics, METRIC_TOTAL_VOLUMES);
        HASH_ITER (hh, s->volumes.table, v, next) {
                count_volume(s->metrics, v);
                holders += volume_count_holders(v);
                tainted += v->mark.tainted;
        }
        metrics_set(s->metrics, METRIC_HOLDERS, (double) holders);
        metrics_set(s->metrics, METRIC_TAINTED_VOLUMES, (double) tainted);
        metrics_set(s->metrics, METRIC_ENFORCING, !s->node.selinux ? -1 : s->node.enforcing);
        count_jobs(s->metrics, jobs);
}

char *metrics_text(void *userdata) {
        const Manager *m = userdata;

        update_gauges(m->state, m->api->jobs);
        return metrics_render(m->state->metrics);
}

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
        Manager *m = userdata;
        _cleanup_free_ char *text = NULL;
        int r;

        if (m->state->settings.metrics_textfile) {
                text = metrics_text(m);
                r = text ? write_file(m->state->settings.metrics_textfile, text) : -ENOMEM;
                /* Said when it begins to fail, not every five seconds. */
                if (r < 0 && !m->export_failed)
                        log_error_errno(r, "Failed to write the metrics to %s: %m", m->state->settings.metrics_textfile);
                m->export_failed = r < 0;
        }
        r = sd_event_source_set_time_relative(source, EXPORT_INTERVAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* By the clock: most counters move without anything else that could be waited for, and a file that gets old is how
 * node_exporter's users see that a service has gone. */
int metrics_export_start(Manager *m) {
        m->export_source = sd_event_source_disable_unref(m->export_source);
        if (!m->state->settings.metrics_textfile)
                return 0;
        return sd_event_add_time_relative(m->event, &m->export_source, CLOCK_MONOTONIC, 0, EXPORT_ACCURACY_USEC,
                                          on_export, m);
}
