/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "label/record-xattr.h"
#include "label/selinux.h"
#include "worker/mounted.h"

void mounted_done(Mounted *m) {
        mount_outcome_done(&m->outcome);
        free(m->record);
        *m = (Mounted){ 0 };
}

int mounted_read_root(int fd, Mounted *m) {
        _cleanup_close_ int root = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *context = NULL, *record = NULL;
        RecordFound found;
        struct stat st;
        int r;

        if (root < 0 || fstat(root, &st) < 0)
                return -errno;
        r = selinux_read_label(root, &context);
        if (r >= 0)
                r = record_xattr_read(root, &found, &record);
        if (r < 0)
                return r;

        free(m->outcome.root_context);
        m->outcome.root_context = TAKE_PTR(context);
        m->outcome.root_gid = st.st_gid;
        m->outcome.root_mode = st.st_mode;
        m->found = found;
        free(m->record);
        m->record = TAKE_PTR(record);
        return 0;
}

int mounted_check_label(const Mounted *m, const char *context, Failure *f) {
        _cleanup_free_ char *source = NULL;

        if (isempty(context) || streq(m->outcome.root_context, context))
                return 0;
        source = string_escape(m->outcome.fact.source, 200);
        if (!source)
                return -ENOMEM;
        return failure_set(f, FAILURE_LABEL_MISMATCH,
                           "%s was mounted with context %s, but its root has label '%s'; nothing was published.",
                           source, context, m->outcome.root_context);
}
