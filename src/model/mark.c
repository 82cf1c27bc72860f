/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "model/context.h"
#include "model/mark.h"

static const char *const files_state_table[FILES_STATES] = {
        [FILES_UNKNOWN] = "unknown",
        [FILES_PARTIAL] = "partial",
        [FILES_COMPLETE] = "complete",
};
DEFINE_STRING_TABLE(files_state, FilesState);

static const char *const mark_found_table[MARKS_FOUND] = {
        [MARK_ABSENT] = "absent",
        [MARK_UNSUPPORTED] = "unsupported",
        [MARK_INVALID] = "invalid",
        [MARK_PRESENT] = "present",
};
DEFINE_STRING_TABLE(mark_found, MarkFound);

static const char *const mark_change_table[MARK_CHANGES] = {
        [MARK_KEEP] = "keep",
        [MARK_TAINT] = "taint",
        [MARK_RESET_LABELS] = "reset-labels",
        [MARK_RESET_OWNERSHIP] = "reset-ownership",
        [MARK_RESET_ALL] = "reset-all",
};
DEFINE_STRING_TABLE(mark_change, MarkChange);

void mark_done(Mark *m) {
        free(m->context);
        *m = (Mark){ 0 };
}

/* A context and a gid say something only beside a state that speaks of them. */
static const char *known_context(const Mark *m) {
        return m->label_state == FILES_UNKNOWN ? "" : strempty(m->context);
}

static gid_t known_gid(const Mark *m) {
        return m->ownership_state == FILES_UNKNOWN ? 0 : m->gid;
}

int mark_copy(const Mark *m, Mark *ret) {
        Mark copy = *m;

        copy.context = NULL;
        if (!isempty(m->context)) {
                copy.context = strdup(m->context);
                if (!copy.context)
                        return -ENOMEM;
        }
        *ret = copy;
        return 0;
}

bool mark_equal(const Mark *a, const Mark *b) {
        return a->label_state == b->label_state && streq(known_context(a), known_context(b)) &&
               a->tainted == b->tainted && a->ownership_state == b->ownership_state && known_gid(a) == known_gid(b);
}

bool mark_is_consistent(const Mark *m) {
        return (m->label_state == FILES_UNKNOWN) == isempty(m->context) &&
               (m->ownership_state != FILES_UNKNOWN || m->gid == 0) && m->gid != GID_NONE;
}

char *mark_format(const Mark *m) {
        return strdup_printf("version=2 inode=%llu fingerprint=%s label=%s tainted=%s ownership=%s gid=%u context=%s",
                             (unsigned long long) m->inode, m->fingerprint.text,
                             files_state_to_string(m->label_state), m->tainted ? "yes" : "no",
                             files_state_to_string(m->ownership_state), known_gid(m), known_context(m));
}

/* The value of a key at *p, to be freed; *p moves behind it and the blank that follows. */
static int take_value(const char **p, const char *key, char **ret) {
        const char *value = startswith(*p, key);
        size_t n;
        char *copy;

        if (!value || *value++ != '=')
                return -EBADMSG;
        n = strcspn(value, " ");
        copy = strndup(value, n);
        if (!copy)
                return -ENOMEM;
        *p = value + n + (value[n] == ' ' ? 1 : 0);
        *ret = copy;
        return 0;
}

/* A number in its one form. */
static int take_number(const char **p, const char *key, uint64_t max, uint64_t *ret) {
        _cleanup_free_ char *value = NULL;
        unsigned long long n;
        int r;

        r = take_value(p, key, &value);
        if (r < 0)
                return r;
        if (parse_u64(value, &n) < 0 || n > max || (value[0] == '0' && value[1] != '\0'))
                return -EBADMSG;
        *ret = n;
        return 0;
}

static int take_word(const char **p, const char *key, int (*from_string)(const char *), int *ret) {
        _cleanup_free_ char *value = NULL;
        int r;

        r = take_value(p, key, &value);
        if (r < 0)
                return r;
        r = from_string(value);
        if (r < 0)
                return -EBADMSG;
        *ret = r;
        return 0;
}

static int take_fingerprint(const char **p, Fingerprint *ret) {
        _cleanup_free_ char *value = NULL;
        int r;

        r = take_value(p, "fingerprint", &value);
        return r < 0 ? r : fingerprint_from_string(value, ret);
}

static int yes_or_no(const char *s) {
        return streq(s, "yes") ? 1 : streq(s, "no") ? 0 : -EINVAL;
}

/* The last key, so that whatever is left is its value. */
static int take_context(const char *p, char **ret) {
        const char *value = startswith(p, "context=");
        _cleanup_free_ char *canonical = NULL;
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (!value)
                return -EBADMSG;
        if (isempty(value))
                return 0;
        r = context_canonicalize(value, &canonical, &f);
        if (r < 0)
                return r;
        if (r > 0 || !streq(canonical, value))
                return -EBADMSG;
        *ret = TAKE_PTR(canonical);
        return 0;
}

static int parse_line(const char *line, Mark *ret) {
        _cleanup_(mark_done) Mark m = { .found = MARK_PRESENT };
        int label, tainted, ownership, r;
        uint64_t version, inode, gid;

        r = take_number(&line, "version", UINT64_MAX, &version);
        if (r < 0)
                return r;
        if (version != 2)
                return -EOPNOTSUPP;
        r = take_number(&line, "inode", UINT64_MAX, &inode);
        if (r < 0)
                return r;
        r = take_fingerprint(&line, &m.fingerprint);
        if (r < 0)
                return r;
        r = take_word(&line, "label", files_state_from_string, &label);
        if (r < 0)
                return r;
        r = take_word(&line, "tainted", yes_or_no, &tainted);
        if (r < 0)
                return r;
        r = take_word(&line, "ownership", files_state_from_string, &ownership);
        if (r < 0)
                return r;
        r = take_number(&line, "gid", GID_NONE - 1, &gid);
        if (r < 0)
                return r;
        r = take_context(line, &m.context);
        if (r < 0)
                return r;

        m.inode = inode;
        m.label_state = (FilesState) label;
        m.tainted = tainted;
        m.ownership_state = (FilesState) ownership;
        m.gid = (gid_t) gid;
        if (!mark_is_consistent(&m))
                return -EBADMSG;
        *ret = TAKE_STRUCT(m);
        return 0;
}

int mark_parse(const char *text, size_t n, Mark *ret) {
        _cleanup_free_ char *line = NULL;

        if (n == 0 || n > MARK_MAX || memchr(text, '\0', n))
                return -EBADMSG;
        line = strndup(text, n);
        if (!line)
                return -ENOMEM;
        return parse_line(line, ret);
}

static bool reset_labels(Mark *m) {
        if (m->label_state == FILES_UNKNOWN)
                return false;
        m->label_state = FILES_UNKNOWN;
        m->context = (free(m->context), NULL);
        return true;
}

static bool reset_ownership(Mark *m) {
        if (m->ownership_state == FILES_UNKNOWN)
                return false;
        m->ownership_state = FILES_UNKNOWN;
        m->gid = 0;
        return true;
}

bool mark_apply(Mark *m, MarkChange change) {
        bool changed = false;

        switch (change) {
        case MARK_TAINT:
                changed = !m->tainted;
                m->tainted = true;
                return changed;
        case MARK_RESET_LABELS:
                return reset_labels(m);
        case MARK_RESET_OWNERSHIP:
                return reset_ownership(m);
        case MARK_RESET_ALL:
                changed = reset_labels(m);
                return reset_ownership(m) || changed;
        case MARK_KEEP:
        default:
                return false;
        }
}

bool mark_exceeds(const Mark *m, MarkChange change) {
        bool labels = m->found == MARK_PRESENT && m->label_state == FILES_COMPLETE && !m->tainted;
        bool ownership = m->found == MARK_PRESENT && m->ownership_state == FILES_COMPLETE;

        switch (change) {
        case MARK_TAINT:
        case MARK_RESET_LABELS:
                return labels;
        case MARK_RESET_OWNERSHIP:
                return ownership;
        case MARK_RESET_ALL:
                return labels || ownership;
        case MARK_KEEP:
        default:
                return false;
        }
}

bool mark_is_outdated(const Mark *m, const MarkProof *proof) {
        return m->found == MARK_PRESENT && proof->belief != MARK_ELSEWHERE &&
               fingerprint_is_known(&proof->fingerprint) && !fingerprint_equal(&m->fingerprint, &proof->fingerprint);
}

int mark_begin(Mark *m, const MarkWork *work) {
        assert(work->context || work->gid != GID_NONE);

        if (work->context) {
                int r = free_and_strdup(&m->context, work->context);

                if (r < 0)
                        return r;
                m->label_state = FILES_PARTIAL;
        }
        if (work->gid != GID_NONE) {
                m->ownership_state = FILES_PARTIAL;
                m->gid = work->gid;
        }
        return 0;
}

void mark_finish(Mark *m, const MarkWork *work) {
        if (work->context) {
                m->label_state = FILES_COMPLETE;
                m->tainted = false;
        }
        if (work->gid != GID_NONE && !work->readers)
                m->ownership_state = FILES_COMPLETE;
}

/* --- fingerprints --- */

/* s_mnt_count of ext4 has 16 bits. */
enum { EXT_COUNTS = 1 << 16 };

/* Splits off the part that stays from mount to mount, by its length, and the count. Returns false if the
 * fingerprint is not one of ext4. */
static bool split_ext(const Fingerprint *f, size_t *ret_n, unsigned long long *ret_count) {
        const char *mtime, *count = strrchr(f->text, ':');

        if (!startswith(f->text, "ext4:") || !count || parse_u64(count + 1, ret_count) < 0 ||
            *ret_count >= EXT_COUNTS)
                return false;
        mtime = memrchr(f->text, ':', (size_t) (count - f->text));
        if (!mtime)
                return false;
        *ret_n = (size_t) (mtime - f->text);
        return true;
}

bool fingerprint_is_next(const Fingerprint *before, const Fingerprint *now) {
        unsigned long long old_count, new_count;
        size_t n, new_n;

        return split_ext(before, &n, &old_count) && split_ext(now, &new_n, &new_count) && n == new_n &&
               memcmp(before->text, now->text, n) == 0 && new_count == (old_count + 1) % EXT_COUNTS;
}

int fingerprint_from_string(const char *text, Fingerprint *ret) {
        size_t n = strlen(text);

        if (n >= FINGERPRINT_MAX || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-:") != n)
                return -EBADMSG;
        memset(ret, 0, sizeof(*ret));
        memcpy(ret->text, text, n);
        return 0;
}
