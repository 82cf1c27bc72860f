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

/* A context or gid has a meaning only if its state is not unknown. */
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
        return strdup_printf(
                "version=2 identity=%s inode=%llu fingerprint=%s label=%s tainted=%s ownership=%s gid=%u context=%s",
                m->identity.text, (unsigned long long) m->inode, m->fingerprint.text,
                files_state_to_string(m->label_state), m->tainted ? "yes" : "no",
                files_state_to_string(m->ownership_state), known_gid(m), known_context(m));
}

/* Parses a number without leading zeros. */
static int parse_number(const char *s, uint64_t max, uint64_t *ret) {
        unsigned long long n;

        if (parse_u64(s, &n) < 0 || n > max || (s[0] == '0' && s[1] != '\0'))
                return -EBADMSG;
        *ret = n;
        return 0;
}

int mark_parse(const char *text, size_t n, Mark *ret) {
        enum { VERSION, IDENTITY, INODE, FINGERPRINT, LABEL, TAINTED, OWNERSHIP, GID, CONTEXT, KEYS };
        static const char *const keys[KEYS] = {
                "version=", "identity=",  "inode=", "fingerprint=", "label=",
                "tainted=", "ownership=", "gid=",   "context=",
        };
        _cleanup_(mark_done) Mark m = { .found = MARK_PRESENT };
        _cleanup_failure_ Failure ignored = { 0 };
        _cleanup_free_ char *line = NULL;
        const char *values[KEYS];
        uint64_t version, inode, gid;
        int label, ownership, r;
        size_t found;
        char *next;

        if (n == 0 || n > MARK_MAX || memchr(text, '\0', n))
                return -EBADMSG;
        line = next = strndup(text, n);
        if (!line)
                return -ENOMEM;
        for (found = 0; found < KEYS; found++) {
                /* The value of the last key is the rest of the line. */
                const char *part = found == CONTEXT ? next : strsep(&next, " ");

                values[found] = part ? startswith(part, keys[found]) : NULL;
                if (!values[found])
                        break;
        }
        if (found <= VERSION || parse_number(values[VERSION], UINT64_MAX, &version) < 0)
                return -EBADMSG;
        /* Another version may have other keys. */
        if (version != 2)
                return -EOPNOTSUPP;
        if (found < KEYS || identity_from_string(values[IDENTITY], &m.identity) < 0 ||
            parse_number(values[INODE], UINT64_MAX, &inode) < 0 ||
            fingerprint_from_string(values[FINGERPRINT], &m.fingerprint) < 0 ||
            parse_number(values[GID], GID_NONE - 1, &gid) < 0)
                return -EBADMSG;
        label = files_state_from_string(values[LABEL]);
        ownership = files_state_from_string(values[OWNERSHIP]);
        m.tainted = streq(values[TAINTED], "yes");
        if (label < 0 || ownership < 0 || (!m.tainted && !streq(values[TAINTED], "no")))
                return -EBADMSG;
        if (!isempty(values[CONTEXT])) {
                r = context_canonicalize(values[CONTEXT], &m.context, &ignored);
                if (r < 0)
                        return r;
                if (r > 0 || !streq(m.context, values[CONTEXT]))
                        return -EBADMSG;
        }
        m.inode = inode;
        m.label_state = (FilesState) label;
        m.ownership_state = (FilesState) ownership;
        m.gid = (gid_t) gid;
        if (!mark_is_consistent(&m))
                return -EBADMSG;
        *ret = TAKE_STRUCT(m);
        return 0;
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
        return m->found == MARK_PRESENT && proof->trust != MARK_STALE && fingerprint_is_known(&proof->fingerprint) &&
               !fingerprint_equal(&m->fingerprint, &proof->fingerprint);
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

/* Finds the length of the part that no mount changes, and the count of mounts. Returns false if the
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

bool fingerprint_is_known(const Fingerprint *f) {
        return !isempty(f->text);
}

bool fingerprint_equal(const Fingerprint *a, const Fingerprint *b) {
        return fingerprint_is_known(a) && streq(a->text, b->text);
}

bool fingerprint_is_kept_in_mark(const Fingerprint *f) {
        return startswith(f->text, "ext4:");
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
