/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus-job.h"
#include "daemon/bus-util.h"
#include "daemon/job-reply.h"

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

static int append_counts(const Walk *w, sd_bus_message *reply) {
        const WalkCounts *c = &w->result.counts;
        int r;

        r = bus_append_option(reply, "EntriesDone", "t", c->done);
        if (r >= 0)
                r = bus_append_option(reply, "EntriesChanged", "t", c->changed);
        if (r >= 0)
                r = bus_append_option(reply, "EntriesSkipped", "t", c->skipped);
        if (r >= 0)
                r = bus_append_option(reply, "DirectoriesUnsettled", "t", c->unsettled);
        if (r >= 0)
                r = bus_append_strv(reply, "MountsInside", w->result.mounts_inside);
        return r;
}

/* "walk" and "skip" of a plan, "walked" and "skipped" of what was done; what the reason says fits both. */
static int append_relabel(const Walk *w, bool planned, sd_bus_message *reply) {
        bool any = w->relabelled != RELABELLED_NOT;
        const char *word = !planned                             ? relabelled_to_string(w->relabelled)
                           : w->relabelled == RELABELLED_NOT    ? ""
                           : w->relabelled == RELABELLED_WALKED ? "walk"
                                                                : "skip";
        int r;

        r = bus_append_option(reply, "Relabel", "s", word);
        if (r >= 0)
                r = bus_append_option(reply, "RelabelReason", "s", any ? relabel_reason_to_string(w->reason) : "");
        if (r >= 0)
                r = bus_append_option(reply, "RelabelText", "s", any ? relabel_reason_text(w->reason) : "");
        return r;
}

/* "walk", "map" and so on of a plan, "walked", "mapped" of what was done. The groups are 4294967295 where files have
 * been given to none. */
static int append_ownership(const Walk *w, gid_t fs_group, bool planned, sd_bus_message *reply) {
        static const char *const done[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_NONE] = "none",  [OWNERSHIP_OPTION] = "option", [OWNERSHIP_SKIP] = "skipped",
                [OWNERSHIP_MAP] = "mapped", [OWNERSHIP_WALK] = "walked",
        };
        OwnershipAction action = w->ownership.action;
        bool asked = w->ownership.reason != OWNERSHIP_NOT_ASKED;
        int r;

        r = bus_append_option(reply, "Ownership", "s",
                              !asked    ? ""
                              : planned ? ownership_action_to_string(action)
                                        : done[action]);
        if (r >= 0)
                r = bus_append_option(reply, "OwnershipReason", "s", ownership_reason_to_string(w->ownership.reason));
        if (r >= 0)
                r = bus_append_option(reply, "OwnershipText", "s", ownership_reason_text(w->ownership.reason));
        if (r >= 0 && w->why)
                r = bus_append_option(reply, "OwnershipDetail", "s", w->why);
        if (r >= 0)
                r = bus_append_option(reply, "FSGroup", "u", fs_group);
        return r;
}

static int append_job(const Job *job, sd_bus_message *reply) {
        _cleanup_free_ char *path = NULL;

        if (!job->object || !job->object->announced)
                return 0;
        path = job_bus_path(job->object->id);
        return path ? bus_append_option(reply, "Job", "o", path) : -ENOMEM;
}

/* Both groups, which differ if the mount is idmapped. */
static int append_owned(Job *job, const Volume *v, sd_bus_message *reply) {
        const Holder *h = v ? volume_find_holder(v, job->request.target) : NULL;
        int r;

        r = append_ownership(&job->walk, job->plan.fs_group, false, reply);
        if (r >= 0)
                r = bus_append_option(reply, "DiskGroup", "u", h ? h->disk_gid : GID_NONE);
        if (r >= 0 && v)
                r = bus_append_option(reply, "OwnershipState", "s",
                                      record_state_to_string(v->record.ownership_state));
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
                r = bus_append_option(reply, "LabelState", "s", record_state_to_string(v->record.label_state));
        if (r >= 0 && v)
                r = bus_append_option(reply, "Tainted", "b", (int) v->record.tainted);
        if (r >= 0)
                r = append_relabel(&job->walk, false, reply);
        if (r >= 0)
                r = append_owned(job, v, reply);
        if (r >= 0)
                r = append_counts(&job->walk, reply);
        if (r >= 0)
                r = append_job(job, reply);
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

/* A plan that was refused before it was made has none. */
static gid_t planned_group(const Plan *p) {
        return p->context ? p->fs_group : GID_NONE;
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
                r = append_relabel(&job->walk, true, reply);
        if (r >= 0)
                r = append_ownership(&job->walk, planned_group(p), true, reply);
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

int job_change_append(Job *job, sd_bus_message *reply) {
        _cleanup_free_ char *path = job_bus_path(job->object->id);

        return path ? sd_bus_message_append(reply, "o", path) : -ENOMEM;
}

static int append_issues(const Walk *w, const char *key, sd_bus_message *reply) {
        int r;

        r = bus_open_option(reply, key, "a(ss)");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ss)");
        for (size_t i = 0; i < w->result.n_issues && r >= 0; i++)
                r = sd_bus_message_append(reply, "(ss)", w->result.issues[i].path, w->result.issues[i].text);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : bus_close_option(reply);
}

static int append_verified(const Walk *w, sd_bus_message *reply) {
        const WalkCounts *c = &w->result.counts;
        int r;

        r = bus_append_option(reply, "EntriesDone", "t", c->done);
        if (r >= 0)
                r = bus_append_option(reply, "EntriesMismatched", "t", c->mismatched);
        if (r >= 0)
                r = bus_append_option(reply, "EntriesMisowned", "t", c->misowned);
        if (r >= 0)
                r = bus_append_option(reply, "EntriesFailed", "t", c->failed);
        if (r >= 0)
                r = append_issues(w, "Mismatches", reply);
        if (r >= 0)
                r = bus_append_option(reply, "Text", "s", strempty(w->text));
        return r;
}

int job_verify_append(Job *job, sd_bus_message *reply) {
        const Walk *w = &job->walk;
        int r;

        r = sd_bus_message_append(reply, "bs", (int) w->result.matches, strempty(w->result.actual));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = bus_append_option(reply, "Expected", "s", job->expected);
        if (r >= 0)
                r = bus_append_option(reply, "Target", "s", job->request.target);
        if (r >= 0)
                r = bus_append_option(reply, "Depth", "s", verify_depth_to_string(job->verify.depth));
        if (r >= 0)
                r = bus_append_option(reply, "FSGroup", "u", job->expected_gid);
        if (r >= 0)
                r = bus_append_option(reply, "SELinuxMode", "s", manager_selinux_mode(job->manager));
        if (r >= 0)
                r = append_verified(w, reply);
        if (r >= 0)
                r = append_job(job, reply);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_changed(const JobObject *o, sd_bus_message *reply) {
        const Walk *w = &o->walk;
        const WalkCounts *c = &w->result.counts;
        int r;

        r = append_relabel(w, false, reply);
        if (r >= 0)
                r = append_ownership(w, o->fs_group, false, reply);
        if (r >= 0)
                r = bus_append_option(reply, "DiskGroup", "u", o->disk_gid);
        if (r >= 0)
                r = append_counts(w, reply);
        if (r >= 0)
                r = bus_append_option(reply, "EntriesFailed", "t", c->failed);
        return r < 0 ? r : append_issues(w, "Failures", reply);
}

int job_object_append(const JobObject *o, sd_bus_message *reply) {
        const Walk *w = &o->walk;
        int r;

        r = sd_bus_message_append(reply, "s", job_object_result(o));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0 && o->result != FAILURE_NONE)
                r = bus_append_option(reply, "Error", "s", strempty(o->error));
        if (r >= 0)
                r = bus_append_option(reply, "DurationUSec", "t", w->duration_usec);
        if (r >= 0 && o->operation != OPERATION_VERIFY)
                r = append_changed(o, reply);
        if (r >= 0 && o->operation == OPERATION_VERIFY) {
                r = bus_append_option(reply, "Matches", "b", (int) w->result.matches);
                if (r >= 0)
                        r = bus_append_option(reply, "Actual", "s", strempty(w->result.actual));
                if (r >= 0)
                        r = append_verified(w, reply);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}
