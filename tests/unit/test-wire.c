/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/limits.h"
#include "support/cases.h"
#include "wire/messages.h"
#include "wire/names.h"
#include "wire/peer.h"
#include "wire/protocol.h"

/* A message arrives as it was sent. A reader refuses values that can't be, as the sender is another
 * process. */

#define CONTEXT     "system_u:object_r:container_file_t:s0:c1,c2"
#define NOT_IN_FORM "system_u:object_r:container_file_t:s0:c2,c1"

#define S(literal) ((char *) (literal))

static sd_bus *bus;

/* sd-bus makes and reads messages only for a bus that is about to connect. */
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

/* --- by the tables --- */

static char **make_numbers(unsigned n) {
        char **l = g_new0(char *, n + 1);

        for (unsigned i = 0; i < n; i++)
                l[i] = g_strdup_printf("%u", i);
        return l;
}

/* Fills each member with a valid value, and different members with different values if there are enough. A
 * text is a valid context, and so a valid line and a valid id of a volume. */
static void fill(const MessageType *type, void *object, unsigned *n) {
        for (size_t i = 0; i < type->n_fields; i++) {
                const MessageField *f = &type->fields[i];
                void *member = (char *) object + f->offset;

                ++*n;
                if (f->kind == KIND_BOOL)
                        *(bool *) member = true;
                else if (f->kind == KIND_INT)
                        *(int *) member = 1;
                else if (f->kind == KIND_U32)
                        *(uint32_t *) member = GID_NONE - *n;
                else if (f->kind == KIND_U64)
                        *(uint64_t *) member = UINT64_MAX - *n;
                else if (f->kind == KIND_TEXT)
                        *(char **) member = g_strdup_printf("a_u:object_r:type_%u_t:s0", *n);
                else if (f->kind == KIND_WORD)
                        *(unsigned *) member = (unsigned) f->words->n - 1;
                else if (f->kind == KIND_FINGERPRINT)
                        g_snprintf(((Fingerprint *) member)->text, FINGERPRINT_MAX, "xfs:%u", *n);
                else if (f->kind == KIND_IDENTITY)
                        g_snprintf(((Identity *) member)->text, IDENTITY_MAX, "xfs:%u", *n);
                else if (f->kind == KIND_STRV)
                        *(char ***) member = make_numbers(2);
                else if (f->kind == KIND_STRUCT)
                        fill(f->type, member, n);
                else {
                        char *list = *(char **) member = g_malloc0(2 * f->type->size);

                        fill(f->type, list, n);
                        fill(f->type, list + f->type->size, n);
                        *(size_t *) ((char *) object + f->count_offset) = 2;
                }
        }
}

static size_t size_of(const MessageField *f) {
        switch (f->kind) {
        case KIND_BOOL:
                return sizeof(bool);
        case KIND_INT:
        case KIND_U32:
        case KIND_WORD:
                return sizeof(uint32_t);
        case KIND_U64:
                return sizeof(uint64_t);
        case KIND_FINGERPRINT:
                return sizeof(Fingerprint);
        case KIND_IDENTITY:
                return sizeof(Identity);
        case KIND_STRUCT:
                return f->type->size;
        default:
                return sizeof(void *);
        }
}

/* said was appended, and read was read. Some members are NULL where "" was sent. */
static void assert_same(const MessageType *type, const void *said, const void *read) {
        for (size_t i = 0; i < type->n_fields; i++) {
                const MessageField *f = &type->fields[i];
                const void *a = (const char *) said + f->offset, *b = (const char *) read + f->offset;

                if (f->kind == KIND_TEXT) {
                        const char *s = *(char *const *) a, *t = *(char *const *) b;

                        g_assert_cmpstr(t, ==, isempty(s) ? (f->or_null ? NULL : "") : s);
                } else if (f->kind == KIND_FINGERPRINT)
                        g_assert_cmpstr(((const Fingerprint *) a)->text, ==, ((const Fingerprint *) b)->text);
                else if (f->kind == KIND_IDENTITY)
                        g_assert_cmpstr(((const Identity *) a)->text, ==, ((const Identity *) b)->text);
                else if (f->kind == KIND_STRV)
                        g_assert_true(strv_equal(*(char **const *) a, *(char **const *) b));
                else if (f->kind == KIND_STRUCT)
                        assert_same(f->type, a, b);
                else if (f->kind == KIND_ARRAY) {
                        size_t n = *(const size_t *) ((const char *) said + f->count_offset);

                        g_assert_cmpuint(n, ==, *(const size_t *) ((const char *) read + f->count_offset));
                        for (size_t k = 0; k < n; k++)
                                assert_same(f->type, *(char *const *) a + k * f->type->size,
                                            *(char *const *) b + k * f->type->size);
                } else
                        g_assert_cmpmem(a, size_of(f), b, size_of(f));
        }
}

/* --- there and back --- */

static void assert_arrives(const MessageType *type, const void *said) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        g_autofree void *read = g_malloc(type->size);

        g_assert_cmpint(message_append(m, type, said), ==, 0);
        g_assert_cmpstr(sd_bus_message_get_signature(m, 1), ==, type->signature);
        if (type->is_good && !type->is_good(said)) {
                g_assert_cmpint(message_read(finish(m), type, read), ==, -EBADMSG);
                return;
        }
        g_assert_cmpint(message_read(finish(m), type, read), ==, 0);
        g_assert_cmpint(sd_bus_message_at_end(m, 1), ==, 1);
        assert_same(type, said, read);
        message_done(type, read);
        for (size_t i = 0; i < type->size; i++)
                g_assert_cmpint(((char *) read)[i], ==, 0);
}

/* Adds what the bytes of the struct mean to a description of the protocol. */
static void describe(GString *protocol, const MessageType *type) {
        g_string_append(protocol, type->signature);
        for (size_t i = 0; i < type->n_fields; i++) {
                const MessageField *f = &type->fields[i];

                g_string_append_printf(protocol, " %c", (int) f->kind);
                for (size_t j = 0; f->kind == KIND_WORD && j < f->words->n; j++)
                        g_string_append_printf(protocol, ",%s", strempty(f->words->words[j]));
        }
        g_string_append_c(protocol, '\n');
}

/* A struct arrives with all members and with none; a reader refuses a message without a struct, or with
 * another one. */
static void test_type(const MessageType *type, GString *protocol) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *none = message_new(), *other = message_new();
        g_autofree char *object = g_malloc0(type->size), *untouched = g_malloc0(type->size);
        unsigned n = 0;

        describe(protocol, type);
        assert_arrives(type, object);
        fill(type, object, &n);
        g_assert_true(!type->is_good || type->is_good(object));
        assert_arrives(type, object);
        message_done(type, object);

        append(other, "(su)", "text", 5u);
        g_assert_cmpint(message_read(finish(none), type, object), <, 0);
        g_assert_cmpint(message_read(finish(other), type, object), <, 0);
        g_assert_cmpmem(object, type->size, untouched, type->size);
}

/* Asserts that the table has all members, which are those with bytes that are not 0. */
static void assert_complete(const MessageType *type, char *members) {
        for (size_t i = 0; i < type->n_fields; i++) {
                const MessageField *f = &type->fields[i];

                memset(members + f->offset, 0, size_of(f));
                if (f->kind == KIND_ARRAY)
                        memset(members + f->count_offset, 0, sizeof(size_t));
        }
        for (size_t i = 0; i < type->size; i++)
                if (members[i] != 0)
                        g_error("%s: the member at byte %zu is not in the table", type->signature, i);
}

/* The statement clears the members of v that are not sent on purpose. */
#if __has_builtin(__builtin_clear_padding)
#define TEST_TYPE(Type, name, statement)                    \
        G_STMT_START {                                      \
                Type v;                                     \
                                                            \
                memset(&v, 0xff, sizeof(v));                \
                statement;                                  \
                __builtin_clear_padding(&v);                \
                assert_complete(&name##_type, (char *) &v); \
                test_type(&name##_type, protocol);          \
        }                                                   \
        G_STMT_END
#else
#define TEST_TYPE(Type, name, statement) test_type(&name##_type, protocol)
#endif

TEST(test_round_trip, "/wire/round-trip") {
        g_autoptr(GString) protocol = g_string_new(NULL);
        g_autofree char *digest = NULL;

        TEST_TYPE(Node, node, );
        TEST_TYPE(MountFact, mount_fact, v.superblock_read_only = false; v.note_id = v.peer_id = 0;
                  v.note_adopted = false);
        TEST_TYPE(MountOutcome, mount_outcome, v.root_inode = 0; v.overrides_labels = v.exclusive = false;
                  memset(&v.proof, 0, sizeof(v.proof)));
        TEST_TYPE(Observed, observed, );
        TEST_TYPE(Mark, mark, v.inode = 0; v.identity = (Identity){ "" }; v.fingerprint = (Fingerprint){ "" });
        TEST_TYPE(WalkCounts, walk_counts, );
        TEST_TYPE(WalkIssue, walk_issue, v.error = 0);
        TEST_TYPE(WalkResult, walk_result, );
        TEST_TYPE(MountIdentity, mount_identity, );
        TEST_TYPE(CallOrigin, call_origin, );
        TEST_TYPE(MountCall, mount_call, );
        TEST_TYPE(AdoptCall, adopt_call, );
        TEST_TYPE(ChangeCall, change_call, );
        TEST_TYPE(VerifyCall, verify_call, );
        TEST_TYPE(VerifyResult, verify_result, );
        TEST_TYPE(UnmountCall, unmount_call, );
        TEST_TYPE(UnmountResult, unmount_result, );
        TEST_TYPE(OrphanInfo, orphan_info, );
        TEST_TYPE(Watched, watched, );
        TEST_TYPE(MountChanges, mount_changes, );
        TEST_TYPE(PlanQuestion, plan_question, );
        TEST_TYPE(FilesWanted, files_wanted, );
        TEST_TYPE(Reliance, reliance, );
        TEST_TYPE(PlanAnswer, plan_answer, );
        TEST_TYPE(ReadyQuestion, ready_question, );
        TEST_TYPE(FilesDecision, files_decision, );
        TEST_TYPE(WalkQuestion, walk_question, );
        TEST_TYPE(OperationResult, operation_result, );

        /* selvold and selvol-worker of two versions must not take calls of each other's. If a message has
         * changed since the last release, raise WIRE_VERSION; then put the new digest here. */
        digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, protocol->str, -1);
        digest[16] = '\0';
        g_assert_cmpstr(WIRE_VERSION, ==, "1");
        g_assert_cmpstr(digest, ==, "3cd802feb0434576");
}

/* An array arrives with all its elements, and the struct behind it can be read, too. */
TEST(test_arrays, "/wire/arrays") {
        for (size_t n = 0; n <= 9; n++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                const Mark mark = { .found = MARK_PRESENT, .ownership_state = FILES_COMPLETE, .gid = 3000 };
                _cleanup_(mount_changes_done) MountChanges read = { 0 };
                MountIdentity went[9] = { { 0 } };
                Mark after;

                for (size_t i = 0; i < n; i++)
                        went[i] = (MountIdentity){ .id = i + 1, .device = S("8:1") };
                g_assert_cmpint(mount_changes_append(m, &(MountChanges){ .went = went, .n_went = n }), ==, 0);
                g_assert_cmpint(mark_append(m, &mark), ==, 0);
                g_assert_cmpint(mount_changes_read(finish(m), &read), ==, 0);
                g_assert_cmpuint(read.n_came, ==, 0);
                g_assert_cmpuint(read.n_went, ==, n);
                for (size_t i = 0; i < n; i++)
                        assert_same(&mount_identity_type, &went[i], &read.went[i]);
                g_assert_cmpint(mark_read(m, &after), ==, 0);
                assert_same(&mark_type, &mark, &after);
        }
}

/* D-Bus can't carry such text, so it is escaped. */
TEST(test_not_utf_8, "/wire/not-utf-8") {
        const MountFact fact = { .target = S("/t/\xff"), .source = S("\x80"), .root = S("/\xef\xb7\x90") };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_(mount_fact_done) MountFact read = { 0 };

        g_assert_cmpint(mount_fact_append(m, &fact), ==, 0);
        g_assert_cmpint(mount_fact_read(finish(m), &read), ==, 0);
        g_assert_cmpstr(read.target, ==, "/t/\\xff");
        g_assert_cmpstr(read.source, ==, "\\x80");
        g_assert_cmpstr(read.root, ==, "/\\xef\\xb7\\x90");
}

/* A context and a group without a state mean nothing, and are not sent. */
TEST(test_mark_leftovers, "/wire/mark-leftovers") {
        const Mark said = { .found = MARK_PRESENT, .context = S(CONTEXT), .tainted = true, .gid = 5 },
                   meant = { .found = MARK_PRESENT, .tainted = true };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_(mark_done) Mark read = { 0 };

        g_assert_cmpint(mark_append(m, &said), ==, 0);
        g_assert_cmpint(mark_read(finish(m), &read), ==, 0);
        assert_same(&mark_type, &meant, &read);
}

/* --- refusals --- */

/* The reader refuses a valid message that the statement about v has spoiled. */
#define REFUSED(Type, name, statement)                                                \
        G_STMT_START {                                                                \
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *_m_ = message_new(); \
                _cleanup_(name##_done) Type _good_ = { 0 };                           \
                unsigned _n_ = 0;                                                     \
                Type v, _read_;                                                       \
                                                                                      \
                fill(&name##_type, &_good_, &_n_);                                    \
                v = _good_;                                                           \
                statement;                                                            \
                g_assert_cmpint(name##_append(_m_, &v), ==, 0);                       \
                g_assert_cmpint(name##_read(finish(_m_), &_read_), ==, -EBADMSG);     \
        }                                                                             \
        G_STMT_END

/* A value without a word is sent as "". */
TEST(test_words, "/wire/refused/words") {
        REFUSED(VerifyCall, verify_call, v.depth = VERIFY_DEPTHS);
        REFUSED(VerifyResult, verify_result, v.reset = MARK_CHANGES);
        REFUSED(PlanAnswer, plan_answer, v.step = PLAN_STEPS);
        REFUSED(PlanAnswer, plan_answer, v.change = MARK_CHANGES);
        REFUSED(PlanAnswer, plan_answer, v.files.ownership = OWNERSHIP_ACTIONS);
        REFUSED(PlanAnswer, plan_answer, v.files.policy = FS_GROUP_CHANGE_POLICIES);
        REFUSED(OperationResult, operation_result, v.files.relabel = RELABEL_ACTIONS);
        REFUSED(OperationResult, operation_result, v.files.relabel_reason = RELABEL_REASONS);
        REFUSED(OperationResult, operation_result, v.files.ownership = OWNERSHIP_ACTIONS);
        REFUSED(OperationResult, operation_result, v.mark.found = MARKS_FOUND);
}

TEST(test_contexts, "/wire/refused/contexts") {
        static char *const contexts[] = { S("nonsense"), S(NOT_IN_FORM), S("a:b:c:s0\""), S(" "), S("a:b:c:s0\n") };

        for (size_t i = 0; i < G_N_ELEMENTS(contexts); i++) {
                char *bad = contexts[i];
                MountFact others[] = { { 0 }, { .context = bad } };

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

/* selvold shows such texts to users: they are one line, without control characters, and not too long. */
TEST(test_lines, "/wire/refused/lines") {
        g_autofree char *endless = g_strnfill(16 * 1024 + 1, 'x');
        char *const lines[] = { S("a\nb"), S("a\x1b[2J"), S("\r"), endless };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                char *bad = lines[i], *bad_submounts[] = { S("a"), bad, NULL };
                WalkIssue bad_path[] = { { S("a"), S("b") }, { bad, S("b") } },
                          bad_text[] = { { S("a"), S("b") }, { S("a"), bad } };
                Reliance bad_who[] = { { .gid = 0, .use = S("a"), .end = S("b") },
                                       { .gid = 5, .use = bad, .end = S("b") } },
                         bad_end[] = { { .gid = 0, .use = S("a"), .end = S("b") },
                                       { .gid = 5, .use = S("a"), .end = bad } };

                REFUSED(MountFact, mount_fact, v.covered_by = bad);
                REFUSED(MountFact, mount_fact, v.also_at = bad);
                REFUSED(OrphanInfo, orphan_info, v.operation = bad);
                REFUSED(OrphanInfo, orphan_info, v.target = bad);
                REFUSED(OrphanInfo, orphan_info, v.source = bad);
                REFUSED(Observed, observed, v.fs_type = bad);
                REFUSED(Observed, observed, v.device = bad);
                REFUSED(Observed, observed, v.superblock = bad);
                REFUSED(VerifyResult, verify_result, v.not_reset = bad);
                REFUSED(VerifyResult, verify_result, v.walk.issues = bad_path);
                REFUSED(OperationResult, operation_result, v.walk.issues = bad_text);
                REFUSED(OperationResult, operation_result, v.walk.submounts = bad_submounts);
                REFUSED(OperationResult, operation_result, v.detail = bad);
                REFUSED(PlanAnswer, plan_answer, v.reliances = bad_who);
                REFUSED(PlanAnswer, plan_answer, v.reliances = bad_end);
        }
}

TEST(test_values, "/wire/refused/values") {
        REFUSED(OrphanInfo, orphan_info, v.pid = 0);
        REFUSED(OrphanInfo, orphan_info, v.pid = -1);
        REFUSED(OrphanInfo, orphan_info, v.operation = S(""));
        g_autofree char *too_long = g_strnfill(VOLUME_ID_MAX + 1, 'a');

        REFUSED(MountFact, mount_fact, v.volume = too_long);
        REFUSED(OrphanInfo, orphan_info, v.volume = too_long);
        REFUSED(PlanQuestion, plan_question, v.seclabel = 2);
        REFUSED(PlanQuestion, plan_question, v.seclabel = -2);
        REFUSED(PlanAnswer, plan_answer, v.history.kept.text[0] = '\n');
        REFUSED(ReadyQuestion, ready_question, v.fingerprint.text[0] = 'X');
        REFUSED(OperationResult, operation_result, v.fingerprint.text[0] = ' ');
        REFUSED(PlanAnswer, plan_answer, v.seclabel = 2);
        REFUSED(PlanAnswer, plan_answer, v.seclabel = INT32_MIN);
        /* There is a group that is shown and none on disk, or the other way round. */
        REFUSED(OperationResult, operation_result, v.files.gid = GID_NONE);
        REFUSED(OperationResult, operation_result, v.files.disk_gid = GID_NONE);
}

/* A walk never names more, and there can't be more holders. */
TEST(test_too_many, "/wire/refused/too-many") {
        static WalkIssue issues[WALK_ISSUES_MAX + 1];
        static Reliance reliances[16 * 1024 + 1];
        char *submounts[WALK_SUBMOUNTS_MAX + 2] = { NULL };
        WalkResult most = { .issues = issues, .n_issues = WALK_ISSUES_MAX, .submounts = submounts };

        for (size_t i = 0; i < WALK_SUBMOUNTS_MAX; i++)
                submounts[i] = S("c");
        assert_arrives(&walk_result_type, &most);
        REFUSED(WalkResult, walk_result, v.issues = issues; v.n_issues = WALK_ISSUES_MAX + 1);
        submounts[WALK_SUBMOUNTS_MAX] = S("c");
        REFUSED(WalkResult, walk_result, v.submounts = submounts);
        REFUSED(PlanAnswer, plan_answer, v.reliances = reliances; v.n_reliances = G_N_ELEMENTS(reliances));
}

/* The next string that the reader has not read is this number. */
static void assert_next(sd_bus_message *m, unsigned expected) {
        const char *s;

        g_assert_cmpint(sd_bus_message_read(m, "s", &s), ==, 1);
        g_assert_cmpuint(g_ascii_strtoull(s, NULL, 10), ==, expected);
}

/* The reader stops at the limit, and not at the end: to read an array that fills a message could take
 * minutes, in which selvold serves nobody else. */
TEST(test_ends_at_limit, "/wire/refused/ends-at-limit") {
        static const unsigned lengths[] = { WALK_SUBMOUNTS_MAX + 2, 5000 };

        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
                g_auto(GStrv) many = make_numbers(lengths[i]);
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *walked = message_new(), *answered = message_new();
                WalkResult w = { .submounts = many }, read_walk;
                PlanAnswer a = { .mount_options = many }, read_answer;

                g_assert_cmpint(walk_result_append(walked, &w), ==, 0);
                g_assert_cmpint(walk_result_read(finish(walked), &read_walk), ==, -EBADMSG);
                assert_next(walked, WALK_SUBMOUNTS_MAX + 1);

                if (lengths[i] < 1024 + 2)
                        continue;
                g_assert_cmpint(plan_answer_append(answered, &a), ==, 0);
                g_assert_cmpint(plan_answer_read(finish(answered), &read_answer), ==, -EBADMSG);
                assert_next(answered, 1024 + 1);
        }
}

/* selvold reads options of callers with this function, too. */
TEST(test_strings, "/wire/strings") {
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
                g_assert_cmpint(message_read_strv(finish(m), rows[i].max, &read), ==, rows[i].result);
                if (rows[i].result < 0) {
                        g_assert_true(read == untouched);
                        continue;
                }
                g_assert_cmpuint(strv_length(read), ==, rows[i].n);
                for (unsigned k = 0; k < rows[i].n; k++)
                        g_assert_cmpstr(read[k], ==, said[k]);
                strv_free(read);
                g_assert_cmpint(message_read_strv(m, rows[i].max, &read), <, 0);
        }
}

/* The reader refuses states that contradict each other. */
TEST(test_marks, "/wire/refused/marks") {
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
                /* Without a mark nothing can be known. */
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

TEST(test_errors, "/wire/errors") {
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

                /* Both lines of a message arrive; a line break of a volume's id stays escaped. */
                g_assert_cmpint(failure_set_lines(&said, (FailureKind) kind, "Volume a\nb is in use.", "Stop\nc."),
                                ==, kind);
                g_assert_cmpstr(said.message, ==, "Volume a\\x0ab is in use.\nStop\\x0ac.");
                g_assert_cmpint(peer_error_set(&error, &said), <, 0);
                g_assert_cmpint(peer_error_read(&error, &read), ==, kind);
                g_assert_cmpstr(read.message, ==, said.message);
        }
}

void add_tests(void) {
        open_bus();
}
