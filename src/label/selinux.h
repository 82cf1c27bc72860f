/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"

#define LABEL_XATTR "security.selinux"

/* Uses libselinux: the node's state, the loaded policy, and labels of open files. */

/* Reads the node's state; all members are false and NULL if SELinux is off. Returns 0 or a negative errno. */
int selinux_read_node(Node *ret) _warn_unused_;

/* Checks a context against the loaded policy and makes the context canonical, as the kernel prints it. With
 * SELinux off only the form is checked. Returns 0, a negative errno, or INVALID_CONTEXT. *ret is owned by the
 * caller. */
int selinux_check_context(const char *context, char **ret, Failure *f) _warn_unused_;

/* Reads the label of an open file, also one opened with O_PATH, in canonical form; "" if the file has no
 * label, the file system keeps none, or the label is malformed. *ret is owned by the caller. Returns 0 or a
 * negative errno; -EXDEV if /proc is not procfs, where the label might be another file's. */
int selinux_read_label(int fd, char **ret) _warn_unused_;

/* Checks that the file system of an open file keeps labels. fd is not opened with O_PATH. Returns 0, a
 * negative errno, or NOT_SUPPORTED. */
int selinux_require_labels(int fd, Failure *f) _warn_unused_;
/* Sets the failure of selinux_require_labels(). Returns NOT_SUPPORTED or -ENOMEM. */
int selinux_fail_unlabeled(Failure *f);

/* Whether the n bytes are the label; a program that wrote the label to disk may have left out the trailing
 * NUL. */
static inline bool label_is_verbatim(const char *bytes, size_t n, const char *label, size_t length) {
        return (n == length || (n == length + 1 && bytes[length] == '\0')) && memcmp(bytes, label, length) == 0;
}

/* Makes a label from the kernel or a disk canonical, so it can be compared; "" if the label is malformed.
 * *ret is owned by the caller. Returns 0 or a negative errno. */
int selinux_canonicalize_label(const char *label, char **ret) _warn_unused_;

/* The policy's contexts for containers, from the file selinux_lxc_contexts_path(). Absent ones are NULL. */
typedef struct ContainerContexts {
        char *process;
        char *file;
        char *ro_file; /* the same as file if the policy names none */
} ContainerContexts;

void container_contexts_done(ContainerContexts *c);

/* Parses the file's text like go-selinux: "key = value" lines; trims quotes around the value and blanks;
 * skips lines that start with '#' or ';' and lines without '='; the last of equal keys wins. Returns 0 or
 * -ENOMEM. */
int container_contexts_parse(const char *text, ContainerContexts *ret) _warn_unused_;
