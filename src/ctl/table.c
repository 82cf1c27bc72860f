/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include <libsmartcols.h>

#include "basic/gid-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/colour.h"
#include "ctl/format.h"
#include "ctl/table.h"

enum { TEXT_MAX = 4096 };

typedef struct Cell {
        char *text; /* for people */
        char *data; /* for JSON, in libsmartcols' notation: 0 and 1 for booleans, a line for each element of a list */
} Cell;

struct Table {
        const char *name;
        const Column *columns;
        size_t n_columns;
        Cell *cells;
        size_t n_rows;
};

int table_new(const char *name, const Column *columns, size_t n_columns, Table **ret) {
        Table *t;

        t = calloc(1, sizeof(Table));
        if (!t)
                return -ENOMEM;

        t->name = name;
        t->columns = columns;
        t->n_columns = n_columns;
        *ret = t;
        return 0;
}

Table *table_free(Table *t) {
        if (!t)
                return NULL;

        for (size_t i = 0; i < t->n_rows * t->n_columns; i++) {
                free(t->cells[i].text);
                free(t->cells[i].data);
        }
        free(t->cells);
        free(t);
        return NULL;
}

const Column *table_columns(const Table *t, size_t *ret_n) {
        *ret_n = t->n_columns;
        return t->columns;
}

size_t table_rows(const Table *t) {
        return t->n_rows;
}

int table_add_row(Table *t) {
        Cell *grown;

        grown = reallocarray(t->cells, (t->n_rows + 1) * t->n_columns, sizeof(Cell));
        if (!grown)
                return -ENOMEM;

        t->cells = grown;
        memset(&grown[t->n_rows * t->n_columns], 0, t->n_columns * sizeof(Cell));
        t->n_rows++;
        return 0;
}

typedef struct SortKey {
        size_t column;
        bool number;
} SortKey;

static int compare_rows(const void *a, const void *b, void *userdata) {
        const SortKey *key = userdata;
        const char *x = strempty(((const Cell *) a)[key->column].text),
                   *y = strempty(((const Cell *) b)[key->column].text);

        /* Of two numbers the longer one is higher. */
        if (key->number && strlen(x) != strlen(y))
                return strlen(x) < strlen(y) ? -1 : 1;
        return strcmp(x, y);
}

void table_sort(Table *t, size_t column) {
        SortKey key = { column, t->columns[column].type == CELL_NUMBER };

        if (t->n_rows > 1)
                qsort_r(t->cells, t->n_rows, t->n_columns * sizeof(Cell), compare_rows, &key);
}

static const Cell *get_cell(const Table *t, size_t row, size_t column) {
        return &t->cells[row * t->n_columns + column];
}

const char *table_get(const Table *t, const char *key) {
        for (size_t i = 0; t->n_rows > 0 && i < t->n_columns; i++)
                if (streq_ptr(t->columns[i].key, key))
                        return strempty(get_cell(t, 0, i)->text);
        return "";
}

uint64_t table_get_number(const Table *t, size_t column) {
        unsigned long long number;

        if (t->n_rows == 0 || parse_u64(strempty(get_cell(t, t->n_rows - 1, column)->data), &number) < 0)
                return 0;
        return number;
}

/* Takes both strings over, also on failure. */
static int set_cell(Table *t, size_t column, char *text, char *data) {
        Cell *c = &t->cells[(t->n_rows - 1) * t->n_columns + column];

        if (!text || !data) {
                free(text);
                free(data);
                return -ENOMEM;
        }

        free(c->text);
        free(c->data);
        *c = (Cell){ .text = text, .data = data };
        return 0;
}

int table_set_string(Table *t, size_t column, const char *value) {
        const Column *c = &t->columns[column];

        if (c->type != CELL_STRING)
                return -EINVAL;
        return set_cell(t, column, c->escaped ? format_text(value) : string_escape(value, TEXT_MAX), strdup(value));
}

int table_set_boolean(Table *t, size_t column, bool value) {
        if (t->columns[column].type != CELL_BOOLEAN)
                return -EINVAL;
        return set_cell(t, column, strdup(value ? "yes" : "no"), strdup(value ? "1" : "0"));
}

static char *format_time(uint64_t usec) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        char buffer[64];
        struct tm tm;

        if (usec == 0 || !localtime_r(&seconds, &tm) || strftime(buffer, sizeof(buffer), "%F %T %Z", &tm) == 0)
                return strdup("");
        return strdup(buffer);
}

int table_set_number(Table *t, size_t column, uint64_t value) {
        char *text;

        switch (t->columns[column].type) {
        case CELL_GROUP:
                if (value == GID_NONE)
                        return set_cell(t, column, strdup(""), strdup("null"));
                text = strdup_printf("%" PRIu64, value);
                break;
        case CELL_NUMBER:
                text = strdup_printf("%" PRIu64, value);
                break;
        case CELL_JOB:
                text = value > 0 ? strdup_printf("%" PRIu64, value) : strdup("");
                break;
        case CELL_TIME:
                text = format_time(value);
                break;
        case CELL_DURATION:
                text = format_duration(value);
                break;
        default:
                return -EINVAL;
        }
        return set_cell(t, column, text, strdup_printf("%" PRIu64, value));
}

int table_set_list(Table *t, size_t column, char *const *value) {
        _cleanup_strv_ char **escaped = NULL;

        if (t->columns[column].type != CELL_LIST)
                return -EINVAL;

        for (size_t i = 0; value && value[i]; i++) {
                int r = strv_consume(&escaped, string_escape(value[i], TEXT_MAX));
                if (r < 0)
                        return r;
        }
        return set_cell(t, column, strv_join(escaped, ","), strv_join(escaped, "\n"));
}

static void table_unrefp(struct libscols_table **t) {
        scols_unref_table(*t);
}

static int add_heading(struct libscols_table *out, const char *name) {
        _cleanup_free_ char *heading = strdup(name);

        if (!heading)
                return -ENOMEM;
        for (char *p = heading; *p; p++)
                if (*p == '_')
                        *p = '-';
        return scols_table_new_column(out, heading, 0, 0) ? 0 : -ENOMEM;
}

static int add_line(const Table *t, size_t row, struct libscols_table *out, bool colours) {
        struct libscols_line *line = scols_table_new_line(out, NULL);
        size_t shown = 0;

        if (!line)
                return -ENOMEM;
        for (size_t i = 0; i < t->n_columns; i++) {
                const char *text = get_cell(t, row, i)->text, *colour;
                int r;

                if (t->columns[i].detail)
                        continue;
                colour = colours ? colour_of(t->columns[i].key, text) : NULL;
                r = scols_line_set_data(line, shown, isempty(text) ? "-" : text);
                if (r >= 0 && colour)
                        r = scols_cell_set_color(scols_line_get_cell(line, shown), colour);
                if (r < 0)
                        return r;
                shown++;
        }
        return 0;
}

int table_print(const Table *t, bool legend, bool colours) {
        _cleanup_(table_unrefp) struct libscols_table *out = scols_new_table();

        if (!out)
                return -ENOMEM;
        if (t->n_rows == 0)
                return 0;
        (void) scols_table_enable_colors(out, colours);
        (void) scols_table_enable_noheadings(out, !legend);
        (void) scols_table_enable_noencoding(out, 1); /* the text is escaped */

        for (size_t i = 0; i < t->n_columns; i++)
                if (!t->columns[i].detail) {
                        int r = add_heading(out, t->columns[i].name);
                        if (r < 0)
                                return r;
                }
        for (size_t row = 0; row < t->n_rows; row++) {
                int r = add_line(t, row, out, colours);
                if (r < 0)
                        return r;
        }
        return scols_print_table(out);
}

/* Numbers of the API are never 0 but when they are unknown or play no part. */
static bool cell_is_empty(const Table *t, size_t row, size_t column) {
        const char *text = get_cell(t, row, column)->text;

        return isempty(text) || (t->columns[column].type == CELL_NUMBER && streq(text, "0"));
}

void table_print_row(const Table *t, size_t row, bool colours) {
        size_t width = 0;

        for (size_t i = 0; i < t->n_columns; i++)
                if (t->columns[i].label && !cell_is_empty(t, row, i) && strlen(t->columns[i].label) > width)
                        width = strlen(t->columns[i].label);

        for (size_t i = 0; i < t->n_columns; i++) {
                const char *text = get_cell(t, row, i)->text, *colour;

                if (!t->columns[i].label || cell_is_empty(t, row, i))
                        continue;
                colour = colours ? colour_of(t->columns[i].key, text) : NULL;
                printf("%*s: %s%s%s\n", (int) width, t->columns[i].label, strempty(colour), text,
                       colour ? COLOUR_OFF : "");
        }
}

static const char *missing_data(CellType type) {
        return type == CELL_STRING || type == CELL_LIST ? "" : type == CELL_GROUP ? "null" : "0";
}

static int fill_json_row(const Table *t, size_t row, struct libscols_line *line) {
        for (size_t i = 0; i < t->n_columns; i++) {
                const char *data = get_cell(t, row, i)->data;
                int r;

                r = scols_line_set_data(line, i, data ? data : missing_data(t->columns[i].type));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int render_json(const Table *t, char **ret) {
        static const int types[] = {
                [CELL_STRING] = SCOLS_JSON_STRING,   [CELL_BOOLEAN] = SCOLS_JSON_BOOLEAN,
                [CELL_NUMBER] = SCOLS_JSON_NUMBER,   [CELL_TIME] = SCOLS_JSON_NUMBER,
                [CELL_DURATION] = SCOLS_JSON_NUMBER, [CELL_GROUP] = SCOLS_JSON_NUMBER,
                [CELL_JOB] = SCOLS_JSON_NUMBER,      [CELL_LIST] = SCOLS_JSON_ARRAY_STRING,
        };
        _cleanup_(table_unrefp) struct libscols_table *out = scols_new_table();

        if (!out || scols_table_set_name(out, t->name) < 0)
                return -ENOMEM;
        (void) scols_table_enable_json(out, 1);
        (void) scols_table_enable_noencoding(out, 1);

        for (size_t i = 0; i < t->n_columns; i++) {
                bool list = t->columns[i].type == CELL_LIST;
                struct libscols_column *c =
                        scols_table_new_column(out, t->columns[i].name, 0, list ? SCOLS_FL_WRAP : 0);

                if (!c)
                        return -ENOMEM;
                (void) scols_column_set_json_type(c, types[t->columns[i].type]);
                if (list) {
                        (void) scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
                        (void) scols_column_set_safechars(c, "\n");
                }
        }
        for (size_t row = 0; row < t->n_rows; row++) {
                struct libscols_line *line = scols_table_new_line(out, NULL);
                int r = line ? fill_json_row(t, row, line) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return scols_print_table_to_string(out, ret);
}

/* libsmartcols writes an empty list as a list of null, and DEL and the C1 controls, which a terminal acts on, as they
 * are. A raw newline can't be part of a string, so the first is never mistaken for one. */
static void write_json(const char *s, const char *end) {
        while (s < end) {
                unsigned char c = (unsigned char) s[0];

                if (c == '[' && s[1] == '\n') {
                        const char *p = s + 1 + strspn(s + 1, " \n"), *after = startswith(p, "null");

                        after = after ? after + strspn(after, " \n") : NULL;
                        if (after && *after == ']') {
                                fputs("[]", stdout);
                                s = after + 1;
                                continue;
                        }
                }
                if (c == 0x7f) {
                        printf("\\u%04x", c);
                        s++;
                } else if (c == 0xc2 && (unsigned char) s[1] < 0xa0) {
                        printf("\\u%04x", (unsigned char) s[1]);
                        s += 2;
                } else {
                        putchar(c);
                        s++;
                }
        }
}

int tables_print_json(Table *const *tables, size_t n) {
        puts("{");
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *text = NULL;
                const char *begin, *end;
                int r;

                r = render_json(tables[i], &text);
                if (r < 0)
                        return r;

                /* Each table is rendered as an object with one member: take that out of its braces. */
                begin = strchr(text, '{');
                end = strrchr(text, '}');
                if (!begin || !end || end <= begin)
                        return -EIO;
                begin += 1 + strspn(begin + 1, "\n");
                while (end > begin && end[-1] == '\n')
                        end--;
                write_json(begin, end);
                puts(i + 1 < n ? "," : "");
        }
        puts("}");
        return 0;
}
