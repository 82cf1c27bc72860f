/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"

#define LABEL_XATTR "security.selinux"

/* All that libselinux knows: the node's state, the loaded policy, and labels read by file descriptors. */

/* Reads the node's state. With SELinux off all of it is false and NULL. Returns 0 or a negative errno. */
int selinux_read_node(Node *ret) _warn_unused_;

/* Checks a context with the loaded policy and makes it canonical, as the kernel would print it. With SELinux
 * off only the form is checked. Returns 0, a negative errno, or INVALID_CONTEXT. *ret is owned by the
 * caller. */
int selinux_check_context(const char *context, char **ret, Failure *f) _warn_unused_;

/* Reads the label of an open file, also of one that was opened with O_PATH; "" if it has none or the file
 * system keeps none, or if what is stored there is not even well formed. Canonical. *ret is owned by the
 * caller. Returns 0 or a negative errno; -EXDEV if /proc is not procfs, so that what was read might be
 * another file's. */
int selinux_read_label(int fd, char **ret) _warn_unused_;

/* Checks that the file system which an open file is on keeps labels. fd is not of O_PATH. Returns 0, a
 * negative errno, or NOT_SUPPORTED. */
int selinux_require_labels(int fd, Failure *f) _warn_unused_;
/* The failure of that: returns NOT_SUPPORTED, or -ENOMEM. */
int selinux_fail_unlabeled(Failure *f);

/* Whether n bytes that were read are the label, byte by byte; whoever wrote it to disk may have left the
 * trailing NUL out. */
static inline bool label_is_verbatim(const char *bytes, size_t n, const char *label, size_t length) {
        return (n == length || (n == length + 1 && bytes[length] == '\0')) && memcmp(bytes, label, length) == 0;
}

/* Brings a label as it was read from the kernel or a disk to the one form that can be compared; "" if it is
 * not even well formed. *ret is owned by the caller. Returns 0 or a negative errno. */
int selinux_canonicalize_label(const char *label, char **ret) _warn_unused_;

/* The policy's contexts for containers, the file selinux_lxc_contexts_path() names. Absent ones are NULL. */
typedef struct ContainerContexts {
        char *process;
        char *file;
        char *ro_file; /* as file where the policy names none */
} ContainerContexts;

void container_contexts_done(ContainerContexts *c);

/* Parses the file's text by go-selinux' rules: "key = value" lines, quotes around the value and blanks
 * trimmed, lines that start with '#' or ';' and lines without '=' skipped, the last of equal keys wins.
 * Returns 0 or -ENOMEM. */
int container_contexts_parse(const char *text, ContainerContexts *ret) _warn_unused_;
