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

/* The file or directory that could not be read. */
static char *unread;

void host_name_done(HostName *n) {
        free(n->file);
        free(n->target);
        *n = (HostName){ 0 };
}

/* Forgets all sources but the first n. */
static void names_cut(size_t n) {
        for (; names.n_sources > n; names.n_sources--) {
                free(names.sources[names.n_sources - 1].file);
                free(names.sources[names.n_sources - 1].source);
                free(names.sources[names.n_sources - 1].target);
        }
}

static void names_forget(void) {
        names_cut(0);
        for (size_t i = 0; i < names.n_stamps; i++)
                free(names.stamps[i].path);
        free(names.sources);
        free(names.stamps);
        memset(&names, 0, sizeof(names));
}

static int names_fail(const char *path, int error) {
        return free_and_strdup(&unread, path) < 0 ? -ENOMEM : error;
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
                return r == -ENOENT ? 0 : names_fail("/etc/fstab", r);
        r = 0;
        while (r == 0 && mnt_table_next_fs(table, iter, &fs) == 0) {
                _cleanup_free_ char *tagged = NULL;
                const char *tag, *value;

                if (!mnt_fs_get_source(fs) || streq_ptr(mnt_fs_get_fstype(fs), "selvol"))
                        continue;
                /* A tag without the quotes that fstab(5) allows. */
                tagged = mnt_fs_get_tag(fs, &tag, &value) == 0 ? strdup_printf("%s=%s", tag, value)
                                                               : strdup(mnt_fs_get_source(fs));
                r = tagged ? names_add("/etc/fstab", tagged, mnt_fs_is_swaparea(fs) ? NULL : mnt_fs_get_target(fs))
                           : -ENOMEM;
        }
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

/* Reads a line, with those that a backslash at the end continues. Returns 1, or 0 at the end of the file. */
static int read_line(FILE *file, char **ret) {
        _cleanup_free_ char *whole = strdup(""), *line = NULL;
        size_t size = 0;
        bool more = true, any = false;

        while (whole && more && getline(&line, &size, file) > 0) {
                size_t n = strlen(line);
                char *longer;

                while (n > 0 && isspace((unsigned char) line[n - 1]))
                        line[--n] = '\0';
                more = n > 0 && line[n - 1] == '\\';
                if (more)
                        line[n - 1] = ' ';
                longer = strdup_printf("%s%s", whole, line);
                free(whole);
                whole = longer;
                any = true;
        }
        if (!whole)
                return -ENOMEM;
        *ret = any ? TAKE_PTR(whole) : NULL;
        return any;
}

/* Returns the value if the line sets the key, else NULL. */
static const char *line_value(const char *line, const char *key) {
        line = startswith(line + strspn(line, " \t"), key);
        if (!line)
                return NULL;
        line += strspn(line, " \t");
        return *line == '=' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

/* Takes note of each What= in a file of a unit. target: as in names_add(). *selvol is set if the file has
 * Type=selvol. Returns 1; 0 if the unit is masked or the path is no file; or a negative errno. */
static int read_unit_file(const char *path, const char *target, bool *selvol) {
        _cleanup_fclose_ FILE *file = NULL;
        struct stat st;
        int r;

        r = names_stamp(path);
        if (r < 0)
                return r;
        /* The file may be removed meanwhile, and a link may lead nowhere. */
        file = fopen(path, "re");
        if (!file || fstat(fileno(file), &st) < 0)
                return errno == ENOENT || errno == ELOOP ? 0 : names_fail(path, -errno);
        if (!S_ISREG(st.st_mode))
                return 0;
        for (;;) {
                _cleanup_free_ char *line = NULL;
                const char *value;

                r = read_line(file, &line);
                if (r <= 0)
                        break;
                value = line_value(line, "Type");
                *selvol = *selvol || streq_ptr(value, "selvol");
                value = line_value(line, "What");
                r = isempty(value) ? 0 : names_add(path, value, target);
                if (r < 0)
                        break;
        }
        if (r < 0)
                return r;
        return ferror(file) ? names_fail(path, -EIO) : 1;
}

static int read_drop_ins(const char *directory, const char *target, bool *selvol) {
        _cleanup_(closedirp) DIR *dir = opendir(directory);
        const struct dirent *entry;
        int r;

        if (!dir)
                return errno == ENOENT || errno == ENOTDIR ? 0 : names_fail(directory, -errno);
        r = names_stamp(directory);
        while (r >= 0 && (errno = 0, entry = readdir(dir))) {
                const char *suffix = strrchr(entry->d_name, '.');
                _cleanup_free_ char *path = NULL;

                if (!suffix || !streq(suffix, ".conf"))
                        continue;
                path = strdup_printf("%s/%s", directory, entry->d_name);
                r = path ? read_unit_file(path, target, selvol) : -ENOMEM;
        }
        return r < 0 ? r : errno > 0 ? names_fail(directory, -errno) : 0;
}

/* Whether one of the first n directories has a file. */
static bool has_file(size_t n, const char *name) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = strdup_printf("%s/%s", unit_directories[i], name);

                if (path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) >= 0)
                        return true;
        }
        return false;
}

/* Reads a unit, whose file is in the directory, with its drop-ins. A unit may have nothing but drop-ins. */
static int read_unit(size_t directory, const char *name, const char *target) {
        _cleanup_free_ char *path = strdup_printf("%s/%s", unit_directories[directory], name);
        const size_t before = names.n_sources;
        bool selvol = false;
        int r = 1;

        if (!path)
                return -ENOMEM;
        if (has_file(directory + 1, name))
                r = read_unit_file(path, target, &selvol);
        for (size_t i = 0; r > 0 && i < ELEMENTSOF(unit_directories); i++) {
                _cleanup_free_ char *drop_ins = strdup_printf("%s/%s.d", unit_directories[i], name);
                int k = drop_ins ? read_drop_ins(drop_ins, target, &selvol) : -ENOMEM;

                if (k < 0)
                        r = k;
        }
        if (selvol)
                names_cut(before);
        return r < 0 ? r : 0;
}

/* entry: "boot.mount", "dev-sda2.swap", or with ".d" the directory of its drop-ins; others are no such
 * units. */
static int read_entry(size_t directory, const char *entry) {
        _cleanup_free_ char *name = strdup(entry), *target = NULL;
        char *suffix = name ? strrchr(name, '.') : NULL;
        const bool drop_ins = suffix && streq(suffix, ".d");
        bool swap;

        if (!name)
                return -ENOMEM;
        if (drop_ins) {
                *suffix = '\0';
                suffix = strrchr(name, '.');
        }
        swap = suffix && streq(suffix, ".swap");
        if (!suffix || (!swap && !streq(suffix, ".mount")))
                return 0;
        if (has_file(drop_ins ? ELEMENTSOF(unit_directories) : directory, name) ||
            (drop_ins && has_file(directory, entry)))
                return 0;
        target = unit_path(name, (size_t) (suffix - name));
        if (!target)
                return -ENOMEM;
        return read_unit(directory, name, swap ? NULL : target);
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
                        return names_fail(unit_directories[i], -errno);
                while (dir && (errno = 0, entry = readdir(dir))) {
                        r = read_entry(i, entry->d_name);
                        if (r < 0)
                                return r;
                }
                if (dir && errno > 0)
                        return names_fail(unit_directories[i], -errno);
        }
        return 0;
}

int host_names_refresh(void) {
        bool old = names.n_stamps == 0;
        int r;

        for (size_t i = 0; i < names.n_stamps && !old; i++) {
                const struct stat then = names.stamps[i].stat, now = stamp_of(names.stamps[i].path);

                old = now.st_ino != then.st_ino || now.st_dev != then.st_dev || now.st_size != then.st_size ||
                      now.st_ctim.tv_sec != then.st_ctim.tv_sec || now.st_ctim.tv_nsec != then.st_ctim.tv_nsec;
        }
        if (!old)
                return 0;
        names_forget();
        free(unread);
        unread = NULL;
        r = read_fstab();
        if (r >= 0)
                r = read_units();
        if (r < 0)
                names_forget();
        return r;
}

const char *host_names_unread(void) {
        return unread;
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
        dev_t device = 0;
        int r;

        if (target && settings_may_have_volume(search->settings, target))
                return 0;
        r = device_find_named(source, &device);
        if (r <= 0 || !device_is_among(device, search->devices, search->n_devices))
                return r < 0 ? r : 0;
        found.device = device;
        found.file = string_escape(file, 200);
        found.target = target ? string_escape(target, 200) : NULL;
        if (!found.file || (target && !found.target))
                return -ENOMEM;
        *search->found = TAKE_STRUCT(found);
        return 1;
}

int host_find_name(const Settings *settings, const dev_t *devices, size_t n_devices, HostName *ret) {
        const NameSearch search = { .settings = settings, .devices = devices, .n_devices = n_devices, .found = ret };
        _cleanup_fclose_ FILE *swaps = fopen("/proc/swaps", "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        int r;

        assert(settings && (devices || n_devices == 0) && ret);

        /* A kernel without swap has no such file. */
        if (!swaps && errno != ENOENT)
                return -errno;
        while (swaps && getline(&line, &size, swaps) > 0) {
                line[strcspn(line, " \t\n")] = '\0';
                mountinfo_unescape(line);
                r = name_compare(&search, "/proc/swaps", line, NULL);
                if (r != 0)
                        return r;
        }
        if (swaps && ferror(swaps))
                return -EIO;

        r = host_names_refresh();
        if (r != 0)
                return r;
        for (size_t i = 0; i < names.n_sources; i++) {
                r = name_compare(&search, names.sources[i].file, names.sources[i].source, names.sources[i].target);
                if (r != 0)
                        return r;
        }
        return 0;
}
