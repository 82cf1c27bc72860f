/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/mount-table.h"
#include "operation.h"
#include "wire/names.h"
#include "wire/peer.h"
#include "wire/protocol.h"

/* An operation may be silent for so long, as the machine may be busy with other work. */
#define STEP_USEC (WAIT_SEC * G_USEC_PER_SEC)

/* --- messages of the worker --- */

static void heard_done(Heard *h) {
        plan_question_done(&h->question);
        ready_question_done(&h->ready);
        mark_done(&h->begun);
}

void answer_done(Answer *a) {
        g_free(a->message);
        heard_done(&a->heard);
        plan_question_done(&a->question);
        mount_outcome_done(&a->outcome);
        mark_done(&a->mark);
        free(a->detail);
        walk_result_done(&a->walk);
        free(a->actual);
        free(a->not_reset);
}

void answer_check(const char *file, int line, const Answer *a, const char *kind) {
        if (g_strcmp0(a->kind, kind) != 0)
                g_error("%s:%i: %s instead of %s: %s", file, line, a->kind, kind, a->message);
}

void answer_check_message(const char *file, int line, const Answer *a, const char *needle) {
        const char *second = a->message ? strchr(a->message, '\n') : NULL;

        /* A message has one line, or two. */
        if (!a->message || !strstr(a->message, needle) || (second && strchr(second + 1, '\n')))
                g_error("%s:%i: no '%s' in: %s", file, line, needle, a->message);
}

Answer answer_expect(const char *file, int line, Answer a, const char *kind, const char *const *needles) {
        answer_check(file, line, &a, kind);
        for (; *needles; needles++)
                answer_check_message(file, line, &a, *needles);
        return a;
}

void answer_drop(Answer a) {
        answer_done(&a);
}

void counts_check(const char *file, int line, const WalkCounts *a, const WalkCounts *e) {
        const struct {
                const char *name;
                uint64_t is, wanted;
        } rows[] = {
                { "done", a->done, e->done },
                { "changed", a->changed, e->changed },
                { "mismatched", a->mismatched, e->mismatched },
                { "misowned", a->misowned, e->misowned },
                { "failed", a->failed, e->failed },
                { "skipped", a->skipped, e->skipped },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (rows[i].is != rows[i].wanted)
                        g_error("%s:%i: %s is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, file, line,
                                rows[i].name, rows[i].is, rows[i].wanted);
}

/* As selvold does, takes the options of the mount that is replaced before those of the test. */
static char **make_options(const Operation *o) {
        g_autoptr(GStrvBuilder) options = g_strv_builder_new();
        g_auto(GStrv) passed = g_strsplit(o->arguments.options ? o->arguments.options : "", ",", -1);

        if (o->heard.question.observed.replaced)
                g_strv_builder_addv(options, (const char **) o->heard.question.observed.replaced);
        g_strv_builder_addv(options, (const char **) passed);
        return g_strv_builder_end(options);
}

static PlanAnswer make_plan_answer(const Operation *o) {
        const Arguments *a = &o->arguments;
        const char *share = a->share ? a->share : g_str_equal(o->method, WORKER_CHANGE) ? a->target : NULL;
        bool wants_files = a->files.context || a->files.ownership != OWNERSHIP_NONE;

        if (a->step != PLAN_GO)
                return (PlanAnswer){ .step = a->step, .seclabel = -1, .files = FILES_WANTED_INIT };
        return (PlanAnswer){
                .seclabel = a->suppose_seclabel && o->heard.n_plans == 1 ? 1 : -1,
                .context = (char *) a->context,
                .mount_options = make_options(o),
                .read_only = a->read_only,
                .share_target = (char *) share,
                .share_id = a->share_id,
                .change = a->change,
                .files = wants_files ? a->files : FILES_WANTED_INIT,
                .reliances = (Reliance *) a->reliances,
                .n_reliances = a->reliances_end && o->heard.n_plans > 1 ? 0 : a->n_reliances,
                .entries_per_sec = a->entries_per_sec,
                .history = a->history,
        };
}

static void answer_question(Operation *o, sd_bus_message *question) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        g_assert_cmpint(sd_bus_message_new_method_return(question, &reply), >=, 0);
        if (sd_bus_message_is_method_call(question, NULL, DECISION_PLAN)) {
                PlanAnswer answer = make_plan_answer(o);

                /* Mostly selvold knows no other holder, so it asks the worker to look for others. */
                if (o->heard.question.observed.mounts_unknown && !o->arguments.share && !o->arguments.blind) {
                        g_strfreev(answer.mount_options);
                        answer = (PlanAnswer){ .step = PLAN_LOOK, .seclabel = -1, .files = FILES_WANTED_INIT };
                }
                g_assert_cmpint(plan_answer_append(reply, &answer), ==, 0);
                g_strfreev(answer.mount_options);
        }
        /* A test may have killed the child that has asked. */
        r = sd_bus_send(o->bus, reply, NULL);
        g_assert_true(r >= 0 || r == -ECONNRESET || r == -EPIPE);
}

static void hear_question(Operation *o, sd_bus_message *m) {
        Heard *h = &o->heard;
        bool hold;

        if (sd_bus_message_is_method_call(m, DECISION_INTERFACE, DECISION_PLAN)) {
                g_assert_true(sd_bus_message_has_signature(m, PLAN_QUESTION_TYPE));
                plan_question_done(&h->question);
                g_assert_cmpint(plan_question_read(m, &h->question), ==, 0);
                if (!h->question.observed.mounts_unknown || o->arguments.share)
                        h->n_plans++;
                hold = o->arguments.hold_plan;
        } else if (sd_bus_message_is_method_call(m, DECISION_INTERFACE, DECISION_WALK)) {
                _cleanup_(walk_question_done) WalkQuestion note = { 0 };

                g_assert_true(sd_bus_message_has_signature(m, WALK_QUESTION_TYPE));
                g_assert_cmpint(walk_question_read(m, &note), ==, 0);
                h->decided = note.files;
                mark_done(&h->begun);
                h->begun = note.mark;
                note.mark = (Mark){ 0 };
                h->n_walks++;
                hold = false;
        } else {
                g_assert_true(sd_bus_message_is_method_call(m, DECISION_INTERFACE, DECISION_READY));
                g_assert_true(sd_bus_message_has_signature(m, READY_QUESTION_TYPE));
                ready_question_done(&h->ready);
                g_assert_cmpint(ready_question_read(m, &h->ready), ==, 0);
                h->n_ready++;
                hold = o->arguments.hold_ready;
        }
        g_assert_null(o->held);
        if (hold)
                o->held = sd_bus_message_ref(m);
        else
                answer_question(o, m);
}

static void hear_signal(Operation *o, sd_bus_message *m) {
        Heard *h = &o->heard;

        uint64_t done = h->progress.done;

        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_AT))
                return;
        g_assert_true(sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_PROGRESS));
        g_assert_cmpint(walk_counts_read(m, &h->progress), ==, 0);
        g_assert_cmpint(sd_bus_message_read(m, "t", &h->total), >, 0);
        g_assert_cmpuint(h->progress.done, >=, done);
        h->n_progress++;
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        uint8_t type;

        g_assert_cmpint(sd_bus_message_get_type(m, &type), >=, 0);
        if (type == SD_BUS_MESSAGE_METHOD_CALL)
                hear_question(userdata, m);
        else if (type == SD_BUS_MESSAGE_SIGNAL && g_strcmp0(sd_bus_message_get_path(m), WORKER_PATH) == 0)
                hear_signal(userdata, m);
        else
                return 0;
        return 1;
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        ((Operation *) userdata)->reply = sd_bus_message_ref(m);
        return 0;
}

/* --- an operation --- */

static Operation *operation_new(const Worker *w, const char *method, sd_bus_message **ret_call) {
        Operation *o = g_new0(Operation, 1);

        o->method = method;
        o->bus = worker_dial(w);
        g_assert_cmpint(sd_bus_add_filter(o->bus, NULL, on_message, o), >=, 0);
        g_assert_cmpint(sd_bus_message_new_method_call(o->bus, ret_call, NULL, WORKER_PATH, WORKER_INTERFACE, method),
                        >=, 0);
        return o;
}

/* Unrefs the call. The flush may fail, as a test may have killed the child already. */
static Operation *operation_send(Operation *o, sd_bus_message *call) {
        int r;

        g_assert_cmpint(sd_bus_call_async(o->bus, NULL, call, on_reply, o, UINT64_MAX), >=, 0);
        r = sd_bus_flush(o->bus);
        g_assert_true(r >= 0 || r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE);
        sd_bus_message_unref(call);
        return o;
}

Operation *operation_start(const Worker *w, const char *method, const Arguments *a) {
        const CallOrigin origin = {
                .volume = (char *) "volume", .source = (char *) "server", .job = 1, .by_root = !a->by_user
        };
        sd_bus_message *call;
        Operation *o = operation_new(w, method, &call);

        o->arguments = *a;
        if (g_str_equal(method, WORKER_MOUNT)) {
                const MountCall c = { .origin = origin,
                                      .source = (char *) a->source,
                                      .fs_type = (char *) a->fs_type,
                                      .target = (char *) a->target,
                                      .expected = a->expected,
                                      .replace = a->replace,
                                      .only_plan = a->only_plan };

                g_assert_cmpint(mount_call_append(call, &c), ==, 0);
        } else if (g_str_equal(method, WORKER_ADOPT)) {
                const AdoptCall c = { origin, (char *) a->target };

                g_assert_cmpint(adopt_call_append(call, &c), ==, 0);
        } else {
                const ChangeCall c = { .origin = origin,
                                       .target = (char *) a->target,
                                       .source = (char *) a->source,
                                       .fs_type = (char *) a->fs_type,
                                       .file_system = a->file_system,
                                       .link = (char *) a->link };

                g_assert_cmpint(change_call_append(call, &c), ==, 0);
        }
        return operation_send(o, call);
}

Operation *operation_start_verify(const Worker *w, const VerifyCall *c) {
        sd_bus_message *call;
        Operation *o = operation_new(w, WORKER_VERIFY, &call);

        g_assert_cmpint(verify_call_append(call, c), ==, 0);
        return operation_send(o, call);
}

/* sd_bus_wait() also returns 0 when the connection is about to end, so the clock tells whether time is up. */
void operation_step(Operation *o) {
        gint64 start = g_get_monotonic_time();
        int r = sd_bus_process(o->bus, NULL);

        if (r < 0) {
                g_assert_true(r == -ENOTCONN || r == -ECONNRESET);
                o->ended = true;
                return;
        }
        if (r == 0) {
                r = sd_bus_wait(o->bus, STEP_USEC);
                g_assert_true(r >= 0 || r == -ENOTCONN);
                g_assert_cmpint(g_get_monotonic_time() - start, <, STEP_USEC);
        }
}

Operation *operation_start_held(const Worker *w, const char *method, const Arguments *a) {
        Operation *o = operation_start(w, method, a);

        operation_wait(o, o->held);
        g_assert_nonnull(o->held);
        return o;
}

void operation_answer(Operation *o) {
        g_assert_nonnull(o->held);
        answer_question(o, o->held);
        o->held = sd_bus_message_unref(o->held);
}

static void operation_free(Operation *o) {
        sd_bus_message_unref(o->held);
        sd_bus_message_unref(o->reply);
        heard_done(&o->heard);
        sd_bus_close_unref(o->bus);
        g_free(o);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Operation, operation_free)

/* The result of each operation that succeeds agrees with the messages that the worker has sent before. */
static void check_result(const Operation *o, const OperationResult *result) {
        const Heard *h = &o->heard;

        g_assert_cmpuint(h->n_ready, ==,
                         g_str_equal(o->method, WORKER_MOUNT) && !result->repeated && !o->arguments.only_plan &&
                                 result->walk.counts.failed == 0);
        if (h->n_ready > 0) {
                g_assert_cmpuint(h->ready.identity.id, ==, result->outcome.fact.mount_id);
                g_assert_cmpstr(h->ready.identity.device, ==, result->outcome.fact.device);
                g_assert_cmpint(h->ready.mark.found, ==, result->mark.found);
                g_assert_true(mark_equal(&h->ready.mark, &result->mark));
        }
        g_assert_cmpuint(h->n_walks, ==, result->walked);
        if (result->walked) {
                g_assert_cmpint(h->decided.relabel, ==, result->files.relabel);
                g_assert_cmpint(h->decided.ownership, ==, result->files.ownership);
                g_assert_cmpuint(h->decided.gid, ==, result->files.gid);
                g_assert_cmpuint(h->decided.disk_gid, ==, result->files.disk_gid);
        }
        if (result->repeated)
                g_assert_cmpuint(h->n_plans, ==, 0);
        else
                g_assert_cmpuint(h->n_plans, >=, 1);
}

static void read_reply(Operation *o, Answer *a) {
        if (g_str_equal(o->method, WORKER_VERIFY)) {
                VerifyResult v;

                g_assert_cmpint(verify_result_read(o->reply, &v), ==, 0);
                *a = (Answer){ .matches = v.matches,
                               .actual = v.actual,
                               .walk = v.walk,
                               .reset = v.reset,
                               .not_reset = v.not_reset };
        } else if (g_str_equal(o->method, WORKER_UNMOUNT)) {
                UnmountResult u;

                g_assert_cmpint(unmount_result_read(o->reply, &u), ==, 0);
                *a = (Answer){ .unmounted = u.unmounted, .still_open = u.still_open, .fingerprint = u.fingerprint };
        } else {
                OperationResult r;

                g_assert_cmpint(operation_result_read(o->reply, &r), ==, 0);
                check_result(o, &r);
                *a = (Answer){ .repeated = r.repeated,
                               .walked = r.walked,
                               .outcome = r.outcome,
                               .mark = r.mark,
                               .files = r.files,
                               .detail = r.detail,
                               .walk = r.walk,
                               .fingerprint = r.fingerprint };
        }
        a->kind = "ok";
        g_assert_cmpint(sd_bus_message_at_end(o->reply, true), >, 0);
}

Answer operation_finish(Operation *operation) {
        g_autoptr(Operation) o = operation;
        const sd_bus_error *error;
        Answer a = { 0 };

        operation_wait(o, false);
        error = o->reply ? sd_bus_message_get_error(o->reply) : NULL;
        if (!o->reply || (error && g_str_equal(error->name, SD_BUS_ERROR_NO_REPLY)))
                a.kind = "gone";
        else if (!error)
                read_reply(o, &a);
        else {
                a.kind = g_intern_string(g_str_has_prefix(error->name, ERROR_PREFIX)
                                                 ? error->name + strlen(ERROR_PREFIX)
                                                 : error->name);
                a.message = g_strdup(error->message);
        }
        a.heard = o->heard;
        a.question = a.heard.question;
        o->heard = (Heard){ 0 };
        a.heard.question = (PlanQuestion){ 0 };
        return a;
}

Answer operation_hang_up(Operation *o) {
        peer_hang_up(o->bus);
        return operation_finish(o);
}

/* --- calls --- */

Answer call_mount(const Worker *w, const Arguments *a) {
        return operation_finish(operation_start(w, WORKER_MOUNT, a));
}

Answer call_adopt(const Worker *w, const Arguments *a) {
        return operation_finish(operation_start(w, WORKER_ADOPT, a));
}

Answer call_change(const Worker *w, const Arguments *a) {
        return operation_finish(operation_start(w, WORKER_CHANGE, a));
}

Answer call_observe(const Worker *w, const char *source, const char *fs_type, const char *target) {
        Answer a = call_mount(
                w, &(Arguments){ .source = source, .fs_type = fs_type, .target = target, .step = PLAN_STOP });

        if (g_str_equal(a.kind, "gone") && a.heard.n_plans == 1)
                a.kind = "ok";
        return a;
}

int call_verify_on(sd_bus *bus, const char *path, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const VerifyCall c = verify_labels(path, "a:b:c", VERIFY_ROOT);

        must(sd_bus_message_new_method_call(bus, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_VERIFY));
        g_assert_cmpint(verify_call_append(call, &c), ==, 0);
        return sd_bus_call(bus, call, 0, error, NULL);
}

Answer call_verify(const Worker *w, const VerifyCall *c) {
        return operation_finish(operation_start_verify(w, c));
}

Answer call_verify_labels(const Worker *w, const char *path, const char *context, VerifyDepth depth) {
        const VerifyCall call = verify_labels(path, context, depth);

        return call_verify(w, &call);
}

static Answer unmount_with(const Worker *w, const UnmountCall *c) {
        sd_bus_message *call;
        Operation *o = operation_new(w, WORKER_UNMOUNT, &call);

        g_assert_cmpint(unmount_call_append(call, c), ==, 0);
        return operation_finish(operation_send(o, call));
}

/* The identity has no device if the mount is not there. */
static MountIdentity identity_of(uint64_t id) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };

        if (mount_table_read_mount(NULL, id, &table) >= 0)
                g_assert_cmpint(mount_table_find_id(table, id, &fact), ==, 0);
        return (MountIdentity){ .id = id, .device = g_strdup(fact.device) };
}

Answer call_unmount(const Worker *w, const char *target, uint64_t id) {
        return call_unmount_of(w, target, id, NULL, NULL);
}

Answer call_unmount_last(const Worker *w, const char *target, uint64_t id) {
        _cleanup_(mount_identity_done) MountIdentity identity = identity_of(id);

        return unmount_with(w, &(UnmountCall){ .target = (char *) target, .identity = identity, .last = true });
}

Answer call_unmount_identity(const Worker *w, const char *target, const MountIdentity *identity) {
        return unmount_with(w, &(UnmountCall){ .target = (char *) target, .identity = *identity });
}

Answer call_unmount_of(const Worker *w, const char *target, uint64_t id, const char *source, const char *fs_type) {
        _cleanup_(mount_identity_done) MountIdentity identity = identity_of(id);

        return unmount_with(w, &(UnmountCall){ .target = (char *) target,
                                               .identity = identity,
                                               .source = (char *) source,
                                               .fs_type = (char *) fs_type });
}
