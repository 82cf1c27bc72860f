/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "model/observed.h"
#include "model/request.h"
#include "model/settings.h"
#include "support/table.h"

/* Most unit tests need a node, the shipped configuration, checks of failures, and the words of tables. */

#define TEST_FILE_CONTEXT "system_u:object_r:container_file_t:s0"
#define TEST_VOLUME       "pvc-1"

/* Returns a node with SELinux, levels and container types. The caller frees it with node_done(). */
Node test_node(void);

/* Loads the shipped src/selvol.conf with a drop-in over it (NULL: none), and returns the result of
 * settings_load(). ';' separates lines of the drop-in, too, so that a table can hold one. */
int test_settings_load(const char *dropin, Settings *ret, Failure *f);
/* Loads the same settings, and asserts success. Nobody may free them: all calls with the same drop-in share
 * lists and strings. */
Settings test_settings(const char *dropin);

/* Loads the text alone, without the shipped file. */
int test_settings_load_alone(const char *text, Settings *ret, Failure *f);

/* Returns the result in the words of the tables: "ok", or the kind of the failure. An errno ends the test. */
const char *result_word(int r, const Failure *f);

/* Whether the message has one line or two. */
bool message_is_text(const char *message);

/* Asserts that a function returned the expected kind of failure, with a message that holds all needles. */
#define assert_failure(r, f, expected, ...)                   \
        assert_failure_at(__FILE__, __LINE__, r, f, expected, \
                          (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
void assert_failure_at(const char *file, int line, int r, const Failure *f, FailureKind expected,
                       const char *const *needles);

/* Asserts that a row agrees with its source, or that its note names one of the intended differences. */
void assert_as_noted(const Row *row, bool agrees);

/* Tables have these words. An unknown word ends the test. */
bool is_yes(const char *cell);
AccessMode mode_from_word(const char *word);
gid_t gid_from_word(const char *word); /* or "none" */

#define assert_success(r, f) assert_success_at(__FILE__, __LINE__, r, f)
void assert_success_at(const char *file, int line, int r, const Failure *f);

/* Is strdup(), and asserts that there is memory. */
char *copy(const char *s);

/* A word "KEY=VALUE" of a row sets a member of a struct. */
typedef struct Key {
        const char *name;
        void (*set)(void *member, const char *value);
        void *member;
} Key;

/* Sets the member that the word names; a word without "=" sets a flag. Returns false if no key has that
 * name. */
bool set_word(const Key *keys, size_t n, const char *word);

void set_string(void *member, const char *value); /* "" sets NULL */
void set_text(void *member, const char *value);   /* for members that are never NULL: "" sets "" */
void set_list(void *member, const char *value);   /* separated by commas */
void set_flag(void *member, const char *value);
void set_number(void *member, const char *value); /* uint64_t */
void set_gid(void *member, const char *value);
void set_mode(void *member, const char *value);

/* Defines a setter for the words of an enum. */
#define DEFINE_SET(name, from_string)                             \
        static void set_##name(void *member, const char *value) { \
                int n = from_string(value);                       \
                                                                  \
                g_assert_cmpint(n, >=, 0);                        \
                *(int *) member = n;                              \
        }

/* Is set_word() with the keys of a request. */
bool request_set_word(Request *q, const char *word);
/* Sets the members of a request to the cells of these columns, whose names are keys; "-" in a cell changes
 * nothing. */
void request_take_cells(Request *q, const Row *row, const char *columns);
