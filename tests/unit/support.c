/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/files.h"

#include "support.h"

char *copy(const char *s) {
        char *p = strdup(s);

        g_assert_nonnull(p);
        return p;
}

Node test_node(void) {
        return (Node){ .selinux = true, .enforcing = true, .mls = true, .file_context = copy(TEST_FILE_CONTEXT) };
}

/* place is the name of the file that gets the text, below a directory in the place of /etc/selvol. */
static int load_with(const char *usr_dir, const char *place, const char *text, Settings *ret, Failure *f) {
        g_autofree char *etc_dir = g_dir_make_tmp("selvol-unit-XXXXXX", NULL), *file = NULL;
        int r;

        g_assert_nonnull(etc_dir);
        file = g_build_filename(etc_dir, place, NULL);
        if (text)
                file_write(file, text);
        r = settings_load(usr_dir, etc_dir, ret, f);
        tree_remove(etc_dir);
        return r;
}

int test_settings_load(const char *dropin, Settings *ret, Failure *f) {
        g_autofree char *usr_dir = g_test_build_filename(G_TEST_DIST, "src", NULL), *text = g_strdup(dropin);

        return load_with(usr_dir, "selvol.conf.d/50-test.conf", text ? g_strdelimit(text, ";", '\n') : NULL, ret, f);
}

int test_settings_load_alone(const char *text, Settings *ret, Failure *f) {
        return load_with("/nonexistent", "selvol.conf", text, ret, f);
}

/* To read settings takes longer than most tests, so settings that were read once are kept. */
Settings test_settings(const char *dropin) {
        static GHashTable *known;
        const char *key = strempty(dropin);
        _cleanup_failure_ Failure f = { 0 };
        Settings *s;

        if (!known)
                known = g_hash_table_new(g_str_hash, g_str_equal);
        s = g_hash_table_lookup(known, key);
        if (!s) {
                s = g_new0(Settings, 1);
                assert_success(test_settings_load(dropin, s, &f), &f);
                g_hash_table_insert(known, g_strdup(key), s);
        }
        return *s;
}

const char *result_word(int r, const Failure *f) {
        g_assert_cmpint(r, >=, 0);
        if (r == 0)
                return "ok";
        g_assert_cmpint(r, ==, f->kind);
        return failure_kind_to_string(f->kind);
}

static void fail_at(const char *file, int line, const char *what, const char *message) {
        g_autofree char *text = g_strdup_printf("%s; the message is: %s", what, message ? message : "(none)");

        g_assertion_message(G_LOG_DOMAIN, file, line, "", text);
}

bool message_is_text(const char *message) {
        const char *second = message ? strchr(message, '\n') : NULL;

        return !isempty(message) && g_utf8_validate(message, -1, NULL) &&
               (!second || (second > message && second[1] != '\0' && !strchr(second + 1, '\n')));
}

void assert_failure_at(const char *file, int line, int r, const Failure *f, FailureKind expected,
                       const char *const *needles) {
        if (r != (int) expected || f->kind != expected) {
                g_autofree char *what =
                        g_strdup_printf("expected %s, got %i (%s)", failure_kind_to_string(expected), r,
                                        r == 0  ? "success"
                                        : r < 0 ? strerror(-r)
                                                : failure_kind_to_string((FailureKind) r));

                fail_at(file, line, what, f->message);
        }
        if (!message_is_text(f->message))
                fail_at(file, line, "the message is not one line of text, or two", f->message);
        for (; *needles; needles++)
                if (!strstr(f->message, *needles)) {
                        g_autofree char *what = g_strdup_printf("the message does not say '%s'", *needles);

                        fail_at(file, line, what, f->message);
                }
}

void assert_success_at(const char *file, int line, int r, const Failure *f) {
        if (r != 0 || f->kind != FAILURE_NONE || f->message)
                fail_at(file, line, "expected success", f->message);
}

void assert_as_noted(const Row *row, bool agrees) {
        /* For these reasons selvol decides otherwise than the source of a row. */
        static const char *const differences[] = { "canonical",   "level-required", "caller-type", "policy-observed",
                                                   "no-stealing", "default-policy", "mark",        "idmap",
                                                   "inline",      "fs-type" };
        const char *note = row_get(row, "note");

        if (agrees) {
                g_assert_null(note);
                return;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(differences); i++)
                if (note && g_str_has_prefix(note, differences[i]) && note[strlen(differences[i])] == ':')
                        return;
        g_error("the note '%s' names none of the known differences", note ? note : "");
}

bool is_yes(const char *cell) {
        int r = parse_boolean(cell);

        g_assert_cmpint(r, >=, 0);
        return r;
}

AccessMode mode_from_word(const char *word) {
        static const char *const words[ACCESS_MODES] = { "inline", "RWO", "RWOP", "ROX", "RWX" };

        for (size_t i = 0; i < ACCESS_MODES; i++)
                if (strcmp(words[i], word) == 0)
                        return (AccessMode) i;
        g_error("unknown access mode %s", word);
}

gid_t gid_from_word(const char *word) {
        guint64 gid;

        if (streq(word, "none"))
                return GID_NONE;
        g_assert_true(g_ascii_string_to_unsigned(word, 10, 0, GID_NONE - 1, &gid, NULL));
        return (gid_t) gid;
}

bool set_word(const Key *keys, size_t n, const char *word) {
        g_auto(GStrv) pair = g_strsplit(word, "=", 2);

        for (size_t i = 0; i < n; i++)
                if (streq(keys[i].name, pair[0])) {
                        keys[i].set(keys[i].member, pair[1] ? pair[1] : "yes");
                        return true;
                }
        return false;
}

void set_string(void *member, const char *value) {
        g_assert_cmpint(free_and_strdup(member, isempty(value) ? NULL : value), ==, 0);
}

void set_text(void *member, const char *value) {
        g_assert_cmpint(free_and_strdup(member, value), ==, 0);
}

void set_list(void *member, const char *value) {
        char ***list = member;

        *list = strv_free(*list);
        g_assert_cmpint(strv_split(value, ",", list), ==, 0);
}

void set_flag(void *member, const char *value) {
        *(bool *) member = is_yes(value);
}

void set_number(void *member, const char *value) {
        unsigned long long n;

        g_assert_cmpint(parse_u64(value, &n), ==, 0);
        *(uint64_t *) member = n;
}

void set_gid(void *member, const char *value) {
        *(gid_t *) member = gid_from_word(value);
}

static void add_to_list(void *member, const char *value) {
        g_assert_cmpint(strv_extend(member, value), ==, 0);
}

void set_mode(void *member, const char *value) {
        *(AccessMode *) member = mode_from_word(value);
}

static void set_tristate(void *member, const char *value) {
        *(int *) member = is_yes(value);
}

DEFINE_SET(policy, relabel_policy_parse)
DEFINE_SET(relabel_by, relabel_by_from_string)
DEFINE_SET(group_policy, fs_group_policy_from_string)

bool request_set_word(Request *q, const char *word) {
        const Key keys[] = {
                { "by", set_relabel_by, &q->relabel_by },
                { "context", set_string, &q->context },
                { "driver", set_string, &q->driver },
                { "force", set_flag, &q->walk.force },
                { "fs", set_string, &q->fs_type },
                { "group", set_gid, &q->fs_group },
                { "group-policy", set_group_policy, &q->fs_group_policy },
                { "holder", set_string, &q->holder },
                { "level", set_string, &q->level },
                { "mode", set_mode, &q->access_mode },
                { "option", add_to_list, &q->mount_options },
                { "options", set_list, &q->mount_options },
                { "policy", set_policy, &q->policy },
                { "readonly", set_flag, &q->read_only },
                { "ro", set_flag, &q->read_only },
                { "role", set_string, &q->role },
                { "settype", set_string, &q->type },
                { "source", set_string, &q->source },
                { "supported", set_tristate, &q->selinux_mount_supported },
                { "target", set_string, &q->target },
                { "type", set_string, &q->volume_type },
                { "user", set_string, &q->user },
                { "user-namespace", set_flag, &q->user_namespace },
                { "wait", set_number, &q->wait_usec },
                { "release-on-umount", set_flag, &q->release_on_umount },
        };

        return set_word(keys, G_N_ELEMENTS(keys), word);
}

void request_take_cells(Request *q, const Row *row, const char *columns) {
        g_auto(GStrv) names = g_strsplit(columns, " ", -1);

        for (char **name = names; *name; name++) {
                g_autofree char *word = g_strdup_printf("%s=%s", *name, strempty(row_get(row, *name)));

                if (row_get(row, *name))
                        g_assert_true(request_set_word(q, word));
        }
}
