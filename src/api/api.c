/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/api.h"
#include "basic/log.h"
#include "wire/peer.h"

int api_refuse(Api *api, int r, const Failure *f, sd_bus_error *error) {
        if (r < 0)
                return r;
        metrics_count(api->state->metrics, METRIC_REFUSALS, failure_kind_to_string(f->kind));
        return peer_error_set(error, f);
}

void api_leave(Api *api, const char *why) {
        int enabled;

        if (sd_event_source_get_enabled(api->leave, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;
        log_warning("%s: reconnecting to the bus; callers that wait get NoReply.", why);
        (void) sd_event_source_set_enabled(api->leave, SD_EVENT_ONESHOT);
}

char *volume_path(const char *id) {
        char *path;

        return sd_bus_path_encode(VOLUME_PREFIX, id, &path) < 0 ? NULL : path;
}

char *job_path(uint64_t id) {
        return strdup_printf(JOB_PREFIX "/%llu", (unsigned long long) id);
}
