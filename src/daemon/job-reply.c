/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus-util.h"
#include "daemon/job.h"

/* What each operation answers when it went well; documented in org.selvol1(5). */

/* What mount, adopt and plan have in common. */
static int append_plan(Job *job, sd_bus_message *reply) {
        const Plan *p = &job->plan;
        bool planned = p->context; /* and not refused before there was a plan */
        int r;

        r = bus_append_option(reply, "Strategy", "s", planned ? strategy_to_string(p->strategy) : "");
        if (r >= 0)
                r = bus_append_option(reply, "Reason", "s", planned ? reason_to_string(p->reason) : "");
        if (r >= 0)
                r = bus_append_option(reply, "Text", "s", strempty(p->text));
        if (r >= 0)
                r = bus_append_strv(reply, "MountOptions", p->mount_options);
        if (r >= 0)
                r = bus_append_option(reply, "ReadOnly", "b", (int) p->read_only);
        if (r >= 0)
                r = bus_append_option(reply, "Shared", "b",
                                      (int) (p->reason == REASON_CONTEXT_SHARED || job->share_target));
        if (r >= 0)
                r = bus_append_option(reply, "SELinuxMode", "s", manager_selinux_mode(job->manager));
        return r;
}

int job_mount_append(Job *job, sd_bus_message *reply) {
        const Volume *v = volumes_find(&job->manager->volumes, job->request.volume);
        int r;

        r = sd_bus_message_append(reply, "ss", strempty(job->plan.context), strempty(job->plan.runtime_flag));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = append_plan(job, reply);
        if (r >= 0)
                r = bus_append_option(reply, "FSType", "s", strempty(job->outcome.fact.fs_type));
        if (r >= 0)
                r = bus_append_option(reply, "Device", "s", strempty(job->outcome.fact.device));
        if (r >= 0)
                r = bus_append_option(reply, "MountId", "t", job->outcome.fact.mount_id);
        if (r >= 0 && v)
                r = bus_append_option(reply, "LabelState", "s", label_state_to_string(v->record.label_state));
        if (r >= 0 && v)
                r = bus_append_option(reply, "Tainted", "b", (int) v->record.tainted);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_conflicts(Job *job, sd_bus_message *reply) {
        const Plan *p = &job->plan;
        int r;

        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "Conflicts");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "a(sssst)");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(sssst)");
        for (size_t i = 0; i < p->n_conflicts && r >= 0; i++) {
                const Conflict *c = &p->conflicts[i];

                r = sd_bus_message_append(reply, "(sssst)", c->volume, c->holder, c->target, c->context,
                                          c->since_usec);
        }
        for (size_t i = 0; i < 3 && r >= 0; i++)
                r = sd_bus_message_close_container(reply);
        return r;
}

int job_plan_append(Job *job, sd_bus_message *reply) {
        const Plan *p = &job->plan;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = append_plan(job, reply);
        if (r >= 0)
                r = bus_append_option(reply, "Context", "s", strempty(p->context));
        if (r >= 0)
                r = bus_append_option(reply, "RuntimeFlag", "s", strempty(p->runtime_flag));
        if (r >= 0)
                r = bus_append_option(reply, "Entries", "t", p->entries);
        if (r >= 0)
                r = bus_append_option(reply, "USec", "t", p->usec);
        if (r >= 0)
                r = append_conflicts(job, reply);
        if (r >= 0 && job->refusal.kind != FAILURE_NONE)
                r = bus_append_option(reply, "Error", "s", failure_kind_to_string(job->refusal.kind));
        if (r >= 0 && job->refusal.kind != FAILURE_NONE)
                r = bus_append_option(reply, "Message", "s", strempty(job->refusal.message));
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int job_unmount_append(Job *job, sd_bus_message *reply) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = bus_append_option(reply, "Unmounted", "b", (int) job->unmounted);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int job_verify_append(Job *job, sd_bus_message *reply) {
        int r;

        r = sd_bus_message_append(reply, "bs", (int) job->matches, strempty(job->actual));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = bus_append_option(reply, "Expected", "s", job->expected);
        if (r >= 0)
                r = bus_append_option(reply, "Target", "s", job->request.target);
        if (r >= 0)
                r = bus_append_option(reply, "Depth", "s", "root");
        if (r >= 0)
                r = bus_append_option(reply, "SELinuxMode", "s", manager_selinux_mode(job->manager));
        return r < 0 ? r : sd_bus_message_close_container(reply);
}
