/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>

#include "fake-node.h"

enum { FIRST_ID = 1000 };

#define UNLABELED "system_u:object_r:unlabeled_t:s0"

const char *directory;

void check(int r) {
        if (r >= 0)
                return;
        (void) fprintf(stderr, "fake-worker: %s\n", strerror(-r));
        _exit(1);
}

void *check_memory(void *p) {
        check(p ? 0 : -ENOMEM);
        return p;
}

void write_text(const char *path, const char *text) {
        const char *temporary = FORMAT("%s.%d", path, getpid());
        FILE *f = fopen(temporary, "we");

        if (!f || fputs(text, f) < 0 || fclose(f) != 0 || rename(temporary, path) < 0)
                check(-errno);
}

char *read_text(const char *path) {
        FILE *f = fopen(path, "re");
        char *text = check_memory(calloc(1, MARK_MAX + 1));

        if (!f)
                return NULL;
        (void) fread(text, 1, MARK_MAX, f);
        (void) fclose(f);
        return text;
}

/* --- behavior --- */

static const char *name_of(const char *source) {
        const char *name = strrchr(source, '/');

        return name ? name + 1 : source;
}

bool behaves(const char *source, const char *how) {
        return streq(name_of(source), how);
}

bool keeps_no_mark(const char *source) {
        return behaves(source, "nomark") || behaves(source, "links-nomark");
}

/* --- the mount table --- */

int lock_table(void) {
        int fd = open(FORMAT("%s/lock", directory), O_CREAT | O_RDWR | O_CLOEXEC, 0600);

        if (fd < 0 || flock(fd, LOCK_EX) < 0)
                check(-errno);
        return fd;
}

static bool is_path(const char *source) {
        return strchr(source, '/') != NULL;
}

char *device_of(const char *source, uint64_t id) {
        unsigned n = 1;

        if (!is_path(source))
                return FORMAT("0:%" PRIu64, id);
        for (const char *p = name_of(source); *p; p++)
                n = n * 31 + (unsigned char) *p;
        return FORMAT("8:%u", n % 1000000);
}

/* Sets the members that follow from the others. */
void complete_fact(MountFact *m) {
        m->device = device_of(m->source, m->mount_id);
        m->root = FORMAT("%s", behaves(m->source, "part") ? m->target : "/");
        m->seclabel = isempty(m->context) && !streq(m->fs_type, "vfat") && !behaves(m->source, "noseclabel");
}

void add_fact(Observed *table, const MountFact *m) {
        table->mounts = check_memory(reallocarray(table->mounts, table->n_mounts + 1, sizeof(MountFact)));
        table->mounts[table->n_mounts++] = *m;
}

Observed read_table(void) {
        FILE *f = fopen(FORMAT("%s/mounts", directory), "re");
        Observed table = { 0 };
        MountFact m = { 0 };
        int read_only;

        while (f && fscanf(f, "%" SCNu64 " %ms %ms %ms %ms %d\n", &m.mount_id, &m.target, &m.source, &m.fs_type,
                           &m.context, &read_only) == 6) {
                m.read_only = read_only;
                if (streq(m.context, "-"))
                        m.context = FORMAT("%s", "");
                complete_fact(&m);
                add_fact(&table, &m);
        }
        if (f)
                (void) fclose(f);
        for (size_t i = 0; i < table.n_mounts; i++)
                for (size_t k = i + 1; k < table.n_mounts; k++)
                        if (streq(table.mounts[i].target, table.mounts[k].target))
                                table.mounts[i].covered_by = table.mounts[k].source;
                        else if (streq(table.mounts[i].source, table.mounts[k].source) &&
                                 startswith(table.mounts[k].target, "/mnt")) {
                                table.mounts[i].also_at = table.mounts[k].target;
                                table.mounts[i].beside = !table.mounts[k].read_only;
                        }
        return table;
}

void write_table(const Observed *table) {
        char *text = FORMAT("%s", "");

        for (size_t i = 0; i < table->n_mounts; i++) {
                const MountFact *m = &table->mounts[i];
                char *longer = FORMAT("%s%" PRIu64 " %s %s %s %s %d\n", text, m->mount_id, m->target, m->source,
                                      m->fs_type, isempty(m->context) ? "-" : m->context, m->read_only);

                free(text);
                text = longer;
        }
        write_text(FORMAT("%s/mounts", directory), text);
}

MountFact *find_mount(const Observed *table, const char *target) {
        for (size_t i = table->n_mounts; i-- > 0;)
                if (streq(table->mounts[i].target, target))
                        return &table->mounts[i];
        return NULL;
}

bool has_identity(const MountFact *m, const MountIdentity *identity) {
        return (identity->id == 0 || identity->id == m->mount_id) &&
               (isempty(identity->device) || streq(identity->device, m->device));
}

uint64_t reserve_id(void) {
        int lock = lock_table(), fd = open(FORMAT("%s/ids", directory), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        Observed table = read_table();

        for (uint64_t id = FIRST_ID;; id++) {
                struct flock held = { .l_type = F_WRLCK, .l_start = (off_t) id, .l_len = 1 };
                size_t i = 0;

                while (i < table.n_mounts && table.mounts[i].mount_id != id)
                        i++;
                if (i == table.n_mounts && fcntl(fd, F_OFD_SETLK, &held) == 0) {
                        (void) close(lock);
                        return id;
                }
        }
}

/* --- the content of a volume --- */

char *volume_file(const char *what, const char *source) {
        return FORMAT("%s/%s-%s", directory, what, name_of(source));
}

Fingerprint read_fingerprint(const char *source) {
        char *text = read_text(volume_file("fingerprint", source));
        Fingerprint f = { 0 };

        if (text)
                check(fingerprint_from_string(text, &f));
        return f;
}

Identity read_identity(const char *source) {
        const char *type = type_of(source);
        char *text = read_text(volume_file("identity", source));
        unsigned n = 0;
        Identity i = { 0 };

        if (text)
                check(identity_from_string(text, &i));
        else if (streq(type, "nfs"))
                i = identity_make(type, source, NULL);
        else if (is_path(source) && !streq(type, "vfat") && sscanf(device_of(source, 0), "8:%u", &n) == 1)
                i = identity_make(type, FORMAT("01234567-89ab-cdef-0123-%012u", n), NULL);
        return i;
}

Mark read_mark(const char *source) {
        char *text = read_text(volume_file("mark", source));
        Mark mark = { 0 };

        if (keeps_no_mark(source))
                return (Mark){ .found = MARK_UNSUPPORTED };
        if (!text)
                return (Mark){ .found = MARK_ABSENT };
        return mark_parse(text, strlen(text), &mark) < 0 ? (Mark){ .found = MARK_INVALID } : mark;
}

Swap read_swap(const MountFact *m) {
        char *text = read_text(FORMAT("%s/swap-%" PRIu64, directory, m->mount_id));
        Swap s = { 0 };

        if (text && sscanf(text, "%u %u", &s.disk, &s.shown) != 2)
                check(-EBADMSG);
        return s;
}

gid_t swap_group(const Swap *s, gid_t gid) {
        return gid == s->disk ? s->shown : gid == s->shown ? s->disk : gid;
}

void read_group(const char *source, gid_t *ret_gid, mode_t *ret_mode) {
        char *text = read_text(volume_file("group", source));

        *ret_gid = 0;
        *ret_mode = S_IFDIR | 0755;
        if (text && sscanf(text, "%u %o", ret_gid, ret_mode) != 2)
                check(-EBADMSG);
}

void write_group(const char *source, gid_t gid, mode_t mode) {
        write_text(volume_file("group", source), FORMAT("%u %o", gid, mode));
}

char *root_context(const MountFact *m) {
        char *text = isempty(m->context) ? read_text(volume_file("root", m->source)) : m->context;

        return text ? text : FORMAT(UNLABELED);
}

static bool superblock_is_read_only(const MountFact *m) {
        Observed table = read_table();

        for (size_t i = 0; i < table.n_mounts; i++)
                if (streq(table.mounts[i].device, m->device) && !table.mounts[i].read_only)
                        return false;
        return m->read_only;
}

MountOutcome outcome_of(const MountFact *m, const Swap *swap) {
        MountOutcome o = { .fact = *m,
                           .root_context = root_context(m),
                           .superblock_read_only = superblock_is_read_only(m),
                           .inodes_used = ENTRIES,
                           .identity = read_identity(m->source),
                           .idmapped = swap->disk != swap->shown };
        gid_t gid;

        read_group(m->source, &gid, &o.root_mode);
        o.root_gid = swap_group(swap, gid);
        return o;
}

Node read_node(void) {
        char *text = read_text(FORMAT("%s/node", directory));
        int selinux = 1, enforcing = 1;

        if (text && sscanf(text, "%d %d", &selinux, &enforcing) != 2)
                check(-EBADMSG);
        return (Node){ .selinux = selinux,
                       .enforcing = enforcing,
                       .mls = true,
                       .file_context = FORMAT("system_u:object_r:container_file_t:s0") };
}

const char *type_of(const char *source) {
        return behaves(source, "xfs")     ? "xfs"
               : behaves(source, "vfat")  ? "vfat"
               : behaves(source, "btrfs") ? "btrfs"
               : behaves(source, "ext3")  ? "ext3"
               : !is_path(source)         ? "tmpfs"
               : strstr(source, ":/")     ? "nfs"
                                          : "ext4";
}

bool is_listed(const MountFact *m, const Observed *table) {
        for (size_t i = 0; i < table->n_mounts; i++)
                if (table->mounts[i].mount_id == m->mount_id && streq(table->mounts[i].target, m->target))
                        return table->mounts[i].read_only == m->read_only && table->mounts[i].beside == m->beside &&
                               streq(strempty(table->mounts[i].covered_by), strempty(m->covered_by)) &&
                               streq(strempty(table->mounts[i].also_at), strempty(m->also_at));
        return false;
}
