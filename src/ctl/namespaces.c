/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <sys/stat.h>

#include "basic/string-util.h"
#include "ctl/namespaces.h"
#include "ctl/terminal.h"

enum { NAMED_MAX = 3 };

static int is_process(const struct dirent *entry) {
        return entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
}

/* Returns 1 and the inode of the process's namespace; 0 if it has ended, or may not be looked at. */
static int read_namespace(const char *process, ino_t *ret) {
        _cleanup_free_ char *path = strdup_printf("/proc/%s/ns/mnt", process);
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (stat(path, &st) < 0)
                return 0;
        *ret = st.st_ino;
        return 1;
}

static char *read_command(const char *process) {
        _cleanup_free_ char *path = strdup_printf("/proc/%s/comm", process);
        _cleanup_fclose_ FILE *f = path ? fopen(path, "re") : NULL;
        char name[32] = "";

        if (f && fgets(name, sizeof(name), f))
                name[strcspn(name, "\n")] = '\0';
        return format_string(name);
}

/* Returns 0, also if the process has ended meanwhile, or -ENOMEM. */
static int add_namespace(Namespaces *all, const char *process) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ char *path = strdup_printf("/proc/%s/mountinfo", process), *command = read_command(process);
        Namespace *grown;
        int r;

        if (!path || !command)
                return -ENOMEM;
        r = mount_table_read(path, &table);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        grown = reallocarray(all->others, all->n + 1, sizeof(Namespace));
        if (!grown)
                return -ENOMEM;
        all->others = grown;
        all->others[all->n++] = (Namespace){ .pid = (unsigned) strtoul(process, NULL, 10),
                                             .command = TAKE_PTR(command),
                                             .table = TAKE_PTR(table) };
        return 0;
}

static bool is_known(ino_t number, const ino_t *known, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (known[i] == number)
                        return true;
        return false;
}

/* Reads the namespaces of the processes, which are ordered by number. */
static int read_others(Namespaces *all, struct dirent *const *processes, size_t n_processes) {
        _cleanup_free_ ino_t *known = calloc(n_processes + 1, sizeof(ino_t));
        size_t n_known = 0;
        int r;

        if (!known)
                return -ENOMEM;
        r = read_namespace("self", &known[n_known]);
        if (r <= 0)
                return r < 0 ? r : -EACCES;
        n_known++;
        for (size_t i = 0; i < n_processes; i++) {
                r = read_namespace(processes[i]->d_name, &known[n_known]);
                if (r < 0)
                        return r;
                if (r == 0 || is_known(known[n_known], known, n_known))
                        continue;
                n_known++;
                r = add_namespace(all, processes[i]->d_name);
                if (r < 0)
                        return r;
        }
        return 0;
}

int namespaces_read(Namespaces *ret) {
        _cleanup_(namespaces_done) Namespaces all = { 0 };
        struct dirent **processes;
        int n, r;

        r = mount_table_read(NULL, &all.own);
        if (r < 0)
                return r;
        n = scandir("/proc", &processes, is_process, versionsort);
        if (n < 0)
                return -errno;
        r = read_others(&all, processes, (size_t) n);
        for (int i = 0; i < n; i++)
                free(processes[i]);
        free(processes);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(all);
        return 0;
}

void namespaces_done(Namespaces *all) {
        for (size_t i = 0; i < all->n; i++) {
                free(all->others[i].command);
                mount_table_free(all->others[i].table);
        }
        free(all->others);
        mount_table_free(all->own);
        *all = (Namespaces){ 0 };
}

/* The number of btrfs is anonymous: there the source of the mount leads to the device. */
static const Mount *find_mount_of(const MountTable *table, const dev_t *devices, size_t n) {
        for (const Mount *m = table->mounts; m < table->mounts + table->n; m++) {
                struct stat st;

                if (device_is_among(m->device, devices, n))
                        return m;
                if (streq(m->fs_type, "btrfs") && stat(m->source, &st) >= 0 && S_ISBLK(st.st_mode) &&
                    device_is_among(st.st_rdev, devices, n))
                        return m;
        }
        return NULL;
}

int namespaces_describe(const Namespaces *all, const dev_t *devices, size_t n, char **ret) {
        _cleanup_strv_ char **named = NULL;
        size_t found = 0;

        *ret = NULL;
        if (n == 0 || find_mount_of(all->own, devices, n))
                return 0;
        for (const Namespace *other = all->others; other < all->others + all->n; other++) {
                const Mount *m = find_mount_of(other->table, devices, n);
                _cleanup_free_ char *target = m ? format_string(m->target) : NULL;

                if (!m || ++found > NAMED_MAX)
                        continue;
                if (!target || strv_consume(&named, strdup_printf("process %u (%s) at %s", other->pid, other->command,
                                                                  target)) < 0)
                        return -ENOMEM;
        }
        if (found > NAMED_MAX && strv_consume(&named, strdup_printf("and %zu more", found - NAMED_MAX)) < 0)
                return -ENOMEM;
        if (found == 0)
                return 0;
        *ret = strv_join(named, ", ");
        return *ret ? 0 : -ENOMEM;
}
