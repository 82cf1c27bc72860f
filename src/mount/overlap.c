/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libmount.h>

#include "basic/path-util.h"
#include "model/settings.h"
#include "mount/overlap.h"

/* A longer chain of parents would be a cycle, which no table has. */
enum { PARENTS_MAX = 1000 };

/* A table, and its mounts sorted by parent and target. */
typedef struct CoverPlaces {
        const MountTable *table;
        const Mount **sorted;
} CoverPlaces;

/* Only the first n characters of target count. */
static int compare_place(uint64_t parent, const char *target, size_t n, const Mount *m) {
        int r;

        if (parent != m->parent)
                return parent < m->parent ? -1 : 1;
        r = strncmp(target, m->target, n);
        return r != 0 ? r : m->target[n] == '\0' ? 0 : -1;
}

static int compare_places(const void *a, const void *b) {
        const Mount *x = *(const Mount *const *) a;

        return compare_place(x->parent, x->target, strlen(x->target), *(const Mount *const *) b);
}

/* Finds the mount on the parent at the first n characters of target; NULL: none. */
static const Mount *find_place(const CoverPlaces *p, uint64_t parent, const char *target, size_t n) {
        size_t low = 0, high = p->table->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int r = compare_place(parent, target, n, p->sorted[middle]);

                if (r == 0)
                        return p->sorted[middle];
                if (r > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

/* Finds another mount on the parent: at a directory above the mount, or on top of the parent. */
static const Mount *find_above(const CoverPlaces *p, const Mount *m, const Mount *parent) {
        size_t above = strlen(parent->target);
        const Mount *found;

        for (const char *slash = m->target + strlen(m->target); slash > m->target + above; slash--) {
                if (*slash != '/')
                        continue;
                found = find_place(p, parent->id, m->target, (size_t) (slash - m->target));
                if (found)
                        return found;
        }
        found = find_place(p, parent->id, parent->target, above);
        return found == m || found == parent ? NULL : found;
}

/* Finds the mount that hides m: on top of m, or on the way to m or to a parent of m. */
static const Mount *find_cover(const CoverPlaces *p, const Mount *m) {
        const Mount *found = find_place(p, m->id, m->target, strlen(m->target));

        if (found == m)
                found = NULL;
        for (unsigned depth = 0; !found && depth < PARENTS_MAX; depth++) {
                const Mount *parent = mountinfo_find(p->table, m->parent);

                if (!parent || parent == m)
                        return NULL;
                found = find_above(p, m, parent);
                m = parent;
        }
        return found;
}

int cover_find(const MountTable *table, const Mount ***ret) {
        _cleanup_free_ const Mount **sorted = NULL, **covers = NULL;

        assert(table);
        assert(ret);

        sorted = calloc(table->n, sizeof(Mount *));
        covers = calloc(table->n, sizeof(Mount *));
        if (!sorted || !covers)
                return -ENOMEM;
        for (size_t i = 0; i < table->n; i++)
                sorted[i] = &table->mounts[i];
        qsort(sorted, table->n, sizeof(Mount *), compare_places);
        for (size_t i = 0; i < table->n; i++)
                covers[i] = find_cover(&(CoverPlaces){ table, sorted }, &table->mounts[i]);
        *ret = TAKE_PTR(covers);
        return 0;
}

typedef struct PeerPlace {
        const Mount *mount, *parent; /* both shared */
        const char *directory;       /* of the parent's file system, for the parent; "" for "/" */
        const char *path;            /* from there to the mount */
} PeerPlace;

/* Compares directory and path as one string. */
static int compare_paths(const PeerPlace *x, const PeerPlace *y) {
        const char *a = x->directory, *b = y->directory, *a_end = strchr(a, '\0'), *b_end = strchr(b, '\0');

        for (;; a++, b++) {
                if (a == a_end)
                        a = x->path;
                if (b == b_end)
                        b = y->path;
                if (*a != *b || *a == '\0')
                        return (unsigned char) *a - (unsigned char) *b;
        }
}

static int compare_peers(const PeerPlace *x, const PeerPlace *y) {
        int r;

        if (x->mount->peer_group != y->mount->peer_group)
                return x->mount->peer_group < y->mount->peer_group ? -1 : 1;
        if (x->parent->peer_group != y->parent->peer_group)
                return x->parent->peer_group < y->parent->peer_group ? -1 : 1;
        r = strcmp(x->mount->root, y->mount->root);
        return r != 0 ? r : compare_paths(x, y);
}

/* Peers are in the order of the table. */
static int compare_peer_places(const void *a, const void *b) {
        const PeerPlace *x = a, *y = b;
        int r = compare_peers(x, y);

        return r != 0 ? r : x->mount < y->mount ? -1 : x->mount > y->mount;
}

/* Returns false if the kernel copies no mount that is there. */
static bool find_peer_place(const MountTable *table, const Mount *m, PeerPlace *ret) {
        const Mount *parent = m->peer_group != 0 ? mountinfo_find(table, m->parent) : NULL;
        const char *path;

        if (!parent || parent == m || parent->peer_group == 0)
                return false;
        path = streq(parent->target, "/") ? m->target : startswith(m->target, parent->target);
        if (!path)
                return false;
        *ret = (PeerPlace){ m, parent, streq(parent->root, "/") ? "" : parent->root, path };
        return true;
}

int peers_find(const MountTable *table, const Mount ***ret) {
        _cleanup_free_ PeerPlace *places = NULL;
        const Mount **peers;
        size_t n = 0;

        assert(table);
        assert(ret);

        places = calloc(table->n, sizeof(PeerPlace));
        peers = calloc(table->n, sizeof(Mount *));
        if (!places || !peers) {
                free(peers);
                return -ENOMEM;
        }
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++)
                n += find_peer_place(table, m, &places[n]);
        if (n > 1)
                qsort(places, n, sizeof(PeerPlace), compare_peer_places);
        for (size_t first = 0, i = 1; i < n; i++) {
                if (compare_peers(&places[first], &places[i]) != 0) {
                        first = i;
                        continue;
                }
                peers[places[first].mount - table->mounts] = places[first].mount;
                peers[places[i].mount - table->mounts] = places[first].mount;
        }
        *ret = peers;
        return 0;
}

static int compare_devices(const void *a, const void *b) {
        const Mount *x = *(const Mount *const *) a, *y = *(const Mount *const *) b;

        if (x->device != y->device)
                return x->device < y->device ? -1 : 1;
        return x < y ? -1 : x > y;
}

/* Finds the first mount in outside (sorted by device, then in the order of the table) that shows the files of
 * m or a part of them. */
static const Mount *find_part_outside(const Mount *const *outside, size_t n, const Mount *m) {
        size_t low = 0, high = n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (outside[middle]->device < m->device)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < n && outside[low]->device == m->device; low++) {
                const char *part = outside[low]->root;

                if (streq(part, m->root) || streq(m->root, "/") || path_is_beneath(part, m->root))
                        return outside[low];
        }
        return NULL;
}

int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) {
        _cleanup_free_ const Mount **outside = NULL, **elsewhere = NULL, **peers = NULL;
        _cleanup_free_ bool *is_beneath = NULL; /* for each mount, or the first one of its peers */
        size_t n = 0;
        int r;

        assert(table);
        assert(ret);

        outside = calloc(table->n, sizeof(Mount *));
        elsewhere = calloc(table->n, sizeof(Mount *));
        is_beneath = calloc(table->n, sizeof(bool));
        if (!outside || !elsewhere || !is_beneath)
                return -ENOMEM;
        r = peers_find(table, &peers);
        if (r < 0)
                return r;
        for (size_t i = 0; i < table->n; i++)
                if (roots_contain(roots, table->mounts[i].target))
                        is_beneath[peers[i] ? (size_t) (peers[i] - table->mounts) : i] = true;
        for (size_t i = 0; i < table->n; i++)
                if (!is_beneath[peers[i] ? (size_t) (peers[i] - table->mounts) : i])
                        outside[n++] = &table->mounts[i];
        qsort(outside, n, sizeof(Mount *), compare_devices);
        for (size_t i = 0; i < table->n; i++)
                if (roots_contain(roots, table->mounts[i].target))
                        elsewhere[i] = find_part_outside(outside, n, &table->mounts[i]);
        *ret = TAKE_PTR(elsewhere);
        return 0;
}

/* --- others that may write --- */

static bool was_noted(const MountFact *before, size_t n, const Mount *m) {
        for (size_t i = 0; i < n; i++)
                if (before[i].mount_id == m->id && before[i].note_id != 0 && streq(before[i].target, m->target))
                        return true;
        return false;
}

/* Whether kubelet or a driver has made a mount beneath the roots. */
static bool is_of_noted(const MountTable *table, const MountFact *facts, size_t n, const Mount *m) {
        for (size_t i = 0; i < n; i++) {
                const Mount *noted = mountinfo_find(table, facts[i].mount_id);

                if (facts[i].note_id != 0 && noted && noted->device == m->device &&
                    (facts[i].note_adopted || path_is_beneath(m->root, noted->root)))
                        return true;
        }
        return false;
}

static bool is_read_only(const Mount *m) {
        return mnt_optstr_get_option(m->options, "ro", NULL, NULL) == 0 ||
               mnt_optstr_get_option(m->fs_options, "ro", NULL, NULL) == 0;
}

static int compare_numbers(const void *a, const void *b) {
        const dev_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

int beside_find(const MountTable *table, char *const *roots, const MountFact *before, size_t n_before,
                MountFact *facts, size_t n) {
        _cleanup_free_ const Mount **peers = NULL;
        _cleanup_free_ bool *noted = calloc(table->n, sizeof(bool)); /* the mount, or the first peer */
        _cleanup_free_ dev_t *held = calloc(n + 1, sizeof(dev_t)), *beside = calloc(table->n, sizeof(dev_t));
        size_t n_held = 0, n_beside = 0;
        int r;

        if (!noted || !held || !beside)
                return -ENOMEM;
        r = peers_find(table, &peers);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                const Mount *m = facts[i].note_id != 0 ? mountinfo_find(table, facts[i].mount_id) : NULL;

                if (!m)
                        continue;
                noted[(peers[m - table->mounts] ?: m) - table->mounts] = true;
                held[n_held++] = m->device;
        }
        qsort(held, n_held, sizeof(dev_t), compare_numbers);
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++)
                if (bsearch(&m->device, held, n_held, sizeof(dev_t), compare_numbers) &&
                    !noted[(peers[m - table->mounts] ?: m) - table->mounts] && !is_read_only(m) &&
                    !was_noted(before, n_before, m) &&
                    !(roots_contain(roots, m->target) && is_of_noted(table, facts, n, m)))
                        beside[n_beside++] = m->device;
        qsort(beside, n_beside, sizeof(dev_t), compare_numbers);
        for (size_t i = 0; i < n; i++) {
                const Mount *m = facts[i].note_id != 0 ? mountinfo_find(table, facts[i].mount_id) : NULL;

                facts[i].beside = m && bsearch(&m->device, beside, n_beside, sizeof(dev_t), compare_numbers);
        }
        return 0;
}
