/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/log.h"
#include "model/limits.h"
#include "wire/peer.h"
#include "worker/child.h"

/* The last byte of each string stays 0. */
typedef struct Entry {
        _Atomic pid_t pid;  /* 0: free */
        _Atomic bool ready; /* the other members are set */
        pid_t peer;
        char operation[16];
        char volume[VOLUME_ID_MAX + 1];
        char target[PATH_MAX];
        char source[PATH_MAX];
} Entry;

struct Children {
        size_t n;
        _Atomic bool refused; /* a child, as it found no entry */
        Entry entries[];
};

int children_new(size_t n, Children **ret) {
        Children *c = mmap(NULL, sizeof(Children) + n * sizeof(Entry), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (c == MAP_FAILED)
                return -errno;
        c->n = n;
        *ret = c;
        return 0;
}

/* Text that a peer has made up must not keep a later selvold from reading the list. */
static void copy_text(char *to, size_t size, const char *text) {
        const size_t n = isempty(text) || !text_is_clean(text) ? 0 : utf8_length_within(text, size - 1);

        memcpy(to, strempty(text), n);
        memset(to + n, 0, size - n);
}

static Entry *take_entry(Entry *first, const Entry *end) {
        for (Entry *e = first; e < end; e++) {
                pid_t nobody = 0;

                if (atomic_compare_exchange_strong(&e->pid, &nobody, getpid()))
                        return e;
        }
        return NULL;
}

int child_enter(const Child *c, const char *operation, const CallOrigin *origin, const char *target, Failure *f) {
        /* The last entries are those for unmounts and verifies, which take the others when these are taken.
         * The watch needs none: it does not outlive its selvold. */
        const bool reserved = streq(operation, WORKER_UNMOUNT) || streq(operation, WORKER_VERIFY);
        Entry *common = c->children->entries, *kept = common + c->children->n - SERVER_RESERVED,
              *e = reserved ? take_entry(kept, kept + SERVER_RESERVED) : NULL;

        if (!e)
                e = take_entry(common, kept);
        if (!e) {
                c->children->refused = true;
                return failure_set(
                        f, FAILURE_BUSY,
                        "The worker has %zu processes that mount or change volumes, and can't have more: some device or server does not answer (journalctl -k). Try again when it does; volumes can be unmounted meanwhile.",
                        c->children->n - SERVER_RESERVED);
        }
        e->peer = child_peer_pid(c);
        copy_text(e->operation, sizeof(e->operation), operation);
        /* A verification has a path in place of the volume. */
        copy_text(e->volume, sizeof(e->volume), message_volume_is_good(origin->volume) ? origin->volume : NULL);
        copy_text(e->target, sizeof(e->target), target);
        copy_text(e->source, sizeof(e->source), origin->source);
        e->ready = true;
        return 0;
}

void children_leave(Children *c, pid_t pid) {
        for (size_t i = 0; i < c->n; i++)
                if (c->entries[i].pid == pid) {
                        c->entries[i].ready = false;
                        c->entries[i].pid = 0;
                }
}

bool children_refused(Children *c) {
        for (size_t i = 0; i < c->n - SERVER_RESERVED; i++)
                if (c->entries[i].pid == 0)
                        c->refused = false;
        return c->refused;
}

bool children_next_orphan(const Children *c, pid_t peer, size_t *index, OrphanInfo *ret) {
        while (*index < c->n) {
                const Entry *e = &c->entries[(*index)++];

                /* Its parent frees the entry when the child has ended. */
                if (!e->ready || e->peer == peer || e->pid == 0)
                        continue;
                *ret = (OrphanInfo){
                        .pid = e->pid,
                        .operation = (char *) e->operation,
                        .volume = (char *) e->volume,
                        .target = (char *) e->target,
                        .source = (char *) e->source,
                };
                return true;
        }
        return false;
}

bool children_has(const Children *c, pid_t pid) {
        for (size_t i = 0; i < c->n; i++)
                if (c->entries[i].pid == pid)
                        return true;
        return false;
}

SourceUser child_user(const CallOrigin *origin) {
        return origin->by_root ? SOURCE_FOR_ROOT : SOURCE_FOR_USER;
}

pid_t child_peer_pid(const Child *c) {
        struct ucred peer = { 0 };
        socklen_t n = sizeof(peer);

        return getsockopt(sd_bus_get_fd(c->bus), SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ? 0 : peer.pid;
}

bool child_peer_is_gone(void *userdata) {
        const Child *c = userdata;
        struct pollfd p = { .fd = sd_bus_get_fd(c->bus), .events = POLLRDHUP };

        return p.fd < 0 || (poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)));
}

/* Asks selvold and waits without a time-out: a hang-up, the parent's signal or the job's deadline ends the
 * wait. ret_reply may be NULL. */
static int ask_selvold(Child *c, const char *member, const MessageType *type, const void *question,
                       sd_bus_message **ret_reply, Failure *f) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        r = sd_bus_message_new_method_call(c->bus, &m, NULL, DECISION_PATH, DECISION_INTERFACE, member);
        if (r < 0)
                return r;
        r = message_append(m, type, question);
        if (r < 0)
                return r;
        r = peer_ask(c->bus, m, ANSWER_BYTES_MAX, &error, ret_reply);
        if (r >= 0)
                return 0;
        if (!sd_bus_error_is_set(&error) && (r == -EPROTO || r == -EMSGSIZE))
                return failure_set(f, FAILURE_WORKER_FAILED,
                                   r == -EPROTO
                                           ? "selvold has sent something else than the answer to the question %s."
                                           : "selvold has sent more than an answer to the question %s may have.",
                                   member);
        if (child_peer_is_gone(c)) {
                log_debug("The peer hung up instead of answering %s.", member);
                return -ECANCELED;
        }
        text = string_escape(error.message ?: strerror(-r), 200);
        if (!text)
                return -ENOMEM;
        return failure_set(f, FAILURE_WORKER_FAILED, "selvold has no answer to the question %s: %s.", member, text);
}

int ask_plan(Child *c, const PlanQuestion *question, PlanAnswer *ret, Failure *f) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
        const Observed *o = &question->observed;
        int r;

        log_debug("Asking %s: type %s, superblock %s, %zu mounts%s, seclabel %i%s.", DECISION_PLAN,
                  strempty(o->fs_type), strempty(o->superblock), o->n_mounts, o->mounts_unknown ? " or more" : "",
                  question->seclabel, question->mounted ? ", mounted" : "");
        r = ask_selvold(c, DECISION_PLAN, &plan_question_type, question, &reply, f);
        if (r != 0)
                return r;
        r = plan_answer_read(reply, &a);
        if (r == -EBADMSG)
                return failure_set(f, FAILURE_WORKER_FAILED, "selvold's answer to the question %s is malformed.",
                                   DECISION_PLAN);
        if (r < 0)
                return r;
        log_debug(
                "Answer: %s, context '%s', share '%s', mark %s, label of files '%s', ownership %s, seclabel %i, %zu reliances.",
                plan_step_to_string(a.step), strempty(a.context), strempty(a.share_target),
                mark_change_to_string(a.change), strempty(a.files.context),
                ownership_action_to_string(a.files.ownership), a.seclabel, a.n_reliances);
        if (a.step != PLAN_GO && !(a.step == PLAN_LOOK && o->mounts_unknown))
                return -ECANCELED;

        *ret = a;
        a = PLAN_ANSWER_INIT;
        return 0;
}

static void log_mark(const Mark *mark) {
        log_debug("The mark is now: %s, labels %s %s%s, ownership %s of group %u.", mark_found_to_string(mark->found),
                  files_state_to_string(mark->label_state), strempty(mark->context), mark->tainted ? ", tainted" : "",
                  files_state_to_string(mark->ownership_state), mark->gid);
}

int ask_walk(Child *c, const WalkQuestion *question, Failure *f) {
        log_mark(&question->mark);
        return ask_selvold(c, DECISION_WALK, &walk_question_type, question, NULL, f);
}

int ask_ready(Child *c, const ReadyQuestion *question, Failure *f) {
        log_debug("Asking %s: mount %llu of device %s.", DECISION_READY, (unsigned long long) question->identity.id,
                  question->identity.device);
        log_mark(&question->mark);
        return ask_selvold(c, DECISION_READY, &ready_question_type, question, NULL, f);
}

/* The event loop doesn't run while an operation does. */
static int send_now(Child *c, sd_bus_message *m) {
        int r;

        r = sd_bus_send(c->bus, m, NULL);
        if (r >= 0)
                r = sd_bus_flush(c->bus);
        if (r < 0)
                return child_peer_is_gone(c) ? -ECANCELED : r;
        return 0;
}

int tell_at(Child *c, WorkerAt at) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_signal(c->bus, &m, WORKER_PATH, WORKER_INTERFACE, WORKER_AT);
        if (r >= 0)
                r = sd_bus_message_append(m, "s", worker_at_to_string(at));
        return r < 0 ? r : send_now(c, m);
}

int tell_progress(Child *c, const WalkCounts *counts, uint64_t total) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_signal(c->bus, &m, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS);
        if (r < 0)
                return r;
        r = walk_counts_append(m, counts);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "t", total);
        if (r < 0)
                return r;
        return send_now(c, m);
}
