/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which mounts "selvolctl adopt --all" finds, and under which ids. */
#include <glib.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "ctl/adoptable.h"
#include "ctl/answer.h"

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
#define CSI  PODS "uid-1/volumes/kubernetes.io~csi/pvc-1/mount"

static const struct {
        const char *name, *root;
        const char *line;            /* of mountinfo, besides the host's root */
        const char *found, *skipped; /* as JSON, with sorted keys */
} cases[] = {
        { "plain", PODS "uid-1", "2 1 8:2 / " CSI " rw - ext4 /dev/sdb rw,seclabel\n",
          "[{\"FSType\":\"ext4\",\"Holder\":\"uid-1\",\"Source\":\"/dev/sdb\",\"Target\":\"" CSI
          "\",\"Volume\":\"pvc-1\"}]",
          "[]" },
        { "context", CSI, "2 1 8:2 / " CSI " rw - xfs /dev/sdb rw,context=\"u:r:t:s0:c1,c2\",attr2\n",
          "[{\"Context\":\"u:r:t:s0:c1,c2\",\"FSType\":\"xfs\",\"Holder\":\"uid-1\",\"Source\":\"/dev/sdb\",\"Target\":\"" CSI
          "\",\"Volume\":\"pvc-1\"}]",
          "[]" },
        { "context/unquoted", "/", "2 1 8:2 / " CSI " rw - xfs /dev/sdb rw,context=u:r:t:s0\n",
          "[{\"Context\":\"u:r:t:s0\",\"FSType\":\"xfs\",\"Holder\":\"uid-1\",\"Source\":\"/dev/sdb\",\"Target\":\"" CSI
          "\",\"Volume\":\"pvc-1\"}]",
          "[{\"Target\":\"/\",\"Text\":\"no volume id follows from its path: adopt it with 'selvolctl adopt VOLUME TARGET'\"}]" },
        { "not-a-device", PODS "uid-1", "2 1 0:9 / " CSI " rw - nfs srv:/x rw\n", "[]", "[]" },
        { "beside", PODS "uid", "2 1 8:2 / " CSI " rw - ext4 /dev/sdb rw\n", "[]", "[]" },
        { "held", "/var", "2 1 8:2 / /var/held rw - ext4 /dev/sdb rw\n", "[]", "[]" },
        { "unrecorded", "/var", "2 1 8:2 / /var/lost rw - ext4 /dev/sdb rw\n",
          "[{\"FSType\":\"ext4\",\"Source\":\"/dev/sdb\",\"Target\":\"/var/lost\",\"Volume\":\"known\"}]", "[]" },
        { "no-id", "/var", "2 1 8:2 / /var/x rw - ext4 /dev/sdb rw\n", "[]",
          "[{\"Target\":\"/var/x\",\"Text\":\"no volume id follows from its path: adopt it with 'selvolctl adopt VOLUME "
          "TARGET'\"}]" },
        { "twice", "/var", "2 1 8:2 / " CSI " rw - ext4 /dev/sdb rw\n3 2 8:2 / " CSI " rw - ext4 /dev/sdb rw\n",
          "[{\"FSType\":\"ext4\",\"Holder\":\"uid-1\",\"Source\":\"/dev/sdb\",\"Target\":\"" CSI
          "\",\"Volume\":\"pvc-1\"}]",
          "[]" },
        { "other-device", "/var",
          "2 1 8:2 / " CSI " rw - ext4 /dev/sdb rw\n3 1 8:3 / " PODS "uid-2/volumes/p/pvc-1 rw - ext4 /dev/sdc rw\n"
          "4 1 8:2 / " PODS "uid-3/volumes/p/pvc-1 rw - ext4 /dev/sdb rw\n",
          "[{\"FSType\":\"ext4\",\"Holder\":\"uid-1\",\"Source\":\"/dev/sdb\",\"Target\":\"" CSI
          "\",\"Volume\":\"pvc-1\"},{\"FSType\":\"ext4\",\"Holder\":\"uid-3\",\"Source\":\"/dev/sdb\",\"Target\":\"" PODS
          "uid-3/volumes/p/pvc-1\",\"Volume\":\"pvc-1\"}]",
          "[{\"Target\":\"" PODS
          "uid-2/volumes/p/pvc-1\",\"Text\":\"another device is mounted with this volume id: adopt it "
          "with 'selvolctl adopt VOLUME TARGET'\"}]" },
};

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

static void test_find(gconstpointer data) {
        size_t i = GPOINTER_TO_SIZE(data);
        _cleanup_(mount_table_freep) MountTable *table = read_table(cases[i].line);
        _cleanup_json_ json_t *targets = json_pack("{s:b}", "/var/held", true),
                              *volumes = json_pack("{s:s}", "/var/lost", "known"), *found = NULL, *skipped = NULL;

        g_assert_cmpint(adoptable_find(table, cases[i].root, targets, volumes, &found, &skipped), ==, 0);
        assert_json(found, cases[i].found);
        assert_json(skipped, cases[i].skipped);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                g_autofree char *path = g_strdup_printf("/adoptable/path/%zu", i);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_path);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/adoptable/%s", cases[i].name);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_find);
        }
        return g_test_run();
}
