/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/dict.h"
#include "api/paths.h"
#include "api/reply.h"
#include "wire/peer.h"

static int zero_or_error(int r) {
        return r < 0 ? r : 0;
}

/* What mount, adopt and plan have in common. */
static int append_plan(sd_bus_message *m, const Job *job) {
        const Plan *p = &job->plan;
        const char *fs_type =
                job->operation == OPERATION_PLAN ? job->observed.fs_type : job->result.outcome.fact.fs_type;
        int r;

        if (!p->context)
                return 0; /* refused before there was a plan */
        r = sd_bus_message_append(m, "{sv}{sv}{sv}", "Strategy", "s", strategy_to_string(p->strategy), "Reason", "s",
                                  reason_to_string(p->reason), "Text", "s", strempty(p->text));
        if (r < 0)
                return r;
        r = dict_append_string(m, "FSType", fs_type);
        if (r < 0)
                return r;
        r = dict_append_strv(m, "MountOptions", p->mount_options);
        if (r < 0)
                return r;
        r = dict_append_true(m, "ReadOnly", p->read_only);
        if (r < 0)
                return r;
        return dict_append_true(m, "Shared", p->reason == REASON_CONTEXT_SHARED || job->share_target);
}

static int append_counts(sd_bus_message *m, const Job *job) {
        const WalkResult *w = &job->result.walk;
        const WalkCounts *c = &w->counts;
        int r;

        if (!job->result.walked)
                return 0;
        r = sd_bus_message_append(m, "{sv}{sv}", "EntriesDone", "t", c->done, "EntriesChanged", "t", c->changed);
        if (r < 0)
                return r;
        r = dict_append_u64(m, "EntriesSkipped", c->skipped);
        if (r < 0)
                return r;
        r = dict_append_u64(m, "DirectoriesModified", c->modified);
        if (r < 0)
                return r;
        return dict_append_strv(m, "Submounts", w->submounts);
}

/* "walk" and "skip" of a plan, "walked" and "skipped" of what was done; what the reason says fits both. */
static int append_relabel(sd_bus_message *m, const Job *job) {
        static const char *const done[RELABEL_ACTIONS] = { [RELABEL_SKIP] = "skipped", [RELABEL_WALK] = "walked" };
        const FilesDecision *d = &job->result.files;

        if (d->relabel == RELABEL_NONE)
                return 0;
        return zero_or_error(sd_bus_message_append(
                m, "{sv}{sv}", "Relabel", "s",
                job->operation == OPERATION_PLAN ? relabel_action_to_string(d->relabel) : done[d->relabel],
                "RelabelReason", "s", relabel_reason_to_string(d->relabel_reason)));
}

static int append_groups(sd_bus_message *m, const Job *job) {
        const Volume *v = job_volume(job);
        int r;

        r = dict_append_gid(m, "FSGroup", job->result.files.gid);
        if (r < 0 || job->operation == OPERATION_PLAN || job->result.files.gid == GID_NONE)
                return r;
        r = dict_append_gid(m, "DiskGroup", job->result.files.disk_gid);
        if (r < 0 || !v)
                return r;
        return dict_append_string(m, "OwnershipState", files_state_to_string(v->mark.ownership_state));
}

static int append_ownership(sd_bus_message *m, const Job *job) {
        static const char *const done[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_NONE] = "none",  [OWNERSHIP_OPTION] = "option", [OWNERSHIP_SKIP] = "skipped",
                [OWNERSHIP_MAP] = "mapped", [OWNERSHIP_WALK] = "walked",
        };
        const FilesDecision *d = &job->result.files;
        int r;

        if (d->ownership_reason != OWNERSHIP_NOT_ASKED) {
                r = sd_bus_message_append(m, "{sv}{sv}", "Ownership", "s",
                                          job->operation == OPERATION_PLAN ? ownership_action_to_string(d->ownership)
                                                                           : done[d->ownership],
                                          "OwnershipReason", "s", ownership_reason_to_string(d->ownership_reason));
                if (r < 0)
                        return r;
                r = dict_append_string(m, "OwnershipDetail", job->result.detail);
                if (r < 0)
                        return r;
        }
        return append_groups(m, job);
}

static int append_job(sd_bus_message *m, const Job *job) {
        _cleanup_free_ char *path = NULL;

        if (!job->shown)
                return 0;
        path = job_path(job->id);
        return path ? zero_or_error(sd_bus_message_append(m, "{sv}", "Job", "o", path)) : -ENOMEM;
}

/* What is known of labels on disk matters unless a context covers them. */
static int append_label_state(sd_bus_message *m, const Job *job) {
        const Volume *v = job_volume(job);
        int r;

        if (!v || job->plan.strategy != STRATEGY_RELABEL || !job->plan.relabel_here)
                return 0;
        r = dict_append_string(m, "LabelState", files_state_to_string(v->mark.label_state));
        if (r < 0)
                return r;
        return dict_append_true(m, "Tainted", v->mark.tainted);
}

static int append_mount(sd_bus_message *m, const Job *job) {
        const MountFact *fact = &job->result.outcome.fact;
        int r;

        r = append_plan(m, job);
        if (r < 0)
                return r;
        r = dict_append_string(m, "Device", fact->device);
        if (r < 0)
                return r;
        r = dict_append_u64(m, "MountID", fact->mount_id);
        if (r < 0)
                return r;
        r = append_label_state(m, job);
        if (r < 0)
                return r;
        r = append_relabel(m, job);
        if (r < 0)
                return r;
        r = append_ownership(m, job);
        if (r < 0)
                return r;
        r = append_counts(m, job);
        if (r < 0)
                return r;
        return append_job(m, job);
}

static int append_refusal(sd_bus_message *m, const Job *job) {
        const Plan *p = &job->plan;
        int r;

        if (p->n_conflicts > 0) {
                r = sd_bus_message_open_container(m, 'e', "sv");
                if (r < 0)
                        return r;
                r = sd_bus_message_append(m, "s", "Conflicts");
                if (r < 0)
                        return r;
                r = sd_bus_message_open_container(m, 'v', "aa{sv}");
                if (r < 0)
                        return r;
                r = conflicts_append(m, p);
                if (r < 0)
                        return r;
                r = sd_bus_message_close_container(m);
                if (r < 0)
                        return r;
                r = sd_bus_message_close_container(m);
                if (r < 0)
                        return r;
        }
        if (job->refusal.kind == FAILURE_NONE)
                return 0;
        return zero_or_error(sd_bus_message_append(m, "{sv}{sv}", "ErrorName", "s",
                                                   failure_kind_to_string(job->refusal.kind), "ErrorMessage", "s",
                                                   strempty(job->refusal.message)));
}

static int append_planned(sd_bus_message *m, const Job *job) {
        const Plan *p = &job->plan;
        int r;

        r = append_plan(m, job);
        if (r < 0)
                return r;
        r = dict_append_string(m, "Context", p->context);
        if (r < 0)
                return r;
        r = dict_append_string(m, "RuntimeFlag", p->runtime_flag);
        if (r < 0)
                return r;
        r = dict_append_u64(m, "EstimatedEntries", p->entries);
        if (r < 0)
                return r;
        r = dict_append_u64(m, "EstimatedUSec", p->usec);
        if (r < 0)
                return r;
        r = append_relabel(m, job);
        if (r < 0)
                return r;
        r = append_ownership(m, job);
        if (r < 0)
                return r;
        return append_refusal(m, job);
}

static int append_issues(sd_bus_message *m, const char *key, const WalkResult *w) {
        int r;

        if (w->n_issues == 0)
                return 0;
        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", key);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'v', "a(ss)");
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'a', "(ss)");
        if (r < 0)
                return r;
        for (size_t i = 0; i < w->n_issues; i++) {
                r = sd_bus_message_append(m, "(ss)", w->issues[i].path, w->issues[i].text);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < 3; i++) {
                r = sd_bus_message_close_container(m);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int append_verified(sd_bus_message *m, const Job *job) {
        const WalkResult *w = &job->verified.walk;
        const WalkCounts *c = &w->counts;
        int r;

        r = sd_bus_message_append(m, "{sv}{sv}", "EntriesDone", "t", c->done, "EntriesMismatched", "t",
                                  c->mismatched);
        if (r < 0)
                return r;
        if (job->verify.gid != GID_NONE) {
                r = sd_bus_message_append(m, "{sv}", "EntriesMisowned", "t", c->misowned);
                if (r < 0)
                        return r;
        }
        r = dict_append_u64(m, "EntriesFailed", c->failed);
        if (r < 0)
                return r;
        r = append_issues(m, "Mismatches", w);
        if (r < 0)
                return r;
        return dict_append_string(m, "Text", job->text);
}

static int append_verify(sd_bus_message *m, const Job *job) {
        const VerifyCall *c = &job->verify;
        int r;

        r = dict_append_string(m, "Expected", c->expected);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "{sv}{sv}{sv}", "Target", "s", c->path, "Depth", "s",
                                  verify_depth_to_string(c->depth), "SELinuxMode", "s",
                                  state_selinux_mode(job->jobs->state));
        if (r < 0)
                return r;
        r = dict_append_gid(m, "FSGroup", c->gid);
        if (r < 0)
                return r;
        r = append_verified(m, job);
        if (r < 0)
                return r;
        return append_job(m, job);
}

static int append_unmounted(sd_bus_message *m, const Job *job) {
        return zero_or_error(sd_bus_message_append(m, "{sv}", "Unmounted", "b", (int) job->unmounted));
}

static int append_path(sd_bus_message *m, const Job *job) {
        _cleanup_free_ char *path = job_path(job->id);

        return path ? zero_or_error(sd_bus_message_append(m, "o", path)) : -ENOMEM;
}

/* What stands before the dictionary. */
static int append_head(sd_bus_message *m, const Job *job) {
        switch (job->operation) {
        case OPERATION_MOUNT:
        case OPERATION_ADOPT:
                return sd_bus_message_append(m, "ss", strempty(job->plan.context), strempty(job->plan.runtime_flag));
        case OPERATION_VERIFY:
                return sd_bus_message_append(m, "bs", (int) job->verified.matches, strempty(job->verified.actual));
        default:
                return 0;
        }
}

static int append_dict(sd_bus_message *m, const Job *job, int (*append)(sd_bus_message *m, const Job *job)) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        r = append(m, job);
        if (r < 0)
                return r;
        return zero_or_error(sd_bus_message_close_container(m));
}

int reply_append(sd_bus_message *m, const Job *job) {
        static int (*const append[OPERATIONS])(sd_bus_message * m, const Job *job) = {
                [OPERATION_MOUNT] = append_mount,   [OPERATION_PLAN] = append_planned,
                [OPERATION_ADOPT] = append_mount,   [OPERATION_UNMOUNT] = append_unmounted,
                [OPERATION_VERIFY] = append_verify,
        };
        int r;

        if (operation_is_answered_early(job->operation))
                return append_path(m, job);
        r = append_head(m, job);
        if (r < 0)
                return r;
        return append_dict(m, job, append[job->operation]);
}

static int append_changed(sd_bus_message *m, const Job *job) {
        int r;

        r = append_relabel(m, job);
        if (r < 0)
                return r;
        r = append_ownership(m, job);
        if (r < 0)
                return r;
        r = append_counts(m, job);
        if (r < 0)
                return r;
        r = dict_append_u64(m, "EntriesFailed", job->result.walk.counts.failed);
        if (r < 0)
                return r;
        return append_issues(m, "Failures", &job->result.walk);
}

static int append_ended(sd_bus_message *m, const Job *job) {
        int r;

        if (job_has_failed(job)) {
                r = sd_bus_message_append(m, "{sv}", "ErrorMessage", "s", strempty(job->failure.message));
                if (r < 0)
                        return r;
        }
        r = dict_append_u64(m, "DurationUSec", job->progress.duration_usec);
        if (r < 0)
                return r;
        if (job->operation != OPERATION_VERIFY)
                return append_changed(m, job);
        if (job_has_failed(job))
                return 0;
        r = sd_bus_message_append(m, "{sv}", "Matches", "b", (int) job->verified.matches);
        if (r < 0)
                return r;
        r = dict_append_string(m, "Actual", job->verified.actual);
        if (r < 0)
                return r;
        return append_verified(m, job);
}

int reply_append_wait(sd_bus_message *m, const Job *job) {
        int r;

        r = sd_bus_message_append(m, "s", job_result(job));
        if (r < 0)
                return r;
        return append_dict(m, job, append_ended);
}

static int send_error(sd_bus_message *call, const Job *job) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        (void) peer_error_set(&error, &job->failure);
        return zero_or_error(sd_bus_reply_method_error(call, &error));
}

int reply_send(sd_bus_message *call, const Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        bool wait = sd_bus_message_is_method_call(call, NULL, "Wait"),
             cancel = sd_bus_message_is_method_call(call, NULL, "Cancel");
        int r;

        if (job_has_failed(job) && !wait && !cancel)
                return send_error(call, job);
        r = sd_bus_message_new_method_return(call, &reply);
        if (r < 0)
                return r;
        if (!cancel) {
                r = wait ? reply_append_wait(reply, job) : reply_append(reply, job);
                if (r < 0)
                        return zero_or_error(sd_bus_reply_method_errnof(call, r, "Failed to compose the reply: %m"));
        }
        return zero_or_error(sd_bus_send(sd_bus_message_get_bus(call), reply, NULL));
}
