/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "mount/denial.h"
#include "mount/stage-source.h"
#include "support/cases.h"

/* A failed mount has an error, and its message tells what to do. */
TEST(test_failure, "/stage-spec/failure") {
        enum { WRITABLE, READ_ONLY, READ_ONLY_DEVICE };
        static const struct {
                int number, result;
                const char *needle, *type, *options;
                int access;
        } rows[] = {
                { EIO, FAILURE_MOUNT_FAILED, "(EIO); the device or the file system on it is damaged: run fsck(8)." },
                { EROFS, FAILURE_MOUNT_FAILED, "(EROFS); the device can't be written: ask for a read-only mount" },
                { EUSERS, FAILURE_MOUNT_FAILED, "(EUSERS); the kernel's log says more" },
                { 0, FAILURE_MOUNT_FAILED, "(no errno); the kernel's log says more" },
                /* Without memory nobody has made a mistake, and nobody can mend the volume. */
                { ENOMEM, -ENOMEM, NULL },
                /* A read-only mount was asked for: the journal is the reason. */
                { EROFS, FAILURE_MOUNT_FAILED, "option noload to do without", "ext4", "", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "option noload to do without", "ext3", "discard", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "option norecovery to do", "xfs", "nouuid", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "kernel's log says more", "ext4", "noload", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "kernel's log says more", "ext4", "norecovery", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "kernel's log says more", "xfs", "norecovery", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "kernel's log says more", "ext2", "", READ_ONLY },
                { EROFS, FAILURE_MOUNT_FAILED, "kernel's log says more", "btrfs", "", READ_ONLY },
                /* EACCES has two causes, and a server has one of its own. */
                { EACCES, FAILURE_MOUNT_FAILED, "ask for a read-only mount", "ext4", "", READ_ONLY_DEVICE },
                { EACCES, FAILURE_MOUNT_FAILED, "a security module does so", "ext4", "", WRITABLE },
                { EACCES, FAILURE_MOUNT_FAILED, "a security module does so", "ext4", "", READ_ONLY },
                { EACCES, FAILURE_MOUNT_FAILED, "the server denies it", "nfs4", "", WRITABLE },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const char *type = rows[i].type ? rows[i].type : "ext4";
                const FileSystem fs = { .name = (char *) type,
                                        .source = g_str_equal(type, "nfs4") ? SOURCE_NETWORK : SOURCE_BLOCK };
                const Source source = { .fs = &fs,
                                        .name = (char *) "/dev/vdb",
                                        .read_only = rows[i].access == READ_ONLY_DEVICE };
                _cleanup_strv_ char **options = NULL;
                _cleanup_failure_ Failure f = { 0 };

                g_assert_cmpint(strv_split(rows[i].options ? rows[i].options : "", ",", &options), ==, 0);
                const StageSpec spec = { .source = &source,
                                         .options = options,
                                         .read_only = rows[i].access == READ_ONLY };

                g_assert_cmpint(stage_spec_failure(&spec, "the kernel's words", rows[i].number, &f), ==,
                                rows[i].result);
                g_assert_cmpint(f.kind, ==, rows[i].result > 0 ? rows[i].result : FAILURE_NONE);
                if (rows[i].needle)
                        g_assert_nonnull(strstr(f.message, rows[i].needle));
        }
}

/* The command gives the directory a type that the policy module allows. */
TEST(test_denial_remedy, "/stage-spec/denial-remedy") {
        static const struct {
                DeniedObject object;
                const char *path, *directory, *expected;
        } rows[] = {
                { DENIED_TARGET, "/srv/v/a/b", "/srv/v",
                  "semanage fcontext -a -t container_file_t '/srv/v(/.*)?' && restorecon -RFx /srv/v" },
                { DENIED_TARGET, "/srv/a b/c", "/srv/a b",
                  "semanage fcontext -a -t container_file_t '/srv/a b(/.*)?' && restorecon -RFx '/srv/a b'" },
                { DENIED_TARGET, "/var/lib/kubelet/pods/a", "/var/lib/kubelet/pods",
                  "restorecon -RFx /var/lib/kubelet/pods" },
                { DENIED_IMAGE, "/var/lib/selvol-images/x.img", "/var/lib/selvol-images",
                  "restorecon -RFx /var/lib/selvol-images" },
                { DENIED_IMAGE, "/var/lib/selvol-images/a/x.img", "/var/lib/selvol-images/a",
                  "restorecon -RFx /var/lib/selvol-images/a" },
                { DENIED_IMAGE, "/var/lib/x.img", "/var/lib",
                  "semanage fcontext -a -t selvol_image_t /var/lib/x.img && restorecon -RFx /var/lib/x.img" },
                { DENIED_IMAGE, "/srv/x.img", "/srv",
                  "semanage fcontext -a -t selvol_image_t /srv/x.img && restorecon -RFx /srv/x.img" },
                { DENIED_IMAGE, "/data/x.img", "/data",
                  "semanage fcontext -a -t selvol_image_t '/data(/.*)?' && restorecon -RFx /data" },
                { DENIED_DEVICE, "/dev/longhorn/pvc-1", "/dev/longhorn",
                  "semanage fcontext -a -f b -t fixed_disk_device_t '/dev/longhorn/.*' && restorecon -RFx /dev/longhorn" },
                { DENIED_DEVICE, "/dev/foo0", "/dev",
                  "semanage fcontext -a -f b -t fixed_disk_device_t /dev/foo0 && restorecon -RFx /dev/foo0" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                _cleanup_free_ char *remedy = denial_remedy(rows[i].object, rows[i].path, rows[i].directory);

                g_assert_cmpstr(remedy, ==, rows[i].expected);
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
