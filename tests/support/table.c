/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdbool.h>
#include <string.h>

#include "table.h"

struct Table {
        char *name;
        char **columns;
        GPtrArray *rows; /* of Row */
};

static char **split_cells(const char *line) {
        char **cells = g_strsplit(line, "|", -1);

        for (char **c = cells; *c; c++) {
                char *plain;

                g_strstrip(*c);
                plain = g_strcmp0(*c, "\"\"") == 0 ? g_strdup("") : g_strcompress(*c);
                g_free(*c);
                *c = plain;
        }
        return cells;
}

static int find_column(const Table *table, const char *column) {
        for (int i = 0; table->columns[i]; i++)
                if (strcmp(table->columns[i], column) == 0)
                        return i;
        return -1;
}

static void check_columns(const Table *table, const char *known_columns) {
        g_auto(GStrv) known = g_strsplit(known_columns, " ", -1);

        if (find_column(table, "id") < 0)
                g_error("%s: no column is named id", table->name);
        for (char **c = table->columns; *c; c++)
                if (!g_strv_contains((const char *const *) known, *c))
                        g_error("%s: column %s is unknown to the test", table->name, *c);
}

/* No table is freed, as tests point into tables until the program ends. */
static GPtrArray *loaded;

Table *table_load(const char *name, const char *known_columns) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "tests", "data", name, NULL);
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        Table *table = g_new0(Table, 1);

        if (!g_file_get_contents(path, &text, NULL, NULL))
                g_error("%s can't be read", path);
        lines = g_strsplit(text, "\n", -1);
        table->name = g_strdup(name);
        table->rows = g_ptr_array_new();

        for (unsigned i = 0; lines[i]; i++) {
                char **cells;
                Row *row;

                g_strchug(lines[i]);
                if (lines[i][0] == '#' || lines[i][0] == '\0')
                        continue;
                cells = split_cells(lines[i]);
                if (!table->columns) {
                        table->columns = cells;
                        check_columns(table, known_columns);
                        continue;
                }
                if (g_strv_length(cells) != g_strv_length(table->columns))
                        g_error("%s:%u: %u cells, but %u columns", name, i + 1, g_strv_length(cells),
                                g_strv_length(table->columns));
                row = g_new0(Row, 1);
                *row = (Row){ table, i + 1, cells };
                g_ptr_array_add(table->rows, row);
        }
        if (table->rows->len == 0)
                g_error("%s has no rows", name);
        if (!loaded)
                loaded = g_ptr_array_new();
        g_ptr_array_add(loaded, table);
        return table;
}

const char *row_get(const Row *row, const char *column) {
        int i = find_column(row->table, column);

        return i < 0 || strcmp(row->cells[i], "-") == 0 ? NULL : row->cells[i];
}

const char *row_need(const Row *row, const char *column) {
        const char *cell = row_get(row, column);

        if (!cell)
                g_error("%s:%u: nothing is given for %s", row->table->name, row->line, column);
        return cell;
}

bool row_has(const Row *row, const char *column) {
        return find_column(row->table, column) >= 0;
}

void table_add_tests(const Table *table, const char *prefix, GTestDataFunc function) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

        for (unsigned i = 0; i < table->rows->len; i++) {
                const Row *row = table->rows->pdata[i];
                const char *id = row_need(row, "id");
                g_autofree char *path = g_strdup_printf("%s/%s", prefix, id);

                if (!g_hash_table_add(seen, (gpointer) id))
                        g_error("%s:%u: a second row %s", table->name, row->line, id);
                g_test_add_data_func(path, row, function);
        }
}
