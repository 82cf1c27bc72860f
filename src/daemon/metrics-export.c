/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include <utlist.h>

#include "basic/log.h"
#include "daemon/job-object.h"
#include "daemon/metrics-export.h"
#include "daemon/record.h"

enum { EXPORT_INTERVAL_USEC = 5000000, EXPORT_ACCURACY_USEC = 1000000 };

static void count_volume(Metrics *metrics, const Volume *v) {
        _cleanup_free_ char *plugin = volume_plugin_name(v->volume_type, v->driver);

        if (plugin)
                metrics_count(metrics, METRIC_TOTAL_VOLUMES, plugin, v->holders ? "held" : "free");
}

static void update_gauges(Manager *m) {
        size_t holders = 0, tainted = 0, walking = 0;
        const JobObject *o;
        Volume *v, *next;

        metrics_reset(m->metrics, METRIC_TOTAL_VOLUMES);
        HASH_ITER (hh, m->volumes.table, v, next) {
                count_volume(m->metrics, v);
                holders += volume_count_holders(v);
                tainted += v->record.tainted;
        }
        metrics_set(m->metrics, METRIC_HOLDERS, (double) holders);
        metrics_set(m->metrics, METRIC_TAINTED_VOLUMES, (double) tainted);
        metrics_set(m->metrics, METRIC_JOBS, (double) m->n_jobs);
        DL_FOREACH (m->job_objects, o)
                walking += o->job && o->announced;
        metrics_set(m->metrics, METRIC_JOBS_WALKING, (double) walking);
        metrics_set(m->metrics, METRIC_ENFORCING, !m->node.selinux ? -1 : m->node.enforcing);
}

char *metrics_text(Manager *m) {
        update_gauges(m);
        return metrics_render(m->metrics);
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

        if (m->settings.metrics_textfile) {
                text = metrics_text(m);
                r = text ? write_file(m->settings.metrics_textfile, text) : -ENOMEM;
                /* Said when it begins to fail, not every five seconds. */
                if (r < 0 && !m->export_failed)
                        log_error_errno(r, "Failed to write the metrics to %s: %m", m->settings.metrics_textfile);
                m->export_failed = r < 0;
        }
        r = sd_event_source_set_time_relative(source, EXPORT_INTERVAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* By the clock: most counters move without anything else that could be waited for, and a file that gets old is how
 * node_exporter's users see that a service has gone. */
int metrics_export_start(Manager *m) {
        m->export_source = sd_event_source_disable_unref(m->export_source);
        if (!m->settings.metrics_textfile)
                return 0;
        return sd_event_add_time_relative(m->event, &m->export_source, CLOCK_MONOTONIC, 0, EXPORT_ACCURACY_USEC,
                                          on_export, m);
}
