/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-daemon.h>

#include "api/signals.h"
#include "basic/log.h"
#include "basic/time-util.h"
#include "daemon/manager.h"
#include "state/commit.h"
#include "state/watch.h"

#include "selvol-config.h"

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Manager *m = userdata;

        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) now_monotonic_usec());
        if (state_reload_settings(m->state, m->options.usr_config, m->options.etc_config) == 0 &&
            metrics_export_start(&m->metrics_export, m->api) >= 0)
                log_info("The configuration has been read again.");
        signals_notify_status(m->api);
        (void) sd_notify(0, "READY=1");
        return 0;
}

static int setup_event(Manager *m) {
        int r;

        r = sd_event_default(&m->event);
        if (r < 0)
                return r;
        r = sd_event_set_signal_exit(m->event, true);
        if (r < 0)
                return r;
        r = sd_event_add_signal(m->event, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_reload, m);
        if (r < 0)
                return r;
        return sd_event_set_watchdog(m->event, true);
}

static int load_state(Manager *m) {
        const StateOptions options = {
                .directory = m->options.state_directory,
                .worker_socket = m->options.worker_socket,
                .usr_config = m->options.usr_config,
                .etc_config = m->options.etc_config,
                .event = m->event,
        };
        int r;

        r = state_load(&options, &m->state);
        if (r != 0)
                return r;
        metrics_set(m->state->metrics, METRIC_BUILD_INFO, 1, SELVOL_VERSION);
        metrics_set(m->state->metrics, METRIC_START_TIME, (double) now_realtime_usec() / (double) USEC_PER_SEC);
        return 0;
}

static int setup(Manager *m) {
        int r;

        r = setup_event(m);
        if (r < 0)
                return log_error_errno(r, "Failed to set up the event loop: %m");
        r = load_state(m);
        if (r != 0)
                return r;
        r = api_new(m->state, m->options.trusted_uid, m->options.polkit_timeout, &m->api);
        if (r < 0)
                return r;
        r = watch_start(m->state);
        if (r < 0)
                return r;
        /* A state that can't be written keeps nobody from looking and verifying: it has been logged, and calls that
         * change something are refused until it can be. */
        (void) commit_now(m->state);
        r = metrics_export_start(&m->metrics_export, m->api);
        if (r < 0)
                return r;
        /* The name comes last: whoever finds us finds the state loaded. */
        return api_own_name(m->api);
}

int manager_new(const Options *options, Manager **ret) {
        _cleanup_(manager_freep) Manager *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        m->options = *options;
        r = setup(m);
        if (r != 0)
                return r;

        *ret = TAKE_PTR(m);
        return 0;
}

Manager *manager_free(Manager *m) {
        if (!m)
                return NULL;

        metrics_export_stop(&m->metrics_export);
        api_free(m->api);
        state_free(m->state);
        sd_event_unref(m->event);
        free(m);
        return NULL;
}

int manager_run(Manager *m) {
        int r;

        signals_notify_status(m->api);
        (void) sd_notify(0, "READY=1");
        r = sd_event_loop(m->event);
        (void) sd_notify(0, "STOPPING=1");
        if (r < 0)
                return log_error_errno(r, "The event loop failed: %m");
        return r > 0 ? -ECONNRESET : 0;
}
