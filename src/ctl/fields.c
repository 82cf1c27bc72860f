/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/fields.h"
#include "ctl/format.h"
#include "ctl/terminal.h"

typedef enum FieldForm {
        FORM_PLAIN,
        FORM_ESCAPED,  /* a string in which selvold has escaped what came from outside */
        FORM_TIME,     /* µs since the epoch */
        FORM_DURATION, /* µs */
        FORM_COUNT,    /* of an array */
} FieldForm;

typedef struct Field {
        const char *key, *label;
        FieldForm form;
} Field;

static const Field fields[] = {
        { "AccessMode", "Access mode" },
        { "Conflicts", "Conflicts", FORM_COUNT },
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
        { "ErrorMessage", "Message", FORM_ESCAPED },
        { "ErrorName", "Error" },
        { "EstimatedEntries", "Estimated entries" },
        { "EstimatedUSec", "Estimated time", FORM_DURATION },
        { "FSGroup", "FS group" },
        { "FSType", "FS type" },
        { "Failures", "Failures", FORM_COUNT },
        { "History", "History", FORM_COUNT },
        { "Holders", "Holders", FORM_COUNT },
        { "Id", "ID" },
        { "LabelContext", "Label context" },
        { "LabelState", "Label state" },
        { "LastVerifiedUSec", "Last verified", FORM_TIME },
        { "Message", "Message", FORM_ESCAPED },
        { "Mismatches", "Mismatches", FORM_COUNT },
        { "MountID", "Mount ID" },
        { "MountOptions", "Mount options" },
        { "OwnershipDetail", "Ownership detail", FORM_ESCAPED },
        { "OwnershipReason", "Ownership reason" },
        { "OwnershipState", "Ownership state" },
        { "Path", "Path", FORM_ESCAPED },
        { "ReadOnly", "Read-only" },
        { "RelabelReason", "Relabel reason" },
        { "RemainingUSec", "Time left", FORM_DURATION },
        { "RuntimeFlag", "Runtime flag" },
        { "SELinuxMode", "SELinux mode" },
        { "SinceUSec", "Since", FORM_TIME },
        { "Tainted", "Unlabeled files" },
        { "TimeUSec", "Time", FORM_TIME },
        { "VolumeType", "Volume type" },
};

static const Field *field_find(const char *key) {
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                if (streq(fields[i].key, key))
                        return &fields[i];
        return NULL;
}

const char *field_label(const char *key) {
        const Field *f = field_find(key);

        return f ? f->label : key;
}

static FieldForm field_form(const char *key) {
        const Field *f = field_find(key);

        return f ? f->form : FORM_PLAIN;
}

bool field_has_text(const char *key, const json_t *value) {
        if (json_is_string(value))
                return json_string_length(value) > 0;
        if (json_is_array(value))
                return json_array_size(value) > 0 || field_form(key) == FORM_COUNT;
        return json_is_integer(value) || json_is_boolean(value);
}

static char *format_list(const json_t *array) {
        _cleanup_strv_ char **list = NULL;
        const json_t *element;
        size_t i;

        json_array_foreach (array, i, element)
                if (strv_consume(&list, field_format("", element)) < 0)
                        return NULL;
        return strv_join(list, ",");
}

static char *format_integer(FieldForm form, json_int_t n) {
        if (form == FORM_TIME)
                return format_time((uint64_t) n);
        if (form == FORM_DURATION)
                return format_duration((uint64_t) n);
        return strdup_printf("%" JSON_INTEGER_FORMAT, n);
}

char *field_format(const char *key, const json_t *value) {
        FieldForm form = field_form(key);

        switch (json_typeof(value)) {
        case JSON_STRING:
                return form == FORM_ESCAPED ? format_escaped(json_string_value(value))
                                            : format_string(json_string_value(value));
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
                { "SELinuxMode", "disabled", COLOR_YELLOW },
                { "SELinuxMode", "permissive", COLOR_YELLOW },
                { "State", "mounting", COLOR_YELLOW },
                { "State", "unmounting", COLOR_YELLOW },
                { "Tainted", "yes", COLOR_YELLOW },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].key, key) && (!table[i].text || streq(table[i].text, text)))
                        return table[i].color;
        return NULL;
}
