/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "csi/csi-message.h"
#include "csi/driver-volume.h"

#define OF_KUBELET "csi.storage.k8s.io/"

void driver_volume_done(DriverVolume *v) {
        values_done(v->values);
        csi_volume_done(&v->csi);
        strv_free(v->texts);
        *v = (DriverVolume){ 0 };
}

/* Returns whether the pod itself defines the volume, in which case who creates pods would name a disk. */
static bool is_ephemeral(const Csi__MapEntry *e) {
        return e->key.len == strlen(OF_KUBELET "ephemeral") &&
               memcmp(e->key.data, OF_KUBELET "ephemeral", e->key.len) == 0 &&
               !(e->value.len == strlen("false") && memcmp(e->value.data, "false", e->value.len) == 0);
}

static int check_request(const Csi__NodePublishVolumeRequest *q, const CsiVolume *v, Failure *f) {
        if (!path_is_normalized(v->target))
                return failure_set_about(f, FAILURE_INVALID_TARGET, v->target,
                                         "The request's target_path '%s' is no absolute path in its only spelling.");
        if (!q->volume_capability)
                return failure_set(f, FAILURE_INVALID_OPTION, "The request has no volume_capability.");
        if (!q->volume_capability->mount)
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        CSI_DRIVER_NAME
                        " mounts file systems, and passes no block devices on. Write volumeMode: Filesystem into the PersistentVolume.");
        for (size_t i = 0; i < q->n_volume_context; i++)
                if (is_ephemeral(q->volume_context[i]))
                        return failure_set(
                                f, FAILURE_INVALID_OPTION,
                                CSI_DRIVER_NAME
                                " does not mount volumes that a pod defines: who creates pods could name any disk. Use a PersistentVolume.");
        return 0;
}

/* Sets the options that follow from the fields of the request. */
static int set_fields(DriverVolume *v, Failure *f) {
        /* Kubernetes leaves it to the driver that the pods of a volume for readers do not write. */
        bool read_only = v->csi.read_only || streq_ptr(v->csi.access_mode, "ReadOnlyMany");
        int r;

        r = csi_volume_set_values(&v->csi, CSI_DRIVER_NAME, v->values, f);
        if (r != 0)
                return r;
        if (!isempty(v->csi.fs_type))
                v->values[OPTION_FS_TYPE] = (OptionValue){ .set = true, .string = v->csi.fs_type };
        if (read_only)
                v->values[OPTION_READ_ONLY] = (OptionValue){ .set = true, .number = true };
        if (!v->csi.options)
                return 0;
        v->values[OPTION_MOUNT_OPTIONS].set = true;
        return strv_copy(v->csi.options, &v->values[OPTION_MOUNT_OPTIONS].list);
}

static int set_attribute(DriverVolume *v, const char *key, const char *value, Failure *f) {
        _cleanup_free_ char *name = NULL, *expected = NULL;
        RequestOptionId id;
        int r;

        if (streq(key, "device") || streq(key, "source")) {
                if (v->source)
                        return failure_set(f, FAILURE_INVALID_OPTION,
                                           "The attributes device and source mean the same: write one of them.");
                v->source = value;
                return 0;
        }
        id = option_find(key, METHOD_MOUNT);
        if (id == REQUEST_OPTIONS)
                return failure_set_about(f, FAILURE_INVALID_OPTION, key,
                                         "Unknown attribute '%s' of the volume: selvol-csi(8) has all of them.");
        r = value_parse(id, value, &v->values[id]);
        if (r == 0 || r == -ENOMEM)
                return r;
        name = string_escape(value, 200);
        expected = value_expected(id);
        if (!name || !expected)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Attribute %s: '%s' must be %s.", key, name, expected);
}

/* Copies a string of volume_context, which the volume then owns. */
static int keep_text(DriverVolume *v, const ProtobufCBinaryData *field, const char **ret, Failure *f) {
        char *text = NULL;
        int r;

        r = csi_text(field, &text);
        if (r == -EINVAL)
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "The request's volume_context is not UTF-8, or has a NUL.");
        if (r == 0)
                r = strv_consume(&v->texts, text);
        if (r < 0)
                return r;
        *ret = text;
        return 0;
}

/* The attributes of the volume, which replace what the fields of the request say. */
static int set_attributes(DriverVolume *v, const Csi__NodePublishVolumeRequest *q, Failure *f) {
        for (size_t i = 0; i < q->n_volume_context; i++) {
                const Csi__MapEntry *e = q->volume_context[i];
                const char *key = "", *value = "";
                int r;

                r = keep_text(v, &e->key, &key, f);
                if (r != 0)
                        return r;
                if (startswith(key, OF_KUBELET))
                        continue;
                r = keep_text(v, &e->value, &value, f);
                if (r != 0)
                        return r;
                r = set_attribute(v, key, value, f);
                if (r != 0)
                        return r;
        }
        return 0;
}

int driver_volume_read(const Csi__NodePublishVolumeRequest *q, DriverVolume *ret, Failure *f) {
        _cleanup_driver_volume_ DriverVolume v = { .source = NULL };
        int r;

        r = csi_volume_read_publish(CSI_DRIVER_NAME, q, &v.csi, f);
        if (r != 0)
                return r;
        r = check_request(q, &v.csi, f);
        if (r != 0)
                return r;
        r = set_fields(&v, f);
        if (r != 0)
                return r;
        r = set_attributes(&v, q, f);
        if (r != 0)
                return r;
        if (!v.source)
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "The volume has no attribute device. Name the device or the image in volumeAttributes of the PersistentVolume.");
        /* A level that an attribute names is for a mount with it; kubelet's own context says so itself. */
        if ((v.values[OPTION_SELINUX_LEVEL].set || v.values[OPTION_SELINUX_CONTEXT].set) &&
            !v.values[OPTION_SELINUX_RELABEL_POLICY].set)
                v.values[OPTION_SELINUX_RELABEL_POLICY] = (OptionValue){ .set = true, .string = "OnVolumeMount" };
        *ret = TAKE_STRUCT(v);
        return 0;
}
