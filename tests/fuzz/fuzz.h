/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "basic/string-util.h"
#include "model/settings.h"

/* Each file is a target of libFuzzer: it reads an input from outside, and checks the result. replay.c runs
 * the targets over the inputs in corpus/ as tests, and tools/fuzz looks for other inputs. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the input up to its first NUL. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
        char *s = strndup((const char *) data, size);

        assert(s);
        return s;
}

/* Returns the shipped configuration. */
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

/* A failure has to have a message, in one line and without invisible characters. */
static inline void fuzz_check_failure(int r, const Failure *f) {
        assert(r >= 0);
        assert(r == (int) f->kind);
        assert(r == 0 || (!isempty(f->message) && text_is_clean(text_join_lines(f->message))));
}
