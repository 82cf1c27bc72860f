/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Cases that make calls and compare answers are text: calls/SUITE has those that are named /SUITE/CASE. A line of it is
 * blank, a comment ('#'), or
 *
 *   NAME := TEXT             $NAME stands for the text from here on
 *   [CASE] FLAG...           begins a case, which has selvold, a worker and a bus of its own; case_new() has the flags
 *   | id | COLUMN | ... |    before the first step: the case is carried out for each row, as CASE/ID, where $COLUMN stands
 *                            for the cell; the first line names the columns
 *
 * or a step of the case:
 *
 *   METHOD ARGUMENT... OPTION=VALUE... -> EXPECTATION...   a call of the manager's that succeeds
 *   METHOD ARGUMENT... OPTION=VALUE... !! ERROR TEXT...    one that fails, with a message that holds the texts
 *   OBJECT METHOD ...           likewise of an object below /org/selvol1, as /volume/v, or of /org/...
 *   OBJECT EXPECTATION...       the object has these properties
 *   LABEL: CALL                 begins a call; "end LABEL -> ..." waits for the answer, and says what it is to be
 *   LABEL: other CALL           likewise, of another caller, until "leave LABEL"
 *   until STEP                  waits until the step holds
 *
 * or one of the commands in the table below. Words have blanks between them, and those in double quotes, or in the angle
 * brackets of OPTION=<GVariant text>, are of one word.
 *
 * An expectation is about an argument of the reply or a key of its dictionary: KEY=VALUE, KEY~TEXT that it holds, KEY*TEXT
 * that it ends with, KEY!=VALUE, KEY!~TEXT, KEY>NUMBER, KEY<NUMBER, KEY#NUMBER of elements, KEY@LABEL, which is what it was
 * where the case had the label first, or -KEY, which is documented and not there. NUMBER may be such a label. "keys"
 * is the number of keys. Of dictionaries in an array the keys are those of the last one.
 *
 * $DIRECTORY is that of the test's files, $NOW the time in microseconds, $A_SECOND_AGO what it was then, and $UID the
 * user. */

#include <signal.h>
#include <stdio.h>

#include <glib/gstdio.h>

#include "support.h"
#include "support/files.h"

/* What a step found wrong, as text that is to be freed; NULL: nothing. */
typedef char *Complaint;

typedef struct Step {
        unsigned line;
        char *text;
} Step;

typedef struct Case {
        char *name;
        gboolean together, freezable, stranger;
        guint times;
        GPtrArray *columns, *rows; /* of char **; no rows: it is carried out once */
        GPtrArray *steps;
} Case;

typedef struct Instance {
        const Case *of;
        char **row; /* NULL: none */
} Instance;

/* With what is common to the rows of a case. */
typedef struct Run {
        Fixture service, other; /* the latter: a second caller, if its client is not NULL */
        const Case *of;
        GHashTable *pending; /* calls by their labels */
        GHashTable *seen;    /* values by theirs */
        GQueue signals;      /* that nobody has looked at, as answers with a key for the object and the name */
        guint subscription;
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

static const char *get_builtin(const char *name) {
        gint64 usec = g_get_real_time() - (g_str_equal(name, "A_SECOND_AGO") ? G_USEC_PER_SEC : 0);
        g_autofree char *value = g_str_equal(name, "UID") ? g_strdup_printf("%u", getuid())
                                                          : g_strdup_printf("%" G_GINT64_FORMAT, usec);

        return g_str_equal(name, "DIRECTORY") ? kept->service.directory : g_intern_string(value);
}

static const char *get_cell(const char *name, gconstpointer data) {
        const Instance *instance = data;

        for (guint i = 0; instance->row && i < instance->of->columns->len; i++)
                if (g_str_equal(instance->of->columns->pdata[i], name))
                        return instance->row[i];
        return get_builtin(name);
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

static GHashTable *answer_new(void) {
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_variant_unref);
}

static void answer_add(GHashTable *answer, const char *name, GVariant *value) {
        GVariantIter iterator;
        const char *key;
        GVariant *of_key;

        if (!g_variant_is_of_type(value, G_VARIANT_TYPE_VARDICT)) {
                gsize n = g_variant_is_of_type(value, G_VARIANT_TYPE("aa{sv}")) ? g_variant_n_children(value) : 0;
                g_autoptr(GVariant) last = n > 0 ? g_variant_get_child_value(value, n - 1) : NULL;

                g_hash_table_insert(answer, g_strdup(name), g_variant_ref(value));
                if (last)
                        answer_add(answer, "", last);
                return;
        }
        g_hash_table_insert(answer, g_strdup("keys"),
                            g_variant_ref_sink(g_variant_new_uint64(g_variant_n_children(value))));
        g_variant_iter_init(&iterator, value);
        while (g_variant_iter_loop(&iterator, "{&sv}", &key, &of_key))
                g_hash_table_insert(answer, g_strdup(key), g_variant_ref(of_key));
}

static guint64 to_number(const char *text) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &n, NULL))
                g_error("%s: '%s' is no number", file, text);
        return n;
}

/* Also remembers it, for '@'. */
static gboolean holds(Run *r, const char *actual, const char *how, const char *wanted) {
        const char *before = g_hash_table_lookup(r->seen, wanted);

        switch (how[0]) {
        case '=':
                return g_str_equal(actual, wanted);
        case '~':
                return strstr(actual, wanted) != NULL;
        case '!':
                return !holds(r, actual, how + 1, wanted);
        case '*':
                return g_str_has_suffix(actual, wanted);
        case '>':
                return to_number(actual) > to_number(before ?: wanted);
        case '<':
                return to_number(actual) < to_number(before ?: wanted);
        case '@':
                if (!before)
                        g_hash_table_insert(r->seen, g_strdup(wanted), g_strdup(actual));
                return !before || g_str_equal(before, actual);
        default:
                g_assert_not_reached();
        }
}

/* A key that is misspelt is never there. */
static gboolean is_documented(const char *key) {
        static char *page;
        g_autofree char *path = source_path("docs/org.selvol1.5.rst"), *word = g_strdup_printf("\\b%s\\b", key);

        if (!page)
                page = file_read(path);
        return g_regex_match_simple(word, page, 0, 0);
}

static Complaint compare(Run *r, GHashTable *answer, const char *expectation) {
        const char *how = strpbrk(expectation, "=~!*><@#"), *wanted;
        gboolean absent = expectation[0] == '-';
        g_autofree char *key = NULL, *text = NULL;
        GVariant *value;

        if (absent ? !is_documented(expectation + 1) : !how)
                return g_strdup_printf("'%s' is no expectation", expectation);
        key = absent ? g_strdup(expectation + 1) : g_strndup(expectation, (gsize) (how - expectation));
        value = g_hash_table_lookup(answer, key);
        if (!value)
                return absent ? NULL : g_strdup_printf("%s is not there", key);
        wanted = absent ? "" : how + (how[0] == '!' ? 2 : 1);
        text = !absent && how[0] == '#' ? g_strdup_printf("%zu", g_variant_n_children(value)) : to_text(value);
        if (!absent && holds(r, text, how[0] == '#' ? "=" : how, wanted))
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

static const char standard_xml[] =
        "<node><interface name='org.freedesktop.DBus.ObjectManager'><method name='GetManagedObjects'>"
        "<arg type='a{oa{sa{sv}}}' name='objects' direction='out'/></method></interface>"
        "<interface name='org.freedesktop.DBus.Introspectable'><method name='Introspect'>"
        "<arg type='s' name='xml' direction='out'/></method></interface>"
        "<interface name='org.freedesktop.DBus.Properties'><method name='Set'><arg type='s' name='interface'/>"
        "<arg type='s' name='property'/><arg type='v' name='value'/></method></interface></node>";

static const char *interface_of(const char *object) {
        return g_str_has_prefix(object, "/volume/")                  ? "org.selvol1.Volume"
               : g_str_has_prefix(object, "/job/")                   ? "org.selvol1.Job"
               : g_str_equal(object, "/org/freedesktop/LogControl1") ? "org.freedesktop.LogControl1"
                                                                     : "org.selvol1.Manager";
}

static char *path_of(const char *object) {
        if (g_str_has_prefix(object, "/org/"))
                return g_strdup(object);
        return g_strconcat("/org/selvol1", g_str_equal(object, "/") ? "" : object, NULL);
}

/* NULL if it is none of this project's. */
static GDBusInterfaceInfo *find_interface(const char *interface) {
        static GHashTable *nodes;
        GDBusNodeInfo *node;

        if (!nodes)
                nodes = g_hash_table_new(g_str_hash, g_str_equal);
        node = g_hash_table_lookup(nodes, interface);
        if (!node && g_str_has_prefix(interface, "org.selvol1.")) {
                g_autofree char *name = g_strdup_printf("dbus/%s.xml", interface), *path = source_path(name),
                                *xml = file_read(path);

                node = g_dbus_node_info_new_for_xml(xml, NULL);
                g_assert_nonnull(node);
                g_hash_table_insert(nodes, g_strdup(interface), node);
        }
        return node ? node->interfaces[0] : NULL;
}

/* Also the method's interface. */
static const GDBusMethodInfo *find_method(const char *object, const char *method, const char **ret_interface) {
        static GDBusNodeInfo *standard;
        GDBusInterfaceInfo *own = find_interface(interface_of(object));
        const GDBusMethodInfo *found = own ? g_dbus_interface_info_lookup_method(own, method) : NULL;

        *ret_interface = interface_of(object);
        if (!standard)
                standard = g_dbus_node_info_new_for_xml(standard_xml, NULL);
        for (GDBusInterfaceInfo **i = standard->interfaces; !found && *i; i++) {
                *ret_interface = (*i)->name;
                found = g_dbus_interface_info_lookup_method(*i, method);
        }
        return found;
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
        Fixture *caller;
        const GDBusMethodInfo *method;
        GAsyncResult *pending;
} Call;

/* The words are those of the arguments, up to what is expected of the answer, which *ret_expected gets. */
static Call *start_call(Fixture *caller, const char *object, const char *interface, const GDBusMethodInfo *method,
                        char **words, char ***ret_expected) {
        GVariantBuilder arguments = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_TUPLE);
        g_autofree char *path = path_of(object);
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
                        p = (char **) own->pdata + own->len - 1;
                        continue;
                }
                if (!*p)
                        g_error("%s: %s has no %s", file, method->name, (*a)->name);
                g_variant_builder_add_value(&arguments, parse_argument((*a)->signature, *p++));
        }
        if (*p)
                g_error("%s: %s takes no '%s'", file, method->name, *p);
        *call = (Call){ caller, method };
        call->pending = call_start_at(caller, path, interface, method->name, g_variant_builder_end(&arguments));
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

        reply = call_end(call->caller, call->pending, &error);
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
        g_autofree char *path = path_of(object);
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
        return expect(actual == to_number(wanted), "there are %" G_GUINT64_FORMAT, actual);
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
        worker_wait_idle(&r->service, (guint) to_number(w[0]));
        return NULL;
}

static Complaint command_metric(Run *r, char **w) {
        g_autofree char *text = get_metrics(&r->service), *line = g_strdup_printf("%s %s\n", w[0], w[1]);

        if (w[1][0] == '>')
                return expect(read_metric(&r->service, w[0]) > (double) to_number(w[1] + 1), "it is not");
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
        gboolean ok = TRUE;

        for (; *w; w++) {
                g_autofree char *path = file_path(&r->service, *w);

                ok = g_unlink(path) == 0 && ok;
        }
        return expect(ok, "it can't be removed");
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

static Complaint command_exists(Run *r, char **w) {
        g_autofree char *folder = g_path_get_dirname(w[0]), *pattern = g_path_get_basename(w[0]),
                        *path = file_path(&r->service, folder);
        g_autoptr(GDir) d = g_dir_open(path, 0, NULL);
        const char *name;
        guint64 n = 0;

        while ((name = g_dir_read_name(d)))
                n += g_pattern_match_simple(pattern, name);
        return expect_number(n, w[1]);
}

static Complaint command_said(Run *r, char **w) {
        g_autofree char *log = read_file(&r->service, "log");
        g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
        guint64 n = 0;

        for (char **line = lines; *line; line++)
                n += g_pattern_match_simple(w[1], *line);
        return expect_number(n, w[0]);
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
        const char *value = w[0] ? strchr(w[0], '=') : NULL;
        g_autofree char *name = value ? g_strndup(w[0], (gsize) (value - w[0])) : NULL;

        if (name)
                g_setenv(name, value + 1, TRUE);
        daemon_start(&r->service, CALLER_ROOT);
        if (name)
                g_unsetenv(name);
        return NULL;
}

static Complaint command_restart(Run *r, char **w) {
        daemon_stop(&r->service, SIGTERM);
        daemon_start(&r->service, CALLER_ROOT);
        return NULL;
}

/* Which of the words it is; the third one may be NULL. */
static guint choose(const char *word, const char *first, const char *second, const char *third) {
        const char *const words[] = { first, second, third };

        for (guint i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_strcmp0(word, words[i]) == 0)
                        return i;
        g_error("%s: '%s' is not known here", file, word);
}

static Complaint command_worker(Run *r, char **w) {
        if (g_str_equal(w[0], "start"))
                worker_start(&r->service);
        else if (g_str_equal(w[0], "stop"))
                worker_stop(&r->service);
        else
                must(kill(r->service.worker, choose(w[0], "hang", "go-on", NULL) == 0 ? SIGSTOP : SIGCONT));
        return NULL;
}

static Complaint command_limit(Run *r, char **w) {
        daemon_limit(&r->service, choose(w[0], "yes", "no", NULL) == 0);
        return NULL;
}

static Complaint command_disk(Run *r, char **w) {
        void (*const set[])(Fixture *) = { store_freeze, store_break, store_thaw };

        set[choose(w[0], "stalls", "fails", "works")](&r->service);
        return NULL;
}

static Complaint command_polkit(Run *r, char **w) {
        const guint said = choose(w[0], "no", "yes", "challenge");
        GDBusMethodInvocation *question = polkit_pop(&r->service);
        g_autoptr(GVariant) action = NULL, details = NULL;
        g_autoptr(GHashTable) answer = answer_new();
        Complaint complaint;

        g_variant_get(g_dbus_method_invocation_get_parameters(question), "((sa{sv})@s@a{ss}us)", NULL, NULL, &action,
                      &details, NULL, NULL);
        for (gsize i = 0; i < g_variant_n_children(details); i++) {
                g_autoptr(GVariant) detail = g_variant_get_child_value(details, i), value = NULL;
                const char *key;

                g_variant_get(detail, "{&s@s}", &key, &value);
                answer_add(answer, key, value);
        }
        answer_add(answer, "details", details);
        answer_add(answer, "action", action);
        complaint = compare_all(r, answer, w + 1);
        polkit_answer(question, said == 1, said == 2);
        return complaint;
}

#define SIGNAL "object and name"

static void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                      const char *name, GVariant *parameters, gpointer userdata) {
        g_autoptr(GVariant) signal =
                g_variant_ref_sink(g_variant_new_printf("%s %s", path + strlen("/org/selvol1"), name));
        GDBusInterfaceInfo *info = find_interface(interface);
        GDBusSignalInfo *known = info ? g_dbus_interface_info_lookup_signal(info, name) : NULL;
        GHashTable *answer = answer_new();
        Run *r = userdata;

        answer_add(answer, SIGNAL, signal);
        for (gsize i = 0; i < g_variant_n_children(parameters); i++) {
                g_autoptr(GVariant) value = g_variant_get_child_value(parameters, i);

                answer_add(answer, known ? known->args[i]->name : "", value);
        }
        g_queue_push_tail(&r->signals, answer);
}

/* The first one that nobody has looked at; it is looked at now. */
static GHashTable *take_signal(Run *r, const char *object, const char *name) {
        g_autofree char *wanted = g_strdup_printf("%s %s", object, name);

        for (GList *l = r->signals.head; l; l = l->next) {
                GHashTable *answer = l->data;

                if (!g_str_equal(g_variant_get_string(g_hash_table_lookup(answer, SIGNAL), NULL), wanted))
                        continue;
                g_queue_delete_link(&r->signals, l);
                return answer;
        }
        return NULL;
}

static Complaint command_signal(Run *r, char **w) {
        const char *object = w[0][0] == '/' ? *w++ : "";
        g_autoptr(GHashTable) answer = NULL;

        (void) HOLDS_WITHIN(WAIT_SEC, (answer = take_signal(r, object, w[0])));
        return answer ? compare_all(r, answer, w + 1) : g_strdup("it has not come");
}

static Complaint command_silent(Run *r, char **w) {
        g_autoptr(GHashTable) answer = take_signal(r, "", w[0]);

        return expect(!answer, "there was one");
}

static Complaint command_introspection(Run *r, char **w) {
        g_autofree char *path = path_of(w[0]);
        g_autoptr(GString) written = g_string_new(NULL), answered = g_string_new(NULL);
        g_autoptr(GDBusNodeInfo) node = NULL;
        g_autoptr(GVariant) reply =
                expect_reply(&r->service, call_start_at(&r->service, path, "org.freedesktop.DBus.Introspectable",
                                                        "Introspect", NULL));
        const char *interface = interface_of(w[0]), *xml;

        g_variant_get(reply, "(&s)", &xml);
        node = g_dbus_node_info_new_for_xml(xml, NULL);
        g_assert_nonnull(node);
        g_dbus_interface_info_generate_xml(find_interface(interface), 0, written);
        g_dbus_interface_info_generate_xml(g_dbus_node_info_lookup_interface(node, interface), 0, answered);
        return expect(g_string_equal(written, answered), "%s", answered->str);
}

static Complaint command_leave(Run *r, char **w) {
        g_autoptr(GDBusConnection) client = g_object_ref(r->other.client);
        const Call *left = g_hash_table_lookup(r->pending, w[0]);
        g_autoptr(GVariant) reply = NULL;

        leave(&r->other, &r->service);
        reply = call_end(&r->other, left->pending, NULL);
        r->other.client = NULL;
        g_hash_table_remove(r->pending, w[0]);
        return expect(!reply, "it has succeeded");
}

static Complaint command_job(Run *r, char **w) {
        wait_for_job(&r->service, (guint) to_number(w[0]), w[1]);
        return NULL;
}

static Complaint command_end(Run *r, char **w) {
        char **expected = w;
        Complaint c = NULL;

        while (*expected && !g_str_equal(*expected, "->") && !g_str_equal(*expected, "!!"))
                expected++;
        for (; !c && w < expected; w++) {
                g_autofree char *label = NULL;
                Call *call;

                if (!g_hash_table_steal_extended(r->pending, *w, (gpointer *) &label, (gpointer *) &call))
                        return g_strdup_printf("there is no call %s", *w);
                c = end_call(r, call, expected);
        }
        return c;
}

static Complaint command_crash(Run *r, char **w) {
        char *end[] = { w[0], (char *) "!!", (char *) "org.freedesktop.DBus.Error.NoReply", NULL };
        Complaint c;

        daemon_stop(&r->service, SIGKILL);
        c = w[0] ? command_end(r, end) : NULL;
        daemon_start(&r->service, CALLER_ROOT);
        return c;
}

static Complaint command_go(Run *r, char **w) {
        write_file(&r->service, "go", "");
        return command_end(r, w);
}

static Complaint command_waits(Run *r, char **w) {
        const Call *call = g_hash_table_lookup(r->pending, w[0]);

        return expect(!call_has_ended(call->pending), "it has ended");
}

/* The first look may have begun before. */
static Complaint command_looks(Run *r, char **w) {
        g_autofree char *path = file_path(&r->service, "unseen");

        for (guint i = 0; i < 2; i++) {
                file_write(path, "");
                WAIT_FOR(!g_file_test(path, G_FILE_TEST_EXISTS));
        }
        return NULL;
}

static Complaint command_pause(Run *r, char **w) {
        pause_usec((gint64) to_number(w[0]) * 1000);
        return NULL;
}

static const struct {
        const char *name;
        Complaint (*carry_out)(Run *r, char **words);
        guint min_words, max_words;
} commands[] = {
        { "mounts", command_mounts, 1, 1 },       /* N: so many are mounted */
        { "mounted", command_mounted, 1, 1 },     /* TARGET */
        { "unmounted", command_unmounted, 1, 1 }, /* TARGET */
        { "holders", command_holders, 2, 2 },     /* VOLUME N: it has so many; the volume is the element of a path */
        { "holder", command_holder, 2, G_MAXUINT },     /* VOLUME EXPECTATION...: the one of which the first holds */
        { "children", command_children, 1, 1 },         /* N: of the worker */
        { "idle", command_idle, 1, 1 },                 /* MILLISECONDS for which the worker has no child */
        { "metric", command_metric, 2, 2 },             /* SERIES VALUE */
        { "metrics-zero", command_metrics_zero, 1, 1 }, /* BEGINNING of lines */
        { "write", command_write, 2, 2 },               /* NAME TEXT: a file of the test, as fake-worker.c has them */
        { "append", command_append, 2, 2 },             /* NAME TEXT */
        { "remove", command_remove, 1, G_MAXUINT },     /* NAME... */
        { "file", command_file, 1, 1 }, /* EXPECTATION: of the content of a file, of which the name is the key */
        { "file-lines", command_file_lines, 2, 2 }, /* NAME N: it has so many */
        { "exists", command_exists, 2, 2 },         /* PATTERN N: so many files have such names */
        { "said", command_said, 2, 2 },             /* N PATTERN: of so many lines of selvold's log, as a whole */
        { "config", command_config, 1, 1 },         /* TEXT: of a drop-in, with which selvold is started again */
        { "stop", command_stop, 0, 0 },             /* selvold, by SIGTERM */
        { "kill", command_kill, 0, 0 },             /* selvold, by SIGKILL */
        { "start", command_start, 0, 1 },           /* selvold; NAME=VALUE: a variable of its environment */
        { "crash", command_crash, 0, 1 },           /* likewise, and starts it again; LABEL: of a call that it owes */
        { "restart", command_restart, 0, 0 },       /* selvold, by SIGTERM */
        { "worker", command_worker, 1, 1 },         /* start, stop, hang or go-on */
        { "limit", command_limit, 1, 1 },           /* yes: selvold can't write files; no */
        { "disk", command_disk, 1, 1 },             /* stalls, fails, or works again: the one with the state */
        { "polkit", command_polkit, 1, G_MAXUINT }, /* yes, no or challenge EXPECTATION...: of what it was asked */
        { "signal", command_signal, 1, G_MAXUINT }, /* OBJECT (or the manager) NAME EXPECTATION...: the next one */
        { "silent", command_silent, 1, 1 },         /* NAME: the manager has not sent another one */
        { "introspection", command_introspection, 1, 1 }, /* OBJECT: it says of itself what dbus/ says */
        { "leave", command_leave, 1, 1 },                 /* LABEL: the other caller does, whose call that was */
        { "job", command_job, 2, 2 },                     /* N STATE: waits until it has that */
        { "end", command_end, 1, G_MAXUINT },             /* LABEL... -> ... or LABEL... !! ... */
        { "go", command_go, 0, G_MAXUINT },               /* likewise, with the file go, for which something waits */
        { "waits", command_waits, 1, 1 },                 /* LABEL: the call has not been answered */
        { "looks", command_looks, 0, 0 },                 /* the watch has looked at the mount table, from now on */
        { "pause", command_pause, 1, 1 },                 /* MILLISECONDS, in which nothing is to happen */
};

/* --- cases --- */

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
        const char *interface;

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
                        return n < commands[i].min_words || n > commands[i].max_words
                                       ? g_strdup_printf("it has %u words", n)
                                       : commands[i].carry_out(r, words + 1);
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
        /* A call without an end would be one that nobody looks at. */
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
        GHashTable *words; /* that are defined */
        Case *of;          /* the case that is read; NULL: none yet */
} Reader;

/* Columns, and what selvold and the clock say, get their values when the case is carried out. */
static const char *get_word(const char *name, gconstpointer data) {
        const Reader *reader = data;
        const GPtrArray *columns = reader->of ? reader->of->columns : NULL;
        g_autofree char *itself = g_strconcat("$", name, NULL);
        static const char *const builtins[] = { "A_SECOND_AGO", "DIRECTORY", "NOW", "UID", NULL };

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
                if (g_str_equal(*flag, "together")) /* its rows have a service in common */
                        c->together = TRUE;
                else if (g_str_equal(*flag, "freezable")) /* for the command "disk" */
                        c->freezable = TRUE;
                else if (g_str_equal(*flag, "stranger")) /* the caller is one about whom polkit is asked */
                        c->stranger = TRUE;
                else if (sscanf(*flag, "times=%u", &c->times) != 1) /* its steps are carried out so often */
                        g_error("%s: there is no %s", file, *flag);
        }
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
        if (c->columns && c->rows->len == 0)
                g_error("%s: %s has no rows", file, c->name);
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
