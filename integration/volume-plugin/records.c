/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/open-util.h"
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

static int check_place(int directory) {
        _cleanup_json_ json_t *names = NULL;
        int r;

        r = record_list(directory, &names);
        if (r < 0)
                return r;
        return json_array_size(names) < RECORDS_MAX ? 0 : -EDQUOT;
}

/* A file without a name, which is written first and gets one then: a name that is taken is not taken over. */
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
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!text)
                return -ENOMEM;
        if (strlen(text) > RECORD_SIZE_MAX)
                return -EFBIG;
        r = check_place(directory);
        if (r < 0)
                return r;
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

int record_read(int directory, const char *name, json_t **ret) {
        _cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        json_error_t error;
        struct stat st;
        json_t *options;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > RECORD_SIZE_MAX)
                return -EBADMSG;
        errno = 0;
        options = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
        if (!options && json_error_code(&error) == json_error_out_of_memory)
                return -ENOMEM;
        if (!options && errno > 0)
                return -errno;
        if (!json_is_object(options)) {
                json_decref(options);
                return -EBADMSG;
        }
        *ret = options;
        return 0;
}

int record_remove(int directory, const char *name) {
        if (unlinkat(directory, name, 0) < 0)
                return -errno;
        return fsync(directory) < 0 ? -errno : 0;
}
