#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""selvol-csi is between a kubelet and a driver, both of python3-grpcio, and in front of selvold with the fake worker of
this ring. The arguments are the directories of the sources and of the build. Prints TAP.

The driver keeps its mounts in the fake worker's mount table (fake-worker.c has its form, and the names of sources that ask
for a behavior); selvol-csi reads the same mounts in the kernel's form from another file. The volume NAME is on /dev/NAME."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

SOURCES, BUILD = map(pathlib.Path, sys.argv[1:3])
sys.path[:0] = [str(SOURCES / "tests/unit"), str(SOURCES / "tests/support")]

try:
    import grpc
except ImportError as error:
    print(f"1..0 # SKIP {error} (Debian: python3-grpcio)")
    sys.exit(0)

from csi_messages import (DRIVER, SECRET, capabilities, field, fields, publish, stage, stage_path, unpublish, unstage)
from tap import finish, report

A, B = (f"system_u:object_r:container_file_t:s0:c{pair}" for pair in ("0,c10", "20,c30"))
GROUP = "2000"
WAIT_SEC = 60
# Kubelet gives up when this time is over: selvol-csi keeps a second of it for its answer.
SHORT_SEC = 2.5
OPTIONS = [("grpc.use_local_subchannel_pool", 1)]


# ---- the node: a bus, selvold, the fake worker, a driver, and selvol-csi -----------------------------------

def holds_soon(condition):
    end = time.monotonic() + WAIT_SEC
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


class Driver(grpc.GenericRpcHandler):
    """Mounts in the fake worker's table, as the behavior says:

    honest         with the context that kubelet asks for
    lying          without
    beneath        without, in a directory beneath the staging path
    empty          not at all
    group          without the context; it has VOLUME_MOUNT_GROUP
    fails          answers with an error
    busy           can't unmount the first two times
    stuck          mounts without the context, and can't unmount
    slow           without the context, and answers when go_on is set"""

    def __init__(self, node):
        self.node, self.behavior = node, "honest"
        self.calls, self.requests, self.failures = [], [], 0
        self.job = None  # selvold's when the driver was to unmount last
        self.go_on = threading.Event()

    def service(self, details):
        service, name = details.method.split("/")[1:]
        if service != "csi.v1.Node":
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.answer(name, request, context))

    def answer(self, name, request, context):
        short = re.sub("^Node|Volume$", "", name).lower()
        if short == "getcapabilities":
            return field(1, [field(1, field(1, n)) for n in ([1, 6] if self.behavior == "group" else [1])])
        self.calls.append(short)
        self.requests.append(request)
        values = dict(fields(request))
        path = (values[4] if short == "publish" else values[3] if short == "stage" else values[2]).decode()
        if self.behavior == "fails":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such disk")
        if short in ("stage", "publish"):
            self.mount(short, values[1].decode(), path, request)
        else:
            self.job = self.node.volume(values[1].decode(), "Job") if values[1].startswith(b"walk") else None
            self.unmount(path, context)
        if self.behavior == "slow":
            self.go_on.wait(WAIT_SEC)
        return b""

    def mount(self, short, name, path, request):
        if self.behavior == "beneath" and short == "stage":
            path += "/" + name
        if self.behavior == "empty" or self.node.find_mount(path):
            return
        staged = self.node.find_mount(stage_path(name))
        context = re.search(rb'context="([^"]*)"', request)
        if staged:
            shown = staged[4]
        else:
            shown = context[1].decode() if context and self.behavior in ("honest", "busy") else "-"
        self.node.add_mount(path, name, shown)

    def unmount(self, path, context):
        if self.behavior == "stuck" or (self.behavior == "busy" and self.failures < 2):
            self.failures += 1
            context.abort(grpc.StatusCode.INTERNAL, f"umount: {path}: target is busy")
        self.node.remove_mounts(path)


class Node:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.processes = {}
        self.lock = threading.Lock()  # of the mounts
        self.last_id = 100  # the fake worker's begin with 1000
        self.address = f"unix:path={directory}/bus"
        self.environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=self.address, SYSTEMD_BUS_TIMEOUT="600",
                                SELVOL_LOG_LEVEL="debug")
        for name in ("state", "etc/selvol.conf.d"):
            (self.directory / name).mkdir(parents=True, mode=0o700)
        self.write("etc/selvol.conf.d/10-tests.conf", "[Service]\nMetricsTextfile=\n")
        self.configure("")
        self.write_mounts([])
        self.start("bus", "dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.address}")
        holds_soon((self.directory / "bus").exists)
        self.start_worker()
        self.start_selvold()
        self.driver = Driver(self)
        self.start_driver()
        self.start_proxy()

    def start(self, name, *command):
        log = open(self.directory / f"{name}.log", "ab")  # pylint: disable=consider-using-with
        self.processes[name] = subprocess.Popen(command, env=self.environment, stderr=log)
        log.close()

    def end(self, name, number_of_signal=signal.SIGTERM):
        process = self.processes.pop(name)
        process.send_signal(number_of_signal)
        return process.wait(WAIT_SEC)

    def start_worker(self):
        (self.directory / "worker").unlink(missing_ok=True)
        self.start("worker", BUILD / "tests/bus/fake-worker", self.directory / "worker", self.directory)
        holds_soon((self.directory / "worker").exists)

    def start_selvold(self):
        self.start("selvold", BUILD / "src/selvold", f"--state-directory={self.directory}/state",
                   f"--worker={self.directory}/worker", f"--config-usr={SOURCES}/src", f"--config-etc={self.directory}/etc",
                   f"--trusted-uid={os.getuid()}")
        holds_soon(lambda: self.busctl("status", "org.selvol1") is not None)

    def start_driver(self):
        self.server = grpc.server(futures.ThreadPoolExecutor(20), handlers=[self.driver], options=OPTIONS)
        self.server.add_insecure_port(f"unix:{self.directory}/driver")
        self.server.start()

    def start_proxy(self):
        (self.directory / "csi").unlink(missing_ok=True)
        self.start("csi", BUILD / "integration/csi/selvol-csi", f"--driver={DRIVER}", f"--listen={self.directory}/csi",
                   f"--config-usr={SOURCES}/src", f"--config-etc={self.directory}/etc", f"--mountinfo={self.directory}/mountinfo")
        holds_soon((self.directory / "csi").exists)

    def stop(self):
        self.server.stop(0)
        for name in ("csi", "selvold", "worker", "bus"):
            if name in self.processes:
                self.end(name)

    def write(self, name, text):
        """Others see the old text or the new one."""
        (self.directory / f"{name}.new").write_text(text)
        (self.directory / f"{name}.new").rename(self.directory / name)

    def configure(self, keys):
        self.write("etc/selvol.conf.d/20-driver.conf", f"[Driver {DRIVER}]\nSocket={self.directory}/driver\n{keys}\n")

    def reload(self, keys):
        self.configure(keys)
        before = self.log("csi").count("read again")
        self.processes["csi"].send_signal(signal.SIGHUP)
        self.processes["selvold"].send_signal(signal.SIGHUP)
        # It reads the configuration with its next call.
        holds_soon(lambda: self.ask(("NodeGetInfo", b"")) and self.log("csi").count("read again") > before)

    def log(self, name):
        return (self.directory / f"{name}.log").read_text(errors="replace")

    # -- the mount table

    def mounts(self):
        """Returns a list [id, target, source, type, context, read-only] for each mount."""
        return [line.split() for line in (self.directory / "mounts").read_text().splitlines()]

    def write_mounts(self, mounts):
        self.write("mounts", "".join(" ".join(m) + "\n" for m in mounts))
        self.write_mountinfo()

    def write_mountinfo(self):
        """btrfs, as its devices are named by the source, but for volumes that are called like a device's number."""
        lines = ["1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"]
        for number_of_mount, path, source, *_ in self.mounts():
            name = source.rpartition("/")[2]
            is_device = re.fullmatch(r"\d+:\d+", name)
            lines.append(f"{number_of_mount} 1 {name if is_device else f'0:{number_of_mount}'} / {path} rw - "
                         f"{'ext4' if is_device else 'btrfs'} {source} rw\n")
        self.write("mountinfo", "".join(lines))

    def find_mount(self, path):
        return next((m for m in self.mounts() if m[1] == path), None)

    def add_mount(self, path, name, context):
        with self.lock:
            self.last_id += 1
            self.write_mounts([*self.mounts(), [str(self.last_id), path, f"/dev/{name}", "ext4", context, "0"]])

    def remove_mounts(self, path):
        with self.lock:
            self.write_mounts([m for m in self.mounts() if m[1] != path and not m[1].startswith(path + "/")])

    def describe_mounts(self, name):
        """Such as "stage a, web-a -": where the volume is mounted, and with which context."""
        known = {A: "a", B: "b", "-": "-"}
        return ", ".join(sorted(f"{shorten(m[1])} {known[m[4]]}" for m in self.mounts() if m[2] == f"/dev/{name}"))

    # -- what selvold knows

    def busctl(self, *arguments):
        result = subprocess.run(["busctl", f"--address={self.address}", "--json=short", *arguments], capture_output=True,
                                text=True, timeout=WAIT_SEC, check=False)
        return result.stdout if result.returncode == 0 else None

    def volume(self, name, property_name):
        found = self.busctl("call", "org.selvol1", "/org/selvol1", "org.selvol1.Manager", "GetVolume", "s", f"{DRIVER}/{name}")
        if found is None:
            return None
        answer = self.busctl("get-property", "org.selvol1", json.loads(found)["data"][0], "org.selvol1.Volume", property_name)
        return json.loads(answer)["data"]

    def describe_holders(self, name):
        """Such as "default/web-a adopted, stage own"."""
        holders = self.volume(name, "Holders") or []
        return ", ".join(sorted(f"{h['Holder']['data']} {'adopted' if h['Adopted']['data'] else 'own'}" +
                                (f" {h['FSGroup']['data']}" if "FSGroup" in h else "") for h in holders))

    # -- kubelet

    def call(self, what, timeout=WAIT_SEC):
        channel = grpc.insecure_channel(f"unix:{self.directory}/csi", options=OPTIONS)
        future = channel.unary_unary(f"/csi.v1.Node/{what[0]}").future(what[1], timeout=timeout)
        future.add_done_callback(lambda _: channel.close())
        return future

    def ask(self, what, timeout=WAIT_SEC):
        return answer_of(self.call(what, timeout))


def shorten(path):
    """ "stage", or the name of the pod."""
    pod = re.search("/pods/([^/]*)/", path)
    if pod:
        return f"web-{pod[1]}"
    return "stage" if path.endswith("/globalmount") else "beneath"


def answer_of(call):
    """Returns "OK", or the name of the code and the text."""
    try:
        call.result()
        return "OK"
    except grpc.RpcError as error:
        return f"{error.code().name} {error.details()}"
    except grpc.FutureCancelledError:
        return "CANCELLED"


def differ(what, seen, expected):
    return [] if seen == expected else [f"{what}: it was {seen!r:.300}", f"{what}: expected was {expected!r:.300}"]


def lacks(what, seen, parts):
    return [f"{what}: {seen!r:.600} lacks {part!r}" for part in parts.split("|") if part not in seen]


# ---- what comes of calls ------------------------------------------------------------------------------------

# A step: a call, parts of the answer, the calls of the driver since the step before, the mounts, and the holders.
DROPPED = "should be mounted with context"
CASES = [
    ("an honest driver", "", "honest", [
        (stage("vda", A), "OK", "stage", "stage a", "stage adopted"),
        (publish("vda", A), "OK", "publish", "stage a, web-a a", "default/web-a adopted, stage adopted"),
        # Kubelet asks again when it was restarted.
        (publish("vda", A), "OK", "publish", "stage a, web-a a", "default/web-a adopted, stage adopted"),
        (unpublish("vda"), "OK", "unpublish", "stage a", "stage adopted"),
        (unpublish("vda"), "OK", "unpublish", "stage a", "stage adopted"),
        (unstage("vda"), "OK", "unstage", "", ""),
        (unstage("vda"), "OK", "unstage", "", ""),
    ]),
    ("a dropped context is repaired", "", "lying", [
        (stage("vdb", A), "OK", "stage", "stage a", "stage own"),
        (stage("vdb", A), "OK", "", "stage a", "stage own"),
        (publish("vdb", A), "OK", "publish", "stage a, web-a a", "default/web-a adopted, stage own"),
        (publish("vdb", B, pod="b"), "FAILED_PRECONDITION selvol: ", "publish unpublish", "stage a, web-a a",
         "default/web-a adopted, stage own"),
        (unpublish("vdb"), "OK", "unpublish", "stage a", "stage own"),
        (unstage("vdb"), "OK", "unstage", "", ""),
    ]),
    ("so it is without a stage", "", "lying", [
        (publish("vdc", A), "OK", "publish", "web-a a", "default/web-a own"),
        (publish("vdc", A), "OK", "", "web-a a", "default/web-a own"),
        (unpublish("vdc"), "OK", "unpublish", "", ""),
    ]),
    ("and beneath the staging path", "", "beneath", [
        (stage("vdd", A), "OK", "stage", "beneath a", "stage own"),
        (stage("vdd", A), "OK", "", "beneath a", "stage own"),
        (unstage("vdd"), "OK", "unstage", "", ""),
    ]),
    ("the number names the device", "", "lying", [
        (stage("8:99", A), "OK", "stage", "", "stage own"),
        (unstage("8:99"), "OK", "unstage", "", ""),
    ]),
    ("a dropped context is only told of", "Context=verify", "lying", [
        (stage("vde", A), f"FAILED_PRECONDITION selvol: Volume {DRIVER}/vde {DROPPED}", "stage unstage", "", ""),
        (publish("vde", A), f"FAILED_PRECONDITION selvol: |{DROPPED}", "publish unpublish", "", ""),
    ]),
    ("a repair that is refused", "", "lying", [
        (publish("vdf"), "OK", "publish", "web-a -", "default/web-a adopted"),
        (publish("vdf", A, pod="b"), "FAILED_PRECONDITION selvol: ", "publish unpublish", "web-a -", "default/web-a adopted"),
        (unpublish("vdf"), "OK", "unpublish", "", ""),
    ]),
    ("a repair that fails half way", "", "lying", [
        (stage("drop-context", A), f"FAILED_PRECONDITION selvol: |{DROPPED}|It can't be mounted again|the target is empty now",
         "stage unstage", "", ""),
    ]),
    ("what the driver can't take back is not certain", "Context=verify", "stuck", [
        (stage("vdg", A), f"ABORTED selvol: |{DROPPED}", "stage unstage*", "stage -", ""),
    ]),
    ("no context", "", "lying", [
        (stage("vdh"), "OK", "stage", "stage -", "stage adopted"),
        (publish("vdh"), "OK", "publish", "stage -, web-a -", "default/web-a adopted, stage adopted"),
        (unpublish("vdh"), "OK", "unpublish", "stage -", "stage adopted"),
        (unstage("vdh"), "OK", "unstage", "", ""),
    ]),
    ("a plain forwarder", "Context=ignore", "lying", [
        (stage("vdi", A), "OK", "stage", "stage -", ""),
        (publish("vdi", "no context"), "OK", "publish", "stage -, web-a -", ""),
        (unpublish("vdi"), "OK", "unpublish", "stage -", ""),
        (unstage("vdi"), "OK", "unstage", "", ""),
    ]),
    ("nothing is mounted", "", "empty", [
        (stage("vdj", A), "OK", "stage", "", ""),
        (publish("vdj"), "OK", "publish", "", ""),
        (publish("vdj", A), "INTERNAL selvol: |nothing is mounted at the target", "publish unpublish", "", ""),
    ]),
    ("block devices are not selvol's", "", "lying", [
        (stage("vdk", A, block=True), "OK", "stage", "stage -", ""),
        (publish("vdk", A, block=True), "OK", "publish", "stage -, web-a -", ""),
        (unpublish("vdk"), "OK", "unpublish", "stage -", ""),
        (unstage("vdk"), "OK", "unstage", "", ""),
    ]),
    ("an error of the driver", "", "fails", [
        (stage("vdl", A), "NOT_FOUND no such disk", "stage", "", ""),
        (publish("vdl", A), "NOT_FOUND no such disk", "publish", "", ""),
        (unpublish("vdl"), "NOT_FOUND no such disk", "unpublish", "", ""),
        (unstage("vdl"), "NOT_FOUND no such disk", "unstage", "", ""),
    ]),
    ("requests that can't be read", "", "honest", [
        (stage("vdm", "no context"), "INVALID_ARGUMENT selvol: |no context", "", "", ""),
        (stage("", A), "INVALID_ARGUMENT selvol: |no volume_id", "", "", ""),
    ]),
    ("a mount that is in use for a moment", "", "busy", [
        (publish("vdn", A), "OK", "publish", "web-a a", "default/web-a adopted"),
        (unpublish("vdn"), "OK", "unpublish unpublish unpublish", "", ""),
    ]),
    ("a mount that stays in use", "", "stuck", [
        (publish("vdo"), "OK", "publish", "web-a -", "default/web-a adopted"),
        (unpublish("vdo"), "INTERNAL umount: |target is busy", "unpublish*", "web-a -", "default/web-a adopted"),
    ]),
    ("groups are kubelet's", "", "honest", [
        (stage("vdp", A, GROUP), "OK", "stage", "stage a", "stage adopted"),
        (unstage("vdp"), "OK", "unstage", "", ""),
    ]),
    ("groups are selvol's", "Groups=selvol", "honest", [
        (stage("vdq", A, GROUP), "OK", "stage", "stage a", "stage adopted 2000"),
        (publish("vdq", A, GROUP), "OK", "publish", "stage a, web-a a", "default/web-a adopted 2000, stage adopted 2000"),
        (unpublish("vdq"), "OK", "unpublish", "stage a", "stage adopted 2000"),
        (unstage("vdq"), "OK", "unstage", "", ""),
    ]),
    ("groups with a repair", "Groups=selvol", "lying", [
        (stage("vdr", A, GROUP), "OK", "stage", "stage a", "stage own 2000"),
        (publish("vdr", A, GROUP), "OK", "publish", "stage a, web-a a", "default/web-a adopted 2000, stage own 2000"),
        (unpublish("vdr"), "OK", "unpublish", "stage a", "stage own 2000"),
        (unstage("vdr"), "OK", "unstage", "", ""),
    ]),
    ("groups without a context", "Groups=selvol\nContext=ignore", "lying", [
        (publish("vds", A, GROUP), "OK", "publish", "web-a -", "default/web-a adopted 2000"),
        (unpublish("vds"), "OK", "unpublish", "", ""),
    ]),
    ("groups of a volume that is only read", "Groups=selvol", "honest", [
        (publish("vdt", A, GROUP, readonly=1), "OK", "publish", "web-a a", "default/web-a adopted"),
        (unpublish("vdt"), "OK", "unpublish", "", ""),
    ]),
    ("groups of a shared volume", "Groups=selvol", "honest", [
        (publish("vdu", A, GROUP, mode=5), "OK", "publish", "web-a a", "default/web-a adopted"),
        (unpublish("vdu"), "OK", "unpublish", "", ""),
    ]),
    ("groups of a driver that takes them", "Groups=selvol", "group", [
        (stage("vdv", None, GROUP), "OK", "stage", "stage -", "stage adopted"),
        (unstage("vdv"), "OK", "unstage", "", ""),
    ]),
]


def count_calls(calls):
    """Joins the calls; a star stands for any number of the last one."""
    text = " ".join(calls)
    return re.sub(r"(\b\w+)(?: \1){3,}$", r"\1*", text)


def check_step(node, step):
    (method, request), answer, calls, mounts, holders = step
    name = dict(fields(request))[1].decode()
    node.driver.calls.clear()
    problems = lacks("answer", node.ask((method, request)), answer)
    problems += differ("calls", count_calls(node.driver.calls), calls)
    problems += differ("mounts", node.describe_mounts(name), mounts)
    return problems + differ("holders", node.describe_holders(name), holders)


def check_cases(node):
    settings = None
    for name, keys, behavior, steps in CASES:
        if keys != settings:
            node.reload(keys)
            settings = keys
        node.driver.behavior, node.driver.failures = behavior, 0
        for i, step in enumerate(steps, 1):
            report(f"{name}: {i}. {step[0][0]}", check_step(node, step))
        node.write_mounts([])


# ---- capabilities and groups -----------------------------------------------------------------------------------

# Keys, behavior of the driver, and the capabilities that kubelet sees.
CAPABILITIES = [
    ("Groups=kubelet", "honest", [1]),
    ("Groups=selvol", "honest", [1, 6]),
    ("Groups=selvol", "group", [1, 6]),
    ("Groups=kubelet", "group", [1, 6]),
]


def check_capabilities(node):
    for keys, behavior, expected in CAPABILITIES:
        node.reload(keys)
        node.driver.behavior = behavior
        answer = node.call(capabilities()).result()
        seen = [dict(fields(dict(fields(c))[1]))[1] for _, c in fields(answer)]
        report(f"capabilities: {keys}, {behavior}", differ("answer", seen, expected))


def sort_fields(request):
    return sorted(fields(request), key=repr)


def check_forwarded(node):
    """The driver gets all that kubelet has sent, but for a group that is selvol's: fields may come in another order."""
    later = field(99, "of a later CSI")
    for keys, group in [("", GROUP), ("Groups=selvol", None)]:
        node.reload(keys)
        node.driver.behavior = "honest"
        for make, undo, name in (stage, unstage, "vea"), (publish, unpublish, "veb"):
            node.driver.requests.clear()
            method, request = make(name, A, GROUP)
            answer = node.ask((method, request + later))
            expected = make(name, A, group)[1] + later
            report(f"what the driver gets: {method} {keys}", lacks("answer", answer, "OK") +
                   differ("request", sort_fields(node.driver.requests[0]), sort_fields(expected)))
            node.ask(undo(name))


# ---- walks that take longer than a call --------------------------------------------------------------------------

def wait_for_job(node, name):
    holds_soon(lambda: node.volume(name, "Job") not in (None, "/"))


def let_go(node):
    node.write("go", "")


def hold_again(node):
    for name in ("go", "at", "walks"):
        (node.directory / name).unlink(missing_ok=True)


def check_walks(node):
    """A call that ran out of time says how far it is, and the next one waits for the same walk."""
    node.reload("Groups=selvol")
    for behavior, holders in ("honest", "stage adopted 2000"), ("lying", "stage own 2000"):
        hold_again(node)
        node.driver.behavior = behavior
        call = stage("walk-held", A, GROUP)
        node.driver.calls.clear()
        answer = node.ask(call, SHORT_SEC)
        problems = lacks("first answer", answer, f"ABORTED selvol: Volume {DRIVER}/walk-held is not ready yet: 10 of about 300 files "
                         "are done|It goes on, and the next call waits for it.")
        again = node.call(call)
        let_go(node)
        problems += lacks("second answer", answer_of(again), "OK") + differ("mounts", node.describe_mounts("walk-held"), "stage a")
        problems += differ("holders", node.describe_holders("walk-held"), holders)
        walks = (node.directory / "walks").read_text().splitlines()
        problems += differ("walks", len(walks), 1)
        report(f"a walk that takes longer than a call: {behavior}", problems)
        (node.directory / "mark-walk-held").unlink(missing_ok=True)
        report(f"and the end of that: {behavior}", lacks("answer", node.ask(unstage("walk-held")), "OK") +
               differ("mounts", node.describe_mounts("walk-held"), "") + differ("holders", node.describe_holders("walk-held"), ""))


def check_cancel(node):
    """Kubelet takes a volume back whose files are being changed."""
    node.reload("Groups=selvol")
    for behavior in ("honest", "lying"):
        for make, take_back in (stage, unstage), (publish, unpublish):
            hold_again(node)
            node.driver.behavior = behavior
            first = node.call(make("walk-held", A, GROUP))
            wait_for_job(node, "walk-held")
            problems = lacks("answer", node.ask(take_back("walk-held")), "OK")
            problems += lacks("first answer", answer_of(first), "ABORTED selvol: |canceled")
            problems += differ("mounts", node.describe_mounts("walk-held"), "")
            problems += differ("holders", node.describe_holders("walk-held"), "")
            problems += differ("the job when the driver is called", node.driver.job, "/")
            report(f"{take_back('')[0]} cancels a walk: {behavior}", problems)
    hold_again(node)


# ---- who may be away -----------------------------------------------------------------------------------------------

# The process that is away, keys, the call, parts of the answer, and the calls of the driver.
AWAY = [
    ("selvold", "", stage("vfa", A), "UNAVAILABLE selvol: selvold is not running", "stage"),
    ("selvold", "", stage("vfa"), "OK", "stage"),
    ("selvold", "WhenAway=forward", stage("vfb", A), "OK", "stage"),
    ("selvold", "Groups=selvol", publish("vfc", None, GROUP), "UNAVAILABLE selvol: ", "publish"),
    ("selvold", "Groups=selvol\nWhenAway=forward", publish("vfd", None, GROUP), "OK", "publish"),
    ("selvold", "", unpublish("vfa"), "OK", "unpublish"),
    ("selvold", "Groups=selvol", unstage("vfa"), "OK", "unstage"),
    ("bus", "", stage("vfe", A), "UNAVAILABLE selvol: Can't connect to the system bus|", "stage"),
    ("bus", "", unstage("vfe"), "OK", "unstage"),
    ("worker", "", stage("vff", A), "UNAVAILABLE selvol: |selvol-worker", "stage"),
    ("worker", "WhenAway=forward", stage("vff", A), "OK", "stage"),
    ("driver", "", stage("vfg", A), "UNAVAILABLE |/driver can't be reached: ", ""),
    ("driver", "", unstage("vfg"), "UNAVAILABLE |/driver can't be reached: ", ""),
]


def take_away(node, what):
    if what == "driver":
        node.server.stop(0).wait()
    elif what == "bus":
        (node.directory / "bus").rename(node.directory / "bus.away")
    else:
        node.end(what, signal.SIGKILL)


def bring_back(node, what):
    if what == "driver":
        node.start_driver()
    elif what == "bus":
        (node.directory / "bus.away").rename(node.directory / "bus")
    elif what == "worker":
        node.start_worker()
    else:
        node.start_selvold()


def check_away(node):
    for what, keys, call, answer, calls in AWAY:
        node.reload(keys)
        node.driver.behavior = "honest"
        take_away(node, what)
        node.driver.calls.clear()
        problems = lacks("answer", node.ask(call), answer) + differ("calls", count_calls(node.driver.calls), calls)
        bring_back(node, what)
        report(f"{what} is away: {call[0]} {keys}".replace("\n", " "), problems)
        node.write_mounts([])


# ---- restarts --------------------------------------------------------------------------------------------------------

# Each of these ends at each moment of the call; then kubelet repeats the call until it succeeds.
WHO = ["kubelet", "driver", "csi", "selvold", "worker"]

# A moment: its name, the behavior of the driver, the volume, the calls before, the call, and the holders when it has succeeded.
MOMENTS = [
    ("the driver mounts", "slow", "vga", [], stage, "stage own"),
    ("selvol looks at the mount", "honest", "held-observe", [], stage, "stage adopted"),
    ("the driver's mount is gone", "lying", "held-replaced", [], stage, "stage own"),
    ("before it is mounted again", "lying", "held-mount", [], publish, "default/web-a own"),
    ("it is mounted again", "lying", "held-published", [], publish, "default/web-a own"),
    ("files are changed", "honest", "walk-held", [], stage, "stage adopted 2000"),
    ("files are changed for a repair", "lying", "walk-held", [], publish, "default/web-a own 2000"),
    ("selvol unmounts", "lying", "held-unmount", [publish], unpublish, ""),
    ("the driver unmounts", "slow", "vgb", [publish], unpublish, ""),
]


def interrupt(node, who, call):
    """Ends the one who is named, and starts it again."""
    if who == "kubelet":
        call.cancel()
    elif who == "csi":
        node.end("csi", signal.SIGKILL)
        node.start_proxy()
    else:
        take_away(node, who)
        bring_back(node, who)


def is_there(node, behavior, name, short):
    if behavior == "slow":
        return node.driver.calls[-1:] == [short]
    if name.startswith("walk"):
        return node.volume(name, "Job") not in (None, "/")
    at = node.directory / "at"
    return at.exists() and at.read_text() == name.partition("-")[2]


def repeat(node, call):
    """Returns the last of the answers."""
    answer = ""
    for _ in range(20):
        answer = node.ask(call)
        if answer == "OK":
            break
        time.sleep(0.05)
    return answer


def check_restart(node, who, moment):
    what, behavior, name, before, make, holders = moment
    group = GROUP if name.startswith("walk") else None
    call = make(name) if make in (unpublish, unstage) else make(name, A, group)
    node.driver.behavior = behavior
    node.driver.go_on.set()
    let_go(node)
    problems = []
    for earlier in before:
        problems += differ("before", node.ask(earlier(name, A)), "OK")
    node.driver.go_on.clear()
    node.driver.calls.clear()
    hold_again(node)
    running = node.call(call)
    if not holds_soon(lambda: is_there(node, behavior, name, re.sub("^Node|Volume$", "", call[0]).lower())):
        problems.append("the moment has not come")
    interrupt(node, who, running)
    let_go(node)
    node.driver.go_on.set()
    first = answer_of(running)
    problems += differ("repeated", repeat(node, call), "OK")
    problems += differ("holders", node.describe_holders(name), holders)
    problems += differ("mounts", node.describe_mounts(name), f"{'stage' if make == stage else 'web-a'} a" if holders else "")
    problems += differ("unpublished", node.ask(unpublish(name)), "OK") + differ("unstaged", node.ask(unstage(name)), "OK")
    problems += differ("mounts in the end", node.describe_mounts(name), "")
    problems += differ("holders in the end", node.describe_holders(name), "")
    if problems:
        problems.append(f"the first answer was {first}")
    report(f"{who} ends when {what}", problems)
    node.write_mounts([])
    for mark in node.directory.glob("mark-*"):
        mark.unlink()


def check_restarts(node):
    for group in (False, True):
        node.reload("Groups=selvol" if group else "")
        for moment in MOMENTS:
            for who in WHO:
                if moment[2].startswith("walk") == group:
                    check_restart(node, who, moment)


def check_table(node):
    """A mount table that can't be read fails only calls that need it."""
    node.reload("")
    node.driver.behavior = "honest"
    write, node.write_mountinfo = node.write_mountinfo, lambda: node.write("mountinfo", "rubbish\n")
    answers = node.ask(publish("vja")), node.ask(publish("vjb", A))
    node.write_mountinfo = write
    report("the mount table can't be read", differ("without a context", answers[0], "OK") +
           lacks("with a context", answers[1], "INTERNAL selvol: The mount table can't be read") +
           differ("the driver's mount", node.describe_mounts("vjb"), ""))
    node.ask(unpublish("vja"))


def check_crowd(node):
    """64 pods start at once."""
    node.reload("")
    node.driver.behavior = "honest"
    running = [node.call(publish(f"vk{i}", A)) for i in range(64)]
    answers = {answer_of(call) for call in running}
    report("64 pods start", differ("answers", answers, {"OK"}))
    running = [node.call(unpublish(f"vk{i}")) for i in range(64)]
    report("64 pods end", differ("answers", {answer_of(call) for call in running}, {"OK"}) + differ("mounts", node.mounts(), []))


def check_upgrade(node):
    """SIGTERM: the call that runs is answered."""
    node.reload("")
    node.driver.behavior = "slow"
    node.driver.calls.clear()
    node.driver.go_on.clear()
    running = node.call(stage("vha", A))
    holds_soon(lambda: node.driver.calls == ["stage"])
    node.processes["csi"].terminate()
    node.driver.go_on.set()
    problems = differ("answer", answer_of(running), "OK") + differ("end", node.processes.pop("csi").wait(WAIT_SEC), 0)
    node.start_proxy()
    report("an upgrade while a call runs", problems + differ("after it", node.ask(unstage("vha")), "OK"))


# ---- secrets, and selvolctl doctor -------------------------------------------------------------------------------------

def memory_has(pid, text):
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(n, 16) for n in line.split()[0].split("-"))
            # The sanitizer's own memory is larger than that.
            if not line.split()[1].startswith("rw") or end - begin > 1 << 28:
                continue
            memory.seek(begin)
            try:
                if text in memory.read(end - begin):
                    return line
            except OSError:
                pass
    return None


def check_secrets(node):
    """All requests above had secrets, and tokens in volume_context."""
    for name in ("csi", "selvold", "worker"):
        report(f"no secret is in the log of {name}", [] if SECRET not in node.log(name) else ["there is"])
    if os.geteuid() != 0:
        report("no secret is in the memory # SKIP only root can look", [])
        return
    found = memory_has(node.processes["csi"].pid, SECRET.encode())
    report("no secret is in the memory", [f"there is one in {found}"] if found else [])


class Registrar(grpc.GenericRpcHandler):
    def __init__(self, endpoint, kind="CSIPlugin"):
        self.info = field(1, kind) + field(2, DRIVER) + field(3, endpoint)

    def service(self, details):
        answers = {"/pluginregistration.Registration/GetInfo": self.info, "/csi.v1.Identity/GetPluginInfo": field(1, DRIVER)}
        answer = answers.get(details.method)
        return answer is not None and grpc.unary_unary_rpc_method_handler(lambda *_: answer)


def serve(path, handler):
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[handler])
    server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


def check_doctor(node):
    """--check says whether the driver answers, and which socket its registrar has told kubelet."""
    sockets, registry = node.directory / "sockets", node.directory / "registry"
    sockets.mkdir()
    registry.mkdir()
    node.configure("")
    own = f"{sockets}/{DRIVER}.sock"
    command = [BUILD / "integration/csi/selvol-csi", "--check", f"--config-usr={SOURCES}/src", f"--config-etc={node.directory}/etc",
               f"--sockets={sockets}", f"--registry={registry}"]

    def check(name, *expected):
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_SEC, check=False)
        lines = done.stdout.splitlines()
        problems = differ("lines", len(lines), len(expected)) + differ("status", done.returncode, 0)
        for line, parts in zip(lines, expected):
            problems += lacks("line", line, parts)
        report(f"check: {name}", problems)

    node.server.stop(0).wait()
    check("no driver", f"problem\t{DRIVER}\tDriver {DRIVER} does not answer: |correct Socket=")
    driver = serve(node.directory / "driver", Registrar(""))
    check("no proxy", f"problem\t{DRIVER}\tselvol-csi does not run in front of|systemctl enable --now selvol-csi@{DRIVER}.socket")
    pathlib.Path(own).touch()
    check("no registrar", f"warning\t{DRIVER}\tNo registrar|--kubelet-registration-path=" + own)
    registrar = serve(registry / "x-reg.sock", Registrar("/plugins/csi.sock"))
    check("kubelet calls the driver", f"problem\t{DRIVER}\tkubelet calls driver|at /plugins/csi.sock,|--kubelet-registration-path=" + own)
    registrar.stop(0).wait()
    registrar = serve(registry / "x-reg.sock", Registrar(own))
    check("kubelet calls selvol-csi", f"ok\t{DRIVER}\tDriver {DRIVER} answers, and kubelet calls it through selvol-csi.")
    registrar.stop(0).wait()
    registrar = serve(registry / "x-reg.sock", Registrar(own, "DevicePlugin"))
    check("a plugin of another type", f"warning\t{DRIVER}\tNo registrar")
    registrar.stop(0).wait()
    driver.stop(0).wait()
    node.start_driver()


def check_reload(node):
    """A mistake in the configuration leaves the earlier one in force, and keeps the service from starting."""
    node.reload("Context=verify")
    node.configure("Context=mend")
    node.processes["csi"].send_signal(signal.SIGHUP)
    node.driver.behavior = "lying"
    time.sleep(0.1)
    problems = lacks("answer", node.ask(stage("via", A)), "FAILED_PRECONDITION selvol: ")
    problems += lacks("log", node.log("csi"), "Context=mend is not valid|The earlier configuration stays in force.")
    report("a reload with a mistake", problems)
    node.end("csi")
    (node.directory / "csi").unlink(missing_ok=True)
    node.start("csi", BUILD / "integration/csi/selvol-csi", f"--driver={DRIVER}", f"--listen={node.directory}/csi",
               f"--config-usr={SOURCES}/src", f"--config-etc={node.directory}/etc")
    report("a start with a mistake", differ("status", node.processes.pop("csi").wait(WAIT_SEC), 78))
    node.configure("")
    node.start_proxy()


def main():
    parts = {"cases": check_cases, "capabilities": check_capabilities, "forwarded": check_forwarded, "walks": check_walks,
             "cancel": check_cancel, "away": check_away, "restarts": check_restarts, "upgrade": check_upgrade, "table": check_table, "crowd": check_crowd,
             "reload": check_reload, "secrets": check_secrets, "doctor": check_doctor}
    with tempfile.TemporaryDirectory(prefix="selvol-csi-") as directory:
        node = Node(directory)
        try:
            for name in sys.argv[3:] or parts:
                parts[name](node)
        finally:
            node.stop()
        found = re.findall(r"(?:ERROR: \w+Sanitizer|runtime error).*", node.log("csi"))
        report("selvol-csi has made no mistake that a sanitizer sees", found)
    finish()


if __name__ == "__main__":
    main()
