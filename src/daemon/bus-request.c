/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "daemon/bus-request.h"

typedef struct Option {
        const char *name;
        const char *type;
        OptionSet set;
        void *target;
        int (*parse)(const char *s); /* for words: what they stand for */
} Option;

static int store_word(const Option *o, const char *s, Failure *f) {
        _cleanup_free_ char *escaped = NULL;
        int r;

        if (!o->parse)
                return free_and_strdup(o->target, s);

        r = o->parse(s);
        if (r >= 0) {
                *(int *) o->target = r;
                return 0;
        }
        escaped = string_escape(s, 80);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Option %s does not take the value '%s'.", o->name, escaped);
}

/* Reads the value, whose type has been checked. */
static int read_value(sd_bus_message *m, const Option *o, Failure *f) {
        const char *s;
        char **l;
        int b, r;

        switch (o->type[0]) {
        case 's':
                r = sd_bus_message_read(m, "s", &s);
                return r < 0 ? r : store_word(o, s, f);
        case 'b':
                r = sd_bus_message_read(m, "b", &b);
                if (r >= 0)
                        *(int *) o->target = b;
                return r < 0 ? r : 0;
        case 't':
                r = sd_bus_message_read(m, "t", o->target);
                return r < 0 ? r : 0;
        case 'u':
                r = sd_bus_message_read(m, "u", o->target);
                if (r < 0)
                        return r;
                /* What stands for no group is none, and no number of anything else. */
                return *(uint32_t *) o->target < UINT32_MAX
                               ? 0
                               : failure_set(f, FAILURE_INVALID_OPTION,
                                             "Option %s does not take the value %" PRIu32 ".", o->name, UINT32_MAX);
        default:
                r = sd_bus_message_read_strv(m, &l);
                if (r < 0)
                        return r;
                strv_free(*(char ***) o->target);
                *(char ***) o->target = l;
                return 0;
        }
}

static int read_option(sd_bus_message *m, const Option *options, size_t n, OptionSet set, unsigned *seen,
                       Failure *f) {
        const char *key, *contents;
        size_t i = 0;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r >= 0)
                r = sd_bus_message_peek_type(m, NULL, &contents);
        if (r < 0)
                return r;

        while (i < n && !(options[i].set & set && streq(options[i].name, key)))
                i++;
        if (i == n || *seen & (1u << i)) {
                _cleanup_free_ char *escaped = string_escape(key, 80);

                if (!escaped)
                        return -ENOMEM;
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   i == n ? "There is no option '%s' for this method; see org.selvol1(5)."
                                          : "Option '%s' was passed twice.",
                                   escaped);
        }
        *seen |= 1u << i;

        if (!streq(contents, options[i].type))
                return failure_set(f, FAILURE_INVALID_OPTION, "Option %s has type '%s', not '%s'.", key,
                                   options[i].type, contents);
        r = sd_bus_message_enter_container(m, 'v', contents);
        if (r >= 0)
                r = read_value(m, &options[i], f);
        if (r != 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 0;
}

static int check_limits(const Request *q, Failure *f) {
        /* No limit would be a job that never ends. */
        if (q->timeout_usec > JOB_TIMEOUT_USEC_MAX)
                return failure_set(f, FAILURE_INVALID_OPTION, "Option TimeoutUSec is more than an hour.");
        return walk_options_validate(&q->walk, f);
}

int bus_read_options(sd_bus_message *m, OptionSet set, Request *q, VerifyOptions *verify, Failure *f) {
        int access_mode = (int) q->access_mode, relabel_by = (int) q->relabel_by, read_only = q->read_only, depth = 0,
            force = 0, user_namespace = q->user_namespace, r;
        unsigned seen = 0;
        const Option options[] = {
                { "TimeoutUSec", "t", OPTIONS_TIMEOUT, &q->timeout_usec, NULL },
                { "Depth", "s", OPTIONS_VERIFY, &depth, verify_depth_from_string },
                { "MaxEntriesPerSecond", "t", OPTIONS_WALK, &q->walk.entries_per_sec, NULL },
                { "Force", "b", OPTIONS_FORCE, &force, NULL },
                { "RelabelBy", "s", OPTIONS_RELABEL, &relabel_by, relabel_by_from_string },
                { "FSType", "s", OPTIONS_MOUNT, &q->fs_type, NULL },
                { "MountOptions", "as", OPTIONS_MOUNT, &q->mount_options, NULL },
                { "ReadOnly", "b", OPTIONS_MOUNT | OPTIONS_READ_ONLY, &read_only, NULL },
                { "Holder", "s", OPTIONS_LABEL, &q->holder, NULL },
                { "Driver", "s", OPTIONS_LABEL, &q->driver, NULL },
                { "VolumeType", "s", OPTIONS_LABEL, &q->volume_type, NULL },
                { "AccessMode", "s", OPTIONS_LABEL, &access_mode, access_mode_from_string },
                { "SELinuxContext", "s", OPTIONS_LABEL, &q->context, NULL },
                { "SELinuxUser", "s", OPTIONS_LABEL, &q->user, NULL },
                { "SELinuxRole", "s", OPTIONS_LABEL, &q->role, NULL },
                { "SELinuxType", "s", OPTIONS_LABEL, &q->type, NULL },
                { "SELinuxLevel", "s", OPTIONS_LABEL, &q->level, NULL },
                { "SELinuxRelabelPolicy", "s", OPTIONS_LABEL, &q->policy, relabel_policy_parse },
                { "SELinuxMountSupported", "b", OPTIONS_LABEL, &q->selinux_mount_supported, NULL },
                { "FSGroup", "u", OPTIONS_LABEL | OPTIONS_VERIFY, &q->fs_group, NULL },
                { "FSGroupPolicy", "s", OPTIONS_LABEL, &q->fs_group_policy, fs_group_policy_from_string },
                { "FSGroupChangePolicy", "s", OPTIONS_LABEL, &q->fs_group_change_policy,
                  fs_group_change_policy_from_string },
                { "UserNamespace", "b", OPTIONS_LABEL, &user_namespace, NULL },
        };

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_option(m, options, ELEMENTSOF(options), set, &seen, f);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        r = check_limits(q, f);
        if (r != 0)
                return r;

        q->access_mode = (AccessMode) access_mode;
        q->relabel_by = (RelabelBy) relabel_by;
        q->read_only = read_only;
        q->user_namespace = user_namespace;
        q->walk.force = force;
        if (verify)
                verify->depth = (VerifyDepth) depth;
        return 0;
}
