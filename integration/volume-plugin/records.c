/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "volume-plugin/records.h"

DEFINE_CLEANUP_FUNC(DIR *, closedir);

bool record_name_is_valid(const char *name) {
        static const char alphanumeric[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        size_t n = strlen(name);

        return n > 0 && n <= RECORD_NAME_MAX && strspn(name, alphanumeric) == n && !strchr("._-", name[0]);
}

int record_list(int directory, json_t **ret) {
        _cleanup_json_ json_t *names = json_array();
        _cleanup_(closedirp) DIR *d = NULL;
        _cleanup_close_ int fd = -EBADF;
        const struct dirent *entry;

        if (!names)
                return -ENOMEM;
        fd = open_again(directory, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return fd;
        d = fdopendir(fd);
        if (!d)
                return -errno;
        TAKE_FD(fd);
        while ((errno = 0, entry = readdir(d)))
                if (record_name_is_valid(entry->d_name) &&
                    json_array_append_new(names, json_string(entry->d_name)) < 0)
                        return -ENOMEM;
        if (errno > 0)
                return -errno;
        *ret = TAKE_PTR(names);
        return 0;
}

/* Writes a file without a name, and returns its descriptor. The file gets its name when it is complete, and
 * only if no other file has that name. */
static int write_nameless(int directory, const char *text, size_t size) {
        _cleanup_close_ int fd = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

        if (fd < 0)
                return -errno;
        while (size > 0) {
                ssize_t n = write(fd, text, size);

                if (n < 0)
                        return -errno;
                text += n;
                size -= (size_t) n;
        }
        if (fsync(fd) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int record_write(int directory, const char *name, const json_t *options) {
        _cleanup_free_ char *link = NULL, *text = json_dumps(options, JSON_SORT_KEYS | JSON_COMPACT);
        _cleanup_json_ json_t *names = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!text)
                return -ENOMEM;
        if (strlen(text) > RECORD_SIZE_MAX)
                return -EFBIG;
        r = record_list(directory, &names);
        if (r < 0)
                return r;
        if (json_array_size(names) >= RECORDS_MAX)
                return -EDQUOT;
        fd = write_nameless(directory, text, strlen(text));
        if (fd < 0)
                return fd;
        link = strdup_printf("/proc/self/fd/%d", fd);
        if (!link)
                return -ENOMEM;
        if (linkat(AT_FDCWD, link, directory, name, AT_SYMLINK_FOLLOW) < 0)
                return -errno;
        return fsync(directory) < 0 ? -errno : 0;
}

/* Reads the whole file, of which *size is the size. *ret is the caller's. */
static int read_file(int fd, char **ret, size_t *size) {
        _cleanup_free_ char *text = malloc(*size + 1);
        size_t done = 0;
        ssize_t n;

        if (!text)
                return -ENOMEM;
        while ((n = read(fd, text + done, *size - done)) > 0)
                done += (size_t) n;
        if (n < 0)
                return -errno;
        *ret = TAKE_PTR(text);
        *size = done;
        return 0;
}

int record_read(int directory, const char *name, json_t **ret) {
        _cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        _cleanup_json_ json_t *options = NULL;
        _cleanup_free_ char *text = NULL;
        json_error_t error;
        struct stat st;
        size_t size;
        int r;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > RECORD_SIZE_MAX)
                return -EBADMSG;
        size = (size_t) st.st_size;
        r = read_file(fd, &text, &size);
        if (r < 0)
                return r;
        /* jansson's own errors leave any errno, so it reads no file. */
        options = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
        if (!options && json_error_code(&error) == json_error_out_of_memory)
                return -ENOMEM;
        if (!json_is_object(options))
                return -EBADMSG;
        *ret = TAKE_PTR(options);
        return 0;
}

int record_remove(int directory, const char *name) {
        if (unlinkat(directory, name, 0) < 0)
                return -errno;
        return fsync(directory) < 0 ? -errno : 0;
}

void volume_options_done(VolumeOptions *o) {
        values_done(o->values);
        free(o->default_volume);
        free(o->default_holder);
}

static int read_volume_option(const char *key, const json_t *value, VolumeOptions *o, Failure *f) {
        _cleanup_free_ char *expected = NULL, *escaped = NULL;
        const char *text = json_string_value(value);
        RequestOptionId id;
        int r;

        if (!text)
                return failure_set_about(f, FAILURE_INVALID_OPTION, key, "Option '%s' is not a string.");
        if (!utf8_is_valid(text))
                return failure_set_about(f, FAILURE_INVALID_OPTION, key,
                                         "Option '%s' has a noncharacter of Unicode, which D-Bus does not take.");
        if (streq(key, "source")) {
                o->source = text;
                return 0;
        }
        if (streq(key, "volume")) {
                o->volume = text;
                return 0;
        }
        /* podman uses this name for mount(8)'s -o; it removes timeout= and the like from the value. */
        id = streq(key, "o") ? OPTION_MOUNT_OPTIONS : option_find(key, METHOD_MOUNT);
        if (id == REQUEST_OPTIONS)
                return failure_set_about(
                        f, FAILURE_INVALID_OPTION, key,
                        "There is no option '%s'. There are source, volume, and the options of 'selvolctl mount' without '--', see selvol-volume-plugin(8).");
        r = value_parse(id, isempty(text) && !request_options[id].argument ? NULL : text, &o->values[id]);
        if (r == 0 || r == -ENOMEM)
                return r;
        expected = value_expected(id);
        escaped = string_escape(text, 200);
        if (!expected || !escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Option %s=%s: must be %s.", key, escaped, expected);
}

static bool is_named(const OptionValue *v) {
        return v->set && !isempty(v->string);
}

/* podman itself relabels no volume of a plugin, so selvold does if a context mount is impossible. */
static int set_podman_defaults(const char *name, VolumeOptions *o, Failure *f) {
        OptionValue *relabel_by = &o->values[OPTION_RELABEL_BY], *holder = &o->values[OPTION_HOLDER];

        if (isempty(o->source))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "Pass --opt source=SOURCE: a device in /dev, an image, or what else 'selvolctl mount' takes.");
        /* If selvold has to relabel, only the caller can know the label. */
        if (!is_named(&o->values[OPTION_SELINUX_LEVEL]) && !is_named(&o->values[OPTION_SELINUX_CONTEXT]) &&
            (!relabel_by->set || streq(relabel_by->string, "service")))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "Pass --opt level=LEVEL, and the same one to the containers: --security-opt label=level:LEVEL. If they need no labels, pass --opt relabel-by=none.");
        values_prefer_context_mount(o->values, o->source);
        if (!relabel_by->set)
                *relabel_by = (OptionValue){ .set = true, .string = "service" };
        if (holder->set)
                return 0;
        o->default_holder = strdup_printf("podman:%s", name);
        if (!o->default_holder)
                return -ENOMEM;
        *holder = (OptionValue){ .set = true, .string = o->default_holder };
        return 0;
}

int volume_options_read(const char *id_prefix, const char *name, const json_t *options, VolumeOptions *ret,
                        Failure *f) {
        _cleanup_options_ VolumeOptions o = { 0 };
        const char *key;
        json_t *value;
        int r;

        o.volume = o.default_volume = strdup_printf("%s%s", id_prefix, name);
        if (!o.default_volume)
                return -ENOMEM;
        json_object_foreach ((json_t *) options, key, value) {
                r = read_volume_option(key, value, &o, f);
                if (r != 0)
                        return r;
        }
        r = set_podman_defaults(name, &o, f);
        if (r != 0)
                return r;
        *ret = TAKE_STRUCT(o);
        return 0;
}
