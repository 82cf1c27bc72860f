/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which mounts "selvolctl adopt --all" finds, and under which ids. */
#include <unistd.h>

#include "basic/string-util.h"
#include "ctl/adoptable.h"
#include "ctl/answer.h"
#include "support/table.h"

#define PODS "/var/lib/kubelet/pods/"

static const struct {
        const char *path, *volume, *pod; /* NULL: it is none of kubelet's */
} paths[] = {
        { PODS "uid-1/volumes/kubernetes.io~csi/pvc-1/mount", "pvc-1", "uid-1" },
        { PODS "uid-1/volumes/kubernetes.io~aws-ebs/pvc-2", "pvc-2", "uid-1" },
        { PODS "uid-1/volumes/kubernetes.io~aws-ebs/mount", "mount", "uid-1" },
        { PODS "uid-1/volumes/kubernetes.io~csi/mount/mount", "mount", "uid-1" },
        { "/data/k/pods/uid-1/volumes/p/v", "v", "uid-1" },
        { PODS "uid-1/volumes/kubernetes.io~csi/pvc-1/other", NULL, NULL },
        { PODS "uid-1/volumes/kubernetes.io~csi", NULL, NULL },
        { PODS "uid-1/volume-subpaths/pvc-1/c/0", NULL, NULL },
        { "/var/lib/kubelet/plugins/kubernetes.io/csi/d/h/globalmount", NULL, NULL },
        { "/mount", NULL, NULL },
        { "/", NULL, NULL },
};

static void test_path(gconstpointer data) {
        size_t i = GPOINTER_TO_SIZE(data);
        g_autofree char *volume = NULL, *pod = NULL;

        g_assert_cmpint(kubelet_path_parse(paths[i].path, &volume, &pod), ==, paths[i].volume ? 1 : 0);
        g_assert_cmpstr(volume, ==, paths[i].volume);
        g_assert_cmpstr(pod, ==, paths[i].pod);
}

#define HOST "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw,seclabel\n"

static MountTable *read_table(const char *line) {
        g_autofree char *text = g_strconcat(HOST, line, NULL), *path = NULL;
        MountTable *table = NULL;
        int fd = g_file_open_tmp(NULL, &path, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        g_assert_cmpint(mount_table_read(path, &table), ==, 0);
        g_assert_cmpint(close(fd), ==, 0);
        g_assert_cmpint(unlink(path), ==, 0);
        return table;
}

static void assert_json(const json_t *value, const char *expected) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

        g_assert_cmpstr(text, ==, expected);
        free(text);
}

static void test_find(gconstpointer row) {
        _cleanup_(mount_table_freep) MountTable *table = read_table(row_need(row, "lines"));
        _cleanup_json_ json_t *targets = json_pack("{s:b}", "/var/held", true),
                              *volumes = json_pack("{s:s}", "/var/lost", "known"), *found = NULL, *skipped = NULL;

        g_assert_cmpint(adoptable_find(table, row_need(row, "directory"), targets, volumes, &found, &skipped), ==, 0);
        assert_json(found, row_need(row, "=found"));
        assert_json(skipped, row_need(row, "=skipped"));
}

void add_tests(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                g_autofree char *path = g_strdup_printf("/adoptable/path/%zu", i);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_path);
        }
        table_add_tests(table_load("adoptable.table", "id directory =found =skipped lines"), "/adoptable", test_find);
}
