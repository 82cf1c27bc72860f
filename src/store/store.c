/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <utlist.h>

#include "store/store-internal.h"
#include "store/store.h"

int store_open(const char *path, Store **ret) {
        _cleanup_(store_closep) Store *s = NULL;
        int r;

        assert(path && strchr(path, '/'));
        assert(ret);

        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        s->path = strdup(path);
        if (!s->path)
                return -ENOMEM;
        r = store_open_database(s);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

Store *store_close(Store *s) {
        if (!s)
                return NULL;
        store_close_database(s);
        free(s->path);
        free(s);
        return NULL;
}

static int sync_directory_of(const char *path) {
        _cleanup_free_ char *directory = strndup(path, (size_t) (strrchr(path, '/') - path));
        _cleanup_close_ int fd = -EBADF;

        if (!directory)
                return -ENOMEM;
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0)
                return -errno;
        return 0;
}

int store_set_aside(const char *path, uint64_t now_usec, char **ret_name) {
        _cleanup_free_ char *name = strdup_printf("%s.damaged-%llu", path, (unsigned long long) now_usec);
        static const char *const suffixes[] = { "-wal", "-shm" };

        if (!name)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                _cleanup_free_ char *from = strdup_printf("%s%s", path, suffixes[i]),
                                    *to = strdup_printf("%s%s", name, suffixes[i]);

                if (!from || !to)
                        return -ENOMEM;
                if (rename(from, to) < 0 && errno != ENOENT)
                        return -errno;
        }
        if (rename(path, name) < 0)
                return -errno;

        *ret_name = TAKE_PTR(name);
        return sync_directory_of(path);
}

static void copy_history(Store *from, Store *to, const char *id) {
        HistoryEntry *entries;
        size_t n;

        if (!from->db || store_get_history(from, id, &entries, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++) {
                store_add_history(to, id, &entries[i]);
                history_entry_done(&entries[i]);
        }
        free(entries);
}

/* Writes all that is known to a new file at path. */
static int write_copy(Store *s, const char *path, const Volumes *all, const char *boot_id) {
        _cleanup_(store_closep) Store *copy = NULL;
        Volume *v, *next;
        Holder *h;
        int r;

        (void) unlink(path);
        r = store_open(path, &copy);
        if (r < 0)
                return r;

        store_set_boot_id(copy, boot_id);
        HASH_ITER (hh, all->table, v, next) {
                store_put_volume(copy, v);
                LL_FOREACH (v->holders, h)
                        store_put_holder(copy, v, h);
                copy_history(s, copy, v->id);
        }
        r = store_commit(copy);
        if (r < 0)
                return r;
        return schema_execute(copy->db, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* The old file is removed before its log, and both before the new one takes its place: after a crash the file is
 * either whole or absent, and an absent one means that nothing is known, which is safe. */
static int replace_file(Store *s, const char *path) {
        _cleanup_free_ char *wal = strdup_printf("%s-wal", s->path);

        if (!wal)
                return -ENOMEM;
        if (unlink(s->path) < 0 && errno != ENOENT)
                return -errno;
        if (unlink(wal) < 0 && errno != ENOENT)
                return -errno;
        if (rename(path, s->path) < 0)
                return -errno;
        return sync_directory_of(s->path);
}

static int rewrite(Store *s, const Volumes *all, const char *boot_id) {
        _cleanup_free_ char *path = strdup_printf("%s.new", s->path);
        int r;

        if (!path)
                return -ENOMEM;
        r = write_copy(s, path, all, boot_id);
        if (r < 0)
                return r;
        store_close_database(s);
        r = replace_file(s, path);
        if (r < 0)
                return r;
        return store_open_database(s);
}

int store_rewrite(Store *s, const Volumes *all, const char *boot_id) {
        int r;

        assert(s);
        assert(all);
        assert(boot_id);

        s->error = 0; /* so that history can be read */
        r = rewrite(s, all, boot_id);
        s->error = r < 0 ? r : 0;
        s->dirty = false;
        return r;
}
