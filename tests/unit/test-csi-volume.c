/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "csi/csi-message.h"
#include "csi/csi-volume.h"
#include "support/cases.h"

#define CONTEXT    "system_u:object_r:container_file_t:s0:c1,c2"
#define TARGET     "/var/lib/kubelet/pods/2f1c/volumes/kubernetes.io~csi/pv-1/mount"
#define INFO(n, v) "csi.storage.k8s.io/pod.namespace=" n, "csi.storage.k8s.io/pod.name=" v
#define DRIVER     "disk.example.org"

/* The fields of a request, and the volume that they become. */
static const struct {
        const char *name;
        struct {
                const char *handle, *target, *fs_type, *group;
                const char *flags[4], *info[4]; /* info: KEY=VALUE */
                Csi__AccessMode__Mode mode;
                bool readonly;
        } in;
        struct {
                const char *id, *holder, *context, *options, *mode;
                bool read_only;
                FailureKind failure;
                const char *text;
        } out;
} rows[] = {
        { "bare", { "pvc-1", TARGET }, { DRIVER "/pvc-1", "2f1c" } },
        { "an id with other characters", { "a/../b#c~Ä x", TARGET }, { DRIVER "/a/../b#c~Ä x", "2f1c" } },
        { "no id", { "", TARGET }, { .failure = FAILURE_INVALID_VOLUME, .text = "has no volume_id" } },
        { "an id that is no text",
          { "pvc\xff", TARGET },
          { .failure = FAILURE_INVALID_OPTION, .text = "volume_id is not UTF-8" } },
        { "a pod", { "v", TARGET, .info = { INFO("default", "web-0") } }, { DRIVER "/v", "default/web-0" } },
        { "a pod without a name",
          { "v", TARGET, .info = { "csi.storage.k8s.io/pod.namespace=default", "csi.storage.k8s.io/pod.name=" } },
          { DRIVER "/v", "2f1c" } },
        { "a key that begins the same",
          { "v", TARGET, .info = { "csi.storage.k8s.io/pod.namespaces=a", "csi.storage.k8s.io/pod.name=b" } },
          { DRIVER "/v", "2f1c" } },
        { "a pod that is no text",
          { "v", TARGET, .info = { INFO("default", "web\xff") } },
          { .failure = FAILURE_INVALID_OPTION, .text = "pod.name is not UTF-8" } },
        { "a target of no pod", { "v", "/mnt/v" }, { DRIVER "/v", "/mnt/v" } },
        { "a target without a UID", { "v", "/k/pods//v" }, { DRIVER "/v", "/k/pods//v" } },
        { "kubelet's context",
          { "v", TARGET, .flags = { "noatime", "context=\"" CONTEXT "\"" } },
          { DRIVER "/v", "2f1c", CONTEXT, "noatime|context=\"" CONTEXT "\"" } },
        { "another order of categories",
          { "v", TARGET, .flags = { "context=\"system_u:object_r:container_file_t:s0:c2,c1\"" } },
          { DRIVER "/v", "2f1c", CONTEXT, "context=\"system_u:object_r:container_file_t:s0:c2,c1\"" } },
        { "many options in a flag",
          { "v", TARGET, .flags = { "ro,context=\"" CONTEXT "\",x=y" } },
          { DRIVER "/v", "2f1c", CONTEXT, "ro|context=\"" CONTEXT "\"|x=y", .read_only = true } },
        { "two contexts",
          { "v", TARGET,
            .flags = { "context=\"" CONTEXT "\"", "context=\"system_u:object_r:container_file_t:s0\"" } },
          { .failure = FAILURE_INCOMPATIBLE, .text = "hold two contexts" } },
        { "a context that is none",
          { "v", TARGET, .flags = { "context=\"a,b\"" } },
          { .failure = FAILURE_INVALID_CONTEXT, .text = "a,b" } },
        { "an open quote",
          { "v", TARGET, .flags = { "context=\"a" } },
          { .failure = FAILURE_INVALID_OPTION, .text = "no closing quote" } },
        { "a flag that is no text",
          { "v", TARGET, .flags = { "a\xff" } },
          { .failure = FAILURE_INVALID_OPTION, .text = "mount_flags is not UTF-8" } },
        /* selvol judges options only if it is to mount. */
        { "an option that selvol refuses",
          { "v", TARGET, .flags = { "suid", "A B" } },
          { DRIVER "/v", "2f1c", .options = "suid|A B" } },
        { "readonly", { "v", TARGET, .readonly = true }, { DRIVER "/v", "2f1c", .read_only = true } },
        { "a group that is no text",
          { "v", TARGET, .group = "\xff" },
          { .failure = FAILURE_INVALID_OPTION, .text = "volume_mount_group is not UTF-8" } },
        { "a type that is no text",
          { "v", TARGET, "\xff" },
          { .failure = FAILURE_INVALID_OPTION, .text = "fs_type is not UTF-8" } },
        { "mode 1", { "v", TARGET, .mode = 1 }, { DRIVER "/v", "2f1c", .mode = "ReadWriteOnce" } },
        { "mode 2", { "v", TARGET, .mode = 2 }, { DRIVER "/v", "2f1c", .mode = "ReadOnlyMany" } },
        { "mode 3", { "v", TARGET, .mode = 3 }, { DRIVER "/v", "2f1c", .mode = "ReadOnlyMany" } },
        { "mode 4", { "v", TARGET, .mode = 4 }, { DRIVER "/v", "2f1c", .mode = "ReadWriteMany" } },
        { "mode 5", { "v", TARGET, .mode = 5 }, { DRIVER "/v", "2f1c", .mode = "ReadWriteMany" } },
        { "mode 6", { "v", TARGET, .mode = 6 }, { DRIVER "/v", "2f1c", .mode = "ReadWriteOncePod" } },
        { "mode 7", { "v", TARGET, .mode = 7 }, { DRIVER "/v", "2f1c", .mode = "ReadWriteOnce" } },
        { "mode 99", { "v", TARGET, .mode = 99 }, { DRIVER "/v", "2f1c" } },
};

typedef struct RequestParts {
        Csi__AccessMode mode;
        Csi__MountVolume mount;
        Csi__VolumeCapability capability;
        ProtobufCBinaryData flags[4];
        Csi__MapEntry entries[4], *info[4];
} RequestParts;

static size_t fill_parts(RequestParts *p, const __typeof__(rows[0].in) *in) {
        size_t n = 0;

        *p = (RequestParts){ .mode = CSI__ACCESS_MODE__INIT,
                             .mount = CSI__MOUNT_VOLUME__INIT,
                             .capability = CSI__VOLUME_CAPABILITY__INIT };
        p->mode.mode = in->mode;
        p->mount.fs_type = csi_bytes(in->fs_type ?: "");
        p->mount.volume_mount_group = csi_bytes(in->group ?: "");
        p->mount.mount_flags = p->flags;
        for (; p->mount.n_mount_flags < 4 && in->flags[p->mount.n_mount_flags]; p->mount.n_mount_flags++)
                p->flags[p->mount.n_mount_flags] = csi_bytes(in->flags[p->mount.n_mount_flags]);
        p->capability.mount = &p->mount;
        p->capability.access_mode = &p->mode;
        for (; n < 4 && in->info[n]; n++) {
                const char *value = strchr(in->info[n], '=') + 1;

                p->entries[n] = (Csi__MapEntry) CSI__MAP_ENTRY__INIT;
                p->entries[n].key = csi_bytes(in->info[n]);
                p->entries[n].key.len = (size_t) (value - in->info[n]) - 1;
                p->entries[n].value = csi_bytes(value);
                p->info[n] = &p->entries[n];
        }
        return n;
}

TEST_ROWS(publish, "/csi-volume/publish", rows, row) {
        Csi__NodePublishVolumeRequest q = CSI__NODE_PUBLISH_VOLUME_REQUEST__INIT;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_csi_volume_ CsiVolume v = { 0 };
        g_autofree char *options = NULL;
        RequestParts p;

        q.n_volume_context = fill_parts(&p, &row->in);
        q.volume_context = p.info;
        q.volume_id = csi_bytes(row->in.handle);
        q.target_path = csi_bytes(row->in.target);
        q.volume_capability = &p.capability;
        q.readonly = row->in.readonly;
        g_assert_cmpint(csi_volume_read_publish(DRIVER, &q, &v, &f), ==, row->out.failure);
        if (row->out.failure) {
                g_assert_nonnull(strstr(f.message, row->out.text));
                g_assert_null(v.id);
                return;
        }
        g_assert_cmpstr(v.id, ==, row->out.id);
        g_assert_cmpstr(v.holder, ==, row->out.holder);
        g_assert_cmpstr(v.target, ==, row->in.target);
        g_assert_cmpstr(v.context, ==, row->out.context);
        g_assert_cmpstr(v.access_mode, ==, row->out.mode);
        g_assert_cmpint(v.read_only, ==, row->out.read_only);
        options = strv_join(v.options, "|");
        g_assert_cmpstr(options, ==, row->out.options ?: "");
}

TEST(stage, "/csi-volume/stage") {
        Csi__NodeStageVolumeRequest q = CSI__NODE_STAGE_VOLUME_REQUEST__INIT;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_csi_volume_ CsiVolume v = { 0 };
        RequestParts p;

        (void) fill_parts(&p, &(__typeof__(rows[0].in)){ .fs_type = "xfs", .group = "2000", .mode = 6 });
        q.volume_id = csi_bytes("pvc-1");
        q.staging_target_path = csi_bytes("/staging");
        q.volume_capability = &p.capability;
        g_assert_cmpint(csi_volume_read_stage(DRIVER, &q, &v, &f), ==, 0);
        g_assert_cmpstr(v.id, ==, DRIVER "/pvc-1");
        g_assert_cmpstr(v.target, ==, "/staging");
        g_assert_cmpstr(v.holder, ==, HOLDER_STAGE);
        g_assert_cmpstr(v.fs_type, ==, "xfs");
        g_assert_cmpstr(v.group, ==, "2000");
        g_assert_cmpstr(v.access_mode, ==, "ReadWriteOncePod");
}

/* A block device has no mount in its capability, and a request may have no capability. */
TEST(bare, "/csi-volume/no-capability") {
        Csi__NodeStageVolumeRequest q = CSI__NODE_STAGE_VOLUME_REQUEST__INIT;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_csi_volume_ CsiVolume v = { 0 };

        q.volume_id = csi_bytes("pvc-1");
        g_assert_cmpint(csi_volume_read_stage(DRIVER, &q, &v, &f), ==, 0);
        g_assert_cmpstr(v.target, ==, "");
        g_assert_cmpstr(v.fs_type, ==, "");
        g_assert_null(v.access_mode);
}

static const struct {
        const char *name, *group, *mode;
        int result;
} values_rows[] = {
        { "no group", "", "ReadWriteOnce", 0 },
        { "a group", "2000", NULL, 0 },
        { "a name", "staff", NULL, FAILURE_INVALID_OPTION },
        { "no group at all", "4294967295", NULL, FAILURE_INVALID_OPTION },
};

TEST_ROWS(values, "/csi-volume/values", values_rows, row) {
        const CsiVolume v = { .holder = (char *) "pod", .group = (char *) row->group, .access_mode = row->mode };
        OptionValue values[REQUEST_OPTIONS] = { 0 };
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpint(csi_volume_set_values(&v, DRIVER, values, &f), ==, row->result);
        g_assert_cmpstr(values[OPTION_DRIVER].string, ==, DRIVER);
        g_assert_cmpstr(values[OPTION_HOLDER].string, ==, "pod");
        g_assert_cmpint(values[OPTION_ACCESS_MODE].set, ==, row->mode ? 1 : 0);
        if (row->result)
                g_assert_nonnull(strstr(f.message, row->group));
        else
                g_assert_cmpint(values[OPTION_FS_GROUP].number, ==, strtoull(row->group, NULL, 10));
}
