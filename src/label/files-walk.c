/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "basic/string-util.h"
#include "label/entry.h"
#include "label/files-walk.h"
#include "label/selinux.h"

const char *files_error_text(int error, bool group) {
        switch (error) {
        case EPERM:
                return group ? "immutable or append-only (chattr -i -a FILE), or the file system or its server lets nobody change groups (then its [Driver] section in selvol.conf needs 'FSGroupPolicy=None' or 'Mount')"
                             : "immutable or append-only (chattr -i -a FILE)";
        case EACCES:
                return "denied by the SELinux policy (ausearch -m avc) or by the file system's server";
        case ENOSPC:
                return group ? "no space is left on the volume (make room)"
                             : "no space is left on the volume for a label (make room, or mount with a context, which needs none)";
        case EDQUOT:
                return group ? "the quota leaves no space, perhaps to the new group (raise it)"
                             : "the quota leaves no space for a label (raise it, or mount with a context, which needs none)";
        case EROFS:
                return "read-only: a snapshot within the volume, or the file system became read-only (journalctl -k)";
        case EIO:
                return "the disk could not be read or written (journalctl -k)";
        case EOPNOTSUPP:
                return "of a kind that can't have a label, or another group or mode";
        case EXDEV:
                return "something else is mounted there, which is not entered (unmount it)";
        case EMFILE:
        case ENFILE:
                return "too deep for the limit of open files (raise LimitNOFILE= of selvol-worker.service)";
        case EAGAIN:
                return "changed too often during the walk (try again when less is going on)";
        case EUCLEAN:
                return "the file system is damaged here (e2fsck, xfs_repair, btrfs check)";
        default:
                return strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error";
        }
}

typedef struct FilesVisitor {
        Visitor visitor; /* first, for the cast from Visitor */
        const FilesSpec *spec;
        LabelWanted label;
        OwnerWanted owner;
        char *root_label; /* the root's label before the walk */
} FilesVisitor;

/* Returns NULL without a difference, or without memory. */
static char *join_texts(const char *label, const char *owner) {
        if (label && owner)
                return strdup_printf("%s and %s", label, owner);
        return label || owner ? strdup(label ?: owner) : NULL;
}

static int compare_entry(FilesVisitor *f, const TreeEntry *e, LabelBuffers *b, TreeVisit *ret) {
        _cleanup_free_ char *label = NULL, *owner = NULL;
        int r = 0, q = 0;

        if (f->spec->context)
                r = entry_label_compare(&f->label, e, b, &ret->mismatched, &label);
        if (f->spec->ownership)
                q = entry_owner_compare(&f->owner, e, &ret->misowned, &owner);
        ret->text = join_texts(label, owner);
        return r < 0 ? r : q;
}

/* A label that can't be changed does not stop the change of the group. */
static int change_entry(FilesVisitor *f, const TreeEntry *e, LabelBuffers *b, TreeVisit *ret) {
        int r = 0, q = 0;

        if (f->spec->context)
                r = entry_label_change(&f->label, e, b, &ret->changed);
        if (f->spec->ownership)
                q = entry_owner_change(&f->owner, e, &ret->changed);
        return r < 0 ? r : q;
}

static int visit_file(const Visitor *v, const TreeEntry *e, void *scratch, TreeVisit *ret) {
        FilesVisitor *f = (FilesVisitor *) v;
        struct stat st;

        /* The xattr calls do not report the type of the entry. The parent directory says "no directory", but
         * a program with write access to the device can forge that. The functions for owners check the type
         * themselves. */
        if (e->fd < 0 && !f->spec->ownership) {
                if (fstatat(AT_FDCWD, e->path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
                        return errno == ENOENT || errno == ESTALE ? 0 : -errno;
                if (S_ISDIR(st.st_mode))
                        return -EISDIR;
        }
        return v->changes ? change_entry(f, e, scratch, ret) : compare_entry(f, e, scratch, ret);
}

static int files_compare_root(const Visitor *v, int root, TreeVisit *ret) {
        FilesVisitor *f = (FilesVisitor *) v;
        _cleanup_free_ char *label = NULL, *owner = NULL;
        int r = 0;

        if (f->spec->context && !streq(f->root_label, f->spec->context)) {
                ret->mismatched = true;
                label = label_describe(f->root_label);
        }
        if (f->spec->ownership)
                r = entry_owner_compare(&f->owner, &(TreeEntry){ .fd = root, .describe = true }, &ret->misowned,
                                        &owner);
        ret->text = join_texts(label, owner);
        return r;
}

static int files_change_root(const Visitor *v, int root, TreeVisit *ret) {
        FilesVisitor *f = (FilesVisitor *) v;
        _cleanup_free_ char *label = NULL;
        int r;

        if (f->spec->context) {
                r = selinux_read_label(root, &label);
                if (r < 0)
                        return r;
                if (!streq(label, f->label.context)) {
                        if (fsetxattr(root, LABEL_XATTR, f->label.context, f->label.size, 0) < 0)
                                return -errno;
                        ret->changed = true;
                }
        }
        if (!f->spec->ownership)
                return 0;
        return entry_owner_change(&f->owner, &(TreeEntry){ .fd = root }, &ret->changed);
}

static int check_file_system(const FilesSpec *spec, Failure *f) {
        struct statvfs sv;
        int r;

        if (spec->context) {
                r = selinux_require_labels(spec->tree.fd, f);
                if (r != 0)
                        return r;
        }
        if (fstatvfs(spec->tree.fd, &sv) < 0)
                return -errno;
        if (spec->mode == FILES_VERIFY || !(sv.f_flag & ST_RDONLY))
                return 0;
        if (!spec->context)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "The volume is read-only, so the group of its files can't be changed.");
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The volume is read-only, so neither label nor group of its files can be changed: mount it with a context (OnVolumeMount), which needs no change.");
}

static int init_label(FilesVisitor *f) {
        const FilesSpec *spec = f->spec;
        struct statfs sfs;
        bool skips_equal;
        int r;

        /* ext4 does not write a label that is equal, seen with Linux 6.1 and 6.18
         * (ext4_xattr_set_handle()). */
        skips_equal = fstatfs(spec->tree.fd, &sfs) >= 0 && sfs.f_type == EXT4_SUPER_MAGIC;
        r = selinux_read_label(spec->tree.fd, &f->root_label);
        if (r < 0)
                return r;
        f->visitor.scratch_size = sizeof(LabelBuffers);
        f->visitor.visits_dirs_by_path = true;
        f->label = (LabelWanted){
                .context = spec->context,
                .size = strlen(spec->context) + 1,
                .blind = spec->blind || (skips_equal && !streq(f->root_label, spec->context)),
        };
        return 0;
}

int files_walk(const FilesSpec *spec, WalkResult *ret, Failure *f) {
        FilesVisitor visitor = {
                .visitor = {
                        .visit = visit_file,
                        .finish = spec->mode == FILES_CHANGE ? files_change_root : files_compare_root,
                        .changes = spec->mode == FILES_CHANGE,
                },
                .spec = spec,
                .owner = { .ownership = spec->ownership, .contended = spec->contended },
        };
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        TreeSpec tree = spec->tree;
        int r;

        assert(spec->context || spec->ownership);
        assert(!spec->tree.visitor);
        r = check_file_system(spec, f);
        if (r != 0)
                return r;
        if (spec->context) {
                r = init_label(&visitor);
                if (r < 0)
                        return r;
        }
        tree.visitor = &visitor.visitor;
        r = tree_walk(&tree, &result);
        free(visitor.root_label);
        if (r < 0)
                return r;
        for (WalkIssue *i = result.issues; i < result.issues + result.n_issues; i++) {
                if (i->error == 0)
                        continue;
                r = free_and_strdup(&i->text, files_error_text(i->error, spec->ownership));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(result);
        return 0;
}
