/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The options that callers pass to methods, in their last argument a{sv}: each of them once, for selvold,
 * which reads them, and for selvolctl, which offers them on the command line. */

/* The methods that take options; values are bits of a set. */
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
        OPTION_DEPTH,
        OPTION_FORCE,
        OPTION_MAX_ENTRIES_PER_SECOND,
        OPTION_WAIT,
        OPTION_TIMEOUT,
        REQUEST_OPTIONS,
} RequestOptionId;

typedef struct RequestOption {
        const char *name;        /* on D-Bus; a time ends in USec */
        const char *type;        /* D-Bus signature: s, b, t, as; u is a group */
        unsigned int methods;    /* that take it: RequestMethod */
        const char *long_name;   /* on the command line, without "--" */
        const char *argument;    /* likewise, as help calls it; NULL: none, the option is true */
        const char *description; /* help appends the values */
        const char *values;      /* the words that it can be, separated by spaces; NULL: it is no word */
} RequestOption;

extern const RequestOption request_options[REQUEST_OPTIONS];

/* The option that a method takes by this name; NULL if it takes none. */
const RequestOption *request_option_find(const char *name, RequestMethod method);
