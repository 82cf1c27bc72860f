/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libmount.h>

#include "mount/device.h"
#include "mount/host-names.h"
#include "mount/mountinfo.h"

DEFINE_CLEANUP_FUNC(DIR *, closedir);
DEFINE_CLEANUP_FUNC(struct libmnt_table *, mnt_free_table);
DEFINE_CLEANUP_FUNC(struct libmnt_iter *, mnt_free_iter);

/* Where systemd looks for units, systemd.unit(5): a unit hides those of its name in later directories. */
static const char *const unit_directories[] = {
        "/etc/systemd/system.control",  "/run/systemd/system.control",   "/run/systemd/transient",
        "/run/systemd/generator.early", "/etc/systemd/system",           "/run/systemd/system",
        "/run/systemd/generator",       "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
        "/run/systemd/generator.late",
};

typedef struct NameSearch {
        const Settings *settings;
        const dev_t *devices;
        size_t n_devices;
        HostName *found;
} NameSearch;

void host_name_done(HostName *n) {
        free(n->file);
        free(n->target);
        *n = (HostName){ 0 };
}

/* Compares one name. source: a path or a tag such as "UUID=..."; target NULL: for swap. Returns 1 if the name
 * is of one of the devices, 0 or a negative errno. */
static int name_compare(const NameSearch *search, const char *file, const char *source, const char *target) {
        _cleanup_(host_name_done) HostName found = { 0 };
        _cleanup_free_ char *path = NULL;
        struct stat st;
        int r;

        if (target && settings_may_have_volume(search->settings, target))
                return 0;
        r = device_name_to_path(source, &path);
        if (r < 0)
                return r;
        /* Elsewhere than in /dev there are no devices, and a server might not answer. */
        if (!startswith(path, "/dev/") || stat(path, &st) < 0 || !S_ISBLK(st.st_mode) ||
            !device_is_among(st.st_rdev, search->devices, search->n_devices))
                return 0;
        found.device = st.st_rdev;
        found.file = string_escape(file, 200);
        found.target = target ? string_escape(target, 200) : NULL;
        if (!found.file || (target && !found.target))
                return -ENOMEM;
        *search->found = TAKE_STRUCT(found);
        return 1;
}

/* --- /proc/swaps and /etc/fstab --- */

static int compare_swaps(const NameSearch *search) {
        _cleanup_fclose_ FILE *file = fopen("/proc/swaps", "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        /* A kernel without swap has no such file. */
        if (!file)
                return errno == ENOENT ? 0 : -errno;
        while (getline(&line, &size, file) > 0) {
                int r;

                line[strcspn(line, " \t\n")] = '\0';
                mountinfo_unescape(line);
                r = name_compare(search, "/proc/swaps", line, NULL);
                if (r != 0)
                        return r;
        }
        return ferror(file) ? -EIO : 0;
}

/* Skips a line that is none, as mount(8) does. */
static int skip_line(struct libmnt_table *table, const char *file, int line) {
        (void) table;
        (void) file;
        (void) line;
        return 1;
}

static int compare_fstab(const NameSearch *search) {
        _cleanup_(mnt_free_tablep) struct libmnt_table *table = mnt_new_table();
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int r;

        if (!table || !iter)
                return -ENOMEM;
        mnt_table_set_parser_errcb(table, skip_line);
        r = mnt_table_parse_file(table, "/etc/fstab");
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        while (mnt_table_next_fs(table, iter, &fs) == 0) {
                const char *target = mnt_fs_get_target(fs);

                if (!mnt_fs_get_source(fs) || streq_ptr(mnt_fs_get_fstype(fs), "selvol"))
                        continue;
                r = name_compare(search, "/etc/fstab", mnt_fs_get_source(fs), mnt_fs_is_swaparea(fs) ? NULL : target);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* --- units --- */

/* Makes the path of a unit's name: "var-lib-x\x2dy" is /var/lib/x-y, and "-" is /. */
static char *unit_path(const char *name, size_t n) {
        char *path = malloc(n + 2), *end = path;
        unsigned byte;

        if (!path)
                return NULL;
        *end++ = '/';
        for (size_t i = 0; i < n && !(n == 1 && name[0] == '-'); i++)
                if (name[i] == '-')
                        *end++ = '/';
                else if (n - i >= 4 && name[i] == '\\' && sscanf(name + i, "\\x%2x", &byte) == 1) {
                        *end++ = (char) byte;
                        i += 3;
                } else
                        *end++ = name[i];
        *end = '\0';
        return path;
}

/* Returns the value if the line sets the key, else NULL. */
static char *line_value(char *line, const char *key) {
        size_t n = strlen(line);

        while (n > 0 && isspace((unsigned char) line[n - 1]))
                line[--n] = '\0';
        if (!startswith(line, key))
                return NULL;
        line += strlen(key);
        line += strspn(line, " \t");
        return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

/* Compares the What= of a unit, or of a drop-in of one. target: as in name_compare(). */
static int compare_unit(const NameSearch *search, const char *path, const char *target) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_free_ char *line = NULL, *what = NULL;
        size_t size = 0;

        /* A unit may be removed meanwhile. */
        if (!file)
                return errno == ENOENT ? 0 : -errno;
        while (getline(&line, &size, file) > 0) {
                const char *value = line_value(line, "Type");

                if (value && streq(value, "selvol"))
                        return 0;
                value = line_value(line, "What");
                if (value && free_and_strdup(&what, value) < 0)
                        return -ENOMEM;
        }
        if (ferror(file))
                return -EIO;
        return what ? name_compare(search, path, what, target) : 0;
}

static int compare_drop_ins(const NameSearch *search, const char *directory, const char *target) {
        _cleanup_(closedirp) DIR *dir = opendir(directory);
        const struct dirent *entry;
        int r = 0;

        if (!dir)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        while (r == 0 && (entry = readdir(dir))) {
                _cleanup_free_ char *path = strdup_printf("%s/%s", directory, entry->d_name);

                if (!path)
                        return -ENOMEM;
                if (entry->d_name[0] != '.')
                        r = compare_unit(search, path, target);
        }
        return r;
}

static bool unit_is_hidden(size_t directory, const char *name) {
        for (size_t i = 0; i < directory; i++) {
                _cleanup_free_ char *path = strdup_printf("%s/%s", unit_directories[i], name);

                if (path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) >= 0)
                        return true;
        }
        return false;
}

/* entry: "boot.mount", "dev-sda2.swap", or "boot.mount.d" with drop-ins; others are no such units. */
static int compare_entry(const NameSearch *search, size_t directory, const char *entry) {
        const char *suffix = strstr(entry, ".mount");
        const bool swap = !suffix;
        _cleanup_free_ char *path = NULL, *target = NULL;

        if (swap)
                suffix = strstr(entry, ".swap");
        if (!suffix)
                return 0;
        path = strdup_printf("%s/%s", unit_directories[directory], entry);
        target = unit_path(entry, (size_t) (suffix - entry));
        if (!path || !target)
                return -ENOMEM;
        suffix += strlen(swap ? ".swap" : ".mount");
        if (streq(suffix, ".d"))
                return compare_drop_ins(search, path, swap ? NULL : target);
        if (*suffix != '\0' || unit_is_hidden(directory, entry))
                return 0;
        return compare_unit(search, path, swap ? NULL : target);
}

static int compare_units(const NameSearch *search) {
        for (size_t i = 0; i < ELEMENTSOF(unit_directories); i++) {
                _cleanup_(closedirp) DIR *dir = opendir(unit_directories[i]);
                const struct dirent *entry;

                if (!dir && errno != ENOENT)
                        return -errno;
                while (dir && (entry = readdir(dir))) {
                        int r = compare_entry(search, i, entry->d_name);

                        if (r != 0)
                                return r;
                }
        }
        return 0;
}

int host_find_name(const Settings *settings, const dev_t *devices, size_t n_devices, HostName *ret) {
        const NameSearch search = { .settings = settings, .devices = devices, .n_devices = n_devices, .found = ret };
        int r;

        assert(settings && devices && ret);

        r = compare_swaps(&search);
        if (r == 0)
                r = compare_fstab(&search);
        return r == 0 ? compare_units(&search) : r;
}
