/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "mount/stage-source.h"
#include "support/cases.h"

/* A failed mount has an error, and its message tells what to do. */
TEST(test_failure, "/stage-spec/failure") {
        static const struct {
                int number, result;
                const char *needle;
        } rows[] = {
                { EIO, FAILURE_MOUNT_FAILED, "(EIO); the device or the file system on it is damaged: run fsck(8)." },
                { EROFS, FAILURE_MOUNT_FAILED, "(EROFS); the device can't be written" },
                { EUSERS, FAILURE_MOUNT_FAILED, "(EUSERS); the kernel's log says more" },
                { 0, FAILURE_MOUNT_FAILED, "(no errno); the kernel's log says more" },
                /* Without memory nobody has made a mistake, and nobody can mend the volume. */
                { ENOMEM, -ENOMEM, NULL },
        };
        const FileSystem fs = { .name = (char *) "ext4" };
        const Source source = { .fs = &fs, .name = (char *) "/dev/vdb" };
        const StageSpec spec = { .source = &source };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_failure_ Failure f = { 0 };

                g_assert_cmpint(stage_spec_failure(&spec, "the kernel's words", rows[i].number, &f), ==,
                                rows[i].result);
                g_assert_cmpint(f.kind, ==, rows[i].result > 0 ? rows[i].result : FAILURE_NONE);
                if (rows[i].needle)
                        g_assert_nonnull(strstr(f.message, rows[i].needle));
        }
}

/* selvol passes some options besides those of the caller, unless the caller says otherwise. */
TEST(test_options, "/stage-spec/options") {
        char *const shared[] = { (char *) "nosharecache", NULL };
        static const struct {
                const char *type, *options, *context, *expected;
        } rows[] = {
                { "ext2", "", NULL, "errors=remount-ro" },
                { "ext3", "", NULL, "errors=remount-ro" },
                { "ext4", "noatime", NULL, "noatime,errors=remount-ro" },
                { "ext4", "errors=continue,noatime", NULL, "errors=continue,noatime" },
                { "ext4", "noerrors=x", NULL, "noerrors=x,errors=remount-ro" },
                { "ext4", "", "a:b:c:s0", "errors=remount-ro,nosharecache" },
                { "xfs", "", NULL, "" },
                { "nfs4", "nosharecache", "a:b:c:s0", "nosharecache" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_strv_ char **passed = NULL, **all = NULL;
                const FileSystem fs = { .name = (char *) rows[i].type, .context_options = (char **) shared };
                const Source source = { .fs = &fs };
                _cleanup_free_ char *joined = NULL;

                g_assert_cmpint(strv_split(rows[i].options, ",", &passed), ==, 0);
                const StageSpec spec = { .source = &source, .options = passed, .context = rows[i].context };
                g_assert_cmpint(stage_spec_options(&spec, &all), ==, 0);
                joined = strv_join(all, ",");
                g_assert_cmpstr(joined, ==, rows[i].expected);
        }
}
