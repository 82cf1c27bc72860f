/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/time-util.h"
#include "metrics/textfile.h"

static int check(int fd, size_t *ret_size) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADF;
        if (st.st_size > TEXTFILE_MAX)
                return -EFBIG;
        if (timespec_nsec(&st.st_mtim) + TEXTFILE_AGE_SEC * NSEC_PER_SEC < clock_nsec(CLOCK_REALTIME))
                return -ESTALE;
        *ret_size = (size_t) st.st_size;
        return 0;
}

int textfile_read(const char *path, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        _cleanup_free_ char *text = NULL;
        size_t size = 0, done = 0;
        ssize_t n;
        int r;

        if (fd < 0)
                return -errno;
        r = check(fd, &size);
        if (r < 0)
                return r;
        text = malloc(size + 1);
        if (!text)
                return -ENOMEM;
        while ((n = read(fd, text + done, size - done)) > 0)
                done += (size_t) n;
        if (n < 0)
                return -errno;

        *ret = TAKE_PTR(text);
        *ret_size = done;
        return 0;
}
