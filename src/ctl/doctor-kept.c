/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>

#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/terminal.h"
#include "ctl/doctor.h"
#include "ctl/namespaces.h"
#include "model/request.h"
#include "mount/image.h"

/* The devices of a source: of an image its loop devices. None if it has none, if it can't be looked at, or if
 * udev encodes the label that names it. */
static int find_devices(const MountTable *table, const char *source, dev_t **ret, size_t *ret_n) {
        const char *directory, *tag = source_tag(source, &directory);
        _cleanup_free_ char *path = tag ? strdup_printf("%s/%s", directory, tag) : strdup(source);
        struct stat st;

        *ret = NULL;
        *ret_n = 0;
        if (!path)
                return -ENOMEM;
        if (path[0] != '/' || path_may_hang(table, path) || stat(path, &st) < 0)
                return 0;
        if (S_ISREG(st.st_mode))
                return loop_find(st.st_dev, st.st_ino, path, ret, ret_n) == -ENOMEM ? -ENOMEM : 0;
        if (!S_ISBLK(st.st_mode))
                return 0;
        *ret = malloc(sizeof(dev_t));
        if (!*ret)
                return -ENOMEM;
        **ret = st.st_rdev;
        *ret_n = 1;
        return 0;
}

static int add_if_kept(NodeFacts *n, const Namespaces *all, const json_t *volume) {
        _cleanup_free_ char *id = format_string(answer_string(volume, "Id")), *users = NULL;
        _cleanup_free_ dev_t *devices = NULL;
        size_t n_devices;
        KeptFacts *grown;
        int r;

        if (!id)
                return -ENOMEM;
        r = find_devices(all->own, answer_string(volume, "Source"), &devices, &n_devices);
        if (r < 0)
                return r;
        r = namespaces_describe(all, devices, n_devices, &users);
        if (r < 0 || !users)
                return r;
        grown = reallocarray(n->kept, n->n_kept + 1, sizeof(KeptFacts));
        if (!grown)
                return -ENOMEM;
        n->kept = grown;
        n->kept[n->n_kept++] = (KeptFacts){ TAKE_PTR(id), TAKE_PTR(users) };
        return 0;
}

int facts_read_kept(NodeFacts *n, const json_t *volumes) {
        _cleanup_(namespaces_done) Namespaces all = { 0 };
        const json_t *volume;
        size_t i;
        int r;

        if (!n->root)
                return 0;
        r = namespaces_read(&all);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        n->kept_known = YES;
        json_array_foreach (volumes, i, volume) {
                if (json_array_size(json_object_get(volume, "Holders")) > 0)
                        continue;
                r = add_if_kept(n, &all, volume);
                if (r < 0)
                        return r;
        }
        return 0;
}
