/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "basic/string-util.h"
#include "mount/mountinfo.h"
#include "mount/statmount.h"

#define MOUNTINFO "/proc/self/mountinfo"

enum { READ_SIZE = 64 * 1024 };

static int read_whole(const char *path, char **ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t n = 0, size = READ_SIZE;

        if (fd < 0)
                return -errno;
        for (;; size *= 2) {
                char *grown = realloc(text, size + 1);
                ssize_t k;

                if (!grown)
                        return -ENOMEM;
                text = grown;
                while ((k = read(fd, text + n, size - n)) > 0)
                        n += (size_t) k;
                if (k < 0)
                        return -errno;
                if (n < size)
                        break;
        }
        text[n] = '\0';
        if (strlen(text) != n)
                return -EBADMSG;
        *ret = TAKE_PTR(text);
        return 0;
}

static bool is_octal(char c) {
        return c >= '0' && c <= '7';
}

void mountinfo_unescape(char *s) {
        char *to = s;

        for (; *s; s++)
                if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) && is_octal(s[3])) {
                        *to++ = (char) ((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
                        s += 3;
                } else
                        *to++ = *s;
        *to = '\0';
}

/* Returns the next field; NULL at the end of the line. */
static const char *take_field(char **line) {
        char *field = strsep(line, " ");

        if (field)
                mountinfo_unescape(field);
        return field;
}

static int take_id(char **line, uint64_t *ret) {
        const char *field = take_field(line);
        unsigned long long n;

        if (!field || parse_u64(field, &n) < 0)
                return -EBADMSG;
        *ret = n;
        return 0;
}

static int parse_mount(char *line, Mount *m) {
        const char *field, *group;
        unsigned long long n;
        int r;

        r = take_id(&line, &m->id);
        if (r < 0)
                return r;
        r = take_id(&line, &m->parent);
        if (r < 0)
                return r;
        field = take_field(&line);
        r = field ? device_parse(field, &m->device) : -EBADMSG;
        if (r < 0)
                return r == -EINVAL ? -EBADMSG : r;
        m->root = take_field(&line);
        m->target = take_field(&line);
        m->options = take_field(&line);
        /* Optional fields about propagation, up to a dash. */
        while ((field = take_field(&line)) && !streq(field, "-"))
                if (startswith(field, "master:"))
                        m->slave = true;
                else if ((group = startswith(field, "shared:"))) {
                        if (parse_u64(group, &n) < 0)
                                return -EBADMSG;
                        m->peer_group = n;
                }
        if (!field)
                return -EBADMSG;
        m->fs_type = take_field(&line);
        m->source = take_field(&line);
        m->fs_options = line;
        return m->fs_options ? 0 : -EBADMSG;
}

static int compare_mounts(const void *a, const void *b) {
        const Mount *x = *(const Mount *const *) a, *y = *(const Mount *const *) b;

        return x->id < y->id ? -1 : x->id > y->id;
}

/* Takes text over. An empty text is an error: every table has mounts. */
static int parse_text(char *text, MountTable **ret) {
        _cleanup_(mount_table_freep) MountTable *t = calloc(1, sizeof(*t));
        char *rest = text;
        int r;

        if (!t) {
                free(text);
                return -ENOMEM;
        }
        t->text = text;
        for (const char *end = text; (end = strchr(end, '\n')); end++)
                t->n++;
        if (t->n == 0)
                return -EBADMSG;
        t->mounts = calloc(t->n, sizeof(*t->mounts));
        t->by_id = calloc(t->n, sizeof(const Mount *));
        if (!t->mounts || !t->by_id)
                return -ENOMEM;
        for (size_t i = 0; i < t->n; i++) {
                r = parse_mount(strsep(&rest, "\n"), &t->mounts[i]);
                if (r < 0)
                        return r;
                t->by_id[i] = &t->mounts[i];
        }
        if (!isempty(rest))
                return -EBADMSG;
        qsort(t->by_id, t->n, sizeof(const Mount *), compare_mounts);
        *ret = TAKE_PTR(t);
        return 0;
}

int mount_table_read(const char *path, MountTable **ret) {
        char *text = NULL;
        int r;

        r = read_whole(path ?: MOUNTINFO, &text);
        return r < 0 ? r : parse_text(text, ret);
}

int mount_table_read_mount(const char *path, uint64_t id, MountTable **ret) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;

        file = fopen(path ?: MOUNTINFO, "re");
        if (!file)
                return -errno;

        while (getline(&line, &allocated, file) > 0) {
                char *end;

                if (strtoull(line, &end, 10) == id && end != line && *end == ' ')
                        return parse_text(TAKE_PTR(line), ret);
        }
        return feof(file) ? -ENOENT : -errno;
}

int mount_table_read_own(int fd, bool with_source, MountTable **ret) {
        uint64_t id, unique_id;
        char *line = NULL;
        int r;

        r = mount_identify_unique(fd, &id, &unique_id);
        if (r < 0)
                return r;
        r = statmount_read_line(unique_id, with_source, &line);
        if (r == -EOPNOTSUPP)
                return mount_table_read_mount(NULL, id, ret);
        return r < 0 ? r : parse_text(line, ret);
}

MountTable *mount_table_free(MountTable *table) {
        if (!table)
                return NULL;
        free(table->text);
        free(table->mounts);
        free(table->by_id);
        free(table);
        return NULL;
}

const Mount *mountinfo_find(const MountTable *table, uint64_t id) {
        const Mount key = { .id = id }, *wanted = &key;
        const Mount *const *found = bsearch(&wanted, table->by_id, table->n, sizeof(const Mount *), compare_mounts);

        return found ? *found : NULL;
}

int device_parse(const char *s, dev_t *ret) {
        unsigned long long maj, min;
        const char *colon = strchr(s, ':');
        _cleanup_free_ char *first = NULL;

        assert(ret);

        if (!colon)
                return -EINVAL;
        first = strndup(s, (size_t) (colon - s));
        if (!first)
                return -ENOMEM;
        if (parse_u64(first, &maj) < 0 || parse_u64(colon + 1, &min) < 0 || maj > UINT32_MAX || min > UINT32_MAX)
                return -EINVAL;
        *ret = makedev((unsigned) maj, (unsigned) min);
        return 0;
}

bool device_is_among(dev_t device, const dev_t *devices, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (devices[i] == device)
                        return true;
        return false;
}
