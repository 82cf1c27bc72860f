/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mount-note.h"
#include "mount/mountinfo.h"
#include "mount/source.h"
#include "wire/messages.h"
#include "worker/child.h"

/* The worker's own checks, by its own configuration and its own notes, whatever selvold says or has checked
 * already. All return 0, a negative errno, or a failure kind. */

/* Checks what a call names, and that mounts which are made here reach the host; unset strings are NULL or
 * "". */
int check_call(const Child *c, const char *volume, const char *source, const char *fs_type, const char *target,
               Failure *f) _warn_unused_;

/* ask_plan(). Checks what the answer wants to be done and brings its options and contexts to their one form:
 * options of the file system's list, contexts of an allowed type that the loaded policy knows. fs may be NULL
 * if nothing is to be mounted. *ret is the caller's to release, also after an error. */
int ask_checked(Child *c, const PlanQuestion *question, const FileSystem *fs, PlanAnswer *ret,
                Failure *f) _warn_unused_;

/* Whether a file system may be the host's own, or a service's: it is mounted where no volume is, outside of
 * TargetRoots= and ForeignRoots=, and not by the worker. That tells a disk of the host's that no list knows,
 * such as one at /var/lib/etcd, and a directory of the host's that is mounted as a volume; the global mounts
 * of CSI drivers are in kubelet's directory. Such a file system is neither mounted, nor are its files or its
 * mark changed. What is mounted in other mount namespaces can't be seen: of that selvold decides
 * (Observed.hidden). All fail with PATH_NOT_ALLOWED. */

/* For a source that is to be mounted: calls observe_source_mounts(), and checks the mounts found. */
int foreign_check_source(const Child *c, const Source *s, Observed *o, Failure *f) _warn_unused_;
/* The same where selvold did not want to know what there is to see. */
int foreign_check_unobserved(const Child *c, const Source *s, Failure *f) _warn_unused_;
/* For a mount, by all its mounts in the table. ret_n: how many there are; may be NULL. */
int foreign_check_table(const Child *c, const MountTable *table, const MountFact *fact, size_t *ret_n,
                        Failure *f) _warn_unused_;
/* The same with a look at the table. */
int foreign_check(const Child *c, const MountFact *fact, Failure *f) _warn_unused_;

/* Which mounts the worker may work on, by its notes: those that it made, and those that it adopted. What
 * others have mounted without a device or a server, a tmpfs, may hold a pod's secret: that is neither shared
 * nor changed, adopted or not. */

/* mount_note_write(). WORKER_FAILED or INVALID_TARGET: it can't be noted. */
int noted_write(int fd, MountNote *note, Failure *f) _warn_unused_;
/* Whether the mount may be shared as one of the source. PATH_NOT_ALLOWED if not. */
int noted_check_shared(const Child *c, const Source *source, const MountFact *fact, Failure *f) _warn_unused_;
/* Whether the files of a mount that is visible may be changed; adopting: although it is not noted yet.
 * PATH_NOT_ALLOWED if not. */
int noted_check_change(const Child *c, const MountFact *fact, bool adopting, Failure *f) _warn_unused_;
