/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The wire between selvold and selvol-worker: sd-bus without a bus over the socket WORKER_SOCKET. One connection is
 * one job, served by one child. Hanging up (or shutdown(2) of the writing half) makes the parent end the child; the
 * connection's end of file then says that the child is gone and that nothing it staged is left.
 *
 * Errors are org.selvol1.Error.KIND, see core/failure.h. The worker checks every request against its own reading of
 * the configuration, whatever selvold has checked before. */

#define WORKER_SOCKET    "/run/selvol/worker"
#define WORKER_PATH      "/org/selvol1/worker"
#define WORKER_INTERFACE "org.selvol1.Worker"
#define ERROR_PREFIX     "org.selvol1.Error."

/* (bbbs): SELinux on, enforcing, contexts have levels, the policy's context for container files ("" if none) */
#define NODE_SIGNATURE "(bbbs)"

/* (tsssssbb): mount id, target, source, file system type, "major:minor", context of context= ("" if none; canonical),
 * seclabel, read-only */
#define MOUNT_FACT_SIGNATURE "(tsssssbb)"

/* Observe: what is on the source, and where its superblock is mounted already.
 * in:  source ("" for a target that is mounted already), file system type ("" to find out), target
 * out: node, file system type, device is read-only, mounts of the superblock
 * Changes nothing. The target is checked too: PATH_NOT_ALLOWED, INVALID_TARGET; the source: INVALID_VOLUME,
 * PATH_NOT_ALLOWED (also for a device that holds the host's own system), TYPE_NOT_ALLOWED; NOT_PROPAGATING. */
#define WORKER_OBSERVE     "Observe"
#define WORKER_OBSERVE_IN  "sss"
#define WORKER_OBSERVE_OUT NODE_SIGNATURE "sba" MOUNT_FACT_SIGNATURE

/* Mount: stage, verify, publish.
 * in:  source, file system type, target, options (without context=), context ("" for a mount without), read-only,
 *      target of a mount to clone ("" for a mount of its own), its mount id
 * out: outcome
 * Nothing is visible unless it succeeds: CONTEXT_DROPPED, LABEL_MISMATCH, MOUNT_FAILED, CONTEXT_CONFLICT (somebody
 * else was faster), INVALID_CONTEXT, TYPE_NOT_ALLOWED, INVALID_OPTION, and those of Observe. */
#define WORKER_MOUNT     "Mount"
#define WORKER_MOUNT_IN  "sssassbst"
#define WORKER_MOUNT_OUT OUTCOME_SIGNATURE

/* (fact, root context, superblock is read-only, inodes used) */
#define OUTCOME_SIGNATURE "(" MOUNT_FACT_SIGNATURE "sbt)"

/* Inspect: what is mounted at a target; the mount, and through it the root's label, are looked at, nothing is
 * changed. in:  target out: node, outcome. INVALID_TARGET if nothing is mounted there. */
#define WORKER_INSPECT     "Inspect"
#define WORKER_INSPECT_IN  "s"
#define WORKER_INSPECT_OUT NODE_SIGNATURE OUTCOME_SIGNATURE

/* Verify: the label of a directory or file beneath the roots, mounted or not.
 * in:  path, context expected
 * out: matches (in canonical form), actual context ("" if none) */
#define WORKER_VERIFY     "Verify"
#define WORKER_VERIFY_IN  "ss"
#define WORKER_VERIFY_OUT "bs"

/* Unmount: takes the mount at a target away.
 * in:  target, mount id (0: whichever is there)
 * out: whether there was one. Absent is success; another mount than the one named is left alone and counts as absent.
 * BUSY if it is in use. */
#define WORKER_UNMOUNT     "Unmount"
#define WORKER_UNMOUNT_IN  "st"
#define WORKER_UNMOUNT_OUT "b"

/* Watch: replies with the node and every mount beneath the target roots, then sends Changed with what came and the
 * ids of what went, at most ten times a second, until the connection ends. An event between two looks is seen as its
 * sum. */
#define WORKER_WATCH             "Watch"
#define WORKER_WATCH_IN          ""
#define WORKER_WATCH_OUT         NODE_SIGNATURE "a" MOUNT_FACT_SIGNATURE
#define WORKER_CHANGED           "Changed"
#define WORKER_CHANGED_SIGNATURE "a" MOUNT_FACT_SIGNATURE "at"

/* Expect: on a connection that watches, names a mount that must be there, because it may have come and gone between
 * two looks. It is looked for within a tenth of a second, and its id is among those that went if it isn't there. in:
 * mount */
#define WORKER_EXPECT     "Expect"
#define WORKER_EXPECT_IN  MOUNT_FACT_SIGNATURE
#define WORKER_EXPECT_OUT ""
