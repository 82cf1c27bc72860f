/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/settings.h"
#include "support.h"

/* Each drop-in is wrong in its last line; the message names file, line, section, key and value. */
typedef struct Wrong {
        const char *name, *dropin, *says;
} Wrong;

static const Wrong wrong[] = {
        { "unknown-key", "[Service];SELinuxRelabelPolcy=no", "[Service] has no key SELinuxRelabelPolcy=" },
        { "unknown-key-case", "[Service];selinuxmount=no", "[Service] has no key selinuxmount=" },
        { "unknown-key-worker", "[Worker];TargetRoot=/srv", "[Worker] has no key TargetRoot=" },
        { "key-of-other-section", "[Service];TargetRoots=/srv", "[Service] has no key TargetRoots=" },
        { "unknown-key-type", "[VolumeType nfs];Manage=always", "[VolumeType nfs] has no key Manage=" },
        { "unknown-key-driver", "[Driver d];Labels=yes", "[Driver d] has no key Labels=" },
        { "unknown-key-file-system", "[FileSystem ext4];Managed=always", "[FileSystem ext4] has no key Managed=" },
        { "unknown-section", "[Services];SELinuxMount=no", "no section [Services]" },
        { "unknown-section-kind", "[Volume nfs];Managed=always", "no section [Volume nfs]" },
        { "section-without-name", "[VolumeType];Managed=always", "no section [VolumeType]" },
        { "key-without-section", "SELinuxMount=no", "SELinuxMount" },
        { "bad-boolean", "[Service];SELinuxMount=maybe", "[Service] SELinuxMount=maybe is not valid" },
        { "bad-boolean-empty", "[Service];SELinuxRelabelPolicy=", "[Service] SELinuxRelabelPolicy= is not valid" },
        { "bad-policy", "[Service];DefaultRelabelPolicy=Never", "[Service] DefaultRelabelPolicy=Never is not valid" },
        { "bad-timeout", "[Service];JobTimeoutSec=soon", "JobTimeoutSec=soon" },
        { "bad-timeout-zero", "[Service];JobTimeoutSec=0", "JobTimeoutSec=0" },
        { "bad-timeout-long", "[Service];JobTimeoutSec=3601", "JobTimeoutSec=3601" },
        { "bad-timeout-unit", "[Service];JobTimeoutSec=20s", "JobTimeoutSec=20s" },
        { "bad-timeout-sign", "[Service];JobTimeoutSec=-1", "JobTimeoutSec=-1" },
        { "bad-timeout-huge", "[Service];JobTimeoutSec=18446744073709551616", "JobTimeoutSec=18446744073709551616" },
        { "bad-textfile", "[Service];MetricsTextfile=selvol.prom", "MetricsTextfile=selvol.prom" },
        { "bad-root", "[Worker];TargetRoots=/srv/../etc", "[Worker] TargetRoots=/srv/../etc is not valid" },
        { "bad-root-relative", "[Worker];TargetRoots=srv", "TargetRoots=srv" },
        { "bad-root-slash", "[Worker];TargetRoots=/", "TargetRoots=/ is" },
        { "bad-root-second", "[Worker];TargetRoots=/srv /", "TargetRoots=/srv / is" },
        { "bad-root-trailing", "[Worker];SourceRoots=/dev/", "SourceRoots=/dev/ is" },
        { "bad-device-label", "[Worker];SourceDevices=/dev/disk/by-label/data",
          "SourceDevices=/dev/disk/by-label/data is" },
        { "bad-device-uuid", "[Worker];SourceDevices=/dev/sda /dev/disk/by-uuid/*",
          "SourceDevices=/dev/sda /dev/disk/by-uuid/* is" },
        { "bad-device-directories", "[Worker];SourceDevices=/dev/disk/by-*/data",
          "SourceDevices=/dev/disk/by-*/data is" },
        { "bad-device-any-directory", "[Worker];SourceDevices=/dev/*/by-uuid/1",
          "SourceDevices=/dev/*/by-uuid/1 is" },
        { "bad-device-dots", "[Worker];SourceDevices=/dev/../etc/disk", "SourceDevices=/dev/../etc/disk is" },
        { "bad-device-elsewhere", "[Worker];SourceDevices=/srv/disk", "SourceDevices=/srv/disk is" },
        { "bad-device-relative", "[Worker];SourceDevices=sdb", "SourceDevices=sdb is" },
        { "bad-device-tag", "[Worker];SourceDevices=PARTUUID=1", "SourceDevices=PARTUUID=1 is" },
        { "bad-device-dev", "[Worker];SourceDevices=/dev", "SourceDevices=/dev is" },
        { "bad-partition", "[Worker];SourcesOnHostDisk=/dev/disk/by-label/a", "SourcesOnHostDisk=/dev/disk" },
        { "bad-type", "[Worker];LabelTypes=a:b", "[Worker] LabelTypes=a:b" },
        { "bad-io-class", "[Worker];IOSchedulingClass=realtime", "[Worker] IOSchedulingClass=realtime is not valid" },
        { "bad-managed", "[VolumeType nfs];Managed=sometimes", "[VolumeType nfs] Managed=sometimes" },
        { "bad-supported", "[VolumeType nfs];SELinuxMountSupported=2", "[VolumeType nfs] SELinuxMountSupported=2" },
        { "bad-supported-driver", "[Driver d];SELinuxMountSupported=y", "[Driver d] SELinuxMountSupported=y" },
        { "bad-fs-group", "[Driver d];FSGroupPolicy=Files", "[Driver d] FSGroupPolicy=Files" },
        { "bad-skip", "[Service];SkipFSGroupChange=sometimes", "[Service] SkipFSGroupChange=sometimes is not valid" },
        { "bad-change-policy", "[Service];DefaultFSGroupChangePolicy=Never",
          "[Service] DefaultFSGroupChangePolicy=Never is not valid" },
        { "bad-change-policy-case", "[Service];DefaultFSGroupChangePolicy=onrootmismatch",
          "[Service] DefaultFSGroupChangePolicy=onrootmismatch" },
        { "bad-group-options", "[FileSystem vfat];GroupOptions=umask=0002",
          "[FileSystem vfat] GroupOptions=umask=0002 is not valid" },
        { "bad-group-options-value", "[FileSystem vfat];GroupOptions=gid=5 umask=0002",
          "[FileSystem vfat] GroupOptions=gid=5 umask=0002" },
        { "bad-group-options-bare", "[FileSystem x];GroupOptions=gid", "[FileSystem x] GroupOptions=gid is" },
        { "bad-source", "[FileSystem ext4];Source=tape", "[FileSystem ext4] Source=tape" },
        { "bad-labels", "[FileSystem ext4];Labels=ja", "[FileSystem ext4] Labels=ja" },
        { "bad-fs-name", "[FileSystem ../x];Labels=yes", "[FileSystem ../x] does not name a file system" },
        { "bad-fs-name-capital", "[FileSystem EXT4];Labels=yes", "[FileSystem EXT4]" },
};

/* TYPE and USAGE of libblkid, and the remedy; NULL: a file system. */
typedef struct Usage {
        const char *name, *type, *usage, *remedy;
} Usage;

static const Usage usages[] = {
        { "ext4", "ext4", "filesystem", NULL },
        { "unknown-file-system", "ReFS", "filesystem", NULL },
        { "luks", "crypto_LUKS", "crypto", "cryptsetup open" },
        { "bitlocker", "BitLocker", "crypto", "bitlk" },
        { "unknown-crypto", "cs_fvault2", "crypto", "Open it" },
        { "lvm", "LVM2_member", "raid", "vgchange -ay" },
        { "md", "linux_raid_member", "raid", "mdadm --assemble" },
        { "unknown-raid", "promise_fasttrack_raid_member", "raid", "Assemble it" },
        { "zfs", "zfs_member", "filesystem", "/dev/zvol" },
        { "swap", "swap", "other", "lsblk -f" },
        { "journal", "jbd", "other", "the journal of a file system" },
        { "unknown", "ceph_bluestore", "other", "lsblk -f" },
        { "no-usage", "ext4", "", NULL },
};

TEST_ROWS(test_usage, "/settings/usage", usages, u) {
        _cleanup_failure_ Failure f = { 0 };
        int r = fs_type_check_usage("/dev/sdb\n", u->type, u->usage, &f);

        if (u->remedy)
                assert_failure(r, &f, FAILURE_INVALID_VOLUME, u->remedy, u->type, "/dev/sdb\\x0a");
        else
                assert_success(r, &f);
}

TEST_ROWS(test_wrong, "/settings/wrong", wrong, w) {
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        g_autofree char *place = NULL;
        int line = 1, r;

        for (const char *p = w->dropin; (p = strchr(p, ';')); p++)
                line++;
        place = g_strdup_printf("/50-test.conf:%d: ", line);
        r = test_settings_load(w->dropin, &s, &f);
        assert_failure(r, &f, FAILURE_INVALID_OPTION, place, w->says);
        g_assert_null(s.target_roots);
        g_assert_null(s.volume_types);
}

/* The message about a line that can't be parsed names file and line. */
TEST(test_syntax, "/settings/syntax") {
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(test_settings_load("[Service];SELinuxMount=no;[Worker", &s, &f), &f, FAILURE_INVALID_OPTION,
                       "Configuration:", "50-test.conf:3");
        assert_failure(test_settings_load("[Service];SELinuxMount", &s, &f), &f, FAILURE_INVALID_OPTION,
                       "Configuration:");
}

TEST(test_shipped, "/settings/shipped") {
        Settings s = test_settings(NULL);

        g_assert_true(s.gate_relabel_policy);
        g_assert_true(s.gate_mount);
        g_assert_cmpint(s.default_policy, ==, RELABEL_ALWAYS);
        g_assert_cmpuint(s.job_timeout_usec, ==, 20 * G_USEC_PER_SEC);
        g_assert_cmpstr(s.metrics_textfile, ==, "/run/selvold/selvol.prom");
        g_assert_cmpuint(strv_length(s.target_roots), ==, 3);
        g_assert_true(strv_contains(s.target_roots, "/var/lib/kubelet/pods"));
        g_assert_false(s.images_of_others);
        g_assert_true(strv_contains(s.source_roots, "/dev"));
        g_assert_true(strv_contains(s.label_types, "container_file_t"));
        g_assert_false(strv_contains(s.label_types, "etc_t"));
        g_assert_cmpint(s.io_class, ==, IO_CLASS_BEST_EFFORT);
        g_assert_true(settings_file_system(&s, "ext4")->labels);
        g_assert_cmpint(settings_file_system(&s, "ext4")->source, ==, SOURCE_BLOCK);
        g_assert_false(settings_file_system(&s, "vfat")->labels);
        g_assert_false(settings_file_system(&s, "nfs")->labels);
        g_assert_cmpint(settings_file_system(&s, "nfs")->source, ==, SOURCE_NETWORK);
        g_assert_true(strv_contains(settings_file_system(&s, "nfs")->context_options, "nosharecache"));
        g_assert_cmpint(settings_file_system(&s, "tmpfs")->source, ==, SOURCE_NONE);
        g_assert_null(settings_file_system(&s, "ntfs"));
        g_assert_null(settings_file_system(&s, NULL));
        g_assert_cmpuint(s.n_drivers, ==, 0);
        g_assert_cmpint(settings_volume_type(&s, "csi")->fs_group_policy, ==, FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE);
        g_assert_cmpint(settings_volume_type(&s, "csi")->selinux_mount_supported, ==, -1);
        g_assert_cmpint(settings_volume_type(&s, "nfs")->managed, ==, MANAGED_NEVER);
        g_assert_true(s.gate_skip_fs_group);
        g_assert_cmpint(s.default_fs_group_change_policy, ==, FS_GROUP_CHANGE_ON_ROOT_MISMATCH);
}

/* Only a file system beneath these directories may be a volume. */
TEST(test_foreign_roots, "/settings/foreign-roots") {
        static const struct {
                const char *path;
                bool may;
        } rows[] = {
                { "/srv/v/a", true },      { "/srv/v", false },       { "/srv/vv", false }, { "/mnt/backup", true },
                { "/mnt/backup/a", true }, { "/mnt/backup2", false }, { "/mnt", false },    { "/", false },
                { "/dev", false },
        };
        Settings s = test_settings("[Worker];TargetRoots=/srv/v;ForeignRoots=/mnt/other /mnt/backup");

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                g_assert_cmpint(settings_may_have_volume(&s, rows[i].path), ==, rows[i].may);
}

TEST(test_devices, "/settings/devices") {
        Settings s = test_settings(
                "[Worker];SourceDevices=/dev/sdb /dev/vg/lv-[ab]?;SourcesOnHostDisk=/dev/disk/by-partuuid/1 /dev/disk/by-id/scsi-*");

        g_assert_cmpuint(strv_length(s.source_devices), ==, 2);
        g_assert_cmpuint(strv_length(s.sources_on_host_disk), ==, 2);
}

/* The list has all volume types, each with its policy for groups. */
TEST(test_shipped_groups, "/settings/shipped-groups") {
        static const struct {
                FSGroupPolicy policy;
                const char *types;
        } expected[] = {
                { FS_GROUP_FILE,
                  "emptyDir gitRepo secret configMap downwardAPI projected gcePersistentDisk awsElasticBlockStore "
                  "iscsi fc rbd cinder local flexVolume portworx" },
                { FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE, "persistentVolumeClaim csi" },
                { FS_GROUP_NONE, "nfs glusterfs cephfs azureFile quobyte hostPath image" },
        };
        static const char *const file_systems[] = { "vfat", "exfat", "tmpfs" };
        Settings s = test_settings(NULL);
        size_t n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                g_auto(GStrv) types = g_strsplit(expected[i].types, " ", -1);

                n += g_strv_length(types);
                for (char **type = types; *type; type++)
                        g_assert_cmpint(settings_volume_type(&s, *type)->fs_group_policy, ==, expected[i].policy);
        }
        g_assert_cmpuint(s.n_volume_types, ==, n);

        for (size_t i = 0; i < G_N_ELEMENTS(file_systems); i++)
                g_assert_true(strv_contains(settings_file_system(&s, file_systems[i])->group_options, "gid="));
        g_assert_cmpuint(strv_length(settings_file_system(&s, "ext4")->group_options), ==, 0);
        g_assert_cmpuint(strv_length(settings_file_system(&s, "nfs")->group_options), ==, 0);
}

/* No option in the shipped lists sets labels, or undoes nosuid and nodev. */
TEST(test_shipped_options_are_harmless, "/settings/shipped-options-are-harmless") {
        static const char *const harmful[] = { "context=", "fscontext=", "defcontext=", "rootcontext=", "seclabel",
                                               "suid",     "dev",        "bind",        "rbind",        "remount",
                                               "loop",     "loop=",      "helper=",     "uhelper=",     "user",
                                               "users",    "owner",      "group",       "ro",           "rw" };
        Settings s = test_settings(NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(harmful); i++) {
                g_assert_false(strv_contains(s.common_options, harmful[i]));
                for (size_t k = 0; k < s.n_file_systems; k++) {
                        g_assert_false(strv_contains(s.file_systems[k].options, harmful[i]));
                        g_assert_false(strv_contains(s.file_systems[k].context_options, harmful[i]));
                        g_assert_false(strv_contains(s.file_systems[k].group_options, harmful[i]));
                }
        }
}

/* Without a configuration nothing is allowed. */
TEST(test_absent, "/settings/absent") {
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        assert_success(test_settings_load_alone(NULL, &s, &f), &f);
        g_assert_cmpuint(strv_length(s.target_roots), ==, 0);
        g_assert_cmpuint(strv_length(s.source_roots), ==, 0);
        g_assert_cmpuint(strv_length(s.label_types), ==, 0);
        g_assert_cmpuint(s.n_file_systems, ==, 0);
        g_assert_cmpuint(s.n_volume_types, ==, 0);
        g_assert_cmpint(s.default_policy, ==, RELABEL_ALWAYS);
        g_assert_true(s.gate_relabel_policy);
        g_assert_true(s.gate_skip_fs_group);
        g_assert_cmpint(s.default_fs_group_change_policy, ==, FS_GROUP_CHANGE_ON_ROOT_MISMATCH);
        g_assert_cmpuint(s.job_timeout_usec, ==, 20 * G_USEC_PER_SEC);
}

/* A file of the same name in /etc/selvol replaces the whole shipped file. */
TEST(test_replaced, "/settings/replaced") {
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        assert_success(
                test_settings_load_alone("[Worker]\nTargetRoots=/srv\n[Driver a.b/c]\nManaged=never\n", &s, &f), &f);
        g_assert_cmpuint(strv_length(s.target_roots), ==, 1);
        g_assert_cmpstr(s.target_roots[0], ==, "/srv");
        g_assert_cmpint(settings_driver(&s, "a.b/c")->managed, ==, MANAGED_NEVER);
        g_assert_null(settings_driver(&s, "a.b"));
        g_assert_null(settings_driver(&s, NULL));
}

/* A key in a drop-in replaces that key, not its section. */
TEST(test_dropin, "/settings/drop-in") {
        Settings s = test_settings(
                "[Service];SELinuxMount=no;DefaultRelabelPolicy=MountOption;JobTimeoutSec=3600;"
                "MetricsTextfile=/var/lib/node_exporter/selvol.prom;[Worker];TargetRoots=/srv/a\t/srv/b;IOSchedulingClass=idle;"
                "[VolumeType nfs];FSGroupPolicy=Mount;[FileSystem nfs];Labels=yes");

        g_assert_true(s.gate_relabel_policy);
        g_assert_false(s.gate_mount);
        g_assert_cmpint(s.default_policy, ==, RELABEL_ON_VOLUME_MOUNT);
        g_assert_cmpuint(s.job_timeout_usec, ==, UINT64_C(3600) * G_USEC_PER_SEC);
        g_assert_cmpstr(s.metrics_textfile, ==, "/var/lib/node_exporter/selvol.prom");
        g_assert_cmpuint(strv_length(s.target_roots), ==, 2);
        g_assert_cmpstr(s.target_roots[1], ==, "/srv/b");
        g_assert_cmpint(s.io_class, ==, IO_CLASS_IDLE);
        g_assert_true(strv_contains(s.source_roots, "/dev"));
        g_assert_cmpint(settings_volume_type(&s, "nfs")->managed, ==, MANAGED_NEVER);
        g_assert_cmpint(settings_volume_type(&s, "nfs")->fs_group_policy, ==, FS_GROUP_MOUNT);
        g_assert_true(settings_file_system(&s, "nfs")->labels);
        g_assert_true(strv_contains(settings_file_system(&s, "nfs")->context_options, "nosharecache"));
        g_assert_cmpint(settings_file_system(&s, "nfs")->source, ==, SOURCE_NETWORK);
}

TEST(test_groups, "/settings/groups") {
        Settings s = test_settings("[Service];SkipFSGroupChange=no;DefaultFSGroupChangePolicy=Always;"
                                   "[FileSystem vfat];GroupOptions=;[FileSystem ntfs3];GroupOptions=dmask=07 gid=");

        g_assert_false(s.gate_skip_fs_group);
        g_assert_cmpint(s.default_fs_group_change_policy, ==, FS_GROUP_CHANGE_ALWAYS);
        g_assert_cmpuint(strv_length(settings_file_system(&s, "vfat")->group_options), ==, 0);
        g_assert_cmpuint(strv_length(settings_file_system(&s, "ntfs3")->group_options), ==, 2);
}

/* Blanks and comments must not hide a restriction. */
TEST(test_comment, "/settings/comment") {
        Settings s = test_settings("# SELinuxMount=no;[Service];  # DefaultRelabelPolicy=Never;"
                                   "SELinuxMount = no;;");

        g_assert_false(s.gate_mount);
        g_assert_cmpint(s.default_policy, ==, RELABEL_ALWAYS);
}

/* An empty value empties the list. */
TEST(test_empty_list, "/settings/empty-list") {
        Settings s = test_settings("[Worker];LabelTypes=;SourceRoots=");

        g_assert_cmpuint(strv_length(s.label_types), ==, 0);
        g_assert_cmpuint(strv_length(s.source_roots), ==, 0);
        g_assert_false(roots_contain(s.source_roots, "/dev/vdb"));
}

TEST(test_roots_contain, "/settings/roots-contain") {
        char *roots[] = { (char *) "/a/b", (char *) "/c", NULL };

        g_assert_true(roots_contain(roots, "/a/b/c"));
        g_assert_true(roots_contain(roots, "/c/d/e"));
        g_assert_false(roots_contain(roots, "/c"));
        g_assert_false(roots_contain(roots, "/a/bc"));
        g_assert_false(roots_contain(roots, "/a"));
        g_assert_false(roots_contain(NULL, "/a"));
}
