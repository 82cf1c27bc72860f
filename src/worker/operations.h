/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "wire/messages.h"
#include "worker/child.h"

/* The operations, methods of wire/protocol.h: each is one function, which runs from top to bottom and may
 * block. The call has been read and not been checked. result is empty before, and complete only after
 * success. All return 0; a negative errno, of it -ECANCELED if there is to be no reply; or a failure kind.
 * Nothing is left open that would keep a mount busy. */

#define OPERATION_RESULT_INIT ((OperationResult){ .files = { .gid = GID_NONE, .disk_gid = GID_NONE } })

int operation_mount(Child *c, const MountCall *call, OperationResult *result, Failure *f) _warn_unused_;
int operation_adopt(Child *c, const AdoptCall *call, OperationResult *result, Failure *f) _warn_unused_;
int operation_change(Child *c, const ChangeCall *call, OperationResult *result, Failure *f) _warn_unused_;
int operation_verify(Child *c, const VerifyCall *call, VerifyResult *result, Failure *f) _warn_unused_;
int operation_unmount(Child *c, const UnmountCall *call, UnmountResult *result, Failure *f) _warn_unused_;

/* A connection that watches the mounts beneath the target roots, and SELinux, for as long as the peer
 * likes. */

struct Watch *watch_free(struct Watch *w);

/* Begins, and appends what is there now to the reply, as Watched. Returns 0 or a negative errno. */
int watch_begin(Child *c, sd_bus_message *reply) _warn_unused_;

/* Has a mount looked for within half a second, unless a look has seen it already. Takes the fact over.
 * Returns 0, a negative errno, or NOT_SUPPORTED if nothing is watched. */
int watch_expect(Child *c, MountFact *fact, Failure *f) _warn_unused_;
