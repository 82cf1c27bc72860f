/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The wire between selvold and selvol-worker: sd-bus without a bus over the socket WORKER_SOCKET. One connection is
 * one job, served by one child. Hanging up (or shutdown(2) of the writing half) makes the parent end the child; the
 * connection's end of file then says that the child is gone and that nothing it staged is left.
 *
 * Errors are org.selvol1.Error.KIND, see model/failure.h. The worker checks every request against its own reading of
 * the configuration, whatever selvold has checked before. */

#define WORKER_SOCKET    "/run/selvol/worker"
#define WORKER_PATH      "/org/selvol1/worker"
#define WORKER_INTERFACE "org.selvol1.Worker"
#define ERROR_PREFIX     "org.selvol1.Error."

/* (bbbs): SELinux on, enforcing, contexts have levels, the policy's context for container files ("" if none) */
#define NODE_SIGNATURE "(bbbs)"

/* Mount id, target, source, file system type, "major:minor", directory of the file system that is mounted, context of
 * context= ("" if none; canonical), seclabel, read-only */
#define MOUNT_FACT_FIELDS    "tssssssbb"
#define MOUNT_FACT_SIGNATURE "(" MOUNT_FACT_FIELDS ")"

/* Observe: what is on the source, and where its superblock is mounted already.
 * in:  source ("" for a target that is mounted already), file system type ("" to find out), target ("" for a
 *      source that is only to be staged)
 * out: node, file system type, device is read-only, its number ("8:17"; "" if the source is no block device), mounts
 *      of the superblock
 * Changes nothing. The target is checked too: PATH_NOT_ALLOWED, INVALID_TARGET; the source: INVALID_VOLUME,
 * PATH_NOT_ALLOWED (also for a device that holds the host's own system), TYPE_NOT_ALLOWED; NOT_PROPAGATING. */
#define WORKER_OBSERVE     "Observe"
#define WORKER_OBSERVE_IN  "sss"
#define WORKER_OBSERVE_OUT NODE_SIGNATURE "sbsa" MOUNT_FACT_SIGNATURE

/* Mount: stage, verify, mark, publish.
 * in:  source, file system type, target, options (without context=), context ("" for a mount without), read-only,
 *      target of a mount to clone ("" for a mount of its own), its mount id, effect on the volume's record
 * out: outcome, volume record as it is now
 * Nothing is visible unless it succeeds: CONTEXT_DROPPED, LABEL_MISMATCH, MOUNT_FAILED (also if a record that no
 * longer holds can't be changed), CONTEXT_CONFLICT (somebody else was faster), INVALID_CONTEXT, TYPE_NOT_ALLOWED,
 * INVALID_OPTION, and those of Observe. */
#define WORKER_MOUNT     "Mount"
#define WORKER_MOUNT_IN  "sssassbsts"
#define WORKER_MOUNT_OUT OUTCOME_SIGNATURE VOLUME_RECORD_SIGNATURE

/* (fact, root context, group and mode of the root, as the mount shows them, superblock is read-only, inodes used) */
#define OUTCOME_FIELDS    "suubt"
#define OUTCOME_SIGNATURE "(" MOUNT_FACT_SIGNATURE OUTCOME_FIELDS ")"

/* (found, text): what the root carries, model/volume-record.h; the text is there only if it is UTF-8 */
#define VOLUME_RECORD_SIGNATURE "(ss)"

/* Stage: the first half of Mount. The connection keeps the mount, which nobody else sees, until Publish; it is gone
 * when the connection ends. in: as Mount, without the effect; the target may be "" if it is not to be published. out:
 * outcome, volume record. */
#define WORKER_STAGE     "Stage"
#define WORKER_STAGE_IN  "sssassbst"
#define WORKER_STAGE_OUT OUTCOME_SIGNATURE VOLUME_RECORD_SIGNATURE

/* Publish: the second half, of what this connection has staged. in: effect on the volume's record; out: as Mount. */
#define WORKER_PUBLISH     "Publish"
#define WORKER_PUBLISH_IN  "s"
#define WORKER_PUBLISH_OUT OUTCOME_SIGNATURE VOLUME_RECORD_SIGNATURE

/* Map: what this connection has staged, and not mapped yet, is to show a group in the place of the one that all files
 * have on disk, and the other way round. Some files are looked at first.
 * in:  group on disk, group to be shown, whatever the modes (for a mount for readers)
 * out: "mapped"; "differs": some files have another group, or not the mode that writers need; "unsupported": the kernel or the file system can't; and what is the matter. Nothing is changed unless
 * it is mapped. */
#define WORKER_MAP     "Map"
#define WORKER_MAP_IN  "uub"
#define WORKER_MAP_OUT "ss"

/* Change: all files, those of the staged mount (target "") or of the mount at target with the id, get a label, or a
 * group and the mode that goes with it, or both, in one walk.
 * in:  target, mount id; context ("": labels are left alone); group, as the mount shows it, and as it is on disk
 *      (4294967295: groups are left alone), for readers only; write labels without a look; generation of the volume's
 *      record; entries a second (0: no limit; above the limits: as many as they allow); effect on the record
 * out: counts, issues, mounts inside (not entered), volume record as it is now
 * Before the first file is touched the volume's record says partial, with the next generation. When all went well
 * and is on disk it says complete, with the one after that; with the effect, which is what others who have the volume
 * may do, applied before that is written, so that it never says more than is true. Entries that failed are a result,
 * not an error; with any, or with hard links that were skipped, or if the tree changed to the last, the record stays
 * partial. NOT_SUPPORTED (no labels, or what the mount shows is not what is on disk; read-only), BUSY (the mount
 * isn't there any more), INVALID_CONTEXT, INVALID_OPTION (nothing to do, or no group), TYPE_NOT_ALLOWED (also of the
 * file system), PATH_NOT_ALLOWED (a file system of the host's own, or one that is mounted outside of the target roots
 * as well). */
#define WORKER_CHANGE     "Change"
#define WORKER_CHANGE_IN  "stsuubbtts"
#define WORKER_CHANGE_OUT TREE_COUNTS_SIGNATURE TREE_ISSUES_SIGNATURE "as" VOLUME_RECORD_SIGNATURE

/* (done, changed, labels that differ, groups or modes that differ, failed, skipped, directories that changed to the
 * last) */
#define TREE_COUNTS_SIGNATURE "(ttttttt)"
/* path beneath the root, escaped; what is wrong with it, and what to do */
#define TREE_ISSUES_SIGNATURE "a(ss)"

/* No reply names more: issues, mounts inside. */
enum { WORKER_ISSUES_MAX = 16, WORKER_MOUNTS_INSIDE_MAX = 64 };

/* Sent at most four times a second while Change and Verify walk and get on: counts, entries
 * in all (0: unknown). And once, with counts of 0, before the first sync to disk, which may take its time. A walk
 * that tells nothing is stuck. */
#define WORKER_PROGRESS           "Progress"
#define WORKER_PROGRESS_SIGNATURE TREE_COUNTS_SIGNATURE "t"

/* Mark: the effect on the record of the volume that is mounted at target, with the id, by somebody else.
 * in: target, mount id, effect; out: volume record as it is now. BUSY if the mount isn't there any more. Where it
 * would have to write: TYPE_NOT_ALLOWED and PATH_NOT_ALLOWED as Change, but that a record which is there already may
 * say less also if the file system is mounted outside of the target roots as well. */
#define WORKER_MARK     "Mark"
#define WORKER_MARK_IN  "sts"
#define WORKER_MARK_OUT VOLUME_RECORD_SIGNATURE

/* Inspect: what is mounted at a target; the mount, and through it the root's label, are looked at, nothing is
 * changed. in:  target out: node, outcome, volume record. INVALID_TARGET if nothing is mounted there. */
#define WORKER_INSPECT     "Inspect"
#define WORKER_INSPECT_IN  "s"
#define WORKER_INSPECT_OUT NODE_SIGNATURE OUTCOME_SIGNATURE VOLUME_RECORD_SIGNATURE

/* Verify: the labels of a directory or file beneath the roots, mounted or not, and of what is beneath it; with any
 * depth but "root" also groups and modes, those of writers.
 * in:  path, context expected, depth ("root", "full"), entries a second, group expected, as the mount shows it
 *      (4294967295: groups don't matter)
 * out: labels match (in canonical form, all that was looked at), actual context of the path itself ("" if none),
 *      counts, issues */
#define WORKER_VERIFY     "Verify"
#define WORKER_VERIFY_IN  "ssstu"
#define WORKER_VERIFY_OUT "bs" TREE_COUNTS_SIGNATURE TREE_ISSUES_SIGNATURE

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
