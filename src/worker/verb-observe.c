/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/sysmacros.h>

#include "model/request.h"
#include "wire/protocol.h"
#include "label/selinux.h"
#include "mount/mount-table.h"
#include "mount/source.h"
#include "mount/target.h"
#include "worker/check.h"
#include "worker/marshal.h"
#include "worker/verbs.h"

/* The checks that selvold has made already; it isn't trusted to have. */
static int check_request(const Settings *settings, const char *source, const char *fs_type, const char *target,
                         Failure *f) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        int r;

        r = free_and_strdup(&q.volume, "volume");
        if (r >= 0)
                r = free_and_strdup(&q.target, target);
        if (r >= 0 && isempty(target) && !isempty(source))
                r = check_invent_target(&q, settings);
        if (r >= 0 && !isempty(source))
                r = free_and_strdup(&q.source, source);
        if (r >= 0 && !isempty(fs_type))
                r = free_and_strdup(&q.fs_type, fs_type);
        return r < 0 ? r : request_validate(&q, settings, f);
}

static int observe_mounted(const Settings *settings, const char *path, Observed *o, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        dev_t device;
        int r;

        r = target_open_mount(path, settings, &target, f);
        if (r != 0)
                return r;
        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, target.mount_id, &fact, NULL);
        if (r < 0)
                return r;
        r = device_parse(fact.device, &device);
        if (r < 0)
                return r;

        o->fs_type = TAKE_PTR(fact.fs_type);
        o->device_read_only = source_device_is_read_only(device);
        return mount_table_find_devices(table, &device, 1, &o->mounts, &o->n_mounts);
}

static int observe_source(const Settings *settings, const char *path, const char *fs_type, const char *target_path,
                          Observed *o, Failure *f) {
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(source_done) Source source = SOURCE_INIT;
        int r;

        r = isempty(target_path) ? 0 : target_open_free(target_path, settings, &target, f);
        if (r != 0)
                return r;
        /* Probing reads the device a dozen times: a type that is given is taken, and wrong only if the mount fails.
         */
        r = source_open(path, fs_type, isempty(fs_type), settings, &source, f);
        if (r != 0)
                return r;

        o->fs_type = strdup(source.fs->name);
        if (!o->fs_type)
                return -ENOMEM;
        o->device_read_only = source.read_only;
        if (source.device != 0) {
                o->device = strdup_printf("%u:%u", major(source.device), minor(source.device));
                if (!o->device)
                        return -ENOMEM;
        }
        return source_find_mounts(&source, &o->mounts, &o->n_mounts);
}

static int reply(sd_bus_message *m, const Node *node, const Observed *o) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = marshal_node(answer, node);
        if (r >= 0)
                r = sd_bus_message_append(answer, "sbs", o->fs_type, o->device_read_only, strempty(o->device));
        if (r >= 0)
                r = marshal_facts(answer, o->mounts, o->n_mounts);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

int verb_observe(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Child *c = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(observed_done) Observed o = { 0 };
        _cleanup_(node_done) Node node = { 0 };
        const char *source, *fs_type, *target;
        int r;

        r = sd_bus_message_read(m, WORKER_OBSERVE_IN, &source, &fs_type, &target);
        if (r < 0)
                return r;

        r = child_check_propagation(c, &f);
        if (r == 0)
                r = check_request(c->settings, source, fs_type, target, &f);
        if (r == 0)
                r = selinux_read_node(&node);
        if (r == 0)
                r = isempty(source) ? observe_mounted(c->settings, target, &o, &f)
                                    : observe_source(c->settings, source, fs_type, target, &o, &f);
        if (r == 0)
                r = reply(m, &node, &o);
        return child_finish(WORKER_OBSERVE, target, r, &f, error);
}
