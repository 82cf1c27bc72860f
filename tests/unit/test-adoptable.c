/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "selvolctl adopt --all" finds mounts, and takes ids of volumes from their paths. */
#include <unistd.h>

#include "ctl/adoptable.h"
#include "ctl/answer.h"
#include "support/files.h"
#include "support/table.h"

#define HOST "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw,seclabel\n"

static MountTable *read_table(const char *line) {
        g_autofree char *text = g_strconcat(HOST, line, NULL), *path = file_make(text);
        MountTable *table = NULL;

        g_assert_cmpint(mount_table_read(path, &table), ==, 0);
        g_assert_cmpint(unlink(path), ==, 0);
        return table;
}

static void assert_json(const json_t *value, const char *expected) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

        g_assert_cmpstr(text, ==, expected);
        free(text);
}

TEST_TABLE(test_find, "/adoptable", "adoptable.table", "id directory =found =skipped lines") {
        _cleanup_(mount_table_freep) MountTable *table = read_table(row_need(row, "lines"));
        _cleanup_json_ json_t *targets = json_pack("{s:b}", "/var/held", true),
                              *volumes = json_pack("{s:s}", "/var/lost", "known"), *found = NULL, *skipped = NULL;

        g_assert_cmpint(adoptable_find(table, row_need(row, "directory"), targets, volumes, &found, &skipped), ==, 0);
        assert_json(found, row_need(row, "=found"));
        assert_json(skipped, row_need(row, "=skipped"));
}
