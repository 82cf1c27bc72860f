/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "model/mark.h"
#include "fuzz.h"

/* The input is the mark of a disk, which anybody may have written. An accepted mark has one form. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(mark_done) Mark m = { 0 };
        _cleanup_free_ char *text = NULL;
        int r;

        r = mark_parse((const char *) data, size, &m);
        assert(r == 0 || r == -EBADMSG || r == -EOPNOTSUPP);
        if (r < 0)
                return 0;
        assert(mark_is_consistent(&m));
        text = mark_format(&m);
        assert(text && strlen(text) == size && memcmp(text, data, size) == 0);
        for (MarkChange change = MARK_KEEP; change < MARK_CHANGES; change++) {
                (void) mark_apply(&m, change);
                assert(mark_is_consistent(&m) && !mark_exceeds(&m, change));
        }
        return 0;
}
