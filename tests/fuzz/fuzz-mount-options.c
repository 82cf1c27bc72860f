/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/mount-options.h"
#include "fuzz.h"

/* The input has the type of a file system and mount options, a line each. An accepted option must not contain
 * a second one, or be one that is never allowed. */

static void check_accepted(const char *option) {
        static const char *const never[] = {
                "context=",     "fscontext=", "defcontext=", "rootcontext=", "suid",   "dev",
                "errors=panic", "uid=",       "loop",        "bind",         "remount"
        };

        assert(strpbrk(option, ",\"\\ \t\n") == NULL);
        for (size_t i = 0; i < ELEMENTSOF(never); i++)
                assert(!startswith(option, never[i]) || (streq(never[i], "dev") && !streq(option, "dev")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        _cleanup_free_ char *text = fuzz_text(data, size);
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_strv_ char **lines = NULL;
        const FileSystem *fs;
        int r;

        assert(strv_split(text, "\n", &lines) == 0);
        fs = settings_file_system(fuzz_settings(), lines && lines[0] ? lines[0] : "ext4");
        if (!fs)
                fs = settings_file_system(fuzz_settings(), "ext4");
        r = mount_options_parse(lines, &o, &f);
        fuzz_check_failure(r, &f);
        if (r != 0)
                return 0;
        assert(!o.context || strpbrk(o.context, "\"\\ \t\n") == NULL);
        r = mount_options_check(o.options, fuzz_settings(), fs, &f);
        fuzz_check_failure(r, &f);
        STRV_FOREACH (option, o.options)
                if (r == 0)
                        check_accepted(*option);
        return 0;
}
