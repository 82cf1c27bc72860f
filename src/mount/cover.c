/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mount/cover.h"

/* A chain of parents is not longer, or it is a circle, which no table has. */
enum { PARENTS_MAX = 1000 };

/* Two orders of the same mounts, by index. */
typedef struct Index {
        const CoverMount *mounts;
        size_t n;
        size_t *by_id, *by_place; /* by parent and target */
} Index;

static int compare_ids(const void *a, const void *b, void *userdata) {
        const CoverMount *mounts = userdata, *x = &mounts[*(const size_t *) a], *y = &mounts[*(const size_t *) b];

        return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_place(uint64_t parent, const char *target, size_t n, const CoverMount *m) {
        int r;

        if (parent != m->parent)
                return parent < m->parent ? -1 : 1;
        r = strncmp(target, m->target, n);
        return r != 0 ? r : m->target[n] == '\0' ? 0 : -1;
}

static int compare_places(const void *a, const void *b, void *userdata) {
        const CoverMount *mounts = userdata, *x = &mounts[*(const size_t *) a];

        return compare_place(x->parent, x->target, strlen(x->target), &mounts[*(const size_t *) b]);
}

static int index_make(Index *x) {
        x->by_id = reallocarray(NULL, x->n, sizeof(size_t));
        x->by_place = reallocarray(NULL, x->n, sizeof(size_t));
        if (!x->by_id || !x->by_place)
                return -ENOMEM;
        for (size_t i = 0; i < x->n; i++)
                x->by_id[i] = x->by_place[i] = i;
        qsort_r(x->by_id, x->n, sizeof(size_t), compare_ids, (void *) x->mounts);
        qsort_r(x->by_place, x->n, sizeof(size_t), compare_places, (void *) x->mounts);
        return 0;
}

static size_t find_id(const Index *x, uint64_t id) {
        size_t low = 0, high = x->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (x->mounts[x->by_id[middle]].id < id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < x->n && x->mounts[x->by_id[low]].id == id ? x->by_id[low] : SIZE_MAX;
}

/* The mount on the parent at the first n characters of the target. */
static size_t find_place(const Index *x, uint64_t parent, const char *target, size_t n) {
        size_t low = 0, high = x->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int r = compare_place(parent, target, n, &x->mounts[x->by_place[middle]]);

                if (r == 0)
                        return x->by_place[middle];
                if (r > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return SIZE_MAX;
}

/* Another mount on the parent: at a directory above that of the mount, or on top of the parent. */
static size_t find_above(const Index *x, size_t i, size_t parent) {
        const CoverMount *m = &x->mounts[i], *p = &x->mounts[parent];
        size_t above = strlen(p->target), found;

        for (const char *slash = m->target + strlen(m->target); slash > m->target + above; slash--) {
                if (*slash != '/')
                        continue;
                found = find_place(x, p->id, m->target, (size_t) (slash - m->target));
                if (found != SIZE_MAX)
                        return found;
        }
        found = find_place(x, p->id, p->target, above);
        return found == i || found == parent ? SIZE_MAX : found;
}

static size_t find_on_top(const Index *x, size_t i) {
        const CoverMount *m = &x->mounts[i];
        size_t found = find_place(x, m->id, m->target, strlen(m->target));

        return found == i ? SIZE_MAX : found;
}

/* What hides a mount is on top of it, or hides the way to it, or to one of those that it is in. */
static size_t find_cover(const Index *x, size_t i) {
        size_t found = find_on_top(x, i);

        for (unsigned depth = 0; found == SIZE_MAX && depth < PARENTS_MAX; depth++) {
                size_t parent = find_id(x, x->mounts[i].parent);

                if (parent == SIZE_MAX || parent == i)
                        return SIZE_MAX;
                found = find_above(x, i, parent);
                i = parent;
        }
        return found;
}

int cover_find(const CoverMount *mounts, size_t n, size_t **ret) {
        _cleanup_free_ size_t *covers = NULL, *by_id = NULL, *by_place = NULL;
        Index x = { .mounts = mounts, .n = n };
        int r;

        assert(mounts || n == 0);
        assert(ret);

        r = index_make(&x);
        by_id = x.by_id;
        by_place = x.by_place;
        if (r < 0)
                return r;
        covers = reallocarray(NULL, n, sizeof(size_t));
        if (!covers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                covers[i] = find_cover(&x, i);
        *ret = TAKE_PTR(covers);
        return 0;
}
