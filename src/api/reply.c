/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/dict.h"
#include "api/paths.h"
#include "api/reply.h"
#include "job/job.h"
#include "wire/peer.h"

static int zero_or_error(int r) {
        return r < 0 ? r : 0;
}

/* It says what is done; of a plan also what would avoid it. */
static void put_text(Dict *d, const Job *job) {
        const Plan *p = &job->plan;
        bool avoidable = job->operation == OPERATION_PLAN && !job_operation_result(job)->repeated;
        _cleanup_free_ char *text =
                strdup_printf("%s%s", strempty(p->text), avoidable ? plan_describe_avoidance(p) : "");

        if (!text)
                d->error = -ENOMEM;
        else
                dict_put(d, "Text", "s", text);
}

/* What mount, adopt and plan have in common. */
static void put_plan(Dict *d, const Job *job) {
        const Plan *p = &job->plan;

        if (!p->context)
                return; /* refused before there was a plan */
        dict_put(d, "Strategy", "s", strategy_to_string(p->strategy));
        dict_put(d, "Reason", "s", reason_to_string(p->reason));
        if (job->refusal.kind == FAILURE_NONE)
                put_text(d, job);
        dict_put_string(d, "FSType",
                        job->operation == OPERATION_PLAN ? job->observed.fs_type
                                                         : job_operation_result(job)->outcome.fact.fs_type);
        dict_put_strv(d, "MountOptions", p->mount_options);
        dict_put_true(d, "ReadOnly", p->read_only);
        dict_put_true(d, "Shared", p->reason == REASON_CONTEXT_SHARED || job->share_target);
}

static void put_counts(Dict *d, const Job *job) {
        const WalkResult *w = &job_operation_result(job)->walk;

        if (!job_operation_result(job)->walked)
                return;
        dict_put(d, "EntriesDone", "t", w->counts.done);
        dict_put(d, "EntriesChanged", "t", w->counts.changed);
        dict_put_u64(d, "EntriesSkipped", w->counts.skipped);
        dict_put_u64(d, "DirectoriesModified", w->counts.modified);
        dict_put_strv(d, "Submounts", w->submounts);
}

/* "walk" and "skip" of a plan, "walked" and "skipped" of what was done; what the reason says fits both. */
static void put_relabel(Dict *d, const Job *job) {
        static const char *const done[RELABEL_ACTIONS] = { [RELABEL_SKIP] = "skipped", [RELABEL_WALK] = "walked" };
        const FilesDecision *f = &job_operation_result(job)->files;

        if (f->relabel == RELABEL_NONE)
                return;
        dict_put(d, "Relabel", "s",
                 job->operation == OPERATION_PLAN ? relabel_action_to_string(f->relabel) : done[f->relabel]);
        dict_put(d, "RelabelReason", "s", relabel_reason_to_string(f->relabel_reason));
}

static void put_groups(Dict *d, const Job *job) {
        const FilesDecision *f = &job_operation_result(job)->files;
        const Volume *v = job_volume(job);

        dict_put_gid(d, "FSGroup", f->gid);
        if (job->operation == OPERATION_PLAN || f->gid == GID_NONE)
                return;
        dict_put_gid(d, "DiskGroup", f->disk_gid);
        if (v)
                dict_put_string(d, "OwnershipState", files_state_to_string(v->mark.ownership_state));
}

static void put_ownership(Dict *d, const Job *job) {
        static const char *const done[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_NONE] = "none",  [OWNERSHIP_OPTION] = "option", [OWNERSHIP_SKIP] = "skipped",
                [OWNERSHIP_MAP] = "mapped", [OWNERSHIP_WALK] = "walked",
        };
        const FilesDecision *f = &job_operation_result(job)->files;

        if (f->ownership_reason != OWNERSHIP_NOT_ASKED) {
                dict_put(d, "Ownership", "s",
                         job->operation == OPERATION_PLAN ? ownership_action_to_string(f->ownership)
                                                          : done[f->ownership]);
                dict_put(d, "OwnershipReason", "s", ownership_reason_to_string(f->ownership_reason));
                dict_put_string(d, "OwnershipDetail", job_operation_result(job)->detail);
        }
        put_groups(d, job);
}

static void put_job(Dict *d, const Job *job) {
        _cleanup_free_ char *path = NULL;

        if (!job->shown)
                return;
        path = job_path(job->id);
        if (path)
                dict_put(d, "Job", "o", path);
        else
                d->error = -ENOMEM;
}

/* What is known of labels on disk matters unless a context covers them. */
static void put_label_state(Dict *d, const Job *job) {
        const Volume *v = job_volume(job);

        if (!v || job->plan.strategy != STRATEGY_RELABEL || !job->plan.relabel_here)
                return;
        dict_put_string(d, "LabelState", files_state_to_string(v->mark.label_state));
        dict_put_true(d, "Tainted", v->mark.tainted);
}

static void put_mount(Dict *d, const Job *job) {
        const MountFact *fact = &job_operation_result(job)->outcome.fact;

        put_plan(d, job);
        dict_put_string(d, "Device", fact->device);
        dict_put_u64(d, "MountID", fact->mount_id);
        put_label_state(d, job);
        put_relabel(d, job);
        put_ownership(d, job);
        put_counts(d, job);
        put_job(d, job);
}

static void put_refusal(Dict *d, const Job *job) {
        if (job->plan.n_conflicts > 0) {
                dict_open_entry(d, "Conflicts", "aa{sv}");
                dict_append_conflicts(d, &job->plan);
                dict_close_entry(d);
        }
        if (job->refusal.kind == FAILURE_NONE)
                return;
        dict_put(d, "ErrorName", "s", failure_kind_to_string(job->refusal.kind));
        dict_put(d, "ErrorMessage", "s", strempty(job->refusal.message));
}

static void put_planned(Dict *d, const Job *job) {
        const Plan *p = &job->plan;

        put_plan(d, job);
        dict_put_string(d, "Context", p->context);
        dict_put_string(d, "RuntimeFlag", p->runtime_flag);
        dict_put_u64(d, "EstimatedEntries", p->entries);
        dict_put_u64(d, "EstimatedUSec", p->usec);
        put_relabel(d, job);
        put_ownership(d, job);
        put_refusal(d, job);
}

static void put_issues(Dict *d, const char *key, const WalkResult *w) {
        if (w->n_issues == 0)
                return;
        dict_open_entry(d, key, "a(ss)");
        dict_open(d, 'a', "(ss)");
        for (size_t i = 0; i < w->n_issues && d->error == 0; i++)
                d->error = zero_or_error(sd_bus_message_append(d->m, "(ss)", w->issues[i].path, w->issues[i].text));
        dict_close(d);
        dict_close_entry(d);
}

static void put_verified(Dict *d, const Job *job) {
        const WalkResult *w = &job->verify.result.walk;

        dict_put(d, "EntriesDone", "t", w->counts.done);
        dict_put(d, "EntriesMismatched", "t", w->counts.mismatched);
        if (job->verify.call.gid != GID_NONE)
                dict_put(d, "EntriesMisowned", "t", w->counts.misowned);
        dict_put_u64(d, "EntriesFailed", w->counts.failed);
        put_issues(d, "Mismatches", w);
        dict_put_string(d, "Text", job->verify.text);
}

static void put_verify(Dict *d, const Job *job) {
        const VerifyCall *c = &job->verify.call;

        dict_put_string(d, "Expected", c->expected);
        dict_put(d, "Target", "s", c->path);
        dict_put(d, "Depth", "s", verify_depth_to_string(c->depth));
        dict_put(d, "SELinuxMode", "s", state_selinux_mode(job->jobs->state));
        dict_put_gid(d, "FSGroup", c->gid);
        put_verified(d, job);
        put_job(d, job);
}

static void put_unmounted(Dict *d, const Job *job) {
        dict_put(d, "Unmounted", "b", (int) job->unmounted);
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
                return sd_bus_message_append(m, "bs", (int) job->verify.result.matches,
                                             strempty(job->verify.result.actual));
        default:
                return 0;
        }
}

static int append_dict(sd_bus_message *m, const Job *job, void (*put)(Dict *d, const Job *job)) {
        Dict d = { .m = m };

        dict_open(&d, 'a', "{sv}");
        put(&d, job);
        dict_close(&d);
        return d.error;
}

/* The answer of the method that started the job, which went well. */
static int append_answer(sd_bus_message *m, const Job *job) {
        static void (*const put[OPERATIONS])(Dict * d, const Job *job) = {
                [OPERATION_MOUNT] = put_mount,       [OPERATION_PLAN] = put_planned,  [OPERATION_ADOPT] = put_mount,
                [OPERATION_UNMOUNT] = put_unmounted, [OPERATION_VERIFY] = put_verify,
        };
        int r;

        if (operation_type(job->operation)->answered_early)
                return append_path(m, job);
        r = append_head(m, job);
        if (r < 0)
                return r;
        return append_dict(m, job, put[job->operation]);
}

static void put_changed(Dict *d, const Job *job) {
        dict_put_string(d, "Context", job->plan.context);
        put_relabel(d, job);
        put_ownership(d, job);
        put_counts(d, job);
        dict_put_u64(d, "EntriesFailed", job_operation_result(job)->walk.counts.failed);
        put_issues(d, "Failures", &job_operation_result(job)->walk);
}

static void put_ended(Dict *d, const Job *job) {
        if (job_has_failed(job))
                dict_put(d, "ErrorMessage", "s", strempty(job->failure.message));
        dict_put_u64(d, "DurationUSec", job->progress.duration_usec);
        if (job->operation != OPERATION_VERIFY) {
                put_changed(d, job);
                return;
        }
        if (job_has_failed(job))
                return;
        dict_put(d, "Matches", "b", (int) job->verify.result.matches);
        dict_put_string(d, "Actual", job->verify.result.actual);
        put_verified(d, job);
}

/* The answer of Job.Wait. */
static int append_wait(sd_bus_message *m, const Job *job) {
        int r;

        r = sd_bus_message_append(m, "s", job_result(job));
        if (r < 0)
                return r;
        return append_dict(m, job, put_ended);
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
                r = wait ? append_wait(reply, job) : append_answer(reply, job);
                if (r < 0)
                        return zero_or_error(sd_bus_reply_method_errnof(call, r, "Failed to compose the reply: %m"));
        }
        return zero_or_error(sd_bus_send(sd_bus_message_get_bus(call), reply, NULL));
}
