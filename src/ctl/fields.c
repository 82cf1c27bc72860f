/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "client/client-call.h"
#include "ctl/fields.h"
#include "ctl/format.h"
#include "ctl/terminal.h"

typedef enum FieldForm {
        FORM_PLAIN,
        FORM_TEXT,     /* a sentence from selvold */
        FORM_ESCAPED,  /* a string in which selvold has escaped parts from outside */
        FORM_TIME,     /* µs since the epoch */
        FORM_DURATION, /* µs */
        FORM_COUNT,    /* the number of an array's elements */
} FieldForm;

typedef struct FieldStyle {
        const char *key, *label;
        FieldForm form;
} FieldStyle;

static const FieldStyle fields[] = {
        { "AccessMode", "Access mode" },
        { "AlsoHeldAs", "Also held as" },
        { "ActiveState", "Service" },
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
        { "ErrorMessage", "Message", FORM_TEXT },
        { "ErrorName", "Error" },
        { "EstimatedEntries", "Estimated entries" },
        { "EstimatedUSec", "Estimated time", FORM_DURATION },
        { "FSGroup", "FS group" },
        { "FSType", "FS type" },
        { "Failed", "Failed", FORM_COUNT },
        { "Failures", "Failures", FORM_COUNT },
        { "Holders", "Holders", FORM_COUNT },
        { "Id", "ID" },
        { "InUse", "In use" },
        { "JobsRunning", "Jobs running" },
        { "JobsWaiting", "Jobs waiting" },
        { "LabelContext", "Label context" },
        { "LabelState", "Label state" },
        { "LabelsComplete", "Labels complete" },
        { "LabelsPartial", "Labels partial" },
        { "LabelsUnknown", "Labels unknown" },
        { "LastUsedUSec", "Last used", FORM_TIME },
        { "LastVerifiedUSec", "Last verified", FORM_TIME },
        { "Message", "Message", FORM_TEXT },
        { "Mismatches", "Mismatches", FORM_COUNT },
        { "MountedBy", "Mounted by", FORM_ESCAPED },
        { "MountedElsewhere", "Mounted elsewhere" },
        { "MountID", "Mount ID" },
        { "MountOptions", "Mount options" },
        { "OnDisk", "On disk" },
        { "OwnershipDetail", "Ownership detail", FORM_TEXT },
        { "OwnershipReason", "Ownership reason" },
        { "OwnershipState", "Ownership state" },
        { "Path", "Path", FORM_ESCAPED },
        { "ReadOnly", "Read-only" },
        { "RelabelReason", "Relabel reason" },
        { "RemainingUSec", "Time left", FORM_DURATION },
        { "Renewed", "New file system" },
        { "RuntimeFlag", "Runtime flag" },
        { "SELinuxMode", "SELinux mode" },
        { "SinceUSec", "Since", FORM_TIME },
        { "StartedUSec", "Started", FORM_TIME },
        { "StatusText", "Status", FORM_ESCAPED },
        { "StillOpen", "Still open" },
        { "Tainted", "Unlabeled files" },
        { "Text", "Text", FORM_TEXT },
        { "TimeUSec", "Time", FORM_TIME },
        { "UnrecordedMounts", "Unrecorded mounts", FORM_COUNT },
        { "VolumeType", "Volume type" },
        { "VolumesTainted", "With unlabeled files" },
};

static const FieldStyle *field_find(const char *key) {
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                if (streq(fields[i].key, key))
                        return &fields[i];
        return NULL;
}

const char *field_label(const char *key) {
        const FieldStyle *f = field_find(key);

        return f ? f->label : key;
}

static FieldForm field_form(const char *key) {
        const FieldStyle *f = field_find(key);

        return f ? f->form : FORM_PLAIN;
}

bool field_is_long(const char *key) {
        static const char *const keys[] = { "AlsoAt",       "Context", "CoveredBy", "Holder", "InUse",
                                            "LabelContext", "Message", "MountedBy", "OnDisk", "Path",
                                            "Source",       "Target",  "Text" };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (streq(keys[i], key))
                        return true;
        return false;
}

bool field_is_sentence(const char *key) {
        return field_form(key) == FORM_TEXT;
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

static char *format_text(FieldForm form, const char *s) {
        _cleanup_free_ char *text = NULL;

        if (form == FORM_PLAIN)
                return format_string(s);
        if (form != FORM_TEXT)
                return format_escaped(s);
        text = explain_text("--", s);
        return text ? format_escaped(text) : NULL;
}

char *field_format(const char *key, const json_t *value) {
        FieldForm form = field_form(key);

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
                { "SELinuxMode", "disabled", COLOR_YELLOW },
                { "SELinuxMode", "permissive", COLOR_YELLOW },
                { "State", "mounting", COLOR_YELLOW },
                { "State", "problem", COLOR_RED },
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
