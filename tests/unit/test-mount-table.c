/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <glib.h>

#include "mount/mount-table.h"

/* The mount table as text. */

static char *write_text(const char *text) {
        char *path = NULL;
        int fd;

        fd = g_file_open_tmp("mountinfo-XXXXXX", &path, NULL);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t) strlen(text));
        close(fd);
        return path;
}

/* Reads text as a mount table; returns what mount_table_read() does. */
static int read_text(const char *text, MountTable **ret) {
        g_autofree char *path = write_text(text);
        int r;

        r = mount_table_read(path, ret);
        unlink(path);
        return r;
}

static int read_one(const char *text, uint64_t id, MountTable **ret) {
        g_autofree char *path = write_text(text);
        int r;

        r = mount_table_read_mount(path, id, ret);
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

typedef struct Row {
        const char *name;
        const char *line; /* of mount 50 */
        struct {
                const char *target, *source, *fs_type, *device, *context;
                bool seclabel, read_only;
        } fact;
        bool superblock_read_only;
        bool slave;
} Row;

/* Kubernetes' GetSELinux and GetSELinuxMountContext (pkg/volume/util/hostutil), and what they leave out. */
static const Row rows[] = {
        { "seclabel",
          "50 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,seclabel,data=ordered",
          { "/", "/dev/sda1", "ext4", "8:1", "", .seclabel = true } },
        { "tmpfs",
          "50 1 0:40 / /var/lib/bar rw shared:7 - tmpfs tmpfs rw",
          { "/var/lib/bar", "tmpfs", "tmpfs", "0:40", "" } },
        { "nfs",
          "50 1 0:41 / /media/nfs_vol rw shared:8 - nfs4 10.0.0.1:/export rw,vers=4.0,rsize=1048576",
          { "/media/nfs_vol", "10.0.0.1:/export", "nfs4", "0:41", "" } },
        { "context-quoted",
          "50 1 8:2 / /a rw shared:1 - ext4 /dev/sdb "
          "rw,context=\"system_u:object_r:container_file_t:s0:c314,c894\"",
          { "/a", "/dev/sdb", "ext4", "8:2", "system_u:object_r:container_file_t:s0:c314,c894" } },
        { "context-unquoted",
          "50 1 8:2 / /a rw - ext4 /dev/sdb rw,context=system_u:object_r:container_file_t:s0:c1",
          { "/a", "/dev/sdb", "ext4", "8:2", "system_u:object_r:container_file_t:s0:c1" } },
        { "context-in-the-middle",
          "50 1 8:2 / /a rw - xfs /dev/sdb "
          "rw,context=\"system_u:object_r:container_file_t:s0:c1,c2\",attr2,inode64,logbufs=8",
          { "/a", "/dev/sdb", "xfs", "8:2", "system_u:object_r:container_file_t:s0:c1,c2" } },
        { "context-of-three",
          "50 1 8:2 / /a rw - ext4 /dev/sdb rw,context=a_u:b_r:c_t",
          { "/a", "/dev/sdb", "ext4", "8:2", "a_u:b_r:c_t" } },
        { "context-not-canonical",
          "50 1 8:2 / /a rw - ext4 /dev/sdb rw,context=\"system_u:object_r:container_file_t:s0:c2,c1\"",
          { "/a", "/dev/sdb", "ext4", "8:2", "system_u:object_r:container_file_t:s0:c1,c2" } },
        { "context-and-fscontext",
          "50 1 8:2 / /a rw - ext4 /dev/sdb "
          "rw,fscontext=\"x_u:x_r:x_t:s0:c3,c4\",context=\"system_u:object_r:container_file_t:s0:c1,c2\"",
          { "/a", "/dev/sdb", "ext4", "8:2", "system_u:object_r:container_file_t:s0:c1,c2" } },
        { "rootcontext-only",
          "50 1 8:2 / /a rw - ext4 /dev/sdb rw,seclabel,rootcontext=a_u:b_r:c_t:s0",
          { "/a", "/dev/sdb", "ext4", "8:2", "", .seclabel = true } },
        /* Neither lost nor anybody's. */
        { "context-malformed",
          "50 1 8:2 / /a rw - ext4 /dev/sdb rw,context=garbage",
          { "/a", "/dev/sdb", "ext4", "8:2", "system_u:object_r:unlabeled_t" } },
        { "seclabel-inside-a-value",
          "50 1 0:42 / /a rw - overlay overlay rw,lowerdir=/seclabel:/b,upperdir=/seclabel",
          { "/a", "overlay", "overlay", "0:42", "" } },
        { "seclabel-escaped-in-a-value",
          "50 1 0:42 / /a rw - overlay overlay rw,lowerdir=/b\\054seclabel\\054context=a_u:b_r:c_t",
          { "/a", "overlay", "overlay", "0:42", "" } },
        { "no-source",
          "50 1 0:42 / /a rw - tmpfs  rw,seclabel",
          { "/a", "", "tmpfs", "0:42", "", .seclabel = true } },
        { "no-optional-field", "50 1 8:2 / /a rw - ext4 /dev/sdb rw", { "/a", "/dev/sdb", "ext4", "8:2", "" } },
        { "one-optional-field",
          "50 1 8:2 / /a rw shared:3 - ext4 /dev/sdb rw",
          { "/a", "/dev/sdb", "ext4", "8:2", "" } },
        { "two-optional-fields",
          "50 1 8:2 / /a rw shared:3 master:4 - ext4 /dev/sdb rw",
          { "/a", "/dev/sdb", "ext4", "8:2", "" },
          .slave = true },
        { "three-optional-fields",
          "50 1 8:2 / /a rw master:4 propagate_from:2 unbindable - ext4 /dev/sdb rw",
          { "/a", "/dev/sdb", "ext4", "8:2", "" },
          .slave = true },
        { "octal-escapes",
          "50 1 8:2 / /with\\040blank\\011tab\\134back\\012line rw - ext4 /dev/my\\040disk rw",
          { "/with blank\ttab\\back\nline", "/dev/my disk", "ext4", "8:2", "" } },
        { "bind", "50 1 8:2 /sub/dir /a rw shared:3 - ext4 /dev/sdb rw", { "/a", "/dev/sdb", "ext4", "8:2", "" } },
        { "read-only-mount",
          "50 1 8:2 / /a ro,nosuid - ext4 /dev/sdb rw",
          { "/a", "/dev/sdb", "ext4", "8:2", "", .read_only = true } },
        { "read-only-superblock",
          "50 1 8:2 / /a rw,nosuid - ext4 /dev/sdb ro",
          { "/a", "/dev/sdb", "ext4", "8:2", "", .read_only = true },
          .superblock_read_only = true },
        { "errors-ro-is-not-ro",
          "50 1 8:2 / /a rw - ext4 /dev/sdb rw,errors=remount-ro",
          { "/a", "/dev/sdb", "ext4", "8:2", "" } },
        { "large-device-number",
          "50 1 259:1048575 / /a rw - ext4 /dev/nvme0n1 rw",
          { "/a", "/dev/nvme0n1", "ext4", "259:1048575", "" } },
        { "source-none", "50 1 0:5 / /a rw - proc none rw", { "/a", "none", "proc", "0:5", "" } },
        { "idmapped", "50 1 8:2 / /a rw,idmapped - ext4 /dev/sdb rw", { "/a", "/dev/sdb", "ext4", "8:2", "" } },
};

static void test_row(gconstpointer data) {
        const Row *row = data;
        g_autofree char *text = g_strdup_printf("49 1 8:9 / /before rw shared:1 - ext4 /dev/x rw\n%s\n"
                                                "51 1 8:9 / /after rw shared:1 - ext4 /dev/x rw\n",
                                                row->line);
        g_autoptr(MountTable) table = must_read(text);
        g_auto(MountFact) m = { 0 };

        g_assert_cmpint(mount_table_find_id(table, 50, &m), ==, 0);
        g_assert_cmpstr(m.target, ==, row->fact.target);
        g_assert_cmpstr(m.source, ==, row->fact.source);
        g_assert_cmpstr(m.fs_type, ==, row->fact.fs_type);
        g_assert_cmpstr(m.device, ==, row->fact.device);
        g_assert_cmpstr(m.context, ==, row->fact.context);
        g_assert_cmpint(m.seclabel, ==, row->fact.seclabel);
        g_assert_cmpint(m.read_only, ==, row->fact.read_only);
        g_assert_cmpint(m.mount_id, ==, 50);
        g_assert_cmpint(m.superblock_read_only, ==, row->superblock_read_only);
        g_assert_cmpint(mount_table_is_slave(table, 50), ==, row->slave);

        g_autoptr(MountTable) single = NULL;
        g_auto(MountFact) same = { 0 };
        g_assert_cmpint(read_one(text, 50, &single), ==, 0);
        g_assert_cmpint(mount_table_find_id(single, 50, &same), ==, 0);
        g_assert_cmpstr(same.target, ==, m.target);
        g_assert_cmpstr(same.context, ==, m.context);
        g_assert_cmpint(mount_table_find_id(single, 49, &same), ==, -ENOENT);
}

static void test_absent(void) {
        g_autoptr(MountTable) table = must_read("50 1 8:2 / /a/b rw - ext4 /dev/sdb rw\n");
        g_auto(MountFact) m = { 0 };

        g_assert_cmpint(mount_table_find_id(table, 5, &m), ==, -ENOENT);
        g_assert_cmpint(mount_table_is_slave(table, 51), ==, -ENOENT);
}

static void test_beneath(void) {
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

/* By what is mounted on what, not by the spelling alone: what a mount covers is not inside it. */
static void test_inside(void) {
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

static void test_devices(void) {
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

/* An overlay's lowerdir= may be longer than a page, and many mounts than a buffer. */
static void test_long(void) {
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

static void test_malformed(gconstpointer data) {
        g_autofree char *text = g_strdup_printf("49 1 8:9 / /before rw shared:1 - ext4 /dev/x rw\n%s\n"
                                                "51 1 8:9 / /after rw shared:1 - ext4 /dev/x rw\n",
                                                (const char *) data);
        MountTable *table = NULL;

        g_assert_cmpint(read_text(text, &table), <, 0);
        g_assert_cmpint(read_one(text, 50, &table), <, 0);
        g_assert_null(table);
}

/* A table that was cut anywhere is none, but for one cut at the end of a line: a line can't tell of the next one. */
static void test_cut(void) {
        static const char text[] = "50 1 8:2 / /a rw - ext4 /dev/sdb rw\n"
                                   "51 1 8:3 / /b rw - ext4 /dev/sdc rw,context=a_u:b_r:c_t\n";

        for (size_t n = 0; n < strlen(text); n++) {
                g_autofree char *part = g_strndup(text, n);
                g_autoptr(MountTable) table = NULL;
                bool whole = n > 0 && text[n - 1] == '\n';

                g_assert_cmpint(read_text(part, &table), ==, whole ? 0 : -EBADMSG);
        }
}

static void test_unreadable(void) {
        MountTable *table = NULL;

        g_assert_cmpint(mount_table_read("/nonexistent/mountinfo", &table), ==, -ENOENT);
        g_assert_cmpint(mount_table_read("/", &table), <, 0);
}

/* With which labels are seen that are not on disk. */
static void test_overrides_labels(void) {
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

static void test_device_parse(void) {
        static const char *const wrong[] = { "", ":", "8", "8:", ":1", "8:1:1", "-1:1", "a:b", "8:99999999999" };
        dev_t device;

        g_assert_cmpint(device_parse("259:1048575", &device), ==, 0);
        g_assert_cmpint(major(device), ==, 259);
        g_assert_cmpint(minor(device), ==, 1048575);
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_cmpint(device_parse(wrong[i], &device), ==, -EINVAL);
}

int main(int argc, char **argv) {
        static const char *const malformed[] = {
                "50 1 8:2 / /a rw shared:1",
                "50 1 8:2 / /a rw shared:1 -",
                "50 1 8:2 / /a rw shared:1 ext4 /dev/sdb rw",
                "x 1 8:2 / /a rw - ext4 /dev/sdb rw",
                "50 1 8 / /a rw - ext4 /dev/sdb rw",
                "50",
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *path = g_strdup_printf("/mount-table/%s", rows[i].name);
                g_test_add_data_func(path, &rows[i], test_row);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(malformed); i++) {
                g_autofree char *path = g_strdup_printf("/mount-table/malformed/%zu", i);
                g_test_add_data_func(path, malformed[i], test_malformed);
        }
        g_test_add_func("/mount-table/absent", test_absent);
        g_test_add_func("/mount-table/beneath", test_beneath);
        g_test_add_func("/mount-table/cut", test_cut);
        g_test_add_func("/mount-table/inside", test_inside);
        g_test_add_func("/mount-table/devices", test_devices);
        g_test_add_func("/mount-table/long", test_long);
        g_test_add_func("/mount-table/unreadable", test_unreadable);
        g_test_add_func("/mount-table/overrides-labels", test_overrides_labels);
        g_test_add_func("/mount-table/device-parse", test_device_parse);
        return g_test_run();
}
