/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "label/record-xattr.h"
#include "label/files.h"

/* What is there, understood as far as possible. */
typedef struct Carried {
        RecordFound found;
        bool good;           /* present, and makes sense */
        VolumeRecord record; /* if good */
} Carried;

static void carried_done(Carried *c) {
        volume_record_done(&c->record);
}

void record_begun_done(RecordBegun *b) {
        volume_record_done(&b->record);
}

/* EPERM: file systems in user space that have no such xattrs say so too. ERANGE, E2BIG: longer than any of ours. */
int record_xattr_read(int fd, RecordFound *ret_found, char **ret_text) {
        char buffer[VOLUME_RECORD_MAX + 1];
        RecordFound found = RECORD_PRESENT;
        char *text;
        ssize_t n;

        n = fgetxattr(fd, VOLUME_RECORD_XATTR, buffer, VOLUME_RECORD_MAX);
        if (n < 0) {
                if (errno == ENODATA)
                        found = RECORD_ABSENT;
                else if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM)
                        found = RECORD_UNSUPPORTED;
                else if (errno != ERANGE && errno != E2BIG)
                        return -errno;
                n = 0;
        }
        buffer[n] = '\0';
        if (strlen(buffer) != (size_t) n || !utf8_is_valid(buffer))
                buffer[0] = '\0';

        text = strdup(buffer);
        if (!text)
                return -ENOMEM;
        *ret_found = found;
        *ret_text = text;
        return 0;
}

static int carried_read(int fd, Carried *ret) {
        _cleanup_free_ char *text = NULL;
        Carried c = { 0 };
        int r;

        r = record_xattr_read(fd, &c.found, &text);
        if (r < 0)
                return r;
        if (c.found == RECORD_PRESENT) {
                r = volume_record_parse(text, strlen(text), &c.record);
                if (r == -ENOMEM)
                        return r;
                c.good = r >= 0;
        }
        *ret = c;
        return 0;
}

/* EINVAL: the file system has nothing to sync. */
static int sync_root(int fd) {
        return fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* Whether somebody could skip work because of it. */
static bool claims_much(const Carried *c) {
        return c->good && ((c->record.label_state == STATE_COMPLETE && !c->record.tainted) ||
                           c->record.ownership_state == STATE_COMPLETE);
}

/* Puts record in the place of old, or at least takes old away. */
static int replace(int fd, const Carried *old, const VolumeRecord *record, FailureKind kind, Failure *f) {
        _cleanup_free_ char *text = volume_record_format(record);
        int error;

        if (!text)
                return -ENOMEM;
        if (fsetxattr(fd, VOLUME_RECORD_XATTR, text, strlen(text), 0) >= 0)
                return sync_root(fd);
        error = errno;
        if (error == EROFS || old->found == RECORD_ABSENT)
                return 0;
        if (fremovexattr(fd, VOLUME_RECORD_XATTR) >= 0 || errno == ENODATA)
                return sync_root(fd);
        if (!claims_much(old))
                return 0;
        return failure_set(
                f, kind,
                "The volume's own record (xattr " VOLUME_RECORD_XATTR
                " of its root directory) says that all files have the right label or group. That would no longer be true, and it can be neither changed nor removed (%s: %s).",
                strempty(strerrorname_np(error)), files_error_text(error));
}

bool record_effect_is_written(RecordFound found, RecordEffect effect) {
        return effect != EFFECT_KEEP &&
               (found == RECORD_PRESENT || (found == RECORD_ABSENT && effect == EFFECT_TAINT));
}

int record_xattr_mark(int fd, RecordEffect effect, Failure *f) {
        _cleanup_(volume_record_done) VolumeRecord record = { 0 };
        _cleanup_(carried_done) Carried old = { 0 };
        int r;

        r = carried_read(fd, &old);
        if (r < 0 || !record_effect_is_written(old.found, effect))
                return r;

        if (old.good) {
                r = volume_record_copy(&old.record, &record);
                if (r < 0)
                        return r;
                /* Whoever wrote it may have been killed before it was on disk. */
                if (!volume_record_apply(&record, effect))
                        return sync_root(fd);
        } else
                record = (VolumeRecord){ .tainted = effect == EFFECT_TAINT, .generation = 1 };
        return replace(fd, &old, &record, FAILURE_MOUNT_FAILED, f);
}

/* What the write left there: all of it, or nothing. */
static int check_written(int fd, const VolumeRecord *record, RecordFound *ret) {
        _cleanup_(carried_done) Carried now = { 0 };
        int r;

        r = carried_read(fd, &now);
        if (r >= 0)
                *ret = now.good && volume_record_equal(&now.record, record) ? RECORD_PRESENT : RECORD_ABSENT;
        return r;
}

/* The record to go on from: the volume's own, at least as new as what is known of it elsewhere. Of another generation
 * it says nothing about what will not be worked on. */
static int take_over(const Carried *old, uint64_t generation, VolumeRecord *ret) {
        int r = 0;

        if (old->good)
                r = volume_record_copy(&old->record, ret);
        if (r < 0 || ret->generation == generation)
                return r;
        ret->ownership_state = ret->label_state = STATE_UNKNOWN;
        ret->context = (free(ret->context), NULL);
        if (ret->generation < generation)
                ret->generation = generation;
        return 0;
}

int record_xattr_begin(int fd, const RecordWork *work, uint64_t generation, RecordBegun *ret, Failure *f) {
        _cleanup_(record_begun_done) RecordBegun begun = { 0 };
        _cleanup_(carried_done) Carried old = { 0 };
        int r;

        r = carried_read(fd, &old);
        if (r < 0)
                return r;
        begun.found = old.found;
        if (old.found != RECORD_UNSUPPORTED) {
                r = take_over(&old, generation, &begun.record);
                if (r >= 0)
                        r = volume_record_begin(&begun.record, work);
                if (r >= 0)
                        r = replace(fd, &old, &begun.record, FAILURE_ENTRIES_FAILED, f);
                if (r == 0)
                        r = check_written(fd, &begun.record, &begun.found);
                if (r != 0)
                        return r;
        }

        *ret = begun;
        begun = (RecordBegun){ 0 };
        return 0;
}

int record_xattr_finish(int fd, const RecordBegun *begun, const RecordWork *work, RecordEffect effect, Failure *f) {
        _cleanup_(volume_record_done) VolumeRecord record = { 0 };
        _cleanup_(carried_done) Carried now = { 0 };
        int r;

        r = carried_read(fd, &now);
        if (r < 0)
                return r;
        if (begun->found == RECORD_UNSUPPORTED || now.found != begun->found ||
            (now.good && !volume_record_equal(&now.record, &begun->record)))
                return 0;

        r = volume_record_copy(&begun->record, &record);
        if (r < 0)
                return r;
        volume_record_finish(&record, work);
        (void) volume_record_apply(&record, effect);
        return replace(fd, &now, &record, FAILURE_ENTRIES_FAILED, f);
}
