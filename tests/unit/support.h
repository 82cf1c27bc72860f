/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <string.h>

#include <glib.h>

#include "model/observed.h"
#include "model/request.h"
#include "model/settings.h"
#include "support/table.h"

/* What the tests of the libraries share: a node, the shipped configuration, checks of failures. */

#define TEST_FILE_CONTEXT "system_u:object_r:container_file_t:s0"
#define TEST_VOLUME       "pvc-1"

/* A node with SELinux, levels and container types; owned by the caller, see node_done(). */
Node test_node(void);

/* The shipped src/selvol.conf with a drop-in over it (NULL: none). Lines of the drop-in can be separated by
 * ';', so that a table can hold one. Returns what settings_load() does. */
int test_settings_load(const char *dropin, Settings *ret, Failure *f);
/* The same, where nothing may go wrong. Lists and strings are shared by all who ask for the same: not to be
 * freed. */
Settings test_settings(const char *dropin);

/* A settings_load() of the given text alone, without the shipped file. */
int test_settings_load_alone(const char *text, Settings *ret, Failure *f);

/* The result in the words of the tables: "ok" or the failure's kind; an errno ends the test. */
const char *result_word(int r, const Failure *f);

/* Checks a failure: its kind, that the function returned just that, and that the message is of one line and
 * holds all of the needles (NULL-terminated). */
#define assert_failure(r, f, expected, ...)                   \
        assert_failure_at(__FILE__, __LINE__, r, f, expected, \
                          (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
void assert_failure_at(const char *file, int line, int r, const Failure *f, FailureKind expected,
                       const char *const *needles);

/* Checks that a row agrees with its source, or else that its note names one of the differences that are on
 * purpose. */
void assert_as_noted(const Row *row, bool agrees);

/* The words of the tables. */
bool is_yes(const char *cell);
AccessMode mode_from_word(const char *word);
gid_t gid_from_word(const char *word); /* or "none" */

#define assert_success(r, f) assert_success_at(__FILE__, __LINE__, r, f)
void assert_success_at(const char *file, int line, int r, const Failure *f);

/* strdup() that can't fail. */
char *copy(const char *s);
char **copy_list(const char *comma_separated);

/* The words of a row, "KEY=VALUE", that set members of a struct. */
typedef struct Key {
        const char *name;
        void (*set)(void *member, const char *value);
        void *member;
} Key;

/* A word without "=" is a flag that is set. Returns whether the key is one of them. */
bool set_word(const Key *keys, size_t n, const char *word);

void set_string(void *member, const char *value); /* "": NULL */
void set_text(void *member, const char *value);   /* the same for members that are never NULL */
void set_list(void *member, const char *value);   /* separated by commas */
void set_flag(void *member, const char *value);
void set_number(void *member, const char *value); /* uint64_t */
void set_gid(void *member, const char *value);
void set_mode(void *member, const char *value);

/* A setter for one of an enum's words. */
#define DEFINE_SET(name, from_string)                             \
        static void set_##name(void *member, const char *value) { \
                int n = from_string(value);                       \
                                                                  \
                g_assert_cmpint(n, >=, 0);                        \
                *(int *) member = n;                              \
        }

/* Those of a request. */
bool request_set_word(Request *q, const char *word);
/* The cells of these columns, which are named as the words are, where something is given. */
void request_take_cells(Request *q, const Row *row, const char *columns);
