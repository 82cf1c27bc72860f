/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mount/mount-table.h"
#include "support/files.h"
#include "support/table.h"

static int read_text(const char *text, MountTable **ret) {
        g_autofree char *path = file_make(text);
        int r = mount_table_read(path, ret);

        unlink(path);
        return r;
}

static int read_one(const char *text, uint64_t id, MountTable **ret) {
        g_autofree char *path = file_make(text);
        int r = mount_table_read_mount(path, id, ret);

        unlink(path);
        return r;
}

static MountTable *must_read(const char *text) {
        MountTable *table = NULL;

        g_assert_cmpint(read_text(text, &table), ==, 0);
        return table;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(MountTable, mount_table_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountFact, mount_fact_done)

static void add_flag(GString *text, bool is, const char *word) {
        if (is)
                g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "", word);
}

/* A line of a table stands between two others. */
static char *surround(const char *line) {
        return g_strdup_printf("49 1 8:9 / /before rw shared:1 - ext4 /dev/x rw\n%s\n"
                               "51 1 8:9 / /after rw shared:1 - ext4 /dev/x rw\n",
                               line);
}

TEST_TABLE(test_row, "/mount-table", "mountinfo.table", "id line =target =source =type =device =context =flags") {
        g_autofree char *text = surround(row_need(row, "line"));
        g_autoptr(MountTable) table = must_read(text), single = NULL;
        g_autoptr(GString) flags = g_string_new(NULL);
        g_auto(MountFact) m = { 0 }, same = { 0 };
        int slave = mount_table_is_slave(table, 50);

        g_assert_cmpint(slave, >=, 0);
        g_assert_cmpint(mount_table_find_id(table, 50, &m), ==, 0);
        g_assert_cmpstr(m.target, ==, row_need(row, "=target"));
        g_assert_cmpstr(m.source, ==, row_need(row, "=source"));
        g_assert_cmpstr(m.fs_type, ==, row_need(row, "=type"));
        g_assert_cmpstr(m.device, ==, row_need(row, "=device"));
        g_assert_cmpstr(m.context, ==, row_need(row, "=context"));
        g_assert_cmpint(m.mount_id, ==, 50);
        add_flag(flags, m.seclabel, "seclabel");
        add_flag(flags, m.read_only, "read-only");
        add_flag(flags, m.superblock_read_only, "superblock-read-only");
        add_flag(flags, slave, "slave");
        g_assert_cmpstr(flags->str, ==, row_need(row, "=flags"));

        g_assert_cmpint(read_one(text, 50, &single), ==, 0);
        g_assert_cmpint(mount_table_find_id(single, 50, &same), ==, 0);
        g_assert_cmpstr(same.target, ==, m.target);
        g_assert_cmpstr(same.context, ==, m.context);
        g_assert_cmpint(mount_table_find_id(single, 49, &same), ==, -ENOENT);
}

TEST(test_absent, "/mount-table/absent") {
        g_autoptr(MountTable) table = must_read("50 1 8:2 / /a/b rw - ext4 /dev/sdb rw\n");
        g_auto(MountFact) m = { 0 };

        g_assert_cmpint(mount_table_find_id(table, 5, &m), ==, -ENOENT);
        g_assert_cmpint(mount_table_is_slave(table, 51), ==, -ENOENT);
}

TEST(test_beneath, "/mount-table/beneath") {
        g_autoptr(MountTable) table = must_read("50 1 8:2 / /a rw - ext4 /dev/sdb rw\n"
                                                "51 1 8:3 / /a/one rw - ext4 /dev/sdc rw\n"
                                                "52 1 8:4 / /ab/two rw - ext4 /dev/sdd rw\n"
                                                "53 1 8:5 / /c/d/three rw - ext4 /dev/sde rw\n");
        char *const roots[] = { (char *) "/a", (char *) "/c", NULL };
        MountFact *facts;
        size_t n;

        g_assert_cmpint(mount_table_find_beneath(table, roots, NULL, &facts, &n), ==, 0);
        g_assert_cmpint(n, ==, 2);
        g_assert_cmpstr(facts[0].target, ==, "/a/one");
        g_assert_cmpstr(facts[1].target, ==, "/c/d/three");
        mount_facts_free(facts, n);
}

/* Paths alone do not tell: a mount that another mount covers is not inside of that. */
TEST(test_inside, "/mount-table/inside") {
        static const char text[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                   "20 1 8:2 / /v rw - ext4 /dev/sdb rw\n"
                                   "26 25 0:44 / /v/a/b rw - tmpfs e rw\n"
                                   "21 20 0:40 / /v/in\\012side rw - tmpfs a rw\n"
                                   "22 1 0:41 / /v2 rw - tmpfs b rw\n"
                                   "23 20 8:1 /etc /v/bind rw - ext4 /dev/sda1 rw\n"
                                   "24 1 8:2 /sub /w rw - ext4 /dev/sdb rw\n"
                                   "25 20 0:43 / /v/a rw - tmpfs d rw\n"
                                   "27 1 0:45 / /v/hidden rw - tmpfs f rw\n";
        g_autoptr(MountTable) table = must_read(text);
        _cleanup_strv_ char **inside = NULL, **none = NULL;
        _cleanup_free_ char *whole = NULL, *part = NULL;

        g_assert_cmpint(mount_table_find_inside(table, 20, &inside), ==, 0);
        g_assert_cmpint(strv_length(inside), ==, 4);
        g_assert_cmpstr(inside[0], ==, "a/b");
        g_assert_cmpstr(inside[1], ==, "in\nside");
        g_assert_cmpstr(inside[2], ==, "bind");
        g_assert_cmpstr(inside[3], ==, "a");
        g_assert_cmpint(mount_table_find_inside(table, 22, &none), ==, 0);
        g_assert_cmpint(strv_length(none), ==, 0);
        g_assert_cmpint(mount_table_find_inside(table, 99, &none), ==, -ENOENT);

        g_assert_cmpint(mount_table_find_root(table, 20, &whole), ==, 0);
        g_assert_cmpstr(whole, ==, "/");
        g_assert_cmpint(mount_table_find_root(table, 24, &part), ==, 0);
        g_assert_cmpstr(part, ==, "/sub");
        g_assert_cmpint(mount_table_find_root(table, 99, &part), ==, -ENOENT);
}

TEST(test_devices, "/mount-table/devices") {
        g_autoptr(MountTable) table = must_read("50 1 8:2 / /a rw - ext4 /dev/sdb rw\n"
                                                "51 1 8:3 / /b rw - ext4 /dev/sdc rw\n"
                                                "52 1 8:2 /sub /c rw - ext4 /dev/sdb rw\n"
                                                "53 1 8:20 / /d rw - ext4 /dev/sde rw\n"
                                                "54 1 8:2 / /e rw - ext4 /dev/sdb rw\n");
        const dev_t one[] = { makedev(8, 2) }, two[] = { makedev(8, 20), makedev(8, 3) },
                    none[] = { makedev(8, 200) };
        MountFact *facts;
        size_t n;

        g_assert_cmpint(mount_table_find_devices(table, one, 1, &facts, &n), ==, 0);
        g_assert_cmpint(n, ==, 3);
        g_assert_cmpint(facts[0].mount_id, ==, 50);
        g_assert_cmpint(facts[1].mount_id, ==, 52);
        g_assert_cmpint(facts[2].mount_id, ==, 54);
        mount_facts_free(facts, n);
        g_assert_cmpint(mount_table_find_devices(table, two, 2, &facts, &n), ==, 0);
        g_assert_cmpint(n, ==, 2);
        mount_facts_free(facts, n);
        g_assert_cmpint(mount_table_find_devices(table, none, 1, &facts, &n), ==, 0);
        g_assert_cmpint(n, ==, 0);
        mount_facts_free(facts, n);
}

/* The options of an overlay may be longer than a page, and a table of many mounts longer than a buffer. */
TEST(test_long, "/mount-table/long") {
        g_autofree char *lower = g_strnfill(6000, 'x');
        g_autoptr(GString) text = g_string_new(NULL);
        g_auto(MountFact) m = { 0 };

        for (unsigned i = 0; i < 1000; i++)
                g_string_append_printf(text, "%u 1 0:%u / /m/%u rw shared:%u - tmpfs tmpfs rw\n", i + 100, i, i, i);
        g_string_append_printf(text, "50 1 0:9 / /a rw - overlay overlay rw,lowerdir=/%s,context=a_u:b_r:c_t\n",
                               lower);
        g_autoptr(MountTable) table = must_read(text->str), single = NULL, none = NULL;
        g_assert_cmpint(mount_table_find_id(table, 50, &m), ==, 0);
        g_assert_cmpint(read_one(text->str, 50, &single), ==, 0);
        g_assert_cmpint(read_one(text->str, 5, &none), ==, -ENOENT);
        g_assert_cmpstr(m.context, ==, "a_u:b_r:c_t");
}

TEST_WORDS(test_malformed, "/mount-table/malformed", word, "50 1 8:2 / /a rw shared:1", "50 1 8:2 / /a rw shared:1 -",
           "50 1 8:2 / /a rw shared:1 ext4 /dev/sdb rw", "x 1 8:2 / /a rw - ext4 /dev/sdb rw",
           "50 1 8 / /a rw - ext4 /dev/sdb rw", "50") {
        g_autofree char *text = surround(word);
        MountTable *table = NULL;

        g_assert_cmpint(read_text(text, &table), <, 0);
        g_assert_cmpint(read_one(text, 50, &table), <, 0);
        g_assert_null(table);
}

/* A table that ends within a line is refused. A reader can't see that a table lacks whole lines. */
TEST(test_cut, "/mount-table/cut") {
        static const char text[] = "50 1 8:2 / /a rw - ext4 /dev/sdb rw\n"
                                   "51 1 8:3 / /b rw - ext4 /dev/sdc rw,context=a_u:b_r:c_t\n";

        for (size_t n = 0; n < strlen(text); n++) {
                g_autofree char *part = g_strndup(text, n);
                g_autoptr(MountTable) table = NULL;
                bool whole = n > 0 && text[n - 1] == '\n';

                g_assert_cmpint(read_text(part, &table), ==, whole ? 0 : -EBADMSG);
        }
}

TEST(test_unreadable, "/mount-table/unreadable") {
        MountTable *table = NULL;

        g_assert_cmpint(mount_table_read("/nonexistent/mountinfo", &table), ==, -ENOENT);
        g_assert_cmpint(mount_table_read("/", &table), <, 0);
}

/* With defcontext= and rootcontext= a mount shows labels that are not on disk. */
TEST(test_overrides_labels, "/mount-table/overrides-labels") {
        g_autoptr(MountTable) table = must_read(
                "50 1 8:2 / /a rw - ext4 /dev/sdb rw,seclabel\n"
                "51 1 8:3 / /b rw - ext4 /dev/sdc rw,seclabel,defcontext=a_u:b_r:c_t\n"
                "52 1 8:4 / /c rw - ext4 /dev/sdd rw,rootcontext=\"a_u:b_r:c_t:s0:c1,c2\",seclabel\n"
                "53 1 8:5 / /d rw - ext4 /dev/sde rw,context=\"a_u:b_r:c_t:s0:c1,c2\"\n"
                "54 1 8:6 / /defcontext=/rootcontext= rw - ext4 defcontext=a rw,fscontext=\"x,rootcontext=y\"\n");

        g_assert_cmpint(mount_table_overrides_labels(table, 50), ==, 0);
        g_assert_cmpint(mount_table_overrides_labels(table, 51), ==, 1);
        g_assert_cmpint(mount_table_overrides_labels(table, 52), ==, 1);
        g_assert_cmpint(mount_table_overrides_labels(table, 53), ==, 0);
        g_assert_cmpint(mount_table_overrides_labels(table, 54), ==, 0);
        g_assert_cmpint(mount_table_overrides_labels(table, 55), ==, -ENOENT);
}

TEST(test_device_parse, "/mount-table/device-parse") {
        static const char *const wrong[] = { "", ":", "8", "8:", ":1", "8:1:1", "-1:1", "a:b", "8:99999999999" };
        dev_t device;

        g_assert_cmpint(device_parse("259:1048575", &device), ==, 0);
        g_assert_cmpint(major(device), ==, 259);
        g_assert_cmpint(minor(device), ==, 1048575);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_cmpint(device_parse(wrong[i], &device), ==, -EINVAL);
}

/* The options with which another mount would have the same effect. */
TEST(test_options, "/mount-table/options") {
        static const struct {
                const char *line, *options;
        } rows[] = {
                { "50 1 8:2 / /a rw,nosuid,nodev,relatime - ext4 /dev/sdb rw,seclabel", "" },
                { "50 1 8:2 / /a ro,noatime,nodiratime - xfs /dev/sdb ro,seclabel,nouuid,logbufs=8",
                  "ro noatime nodiratime nouuid logbufs=8" },
                { "50 1 8:2 / /a rw,noexec - ext4 /dev/sdb rw,context=\"a_u:b_r:c_t:s0:c1,c2\",discard",
                  "noexec discard strictatime" },
                { "50 1 8:2 / /a rw,relatime,idmapped - ext4 /dev/sdb rw,rootcontext=\"x,y\",sync",
                  "rootcontext=\"x,y\" sync" },
                { "50 1 8:2 /s /a rw,relatime - btrfs /dev/sdb rw,subvolid=256,subvol=/a\\040\033",
                  "subvolid=256 subvol=/a\\x5c040\\x1b" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *line = g_strdup_printf("%s\n", rows[i].line), *joined = NULL;
                g_autoptr(MountTable) table = must_read(line);
                _cleanup_strv_ char **options = NULL;

                g_assert_cmpint(mount_table_find_options(table, 50, &options), ==, 0);
                joined = strv_join(options, " ");
                g_assert_cmpstr(joined, ==, rows[i].options);
                g_assert_cmpint(mount_table_find_options(table, 51, &options), ==, -ENOENT);
        }
}
