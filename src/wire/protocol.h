/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The wire between selvold and selvol-worker: sd-bus without a bus over the socket WORKER_SOCKET. One
 * connection is one operation, served by one child, which ends after its reply. Hanging up (or shutdown(2)
 * of the writing half) makes the parent end the child; the end of file on the connection says that the
 * child is gone and that nothing it staged is left.
 *
 * The child runs the operation from top to bottom and asks back on the same connection. It has published
 * nothing while a question has no answer. Questions have no time-out of their own.
 *
 * Errors are org.selvol1.Error.KIND (model/failure.h). The worker checks every request, and every answer,
 * against its own reading of the configuration, whatever selvold has checked before. What is said is in
 * wire/messages.h. */

/* The paths are as short as can be: where memory runs out while an object is added, sd-bus keeps what it
 * has made for the directories above, and aborts when the connection is freed (seen in 252). */

#define WORKER_SOCKET    "/run/selvol/worker"
#define WORKER_PATH      "/"
#define WORKER_INTERFACE "org.selvol1.Worker"

/* Methods of the worker.
 *
 * Mount(MountCall) -> OperationResult: stage what is at the source and publish it at the target; asks Plan.
 *   Nothing is visible unless it succeeds; entries that failed in a walk are a result, and then nothing is
 *   published. Is the expected mount there already, nothing is done, and nothing asked.
 * Adopt(AdoptCall) -> OperationResult: what somebody else has mounted at the target; asks Plan.
 * Change(ChangeCall) -> OperationResult: the files of a volume, where it is mounted or staged for this;
 *   asks Plan.
 * Verify(VerifyCall) -> VerifyResult: compares, and resets what the mark of the volume wrongly claims. Asks
 *   nothing.
 * Unmount(UnmountCall) -> UnmountResult: what the worker has made or adopted. Absent is success; another
 *   mount than the one named is left alone and counts as absent. BUSY if it is in use; INVALID_TARGET if it
 *   is there and the worker has not made or adopted it.
 * Watch() -> Watched: the children that are at work for another process, as an earlier selvold, and after
 *   these every mount beneath the target roots; then the signal Changed with what came and what went, at
 *   most twice a second, until the connection ends. An event between two looks is seen as its sum.
 * Expect(MountFact): on a connection that watches, names a mount that must be there, because it may have
 *   come and gone between two looks. It is looked for within half a second, and is among those that went if
 *   it isn't there. */
#define WORKER_MOUNT   "Mount"
#define WORKER_ADOPT   "Adopt"
#define WORKER_CHANGE  "Change"
#define WORKER_VERIFY  "Verify"
#define WORKER_UNMOUNT "Unmount"
#define WORKER_WATCH   "Watch"
#define WORKER_EXPECT  "Expect"

/* Signals of the worker.
 *
 * Progress(WalkCounts, t total): at most four times a second while files are visited, and once, with counts
 *   of 0, before the first of them. total is how many entries there are, 0: unknown. A walk that sends
 *   nothing is stuck.
 * Changed(MountChanges): of Watch.
 * OrphanGone(): of Watch: one of the children that it has named; another Watch names those that are left.
 * NodeChanged(Node): of Watch: SELinux is in another mode than it was, or has another policy; within a
 *   second. */
#define WORKER_PROGRESS "Progress"
#define WORKER_CHANGED  "Changed"
#define WORKER_NODE     "NodeChanged"
#define WORKER_ORPHAN   "OrphanGone"

/* What the child asks selvold.
 *
 * Plan(PlanQuestion) -> PlanAnswer: what to do with what was seen. Never answered after a wait in line:
 *   PLAN_WAIT and PLAN_STOP end the child. It asks again after PLAN_LOOK, once it has looked for the mounts
 *   of the superblock; if a walk would take a group from those who rely on it (PlanQuestion.files); and if
 *   the mount shows labels where the answer supposed none, or the other way round.
 * Walk(WalkNote) -> (): what a walk is going to do to the files, and the mark, which says on disk that it
 *   has begun. Answered when the record says so, too: it never claims more than the mark.
 * Ready(ReadyNote) -> (): which mount was made, and the mark on the volume, before anybody can see it. Answered when that is durable,
 *   so that it is known as the volume's by its identity, whatever is lost meanwhile. */
#define DECISION_PATH      "/"
#define DECISION_INTERFACE "org.selvol1.Decision"
#define DECISION_PLAN      "Plan"
#define DECISION_WALK      "Walk"
#define DECISION_READY     "Ready"
