/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/format.h"
#include "ctl/history.h"
#include "ctl/terminal.h"
#include "wire/names.h"

#define RECENT_USEC (UINT64_C(3600) * USEC_PER_SEC)

/* What was done, if it succeeded. */
static const char *past_of(const char *operation) {
        static const struct {
                const char *operation, *past;
        } table[] = {
                { "mount", "mounted" },
                { "adopt", "adopted" },
                { "unmount", "unmounted" },
                { "verify", "verified" },
                { "relabel", "relabeled" },
                { "ownership", "given to a group" },
                { "release", "released" },
                { "change", "changed by others" },
                { "reconcile", "record corrected" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].operation, operation))
                        return table[i].past;
        return operation;
}

static char *format_event(const json_t *entry) {
        const char *operation = answer_string(entry, "Operation"), *result = answer_string(entry, "Result");
        _cleanup_free_ char *event = NULL;

        event = streq(result, "done") ? strdup(past_of(operation))
                                      : strdup_printf("%s failed (%s)", operation, result);
        return event ? format_string(event) : NULL;
}

/* With a word before it; nothing is added for what isn't there. */
static int add(char ***line, const char *word, const char *value) {
        _cleanup_free_ char *escaped = NULL;

        if (isempty(value))
                return 0;
        escaped = format_string(value);
        return strv_consume(line, escaped ? strdup_printf("%s %s", word, escaped) : NULL);
}

static int add_duration(char ***line, uint64_t usec) {
        _cleanup_free_ char *duration = NULL;

        if (usec == 0)
                return 0;
        duration = format_duration(usec);
        return strv_consume(line, duration ? strdup_printf("(%s)", duration) : NULL);
}

/* "uid 0, :1.42": nobody has that name on the bus any more. */
static int add_caller(char ***line, const char *caller) {
        _cleanup_free_ char *user = strndup(caller, strcspn(caller, ","));

        return user ? add(line, "by", user) : -ENOMEM;
}

char *history_format(const json_t *entry, const char *volume) {
        _cleanup_free_ char *head = NULL, *text = format_escaped(answer_string(entry, "Text")),
                            *id = format_string(volume ? volume : answer_string(entry, "Volume"));
        _cleanup_strv_ char **line = NULL;

        if (!text || !id)
                return NULL;
        if (strv_consume(&line, format_time(answer_number(entry, "TimeUSec"))) < 0 ||
            strv_consume(&line, strdup_printf("%s:", id)) < 0 || strv_consume(&line, format_event(entry)) < 0 ||
            add(&line, "at", answer_string(entry, "Target")) < 0 ||
            add(&line, "for", answer_string(entry, "Holder")) < 0 ||
            add(&line, "with", answer_string(entry, "Context")) < 0 ||
            add_duration(&line, answer_number(entry, "DurationUSec")) < 0 ||
            add_caller(&line, answer_string(entry, "Caller")) < 0)
                return NULL;
        head = strv_join(line, " ");
        if (!head || isempty(text))
                return TAKE_PTR(head);
        return strdup_printf("%s: %s", head, text);
}

bool history_has_failed(const json_t *entry) {
        return !streq(answer_string(entry, "Result"), "done");
}

int history_print(const json_t *entries, const char *volume, const char *indent) {
        bool colors = terminal_has_colors(STDOUT_FILENO);
        const json_t *entry;
        size_t i;

        json_array_foreach (entries, i, entry) {
                _cleanup_free_ char *line = history_format(entry, volume);
                bool red = colors && history_has_failed(entry);

                if (!line)
                        return -ENOMEM;
                printf("%s%s%s%s\n", indent, red ? COLOR_RED : "", line, red ? COLOR_OFF : "");
        }
        return 0;
}

int history_read_recent(sd_bus *bus, bool (*matches)(const json_t *entry), size_t max, json_t *ret) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *history = NULL;
        uint64_t now = now_realtime_usec();
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, MANAGER_INTERFACE, "GetHistory", NULL);
        if (r != 0)
                return r;
        r = answer_read(reply, &history);
        if (r < 0)
                return r;
        for (size_t i = json_array_size(history); i > 0 && json_array_size(ret) < max; i--) {
                json_t *entry = json_array_get(history, i - 1);

                if (answer_number(entry, "TimeUSec") + RECENT_USEC >= now && matches(entry) &&
                    json_array_insert(ret, 0, entry) < 0)
                        return -ENOMEM;
        }
        return 0;
}
