/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib/gstdio.h>
#include <utlist.h>

#include "../unit/store-fixture.h"
#include "write-log.h"

/* The power is cut after each write of the store, and the store opens the rest of its directory. It has to
 * find all transactions that were committed, and the one under way as a whole or not at all. It must not set
 * a file aside. */

enum { BIG = 100 * 1000, FILLS_LOG = 50 /* so many big changes fill the log: SQLite merges a log of 4 MB */ };

typedef struct Run {
        Fixture *fixture;
        Volumes all;         /* the volumes that the store has, or is to have */
        GPtrArray *expected; /* the description after each transaction; [0] is the one before the first */
} Run;

static char *describe(const Volumes *all) {
        GString *text = g_string_new(NULL);
        const Volume *v, *tmp;
        const Holder *h;

        HASH_ITER (hh, all->table, v, tmp) {
                g_string_append_printf(text, "%s/%s:", v->id, v->driver);
                LL_FOREACH (v->holders, h)
                        g_string_append_printf(text, "%s@%s,", h->name, h->target);
        }
        return g_string_free(text, FALSE);
}

static int by_id(const Volume *a, const Volume *b) {
        return strcmp(a->id, b->id);
}

/* Transactions have numbers from 1 on. The note of a moment is twice the number of the last transaction that
 * was committed, and 1 more if another one is under way. */
static void begin(Run *r) {
        HASH_SORT(r->all.table, by_id);
        g_ptr_array_add(r->expected, describe(&r->all));
        write_log_note(2 * (r->expected->len - 2) + 1);
}

static void end(const Run *r, int result) {
        g_assert_cmpint(result, ==, 0);
        write_log_note(2 * (r->expected->len - 1));
}

static void commit(Run *r) {
        begin(r);
        end(r, store_commit(r->fixture->store));
}

/* The run begins with the volumes that the store has now. */
static void forget_transactions(Run *r) {
        HASH_SORT(r->all.table, by_id);
        g_ptr_array_set_size(r->expected, 0);
        g_ptr_array_add(r->expected, describe(&r->all));
}

static void start(Run *r, Fixture *f) {
        *r = (Run){ .fixture = f, .expected = g_ptr_array_new_with_free_func(g_free) };
        load(f, &r->all);
        forget_transactions(r);
}

static void add(Run *r, unsigned number) {
        g_autofree char *id = g_strdup_printf("v%03u", number), *target = g_strdup_printf("/t/%u", number);
        Volume *v = sample(id, target);

        g_assert_cmpint(volumes_add(&r->all, v), ==, 0);
        put(r->fixture, v);
}

static void drop(Run *r, const char *id) {
        store_delete_volume(r->fixture->store, id);
        volumes_remove(&r->all, volumes_find(&r->all, id));
}

static void change(Run *r, const char *id, size_t size) {
        g_autofree char *text = g_strnfill(size, (char) ('a' + r->expected->len % 26));
        Volume *v = volumes_find(&r->all, id);

        g_assert_cmpint(free_and_strdup(&v->driver, text), ==, 0);
        put(r->fixture, v);
}

/* ---- cuts ---- */

static void empty(const char *directory) {
        g_autoptr(GDir) d = g_dir_open(directory, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(d))) {
                g_autofree char *path = g_build_filename(directory, name, NULL);

                g_assert_cmpint(g_unlink(path), ==, 0);
        }
}

static void check_after(const Run *r, guint note, Fixture *after) {
        const char *committed = r->expected->pdata[note / 2],
                   *next = note % 2 ? r->expected->pdata[note / 2 + 1] : committed;
        _cleanup_(volumes_done) Volumes all = { 0 };
        g_autofree char *found = NULL;

        g_assert_cmpint(store_open(after->path, &after->schema, &after->store), ==, 0);
        g_assert_cmpint(store_get_error(after->store), ==, 0);
        load(after, &all);
        HASH_SORT(all.table, by_id);
        found = describe(&all);
        if (!g_str_equal(found, next))
                g_assert_cmpstr(found, ==, committed);
        after->store = store_close(after->store);
}

/* Each test ends with this. */
static void check_all_cuts(Run *r) {
        g_autofree char *directory = g_dir_make_tmp("selvol-cut-XXXXXX", NULL),
                        *path = g_build_filename(directory, "state.db", NULL);
        Fixture after = { .directory = directory, .path = path, .schema = r->fixture->schema };
        unsigned n_cuts[CUTS] = { 0 };
        guint note;

        write_log_stop();
        while (write_log_step(&note))
                for (Cut cut = 0; cut < CUTS; cut++) {
                        if (write_log_cut(cut, directory)) {
                                check_after(r, note, &after);
                                n_cuts[cut]++;
                        }
                        empty(directory);
                }
        g_assert_cmpint(g_rmdir(directory), ==, 0);
        g_test_message("%u moments of %u transactions, %u halves of writes", n_cuts[CUT_NOTHING],
                       r->expected->len - 1, n_cuts[CUT_HALF]);
        volumes_done(&r->all);
        g_ptr_array_unref(r->expected);
}

/* ---- tests ---- */

static void test_commit(Fixture *f, gconstpointer data) {
        Run r;

        start(&r, f);
        write_log_start(f->directory);
        for (unsigned i = 0; i < 8; i++) {
                add(&r, i);
                commit(&r);
        }
        drop(&r, "v003");
        commit(&r);
        check_all_cuts(&r);
}

/* The power is cut while the store makes its file. */
static void test_first(Fixture *f, gconstpointer data) {
        Run r;

        f->store = store_close(f->store);
        empty(f->directory);
        write_log_start(f->directory);
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
        start(&r, f);
        add(&r, 0);
        commit(&r);
        check_all_cuts(&r);
}

/* The file has four volumes, and its log a change. */
static void prepare(Run *r, Fixture *f) {
        start(r, f);
        for (unsigned i = 0; i < 4; i++)
                add(r, i);
        g_assert_cmpint(store_commit(f->store), ==, 0);
        reopen(f);
        change(r, "v002", 10);
        g_assert_cmpint(store_commit(f->store), ==, 0);
        forget_transactions(r);
}

/* The power is cut while SQLite merges the log into the file, and begins a new log. */
static void test_merge(Fixture *f, gconstpointer data) {
        Run r;

        prepare(&r, f);
        for (unsigned i = 0; i < FILLS_LOG - 3; i++) {
                change(&r, "v000", BIG);
                g_assert_cmpint(store_commit(f->store), ==, 0);
        }
        forget_transactions(&r);
        write_log_start(f->directory);
        for (unsigned i = 0; i < 10; i++) {
                change(&r, i % 2 == 0 ? "v000" : "v001", i % 2 == 0 ? BIG : 10);
                commit(&r);
        }
        check_all_cuts(&r);
}

/* The power is cut while the store replaces a file whose log has some of its pages. */
static void test_anew(Fixture *f, gconstpointer data) {
        g_autofree char *kept = NULL;
        Run r;

        prepare(&r, f);
        write_log_start(f->directory);
        if (data)
                g_assert_cmpint(store_set_aside(f->store, 17, &kept), ==, 0);
        drop(&r, "v001");
        begin(&r);
        end(&r, write_anew(f, &r.all));
        add(&r, 5);
        commit(&r);
        check_all_cuts(&r);
}

static void test_migrate(Fixture *f, gconstpointer data) {
        Run r;

        make_version(f, GPOINTER_TO_INT(data), "");
        write_log_start(f->directory);
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
        start(&r, f);
        add(&r, 0);
        commit(&r);
        check_all_cuts(&r);
}

int main(int argc, char *argv[]) {
        /* The test opens thousands of stores, which would take long on a disk that syncs. */
        if (access("/dev/shm", W_OK) == 0)
                (void) g_setenv("TMPDIR", "/dev/shm", TRUE);
        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/power/" name, Fixture, data, store_set_up, function, store_tear_down)
        ADD("commit", NULL, test_commit);
        ADD("first", NULL, test_first);
        ADD("merge", NULL, test_merge);
        ADD("anew", NULL, test_anew);
        ADD("set-aside", "", test_anew);
        for (int version = 1; version <= OLDER_VERSIONS; version++) {
                g_autofree char *name = g_strdup_printf("/power/migrate/%i", version);

                g_test_add(name, Fixture, GINT_TO_POINTER(version), store_set_up, test_migrate, store_tear_down);
        }
        return g_test_run();
}
