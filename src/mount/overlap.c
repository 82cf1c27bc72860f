/* SPDX-License-Identifier: LGPL-2.1-or-later */
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
        _cleanup_free_ const Mount **outside = NULL, **elsewhere = NULL;
        size_t n = 0;

        assert(table);
        assert(ret);

        outside = calloc(table->n, sizeof(Mount *));
        elsewhere = calloc(table->n, sizeof(Mount *));
        if (!outside || !elsewhere)
                return -ENOMEM;
        for (size_t i = 0; i < table->n; i++)
                if (!roots_contain(roots, table->mounts[i].target))
                        outside[n++] = &table->mounts[i];
        qsort(outside, n, sizeof(Mount *), compare_devices);
        for (size_t i = 0; i < table->n; i++)
                if (roots_contain(roots, table->mounts[i].target))
                        elsewhere[i] = find_part_outside(outside, n, &table->mounts[i]);
        *ret = TAKE_PTR(elsewhere);
        return 0;
}
