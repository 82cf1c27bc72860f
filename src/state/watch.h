/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* The long-lived connection over which the worker reports changes of the mount table.
 *
 * Any program that may mount can unmount, move, cover or remount a holder's mount, and selvold itself reads
 * no mount table. The worker answers Watch with every mount beneath TargetRoots=, and then reports new and
 * removed mounts. selvold compares each holder with these reports (state/reconcile.h), unless a job has
 * claimed the target: the job knows better, and recheck_needed asks for another look after the job.
 *
 * Three cases need care. A snapshot may be older than a mount that was recorded after the snapshot was
 * requested: selvold requests another one. A mount may come and go between two looks of the worker: selvold
 * names every recorded mount to the worker (Expect), and the worker reports the missing ones. The kernel
 * reuses mount ids: until the worker has answered Expect for an id, selvold ignores reports about this id,
 * because they are about an earlier mount.
 *
 * If the worker dies, or sends a message that can't be parsed, selvold connects again, after one second at
 * first and five at most. The connection begins with a snapshot, which shows the sum of all changes
 * meanwhile. If selvold dies, the store has the holders, and the next selvold compares them with its first
 * snapshot. */

/* Connects and waits for the first look, at most 10 seconds. Returns 0, also if the worker does not answer:
 * then it logs an error and tries again later, and the record does not change before that. Or -ENOMEM. */
int watch_start(State *s);
/* Asks the worker to look for a mount that a job has just made, as the mount may be gone already. */
void watch_expect(State *s, const MountFact *fact);
/* Looks at the whole table again, soon. */
void watch_recheck(State *s);
/* Whether the watch works: the worker has answered, and does not only accept connections. Stays true during
 * another look at the whole table. */
bool watch_is_heard(const State *s);
void watch_stop(State *s);

/* Whether the worker had another configuration than selvold has now when the last watch began. */
bool state_worker_differs(const State *s);
#define CONFIG_DIFFERS_TEXT \
        "selvol-worker has another configuration than selvold, and only unmounts. Run 'systemctl reload selvold'."

/* The mode of SELinux on the bus: "disabled", "permissive", "enforcing". */
const char *state_selinux_mode(const State *s);
/* Takes over the worker's report about the node. Returns whether the mode of SELinux has changed. */
bool state_take_node(State *s, Node *node);
