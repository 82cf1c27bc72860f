/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "label/selinux.h"
#include "worker/outcome.h"

int outcome_read_root(int fd, MountOutcome *outcome) {
        _cleanup_close_ int root = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *context = NULL;
        int r;

        if (root < 0)
                return -errno;
        r = selinux_read_label(root, &context);
        if (r < 0)
                return r;
        free(outcome->root_context);
        outcome->root_context = TAKE_PTR(context);
        return 0;
}
