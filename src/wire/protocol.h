/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The protocol between selvold and selvol-worker: sd-bus without a bus over the socket WORKER_SOCKET. One
 * connection is one operation, served by one child that serves no other one meanwhile. If selvold hangs up
 * (or calls shutdown(2) for its writing half), the parent ends the child. The end of the connection says
 * that the child is gone, or has looked that it has nothing of the operation left (worker/spare.h): nothing
 * is staged.
 *
 * The child runs the operation from top to bottom and asks selvold on the same connection. While a question
 * has no answer, the child has published nothing. Questions have no time-out of their own.
 *
 * Errors are org.selvol1.Error.KIND (model/failure.h). The worker checks every request and every answer
 * against the configuration, which it reads itself, whatever selvold has checked before. Each call has the
 * digest of selvold's configuration: if it differs, the worker reads the files again; if it still differs,
 * every call but Unmount and Watch fails. wire/messages.h has the messages.
 *
 * The worker keeps SERVER_RESERVED of its connections for Unmount, Verify and Watch: when other calls have
 * all others, a further one fails with BUSY. */

/* The paths are as short as possible: if memory runs out while an object is added, sd-bus keeps the objects
 * that it has made for the parent paths, and aborts when the connection is freed (seen in 252). */

#define WORKER_SOCKET "/run/selvol/worker"
#define WORKER_PATH   "/"

/* The version of this protocol is a part of the names of its interfaces: while a package is upgraded, selvold
 * and selvol-worker may be of two versions, and neither takes calls of the other one's. A change of a message
 * or of its meaning needs another number (tests/unit/test-wire.c). */
#define WIRE_VERSION     "1"
#define WORKER_INTERFACE "org.selvol1.Worker" WIRE_VERSION

/* Methods of the worker.
 *
 * Mount(MountCall) -> OperationResult: stages the source and publishes the mount at the target; asks Plan.
 *   Nothing is visible unless Mount succeeds. If entries fail in a walk, the result says so, and nothing is
 *   published. If the expected mount is there already, Mount does nothing and asks nothing. With replace it
 *   unmounts the mount of the source that another program made at the target, before it stages, as the kernel
 *   gives no second context to a superblock. A call that only plans ends with an empty result when the answer
 *   to Plan has been checked.
 * Adopt(AdoptCall) -> OperationResult: adopts the foreign mount at the target; asks Plan.
 * Change(ChangeCall) -> OperationResult: changes the files of a volume, through one of its mounts or a staged
 *   one; asks Plan.
 * Verify(VerifyCall) -> VerifyResult: compares the files, and resets the wrong parts of the volume's mark.
 *   Asks nothing.
 * Unmount(UnmountCall) -> UnmountResult: unmounts a mount that the worker has made or adopted. An absent
 *   mount is success; a mount with another identity than the call's stays, and counts as absent. BUSY if the
 *   mount is in use; INVALID_TARGET if the worker has neither made nor adopted it.
 * Watch(t settings) -> Watched: lists the children that run for another process, such as an earlier selvold,
 *   and then every mount beneath TargetRoots=. settings: the digest of selvold's configuration. Until the
 *   connection ends, the signal Changed reports new and removed mounts, at most twice a second. Events
 *   between two looks are reported as their sum.
 * Expect(MountFact): on a connection that watches, names a mount that must exist, because it may have come
 *   and gone between two looks. The worker looks for it within half a second, and reports it as removed if
 *   it is not there. */
#define WORKER_MOUNT "Mount"
/* In a list of children, a Mount that only plans: it changes nothing, whenever it ends. */
#define WORKER_MOUNT_PLAN "Plan"
#define WORKER_ADOPT      "Adopt"
#define WORKER_CHANGE     "Change"
#define WORKER_VERIFY     "Verify"
#define WORKER_UNMOUNT    "Unmount"
#define WORKER_WATCH      "Watch"
#define WORKER_EXPECT     "Expect"

/* Signals of the worker.
 *
 * Progress(WalkCounts, t total): at most four times a second during a walk, and once, with counts of 0,
 *   before the first file. total is the number of entries, 0: unknown. A walk without signals hangs.
 * Changed(MountChanges): see Watch.
 * At(s): the child is about to look at source and target ("look"), or to call umount2(2) ("unmount"), from
 *   which a child should not be killed. Without it the worker itself hangs. A Mount that replaces another
 *   program's mount sends "unmount", too, and "replaced" when that mount is gone.
 * OrphanGone(): on a connection that watches: a child that Watch has listed is gone; another Watch lists the
 *   others.
 * NodeChanged(Node): on a connection that watches: the mode or the policy of SELinux has changed; sent within
 *   a second. */
#define WORKER_PROGRESS "Progress"
#define WORKER_AT       "At"
#define WORKER_CHANGED  "Changed"
#define WORKER_NODE     "NodeChanged"
#define WORKER_ORPHAN   "OrphanGone"

/* Questions of the child to selvold.
 *
 * Plan(PlanQuestion) -> PlanAnswer: asks for the decision on the child's observations. The answer never comes
 *   after a wait in the queue: PLAN_WAIT and PLAN_STOP end the child. The child asks again after PLAN_LOOK,
 *   when it has looked for the mounts of the superblock; if a walk would take a group from holders that rely
 *   on it (PlanQuestion.files); and if the mount keeps labels where the answer assumed none, or the other way
 *   round.
 * Walk(WalkQuestion) -> (): names the changes that a walk is going to make, and the mark, which says on
 *   disk that the walk has begun. selvold answers when the record says so too.
 * Ready(ReadyQuestion) -> (): names the mount that was made, and the mark on the volume, before the mount is
 *   visible. selvold answers when this is durable, so that the mount is known as the volume's by its
 *   identity, whichever process dies meanwhile.
 *
 * While the child waits it reads only the answer, which has at most ANSWER_BYTES_MAX: any other message ends
 * the operation with an error. */
#define DECISION_PATH      "/"
#define DECISION_INTERFACE "org.selvol1.Decision" WIRE_VERSION
#define DECISION_PLAN      "Plan"
#define DECISION_WALK      "Walk"
#define DECISION_READY     "Ready"
#define ANSWER_BYTES_MAX   ((size_t) 16 * 1024 * 1024) /* a Plan with as many reliances as it may have fits */
