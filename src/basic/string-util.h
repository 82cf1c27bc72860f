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

/* Like streq(), but accepts NULL, which equals only NULL. */
static inline bool streq_ptr(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static inline bool isempty(const char *s) {
        return !s || s[0] == '\0';
}

static inline const char *strempty(const char *s) {
        return s ? s : "";
}

/* Returns the rest of s after prefix, or NULL if s does not begin with it. */
static inline const char *startswith(const char *s, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

/* Replaces *p by a copy of s (NULL if s is NULL). Returns 0, or -ENOMEM with *p unchanged. */
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
/* Takes s over, also on failure. Returns 0, or -ENOMEM, also if s is NULL. */
int strv_consume(char ***l, char *s) _warn_unused_;
int strv_copy(char *const *l, char ***ret) _warn_unused_;
/* Splits at any of the separator characters, skips empty parts. */
int strv_split(const char *s, const char *separators, char ***ret) _warn_unused_;
/* Joins with the separator; "" for an empty list, NULL on lack of memory. */
char *strv_join(char *const *l, const char *separator) _warn_unused_;

DEFINE_CLEANUP_FUNC(char **, strv_free);
#define _cleanup_strv_ _cleanup_(strv_freep)

/* Returns a copy of s with \xNN in place of control characters, DEL, characters that are invisible or change
 * the direction of text, backslashes, and bytes that are not UTF-8: so a string from outside can neither
 * forge a log line nor move a terminal's cursor. Cuts s after max bytes and then adds "...". NULL on lack of
 * memory. */
char *string_escape(const char *s, size_t max) _warn_unused_;

/* Like string_escape() for a text that may have escapes already: leaves backslashes, and cuts nothing. */
char *text_make_clean(const char *s) _warn_unused_;

/* Makes one line of a text, in place: a blank takes the place of each line break. Returns s; NULL stays
 * NULL. */
char *text_join_lines(char *s);

/* Returns s as one word of a bash(1) command that a person can paste: unchanged, or in quotes, with $'\xNN'
 * for the characters that string_escape() escapes. NULL on lack of memory. */
char *shell_quote(const char *s) _warn_unused_;

/* Whether s is valid UTF-8 without overlong forms, surrogates and noncharacters, as D-Bus requires. */
bool utf8_is_valid(const char *s) _pure_;
/* Whether s is valid UTF-8 without control characters (C0, DEL, C1), which a terminal or a log would obey,
 * and without characters that are invisible or change the direction of text, which can make one string look
 * like another. */
bool text_is_clean(const char *s) _pure_;
/* The number of bytes of whole characters in the first max bytes of s, which has to be UTF-8. */
size_t utf8_length_within(const char *s, size_t max) _pure_;

/* Parses a decimal number: digits only, no sign, no blanks. Returns 0, -EINVAL or -ERANGE. */
int parse_u64(const char *s, unsigned long long *ret);
int parse_boolean(const char *s);

/* The words of an enum, whose values begin with 0. */
typedef struct StringTable {
        const char *const *words; /* NULL for a value without a word */
        size_t n;
} StringTable;

/* Returns NULL for a value without a word. */
const char *string_table_get(const StringTable *t, size_t value) _pure_;
/* Returns the value of a word, or -EINVAL if the table lacks it. s may be NULL. */
int string_table_find(const StringTable *t, const char *s) _pure_;

/* Declare and define X_words, X_to_string() and X_from_string() for X_table. */
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
