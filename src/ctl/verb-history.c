/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-id128.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "client/client-call.h"
#include "ctl/bus.h"
#include "ctl/history.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

/* --- the journal --- */

/* A directory of journal files for tests, in place of those of the node. */
#define DIRECTORY_VARIABLE "SELVOL_JOURNAL"

static bool is_denied(const char *directory, const char *machine) {
        _cleanup_free_ char *path = strdup_printf("%s/%s/system.journal", directory, machine);

        return path && access(path, R_OK) < 0 && errno == EACCES;
}

/* Finds out why no file is open: libsystemd opens only the files that the caller may read, and reports no
 * error for the others. */
static int explain_nothing(void) {
        char machine[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r;

        r = sd_id128_get_machine(&id);
        if (r < 0)
                return r;
        sd_id128_to_string(id, machine);
        return is_denied("/var/log/journal", machine) || is_denied("/run/log/journal", machine) ? -EACCES : -ENODATA;
}

int journal_open(sd_journal **ret) {
        const char *directory = getenv(DIRECTORY_VARIABLE);
        _cleanup_(sd_journal_closep) sd_journal *j = NULL;
        uint64_t size;
        int r;

        assert(ret);

        r = directory ? sd_journal_open_directory(&j, directory, SD_JOURNAL_SYSTEM)
                      : sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
        if (r < 0)
                return r;
        r = sd_journal_get_usage(j, &size);
        if (r < 0)
                return r;
        if (size == 0) /* no file is open */
                return directory ? (is_denied(directory, ".") ? -EACCES : -ENODATA) : explain_nothing();
        *ret = TAKE_PTR(j);
        return 0;
}

int journal_get(sd_journal *j, const char *field, char **ret) {
        const void *data;
        char *value;
        size_t size, skipped = strlen(field) + 1;

        if (sd_journal_get_data(j, field, &data, &size) < 0 || size < skipped) {
                *ret = NULL;
                return 0;
        }
        value = strndup((const char *) data + skipped, size - skipped);
        if (!value)
                return -ENOMEM;
        *ret = value;
        return 0;
}

/* --- entries --- */

/* Which entries to read. */
typedef struct HistoryQuery {
        const char *subject; /* a volume or a target; NULL: all */
        bool is_target;
        uint64_t since_usec, until_usec; /* since the epoch; until: 0: without an end */
        size_t max;
        bool failed; /* only failures */
} HistoryQuery;

#define RECENT_USEC (UINT64_C(3600) * USEC_PER_SEC)

/* Any process can log fields of selvol, but only journald sets this one. */
#define MATCH_SERVICE "_SYSTEMD_UNIT=selvold.service"

/* A failure that is only the caller's mistake has the priority notice, every other failure warning. */
#define PRIORITY_OF_MISTAKE "5"

static int add_match(sd_journal *j, const char *field, const char *value) {
        _cleanup_free_ char *match = strdup_printf("%s=%s", field, value);

        return match ? sd_journal_add_match(j, match, 0) : -ENOMEM;
}

/* Finds the records of a volume, or of a path. */
static int match_subject(sd_journal *j, const HistoryQuery *q) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = sd_journal_add_conjunction(j);
        if (r >= 0)
                r = add_match(j, "SELVOL_VOLUME", q->subject);
        if (r < 0 || !q->is_target)
                return r;
        target = path_make_clean(q->subject);
        if (!target)
                return -errno;
        r = sd_journal_add_disjunction(j);
        return r < 0 ? r : add_match(j, "SELVOL_TARGET", target);
}

static int add_text(json_t *entry, const char *member, sd_journal *j, const char *field) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = journal_get(j, field, &text);
        if (r < 0 || isempty(text) || !utf8_is_valid(text))
                return r;
        return json_object_set_new(entry, member, json_string(text));
}

static int add_duration(json_t *entry, const char *member, sd_journal *j, const char *field) {
        _cleanup_free_ char *text = NULL;
        unsigned long long usec;
        int r;

        r = journal_get(j, field, &text);
        if (r < 0 || !text || parse_u64(text, &usec) < 0)
                return r;
        return json_object_set_new(entry, member, json_integer((json_int_t) usec));
}

/* Returns 1 and the present record, 0 if the record is not about the end of an operation, or a negative
 * errno. */
static int read_entry(sd_journal *j, uint64_t usec, json_t **ret) {
        static const struct {
                const char *member, *field;
        } texts[] = {
                { "Volume", "SELVOL_VOLUME" },   { "Operation", "SELVOL_OPERATION" }, { "Result", "SELVOL_RESULT" },
                { "Reason", "SELVOL_REASON" },   { "Target", "SELVOL_TARGET" },       { "Holder", "SELVOL_HOLDER" },
                { "Context", "SELVOL_CONTEXT" }, { "Caller", "SELVOL_CALLER" },       { "Text", "MESSAGE" },
        };
        _cleanup_json_ json_t *entry = NULL;

        entry = json_pack("{s:I}", "TimeUSec", (json_int_t) usec);
        if (!entry)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (add_text(entry, texts[i].member, j, texts[i].field) < 0)
                        return -ENOMEM;
        if (add_duration(entry, "DurationUSec", j, "SELVOL_DURATION_USEC") < 0 ||
            add_duration(entry, "WaitUSec", j, "SELVOL_WAIT_USEC") < 0)
                return -ENOMEM;
        if (isempty(answer_string(entry, "Operation")) || isempty(answer_string(entry, "Result")))
                return 0;
        /* A verification of a path has the path in place of the volume. */
        if (streq(answer_string(entry, "Volume"), answer_string(entry, "Target")))
                json_object_del(entry, "Volume");
        *ret = TAKE_PTR(entry);
        return 1;
}

static bool history_has_failed(const json_t *entry) {
        return !streq(answer_string(entry, "Result"), "done");
}

/* Identifies the job of the present record, and the run of selvold; NULL: the record belongs to no job. */
static int read_job(sd_journal *j, char **ret) {
        _cleanup_free_ char *run = NULL, *job = NULL;

        if (journal_get(j, "SELVOL_JOB", &job) < 0 || journal_get(j, "_SYSTEMD_INVOCATION_ID", &run) < 0)
                return -ENOMEM;
        *ret = job ? strdup_printf("%s job %s", strempty(run), job) : NULL;
        return job && !*ret ? -ENOMEM : 0;
}

static int append_text(json_t *entry, const json_t *other) {
        _cleanup_free_ char *text =
                strdup_printf("%s %s", answer_string(entry, "Text"), answer_string(other, "Text"));

        return text ? json_object_set_new(entry, "Text", json_string(text)) : -ENOMEM;
}

/* Whether the history leaves the record out: a caller's mistake, or a verification without a finding. */
static int is_left_out(sd_journal *j, const json_t *entry) {
        _cleanup_free_ char *priority = NULL, *message = NULL;

        if (journal_get(j, "PRIORITY", &priority) < 0 || journal_get(j, "MESSAGE_ID", &message) < 0)
                return -ENOMEM;
        if (history_has_failed(entry))
                return streq_ptr(priority, PRIORITY_OF_MISTAKE);
        return streq(answer_string(entry, "Operation"), "verify") && !message;
}

/* Reads records from the latest to the earliest. selvold logs the record of a job after those about its
 * files: the function appends their sentences to the job's. */
static int collect_records(sd_journal *j, const HistoryQuery *q, json_t *found) {
        _cleanup_json_ json_t *last = NULL;
        _cleanup_free_ char *last_job = NULL;
        int r;

        while ((r = sd_journal_previous(j)) > 0) {
                _cleanup_json_ json_t *entry = NULL;
                _cleanup_free_ char *job = NULL;
                uint64_t usec;

                r = sd_journal_get_realtime_usec(j, &usec);
                if (r < 0)
                        return r;
                if (usec < q->since_usec)
                        return 0;
                if (q->until_usec > 0 && usec > q->until_usec)
                        continue;
                r = read_entry(j, usec, &entry);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                r = read_job(j, &job);
                if (r < 0)
                        return r;
                if (job && streq_ptr(job, last_job)) {
                        if (append_text(last, entry) < 0)
                                return -ENOMEM;
                        continue;
                }
                if (json_array_size(found) >= q->max)
                        return 0;
                r = is_left_out(j, entry);
                if (r < 0)
                        return r;
                if (r == 0 && (!q->failed || history_has_failed(entry)) && json_array_append(found, entry) < 0)
                        return -ENOMEM;
                json_decref(last);
                last = TAKE_PTR(entry);
                free(last_job);
                last_job = TAKE_PTR(job);
        }
        return r;
}

static int open_matching(const HistoryQuery *q, sd_journal **ret) {
        _cleanup_(sd_journal_closep) sd_journal *j = NULL;
        int r;

        r = journal_open(&j);
        if (r < 0)
                return r;
        r = sd_journal_add_match(j, MATCH_SERVICE, 0);
        if (r >= 0 && q->subject)
                r = match_subject(j, q);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(j);
        return 0;
}

static int read_last(sd_journal *j, const HistoryQuery *q, json_t *ret) {
        _cleanup_json_ json_t *found = json_array();
        int r;

        if (!found)
                return -ENOMEM;
        r = sd_journal_seek_tail(j);
        if (r < 0)
                return r;
        r = collect_records(j, q, found);
        if (r < 0)
                return r;
        for (size_t i = json_array_size(found); i > 0; i--)
                if (json_array_append(ret, json_array_get(found, i - 1)) < 0)
                        return -ENOMEM;
        return 0;
}

/* Appends the last entries to ret, the oldest first. Returns 0, -EACCES if the caller may not read the
 * journal, -ENODATA if there is no journal, or another negative errno. */
static int history_read(const HistoryQuery *q, json_t *ret) {
        _cleanup_(sd_journal_closep) sd_journal *j = NULL;
        int r;

        r = open_matching(q, &j);
        return r < 0 ? r : read_last(j, q, ret);
}

/* Calls back with the entries that come, until the callback returns something else than 0. */
static int history_follow(const HistoryQuery *q, int (*callback)(const json_t *entries, void *userdata),
                          void *userdata) {
        _cleanup_(sd_journal_closep) sd_journal *j = NULL;
        HistoryQuery next = *q;
        int r;

        r = open_matching(q, &j);
        while (r >= 0) {
                _cleanup_json_ json_t *entries = json_array();
                const json_t *last;

                if (!entries)
                        return -ENOMEM;
                r = read_last(j, &next, entries);
                if (r >= 0)
                        r = callback(entries, userdata);
                if (r != 0)
                        return r;
                last = json_array_get(entries, json_array_size(entries) - 1);
                if (last)
                        next.since_usec = answer_number(last, "TimeUSec") + 1;
                next.max = SIZE_MAX;
                r = sd_journal_wait(j, UINT64_MAX);
        }
        return r;
}

int history_read_failed(size_t max, json_t **ret) {
        const HistoryQuery q = { .since_usec = now_realtime_usec() - RECENT_USEC, .max = max, .failed = true };
        _cleanup_json_ json_t *entries = json_array();
        int r;

        if (!entries)
                return -ENOMEM;
        r = history_read(&q, entries);
        if (r == -ENOMEM)
                return r;
        *ret = r < 0 ? json_null() : TAKE_PTR(entries);
        return 0;
}

/* Explains -EACCES or -ENODATA and the remedy; NULL for any other error. */
static const char *history_explain(int error) {
        switch (error) {
        case -EACCES:
                return "The history is in the journal, which only root and members of the group systemd-journal or adm can read. 'usermod -aG systemd-journal USER' adds one, from the next login on.";
        case -ENODATA:
                return "The history would be in the journal, but none is kept: see Storage= in journald.conf(5), and 'systemctl status systemd-journald'.";
        default:
                return NULL;
        }
}

/* Cuts "uid 0, :1.42": the name on the bus is gone. */
static char *format_caller(const json_t *entry) {
        const char *caller = answer_string(entry, "Caller");
        _cleanup_free_ char *user = strndup(caller, strcspn(caller, ","));

        return user ? format_string(user) : NULL;
}

/* On a terminal "2026-01-31 18:00:00 (3min ago)", in local time. */
static char *format_entry_time(const json_t *entry) {
        const uint64_t usec = answer_number(entry, "TimeUSec");
        _cleanup_free_ char *time = format_time(usec), *age = format_age(usec);

        if (!time || !age || !terminal_is_capable(STDOUT_FILENO))
                return TAKE_PTR(time);
        return strdup_printf("%.*s (%s ago)", (int) strlen("2026-01-31 18:00:00"), time, age);
}

static char *format_entry(const json_t *entry) {
        _cleanup_free_ char *time = format_entry_time(entry), *caller = format_caller(entry),
                            *result = format_string(history_has_failed(entry) ? answer_string(entry, "Result") : ""),
                            *explained = explain_text("--", answer_string(entry, "Text")),
                            *text = explained ? format_escaped(explained) : NULL;

        if (!time || !caller || !result || !text)
                return NULL;
        return strdup_printf("%s %s%s%s%s%s", time, caller, isempty(caller) ? "" : ": ", result,
                             isempty(result) ? "" : ": ", text);
}

int history_print(const json_t *entries, const char *indent) {
        bool colors = terminal_has_colors(STDOUT_FILENO);
        const json_t *entry;
        size_t i;

        json_array_foreach (entries, i, entry) {
                _cleanup_free_ char *line = format_entry(entry);
                bool red = colors && history_has_failed(entry);

                if (!line)
                        return -ENOMEM;
                printf("%s%s%s%s\n", indent, red ? COLOR_RED : "", line, red ? COLOR_OFF : "");
        }
        return 0;
}

/* --- the verb --- */

enum { LINES_DEFAULT = 64 };

/* Only for a person at a terminal: a script reads no lines. */
static void print_empty(const Args *a, const char *subject) {
        _cleanup_free_ char *escaped = subject ? format_string(subject) : NULL;

        if (args_have(a, SWITCH_QUIET) || !isatty(STDOUT_FILENO))
                return;
        printf("The history%s%s is empty.\n", escaped ? " of " : "", strempty(escaped));
}

/* --json prints each entry as a line, for a reader that follows. */
static int print_new(const json_t *entries, void *userdata) {
        const Args *a = userdata;
        const json_t *entry;
        size_t i;
        int r = 0;

        if (!args_have(a, SWITCH_JSON)) {
                r = history_print(entries, "");
                return r < 0 ? r : fflush(stdout) != 0 ? -errno : 0;
        }
        json_array_foreach (entries, i, entry)
                if (r >= 0)
                        r = print_json_line(entry);
        return r;
}

static int print_history(const Args *a, const HistoryQuery *q) {
        _cleanup_json_ json_t *entries = json_array();
        int r;

        if (!entries)
                return -ENOMEM;
        r = history_read(q, entries);
        if (r < 0)
                return r;
        if (json_array_size(entries) == 0 && !args_have(a, SWITCH_JSON)) {
                if (q->max > 0)
                        print_empty(a, q->subject);
                return 0;
        }
        pager_open();
        return args_have(a, SWITCH_JSON) ? print_json(a, entries) : history_print(entries, "");
}

int verb_history(const Args *a) {
        const bool bounded = args_have(a, SWITCH_SINCE) || args_have(a, SWITCH_UNTIL);
        const HistoryQuery q = {
                .subject = a->n_operands > 0 ? a->operands[0] : NULL,
                .is_target = a->n_operands > 0 && operand_is_target(a, a->operands[0]),
                .since_usec = a->since_usec,
                .until_usec = a->until_usec,
                .max = args_have(a, SWITCH_LINES) ? a->lines
                       : bounded                  ? SIZE_MAX
                                                  : LINES_DEFAULT,
                .failed = args_have(a, SWITCH_FAILED),
        };
        int r;

        r = args_have(a, SWITCH_FOLLOW) ? history_follow(&q, print_new, (void *) a) : print_history(a, &q);
        if (r < 0 && history_explain(r))
                return report_failure(a, NULL,
                                      r == -EACCES ? SD_BUS_ERROR_ACCESS_DENIED : SD_BUS_ERROR_FILE_NOT_FOUND,
                                      history_explain(r));
        return r;
}
