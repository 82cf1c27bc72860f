/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "csi/csi-record.h"
#include "wire/names.h"
#include "wire/system-bus.h"

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)

void csi_record_done(CsiRecord *r) {
        for (size_t i = 0; i < r->n_holders; i++)
                free(r->holders[i].target);
        free(r->holders);
        free(r->source);
        free(r->job.path);
        free(r->job.operation);
        free(r->job.target);
        *r = (CsiRecord){ 0 };
}

/* Reads the value of a member, of a basic type. */
static int read_value(sd_bus_message *m, const char *type, void *ret) {
        const char *s;
        int r;

        if (*type != 's' && *type != 'o')
                return sd_bus_message_read(m, "v", type, ret);
        r = sd_bus_message_read(m, "v", type, &s);
        return r < 0 ? r : free_and_strdup(ret, s);
}

/* A member of a dictionary: its name, type and place. */
typedef struct Member {
        const char *name, *type;
        void *value;
        int (*read)(sd_bus_message *m, void *value); /* NULL: read_value() does it */
} Member;

static int read_member(sd_bus_message *m, const Member *members, size_t n) {
        const char *name;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (streq(members[i].name, name))
                        return members[i].read ? members[i].read(m, members[i].value)
                                               : read_value(m, members[i].type, members[i].value);
        return sd_bus_message_skip(m, "v");
}

/* Reads a dictionary, and skips members that are not among the n. Returns 1, 0 at the end of an array, or a
 * negative errno. */
static int read_members(sd_bus_message *m, const Member *members, size_t n) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r <= 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_member(m, members, n);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 1;
}

static int add_holder(CsiRecord *record, CsiHolder *h) {
        CsiHolder *grown = reallocarray(record->holders, record->n_holders + 1, sizeof(CsiHolder));

        if (!grown)
                return -ENOMEM;
        record->holders = grown;
        record->holders[record->n_holders++] = TAKE_STRUCT(*h);
        return 0;
}

/* Reads a holder; 0: there is none any more. */
static int read_holder(sd_bus_message *m, CsiRecord *record) {
        CsiHolder h = { 0 };
        int adopted = 0, r;
        const Member members[] = { { "Target", "s", &h.target }, { "Adopted", "b", &adopted } };

        r = read_members(m, members, ELEMENTSOF(members));
        h.adopted = adopted;
        if (r > 0 && !h.target)
                r = -EBADMSG;
        if (r > 0) {
                int k = add_holder(record, &h);

                r = k < 0 ? k : r;
        }
        free(h.target);
        return r;
}

static int read_holders(sd_bus_message *m, void *value) {
        int r;

        r = sd_bus_message_enter_container(m, 'v', "aa{sv}");
        if (r >= 0)
                r = sd_bus_message_enter_container(m, 'a', "a{sv}");
        while (r > 0)
                r = read_holder(m, value);
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* Reads properties of an object, which may be gone: then they stay as they are. */
static int read_properties(sd_bus *bus, const char *path, const char *interface, const Member *members, size_t n,
                           sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        int r;

        r = system_bus_call_method(bus, BUS_NAME, path, "org.freedesktop.DBus.Properties", "GetAll", error, &reply,
                                   "s", interface);
        if (r < 0 && sd_bus_error_has_name(error, SD_BUS_ERROR_UNKNOWN_OBJECT)) {
                sd_bus_error_free(error);
                return 0;
        }
        if (r < 0)
                return r;
        r = read_members(reply, members, n);
        return r < 0 ? sd_bus_error_set_errno(error, r) : 0;
}

static int read_job(sd_bus *bus, CsiJob *job, sd_bus_error *error) {
        const Member members[] = {
                { "Operation", "s", &job->operation },      { "Target", "s", &job->target },
                { "EntriesDone", "t", &job->done },         { "EntriesTotal", "t", &job->total },
                { "ExpectedEndUSec", "t", &job->end_usec },
        };

        if (streq_ptr(job->path, "/"))
                job->path = (free(job->path), NULL);
        return job->path ? read_properties(bus, job->path, JOB_INTERFACE, members, ELEMENTSOF(members), error) : 0;
}

int csi_record_read(sd_bus *bus, const char *volume, CsiRecord *ret, sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *found = NULL;
        _cleanup_csi_record_ CsiRecord record = { 0 };
        const Member members[] = { { "Source", "s", &record.source },
                                   { "Job", "o", &record.job.path },
                                   { "Holders", NULL, &record, read_holders } };
        const char *path;
        int r;

        r = system_bus_call_method(bus, BUS_NAME, MANAGER_PATH, MANAGER_INTERFACE, "GetVolume", error, &found, "s",
                                   volume);
        if (r < 0 && sd_bus_error_has_name(error, ERROR_PREFIX "NoSuchVolume")) {
                sd_bus_error_free(error);
                *ret = (CsiRecord){ 0 };
                return 0;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return sd_bus_error_set_errno(error, r);
        r = read_properties(bus, path, VOLUME_INTERFACE, members, ELEMENTSOF(members), error);
        if (r < 0)
                return r;
        r = read_job(bus, &record.job, error);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(record);
        return 0;
}

const char *csi_record_find_own(const CsiRecord *r, const char *path, bool beneath) {
        const char *target = r->job.path && streq_ptr(r->job.operation, "mount") ? r->job.target : NULL;

        if (target && (streq(target, path) || (beneath && path_is_beneath(target, path))))
                return target;
        for (size_t i = 0; i < r->n_holders; i++) {
                target = r->holders[i].target;
                if (!r->holders[i].adopted && (streq(target, path) || (beneath && path_is_beneath(target, path))))
                        return target;
        }
        return NULL;
}
