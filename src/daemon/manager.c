/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "model/settings-load.h"
#include "state/messages.h"
#include "daemon/authorise.h"
#include "daemon/bus-manager.h"
#include "daemon/commit.h"
#include "daemon/job-object.h"
#include "daemon/manager.h"
#include "daemon/metrics-export.h"
#include "daemon/notify.h"
#include "daemon/reconcile.h"
#include "daemon/record.h"
#include "daemon/watch.h"

#include "selvol-config.h"

const char *manager_selinux_mode(const Manager *m) {
        return !m->node.selinux ? "disabled" : m->node.enforcing ? "enforcing" : "permissive";
}

int manager_take_node(Manager *m, Node *node) {
        if (!m->node_known || m->node.selinux != node->selinux || m->node.enforcing != node->enforcing)
                log_info("SELinux is %s on this node.", !node->selinux    ? "disabled"
                                                        : node->enforcing ? "enforcing"
                                                                          : "permissive");
        node_done(&m->node);
        m->node = *node;
        *node = (Node){ 0 };
        m->node_known = true;
        return 0;
}

void manager_drop_holder(Manager *m, Volume *v, Holder *h) {
        volume_remove_holder(v, h);
        commit_volume(m, v);
        if (!v->holders)
                notify_context_released(m, v);
}

void manager_release_holder(Manager *m, Volume *v, Holder *h) {
        record_holder_lost(m, v, h);
        manager_drop_holder(m, v, h);
}

static int load_settings(Manager *m) {
        _cleanup_failure_ Failure f = { 0 };
        Settings settings;
        int r;

        r = settings_load(m->options.usr_config, m->options.etc_config, &settings, &f);
        if (r > 0) {
                log_fields(LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_CONFIG_INVALID } }, 1, "%s", f.message);
                return -EINVAL;
        }
        if (r < 0)
                return log_error_errno(r, "Failed to read the configuration: %m");

        settings_done(&m->settings);
        m->settings = settings;
        return 0;
}

static int open_store(Manager *m) {
        int r;

        r = store_open(m->state_path, &m->store);
        if (r >= 0)
                r = store_load(m->store, &m->volumes);
        if (r != -EUCLEAN)
                return r;

        /* Damaged: keep it for whoever wants to look, and start with everything unknown, which is safe. */
        _cleanup_free_ char *name = NULL;
        m->store = store_close(m->store);
        r = store_set_aside(m->state_path, now_realtime_usec(), &name);
        if (r < 0)
                return r;
        log_fields(LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_SET_ASIDE } }, 1,
                   "The state %s is damaged and was set aside as %s; all volumes are unknown now.", m->state_path,
                   name);
        return store_open(m->state_path, &m->store);
}

static int load_state(Manager *m) {
        _cleanup_free_ char *recorded = NULL;
        int r;

        r = open_store(m);
        if (r == -EPROTONOSUPPORT)
                return log_error_errno(
                        r,
                        "The state %s was written by a newer version: install that one again, or move the file away.",
                        m->state_path);
        if (r == -EBUSY)
                return log_error_errno(r, "The state %s is in use: another selvold is running.", m->state_path);
        if (r >= 0)
                r = store_get_boot_id(m->store, &recorded);
        if (r < 0)
                return log_error_errno(r, "Failed to open the state %s: %m", m->state_path);

        if (!streq(recorded, m->boot_id)) {
                if (!isempty(recorded))
                        reconcile_reboot(m);
                store_set_boot_id(m->store, m->boot_id);
        }
        return 0;
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Manager *m = userdata;

        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) now_monotonic_usec());
        if (load_settings(m) >= 0 && metrics_export_start(m) >= 0)
                log_info("The configuration has been read again.");
        (void) sd_notify(0, "READY=1");
        return 0;
}

static int setup_event(Manager *m) {
        int r;

        r = sd_event_default(&m->event);
        if (r >= 0)
                r = sd_event_set_signal_exit(m->event, true);
        if (r >= 0)
                r = sd_event_add_signal(m->event, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_reload, m);
        if (r >= 0)
                r = sd_event_set_watchdog(m->event, true);
        if (r >= 0)
                r = commit_setup(m);
        return r < 0 ? log_error_errno(r, "Failed to set up the event loop: %m") : 0;
}

static int get_boot_id(Manager *m) {
        char text[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r;

        r = sd_id128_get_boot(&id);
        if (r < 0)
                return log_error_errno(r, "Failed to read the boot id: %m");
        return free_and_strdup(&m->boot_id, sd_id128_to_string(id, text));
}

static int manager_setup(Manager *m) {
        int r;

        m->metrics = metrics_new();
        m->state_path = strdup_printf("%s/state.db", m->options.state_directory);
        if (!m->metrics || !m->state_path)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        metrics_set(m->metrics, METRIC_BUILD_INFO, 1, SELVOL_VERSION);
        metrics_set(m->metrics, METRIC_START_TIME, (double) now_realtime_usec() / (double) USEC_PER_SEC);

        r = load_settings(m);
        if (r >= 0)
                r = get_boot_id(m);
        if (r >= 0)
                r = setup_event(m);
        if (r >= 0)
                r = load_state(m);
        if (r >= 0)
                r = bus_connect(m);
        if (r >= 0)
                r = watch_start(m);
        /* A state that can't be written keeps nobody from looking, verifying and unmounting by hand: it has been
         * logged, and calls that change something are refused until it can be. */
        if (r >= 0)
                (void) commit_now(m);
        if (r >= 0)
                r = metrics_export_start(m);
        /* The name comes last: whoever finds us finds the state loaded. */
        if (r >= 0)
                r = bus_own_name(m);
        return r;
}

int manager_new(const Options *options, Manager **ret) {
        _cleanup_(manager_freep) Manager *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        m->options = *options;
        r = manager_setup(m);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(m);
        return 0;
}

Manager *manager_free(Manager *m) {
        if (!m)
                return NULL;

        commit_teardown(m);
        jobs_teardown(m);
        job_objects_teardown(m);
        authorise_teardown(m);
        watch_stop(m);
        notify_teardown(m);
        sd_event_source_disable_unref(m->export_source);
        if (m->store && store_is_dirty(m->store))
                (void) commit_now(m);
        sd_bus_flush_close_unref(m->bus);
        store_close(m->store);
        volumes_done(&m->volumes);
        node_done(&m->node);
        settings_done(&m->settings);
        metrics_free(m->metrics);
        sd_event_unref(m->event);
        free(m->state_path);
        free(m->boot_id);
        free(m);
        return NULL;
}

int manager_run(Manager *m) {
        int r;

        notify_status(m);
        (void) sd_notify(0, "READY=1");
        r = sd_event_loop(m->event);
        (void) sd_notify(0, "STOPPING=1");
        return r < 0 ? log_error_errno(r, "The event loop failed: %m") : r;
}
