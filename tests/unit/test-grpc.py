#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""selvol-csi, whose path is the argument, is between clients and servers: those of python3-grpcio, and ones that
send frames of HTTP/2 as it suits them.

Prints TAP."""

import fcntl
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

try:
    import grpc
    import hpack
except ImportError as error:
    print(f"1..0 # SKIP {error} (Debian: python3-grpcio, python3-hpack)")
    sys.exit(0)

from tap import finish, report

MIB = 1024 * 1024
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
CANCEL, REFUSED_STREAM = 8, 7
CANCEL_BYTES = CANCEL.to_bytes(4, "big")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TEXT = ' Gerät "belegt" 100%\n\tund zu '
DETAILS = b"\0\1details\xff"
WAIT_SEC = 60
# Nothing ends because this time is over.
FOREVER_SEC = 10 * WAIT_SEC
# Threads, and descriptors: the standard ones, the listening socket, two of signals, and the count of connections.
AT_REST = 1, 7

directory = tempfile.TemporaryDirectory()


def path(name):
    return f"{directory.name}/{name}"


def holds_soon(condition):
    end = time.monotonic() + WAIT_SEC
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def listen_at(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.settimeout(WAIT_SEC)
    listener.bind(path(name))
    listener.listen()
    return listener


class Proxy:
    def __init__(self, name, server, activated=False):
        """activated: systemd has made the socket, and passes it on as descriptor 3."""
        command = [sys.argv[1], f"--driver-socket={path(server)}"]
        if activated:
            with listen_at(name) as listener:
                passed = fcntl.fcntl(listener, fcntl.F_DUPFD, 10)
            script = f'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&{passed} {passed}<&-'
            self.process = subprocess.Popen(["bash", "-c", script, "bash", *command], pass_fds=[passed])
            os.close(passed)
        else:
            self.process = subprocess.Popen([*command, f"--listen={path(name)}"])
        self.directory = pathlib.Path(f"/proc/{self.process.pid}")
        holds_soon(self.is_at_rest)

    def count(self):
        """Returns the numbers of threads and of descriptors."""
        return len(os.listdir(self.directory / "task")), len(os.listdir(self.directory / "fd"))

    def is_at_rest(self):
        return self.count() == AT_REST


# ---- servers and clients of grpcio ----------------------------------------------------------------------

class Driver(grpc.GenericRpcHandler):
    """Answers as the last part of a method's name says."""

    def __init__(self):
        self.slow = 0  # calls that somebody waits for
        self.time_left = None
        self.go_on = threading.Event()  # slow calls end

    def service(self, details):
        answers = {"Echo": self.echo, "Error": self.error, "Details": self.details, "Slow": self.wait, "Large": self.large,
                   "Time": self.time}
        answer = answers.get(details.method.rpartition("/")[2])
        return grpc.unary_unary_rpc_method_handler(answer) if answer else None

    def echo(self, request, _context):
        return request

    def error(self, _request, context):
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, TEXT)

    def details(self, _request, context):
        context.set_trailing_metadata([("grpc-status-details-bin", DETAILS)])
        context.abort(grpc.StatusCode.ABORTED, "see the details")

    def wait(self, _request, context):
        self.slow += 1
        while context.is_active() and not self.go_on.wait(0.005):
            pass
        self.slow -= 1
        return b""

    def large(self, _request, _context):
        return b"x" * (4 * MIB + 1)

    def time(self, _request, context):
        self.time_left = context.time_remaining()
        return b""


OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]


def start_driver(driver):
    server = grpc.server(futures.ThreadPoolExecutor(100), handlers=[driver], options=OPTIONS)
    server.add_insecure_port(f"unix:{path('driver')}")
    server.start()
    return server


def open_channel(name="forward", options=()):
    return grpc.insecure_channel(f"unix:{path(name)}", options=OPTIONS + list(options))


def ask(channel, method, request=b"", **how):
    return channel.unary_unary(f"/a.Service/{method}").future(request, **({"timeout": FOREVER_SEC} | how))


def answer_of(call):
    """Returns the bytes, or the name of the code and the text."""
    try:
        return call.result()
    except grpc.RpcError as error:
        return error.code().name, error.details()


CALLS = [
    ("a message", "Echo", b"hello", {}, b"hello"),
    ("an empty message", "Echo", b"", {}, b""),
    ("4 MiB", "Echo", b"x" * 4 * MIB, {}, b"x" * 4 * MIB),
    ("a byte more", "Echo", b"x" * (4 * MIB + 1), {}, ("RESOURCE_EXHAUSTED", "The request is larger than 4 MiB.")),
    ("20 MiB", "Echo", b"x" * 20 * MIB, {}, ("RESOURCE_EXHAUSTED", "The request is larger than 4 MiB.")),
    ("a large answer", "Large", b"", {}, ("RESOURCE_EXHAUSTED", f"The answer of {path('driver')} is larger than 4 MiB.")),
    ("an error with a text", "Error", b"", {}, ("FAILED_PRECONDITION", TEXT)),
    ("no such method", "Nothing", b"", {}, ("UNIMPLEMENTED", "Method not found!")),
    ("compressed", "Echo", b"x" * 9999, {"compression": grpc.Compression.Gzip},
     ("UNIMPLEMENTED", "The request is compressed, which is not supported.")),
    ("the last one", "Echo", b"hello", {}, b"hello"),
]


def differ(seen, expected):
    return [] if seen == expected else [f"it was {seen!r:.200}", f"expected was {expected!r:.200}"]


def check_calls():
    with open_channel() as channel:
        for name, method, request, how, expected in CALLS:
            report(f"call: {name}", differ(answer_of(ask(channel, method, request, **how)), expected))
    with open_channel(options=[("grpc.default_authority", "/var/lib/kubelet/plugins/x/csi.sock")]) as channel:
        report("a path is the authority", differ(answer_of(ask(channel, "Echo", b"a")), b"a"))


def check_details():
    with open_channel() as channel:
        call = ask(channel, "Details")
        seen = answer_of(call), dict(call.trailing_metadata()).get("grpc-status-details-bin")
    report("details of a status", differ(seen, (("ABORTED", "see the details"), DETAILS)))


def check_deadlines(driver):
    with open_channel() as channel:
        answer_of(ask(channel, "Time", timeout=500))
        report("the deadline is passed on", [] if 450 < driver.time_left < 550 else [f"{driver.time_left} s are left"])
        seen = answer_of(ask(channel, "Slow", timeout=0.3))[0]
        report("a deadline that passes", differ(seen, "DEADLINE_EXCEEDED"))
        report("the driver is told", [] if holds_soon(lambda: driver.slow == 0) else ["the call goes on"])
        report("the connection is of use after that", differ(answer_of(ask(channel, "Echo", b"a")), b"a"))


def check_cancel(driver):
    with open_channel() as channel:
        calls = []
        for _ in range(3):
            calls.append(ask(channel, "Slow"))
            started = holds_soon(lambda: driver.slow == 1)
            calls[-1].cancel()
        told = holds_soon(lambda: driver.slow == 0)
        report("a call is canceled", [] if started and told else ["the driver was not told"])
        report("the next call", differ(answer_of(ask(channel, "Echo", b"a")), b"a"))


def check_crowd():
    with open_channel() as channel:
        calls = [ask(channel, "Echo", b"%d" % i) for i in range(64)]
        report("64 at a time on one connection", differ([answer_of(c) for c in calls], [b"%d" % i for i in range(64)]))
    channels = [open_channel() for _ in range(64)]
    calls = [ask(channel, "Echo", b"%d" % i) for i in range(20) for channel in channels]
    seen = [answer_of(c) for c in calls]
    report("64 connections", differ(seen, [b"%d" % i for i in range(20) for _ in channels]))
    for channel in channels:
        channel.close()


# ---- HTTP/2 by hand -------------------------------------------------------------------------------------

def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def headers(stream, fields, end=False):
    """Frames of headers, which no frame of 16 KiB has to hold."""
    block = hpack.Encoder().encode(fields, huffman=False)
    parts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
    frames = [frame(CONTINUATION if i else HEADERS, END_HEADERS if i == len(parts) - 1 else 0, stream, part) for i, part in enumerate(parts)]
    if end:
        frames[0] = frames[0][:4] + bytes([frames[0][4] | END_STREAM]) + frames[0][5:]
    return b"".join(frames)


def message(data, flag=0):
    return bytes([flag]) + len(data).to_bytes(4, "big") + data


class Peer:
    """One side of a connection. Reads frames, and collects what concerns a stream."""

    def __init__(self, connection):
        self.socket = connection
        self.socket.settimeout(WAIT_SEC)
        self.decoder = hpack.Decoder()
        self.headers, self.data, self.resets, self.ended, self.acks = {}, {}, {}, set(), 0
        self.goaway = None

    def send(self, data):
        """A peer that has had enough closes the connection."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def receive(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def read(self):
        """Reads a frame; returns whether there was one."""
        try:
            head = self.receive(9)
            payload = self.receive(int.from_bytes(head[:3], "big"))
        except (ConnectionResetError, TimeoutError):
            return False
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        if kind == HEADERS:
            self.headers.setdefault(stream, {}).update(self.decoder.decode(payload))
        elif kind == DATA:
            self.data[stream] = self.data.get(stream, b"") + payload
        elif kind == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
        elif kind in (PING, SETTINGS) and flags & ACK:
            self.acks += 1
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            self.ended.add(stream)
        return True

    def read_until(self, condition):
        """Returns False if the peer closed the connection before."""
        while not condition():
            if not self.read():
                return False
        return True

    def summary(self, stream=1):
        """Returns the HTTP status and grpc-status, or why there is none."""
        if not self.read_until(lambda: stream in self.ended or stream in self.resets or self.goaway is not None):
            return "closed"
        if stream in self.ended:
            return f"{self.headers[stream][':status']} {self.headers[stream].get('grpc-status', '-')}"
        return f"reset {self.resets[stream]}" if stream in self.resets else f"goaway {self.goaway}"


def connect(preface=PREFACE + frame(SETTINGS, 0, 0)):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path("forward"))
    peer = Peer(connection)
    peer.send(preface)
    return peer


REQUEST = {":method": "POST", ":scheme": "http", ":path": "/a.Service/Echo", ":authority": "localhost", "te": "trailers",
           "content-type": "application/grpc"}


def request(stream=1, body=message(b"a"), end=True, **changes):
    fields = REQUEST | {name.replace("_", "-"): value for name, value in changes.items() if not name.startswith("p_")}
    fields |= {f":{name[2:]}": value for name, value in changes.items() if name.startswith("p_")}
    return headers(stream, [(n, v) for n, v in fields.items() if v is not None]) + frame(DATA, END_STREAM if end else 0, stream, body)


REQUESTS = [
    ("as it should be", request(), "200 0"),
    ("by bytes", headers(1, REQUEST.items()) + b"".join(frame(DATA, 0, 1, bytes([b])) for b in message(b"abc")) +
     frame(DATA, END_STREAM, 1), "200 0"),
    ("with trailers", request(end=False) + headers(1, [("x", "y"), (":path", "/a.Service/Error")], end=True), "200 0"),
    ("a frame of a later HTTP/2", frame(200, 0, 0, b"abc") + request(), "200 0"),
    ("a type of content", request(content_type="application/grpc+proto"), "200 0"),
    ("another type of content", request(content_type="application/json"), "415 13"),
    ("no type of content", request(content_type=None), "415 13"),
    ("another HTTP method", request(p_method="GET"), "405 13"),
    ("no path", request(p_path=None), "200 12"),
    ("an empty path", request(p_path=""), "200 12"),
    ("a path without a slash", request(p_path="Echo"), "200 12"),
    ("a path with a blank", request(p_path="/a.Service/Echo x"), "200 12"),
    ("a path with a letter beyond ASCII", request(p_path="/a.Service/Ä"), "200 12"),
    ("a path with a NUL", request(p_path="/a.Service/Echo\0"), "200 12"),
    ("a time without a unit", request(grpc_timeout="5"), "200 13"),
    ("no time left", request(grpc_timeout="0n"), "200 4"),
    ("no message", request(body=b""), "200 13"),
    ("headers only", headers(1, REQUEST.items(), end=True), "200 13"),
    ("half a message", request(body=message(b"abc")[:-1]), "200 13"),
    ("two messages", request(body=message(b"a") + message(b"b")), "200 13"),
    ("an unknown flag", request(body=message(b"a", 2)), "200 13"),
    ("compressed", request(body=message(b"a", 1), grpc_encoding="gzip"), "200 12"),
    ("compressed, not said how", request(body=message(b"a", 1)), "200 13"),
    ("a length of 4 GiB", request(body=b"\0\xff\xff\xff\xff"), "200 8"),
    ("headers of 60 KiB", request(x="x" * 60000), "200 0"),
    ("headers of 70 KiB", request(x="x" * 40000, y="y" * 30000), "200 8"),
    ("no HTTP/2", b"", "closed"),
]


def check_requests():
    for name, sent, expected in REQUESTS:
        peer = connect() if sent else connect(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        peer.send(sent)
        report(f"request: {name}", differ(peer.summary(), expected))
    peer = connect()
    peer.send(request(body=message(b"a", 1), grpc_encoding="gzip"))
    peer.summary()
    report("the encodings that are known", differ(peer.headers[1].get("grpc-accept-encoding"), "identity"))


def check_streams(driver):
    peer = connect()
    peer.send(request(1) + request(3) + request(5))
    seen = [peer.summary(1), peer.summary(3), peer.summary(5)]
    report("streams before SETTINGS was read", differ(seen, ["200 0"] + [f"reset {REFUSED_STREAM}"] * 2))
    peer.send(request(7))
    report("a stream after that", differ(peer.summary(7), "200 0"))

    peer = connect()
    peer.send(request(1, p_path="/a.Service/Slow"))
    holds_soon(lambda: driver.slow == 1)
    peer.send(frame(PING, 0, 0, b"12345678"))
    report("a ping is answered during a call", [] if peer.read_until(lambda: peer.acks == 2) else ["it is not"])
    peer.send(frame(RST_STREAM, 0, 1, CANCEL_BYTES) + request(3))
    report("a reset and the next call come together", differ(peer.summary(3), "200 0"))

    peer = connect()
    peer.send(request(1, p_path="/a.Service/Slow") + frame(RST_STREAM, 0, 1, CANCEL_BYTES) + frame(PING, 0, 0, b"12345678"))
    peer.read_until(lambda: peer.acks == 2)
    peer.send(request(3))
    report("a call is given up before it began", differ(peer.summary(3), "200 0"))

    peer = connect()
    peer.send(request(1, p_path="/a.Service/Slow"))
    holds_soon(lambda: driver.slow == 1)
    peer.socket.close()
    report("the client goes away", [] if holds_soon(lambda: driver.slow == 0) else ["the driver was not told"])


FLOODS = [
    ("resets", lambda i: request(2 * i + 1, end=False) + frame(RST_STREAM, 0, 2 * i + 1, CANCEL_BYTES)),
    ("pings", lambda i: frame(PING, 0, 0, b"12345678")),
    ("settings", lambda i: frame(SETTINGS, 0, 0)),
    ("empty data", lambda i: frame(DATA, 0, 1) if i else headers(1, REQUEST.items())),
    ("priorities", lambda i: frame(2, 0, 1, bytes(5))),
    ("continued headers", lambda i: frame(CONTINUATION, 0, 1, b"\0\1x\1y") if i else frame(HEADERS, 0, 1, b"\0\1x\1y")),
]


def check_floods():
    """The client reads all the time, so that nothing of the answers fills up."""
    for name, make in FLOODS:
        peer = connect()
        reader = threading.Thread(target=peer.read_until, args=(lambda: False,))
        reader.start()
        sent = 0
        while sent < 100000 and peer.send(b"".join(make(sent + i) for i in range(100))):
            sent += 100
        reader.join(WAIT_SEC if sent < 100000 else 0)
        report(f"a flood: {name}", [f"the connection lives after {sent}"] if reader.is_alive() else [])
        peer.socket.close()


# ---- a server that sends what it likes ------------------------------------------------------------------

ANSWER = [(":status", "200"), ("content-type", "application/grpc")]
OK = headers(1, [("grpc-status", "0")], end=True)


def answer(*parts, fields=ANSWER):
    return headers(1, fields) + b"".join(parts)


def trailers_only(*fields):
    return headers(1, ANSWER + list(fields), end=True)


def data(payload, flags=0):
    return b"".join(frame(DATA, flags, 1, payload[i:i + 16000]) for i in range(0, len(payload), 16000))


def goaway(last):
    return frame(GOAWAY, 0, 0, last.to_bytes(4, "big") + bytes(4))


def reset(error):
    return frame(RST_STREAM, 0, 1, error.to_bytes(4, "big"))


# Name, frames, and the answer: a text that is not given is the proxy's.
ANSWERS = [
    ("as it should be", answer(data(message(b"ab")), OK), b"ab"),
    ("after an interim one", headers(1, [(":status", "103")]) + answer(data(message(b"ab")), OK), b"ab"),
    ("by bytes", answer(*[data(bytes([b])) for b in message(b"ab")], OK), b"ab"),
    ("in padded frames", answer(frame(DATA, 8, 1, b"\5" + message(b"ab") + bytes(5)), OK), b"ab"),
    ("trailers only", trailers_only(("grpc-status", "5"), ("grpc-message", "no %41")), ("NOT_FOUND", "no A")),
    ("trailers after headers", answer(headers(1, [("grpc-status", "9"), ("grpc-message", "x")], end=True)), ("FAILED_PRECONDITION", "x")),
    ("an error after a message", answer(data(message(b"ab")), headers(1, [("grpc-status", "9"), ("grpc-message", "x")], end=True)),
     ("FAILED_PRECONDITION", "x")),
    ("blanks around the text", trailers_only(("grpc-status", "5"), ("grpc-message", " x ")), ("NOT_FOUND", " x ")),
    ("a text that was not escaped", trailers_only(("grpc-status", "5"), ("grpc-message", "ä%zz")), ("NOT_FOUND", "ä%zz")),
    ("no text", trailers_only(("grpc-status", "5")), ("NOT_FOUND", "")),
    ("a code that is none", trailers_only(("grpc-status", "99"), ("grpc-message", "x")), ("UNKNOWN", "x")),
    ("OK without a message", trailers_only(("grpc-status", "0")), ("INTERNAL", None)),
    ("half a message", answer(data(message(b"ab")[:-1]), OK), ("INTERNAL", None)),
    ("two messages", answer(data(message(b"ab") * 2), OK), ("INTERNAL", None)),
    ("compressed", answer(data(message(b"ab", 1)), OK), ("INTERNAL", None)),
    ("a length of 4 GiB", answer(data(b"\0\xff\xff\xff\xff")), ("RESOURCE_EXHAUSTED", None)),
    ("headers of 70 KiB", answer(OK, fields=ANSWER + [("x", "x" * 40000), ("y", "y" * 30000)]), ("RESOURCE_EXHAUSTED", None)),
    ("no trailers", answer(data(message(b"ab"), END_STREAM)), ("UNKNOWN", None)),
    ("closed before the answer", b"", ("UNAVAILABLE", None)),
    ("closed within the answer", answer(data(message(b"ab"))), ("UNAVAILABLE", None)),
    ("no HTTP/2", b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100), ("UNAVAILABLE", None)),
    ("goes away", goaway(0), ("UNAVAILABLE", None)),
    ("goes away after this call", goaway(1) + answer(data(message(b"ab")), OK), b"ab"),
    ("a pushed stream", frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2\x82"), ("UNAVAILABLE", None)),
    ("an answer and a reset", trailers_only(("grpc-status", "5"), ("grpc-message", "x")) + reset(0), ("NOT_FOUND", "x")),
] + [
    (f"HTTP status {status}", headers(1, [(":status", status), ("content-type", "text/html")], end=True), (code, None))
    for status, code in {"200": "UNKNOWN", "400": "INTERNAL", "401": "UNAUTHENTICATED", "403": "PERMISSION_DENIED",
                         "404": "UNIMPLEMENTED", "429": "UNAVAILABLE", "431": "INTERNAL", "500": "UNKNOWN", "502": "UNAVAILABLE",
                         "503": "UNAVAILABLE", "504": "UNAVAILABLE", "x": "UNKNOWN"}.items()
] + [
    (f"reset with error {error}", reset(error), (code, None))
    for error, code in {0: "INTERNAL", 1: "INTERNAL", 2: "INTERNAL", 7: "UNAVAILABLE", 8: "CANCELLED", 11: "RESOURCE_EXHAUSTED",
                        12: "PERMISSION_DENIED", 99: "INTERNAL"}.items()
]


def serve_one(listener, frames):
    peer = Peer(listener.accept()[0])
    peer.receive(len(PREFACE))
    peer.send(frame(SETTINGS, 0, 0))
    peer.read_until(lambda: 1 in peer.ended)
    peer.send(frames)
    if frames:
        peer.socket.shutdown(socket.SHUT_WR)
        peer.read_until(lambda: False)
    peer.socket.close()
    return peer


def check_answers(listener):
    with open_channel("forward-raw") as channel:
        for name, frames, expected in ANSWERS:
            call = ask(channel, "Echo", b"question")
            peer = serve_one(listener, frames)
            seen = answer_of(call)
            problems = differ(seen if expected[1:] != (None,) else (seen[0], None), expected)
            if expected[1:] == (None,) and path("raw") not in seen[1]:
                problems.append(f"no server is named: {seen[1]}")
            if peer.data.get(1) != message(b"question"):
                problems.append(f"the server got {peer.data}")
            report(f"answer: {name}", problems)
        fields = {name: peer.headers[1].get(name) for name in REQUEST}
        report("headers of a request", differ(fields, REQUEST))


def check_silence(listener):
    with open_channel("forward-raw") as channel:
        call = ask(channel, "Echo")
        peer = Peer(listener.accept()[0])
        peer.receive(len(PREFACE))
        peer.read_until(lambda: 1 in peer.ended)
        call.cancel()
        peer.read_until(lambda: 1 in peer.resets)
        report("a server is told that nobody waits", differ(peer.resets, {1: CANCEL}))
    # The queue of connections is full.
    listener.listen(0)
    full = []
    for _ in range(2):
        full.append(socket.socket(socket.AF_UNIX))
        full[-1].setblocking(False)
        full[-1].connect_ex(path("raw"))
    with open_channel("forward-raw") as channel:
        report("a server that does not accept", differ(answer_of(ask(channel, "Echo", timeout=0.5))[0], "DEADLINE_EXCEEDED"))
    listener.close()
    with open_channel("forward-raw") as channel:
        report("a server that is not there", differ(answer_of(ask(channel, "Echo")),
                                                     ("UNAVAILABLE", f"{path('raw')} can't be reached: Connection refused")))
    for connection in full:
        connection.close()


def check_places(proxy):
    """There are 64 connections at most. The next one waits until one of them has ended."""
    holds_soon(proxy.is_at_rest)
    peers = [connect() for _ in range(64)]
    served = all(peer.read_until(lambda peer=peer: peer.acks == 1) for peer in peers)
    report("64 connections are served", [] if served else ["they are not"])
    late = connect()
    late.send(request())
    late.socket.settimeout(0.3)
    report("another one waits", differ(late.read(), False))
    late.socket.settimeout(WAIT_SEC)
    peers.pop().socket.close()
    report("until one has ended", differ(late.summary(), "200 0"))


STRANGER = """
import socket
with socket.socket(socket.AF_UNIX) as s:
    s.connect("forward")
    print(len(s.recv(1)))
"""


def check_stranger():
    """The mode of the socket would not let this user in."""
    if os.geteuid() != 0:
        report("another user # SKIP only root can be another user", [])
        return
    os.chmod(directory.name, 0o711)
    os.chmod(path("forward"), 0o666)
    child = subprocess.run(["/usr/bin/python3", "-c", STRANGER], cwd=directory.name, user=65534, stdout=subprocess.PIPE, check=False)
    report("another user loses the connection", differ(child.stdout, b"0\n"))


MISTAKES = [
    ("a relative path", ["--driver-socket=driver"], "takes the absolute path"),
    ("a driver that is a path", ["--driver=a/b"], "takes the name of a driver"),
    ("a word", ["--driver-socket=/driver", "word"], "takes options only"),
    ("no socket", ["--driver-socket=/driver"], "There is not exactly one listening Unix socket"),
    ("no directory", ["--driver-socket=/driver", f"--listen={path('a/b')}"], "Failed to listen at"),
    ("a long path", ["--driver-socket=/driver", f"--listen={path('a' * 108)}"], "it is too long"),
    ("an unknown option", ["--nothing"], "unrecognized option"),
]


def check_mistakes():
    for name, arguments, text in MISTAKES:
        child = subprocess.run([sys.argv[1], *arguments], stderr=subprocess.PIPE, text=True, timeout=WAIT_SEC, check=False)
        report(f"started with {name}", differ((child.returncode, text in child.stderr), (1, True)))


def check_rest(name, proxy):
    report(f"{name}: no thread and no descriptor is left", [] if holds_soon(proxy.is_at_rest) else [f"{proxy.count()}"])
    report(f"{name} has not ended", [] if proxy.process.poll() is None else [f"status {proxy.process.returncode}"])


def check_stop(proxy, driver):
    """SIGTERM ends connections that have no call, and the others after their answer."""
    idle, busy = connect(), connect()
    idle.read_until(lambda: idle.acks == 1)
    busy.send(request(p_path="/a.Service/Slow"))
    holds_soon(lambda: driver.slow == 1)
    proxy.process.terminate()
    report("an idle connection ends", differ(idle.summary(), "goaway 0"))
    late = connect()
    driver.go_on.set()
    report("a call is answered", differ(busy.summary(), "200 0"))
    report("and then it is the end", differ((busy.read_until(lambda: False), busy.goaway), (False, 0)))
    report("with success", differ(proxy.process.wait(WAIT_SEC), 0))
    report("another connection is not served", differ(late.summary(), "closed"))


def main():
    driver = Driver()
    server = start_driver(driver)
    listener = listen_at("raw")
    proxy, raw_proxy = Proxy("forward", "driver"), Proxy("forward-raw", "raw", activated=True)
    check_calls()
    check_details()
    check_deadlines(driver)
    check_cancel(driver)
    check_crowd()
    check_requests()
    check_streams(driver)
    check_floods()
    check_answers(listener)
    check_silence(listener)
    check_places(proxy)
    check_stranger()
    check_mistakes()
    check_rest("proxy", proxy)
    check_rest("proxy of answers", raw_proxy)
    check_stop(proxy, driver)
    raw_proxy.process.terminate()
    raw_proxy.process.wait()
    server.stop(0)
    finish()


if __name__ == "__main__":
    main()
