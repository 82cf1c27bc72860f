/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib.h>

#include "wire/messages.h"
#include "wire/names.h"
#include "wire/peer.h"
#include "wire/protocol.h"
#include "wire/unmarshal.h"

/* What is said arrives as it was meant, and what nobody can have meant is refused: each end is another process. */

#define CONTEXT     "system_u:object_r:container_file_t:s0:c1,c2"
#define NOT_IN_FORM "system_u:object_r:container_file_t:s0:c2,c1"

#define S(literal) ((char *) (literal))

static sd_bus *bus;

/* Messages can be made and read as long as there is something that might become a connection. */
static void open_bus(void) {
        int fds[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), ==, 0);
        g_assert_cmpint(sd_bus_new(&bus), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(bus, fds[0], fds[0]), >=, 0);
        g_assert_cmpint(sd_bus_start(bus), >=, 0);
        close(fds[1]);
}

static sd_bus_message *message_new(void) {
        sd_bus_message *m;

        g_assert_cmpint(sd_bus_message_new_signal(bus, &m, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS), >=, 0);
        return m;
}

static sd_bus_message *finish(sd_bus_message *m) {
        g_assert_cmpint(sd_bus_message_seal(m, 1, 0), >=, 0);
        g_assert_cmpint(sd_bus_message_rewind(m, 1), >=, 0);
        return m;
}

#define append(m, ...) g_assert_cmpint(sd_bus_message_append(m, __VA_ARGS__), >=, 0)

/* --- one of each, all members different --- */

static const Node node = {
        .selinux = true, .enforcing = false, .mls = true, .file_context = S("a_u:object_r:container_file_t:s0")
};

static MountFact facts[] = {
        { .target = S("/target/1"),
          .source = S("/dev/sda"),
          .fs_type = S("ext4"),
          .device = S("8:1"),
          .root = S("/"),
          .context = S(CONTEXT),
          .seclabel = true,
          .mount_id = 71 },
        { .target = S("/target/2"),
          .source = S("tmpfs"),
          .fs_type = S("tmpfs"),
          .device = S("0:5"),
          .root = S("/sub"),
          .context = S(""),
          .read_only = true,
          .covered_by = S("tmpfs, type tmpfs, at '/target'"),
          .also_at = S("/mnt"),
          .mount_id = UINT64_MAX },
};

static const MountOutcome outcome = {
        .fact = { .target = S("/t"),
                  .source = S("s"),
                  .fs_type = S("xfs"),
                  .device = S("8:2"),
                  .root = S("/r"),
                  .context = S(CONTEXT),
                  .mount_id = 72 },
        .root_context = S("b_u:object_r:container_file_t:s0"),
        .root_gid = 4294967294,
        .root_mode = 042775,
        .superblock_read_only = true,
        .inodes_used = 12345678901,
        .idmapped = true,
};

static const Observed observed = {
        .fs_type = S("btrfs"),
        .device_read_only = true,
        .device = S("8:3"),
        .superblock = S("btrfs:1234-5678"),
        .mounts = facts,
        .n_mounts = G_N_ELEMENTS(facts),
        .mounts_unknown = true,
        .hidden = true,
};

static const Mark mark = {
        .found = MARK_PRESENT,
        .label_state = FILES_PARTIAL,
        .context = S(CONTEXT),
        .tainted = true,
        .ownership_state = FILES_COMPLETE,
        .gid = 3000,
};

static WalkIssue issues[] = { { S("a\\x0a"), S("no space") }, { S("b"), S("has no label") } };
static char *submounts[] = { S("dir-0"), S("dir-1/x"), NULL };
static const WalkResult walk = {
        .counts = { .done = 1,
                    .changed = 2,
                    .mismatched = 3,
                    .misowned = 4,
                    .failed = 5,
                    .skipped = 6,
                    .modified = 7 },
        .issues = issues,
        .n_issues = G_N_ELEMENTS(issues),
        .submounts = submounts,
};

static const MountIdentity identity = { .id = 73, .device = S("8:4") };

static const MountCall mount_call = {
        .volume = S("pvc-1"),
        .source = S("/dev/sdb"),
        .fs_type = S("ext3"),
        .target = S("/target/3"),
        .expected = { .id = 74, .device = S("8:5") },
};

static const AdoptCall adopt_call = { .volume = S("pvc-2"), .target = S("/target/4") };

static const ChangeCall change_call = {
        .volume = S("pvc-3"), .target = S("/target/5"), .source = S("/dev/sdc"), .fs_type = S("ext2")
};

static const VerifyCall verify_call = {
        .path = S("/target/6/dir"),
        .expected = S(CONTEXT),
        .depth = VERIFY_FULL,
        .gid = 3001,
        .entries_per_sec = 1000,
        .mount_target = S("/target/6"),
        .mount_id = 75,
};

static VerifyResult verify_result = {
        .matches = true,
        .actual = S(CONTEXT),
        .reset = MARK_RESET_ALL,
        .not_reset = S("read-only"),
};

static const UnmountCall unmount_call = { .target = S("/target/7"),
                                          .identity = { .id = 76, .device = S("8:6") },
                                          .source = S("/dev/sdb"),
                                          .fs_type = S("xfs") };

static PlanQuestion plan_question = { .seclabel = -1, .mounted = true };

static char *options[] = { S("noatime"), S("data=ordered"), NULL };
static Reliance reliances[] = {
        { .gid = 3002, .root = S("/a"), .who = S("pod-1") },
        { .gid = 0, .root = NULL, .who = S("pod-2") },
};

static const PlanAnswer plan_answer = {
        .verdict = PLAN_GO,
        .seclabel = 1,
        .context = S(CONTEXT),
        .mount_options = options,
        .read_only = true,
        .share_target = S("/target/8"),
        .share_id = 77,
        .change = MARK_TAINT,
        .files = { .context = S("c_u:object_r:container_file_t:s0"),
                   .gid = 3003,
                   .readers = true,
                   .ownership = OWNERSHIP_WALK,
                   .ownership_reason = OWNERSHIP_NO_FS_TYPE,
                   .force = false,
                   .gate = true,
                   .policy = FS_GROUP_CHANGE_ALWAYS,
                   .policy_given = false,
                   .user_namespace = true,
                   .on_disk = false,
                   .mounted = true,
                   .swapped_gid = 3004 },
        .reliances = reliances,
        .n_reliances = G_N_ELEMENTS(reliances),
        .entries_per_sec = 2000,
        .witness = { .alive = true, .trusted = true, .kept = { "xfs:1" } },
};

static const ReadyNote ready_note = {
        .identity = { .id = 78, .device = S("8:7") }, .gid = 3005, .disk_gid = 3006, .fingerprint = { "mounted" }
};

static const FilesDecision files_decision = {
        .relabel = RELABEL_WALK,
        .relabel_reason = RELABEL_REASON_TAINTED,
        .blind = true,
        .ownership = OWNERSHIP_MAP,
        .ownership_reason = OWNERSHIP_OTHER_GROUP,
        .gid = 3007,
        .disk_gid = 3008,
};

static OperationResult operation_result = {
        .repeated = true,
        .detail = S("EINVAL"),
        .fingerprint = { "mounted" },
        .walked = true,
};

/* What has others in it. */
static void nest(void) {
        verify_result.walk = walk;
        plan_question.node = node;
        plan_question.observed = observed;
        plan_question.outcome = outcome;
        operation_result.outcome = outcome;
        operation_result.mark = mark;
        operation_result.files = files_decision;
        operation_result.walk = walk;
}

/* --- that two are equal --- */

typedef struct Member {
        const char *name;
        bool same;
} Member;

#define N(member) \
        { #member, a->member == b->member }
#define T(member) \
        { #member, streq(a->member ? a->member : "", b->member ? b->member : "") }
#define SAME(...) assert_same(__func__, (const Member[]){ __VA_ARGS__, { NULL, false } })

static void assert_same(const char *where, const Member *members) {
        for (; members->name; members++)
                if (!members->same)
                        g_error("%s: %s is another one", where, members->name);
}

static void same_node(const Node *a, const Node *b) {
        SAME(N(selinux), N(enforcing), N(mls), T(file_context));
}

static void same_mount_fact(const MountFact *a, const MountFact *b) {
        SAME(T(target), T(source), T(fs_type), T(device), T(root), T(context), T(covered_by), T(also_at), N(seclabel),
             N(read_only), N(mount_id));
}

static void same_mount_outcome(const MountOutcome *a, const MountOutcome *b) {
        same_mount_fact(&a->fact, &b->fact);
        SAME(T(root_context), N(root_gid), N(root_mode), N(superblock_read_only), N(inodes_used), N(idmapped));
}

static void same_observed(const Observed *a, const Observed *b) {
        SAME(T(fs_type), N(device_read_only), T(device), T(superblock), N(n_mounts), N(mounts_unknown), N(hidden));
        for (size_t i = 0; i < a->n_mounts; i++)
                same_mount_fact(&a->mounts[i], &b->mounts[i]);
}

static void same_mark(const Mark *a, const Mark *b) {
        SAME(N(found), N(label_state), T(context), N(tainted), N(ownership_state), N(gid));
}

static void same_walk_counts(const WalkCounts *a, const WalkCounts *b) {
        g_assert_cmpmem(a, sizeof(*a), b, sizeof(*b));
}

static void same_walk_result(const WalkResult *a, const WalkResult *b) {
        same_walk_counts(&a->counts, &b->counts);
        SAME(N(n_issues));
        for (size_t i = 0; i < a->n_issues; i++)
                SAME(T(issues[i].path), T(issues[i].text));
        g_assert_true(strv_equal(a->submounts, b->submounts));
}

static void same_mount_identity(const MountIdentity *a, const MountIdentity *b) {
        SAME(N(id), T(device));
}

static void same_mount_call(const MountCall *a, const MountCall *b) {
        SAME(T(volume), T(source), T(fs_type), T(target));
        same_mount_identity(&a->expected, &b->expected);
}

static void same_adopt_call(const AdoptCall *a, const AdoptCall *b) {
        SAME(T(volume), T(target));
}

static void same_change_call(const ChangeCall *a, const ChangeCall *b) {
        SAME(T(volume), T(target), T(source), T(fs_type));
}

static void same_verify_call(const VerifyCall *a, const VerifyCall *b) {
        SAME(T(path), T(expected), N(depth), N(gid), N(entries_per_sec), T(mount_target), N(mount_id));
}

static void same_verify_result(const VerifyResult *a, const VerifyResult *b) {
        SAME(N(matches), T(actual), N(reset), T(not_reset));
        same_walk_result(&a->walk, &b->walk);
}

static void same_unmount_call(const UnmountCall *a, const UnmountCall *b) {
        SAME(T(target), T(source), T(fs_type));
        same_mount_identity(&a->identity, &b->identity);
}

static void same_plan_question(const PlanQuestion *a, const PlanQuestion *b) {
        same_node(&a->node, &b->node);
        same_observed(&a->observed, &b->observed);
        SAME(N(seclabel), N(mounted));
        same_mount_outcome(&a->outcome, &b->outcome);
}

static void same_files_wanted(const FilesWanted *a, const FilesWanted *b) {
        SAME(T(context), N(gid), N(readers), N(ownership), N(ownership_reason), N(force), N(gate), N(policy),
             N(policy_given), N(user_namespace), N(on_disk), N(mounted), N(swapped_gid));
}

static void same_plan_answer(const PlanAnswer *a, const PlanAnswer *b) {
        SAME(N(verdict), N(seclabel), T(context), N(read_only), T(share_target), N(share_id), N(change),
             N(n_reliances), N(witness.alive), N(witness.beside), N(witness.trusted), T(witness.kept.text),
             N(entries_per_sec));
        g_assert_true(strv_equal(a->mount_options, b->mount_options));
        same_files_wanted(&a->files, &b->files);
        for (size_t i = 0; i < a->n_reliances; i++) {
                SAME(N(reliances[i].gid), T(reliances[i].root), T(reliances[i].who));
                g_assert_cmpint(!a->reliances[i].root, ==, !b->reliances[i].root);
        }
}

static void same_ready_note(const ReadyNote *a, const ReadyNote *b) {
        same_mount_identity(&a->identity, &b->identity);
        SAME(N(gid), N(disk_gid), T(fingerprint.text));
}

static void same_files_decision(const FilesDecision *a, const FilesDecision *b) {
        SAME(N(relabel), N(relabel_reason), N(blind), N(ownership), N(ownership_reason), N(gid), N(disk_gid));
}

static void same_operation_result(const OperationResult *a, const OperationResult *b) {
        SAME(N(repeated), T(fingerprint.text), T(detail), N(walked));
        same_mount_outcome(&a->outcome, &b->outcome);
        same_mark(&a->mark, &b->mark);
        same_files_decision(&a->files, &b->files);
        same_walk_result(&a->walk, &b->walk);
}

/* --- there and back --- */

static void walk_counts_done(WalkCounts *c) {
}
static void files_decision_done(FilesDecision *d) {
}

/* All members, and none of them; nothing that is something else. */
#define ROUND_TRIP(Type, name, type)                                                                               \
        G_STMT_START {                                                                                             \
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *_none_ = message_new(), *_other_ = message_new(); \
                const Type _empty_ = { 0 }, *_said_[] = { &name, &_empty_ };                                       \
                Type _read_;                                                                                       \
                                                                                                                   \
                for (size_t _k_ = 0; _k_ < G_N_ELEMENTS(_said_); _k_++) {                                          \
                        _cleanup_(sd_bus_message_unrefp) sd_bus_message *_m_ = message_new();                      \
                                                                                                                   \
                        g_assert_cmpint(name##_append(_m_, _said_[_k_]), ==, 0);                                   \
                        g_assert_cmpstr(sd_bus_message_get_signature(_m_, 1), ==, type);                           \
                        g_assert_cmpint(name##_read(finish(_m_), &_read_), ==, 0);                                 \
                        g_assert_cmpint(sd_bus_message_at_end(_m_, 1), ==, 1);                                     \
                        same_##name(_said_[_k_], &_read_);                                                         \
                        name##_done(&_read_);                                                                      \
                }                                                                                                  \
                g_assert_cmpint(name##_read(finish(_none_), &_read_), <, 0);                                       \
                append(_other_, "(su)", "text", 5u);                                                               \
                g_assert_cmpint(name##_read(finish(_other_), &_read_), <, 0);                                      \
        }                                                                                                          \
        G_STMT_END

static void test_round_trip(void) {
        const WalkCounts walk_counts = walk.counts;
        const MountFact mount_fact = facts[1];
        const MountOutcome mount_outcome = outcome;
        const MountIdentity mount_identity = identity;
        const WalkResult walk_result = walk;

        ROUND_TRIP(Node, node, NODE_TYPE);
        ROUND_TRIP(MountFact, mount_fact, MOUNT_FACT_TYPE);
        ROUND_TRIP(MountOutcome, mount_outcome, MOUNT_OUTCOME_TYPE);
        ROUND_TRIP(Observed, observed, OBSERVED_TYPE);
        ROUND_TRIP(Mark, mark, MARK_TYPE);
        ROUND_TRIP(WalkCounts, walk_counts, WALK_COUNTS_TYPE);
        ROUND_TRIP(WalkResult, walk_result, WALK_RESULT_TYPE);
        ROUND_TRIP(MountIdentity, mount_identity, MOUNT_IDENTITY_TYPE);
        ROUND_TRIP(MountCall, mount_call, MOUNT_CALL_TYPE);
        ROUND_TRIP(AdoptCall, adopt_call, ADOPT_CALL_TYPE);
        ROUND_TRIP(ChangeCall, change_call, CHANGE_CALL_TYPE);
        ROUND_TRIP(VerifyCall, verify_call, VERIFY_CALL_TYPE);
        ROUND_TRIP(VerifyResult, verify_result, VERIFY_RESULT_TYPE);
        ROUND_TRIP(UnmountCall, unmount_call, UNMOUNT_CALL_TYPE);
        ROUND_TRIP(PlanQuestion, plan_question, PLAN_QUESTION_TYPE);
        ROUND_TRIP(PlanAnswer, plan_answer, PLAN_ANSWER_TYPE);
        ROUND_TRIP(ReadyNote, ready_note, READY_NOTE_TYPE);
        ROUND_TRIP(FilesDecision, files_decision, FILES_DECISION_TYPE);
        ROUND_TRIP(OperationResult, operation_result, OPERATION_RESULT_TYPE);
}

/* As many as there are; and each stands for itself, so that one can be read after the other. */
static void test_facts(void) {
        for (size_t n = 0; n <= G_N_ELEMENTS(facts); n++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_(observed_done) Observed read = { 0 };
                _cleanup_(mark_done) Mark after = { 0 };

                g_assert_cmpint(mount_facts_append(m, facts, n), ==, 0);
                g_assert_cmpint(mark_append(m, &mark), ==, 0);
                g_assert_cmpint(mount_facts_read(finish(m), &read.mounts, &read.n_mounts), ==, 0);
                g_assert_cmpuint(read.n_mounts, ==, n);
                for (size_t i = 0; i < n; i++)
                        same_mount_fact(&facts[i], &read.mounts[i]);
                g_assert_cmpint(mark_read(m, &after), ==, 0);
                same_mark(&mark, &after);
        }
}

/* D-Bus can't carry it as it is. */
static void test_not_utf_8(void) {
        const MountFact fact = { .target = S("/t/\xff"), .source = S("\x80"), .root = S("/\xef\xb7\x90") };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_(mount_fact_done) MountFact read = { 0 };

        g_assert_cmpint(mount_fact_append(m, &fact), ==, 0);
        g_assert_cmpint(mount_fact_read(finish(m), &read), ==, 0);
        g_assert_cmpstr(read.target, ==, "/t/\\xff");
        g_assert_cmpstr(read.source, ==, "\\x80");
        g_assert_cmpstr(read.root, ==, "/\\xef\\xb7\\x90");
}

/* Context and group say nothing beside "unknown", and are not sent. */
static void test_mark_leftovers(void) {
        const Mark said = { .found = MARK_PRESENT, .context = S(CONTEXT), .tainted = true, .gid = 5 },
                   meant = { .found = MARK_PRESENT, .tainted = true };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_(mark_done) Mark read = { 0 };

        g_assert_cmpint(mark_append(m, &said), ==, 0);
        g_assert_cmpint(mark_read(finish(m), &read), ==, 0);
        same_mark(&meant, &read);
}

/* --- what is refused --- */

/* What the good one becomes by the statement about v. */
#define REFUSED(Type, name, statement)                                                \
        G_STMT_START {                                                                \
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *_m_ = message_new(); \
                Type v = name, _read_;                                                \
                                                                                      \
                statement;                                                            \
                g_assert_cmpint(name##_append(_m_, &v), ==, 0);                       \
                g_assert_cmpint(name##_read(finish(_m_), &_read_), ==, -EBADMSG);     \
        }                                                                             \
        G_STMT_END

/* A word that stands for nothing is sent as "". */
static void test_words(void) {
        REFUSED(VerifyCall, verify_call, v.depth = VERIFY_DEPTHS);
        REFUSED(VerifyResult, verify_result, v.reset = MARK_CHANGES);
        REFUSED(PlanAnswer, plan_answer, v.verdict = PLAN_VERDICTS);
        REFUSED(PlanAnswer, plan_answer, v.change = MARK_CHANGES);
        REFUSED(PlanAnswer, plan_answer, v.files.ownership = OWNERSHIP_ACTIONS);
        REFUSED(PlanAnswer, plan_answer, v.files.policy = FS_GROUP_CHANGE_POLICIES);
        REFUSED(OperationResult, operation_result, v.files.relabel = RELABEL_ACTIONS);
        REFUSED(OperationResult, operation_result, v.files.relabel_reason = RELABEL_REASONS);
        REFUSED(OperationResult, operation_result, v.files.ownership = OWNERSHIP_ACTIONS);
        REFUSED(OperationResult, operation_result, v.mark.found = MARKS_FOUND);
}

static void test_contexts(void) {
        static char *const contexts[] = { S("nonsense"), S(NOT_IN_FORM), S("a:b:c:s0\""), S(" "), S("a:b:c:s0\n") };

        for (size_t i = 0; i < G_N_ELEMENTS(contexts); i++) {
                char *bad = contexts[i];
                MountFact others[] = { facts[0], facts[1] };

                others[1].context = bad;
                REFUSED(Node, node, v.file_context = bad);
                REFUSED(Observed, observed, v.mounts = others);
                REFUSED(PlanQuestion, plan_question, v.node.file_context = bad);
                REFUSED(PlanQuestion, plan_question, v.observed.mounts = others);
                REFUSED(PlanQuestion, plan_question, v.outcome.fact.context = bad);
                REFUSED(PlanQuestion, plan_question, v.outcome.root_context = bad);
                REFUSED(PlanAnswer, plan_answer, v.context = bad);
                REFUSED(PlanAnswer, plan_answer, v.files.context = bad);
                REFUSED(VerifyResult, verify_result, v.actual = bad);
                REFUSED(OperationResult, operation_result, v.outcome.root_context = bad);
                REFUSED(OperationResult, operation_result, v.mark.context = bad);
        }
}

/* What users are shown: one line, no control characters, not without end. */
static void test_lines(void) {
        g_autofree char *endless = g_strnfill(16 * 1024 + 1, 'x');
        char *const lines[] = { S("a\nb"), S("a\x1b[2J"), S("\r"), endless };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                char *bad = lines[i], *bad_submounts[] = { S("a"), bad, NULL };
                WalkIssue bad_path[] = { issues[0], { bad, S("b") } }, bad_text[] = { issues[0], { S("a"), bad } };
                Reliance bad_who[] = { reliances[0], { .gid = 5, .who = bad } };

                REFUSED(Observed, observed, v.fs_type = bad);
                REFUSED(Observed, observed, v.device = bad);
                REFUSED(Observed, observed, v.superblock = bad);
                REFUSED(VerifyResult, verify_result, v.not_reset = bad);
                REFUSED(VerifyResult, verify_result, v.walk.issues = bad_path);
                REFUSED(OperationResult, operation_result, v.walk.issues = bad_text);
                REFUSED(OperationResult, operation_result, v.walk.submounts = bad_submounts);
                REFUSED(OperationResult, operation_result, v.detail = bad);
                REFUSED(PlanAnswer, plan_answer, v.reliances = bad_who);
        }
}

static void test_orphans(void) {
        static const OrphanNote good = { 7, "Mount", "v", "/t" }, bad[] = { { 0, "Mount", "v", "/t" },
                                                                            { -1, "Mount", "v", "/t" },
                                                                            { 7, "", "v", "/t" },
                                                                            { 7, "Mount", "a\nb", "/t" },
                                                                            { 7, "Mount", "v", "/t\x1b" } };
        OrphanNote read;

        for (size_t i = 0; i <= G_N_ELEMENTS(bad); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();

                g_assert_cmpint(sd_bus_message_open_container(m, 'a', ORPHAN_NOTE_TYPE), >=, 0);
                g_assert_cmpint(orphan_note_append(m, &good), ==, 0);
                if (i < G_N_ELEMENTS(bad))
                        g_assert_cmpint(orphan_note_append(m, &bad[i]), ==, 0);
                g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
                g_assert_cmpint(sd_bus_message_enter_container(finish(m), 'a', ORPHAN_NOTE_TYPE), ==, 1);
                g_assert_cmpint(orphan_note_read(m, &read), ==, 1);
                g_assert_cmpint(read.pid, ==, 7);
                g_assert_cmpstr(read.operation, ==, "Mount");
                g_assert_cmpstr(read.volume, ==, "v");
                g_assert_cmpstr(read.target, ==, "/t");
                g_assert_cmpint(orphan_note_read(m, &read), ==, i < G_N_ELEMENTS(bad) ? -EBADMSG : 0);
        }
}

static void test_values(void) {
        REFUSED(PlanQuestion, plan_question, v.seclabel = 2);
        REFUSED(PlanQuestion, plan_question, v.seclabel = -2);
        REFUSED(PlanAnswer, plan_answer, v.witness.kept.text[0] = '\n');
        REFUSED(OperationResult, operation_result, v.fingerprint.text[0] = ' ');
        REFUSED(PlanAnswer, plan_answer, v.seclabel = 2);
        REFUSED(PlanAnswer, plan_answer, v.seclabel = INT32_MIN);
        /* Shown and not on disk, or the other way round. */
        REFUSED(OperationResult, operation_result, v.files.gid = GID_NONE);
        REFUSED(OperationResult, operation_result, v.files.disk_gid = GID_NONE);
}

/* More than one walk ever names, or than there can be holders. */
static void test_too_many(void) {
        static const struct {
                unsigned issues, submounts;
                int result;
        } rows[] = {
                { WALK_ISSUES_MAX, WALK_SUBMOUNTS_MAX, 0 },
                { WALK_ISSUES_MAX + 1, 0, -EBADMSG },
                { 0, WALK_SUBMOUNTS_MAX + 1, -EBADMSG },
        };
        g_autofree Reliance *many = g_new(Reliance, 16 * 1024 + 1);

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_(walk_result_done) WalkResult read = { 0 };

                g_assert_cmpint(sd_bus_message_open_container(m, 'r', "(ttttttt)a(ss)as"), >=, 0);
                g_assert_cmpint(walk_counts_append(m, &walk.counts), ==, 0);
                g_assert_cmpint(sd_bus_message_open_container(m, 'a', "(ss)"), >=, 0);
                for (unsigned k = 0; k < rows[i].issues; k++)
                        append(m, "(ss)", "a", "b");
                g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
                g_assert_cmpint(sd_bus_message_open_container(m, 'a', "s"), >=, 0);
                for (unsigned k = 0; k < rows[i].submounts; k++)
                        append(m, "s", "c");
                g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
                g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);

                g_assert_cmpint(walk_result_read(finish(m), &read), ==, rows[i].result);
                g_assert_cmpuint(read.n_issues, ==, rows[i].result == 0 ? rows[i].issues : 0);
        }

        for (size_t i = 0; i < 16 * 1024 + 1; i++)
                many[i] = reliances[i % 2];
        REFUSED(PlanAnswer, plan_answer, v.reliances = many; v.n_reliances = 16 * 1024 + 1);
}

static char **make_numbers(unsigned n) {
        char **l = g_new0(char *, n + 1);

        for (unsigned i = 0; i < n; i++)
                l[i] = g_strdup_printf("%u", i);
        return l;
}

/* The next string that nobody has read yet is this number. */
static void assert_next(sd_bus_message *m, unsigned expected) {
        const char *s;

        g_assert_cmpint(sd_bus_message_read(m, "s", &s), ==, 1);
        g_assert_cmpuint(g_ascii_strtoull(s, NULL, 10), ==, expected);
}

/* Not when all has been read: an array that fills the message would take the reader minutes, in which nobody else is served. */
static void test_ends_at_limit(void) {
        static const unsigned lengths[] = { WALK_SUBMOUNTS_MAX + 2, 5000 };

        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
                g_auto(GStrv) many = make_numbers(lengths[i]);
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *walked = message_new(), *answered = message_new();
                WalkResult w = walk, read_walk;
                PlanAnswer a = plan_answer, read_answer;

                w.submounts = many;
                g_assert_cmpint(walk_result_append(walked, &w), ==, 0);
                g_assert_cmpint(walk_result_read(finish(walked), &read_walk), ==, -EBADMSG);
                assert_next(walked, WALK_SUBMOUNTS_MAX + 1);

                if (lengths[i] < 1024 + 2)
                        continue;
                a.mount_options = many;
                g_assert_cmpint(plan_answer_append(answered, &a), ==, 0);
                g_assert_cmpint(plan_answer_read(finish(answered), &read_answer), ==, -EBADMSG);
                assert_next(answered, 1024 + 1);
        }
}

/* What options of callers are read with, too. */
static void test_strings(void) {
        static const struct {
                unsigned n, max;
                int result;
        } rows[] = {
                { 0, 0, 0 }, { 0, 3, 0 }, { 3, 3, 0 }, { 1, 0, -E2BIG }, { 4, 3, -E2BIG }, { 5000, 3, -E2BIG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_auto(GStrv) said = make_numbers(rows[i].n);
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                char *untouched[] = { NULL }, **read = untouched;

                g_assert_cmpint(sd_bus_message_append_strv(m, said), >=, 0);
                g_assert_cmpint(unmarshal_strv(finish(m), rows[i].max, &read), ==, rows[i].result);
                if (rows[i].result < 0) {
                        g_assert_true(read == untouched);
                        continue;
                }
                g_assert_cmpuint(strv_length(read), ==, rows[i].n);
                for (unsigned k = 0; k < rows[i].n; k++)
                        g_assert_cmpstr(read[k], ==, said[k]);
                strv_free(read);
                g_assert_cmpint(unmarshal_strv(m, rows[i].max, &read), <, 0);
        }
}

/* States that don't go together. */
static void test_marks(void) {
        static const struct {
                const char *found, *label, *context;
                int tainted;
                const char *ownership;
                uint32_t gid;
                int result;
        } rows[] = {
                { "present", "unknown", "", 0, "unknown", 0, 0 },
                { "present", "complete", CONTEXT, 1, "partial", 5, 0 },
                { "present", "unknown", "", 1, "complete", 0, 0 },
                { "absent", "unknown", "", 0, "unknown", 0, 0 },
                { "unsupported", "unknown", "", 0, "unknown", 0, 0 },
                { "invalid", "unknown", "", 0, "unknown", 0, 0 },
                { "", "unknown", "", 0, "unknown", 0, -EBADMSG },
                { "Present", "unknown", "", 0, "unknown", 0, -EBADMSG },
                { "present", "done", "", 0, "unknown", 0, -EBADMSG },
                { "present", "unknown", "", 0, "", 0, -EBADMSG },
                { "present", "complete", "", 0, "unknown", 0, -EBADMSG },
                { "present", "partial", "", 0, "unknown", 0, -EBADMSG },
                { "present", "unknown", CONTEXT, 0, "unknown", 0, -EBADMSG },
                { "present", "complete", NOT_IN_FORM, 0, "unknown", 0, -EBADMSG },
                { "present", "unknown", "", 0, "unknown", 5, -EBADMSG },
                { "present", "unknown", "", 0, "complete", GID_NONE, -EBADMSG },
                /* Nothing was found that could say so. */
                { "absent", "complete", CONTEXT, 0, "unknown", 0, -EBADMSG },
                { "absent", "unknown", "", 1, "unknown", 0, -EBADMSG },
                { "unsupported", "unknown", "", 0, "complete", 5, -EBADMSG },
                { "invalid", "partial", CONTEXT, 0, "unknown", 0, -EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_(mark_done) Mark read = { .gid = 99 };

                append(m, MARK_TYPE, rows[i].found, rows[i].label, rows[i].context, rows[i].tainted,
                       rows[i].ownership, rows[i].gid);
                g_assert_cmpint(mark_read(finish(m), &read), ==, rows[i].result);
                g_assert_cmpuint(read.gid, ==, rows[i].result == 0 ? rows[i].gid : 99);
        }
}

/* --- errors --- */

static void test_errors(void) {
        static const struct {
                const char *name, *message;
                FailureKind kind;
                bool answer;
        } rows[] = {
                { ERROR_PREFIX "MountFailed", "No.", FAILURE_MOUNT_FAILED, true },
                { ERROR_PREFIX "Canceled", "No.", FAILURE_CANCELED, true },
                { ERROR_PREFIX "WorkerFailed", "No.", FAILURE_WORKER_FAILED, false },
                { ERROR_PREFIX "None", "No.", FAILURE_WORKER_FAILED, false },
                { ERROR_PREFIX "Nonsense", "No.", FAILURE_WORKER_FAILED, false },
                { ERROR_PREFIX, "No.", FAILURE_WORKER_FAILED, false },
                { SD_BUS_ERROR_NO_REPLY, "No.", FAILURE_WORKER_FAILED, false },
                { NULL, NULL, FAILURE_WORKER_FAILED, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(rows[i].name, rows[i].message);
                _cleanup_failure_ Failure f = { 0 };

                g_assert_cmpint(peer_error_is_answer(&error), ==, rows[i].answer);
                g_assert_cmpint(peer_error_read(&error, &f), ==, rows[i].kind);
                g_assert_cmpint(f.kind, ==, rows[i].kind);
                if (rows[i].message)
                        g_assert_nonnull(strstr(f.message, rows[i].message));
        }

        for (int kind = FAILURE_NONE + 1; kind < FAILURE_KINDS; kind++) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_failure_ Failure said = { 0 }, read = { 0 };

                g_assert_cmpint(failure_set(&said, (FailureKind) kind, "What happened, and why: %i.", kind), ==,
                                kind);
                g_assert_cmpint(peer_error_set(&error, &said), <, 0);
                g_assert_cmpint(peer_error_read(&error, &read), ==, kind);
                g_assert_cmpstr(read.message, ==, said.message);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        open_bus();
        nest();
        g_test_add_func("/wire/round-trip", test_round_trip);
        g_test_add_func("/wire/facts", test_facts);
        g_test_add_func("/wire/not-utf-8", test_not_utf_8);
        g_test_add_func("/wire/mark-leftovers", test_mark_leftovers);
        g_test_add_func("/wire/refused/words", test_words);
        g_test_add_func("/wire/refused/contexts", test_contexts);
        g_test_add_func("/wire/refused/lines", test_lines);
        g_test_add_func("/wire/refused/orphans", test_orphans);
        g_test_add_func("/wire/refused/values", test_values);
        g_test_add_func("/wire/refused/too-many", test_too_many);
        g_test_add_func("/wire/refused/ends-at-limit", test_ends_at_limit);
        g_test_add_func("/wire/strings", test_strings);
        g_test_add_func("/wire/refused/marks", test_marks);
        g_test_add_func("/wire/errors", test_errors);

        int r = g_test_run();
        sd_bus_close_unref(bus);
        return r;
}
