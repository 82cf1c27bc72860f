/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/unmarshal.h"

/* What the worker reads: calls, and the answer to Plan. */

/* Of options there are those of the request and what the configuration adds. */
enum { RELIANCES_MAX = 16 * 1024, PLAN_OPTIONS_MAX = 1024 };

int mount_call_read(sd_bus_message *m, MountCall *ret) {
        _cleanup_(mount_call_done) MountCall c = { 0 };
        const char *s[4];
        int r;

        r = unmarshal_enter_struct(m, MOUNT_CALL_TYPE);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "ssss", &s[0], &s[1], &s[2], &s[3]));
        if (r < 0)
                return r;
        r = unmarshal_copy_strings(s, (char **const[]){ &c.volume, &c.source, &c.fs_type, &c.target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = mount_identity_read(m, &c.expected);
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
        if (r < 0)
                return r;

        *ret = c;
        c = (MountCall){ 0 };
        return 0;
}

int adopt_call_read(sd_bus_message *m, AdoptCall *ret) {
        AdoptCall c = { 0 };
        const char *s[2];
        int r;

        r = unmarshal_expect(sd_bus_message_read(m, ADOPT_CALL_TYPE, &s[0], &s[1]));
        if (r < 0)
                return r;
        r = unmarshal_copy_strings(s, (char **const[]){ &c.volume, &c.target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int change_call_read(sd_bus_message *m, ChangeCall *ret) {
        ChangeCall c = { 0 };
        const char *s[4];
        int r;

        r = unmarshal_expect(sd_bus_message_read(m, CHANGE_CALL_TYPE, &s[0], &s[1], &s[2], &s[3]));
        if (r < 0)
                return r;
        r = unmarshal_copy_strings(s, (char **const[]){ &c.volume, &c.target, &c.source, &c.fs_type }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int verify_call_read(sd_bus_message *m, VerifyCall *ret) {
        VerifyCall c = { 0 };
        const char *s[3], *word;
        int depth, r;

        r = unmarshal_expect(sd_bus_message_read(m, VERIFY_CALL_TYPE, &s[0], &s[1], &word, &c.gid, &c.entries_per_sec,
                                                 &s[2], &c.mount_id));
        if (r < 0)
                return r;
        depth = verify_depth_from_string(word);
        if (depth < 0)
                return -EBADMSG;
        c.depth = (VerifyDepth) depth;
        r = unmarshal_copy_strings(s, (char **const[]){ &c.path, &c.expected, &c.mount_target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

int unmount_call_read(sd_bus_message *m, UnmountCall *ret) {
        UnmountCall c = { 0 };
        const char *s[4];
        int r;

        r = unmarshal_expect(sd_bus_message_read(m, UNMOUNT_CALL_TYPE, &s[0], &c.identity.id, &s[1], &s[2], &s[3]));
        if (r < 0)
                return r;
        r = unmarshal_copy_strings(s, (char **const[]){ &c.target, &c.identity.device, &c.source, &c.fs_type },
                                   ELEMENTSOF(s));
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

static int files_wanted_read(sd_bus_message *m, FilesWanted *ret) {
        int readers, force, gate, policy_given, user_namespace, on_disk, mounted, action, reason, policy, r;
        const char *context, *action_word, *reason_word, *policy_word;
        FilesWanted w;

        r = unmarshal_expect(sd_bus_message_read(m, FILES_WANTED_TYPE, &context, &w.gid, &readers, &action_word,
                                                 &reason_word, &force, &gate, &policy_word, &policy_given,
                                                 &user_namespace, &on_disk, &mounted, &w.swapped_gid));
        if (r < 0)
                return r;
        action = ownership_action_from_string(action_word);
        reason = ownership_reason_from_string(reason_word);
        policy = fs_group_change_policy_from_string(policy_word);
        if (action < 0 || reason < 0 || policy < 0 || !unmarshal_context_is_good(context))
                return -EBADMSG;

        w.readers = readers;
        w.ownership = (OwnershipAction) action;
        w.ownership_reason = (OwnershipReason) reason;
        w.force = force;
        w.gate = gate;
        w.policy = (FSGroupChangePolicy) policy;
        w.policy_given = policy_given;
        w.user_namespace = user_namespace;
        w.on_disk = on_disk;
        w.mounted = mounted;
        w.context = strdup(context);
        if (!w.context)
                return -ENOMEM;
        *ret = w;
        return 0;
}

static int next_reliance(sd_bus_message *m, Reliance *ret) {
        const char *root, *who;
        Reliance one = { 0 };
        int r;

        r = sd_bus_message_read(m, "(uss)", &one.gid, &root, &who);
        if (r <= 0)
                return r;
        if (!unmarshal_line_is_good(who))
                return -EBADMSG;
        one.root = isempty(root) ? NULL : strdup(root);
        one.who = strdup(who);
        if (!one.who || (!isempty(root) && !one.root)) {
                free(one.root);
                free(one.who);
                return -ENOMEM;
        }
        *ret = one;
        return 1;
}

static int reliances_read(sd_bus_message *m, PlanAnswer *a) {
        Reliance one;
        int r;

        r = unmarshal_expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "(uss)"));
        if (r < 0)
                return r;
        while ((r = next_reliance(m, &one)) > 0) {
                Reliance *grown = a->n_reliances < RELIANCES_MAX
                                          ? unmarshal_grow(a->reliances, a->n_reliances, sizeof(Reliance))
                                          : NULL;

                if (!grown) {
                        free(one.root);
                        free(one.who);
                        return a->n_reliances < RELIANCES_MAX ? -ENOMEM : -EBADMSG;
                }
                a->reliances = grown;
                a->reliances[a->n_reliances++] = one;
        }
        if (r < 0)
                return r;
        return unmarshal_exit_container(m);
}

int plan_answer_read(sd_bus_message *m, PlanAnswer *ret) {
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
        const char *verdict_word, *change_word, *kept, *s[2];
        int verdict, change, read_only, alive, beside, trusted, r;

        r = unmarshal_enter_struct(m, PLAN_ANSWER_TYPE);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "sis", &verdict_word, &a.seclabel, &s[0]));
        if (r < 0)
                return r;
        r = unmarshal_strv(m, PLAN_OPTIONS_MAX, &a.mount_options);
        if (r < 0)
                return r == -E2BIG ? -EBADMSG : r;
        r = unmarshal_expect(sd_bus_message_read(m, "bsts", &read_only, &s[1], &a.share_id, &change_word));
        if (r < 0)
                return r;
        verdict = plan_verdict_from_string(verdict_word);
        change = mark_change_from_string(change_word);
        if (verdict < 0 || change < 0 || a.seclabel < -1 || a.seclabel > 1 || !unmarshal_context_is_good(s[0]))
                return -EBADMSG;
        a.verdict = (PlanVerdict) verdict;
        a.read_only = read_only;
        a.change = (MarkChange) change;
        r = unmarshal_copy_strings(s, (char **const[]){ &a.context, &a.share_target }, ELEMENTSOF(s));
        if (r < 0)
                return r;
        r = files_wanted_read(m, &a.files);
        if (r < 0)
                return r;
        r = reliances_read(m, &a);
        if (r < 0)
                return r;
        r = unmarshal_expect(sd_bus_message_read(m, "tbbbs", &a.entries_per_sec, &alive, &beside, &trusted, &kept));
        if (r < 0)
                return r;
        a.witness = (Witness){ .alive = alive, .beside = beside, .trusted = trusted };
        r = fingerprint_from_string(kept, &a.witness.kept);
        if (r < 0)
                return r;
        r = unmarshal_exit_container(m);
        if (r < 0)
                return r;

        *ret = a;
        a = PLAN_ANSWER_INIT;
        return 0;
}
