/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "model/settings-load.h"

int settings_read(const char *usr_dir, const char *etc_dir, Config **ret, Failure *f) {
        _cleanup_free_ char *text = NULL;
        int r;

        assert(ret && f);

        r = config_load("selvol", usr_dir ? usr_dir : SETTINGS_USR, etc_dir ? etc_dir : SETTINGS_ETC, ret, &text);
        if (r < 0 && r != -ENOMEM && text)
                return failure_set(f, FAILURE_INVALID_OPTION, "Configuration: %s", text);
        return r;
}

int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) {
        _cleanup_(config_freep) Config *config = NULL;
        int r;

        assert(ret && f);

        r = settings_read(usr_dir, etc_dir, &config, f);
        return r != 0 ? r : settings_parse(config, ret, f);
}
