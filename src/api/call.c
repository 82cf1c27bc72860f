/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/call.h"
#include "api/callers.h"
#include "basic/log.h"
#include "model/quota.h"
#include "state/watch.h"
#include "wire/peer.h"

/* The members that the replies to mount, adopt and plan share. */
static void put_plan(Dict *d, const Job *job) {
        const OperationResult *result = job_operation_result(job);
        bool asked = job->operation == OPERATION_PLAN;
        _cleanup_free_ char *text = NULL;
        const Plan *p = &job->plan;

        if (!p->context)
                return; /* refused before there was a plan */
        dict_put(d, "Strategy", "s", strategy_to_string(p->strategy));
        dict_put(d, "Reason", "s", reason_to_string(p->reason));
        if (job->refusal.kind == FAILURE_NONE) {
                /* The text of a plan also names options that would avoid a relabel. */
                text = strdup_printf("%s%s", strempty(p->text),
                                     asked && !result->repeated ? plan_describe_avoidance(p) : "");
                if (text)
                        dict_put(d, "Text", "s", text);
                else
                        d->error = -ENOMEM;
        }
        dict_put_string(d, "FSType", asked ? job->observed.fs_type : result->outcome.fact.fs_type);
        dict_put_strv(d, "MountOptions", p->mount_options);
        dict_put_true(d, "ReadOnly", p->read_only);
        dict_put_true(d, "Renewed", p->renewed);
        dict_put_true(d, "Shared", p->reason == REASON_CONTEXT_SHARED || job->share_target);
}

/* A plan says "walk" and "skip", an operation that has ended "walked" and "skipped"; the reasons fit both. */
static void put_files(Dict *d, const Job *job) {
        static const char *const relabel_done[RELABEL_ACTIONS] = {
                [RELABEL_SKIP] = "skipped",
                [RELABEL_WALK] = "walked",
        };
        static const char *const ownership_done[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_NONE] = "none",  [OWNERSHIP_OPTION] = "option", [OWNERSHIP_SKIP] = "skipped",
                [OWNERSHIP_MAP] = "mapped", [OWNERSHIP_WALK] = "walked",
        };
        const OperationResult *result = job_operation_result(job);
        const FilesDecision *f = &result->files;
        bool asked = job->operation == OPERATION_PLAN;
        const WalkResult *w = &result->walk;
        const Volume *v = job_volume(job);

        if (f->relabel != RELABEL_NONE) {
                dict_put(d, "Relabel", "s", asked ? relabel_action_to_string(f->relabel) : relabel_done[f->relabel]);
                dict_put(d, "RelabelReason", "s", relabel_reason_to_string(f->relabel_reason));
        }
        if (f->ownership_reason != OWNERSHIP_NOT_ASKED) {
                dict_put(d, "Ownership", "s",
                         asked ? ownership_action_to_string(f->ownership) : ownership_done[f->ownership]);
                dict_put(d, "OwnershipReason", "s", ownership_reason_to_string(f->ownership_reason));
                dict_put_string(d, "OwnershipDetail", result->detail);
        }
        dict_put_gid(d, "FSGroup", f->gid);
        if (asked)
                return;
        if (f->gid != GID_NONE) {
                dict_put_gid(d, "DiskGroup", f->disk_gid);
                if (v)
                        dict_put_string(d, "OwnershipState", files_state_to_string(v->mark.ownership_state));
        }
        if (!result->walked)
                return;
        dict_put(d, "EntriesDone", "t", w->counts.done);
        dict_put(d, "EntriesChanged", "t", w->counts.changed);
        dict_put_u64(d, "EntriesSkipped", w->counts.skipped);
        dict_put_u64(d, "DirectoriesModified", w->counts.modified);
        dict_put_strv(d, "Submounts", w->submounts);
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

static void put_mount(Dict *d, const Job *job) {
        const OperationResult *result = job_operation_result(job);
        const Volume *v = job_volume(job), *sharer = job_find_sharer(job);

        put_plan(d, job);
        if (sharer)
                dict_put_string(d, "AlsoHeldAs", sharer->id);
        dict_put_string(d, "Device", result->outcome.fact.device);
        dict_put_u64(d, "MountID", result->outcome.fact.mount_id);
        /* The state of the labels on disk only matters without a context mount. */
        if (v && job->plan.strategy == STRATEGY_RELABEL && job->plan.relabel_here) {
                dict_put_string(d, "LabelState", files_state_to_string(v->mark.label_state));
                dict_put_true(d, "Tainted", v->mark.tainted);
        }
        put_files(d, job);
        put_job(d, job);
}

static void put_planned(Dict *d, const Job *job) {
        const Plan *p = &job->plan;

        put_plan(d, job);
        dict_put_string(d, "Context", p->context);
        dict_put_string(d, "RuntimeFlag", p->runtime_flag);
        dict_put_u64(d, "EstimatedEntries", p->entries);
        dict_put_u64(d, "EstimatedUSec", p->usec);
        put_files(d, job);
        if (p->n_conflicts > 0) {
                dict_open_entry(d, "Conflicts", "aa{sv}");
                dict_append_conflicts(d, p->conflicts, p->n_conflicts);
                dict_close_entry(d);
        }
        if (job->refusal.kind == FAILURE_NONE)
                return;
        dict_put(d, "ErrorName", "s", failure_kind_to_string(job->refusal.kind));
        dict_put(d, "ErrorMessage", "s", strempty(job->refusal.message));
}

static void put_issues(Dict *d, const char *key, const WalkResult *w) {
        if (w->n_issues == 0)
                return;
        dict_open_entry(d, key, "a(ss)");
        dict_open(d, 'a', "(ss)");
        for (size_t i = 0; i < w->n_issues && d->error == 0; i++) {
                int r = sd_bus_message_append(d->m, "(ss)", w->issues[i].path, w->issues[i].text);

                if (r < 0)
                        d->error = r;
        }
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
        const char *device = job->unmount.still_open;

        dict_put(d, "Unmounted", "b", (int) job->unmount.unmounted);
        dict_put_true(d, "StillOpen", device);
        dict_put_string(d, "Device", device);
}

static int append_dict(sd_bus_message *m, const Job *job, void (*put)(Dict *d, const Job *job)) {
        Dict d = { .m = m };

        dict_open(&d, 'a', "{sv}");
        put(&d, job);
        dict_close(&d);
        return d.error;
}

/* The reply to the method that started the job; the job has succeeded. */
static int append_answer(sd_bus_message *m, const Job *job) {
        static void (*const put[OPERATIONS])(Dict * d, const Job *job) = {
                [OPERATION_MOUNT] = put_mount,       [OPERATION_PLAN] = put_planned,  [OPERATION_ADOPT] = put_mount,
                [OPERATION_UNMOUNT] = put_unmounted, [OPERATION_VERIFY] = put_verify,
        };
        _cleanup_free_ char *path = NULL;
        int r = 0;

        if (operation_type(job->operation)->answered_early) {
                path = job_path(job->id);
                return path ? sd_bus_message_append(m, "o", path) : -ENOMEM;
        }
        if (job->operation == OPERATION_MOUNT || job->operation == OPERATION_ADOPT)
                r = sd_bus_message_append(m, "ss", strempty(job->plan.context), strempty(job->plan.runtime_flag));
        else if (job->operation == OPERATION_VERIFY)
                r = sd_bus_message_append(m, "bs", (int) job->verify.result.matches,
                                          strempty(job->verify.result.actual));
        return r < 0 ? r : append_dict(m, job, put[job->operation]);
}

static void put_ended(Dict *d, const Job *job) {
        const OperationResult *result = job_operation_result(job);

        dict_put_string(d, "Volume", job->request.volume);
        if (job_has_failed(job))
                dict_put(d, "ErrorMessage", "s", strempty(job->failure.message));
        dict_put_u64(d, "DurationUSec", job->progress.duration_usec);
        if (job->operation != OPERATION_VERIFY) {
                dict_put_string(d, "Context", job->plan.context);
                put_files(d, job);
                dict_put_u64(d, "EntriesFailed", result->walk.counts.failed);
                put_issues(d, "Failures", &result->walk);
        } else if (!job_has_failed(job)) {
                dict_put(d, "Matches", "b", (int) job->verify.result.matches);
                dict_put_string(d, "Actual", job->verify.result.actual);
                put_verified(d, job);
        }
}

/* Sends the operation's reply, or the job's error; see org.selvol1(5). Returns a negative errno on
 * failure. */
static int send_reply(sd_bus_message *call, const Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        bool wait = sd_bus_message_is_method_call(call, NULL, "Wait"),
             cancel = sd_bus_message_is_method_call(call, NULL, "Cancel");
        int r;

        if (job_has_failed(job) && !wait && !cancel) {
                (void) peer_error_set(&error, &job->failure);
                return sd_bus_reply_method_error(call, &error);
        }
        r = sd_bus_message_new_method_return(call, &reply);
        if (r < 0)
                return r;
        if (wait) {
                r = sd_bus_message_append(reply, "s", job_result(job));
                if (r >= 0)
                        r = append_dict(reply, job, put_ended);
        } else if (!cancel)
                r = append_answer(reply, job);
        if (r < 0)
                return sd_bus_reply_method_errnof(call, r, "Failed to compose the reply: %m");
        return sd_bus_send(sd_bus_message_get_bus(call), reply, NULL);
}

struct Call {
        Call *prev, *next;
        Api *api;
        sd_bus_message *message;
        size_t bytes; /* about those of the message */
        uid_t uid;
};

static void call_free(Call *c) {
        DL_DELETE(c->api->calls, c);
        sd_bus_message_unref(c->message);
        free(c);
}

/* To cancel a job needs no room: a job has few of these calls. */
static int check_bytes(const Api *api, sd_bus_message *message, const Caller *caller, size_t bytes, Failure *f) {
        Quota q = { 0 };
        const Call *c;

        DL_FOREACH (api->calls, c)
                quota_count(&q, c->bytes, c->uid == caller->uid);
        if (sd_bus_message_is_method_call(message, NULL, "Cancel") ||
            quota_check(&q, LIMIT_CALLS_WAITING_BYTES, bytes, caller->trusted) == QUOTA_FITS)
                return 0;
        return failure_set(
                f, FAILURE_LIMIT_REACHED,
                "%zu bytes of calls, %zu of them of this user, wait for jobs: wait for answers, and try again.",
                q.all, q.caller);
}

/* The caller of this function releases *ret_caller, also after an error. */
static int call_new(Api *api, sd_bus_message *message, Caller *ret_caller, Call **ret, Failure *f) {
        const size_t bytes = call_count_bytes(message);
        Call *c;
        int r;

        /* If the sender has left meanwhile, selvold starts nothing: no limit would apply. */
        r = sender_identify(api, message, ret_caller);
        if (r < 0)
                return r;
        r = check_bytes(api, message, ret_caller, bytes, f);
        if (r != 0)
                return r;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        c->api = api;
        c->message = sd_bus_message_ref(message);
        c->bytes = bytes;
        c->uid = ret_caller->uid;
        DL_APPEND(api->calls, c);
        *ret = c;
        return 0;
}

void calls_teardown(Api *api) {
        while (api->calls)
                call_free(api->calls);
}

void calls_abandon(Api *api) {
        while (api->calls) {
                job_forget_waiter(api->jobs, api->calls);
                call_free(api->calls);
        }
}

static void call_answer(const Job *job, void *userdata) {
        Call *c = userdata;

        if (send_reply(c->message, job) < 0)
                api_leave(c->api, "A reply can't be sent");
        call_free(c);
}

void calls_forget(Api *api, const char *name) {
        Call *c, *next;

        DL_FOREACH_SAFE (api->calls, c, next) {
                /* A caller that asked for no reply may leave the bus. */
                if (!streq_ptr(sd_bus_message_get_sender(c->message), name) ||
                    sd_bus_message_get_expect_reply(c->message) <= 0)
                        continue;
                log_debug("%s has gone, and waits no more.", name);
                job_forget_waiter(api->jobs, c);
                call_free(c);
        }
}

int call_start(Api *api, sd_bus_message *message, Operation operation, Request *request, VerifyDepth depth,
               sd_bus_error *error) {
        _cleanup_(caller_done) Caller caller = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        Call *c;
        int r;

        r = call_new(api, message, &caller, &c, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);
        r = job_start(api->jobs, operation, request, depth, &caller, call_answer, c, &f);
        if (r == 0)
                return 1;
        call_free(c);
        return api_refuse(api, r, &f, error);
}

int call_follow(Api *api, sd_bus_message *message, Job *job, sd_bus_error *error) {
        bool cancels = sd_bus_message_is_method_call(message, NULL, "Cancel");
        _cleanup_(caller_done) Caller caller = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        Call *c;
        int r;

        r = call_new(api, message, &caller, &c, &f);
        if (r != 0)
                return api_refuse(api, r, &f, error);
        r = job_follow(job, &caller, cancels, call_answer, c, &f);
        if (r == 0)
                return 1;
        call_free(c);
        return api_refuse(api, r, &f, error);
}
