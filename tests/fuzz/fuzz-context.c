/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/context.h"
#include "fuzz.h"

/* The input has two contexts in two lines. An accepted one has one form, and contains no mount options. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size), *canonical = NULL, *again = NULL, *level = NULL;
        _cleanup_failure_ Failure f = { 0 }, other = { 0 };
        char *second = strchr(text, '\n');
        int r;

        if (second)
                *second++ = '\0';
        r = context_canonicalize(text, &canonical, &f);
        fuzz_check_failure(r, &f);
        if (r == 0) {
                assert(strpbrk(canonical, "\"\\ \t\n") == NULL);
                assert(context_canonicalize(canonical, &again, &other) == 0);
                assert(streq(canonical, again));
        }
        failure_done(&other);
        fuzz_check_failure(level_canonicalize(text, &level, &other), &other);
        assert(contexts_conflict(text, strempty(second)) == contexts_conflict(strempty(second), text));
        assert(!canonical || !contexts_conflict(canonical, canonical));
        return 0;
}
