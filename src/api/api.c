/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/api.h"
#include "wire/peer.h"

int api_refuse(Api *api, int r, const Failure *f, sd_bus_error *error) {
        if (r < 0)
                return r;
        metrics_count(api->state->metrics, METRIC_REFUSALS, failure_kind_to_string(f->kind));
        return peer_error_set(error, f);
}
