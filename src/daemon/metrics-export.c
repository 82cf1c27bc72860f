/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/log.h"
#include "daemon/metrics-export.h"
#include "daemon/record.h"

enum { EXPORT_INTERVAL_USEC = 5000000 };

static void count_volume(Metrics *metrics, const Volume *v) {
        _cleanup_free_ char *plugin = volume_plugin_name(v->volume_type, v->driver);

        if (plugin)
                metrics_count(metrics, METRIC_TOTAL_VOLUMES, plugin, v->holders ? "held" : "free");
}

static void update_gauges(Manager *m) {
        size_t holders = 0, tainted = 0;
        Volume *v, *next;

        metrics_reset(m->metrics, METRIC_TOTAL_VOLUMES);
        HASH_ITER (hh, m->volumes.table, v, next) {
                count_volume(m->metrics, v);
                holders += volume_count_holders(v);
                tainted += v->tainted;
        }
        metrics_set(m->metrics, METRIC_HOLDERS, (double) holders);
        metrics_set(m->metrics, METRIC_TAINTED_VOLUMES, (double) tainted);
        metrics_set(m->metrics, METRIC_JOBS, (double) m->n_jobs);
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

void metrics_export(Manager *m) {
        uint64_t now = now_monotonic_usec();
        _cleanup_free_ char *text = NULL;
        int r;

        if (!m->settings.metrics_textfile ||
            (m->last_export_usec > 0 && now < m->last_export_usec + EXPORT_INTERVAL_USEC))
                return;
        m->last_export_usec = now;
        text = metrics_text(m);
        r = text ? write_file(m->settings.metrics_textfile, text) : -ENOMEM;
        if (r < 0)
                log_error_errno(r, "Failed to write the metrics to %s: %m", m->settings.metrics_textfile);
}
