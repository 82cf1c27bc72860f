/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "model/request.h"
#include "fuzz.h"

/* The input has the strings of a request, a line each. The target of an accepted request is beneath the
 * roots, and a second check changes nothing. */

static char *line_dup(char *const *lines, size_t i) {
        return strv_length(lines) > i && !streq(lines[i], "-") ? strdup(lines[i]) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_free_ char *text = fuzz_text(data, size), *context = NULL;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_strv_ char **lines = NULL;
        int r;

        assert(strv_split(text, "\n", &lines) == 0);
        if (strv_length(lines) < 3)
                return 0;
        q.volume = line_dup(lines, 0) ?: strdup("");
        q.source = line_dup(lines, 1);
        q.target = line_dup(lines, 2) ?: strdup("");
        q.fs_type = line_dup(lines, 3);
        q.context = line_dup(lines, 4);
        q.level = line_dup(lines, 5);
        q.holder = line_dup(lines, 6);
        q.driver = line_dup(lines, 7);
        q.volume_type = line_dup(lines, 8);
        if (strv_length(lines) > 9)
                assert(strv_copy(lines + 9, &q.mount_options) == 0);

        r = request_validate(&q, fuzz_settings(), &f);
        fuzz_check_failure(r, &f);
        if (r != 0)
                return 0;
        assert(path_is_normalized(q.target) && roots_contain(fuzz_settings()->target_roots, q.target));
        assert(volume_id_validate(q.volume, &(Failure){ 0 }) == 0 && text_is_clean(q.holder) &&
               text_is_clean(strempty(q.source)));
        context = q.context ? strdup(q.context) : NULL;
        assert(request_validate(&q, fuzz_settings(), &f) == 0);
        assert(streq_ptr(context, q.context));
        return 0;
}
