# SPDX-License-Identifier: LGPL-2.1-or-later
"""Messages of CSI, as kubelet sends them: each function returns a method and its request."""

from protobuf_wire import read, write

DRIVER = "disk.example.org"
# It is in each request that has secrets or tokens.
SECRET = "canary-5f1d0c"


def field(key, value):
    """A field with a number, text, bytes, or a list of these; nothing for None."""
    return write({key: value})


def fields(message):
    """Yields the fields of a message: their numbers and values."""
    for key, values in read(message).items():
        for value in values:
            yield key, value


def entry(key, value):
    return field(1, key) + field(2, value)


def stage_path(name):
    return f"/var/lib/kubelet/plugins/kubernetes.io/csi/{DRIVER}/{name}/globalmount"


def target_path(name, pod="a"):
    return f"/var/lib/kubelet/pods/{pod}/volumes/kubernetes.io~csi/{name}/mount"


def capability(context, group, mode, block, fs_type="ext4"):
    flags = [f'context="{context}"'] if context else []
    mount = field(1, fs_type) + field(2, ["noatime", *flags]) + field(3, group)
    return (field(1, b"") if block else field(2, mount)) + field(3, field(1, mode))


def stage(name, context=None, group=None, mode=1, block=False, fs_type="ext4"):
    return ("NodeStageVolume", field(1, name) + field(3, stage_path(name)) + field(4, capability(context, group, mode, block, fs_type)) +
            field(5, entry("password", SECRET)))


def publish(name, context=None, group=None, mode=1, block=False, pod="a", readonly=None, fs_type="ext4"):
    info = [entry("csi.storage.k8s.io/pod.namespace", "default"), entry("csi.storage.k8s.io/pod.name", f"web-{pod}"),
            entry("csi.storage.k8s.io/serviceAccount.tokens", SECRET)]
    return ("NodePublishVolume", field(1, name) + field(3, stage_path(name)) + field(4, target_path(name, pod)) +
            field(5, capability(context, group, mode, block, fs_type)) + field(6, readonly) + field(7, entry("password", SECRET)) +
            field(8, info))


def unpublish(name, pod="a"):
    return "NodeUnpublishVolume", field(1, name) + field(2, target_path(name, pod))


def unstage(name):
    return "NodeUnstageVolume", field(1, name) + field(2, stage_path(name))


def capabilities():
    return "NodeGetCapabilities", b""
