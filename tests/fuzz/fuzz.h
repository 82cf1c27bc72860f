/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "basic/string-util.h"
#include "model/settings.h"

/* One target of libFuzzer a file: an input from outside, and what must hold whatever it is. replay.c runs
 * them over the inputs in corpus/ as tests; tools/fuzz looks for others. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a string, up to its first NUL. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
        char *s = strndup((const char *) data, size);

        assert(s);
        return s;
}

/* The shipped configuration. */
static inline const Settings *fuzz_settings(void) {
        static Settings settings;
        static bool loaded;

        if (!loaded) {
                _cleanup_failure_ Failure f = { 0 };
                int r = settings_load(SOURCE_ROOT "/src", "/nonexistent", &settings, &f);

                assert(r == 0);
                loaded = true;
        }
        return &settings;
}

/* A failure that is told says something, in one line that nothing can be hidden in. */
static inline void fuzz_check_failure(int r, const Failure *f) {
        assert(r >= 0);
        assert(r == (int) f->kind);
        assert(r == 0 || (!isempty(f->message) && text_is_clean(f->message)));
}
