/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "model/request.h"
#include "ctl/format.h"
#include "ctl/history.h"
#include "ctl/bus-objects.h"
#include "ctl/pager.h"
#include "ctl/print.h"
#include "ctl/verbs.h"

static bool is_conflict(const json_t *entry) {
        const char *result = answer_string(entry, "Result");

        return streq(result, "ContextConflict") || streq(result, "GroupConflict");
}

static int select_waiting(sd_bus *bus, json_t *waiting) {
        _cleanup_json_ json_t *jobs = NULL;
        json_t *job;
        size_t i;
        int r;

        r = objects_get(bus, JOB_INTERFACE, &jobs);
        if (r != 0)
                return r;
        json_array_foreach (jobs, i, job)
                if (streq(answer_string(job, "State"), "waiting") && json_array_append(waiting, job) < 0)
                        return -ENOMEM;
        return 0;
}

/* Prints "WORD VALUE" if there is a value; the word may be empty. */
static void print_with(const char *word, const json_t *object, const char *key) {
        _cleanup_free_ char *value = format_string(answer_string(object, key));

        if (!isempty(value))
                printf(" %s%s%s", word, isempty(word) ? "" : " ", value);
}

/* Prints how the holder or foreign mount ends, with words quoted so that a person can paste them. An unmount
 * beneath a container that runs ends nothing: the container has its own copy of the mount. */
static int print_remedy(const json_t *blocker) {
        const char *name = answer_string(blocker, "Holder"), *holder_of = startswith(name, "podman:"),
                   *of_podman = strempty(startswith(answer_string(blocker, "Volume"), PODMAN_IDS));
        const bool podman = !isempty(of_podman) && streq_ptr(holder_of, of_podman);
        _cleanup_free_ char *holder = format_string(name), *target = shell_quote(answer_string(blocker, "Target")),
                            *volume = shell_quote(of_podman);

        if (!holder || !target || !volume)
                return -ENOMEM;
        fputs("        To end it: ", stdout);
        if (podman)
                printf("podman stop $(podman ps -q --filter volume=%s)\n", volume);
        else if (isempty(name) || streq(name, answer_string(blocker, "Target")))
                printf("stop what uses it there, then: %s %s\n",
                       isempty(answer_string(blocker, "Volume")) ? "umount" : "selvolctl unmount", target);
        else
                printf("stop %s (if its mount stays then: selvolctl unmount %s)\n", holder, target);
        return 0;
}

static void print_since(const char *word, uint64_t usec) {
        _cleanup_free_ char *time = usec > 0 ? format_time(usec) : NULL;

        if (time)
                printf(" %s %s", word, time);
}

static int print_blocker(const json_t *blocker) {
        uint64_t job = answer_number(blocker, "Job");

        fputs("    for", stdout);
        if (job > 0) {
                printf(" job %llu:", (unsigned long long) job);
                print_with("", blocker, "Operation");
                print_with("of", blocker, "Volume");
                print_with("at", blocker, "Target");
                printf("\n        To end it: selvolctl cancel %llu\n", (unsigned long long) job);
                return 0;
        }
        if (isempty(answer_string(blocker, "Holder")))
                fputs(" a mount by others", stdout);
        print_with("holder", blocker, "Holder");
        print_with("of", blocker, "Volume");
        print_with("at", blocker, "Target");
        print_with("with", blocker, "Context");
        print_since("since", answer_number(blocker, "SinceUSec"));
        puts("");
        return isempty(answer_string(blocker, "Target")) ? 0 : print_remedy(blocker);
}

static int print_waiting(const json_t *job) {
        const json_t *blockers = json_object_get(job, "WaitsFor"), *callers = json_object_get(job, "Callers"),
                     *blocker;
        bool abandoned = json_is_integer(callers) && json_integer_value(callers) == 0;
        size_t i;

        printf("Job %llu:", (unsigned long long) answer_number(job, "Id"));
        print_with("", job, "Operation");
        print_with("of", job, "Volume");
        print_with("at", job, "Target");
        print_with("for", job, "Holder");
        print_with("with", job, "Context");
        print_since("waits since", answer_number(job, "StartedUSec"));
        puts("");
        json_array_foreach (blockers, i, blocker) {
                int r;

                r = print_blocker(blocker);
                if (r < 0)
                        return r;
        }
        if (abandoned)
                puts("    for its caller, who has gone: nothing is done unless the same call is made again");
        else if (json_array_size(blockers) == 0)
                puts("    for other jobs to end: too many run, or one has left a process that can't be ended");
        return 0;
}

static int print_conflicts(const Args *a, const json_t *waiting, const json_t *refused) {
        bool is_refused = json_array_size(refused) > 0, is_unknown = json_is_null(refused);
        const json_t *element;
        size_t i;

        json_array_foreach (waiting, i, element) {
                int r;

                r = print_waiting(element);
                if (r < 0)
                        return r;
        }
        if (json_array_size(waiting) == 0 && !args_have(a, SWITCH_QUIET))
                puts(is_refused || is_unknown ? "Nobody waits."
                                              : "Nobody waits, and nobody was refused in the last hour.");
        if (is_refused)
                puts("\nRefused in the last hour:");
        else if (is_unknown && !args_have(a, SWITCH_QUIET))
                puts("\nWho was refused in the last hour is not known: 'selvolctl history' says why.");
        return history_print(refused, "");
}

int verb_conflicts(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *waiting = json_array(), *refused = NULL, *all = NULL;
        int r;

        if (!waiting)
                return -ENOMEM;
        r = select_waiting(bus, waiting);
        if (r != 0)
                return r;
        /* Refused calls have ended: their callers got the error, and may have tried again since. */
        r = history_read_recent(is_conflict, SIZE_MAX, &refused);
        if (r < 0)
                return r;
        pager_open(a);
        if (!args_have(a, SWITCH_JSON))
                return print_conflicts(a, waiting, refused);
        all = json_pack("{s:O, s:O}", "Waiting", waiting, "Refused", refused);
        return all ? print_json(a, all) : -ENOMEM;
}
