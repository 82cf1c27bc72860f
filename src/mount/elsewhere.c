/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "model/settings.h"
#include "mount/elsewhere.h"

/* Those outside of the roots, by device, and in the order of the table. */
typedef struct Outside {
        const Mount **sorted;
        size_t n;
} Outside;

static int compare_devices(const void *a, const void *b) {
        const Mount *x = *(const Mount *const *) a, *y = *(const Mount *const *) b;

        if (x->device != y->device)
                return x->device < y->device ? -1 : 1;
        return x < y ? -1 : x > y;
}

static bool is_part_of(const Mount *part, const Mount *m) {
        return streq(part->root, m->root) || streq(m->root, "/") || path_is_beneath(part->root, m->root);
}

static const Mount *find_part(const Outside *o, const Mount *m) {
        size_t low = 0, high = o->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (o->sorted[middle]->device < m->device)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < o->n && o->sorted[low]->device == m->device; low++)
                if (is_part_of(o->sorted[low], m))
                        return o->sorted[low];
        return NULL;
}

int elsewhere_find(const MountTable *table, char *const *roots, const Mount ***ret) {
        _cleanup_free_ const Mount **sorted = NULL, **elsewhere = NULL;
        Outside o = { 0 };

        assert(table);
        assert(ret);

        sorted = calloc(table->n, sizeof(Mount *));
        elsewhere = calloc(table->n, sizeof(Mount *));
        if (!sorted || !elsewhere)
                return -ENOMEM;
        for (size_t i = 0; i < table->n; i++)
                if (!roots_contain(roots, table->mounts[i].target))
                        sorted[o.n++] = &table->mounts[i];
        qsort(sorted, o.n, sizeof(Mount *), compare_devices);
        o.sorted = sorted;
        for (size_t i = 0; i < table->n; i++)
                if (roots_contain(roots, table->mounts[i].target))
                        elsewhere[i] = find_part(&o, &table->mounts[i]);
        *ret = TAKE_PTR(elsewhere);
        return 0;
}
