/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* The objects on the bus. All return 0 or a negative errno. */
int manager_object_add(Api *api) _warn_unused_;
int volume_objects_add(Api *api) _warn_unused_;
int job_objects_add(Api *api) _warn_unused_;

/* A function that answers for a property with an expression of its object, which is declared as "const TYPE *NAME". */
#define DEFINE_PROPERTY_GETTER(name, object, type, expression)                                      \
        static int name(sd_bus *bus, const char *path, const char *interface, const char *property, \
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {               \
                object = userdata;                                                                  \
                                                                                                    \
                return sd_bus_message_append(reply, type, expression);                              \
        }                                                                                           \
        struct name##_needs_a_semicolon
