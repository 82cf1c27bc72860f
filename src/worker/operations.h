/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "wire/messages.h"
#include "worker/child.h"

/* Each operation is a method of wire/protocol.h and one function, which runs from top to bottom and may
 * block. The call has been read but not checked. result is empty before, and complete only after success. All
 * return 0; a negative errno, -ECANCELED for no reply; or a failure kind. No open descriptor keeps a mount
 * busy afterwards. */

#define OPERATION_RESULT_INIT ((OperationResult){ .files = { .gid = GID_NONE, .disk_gid = GID_NONE } })

int operation_mount(Child *c, const MountCall *call, OperationResult *result, Failure *f) _warn_unused_;
int operation_adopt(Child *c, const AdoptCall *call, OperationResult *result, Failure *f) _warn_unused_;
int operation_change(Child *c, const ChangeCall *call, OperationResult *result, Failure *f) _warn_unused_;
int operation_verify(Child *c, const VerifyCall *call, VerifyResult *result, Failure *f) _warn_unused_;
int operation_unmount(Child *c, const UnmountCall *call, UnmountResult *result, Failure *f) _warn_unused_;

/* A watch observes the mounts beneath the target roots, and SELinux, until the peer hangs up. */

struct Watch *watch_free(struct Watch *w);

/* Begins a watch, and appends the present state to the reply, as Watched. Returns 0 or a negative errno. */
int watch_begin(Child *c, sd_bus_message *reply) _warn_unused_;

/* Looks for a mount within half a second, unless a look has seen the mount already. Takes the fact over.
 * Returns 0, a negative errno, or NOT_SUPPORTED if there is no watch. */
int watch_expect(Child *c, MountFact *fact, Failure *f) _warn_unused_;
