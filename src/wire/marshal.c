/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "wire/messages.h"

/* type is "(...)". */
static int open_struct(sd_bus_message *m, const char *type) {
        return sd_bus_message_open_container(m, SD_BUS_TYPE_STRUCT, strndupa(type + 1, strlen(type) - 2));
}

static int append_string(sd_bus_message *m, const char *s) {
        _cleanup_free_ char *escaped = NULL;

        s = strempty(s);
        if (!utf8_is_valid(s)) {
                escaped = string_escape(s, PATH_MAX);
                if (!escaped)
                        return -ENOMEM;
                s = escaped;
        }
        return sd_bus_message_append_basic(m, SD_BUS_TYPE_STRING, s);
}

static int append_strings(sd_bus_message *m, const char *const *strings, size_t n) {
        for (size_t i = 0; i < n; i++) {
                int r = append_string(m, strings[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int append_strv(sd_bus_message *m, char *const *l) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "s");
        if (r < 0)
                return r;
        r = append_strings(m, (const char *const *) l, strv_length(l));
        if (r < 0)
                return r;
        return sd_bus_message_close_container(m);
}

static int zero_or_error(int r) {
        return r < 0 ? r : 0;
}

static int close_container(sd_bus_message *m) {
        return zero_or_error(sd_bus_message_close_container(m));
}

int node_append(sd_bus_message *m, const Node *node) {
        return zero_or_error(sd_bus_message_append(m, NODE_TYPE, (int) node->selinux, (int) node->enforcing,
                                                   (int) node->mls, strempty(node->file_context)));
}

int mount_fact_append(sd_bus_message *m, const MountFact *fact) {
        const char *const strings[] = { fact->target,  fact->source,     fact->fs_type, fact->device, fact->root,
                                        fact->context, fact->covered_by, fact->also_at, fact->volume };
        int r;

        r = open_struct(m, MOUNT_FACT_TYPE);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "t", fact->mount_id);
        if (r < 0)
                return r;
        r = append_strings(m, strings, ELEMENTSOF(strings));
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "bb", (int) fact->seclabel, (int) fact->read_only);
        if (r < 0)
                return r;
        return close_container(m);
}

int mount_facts_append(sd_bus_message *m, const MountFact *facts, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, MOUNT_FACT_TYPE);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                r = mount_fact_append(m, &facts[i]);
                if (r < 0)
                        return r;
        }
        return close_container(m);
}

int mount_outcome_append(sd_bus_message *m, const MountOutcome *o) {
        int r;

        r = open_struct(m, MOUNT_OUTCOME_TYPE);
        if (r < 0)
                return r;
        r = mount_fact_append(m, &o->fact);
        if (r < 0)
                return r;
        r = append_string(m, o->root_context);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "uubtb", o->root_gid, o->root_mode, (int) o->superblock_read_only,
                                  o->inodes_used, (int) o->idmapped);
        if (r < 0)
                return r;
        return close_container(m);
}

int observed_append(sd_bus_message *m, const Observed *o) {
        int r;

        r = open_struct(m, OBSERVED_TYPE);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "sbssbb", strempty(o->fs_type), (int) o->device_read_only, strempty(o->device),
                                  strempty(o->superblock), (int) o->mounts_unknown, (int) o->hidden);
        if (r < 0)
                return r;
        r = mount_facts_append(m, o->mounts, o->n_mounts);
        if (r < 0)
                return r;
        return close_container(m);
}

int mark_append(sd_bus_message *m, const Mark *mark) {
        bool labels = mark->label_state != FILES_UNKNOWN, group = mark->ownership_state != FILES_UNKNOWN;

        return zero_or_error(sd_bus_message_append(
                m, MARK_TYPE, mark_found_to_string(mark->found), files_state_to_string(mark->label_state),
                labels ? strempty(mark->context) : "", (int) mark->tainted,
                files_state_to_string(mark->ownership_state), group ? mark->gid : 0));
}

int walk_counts_append(sd_bus_message *m, const WalkCounts *c) {
        return zero_or_error(sd_bus_message_append(m, WALK_COUNTS_TYPE, c->done, c->changed, c->mismatched,
                                                   c->misowned, c->failed, c->skipped, c->modified));
}

static int walk_issues_append(sd_bus_message *m, const WalkResult *w) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "(ss)");
        if (r < 0)
                return r;
        for (size_t i = 0; i < w->n_issues && i < WALK_ISSUES_MAX; i++) {
                r = sd_bus_message_append(m, "(ss)", w->issues[i].path, w->issues[i].text);
                if (r < 0)
                        return r;
        }
        return close_container(m);
}

int walk_result_append(sd_bus_message *m, const WalkResult *w) {
        int r;

        r = open_struct(m, WALK_RESULT_TYPE);
        if (r < 0)
                return r;
        r = walk_counts_append(m, &w->counts);
        if (r < 0)
                return r;
        r = walk_issues_append(m, w);
        if (r < 0)
                return r;
        r = append_strv(m, w->submounts);
        if (r < 0)
                return r;
        return close_container(m);
}

int mount_identity_append(sd_bus_message *m, const MountIdentity *i) {
        return zero_or_error(sd_bus_message_append(m, MOUNT_IDENTITY_TYPE, i->id, strempty(i->device)));
}

int orphan_note_append(sd_bus_message *m, const OrphanNote *o) {
        const char *const strings[] = { o->operation, o->volume, o->target };
        int r;

        r = open_struct(m, ORPHAN_NOTE_TYPE);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "u", (uint32_t) o->pid);
        if (r < 0)
                return r;
        r = append_strings(m, strings, ELEMENTSOF(strings));
        if (r < 0)
                return r;
        return close_container(m);
}

int mount_call_append(sd_bus_message *m, const MountCall *c) {
        const char *const strings[] = { c->volume, c->source, c->fs_type, c->target };
        int r;

        r = open_struct(m, MOUNT_CALL_TYPE);
        if (r < 0)
                return r;
        r = append_strings(m, strings, ELEMENTSOF(strings));
        if (r < 0)
                return r;
        r = mount_identity_append(m, &c->expected);
        if (r < 0)
                return r;
        return close_container(m);
}

int adopt_call_append(sd_bus_message *m, const AdoptCall *c) {
        return zero_or_error(sd_bus_message_append(m, ADOPT_CALL_TYPE, c->volume, c->target));
}

int change_call_append(sd_bus_message *m, const ChangeCall *c) {
        return zero_or_error(sd_bus_message_append(m, CHANGE_CALL_TYPE, c->volume, strempty(c->target),
                                                   strempty(c->source), strempty(c->fs_type)));
}

int verify_call_append(sd_bus_message *m, const VerifyCall *c) {
        return zero_or_error(sd_bus_message_append(m, VERIFY_CALL_TYPE, c->path, strempty(c->expected),
                                                   verify_depth_to_string(c->depth), c->gid, c->entries_per_sec,
                                                   strempty(c->mount_target), c->mount_id));
}

int verify_result_append(sd_bus_message *m, const VerifyResult *v) {
        int r;

        r = open_struct(m, VERIFY_RESULT_TYPE);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "bs", (int) v->matches, strempty(v->actual));
        if (r < 0)
                return r;
        r = walk_result_append(m, &v->walk);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "ss", mark_change_to_string(v->reset), strempty(v->not_reset));
        if (r < 0)
                return r;
        return close_container(m);
}

int unmount_call_append(sd_bus_message *m, const UnmountCall *c) {
        return zero_or_error(sd_bus_message_append(m, UNMOUNT_CALL_TYPE, c->target, c->identity.id,
                                                   strempty(c->identity.device), strempty(c->source),
                                                   strempty(c->fs_type)));
}

int plan_question_append(sd_bus_message *m, const PlanQuestion *q) {
        int r;

        r = open_struct(m, PLAN_QUESTION_TYPE);
        if (r < 0)
                return r;
        r = node_append(m, &q->node);
        if (r < 0)
                return r;
        r = observed_append(m, &q->observed);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "ib", q->seclabel, (int) q->mounted);
        if (r < 0)
                return r;
        r = mount_outcome_append(m, &q->outcome);
        if (r < 0)
                return r;
        return close_container(m);
}

static int files_wanted_append(sd_bus_message *m, const FilesWanted *w) {
        return zero_or_error(sd_bus_message_append(
                m, FILES_WANTED_TYPE, strempty(w->context), w->gid, (int) w->readers,
                ownership_action_to_string(w->ownership), ownership_reason_to_string(w->ownership_reason),
                (int) w->force, (int) w->gate, fs_group_change_policy_to_string(w->policy), (int) w->policy_given,
                (int) w->user_namespace, (int) w->on_disk, (int) w->mounted, w->swapped_gid));
}

static int reliances_append(sd_bus_message *m, const Reliance *list, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "(uss)");
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                r = sd_bus_message_append(m, "(uss)", list[i].gid, strempty(list[i].root), list[i].who);
                if (r < 0)
                        return r;
        }
        return close_container(m);
}

int plan_answer_append(sd_bus_message *m, const PlanAnswer *a) {
        int r;

        r = open_struct(m, PLAN_ANSWER_TYPE);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "sis", plan_verdict_to_string(a->verdict), a->seclabel, strempty(a->context));
        if (r < 0)
                return r;
        r = append_strv(m, a->mount_options);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "bsts", (int) a->read_only, strempty(a->share_target), a->share_id,
                                  mark_change_to_string(a->change));
        if (r < 0)
                return r;
        r = files_wanted_append(m, &a->files);
        if (r < 0)
                return r;
        r = reliances_append(m, a->reliances, a->n_reliances);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "tbbbs", a->entries_per_sec, (int) a->witness.alive, (int) a->witness.beside,
                                  (int) a->witness.trusted, a->witness.kept.text);
        if (r < 0)
                return r;
        return close_container(m);
}

int ready_note_append(sd_bus_message *m, const ReadyNote *n) {
        return zero_or_error(sd_bus_message_append(m, READY_NOTE_TYPE, n->identity.id, strempty(n->identity.device),
                                                   n->gid, n->disk_gid, n->fingerprint.text));
}

int files_decision_append(sd_bus_message *m, const FilesDecision *d) {
        return zero_or_error(sd_bus_message_append(
                m, FILES_DECISION_TYPE, relabel_action_to_string(d->relabel),
                relabel_reason_to_string(d->relabel_reason), (int) d->blind, ownership_action_to_string(d->ownership),
                ownership_reason_to_string(d->ownership_reason), d->gid, d->disk_gid));
}

int operation_result_append(sd_bus_message *m, const OperationResult *o) {
        int r;

        r = open_struct(m, OPERATION_RESULT_TYPE);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "b", (int) o->repeated);
        if (r < 0)
                return r;
        r = mount_outcome_append(m, &o->outcome);
        if (r < 0)
                return r;
        r = mark_append(m, &o->mark);
        if (r < 0)
                return r;
        r = files_decision_append(m, &o->files);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "sbs", strempty(o->detail), (int) o->walked, o->fingerprint.text);
        if (r < 0)
                return r;
        r = walk_result_append(m, &o->walk);
        if (r < 0)
                return r;
        return close_container(m);
}
