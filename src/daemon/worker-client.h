/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/observed.h"
#include "model/volume-record.h"

/* selvold's end of the wire to the worker (wire/protocol.h). */

/* Connects. Returns 0 or a negative errno. */
int worker_connect(const char *socket_path, sd_event *event, sd_bus **ret);
/* Half-closes: the worker's parent ends the child, and the connection's end says that it is gone. */
void worker_hang_up(sd_bus *worker);
/* Closes and forgets, also from within a callback of the connection. */
sd_bus *worker_disconnect(sd_bus *worker);
DEFINE_CLEANUP_FUNC(sd_bus *, worker_disconnect);

/* Read what the worker says. All strings are checked: -EBADMSG for what can't be. */
int worker_read_node(sd_bus_message *m, Node *ret);
int worker_read_facts(sd_bus_message *m, MountFact **ret, size_t *ret_n);
int worker_read_outcome(sd_bus_message *m, MountOutcome *ret);
/* The reply of Observe, node included. */
int worker_read_observed(sd_bus_message *m, Node *ret_node, Observed *ret);

/* What the volume's root carries, for volume_record_reconcile(), which says whether it makes sense. *ret_text is the
 * caller's to free; "" unless RECORD_PRESENT. */
int worker_read_volume_record(sd_bus_message *m, RecordFound *ret_found, char **ret_text);

/* How a walk over all files went: TREE_COUNTS_SIGNATURE. */
typedef struct WalkCounts {
        uint64_t done;
        uint64_t changed;
        uint64_t mismatched; /* labels */
        uint64_t misowned;   /* groups or modes */
        uint64_t failed;
        uint64_t skipped;
        uint64_t unsettled; /* directories that changed to the last: only in the end */
} WalkCounts;

/* An entry with something wrong. Both are printable, one line each. */
typedef struct WalkIssue {
        char *path; /* beneath the volume's root, escaped */
        char *text;
} WalkIssue;

/* All that a walk says in the end: of Change (without the volume's record) and Verify alike. */
typedef struct WalkResult {
        WalkCounts counts;
        WalkIssue *issues;
        size_t n_issues;
        char **mounts_inside; /* Change: where other things are mounted, escaped */
        bool matches;         /* Verify */
        char *actual;         /* Verify: the root's label, canonical; "" if it has none */
} WalkResult;

void walk_result_done(WalkResult *r);

/* The reply of Change. */
int worker_read_changed(sd_bus_message *m, WalkResult *ret, RecordFound *ret_found, char **ret_text);
/* What became of Map. */
typedef enum MapResult { MAP_MAPPED, MAP_DIFFERS, MAP_UNSUPPORTED, MAP_RESULTS } MapResult;
DECLARE_STRING_TABLE(map_result, MapResult);
/* The reply of Map; *ret_text, the caller's to free, says what is the matter, in one line. */
int worker_read_mapped(sd_bus_message *m, MapResult *ret, char **ret_text);
/* The reply of Verify. */
int worker_read_verified(sd_bus_message *m, WalkResult *ret);
/* The signal Progress. *ret_total is 0 if unknown. */
int worker_read_progress(sd_bus_message *m, WalkCounts *ret, uint64_t *ret_total);

/* Turns an error reply into a failure: the worker's own errors as they are, everything else as WORKER_FAILED.
 * Returns the kind or -ENOMEM. */
int worker_read_failure(const sd_bus_error *e, Failure *f);
/* Whether an error reply is the verb's own verdict, so that nothing was left half done. A connection that broke says
 * nothing of the kind, and neither does WORKER_FAILED. */
bool worker_error_is_answer(const sd_bus_error *e);
