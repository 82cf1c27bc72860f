/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <langinfo.h>
#include <wchar.h>

#include <libsmartcols.h>

#include "basic/string-util.h"
#include "client/client-call.h"
#include "ctl/print.h"
#include "ctl/terminal.h"

enum { COLUMNS_MAX = 16, CELL_MIN = 8 };

/* --- values --- */

typedef enum FieldForm {
        FORM_PLAIN,
        FORM_TEXT,     /* a sentence from selvold */
        FORM_ESCAPED,  /* a string in which selvold has escaped parts from outside */
        FORM_TIME,     /* µs since the epoch */
        FORM_AGE,      /* the time since then */
        FORM_DURATION, /* µs */
        FORM_COUNT,    /* the number of an array's elements */
        FORM_NEVER,    /* for programs: only --json has it */
        FORM_IF_TRUE,  /* a boolean that says something only if it is true */
} FieldForm;

typedef struct FieldStyle {
        const char *key, *label;
        FieldForm form;
        bool is_long; /* a table may shorten it */
} FieldStyle;

static const FieldStyle fields[] = {
        { "AccessMode", "Access mode" },
        { "ActiveState", "Service" },
        { "AlsoAt", "Also at", .is_long = true },
        { "AlsoHeldAs", "Also held as" },
        { "Conflicts", "Conflicts", FORM_COUNT },
        { "Context", "Context", .is_long = true },
        { "CoveredBy", "Hidden by", .is_long = true },
        { "DirectoriesModified", "Directories modified" },
        { "DiskGroup", "Disk group" },
        { "DurationUSec", "Duration", FORM_DURATION },
        { "EntriesChanged", "Entries changed" },
        { "EntriesDone", "Entries" },
        { "EntriesFailed", "Entries failed" },
        { "EntriesMismatched", "Wrong labels" },
        { "EntriesMisowned", "Wrong groups" },
        { "EntriesPerSecond", "Rate" },
        { "EntriesSkipped", "Entries skipped" },
        { "EntriesTotal", "Total" },
        { "ErrorMessage", "Message", FORM_TEXT, .is_long = true },
        { "ErrorName", "Error" },
        { "EstimatedEntries", "Estimated entries" },
        { "EstimatedUSec", "Estimated time", FORM_DURATION },
        { "FSGroup", "FS group" },
        { "FSType", "FS type" },
        { "Failed", "Failed", FORM_COUNT },
        { "Failures", "Failures", FORM_COUNT },
        { "Holder", "Holder", .is_long = true },
        { "Holders", "Holders", FORM_COUNT },
        { "Id", "ID", .is_long = true },
        { "JobsRunning", "Jobs running" },
        { "JobsWaiting", "Jobs waiting" },
        { "LabelContext", "Label context", .is_long = true },
        { "LabelState", "Label state" },
        { "LabelsPartial", "Labels partial" },
        { "LastUsedUSec", "Last used", FORM_TIME },
        { "LastVerifiedUSec", "Last verified", FORM_TIME },
        { "Message", "Message", FORM_TEXT, .is_long = true },
        { "Mismatches", "Mismatches", FORM_COUNT },
        { "MountedBy", "Mounted by", FORM_ESCAPED, .is_long = true },
        { "MountedElsewhere", "Mounted elsewhere", FORM_IF_TRUE },
        { "MountID", "Mount ID", FORM_NEVER },
        { "MountOptions", "Mount options" },
        { "OwnershipDetail", "Ownership detail", FORM_TEXT },
        { "OwnershipReason", "Ownership reason" },
        { "OwnershipState", "Ownership state" },
        { "Path", "Path", FORM_ESCAPED, .is_long = true },
        { "ReadOnly", "Read-only" },
        { "RelabelReason", "Relabel reason" },
        { "RemainingUSec", "Time left", FORM_DURATION },
        { "Renewed", "New file system", FORM_IF_TRUE },
        { "RuntimeFlag", "Runtime flag" },
        { "SELinuxMode", "SELinux mode" },
        { "SinceUSec", "Since", FORM_TIME },
        { "Source", "Source", .is_long = true },
        { "StartedUSec", "Started", FORM_TIME },
        { "StatusText", "Status", FORM_ESCAPED },
        { "StillOpen", "Still open", FORM_IF_TRUE },
        { "Tainted", "New files may lack a label", FORM_IF_TRUE },
        { "Target", "Target", .is_long = true },
        { "Text", "Why", FORM_TEXT, .is_long = true },
        { "UnrecordedMounts", "Unrecorded mounts", FORM_COUNT },
        { "UsedUSec", "Age", FORM_AGE },
        { "Volume", "Volume", .is_long = true },
        { "VolumeType", "Volume type" },
        { "WaitsFor", "Waits for", FORM_ESCAPED, .is_long = true },
};

/* A key without a row: its own name, and FORM_PLAIN. */
static FieldStyle field_style(const char *key) {
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                if (streq(fields[i].key, key))
                        return fields[i];
        return (FieldStyle){ .key = key, .label = key };
}

static bool field_has_text(FieldForm form, const json_t *value) {
        if (json_is_string(value))
                return json_string_length(value) > 0;
        if (json_is_array(value))
                return json_array_size(value) > 0 || form == FORM_COUNT;
        if (json_is_boolean(value))
                return form != FORM_IF_TRUE || json_is_true(value);
        return json_is_integer(value);
}

static char *field_format(FieldForm form, const json_t *value);

static char *format_list(const json_t *array) {
        _cleanup_strv_ char **list = NULL;
        const json_t *element;
        size_t i;

        json_array_foreach (array, i, element)
                if (strv_consume(&list, field_format(FORM_PLAIN, element)) < 0)
                        return NULL;
        return strv_join(list, ",");
}

static char *format_integer(FieldForm form, json_int_t n) {
        switch (form) {
        case FORM_TIME:
                return format_time((uint64_t) n);
        case FORM_AGE:
                return format_age((uint64_t) n);
        case FORM_DURATION:
                return format_duration((uint64_t) n);
        default:
                return strdup_printf("%" JSON_INTEGER_FORMAT, n);
        }
}

static char *format_text(FieldForm form, const char *s) {
        _cleanup_free_ char *text = NULL;

        if (form == FORM_ESCAPED)
                return format_escaped(s);
        if (form != FORM_TEXT)
                return format_string(s);
        text = text_join_lines(explain_text("--", s));
        return text ? format_escaped(text) : NULL;
}

/* Formats a value as text that is safe to print. NULL on lack of memory. */
static char *field_format(FieldForm form, const json_t *value) {
        switch (json_typeof(value)) {
        case JSON_STRING:
                return format_text(form, json_string_value(value));
        case JSON_INTEGER:
                return format_integer(form, json_integer_value(value));
        case JSON_TRUE:
                return strdup("yes");
        case JSON_FALSE:
                return strdup("no");
        case JSON_ARRAY:
                return form == FORM_COUNT ? strdup_printf("%zu", json_array_size(value)) : format_list(value);
        default:
                return strdup("");
        }
}

const char *field_color(const char *key, const char *text) {
        static const struct {
                const char *key, *text, *color;
        } table[] = {
                { "ErrorName", NULL, COLOR_RED },
                { "LabelState", "partial", COLOR_YELLOW },
                { "Matches", "no", COLOR_RED },
                { "OwnershipState", "partial", COLOR_YELLOW },
                { "Result", "done", NULL },
                { "Result", "-", NULL },
                { "Result", NULL, COLOR_RED },
                { "SELinuxMode", "disabled", COLOR_YELLOW },
                { "SELinuxMode", "permissive", COLOR_YELLOW },
                { "State", "hidden", COLOR_RED },
                { "State", "mounting", COLOR_YELLOW },
                { "State", "partial", COLOR_YELLOW },
                { "State", "problem", COLOR_RED },
                { "State", "read-only", COLOR_YELLOW },
                { "State", "unknown", COLOR_YELLOW },
                { "State", "unmounting", COLOR_YELLOW },
                { "State", "warning", COLOR_YELLOW },
                { "Tainted", "yes", COLOR_YELLOW },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].key, key) && (!table[i].text || streq(table[i].text, text)))
                        return table[i].color;
        return NULL;
}

/* --- JSON --- */

/* Escapes DEL, which jansson does not. */
static int write_json(const char *text, size_t n, void *userdata) {
        for (size_t i = 0; i < n; i++)
                if (text[i] == '\x7f')
                        fputs("\\u007f", stdout);
                else
                        putchar(text[i]);
        return 0; /* main() checks the stream */
}

static int dump_json(const json_t *value, size_t form) {
        /* JSON_ENSURE_ASCII, because a terminal also obeys some characters beyond ASCII. */
        if (json_dump_callback(value, write_json, NULL, form | JSON_ENSURE_ASCII) < 0)
                return -ENOMEM;
        putchar('\n');
        return 0;
}

int print_json(const Args *a, const json_t *value) {
        return dump_json(value, a->json_pretty ? JSON_INDENT(4) : JSON_COMPACT);
}

int print_json_line(const json_t *object) {
        int r;

        r = dump_json(object, JSON_COMPACT);
        return r < 0 ? r : fflush(stdout) != 0 ? -errno : 0;
}

/* --- texts that are too wide --- */

/* Reads a character. Returns its bytes, and sets *ret to its columns; both are 0 at the end. */
static size_t next_character(const char *s, size_t *ret) {
        mbstate_t state = { 0 };
        wchar_t c;
        size_t n;
        int width;

        n = mbrtowc(&c, s, MB_CUR_MAX, &state);
        if (n == 0) {
                *ret = 0;
                return 0;
        }
        if (n > MB_CUR_MAX) { /* invalid in the locale */
                *ret = 1;
                return 1;
        }
        width = wcwidth(c);
        *ret = width > 0 ? (size_t) width : 0;
        return n;
}

size_t text_width(const char *text) {
        size_t sum = 0, width, n;

        for (; (n = next_character(text, &width)) > 0; text += n)
                sum += width;
        return sum;
}

char *text_fit(const char *text, size_t width) {
        const char *ellipsis = streq(nl_langinfo(CODESET), "UTF-8") ? "\u2026" : "...", *head = text, *tail = text;
        size_t all = text_width(text), room = width - text_width(ellipsis), left = room / 2, taken, n;

        if (all <= width)
                return strdup(text);
        for (; (n = next_character(head, &taken)) > 0 && taken <= left; head += n)
                left -= taken;
        while (all > room - room / 2) {
                tail += next_character(tail, &taken);
                all -= taken;
        }
        return strdup_printf("%.*s%s%s", (int) (head - text), text, ellipsis, tail);
}

/* --- tables --- */

static const char *const holder_columns[] = {
        "?Volume",    "?Holder",   "Target",   "?State",     "?ReadOnly", "?Adopted", "?FSGroup",
        "?DiskGroup", "SinceUSec", "?Context", "?CoveredBy", "?AlsoAt",   NULL,
};
static const char *const issue_columns[] = { "Path", "Message", NULL };

/* The members that are arrays of objects. */
static const struct {
        const char *key;
        const char *const *columns;
} tables[] = {
        { "Conflicts", holder_columns },
        { "Holders", holder_columns },
        { "Failures", issue_columns },
        { "Mismatches", issue_columns },
};

static bool any_has_member(const json_t *rows, const char *key) {
        const json_t *row;
        size_t i;

        json_array_foreach (rows, i, row)
                if (json_object_get(row, key) && !json_is_null(json_object_get(row, key)))
                        return true;
        return false;
}

/* Without a legend a heading is "": libsmartcols 2.38 makes columns as wide as headings that it does not
 * print. */
static int add_column(struct libscols_table *t, const char *key, bool legend) {
        _cleanup_free_ char *heading = strdup(legend ? field_style(key).label : "");

        for (char *p = heading; p && *p; p++)
                *p = *p == ' ' ? '-' : (char) toupper((unsigned char) *p);
        return heading && scols_table_new_column(t, heading, 0, 0) ? 0 : -ENOMEM;
}

/* Formats a cell, as ASCII unless the locale is UTF-8: libsmartcols 2.38 loops forever over bytes that are
 * invalid in the locale, such as those beyond ASCII in "C". */
static char *format_cell(const char *key, const json_t *value) {
        char *text = value ? field_format(field_style(key).form, value) : strdup(""), *ascii;

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

static int add_row(struct libscols_table *t, const json_t *row, const char *const shown[], size_t n, bool colors) {
        struct libscols_line *line = scols_table_new_line(t, NULL);

        if (!line)
                return -ENOMEM;
        for (size_t k = 0; k < n; k++) {
                char *text = format_cell(shown[k], json_object_get(row, shown[k]));
                const char *color = text && colors ? field_color(shown[k], text) : NULL;
                int r;

                if (!text)
                        return -ENOMEM;
                r = scols_line_refer_data(line, k, text); /* takes text over */
                if (r < 0)
                        return r;
                r = color ? scols_cell_set_color(scols_line_get_cell(line, k), color) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static struct libscols_cell *cell_at(struct libscols_table *t, size_t row, size_t column) {
        return row == 0 ? scols_column_get_header(scols_table_get_column(t, column))
                        : scols_line_get_cell(scols_table_get_line(t, row - 1), column);
}

/* Narrows the widest of the long columns, again and again, until the table fits. libsmartcols can only cut
 * the ends of cells: the ends of targets and the beginnings of ids tell them apart. */
static int fit_cells(struct libscols_table *t, const char *const shown[], size_t n, size_t terminal) {
        size_t widths[COLUMNS_MAX] = { 0 }, n_rows = scols_table_get_nlines(t) + 1, sum = n - 1;

        for (size_t k = 0; k < n; k++) {
                for (size_t i = 0; i < n_rows; i++) {
                        size_t w = text_width(strempty(scols_cell_get_data(cell_at(t, i, k))));

                        widths[k] = w > widths[k] ? w : widths[k];
                }
                sum += widths[k];
        }
        for (; sum > terminal; sum--) {
                size_t widest = n;

                for (size_t k = 0; k < n; k++)
                        if (field_style(shown[k]).is_long && widths[k] > CELL_MIN &&
                            (widest == n || widths[k] > widths[widest]))
                                widest = k;
                if (widest == n)
                        break;
                widths[widest]--;
        }
        for (size_t k = 0; k < n; k++)
                for (size_t i = 0; i < n_rows; i++) {
                        struct libscols_cell *cell = cell_at(t, i, k);
                        char *text = text_fit(strempty(scols_cell_get_data(cell)), widths[k]);

                        if (!text || scols_cell_refer_data(cell, text) < 0)
                                return -ENOMEM;
                }
        return 0;
}

static void table_unrefp(struct libscols_table **t) {
        scols_unref_table(*t);
}

int print_table(const Args *a, const json_t *rows, const char *const keys[]) {
        const bool legend = !args_have(a, SWITCH_NO_LEGEND), colors = terminal_has_colors(STDOUT_FILENO);
        _cleanup_(table_unrefp) struct libscols_table *t = scols_new_table();
        const char *shown[COLUMNS_MAX];
        size_t n = 0, i;
        const json_t *row;
        int r = 0;

        if (!t)
                return -ENOMEM;
        if (json_array_size(rows) == 0)
                return 0;
        (void) scols_table_enable_colors(t, colors);
        (void) scols_table_enable_noheadings(t, !legend);
        (void) scols_table_enable_noencoding(t, 1); /* the text is escaped */
        (void) scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER);
        for (; *keys && n < COLUMNS_MAX && r >= 0; keys++)
                if (**keys != '?' || any_has_member(rows, *keys + 1)) {
                        shown[n] = *keys + (**keys == '?');
                        r = add_column(t, shown[n++], legend);
                }
        json_array_foreach (rows, i, row)
                if (r >= 0)
                        r = add_row(t, row, shown, n, colors);
        if (r >= 0 && terminal_is_capable(STDOUT_FILENO) && !args_ask_for(a, "wide"))
                r = fit_cells(t, shown, n, terminal_width(STDOUT_FILENO));
        return r < 0 ? r : scols_print_table(t);
}

/* --- objects --- */

/* Whether a member only repeats another one: a context mount needs no labels on disk. */
static bool is_implied(const json_t *object, const char *key, const json_t *value) {
        const char *strategy = answer_string(object, "Strategy"), *text = strempty(json_string_value(value));

        if (streq(key, "Reason"))
                return streq(text, strategy);
        if (!streq(strategy, "context-mount"))
                return false;
        return streq(key, "Tainted") || (streq(key, "LabelState") && streq(text, "unknown"));
}

bool member_is_shown(const json_t *object, const char *key, const json_t *value) {
        FieldForm form = field_style(key).form;

        return form != FORM_NEVER && field_has_text(form, value) && !is_implied(object, key, value);
}

static int print_members(const json_t *object) {
        json_t *o = (json_t *) object, *value; /* jansson's iterators take no const */
        bool colors = terminal_has_colors(STDOUT_FILENO);
        size_t width = 0;
        const char *key;

        json_object_foreach (o, key, value)
                if (member_is_shown(object, key, value) && strlen(field_style(key).label) > width)
                        width = strlen(field_style(key).label);
        json_object_foreach (o, key, value) {
                FieldStyle style = field_style(key);
                _cleanup_free_ char *text = NULL;
                const char *color;

                if (!member_is_shown(object, key, value))
                        continue;
                text = field_format(style.form, value);
                if (!text)
                        return -ENOMEM;
                color = colors ? field_color(key, text) : NULL;
                printf("%*s: %s%s%s\n", (int) width, style.label, strempty(color), text, color ? COLOR_OFF : "");
        }
        return 0;
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
