/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <langinfo.h>

#include <libsmartcols.h>

#include "basic/string-util.h"
#include "ctl/fields.h"
#include "ctl/format.h"
#include "ctl/print.h"
#include "ctl/terminal.h"

enum { COLUMNS_MAX = 16 };

static const char *const holder_columns[] = {
        "?Volume",    "?Holder",   "Target",   "?State",     "?ReadOnly", "?Adopted", "?FSGroup",
        "?DiskGroup", "SinceUSec", "?Context", "?CoveredBy", "?AlsoAt",   NULL,
};
static const char *const history_columns[] = {
        "TimeUSec", "Operation", "Result", "?Reason", "?Holder", "?Target", "?Text", NULL,
};
static const char *const issue_columns[] = { "Path", "Message", NULL };

/* The members that are arrays of objects. A column that begins with '?' is shown if any object has it. */
static const struct {
        const char *key;
        const char *const *columns;
} tables[] = {
        { "Conflicts", holder_columns }, { "Holders", holder_columns },   { "History", history_columns },
        { "Failures", issue_columns },   { "Mismatches", issue_columns },
};

/* jansson leaves DEL as it is. */
static int write_json(const char *text, size_t n, void *userdata) {
        for (size_t i = 0; i < n; i++)
                if (text[i] == '\x7f')
                        fputs("\\u007f", stdout);
                else
                        putchar(text[i]);
        return 0; /* main() looks at the stream */
}

int print_json(const json_t *value) {
        /* A terminal obeys some characters beyond ASCII, too. */
        if (json_dump_callback(value, write_json, NULL, JSON_INDENT(4) | JSON_ENSURE_ASCII) < 0)
                return -ENOMEM;
        putchar('\n');
        return 0;
}

static int print_members(const json_t *object) {
        json_t *o = (json_t *) object, *value; /* jansson's iterators take no const */
        bool colors = terminal_has_colors(STDOUT_FILENO);
        size_t width = 0;
        const char *key;

        json_object_foreach (o, key, value)
                if (field_has_text(key, value) && strlen(field_label(key)) > width)
                        width = strlen(field_label(key));
        json_object_foreach (o, key, value) {
                _cleanup_free_ char *text = NULL;
                const char *color;

                if (!field_has_text(key, value))
                        continue;
                text = field_format(key, value);
                if (!text)
                        return -ENOMEM;
                color = colors ? field_color(key, text) : NULL;
                printf("%*s: %s%s%s\n", (int) width, field_label(key), strempty(color), text, color ? COLOR_OFF : "");
        }
        return 0;
}

static bool any_has_member(const json_t *rows, const char *key) {
        const json_t *row;
        size_t i;

        json_array_foreach (rows, i, row)
                if (json_object_get(row, key))
                        return true;
        return false;
}

/* Returns how many columns are shown. */
static size_t select_columns(const json_t *rows, const char *const keys[], const char *shown[static COLUMNS_MAX]) {
        size_t n = 0;

        for (; *keys && n < COLUMNS_MAX; keys++)
                if (**keys != '?')
                        shown[n++] = *keys;
                else if (any_has_member(rows, *keys + 1))
                        shown[n++] = *keys + 1;
        return n;
}

/* In libsmartcols 2.38 a heading that is not printed makes its column wider all the same. */
static int add_column(struct libscols_table *t, const char *key, bool legend) {
        _cleanup_free_ char *heading = strdup(legend ? field_label(key) : "");

        if (!heading)
                return -ENOMEM;
        for (char *p = heading; *p; p++)
                *p = *p == ' ' ? '-' : (char) toupper((unsigned char) *p);
        return scols_table_new_column(t, heading, 0, 0) ? 0 : -ENOMEM;
}

/* In libsmartcols 2.38 the search for the width of a text never ends at bytes that are no character of the locale, as "C" has none
 * beyond ASCII. */
static char *format_cell(const char *key, const json_t *value) {
        char *text = field_format(key, value), *ascii;

        if (!text || streq(nl_langinfo(CODESET), "UTF-8"))
                return text;
        ascii = format_ascii(text);
        free(text);
        return ascii;
}

static int set_cell(struct libscols_line *line, size_t n, const char *key, const json_t *value, bool colors) {
        _cleanup_free_ char *text = value ? format_cell(key, value) : strdup("");
        const char *color;
        int r;

        if (!text)
                return -ENOMEM;
        r = scols_line_set_data(line, n, isempty(text) ? "-" : text);
        if (r < 0)
                return r;
        color = colors ? field_color(key, text) : NULL;
        return color ? scols_cell_set_color(scols_line_get_cell(line, n), color) : 0;
}

static int add_row(struct libscols_table *t, const json_t *row, const char *const shown[], size_t n, bool colors) {
        struct libscols_line *line = scols_table_new_line(t, NULL);

        if (!line)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r;

                r = set_cell(line, i, shown[i], json_object_get(row, shown[i]), colors);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void table_unrefp(struct libscols_table **t) {
        scols_unref_table(*t);
}

static int print_table(const Args *a, const json_t *rows, const char *const keys[]) {
        _cleanup_(table_unrefp) struct libscols_table *t = scols_new_table();
        bool colors = terminal_has_colors(STDOUT_FILENO), legend = !args_have(a, SWITCH_NO_LEGEND);
        const char *shown[COLUMNS_MAX];
        const json_t *row;
        size_t n, i;
        int r;

        if (json_array_size(rows) == 0)
                return 0;
        if (!t)
                return -ENOMEM;
        (void) scols_table_enable_colors(t, colors);
        (void) scols_table_enable_noheadings(t, !legend);
        (void) scols_table_enable_noencoding(t, 1); /* the text is escaped */

        n = select_columns(rows, keys, shown);
        for (i = 0; i < n; i++) {
                r = add_column(t, shown[i], legend);
                if (r < 0)
                        return r;
        }
        json_array_foreach (rows, i, row) {
                r = add_row(t, row, shown, n, colors);
                if (r < 0)
                        return r;
        }
        return scols_print_table(t);
}

int print_text(const Args *a, const json_t *object) {
        int r;

        r = print_members(object);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(tables); i++) {
                const json_t *rows = json_object_get(object, tables[i].key);

                if (json_array_size(rows) == 0)
                        continue;
                puts("");
                r = print_table(a, rows, tables[i].columns);
                if (r < 0)
                        return r;
        }
        return 0;
}

int print_answer(const Args *a, const json_t *object) {
        if (args_have(a, SWITCH_JSON))
                return print_json(object);
        return args_have(a, SWITCH_QUIET) ? 0 : print_text(a, object);
}

int print_list(const Args *a, const json_t *rows, const char *const keys[], const char *what) {
        size_t n = json_array_size(rows);
        int r;

        if (args_have(a, SWITCH_JSON))
                return print_json(rows);
        r = print_table(a, rows, keys);
        if (r < 0 || args_have(a, SWITCH_NO_LEGEND))
                return r;
        printf("%s%zu %s%s listed.\n", n > 0 ? "\n" : "", n, what, n == 1 ? "" : "s");
        return 0;
}
