/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "label/files-walk.h"
#include "label/mark-xattr.h"

int mark_xattr_read(int fd, Mark *ret) {
        Mark mark = { 0 };
        char text[MARK_MAX];
        ssize_t n;
        int r;

        n = fgetxattr(fd, MARK_XATTR, text, sizeof(text));
        if (n >= 0) {
                r = mark_parse(text, (size_t) n, &mark);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        mark = (Mark){ .found = MARK_INVALID };
        } else
                switch (errno) {
                case ENODATA:
                        mark.found = MARK_ABSENT;
                        break;
                case EOPNOTSUPP:
                case ENOSYS:
                case EPERM: /* FUSE file systems without trusted xattrs return this, too */
                        mark.found = MARK_UNSUPPORTED;
                        break;
                case ERANGE: /* longer than any mark of selvol */
                case E2BIG:
                        mark.found = MARK_INVALID;
                        break;
                default:
                        return -errno;
                }
        *ret = mark;
        return 0;
}

/* Ignores EINVAL, the errno of a file system that has nothing to sync. */
static int sync_root(int fd) {
        return fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* Whether a mount could skip a walk because of the mark. */
static bool claims_much(const Mark *m) {
        return (m->label_state == FILES_COMPLETE && !m->tainted) || m->ownership_state == FILES_COMPLETE;
}

/* Replaces old with mark, or at least removes old. On a read-only file system old may stay for a mount,
 * because nothing else can change there either; old may not stay if files are going to be changed. */
static int replace_mark(int fd, const Mark *old, const Mark *mark, FailureKind kind, Failure *f) {
        _cleanup_free_ char *text = mark_format(mark);
        int error;

        if (!text)
                return -ENOMEM;
        if (fsetxattr(fd, MARK_XATTR, text, strlen(text), 0) >= 0)
                return sync_root(fd);
        error = errno;
        if ((error == EROFS && kind == FAILURE_MOUNT_FAILED) || old->found == MARK_ABSENT)
                return 0;
        if (fremovexattr(fd, MARK_XATTR) >= 0 || errno == ENODATA)
                return sync_root(fd);
        if (!claims_much(old))
                return 0;
        return failure_set(
                f, kind,
                "The mark on the volume (xattr " MARK_XATTR
                " of its root directory) says that all files have the right label or group. That would no longer be true, and it can be neither changed nor removed (%s: %s).",
                strempty(strerrorname_np(error)), files_error_text(error, false));
}

bool mark_change_is_written(MarkFound found, MarkChange change) {
        switch (found) {
        case MARK_PRESENT:
        case MARK_INVALID:
                return change != MARK_KEEP;
        case MARK_ABSENT:
                return change == MARK_TAINT;
        default:
                return false;
        }
}

/* Records the file system, its root's inode and its present fingerprint in the mark. */
static int set_place(int fd, const MarkProof *proof, Mark *mark) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        mark->identity = proof->identity;
        mark->inode = st.st_ino;
        mark->fingerprint = proof->fingerprint;
        return 0;
}

/* If the fingerprint can't be written, the next mount does not trust the mark. */
static int note_fingerprint(int fd, const MarkProof *proof, Mark *mark) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = set_place(fd, proof, mark);
        if (r < 0)
                return r;
        text = mark_format(mark);
        if (!text)
                return -ENOMEM;
        (void) fsetxattr(fd, MARK_XATTR, text, strlen(text), XATTR_REPLACE);
        return 0;
}

int mark_xattr_apply(int fd, MarkChange change, const MarkProof *proof, Mark *ret, Failure *f) {
        _cleanup_(mark_done) Mark old = { 0 }, mark = { 0 };
        bool changed;
        int r;

        r = mark_xattr_read(fd, &old);
        if (r < 0)
                return r;
        if (!mark_change_is_written(old.found, change)) {
                r = mark_is_outdated(&old, proof) ? note_fingerprint(fd, proof, &old) : 0;
                return r < 0 ? r : mark_xattr_read(fd, ret);
        }
        r = mark_copy(&old, &mark);
        if (r < 0)
                return r;
        changed = mark_apply(&mark, change);
        if (old.found != MARK_PRESENT || mark_is_outdated(&old, proof)) {
                changed = true;
                r = set_place(fd, proof, &mark);
                if (r < 0)
                        return r;
        }
        /* A right mark may not be on disk yet, if its writer was killed before fsync(2). */
        r = changed ? replace_mark(fd, &old, &mark, FAILURE_MOUNT_FAILED, f) : sync_root(fd);
        return r != 0 ? r : mark_xattr_read(fd, ret);
}

int mark_xattr_begin(int fd, const MarkWork *work, const MarkProof *proof, Mark *ret, Failure *f) {
        _cleanup_(mark_done) Mark old = { 0 }, begun = { 0 }, now = { 0 };
        int r;

        r = mark_xattr_read(fd, &old);
        if (r < 0)
                return r;
        r = mark_copy(&old, &begun);
        if (r < 0)
                return r;
        if (old.found != MARK_UNSUPPORTED) {
                if (proof->trust == MARK_STALE)
                        (void) mark_apply(&begun, MARK_RESET_ALL);
                r = mark_begin(&begun, work);
                if (r < 0)
                        return r;
                r = set_place(fd, proof, &begun);
                if (r < 0)
                        return r;
                r = replace_mark(fd, &old, &begun, FAILURE_ENTRIES_FAILED, f);
                if (r != 0)
                        return r;
                r = mark_xattr_read(fd, &now);
                if (r < 0)
                        return r;
                begun.found = now.found == MARK_PRESENT && mark_equal(&now, &begun) ? MARK_PRESENT : MARK_ABSENT;
        }
        *ret = TAKE_STRUCT(begun);
        return 0;
}

/* Whether the mark is still the one that mark_xattr_begin() wrote, or still absent. */
static bool is_as_begun(const Mark *now, const Mark *begun) {
        return now->found == begun->found && (now->found != MARK_PRESENT || mark_equal(now, begun));
}

int mark_xattr_finish(int fd, const Mark *begun, const MarkWork *work, MarkChange change, Mark *ret, Failure *f) {
        _cleanup_(mark_done) Mark now = { 0 }, mark = { 0 };
        int r;

        r = mark_xattr_read(fd, &now);
        if (r < 0)
                return r;
        if (now.found != MARK_UNSUPPORTED && is_as_begun(&now, begun)) {
                r = mark_copy(begun, &mark);
                if (r < 0)
                        return r;
                mark_finish(&mark, work);
                (void) mark_apply(&mark, change);
                r = replace_mark(fd, &now, &mark, FAILURE_ENTRIES_FAILED, f);
                if (r != 0)
                        return r;
        }
        return mark_xattr_read(fd, ret);
}
