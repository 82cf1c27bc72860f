/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <utlist.h>

#include "basic/path-util.h"
#include "message.h"
#include "store/store-schema.h"
#include "store/store.h"

/* The input has rows of a store with any values, and other bytes for some bytes of the file. If the first
 * word has a "u", the tables have no types, as after a damage of a page. The store has to keep each row that
 * it can read. If the first word has an "a", the store writes everything anew, which takes long. */

static char directory[] = "/dev/shm/selvol-fuzz-XXXXXX", path[sizeof(directory) + sizeof("/state.db")];

typedef struct Table {
        const char *name;
        int n_columns;
        const char *const *values; /* a right value for each column */
} Table;

#define CONTEXT "system_u:object_r:container_file_t:s0:c1,c2"

static const char *const volume_values[COLUMNS_MAX] = {
        [VOLUME_ID] = "v",
        [VOLUME_SOURCE] = "/dev/vdb",
        [VOLUME_FS_TYPE] = "ext4",
        [VOLUME_DRIVER] = "d.example",
        [VOLUME_VOLUME_TYPE] = "csi",
        [VOLUME_ACCESS_MODE] = "ReadWriteOncePod",
        [VOLUME_STRATEGY] = "context-mount",
        [VOLUME_CONTEXT] = CONTEXT,
        [VOLUME_LABEL_STATE] = "complete",
        [VOLUME_TAINTED] = "0",
        [VOLUME_LAST_VERIFIED] = "1700000000000000",
        [VOLUME_INODES_USED] = "42",
        [VOLUME_LABEL_CONTEXT] = CONTEXT,
        [VOLUME_OWNERSHIP_STATE] = "partial",
        [VOLUME_GID] = "1000",
        [VOLUME_MOUNT_OPTIONS] = "noatime",
        [VOLUME_MOUNTED_HERE] = "1",
        [VOLUME_MOUNTED_THIS_BOOT] = "1",
        [VOLUME_FINGERPRINT] = "mounted",
        [VOLUME_MOUNT_TYPE] = "ext4",
        [VOLUME_IDENTITY] = "ext4:01234567-89ab-cdef-0123-456789abcdef",
        [VOLUME_LINK] = "/dev/disk/by-id/a",
};

static const char *const holder_values[COLUMNS_MAX] = {
        [HOLDER_VOLUME] = "v",
        [HOLDER_NAME] = "pod",
        [HOLDER_TARGET] = "/var/lib/kubelet/a",
        [HOLDER_STATE] = "mounted",
        [HOLDER_STRATEGY] = "context-mount",
        [HOLDER_REASON] = "context-shared",
        [HOLDER_READ_ONLY] = "0",
        [HOLDER_ADOPTED] = "0",
        [HOLDER_SINCE] = "17",
        [HOLDER_MOUNT_ID] = "71",
        [HOLDER_SPEC] = "spec",
        [HOLDER_RELABELED_HERE] = "0",
        [HOLDER_FS_GROUP] = "1000",
        [HOLDER_DISK_GID] = "1001",
        [HOLDER_CONTEXT] = CONTEXT,
        [HOLDER_DEVICE] = "8:1",
        [HOLDER_SUPERBLOCK] = "image:8:1:12",
};

static const char *const meta_values[COLUMNS_MAX] = { [META_KEY] = "boot_id", [META_VALUE] = "one" };

enum { VOLUME, HOLDER, META, TABLES };

static const Table tables[TABLES] = {
        [VOLUME] = { "volume", 1 VOLUME_COLUMNS(COLUMN_COUNT), volume_values },
        [HOLDER] = { "holder", 1 HOLDER_COLUMNS(COLUMN_COUNT), holder_values },
        [META] = { "meta", 2, meta_values },
};

/* --- files --- */

static void remove_files(void) {
        static const char *const suffixes[] = { "",         "-wal",  "-shm",       "-journal",      ".new",
                                                ".new-wal", ".next", ".damaged-1", ".damaged-1-wal" };

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                char name[sizeof(path) + 32];

                (void) snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
                (void) unlink(name);
        }
}

static void execute(sqlite3 *db, const char *sql) {
        assert(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *prepare_statement(sqlite3 *db, const char *sql) {
        sqlite3_stmt *st = NULL;

        assert(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK);
        return st;
}

/* The empty tables of a store, in memory. Rows are inserted in a transaction that is rolled back. */
typedef struct Template {
        sqlite3 *db;
        sqlite3_stmt *insert[TABLES];
} Template;

static Template typed, untyped;

static void prepare_inserts(Template *t) {
        for (size_t i = 0; i < TABLES; i++) {
                _cleanup_free_ char *sql =
                        strdup_printf("INSERT INTO %s VALUES (?%.*s)", tables[i].name, 2 * (tables[i].n_columns - 1),
                                      ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?");

                assert(sql);
                t->insert[i] = prepare_statement(t->db, sql);
        }
        execute(t->db, "PRAGMA foreign_keys=ON");
}

static void template_done(Template *t) {
        for (size_t i = 0; i < TABLES; i++)
                (void) sqlite3_finalize(t->insert[i]);
        (void) sqlite3_close(t->db);
}

/* The store itself makes these tables. */
static void make_typed(void) {
        _cleanup_(store_closep) Store *s = NULL;
        sqlite3_backup *b;
        sqlite3 *file;

        assert(store_open(path, &store_schema, &s) == 0 && store_get_error(s) == 0);
        s = store_close(s);
        assert(sqlite3_open(path, &file) == SQLITE_OK && sqlite3_open(":memory:", &typed.db) == SQLITE_OK);
        execute(file, "PRAGMA journal_mode=DELETE");
        b = sqlite3_backup_init(typed.db, "main", file, "main");
        assert(b && sqlite3_backup_step(b, -1) == SQLITE_DONE && sqlite3_backup_finish(b) == SQLITE_OK);
        assert(sqlite3_close(file) == SQLITE_OK);
        remove_files();
        prepare_inserts(&typed);
}

#define COLUMN(position, name, type) "," name
#define VOLUME_NAMES                 VOLUME_COLUMNS(COLUMN)
#define HOLDER_NAMES                 HOLDER_COLUMNS(COLUMN)

static void make_untyped(void) {
        sqlite3_stmt *st = prepare_statement(typed.db, "SELECT * FROM pragma_user_version, pragma_application_id");
        _cleanup_free_ char *version = NULL;

        assert(sqlite3_step(st) == SQLITE_ROW);
        version = strdup_printf("PRAGMA user_version=%i; PRAGMA application_id=%i", sqlite3_column_int(st, 0),
                                sqlite3_column_int(st, 1));
        assert(version && sqlite3_finalize(st) == SQLITE_OK);
        assert(sqlite3_open(":memory:", &untyped.db) == SQLITE_OK);
        execute(untyped.db, "CREATE TABLE volume (id" VOLUME_NAMES ",PRIMARY KEY (id));"
                            "CREATE TABLE holder (volume" HOLDER_NAMES ",PRIMARY KEY (target));"
                            "CREATE TABLE meta (key PRIMARY KEY,value);");
        execute(untyped.db, version);
        prepare_inserts(&untyped);
}

static void clean_up(void) {
        template_done(&typed);
        template_done(&untyped);
        remove_files();
        (void) rmdir(directory);
}

/* SQLite would allocate much memory for each connection, which takes long under AddressSanitizer. */
static void configure_sqlite(void) {
        enum { PAGE = 4096 + 512, PAGES = 256 };
        static uint8_t pages[PAGES * PAGE] __attribute__((aligned(8)));

        assert(sqlite3_config(SQLITE_CONFIG_PAGECACHE, pages, PAGE, PAGES) == SQLITE_OK);
        assert(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 64, 40) == SQLITE_OK);
        assert(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
}

static void prepare(void) {
        if (path[0])
                return;
        configure_sqlite();
        assert(mkdtemp(directory));
        (void) snprintf(path, sizeof(path), "%s/state.db", directory);
        assert(atexit(clean_up) == 0);
        make_typed();
        make_untyped();
}

/* --- rows --- */

typedef struct Inserted {
        size_t rows;  /* of volumes and holders */
        bool untyped; /* the tables have no types */
        bool anew;    /* the store writes everything anew */
        bool bytes;   /* some bytes of the file are changed */
} Inserted;

/* The first letter of a value is its type. Without one the value is the right one. \1 stands for NUL. */
static void bind(sqlite3_stmt *st, int i, const char *right, char *s) {
        size_t n = strlen(s);

        for (char *p = s; p < s + n; p++)
                if (*p == '\1')
                        *p = '\0';
        switch (s[0]) {
        case 'i':
                (void) sqlite3_bind_int64(st, i, strtoll(s + 1, NULL, 10));
                break;
        case 'f':
                (void) sqlite3_bind_double(st, i, strtod(s + 1, NULL));
                break;
        case 't':
                (void) sqlite3_bind_text(st, i, s + 1, (int) n - 1, SQLITE_TRANSIENT);
                break;
        case 'b':
                (void) sqlite3_bind_blob(st, i, s + 1, (int) n - 1, SQLITE_TRANSIENT);
                break;
        case 'n':
                break;
        default:
                (void) sqlite3_bind_text(st, i, right, -1, SQLITE_STATIC);
        }
}

/* Returns whether the table has accepted the row. */
static bool insert(const Template *t, int table, Words *w) {
        sqlite3_stmt *st = t->insert[table];

        for (int i = 0; i < tables[table].n_columns; i++) {
                _cleanup_free_ char *s = words_next(w);

                bind(st, i + 1, tables[table].values[i], s);
        }
        (void) sqlite3_step(st);
        (void) sqlite3_clear_bindings(st);
        return sqlite3_reset(st) == SQLITE_OK;
}

/* A word before each row names its table. "d" ends the rows; pairs of an offset and a value follow. */
static void make_rows(const Template *t, Words *w, Inserted *inserted) {
        while (!words_at_end(w)) {
                _cleanup_free_ char *kind = words_next(w);

                if (streq(kind, "d"))
                        break;
                if (streq(kind, "v"))
                        inserted->rows += insert(t, VOLUME, w);
                else if (streq(kind, "h"))
                        inserted->rows += insert(t, HOLDER, w);
                else if (streq(kind, "m"))
                        (void) insert(t, META, w);
        }
}

static void make_file(Words *w, Inserted *inserted) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        _cleanup_free_ char *which = words_next(w);
        const Template *t;
        unsigned char *bytes;
        sqlite3_int64 size;

        inserted->untyped = strchr(which, 'u');
        inserted->anew = strchr(which, 'a');
        t = inserted->untyped ? &untyped : &typed;
        execute(t->db, "BEGIN");
        make_rows(t, w, inserted);
        bytes = sqlite3_serialize(t->db, "main", &size, 0);
        execute(t->db, "ROLLBACK");
        assert(bytes && size > 0);
        for (; !words_at_end(w); inserted->bytes = true) {
                uint64_t offset = words_next_number(w) % (uint64_t) size;

                bytes[offset] = (uint8_t) words_next_number(w);
        }
        assert(fd >= 0 && write(fd, bytes, (size_t) size) == (ssize_t) size);
        sqlite3_free(bytes);
}

/* --- reading --- */

static void on_skipped(void *userdata, const char *volume, const char *target) {
        ++*(size_t *) userdata;
}

static void describe_holder(FILE *f, const Holder *h) {
        fprintf(f, " %s|%s|%i|%i|%i|%i|%i|%i|%u|%u|%" PRIu64 "|%s|%" PRIu64 "|%s|%s\n", h->name, h->target,
                (int) h->state, (int) h->strategy, (int) h->reason, h->read_only, h->adopted, h->relabeled_here,
                h->fs_group, h->disk_gid, h->since_usec, h->context, h->mount_id, h->device, h->spec);
}

static void describe_volume(FILE *f, const Volume *v) {
        _cleanup_free_ char *options = strv_join(v->mount_options, ",");

        fprintf(f, "%s|%s|%s|%s|%s|%s|%s|%i|%i|%s|%s|%i|%i|%s|%s|%i|%s|%i|%i|%u|%" PRIu64 "|%" PRIu64 "\n", v->id,
                v->source, v->identity.text, v->link, v->fs_type, v->mount_type, options, v->mounted_here,
                v->mounted_this_boot, v->driver ?: "(null)", v->volume_type, (int) v->access_mode, (int) v->strategy,
                v->context, v->fingerprint.text, (int) v->mark.label_state, strempty(v->mark.context),
                v->mark.tainted, (int) v->mark.ownership_state, v->mark.gid, v->last_verified_usec, v->inodes_used);
}

static void check_volume(const Volume *v) {
        _cleanup_failure_ Failure f = { 0 };
        const Holder *h;

        assert(volume_id_validate(v->id, &f) == 0);
        assert(mark_is_consistent(&v->mark));
        LL_FOREACH (v->holders, h)
                assert(path_is_normalized(h->target) && volumes_find_target(v->all, h->target, NULL) == h);
}

/* Leaves out holders that are only planned, as the store does not write these anew. */
static char *describe(const Volumes *all) {
        Volume *v, *next;
        char *text = NULL;
        size_t size;
        Holder *h;
        FILE *f = open_memstream(&text, &size);

        assert(f);
        HASH_ITER (hh, all->table, v, next) {
                assert(volumes_find(all, v->id) == v);
                check_volume(v);
                describe_volume(f, v);
                LL_FOREACH (v->holders, h)
                        if (h->state != HOLDER_MOUNTING || h->mount_id != 0)
                                describe_holder(f, h);
        }
        assert(fclose(f) == 0);
        return text;
}

static size_t count_all(const Volumes *all) {
        Volume *v, *next;
        size_t n = volumes_count(all);

        HASH_ITER (hh, all->table, v, next)
                n += volume_count_holders(v);
        return n;
}

static void on_written(void *userdata, int error) {
        *(int *) userdata = error;
}

/* selvold does this when it could not read all rows. */
static void write_anew(Store *s, const Volumes *all, bool damaged) {
        _cleanup_free_ char *kept = NULL;
        int r = -EINVAL;

        if (damaged)
                assert(store_set_aside(s, 1, &kept) == 0);
        store_hand_over_anew(s, all, "boot", on_written, &r);
        store_wait(s);
        assert(r == 0 && store_get_error(s) == 0);
        assert(!kept || access(kept, F_OK) == 0);
}

static void write_again(Store *s, const Volumes *all) {
        Volume *v, *next;
        Holder *h;

        HASH_ITER (hh, all->table, v, next) {
                store_put_volume(s, v);
                LL_FOREACH (v->holders, h)
                        store_put_holder(s, v, h);
        }
        store_put_boot_id(s, "boot");
        assert(store_commit(s) == 0);
}

static void check_again(Store *s, size_t expected_skipped, const char *expected) {
        _cleanup_free_ char *text = NULL, *boot = NULL;
        _cleanup_(volumes_done) Volumes all = { 0 };
        size_t skipped = 0;

        assert(store_load(s, &all, on_skipped, &skipped) == 0);
        assert(skipped == expected_skipped);
        text = describe(&all);
        assert(streq(text, expected));
        assert(store_get_boot_id(s, &boot) == 0 && streq(boot, "boot"));
}

static void check_file(const Inserted *inserted) {
        _cleanup_(store_closep) Store *s = NULL;
        _cleanup_free_ char *text = NULL, *boot = NULL;
        _cleanup_(volumes_done) Volumes all = { 0 };
        bool whole = !inserted->untyped && !inserted->bytes;
        size_t skipped = 0;
        int r;

        r = store_open(path, &store_schema, &s);
        assert(r == 0 || inserted->bytes);
        if (r < 0)
                return;
        r = store_load(s, &all, on_skipped, &skipped);
        assert(r == 0 || (r == -EUCLEAN && inserted->bytes));
        assert(inserted->bytes || count_all(&all) + skipped == inserted->rows);
        assert(store_get_boot_id(s, &boot) == 0);
        text = describe(&all);
        if (inserted->anew) {
                write_anew(s, &all, r < 0 || store_get_error(s) < 0 || skipped > 0);
                check_again(s, 0, text);
        } else if (whole) {
                write_again(s, &all);
                check_again(s, skipped, text);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Words w = { data, size };
        Inserted inserted = { 0 };

        prepare();
        make_file(&w, &inserted);
        check_file(&inserted);
        remove_files();
        return 0;
}
