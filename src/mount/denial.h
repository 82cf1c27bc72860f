/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/failure.h"

/* Explains what SELinux denies. The worker has the capabilities to open and to mount anything, so where
 * SELinux is enforcing an EACCES of a local file comes from the policy. Uses no libselinux: selvolctl asks
 * the policy, too, and needs no more than the files of selinuxfs. */

/* The policy module allows the worker types of objects; selinux/selvol.te has the rules. */
typedef enum DeniedObject {
        DENIED_TARGET, /* a directory on which a volume is mounted, or one above */
        DENIED_IMAGE,  /* an image, or a directory above */
        DENIED_DEVICE, /* a device node */
        DENIED_OBJECTS,
} DeniedObject;

/* Whether SELinux is on and enforcing. */
bool selinux_is_enforcing(void);

/* Asks the loaded policy whether a domain may do something to an object. subject, object: contexts; NULL as
 * subject: this process's own. Returns 1, also if the policy only logs denials of the domain; 0; or a
 * negative errno if the policy can't be asked or does not know a name. */
int policy_allows(const char *subject, const char *object, const char *class, const char *permission) _warn_unused_;

/* Returns the command that gives the object's directory a type that the worker may use: for a target the
 * directory of TargetRoots=, for an image or a device the one that it is in. NULL: no memory. */
char *denial_remedy(DeniedObject object, const char *path, const char *directory);
/* The types that the policy module allows, in words. */
const char *denial_types(DeniedObject object);

/* Explains -EACCES at the object that fd is open at, also with O_PATH, or that is beneath it. path,
 * directory: as for denial_remedy(). Returns SELINUX_DENIED; MOUNT_FAILED if SELinux does not enforce; or
 * -ENOMEM. */
int denial_failure(DeniedObject object, int fd, const char *path, const char *directory, Failure *f) _warn_unused_;

/* Explains -EACCES of a source, or of a directory above, that fd is open at. Returns as denial_failure(). */
int denial_source_failure(int fd, const char *path, Failure *f) _warn_unused_;

/* Explains EACCES of the call that mounts the source, whose name is escaped. context: empty without one.
 * Returns as denial_failure(). */
int denial_mount_failure(const char *source, const char *fs_type, const char *context, Failure *f) _warn_unused_;

/* Ask the loaded policy before anything is mounted: whether the worker may mount on the target, and whether
 * it may mount with the context (empty: without one). Return 0, also if the policy can't be asked; -ENOMEM;
 * or SELINUX_DENIED. */
int denial_check_target(int fd, const char *path, const char *directory, Failure *f) _warn_unused_;
int denial_check_context(const char *source, const char *context, Failure *f) _warn_unused_;
