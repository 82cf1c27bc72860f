/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fortified headers have inline variants of the functions that this file redefines. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "write-log.h"

typedef enum OpType {
        OP_NOTHING,
        OP_WRITE,
        OP_TRUNCATE,
        OP_SYNC,
        OP_SYNC_NAMES,
        OP_LINK,
        OP_UNLINK,
        OP_RENAME
} OpType;

typedef struct Op {
        OpType type;
        guint note;
        guint64 inode;
        off_t offset; /* or the new size */
        GBytes *data;
        char *name, *from;
} Op;

typedef struct File {
        GByteArray *written, *synced;
} File;

static struct {
        GMutex lock; /* of the log, as a store writes in a thread of its own */
        char *directory;
        GArray *ops;
        guint note, next;
        const Op *last;
        GHashTable *files;          /* inode -> File */
        GHashTable *names, *synced; /* name -> inode */
} self;

/* ---- recording ---- */

/* Returns the name beneath the directory, or NULL. */
static const char *find_name(const char *path) {
        size_t n = self.directory ? strlen(self.directory) : 0;

        return n > 0 && strncmp(path, self.directory, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static void append(Op op) {
        g_mutex_lock(&self.lock);
        op.note = self.note;
        g_array_append_val(self.ops, op);
        g_mutex_unlock(&self.lock);
}

/* Tells whether the file is in the directory, or was before it was removed. */
static gboolean is_recorded(int fd, guint64 *ret_inode) {
        g_autofree char *link = g_strdup_printf("/proc/self/fd/%i", fd);
        char target[4096];
        struct stat st;
        ssize_t n;

        if (!self.directory || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return FALSE;
        n = readlink(link, target, sizeof(target) - 1);
        g_assert_cmpint(n, >, 0);
        target[n] = 0;
        *ret_inode = st.st_ino;
        return find_name(target) != NULL;
}

static guint64 inode_of(const char *path) {
        struct stat st;

        g_assert_cmpint(stat(path, &st), ==, 0);
        return st.st_ino;
}

static void note_sync(int fd) {
        struct stat st;
        guint64 inode;

        if (is_recorded(fd, &inode))
                append((Op){ .type = OP_SYNC, .inode = inode });
        else if (self.directory && fstat(fd, &st) >= 0 && st.st_ino == inode_of(self.directory))
                append((Op){ .type = OP_SYNC_NAMES });
}

/* The library of SQLite has to call these. */
#pragma GCC visibility push(default)

int open(const char *path, int flags, ...) {
        const char *name = find_name(path);
        gboolean create = name && (flags & O_CREAT) && access(path, F_OK) < 0;
        mode_t mode = 0;
        va_list ap;
        int fd;

        if (flags & (O_CREAT | O_TMPFILE)) {
                va_start(ap, flags);
                mode = va_arg(ap, mode_t);
                va_end(ap);
        }
        g_assert_true(!name || !(flags & O_TRUNC));
        fd = (int) syscall(SYS_openat, AT_FDCWD, path, flags, mode);
        if (create && fd >= 0)
                append((Op){ .type = OP_LINK, .inode = inode_of(path), .name = g_strdup(name) });
        return fd;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset) {
        ssize_t written = syscall(SYS_pwrite64, fd, data, n, offset);
        guint64 inode;

        if (written > 0 && is_recorded(fd, &inode))
                append((Op){ .type = OP_WRITE,
                             .inode = inode,
                             .offset = offset,
                             .data = g_bytes_new(data, (size_t) written) });
        return written;
}

int ftruncate(int fd, off_t size) {
        int r = (int) syscall(SYS_ftruncate, fd, size);
        guint64 inode;

        if (r >= 0 && is_recorded(fd, &inode))
                append((Op){ .type = OP_TRUNCATE, .inode = inode, .offset = size });
        return r;
}

int fsync(int fd) {
        int r = (int) syscall(SYS_fsync, fd);

        if (r >= 0)
                note_sync(fd);
        return r;
}

int fdatasync(int fd) {
        int r = (int) syscall(SYS_fdatasync, fd);

        if (r >= 0)
                note_sync(fd);
        return r;
}

int unlink(const char *path) {
        const char *name = find_name(path);
        int r = (int) syscall(SYS_unlinkat, AT_FDCWD, path, 0);

        if (name && r >= 0)
                append((Op){ .type = OP_UNLINK, .name = g_strdup(name) });
        return r;
}

int link(const char *from, const char *to) {
        const char *name = find_name(to);
        int r = (int) syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);

        if (name && r >= 0)
                append((Op){ .type = OP_LINK, .inode = inode_of(to), .name = g_strdup(name) });
        return r;
}

int rename(const char *from, const char *to) {
        const char *name = find_name(to), *before = find_name(from);
        int r = (int) syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);

        if (name && r >= 0) {
                g_assert_nonnull(before);
                append((Op){
                        .type = OP_RENAME, .inode = inode_of(to), .name = g_strdup(name), .from = g_strdup(before) });
        }
        return r;
}

#pragma GCC visibility pop

void write_log_note(guint note) {
        self.note = note;
        append((Op){ .type = OP_NOTHING });
}

void write_log_stop(void) {
        g_clear_pointer(&self.directory, g_free);
}

/* ---- playing back ---- */

static void file_free(void *userdata) {
        File *f = userdata;

        g_byte_array_unref(f->written);
        g_byte_array_unref(f->synced);
        g_free(f);
}

static GByteArray *copy(const GByteArray *a) {
        return g_byte_array_append(g_byte_array_new(), a->data, a->len);
}

static File *get_file(guint64 inode) {
        File *f = g_hash_table_lookup(self.files, &inode);

        if (!f) {
                f = g_new0(File, 1);
                f->written = g_byte_array_new();
                f->synced = g_byte_array_new();
                g_hash_table_insert(self.files, g_memdup2(&inode, sizeof(inode)), f);
        }
        return f;
}

static void sync_file(File *f) {
        g_byte_array_unref(f->synced);
        f->synced = copy(f->written);
}

static void set_name(GHashTable *names, const char *name, guint64 inode) {
        g_hash_table_replace(names, g_strdup(name), g_memdup2(&inode, sizeof(inode)));
}

static GHashTable *new_names(const GHashTable *from) {
        GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        GHashTableIter i;
        void *name, *inode;

        if (!from)
                return names;
        g_hash_table_iter_init(&i, (GHashTable *) from);
        while (g_hash_table_iter_next(&i, &name, &inode))
                set_name(names, name, *(guint64 *) inode);
        return names;
}

static void sync_names(void) {
        g_hash_table_unref(self.synced);
        self.synced = new_names(self.names);
}

static void change_names(GHashTable *names, const Op *op) {
        if (op->type == OP_LINK || op->type == OP_RENAME)
                set_name(names, op->name, op->inode);
        (void) g_hash_table_remove(names, op->type == OP_UNLINK ? op->name : op->type == OP_RENAME ? op->from : "");
}

static void resize(GByteArray *a, size_t size) {
        guint before = a->len;

        g_byte_array_set_size(a, (guint) size);
        if (size > before)
                memset(a->data + before, 0, size - before);
}

static void write_at(GByteArray *a, off_t offset, const void *data, size_t n) {
        if ((size_t) offset + n > a->len)
                resize(a, (size_t) offset + n);
        memcpy(a->data + offset, data, n);
}

static void apply(const Op *op) {
        size_t n;
        const void *data;

        switch (op->type) {
        case OP_NOTHING:
                break;
        case OP_WRITE:
                data = g_bytes_get_data(op->data, &n);
                write_at(get_file(op->inode)->written, op->offset, data, n);
                break;
        case OP_TRUNCATE:
                resize(get_file(op->inode)->written, (size_t) op->offset);
                break;
        case OP_SYNC:
                sync_file(get_file(op->inode));
                break;
        case OP_SYNC_NAMES:
                sync_names();
                break;
        case OP_LINK:
        case OP_UNLINK:
        case OP_RENAME:
                change_names(self.names, op);
                break;
        }
}

static void op_clear(void *userdata) {
        Op *op = userdata;

        g_clear_pointer(&op->data, g_bytes_unref);
        g_free(op->name);
        g_free(op->from);
}

static void start_over(void) {
        g_clear_pointer(&self.ops, g_array_unref);
        g_clear_pointer(&self.files, g_hash_table_unref);
        g_clear_pointer(&self.names, g_hash_table_unref);
        g_clear_pointer(&self.synced, g_hash_table_unref);
        self.ops = g_array_new(FALSE, TRUE, sizeof(Op));
        g_array_set_clear_func(self.ops, op_clear);
        self.files = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, file_free);
        self.names = new_names(NULL);
        self.synced = new_names(NULL);
        self.next = self.note = 0;
        self.last = NULL;
}

void write_log_start(const char *directory) {
        g_autoptr(GDir) d = g_dir_open(directory, 0, NULL);
        const char *name;

        start_over();
        while ((name = g_dir_read_name(d))) {
                g_autofree char *path = g_build_filename(directory, name, NULL), *text = NULL;
                File *f = get_file(inode_of(path));
                size_t n;

                g_assert_true(g_file_get_contents(path, &text, &n, NULL));
                write_at(f->written, 0, text, n);
                sync_file(f);
                set_name(self.names, name, inode_of(path));
        }
        sync_names();
        self.directory = g_strdup(directory);
        write_log_note(0);
}

gboolean write_log_step(guint *ret_note) {
        if (self.next >= self.ops->len)
                return FALSE;
        self.last = &g_array_index(self.ops, Op, self.next++);
        apply(self.last);
        *ret_note = self.last->note;
        return TRUE;
}

static void write_file(const char *directory, const char *name, const GByteArray *contents) {
        g_autofree char *path = g_build_filename(directory, name, NULL);

        g_assert_true(g_file_set_contents_full(path, (const char *) contents->data, contents->len,
                                               G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* Undoes the second half of the last write. */
static GByteArray *halve(const File *f) {
        GByteArray *half = copy(f->written);
        size_t n = g_bytes_get_size(self.last->data) / 2, start = (size_t) self.last->offset + n;

        for (size_t i = start; i < start + n && i < half->len; i++)
                half->data[i] = i < f->synced->len ? f->synced->data[i] : 0;
        return half;
}

static GByteArray *contents_after(Cut cut, guint64 inode) {
        const File *f = get_file(inode);

        if (cut == CUT_HALF && self.last->inode == inode)
                return halve(f);
        return copy(cut == CUT_DATA || cut == CUT_BOTH ? f->synced : f->written);
}

static GHashTable *names_after(Cut cut) {
        GHashTable *names = new_names(cut == CUT_NAMES || cut == CUT_NAMES_BUT_LAST || cut == CUT_BOTH ? self.synced
                                                                                                       : self.names);

        if (cut == CUT_NAMES_BUT_LAST)
                change_names(names, self.last);
        return names;
}

static gboolean makes_sense(Cut cut) {
        OpType type = self.last->type;

        if (cut == CUT_HALF)
                return type == OP_WRITE;
        if (cut == CUT_NAMES_BUT_LAST)
                return type == OP_LINK || type == OP_UNLINK || type == OP_RENAME;
        return TRUE;
}

gboolean write_log_cut(Cut cut, const char *directory) {
        g_autoptr(GHashTable) names = NULL;
        GHashTableIter i;
        void *name, *inode;

        if (!makes_sense(cut))
                return FALSE;
        names = names_after(cut);
        g_hash_table_iter_init(&i, names);
        while (g_hash_table_iter_next(&i, &name, &inode)) {
                g_autoptr(GByteArray) contents = contents_after(cut, *(guint64 *) inode);

                write_file(directory, name, contents);
        }
        return TRUE;
}
