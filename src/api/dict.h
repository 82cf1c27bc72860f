/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "plan/plan.h"

/* Entries of a{sv}; those that don't apply are left out. All return 0 or a negative errno. */

/* Nothing if value is NULL or "". */
int dict_append_string(sd_bus_message *m, const char *key, const char *value) _warn_unused_;
/* Nothing if it is false. */
int dict_append_true(sd_bus_message *m, const char *key, bool value) _warn_unused_;
/* Nothing if it is 0. */
int dict_append_u64(sd_bus_message *m, const char *key, uint64_t value) _warn_unused_;
/* Nothing for GID_NONE. */
int dict_append_gid(sd_bus_message *m, const char *key, gid_t gid) _warn_unused_;
/* Nothing if it is empty. */
int dict_append_strv(sd_bus_message *m, const char *key, char *const *l) _warn_unused_;

/* aa{sv} of conflicts, and of a volume's holders: one shape. */
int conflicts_append(sd_bus_message *m, const Plan *p) _warn_unused_;
int holders_append(sd_bus_message *m, const Volume *v) _warn_unused_;
