/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "wire/protocol.h"
#include "worker/ask.h"

static int new_question(Child *c, const char *member, sd_bus_message **ret) {
        return sd_bus_message_new_method_call(c->bus, ret, NULL, DECISION_PATH, DECISION_INTERFACE, member);
}

/* However long it takes: a hang-up, the parent's signal or the job's deadline ends the wait. */
static int call(Child *c, sd_bus_message *question, const char *member, sd_bus_message **ret, Failure *f) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        r = sd_bus_call(c->bus, question, UINT64_MAX, &error, ret);
        if (r >= 0)
                return 0;
        if (child_peer_is_gone(c)) {
                log_debug("The peer hung up instead of answering %s.", member);
                return -ECANCELED;
        }
        text = string_escape(strempty(error.message), 200);
        if (!text)
                return -ENOMEM;
        return failure_set(f, FAILURE_WORKER_FAILED, "selvold has no answer to the question %s: %s.", member, text);
}

static void log_question(const PlanQuestion *q) {
        log_debug("Asking %s: type %s, superblock %s, %zu mounts%s, seclabel %i%s.", DECISION_PLAN,
                  strempty(q->observed.fs_type), strempty(q->observed.superblock), q->observed.n_mounts,
                  q->observed.mounts_unknown ? " or more" : "", q->seclabel, q->mounted ? ", mounted" : "");
}

static void log_answer(const PlanAnswer *a) {
        log_debug(
                "Answer: %s, context '%s', share '%s', mark %s, label of files '%s', ownership %s, seclabel %i, %zu reliances.",
                plan_verdict_to_string(a->verdict), strempty(a->context), strempty(a->share_target),
                mark_change_to_string(a->change), strempty(a->files.context),
                ownership_action_to_string(a->files.ownership), a->seclabel, a->n_reliances);
}

int ask_plan(Child *c, const PlanQuestion *question, PlanAnswer *ret, Failure *f) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        _cleanup_(plan_answer_done) PlanAnswer answer = PLAN_ANSWER_INIT;
        int r;

        log_question(question);
        r = new_question(c, DECISION_PLAN, &m);
        if (r < 0)
                return r;
        r = plan_question_append(m, question);
        if (r < 0)
                return r;
        r = call(c, m, DECISION_PLAN, &reply, f);
        if (r != 0)
                return r;
        r = plan_answer_read(reply, &answer);
        if (r == -EBADMSG)
                return failure_set(f, FAILURE_WORKER_FAILED, "selvold's answer to the question %s is malformed.",
                                   DECISION_PLAN);
        if (r < 0)
                return r;
        log_answer(&answer);
        if (answer.verdict != PLAN_GO && !(answer.verdict == PLAN_LOOK && question->observed.mounts_unknown))
                return -ECANCELED;

        *ret = answer;
        answer = PLAN_ANSWER_INIT;
        return 0;
}

static void log_mark(const Mark *mark) {
        log_debug("The mark is now: %s, labels %s %s%s, ownership %s of group %u.", mark_found_to_string(mark->found),
                  files_state_to_string(mark->label_state), strempty(mark->context), mark->tainted ? ", tainted" : "",
                  files_state_to_string(mark->ownership_state), mark->gid);
}

int ask_walk(Child *c, const WalkNote *note, Failure *f) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r;

        log_mark(&note->mark);
        r = new_question(c, DECISION_WALK, &m);
        if (r < 0)
                return r;
        r = walk_note_append(m, note);
        if (r < 0)
                return r;
        return call(c, m, DECISION_WALK, &reply, f);
}

int ask_ready(Child *c, const ReadyNote *note, Failure *f) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r;

        log_debug("Asking %s: mount %llu of device %s.", DECISION_READY, (unsigned long long) note->identity.id,
                  note->identity.device);
        r = new_question(c, DECISION_READY, &m);
        if (r < 0)
                return r;
        r = ready_note_append(m, note);
        if (r < 0)
                return r;
        return call(c, m, DECISION_READY, &reply, f);
}

static int new_signal(Child *c, const char *member, sd_bus_message **ret) {
        return sd_bus_message_new_signal(c->bus, ret, WORKER_PATH, WORKER_INTERFACE, member);
}

/* The event loop doesn't run while an operation does. */
static int send_signal(Child *c, sd_bus_message *m) {
        int r;

        r = sd_bus_send(c->bus, m, NULL);
        if (r >= 0)
                r = sd_bus_flush(c->bus);
        if (r < 0)
                return child_peer_is_gone(c) ? -ECANCELED : r;
        return 0;
}

int tell_marked(Child *c, const Mark *mark) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        log_mark(mark);
        r = new_signal(c, WORKER_MARKED, &m);
        if (r < 0)
                return r;
        r = mark_append(m, mark);
        if (r < 0)
                return r;
        return send_signal(c, m);
}

int tell_progress(Child *c, const WalkCounts *counts, uint64_t total) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = new_signal(c, WORKER_PROGRESS, &m);
        if (r < 0)
                return r;
        r = walk_counts_append(m, counts);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "t", total);
        if (r < 0)
                return r;
        return send_signal(c, m);
}
