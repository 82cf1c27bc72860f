/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <libmount.h>

#include "model/context.h"
#include "model/limits.h"
#include "model/settings.h"
#include "mount/mount-table.h"
#include "mount/overlap.h"

/* The kernel uses this context in place of an invalid one. No volume is ever mounted with it. */
#define CONTEXT_MALFORMED "system_u:object_r:unlabeled_t"

enum { NESTED_MAX = 1000 };

static bool has_option(const char *options, const char *name) {
        char *value;
        size_t n;

        return mnt_optstr_get_option(options, name, &value, &n) == 0;
}

/* Copies the context. A foreign mount may have a malformed context, which must neither be dropped nor equal
 * any other. */
static int copy_context(const char *options, char **ret) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *context = NULL;
        char *value = NULL;
        size_t n = 0;
        int r;

        r = mnt_optstr_get_option(options, "context", &value, &n);
        if (r < 0)
                return r;
        if (r > 0) {
                *ret = strdup("");
                return *ret ? 0 : -ENOMEM;
        }
        /* The kernel puts values with a comma in quotes. */
        if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
                value++;
                n -= 2;
        }
        context = strndup(strempty(value), n);
        if (!context)
                return -ENOMEM;
        mountinfo_unescape(context);

        r = context_canonicalize(context, ret, &f);
        if (r <= 0)
                return r;
        *ret = strdup(CONTEXT_MALFORMED);
        return *ret ? 0 : -ENOMEM;
}

static int copy_fact(const Mount *mount, MountFact *ret) {
        _cleanup_(mount_fact_done) MountFact m = { 0 };
        int r;

        r = copy_context(mount->fs_options, &m.context);
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

        /* The array grows at powers of two. */
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

int mount_table_find_devices(const MountTable *table, const dev_t *devices, size_t n_devices, MountFact **ret,
                             size_t *ret_n) {
        _cleanup_free_ const Mount **peers = NULL;
        MountFact *facts = NULL;
        size_t n = 0;
        dev_t anonymous = 0;
        int r;

        assert(table);
        assert(devices || n_devices == 0);
        assert(ret && ret_n);

        r = peers_find(table, &peers);
        if (r < 0)
                return r;

        /* All subvolumes of a btrfs share the anonymous device number of the mount table; only the source of
         * a mount leads to the device. */
        for (const Mount *m = table->mounts; anonymous == 0 && m < table->mounts + table->n; m++)
                if (streq(m->fs_type, "btrfs") && source_is_device(m->source, devices, n_devices))
                        anonymous = m->device;
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++) {
                const Mount *peer = peers[m - table->mounts];

                if (!device_is_among(m->device, devices, n_devices) && (anonymous == 0 || m->device != anonymous))
                        continue;
                r = append_fact(&facts, &n, m);
                if (r < 0) {
                        mount_facts_free(facts, n);
                        return r;
                }
                facts[n - 1].peer_id = peer ? peer->id : 0;
        }

        *ret = facts;
        *ret_n = n;
        return 0;
}

char *mount_fact_describe(const MountFact *fact) {
        _cleanup_free_ char *source = string_escape(fact->source, 200), *target = string_escape(fact->target, 200),
                            *type = string_escape(fact->fs_type, 80); /* may have any text after "fuse." */

        return source && target && type ? strdup_printf("%s, type %s, at '%s'", source, type, target) : NULL;
}

static int describe_cover(const Mount *cover, char **ret) {
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        r = copy_fact(cover, &fact);
        if (r < 0)
                return r;
        *ret = mount_fact_describe(&fact);
        return *ret ? 0 : -ENOMEM;
}

int mount_table_find_beneath(const MountTable *table, char *const *roots, char *const *others, MountFact **ret,
                             size_t *ret_n) {
        _cleanup_free_ const Mount **covers = NULL, **elsewhere = NULL;
        MountFact *facts = NULL;
        size_t n = 0;
        int r;

        assert(table);
        assert(ret && ret_n);

        r = cover_find(table, &covers);
        if (r >= 0 && roots)
                r = elsewhere_find(table, roots, &elsewhere);
        for (size_t i = 0; r >= 0 && i < table->n; i++) {
                const Mount *m = &table->mounts[i];

                if (!roots_contain(roots, m->target) && !strv_contains(others, m->target))
                        continue;
                r = append_fact(&facts, &n, m);
                if (r >= 0 && covers[i])
                        r = describe_cover(covers[i], &facts[n - 1].covered_by);
                if (r >= 0 && elsewhere && elsewhere[i]) {
                        facts[n - 1].also_at = string_escape(elsewhere[i]->target, 200);
                        r = facts[n - 1].also_at ? 0 : -ENOMEM;
                }
        }
        if (r < 0) {
                mount_facts_free(facts, n);
                return r;
        }
        *ret = facts;
        *ret_n = n;
        return 0;
}

int mount_table_find_at(const MountTable *table, const char *path, MountFact **ret, size_t *ret_n) {
        char *const others[] = { (char *) path, NULL };

        assert(path);
        return mount_table_find_beneath(table, NULL, others, ret, ret_n);
}

/* Whether the mount is inside the mount with the id, at any depth. */
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

/* Appends the options of a line's column. libmount knows that commas within quotes separate nothing. */
static int append_options(const char *column, char ***list) {
        char *const without_effect[] = { (char *) "rw",
                                         (char *) "nosuid",
                                         (char *) "nodev",
                                         (char *) "relatime",
                                         (char *) "seclabel",
                                         (char *) "idmapped",
                                         NULL };
        char *rest = (char *) column, *name, *value;
        size_t name_size, value_size;
        int r;

        while ((r = mnt_optstr_next_option(&rest, &name, &name_size, &value, &value_size)) == 0) {
                const char *end = value ? value + value_size : name + name_size;
                _cleanup_free_ char *raw = strndup(name, (size_t) (end - name)), *option = NULL;

                if (!raw)
                        return -ENOMEM;
                if (startswith(raw, "context=") || strv_contains(without_effect, raw) || strv_contains(*list, raw))
                        continue;
                option = string_escape(raw, OPTION_MAX);
                if (!option)
                        return -ENOMEM;
                r = strv_extend(list, option);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : 0;
}

int mount_table_find_options(const MountTable *table, uint64_t id, char ***ret) {
        const Mount *m = mountinfo_find(table, id);
        _cleanup_strv_ char **options = NULL;
        int r;

        if (!m)
                return -ENOENT;
        r = append_options(m->options, &options);
        if (r >= 0)
                r = append_options(m->fs_options, &options);
        /* The table has no word for strictatime. */
        if (r >= 0 && !has_option(m->options, "noatime") && !has_option(m->options, "relatime"))
                r = strv_extend(&options, "strictatime");
        if (r < 0)
                return r;
        *ret = TAKE_PTR(options);
        return 0;
}

int mount_table_is_slave(const MountTable *table, uint64_t id) {
        const Mount *m = mountinfo_find(table, id);

        return m ? m->slave : -ENOENT;
}

int mount_table_is_idmapped(const MountTable *table, uint64_t id) {
        const Mount *m = mountinfo_find(table, id);

        return m ? has_option(m->options, "idmapped") : -ENOENT;
}
