/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/path-util.h"
#include "fuzz.h"

/* The input is a configuration file. A mistake has to be named, and each root has to be an absolute path. */

static char directory[] = "/dev/shm/selvol-fuzz-XXXXXX", path[sizeof(directory) + sizeof("/selvol.conf")];

static void clean_up(void) {
        (void) unlink(path);
        (void) rmdir(directory);
}

static void prepare(void) {
        if (path[0])
                return;
        assert(mkdtemp(directory));
        (void) snprintf(path, sizeof(path), "%s/selvol.conf", directory);
        assert(atexit(clean_up) == 0);
}

static void check_roots(char *const *roots) {
        for (size_t i = 0; roots && roots[i]; i++)
                assert(path_is_normalized(roots[i]) && !streq(roots[i], "/"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(settings_done) Settings s = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int fd, r;

        prepare();
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert(fd >= 0 && write(fd, data, size) == (ssize_t) size);
        close(fd);
        r = settings_load("/nonexistent", directory, &s, &f);
        fuzz_check_failure(r, &f);
        if (r == 0) {
                check_roots(s.target_roots);
                check_roots(s.source_roots);
                check_roots(s.foreign_roots);
        }
        return 0;
}
