/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flexvolume/volume-options.h"
#include "fuzz.h"

/* The input is the JSON that kubelet passes to the FlexVolume driver. D-Bus must be able to carry accepted
 * options, and the text of a mistake must be fit for an event of a pod. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(volume_options_done) FlexOptions o = { 0 };
        _cleanup_free_ char *text = fuzz_text(data, size), *why = NULL;
        int r;

        r = volume_options_parse(text, &o, &why);
        assert(r == 0 || r == 1);
        if (r == 1) {
                assert(!isempty(why) && text_is_clean(why) && !o.json);
                return 0;
        }
        assert(!why);
        assert(utf8_is_valid(o.volume) && utf8_is_valid(o.source));
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                assert(!o.values[i].set || !o.values[i].string || utf8_is_valid(o.values[i].string));
                STRV_FOREACH (option, o.values[i].list)
                        assert(utf8_is_valid(*option));
        }
        return 0;
}
