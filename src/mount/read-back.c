/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "model/limits.h"
#include "mount/mount-table.h"
#include "mount/read-back.h"
#include "mount/statmount.h"

#define LABEL_XATTR "security.selinux"

static int count_inodes(int fd, MountOutcome *o) {
        struct statfs sfs;

        if (fstatfs(fd, &sfs) < 0)
                return -errno;
        o->inodes_used = sfs.f_files > sfs.f_ffree ? sfs.f_files - sfs.f_ffree : 0;
        return 0;
}

int read_back_mount(int fd, const char *target, MountOutcome *ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        uint64_t id;
        int r;

        assert(fd >= 0);
        assert(target);
        assert(ret);

        r = mount_identify(fd, &id, NULL);
        if (r < 0)
                return r;
        r = mount_table_read_own(fd, true, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, id, &o.fact);
        if (r < 0)
                return r;
        o.superblock_read_only = o.fact.superblock_read_only;
        r = mount_table_overrides_labels(table, id);
        if (r < 0)
                return r;
        o.overrides_labels = r > 0;
        r = mount_table_is_idmapped(table, id);
        if (r < 0)
                return r;
        o.idmapped = r > 0;
        r = free_and_strdup(&o.fact.target, target);
        if (r < 0)
                return r;
        r = count_inodes(fd, &o);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(o);
        return 0;
}

/* Whether the files are known to have the context that was asked for, or that SELinux is off. */
static bool labels_are_known(const StageSpec *spec, int root) {
        char label[CONTEXT_MAX + 1];
        ssize_t n;

        if (!spec->selinux)
                return true;
        if (isempty(spec->context))
                return false;
        n = fgetxattr(root, LABEL_XATTR, label, sizeof(label) - 1);
        if (n <= 0)
                return false;
        label[n] = '\0';
        /* Whether all files have it: SELinux refuses with EOPNOTSUPP to give one to a file then, before it
         * looks at anything else. Nothing can be written, as the two flags together can't be met. */
        return streq(label, spec->context) &&
               fsetxattr(root, LABEL_XATTR, label, strlen(label) + 1, XATTR_CREATE | XATTR_REPLACE) < 0 &&
               errno == EOPNOTSUPP;
}

static int fill_fact(const StageSpec *spec, int root, const char *source, MountFact *fact) {
        struct statvfs svfs;
        struct stat st;

        if (fstatvfs(root, &svfs) < 0 || fstat(root, &st) < 0)
                return -errno;
        fact->target = strdup("");
        fact->source = strdup(source);
        fact->fs_type = strdup(spec->source->fs->name);
        fact->device = strdup_printf("%u:%u", major(st.st_dev), minor(st.st_dev));
        fact->root = strdup("/");
        fact->context = strdup(spec->context);
        if (!fact->target || !fact->source || !fact->fs_type || !fact->device || !fact->root || !fact->context)
                return -ENOMEM;
        fact->read_only = fact->superblock_read_only = svfs.f_flag & ST_RDONLY;
        return mount_identify(root, &fact->mount_id, NULL);
}

int read_back_detached(const StageSpec *spec, int tree, const char *source, MountOutcome *ret) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_close_ int root = -EBADF;
        int r;

        assert(spec && spec->source);
        assert(source);
        assert(ret);

        /* Any directory of it may be mounted, and the numbers of its devices are none of the mount table's.
         */
        if (streq(spec->source->fs->name, "btrfs"))
                return 0;
        root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        if (!labels_are_known(spec, root))
                return 0;
        r = fill_fact(spec, root, source, &o.fact);
        if (r < 0)
                return r;
        o.superblock_read_only = o.fact.superblock_read_only;
        r = count_inodes(root, &o);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(o);
        return 1;
}
