/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz.h"

/* The escaped input must have nothing that a terminal obeys, or that is invisible. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = fuzz_text(data, size), *whole = string_escape(text, 4096),
                            *cut = string_escape(text, 7);

        assert(whole && cut);
        assert(text_is_clean(whole) && text_is_clean(cut));
        assert(!text_is_clean(text) || strchr(text, '\\') || strlen(text) > 4096 || streq(whole, text));
        assert(strlen(cut) <= 7 * 4 + 3);
        return 0;
}
