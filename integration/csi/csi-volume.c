/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "csi/csi-message.h"
#include "csi/csi-volume.h"
#include "model/mount-options.h"

/* The keys of volume_context by which kubelet names the pod, if the CSIDriver object has podInfoOnMount. */
#define POD_NAMESPACE "csi.storage.k8s.io/pod.namespace"
#define POD_NAME      "csi.storage.k8s.io/pod.name"

void csi_volume_done(CsiVolume *v) {
        free(v->id);
        free(v->target);
        free(v->holder);
        free(v->fs_type);
        strv_free(v->options);
        free(v->context);
        free(v->group);
        *v = (CsiVolume){ 0 };
}

/* name: of the field, in CSI's words. */
static int read_text(const ProtobufCBinaryData *field, const char *name, char **ret, Failure *f) {
        int r;

        r = csi_text(field, ret);
        if (r == -EINVAL)
                return failure_set(f, FAILURE_INVALID_OPTION, "The request's %s is not UTF-8, or has a NUL.", name);
        return r;
}

int csi_volume_id(const char *driver, const ProtobufCBinaryData *handle, char **ret, Failure *f) {
        _cleanup_free_ char *text = NULL;
        char *id;
        int r;

        r = read_text(handle, "volume_id", &text, f);
        if (r != 0)
                return r;
        if (isempty(text))
                return failure_set(f, FAILURE_INVALID_VOLUME, "The request has no volume_id.");
        id = strdup_printf("%s/%s", driver, text);
        if (!id)
                return -ENOMEM;
        *ret = id;
        return 0;
}

/* Returns the value of a key of volume_context; NULL: there is none. */
static const ProtobufCBinaryData *find_entry(const Csi__NodePublishVolumeRequest *q, const char *key) {
        for (size_t i = 0; i < q->n_volume_context; i++) {
                const Csi__MapEntry *e = q->volume_context[i];

                if (e->key.len == strlen(key) && memcmp(e->key.data, key, e->key.len) == 0 && e->value.len > 0)
                        return &e->value;
        }
        return NULL;
}

/* Kubelet's targets are KUBELET/pods/UID/volumes/kubernetes.io~csi/VOLUME/mount. */
static int name_holder_by_path(const char *target, char **ret) {
        const char *uid = strstr(target, "/pods/");

        uid = uid ? uid + strlen("/pods/") : "";
        *ret = *uid && *uid != '/' ? strndup(uid, strcspn(uid, "/")) : strdup(target);
        return *ret ? 0 : -ENOMEM;
}

static int name_holder(const Csi__NodePublishVolumeRequest *q, const char *target, char **ret, Failure *f) {
        const ProtobufCBinaryData *namespace = find_entry(q, POD_NAMESPACE), *name = find_entry(q, POD_NAME);
        _cleanup_free_ char *a = NULL, *b = NULL;
        int r;

        if (!namespace || !name)
                return name_holder_by_path(target, ret);
        r = read_text(namespace, POD_NAMESPACE, &a, f);
        if (r != 0)
                return r;
        r = read_text(name, POD_NAME, &b, f);
        if (r != 0)
                return r;
        *ret = strdup_printf("%s/%s", a, b);
        return *ret ? 0 : -ENOMEM;
}

static const char *name_access_mode(Csi__AccessMode__Mode mode) {
        switch (mode) {
        case CSI__ACCESS_MODE__MODE__SINGLE_NODE_WRITER:
        case CSI__ACCESS_MODE__MODE__SINGLE_NODE_MULTI_WRITER:
                return "ReadWriteOnce";
        case CSI__ACCESS_MODE__MODE__SINGLE_NODE_SINGLE_WRITER:
                return "ReadWriteOncePod";
        case CSI__ACCESS_MODE__MODE__SINGLE_NODE_READER_ONLY:
        case CSI__ACCESS_MODE__MODE__MULTI_NODE_READER_ONLY:
                return "ReadOnlyMany";
        case CSI__ACCESS_MODE__MODE__MULTI_NODE_SINGLE_WRITER:
        case CSI__ACCESS_MODE__MODE__MULTI_NODE_MULTI_WRITER:
                return "ReadWriteMany";
        default:
                return NULL;
        }
}

/* A flag may be several options, as drivers pass flags on to mount(8). */
static int read_flags(const Csi__MountVolume *m, CsiVolume *v, Failure *f) {
        for (size_t i = 0; i < m->n_mount_flags; i++) {
                _cleanup_free_ char *flag = NULL;
                int r;

                r = read_text(&m->mount_flags[i], "mount_flags", &flag, f);
                if (r == 0)
                        r = parse_mount_options(flag, &v->options);
                if (r == -EINVAL)
                        return failure_set(f, FAILURE_INVALID_OPTION,
                                           "A mount flag of the request has no closing quote.");
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Takes only the context and ro out of the options: the driver may know others that selvold does not. */
static int read_options(CsiVolume *v, Failure *f) {
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        _cleanup_strv_ char **known = NULL;
        int r = 0;

        STRV_FOREACH (option, v->options)
                if (r == 0 && (startswith(*option, "context=") || streq(*option, "ro")))
                        r = strv_extend(&known, *option);
        if (r != 0)
                return r;
        r = mount_options_parse(known, &o, f);
        if (r != 0)
                return r;
        v->context = TAKE_PTR(o.context);
        v->read_only = v->read_only || o.read_only;
        return 0;
}

static int read_capability(const Csi__VolumeCapability *c, CsiVolume *v, Failure *f) {
        static const Csi__MountVolume none = CSI__MOUNT_VOLUME__INIT;
        const Csi__MountVolume *m = c && c->mount ? c->mount : &none;
        int r;

        v->access_mode = c && c->access_mode ? name_access_mode(c->access_mode->mode) : NULL;
        r = read_text(&m->fs_type, "fs_type", &v->fs_type, f);
        if (r == 0)
                r = read_text(&m->volume_mount_group, "volume_mount_group", &v->group, f);
        if (r == 0)
                r = read_flags(m, v, f);
        return r != 0 ? r : read_options(v, f);
}

int csi_volume_read_stage(const char *driver, const Csi__NodeStageVolumeRequest *q, CsiVolume *ret, Failure *f) {
        _cleanup_csi_volume_ CsiVolume v = { 0 };
        int r;

        r = csi_volume_id(driver, &q->volume_id, &v.id, f);
        if (r != 0)
                return r;
        r = read_text(&q->staging_target_path, "staging_target_path", &v.target, f);
        if (r != 0)
                return r;
        r = read_capability(q->volume_capability, &v, f);
        if (r != 0)
                return r;
        v.holder = strdup(HOLDER_STAGE);
        if (!v.holder)
                return -ENOMEM;
        *ret = TAKE_STRUCT(v);
        return 0;
}

int csi_volume_read_publish(const char *driver, const Csi__NodePublishVolumeRequest *q, CsiVolume *ret, Failure *f) {
        _cleanup_csi_volume_ CsiVolume v = { .read_only = q->readonly };
        int r;

        r = csi_volume_id(driver, &q->volume_id, &v.id, f);
        if (r != 0)
                return r;
        r = read_text(&q->target_path, "target_path", &v.target, f);
        if (r != 0)
                return r;
        r = name_holder(q, v.target, &v.holder, f);
        if (r != 0)
                return r;
        r = read_capability(q->volume_capability, &v, f);
        if (r != 0)
                return r;
        *ret = TAKE_STRUCT(v);
        return 0;
}

int csi_volume_set_values(const CsiVolume *v, const char *driver, OptionValue values[static REQUEST_OPTIONS],
                          Failure *f) {
        int r;

        values[OPTION_DRIVER] = (OptionValue){ .set = true, .string = driver };
        values[OPTION_HOLDER] = (OptionValue){ .set = true, .string = v->holder };
        values[OPTION_ACCESS_MODE] = (OptionValue){ .set = v->access_mode, .string = v->access_mode };
        if (isempty(v->group))
                return 0;
        r = value_parse(OPTION_FS_GROUP, v->group, &values[OPTION_FS_GROUP]);
        if (r == -ENOMEM)
                return r;
        return r < 0 ? failure_set_about(f, FAILURE_INVALID_OPTION, v->group,
                                         "The request's volume_mount_group '%s' is not " GID_EXPECTED ".")
                     : 0;
}
