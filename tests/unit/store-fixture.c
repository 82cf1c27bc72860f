/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>

#include <sqlite3.h>
#include <utlist.h>

#include "store-fixture.h"

bool private_mounts;

void store_set_up(Fixture *f, gconstpointer data) {
        f->directory = g_dir_make_tmp("selvol-store-XXXXXX", NULL);
        g_assert_nonnull(f->directory);
        f->path = g_build_filename(f->directory, "state.db", NULL);
        f->schema = store_schema;
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
}

void store_tear_down(Fixture *f, gconstpointer data) {
        f->store = store_close(f->store);
        if (private_mounts)
                (void) umount2(f->directory, MNT_DETACH);
        tree_remove(f->directory);
        g_free(f->directory);
        g_free(f->path);
        g_free(f->tables);
}

void reopen(Fixture *f) {
        f->store = store_close(f->store);
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
}

Volume *sample(const char *id, const char *target) {
        Volume *v = volume_new(id);
        Holder *h = calloc(1, sizeof(*h));

        g_assert_true(v && h);
        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->fs_type, "nfs4"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->mount_type, "nfs"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->link, "/dev/disk/by-id/a"), ==, 0);
        v->identity = (Identity){ "nfs:s:/\303\244" };
        g_assert_cmpint(free_and_strdup(&v->driver, "d.example"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->context, "system_u:object_r:container_file_t:s0:c1,c2"), ==, 0);
        g_assert_cmpint(strv_extend(&v->mount_options, "noatime"), ==, 0);
        g_assert_cmpint(strv_extend(&v->mount_options, "subvol=/a/b"), ==, 0);
        v->mounted_here = true;
        v->mounted_this_boot = v->mounted_elsewhere = true;
        v->access_mode = ACCESS_READ_WRITE_ONCE_POD;
        v->strategy = STRATEGY_CONTEXT_MOUNT;
        v->mark = (Mark){ .label_state = FILES_COMPLETE,
                          .context = strdup("system_u:object_r:container_file_t:s0:c3"),
                          .tainted = true,
                          .ownership_state = FILES_PARTIAL,
                          .gid = (gid_t) -2 };
        v->last_verified_usec = 1700000000000000;
        v->last_used_usec = 1700000000000001;
        v->introducer = (uid_t) -2;
        v->ephemeral = true;
        *h = (Holder){ .name = strdup("pod a"),
                       .target = strdup(target),
                       .context = strdup("system_u:object_r:container_file_t:s0:c1,c2"),
                       .device = strdup("254:16"),
                       .superblock = strdup("device:254:16"),
                       .spec = strdup("spec"),
                       .state = HOLDER_MOUNTED,
                       .strategy = STRATEGY_CONTEXT_MOUNT,
                       .reason = REASON_CONTEXT_SHARED,
                       .read_only = true,
                       .relabeled_here = true,
                       .fs_group = (gid_t) -2,
                       .disk_gid = 1000,
                       .since_usec = 17,
                       .owner = (uid_t) -2,
                       .mount_id = UINT64_MAX };
        g_assert_cmpint(volume_add_holder(v, h), ==, 0);
        return v;
}

void on_skipped(void *userdata, const char *volume, const char *target) {
        GString *text = userdata;

        g_string_append_printf(text, "%s@%s ", volume, target);
}

void load(Fixture *f, Volumes *all) {
        g_autoptr(GString) skipped = g_string_new(NULL);

        g_assert_cmpint(store_load(f->store, all, on_skipped, skipped), ==, 0);
        g_assert_cmpstr(skipped->str, ==, "");
}

void put(Fixture *f, const Volume *v) {
        const Holder *h;

        store_put_volume(f->store, v);
        LL_FOREACH (v->holders, h)
                store_put_holder(f->store, v, h);
}

void put_sample(Fixture *f) {
        _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");

        put(f, v);
        g_assert_true(store_is_dirty(f->store));
        g_assert_cmpint(store_commit(f->store), ==, 0);
}

void execute(Fixture *f, const char *sql) {
        sqlite3 *db;
        char *message = NULL;

        f->store = store_close(f->store);
        g_assert_cmpint(sqlite3_open(f->path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, &message), ==, SQLITE_OK);
        (void) sqlite3_close(db);
}

/* --- files of earlier versions --- */

/* The invented schema has two versions after selvol's: each adds a column, and changes values. */
static const char *const later_steps[] = {
        "ALTER TABLE volume ADD COLUMN second TEXT NOT NULL DEFAULT 'new';"
        "UPDATE volume SET second=driver;",
        "ALTER TABLE volume ADD COLUMN third INTEGER NOT NULL DEFAULT 0;"
        "UPDATE volume SET driver=second||'-3';"
        "ALTER TABLE holder ADD COLUMN third INTEGER NOT NULL DEFAULT 0;",
};

void make_version(Fixture *f, int version, const char *more) {
        g_autofree char *sql =
                g_strdup_printf("%s;PRAGMA user_version=%i;%s", version > 1 ? later_steps[0] : "", version, more);

        put_sample(f);
        execute(f, sql);
        f->tables = g_strconcat(store_schema.tables, later_steps[0], later_steps[1], NULL);
        f->schema = (Schema){ .tables = f->tables, .steps = later_steps, .n_steps = G_N_ELEMENTS(later_steps) };
}

static void on_committed(void *userdata, int error) {
        *(int *) userdata = error;
}

int write_anew(Fixture *f, const Volumes *all) {
        int r = 0;

        store_hand_over_anew(f->store, all, "boot", on_committed, &r);
        store_wait(f->store);
        return r;
}

void mount_small(Fixture *f) {
        f->store = store_close(f->store);
        disk_mount(f->directory, 0);
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
}
