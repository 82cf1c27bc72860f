/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/mount-note.h"
#include "fuzz.h"

/* The input is the text of a note, and also a volume and a target, a line each, that a note is made of. A
 * note reads the same when it is written again. */

static bool notes_equal(const MountNote *a, const MountNote *b) {
        return a->id == b->id && a->unique_id == b->unique_id && a->adopted == b->adopted &&
               streq(a->device, b->device) && streq(a->volume, b->volume) && streq(a->target, b->target);
}

static void check_again(const MountNote *note) {
        _cleanup_free_ char *text = mount_note_format(note);
        _cleanup_(mount_note_done) MountNote again = { 0 };

        assert(text && mount_note_parse(text, note->id, &again) == 1);
        assert(notes_equal(note, &again));
}

static void check_made(char *text) {
        char *target = strchr(text, '\n');

        if (!target || target[1] != '/')
                return;
        *target++ = '\0';
        check_again(&(MountNote){ 7, UINT64_MAX, true, (char *) "8:1", text, target });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size), *lines = fuzz_text(data, size);
        _cleanup_(mount_note_done) MountNote note = { 0 };
        int r = mount_note_parse(text, 7, &note);

        assert(r == 0 || r == 1);
        if (r == 1) {
                assert(note.target[0] == '/' && !strchr(note.device, ' '));
                check_again(&note);
        } else
                assert(!note.device && !note.volume && !note.target);
        check_made(lines);
        return 0;
}
