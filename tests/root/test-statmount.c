/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* statmount(2) and the mount table say the same of a mount. */

#include "mount/mount-table.h"
#include "mount/target.h"
#include "support.h"

static void assert_same(const MountTable *own, const MountTable *table, uint64_t id) {
        _cleanup_(mount_fact_done) MountFact a = { 0 }, b = { 0 };

        g_assert_cmpint(mount_table_find_id(own, id, &a), ==, 0);
        g_assert_cmpint(mount_table_find_id(table, id, &b), ==, 0);
        g_assert_cmpstr(a.target, ==, b.target);
        g_assert_cmpstr(a.source, ==, b.source);
        g_assert_cmpstr(a.fs_type, ==, b.fs_type);
        g_assert_cmpstr(a.device, ==, b.device);
        g_assert_cmpstr(a.root, ==, b.root);
        g_assert_cmpstr(a.context, ==, b.context);
        g_assert_cmpint(a.seclabel, ==, b.seclabel);
        g_assert_cmpint(a.read_only, ==, b.read_only);
        g_assert_cmpint(a.superblock_read_only, ==, b.superblock_read_only);
        g_assert_cmpint(mount_table_is_slave(own, id), ==, mount_table_is_slave(table, id));
        g_assert_cmpint(mount_table_is_idmapped(own, id), ==, mount_table_is_idmapped(table, id));
        g_assert_cmpint(mount_table_overrides_labels(own, id), ==, mount_table_overrides_labels(table, id));
}

static void check(const char *path) {
        _cleanup_(mount_table_freep) MountTable *own = NULL, *table = NULL;
        _cleanup_close_ int fd = open_path(path, O_PATH);
        uint64_t id, unique_id;

        g_assert_cmpint(mount_identify_unique(fd, &id, &unique_id), ==, 0);
        g_assert_cmpint(mount_table_read_own(fd, true, &own), ==, 0);
        g_assert_cmpint(mount_table_read_mount(NULL, id, &table), ==, 0);
        assert_same(own, table, id);
}

TEST(check_all, "/statmount/same") {
        g_autofree char *plain = make_target("plain"), *odd = make_target("od d\\\t#"), *bound = make_target("bound"),
                        *slave = make_target("slave"), *sub = path_printf("%s/su b", plain);

        must(mount("sou rce", plain, "tmpfs", MS_NOSUID, "size=1m"));
        must(mkdir(sub, 0755));
        must(mount("none", odd, "tmpfs", MS_RDONLY, NULL));
        must(mount(sub, bound, NULL, MS_BIND, NULL));
        must(mount(NULL, bound, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        must(mount("none", slave, "tmpfs", 0, NULL));
        must(mount(NULL, slave, NULL, MS_SHARED, NULL));
        must(mount(NULL, slave, NULL, MS_SLAVE, NULL));

        const char *const paths[] = { plain, odd, bound, slave, "/", "/proc", sub };
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
                check(paths[i]);

        must(umount2(slave, 0));
        must(umount2(bound, 0));
        must(umount2(odd, 0));
        must(umount2(plain, 0));
}

/* A line of statmount(2) without the source says "none". */
static void check_used(const char *path, bool used) {
        _cleanup_(mount_table_freep) MountTable *own = NULL;
        _cleanup_close_ int fd = open_path(path, O_PATH);

        g_assert_cmpint(mount_table_read_own(fd, false, &own), ==, 0);
        g_assert_cmpstr(own->mounts[0].target, ==, path);
        g_assert_cmpstr(own->mounts[0].source, ==, used ? "none" : "source");
}

/* The kernel is asked if it is new enough. It does not take another mount for one that has gone. */
TEST(test_used, "/statmount/used") {
        g_autofree char *target = make_target("used");
        _cleanup_close_ int fd = -EBADF;
        uint64_t id, unique_id;

        must(mount("source", target, "tmpfs", 0, NULL));
        fd = open_path(target, O_PATH);
        g_assert_cmpint(mount_identify_unique(fd, &id, &unique_id), ==, 0);
        fd = fd_close(fd);
        check_used(target, unique_id != 0);
        if (unique_id == 0) {
                g_assert_cmpint(statmount_is_there(unique_id, id), ==, -EOPNOTSUPP);
                must(umount2(target, 0));
                return;
        }
        g_assert_cmpuint(unique_id, !=, id);
        g_assert_cmpint(statmount_is_there(unique_id, id), ==, 1);
        must(umount2(target, 0));
        g_assert_cmpint(statmount_is_there(unique_id, id), ==, 0);
}

TEST(test_disabled, "/statmount/disabled") {
        g_autofree char *target = make_target("disabled");

        statmount_disable();
        g_assert_cmpint(statmount_is_there(1, 1), ==, -EOPNOTSUPP);
        must(mount("source", target, "tmpfs", 0, NULL));
        check_used(target, false);
        must(umount2(target, 0));
        check_all();
}
