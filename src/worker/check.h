/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mount-note.h"
#include "mount/mountinfo.h"
#include "mount/source.h"
#include "wire/messages.h"
#include "worker/child.h"

/* The worker's own checks, by its own configuration and notes, whatever selvold has checked already. All
 * return 0, a negative errno, or a failure kind. */

/* Checks the volume, source, type and target of a call, and that mounts made here reach the host. Unset
 * strings are NULL or "". */
int check_call(const Child *c, const char *volume, const char *source, const char *fs_type, const char *target,
               Failure *f) _warn_unused_;

/* Calls ask_plan(), checks the answer, and makes its options and contexts canonical: the file system must
 * allow the options, the settings the types of the contexts, and the loaded policy must know the contexts. fs
 * may be NULL if nothing is to be mounted. The caller releases *ret, also after an error. */
int ask_checked(Child *c, const PlanQuestion *question, const FileSystem *fs, PlanAnswer *ret,
                Failure *f) _warn_unused_;

/* A file system may belong to the host, or to a service, if it is mounted outside of TargetRoots= and
 * ForeignRoots= and the worker has not made that mount. The check finds a disk of the host that no list
 * names, such as one at /var/lib/etcd, and a directory of the host that is mounted as a volume; the global
 * mounts of CSI drivers are in kubelet's directory. The worker never mounts such a file system, nor changes
 * its files or mark. The worker can't see mounts in other mount namespaces: selvold decides about them
 * (Observed.hidden). All fail with PATH_NOT_ALLOWED. */

/* For a source to be mounted: calls observe_source_mounts() and checks the mounts found. */
int foreign_check_source(const Child *c, const Source *s, Observed *o, Failure *f) _warn_unused_;
/* The same by the mount table alone. *ret_n: the number of mounts, also on failure. */
int foreign_check_mounts(const Child *c, const Source *s, size_t *ret_n, Failure *f) _warn_unused_;
/* The same if selvold does not need the mounts. */
int foreign_check_unobserved(const Child *c, const Source *s, Failure *f) _warn_unused_;
/* For a mount: checks all mounts of its superblock in the table. ret_n: their number; may be NULL. */
int foreign_check_table(const Child *c, const MountTable *table, const MountFact *fact, size_t *ret_n,
                        Failure *f) _warn_unused_;
/* The same; reads the mount table first. */
int foreign_check(const Child *c, const MountFact *fact, Failure *f) _warn_unused_;

/* The worker changes only mounts that it made or adopted, and has noted; it also shares a foreign mount of a
 * block device that passes foreign_check_source(). A foreign mount without a device or a server, a tmpfs, may
 * hold a pod's secret, and is neither shared nor changed, even after Adopt. */

/* Calls mount_note_write(). Returns WORKER_FAILED or INVALID_TARGET if the note can't be written. */
int noted_write(int fd, MountNote *note, Failure *f) _warn_unused_;
/* Checks that the mount may be shared as a mount of the source. PATH_NOT_ALLOWED if not. */
int noted_check_shared(const Child *c, const Source *source, const MountFact *fact, Failure *f) _warn_unused_;
/* Checks that the files of a visible mount may be changed. adopting: the mount need not be noted yet.
 * PATH_NOT_ALLOWED if not. */
int noted_check_change(const Child *c, const MountFact *fact, bool adopting, Failure *f) _warn_unused_;
