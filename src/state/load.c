/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-id128.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "model/settings.h"
#include "plan/plan-change.h"
#include "state/commit.h"
#include "state/load.h"
#include "wire/message-ids.h"
#include "state/reconcile.h"
#include "state/watch.h"

int state_reload_settings(State *s, const char *usr_config, const char *etc_config) {
        _cleanup_failure_ Failure f = { 0 };
        Settings settings;
        int r;

        r = settings_load(usr_config, etc_config, &settings, &f);
        if (r > 0) {
                log_fields(LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_CONFIG_INVALID } }, 1, "%s%s", f.message,
                           s->settings.target_roots ? SETTINGS_KEPT : "");
                return free_and_strdup(&s->settings_mistake, f.message) < 0 ? -ENOMEM : r;
        }
        if (r < 0)
                return log_error_errno(r, "Failed to read the configuration: %m");

        if (settings.digest != s->settings.digest)
                s->worker_settings = 0;
        settings_done(&s->settings);
        s->settings = settings;
        /* The watch follows the roots that are in force now. */
        if (s->watch && s->worker_settings == 0)
                watch_recheck(s);
        return free_and_strdup(&s->settings_mistake, NULL);
}

static void on_skipped(void *userdata, const char *volume, const char *target) {
        _cleanup_free_ char *id = string_escape(volume, 200), *path = string_escape(target, 200);
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_STORE_SET_ASIDE },
                { "SELVOL_VOLUME", id },
                { "SELVOL_TARGET", path },
        };
        size_t *n = userdata;

        ++*n;
        if (isempty(path))
                log_fields(LOG_ERR, fields, ELEMENTSOF(fields),
                           "The record of volume %s can't be read: it is unknown now.", strempty(id));
        else
                log_fields(LOG_ERR, fields, ELEMENTSOF(fields),
                           "The record of the holder of volume %s at %s can't be read: it is unknown now.",
                           strempty(id), path);
}

/* Keeps the damaged file for an administrator; the new file gets all records that could be read. */
static int set_aside(State *s, size_t n_skipped) {
        _cleanup_free_ char *name = NULL;
        int r;

        r = store_set_aside(s->store, now_realtime_usec(), &name);
        if (r < 0)
                return r;
        if (n_skipped > 0)
                log_fields(
                        LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_SET_ASIDE } }, 1,
                        "%zu records in %s can't be read. The file is kept as %s, and a new one is written without them.",
                        n_skipped, s->path, name);
        else
                log_fields(
                        LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_SET_ASIDE } }, 1,
                        "The state %s is damaged or not of selvol: all volumes are unknown now. The file is kept as %s, and a new one is written.",
                        s->path, name);
        return 0;
}

static int open_store(State *s) {
        size_t n_skipped = 0;
        int r;

        r = store_open(s->path, &store_schema, &s->store);
        if (r < 0)
                return r;
        r = store_load(s->store, &s->volumes, on_skipped, &n_skipped);
        if (r < 0 && r != -EUCLEAN)
                return r;
        if (r == -EUCLEAN || store_get_error(s->store) == -EUCLEAN)
                n_skipped = 0;
        else if (n_skipped == 0)
                return 0;
        return set_aside(s, n_skipped);
}

static int load_store(State *s) {
        _cleanup_free_ char *recorded = NULL;
        uint64_t job_numbers = 0;
        int r;

        r = open_store(s);
        if (r == -EPROTONOSUPPORT)
                return log_error_errno(
                        r,
                        "The state %s was written by a newer version of selvol: reinstall that one, or move the file away (mounts stay, and are found again).",
                        s->path);
        if (r == -EBUSY)
                return log_error_errno(r, "The state %s is in use: another selvold is running.", s->path);
        if (r >= 0)
                r = store_get_boot_id(s->store, &recorded);
        if (r >= 0)
                r = store_get_job_numbers(s->store, &job_numbers);
        if (r < 0)
                return log_error_errno(r, "Failed to open the state %s: %m", s->path);

        if (streq(recorded, s->boot_id)) {
                commit_job_numbers(s, job_numbers);
                return 0;
        }
        commit_job_numbers(s, 0);
        if (!isempty(recorded))
                reconcile_reboot(s);
        store_put_boot_id(s->store, s->boot_id);
        return 0;
}

/* selvold continues no relabel by itself. Partial groups are not logged: a change of the group for read-only
 * holders, which need less, also ends as partial. */
static void tell_partial(const State *s) {
        for (const Volume *v = s->volumes.table; v; v = v->hh.next) {
                const char *context = plan_relabel_context(v);
                const LogField fields[] = {
                        { "MESSAGE_ID", MESSAGE_INTERRUPTED },
                        { "SELVOL_VOLUME", v->id },
                        { "SELVOL_CONTEXT", v->mark.context },
                };

                _cleanup_free_ char *word = shell_quote(v->id);

                if (v->mark.label_state != FILES_PARTIAL)
                        continue;
                log_fields(
                        LOG_NOTICE, fields, ELEMENTSOF(fields),
                        "The labels of volume %s are partial: its last relabel failed, was interrupted, or left files alone. To go over all files again: selvolctl relabel %s %s",
                        v->id, strempty(word), isempty(context) ? "CONTEXT" : context);
        }
}

int state_load(const StateOptions *options, State **ret) {
        _cleanup_(state_freep) State *s = calloc(1, sizeof(*s));
        char boot_id[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r;

        if (!s)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        s->event = sd_event_ref(options->event);
        s->metrics = metrics_new();
        s->directory = strdup(options->directory);
        s->worker_socket = strdup(options->worker_socket);
        s->path = strdup_printf("%s/state.db", options->directory);
        if (!s->metrics || !s->directory || !s->worker_socket || !s->path)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        r = state_reload_settings(s, options->usr_config, options->etc_config);
        if (r != 0)
                return r;
        r = sd_id128_get_boot(&id);
        if (r < 0)
                return log_error_errno(r, "Failed to read the boot id: %m");
        r = free_and_strdup(&s->boot_id, sd_id128_to_string(id, boot_id));
        if (r < 0)
                return r;
        r = load_store(s);
        if (r < 0)
                return r;
        r = commit_setup(s);
        if (r < 0)
                return log_error_errno(r, "Failed to set up the event loop: %m");
        tell_partial(s);

        *ret = TAKE_PTR(s);
        return 0;
}

State *state_free(State *s) {
        if (!s)
                return NULL;

        s->events = (Events){ 0 };
        s->mount_gone = NULL;
        commit_teardown(s);
        watch_stop(s);
        unrecorded_free(s);
        /* A store whose disk has stalled ends with the process. */
        if (!s->store || commit_last(s) >= 0)
                store_close(s->store);
        volumes_done(&s->volumes);
        node_done(&s->node);
        settings_done(&s->settings);
        free(s->settings_mistake);
        free(s->textfile_failure);
        metrics_free(s->metrics);
        sd_event_unref(s->event);
        free(s->directory);
        free(s->worker_socket);
        free(s->path);
        free(s->boot_id);
        free(s);
        return NULL;
}
