/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "fuzz.h"
#include "volume-plugin/records.h"

/* The input is the record of a volume of podman's. A record that was read is the same when it is written and
 * read again. Accepted options have what selvold needs, and D-Bus can carry them. */

static char path[] = "/dev/shm/selvol-fuzz-XXXXXX";
static int directory = -1;

static void clean_up(void) {
        (void) unlinkat(directory, "record", 0);
        (void) rmdir(path);
}

static void prepare(void) {
        if (directory >= 0)
                return;
        assert(mkdtemp(path));
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert(directory >= 0 && atexit(clean_up) == 0);
}

static void make_record(const uint8_t *data, size_t size) {
        int fd = openat(directory, "record", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert(fd >= 0 && write(fd, data, size) == (ssize_t) size);
        close(fd);
}

static void check_again(const json_t *options) {
        _cleanup_json_ json_t *again = NULL;
        int r = record_write(directory, "again", options);

        assert(r == 0 || r == -EFBIG);
        if (r < 0)
                return;
        assert(record_read(directory, "again", &again) == 0 && json_equal(options, again));
        assert(record_write(directory, "again", options) == -EEXIST);
        assert(record_remove(directory, "again") == 0);
}

static void check_options(const json_t *options) {
        _cleanup_options_ VolumeOptions o = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r = volume_options_read("selvol-volume-plugin/", "name", options, &o, &f);

        fuzz_check_failure(r, &f);
        if (r != 0) {
                assert(!o.volume && !o.source && !o.default_holder);
                return;
        }
        assert(utf8_is_valid(o.volume) && !isempty(o.source) && utf8_is_valid(o.source));
        assert(o.values[OPTION_HOLDER].set && o.values[OPTION_RELABEL_BY].set);
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                assert(!o.values[i].set || !o.values[i].string || utf8_is_valid(o.values[i].string));
                STRV_FOREACH (option, o.values[i].list)
                        assert(utf8_is_valid(*option));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_t *options = NULL;
        int r;

        prepare();
        make_record(data, size);
        r = record_read(directory, "record", &options);
        assert(r == 0 || r == -EBADMSG);
        assert((r == 0) == json_is_object(options));
        if (r < 0)
                return 0;
        check_again(options);
        check_options(options);
        return 0;
}
