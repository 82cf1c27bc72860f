/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include <utlist.h>

#include "basic/path-util.h"
#include "plan/plan-files.h"
#include "plan/plan-refusal.h"

/* --- the mark --- */

/* Whether the holder's mount is among those that the worker saw. */
static bool is_seen(const Observed *observed, const Holder *h) {
        for (size_t i = 0; i < observed->n_mounts; i++)
                if (observed->mounts[i].mount_id == h->mount_id && streq(observed->mounts[i].device, h->device))
                        return true;
        return false;
}

static bool is_part_of_held(const Others *others, const MountFact *m) {
        const Observed *observed = others->observed;

        for (size_t i = 0; i < observed->n_mounts; i++)
                if (volumes_find_target(others->volumes, observed->mounts[i].target, NULL) &&
                    path_is_beneath(m->root, observed->mounts[i].root))
                        return true;
        return false;
}

static bool is_adopted(const MarkHistoryInput *in) {
        return in->adopted || (in->others->own && volume_has_adopted(in->others->own));
}

static bool is_stranger(const MarkHistoryInput *in, const MountFact *m) {
        const Others *others = in->others;

        if (m->read_only || streq(m->target, others->target) || volumes_find_target(others->volumes, m->target, NULL))
                return false;
        return !roots_contain(in->settings->target_roots, m->target) ||
               (!is_adopted(in) && !is_part_of_held(others, m));
}

MarkHistory plan_mark_history(const MarkHistoryInput *in) {
        const Trait *driver = in->driver ? settings_driver(in->settings, in->driver) : NULL,
                    *type = settings_volume_type(in->settings, in->volume_type);
        const Observed *observed = in->others->observed;
        const Volume *own = in->others->own;
        const Holder *h;
        MarkHistory w = { 0 };

        if (own && streq(own->fingerprint.text, FINGERPRINT_MOUNTED)) {
                w.alive = in->shared;
                LL_FOREACH (own->holders, h)
                        if (h->state == HOLDER_MOUNTED && h->mount_id != 0 && is_seen(observed, h))
                                w.alive = true;
        }
        for (size_t i = 0; i < observed->n_mounts; i++)
                if (is_stranger(in, &observed->mounts[i]))
                        w.beside = true;
        w.trusted = driver && driver->trusted_mark >= 0 ? driver->trusted_mark : type && type->trusted_mark > 0;
        if (own) {
                w.identity = own->identity;
                w.kept = own->fingerprint;
                w.elsewhere = own->mounted_elsewhere;
        }
        return w;
}

static bool ext_is_ours(const MarkEvidence *e) {
        const Fingerprint *kept = &e->mark->fingerprint;

        if (fingerprint_is_known(&e->before))
                return fingerprint_equal(kept, &e->before) &&
                       (fingerprint_equal(&e->before, &e->now) || fingerprint_is_next(&e->before, &e->now));
        return fingerprint_equal(kept, &e->now) || (e->adopted && e->writable && fingerprint_is_next(kept, &e->now));
}

static bool is_ours(const MarkEvidence *e) {
        const MarkHistory *w = &e->history;

        if (w->beside || w->elsewhere || e->hidden)
                return false;
        if (fingerprint_is_known(&e->mark->fingerprint))
                return ext_is_ours(e);
        /* The record may be of another file system. */
        if (identity_differs(&w->identity, &e->identity))
                return false;
        if (w->alive)
                return true;
        return e->adopted ? fingerprint_equal(&w->kept, &e->now)
                          : e->fresh && fingerprint_equal(&w->kept, &e->before);
}

MarkTrust files_judge_mark(const MarkEvidence *e) {
        if (e->mark->found != MARK_PRESENT || e->mark->inode != e->root_inode ||
            !identity_equal(&e->mark->identity, &e->identity))
                return MARK_STALE;
        if (is_ours(e))
                return MARK_TRUSTED;
        return e->history.trusted ? MARK_TRUSTED_BY_SETTING : MARK_STALE;
}

/* --- labels and groups --- */

static RelabelReason find_relabel_reason(const FilesWanted *w, const FilesSeen *seen) {
        const Mark *mark = seen->mark;

        if (w->force)
                return RELABEL_REASON_FORCED;
        if (mark->label_state == FILES_PARTIAL)
                return RELABEL_REASON_PARTIAL;
        if (mark->label_state != FILES_COMPLETE || isempty(mark->context))
                return RELABEL_REASON_UNKNOWN;
        if (mark->tainted)
                return RELABEL_REASON_TAINTED;
        if (seen->trust == MARK_STALE)
                return RELABEL_REASON_ELSEWHERE;
        if (!streq(mark->context, w->context))
                return RELABEL_REASON_OTHER_CONTEXT;
        if (!streq(strempty(seen->root_context), w->context))
                return RELABEL_REASON_ROOT_DIFFERS;
        return seen->trust == MARK_TRUSTED_BY_SETTING ? RELABEL_REASON_TRUSTED : RELABEL_REASON_COMPLETE;
}

/* Returns the group on disk that the mount shows as gid. */
static gid_t unmap_group(const FilesWanted *w, gid_t gid) {
        if (w->swapped_gid == GID_NONE)
                return gid;
        return gid == w->gid ? w->swapped_gid : gid == w->swapped_gid ? w->gid : gid;
}

static bool root_holds(const FilesWanted *w, const FilesSeen *seen, gid_t gid) {
        const Ownership o = { .gid = gid, .readers = w->readers };

        return S_ISDIR(seen->root_mode) && ownership_holds(&o, unmap_group(w, seen->root_gid), seen->root_mode);
}

static OwnershipReason find_ownership_reason(const FilesWanted *w, const FilesSeen *seen) {
        const Mark *mark = seen->mark;

        if (w->force)
                return OWNERSHIP_FORCED;
        if (!w->gate)
                return OWNERSHIP_GATE_DISABLED;
        if (w->policy == FS_GROUP_CHANGE_ALWAYS)
                return OWNERSHIP_POLICY_ALWAYS;
        if (mark->found == MARK_UNSUPPORTED && w->policy_given && root_holds(w, seen, unmap_group(w, w->gid)))
                return OWNERSHIP_ROOT_ONLY;
        if (mark->ownership_state == FILES_PARTIAL)
                return OWNERSHIP_PARTIAL;
        if (mark->ownership_state != FILES_COMPLETE)
                return OWNERSHIP_UNKNOWN;
        if (seen->trust == MARK_STALE)
                return OWNERSHIP_ELSEWHERE;
        if (!root_holds(w, seen, mark->gid))
                return OWNERSHIP_ROOT_DIFFERS;
        if (mark->gid == unmap_group(w, w->gid))
                return w->swapped_gid != GID_NONE               ? OWNERSHIP_OTHER_GROUP
                       : seen->trust == MARK_TRUSTED_BY_SETTING ? OWNERSHIP_TRUSTED
                                                                : OWNERSHIP_COMPLETE;
        if (w->on_disk)
                return OWNERSHIP_REQUESTED;
        if (w->user_namespace)
                return OWNERSHIP_USER_NAMESPACE;
        /* A mount that swaps groups can't be idmapped again, nor can a clone of it. */
        return w->mounted || w->swapped_gid != GID_NONE ? OWNERSHIP_MOUNTED : OWNERSHIP_OTHER_GROUP;
}

static void leave_groups_alone(OwnershipAction action, OwnershipReason reason, FilesDecision *d) {
        d->ownership = action;
        d->ownership_reason = reason;
        d->gid = d->disk_gid = GID_NONE;
}

static void decide_groups(const FilesWanted *w, const FilesSeen *seen, FilesDecision *d) {
        if (w->ownership != OWNERSHIP_WALK && w->ownership != OWNERSHIP_MAP) {
                leave_groups_alone(w->ownership, w->ownership_reason, d);
                if (w->ownership == OWNERSHIP_OPTION)
                        d->gid = d->disk_gid = w->gid;
                return;
        }

        d->ownership_reason = find_ownership_reason(w, seen);
        switch (d->ownership_reason) {
        case OWNERSHIP_COMPLETE:
        case OWNERSHIP_TRUSTED:
        case OWNERSHIP_ROOT_ONLY:
                d->ownership = OWNERSHIP_SKIP;
                break;
        case OWNERSHIP_OTHER_GROUP:
                d->ownership = OWNERSHIP_MAP;
                break;
        default:
                d->ownership = OWNERSHIP_WALK;
        }
        d->gid = w->gid;
        d->disk_gid = unmap_group(w, w->gid);
        if (d->ownership == OWNERSHIP_MAP && w->swapped_gid == GID_NONE)
                d->disk_gid = seen->mark->gid;
        if (d->ownership != OWNERSHIP_WALK || w->ownership != OWNERSHIP_MAP)
                return;
        /* No file may change. A shared mount that swaps groups shows the group anyway. */
        if (w->swapped_gid == GID_NONE) {
                leave_groups_alone(OWNERSHIP_NONE, OWNERSHIP_READ_ONLY, d);
                return;
        }
        d->ownership = OWNERSHIP_MAP;
        d->ownership_reason = OWNERSHIP_OTHER_GROUP;
}

FilesDecision files_decide(const FilesWanted *wanted, const FilesSeen *seen) {
        FilesDecision d = { .gid = GID_NONE, .disk_gid = GID_NONE };

        if (!isempty(wanted->context)) {
                d.relabel_reason = find_relabel_reason(wanted, seen);
                d.relabel = d.relabel_reason == RELABEL_REASON_COMPLETE || d.relabel_reason == RELABEL_REASON_TRUSTED
                                    ? RELABEL_SKIP
                                    : RELABEL_WALK;
                d.blind = d.relabel_reason == RELABEL_REASON_OTHER_CONTEXT &&
                          streq(strempty(seen->root_context), seen->mark->context);
        }
        decide_groups(wanted, seen, &d);
        return d;
}

bool files_need_walk(const FilesDecision *d) {
        return d->relabel == RELABEL_WALK || d->ownership == OWNERSHIP_WALK;
}

bool files_need_map(const FilesWanted *wanted, const FilesDecision *d) {
        return d->ownership == OWNERSHIP_MAP && wanted->swapped_gid == GID_NONE;
}

void files_fall_back(const FilesWanted *wanted, OwnershipReason why, FilesDecision *d) {
        if (wanted->ownership == OWNERSHIP_MAP) {
                leave_groups_alone(OWNERSHIP_NONE, OWNERSHIP_READ_ONLY, d);
                return;
        }
        d->ownership = OWNERSHIP_WALK;
        d->ownership_reason = why;
        d->gid = d->disk_gid = wanted->gid;
}

/* Whether two directories of a file system have files in common. held NULL: the volume itself; wanted NULL:
 * unknown. */
static bool roots_overlap(const char *held, const char *wanted) {
        if (!held)
                return true;
        if (!wanted)
                return streq(held, "/");
        return streq(held, wanted) || streq(held, "/") || streq(wanted, "/") || path_is_beneath(held, wanted) ||
               path_is_beneath(wanted, held);
}

int files_check_reliances(const FilesDecision *d, const char *volume, const char *root, const Reliance *list,
                          size_t n, Failure *f) {
        const Reliance *first = NULL;
        size_t found = 0;

        if (d->ownership != OWNERSHIP_WALK)
                return 0;
        for (size_t i = 0; i < n; i++)
                if (list[i].gid != d->disk_gid && roots_overlap(list[i].root, root)) {
                        first = first ? first : &list[i];
                        found++;
                }
        if (!first)
                return 0;

        _cleanup_free_ char *wish = strdup_printf("group %" PRIu32, d->gid);

        return plan_refuse(&(Refusal){ .volume = volume,
                                       .shown = first->volume ?: volume,
                                       .use = first->use,
                                       .n_more = found - 1,
                                       .wish = wish,
                                       .end = first->end,
                                       .same = found == 1 ? "use its group" : NULL },
                           FAILURE_GROUP_CONFLICT, f);
}
