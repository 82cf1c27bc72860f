/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "fuzz.h"
#include "mount-helper/mount-request.h"

/* The input has the arguments that mount(8) passes to its helper, a line each: source, target, type and
 * options. D-Bus must be able to carry accepted ones. */

/* The helper reports a mistake on stderr. */
static void silence_reports(void) {
        static FILE *null;

        if (null)
                return;
        null = fopen("/dev/null", "we");
        assert(null);
        stderr = null;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(mount_request_done) MountRequest q = { 0 };
        _cleanup_free_ char *text = fuzz_text(data, size);
        _cleanup_strv_ char **lines = NULL;
        int r;

        silence_reports();
        assert(strv_split(text, "\n", &lines) == 0);
        if (!lines || !lines[0] || !lines[1] || !lines[2])
                return 0;
        q.source = lines[0];
        q.target = lines[1];
        assert(strv_copy(lines + 3, &q.options) == 0);
        r = mount_request_read(&q, lines[2]);
        assert(r == 0 || r == MOUNT_USAGE);
        if (r != 0)
                return 0;
        assert(!isempty(q.volume) && utf8_is_valid(q.volume) && utf8_is_valid(q.source) && utf8_is_valid(q.target));
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                assert(!q.values[i].set || !q.values[i].string || utf8_is_valid(q.values[i].string));
                STRV_FOREACH (option, q.values[i].list)
                        assert(utf8_is_valid(*option));
        }
        return 0;
}
