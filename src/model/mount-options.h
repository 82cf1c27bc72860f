/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "model/settings.h"

/* The caller's mount options, parsed. */
typedef struct MountOptions {
        char **options; /* for the file system, in the caller's order */
        char *context;  /* from kubelet's context="...", canonical; NULL if there was none */
        bool read_only; /* "ro" was among them */
} MountOptions;

void mount_options_done(MountOptions *o);

/* Whether an option is for mount(8), systemd or fstab(5), and means nothing to the file system, such as
 * _netdev or x-systemd.automount. name ends at the '=' of a value, if there is one. */
bool mount_option_is_for_user_space(const char *name) _pure_;

/* Removes the options for user space, kubelet's context="LABEL" (or context=LABEL), ro and rw from the
 * options, and checks the form of the others: one option in each element, keys of [a-z0-9_-], values
 * without quotes, commas, blanks, control characters and backslashes; no other label option, no suid, no
 * dev. mount_options_check() checks whether the file system allows an option. Returns 0, -ENOMEM,
 * INVALID_OPTION, INVALID_CONTEXT, or INCOMPATIBLE for two contexts. */
int mount_options_parse(char *const *options, MountOptions *ret, Failure *f) _warn_unused_;

/* Checks parsed options against the allow list of a file system. Returns 0, -ENOMEM or INVALID_OPTION. */
int mount_options_check(char *const *options, const Settings *settings, const FileSystem *fs,
                        Failure *f) _warn_unused_;

/* Adds those options of more whose keys the caller did not pass. Returns 0 or -ENOMEM; on -ENOMEM *options
 * may have some of them. */
int mount_options_add(char ***options, char *const *more) _warn_unused_;

/* Puts the options of a mount that is replaced before the caller's, which win: an option is left out if the
 * caller passed its key, or one about access times beside another one. Returns 0 or -ENOMEM; *options is
 * unchanged then. */
int mount_options_keep(char ***options, char *const *replaced) _warn_unused_;

/* Whether an option of n bytes is an attribute that each mount of a file system has for itself
 * (mount_setattr(2)). All other options belong to the file system. */
bool mount_option_is_attribute(const char *option, size_t n) _pure_;

/* Adds the file system's options for a group (GroupOptions=) before the caller's options, so that the
 * caller's win. Skips an option if the caller passed its key. Returns 0, -ENOMEM, or INVALID_OPTION if the
 * file system has no gid=, or if the caller passed gid= with another group. Leaves *options unchanged on
 * failure. */
int mount_options_add_group(char ***options, const FileSystem *fs, gid_t gid, Failure *f) _warn_unused_;
