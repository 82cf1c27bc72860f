/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cases that make calls and compare answers are text: calls/SUITE has those that are named /SUITE/CASE. A line of it is blank, a
 * comment ('#'), or
 *
 *   NAME := TEXT                      $NAME stands for the text from here on
 *   [CASE]                            begins a case, which has selvold, a worker and a bus of its own
 *   [CASE] together                   the same, but its rows have them in common
 *   | id | COLUMN | ... |             before the first step: the case is carried out for each row, as CASE/ID, where $COLUMN
 *                                     stands for the cell; the first line names the columns
 *
 * or a step of the case:
 *
 *   METHOD ARGUMENT... OPTION=VALUE... -> EXPECTATION...   a call of the manager's that succeeds
 *   METHOD ARGUMENT... OPTION=VALUE... !! ERROR TEXT...    one that fails, with a message that holds the texts
 *   OBJECT METHOD ...                                      likewise of an object below /org/selvol1, as /volume/v
 *   OBJECT EXPECTATION...                                  the object has these properties
 *   LABEL: CALL                                            begins a call; "end LABEL -> ..." waits for what it is answered with
 *   until STEP                                             waits until the step holds
 *
 * or one of the commands in the table below. Words have blanks between them, and those in double quotes, or in the angle brackets
 * of OPTION=<GVariant text>, are of one word. An expectation is about an argument of the reply or a key of its dictionary:
 * KEY=VALUE, KEY~TEXT that it holds, KEY*TEXT that it ends with, KEY!=VALUE, KEY!~TEXT, KEY>NUMBER, KEY<NUMBER, KEY#NUMBER of elements,
 * KEY@LABEL, which is what it was where the case had the label before, or -KEY, which is not there. "keys" is the number of keys. */

#include <signal.h>

#include <glib/gstdio.h>

#include "support.h"
#include "support/files.h"

enum { CELLS_MAX = 16 };

/* What a step found wrong, as text that is to be freed; NULL: nothing. */
typedef char *Complaint;

typedef struct Step {
        unsigned line;
        char *text;
} Step;

typedef struct Case {
        char *name;
        gboolean together;
        GPtrArray *columns, *rows; /* of char **; no rows: it is carried out once */
        GPtrArray *steps;
} Case;

typedef struct Instance {
        const Case *of;
        char **row; /* NULL: none */
} Instance;

/* With what is common to the rows of a case. */
typedef struct Run {
        Fixture service;
        const Case *of;
        GHashTable *pending; /* calls by their labels */
        GHashTable *seen;    /* values by theirs */
} Run;

static const char *file;     /* that is read */
static Run *kept;            /* of the rows before */
static GPtrArray *instances; /* all of them: GLib forgets its tests when it has run them, which would be leaks */

/* --- words --- */

/* The value of $NAME, or NULL. */
typedef const char *(*Lookup)(const char *name, gconstpointer data);

static char *expand(const char *text, Lookup lookup, gconstpointer data) {
        GString *s = g_string_new(NULL);

        for (const char *p = text; *p;) {
                g_autofree char *name = NULL;
                const char *value, *end = p + 1;

                if (*p != '$') {
                        g_string_append_c(s, *p++);
                        continue;
                }
                while (g_ascii_isalnum(*end) || *end == '_')
                        end++;
                name = g_strndup(p + 1, (gsize) (end - p - 1));
                value = lookup(name, data);
                if (!value)
                        g_error("%s: there is no $%s", file, name);
                g_string_append(s, value);
                p = end;
        }
        return g_string_free(s, FALSE);
}

static const char *get_cell(const char *name, gconstpointer data) {
        const Instance *instance = data;

        for (guint i = 0; instance->row && i < instance->of->columns->len; i++)
                if (g_str_equal(instance->of->columns->pdata[i], name))
                        return instance->row[i];
        return NULL;
}

/* Up to the bracket that closes the one at p. */
static const char *skip_brackets(const char *p) {
        int depth = 0;

        do {
                depth += (*p == '<') - (*p == '>');
                p++;
        } while (*p && depth > 0);
        return p;
}

static char **split(const char *text) {
        g_autoptr(GPtrArray) words = g_ptr_array_new();
        const char *p = text;

        while (*(p += strspn(p, " "))) {
                GString *word = g_string_new(NULL);

                while (*p && *p != ' ') {
                        if (*p == '"') {
                                for (p++; *p && *p != '"'; p++)
                                        g_string_append_c(word, *p == '\\' && p[1] == '"' ? *++p : *p);
                                p += *p == '"';
                        } else if (*p == '<' && word->len > 0 && word->str[word->len - 1] == '=') {
                                const char *end = skip_brackets(p);

                                g_string_append_len(word, p, end - p);
                                p = end;
                        } else if (*p == '{') {
                                gsize n = strcspn(p, "}");

                                g_string_append_len(word, p, (gssize) n);
                                p += n;
                        } else
                                g_string_append_c(word, *p++);
                }
                g_ptr_array_add(words, g_string_free(word, FALSE));
        }
        g_ptr_array_add(words, NULL);
        return (char **) g_ptr_array_steal(words, NULL);
}

/* --- expectations --- */

static char *to_text(GVariant *value) {
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_STRING) ||
            g_variant_is_of_type(value, G_VARIANT_TYPE_OBJECT_PATH))
                return g_variant_dup_string(value, NULL);
        return g_variant_print(value, FALSE);
}

static GHashTable *answer_new(void) {
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_variant_unref);
}

static void answer_add(GHashTable *answer, const char *name, GVariant *value) {
        GVariantIter iterator;
        const char *key;
        GVariant *of_key;

        if (!g_variant_is_of_type(value, G_VARIANT_TYPE_VARDICT)) {
                g_hash_table_insert(answer, g_strdup(name), g_variant_ref(value));
                return;
        }
        g_hash_table_insert(answer, g_strdup("keys"),
                            g_variant_ref_sink(g_variant_new_uint64(g_variant_n_children(value))));
        g_variant_iter_init(&iterator, value);
        while (g_variant_iter_loop(&iterator, "{&sv}", &key, &of_key))
                g_hash_table_insert(answer, g_strdup(key), g_variant_ref(of_key));
}

/* Also remembers it, for '@'. */
static gboolean holds(Run *r, const char *actual, const char *operator, const char * wanted) {
        const char *before = g_hash_table_lookup(r->seen, wanted);
        guint64 number = g_ascii_strtoull(actual, NULL, 10), limit = g_ascii_strtoull(wanted, NULL, 10);
        gboolean same = !before || g_str_equal(before, actual);

        switch (operator[0]) {
        case '=':
                return g_str_equal(actual, wanted);
        case '~':
                return strstr(actual, wanted) != NULL;
        case '!':
                return !holds(r, actual, operator+ 1, wanted);
        case '*':
                return g_str_has_suffix(actual, wanted);
        case '>':
                return number > limit;
        case '<':
                return number < limit;
        case '@':
                g_hash_table_insert(r->seen, g_strdup(wanted), g_strdup(actual));
                return same;
        default:
                g_assert_not_reached();
        }
}

static Complaint compare(Run *r, GHashTable *answer, const char *expectation) {
        const char *operator= strpbrk(expectation, "=~!*><@#"), *wanted;
        gboolean absent = expectation[0] == '-';
        g_autofree char *key = NULL, *text = NULL;
        GVariant *value;

        if (!absent && !operator)
                return g_strdup_printf("'%s' is no expectation", expectation);
        key = absent ? g_strdup(expectation + 1) : g_strndup(expectation, (gsize) (operator- expectation));
        value = g_hash_table_lookup(answer, key);
        if (!value)
                return absent ? NULL : g_strdup_printf("%s is not there", key);
        wanted = absent ? "" : operator+(operator[0] == '!' ? 2 : 1);
        text = !absent && operator[0] == '#' ? g_strdup_printf("%zu", g_variant_n_children(value)) : to_text(value);
        if (!absent && holds(r, text, operator[0] == '#' ? "=" : operator, wanted))
                return NULL;
        return g_strdup_printf("%s, but %s is '%s'", expectation, key, text);
}

static Complaint compare_all(Run *r, GHashTable *answer, char **expectations) {
        Complaint c = NULL;

        for (; !c && *expectations; expectations++)
                c = compare(r, answer, *expectations);
        return c;
}

/* --- calls --- */

static const char *interface_of(const char *object) {
        return g_str_has_prefix(object, "/volume/") ? "org.selvol1.Volume"
               : g_str_has_prefix(object, "/job/")  ? "org.selvol1.Job"
                                                    : "org.selvol1.Manager";
}

static const GDBusMethodInfo *find_method(const char *object, const char *method) {
        static GHashTable *interfaces;
        const char *interface = interface_of(object);
        GDBusNodeInfo *node;

        if (!interfaces)
                interfaces = g_hash_table_new(g_str_hash, g_str_equal);
        node = g_hash_table_lookup(interfaces, interface);
        if (!node) {
                g_autofree char *name = g_strdup_printf("dbus/%s.xml", interface), *path = source_path(name),
                                *xml = file_read(path);

                node = g_dbus_node_info_new_for_xml(xml, NULL);
                g_assert_nonnull(node);
                g_hash_table_insert(interfaces, (char *) interface, node);
        }
        return g_dbus_interface_info_lookup_method(node->interfaces[0], method);
}

static GVariant *parse_argument(const char *type, const char *text) {
        if (g_str_equal(type, "s"))
                return g_variant_new_string(text);
        return g_variant_parse(G_VARIANT_TYPE(type), text, NULL, NULL, NULL);
}

/* OPTION=VALUE of a string, OPTION=<VALUE> of anything. */
static GVariant *parse_options(char **words) {
        GVariantBuilder options = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_VARDICT);

        for (; *words; words++) {
                const char *value = strchr(*words, '=');
                g_autofree char *key = g_strndup(*words, value ? (gsize) (value - *words) : 0);
                g_autoptr(GError) error = NULL;
                GVariant *v;

                if (!value)
                        g_error("%s: '%s' is no option", file, *words);
                v = value[1] == '<' ? g_variant_parse(G_VARIANT_TYPE_VARIANT, value + 1, NULL, NULL, &error)
                                    : g_variant_new_variant(g_variant_new_string(value + 1));
                g_assert_no_error(error);
                g_variant_builder_add(&options, "{s@v}", key, v);
        }
        return g_variant_builder_end(&options);
}

typedef struct Call {
        const GDBusMethodInfo *method;
        GAsyncResult *pending;
} Call;

/* The words are those of the arguments, up to what is expected of the answer, which *ret_expected gets. */
static Call *start_call(Fixture *f, const char *object, const GDBusMethodInfo *method, char **words,
                        char ***ret_expected) {
        GVariantBuilder arguments = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_TUPLE);
        g_autofree char *path = g_strconcat("/org/selvol1", g_str_equal(object, "/") ? "" : object, NULL);
        g_autoptr(GPtrArray) own = g_ptr_array_new();
        Call *call = g_new0(Call, 1);
        char **p;

        for (; *words && !g_str_equal(*words, "->") && !g_str_equal(*words, "!!"); words++)
                g_ptr_array_add(own, *words);
        g_ptr_array_add(own, NULL);
        *ret_expected = words;
        p = (char **) own->pdata;
        for (GDBusArgInfo **a = method->in_args; a && *a; a++) {
                if (g_str_equal((*a)->signature, "a{sv}")) {
                        g_variant_builder_add_value(&arguments, parse_options(p));
                        continue;
                }
                if (!*p)
                        g_error("%s: %s has no %s", file, method->name, (*a)->name);
                g_variant_builder_add_value(&arguments, parse_argument((*a)->signature, *p++));
        }
        call->method = method;
        call->pending = call_start_at(f, path, interface_of(object), method->name, g_variant_builder_end(&arguments));
        return call;
}

static Complaint compare_error(const GError *error, char **expected) {
        g_autofree char *name = g_dbus_error_get_remote_error(error),
                        *full = g_strconcat(strchr(expected[0], '.') ? "" : "org.selvol1.Error.", expected[0], NULL);
        gboolean ok = g_strcmp0(name, full) == 0;

        for (char **text = expected + 1; *text; text++)
                ok = ok && strstr(error->message, *text);
        return ok ? NULL : g_strdup_printf("%s: %s", name, error->message);
}

/* Keys that say nothing are left out of what is answered of mounts. */
static Complaint find_idle_key(const char *method, GHashTable *answer) {
        static const char *const methods[] = { "MountVolume", "AdoptVolume", "PlanVolume", NULL },
                                 *const nothing[] = { "", "[]", "false", "4294967295", NULL };
        GHashTableIter iterator;
        gpointer key, value;

        g_hash_table_iter_init(&iterator, answer);
        while (g_strv_contains(methods, method) && g_hash_table_iter_next(&iterator, &key, &value)) {
                g_autofree char *text = to_text(value);

                if (g_ascii_isupper(*(const char *) key) && g_strv_contains(nothing, text))
                        return g_strdup_printf("%s is '%s'", (const char *) key, text);
        }
        return NULL;
}

/* expected: "->" or "!!" and what follows; nothing stands for "->". */
static Complaint end_call(Run *r, Call *call, char **expected) {
        g_autoptr(GHashTable) answer = answer_new();
        g_autofree Call *owned = call;
        g_autoptr(GVariant) reply = NULL;
        g_autoptr(GError) error = NULL;
        Complaint complaint;

        reply = call_end(&r->service, call->pending, &error);
        if (*expected && g_str_equal(*expected, "!!"))
                return error ? compare_error(error, expected + 1) : g_strdup("it succeeded");
        if (error)
                return g_strdup(error->message);
        for (guint i = 0; call->method->out_args && call->method->out_args[i]; i++) {
                g_autoptr(GVariant) value = g_variant_get_child_value(reply, i);

                answer_add(answer, call->method->out_args[i]->name, value);
        }
        complaint = find_idle_key(call->method->name, answer);
        if (complaint)
                return complaint;
        return *expected ? compare_all(r, answer, expected + 1) : NULL;
}

static Complaint check_properties(Run *r, const char *object, char **expectations) {
        g_autofree char *path = g_strconcat("/org/selvol1", g_str_equal(object, "/") ? "" : object, NULL);
        g_autoptr(GHashTable) answer = answer_new();
        g_autoptr(GVariant) reply = NULL, all = NULL;
        g_autoptr(GError) error = NULL;

        reply = call_end(&r->service,
                         call_start_at(&r->service, path, "org.freedesktop.DBus.Properties", "GetAll",
                                       g_variant_new("(s)", interface_of(object))),
                         &error);
        if (!reply)
                return g_strdup(error->message);
        all = g_variant_get_child_value(reply, 0);
        answer_add(answer, "", all);
        return compare_all(r, answer, expectations);
}

/* --- commands --- */

static Complaint expect(gboolean ok, const char *format, ...) G_GNUC_PRINTF(2, 3);
static Complaint expect(gboolean ok, const char *format, ...) {
        Complaint c = NULL;
        va_list ap;

        va_start(ap, format);
        if (!ok)
                c = g_strdup_vprintf(format, ap);
        va_end(ap);
        return c;
}

static Complaint expect_number(guint64 actual, const char *wanted) {
        return expect(actual == g_ascii_strtoull(wanted, NULL, 10), "there are %" G_GUINT64_FORMAT, actual);
}

static Complaint command_mounts(Run *r, char **w) {
        return expect_number(count_mounts(&r->service), w[0]);
}

static Complaint command_mounted(Run *r, char **w) {
        return expect(is_mounted(&r->service, w[0]), "nothing is");
}

static Complaint command_unmounted(Run *r, char **w) {
        return expect(!is_mounted(&r->service, w[0]), "something is mounted there");
}

static Complaint command_holders(Run *r, char **w) {
        return expect_number(count_holders(&r->service, w[0]), w[1]);
}

static Complaint command_holder(Run *r, char **w) {
        g_autoptr(GVariant) holders = get_holders(&r->service, w[0]);

        for (gsize i = 0; i < g_variant_n_children(holders); i++) {
                g_autoptr(GVariant) holder = g_variant_get_child_value(holders, i);
                g_autoptr(GHashTable) answer = answer_new();
                g_autofree Complaint another = NULL;

                answer_add(answer, "", holder);
                another = compare(r, answer, w[1]);
                if (!another)
                        return compare_all(r, answer, w + 2);
        }
        return g_strdup("there is no such holder");
}

static Complaint command_children(Run *r, char **w) {
        return expect_number(worker_count_children(&r->service), w[0]);
}

static Complaint command_idle(Run *r, char **w) {
        worker_wait_idle(&r->service, (guint) g_ascii_strtoull(w[0], NULL, 10));
        return NULL;
}

static Complaint command_metric(Run *r, char **w) {
        g_autofree char *text = get_metrics(&r->service), *line = g_strdup_printf("%s %s\n", w[0], w[1]);

        if (w[1][0] == '>')
                return expect(read_metric(&r->service, w[0]) > g_ascii_strtod(w[1] + 1, NULL), "it is not");
        return expect(strstr(text, line) != NULL, "there is no such line in\n%s", text);
}

static Complaint command_metrics_zero(Run *r, char **w) {
        assert_metrics_zero(&r->service, w[0]);
        return NULL;
}

static Complaint command_write(Run *r, char **w) {
        g_autofree char *text = g_strcompress(w[1]);

        write_file(&r->service, w[0], text);
        return NULL;
}

static Complaint command_append(Run *r, char **w) {
        g_autofree char *before = read_file(&r->service, w[0]), *text = g_strcompress(w[1]),
                        *all = g_strconcat(before, text, NULL);

        write_file(&r->service, w[0], all);
        return NULL;
}

static Complaint command_remove(Run *r, char **w) {
        g_autofree char *path = file_path(&r->service, w[0]);

        return expect(g_unlink(path) == 0, "it can't be removed");
}

static Complaint command_file(Run *r, char **w) {
        gsize length = strcspn(w[0], "=~!@");
        g_autofree char *name = g_strndup(w[0], length), *actual = read_file(&r->service, name),
                        *expectation = g_strcompress(w[0]);
        g_autoptr(GHashTable) answer = answer_new();

        g_hash_table_insert(answer, g_strdup(name), g_variant_ref_sink(g_variant_new_string(actual)));
        return compare(r, answer, expectation);
}

static Complaint command_file_lines(Run *r, char **w) {
        g_autofree char *actual = read_file(&r->service, w[0]);
        g_auto(GStrv) lines = g_strsplit(actual, "\n", -1);

        return expect_number(actual[0] ? g_strv_length(lines) - 1 : 0, w[1]);
}

static Complaint command_config(Run *r, char **w) {
        g_autofree char *text = g_strcompress(w[0]);

        daemon_stop(&r->service, SIGTERM);
        write_file(&r->service, "etc/selvol.conf.d/50-case.conf", text);
        daemon_start(&r->service, CALLER_ROOT);
        return NULL;
}

static Complaint command_stop(Run *r, char **w) {
        daemon_stop(&r->service, SIGTERM);
        return NULL;
}

static Complaint command_kill(Run *r, char **w) {
        daemon_stop(&r->service, SIGKILL);
        return NULL;
}

static Complaint command_start(Run *r, char **w) {
        daemon_start(&r->service, CALLER_ROOT);
        return NULL;
}

static Complaint command_restart(Run *r, char **w) {
        daemon_stop(&r->service, SIGTERM);
        daemon_start(&r->service, CALLER_ROOT);
        return NULL;
}

static Complaint command_worker(Run *r, char **w) {
        (g_str_equal(w[0], "start") ? worker_start : worker_stop)(&r->service);
        return NULL;
}

static Complaint command_limit(Run *r, char **w) {
        daemon_limit(&r->service, g_str_equal(w[0], "yes"));
        return NULL;
}

static Complaint command_job(Run *r, char **w) {
        wait_for_job(&r->service, (guint) g_ascii_strtoull(w[0], NULL, 10), w[1]);
        return NULL;
}

static Complaint command_end(Run *r, char **w) {
        g_autofree char *label = NULL;
        Call *call;

        if (!g_hash_table_steal_extended(r->pending, w[0], (gpointer *) &label, (gpointer *) &call))
                return g_strdup("there is no such call");
        return end_call(r, call, w + 1);
}

static Complaint command_waits(Run *r, char **w) {
        const Call *call = g_hash_table_lookup(r->pending, w[0]);

        return expect(!call_has_ended(call->pending), "it has ended");
}

static Complaint command_pause(Run *r, char **w) {
        pause_usec((gint64) g_ascii_strtoull(w[0], NULL, 10) * 1000);
        return NULL;
}

static const struct {
        const char *name;
        Complaint (*carry_out)(Run *r, char **words);
        guint n_words; /* at least */
} commands[] = {
        { "mounts", command_mounts, 1 },       /* N: so many are mounted */
        { "mounted", command_mounted, 1 },     /* TARGET */
        { "unmounted", command_unmounted, 1 }, /* TARGET */
        { "holders", command_holders, 2 },     /* VOLUME N: it has so many; the volume is the element of a path */
        { "holder", command_holder, 2 },       /* VOLUME EXPECTATION...: the one of which the first holds */
        { "children", command_children, 1 },   /* N: of the worker */
        { "idle", command_idle, 1 },           /* MILLISECONDS for which the worker has no child */
        { "metric", command_metric, 2 },       /* SERIES VALUE */
        { "metrics-zero", command_metrics_zero, 1 }, /* BEGINNING of lines */
        { "write", command_write, 2 },               /* NAME TEXT: a file of the test, as fake-worker.c has them */
        { "append", command_append, 2 },             /* NAME TEXT */
        { "remove", command_remove, 1 },             /* NAME */
        { "file", command_file, 1 }, /* EXPECTATION: of the content of a file, of which the name is the key */
        { "file-lines", command_file_lines, 2 }, /* NAME N: it has so many */
        { "config", command_config, 1 },         /* TEXT: of a drop-in, with which selvold is started again */
        { "stop", command_stop, 0 },             /* selvold, by SIGTERM */
        { "kill", command_kill, 0 },             /* selvold, by SIGKILL */
        { "start", command_start, 0 },           /* selvold */
        { "restart", command_restart, 0 },       /* selvold, by SIGTERM */
        { "worker", command_worker, 1 },         /* start or stop */
        { "limit", command_limit, 1 },           /* yes: selvold can't write files; no */
        { "job", command_job, 2 },               /* N STATE: waits until it has that */
        { "end", command_end, 1 },               /* LABEL -> ... or LABEL !! ... */
        { "waits", command_waits, 1 },           /* LABEL: the call has not been answered */
        { "pause", command_pause, 1 },           /* MILLISECONDS */
};

/* --- cases --- */

static Complaint carry_out(Run *r, char **words);

static Complaint carry_out_until(Run *r, char **words) {
        Complaint c = NULL;

        (void) HOLDS_WITHIN(WAIT_SEC, !(g_free(c), c = carry_out(r, words)));
        return c;
}

static Complaint carry_out_call(Run *r, const char *label, char **words) {
        const char *object = words[0][0] == '/' ? *words++ : "/";
        const GDBusMethodInfo *method = words[0] ? find_method(object, words[0]) : NULL;
        char **expected;
        Call *call;

        if (!method)
                return check_properties(r, object, words);
        call = start_call(&r->service, object, method, words + 1, &expected);
        if (!label)
                return end_call(r, call, expected);
        g_hash_table_insert(r->pending, g_strdup(label), call);
        return NULL;
}

static Complaint carry_out(Run *r, char **words) {
        /* A cell may be empty. */
        if (!words[0])
                return NULL;
        if (g_str_equal(words[0], "until"))
                return carry_out_until(r, words + 1);
        if (g_str_has_suffix(words[0], ":")) {
                g_autofree char *label = g_strndup(words[0], strlen(words[0]) - 1);

                return carry_out_call(r, label, words + 1);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
                if (g_str_equal(words[0], commands[i].name))
                        return expect(g_strv_length(words) > commands[i].n_words, "it needs more words")
                                       ?: commands[i].carry_out(r, words + 1);
        if (words[0][0] != '/' && !find_method("/", words[0]))
                return g_strdup("there is no such step");
        return carry_out_call(r, NULL, words);
}

static Run *run_new(const Case *c) {
        Run *r = g_new0(Run, 1);

        r->of = c;
        r->pending = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        r->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        fixture_start(&r->service, CALLER_ROOT, FALSE);
        return r;
}

static void run_free(Run *r) {
        if (!r)
                return;
        /* A call without an end would be one that nobody looks at. */
        g_assert_cmpuint(g_hash_table_size(r->pending), ==, 0);
        g_hash_table_unref(r->pending);
        g_hash_table_unref(r->seen);
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
        for (guint i = 0; i < c->steps->len; i++) {
                const Step *step = c->steps->pdata[i];
                g_autofree char *text = expand(step->text, get_cell, instance);
                g_auto(GStrv) words = split(text);
                g_autofree Complaint complaint = carry_out(r, words);

                if (complaint)
                        g_error("%s:%u: %s: %s", file, step->line, text, complaint);
        }
        if (!c->together)
                g_clear_pointer(&kept, run_free);
}

/* --- reading --- */

typedef struct Reader {
        GHashTable *words; /* that are defined */
        Case *of;          /* the case that is read; NULL: none yet */
} Reader;

/* Columns get their values when the case is carried out. */
static const char *get_word(const char *name, gconstpointer data) {
        const Reader *reader = data;
        const GPtrArray *columns = reader->of ? reader->of->columns : NULL;

        for (guint i = 0; columns && i < columns->len; i++)
                if (g_str_equal(columns->pdata[i], name)) {
                        g_autofree char *itself = g_strconcat("$", name, NULL);

                        return g_intern_string(itself);
                }
        return g_hash_table_lookup(reader->words, name);
}

static Case *case_new(const char *line) {
        const char *end = strchr(line, ']');
        Case *c = g_new0(Case, 1);

        g_assert_nonnull(end);
        c->name = g_strndup(line + 1, (gsize) (end - line - 1));
        c->together = g_str_equal(end + 1, " together");
        g_assert_true(c->together || !end[1]);
        c->rows = g_ptr_array_new();
        c->steps = g_ptr_array_new();
        return c;
}

/* Cells are between '|', without the blanks at their ends. */
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
        g_assert_cmpuint(c->steps->len, >, 0);
        for (guint i = 0; i < c->rows->len; i++)
                add_test(suite, c, c->rows->pdata[i]);
        if (!c->columns)
                add_test(suite, c, NULL);
}

static void read_line(Reader *reader, const char *suite, unsigned number, const char *line) {
        const char *define = strstr(line, " := ");

        if (line[0] == '[') {
                add_case(suite, reader->of);
                reader->of = case_new(line);
        } else if (define) {
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

static void read_cases(const char *suite, const char *text) {
        g_autoptr(GHashTable) words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        Reader reader = { .words = words };

        for (unsigned i = 0; lines[i]; i++) {
                g_strstrip(lines[i]);
                if (lines[i][0] != '\0' && lines[i][0] != '#')
                        read_line(&reader, suite, i + 1, lines[i]);
        }
        add_case(suite, reader.of);
}

int main(int argc, char *argv[]) {
        g_autofree char *text = NULL, *suite = NULL;
        int r;

        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(argc, ==, 2);
        file = argv[1];
        suite = g_path_get_basename(file);
        instances = g_ptr_array_new();
        g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
        read_cases(suite, text);
        r = g_test_run();
        run_free(kept);
        return r;
}
