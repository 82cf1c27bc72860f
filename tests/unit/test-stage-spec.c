/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include <glib.h>

#include "mount/stage-spec.h"

/* What a mount that failed is told as. */

static void test_failure(void) {
        static const struct {
                int number, result;
                const char *needle;
        } rows[] = {
                { EIO, FAILURE_MOUNT_FAILED, "(EIO); the device or the file system on it is damaged: run fsck(8)." },
                { EROFS, FAILURE_MOUNT_FAILED, "(EROFS); the device can't be written" },
                { EUSERS, FAILURE_MOUNT_FAILED, "(EUSERS); the kernel's log says more" },
                { 0, FAILURE_MOUNT_FAILED, "(no errno); the kernel's log says more" },
                /* Nobody's mistake, and nothing to be done to the volume. */
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

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/stage-spec/failure", test_failure);
        return g_test_run();
}
