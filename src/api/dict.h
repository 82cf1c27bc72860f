/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "plan/plan.h"

/* Writes a{sv} into a message. After an error nothing more is written, and it is told at the end: as with stdio(3), only
 * dict->error has to be looked at, once. */
typedef struct Dict {
        sd_bus_message *m;
        int error; /* 0 or a negative errno */
} Dict;

/* Containers, as sd_bus_message_open_container(3). */
void dict_open(Dict *d, char type, const char *contents);
void dict_close(Dict *d);

/* An entry with a value of a basic type. */
void dict_put(Dict *d, const char *key, const char *type, ...);
/* An entry whose value is a container: its contents follow, then dict_close_entry(). */
void dict_open_entry(Dict *d, const char *key, const char *type);
void dict_close_entry(Dict *d);

/* Entries that are left out where they don't apply: NULL or "", false, 0, GID_NONE, an empty list. */
void dict_put_string(Dict *d, const char *key, const char *value);
void dict_put_true(Dict *d, const char *key, bool value);
void dict_put_u64(Dict *d, const char *key, uint64_t value);
void dict_put_gid(Dict *d, const char *key, gid_t gid);
void dict_put_strv(Dict *d, const char *key, char *const *l);

/* aa{sv} of conflicts, and of a volume's holders: one shape. */
void dict_append_conflicts(Dict *d, const Plan *p);
void dict_append_holders(Dict *d, const Volume *v);
