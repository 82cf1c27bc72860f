/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-id128.h>

#include "basic/string-util.h"
#include "ctl/journal.h"

/* A directory of journal files for tests, in place of those of the node. */
#define DIRECTORY_VARIABLE "SELVOL_JOURNAL"

static bool is_denied(const char *directory, const char *machine) {
        _cleanup_free_ char *path = strdup_printf("%s/%s/system.journal", directory, machine);

        return path && access(path, R_OK) < 0 && errno == EACCES;
}

/* Finds out why no file is open: libsystemd opens only the files that the caller may read, and reports no
 * error for the others. */
static int explain_nothing(void) {
        char machine[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r;

        r = sd_id128_get_machine(&id);
        if (r < 0)
                return r;
        sd_id128_to_string(id, machine);
        return is_denied("/var/log/journal", machine) || is_denied("/run/log/journal", machine) ? -EACCES : -ENODATA;
}

int journal_open(sd_journal **ret) {
        const char *directory = getenv(DIRECTORY_VARIABLE);
        _cleanup_(sd_journal_closep) sd_journal *j = NULL;
        uint64_t size;
        int r;

        assert(ret);

        r = directory ? sd_journal_open_directory(&j, directory, SD_JOURNAL_SYSTEM)
                      : sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
        if (r < 0)
                return r;
        r = sd_journal_get_usage(j, &size);
        if (r < 0)
                return r;
        if (size == 0) /* no file is open */
                return directory ? (is_denied(directory, ".") ? -EACCES : -ENODATA) : explain_nothing();
        *ret = TAKE_PTR(j);
        return 0;
}

int journal_get(sd_journal *j, const char *field, char **ret) {
        const void *data;
        char *value;
        size_t size, skipped = strlen(field) + 1;

        if (sd_journal_get_data(j, field, &data, &size) < 0 || size < skipped) {
                *ret = NULL;
                return 0;
        }
        value = strndup((const char *) data + skipped, size - skipped);
        if (!value)
                return -ENOMEM;
        *ret = value;
        return 0;
}
