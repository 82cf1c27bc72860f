/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "volume-plugin/volumes.h"

#define PROTOCOL_TYPE "application/vnd.docker.plugins.v1.1+json"

/* Answers one request of the protocol for volume plugins, which podman and Docker share: a URL and a JSON object, to which the answer is
 * another one. Returns the HTTP status with the answer, or a negative errno. */
int protocol_answer(const Plugin *p, const char *url, const char *body, size_t size, char **ret) _warn_unused_;

/* An answer that says what is wrong; NULL on lack of memory. */
char *protocol_refusal(const char *message) _warn_unused_;
