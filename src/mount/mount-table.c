/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <libmount.h>

#include "basic/path-util.h"
#include "model/context.h"
#include "model/settings.h"
#include "mount/cover.h"
#include "mount/elsewhere.h"
#include "mount/mount-table.h"

/* The context that the kernel uses for one that it can't understand. No volume is ever mounted with it. */
#define CONTEXT_MALFORMED "system_u:object_r:unlabeled_t"

enum { NESTED_MAX = 1000 };

/* The value of an option of the superblock without the quotes that the kernel puts around values with a comma. */
static int find_option(const char *options, const char *name, char **ret) {
        size_t n = 0;
        char *value = NULL, *copy;
        int r;

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
        mountinfo_unescape(copy);
        *ret = copy;
        return 0;
}

static bool has_option(const char *options, const char *name) {
        char *value;
        size_t n;

        return mnt_optstr_get_option(options, name, &value, &n) == 0;
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

static int copy_fact(const Mount *mount, MountFact *ret) {
        _cleanup_(mount_fact_done) MountFact m = { 0 };
        int r;

        r = find_context(mount->fs_options, &m.context);
        if (r < 0)
                return r;
        m.target = strdup(mount->target);
        m.source = strdup(mount->source);
        m.fs_type = strdup(mount->fs_type);
        m.device = strdup_printf("%u:%u", major(mount->device), minor(mount->device));
        m.root = strdup(mount->root);
        if (!m.target || !m.source || !m.fs_type || !m.device || !m.root)
                return -ENOMEM;
        m.seclabel = has_option(mount->fs_options, "seclabel");
        m.superblock_read_only = has_option(mount->fs_options, "ro");
        m.read_only = m.superblock_read_only || has_option(mount->options, "ro");
        m.mount_id = mount->id;

        *ret = TAKE_STRUCT(m);
        return 0;
}

int mount_table_find_id(const MountTable *table, uint64_t id, MountFact *ret) {
        const Mount *m;

        assert(table);
        assert(ret);

        m = mountinfo_find(table, id);
        if (!m)
                return -ENOENT;
        return copy_fact(m, ret);
}

static int append_fact(MountFact **facts, size_t *n, const Mount *m) {
        MountFact *grown;
        int r;

        /* Grows at powers of two. */
        if ((*n & (*n - 1)) == 0) {
                grown = reallocarray(*facts, *n > 0 ? *n * 2 : 1, sizeof(MountFact));
                if (!grown)
                        return -ENOMEM;
                *facts = grown;
        }
        r = copy_fact(m, *facts + *n);
        if (r < 0)
                return r;
        (*n)++;
        return 0;
}

static bool source_is_device(const char *source, const dev_t *devices, size_t n_devices) {
        struct stat st;

        return source && source[0] == '/' && stat(source, &st) >= 0 && S_ISBLK(st.st_mode) &&
               device_is_among(st.st_rdev, devices, n_devices);
}

bool mount_fact_is_of_devices(const MountFact *fact, const dev_t *devices, size_t n_devices) {
        dev_t device;

        if (device_parse(fact->device, &device) >= 0 && device_is_among(device, devices, n_devices))
                return true;
        return streq(fact->fs_type, "btrfs") && source_is_device(fact->source, devices, n_devices);
}

/* The anonymous device number of a btrfs on one of the devices; 0 if it isn't mounted. Only its source leads from the
 * superblock to the device; all its subvolumes share the number. */
static dev_t find_btrfs(const MountTable *table, const dev_t *devices, size_t n_devices) {
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++)
                if (streq(m->fs_type, "btrfs") && source_is_device(m->source, devices, n_devices))
                        return m->device;
        return 0;
}

int mount_table_find_devices(const MountTable *table, const dev_t *devices, size_t n_devices, MountFact **ret,
                             size_t *ret_n) {
        MountFact *facts = NULL;
        size_t n = 0;
        dev_t anonymous;

        assert(table);
        assert(devices || n_devices == 0);
        assert(ret && ret_n);

        anonymous = find_btrfs(table, devices, n_devices);
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++) {
                int r;

                if (!device_is_among(m->device, devices, n_devices) && (anonymous == 0 || m->device != anonymous))
                        continue;
                r = append_fact(&facts, &n, m);
                if (r < 0) {
                        mount_facts_free(facts, n);
                        return r;
                }
        }

        *ret = facts;
        *ret_n = n;
        return 0;
}

char *mount_fact_describe(const MountFact *fact) {
        _cleanup_free_ char *source = string_escape(fact->source, 200), *target = string_escape(fact->target, 200),
                            *type = string_escape(fact->fs_type, 80); /* after "fuse." it is anybody's */

        return source && target && type ? strdup_printf("%s, type %s, at '%s'", source, type, target) : NULL;
}

typedef int (*DescribeOther)(const Mount *other, MountFact *fact);

/* Describes in the fact of a mount the other one that there may be for it: others has one for each mount of the table. Both
 * are in the order of the table: a fact is of the next mount with its id. */
static int describe_others(const MountTable *table, const Mount *const *others, DescribeOther describe,
                           MountFact *facts, size_t n) {
        for (size_t i = 0, k = 0; i < table->n && k < n; i++) {
                int r;

                if (table->mounts[i].id != facts[k].mount_id)
                        continue;
                r = others[i] ? describe(others[i], &facts[k]) : 0;
                if (r < 0)
                        return r;
                k++;
        }
        return 0;
}

static int describe_cover(const Mount *cover, MountFact *fact) {
        _cleanup_(mount_fact_done) MountFact other = { 0 };
        int r;

        r = copy_fact(cover, &other);
        if (r < 0)
                return r;
        fact->covered_by = mount_fact_describe(&other);
        return fact->covered_by ? 0 : -ENOMEM;
}

static int find_covers(const MountTable *table, MountFact *facts, size_t n) {
        _cleanup_free_ const Mount **covers = NULL;
        int r;

        r = cover_find(table, &covers);
        return r < 0 ? r : describe_others(table, covers, describe_cover, facts, n);
}

static int describe_place(const Mount *elsewhere, MountFact *fact) {
        fact->also_at = string_escape(elsewhere->target, 200);
        return fact->also_at ? 0 : -ENOMEM;
}

static int find_elsewhere(const MountTable *table, char *const *roots, MountFact *facts, size_t n) {
        _cleanup_free_ const Mount **elsewhere = NULL;
        int r;

        r = elsewhere_find(table, roots, &elsewhere);
        return r < 0 ? r : describe_others(table, elsewhere, describe_place, facts, n);
}

typedef bool (*MatchTarget)(const char *target, const void *userdata);

/* With what covers them. */
static int find_targets(const MountTable *table, MatchTarget matches, const void *userdata, MountFact **ret,
                        size_t *ret_n) {
        MountFact *facts = NULL;
        size_t n = 0;
        int r = 0;

        for (const Mount *m = table->mounts; r >= 0 && m < table->mounts + table->n; m++)
                if (matches(m->target, userdata))
                        r = append_fact(&facts, &n, m);
        if (r >= 0)
                r = find_covers(table, facts, n);
        if (r < 0) {
                mount_facts_free(facts, n);
                return r;
        }
        *ret = facts;
        *ret_n = n;
        return 0;
}

typedef struct Places {
        char *const *roots, *const *others;
} Places;

static bool is_in_places(const char *target, const void *userdata) {
        const Places *p = userdata;

        return roots_contain(p->roots, target) || strv_contains(p->others, target);
}

int mount_table_find_beneath(const MountTable *table, char *const *roots, char *const *others, MountFact **ret,
                             size_t *ret_n) {
        MountFact *facts;
        size_t n;
        int r;

        assert(table);
        assert(ret && ret_n);

        r = find_targets(table, is_in_places, &(Places){ roots, others }, &facts, &n);
        if (r < 0)
                return r;
        r = find_elsewhere(table, roots, facts, n);
        if (r < 0) {
                mount_facts_free(facts, n);
                return r;
        }
        *ret = facts;
        *ret_n = n;
        return 0;
}

static bool is_at(const char *target, const void *path) {
        return streq(target, path);
}

int mount_table_find_at(const MountTable *table, const char *path, MountFact **ret, size_t *ret_n) {
        assert(table);
        assert(path);
        assert(ret && ret_n);

        return find_targets(table, is_at, path, ret, ret_n);
}

/* Whether the mount is on the one with the id, or on one that is, and so on. */
static bool is_inside(const MountTable *table, const Mount *m, uint64_t id) {
        for (unsigned depth = 0; m && depth < NESTED_MAX; depth++) {
                if (m->parent == id)
                        return true;
                if (m->parent == m->id)
                        return false;
                m = mountinfo_find(table, m->parent);
        }
        return false;
}

int mount_table_find_inside(const MountTable *table, uint64_t id, char ***ret) {
        const Mount *outer = mountinfo_find(table, id);
        _cleanup_strv_ char **paths = NULL;

        if (!outer)
                return -ENOENT;
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++) {
                const char *path = startswith(m->target, outer->target);
                int r;

                if (!path || path[0] != '/' || !is_inside(table, m, id))
                        continue;
                r = strv_extend(&paths, path + 1);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(paths);
        return 0;
}

int mount_table_find_root(const MountTable *table, uint64_t id, char **ret) {
        const Mount *m = mountinfo_find(table, id);

        if (!m)
                return -ENOENT;
        *ret = strdup(m->root);
        return *ret ? 0 : -ENOMEM;
}

int mount_table_overrides_labels(const MountTable *table, uint64_t id) {
        const Mount *m = mountinfo_find(table, id);

        if (!m)
                return -ENOENT;
        return has_option(m->fs_options, "defcontext") || has_option(m->fs_options, "rootcontext");
}

int mount_table_is_slave(const MountTable *table, uint64_t id) {
        const Mount *m = mountinfo_find(table, id);

        return m ? m->slave : -ENOENT;
}

int mount_table_is_idmapped(const MountTable *table, uint64_t id) {
        const Mount *m = mountinfo_find(table, id);

        return m ? has_option(m->options, "idmapped") : -ENOENT;
}
