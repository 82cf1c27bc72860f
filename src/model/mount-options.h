/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "model/settings.h"

/* The caller's mount options, sorted out. */
typedef struct MountOptions {
        char **options; /* for the file system, in the caller's order */
        char *context;  /* from kubelet's context="...", canonical; NULL if there was none */
        bool read_only; /* "ro" was among them */
} MountOptions;

void mount_options_done(MountOptions *o);

/* Takes kubelet's context="LABEL" (or context=LABEL) and ro/rw out of the options and checks the form of the
 * rest: one option an element, [a-z0-9_] keys, values without quotes, commas, blanks, control characters and
 * backslashes; no other label option, no suid and dev. Whether a file system takes an option is
 * mount_options_check()'s. Returns 0, -ENOMEM, INVALID_OPTION, INVALID_CONTEXT, or INCOMPATIBLE for two
 * contexts. */
int mount_options_parse(char *const *options, MountOptions *ret, Failure *f) _warn_unused_;

/* Checks parsed options against the allow list of a file system. Returns 0, -ENOMEM or INVALID_OPTION. */
int mount_options_check(char *const *options, const Settings *settings, const FileSystem *fs,
                        Failure *f) _warn_unused_;

/* Adds the options whose keys were not passed. Returns 0 or -ENOMEM, after which some may have been added. */
int mount_options_add(char ***options, char *const *more) _warn_unused_;

/* Whether an option of n bytes is an attribute of a mount, which each mount of a file system has for itself
 * (mount_setattr(2)); the others are the file system's. */
bool mount_option_is_attribute(const char *option, size_t n) _pure_;

/* Puts what gives all files to the group (fs's GroupOptions=) before the caller's options, which so have the
 * last word; an option whose key the caller passed is left out. Returns 0, -ENOMEM, or INVALID_OPTION if
 * there is no such option, or if the caller passed gid= with another group; *options is untouched then. */
int mount_options_add_group(char ***options, const FileSystem *fs, gid_t gid, Failure *f) _warn_unused_;
