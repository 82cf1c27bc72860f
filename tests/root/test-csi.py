#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""selvol-csi is between a kubelet of python3-grpcio and a driver that really mounts, in front of selvold and selvol-worker, in a
mount namespace of their own. There is no SELinux, so nothing has a context: what is shown is which mounts are made and go,
and groups. The arguments are the directories of the sources and of the build. Prints TAP."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SOURCES, BUILD = map(pathlib.Path, sys.argv[1:3])
sys.path[:0] = [str(SOURCES / "tests/unit"), str(SOURCES / "tests/support")]

try:
    import grpc
except ImportError as error:
    print(f"1..0 # SKIP {error} (Debian: python3-grpcio)")
    sys.exit(0)

from csi_messages import DRIVER, publish, stage, stage_path, target_path, unpublish, unstage
from tap import finish, report

WAIT_SEC = 60
GROUP = 2000
# Sources are beneath SourceRoots=, and targets beneath TargetRoots=.
CONFIG = """[Service]
MetricsTextfile=
[Worker]
TargetRoots=
TargetRoots=/var/lib/kubelet/pods /var/lib/kubelet/plugins
"""


def holds_soon(condition):
    end = time.monotonic() + WAIT_SEC
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


class Node:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.address = f"unix:path={directory}/bus"
        self.environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.address, SELVOL_LOG_LEVEL="info")
        self.processes = []
        self.driver = None
        for name in ("state", "etc/selvol.conf.d", "volumes"):
            (self.directory / name).mkdir(parents=True, mode=0o700)
        (self.directory / "etc/selvol.conf.d/10-tests.conf").write_text(
            CONFIG + f"[Driver {DRIVER}]\nSocket={directory}/driver\nGroups=selvol\n")
        config = [f"--config-usr={SOURCES}/src", f"--config-etc={directory}/etc"]
        self.start("bus", "dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.address}")
        self.start("worker", BUILD / "src/selvol-worker", f"--socket={directory}/worker", *config, "--peer-uid=0")
        self.start(None, BUILD / "src/selvold", f"--state-directory={directory}/state", f"--worker={directory}/worker", *config,
                   "--trusted-uid=0")
        self.start("csi", BUILD / "integration/csi/selvol-csi", f"--driver={DRIVER}", f"--listen={directory}/csi", *config)
        holds_soon(lambda: subprocess.run(["busctl", f"--address={self.address}", "status", "org.selvol1"], check=False,
                                          capture_output=True).returncode == 0)

    def start(self, path, *command):
        with open(self.directory / "log", "ab") as log:
            self.processes.append(subprocess.Popen(command, env=self.environment, stderr=log))
        if path:
            holds_soon((self.directory / path).exists)

    def start_driver(self, behavior):
        if self.driver:
            self.driver.terminate()
            self.driver.wait()
            (self.directory / "driver").unlink(missing_ok=True)
        with open(self.directory / "log", "ab") as log:
            self.driver = subprocess.Popen(["/usr/bin/python3", SOURCES / "tests/support/csi-driver", self.directory / "driver",
                                            self.directory / "volumes", behavior], stderr=log)
        holds_soon(lambda: self.ask(("NodeGetCapabilities", b"")) == "OK")

    def stop(self):
        for process in [self.driver, *reversed(self.processes)]:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_SEC)

    def log(self):
        return (self.directory / "log").read_text(errors="replace")

    def ask(self, what):
        with grpc.insecure_channel(f"unix:{self.directory}/csi") as channel:
            try:
                channel.unary_unary(f"/csi.v1.Node/{what[0]}")(what[1], timeout=WAIT_SEC)
                return "OK"
            except grpc.RpcError as error:
                return f"{error.code().name} {error.details()}"


def make_volume(node, name, fs_type):
    image = node.directory / "volumes" / name
    with open(image, "wb") as f:
        f.truncate(400 << 20)
    subprocess.run([f"mkfs.{fs_type}", "-q", image], check=True, capture_output=True)


def differ(what, seen, expected):
    return [] if seen == expected else [f"{what}: it was {seen!r:.500}", f"{what}: expected was {expected!r:.500}"]


def is_mounted(path):
    return any(line.split()[4].startswith(path) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def write_file(name):
    path = f"{target_path(name)}/file"
    pathlib.Path(path).write_text("x")
    return path


def check_life(node, behavior, fs_type):
    """A pod starts, writes, ends, and starts again: the second start changes no file."""
    name = f"{behavior}-{fs_type}"
    make_volume(node, name, fs_type)
    node.start_driver(behavior)
    problems = []
    for start in ("first", "second"):
        before = node.log()
        for call in stage(name, None, str(GROUP), fs_type=fs_type), publish(name, None, str(GROUP), fs_type=fs_type):
            problems += differ(f"{start} {call[0]}", node.ask(call), "OK")
        problems += differ(f"{start}: the group", os.stat(target_path(name)).st_gid, GROUP)
        text = node.log()[len(before):]
        problems += differ(f"{start}: walks", text.count("Changed the group"), 1 if start == "first" else 0)
        if start == "first":
            file = write_file(name)
        else:
            problems += differ("the group of the file", os.stat(file).st_gid, GROUP)
        for call in unpublish(name), unstage(name):
            problems += differ(f"{start} {call[0]}", node.ask(call), "OK")
        problems += differ(f"{start}: mounted at the target", is_mounted(target_path(name)), False)
        problems += differ(f"{start}: staged", is_mounted(stage_path(name)), False)
    report(f"a pod starts twice: {behavior}, {fs_type}", problems)


def check_use(node):
    """The target is in use for a moment, as by a runtime that is about to end the container."""
    name = "use"
    make_volume(node, name, "ext4")
    node.start_driver("honest")
    problems = differ("stage", node.ask(stage(name)), "OK") + differ("publish", node.ask(publish(name)), "OK")
    with subprocess.Popen(["sleep", "1"], cwd=target_path(name)):
        problems += differ("unpublish", node.ask(unpublish(name)), "OK")
    problems += differ("unstage", node.ask(unstage(name)), "OK") + differ("mounted", is_mounted(target_path(name)), False)
    report("a volume that is in use for a moment", problems)


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can mount")
        sys.exit(0)
    if len(sys.argv) == 3:
        os.execvp("unshare", ["unshare", "--mount", "--propagation=private", "/usr/bin/python3", *sys.argv, "inside"])
    os.makedirs("/var/lib/kubelet", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/lib/kubelet"], check=True)
    subprocess.run(["mount", "--make-shared", "/var/lib/kubelet"], check=True)
    for name in ("pods", "plugins"):
        os.mkdir(f"/var/lib/kubelet/{name}")
    with tempfile.TemporaryDirectory(prefix="selvol-csi-") as directory:
        node = Node(directory)
        try:
            for behavior in ("honest", "lying", "beneath"):
                for fs_type in ("ext4", "xfs"):
                    check_life(node, behavior, fs_type)
            check_use(node)
        finally:
            node.stop()
    finish()


if __name__ == "__main__":
    main()
