/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "model/limits.h"
#include "api/options.h"
#include "wire/message.h"

/* The destinations of the values of wire/option-table.h. Flags and words are ints until all options are
 * read. */
typedef struct OptionTarget {
        void *where;
        int (*parse)(const char *s); /* turns a word into its value; NULL: a string */
} OptionTarget;

static int store_word(const RequestOption *o, const OptionTarget *target, const char *s, Failure *f) {
        _cleanup_free_ char *escaped = NULL;
        int r;

        if (!target->parse)
                return free_and_strdup(target->where, s);
        r = target->parse(s);
        if (r >= 0) {
                *(int *) target->where = r;
                return 0;
        }
        escaped = string_escape(s, 80);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Option \"%s\": '%s' is not valid, use one of: %s.", o->name,
                           escaped, strempty(o->values));
}

/* The type of the value has been checked. */
static int read_value(sd_bus_message *m, const RequestOption *o, const OptionTarget *target, Failure *f) {
        char **l, ***list;
        const char *s;
        uint32_t gid;
        int r;

        switch (o->type[0]) {
        case 's':
                r = sd_bus_message_read(m, "s", &s);
                return r < 0 ? r : store_word(o, target, s, f);
        case 'u':
                r = sd_bus_message_read(m, "u", &gid);
                if (r < 0)
                        return r;
                if (gid == GID_NONE)
                        return failure_set(f, FAILURE_INVALID_OPTION,
                                           "Option \"%s\" must be a group id from 0 to 4294967294.", o->name);
                *(gid_t *) target->where = gid;
                return 0;
        case 'a':
                r = message_read_strv(m, OPTIONS_MAX, &l);
                if (r == -E2BIG)
                        return failure_set(f, FAILURE_INVALID_OPTION, "Option \"%s\" has more than %i elements.",
                                           o->name, OPTIONS_MAX);
                if (r < 0)
                        return r;
                list = target->where;
                strv_free(*list);
                *list = l;
                return 0;
        default: /* b, t */
                r = sd_bus_message_read(m, o->type, target->where);
                return r < 0 ? r : 0;
        }
}

static int refuse_key(const char *key, const char *format, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(key, 80);

        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "%s '%s'; see org.selvol1(5).", format, escaped);
}

static int read_option_entry(sd_bus_message *m, RequestMethod method, const OptionTarget *targets, bool *seen,
                             Failure *f) {
        const char *key, *contents;
        const RequestOption *o;
        size_t i;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        r = sd_bus_message_peek_type(m, NULL, &contents);
        if (r < 0)
                return r;
        o = request_option_find(key, method);
        if (!o)
                return refuse_key(key, "This method has no option", f);
        i = (size_t) (o - request_options);
        if (seen[i])
                return refuse_key(key, "An option was passed twice:", f);
        seen[i] = true;
        if (!streq(contents, o->type))
                return failure_set(f, FAILURE_INVALID_OPTION, "Option \"%s\" has type '%s', not '%s'.", key, o->type,
                                   contents);
        r = sd_bus_message_enter_container(m, 'v', contents);
        if (r < 0)
                return r;
        r = read_value(m, o, &targets[i], f);
        if (r != 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 0;
}

static int read_options(sd_bus_message *m, RequestMethod method, const OptionTarget *targets, Failure *f) {
        bool seen[REQUEST_OPTIONS] = { 0 };
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_option_entry(m, method, targets, seen, f);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 0;
}

int options_read(sd_bus_message *m, RequestMethod method, Request *q, VerifyDepth *ret_depth, Failure *f) {
        int access_mode = (int) q->access_mode, relabel_by = (int) q->relabel_by, read_only = q->read_only,
            depth = VERIFY_ROOT, force = q->walk.force, user_namespace = q->user_namespace, ephemeral = q->ephemeral,
            release_on_umount = q->release_on_umount, replace = q->replace, r;
        const OptionTarget targets[REQUEST_OPTIONS] = {
                [OPTION_SELINUX_LEVEL] = { &q->level, NULL },
                [OPTION_SELINUX_CONTEXT] = { &q->context, NULL },
                [OPTION_SELINUX_USER] = { &q->user, NULL },
                [OPTION_SELINUX_ROLE] = { &q->role, NULL },
                [OPTION_SELINUX_TYPE] = { &q->type, NULL },
                [OPTION_SELINUX_RELABEL_POLICY] = { &q->policy, relabel_policy_parse },
                [OPTION_SELINUX_MOUNT_SUPPORTED] = { &q->selinux_mount_supported, NULL },
                [OPTION_RELABEL_BY] = { &relabel_by, relabel_by_from_string },
                [OPTION_FS_TYPE] = { &q->fs_type, NULL },
                [OPTION_MOUNT_OPTIONS] = { &q->mount_options, NULL },
                [OPTION_READ_ONLY] = { &read_only, NULL },
                [OPTION_HOLDER] = { &q->holder, NULL },
                [OPTION_DRIVER] = { &q->driver, NULL },
                [OPTION_VOLUME_TYPE] = { &q->volume_type, NULL },
                [OPTION_ACCESS_MODE] = { &access_mode, access_mode_from_string },
                [OPTION_FS_GROUP] = { &q->fs_group, NULL },
                [OPTION_FS_GROUP_POLICY] = { &q->fs_group_policy, fs_group_policy_from_string },
                [OPTION_FS_GROUP_CHANGE_POLICY] = { &q->fs_group_change_policy, fs_group_change_policy_from_string },
                [OPTION_USER_NAMESPACE] = { &user_namespace, NULL },
                [OPTION_EPHEMERAL] = { &ephemeral, NULL },
                [OPTION_REPLACE] = { &replace, NULL },
                [OPTION_RELEASE_ON_UMOUNT] = { &release_on_umount, NULL },
                [OPTION_DEPTH] = { &depth, verify_depth_from_string },
                [OPTION_FORCE] = { &force, NULL },
                [OPTION_MAX_ENTRIES_PER_SECOND] = { &q->walk.entries_per_sec, NULL },
                [OPTION_WAIT] = { &q->wait_usec, NULL },
                [OPTION_TIMEOUT] = { &q->timeout_usec, NULL },
        };

        r = read_options(m, method, targets, f);
        if (r != 0)
                return r;
        q->access_mode = (AccessMode) access_mode;
        q->relabel_by = (RelabelBy) relabel_by;
        q->read_only = read_only;
        q->user_namespace = user_namespace;
        q->ephemeral = ephemeral;
        q->release_on_umount = release_on_umount;
        q->replace = replace;
        q->walk.force = force;
        if (ret_depth)
                *ret_depth = (VerifyDepth) depth;
        /* A job without a limit might never end. */
        if (q->timeout_usec > JOB_TIMEOUT_USEC_MAX)
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "Option \"TimeoutUSec\" is more than an hour, which is the most.");
        if (q->wait_usec > JOB_TIMEOUT_USEC_MAX)
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "Option \"WaitUSec\" is more than an hour, which is the most.");
        return walk_options_validate(&q->walk, f);
}
