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

/* A source that a file names: a path, or a tag such as "UUID=...". */
typedef struct NamedSource {
        char *file, *source;
        char *target; /* NULL: for swap */
} NamedSource;

/* A file or directory that was read, or was not there. */
typedef struct Stamp {
        char *path;
        struct stat stat; /* st_ino 0: not there */
} Stamp;

static struct {
        NamedSource *sources;
        size_t n_sources;
        Stamp *stamps;
        size_t n_stamps;
} names;

void host_name_done(HostName *n) {
        free(n->file);
        free(n->target);
        *n = (HostName){ 0 };
}

static void names_forget(void) {
        for (size_t i = 0; i < names.n_sources; i++) {
                free(names.sources[i].file);
                free(names.sources[i].source);
                free(names.sources[i].target);
        }
        for (size_t i = 0; i < names.n_stamps; i++)
                free(names.stamps[i].path);
        free(names.sources);
        free(names.stamps);
        memset(&names, 0, sizeof(names));
}

/* Takes note of a source. target NULL: for swap. */
static int names_add(const char *file, const char *source, const char *target) {
        NamedSource *grown = reallocarray(names.sources, names.n_sources + 1, sizeof(NamedSource)), *n;

        if (!grown)
                return -ENOMEM;
        names.sources = grown;
        n = &grown[names.n_sources++];
        *n = (NamedSource){ strdup(file), strdup(source), target ? strdup(target) : NULL };
        return n->file && n->source && (!target || n->target) ? 0 : -ENOMEM;
}

static struct stat stamp_of(const char *path) {
        struct stat st;

        return stat(path, &st) < 0 ? (struct stat){ 0 } : st;
}

/* Stamps a path before it is read, so a later change is seen. */
static int names_stamp(const char *path) {
        Stamp *grown = reallocarray(names.stamps, names.n_stamps + 1, sizeof(Stamp));

        if (!grown)
                return -ENOMEM;
        names.stamps = grown;
        grown[names.n_stamps++] = (Stamp){ strdup(path), stamp_of(path) };
        return grown[names.n_stamps - 1].path ? 0 : -ENOMEM;
}

static bool stamp_is_old(const Stamp *s) {
        const struct stat now = stamp_of(s->path);

        return now.st_ino != s->stat.st_ino || now.st_dev != s->stat.st_dev || now.st_size != s->stat.st_size ||
               now.st_ctim.tv_sec != s->stat.st_ctim.tv_sec || now.st_ctim.tv_nsec != s->stat.st_ctim.tv_nsec;
}

/* --- reading --- */

/* Skips a line that is none, as mount(8) does. */
static int skip_line(struct libmnt_table *table, const char *file, int line) {
        (void) table;
        (void) file;
        (void) line;
        return 1;
}

static int read_fstab(void) {
        _cleanup_(mnt_free_tablep) struct libmnt_table *table = mnt_new_table();
        _cleanup_(mnt_free_iterp) struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int r;

        if (!table || !iter)
                return -ENOMEM;
        r = names_stamp("/etc/fstab");
        if (r < 0)
                return r;
        mnt_table_set_parser_errcb(table, skip_line);
        r = mnt_table_parse_file(table, "/etc/fstab");
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = 0;
        while (r == 0 && mnt_table_next_fs(table, iter, &fs) == 0)
                if (mnt_fs_get_source(fs) && !streq_ptr(mnt_fs_get_fstype(fs), "selvol"))
                        r = names_add("/etc/fstab", mnt_fs_get_source(fs),
                                      mnt_fs_is_swaparea(fs) ? NULL : mnt_fs_get_target(fs));
        return r;
}

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

/* Reads the What= of a unit, or of a drop-in of one. target: as in names_add(). */
static int read_unit(const char *path, const char *target) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL, *what = NULL;
        size_t size = 0;
        int r;

        r = names_stamp(path);
        if (r < 0)
                return r;
        /* A unit may be removed meanwhile. */
        file = fopen(path, "re");
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
        return what ? names_add(path, what, target) : 0;
}

static int read_drop_ins(const char *directory, const char *target) {
        _cleanup_(closedirp) DIR *dir = NULL;
        const struct dirent *entry;
        int r;

        r = names_stamp(directory);
        if (r < 0)
                return r;
        dir = opendir(directory);
        if (!dir)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        while (r == 0 && (entry = readdir(dir))) {
                _cleanup_free_ char *path = strdup_printf("%s/%s", directory, entry->d_name);

                if (!path)
                        return -ENOMEM;
                if (entry->d_name[0] != '.')
                        r = read_unit(path, target);
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
static int read_entry(size_t directory, const char *entry) {
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
                return read_drop_ins(path, swap ? NULL : target);
        if (*suffix != '\0' || unit_is_hidden(directory, entry))
                return 0;
        return read_unit(path, swap ? NULL : target);
}

static int read_units(void) {
        for (size_t i = 0; i < ELEMENTSOF(unit_directories); i++) {
                _cleanup_(closedirp) DIR *dir = NULL;
                const struct dirent *entry;
                int r;

                r = names_stamp(unit_directories[i]);
                if (r < 0)
                        return r;
                dir = opendir(unit_directories[i]);
                if (!dir && errno != ENOENT)
                        return -errno;
                while (dir && (entry = readdir(dir))) {
                        r = read_entry(i, entry->d_name);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int host_names_refresh(void) {
        bool old = names.n_stamps == 0;
        int r;

        for (size_t i = 0; i < names.n_stamps && !old; i++)
                old = stamp_is_old(&names.stamps[i]);
        if (!old)
                return 0;
        names_forget();
        r = read_fstab();
        if (r >= 0)
                r = read_units();
        if (r < 0)
                names_forget();
        return r;
}

/* --- comparing --- */

typedef struct NameSearch {
        const Settings *settings;
        const dev_t *devices;
        size_t n_devices;
        HostName *found;
} NameSearch;

/* Returns 1 if the source is one of the devices, 0 or a negative errno. */
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

int host_find_name(const Settings *settings, const dev_t *devices, size_t n_devices, HostName *ret) {
        const NameSearch search = { .settings = settings, .devices = devices, .n_devices = n_devices, .found = ret };
        int r;

        assert(settings && devices && ret);

        r = compare_swaps(&search);
        if (r == 0)
                r = host_names_refresh();
        for (size_t i = 0; r == 0 && i < names.n_sources; i++)
                r = name_compare(&search, names.sources[i].file, names.sources[i].source, names.sources[i].target);
        return r;
}
