/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The options of methods, passed in their last argument a{sv}. selvold reads them by this table, and
 * selvolctl offers them on the command line. */

/* The methods that take options, as bits of a set. */
typedef enum RequestMethod {
        METHOD_MOUNT = 1 << 0, /* MountVolume and PlanVolume */
        METHOD_ADOPT = 1 << 1,
        METHOD_UNMOUNT = 1 << 2,
        METHOD_VERIFY = 1 << 3,
        METHOD_RELABEL = 1 << 4,
        METHOD_OWNERSHIP = 1 << 5,
        METHODS_ALL = (1 << 6) - 1,
} RequestMethod;

typedef enum RequestOptionId {
        OPTION_SELINUX_LEVEL,
        OPTION_SELINUX_CONTEXT,
        OPTION_SELINUX_USER,
        OPTION_SELINUX_ROLE,
        OPTION_SELINUX_TYPE,
        OPTION_SELINUX_RELABEL_POLICY,
        OPTION_SELINUX_MOUNT_SUPPORTED,
        OPTION_RELABEL_BY,
        OPTION_FS_TYPE,
        OPTION_MOUNT_OPTIONS,
        OPTION_READ_ONLY,
        OPTION_HOLDER,
        OPTION_DRIVER,
        OPTION_VOLUME_TYPE,
        OPTION_ACCESS_MODE,
        OPTION_FS_GROUP,
        OPTION_FS_GROUP_POLICY,
        OPTION_FS_GROUP_CHANGE_POLICY,
        OPTION_USER_NAMESPACE,
        OPTION_EPHEMERAL,
        OPTION_REPLACE,
        OPTION_RELEASE_ON_UMOUNT,
        OPTION_DEPTH,
        OPTION_FORCE,
        OPTION_MAX_ENTRIES_PER_SECOND,
        OPTION_WAIT,
        OPTION_TIMEOUT,
        REQUEST_OPTIONS,
} RequestOptionId;

typedef struct RequestOption {
        const char *name;        /* on D-Bus; the name of a time ends in USec */
        const char *type;        /* D-Bus signature: s, b, t, as; u: a group */
        unsigned int methods;    /* RequestMethods that take the option */
        const char *long_name;   /* on the command line, without "--" */
        const char *argument;    /* its name in selvolctl's help; NULL: no argument, the option is true */
        const char *description; /* selvolctl's help appends the values */
        const char *values;      /* allowed words, separated by spaces; NULL: not a word */
} RequestOption;

extern const RequestOption request_options[REQUEST_OPTIONS];

/* The method's option with this name. NULL: none. */
const RequestOption *request_option_find(const char *name, RequestMethod method);
