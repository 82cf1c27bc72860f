#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""grpcio plays kubelet, and calls selvol's own CSI driver, in front of selvold with a fake worker.

Arguments: the directories of the source and of the build, and selvol-csi. Prints TAP."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [f"{sys.argv[1]}/tests/unit", f"{sys.argv[1]}/tests/support"]

try:
    import grpc
except ImportError as error:
    print(f"1..0 # SKIP {error} (Debian: python3-grpcio)")
    sys.exit(0)

import protobuf_wire as wire
from tap import finish, report

WAIT_SEC = 60
WRITER, READERS, POD_WRITER, SHARED = 1, 3, 6, 7
CONTEXT = 'context="system_u:object_r:container_file_t:s0:c10,c20"'
OTHER = 'context="system_u:object_r:container_file_t:s0:c30,c40"'


class Node:
    """A bus, selvold with a fake worker, and the driver."""

    def __init__(self, source, build, driver):
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)
        self.build = build
        self.environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.path}/bus",
                            "SELVOL_LOG_LEVEL": "debug",
                            # The search for leaks at the end of each child takes longer than all its work.
                            "ASAN_OPTIONS": "detect_leaks=0"}
        self.programs = []
        drop_ins = self.path / "etc/selvol.conf.d"
        drop_ins.mkdir(parents=True)
        (drop_ins / "10-test.conf").write_text(f"[Service]\nMetricsTextfile=\n[Worker]\nTargetRoots={self.path}\n")
        (self.path / "state").mkdir(mode=0o700)
        self.start("bus", "dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={self.path}/bus")
        self.start("worker", f"{build}/tests/bus/fake-worker", f"{self.path}/worker", str(self.path))
        self.start(None, f"{build}/src/selvold", "--state-directory", f"{self.path}/state", "--worker", f"{self.path}/worker",
                   "--config-usr", f"{source}/src", "--config-etc", f"{self.path}/etc", "--trusted-uid", str(os.getuid()))
        wait_for(lambda: self.ctl("list").returncode == 0)
        environment, self.environment = self.environment, {**os.environ, "SELVOL_LOG_LEVEL": "debug"}
        self.start("csi", driver, f"--listen={self.path}/csi", f"--bus=unix:path={self.path}/bus")
        self.environment = environment
        self.call_sec = WAIT_SEC
        self.channel = grpc.insecure_channel(f"unix:{self.path}/csi")

    def start(self, listens, *command):
        """Starts a program, and waits until it listens at the socket of that name."""
        with (self.path / "log").open("ab") as log:
            self.programs.append(subprocess.Popen(command, env=self.environment, stderr=log, umask=0o27))
        if listens:
            wait_for(lambda: can_connect(f"{self.path}/{listens}"))

    def stop(self):
        self.channel.close()
        for program in reversed(self.programs):
            program.terminate()
            program.wait(WAIT_SEC)

    def ctl(self, *arguments):
        return subprocess.run([f"{self.build}/src/ctl/selvolctl", *arguments], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)

    def holder(self, volume, target):
        """Returns what selvold knows of the volume's mount at the target, with the properties of the volume."""
        shown = json.loads(self.ctl("show", f"org.selvol.csi/{volume}", "--json").stdout or "[]")
        found = [{**v, **holder} for v in shown for holder in v["Holders"] if holder["Target"] == target]
        return found[0] if found else {}

    def call(self, method, fields=None):
        """Returns the code and text of a call, or OK and the fields of the answer."""
        try:
            answer = self.channel.unary_unary(method)(wire.write(fields or {}), timeout=self.call_sec, wait_for_ready=True)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        return "OK", wire.read(answer)

    def target(self, pod, made=True):
        """Returns a target in a directory that kubelet has made."""
        parent = self.path / f"pods/{pod}/volumes/kubernetes.io~csi/pv"
        if made:
            parent.mkdir(parents=True, exist_ok=True)
        return f"{parent}/mount"

    def publish(self, target, volume="disk-1", mount=None, mode=WRITER, context=None, **more):
        """mount: the fields of the access type mount, 1: fs_type, 2: flags, 3: group"""
        attributes = {"device": "/dev/vdb", **POD} if context is None else context
        fields = {1: volume, 4: target, 5: {2: {1: "ext4", 2: [CONTEXT]} if mount is None else mount, 3: {1: mode}},
                  8: wire.write_map(attributes)}
        fields.update({int(number[1:]): value for number, value in more.items()})
        return self.call("/csi.v1.Node/NodePublishVolume", fields)

    def unpublish(self, target, volume="disk-1"):
        return self.call("/csi.v1.Node/NodeUnpublishVolume", {1: volume, 2: target})


POD = {"csi.storage.k8s.io/pod.name": "web", "csi.storage.k8s.io/pod.namespace": "default", "csi.storage.k8s.io/ephemeral": "false",
       "csi.storage.k8s.io/serviceAccount.tokens": "canary"}


def wait_for(condition):
    end = time.monotonic() + WAIT_SEC
    while not condition():
        if time.monotonic() > end:
            sys.exit("Bail out! The condition does not come true.")
        time.sleep(0.01)


def can_connect(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def compare(name, found, expected):
    report(name, [] if found == expected else [f"{found!r}", f"is not {expected!r}"])


# ---- calls without a volume -----------------------------------------------------------------------------

def test_identity(node):
    version = [b"0.1.0"]
    compare("identity: name", node.call("/csi.v1.Identity/GetPluginInfo"), ("OK", {1: [b"org.selvol.csi"], 2: version}))
    for method in ("Identity/GetPluginCapabilities", "Identity/Probe"):
        compare(f"identity: {method}", node.call(f"/csi.v1.{method}"), ("OK", {}))
    compare("identity: a method that it has not", node.call("/csi.v1.Node/NodeStageVolume"),
            ("UNIMPLEMENTED", "org.selvol.csi has no method /csi.v1.Node/NodeStageVolume."))
    compare("node: host name", node.call("/csi.v1.Node/NodeGetInfo"), ("OK", {1: [socket.gethostname().encode()]}))
    code, answer = node.call("/csi.v1.Node/NodeGetCapabilities")
    # GET_VOLUME_STATS, SINGLE_NODE_MULTI_WRITER, VOLUME_MOUNT_GROUP
    compare("node: capabilities", (code, [wire.read(wire.read(c)[1][0]) for c in answer[1]]), ("OK", [{1: [2]}, {1: [5]}, {1: [6]}]))
    try:
        node.channel.unary_unary("/csi.v1.Node/NodePublishVolume")(b"\x0a\xff", timeout=WAIT_SEC)
        code = "OK"
    except grpc.RpcError as error:
        code = error.code().name
    compare("node: no message", code, "INVALID_ARGUMENT")


def test_registration(node):
    compare("registration: kubelet calls the same socket", node.call("/pluginregistration.Registration/GetInfo"),
            ("OK", {1: [b"CSIPlugin"], 2: [b"org.selvol.csi"], 4: [b"1.0.0"]}))
    for fields in ({1: 1}, {2: "it is\x1b[1m there"}, {2: b"\xff"}):
        compare(f"registration: {fields}", node.call("/pluginregistration.Registration/NotifyRegistrationStatus", fields), ("OK", {}))


# ---- a volume -------------------------------------------------------------------------------------------

def test_life(node):
    target = node.target("life")
    for time_ in ("once", "again"):
        compare(f"life: publish {time_}", node.publish(target), ("OK", {}))
        holder = node.holder("disk-1", target)
        compare(f"life: {time_}: holder", (holder.get("Holder"), holder.get("Driver")), ("default/web", "org.selvol.csi"))
    compare("life: mode of the directory", oct(os.stat(target).st_mode & 0o7777), "0o750")
    code, text = node.publish(target, mount={1: "ext4", 2: [CONTEXT, "noatime"]})
    compare("life: other options at the same target", code, "ALREADY_EXISTS")
    # kubelet's own retry of a call whose answer was lost
    for time_ in ("once", "again"):
        compare(f"life: unpublish {time_}", node.unpublish(target), ("OK", {}))
    report("life: the directory is removed", [target] if os.path.exists(target) else [])
    compare("life: nobody holds it", node.holder("disk-1", target), {})


def test_conflict(node):
    first, second = node.target("one"), node.target("two")
    compare("conflict: one", node.publish(first), ("OK", {}))
    code, text = node.publish(second, mount={1: "ext4", 2: [OTHER]})
    compare("conflict: another label", code, "FAILED_PRECONDITION")
    report("conflict: who has it", [] if "default/web" in text and text.startswith("selvol: ") else [text])
    compare("conflict: the same label", node.publish(second), ("OK", {}))
    for target in (first, second):
        compare("conflict: end", node.unpublish(target), ("OK", {}))
    compare("conflict: now the other label", node.publish(second, mount={1: "ext4", 2: [OTHER]}), ("OK", {}))
    compare("conflict: end of that", node.unpublish(second), ("OK", {}))


# Name, arguments of publish(), what selvold knows then.
ACCEPTED = [
    ("a group", {"mount": {1: "ext4", 2: [CONTEXT], 3: "2000"}}, {"FSGroup": 2000}),
    ("read-only", {"_6": 1}, {"ReadOnly": True}),
    ("for readers", {"mode": READERS}, {"ReadOnly": True}),
    ("for one pod", {"mode": POD_WRITER}, {"ReadOnly": False}),
    ("for several pods", {"mode": SHARED}, {"ReadOnly": False}),
    ("an image", {"context": {"source": "/var/lib/selvol-images/a"}}, {"Source": "/var/lib/selvol-images/a"}),
    ("a tmpfs", {"mount": {1: "tmpfs", 2: [CONTEXT, "size=1m"]}, "context": {"source": "scratch"}}, {"FSType": "tmpfs"}),
    ("a level of the volume's own", {"mount": {}, "context": {"device": "/dev/vdb", "level": "s0:c1,c2"}},
     {"Context": "system_u:object_r:container_file_t:s0:c1,c2", "Strategy": "context-mount"}),
    ("no label", {"mount": {1: "ext4"}}, {"Strategy": "relabel"}),
    ("attributes before fields", {"volume": "disk-2", "context": {"device": "/dev/xfs", "fs-type": "xfs", "holder": "me", "read-only": "yes",
                                              "options": "noatime"}}, {"FSType": "xfs", "Holder": "me", "ReadOnly": True}),
    ("a handle with everything", {"volume": "a/b#~ü%", "context": {"device": "/dev/vdc", **POD}}, {"Holder": "default/web"}),
    ("pods without names", {"context": {"device": "/dev/vdb"}}, {"Holder": "pod"}),
]


def test_accepted(node):
    for name, arguments, expected in ACCEPTED:
        target = node.target("pod")
        compare(f"accepted: {name}", node.publish(target, **arguments), ("OK", {}))
        holder = node.holder(arguments.get("volume", "disk-1"), target)
        compare(f"accepted: {name}: what selvold knows", {key: holder.get(key) for key in expected}, expected)
        compare(f"accepted: {name}: unpublish", node.unpublish(target, arguments.get("volume", "disk-1")), ("OK", {}))


NO_PATH = "selvol: The request's target_path '%s' is no absolute path in its only spelling."
NOT_EPHEMERAL = "selvol: org.selvol.csi does not mount volumes that a pod defines: who creates pods could name any disk. Use a PersistentVolume."

# Name, arguments of publish(), code, text.
REFUSED = [
    ("no volume", {"volume": None}, "INVALID_ARGUMENT", "selvol: The request has no volume_id."),
    ("a volume that is no text", {"volume": b"a\0b"}, "INVALID_ARGUMENT", "selvol: The request's volume_id is not UTF-8, or has a NUL."),
    ("no target", {"_4": None}, "INVALID_ARGUMENT", NO_PATH % ""),
    ("a relative target", {"_4": "a/b"}, "INVALID_ARGUMENT", NO_PATH % "a/b"),
    ("a target that leads upward", {"_4": "/var/lib/kubelet/pods/../../a"}, "INVALID_ARGUMENT", NO_PATH % "/var/lib/kubelet/pods/../../a"),
    ("no capability", {"_5": None}, "INVALID_ARGUMENT", "selvol: The request has no volume_capability."),
    ("a block device", {"_5": {1: {}, 3: {1: WRITER}}}, "INVALID_ARGUMENT",
     "selvol: org.selvol.csi mounts file systems, and passes no block devices on. Write volumeMode: Filesystem into the PersistentVolume."),
    ("an ephemeral volume", {"context": {"device": "/dev/vdb", "csi.storage.k8s.io/ephemeral": "true"}}, "INVALID_ARGUMENT", NOT_EPHEMERAL),
    ("a volume that may be ephemeral", {"context": {"device": "/dev/vdb", "csi.storage.k8s.io/ephemeral": "TRUE"}}, "INVALID_ARGUMENT", NOT_EPHEMERAL),
    ("no device", {"context": {}}, "INVALID_ARGUMENT",
     "selvol: The volume has no attribute device. Name the device or the image in volumeAttributes of the PersistentVolume."),
    ("device and source", {"context": {"device": "/dev/vdb", "source": "/dev/vdc"}}, "INVALID_ARGUMENT",
     "selvol: The attributes device and source mean the same: write one of them."),
    ("an unknown attribute", {"context": {"device": "/dev/vdb", "a\x1b": "b"}}, "INVALID_ARGUMENT",
     "selvol: Unknown attribute 'a\\x1b' of the volume: selvol-csi(8) has all of them."),
    ("an option of another method", {"context": {"device": "/dev/vdb", "depth": "full"}}, "INVALID_ARGUMENT",
     "selvol: Unknown attribute 'depth' of the volume: selvol-csi(8) has all of them."),
    ("a bad value", {"context": {"device": "/dev/vdb", "wait": "soon"}}, "INVALID_ARGUMENT",
     "selvol: Attribute wait: 'soon' must be a time such as 20s, 1min or 500ms."),
    ("an attribute that is no text", {"context": {"device": b"\xff"}}, "INVALID_ARGUMENT",
     "selvol: The request's volume_context is not UTF-8, or has a NUL."),
    ("a group that is none", {"mount": {3: "-1"}}, "INVALID_ARGUMENT",
     "selvol: The request's volume_mount_group '-1' is not the number of a group, at most 4294967294."),
    ("a flag without an end", {"mount": {2: ['context="u:r:t:s0']}}, "INVALID_ARGUMENT", "selvol: A mount flag of the request has no closing quote."),
]


def test_refused(node):
    target = node.target("refused")
    for name, arguments, code, text in REFUSED:
        compare(f"refused: {name}", node.publish(target, **arguments), (code, text))
    report("refused: no directory is made", [target] if os.path.exists(target) else [])
    for name, parent in (("a directory that kubelet has not made", node.target("none", made=False)), ("a link", f"{node.path}/link/mount")):
        if name == "a link":
            os.symlink("pods/refused", node.path / "link")
        code, text = node.publish(parent)
        compare(f"refused: {name}", (code, f"The directory {parent} can't be made: " in text), ("INVALID_ARGUMENT", True))
    code, text = node.publish(target, context={"device": "/etc/shadow"})
    compare("refused: by selvold", (code, text.startswith("selvol: ")), ("INVALID_ARGUMENT", True))
    os.rmdir(target)


def test_slow(node):
    """A walk takes longer than the call: the next call waits for it."""
    target = node.target("slow")
    volume = {"volume": "slow", "mount": {1: "ext4", 2: [CONTEXT], 3: "3000"}, "context": {"device": "/dev/walk-held", **POD}}
    node.call_sec = 5
    code, text = node.publish(target, **volume)
    node.call_sec = WAIT_SEC
    compare("slow: the time is over", (code, text.startswith("selvol: Volume org.selvol.csi/slow is not ready yet")), ("ABORTED", True))
    (node.path / "go").touch()
    compare("slow: the next call", node.publish(target, **volume), ("OK", {}))
    compare("slow: the mount", node.holder("slow", target).get("State"), "mounted")
    compare("slow: unpublish", node.unpublish(target, "slow"), ("OK", {}))


def test_unpublish(node):
    for name, arguments, text in (("no volume", ("/t", None), "selvol: The request has no volume_id."),
                                  ("no target", (None,), "selvol: The request has no target_path, or one that is no text."),
                                  ("a relative target", ("a/b",), NO_PATH % "a/b")):
        compare(f"unpublish: {name}", node.unpublish(*arguments), ("INVALID_ARGUMENT", text))
    target = node.target("strange")
    for name, path in (("never there", target), ("without its directory", node.target("none", made=False)), ("not selvol's", "/nonexistent/a")):
        compare(f"unpublish: {name}", node.unpublish(path), ("OK", {}))
    os.makedirs(f"{target}/file")
    code, text = node.unpublish(target)
    compare("unpublish: files beneath", (code, text.startswith(f"selvol: The volume is unmounted, but the directory {target} can't be removed: ")),
            ("INTERNAL", True))
    target, start = node.target("busy"), time.monotonic()
    node.publish(target, volume="busy", context={"device": "/dev/busy", **POD})
    code, text = node.unpublish(target, "busy")
    compare("unpublish: a mount in use, for two seconds", (code, "is in use" in text, time.monotonic() - start >= 2), ("ABORTED", True, True))


def test_stats(node):
    def stats(path, volume="disk-1"):
        return node.call("/csi.v1.Node/NodeGetVolumeStats", {1: volume, 2: path})

    code, answer = stats("/dev")
    st = os.statvfs("/dev")
    compare("stats: a mount", (code, [wire.read(usage) for usage in answer[1]][0][2]), ("OK", [st.f_blocks * st.f_frsize]))
    compare("stats: a directory", stats(f"{node.path}"), ("NOT_FOUND", f"selvol: No volume is mounted at {node.path}."))
    compare("stats: nothing there", stats("/nonexistent"), ("NOT_FOUND", "selvol: No volume is mounted at /nonexistent."))
    compare("stats: no absolute path", stats("some\x1b/path"), ("NOT_FOUND", "selvol: No volume is mounted at some\\x1b/path."))
    compare("stats: no volume", stats("/dev", None)[0], "INVALID_ARGUMENT")
    compare("stats: no path", stats(None)[0], "INVALID_ARGUMENT")


def test_absent(node):
    """selvold is not there: kubelet calls again later."""
    node.programs[2].terminate()
    node.programs[2].wait(WAIT_SEC)
    wait_for(lambda: node.ctl("list").returncode != 0)
    for name, answer in (("publish", node.publish(node.target("absent"))), ("unpublish", node.unpublish(node.target("absent")))):
        compare(f"absent: {name}", answer[0], "UNAVAILABLE")


def test_end(node):
    """It ends without an error, and has leaked nothing."""
    node.channel.close()
    node.programs[-1].terminate()
    compare("end: status", node.programs[-1].wait(WAIT_SEC), 0)


def test_log(node):
    text = (node.path / "log").read_text(encoding="utf-8")
    report("log: registration", [text] * ("Kubelet has not registered org.selvol.csi: it is\\x1b[1m there\n" not in text))
    report("log: no token of an account", [line for line in text.splitlines() if "canary" in line])


def main():
    node = Node(*sys.argv[1:4])
    try:
        for test in (test_identity, test_registration, test_life, test_conflict, test_accepted, test_refused, test_slow, test_unpublish, test_stats, test_absent, test_end, test_log):
            test(node)
    finally:
        node.stop()
    finish()


if __name__ == "__main__":
    main()
