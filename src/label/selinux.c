/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <selinux/selinux.h>

#include "model/context.h"
#include "label/selinux.h"

#define BLANKS " \t\r\v\f"

enum { CONTEXTS_FILE_MAX = 64 * 1024, LABEL_GUESS = 256 };

DEFINE_CLEANUP_FUNC(char *, freecon);

void container_contexts_done(ContainerContexts *c) {
        free(c->process);
        free(c->file);
        free(c->ro_file);
        *c = (ContainerContexts){ 0 };
}

/* Returns a copy of n bytes at s, trimmed of the given characters at both ends. */
static char *copy_trimmed(const char *s, size_t n, const char *characters) {
        while (n > 0 && strchr(characters, s[0])) {
                s++;
                n--;
        }
        while (n > 0 && strchr(characters, s[n - 1]))
                n--;
        return strndup(s, n);
}

static int parse_contexts_line(const char *line, size_t n, ContainerContexts *c) {
        _cleanup_free_ char *stripped = copy_trimmed(line, n, BLANKS), *key = NULL, *value = NULL, *bare = NULL;
        const char *equals;
        char **slot;

        if (!stripped)
                return -ENOMEM;
        equals = strchr(stripped, '=');
        if (stripped[0] == '#' || stripped[0] == ';' || !equals)
                return 0;

        key = copy_trimmed(stripped, (size_t) (equals - stripped), BLANKS);
        value = copy_trimmed(equals + 1, strlen(equals + 1), BLANKS);
        if (!key || !value)
                return -ENOMEM;
        bare = copy_trimmed(value, strlen(value), "\"");
        if (!bare)
                return -ENOMEM;

        slot = streq(key, "process")   ? &c->process
               : streq(key, "file")    ? &c->file
               : streq(key, "ro_file") ? &c->ro_file
                                       : NULL;
        if (slot) {
                free(*slot);
                *slot = TAKE_PTR(bare);
        }
        return 0;
}

int container_contexts_parse(const char *text, ContainerContexts *ret) {
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };

        while (*text) {
                size_t n = strcspn(text, "\n");
                int r;

                r = parse_contexts_line(text, n, &c);
                if (r < 0)
                        return r;
                text += n + (text[n] == '\n');
        }

        if (!c.ro_file) {
                int r = free_and_strdup(&c.ro_file, c.file);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_STRUCT(c);
        return 0;
}

/* Some policies have no container types, so an absent file is no error. */
static int read_file_context(char **ret) {
        _cleanup_(container_contexts_done) ContainerContexts contexts = { 0 };
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *text = NULL;
        const char *path = selinux_lxc_contexts_path();
        size_t n;
        int r;

        if (!path)
                return 0;
        file = fopen(path, "re");
        if (!file)
                return errno == ENOENT ? 0 : -errno;
        text = malloc(CONTEXTS_FILE_MAX);
        if (!text)
                return -ENOMEM;
        n = fread(text, 1, CONTEXTS_FILE_MAX, file);
        if (ferror(file))
                return -EIO;
        if (n == CONTEXTS_FILE_MAX)
                return -EFBIG;
        text[n] = '\0';
        r = container_contexts_parse(text, &contexts);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(contexts.file);
        return 0;
}

int selinux_read_node(Node *ret) {
        _cleanup_(node_done) Node n = { 0 };
        int r;

        n.selinux = is_selinux_enabled() > 0;
        if (n.selinux) {
                r = security_getenforce();
                if (r < 0)
                        return -errno;
                n.enforcing = r > 0;
                n.mls = is_selinux_mls_enabled() > 0;
                r = read_file_context(&n.file_context);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_STRUCT(n);
        return 0;
}

int selinux_canonicalize_label(const char *label, char **ret) {
        _cleanup_(freeconp) char *known = NULL;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (is_selinux_enabled() > 0) {
                if (security_canonicalize_context_raw(label, &known) >= 0)
                        label = known;
                else if (errno == ENOMEM)
                        return -ENOMEM;
        }
        r = context_canonicalize(label, ret, &f);
        if (r <= 0)
                return r;

        *ret = strdup("");
        return *ret ? 0 : -ENOMEM;
}

int selinux_check_context(const char *context, char **ret, Failure *f) {
        _cleanup_free_ char *canonical = NULL;
        _cleanup_(freeconp) char *known = NULL;
        int r;

        r = context_canonicalize(context, &canonical, f);
        if (r != 0)
                return r;
        if (is_selinux_enabled() <= 0) {
                *ret = TAKE_PTR(canonical);
                return 0;
        }

        if (security_check_context_raw(canonical) < 0) {
                if (errno == EINVAL)
                        return failure_set(
                                f, FAILURE_INVALID_CONTEXT,
                                "The loaded policy does not know the context %s: one of its user, role, type and level is not defined or they don't go together.",
                                canonical);
                return errno > 0 ? -errno : -EIO;
        }
        if (security_canonicalize_context_raw(canonical, &known) < 0)
                return errno > 0 ? -errno : -EIO;
        return context_canonicalize(known, ret, f);
}

/* Returns a path to fd. Another file system mounted at /proc could lead anywhere, so /proc must be procfs. */
static int fd_path(int fd, char **ret) {
        _cleanup_close_ int proc = -EBADF;
        struct statfs sfs;

        proc = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0)
                return -errno;
        if (fstatfs(proc, &sfs) < 0)
                return -errno;
        if (sfs.f_type != PROC_SUPER_MAGIC)
                return -EXDEV;

        *ret = strdup_printf("/proc/self/fd/%i", fd);
        return *ret ? 0 : -ENOMEM;
}

int selinux_read_label(int fd, char **ret) {
        _cleanup_free_ char *path = NULL, *buffer = NULL;
        size_t size = LABEL_GUESS;
        ssize_t n;
        int flags, r;

        /* fgetxattr(2) fails with EBADF on descriptors opened with O_PATH. */
        flags = fcntl(fd, F_GETFL);
        if (flags < 0)
                return -errno;
        if (flags & O_PATH) {
                r = fd_path(fd, &path);
                if (r < 0)
                        return r;
        }
        for (;;) {
                free(buffer);
                buffer = malloc(size + 1);
                if (!buffer)
                        return -ENOMEM;
                n = path ? getxattr(path, LABEL_XATTR, buffer, size) : fgetxattr(fd, LABEL_XATTR, buffer, size);
                if (n >= 0 || errno != ERANGE || size == XATTR_SIZE_MAX)
                        break;
                size = XATTR_SIZE_MAX;
        }
        if (n < 0 && errno != ENODATA && errno != EOPNOTSUPP)
                return -errno;

        /* The kernel includes the trailing NUL; a program that wrote the label to disk may have left it
         * out. */
        buffer[n < 0 ? 0 : n] = '\0';
        if (isempty(buffer)) {
                *ret = TAKE_PTR(buffer);
                return 0;
        }
        return selinux_canonicalize_label(buffer, ret);
}

int selinux_fail_unlabeled(Failure *f) {
        return failure_set(f, FAILURE_NOT_SUPPORTED,
                           "The file system keeps no labels: mount it with a context (OnVolumeMount).");
}

int selinux_require_labels(int fd, Failure *f) {
        if (fgetxattr(fd, LABEL_XATTR, NULL, 0) >= 0 || errno == ENODATA)
                return 0;
        return errno == EOPNOTSUPP ? selinux_fail_unlabeled(f) : -errno;
}
