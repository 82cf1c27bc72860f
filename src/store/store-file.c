/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <fcntl.h>

#include "basic/string-util.h"
#include "store/store-file.h"

static const char checks[] = "PRAGMA foreign_keys=ON;"
                             "PRAGMA trusted_schema=OFF;"
                             "PRAGMA cell_size_check=ON;"
                             "PRAGMA locking_mode=EXCLUSIVE;";

/* WAL with FULL: a commit is one append and one fsync(). EXCLUSIVE: no second process, and no shared memory
 * file. */
static const char durability[] = "PRAGMA journal_mode=WAL;"
                                 "PRAGMA synchronous=FULL;"
                                 "BEGIN IMMEDIATE;" /* takes the lock */
                                 "COMMIT;";

/* --- files next to the store --- */

static char *name_beside(const char *path, const char *suffix) {
        return strdup_printf("%s%s", path, suffix);
}

static char *directory_of(const char *path) {
        return strndup(path, (size_t) (strrchr(path, '/') - path));
}

static int sync_directory_of(const char *path) {
        _cleanup_free_ char *directory = directory_of(path);
        _cleanup_close_ int fd = -EBADF;

        if (!directory)
                return -ENOMEM;
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0)
                return -errno;
        return 0;
}

/* For a directory that can't be written, SQLite reports another error. */
static int explain_error(const char *path, int error) {
        _cleanup_free_ char *directory = directory_of(path);

        if (!directory || error == -ENOSPC || error == -EDQUOT)
                return error;
        return faccessat(AT_FDCWD, directory, W_OK, AT_EACCESS) < 0 ? -errno : error;
}

static int remove_beside(const char *path, const char *suffix) {
        _cleanup_free_ char *name = name_beside(path, suffix);

        if (!name)
                return -ENOMEM;
        return unlink(name) < 0 && errno != ENOENT ? -errno : 0;
}

/* Removes files that SQLite would take for changes not yet in the file. */
static int remove_logs(const char *path) {
        int r;

        r = remove_beside(path, "-wal");
        return r < 0 ? r : remove_beside(path, "-journal");
}

static int link_beside(const char *path, const char *name, const char *suffix) {
        _cleanup_free_ char *from = name_beside(path, suffix), *to = name_beside(name, suffix);

        if (!from || !to)
                return -ENOMEM;
        if (unlink(to) < 0 && errno != ENOENT)
                return -errno;
        return link(from, to) < 0 && errno != ENOENT ? -errno : 0;
}

/* The log of the old file must be gone before the new file gets its name. */
static int finish_replacement(const char *path) {
        _cleanup_free_ char *next = name_beside(path, ".next");
        int r;

        if (!next)
                return -ENOMEM;
        if (access(next, F_OK) < 0)
                return errno == ENOENT ? 0 : -errno;
        r = remove_logs(path);
        if (r < 0)
                return r;
        r = sync_directory_of(path);
        if (r < 0)
                return r;
        if (rename(next, path) < 0)
                return -errno;
        return sync_directory_of(path);
}

static void close_file(StoreFile *f) {
        for (size_t i = 0; i < STATEMENTS; i++) {
                (void) sqlite3_finalize(f->statements[i]);
                f->statements[i] = NULL;
        }
        (void) sqlite3_close(f->db);
        f->db = NULL;
}

/* PATH.new is complete. The first rename() makes it the valid file. The old file is closed afterwards,
 * because SQLite may still write to it when it is closed. */
static int replace_file(StoreFile *f) {
        _cleanup_free_ char *new = name_beside(f->path, ".new"), *next = name_beside(f->path, ".next");
        int r;

        if (!new || !next)
                return -ENOMEM;
        if (f->kept) {
                r = link_beside(f->path, f->kept, "");
                if (r < 0)
                        return r;
                r = link_beside(f->path, f->kept, "-wal");
                if (r < 0)
                        return r;
        }
        if (rename(new, next) < 0)
                return -errno;
        free(f->kept);
        f->kept = NULL;
        r = sync_directory_of(f->path);
        if (r < 0)
                return r;
        close_file(f);
        return finish_replacement(f->path);
}

/* --- one file --- */

static int open_database(StoreFile *f, const char *name, int flags, const char *vfs) {
        int rc = sqlite3_open_v2(name, &f->db, flags, vfs), r;

        r = schema_errno(f->db, rc);
        return r < 0 ? r : schema_execute(f->db, checks);
}

static int prepare_statements(StoreFile *f) {
        int r = 0;

        for (Statement i = 0; r >= 0 && i < STATEMENTS; i++)
                r = schema_prepare_statement(f->db, i, &f->statements[i]);
        return r;
}

void store_file_done(StoreFile *f) {
        close_file(f);
        free(f->path);
        free(f->kept);
        *f = (StoreFile){ 0 };
}

static int open_durable(StoreFile *f, int *ret_version) {
        int r;

        r = open_database(f, f->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
        if (r < 0)
                return r;
        r = schema_execute(f->db, durability);
        return r < 0 ? r : schema_get_version(f->schema, f->db, ret_version);
}

/* A file of the present version, or an empty one, which gets the tables. */
static int open_present(StoreFile *f, int version) {
        int r;

        if (version == 0) {
                r = schema_update(f->schema, f->db, 0);
                if (r < 0)
                        return r;
        }
        return prepare_statements(f);
}

static int copy_database(sqlite3 *from, sqlite3 *to) {
        sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");

        if (!b)
                return schema_errno(to, sqlite3_errcode(to));
        (void) sqlite3_backup_step(b, -1);
        return schema_errno(to, sqlite3_backup_finish(b));
}

/* Moves the log into the file, so that one file has everything. */
static int merge_log(sqlite3 *db) {
        return schema_execute(db, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* Begins PATH.new. The caller releases new->path, also after an error. */
static int open_new(const StoreFile *f, StoreFile *new) {
        int version, r;

        new->schema = f->schema;
        new->path = name_beside(f->path, ".new");
        if (!new->path)
                return -ENOMEM;
        r = remove_beside(new->path, "");
        if (r < 0)
                return r;
        r = remove_logs(new->path);
        return r < 0 ? r : open_durable(new, &version);
}

/* --- opening --- */

static int migrate_copy(StoreFile *f, int version) {
        _cleanup_(store_file_done) StoreFile new = { 0 };
        int r;

        r = open_new(f, &new);
        if (r < 0)
                return r;
        r = copy_database(f->db, new.db);
        if (r < 0)
                return r;
        r = schema_update(f->schema, new.db, version);
        return r < 0 ? r : merge_log(new.db);
}

static int keep_version(StoreFile *f, int version) {
        free(f->kept);
        f->kept = strdup_printf("%s.version-%i", f->path, version);
        return f->kept ? 0 : -ENOMEM;
}

static int migrate_file(StoreFile *f, int version) {
        int r;

        r = migrate_copy(f, version);
        if (r < 0)
                return r;
        r = merge_log(f->db);
        if (r < 0)
                return r;
        r = keep_version(f, version);
        if (r < 0)
                return r;
        r = replace_file(f);
        return r < 0 ? r : open_durable(f, &version);
}

static int open_to_write(StoreFile *f) {
        int version, r;

        r = finish_replacement(f->path);
        if (r < 0)
                return r;
        r = open_durable(f, &version);
        if (r < 0)
                return r;
        if (schema_is_newer(f->schema, version)) {
                r = migrate_file(f, version);
                if (r < 0)
                        return r;
        }
        return open_present(f, version);
}

static char *escape_uri(const char *path) {
        char *text = malloc(3 * strlen(path) + 1), *end = text;

        for (const char *p = path; text && *p; p++)
                end += isalnum((unsigned char) *p) || strchr("/-._~", *p)
                               ? sprintf(end, "%c", *p)
                               : sprintf(end, "%%%02x", (unsigned) (unsigned char) *p);
        if (text)
                *end = 0;
        return text;
}

/* With a log SQLite reads file and log, if it needs no lock. Without a log SQLite tries to create one, unless
 * the file is declared immutable. */
static int open_to_read(StoreFile *f, const char *path) {
        _cleanup_free_ char *wal = name_beside(path, "-wal"), *escaped = escape_uri(path), *uri = NULL;
        bool has_log;

        if (!wal || !escaped)
                return -ENOMEM;
        if (access(path, F_OK) < 0)
                return -errno;
        has_log = access(wal, F_OK) == 0;
        uri = strdup_printf("file:%s%s", escaped, has_log ? "" : "?immutable=1");
        if (!uri)
                return -ENOMEM;
        return open_database(f, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, has_log ? "unix-none" : NULL);
}

static int read_file(StoreFile *f) {
        _cleanup_free_ char *next = name_beside(f->path, ".next");
        _cleanup_(store_file_done) StoreFile from = { 0 };
        int r;

        if (!next)
                return -ENOMEM;
        r = open_to_read(&from, next);
        if (r == -ENOENT)
                r = open_to_read(&from, f->path);
        return r < 0 ? r : copy_database(from.db, f->db);
}

/* Reads the file into memory, unless it is damaged, and migrates it. */
static int open_in_memory(StoreFile *f, bool damaged) {
        int version, r;

        r = open_database(f, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
        if (r < 0)
                return r;
        r = damaged ? 0 : read_file(f);
        if (r < 0 && r != -ENOENT)
                return r;
        r = schema_get_version(f->schema, f->db, &version);
        if (r < 0)
                return r;
        if (schema_is_newer(f->schema, version)) {
                r = keep_version(f, version);
                if (r < 0)
                        return r;
        }
        r = schema_update(f->schema, f->db, version);
        return r < 0 ? r : prepare_statements(f);
}

int store_file_open(StoreFile *f, int *ret_error) {
        int error, r;

        assert(f && f->path && f->schema && !f->db);

        error = open_to_write(f);
        if (error >= 0) {
                *ret_error = 0;
                return 0;
        }
        close_file(f);
        if (error == -EPROTONOSUPPORT || error == -EBUSY || error == -ENOMEM)
                return error;
        if (error != -EUCLEAN)
                error = explain_error(f->path, error);
        r = open_in_memory(f, error == -EUCLEAN);
        if (r == -EUCLEAN) {
                close_file(f);
                error = r;
                r = open_in_memory(f, true);
        }
        if (r < 0) {
                close_file(f);
                return r;
        }
        *ret_error = error;
        return 0;
}

/* --- changes --- */

int store_file_commit(StoreFile *f, const Changes *changes) {
        int r;

        assert(f && f->db);

        r = statement_execute(f->statements[BEGIN]);
        if (r >= 0)
                r = changes_execute(changes, f->statements);
        if (r >= 0)
                r = statement_execute(f->statements[COMMIT]);
        if (r >= 0)
                return 0;
        r = explain_error(f->path, r);
        if (!sqlite3_get_autocommit(f->db))
                (void) statement_execute(f->statements[ROLLBACK]);
        return r;
}

static int write_new(const StoreFile *f, const Changes *everything, const Changes *changes) {
        _cleanup_(store_file_done) StoreFile new = { 0 };
        int r;

        r = open_new(f, &new);
        if (r < 0)
                return r;
        r = open_present(&new, 0);
        if (r < 0)
                return r;
        r = statement_execute(new.statements[BEGIN]);
        if (r < 0)
                return r;
        r = changes_execute(everything, new.statements);
        if (r < 0)
                return r;
        r = changes_execute(changes, new.statements);
        if (r < 0)
                return r;
        r = statement_execute(new.statements[COMMIT]);
        return r < 0 ? r : merge_log(new.db);
}

int store_file_write_anew(StoreFile *f, const Changes *everything, const Changes *changes) {
        int r;

        assert(f && f->path);

        r = write_new(f, everything, changes);
        if (r < 0)
                return explain_error(f->path, r);
        r = replace_file(f);
        if (r >= 0)
                r = open_to_write(f);
        if (r >= 0)
                return 0;
        close_file(f);
        return explain_error(f->path, r);
}
