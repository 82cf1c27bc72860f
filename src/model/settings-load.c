/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "model/settings-load.h"

int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        assert(ret && f);

        r = config_load("selvol", usr_dir ? usr_dir : "/usr/lib/selvol", etc_dir ? etc_dir : "/etc/selvol", &config,
                        &text);
        if (r < 0 && r != -ENOMEM && text)
                return failure_set(f, FAILURE_INVALID_OPTION, "Configuration: %s", text);
        if (r < 0)
                return r;
        return settings_parse(config, ret, f);
}
