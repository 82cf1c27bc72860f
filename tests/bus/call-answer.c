/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "calls.h"
#include "support/files.h"

/* --- words --- */

char *expand(const char *text, Lookup lookup, gconstpointer data) {
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

/* Returns the end of the brackets that open at p. */
static const char *skip_brackets(const char *p) {
        int depth = 0;

        do {
                depth += (*p == '<') - (*p == '>');
                p++;
        } while (*p && depth > 0);
        return p;
}

char **split(const char *text) {
        g_autoptr(GPtrArray) words = g_ptr_array_new();
        const char *p = text;

        while (*(p += strspn(p, " "))) {
                GString *word = g_string_new(NULL);

                while (*p && *p != ' ') {
                        if (*p == '"') {
                                for (p++; *p && *p != '"'; p++)
                                        g_string_append_c(word, *p == '\\' && p[1] == '"' ? *++p : *p);
                                if (*p++ == '\0')
                                        g_error("%s: a quote is open in %s", file, text);
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

GHashTable *answer_new(void) {
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify) g_variant_unref);
}

void answer_add(GHashTable *answer, const char *name, GVariant *value) {
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

guint64 to_number(const char *text) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, &n, NULL))
                g_error("%s: '%s' is no number", file, text);
        return n;
}

/* '@' also remembers the value. */
static gboolean holds(Run *r, const char *actual, const char *how, const char *wanted) {
        const char *before = g_hash_table_lookup(r->seen, wanted);

        switch (how[0]) {
        case '=':
                return g_str_equal(actual, wanted);
        case '~':
                return strstr(actual, before ?: wanted) != NULL;
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

/* An expectation -KEY with a misspelt key would always hold. */
static gboolean is_documented(const char *key) {
        static char *page;
        g_autofree char *path = source_path("docs/org.selvol1.5.rst"),
                        *word = g_strdup_printf("\\*%s\\*|^%s \\*", key, key);

        if (!page)
                page = file_read(path);
        return g_regex_match_simple(word, page, G_REGEX_MULTILINE, 0);
}

Complaint compare(Run *r, GHashTable *answer, const char *expectation) {
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
        if (!absent && how[0] != '=' && how[1] != '=' && wanted[0] == '\0')
                return g_strdup_printf("'%s' always holds, or never", expectation);
        text = !absent && how[0] == '#' ? g_strdup_printf("%zu", g_variant_n_children(value)) : to_text(value);
        if (!absent && holds(r, text, how[0] == '#' ? "=" : how, wanted))
                return NULL;
        return g_strdup_printf("%s, but %s is '%s'", expectation, key, text);
}

Complaint compare_all(Run *r, GHashTable *answer, char **expectations) {
        Complaint c = NULL;

        for (; !c && *expectations; expectations++)
                c = compare(r, answer, *expectations);
        return c;
}

/* --- calls --- */

static const char standard_xml[] =
        "<node><interface name='org.freedesktop.DBus.ObjectManager'><method name='GetManagedObjects'>"
        "<arg type='a{oa{sa{sv}}}' name='objects' direction='out'/></method></interface>"
        "<interface name='org.freedesktop.DBus.Peer'><method name='GetMachineId'>"
        "<arg type='s' name='machine_uuid' direction='out'/></method></interface>"
        "<interface name='org.freedesktop.DBus.Introspectable'><method name='Introspect'>"
        "<arg type='s' name='xml' direction='out'/></method></interface>"
        "<interface name='org.freedesktop.DBus.Properties'><method name='Set'><arg type='s' name='interface'/>"
        "<arg type='s' name='property'/><arg type='v' name='value'/></method></interface></node>";

const char *interface_of(const char *object) {
        return g_str_has_prefix(object, "/volume/")                  ? "org.selvol1.Volume"
               : g_str_has_prefix(object, "/job/")                   ? "org.selvol1.Job"
               : g_str_equal(object, "/org/freedesktop/LogControl1") ? "org.freedesktop.LogControl1"
                                                                     : "org.selvol1.Manager";
}

char *path_of(const char *object) {
        if (g_str_has_prefix(object, "/org/"))
                return g_strdup(object);
        return g_strconcat("/org/selvol1", g_str_equal(object, "/") ? "" : object, NULL);
}

GDBusInterfaceInfo *find_interface(const char *interface) {
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

const GDBusMethodInfo *find_method(const char *object, const char *method, const char **ret_interface) {
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

/* A word is OPTION=VALUE for a string, and OPTION=<VALUE> for any type. */
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

Call *start_call(Fixture *caller, const char *object, const char *interface, const GDBusMethodInfo *method,
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

static Complaint compare_error(GError *error, char **expected) {
        g_autofree char *name = g_dbus_error_get_remote_error(error), *full = error_name(expected[0]);
        gboolean ok = g_strcmp0(name, full) == 0;

        (void) g_dbus_error_strip_remote_error(error);
        for (char **text = expected + 1; *text; text++)
                ok = ok && strstr(error->message, *text);
        return ok ? NULL : g_strdup_printf("%s: %s", name, error->message);
}

/* Answers about mounts must not have keys that say nothing. */
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

Complaint end_call(Run *r, Call *taken, char **expected) {
        g_autoptr(GHashTable) answer = answer_new();
        g_autofree Call *call = taken;
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

Complaint check_properties(Run *r, const char *object, char **expectations) {
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
