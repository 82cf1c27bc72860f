/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cases that make calls and compare answers are text. calls/SUITE, which meson.build lists, has the cases
 * /SUITE/CASE. In this example one call mounts a volume while another call waits:
 *
 *   [second]
 *   first: MountVolume v /dev/held-mount $T1 SELinuxLevel=s0:c1
 *   until file at=mount
 *   second: MountVolume v /dev/held-mount $T2 SELinuxLevel=s0:c1
 *   job 2 waiting
 *   go first second -> Reason=driver-unsupported
 *   UnmountVolume v $T1 -> Unmounted=true
 *   holders v 1
 *
 * A line is blank, a comment ('#'), or
 *
 *   NAME := TEXT             $NAME stands for the text in all later lines; calls/words has names for all
 *                            suites. The text may end within a word, which goes on behind $NAME:
 *                            "$walked=unknown"
 *   [CASE] FLAG...           begins a case with a selvold, a worker and a bus of its own; case_new() has the
 *                            flags
 *   | id | COLUMN | ... |    before the first step: the case runs for each row, as CASE/ID, and $COLUMN
 *                            stands for the cell; the first line names the columns. A step that is an empty
 *                            cell does nothing
 *
 * or a step of the case:
 *
 *   METHOD ARGUMENT... OPTION=VALUE... -> EXPECTATION...   a call of the manager that succeeds
 *   METHOD ARGUMENT... OPTION=VALUE... !! ERROR TEXT...    a call that fails, with a message that holds the
 *                                                          texts
 *   OBJECT METHOD ...           a call of an object below /org/selvol1, such as /volume/v, or of /org/...
 *   OBJECT EXPECTATION...       the object has these properties
 *   LABEL: CALL                 begins a call; "end LABEL... -> ..." waits for the answer of each, and
 *                               compares it
 *   LABEL: other CALL           begins a call of another caller, who stays until "leave LABEL"
 *   until STEP                  repeats the step until it holds
 *
 * or a command in the table of call-commands.c. Blanks separate words; a text in double quotes, in braces, or
 * in the angle brackets of OPTION=<GVariant text> is part of one word. The calls of jobs are numbered from 1,
 * whether selvold ever shows them or not, and with the second start of selvold from 10001.
 *
 * An expectation is about an argument of the reply, or a key of its dictionary: KEY=VALUE, KEY~TEXT (the
 * value holds the text), KEY*TEXT (it ends with the text), KEY!=VALUE, KEY!~TEXT, KEY>NUMBER, KEY<NUMBER,
 * KEY#NUMBER (of elements), KEY@LABEL (the value is the same wherever the label is), or -KEY (the key is not
 * there, but is documented for some call). NUMBER, or the TEXT behind ~, may be a label. "keys" is the number
 * of keys. For an array of dictionaries KEY is one of the last.
 *
 * $DIRECTORY has the files of the test, $NOW is the time in microseconds, $A_SECOND_AGO a second earlier, and
 * $UID the user. */

#include "calls.h"

typedef struct Step {
        unsigned line;
        char *text;
} Step;

struct Case {
        char *name;
        gboolean together, freezable, stranger;
        guint times;
        GPtrArray *columns, *rows; /* of char **; a case without rows is carried out once */
        GPtrArray *steps;
};

typedef struct Instance {
        const Case *of;
        char **row; /* NULL: the case has no rows */
} Instance;

const char *file;
static Run *kept;            /* the service of the rows before */
static GPtrArray *instances; /* GLib forgets its tests when it has run them, so these would be leaks */

/* --- cases --- */

static const char *const builtins[] = { "A_SECOND_AGO", "DIRECTORY", "NOW", "UID", NULL };

static const char *get_builtin(const char *name) {
        gint64 usec = g_get_real_time() - (g_str_equal(name, "A_SECOND_AGO") ? G_USEC_PER_SEC : 0);
        g_autofree char *value = g_str_equal(name, "UID") ? g_strdup_printf("%u", getuid())
                                                          : g_strdup_printf("%" G_GINT64_FORMAT, usec);

        if (!g_strv_contains(builtins, name)) /* another case has this column */
                return NULL;
        return g_str_equal(name, "DIRECTORY") ? kept->service.directory : g_intern_string(value);
}

static const char *get_cell(const char *name, gconstpointer data) {
        const Instance *instance = data;

        for (guint i = 0; instance->row && i < instance->of->columns->len; i++)
                if (g_str_equal(instance->of->columns->pdata[i], name))
                        return instance->row[i];
        return get_builtin(name);
}

static Complaint carry_out(Run *r, char **words);

static Complaint carry_out_until(Run *r, char **words) {
        Complaint c = NULL;

        (void) HOLDS_WITHIN(WAIT_SEC, !(g_free(c), c = carry_out(r, words)));
        return c;
}

static Fixture *get_other(Run *r) {
        if (!r->other.client)
                r->other = other_caller(&r->service);
        return &r->other;
}

static Complaint carry_out_call(Run *r, const char *label, char **words) {
        Fixture *caller = words[0] && g_str_equal(words[0], "other") ? get_other(r) : &r->service;
        char **word = caller == &r->service ? words : words + 1, **expected;
        const char *object = word[0][0] == '/' ? *word++ : "/", *interface;
        const GDBusMethodInfo *method = word[0] ? find_method(object, word[0], &interface) : NULL;
        Call *call;

        if (!method)
                return label ? g_strdup("it is no call") : check_properties(r, object, word);
        call = start_call(caller, object, interface, method, word + 1, &expected);
        if (!label)
                return end_call(r, call, expected);
        if (*expected || g_hash_table_contains(r->pending, label))
                return g_strdup("what is expected belongs to its end, and a label to one call");
        g_hash_table_insert(r->pending, g_strdup(label), call);
        return NULL;
}

static Complaint carry_out(Run *r, char **words) {
        const guint n = words[0] ? g_strv_length(words + 1) : 0;
        const Command *command;
        const char *interface;

        /* The step was an empty cell. */
        if (!words[0])
                return NULL;
        if (g_str_equal(words[0], "until"))
                return carry_out_until(r, words + 1);
        if (g_str_has_suffix(words[0], ":")) {
                g_autofree char *label = g_strndup(words[0], strlen(words[0]) - 1);

                return carry_out_call(r, label, words + 1);
        }
        command = find_command(words[0]);
        if (command)
                return n < command->min_words || n > command->max_words ? g_strdup_printf("it has %u words", n)
                                                                        : command->carry_out(r, words + 1);
        if (words[0][0] != '/' && !find_method("/", words[0], &interface))
                return g_strdup("there is no such step");
        return carry_out_call(r, NULL, words);
}

static Run *run_new(const Case *c) {
        Run *r = g_new0(Run, 1);

        r->of = c;
        r->pending = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        r->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        r->service.logged = TRUE;
        r->service.freezable = c->freezable;
        fixture_start(&r->service, c->stranger ? CALLER_OTHER : CALLER_ROOT, c->stranger);
        r->subscription = g_dbus_connection_signal_subscribe(r->service.client, "org.selvol1", NULL, NULL, NULL, NULL,
                                                             G_DBUS_SIGNAL_FLAGS_NONE, on_signal, r, NULL);
        return r;
}

static void run_free(Run *r) {
        if (!r)
                return;
        /* Nobody has looked at the answer of a call that no step ends. */
        g_assert_cmpuint(g_hash_table_size(r->pending), ==, 0);
        g_assert_null(r->other.client);
        g_hash_table_unref(r->pending);
        g_hash_table_unref(r->seen);
        g_dbus_connection_signal_unsubscribe(r->service.client, r->subscription);
        g_queue_clear_full(&r->signals, (GDestroyNotify) g_hash_table_unref);
        fixture_stop(&r->service);
        g_free(r);
}

static void test_case(gconstpointer data) {
        const Instance *instance = data;
        const Case *c = instance->of;
        Run *r = kept;

        if (!kept || kept->of != c) {
                run_free(kept);
                r = kept = run_new(c);
        }
        for (guint i = 0; i < c->steps->len * c->times; i++) {
                const Step *step = c->steps->pdata[i % c->steps->len];
                g_autofree char *text = expand(step->text, get_cell, instance);
                g_auto(GStrv) words = split(text);
                g_autofree Complaint complaint = carry_out(r, words);

                if (complaint) {
                        g_autofree char *log = file_path(&r->service, "log");

                        print_log(log);
                        g_error("%s:%u: %s: %s", file, step->line, text, complaint);
                }
        }
        if (!c->together)
                g_clear_pointer(&kept, run_free);
}

/* --- reading --- */

typedef struct Reader {
        GHashTable *words; /* texts by their names */
        Case *of;          /* the case to which lines belong; NULL: none yet */
} Reader;

/* The names of columns and builtins stay: they get their values when the case is carried out. */
static const char *get_word(const char *name, gconstpointer data) {
        const Reader *reader = data;
        const GPtrArray *columns = reader->of ? reader->of->columns : NULL;
        g_autofree char *itself = g_strconcat("$", name, NULL);

        for (guint i = 0; columns && i < columns->len; i++)
                if (g_str_equal(columns->pdata[i], name))
                        return g_intern_string(itself);
        if (g_strv_contains(builtins, name))
                return g_intern_string(itself);
        return g_hash_table_lookup(reader->words, name);
}

static Case *case_new(const char *line) {
        const char *end = strchr(line, ']');
        Case *c = g_new0(Case, 1);
        g_auto(GStrv) flags = NULL;

        g_assert_nonnull(end);
        *c = (Case){ .name = g_strndup(line + 1, (gsize) (end - line - 1)), .times = 1 };
        flags = split(end + 1);
        for (char **flag = flags; *flag; flag++) {
                if (g_str_equal(*flag, "together")) /* its rows share a service */
                        c->together = TRUE;
                else if (g_str_equal(*flag, "freezable")) /* the command "disk" needs this */
                        c->freezable = TRUE;
                else if (g_str_equal(*flag, "stranger")) /* selvold asks polkit about the caller */
                        c->stranger = TRUE;
                else if (g_str_has_prefix(*flag, "times=")) /* the steps run so often */
                        c->times = (guint) to_number(*flag + strlen("times="));
                else
                        g_error("%s: there is no %s", file, *flag);
        }
        c->rows = g_ptr_array_new();
        c->steps = g_ptr_array_new();
        return c;
}

/* Blanks at both ends of a cell do not count. */
static void case_add_row(Case *c, const char *line) {
        g_auto(GStrv) cells = g_strsplit(line, "|", -1);
        GPtrArray *row = g_ptr_array_new();

        g_assert_cmpuint(c->steps->len, ==, 0);
        for (char **cell = cells + 1; cell[0] && cell[1]; cell++)
                g_ptr_array_add(row, g_strdup(g_strstrip(*cell)));
        if (!c->columns) {
                c->columns = row;
                return;
        }
        g_assert_cmpuint(row->len, ==, c->columns->len);
        g_ptr_array_add(c->rows, g_ptr_array_free(row, FALSE));
}

static void case_add_step(Case *c, unsigned line, const char *text) {
        Step *step = g_new0(Step, 1);

        *step = (Step){ line, g_strdup(text) };
        g_ptr_array_add(c->steps, step);
}

static void add_test(const char *suite, const Case *c, char **row) {
        Instance *instance = g_new0(Instance, 1);
        g_autofree char *path = g_strdup_printf("/%s/%s%s%s", suite, c->name, row ? "/" : "", row ? row[0] : "");

        *instance = (Instance){ c, row };
        g_ptr_array_add(instances, instance);
        g_test_add_data_func(path, instance, test_case);
}

static void add_case(const char *suite, const Case *c) {
        if (!c)
                return;
        g_assert_cmpuint(c->steps->len * c->times, >, 0);
        if (c->columns && c->rows->len == 0)
                g_error("%s: %s has no rows", file, c->name);
        for (guint i = 0; i < c->rows->len; i++)
                add_test(suite, c, c->rows->pdata[i]);
        if (!c->columns)
                add_test(suite, c, NULL);
}

static void read_line(Reader *reader, const char *suite, unsigned number, const char *line) {
        const char *define = line + strspn(line, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_");

        if (line[0] == '[') {
                add_case(suite, reader->of);
                reader->of = case_new(line);
        } else if (g_str_has_prefix(define, " := ")) {
                g_hash_table_insert(reader->words, g_strndup(line, (gsize) (define - line)),
                                    expand(define + 4, get_word, reader));
        } else {
                g_autofree char *text = expand(line, get_word, reader);

                if (line[0] == '|')
                        case_add_row(reader->of, text);
                else
                        case_add_step(reader->of, number, text);
        }
}

static void read_lines(Reader *reader, const char *suite, const char *path) {
        g_auto(GStrv) lines = NULL;
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (unsigned i = 0; lines[i]; i++) {
                g_strstrip(lines[i]);
                if (lines[i][0] != '\0' && lines[i][0] != '#')
                        read_line(reader, suite, i + 1, lines[i]);
        }
}

static void read_cases(void) {
        g_autoptr(GHashTable) words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_autofree char *suite = g_path_get_basename(file), *folder = g_path_get_dirname(file),
                        *common = g_build_filename(folder, "words", NULL);
        Reader reader = { .words = words };

        read_lines(&reader, suite, common);
        read_lines(&reader, suite, file);
        add_case(suite, reader.of);
}

int main(int argc, char *argv[]) {
        int r;

        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(argc, ==, 2);
        file = argv[1];
        instances = g_ptr_array_new();
        read_cases();
        r = g_test_run();
        run_free(kept);
        return r;
}
