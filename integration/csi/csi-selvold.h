/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "client/values.h"
#include "grpc/grpc-call.h"
#include "model/failure.h"

/* Calls of selvold for a call of CSI. Each has a connection of its own to the bus, and waits until a time of
 * now_monotonic_usec(): the job then goes on, the answer is GRPC_ABORTED and says how far the job is, and
 * kubelet's next call joins the job.
 *
 * Functions return 0 or a negative errno, or they set the reply, which had no status so far, and return a
 * kind of failure: that of selvold; WORKER_FAILED if selvold or its worker can't be reached; TIMED_OUT also
 * if the time is over; MOUNT_FAILED for all errors that are not selvold's. Texts begin with "selvol: ", so
 * that nobody looks for them in the driver. */

/* Kubelet gives each call two minutes. This is the time for a call without a deadline. */
#define CSI_CALL_USEC (120 * USEC_PER_SEC)

/* The time until which a call may wait for selvold: its answer has to arrive before kubelet gives up. */
uint64_t csi_deadline(const GrpcRequest *q) _pure_;

/* A mount may be in use for two more seconds when kubelet takes it back: until when it is tried again, and a
 * wait before that; false: the time is over. */
uint64_t csi_busy_until(void);
bool csi_wait_while_busy(uint64_t until_usec);

/* The status for an error of D-Bus; selvol-integration(7) has the same table. */
GrpcCode csi_code_of_error(const char *name) _pure_;
/* Sets the status for a failure that was found here. Returns the kind or -ENOMEM. */
int csi_reply_failure(const Failure *f, GrpcReply *ret) _warn_unused_;

/* MountVolume and AdoptVolume, with these options. Without TimeoutUSec among them, the job may take as long
 * as it makes progress. */
int csi_call_mount(const char *volume, const char *source, const char *target,
                   const OptionValue values[static REQUEST_OPTIONS], uint64_t until_usec,
                   GrpcReply *ret) _warn_unused_;
int csi_call_adopt(const char *volume, const char *target, const OptionValue values[static REQUEST_OPTIONS],
                   uint64_t until_usec, GrpcReply *ret) _warn_unused_;
/* Finds a mount of the volume that is selvol's own, or that selvol is about to make: at the path or, if
 * beneath is true, beneath it. *ret_target and *ret_source are for the same MountVolume once more; NULL:
 * there is none. */
int csi_find_own(const char *volume, const char *path, bool beneath, uint64_t until_usec, char **ret_target,
                 char **ret_source, GrpcReply *ret) _warn_unused_;

/* Has selvold let go of the volume at the path and beneath it: cancels a job there, and unmounts. A mount
 * that the driver has made is left to the driver, unless of_driver is true. That there is nothing is
 * success. */
int csi_call_release(const char *volume, const char *path, bool of_driver, uint64_t until_usec,
                     GrpcReply *ret) _warn_unused_;
/* UnmountVolume, again while the mount is in use. That nothing is mounted there, or that the target was never
 * selvol's, is success. */
int csi_call_unmount(const char *volume, const char *target, uint64_t until_usec, GrpcReply *ret) _warn_unused_;
