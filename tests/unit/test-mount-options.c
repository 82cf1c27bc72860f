/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/limits.h"
#include "model/mount-options.h"
#include "support.h"

/* In rows ';' separates options, as commas may be part of an option. */
static char **split_options(const char *options) {
        char **list;

        g_assert_cmpint(strv_split(options, ";", &list), ==, 0);
        return list;
}

TEST_TABLE(test_parse, "/mount-options/parse", "mount-options.table", "id options =result =rest =context =ro =says") {
        _cleanup_strv_ char **options = split_options(row_need(row, "options"));
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *rest = NULL;
        const char *expected = row_need(row, "=result");
        int r;

        r = mount_options_parse(options, &o, &f);
        g_assert_cmpstr(result_word(r, &f), ==, expected);
        if (r != 0) {
                assert_failure(r, &f, (FailureKind) failure_kind_from_string(expected), row_need(row, "=says"));
                g_assert_null(o.options);
                g_assert_null(o.context);
                return;
        }
        rest = strv_join(o.options, ";");
        g_assert_cmpstr(rest, ==, row_get(row, "=rest") ? row_get(row, "=rest") : "");
        g_assert_cmpstr(o.context, ==, row_get(row, "=context"));
        g_assert_cmpint(o.read_only, ==, parse_boolean(row_need(row, "=ro")));
}

TEST(test_limits, "/mount-options/limits") {
        _cleanup_strv_ char **many = NULL, **one = NULL;
        g_autofree char *value = g_strnfill(OPTION_MAX - 5, 'a'), *fits = g_strconcat("data=", value, NULL),
                        *too_long = g_strconcat("datab=", value, NULL), *kib = g_strnfill(4096, 'c'),
                        *context = g_strconcat("context=", kib, NULL);
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        const char *long_ones[] = { too_long, kib, context };

        for (int i = 0; i < OPTIONS_MAX; i++)
                g_assert_cmpint(strv_extend(&many, "noatime"), ==, 0);
        assert_success(mount_options_parse(many, &o, &f), &f);
        g_assert_cmpuint(strv_length(o.options), ==, OPTIONS_MAX);
        g_assert_cmpint(strv_extend(&many, "noatime"), ==, 0);
        assert_failure(mount_options_parse(many, &o, &f), &f, FAILURE_INVALID_OPTION, "more than 64");
        failure_done(&f);
        mount_options_done(&o);

        g_assert_cmpint(strv_extend(&one, fits), ==, 0);
        assert_success(mount_options_parse(one, &o, &f), &f);
        for (size_t i = 0; i < G_N_ELEMENTS(long_ones); i++) {
                char *list[] = { (char *) long_ones[i], NULL };

                assert_failure(mount_options_parse(list, &o, &f), &f, FAILURE_INVALID_OPTION, "1024 bytes");
                g_assert_cmpuint(strlen(f.message), <, 200);
        }
}

TEST(test_none, "/mount-options/none") {
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        assert_success(mount_options_parse(NULL, &o, &f), &f);
        g_assert_null(o.context);
        g_assert_cmpuint(strv_length(o.options), ==, 0);
        g_assert_false(o.read_only);
}

static int check(const Settings *s, const char *fs, const char *option, Failure *f) {
        char *list[] = { (char *) option, NULL };

        failure_done(f);
        return mount_options_check(list, s, settings_file_system(s, fs), f);
}

TEST(test_allow_list, "/mount-options/allow-list") {
        Settings s = test_settings(NULL);
        _cleanup_failure_ Failure f = { 0 };

        static const char *const good[][2] = {
                { "ext4", "noatime" },
                { "ext4", "commit=5" },
                { "ext4", "discard" },
                { "xfs", "nouuid" },
                { "btrfs", "subvol=/a" },
                { "btrfs", "compress" },
                { "btrfs", "compress=zstd:3" },
                { "tmpfs", "size=10%" },
                { "vfat", "gid=1000" },
                { "nfs", "nosharecache" },
                { "nfs4", "vers=4.2" },
                { "nfs", "nosymfollow" },
                { "ext4", "errors=continue" },
                { "ext3", "errors=remount-ro" },
                { "ext4", "barrier=1" },
                { "ext4", "barrier=0" },
                { "ext4", "init_itable=0" },
                { "ext4", "nodioread_nolock" },
                { "ext4", "prjquota" },
                { "ext3", "usrquota" },
                { "xfs", "atime" },
                { "xfs", "usrquota" },
                { "tmpfs", "noswap" },
                { "tmpfs", "uid=1000" },
                { "nfs", "tcp" },
                { "btrfs", "skip_balance" },
        };
        static const char *const bad[][2] = {
                { "ext4", "gid=1000" },     /* another file system has it */
                { "ext4", "errors=panic" }, /* only some values are listed */
                { "ext4", "errors=continue2" },
                { "ext4", "barrier=2" },
                { "ext4", "dax" },
                { "ext4", "journal_dev=0x801" },
                { "xfs", "logdev=/dev/vdb" },
                { "ext4", "errors" },
                { "vfat", "uid=1000" },  /* it would give the files to somebody else than the group */
                { "ext4", "commit" },    /* it needs a value */
                { "ext4", "discard=1" }, /* it takes no value */
                { "ext4", "noatime=1" },
                { "ext4", "commi=5" }, /* it is only the beginning of a key */
                { "ext4", "commits=5" },
                { "ext4", "loop" },
                { "ext4", "loop=/dev/loop1" },
                { "ext4", "offset=4096" },
                { "ext4", "x-systemd.automount" },
                { "ext4", "x-mount.mkdir" },
                { "ext4", "X-mount.owner=0" },
                { "ext4", "uhelper=evil" },
                { "ext4", "helper=evil" },
                { "ext4", "bind" },
                { "ext4", "remount" },
                { "ext4", "shared" },
                { "ext4", "suid" },
                { "ext4", "dev" },
                { "ext4", "user" },
                { "ext4", "" },
                { "ext4", "commit=" },
                { "ext4", "commit=5,suid" },
                { "ext4", "errors=\"x\"" },
                { "tmpfs", "mode=0777 exec" },
                /* Options for labels are refused even if an administrator lists them by mistake. */
                { "ext4", "context=a:b:c:s0" },
                { "ext4", "rootcontext=a:b:c:s0" },
                { "ext4", "seclabel" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                assert_success(check(&s, good[i][0], good[i][1], &f), &f);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *section = g_strdup_printf("[FileSystem %s]", bad[i][0]);

                assert_failure(check(&s, bad[i][0], bad[i][1], &f), &f, FAILURE_INVALID_OPTION, bad[i][1], section,
                               "add MountOptions=");
        }
}

TEST(test_labels_cannot_be_listed, "/mount-options/labels-cannot-be-listed") {
        static const char *const options[] = { "context=a:b:c:s0", "rootcontext=a:b:c:s0", "fscontext=a:b:c:s0",
                                               "defcontext=a:b:c:s0", "seclabel" };
        Settings s = test_settings(
                "[FileSystem ext4];MountOptions=context= rootcontext= fscontext= defcontext= seclabel suid");
        _cleanup_failure_ Failure f = { 0 };

        for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
                assert_failure(check(&s, "ext4", options[i], &f), &f, FAILURE_INVALID_OPTION, options[i]);
}

/* selvol adds options that give the files to group 7001 to the options of the caller. */
TEST(test_group, "/mount-options/group") {
        static const struct {
                const char *fs, *options, *result;
        } good[] = {
                { "vfat", "", "gid=7001;umask=0002" },
                { "vfat", "flush;tz=UTC", "gid=7001;umask=0002;flush;tz=UTC" },
                { "vfat", "umask=0027", "gid=7001;umask=0027" },
                { "vfat", "fmask=0117;dmask=0007", "gid=7001;umask=0002;fmask=0117;dmask=0007" },
                { "vfat", "gid=7001", "umask=0002;gid=7001" },
                { "vfat", "umask=0;gid=7001;gid=7001", "umask=0;gid=7001;gid=7001" },
                { "exfat", "iocharset=utf8", "gid=7001;umask=0002;iocharset=utf8" },
                { "tmpfs", "size=1m", "gid=7001;mode=2770;size=1m" },
                { "tmpfs", "size=1m;mode=0700", "gid=7001;size=1m;mode=0700" },
        };
        static const struct {
                const char *fs, *options, *says;
        } bad[] = {
                { "ext4", "", "file system ext4 has no mount option for the group of its files (GroupOptions=)" },
                { "nfs", "hard", "use \"FSGroupPolicy\"=File." },
                { "vfat", "gid=7002", "'gid=7002' conflicts with the requested group (gid=7001)" },
                { "vfat", "gid=7001;gid=0", "'gid=0'" },
                { "vfat", "gid=07001", "'gid=07001'" }, /* it may be octal */
                { "vfat", "gid=70010", "'gid=70010'" },
                { "vfat", "gid=700", "'gid=700'" },
                { "vfat", "gid=", "'gid='" },
                { "tmpfs", "gid", "'gid'" },
        };
        Settings s = test_settings(NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                _cleanup_strv_ char **options = split_options(good[i].options);
                _cleanup_failure_ Failure f = { 0 };
                _cleanup_free_ char *result = NULL;
                const FileSystem *fs = settings_file_system(&s, good[i].fs);

                assert_success(mount_options_add_group(&options, fs, 7001, &f), &f);
                result = strv_join(options, ";");
                g_assert_cmpstr(result, ==, good[i].result);
                assert_success(mount_options_check(options, &s, fs, &f), &f);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                _cleanup_strv_ char **options = split_options(bad[i].options);
                _cleanup_failure_ Failure f = { 0 };
                _cleanup_free_ char *result = NULL;

                assert_failure(mount_options_add_group(&options, settings_file_system(&s, bad[i].fs), 7001, &f), &f,
                               FAILURE_INVALID_OPTION, bad[i].says);
                result = strv_join(options, ";");
                g_assert_cmpstr(result, ==, bad[i].options);
        }
}

/* The administrator lists options in GroupOptions= alone; the group is the largest one. */
TEST(test_group_listed, "/mount-options/group-listed") {
        Settings s =
                test_settings("[FileSystem ntfs3];MountOptions=uid=;GroupOptions=gid= dmask=0007 sparse context=x");
        const FileSystem *fs = settings_file_system(&s, "ntfs3");
        _cleanup_strv_ char **options = NULL;
        _cleanup_failure_ Failure f = { 0 };

        assert_success(mount_options_add_group(&options, fs, 4294967294, &f), &f);
        g_assert_cmpstr(options[0], ==, "gid=4294967294");
        assert_success(check(&s, "ntfs3", options[0], &f), &f);
        assert_success(check(&s, "ntfs3", "dmask=0007", &f), &f);
        assert_success(check(&s, "ntfs3", "sparse", &f), &f);
        assert_failure(check(&s, "ntfs3", "dmask=0000", &f), &f, FAILURE_INVALID_OPTION, "dmask=0000");
        assert_failure(check(&s, "ntfs3", "gid", &f), &f, FAILURE_INVALID_OPTION, "'gid'");
        assert_failure(check(&s, "ntfs3", "gid=", &f), &f, FAILURE_INVALID_OPTION, "'gid='");
        assert_failure(check(&s, "ntfs3", "context=x", &f), &f, FAILURE_INVALID_OPTION, "context=x");
        assert_failure(check(&s, "ext4", "gid=5", &f), &f, FAILURE_INVALID_OPTION, "gid=5");
}

/* The caller's options win over those of the mount that is replaced. */
TEST(test_keep, "/mount-options/keep") {
        static const struct {
                const char *passed, *replaced, *all;
        } rows[] = {
                { "", "", "" },
                { "discard", "", "discard" },
                { "", "noatime,nouuid", "noatime,nouuid" },
                { "discard,commit=5", "commit=7,nouuid", "nouuid,discard,commit=5" },
                { "nodiscard", "discard", "discard,nodiscard" }, /* the file system takes the last one */
                { "noatime", "strictatime,nodiratime", "nodiratime,noatime" },
                { "atime", "noatime", "atime" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_strv_ char **options = NULL, **replaced = NULL;
                g_autofree char *joined = NULL;

                g_assert_cmpint(strv_split(rows[i].passed, ",", &options), ==, 0);
                g_assert_cmpint(strv_split(rows[i].replaced, ",", &replaced), ==, 0);
                g_assert_cmpint(mount_options_keep(&options, replaced), ==, 0);
                joined = strv_join(options, ",");
                g_assert_cmpstr(joined, ==, rows[i].all);
        }
}
