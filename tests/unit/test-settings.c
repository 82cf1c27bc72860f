/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/settings.h"
#include "support.h"
#include "support/files.h"

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
        { "key-of-driver", "[VolumeType csi];Socket=/d.sock", "[VolumeType csi] has no key Socket=" },
        { "unknown-key-file-system", "[FileSystem ext4];Managed=always", "[FileSystem ext4] has no key Managed=" },
        { "unknown-section", "[Service];[Services]", "no section [Services]" },
        { "unknown-section-kind", "[Worker];;[Volume nfs]", "no section [Volume nfs]" },
        { "section-without-name", "[VolumeType]", "no section [VolumeType]" },
        { "section-with-name", "[Worker x]", "no section [Worker x]" },
        { "key-without-section", "SELinuxMount=no", "SELinuxMount" },
        { "bad-boolean", "[Service];SELinuxMount=maybe", "[Service] SELinuxMount=maybe is not valid" },
        { "bad-boolean-empty", "[Service];SELinuxRelabelPolicy=", "[Service] SELinuxRelabelPolicy= is not valid" },
        { "bad-policy", "[Service];DefaultRelabelPolicy=Never", "[Service] DefaultRelabelPolicy=Never is not valid" },
        { "bad-timeout", "[Service];JobTimeoutSec=soon", "JobTimeoutSec=soon" },
        { "bad-timeout-zero", "[Service];JobTimeoutSec=0", "JobTimeoutSec=0" },
        { "bad-timeout-long", "[Service];JobTimeoutSec=3601", "JobTimeoutSec=3601" },
        { "bad-timeout-unit", "[Service];JobTimeoutSec=20 parsecs",
          "JobTimeoutSec=20 parsecs is not valid: use a time" },
        { "bad-timeout-long-unit", "[Service];JobTimeoutSec=1h 1s", "JobTimeoutSec=1h 1s is" },
        { "bad-timeout-short-unit", "[Service];JobTimeoutSec=999ms", "JobTimeoutSec=999ms is" },
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
        { "bad-socket", "[Driver d];Socket=csi.sock",
          "[Driver d] Socket=csi.sock is not valid: use an absolute path" },
        { "bad-context", "[Driver d];Context=mend", "Context=mend is not valid: use repair, verify or ignore" },
        { "bad-groups", "[Driver d];Groups=driver", "Groups=driver is not valid: use kubelet or selvol" },
        { "bad-user-namespaces", "[Driver d];UserNamespaces=", "[Driver d] UserNamespaces= is not valid" },
        { "bad-when-away", "[Driver d];WhenAway=wait", "WhenAway=wait is not valid: use fail or forward" },
        { "bad-change-policy-driver", "[Driver d];FSGroupChangePolicy=Never", "FSGroupChangePolicy=Never is not" },
        { "bad-fs-group", "[Driver d];FSGroupPolicy=Files", "[Driver d] FSGroupPolicy=Files" },
        { "bad-skip", "[Service];SkipFSGroupChange=sometimes", "[Service] SkipFSGroupChange=sometimes is not valid" },
        { "bad-change-policy", "[Service];DefaultFSGroupChangePolicy=Never",
          "[Service] DefaultFSGroupChangePolicy=Never is not valid" },
        { "bad-change-policy-case", "[Service];DefaultFSGroupChangePolicy=onrootmismatch",
          "[Service] DefaultFSGroupChangePolicy=onrootmismatch" },
        { "bad-group-options", "[FileSystem vfat];GroupOptions=;GroupOptions=umask=0002",
          "[FileSystem vfat] GroupOptions= lacks gid=" },
        { "bad-group-options-value", "[FileSystem x];GroupOptions=gid=5 umask=0002",
          "[FileSystem x] GroupOptions= lacks gid=" },
        { "bad-group-options-bare", "[FileSystem x];GroupOptions=gid", "[FileSystem x] GroupOptions= lacks gid=" },
        { "bad-source", "[FileSystem ext4];Source=tape", "[FileSystem ext4] Source=tape" },
        { "bad-labels", "[FileSystem ext4];Labels=ja", "[FileSystem ext4] Labels=ja" },
        { "bad-fs-name", "[FileSystem ../x]", "[FileSystem ../x] does not name a file system" },
        { "bad-fs-name-capital", "[FileSystem EXT4]", "[FileSystem EXT4]" },
        { "bad-second-line", "[Worker];TargetRoots=/srv/a;TargetRoots=srv/b", "[Worker] TargetRoots=srv/b is" },
        { "no-bracket", "[Service];SELinuxMount=no;[Worker", "']' is missing at the end" },
        { "no-value", "[Service];SELinuxMount", "write KEY=VALUE" },
        { "no-key", "[Service];=no", "write KEY=VALUE" },
        { "comment-after-value", "[Worker];MountOptions=acl # not dax", "a comment needs a line of its own" },
        { "comment-after-nothing", "[Worker];TargetRoots= # none", "[Worker] TargetRoots=# none is not valid" },
        { "line-goes-on", "[Worker];MountOptions=acl \\", "repeat the key" },
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
        g_assert_cmpuint(s.n_drivers, ==, 1);
        g_assert_cmpint(settings_driver(&s, "org.selvol.csi")->fs_group_policy, ==, FS_GROUP_FILE);
        g_assert_cmpint(settings_driver(&s, "org.selvol.csi")->selinux_mount_supported, ==, 1);
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
        Settings s = test_settings("[Worker];TargetRoots=;TargetRoots=/srv/v;ForeignRoots=/mnt/other /mnt/backup");

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

/* Drop-ins are read in the order of their names, whatever their directory; one in /etc replaces its namesake,
 * even by nothing. */
TEST(test_order, "/settings/order") {
        static const struct {
                const char *file, *text;
        } files[] = {
                { "usr/selvol.conf", "[Worker]\nTargetRoots=/usr" },
                { "usr/selvol.conf.d/90-a.conf", "[Service]\nJobTimeoutSec=90\n[Worker]\nTargetRoots=/usr/90" },
                { "usr/selvol.conf.d/20-a.conf", "[Worker]\nTargetRoots=/usr/20" },
                { "usr/selvol.conf.d/30-a.conf", "[Worker]\nTargetRoots=/usr/30" },
                { "etc/selvol.conf.d/30-a.conf", "" },
                { "etc/selvol.conf.d/50-a.conf", "[Service]\nJobTimeoutSec=50\n[Worker]\nTargetRoots=/etc/50" },
                { "etc/selvol.conf.d/60-a.conf~", "[Worker]\nTargetRoots=/backup" },
                { "etc/selvol.conf.d/.60-a.conf", "[Worker]\nTargetRoots=/hidden" },
        };
        g_autofree char *root = g_dir_make_tmp("selvol-unit-XXXXXX", NULL), *roots = NULL,
                        *usr = g_build_filename(root, "usr", NULL), *etc = g_build_filename(root, "etc", NULL);
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = g_build_filename(root, files[i].file, NULL);

                file_write(path, files[i].text);
        }
        assert_success(settings_load(usr, etc, &s, &f), &f);
        tree_remove(root);
        roots = g_strjoinv(" ", s.target_roots);
        g_assert_cmpstr(roots, ==, "/usr /usr/20 /etc/50 /usr/90");
        g_assert_cmpuint(s.job_timeout_usec, ==, 90 * G_USEC_PER_SEC);
}

/* A file that can't be read is a mistake: it may have a restriction. */
TEST(test_unreadable, "/settings/unreadable") {
        g_autofree char *etc = g_dir_make_tmp("selvol-unit-XXXXXX", NULL),
                        *file = g_build_filename(etc, "selvol.conf", NULL);
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpint(symlink("/nonexistent", file), ==, 0);
        assert_failure(settings_load("/nonexistent", etc, &s, &f), &f, FAILURE_INVALID_OPTION, file,
                       "No such file or directory");
        tree_remove(etc);
}

/* The lists that limit what selvol-worker does; words are valid ones. */
typedef struct WorkerList {
        const char *key;
        size_t offset;
        const char *words[2];
} WorkerList;

static const WorkerList worker_lists[] = {
        { "TargetRoots", offsetof(Settings, target_roots), { "/srv/a", "/srv/b" } },
        { "SourceRoots", offsetof(Settings, source_roots), { "/srv/a", "/srv/b" } },
        { "SourceDevices", offsetof(Settings, source_devices), { "/dev/sdb", "/dev/sdc*" } },
        { "SourcesOnHostDisk", offsetof(Settings, sources_on_host_disk), { "/dev/sdb1", "/dev/sdc?" } },
        { "ForeignRoots", offsetof(Settings, foreign_roots), { "/srv/a", "/srv/b" } },
        { "LabelTypes", offsetof(Settings, label_types), { "a_t", "b_t" } },
        { "MountOptions", offsetof(Settings, common_options), { "acl", "commit=" } },
};

/* Puts the words in place of A and B, the shipped ones in place of S, and a line with the key in place of
 * K. */
static char *expand_list(const WorkerList *l, const char *text, const char *shipped) {
        g_autoptr(GString) expanded = g_string_new(NULL);

        for (const char *p = text; *p; p++)
                switch (*p) {
                case 'A':
                case 'B':
                        g_string_append(expanded, l->words[*p - 'A']);
                        break;
                case 'K':
                        g_string_append_printf(expanded, ";%s", l->key);
                        break;
                case 'S':
                        g_string_append_printf(expanded, "%s%s", shipped, *shipped ? " " : "");
                        break;
                default:
                        g_string_append_c(expanded, *p);
                }
        return g_strdup(expanded->str);
}

/* Loads the shipped configuration with lines of [Worker] after it, and returns the list. */
static char *load_list(const WorkerList *l, const char *lines, uint64_t *ret_digest) {
        g_autofree char *expanded = expand_list(l, lines, ""), *dropin = g_strdup_printf("[Worker]%s", expanded);
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        char **list;

        assert_success(test_settings_load(dropin, &s, &f), &f);
        if (ret_digest)
                *ret_digest = s.digest;
        list = *(char ***) ((char *) &s + l->offset);
        return list ? g_strjoinv(" ", list) : g_strdup("");
}

/* The lines add up, to the shipped ones and to each other; an empty one narrows the list to what comes after
 * it. */
TEST_ROWS(test_lists, "/settings/lists", worker_lists, l) {
        static const struct {
                const char *lines, *list;
        } rows[] = {
                { "", "S" },          { "K=", "" },          { "K=A", "SA" },      { "K=A B", "SA B" },
                { "K=AK=B", "SA B" }, { "K=K=A", "A" },      { "K=K=B A", "B A" }, { "K=AK=K=B", "B" },
                { "K=AK=", "" },      { "K=K=AK=B", "A B" },
        };
        g_autofree char *shipped = load_list(l, "", NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *expected = expand_list(l, rows[i].list, shipped),
                                *list = load_list(l, rows[i].lines, NULL);

                g_assert_cmpstr(g_strchomp(list), ==, g_strchomp(expected));
        }
}

/* The table has all lists of [Worker]. */
TEST(test_lists_complete, "/settings/lists-complete") {
        static const char *const others[] = { "ImagesOfOthers", "IOSchedulingClass", NULL };
        const char *section, *key;

        for (size_t i = 0; (key = settings_key(i, &section)); i++) {
                bool found = !streq(section, "Worker") || g_strv_contains(others, key);

                for (size_t k = 0; !found && k < G_N_ELEMENTS(worker_lists); k++)
                        found = streq(worker_lists[k].key, key);
                if (!found)
                        g_error("%s= is not in the table", key);
        }
}

/* The digest is that of what is in force, however it is written. */
TEST_ROWS(test_digest, "/settings/digest", worker_lists, l) {
        static const char *const same[][2] = {
                { "K=A B", "K=AK=B" },
                { "K=K=A", "K=BK=K=A" },
                { "K=A", "K = A;;# commit" },
        };
        static const char *const others[] = { "K=", "K=K=A", "K=K=B", "K=K=A B", "K=K=B A", "K=A B B" };
        uint64_t a, b;

        for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
                g_free(load_list(l, same[i][0], &a));
                g_free(load_list(l, same[i][1], &b));
                g_assert_cmpuint(a, ==, b);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                for (size_t k = 0; k < i; k++) {
                        g_free(load_list(l, others[i], &a));
                        g_free(load_list(l, others[k], &b));
                        g_assert_cmpuint(a, !=, b);
                }
}

/* A key without a list has the value of its last line. */
TEST(test_last_line, "/settings/last-line") {
        Settings s = test_settings("[Service];SELinuxMount=no;JobTimeoutSec=30;[Driver d];Managed=never;[Service];"
                                   "JobTimeoutSec=40;[Driver d];TrustedMark=yes;Managed=always");

        g_assert_false(s.gate_mount);
        g_assert_cmpuint(s.job_timeout_usec, ==, 40 * G_USEC_PER_SEC);
        g_assert_cmpuint(s.n_drivers, ==, 2); /* with that of the shipped file */
        g_assert_cmpint(settings_driver(&s, "d")->managed, ==, MANAGED_ALWAYS);
        g_assert_cmpint(settings_driver(&s, "d")->trusted_mark, ==, 1);
}

TEST(test_driver, "/settings/driver") {
        Settings s = test_settings("[Driver d];Socket=/d.sock;Context=verify;Groups=selvol;UserNamespaces=no;"
                                   "WhenAway=forward;FSGroupChangePolicy=Always;TrustedMark=yes;[Driver e]");
        const Trait *d = settings_driver(&s, "d"), *e = settings_driver(&s, "e");

        g_assert_cmpstr(d->socket, ==, "/d.sock");
        g_assert_cmpint(d->context, ==, DRIVER_CONTEXT_VERIFY);
        g_assert_cmpint(d->groups, ==, DRIVER_GROUPS_SELVOL);
        g_assert_false(d->user_namespaces);
        g_assert_cmpint(d->when_away, ==, DRIVER_AWAY_FORWARD);
        g_assert_cmpint(d->fs_group_change_policy, ==, FS_GROUP_CHANGE_ALWAYS);
        g_assert_cmpint(d->trusted_mark, ==, 1);
        g_assert_null(e->socket);
        g_assert_cmpint(e->context, ==, DRIVER_CONTEXT_REPAIR);
        g_assert_cmpint(e->groups, ==, DRIVER_GROUPS_KUBELET);
        g_assert_true(e->user_namespaces);
        g_assert_cmpint(e->when_away, ==, DRIVER_AWAY_FAIL);
        g_assert_cmpint(e->fs_group_change_policy, ==, -1);
}

/* A section alone adds a file system, a driver or a type of volume. */
TEST(test_section_alone, "/settings/section-alone") {
        Settings s = test_settings("[FileSystem f2fs];[Driver d];[VolumeType example]");

        g_assert_nonnull(settings_file_system(&s, "f2fs"));
        g_assert_nonnull(settings_driver(&s, "d"));
        g_assert_nonnull(settings_volume_type(&s, "example"));
}

TEST(test_times, "/settings/times") {
        static const struct {
                const char *value;
                unsigned int seconds;
        } rows[] = { { "90", 90 },     { "90s", 90 },   { "1min 30s", 90 },   { "1h", 3600 },
                     { "2 min", 120 }, { "5000ms", 5 }, { "60minutes", 3600 } };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *dropin = g_strdup_printf("[Service];JobTimeoutSec=%s", rows[i].value);

                g_assert_cmpuint(test_settings(dropin).job_timeout_usec, ==, rows[i].seconds * G_USEC_PER_SEC);
        }
}

/* A key in a drop-in replaces that key, not its section. */
TEST(test_dropin, "/settings/drop-in") {
        Settings s = test_settings(
                "[Service];SELinuxMount=no;DefaultRelabelPolicy=MountOption;JobTimeoutSec=3600;"
                "MetricsTextfile=/var/lib/node_exporter/selvol.prom;[Worker];TargetRoots=;TargetRoots=/srv/a\t/srv/b;IOSchedulingClass=idle;"
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

TEST(test_roots_contain, "/settings/roots-contain") {
        char *roots[] = { (char *) "/a/b", (char *) "/c", NULL };

        g_assert_true(roots_contain(roots, "/a/b/c"));
        g_assert_true(roots_contain(roots, "/c/d/e"));
        g_assert_false(roots_contain(roots, "/c"));
        g_assert_false(roots_contain(roots, "/a/bc"));
        g_assert_false(roots_contain(roots, "/a"));
        g_assert_false(roots_contain(NULL, "/a"));
}
