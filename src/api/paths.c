/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/paths.h"
#include "job/jobs.h"
#include "wire/names.h"

char *volume_path(const char *id) {
        char *path;

        return sd_bus_path_encode(VOLUME_PREFIX, id, &path) < 0 ? NULL : path;
}

char *job_path(uint64_t id) {
        return strdup_printf(JOB_PREFIX "/%llu", (unsigned long long) id);
}

Volume *volume_of_path(const State *s, const char *path) {
        _cleanup_free_ char *id = NULL;

        return sd_bus_path_decode(path, VOLUME_PREFIX, &id) > 0 ? volumes_find(&s->volumes, id) : NULL;
}

/* An id has one form only. */
Job *job_of_path(const Jobs *jobs, const char *path) {
        const char *element = startswith(path, JOB_PREFIX "/");
        unsigned long long id;

        if (!element || element[0] == '0' || parse_u64(element, &id) < 0)
                return NULL;
        return job_find(jobs, id);
}
