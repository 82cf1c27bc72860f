/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/context.h"
#include "model/volume-record.h"

static const char *const record_state_table[RECORD_STATES] = {
        [STATE_UNKNOWN] = "unknown",
        [STATE_PARTIAL] = "partial",
        [STATE_COMPLETE] = "complete",
};
DEFINE_STRING_TABLE(record_state, RecordState);

static const char *const record_effect_table[EFFECTS] = {
        [EFFECT_KEEP] = "keep",     [EFFECT_TAINT] = "taint",       [EFFECT_FORGET] = "forget",
        [EFFECT_DISOWN] = "disown", [EFFECT_DISTRUST] = "distrust",
};
DEFINE_STRING_TABLE(record_effect, RecordEffect);

static const char *const record_found_table[RECORDS_FOUND] = {
        [RECORD_UNSUPPORTED] = "unsupported",
        [RECORD_ABSENT] = "absent",
        [RECORD_PRESENT] = "present",
};
DEFINE_STRING_TABLE(record_found, RecordFound);

static const char *const record_verdict_table[VERDICTS] = {
        [VERDICT_STORE] = "store",     [VERDICT_AGREED] = "agreed",           [VERDICT_VOLUME] = "volume",
        [VERDICT_MISSING] = "missing", [VERDICT_ROLLED_BACK] = "rolled-back", [VERDICT_DIFFERS] = "differs",
        [VERDICT_BAD] = "bad",
};
DEFINE_STRING_TABLE(record_verdict, RecordVerdict);

void volume_record_done(VolumeRecord *r) {
        free(r->context);
        *r = (VolumeRecord){ 0 };
}

/* A context and a gid say something only beside a state that speaks of them. */
static const char *record_context(const VolumeRecord *r) {
        return r->label_state == STATE_UNKNOWN ? "" : strempty(r->context);
}

static gid_t record_gid(const VolumeRecord *r) {
        return r->ownership_state == STATE_UNKNOWN ? 0 : r->gid;
}

int volume_record_copy(const VolumeRecord *r, VolumeRecord *ret) {
        VolumeRecord copy = *r;

        copy.context = NULL;
        if (!isempty(r->context)) {
                copy.context = strdup(r->context);
                if (!copy.context)
                        return -ENOMEM;
        }
        *ret = copy;
        return 0;
}

bool volume_record_equal(const VolumeRecord *a, const VolumeRecord *b) {
        return a->label_state == b->label_state && streq(record_context(a), record_context(b)) &&
               a->tainted == b->tainted && a->ownership_state == b->ownership_state &&
               record_gid(a) == record_gid(b) && a->generation == b->generation;
}

char *volume_record_format(const VolumeRecord *r) {
        return strdup_printf("version=1 generation=%llu label=%s tainted=%s ownership=%s gid=%u context=%s",
                             (unsigned long long) r->generation, record_state_to_string(r->label_state),
                             r->tainted ? "yes" : "no", record_state_to_string(r->ownership_state), record_gid(r),
                             record_context(r));
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

static int parse_line(const char *line, VolumeRecord *ret) {
        uint64_t version, generation, gid = 0;
        int label = 0, tainted = 0, ownership = 0, r;
        _cleanup_free_ char *context = NULL;

        r = take_number(&line, "version", UINT64_MAX, &version);
        if (r < 0)
                return r;
        if (version != 1)
                return -EOPNOTSUPP;
        r = take_number(&line, "generation", VOLUME_RECORD_GENERATION_MAX, &generation);
        if (r >= 0)
                r = take_word(&line, "label", record_state_from_string, &label);
        if (r >= 0)
                r = take_word(&line, "tainted", yes_or_no, &tainted);
        if (r >= 0)
                r = take_word(&line, "ownership", record_state_from_string, &ownership);
        if (r >= 0)
                r = take_number(&line, "gid", (gid_t) -2, &gid);
        if (r >= 0)
                r = take_context(line, &context);
        if (r < 0)
                return r;
        if ((label == STATE_UNKNOWN) != isempty(context) || (ownership == STATE_UNKNOWN && gid != 0))
                return -EBADMSG;

        *ret = (VolumeRecord){ .label_state = (RecordState) label,
                               .context = TAKE_PTR(context),
                               .tainted = tainted,
                               .ownership_state = (RecordState) ownership,
                               .gid = (gid_t) gid,
                               .generation = generation };
        return 0;
}

int volume_record_parse(const char *text, size_t n, VolumeRecord *ret) {
        _cleanup_free_ char *line = NULL;

        if (n == 0 || n > VOLUME_RECORD_MAX || memchr(text, '\0', n))
                return -EBADMSG;
        line = strndup(text, n);
        if (!line)
                return -ENOMEM;
        return parse_line(line, ret);
}

uint64_t volume_record_next_generation(uint64_t generation) {
        return generation < VOLUME_RECORD_GENERATION_MAX ? generation + 1 : VOLUME_RECORD_GENERATION_MAX;
}

static void next_generation(VolumeRecord *r) {
        r->generation = volume_record_next_generation(r->generation);
}

static bool forget_label(VolumeRecord *r) {
        if (r->label_state == STATE_UNKNOWN)
                return false;
        r->label_state = STATE_UNKNOWN;
        r->context = (free(r->context), NULL);
        return true;
}

static bool forget_ownership(VolumeRecord *r) {
        if (r->ownership_state == STATE_UNKNOWN)
                return false;
        r->ownership_state = STATE_UNKNOWN;
        r->gid = 0;
        return true;
}

bool volume_record_apply(VolumeRecord *r, RecordEffect effect) {
        bool changed = false;

        if (effect == EFFECT_TAINT && !r->tainted)
                changed = r->tainted = true;
        if (effect == EFFECT_FORGET || effect == EFFECT_DISTRUST)
                changed = forget_label(r);
        if (effect == EFFECT_DISOWN || effect == EFFECT_DISTRUST)
                changed = forget_ownership(r) || changed;
        if (changed)
                next_generation(r);
        return changed;
}

int volume_record_begin(VolumeRecord *r, const RecordWork *work) {
        if (work->context) {
                char *context = strdup(work->context);

                if (!context)
                        return -ENOMEM;
                free(r->context);
                r->context = context;
                r->label_state = STATE_PARTIAL;
        }
        if (work->gid != GID_NONE) {
                r->ownership_state = STATE_PARTIAL;
                r->gid = work->gid;
        }
        next_generation(r);
        return 0;
}

void volume_record_finish(VolumeRecord *r, const RecordWork *work) {
        if (work->context) {
                r->label_state = STATE_COMPLETE;
                r->tainted = false;
        }
        if (work->gid != GID_NONE && !work->read_only)
                r->ownership_state = STATE_COMPLETE;
        next_generation(r);
}

/* The accounts contradict each other: neither is believed, and the next record is newer than both. */
static int distrust(const VolumeRecord *stored, uint64_t generation, VolumeRecord *ret) {
        if (generation < stored->generation)
                generation = stored->generation;
        *ret = (VolumeRecord){ .tainted = stored->tainted, .generation = volume_record_next_generation(generation) };
        return 0;
}

/* Of two accounts that make sense. What a store without a generation knows can't be put in order with what the volume
 * says: a taint in it may be the newer of the two. */
static RecordVerdict compare_records(const VolumeRecord *stored, const VolumeRecord *carried) {
        if (stored->generation == 0 && stored->tainted && !carried->tainted)
                return VERDICT_DIFFERS;
        if (carried->generation > stored->generation)
                return VERDICT_VOLUME;
        if (carried->generation < stored->generation)
                return VERDICT_ROLLED_BACK;
        return volume_record_equal(stored, carried) ? VERDICT_AGREED : VERDICT_DIFFERS;
}

static int reconcile_present(const VolumeRecord *stored, const char *text, VolumeRecord *ret,
                             RecordVerdict *ret_verdict) {
        _cleanup_(volume_record_done) VolumeRecord carried = { 0 };
        RecordVerdict verdict;
        int r;

        text = strempty(text);
        r = volume_record_parse(text, strnlen(text, VOLUME_RECORD_MAX + 1), &carried);
        if (r == -ENOMEM)
                return r;
        verdict = r < 0 ? VERDICT_BAD : compare_records(stored, &carried);
        if (verdict == VERDICT_AGREED || verdict == VERDICT_VOLUME) {
                *ret = carried;
                carried = (VolumeRecord){ 0 };
        } else
                (void) distrust(stored, carried.generation, ret);
        *ret_verdict = verdict;
        return 0;
}

int volume_record_reconcile(const VolumeRecord *stored, RecordFound found, const char *text, VolumeRecord *ret,
                            RecordVerdict *ret_verdict) {
        int r;

        switch (found) {
        case RECORD_PRESENT:
                return reconcile_present(stored, text, ret, ret_verdict);
        case RECORD_ABSENT:
                if (stored->generation == 0) {
                        *ret = (VolumeRecord){ .tainted = stored->tainted };
                        *ret_verdict = VERDICT_AGREED;
                        return 0;
                }
                *ret_verdict = VERDICT_MISSING;
                return distrust(stored, 0, ret);
        default:
                r = volume_record_copy(stored, ret);
                if (r >= 0)
                        *ret_verdict = VERDICT_STORE;
                return r;
        }
}
