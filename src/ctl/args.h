/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"
#include "basic/string-util.h"

/* The exit codes, documented in selvolctl(1); 0 is success and 1 any failure without one of its own. */
enum {
        EXIT_USAGE = 2,
        EXIT_CONFLICT = 3, /* refused: somebody holds the volume with another context or group */
        EXIT_DENIED = 4,
        EXIT_MISMATCH = 5, /* verify: the label or the group is not the one expected */
        EXIT_SIGNAL = 128, /* plus its number: by a signal, which is raised again in the end */
};

/* The options that go to the service as they are, in the a{sv} of a method. */
typedef enum RequestOption {
        OPTION_FS_TYPE,
        OPTION_MOUNT_OPTIONS,
        OPTION_READ_ONLY,
        OPTION_HOLDER,
        OPTION_DRIVER,
        OPTION_VOLUME_TYPE,
        OPTION_ACCESS_MODE,
        OPTION_CONTEXT,
        OPTION_USER,
        OPTION_ROLE,
        OPTION_TYPE,
        OPTION_LEVEL,
        OPTION_POLICY,
        OPTION_MOUNT_SUPPORTED,
        OPTION_RELABEL_BY,
        OPTION_FS_GROUP,
        OPTION_FS_GROUP_POLICY,
        OPTION_FS_GROUP_CHANGE_POLICY,
        OPTION_USER_NAMESPACE,
        OPTION_FORCE,
        OPTION_MAX_ENTRIES_PER_SECOND,
        OPTION_TIMEOUT,
        OPTION_DEPTH,
        REQUEST_OPTIONS,
} RequestOption;

typedef struct OptionValue {
        bool set;
        const char *string; /* belongs to argv */
        bool boolean;
        uint64_t number; /* times in µs */
        char **list;
} OptionValue;

typedef struct RequestOptionInfo {
        const char *name; /* on the command line, without "--" */
        const char *key;  /* on D-Bus */
        const char *signature;
} RequestOptionInfo;

extern const RequestOptionInfo request_options[REQUEST_OPTIONS];

typedef struct Args {
        const char *verb;
        char **operands;
        int n_operands;
        OptionValue values[REQUEST_OPTIONS];
        bool json;
        bool legend;
        bool quiet;
        bool history;
        bool wait;
        bool ask_password;
        bool help;
        bool version;
} Args;

#define ARGS_INIT ((Args){ .legend = true, .wait = true, .ask_password = true })

/* Reads the command line. Returns 0, EXIT_USAGE after saying what is wrong, or -ENOMEM. operands belong to argv. */
int args_parse(int argc, char **argv, Args *ret) _warn_unused_;
void args_done(Args *a);
