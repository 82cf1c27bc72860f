/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "basic/log.h"
#include "basic/path-util.h"
#include "csi/csi-driver.h"
#include "csi/csi-message.h"
#include "csi/csi-selvold.h"
#include "csi/driver-volume.h"

#include "selvol-config.h"

/* Sets the reply. Returns a negative errno if there is none. */
typedef int (*DriverFunction)(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret);

static int answer_nothing(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        return 0;
}

/* The suite csi-sanity asks for the controller's capabilities although there is no controller, and takes no
 * empty list. */
static int answer_unknown_capability(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        static const uint8_t rpc_unknown[] = { 1 << 3 | 2, 2, 1 << 3 | 2, 0 };

        return grpc_bytes_append(&ret->message, rpc_unknown, sizeof(rpc_unknown));
}

static int answer_plugin_info(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        Csi__GetPluginInfoResponse a = CSI__GET_PLUGIN_INFO_RESPONSE__INIT;

        a.name = csi_bytes(CSI_DRIVER_NAME);
        a.vendor_version = csi_bytes(SELVOL_VERSION);
        return csi_write(&a.base, &ret->message);
}

/* Kubelet calls the driver at the socket at which it has asked this, as no other endpoint is named. */
static int answer_registration(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        Csi__PluginInfo a = CSI__PLUGIN_INFO__INIT;
        ProtobufCBinaryData version = csi_bytes("1.0.0");

        a.type = csi_bytes("CSIPlugin");
        a.name = csi_bytes(CSI_DRIVER_NAME);
        a.supported_versions = &version;
        a.n_supported_versions = 1;
        return csi_write(&a.base, &ret->message);
}

static int take_registration(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        const Csi__RegistrationStatus *status = (const Csi__RegistrationStatus *) m;
        _cleanup_free_ char *text = NULL, *escaped = NULL;
        int r;

        if (status->plugin_registered) {
                log_info("Kubelet has registered " CSI_DRIVER_NAME ".");
                return 0;
        }
        r = csi_text(&status->error, &text);
        escaped = r == -ENOMEM ? NULL : string_escape(r < 0 ? "its reason is no text" : text, 1000);
        if (!escaped)
                return -ENOMEM;
        log_warning("Kubelet has not registered " CSI_DRIVER_NAME ": %s", escaped);
        return 0;
}

static int answer_node_info(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        Csi__NodeGetInfoResponse a = CSI__NODE_GET_INFO_RESPONSE__INIT;
        char name[HOST_NAME_MAX + 1];

        if (gethostname(name, sizeof(name)) < 0)
                return -errno;
        a.node_id = csi_bytes(name);
        return csi_write(&a.base, &ret->message);
}

static int answer_capabilities(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        static const Csi__NodeServiceCapability__Type types[] = {
                CSI__NODE_SERVICE_CAPABILITY__TYPE__GET_VOLUME_STATS,
                CSI__NODE_SERVICE_CAPABILITY__TYPE__SINGLE_NODE_MULTI_WRITER,
                CSI__NODE_SERVICE_CAPABILITY__TYPE__VOLUME_MOUNT_GROUP,
        };
        Csi__NodeServiceCapability__Rpc rpcs[ELEMENTSOF(types)];
        Csi__NodeServiceCapability capabilities[ELEMENTSOF(types)], *list[ELEMENTSOF(types)];
        Csi__NodeGetCapabilitiesResponse a = CSI__NODE_GET_CAPABILITIES_RESPONSE__INIT;

        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                rpcs[i] = (Csi__NodeServiceCapability__Rpc) CSI__NODE_SERVICE_CAPABILITY__RPC__INIT;
                rpcs[i].type = types[i];
                capabilities[i] = (Csi__NodeServiceCapability) CSI__NODE_SERVICE_CAPABILITY__INIT;
                capabilities[i].rpc = &rpcs[i];
                list[i] = &capabilities[i];
        }
        a.capabilities = list;
        a.n_capabilities = ELEMENTSOF(list);
        return csi_write(&a.base, &ret->message);
}

/* Opens a directory without following a symbolic link, to look at it. path is normalized. */
static int open_directory(const char *path) {
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return root < 0 ? -errno : open_beneath(root, path[1] ? path + 1 : ".", O_PATH | O_DIRECTORY, 0);
}

/* Opens the directory that a target is in, which kubelet has made. */
static int open_parent(const char *target, const char **ret_name) {
        const char *name = strrchr(target, '/') + 1;
        _cleanup_free_ char *parent = strndup(target, (size_t) (name - target));

        if (!parent)
                return -ENOMEM;
        *ret_name = name;
        return open_directory(parent);
}

/* Makes the directory to mount on. If the mount fails, kubelet removes it: a job that goes on after the call
 * still needs it. */
static int make_target(const char *target, Failure *f) {
        const char *name;
        _cleanup_close_ int parent = open_parent(target, &name);

        if (parent >= 0 && (mkdirat(parent, name, 0750) >= 0 || errno == EEXIST))
                return 0;
        return failure_set(f, FAILURE_INVALID_TARGET, "The directory %s can't be made: %s", target,
                           strerror(parent < 0 ? -parent : errno));
}

static int remove_target(const char *target, GrpcReply *ret) {
        _cleanup_free_ char *escaped = string_escape(target, 200);
        const char *name;
        _cleanup_close_ int parent = open_parent(target, &name);

        if (parent == -ENOENT || (parent >= 0 && (unlinkat(parent, name, AT_REMOVEDIR) >= 0 || errno == ENOENT)))
                return 0;
        if (!escaped)
                return -ENOMEM;
        return grpc_reply_set(ret, GRPC_INTERNAL,
                              "selvol: The volume is unmounted, but the directory %s can't be removed: %s", escaped,
                              strerror(parent < 0 ? -parent : errno));
}

static int publish_volume(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        _cleanup_driver_volume_ DriverVolume v = { .source = NULL };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        r = driver_volume_read((const Csi__NodePublishVolumeRequest *) m, &v, &f);
        if (r == 0)
                r = make_target(v.csi.target, &f);
        if (r != 0)
                return r < 0 ? r : csi_reply_failure(&f, ret);
        return csi_call_mount(v.csi.id, v.source, v.csi.target, v.values, csi_deadline(q), ret);
}

/* Reads the id and a path of a request, as publish_volume() does. */
static int read_place(const ProtobufCBinaryData *volume, const ProtobufCBinaryData *field, const char *name,
                      char **ret_path, Failure *f) {
        _cleanup_free_ char *id = NULL, *path = NULL;
        int r;

        r = csi_volume_id(CSI_DRIVER_NAME, volume, &id, f);
        if (r != 0)
                return r;
        r = csi_text(field, &path);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || isempty(path))
                return failure_set(f, FAILURE_INVALID_TARGET, "The request has no %s, or one that is no text.", name);
        *ret_path = TAKE_PTR(path);
        return 0;
}

static int unpublish_volume(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        const Csi__NodeUnpublishVolumeRequest *request = (const Csi__NodeUnpublishVolumeRequest *) m;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *target = NULL;
        int r;

        r = read_place(&request->volume_id, &request->target_path, "target_path", &target, &f);
        if (r == 0 && !path_is_normalized(target))
                r = failure_set_about(&f, FAILURE_INVALID_TARGET, target,
                                      "The request's target_path '%s' is no absolute path in its only spelling.");
        if (r != 0)
                return r < 0 ? r : csi_reply_failure(&f, ret);
        assert(target);
        /* Without the id, as the record may have been lost: selvold unmounts what it has mounted there. */
        r = csi_call_unmount("", target, csi_deadline(q), ret);
        return r != 0 ? r : remove_target(target, ret);
}

static int write_usage(const struct statvfs *st, GrpcReply *ret) {
        Csi__VolumeUsage bytes = CSI__VOLUME_USAGE__INIT, inodes = CSI__VOLUME_USAGE__INIT,
                         *list[] = { &bytes, &inodes };
        Csi__NodeGetVolumeStatsResponse a = CSI__NODE_GET_VOLUME_STATS_RESPONSE__INIT;

        bytes.unit = CSI__VOLUME_USAGE__UNIT__BYTES;
        bytes.total = (int64_t) (st->f_blocks * st->f_frsize);
        bytes.available = (int64_t) (st->f_bavail * st->f_frsize);
        bytes.used = (int64_t) ((st->f_blocks - st->f_bfree) * st->f_frsize);
        inodes.unit = CSI__VOLUME_USAGE__UNIT__INODES;
        inodes.total = (int64_t) st->f_files;
        inodes.available = (int64_t) st->f_favail;
        inodes.used = (int64_t) (st->f_files - st->f_ffree);
        a.usage = list;
        /* vfat and btrfs count no inodes. */
        a.n_usage = st->f_files > 0 ? 2 : 1;
        return csi_write(&a.base, &ret->message);
}

static int answer_stats(const GrpcRequest *q, const ProtobufCMessage *m, GrpcReply *ret) {
        const Csi__NodeGetVolumeStatsRequest *request = (const Csi__NodeGetVolumeStatsRequest *) m;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *path = NULL, *escaped = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct statx st = { .stx_mask = 0 };
        struct statvfs usage;
        int r;

        r = read_place(&request->volume_id, &request->volume_path, "volume_path", &path, &f);
        if (r != 0)
                return r < 0 ? r : csi_reply_failure(&f, ret);
        assert(path);
        escaped = string_escape(path, 200);
        if (!escaped)
                return -ENOMEM;
        if (path_is_normalized(path))
                fd = open_directory(path);
        if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, 0, &st) < 0 || !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
                return grpc_reply_set(ret, GRPC_NOT_FOUND, "selvol: No volume is mounted at %s.", escaped);
        if (fstatvfs(fd, &usage) < 0)
                return grpc_reply_set(ret, GRPC_INTERNAL, "selvol: The file system at %s does not tell its use: %s",
                                      escaped, strerror(errno));
        return write_usage(&usage, ret);
}

static const struct DriverMethod {
        const char *name;
        DriverFunction answer;
        const ProtobufCMessageDescriptor *type; /* of the request; NULL: it has nothing that counts */
} methods[] = {
        { "/csi.v1.Identity/GetPluginInfo", answer_plugin_info },
        { "/csi.v1.Identity/GetPluginCapabilities", answer_nothing },
        { "/csi.v1.Identity/Probe", answer_nothing },
        { "/csi.v1.Controller/ControllerGetCapabilities", answer_unknown_capability },
        { "/csi.v1.Node/NodeGetInfo", answer_node_info },
        { "/csi.v1.Node/NodeGetCapabilities", answer_capabilities },
        { "/csi.v1.Node/NodePublishVolume", publish_volume, &csi__node_publish_volume_request__descriptor },
        { "/csi.v1.Node/NodeUnpublishVolume", unpublish_volume, &csi__node_unpublish_volume_request__descriptor },
        { "/csi.v1.Node/NodeGetVolumeStats", answer_stats, &csi__node_get_volume_stats_request__descriptor },
        { "/pluginregistration.Registration/GetInfo", answer_registration },
        { "/pluginregistration.Registration/NotifyRegistrationStatus", take_registration,
          &csi__registration_status__descriptor },
};

int driver_answer(const GrpcRequest *q, GrpcReply *ret, void *userdata) {
        for (size_t i = 0; i < ELEMENTSOF(methods); i++) {
                _cleanup_csi_ ProtobufCMessage *m = NULL;
                int r;

                if (!streq(q->method, methods[i].name))
                        continue;
                if (methods[i].type && csi_read(methods[i].type, q->message, q->size, &m) < 0)
                        return grpc_reply_set(ret, GRPC_INVALID_ARGUMENT, "The request can't be read.");
                r = methods[i].answer(q, m, ret);
                return r < 0 ? r : 0;
        }
        return grpc_reply_set(ret, GRPC_UNIMPLEMENTED, CSI_DRIVER_NAME " has no method %.100s.", q->method);
}
