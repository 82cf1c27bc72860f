/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <ctype.h>
#include <langinfo.h>

#include <libsmartcols.h>

#include "basic/string-util.h"
#include "ctl/fields.h"
#include "ctl/fit.h"
#include "ctl/format.h"
#include "ctl/print.h"
#include "ctl/terminal.h"

enum { COLUMNS_MAX = 16 };

static const char *const holder_columns[] = {
        "?Volume",    "?Holder",   "Target",   "?State",     "?ReadOnly", "?Adopted", "?FSGroup",
        "?DiskGroup", "SinceUSec", "?Context", "?CoveredBy", "?AlsoAt",   NULL,
};
static const char *const issue_columns[] = { "Path", "Message", NULL };

/* The members that are arrays of objects. A column with '?' is shown only if an object has the member. */
static const struct {
        const char *key;
        const char *const *columns;
} tables[] = {
        { "Conflicts", holder_columns },
        { "Holders", holder_columns },
        { "Failures", issue_columns },
        { "Mismatches", issue_columns },
};

/* Escapes DEL, which jansson does not. */
static int write_json(const char *text, size_t n, void *userdata) {
        for (size_t i = 0; i < n; i++)
                if (text[i] == '\x7f')
                        fputs("\\u007f", stdout);
                else
                        putchar(text[i]);
        return 0; /* main() checks the stream */
}

int print_json(const Args *a, const json_t *value) {
        size_t form = a->json_pretty ? JSON_INDENT(4) : JSON_COMPACT;

        /* JSON_ENSURE_ASCII, because a terminal also obeys some characters beyond ASCII. */
        if (json_dump_callback(value, write_json, NULL, form | JSON_ENSURE_ASCII) < 0)
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
                if (json_object_get(row, key) && !json_is_null(json_object_get(row, key)))
                        return true;
        return false;
}

/* Returns the number of columns to show. */
static size_t select_columns(const json_t *rows, const char *const keys[], const char *shown[static COLUMNS_MAX]) {
        size_t n = 0;

        for (; *keys && n < COLUMNS_MAX; keys++)
                if (**keys != '?')
                        shown[n++] = *keys;
                else if (any_has_member(rows, *keys + 1))
                        shown[n++] = *keys + 1;
        return n;
}

/* The texts of a table, row by row. The first row has the headings, which are "" without a legend. */
typedef struct Cells {
        char **texts;
        size_t n_rows, n_columns;
} Cells;

static char **cell_at(const Cells *c, size_t row, size_t column) {
        return &c->texts[row * c->n_columns + column];
}

static void cells_done(Cells *c) {
        if (!c->texts)
                return;
        for (size_t i = 0; i < c->n_rows * c->n_columns; i++)
                free(c->texts[i]);
        free(c->texts);
}

/* Without a legend a heading is "": libsmartcols 2.38 makes columns as wide as headings that it does not
 * print. */
static char *format_heading(const char *key, bool legend) {
        char *heading = strdup(legend ? field_label(key) : "");

        for (char *p = heading; p && *p; p++)
                *p = *p == ' ' ? '-' : (char) toupper((unsigned char) *p);
        return heading;
}

/* Formats a cell, as ASCII unless the locale is UTF-8: libsmartcols 2.38 loops forever over bytes that are
 * invalid in the locale, such as those beyond ASCII in "C". */
static char *format_cell(const char *key, const json_t *value) {
        char *text = value ? field_format(key, value) : strdup(""), *ascii;

        if (text && text[0] == '\0') {
                free(text);
                return strdup("-");
        }
        if (!text || streq(nl_langinfo(CODESET), "UTF-8"))
                return text;
        ascii = format_ascii(text);
        free(text);
        return ascii;
}

static int format_cells(const json_t *rows, const char *const shown[], bool legend, Cells *c) {
        const json_t *row;
        size_t i;

        assert(c->n_columns > 0);
        c->texts = calloc(c->n_rows * c->n_columns, sizeof(char *));
        if (!c->texts)
                return -ENOMEM;
        for (size_t k = 0; k < c->n_columns; k++) {
                *cell_at(c, 0, k) = format_heading(shown[k], legend);
                if (!*cell_at(c, 0, k))
                        return -ENOMEM;
        }
        json_array_foreach (rows, i, row)
                for (size_t k = 0; k < c->n_columns; k++) {
                        *cell_at(c, i + 1, k) = format_cell(shown[k], json_object_get(row, shown[k]));
                        if (!*cell_at(c, i + 1, k))
                                return -ENOMEM;
                }
        return 0;
}

/* Shortens cells of long columns until the table fits into the terminal. */
static int fit_cells(const Cells *c, const char *const shown[], size_t width) {
        size_t widths[COLUMNS_MAX] = { 0 };
        bool may_shorten[COLUMNS_MAX];

        for (size_t k = 0; k < c->n_columns; k++) {
                may_shorten[k] = field_is_long(shown[k]);
                for (size_t i = 0; i < c->n_rows; i++) {
                        size_t w = fit_width(*cell_at(c, i, k));

                        widths[k] = w > widths[k] ? w : widths[k];
                }
        }
        fit_columns(widths, may_shorten, c->n_columns, width);
        for (size_t k = 0; k < c->n_columns; k++)
                for (size_t i = 0; i < c->n_rows; i++) {
                        char **cell = cell_at(c, i, k), *text = field_is_sentence(shown[k])
                                                                        ? fit_beginning(*cell, widths[k])
                                                                        : fit_end(*cell, widths[k]);

                        if (!text)
                                return -ENOMEM;
                        free(*cell);
                        *cell = text;
                }
        return 0;
}

static int add_row(struct libscols_table *t, const Cells *c, size_t row, const char *const shown[], bool colors) {
        struct libscols_line *line = scols_table_new_line(t, NULL);

        if (!line)
                return -ENOMEM;
        for (size_t k = 0; k < c->n_columns; k++) {
                const char *text = *cell_at(c, row, k), *color = colors ? field_color(shown[k], text) : NULL;
                int r;

                r = scols_line_set_data(line, k, text);
                if (r < 0)
                        return r;
                r = color ? scols_cell_set_color(scols_line_get_cell(line, k), color) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static void table_unrefp(struct libscols_table **t) {
        scols_unref_table(*t);
}

static int print_cells(const Cells *c, const char *const shown[], bool legend) {
        _cleanup_(table_unrefp) struct libscols_table *t = scols_new_table();
        bool colors = terminal_has_colors(STDOUT_FILENO);
        int r;

        if (!t)
                return -ENOMEM;
        (void) scols_table_enable_colors(t, colors);
        (void) scols_table_enable_noheadings(t, !legend);
        (void) scols_table_enable_noencoding(t, 1); /* the text is escaped */
        /* fit_cells() has already shortened the cells. */
        (void) scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER);
        for (size_t k = 0; k < c->n_columns; k++)
                if (!scols_table_new_column(t, *cell_at(c, 0, k), 0, 0))
                        return -ENOMEM;
        for (size_t i = 1; i < c->n_rows; i++) {
                r = add_row(t, c, i, shown, colors);
                if (r < 0)
                        return r;
        }
        return scols_print_table(t);
}

static int print_table(const Args *a, const json_t *rows, const char *const keys[]) {
        _cleanup_(cells_done) Cells c = { .n_rows = json_array_size(rows) + 1 };
        bool legend = !args_have(a, SWITCH_NO_LEGEND);
        const char *shown[COLUMNS_MAX];
        int r;

        if (json_array_size(rows) == 0)
                return 0;
        c.n_columns = select_columns(rows, keys, shown);
        r = format_cells(rows, shown, legend, &c);
        if (r < 0)
                return r;
        if (terminal_is_capable(STDOUT_FILENO) && !args_have(a, SWITCH_FULL)) {
                r = fit_cells(&c, shown, terminal_width(STDOUT_FILENO));
                if (r < 0)
                        return r;
        }
        return print_cells(&c, shown, legend);
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
                return print_json(a, object);
        return args_have(a, SWITCH_QUIET) ? 0 : print_text(a, object);
}

int print_list(const Args *a, const json_t *rows, const char *const keys[], const char *what) {
        size_t n = json_array_size(rows);
        int r;

        if (args_have(a, SWITCH_JSON))
                return print_json(a, rows);
        r = print_table(a, rows, keys);
        if (r < 0 || args_have(a, SWITCH_NO_LEGEND))
                return r;
        printf("%s%zu %s%s listed.\n", n > 0 ? "\n" : "", n, what, n == 1 ? "" : "s");
        return 0;
}
