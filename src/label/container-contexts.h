/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/failure.h"

/* The policy's contexts for containers, the file selinux_lxc_contexts_path() names. Absent ones are NULL. */
typedef struct ContainerContexts {
        char *process;
        char *file;
        char *ro_file; /* as file where the policy names none */
} ContainerContexts;

void container_contexts_done(ContainerContexts *c);

/* Parses the file's text by go-selinux' rules: "key = value" lines, quotes around the value and blanks trimmed, lines
 * that start with '#' or ';' and lines without '=' skipped, the last of equal keys wins. Returns 0 or -ENOMEM. */
int container_contexts_parse(const char *text, ContainerContexts *ret) _warn_unused_;
