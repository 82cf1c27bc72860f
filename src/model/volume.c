/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <utlist.h>

#include "basic/path-util.h"
#include "model/volume.h"

static const char *const strategy_table[STRATEGIES] = {
        [STRATEGY_NONE] = "none",
        [STRATEGY_RELABEL] = "relabel",
        [STRATEGY_CONTEXT_MOUNT] = "context-mount",
};
DEFINE_STRING_TABLE(strategy, Strategy);

static const char *const reason_table[REASONS] = {
        [REASON_SELINUX_DISABLED] = "selinux-disabled",
        [REASON_TYPE_NOT_MANAGED] = "type-not-managed",
        [REASON_ACCESS_MODE_NOT_MANAGED] = "access-mode-not-managed",
        [REASON_CONTEXT_MOUNT] = "context-mount",
        [REASON_CONTEXT_SHARED] = "context-shared",
        [REASON_POLICY_ALWAYS] = "policy-always",
        [REASON_GATE_DISABLED] = "gate-disabled",
        [REASON_ACCESS_MODE_UNSUPPORTED] = "access-mode-unsupported",
        [REASON_DRIVER_UNSUPPORTED] = "driver-unsupported",
        [REASON_NO_SECLABEL] = "no-seclabel",
        [REASON_READ_ONLY] = "read-only",
        [REASON_NOT_RELABELED] = "not-relabeled",
        [REASON_REQUESTED] = "requested",
};
DEFINE_STRING_TABLE(reason, Reason);

static const char *const holder_state_table[HOLDER_STATES] = {
        [HOLDER_MOUNTING] = "mounting",
        [HOLDER_MOUNTED] = "mounted",
        [HOLDER_UNMOUNTING] = "unmounting",
};
DEFINE_STRING_TABLE(holder_state, HolderState);

Volume *volume_new(const char *id) {
        _cleanup_(volume_freep) Volume *v = calloc(1, sizeof(*v));

        if (!v)
                return NULL;
        v->id = strdup(id);
        v->source = strdup("");
        v->link = strdup("");
        v->fs_type = strdup("");
        v->mount_type = strdup("");
        v->volume_type = strdup("");
        v->context = strdup("");
        if (!v->id || !v->source || !v->link || !v->fs_type || !v->mount_type || !v->volume_type || !v->context)
                return NULL;
        return TAKE_PTR(v);
}

Holder *holder_free(Holder *h) {
        if (h) {
                free(h->name);
                free(h->target);
                free(h->context);
                free(h->device);
                free(h->superblock);
                free(h->covered_by);
                free(h->also_at);
                free(h->spec);
                free(h);
        }
        return NULL;
}

Volume *volume_free(Volume *v) {
        if (!v)
                return NULL;

        while (v->holders)
                volume_remove_holder(v, v->holders);
        free(v->id);
        free(v->source);
        free(v->link);
        free(v->fs_type);
        free(v->mount_type);
        strv_free(v->mount_options);
        free(v->driver);
        free(v->volume_type);
        free(v->context);
        mark_done(&v->mark);
        holder_free(v->untold);
        free(v);
        return NULL;
}

Holder *volume_find_holder(const Volume *v, const char *target) {
        Holder *h;

        LL_FOREACH (v->holders, h)
                if (streq(h->target, target))
                        return h;
        return NULL;
}

bool volume_has_adopted(const Volume *v) {
        Holder *h;

        LL_FOREACH (v->holders, h)
                if (h->adopted)
                        return true;
        return false;
}

size_t volume_count_holders(const Volume *v) {
        size_t n = 0;
        Holder *h;

        LL_FOREACH (v->holders, h)
                n++;
        return n;
}

static size_t count_bytes(char *const *strings, size_t n) {
        size_t bytes = 0;

        for (size_t i = 0; i < n; i++)
                bytes += strlen(strempty(strings[i]));
        return bytes;
}

size_t volume_count_bytes(const Volume *v) {
        char *const strings[] = { v->source, v->link,        v->fs_type, v->mount_type,
                                  v->driver, v->volume_type, v->context, v->mark.context };

        return 4 * strlen(v->id) + count_bytes(strings, ELEMENTSOF(strings)) +
               count_bytes(v->mount_options, strv_length(v->mount_options));
}

size_t holder_count_bytes(const Holder *h) {
        char *const strings[] = { h->name, h->target, h->context, h->device, h->superblock, h->spec };

        return count_bytes(strings, ELEMENTSOF(strings));
}

static int add_target(Volumes *all, Holder *h) {
        if (!all)
                return 0;
        HASH_ADD_KEYPTR(hh, all->targets, h->target, strlen(h->target), h);
        return hash_was_added(h);
}

static void remove_target(Volumes *all, Holder *h) {
        if (all)
                HASH_DEL(all->targets, h); /* NOLINT(clang-analyzer-core.NullDereference) */
}

int volume_add_holder(Volume *v, Holder *h) {
        int r;

        r = add_target(v->all, h);
        if (r < 0)
                return r;
        h->volume = v;
        LL_APPEND(v->holders, h);
        return 0;
}

Holder *volume_take_holder(Volume *v, Holder *h) {
        remove_target(v->all, h);
        LL_DELETE(v->holders, h);
        h->next = NULL;
        h->volume = NULL;
        return h;
}

void volume_remove_holder(Volume *v, Holder *h) {
        holder_free(volume_take_holder(v, h));
}

void volumes_done(Volumes *all) {
        Volume *v, *next;

        HASH_ITER (hh, all->table, v, next)
                volumes_remove(all, v);
}

Volume *volumes_find(const Volumes *all, const char *id) {
        Volume *v;

        HASH_FIND_STR(all->table, id, v);
        return v;
}

static bool is_known_and_same(const char *a, const char *b) {
        return !isempty(a) && streq_ptr(a, b);
}

/* A network file system or a tmpfs has only the number of its superblock. */
bool holder_is_mapped(const Holder *h) {
        return h->fs_group != h->disk_gid;
}

const char *runtime_flag(Strategy strategy, bool relabeled_here) {
        return strategy == STRATEGY_RELABEL && !relabeled_here ? "Z" : "";
}

bool holder_shares(const Holder *a, const Holder *b) {
        return is_known_and_same(a->superblock, b->superblock) || is_known_and_same(a->device, b->device);
}

const Volume *volumes_find_sharer(const Volumes *all, const Volume *v, const Holder *h) {
        const Holder *other, *next;

        HASH_ITER (hh, all->targets, other, next)
                if (other->volume != v && other->mount_id != 0 && holder_shares(other, h))
                        return other->volume;
        return NULL;
}

size_t volumes_count(const Volumes *all) {
        return HASH_COUNT(all->table);
}

Holder *volumes_find_target(const Volumes *all, const char *target, Volume **ret_volume) {
        Holder *h;

        HASH_FIND_STR(all->targets, target, h);
        if (h && ret_volume)
                *ret_volume = h->volume;
        return h;
}

Holder *volumes_find_above(const Volumes *all, const char *path, Volume **ret_volume) {
        Holder *found = NULL, *h;
        Volume *v, *next;

        HASH_ITER (hh, all->table, v, next)
                LL_FOREACH (v->holders, h)
                        if ((streq(path, h->target) || path_is_beneath(path, h->target)) &&
                            (!found || strlen(h->target) > strlen(found->target))) {
                                found = h;
                                *ret_volume = v;
                        }
        return found;
}

int volumes_add(Volumes *all, Volume *v) {
        Holder *h, *added;
        int r = 0;

        LL_FOREACH (v->holders, h) {
                r = add_target(all, h);
                if (r < 0)
                        break;
        }
        if (r >= 0) {
                HASH_ADD_KEYPTR(hh, all->table, v->id, strlen(v->id), v);
                r = hash_was_added(v);
        }
        if (r < 0) {
                for (added = v->holders; added != h; added = added->next)
                        remove_target(all, added);
                return r;
        }
        v->all = all;
        return 0;
}

void volumes_remove(Volumes *all, Volume *v) {
        HASH_DEL(all->table, v);
        volume_free(v);
}

char *request_spec(const Request *q) {
        _cleanup_free_ char *options = strv_join(q->mount_options, ","), *group = NULL;

        if (q->fs_group == GID_NONE)
                group = strdup("");
        else
                group = strdup_printf(" group=%" PRIu32 ":%i:%i%s", q->fs_group, q->fs_group_policy,
                                      q->fs_group_change_policy, q->user_namespace ? ":user" : "");
        if (!options || !group)
                return NULL;
        /* Only driver and holder can have blanks, so they come last. A driver has no comma. */
        return strdup_printf("%s %s %s %s %s %s:%s:%s:%s %i %i %s %s%s%s%s%s|%s,%s", q->source ? q->source : "-",
                             q->fs_type ? q->fs_type : "-", q->read_only ? "ro" : "rw", options,
                             q->context ? q->context : "-", strempty(q->user), strempty(q->role), strempty(q->type),
                             strempty(q->level), q->policy, q->selinux_mount_supported, q->volume_type,
                             access_mode_to_string(q->access_mode),
                             q->relabel_by == RELABEL_BY_SERVICE ? " service"
                             : q->relabel_by == RELABEL_BY_NONE  ? " none"
                                                                 : "",
                             q->walk.force ? " force" : "", q->ephemeral ? " ephemeral" : "", group,
                             strempty(q->driver), q->holder);
}
