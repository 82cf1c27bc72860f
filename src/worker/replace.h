/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"
#include "mount/target.h"
#include "wire/messages.h"
#include "worker/child.h"

/* MountVolume with Replace: a mount of the same device with the same options and with the context takes the
 * place of the mount that another program, such as a CSI driver, made at the target. The kernel gives a
 * superblock one context, so the worker unmounts the other mount before it stages the new one. It is the
 * only mount that the worker unmounts without a note: a note would make it selvol's, and an unmount that a
 * crash has prevented would leave somebody else's mount as one of a lost record.
 *
 * If the child ends after the unmount, the target is empty, and nothing is noted or recorded. */

/* Checks the target of a mount with Replace, which has to be free, or, if root calls, the root of a whole
 * file system that the worker has not noted. *ret: that mount; id 0: there is none. Release it with
 * mount_identity_done(). Returns 0, a negative errno, or INVALID_TARGET. */
int replace_check_target(const MountCall *call, const Target *target, MountIdentity *ret, Failure *f) _warn_unused_;

/* Checks that the mount is of the source, and that nothing else of the source is mounted. Sets
 * Observed.replaced, and leaves the mount out of Observed.mounts: the plan is made as if it was gone. Returns
 * 0, a negative errno, PATH_NOT_ALLOWED as foreign_check_source(), INVALID_TARGET, NOT_SUPPORTED, or BUSY. */
int replace_observe(const Child *c, const Source *source, const Target *target, const MountIdentity *replaced,
                    Observed *o, Failure *f) _warn_unused_;

/* Unmounts the mount, and opens the target anew: a descriptor keeps a mount busy. Returns 0, a negative
 * errno, or a failure kind; BUSY also if the device is still in use then. */
int replace_unmount(Child *c, const Source *source, const PlanAnswer *answer, const MountIdentity *replaced,
                    Target *target, Failure *f) _warn_unused_;
