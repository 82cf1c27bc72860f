/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <signal.h>

#include <glib/gstdio.h>

#include "calls.h"
#include "support/files.h"

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
        g_autofree char *text = get_metrics(&r->service), *line = g_strdup_printf("\n%s %s\n", w[0], w[1]);

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
        g_autofree char *path = file_path(&r->service, w[0]);

        return expect_number(file_count_lines(path, "?*"), w[1]);
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
        g_autofree char *log = file_path(&r->service, "log");

        return expect_number(file_count_lines(log, w[1]), w[0]);
}

static Complaint command_restart(Run *r, char **w) {
        daemon_stop(&r->service, SIGTERM);
        daemon_start(&r->service);
        return NULL;
}

static Complaint command_config(Run *r, char **w) {
        g_autofree char *text = g_strcompress(w[0]);

        write_file(&r->service, "etc/selvol.conf.d/50-case.conf", text);
        return command_restart(r, NULL);
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

        if (w[0] && !name)
                return g_strdup("it is no variable");
        if (name)
                g_setenv(name, value + 1, TRUE);
        daemon_start(&r->service);
        if (name)
                g_unsetenv(name);
        return NULL;
}

/* Returns the index of the word among the three; the third may be NULL. */
static guint choose(const char *word, const char *first, const char *second, const char *third) {
        const char *const words[] = { first, second, third };

        for (guint i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_strcmp0(word, words[i]) == 0)
                        return i;
        g_error("%s: '%s' is not known here", file, word);
}

static Complaint command_worker(Run *r, char **w) {
        if (g_str_equal(w[0], "start") != (r->service.worker == 0))
                return g_strdup("it is so already");
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
        const guint how = choose(w[0], "stalls", "fails", "works");

        if (how == 2)
                store_thaw(&r->service);
        else
                store_freeze(&r->service, how == 0 ? "" : "EIO");
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

void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *name,
               GVariant *parameters, gpointer userdata) {
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

/* Removes the first such signal from the queue, and returns it. */
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

        if (!g_dbus_interface_info_lookup_signal(find_interface("org.selvol1.Manager"), w[0]))
                return g_strdup("there is no such signal");
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
        const Call *left = g_hash_table_lookup(r->pending, w[0]);
        GDBusConnection *client = r->other.client ? g_object_ref(r->other.client) : NULL;
        g_autoptr(GVariant) reply = NULL;

        if (!left || left->caller != &r->other)
                return g_strdup("there is no such call of another caller");
        leave(&r->other, &r->service);
        reply = call_end(&r->other, left->pending, NULL);
        g_clear_object(&client);
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
        if (w == expected && *expected)
                return g_strdup("it names no call");
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
        daemon_start(&r->service);
        return c;
}

static Complaint command_go(Run *r, char **w) {
        write_file(&r->service, "go", "");
        return command_end(r, w);
}

static Complaint command_waits(Run *r, char **w) {
        const Call *call = g_hash_table_lookup(r->pending, w[0]);

        return call ? expect(!call_has_ended(call->pending), "it has ended") : g_strdup("there is no such call");
}

/* The first look may have begun before the command. */
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

enum { ANY = G_MAXINT };

/* The comments have the words of each command, and their meaning. */
static const Command commands[] = {
        { "mounts", command_mounts, 1, 1 },               /* N: so many mounts are in the table */
        { "mounted", command_mounted, 1, 1 },             /* TARGET: something is mounted there */
        { "unmounted", command_unmounted, 1, 1 },         /* TARGET: nothing is mounted there */
        { "holders", command_holders, 2, 2 },             /* VOLUME N; VOLUME is an element of a path */
        { "holder", command_holder, 2, ANY },             /* VOLUME EXPECTATION...; the first one finds it */
        { "children", command_children, 1, 1 },           /* N: the worker has so many */
        { "idle", command_idle, 1, 1 },                   /* MILLISECONDS: the worker has no child so long */
        { "metric", command_metric, 2, 2 },               /* SERIES VALUE */
        { "metrics-zero", command_metrics_zero, 1, 1 },   /* BEGINNING of lines */
        { "write", command_write, 2, 2 },                 /* NAME TEXT; fake-worker.c describes the files */
        { "append", command_append, 2, 2 },               /* NAME TEXT */
        { "remove", command_remove, 1, ANY },             /* NAME... */
        { "file", command_file, 1, 1 },                   /* EXPECTATION; the name of the file is the key */
        { "file-lines", command_file_lines, 2, 2 },       /* NAME N: the file has so many */
        { "exists", command_exists, 2, 2 },               /* PATTERN N: so many files have such names */
        { "said", command_said, 2, 2 },                   /* N PATTERN: so many lines of the log match */
        { "config", command_config, 1, 1 },               /* TEXT: restarts selvold with this drop-in */
        { "stop", command_stop, 0, 0 },                   /* ends selvold by SIGTERM */
        { "kill", command_kill, 0, 0 },                   /* ends selvold by SIGKILL */
        { "start", command_start, 0, 1 },                 /* [NAME=VALUE]: a variable of the environment */
        { "crash", command_crash, 0, 1 },                 /* [LABEL]: kill, end of the call, start */
        { "restart", command_restart, 0, 0 },             /* stop, start */
        { "worker", command_worker, 1, 1 },               /* start, stop, hang or go-on */
        { "limit", command_limit, 1, 1 },                 /* yes: selvold can't write files; no */
        { "disk", command_disk, 1, 1 },                   /* stalls, fails, or works again */
        { "polkit", command_polkit, 1, ANY },             /* yes, no or challenge; EXPECTATION... */
        { "signal", command_signal, 1, ANY },             /* [OBJECT] NAME EXPECTATION...: the next one */
        { "silent", command_silent, 1, 1 },               /* NAME: the manager sent no such signal */
        { "introspection", command_introspection, 1, 1 }, /* OBJECT describes itself as dbus/ does */
        { "leave", command_leave, 1, 1 },                 /* LABEL: the other caller of that call goes */
        { "job", command_job, 2, 2 },                     /* N STATE: waits for the state of a job */
        { "end", command_end, 1, ANY },                   /* LABEL... -> ... or LABEL... !! ... */
        { "go", command_go, 0, ANY },                     /* writes the file go, and is "end" */
        { "waits", command_waits, 1, 1 },                 /* LABEL: the call has no answer yet */
        { "looks", command_looks, 0, 0 },                 /* waits for a look of the watch */
        { "pause", command_pause, 1, 1 },                 /* MILLISECONDS in which nothing must happen */
};

const Command *find_command(const char *name) {
        for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
                if (g_str_equal(commands[i].name, name))
                        return &commands[i];
        return NULL;
}
