/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib.h>

#include "wire/protocol.h"
#include "daemon/worker-client.h"
#include "label/entry-label.h"
#include "label/files.h"
#include "worker/marshal.h"

/* What selvold takes from the worker, and what not: the worker is another process. */

#define CONTEXT "system_u:object_r:container_file_t:s0:c1,c2"

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

#define append(m, ...) g_assert_cmpint(sd_bus_message_append(m, __VA_ARGS__), >=, 0)

static sd_bus_message *finish(sd_bus_message *m) {
        g_assert_cmpint(sd_bus_message_seal(m, 1, 0), >=, 0);
        g_assert_cmpint(sd_bus_message_rewind(m, 1), >=, 0);
        return m;
}

static void test_record(void) {
        g_autofree char *longest = g_strnfill(VOLUME_RECORD_MAX, 'x'),
                        *too_long = g_strnfill(VOLUME_RECORD_MAX + 1, 'x');
        const struct {
                const char *found, *text;
                int r;
        } rows[] = {
                { "present", "anything", 0 },   { "present", "", 0 },
                { "present", longest, 0 },      { "absent", "", 0 },
                { "unsupported", "", 0 },       { "present", too_long, -EBADMSG },
                { "absent", "text", -EBADMSG }, { "unsupported", "text", -EBADMSG },
                { "nonsense", "", -EBADMSG },   { "", "", -EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_free_ char *text = NULL;
                RecordFound found = RECORDS_FOUND;

                append(m, VOLUME_RECORD_SIGNATURE, rows[i].found, rows[i].text);
                g_assert_cmpint(worker_read_volume_record(finish(m), &found, &text), ==, rows[i].r);
                if (rows[i].r < 0) {
                        g_assert_null(text);
                        g_assert_cmpint(found, ==, RECORDS_FOUND);
                } else {
                        g_assert_cmpstr(text, ==, rows[i].text);
                        g_assert_cmpstr(record_found_to_string(found), ==, rows[i].found);
                }
        }
}

static void append_issues(sd_bus_message *m, unsigned n, const char *path, const char *text) {
        g_assert_cmpint(sd_bus_message_open_container(m, 'a', "(ss)"), >=, 0);
        for (unsigned i = 0; i < n; i++)
                append(m, "(ss)", path, text);
        g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
}

static void append_counts(sd_bus_message *m) {
        append(m, TREE_COUNTS_SIGNATURE, UINT64_C(5), UINT64_C(4), UINT64_C(3), UINT64_C(7), UINT64_C(2), UINT64_C(1),
               UINT64_C(6));
}

static void assert_counts(const WalkCounts *c) {
        g_assert_cmpint(c->done, ==, 5);
        g_assert_cmpint(c->changed, ==, 4);
        g_assert_cmpint(c->mismatched, ==, 3);
        g_assert_cmpint(c->misowned, ==, 7);
        g_assert_cmpint(c->failed, ==, 2);
        g_assert_cmpint(c->skipped, ==, 1);
        g_assert_cmpint(c->unsettled, ==, 6);
}

static void test_changed(void) {
        static const struct {
                unsigned issues, mounts;
                const char *path, *text, *mount;
                int r;
        } rows[] = {
                { 0, 0, "", "", "", 0 },
                { 1, 1, "a\\x0a", "no space", "b", 0 },
                { WORKER_ISSUES_MAX, WORKER_MOUNTS_INSIDE_MAX, "a", "b", "c", 0 },
                { WORKER_ISSUES_MAX + 1, 0, "a", "b", "", -EBADMSG },
                { 0, WORKER_MOUNTS_INSIDE_MAX + 1, "", "", "c", -EBADMSG },
                { 1, 0, "a\n", "b", "", -EBADMSG },
                { 1, 0, "a", "\x1b[2J", "", -EBADMSG },
                { 0, 1, "", "", "c\r", -EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_(walk_result_done) WalkResult result = { 0 };
                _cleanup_free_ char *text = NULL;
                RecordFound found;

                append_counts(m);
                append_issues(m, rows[i].issues, rows[i].path, rows[i].text);
                g_assert_cmpint(sd_bus_message_open_container(m, 'a', "s"), >=, 0);
                for (unsigned k = 0; k < rows[i].mounts; k++)
                        append(m, "s", rows[i].mount);
                g_assert_cmpint(sd_bus_message_close_container(m), >=, 0);
                append(m, VOLUME_RECORD_SIGNATURE, "absent", "");

                g_assert_cmpint(worker_read_changed(finish(m), &result, &found, &text), ==, rows[i].r);
                if (rows[i].r < 0)
                        continue;
                assert_counts(&result.counts);
                g_assert_cmpint(result.n_issues, ==, rows[i].issues);
                g_assert_cmpint(strv_length(result.mounts_inside), ==, rows[i].mounts);
                for (size_t k = 0; k < result.n_issues; k++) {
                        g_assert_cmpstr(result.issues[k].path, ==, rows[i].path);
                        g_assert_cmpstr(result.issues[k].text, ==, rows[i].text);
                }
                for (size_t k = 0; k < rows[i].mounts; k++)
                        g_assert_cmpstr(result.mounts_inside[k], ==, rows[i].mount);
                g_assert_cmpint(found, ==, RECORD_ABSENT);
        }
}

static void test_verified(void) {
        static const struct {
                const char *actual;
                int r;
        } rows[] = {
                { CONTEXT, 0 },
                { "", 0 },
                { "nonsense", -EBADMSG },
                { "system_u:object_r:container_file_t:s0:c2,c1", -EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_(walk_result_done) WalkResult result = { 0 };

                append(m, "bs", 1, rows[i].actual);
                append_counts(m);
                append_issues(m, 2, "path", "text");
                g_assert_cmpint(worker_read_verified(finish(m), &result), ==, rows[i].r);
                if (rows[i].r < 0)
                        continue;
                g_assert_true(result.matches);
                g_assert_cmpstr(result.actual, ==, rows[i].actual);
                g_assert_cmpint(result.n_issues, ==, 2);
                assert_counts(&result.counts);
        }
}

static void test_mapped(void) {
        static const struct {
                const char *word, *text;
                int r;
                MapResult result;
        } rows[] = {
                { "mapped", "", 0, MAP_MAPPED },
                { "differs", "a has group 5 and mode 0600", 0, MAP_DIFFERS },
                { "unsupported", "the kernel says EPERM", 0, MAP_UNSUPPORTED },
                { "Mapped", "", -EBADMSG, 0 },
                { "", "", -EBADMSG, 0 },
                { "differs", "a\033[31m", -EBADMSG, 0 },
                { "differs", "a\nb", -EBADMSG, 0 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
                _cleanup_free_ char *text = NULL;
                MapResult result = MAP_RESULTS;

                append(m, WORKER_MAP_OUT, rows[i].word, rows[i].text);
                g_assert_cmpint(worker_read_mapped(finish(m), &result, &text), ==, rows[i].r);
                if (rows[i].r < 0)
                        continue;
                g_assert_cmpint(result, ==, rows[i].result);
                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

static void test_progress(void) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new(), *short_one = message_new(),
                                                        *other = message_new();
        WalkCounts counts = { 0 };
        uint64_t total = 0;

        append_counts(m);
        append(m, "t", UINT64_C(9));
        g_assert_cmpint(worker_read_progress(finish(m), &counts, &total), ==, 0);
        assert_counts(&counts);
        g_assert_cmpint(total, ==, 9);

        append_counts(short_one);
        g_assert_cmpint(worker_read_progress(finish(short_one), &counts, &total), <, 0);
        append(other, "s", "text");
        g_assert_cmpint(worker_read_progress(finish(other), &counts, &total), <, 0);
}

/* What the worker says of a tree arrives as it was meant. */
static void test_tree(void) {
        const TreeResult said = {
                .counts = { .done = 5,
                            .changed = 4,
                            .differ = { [DIFFERS_LABEL] = 3, [DIFFERS_OWNER] = 7 },
                            .failed = 2,
                            .skipped = 1,
                            .modified = 6 },
                .issues = { { .path = (char *) "a\n", .text = (char *) "has no label" },
                            { .path = (char *) "b", .text = (char *) "has group 4294967294 and mode 2070" },
                            { .path = (char *) "c", .text = (char *) "has no label", .error = EIO } },
                .n_issues = 3,
        };
        const char *const texts[] = { "has no label", "has group 4294967294 and mode 2070", files_error_text(EIO) };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_(walk_result_done) WalkResult result = { 0 };

        append(m, "bs", 1, CONTEXT);
        g_assert_cmpint(marshal_tree(m, &said), ==, 0);
        g_assert_cmpint(worker_read_verified(finish(m), &result), ==, 0);
        assert_counts(&result.counts);
        g_assert_cmpint(result.n_issues, ==, said.n_issues);
        g_assert_cmpstr(result.issues[0].path, ==, "a\\x0a");
        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                g_assert_cmpstr(result.issues[i].text, ==, texts[i]);
}

static void test_label_text(void) {
        static const struct {
                const char *label, *text;
        } rows[] = {
                { "", "has no label" },
                { "x:y:z", "has the label 'x:y:z'" },
                { "x:y:z\x1b", "has the label 'x:y:z\\x1b'" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_free_ char *text = label_describe(rows[i].label);

                g_assert_cmpstr(text, ==, rows[i].text);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        open_bus();
        g_test_add_func("/worker-client/record", test_record);
        g_test_add_func("/worker-client/changed", test_changed);
        g_test_add_func("/worker-client/verified", test_verified);
        g_test_add_func("/worker-client/mapped", test_mapped);
        g_test_add_func("/worker-client/progress", test_progress);
        g_test_add_func("/worker-client/tree", test_tree);
        g_test_add_func("/worker-client/label-text", test_label_text);

        int r = g_test_run();
        sd_bus_close_unref(bus);
        return r;
}
