/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "basic/cleanup.h"

#define STRV_FOREACH(s, l) for (char **s = (l); s && *s; s++)

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

/* Like streq(), and NULL equals NULL and nothing else. */
static inline bool streq_ptr(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static inline bool isempty(const char *s) {
        return !s || s[0] == '\0';
}

static inline const char *strempty(const char *s) {
        return s ? s : "";
}

/* Returns what follows prefix in s, or NULL. */
static inline const char *startswith(const char *s, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

/* Replaces *p by a copy of s (NULL is copied as NULL). Returns 0 or -ENOMEM, *p is untouched then. */
int free_and_strdup(char **p, const char *s) _warn_unused_;

/* Formats into a new string; NULL on lack of memory. */
char *strdup_printf(const char *format, ...) _printf_(1, 2) _warn_unused_;
char *strdup_vprintf(const char *format, va_list ap) _printf_(1, 0) _warn_unused_;

/* NULL-terminated arrays of strings that own their elements. */
char **strv_free(char **l);
size_t strv_length(char *const *l) _pure_;
bool strv_contains(char *const *l, const char *s) _pure_;
bool strv_equal(char *const *a, char *const *b) _pure_;
int strv_extend(char ***l, const char *s) _warn_unused_;
/* Takes s over, also on failure; s == NULL is -ENOMEM. */
int strv_consume(char ***l, char *s) _warn_unused_;
int strv_copy(char *const *l, char ***ret) _warn_unused_;
/* Splits at any of the separator characters, skips empty parts. */
int strv_split(const char *s, const char *separators, char ***ret) _warn_unused_;
/* Joins with the separator; "" for an empty list, NULL on lack of memory. */
char *strv_join(char *const *l, const char *separator) _warn_unused_;

DEFINE_CLEANUP_FUNC(char **, strv_free);
#define _cleanup_strv_ _cleanup_(strv_freep)

/* A copy of s in which control characters, DEL, what is invisible or turns the direction of text,
 * backslashes and bytes that are not UTF-8 appear as \xNN, so that a string from outside can neither forge
 * a log line nor move a terminal's cursor. Longer than max bytes, it is cut and ends in "...". NULL on lack
 * of memory. */
char *string_escape(const char *s, size_t max) _warn_unused_;

/* One word of a command for bash(1), that a person can paste: s as it is, or in quotes, with what
 * string_escape() escapes as $'\xNN'. NULL on lack of memory. */
char *shell_quote(const char *s) _warn_unused_;

/* Whether s is valid UTF-8 without overlong forms, surrogates and noncharacters: what D-Bus can carry. */
bool utf8_is_valid(const char *s) _pure_;
/* Whether s is that and has no control characters either (C0, DEL, C1), which a terminal or a log would
 * obey, nor what is invisible or turns the direction of text, by which one string looks like another. */
bool text_is_clean(const char *s) _pure_;
/* How many of the first max bytes of s, which is UTF-8, are whole characters. */
size_t utf8_length_within(const char *s, size_t max) _pure_;

/* Strict decimal numbers: digits only, no sign, no blanks. Return 0, -EINVAL or -ERANGE. */
int parse_u64(const char *s, unsigned long long *ret);
int parse_boolean(const char *s);

/* The words of an enum, whose values begin with 0. */
typedef struct StringTable {
        const char *const *words; /* NULL for a value that has none */
        size_t n;
} StringTable;

/* Returns NULL for a value that has no word. */
const char *string_table_get(const StringTable *t, size_t value) _pure_;
/* Returns the value, or -EINVAL if no word is s, which may be NULL. */
int string_table_find(const StringTable *t, const char *s) _pure_;

/* Declares/defines X_words, X_to_string() and X_from_string() over X_table. */
#define DECLARE_STRING_TABLE(name, type)          \
        extern const StringTable name##_words;    \
        const char *name##_to_string(type value); \
        int name##_from_string(const char *s)

#define DEFINE_STRING_TABLE(name, type)                                              \
        const StringTable name##_words = { name##_table, ELEMENTSOF(name##_table) }; \
        const char *name##_to_string(type value) {                                   \
                return string_table_get(&name##_words, (size_t) value);              \
        }                                                                            \
        int name##_from_string(const char *s) {                                      \
                return string_table_find(&name##_words, s);                          \
        }                                                                            \
        struct name##_table_needs_a_semicolon
