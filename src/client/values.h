/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-bus.h>

#include "basic/gid-util.h"
#include "basic/string-util.h"
#include "wire/option-table.h"

/* The values of request options (wire/option-table.h), as people write them: on selvolctl's command line,
 * among the options of mount(8), of a volume of podman, or of a PersistentVolume. An array of them has
 * REQUEST_OPTIONS elements; {} is one without values. */

typedef struct OptionValue {
        bool set;
        const char *string; /* owned by the caller */
        uint64_t number;    /* a number, boolean, group, or time in µs */
        char **list;
} OptionValue;

/* Reads a value; text NULL: an option without one. Appends to the value of a list. Returns 0, -ENOMEM, or
 * another negative errno for an invalid value: then value_expected() describes valid ones. */
int value_parse(RequestOptionId id, const char *text, OptionValue *v) _warn_unused_;
void values_done(OptionValue values[static REQUEST_OPTIONS]);

/* Describes the valid values: "yes or no", "a time such as 20s, 1min or 500ms". Returns NULL on lack of
 * memory. */
char *value_expected(RequestOptionId id) _warn_unused_;

/* Formats words separated by spaces for people: "a, b or c". Returns NULL on lack of memory. */
char *format_words(const char *words) _warn_unused_;

/* Finds an option by its name on the command line, without "--". Returns REQUEST_OPTIONS if none of the
 * methods takes such an option. */
RequestOptionId option_find(const char *long_name, unsigned int methods) _pure_;

/* Asks for a context mount if the values have a label for a device, an image or a tmpfs, but no policy,
 * driver, volume type, SELinuxMountSupported= or RelabelBy=: such a volume is one file system for one
 * context. On D-Bus the defaults are those of Kubernetes. */
void values_prefer_context_mount(OptionValue values[static REQUEST_OPTIONS], const char *source);

/* Appends the values that are set, as an a{sv}. Returns 0 or a negative errno. */
int values_append(sd_bus_message *m, const OptionValue values[static REQUEST_OPTIONS]) _warn_unused_;

/* Reads the number of a group. Does not look names up: groups are the containers', not the host's. Returns 0,
 * -EINVAL or -ERANGE. */
int parse_gid(const char *s, gid_t *ret) _warn_unused_;
#define GID_EXPECTED "the number of a group, at most 4294967294"

/* Checks that s is one of the words, which spaces separate. Returns 0 or -EINVAL. */
int parse_word(const char *s, const char *words) _warn_unused_;

/* Splits the value of mount(8)'s -o and appends the options to the list. Commas separate options, except
 * within double quotes, which stay, as in ro,context="u:r:t:s0:c1,c2". Skips empty options. Returns 0,
 * -ENOMEM, or -EINVAL if a quote is left open. */
int parse_mount_options(const char *s, char ***list) _warn_unused_;
