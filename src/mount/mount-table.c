/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <libmount.h>

#include "basic/path-util.h"
#include "model/context.h"
#include "model/settings.h"
#include "mount/cover.h"
#include "mount/mount-id.h"
#include "mount/mount-table.h"
#include "mount/statmount.h"

/* The context that the kernel uses for one that it can't understand. No volume is ever mounted with it. */
#define CONTEXT_MALFORMED "system_u:object_r:unlabeled_t"

#define MOUNTINFO "/proc/self/mountinfo"

enum { NESTED_MAX = 1000 };

struct MountTable {
        struct libmnt_table *table;
};

DEFINE_CLEANUP_FUNC(struct libmnt_iter *, mnt_free_iter);

/* libmount would skip the line. */
static int refuse_line(struct libmnt_table *table, const char *filename, int line) {
        return -EBADMSG;
}

static int parse_stream(FILE *stream, const char *path, MountTable **ret) {
        _cleanup_(mount_table_freep) MountTable *t = NULL;
        int r;

        t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;
        t->table = mnt_new_table();
        if (!t->table)
                return -ENOMEM;
        r = mnt_table_set_parser_errcb(t->table, refuse_line);
        if (r < 0)
                return r;
        r = mnt_table_parse_stream(t->table, stream, path);
        if (r < 0)
                return r;
        if (r > 0 || ferror(stream))
                return -EBADMSG;

        *ret = TAKE_PTR(t);
        return 0;
}

int mount_table_read(const char *path, MountTable **ret) {
        _cleanup_fclose_ FILE *file = NULL;

        file = fopen(path ?: MOUNTINFO, "re");
        if (!file)
                return -errno;
        return parse_stream(file, path ?: MOUNTINFO, ret);
}

static int parse_line(char *line, size_t n, MountTable **ret) {
        _cleanup_fclose_ FILE *stream = fmemopen(line, n, "r");

        return stream ? parse_stream(stream, MOUNTINFO, ret) : -errno;
}

int mount_table_read_mount(const char *path, uint64_t id, MountTable **ret) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;
        ssize_t n;

        file = fopen(path ?: MOUNTINFO, "re");
        if (!file)
                return -errno;

        while ((n = getline(&line, &allocated, file)) > 0) {
                char *end;

                if (strtoull(line, &end, 10) != id || end == line || *end != ' ')
                        continue;
                return parse_line(line, (size_t) n, ret);
        }
        return ferror(file) ? -EIO : -ENOENT;
}

int mount_table_read_own(int fd, bool with_source, MountTable **ret) {
        _cleanup_free_ char *line = NULL;
        uint64_t id, unique_id;
        int r;

        r = mount_identify_unique(fd, &id, &unique_id);
        if (r < 0)
                return r;
        r = statmount_read_line(unique_id, with_source, &line);
        if (r == -EOPNOTSUPP)
                return mount_table_read_mount(NULL, id, ret);
        return r < 0 ? r : parse_line(line, strlen(line), ret);
}

MountTable *mount_table_free(MountTable *table) {
        if (!table)
                return NULL;
        mnt_unref_table(table->table);
        free(table);
        return NULL;
}

/* The value of an option of the superblock without the quotes that the kernel puts around values with a comma. */
static int find_option(const char *options, const char *name, char **ret) {
        size_t n = 0;
        char *value = NULL, *copy;
        int r;

        if (!options)
                return -ENOENT;
        r = mnt_optstr_get_option(options, name, &value, &n);
        if (r < 0)
                return r;
        if (r > 0)
                return -ENOENT;

        if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
                value++;
                n -= 2;
        }
        copy = strndup(strempty(value), n);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

static bool has_option(const char *options, const char *name) {
        char *value;
        size_t n;

        return options && mnt_optstr_get_option(options, name, &value, &n) == 0;
}

/* The context of a mount of others may be malformed: it must neither be left out nor equal any other. */
static int find_context(const char *options, char **ret) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *value = NULL;
        int r;

        r = find_option(options, "context", &value);
        if (r == -ENOENT) {
                *ret = strdup("");
                return *ret ? 0 : -ENOMEM;
        }
        if (r < 0)
                return r;

        r = context_canonicalize(value, ret, &f);
        if (r <= 0)
                return r;
        *ret = strdup(CONTEXT_MALFORMED);
        return *ret ? 0 : -ENOMEM;
}

static int copy_fact(struct libmnt_fs *fs, MountFact *ret) {
        _cleanup_(mount_fact_done) MountFact m = { 0 };
        const char *options = mnt_fs_get_fs_options(fs);
        dev_t device = mnt_fs_get_devno(fs);
        int r;

        r = find_context(options, &m.context);
        if (r < 0)
                return r;
        m.target = strdup(strempty(mnt_fs_get_target(fs)));
        m.source = strdup(strempty(mnt_fs_get_source(fs)));
        m.fs_type = strdup(strempty(mnt_fs_get_fstype(fs)));
        m.device = strdup_printf("%u:%u", major(device), minor(device));
        m.root = strdup(strempty(mnt_fs_get_root(fs)));
        if (!m.target || !m.source || !m.fs_type || !m.device || !m.root)
                return -ENOMEM;
        m.seclabel = has_option(options, "seclabel");
        m.read_only = has_option(mnt_fs_get_vfs_options(fs), "ro") || has_option(options, "ro");
        m.superblock_read_only = has_option(options, "ro");
        m.mount_id = (uint64_t) mnt_fs_get_id(fs);

        *ret = m;
        m = (MountFact){ 0 };
        return 0;
}

/* In the order of the table, so that what was mounted later comes later. */
static struct libmnt_fs *next_mount(const MountTable *table, struct libmnt_iter *iter) {
        struct libmnt_fs *fs;

        return mnt_table_next_fs(table->table, iter, &fs) == 0 ? fs : NULL;
}

static int find_fs(const MountTable *table, uint64_t id, struct libmnt_fs **ret) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;

        if (!iter)
                return -ENOMEM;
        while ((fs = next_mount(table, iter))) {
                if ((uint64_t) mnt_fs_get_id(fs) != id)
                        continue;
                *ret = fs;
                return 0;
        }
        return -ENOENT;
}

int mount_table_find_id(const MountTable *table, uint64_t id, MountFact *ret, bool *ret_superblock_read_only) {
        struct libmnt_fs *fs;
        int r;

        assert(table);
        assert(ret);

        r = find_fs(table, id, &fs);
        if (r < 0)
                return r;
        r = copy_fact(fs, ret);
        if (r < 0)
                return r;
        if (ret_superblock_read_only)
                *ret_superblock_read_only = has_option(mnt_fs_get_fs_options(fs), "ro");
        return 0;
}

static int append_fact(MountFact **facts, size_t *n, struct libmnt_fs *fs) {
        MountFact *grown;
        int r;

        /* Grows at powers of two. */
        if ((*n & (*n - 1)) == 0) {
                grown = reallocarray(*facts, *n > 0 ? *n * 2 : 1, sizeof(MountFact));
                if (!grown)
                        return -ENOMEM;
                *facts = grown;
        }
        r = copy_fact(fs, *facts + *n);
        if (r < 0)
                return r;
        (*n)++;
        return 0;
}

static bool has_device(const dev_t *devices, size_t n, dev_t device) {
        for (size_t i = 0; i < n; i++)
                if (devices[i] == device)
                        return true;
        return false;
}

static bool source_is_device(const char *source, const dev_t *devices, size_t n_devices) {
        struct stat st;

        return source && source[0] == '/' && stat(source, &st) >= 0 && S_ISBLK(st.st_mode) &&
               has_device(devices, n_devices, st.st_rdev);
}

bool mount_fact_is_of_devices(const MountFact *fact, const dev_t *devices, size_t n_devices) {
        dev_t device;

        if (device_parse(fact->device, &device) >= 0 && has_device(devices, n_devices, device))
                return true;
        return streq(fact->fs_type, "btrfs") && source_is_device(fact->source, devices, n_devices);
}

/* The anonymous device number of a btrfs on one of the devices; 0 if it isn't mounted. Only its source leads from the
 * superblock to the device; all its subvolumes share the number. */
static int find_btrfs(const MountTable *table, const dev_t *devices, size_t n_devices, dev_t *ret) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;

        if (!iter)
                return -ENOMEM;
        while ((fs = next_mount(table, iter))) {
                if (!streq(strempty(mnt_fs_get_fstype(fs)), "btrfs") ||
                    !source_is_device(mnt_fs_get_source(fs), devices, n_devices))
                        continue;
                *ret = mnt_fs_get_devno(fs);
                return 0;
        }
        *ret = 0;
        return 0;
}

int mount_table_find_devices(const MountTable *table, const dev_t *devices, size_t n_devices, MountFact **ret,
                             size_t *ret_n) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        MountFact *facts = NULL;
        struct libmnt_fs *fs;
        size_t n = 0;
        dev_t anonymous;
        int r;

        assert(table);
        assert(devices || n_devices == 0);
        assert(ret && ret_n);

        if (!iter)
                return -ENOMEM;
        r = find_btrfs(table, devices, n_devices, &anonymous);
        if (r < 0)
                return r;

        while ((fs = next_mount(table, iter))) {
                dev_t device = mnt_fs_get_devno(fs);

                if (!has_device(devices, n_devices, device) && (anonymous == 0 || device != anonymous))
                        continue;
                r = append_fact(&facts, &n, fs);
                if (r < 0) {
                        mount_facts_free(facts, n);
                        return r;
                }
        }

        *ret = facts;
        *ret_n = n;
        return 0;
}

typedef bool (*MatchTarget)(const char *target, const void *userdata);

static int find_targets(const MountTable *table, MatchTarget matches, const void *userdata, MountFact **ret,
                        size_t *ret_n) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        MountFact *facts = NULL;
        struct libmnt_fs *fs;
        size_t n = 0;
        int r;

        if (!iter)
                return -ENOMEM;
        while ((fs = next_mount(table, iter))) {
                if (!matches(strempty(mnt_fs_get_target(fs)), userdata))
                        continue;
                r = append_fact(&facts, &n, fs);
                if (r < 0) {
                        mount_facts_free(facts, n);
                        return r;
                }
        }

        *ret = facts;
        *ret_n = n;
        return 0;
}

static bool is_beneath_roots(const char *target, const void *roots) {
        return roots_contain((char *const *) roots, target);
}

char *mount_fact_describe(const MountFact *fact) {
        _cleanup_free_ char *source = string_escape(fact->source, 200), *target = string_escape(fact->target, 200);

        return source && target ? strdup_printf("%s, type %s, at '%s'", source, fact->fs_type, target) : NULL;
}

static int describe_cover(struct libmnt_fs *fs, char **ret) {
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        r = copy_fact(fs, &fact);
        if (r < 0)
                return r;
        *ret = mount_fact_describe(&fact);
        return *ret ? 0 : -ENOMEM;
}

/* Both in the order of the table: a fact is of the next mount with its id. */
static int set_covers(struct libmnt_fs *const *list, const size_t *covers, size_t n_list, MountFact *facts,
                      size_t n) {
        size_t k = 0;

        for (size_t i = 0; i < n_list && k < n; i++) {
                int r;

                if ((uint64_t) mnt_fs_get_id(list[i]) != facts[k].mount_id)
                        continue;
                if (covers[i] != SIZE_MAX) {
                        r = describe_cover(list[covers[i]], &facts[k].covered_by);
                        if (r < 0)
                                return r;
                }
                k++;
        }
        return 0;
}

static int find_covers(const MountTable *table, MountFact *facts, size_t n) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        size_t n_list = (size_t) mnt_table_get_nents(table->table), i = 0;
        _cleanup_free_ struct libmnt_fs **list = calloc(n_list + 1, sizeof(*list));
        _cleanup_free_ CoverMount *mounts = calloc(n_list + 1, sizeof(*mounts));
        _cleanup_free_ size_t *covers = NULL;
        struct libmnt_fs *fs;
        int r;

        if (!iter || !list || !mounts)
                return -ENOMEM;
        for (; i < n_list && (fs = next_mount(table, iter)); i++) {
                list[i] = fs;
                mounts[i] = (CoverMount){ .id = (uint64_t) mnt_fs_get_id(fs),
                                          .parent = (uint64_t) mnt_fs_get_parent_id(fs),
                                          .target = strempty(mnt_fs_get_target(fs)) };
        }
        r = cover_find(mounts, i, &covers);
        return r < 0 ? r : set_covers(list, covers, i, facts, n);
}

int mount_table_find_beneath(const MountTable *table, char *const *roots, MountFact **ret, size_t *ret_n) {
        MountFact *facts;
        size_t n;
        int r;

        assert(table);
        assert(ret && ret_n);

        r = find_targets(table, is_beneath_roots, roots, &facts, &n);
        if (r < 0)
                return r;
        r = find_covers(table, facts, n);
        if (r < 0) {
                mount_facts_free(facts, n);
                return r;
        }
        *ret = facts;
        *ret_n = n;
        return 0;
}

static bool is_at(const char *target, const void *path) {
        return streq(target, path) || path_is_beneath(path, target);
}

int mount_table_find_at(const MountTable *table, const char *path, MountFact **ret, size_t *ret_n) {
        assert(table);
        assert(path);
        assert(ret && ret_n);

        return find_targets(table, is_at, path, ret, ret_n);
}

/* Whether the mount is on the one with the id, or on one that is, and so on. */
static bool is_inside(const MountTable *table, struct libmnt_fs *fs, uint64_t id) {
        for (unsigned depth = 0; depth < NESTED_MAX; depth++) {
                uint64_t parent = (uint64_t) mnt_fs_get_parent_id(fs);

                if (parent == id)
                        return true;
                if (parent == (uint64_t) mnt_fs_get_id(fs) || find_fs(table, parent, &fs) < 0)
                        return false;
        }
        return false;
}

int mount_table_find_inside(const MountTable *table, uint64_t id, char ***ret) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        _cleanup_strv_ char **paths = NULL;
        struct libmnt_fs *outer, *fs;
        const char *path;
        int r;

        if (!iter)
                return -ENOMEM;
        r = find_fs(table, id, &outer);
        if (r < 0)
                return r;
        while ((fs = next_mount(table, iter))) {
                path = startswith(strempty(mnt_fs_get_target(fs)), strempty(mnt_fs_get_target(outer)));
                if (!path || path[0] != '/' || !is_inside(table, fs, id))
                        continue;
                r = strv_extend(&paths, path + 1);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 0;
}

int mount_table_find_root(const MountTable *table, uint64_t id, char **ret) {
        struct libmnt_fs *fs;
        int r;

        r = find_fs(table, id, &fs);
        if (r < 0)
                return r;
        *ret = strdup(strempty(mnt_fs_get_root(fs)));
        return *ret ? 0 : -ENOMEM;
}

int mount_table_find_outside(const MountTable *table, dev_t device, char *const *roots, char **ret) {
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;

        if (!iter)
                return -ENOMEM;
        while ((fs = next_mount(table, iter))) {
                const char *target = strempty(mnt_fs_get_target(fs));

                if (mnt_fs_get_devno(fs) != device || roots_contain(roots, target))
                        continue;
                *ret = strdup(target);
                return *ret ? 0 : -ENOMEM;
        }
        *ret = NULL;
        return 0;
}

int mount_table_overrides_labels(const MountTable *table, uint64_t id) {
        struct libmnt_fs *fs;
        const char *options;
        int r;

        r = find_fs(table, id, &fs);
        if (r < 0)
                return r;
        options = mnt_fs_get_fs_options(fs);
        return has_option(options, "defcontext") || has_option(options, "rootcontext");
}

int mount_table_is_slave(const MountTable *table, uint64_t id) {
        struct libmnt_fs *fs;
        unsigned long flags = 0;
        int r;

        r = find_fs(table, id, &fs);
        if (r < 0)
                return r;
        r = mnt_fs_get_propagation(fs, &flags);
        if (r < 0)
                return r;
        return flags & MS_SLAVE ? 1 : 0;
}

int device_parse(const char *s, dev_t *ret) {
        unsigned long long maj, min;
        const char *colon = strchr(s, ':');
        _cleanup_free_ char *first = NULL;

        assert(ret);

        if (!colon)
                return -EINVAL;
        first = strndup(s, (size_t) (colon - s));
        if (!first)
                return -ENOMEM;
        if (parse_u64(first, &maj) < 0 || parse_u64(colon + 1, &min) < 0 || maj > UINT32_MAX || min > UINT32_MAX)
                return -EINVAL;
        *ret = makedev((unsigned) maj, (unsigned) min);
        return 0;
}

int mount_table_is_idmapped(const MountTable *table, uint64_t id) {
        struct libmnt_fs *fs;
        int r;

        r = find_fs(table, id, &fs);
        if (r < 0)
                return r;
        return has_option(mnt_fs_get_vfs_options(fs), "idmapped");
}
