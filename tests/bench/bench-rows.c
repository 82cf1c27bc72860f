/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"
#include "bench-rows.h"

#define VOLUME  "bench"
#define CONTEXT "system_u:object_r:container_file_t:" MEASURED_LEVEL
#define MARK    "trusted.selvol"
#define SKIPPED "selvol_ownership_total{outcome=\"skipped\",reason=\"complete\"}"

enum { MEASURED_GROUP = 1234 };

const char *const row_names[ROWS] = {
        [ROW_SELVOL] = "selvol",
        [ROW_TAINT] = "taint",
        [ROW_SKIP] = "skip",
        [ROW_FURTHER] = "further",
        [ROW_BUSCTL] = "busctl",
        [ROW_SHELL] = "shell",
        [ROW_BARE] = "bare",
        [ROW_COMMIT] = "commit",
        [ROW_UNMOUNT] = "unmount",
        [ROW_UNMOUNT_FURTHER] = "unmount-further",
        [ROW_UNMOUNT_SHELL] = "unmount-shell",
        [ROW_UNMOUNT_BARE] = "unmount-bare",
};

/* ---- the service ------------------------------------------------------------------------------------- */

static double mount_for_group(const Scene *s, const char *target, uint32_t group) {
        return call_mount(s->bus, &(MountCall){ .volume = VOLUME,
                                                .source = s->device,
                                                .fs_type = s->fs_type,
                                                .target = target,
                                                .level = s->plain ? NULL : MEASURED_LEVEL,
                                                .shared = true,
                                                .group = group });
}

static double mount_selvol(const Scene *s, const char *target) {
        return mount_for_group(s, target, 0);
}

/* The volume is tainted already after the first round, so that the service leaves the mark as it is. */
static void measure_selvol(const Scene *s, double *ret, double *ret_unmount) {
        *ret = mount_selvol(s, s->target);
        sleep_msec(s->pause_msec);
        *ret_unmount = call_unmount(s->bus, VOLUME, s->target);
}

/* The fields that a complete relabel writes first. */
#define COMPLETE "version=2 identity= inode=2 fingerprint= label=complete "

static void set_mark(const Scene *s) {
        static const char mark[] = COMPLETE "tainted=no ownership=unknown gid=0 context=" CONTEXT;

        if (mount(s->device, s->target, s->fs_type, MS_NOSUID | MS_NODEV, NULL) < 0 ||
            setxattr(s->target, MARK, mark, strlen(mark), 0) < 0 || umount2(s->target, 0) < 0)
                fail("the mark of %s can't be set: %s", s->device, strerror(errno));
}

static bool is_tainted(const Scene *s) {
        char mark[512];
        ssize_t n = getxattr(s->target, MARK, mark, sizeof(mark) - 1);

        if (n < 0)
                return false;
        mark[n] = '\0';
        return startswith(mark, COMPLETE "tainted=yes ");
}

static void measure_taint(const Scene *s, double *ret, _unused_ double *ret_unmount) {
        set_mark(s);
        sleep_msec(s->pause_msec);
        *ret = mount_selvol(s, s->target);
        if (!is_tainted(s))
                fail("the mount did not taint the volume: the row has no meaning");
        (void) call_unmount(s->bus, VOLUME, s->target);
}

/* The first mount gives all files to the group and writes that into the mark, so that the second mount, which
 * is the measured one, skips the walk. sync() keeps writes of the first out of the second's time. */
static void measure_skip(const Scene *s, double *ret, _unused_ double *ret_unmount) {
        double skipped;

        (void) mount_for_group(s, s->target, MEASURED_GROUP);
        (void) call_unmount(s->bus, VOLUME, s->target);
        sync();
        skipped = service_metric(s->bus, SKIPPED);
        sleep_msec(s->pause_msec);
        *ret = mount_for_group(s, s->target, MEASURED_GROUP);
        if (service_metric(s->bus, SKIPPED) != skipped + 1)
                fail("the mark was not believed: the row has no meaning");
        (void) call_unmount(s->bus, VOLUME, s->target);
}

static void measure_further(const Scene *s, double *ret, double *ret_unmount) {
        (void) mount_selvol(s, s->target);
        sleep_msec(s->pause_msec);
        *ret = mount_selvol(s, s->second_target);
        sleep_msec(s->pause_msec);
        *ret_unmount = call_unmount(s->bus, VOLUME, s->second_target);
        (void) call_unmount(s->bus, VOLUME, s->target);
}

static void measure_busctl(const Scene *s, double *ret, _unused_ double *ret_unmount) {
        const char *const argv[] = { "busctl",
                                     "--system",
                                     "call",
                                     "org.selvol1",
                                     "/org/selvol1",
                                     "org.selvol1.Manager",
                                     "MountVolume",
                                     "sssa{sv}",
                                     VOLUME,
                                     s->device,
                                     s->target,
                                     s->plain ? "3" : "6",
                                     "FSType",
                                     "s",
                                     s->fs_type,
                                     "Holder",
                                     "s",
                                     s->target,
                                     "AccessMode",
                                     "s",
                                     "ReadWriteOnce",
                                     s->plain ? NULL : "SELinuxRelabelPolicy",
                                     "s",
                                     "MountOption",
                                     "SELinuxMountSupported",
                                     "b",
                                     "true",
                                     "SELinuxLevel",
                                     "s",
                                     MEASURED_LEVEL,
                                     NULL };
        double start = now_usec();

        run_program(argv);
        *ret = now_usec() - start;
        (void) call_unmount(s->bus, VOLUME, s->target);
}

/* ---- its peers --------------------------------------------------------------------------------------- */

static void measure_shell(const Scene *s, double *ret, double *ret_unmount) {
        const char *options = s->plain ? "nosuid,nodev" : "nosuid,nodev,context=\"" CONTEXT "\"";
        const char *const do_mount[] = { "mount", "-t", s->fs_type, "-o", options, s->device, s->target, NULL },
                          *const do_list[] = { "ls", "-Zd", s->target, NULL },
                          *const do_unmount[] = { "umount", s->target, NULL };
        double start = now_usec();

        run_program(do_mount);
        run_program(do_list);
        *ret = now_usec() - start;
        sleep_msec(s->pause_msec);
        start = now_usec();
        run_program(do_unmount);
        *ret_unmount = now_usec() - start;
}

static void measure_bare(const Scene *s, double *ret, double *ret_unmount) {
        double start = now_usec();

        if (mount(s->device, s->target, s->fs_type, MS_NOSUID | MS_NODEV,
                  s->plain ? NULL : "context=\"" CONTEXT "\"") < 0)
                fail("mount(2) of %s: %s", s->device, strerror(errno));
        *ret = now_usec() - start;
        sleep_msec(s->pause_msec);
        start = now_usec();
        if (umount2(s->target, 0) < 0)
                fail("umount(2) of %s: %s", s->target, strerror(errno));
        *ret_unmount = now_usec() - start;
}

/* ---- the cost of durability -------------------------------------------------------------------------- */

static void execute(Scene *s, const char *sql) {
        if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail("%s: %s", sql, sqlite3_errmsg(s->db));
}

static char *database_path(const Scene *s, const char *suffix) {
        return format_string("%s/bench.db.%i%s", s->state, (int) getpid(), suffix);
}

/* The PRAGMAs are those of src/store. */
void database_open(Scene *s) {
        _cleanup_free_ char *path = database_path(s, "");

        if (sqlite3_open(path, &s->db) != SQLITE_OK)
                fail("%s: %s", path, sqlite3_errmsg(s->db));
        execute(s, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                   "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT) STRICT;");
        if (sqlite3_prepare_v2(s->db, "INSERT INTO t VALUES (NULL,?)", -1, &s->insert, NULL) != SQLITE_OK)
                fail("%s", sqlite3_errmsg(s->db));
}

void database_close(Scene *s) {
        static const char *const suffixes[] = { "", "-wal", "-shm" };

        sqlite3_finalize(s->insert);
        (void) sqlite3_close(s->db);
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                _cleanup_free_ char *path = database_path(s, suffixes[i]);

                (void) unlink(path);
        }
}

static void measure_commit(const Scene *s, double *ret, _unused_ double *ret_unmount) {
        double start = now_usec();

        (void) sqlite3_bind_text(s->insert, 1, CONTEXT, -1, SQLITE_STATIC);
        if (sqlite3_step(s->insert) != SQLITE_DONE || sqlite3_reset(s->insert) != SQLITE_OK)
                fail("commit: %s", sqlite3_errmsg(s->db));
        *ret = now_usec() - start;
}

const Way ways[WAYS] = {
        { ROW_SELVOL, ROW_UNMOUNT, measure_selvol },
        { ROW_TAINT, ROWS, measure_taint },
        { ROW_SKIP, ROWS, measure_skip },
        { ROW_FURTHER, ROW_UNMOUNT_FURTHER, measure_further },
        { ROW_BUSCTL, ROWS, measure_busctl },
        { ROW_SHELL, ROW_UNMOUNT_SHELL, measure_shell },
        { ROW_BARE, ROW_UNMOUNT_BARE, measure_bare },
        { ROW_COMMIT, ROWS, measure_commit },
};
