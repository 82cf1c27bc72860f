/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/protocol.h"
#include "label/record-xattr.h"
#include "worker/marshal.h"
#include "worker/subject.h"
#include "worker/verbs.h"

/* To take note of a mount of the host's is no harm, as long as nothing is written to it. A record that is there
 * already makes it a volume of selvol's: left as it is because somebody has mounted the volume elsewhere to have a
 * look, it would claim too much. */
static int check_subject(const Child *child, const Subject *s, RecordEffect effect, Failure *f) {
        _cleanup_free_ char *text = NULL;
        RecordFound found;
        int r;

        r = record_xattr_read(s->root, &found, &text);
        if (r < 0 || !record_effect_is_written(found, effect))
                return r;
        r = subject_check(child, s, f);
        return r == 0 && found == RECORD_ABSENT ? subject_check_elsewhere(child, s, f) : r;
}

/* Also through a mount that is read-only: others of the same file system may not be. */
static int mark(const Child *child, const char *target, uint64_t mount_id, RecordEffect effect,
                RecordFound *ret_found, char **ret_text, Failure *f) {
        _cleanup_(subject_done) Subject subject = SUBJECT_INIT;
        int r;

        if (isempty(target))
                return failure_set(f, FAILURE_INVALID_TARGET, "No target is given.");
        r = subject_open(child, target, mount_id, CLONE_WRITABLE, &subject, f);
        if (r == 0)
                r = check_subject(child, &subject, effect, f);
        if (r == 0)
                r = record_xattr_mark(subject.root, effect, f);
        return r != 0 ? r : record_xattr_read(subject.root, ret_found, ret_text);
}

static int reply(sd_bus_message *m, RecordFound found, const char *text) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = marshal_record(answer, found, text);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

int verb_mark(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *text = NULL;
        RecordEffect effect;
        RecordFound found = RECORD_UNSUPPORTED;
        const char *target, *word;
        uint64_t mount_id;
        int r;

        r = sd_bus_message_read(m, WORKER_MARK_IN, &target, &mount_id, &word);
        if (r >= 0)
                r = unmarshal_effect(word, &effect);
        if (r < 0)
                return r;

        r = mark(child, target, mount_id, effect, &found, &text, &f);
        if (r == 0)
                r = reply(m, found, text);
        return child_finish(WORKER_MARK, target, r, &f, error);
}
