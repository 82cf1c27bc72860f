/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "basic/cleanup.h"
#include "store/store-change.h"

typedef enum ValueType { VALUE_NULL, VALUE_NUMBER, VALUE_TEXT } ValueType;

typedef struct Value {
        ValueType type;
        uint64_t number;
        char *text;
} Value;

struct Change {
        Change *next;
        Statement statement;
        bool incomplete;
        Value values[COLUMNS_MAX];
};

Change *changes_append(Changes *all, Statement statement) {
        Change *c = calloc(1, sizeof(*c));

        assert(all);

        if (!c) {
                all->incomplete = true;
                return NULL;
        }
        c->statement = statement;
        if (all->last)
                all->last->next = c;
        else
                all->first = c;
        all->last = c;
        return c;
}

static void change_free(Change *c) {
        for (size_t i = 0; i < COLUMNS_MAX; i++)
                free(c->values[i].text);
        free(c);
}

void changes_done(Changes *all) {
        while (all->first) {
                Change *c = all->first;

                all->first = c->next;
                change_free(c);
        }
        *all = (Changes){ 0 };
}

void change_set_text(Change *c, int column, const char *text) {
        assert(c && column >= 0 && column < COLUMNS_MAX);

        if (!text)
                return;
        c->values[column] = (Value){ .type = VALUE_TEXT, .text = strdup(text) };
        c->incomplete = c->incomplete || !c->values[column].text;
}

void change_set_number(Change *c, int column, uint64_t number) {
        assert(c && column >= 0 && column < COLUMNS_MAX);

        c->values[column] = (Value){ .type = VALUE_NUMBER, .number = number };
}

/* SQLite counts parameters from 1. What lacks memory fails when the statement is executed. */
static void bind(sqlite3_stmt *st, int column, const Value *v) {
        switch (v->type) {
        case VALUE_TEXT:
                (void) sqlite3_bind_text(st, column + 1, v->text, -1, SQLITE_STATIC);
                break;
        case VALUE_NUMBER:
                (void) sqlite3_bind_int64(st, column + 1, (sqlite3_int64) v->number);
                break;
        case VALUE_NULL:
                break;
        }
}

static int execute(const Change *c, sqlite3_stmt *statement) {
        _cleanup_statement_ sqlite3_stmt *st = statement;

        for (int i = 0; i < sqlite3_bind_parameter_count(st); i++)
                bind(st, i, &c->values[i]);
        return statement_execute(st);
}

int changes_execute(const Changes *all, sqlite3_stmt *const statements[STATEMENTS]) {
        int r;

        assert(all);

        if (all->incomplete)
                return -ENOMEM;
        for (const Change *c = all->first; c; c = c->next) {
                r = c->incomplete ? -ENOMEM : execute(c, statements[c->statement]);
                if (r < 0)
                        return r;
        }
        return 0;
}
