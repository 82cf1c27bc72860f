#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Folders of src/ and integration/ include each other in one direction only, files of a folder are in no
circle, and each outside library is used in one place. A function that is used in one file is static.

The judge reads #include lines, and within a folder names of functions. Prints TAP; the first tests show
that the judge notices mistakes."""

import pathlib
import re
import sys
from collections import Counter

from tap import finish, report

# Each folder may include these folders of ours, and itself.
MAY_USE = {
    "basic": set(),
    "model": {"basic"},
    "plan": {"model", "basic"},
    "wire": {"model", "basic"},
    "metrics": {"basic"},
    "tree": {"model", "basic"},
    "label": {"tree", "model", "basic"},
    "mount": {"model", "basic"},
    "store": {"model", "basic"},
    "state": {"store", "wire", "plan", "model", "basic"},
    "job": {"state", "wire", "plan", "model", "basic"},
    "api": {"job", "state", "wire", "plan", "model", "basic"},
    "daemon": {"api", "job", "state", "store", "wire", "plan", "model", "basic"},
    "worker": {"label", "tree", "mount", "wire", "plan", "model", "basic"},
    "client": {"wire", "model", "basic"},
    "mount-helper": {"client", "wire", "model", "basic"},
    "volume-plugin": {"client", "wire", "model", "basic"},
    "grpc": {"basic"},
    "csi": {"grpc", "client", "mount", "wire", "model", "basic"},
    "ctl": {"client", "mount", "wire", "model", "basic"},
}

# These folders may include the headers of a library. The first pattern that matches counts.
LIBRARIES = [
    (r"systemd/sd-journal\.h", {"basic", "ctl"}),
    (r"systemd/sd-gpt\.h", {"mount"}),
    (r"systemd/.*", {"wire", "state", "job", "api", "daemon", "metrics", "worker", "client", "ctl", "mount-helper",
                      "volume-plugin", "csi"}),
    (r"selinux/.*", {"label"}),
    (r"libmount(/.*|\.h)", {"mount"}),
    (r"blkid/.*", {"mount"}),
    (r"sqlite3.*\.h", {"store"}),
    (r"libsmartcols(/.*|\.h)", {"ctl"}),
    (r"jansson\.h", {"ctl", "volume-plugin"}),
    (r"microhttpd\.h", {"metrics", "volume-plugin"}),
    (r"nghttp2/.*", {"grpc"}),
    (r"protobuf-c/.*|.*\.pb-c\.h", {"csi"}),
    (r"ut(hash|list|array|string)\.h", {"model", "plan", "store", "state", "job", "api", "daemon"}),
    (r"glib.*|gio/.*", set()),
]

# These folders are pure: they look neither at the system nor at the clock. They use <sys/stat.h> for the bits
# of a mode, not for its functions.
PURE = {"model", "plan"}
PURE_HEADERS = {"fcntl.h", "unistd.h", "dirent.h", "sys/socket.h", "sys/mount.h", "sys/xattr.h"}
PURE_CALLS = {"time", "clock_gettime", "gettimeofday", "open", "openat", "fopen", "getenv", "stat", "lstat", "fstat",
              "fstatat", "statx", "chmod", "fchmod", "fchmodat", "mkdir", "mkdirat", "mknod", "mkfifo", "umask",
              "utimensat", "futimens"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def without_comments_and_strings(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def judge(name, text):
    """Returns the mistakes of a file, whose name is the path below src/ or integration/."""
    folder = name.split("/")[0]
    wrong = []
    if folder not in MAY_USE:
        return [f"{name}: folder {folder} has no place in the order"]

    for kind, header in INCLUDE.findall(text):
        if kind == '"':
            other = header.split("/")[0] if "/" in header else None
            if header.startswith(".") or (other is None and header != "selvol-config.h"):
                wrong.append(f'{name}: include "{header}" with its folder')
            elif other is not None and other not in MAY_USE:
                wrong.append(f'{name}: "{header}" is of no folder of ours')
            elif other not in MAY_USE[folder] | {folder, None}:
                wrong.append(f"{name}: {folder} must not use {other} ({header})")
            continue
        for pattern, allowed in LIBRARIES:
            if re.fullmatch(pattern, header):
                if folder not in allowed:
                    wrong.append(f"{name}: <{header}> belongs to {', '.join(sorted(allowed)) or 'the tests'}")
                break
        if folder in PURE and header in PURE_HEADERS:
            wrong.append(f"{name}: {folder} must not include <{header}>")

    if folder in PURE:
        for call in re.findall(r"(?<![\w.>])(\w+)\s*\(", without_comments_and_strings(text)):
            if call in PURE_CALLS:
                wrong.append(f"{name}: {folder} must not call {call}()")
    return wrong


# The definition of a function that other files can call begins in column 0.
DEFINITION = re.compile(r"^(?!(?:_Noreturn )?static\b|typedef\b|extern\b)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)


def find_uses(files):
    """Returns which files of a folder, {name below src/ or integration/: text}, use each other. A .c and
    the .h of its name are one file."""
    def unit(name):
        return name.rsplit(".", 1)[0]

    codes = {name: without_comments_and_strings(text) for name, text in files.items()}
    uses = {unit(name): set() for name in files}
    defined = {f: unit(name) for name, code in codes.items() if name.endswith(".c") for f in DEFINITION.findall(code)}
    for name, text in files.items():
        included = {unit(header) for kind, header in INCLUDE.findall(text) if kind == '"'}
        called = {defined[word] for word in set(re.findall(r"\w+", codes[name])) if word in defined}
        uses[unit(name)] |= (included & set(uses)) | (called if name.endswith(".c") else set())
    return {name: used - {name} for name, used in uses.items()}


def find_circles(files):
    """Returns the circles of files of one folder, as sorted lists of names."""
    uses = find_uses(files)
    reached = {}
    for name in uses:
        seen, todo = set(), [name]
        while todo:
            new = uses[todo.pop()] - seen
            seen |= new
            todo += new
        reached[name] = seen
    circles = {tuple(sorted(other for other in seen if name in reached[other])) for name, seen in reached.items()
               if name in seen}
    return sorted(list(circle) for circle in circles)


# Only these tests call these functions; otherwise only a slower ring would test them.
FOR_TESTS = {
    "fuzz/fuzz-mount-note.c": ["mount_note_format", "mount_note_parse"],
    "fuzz/fuzz-mountinfo.c": ["mountinfo_escape"],
    "unit/test-csi-codes.c": ["csi_code_of_error"],
    "unit/test-context.c": ["container_contexts_parse"],
    "unit/test-doctor.c": ["doctor_check"],
    "unit/test-idmap.c": ["idmap_swap_map"],
    "fuzz/fuzz-output.c": ["member_is_shown"],
    "unit/test-fit.c": ["text_fit", "text_width"],
    "unit/test-fingerprint.c": ["fingerprint_of_ext", "fingerprint_of_btrfs", "fingerprint_of_xfs", "xfs_find_log"],
    "unit/test-store.c": ["store_commit"],
}


def find_private(files):
    """Returns functions that are not static, and that no other file uses. A header that declares a
    function does not use it, but macros may."""
    codes = {name: without_comments_and_strings(text) for name, text in files.items()}
    words = {name: Counter(re.findall(r"\w+", code)) for name, code in codes.items()}
    used = Counter(word for name, all in words.items() for word, n in all.items() if name.endswith(".c") or n > 1)
    made = [part for code in codes.values() for part in re.findall(r"\b\w+_(?=##name\b)|(?<=\bname##)_\w+", code)]
    return {f for name, code in codes.items() if name.endswith(".c") for f in DEFINITION.findall(code)
            if used[f] < 2 and f != "main" and not any(f.startswith(part) or f.endswith(part) for part in made)}


# Files, and the functions that should be static.
PRIVATE_SELF_TEST = [
    ({"tree/a.c": "int a(void) {\n}", "tree/a.h": "int a(void);", "tree/b.c": "/* a() */"}, {"a"}),
    ({"tree/a.c": "X *a_free(X *a) {\n}", "tree/a.h": "X *a_free(X *a);\nDEFINE_CLEANUP_FUNC(X *, a_free);"}, set()),
    ({"tree/a.c": "int go_b(void) {\n}", "tree/b.c": "#define GO(name) go_##name()\n"}, set()),
]

# Files of a folder, whether they are in a circle.
CIRCLES_SELF_TEST = [
    ("none", {"tree/a.c": '#include "tree/b.h"\nvoid a(void) {\n        b();\n}', "tree/b.c": '#include "tree/b.h"\nvoid b(void) {\n}',
              "tree/b.h": "void b(void);"}, False),
    ("includes", {"tree/a.h": '#include "tree/b.h"', "tree/b.h": '#include "tree/a.h"'}, True),
    ("includes, of three", {"tree/a.h": '#include "tree/b.h"', "tree/b.c": '#include "tree/c.h"', "tree/b.h": "",
                            "tree/c.c": '#include "tree/a.h"', "tree/c.h": ""}, True),
    ("calls", {"tree/a.c": '#include "tree/all.h"\nint a(void) {\n        return b();\n}',
               "tree/b.c": '#include "tree/all.h"\nint b(void) {\n        return a();\n}', "tree/all.h": "int a(void); int b(void);"}, True),
    ("calls, over lines", {"tree/a.c": "int a(int x,\n      int y) {\n        return b();\n}",
                           "tree/b.c": "static int c(void) {\n}\n\nstruct x *b(void) {\n        return a(1, 2);\n}"}, True),
    ("static functions of one name", {"tree/a.c": "static int f(void) {\n}\nint a(void) {\n        return b() + f();\n}",
                                      "tree/b.c": "static int f(void) {\n}\nint b(void) {\n        return f();\n}"}, False),
    ("a comment", {"tree/a.c": "int a(void) {\n        return b();\n}", "tree/b.c": "/* a() */\nint b(void) {\n}"}, False),
    ("a type in a header of its own", {"tree/a.h": '#include "tree/types.h"', "tree/a.c": '#include "tree/b.h"',
                                       "tree/b.h": '#include "tree/types.h"', "tree/types.h": ""}, False),
]

# File, text, whether something is wrong with it.
SELF_TEST = [
    ("daemon/a.c", '#include "store/store.h"\n#include "plan/plan.h"\n#include <systemd/sd-bus.h>', False),
    ("daemon/a.c", '#include "label/files.h"', True),
    ("daemon/a.c", '#include "worker/child.h"', True),
    ("worker/a.c", '#include "mount/stage.h"\n#include "label/files.h"', False),
    ("worker/a.c", '#include "store/store.h"', True),
    ("worker/a.c", '#include "daemon/job.h"', True),
    ("ctl/a.c", '#include "daemon/job.h"', True),
    ("ctl/a.c", '#include <jansson.h>\n#include "wire/option-table.h"', False),
    ("ctl/a.c", '#include "plan/plan.h"', True),
    ("csi/a.c", '#include "client/client-call.h"', False),
    ("csi/a.c", '#include "ctl/bus.h"', True),
    ("grpc/a.c", "#include <nghttp2/nghttp2.h>", False),
    ("csi/a.c", "#include <nghttp2/nghttp2.h>", True),
    ("csi/a.c", "#include <protobuf-c/protobuf-c.h>", False),
    ("grpc/a.c", "#include <protobuf-c/protobuf-c.h>", True),
    ("grpc/a.c", '#include "csi/csi-message.h"', True),
    ("client/a.c", '#include "ctl/bus.h"', True),
    ("daemon/a.c", "#include <jansson.h>", True),
    ("label/a.c", '#include "mount/stage.h"', True),
    ("label/a.c", '#include "tree/tree.h"', False),
    ("tree/a.c", '#include "label/selinux.h"', True),
    ("tree/a.c", '#include "model/files.h"\n#include "basic/log.h"', False),
    ("store/a.c", '#include "daemon/job.h"', True),
    ("model/a.c", '#include "store/store.h"', True),
    ("model/a.c", '  #  include "daemon/job.h"', True),
    ("basic/a.c", '#include "plan/plan.h"', True),
    ("model/a.c", '#include "plan.h"', True),
    ("model/a.c", '#include "../store/store.h"', True),
    ("model/a.c", "#include <utlist.h>", False),
    ("label/a.c", "#include <uthash.h>", True),
    ("model/a.c", "#include <systemd/sd-bus.h>", True),
    ("basic/a.c", "#include <systemd/sd-bus.h>", True),
    ("basic/a.c", "#include <systemd/sd-journal.h>", False),
    ("daemon/a.c", "#include <systemd/sd-journal.h>", True),
    ("worker/a.c", "#include <selinux/selinux.h>", True),
    ("label/a.c", "#include <selinux/selinux.h>", False),
    ("label/a.c", "#include <libmount/libmount.h>", True),
    ("mount/a.c", "#include <libmount.h>", False),
    ("daemon/a.c", "#include <sqlite3.h>", True),
    ("daemon/a.c", "#include <libsmartcols/libsmartcols.h>", True),
    ("daemon/a.c", "#include <glib.h>", True),
    ("model/a.c", "#include <fcntl.h>", True),
    ("model/a.c", "#include <sys/stat.h>\nbool f(mode_t m) { return S_ISDIR(m) && (m & S_ISGID); }", False),
    ("model/a.c", "#include <sys/stat.h>\nint f(int fd, struct stat *st) { return fstat(fd, st); }", True),
    ("label/a.c", "#include <fcntl.h>", False),
    ("model/a.c", "int f(void) { return time(NULL); }", True),
    ("model/a.c", "x = clock_gettime (CLOCK_MONOTONIC, &t);", True),
    ("model/a.c", "fd = open(path, 0);", True),
    ("model/a.c", "stream = open_memstream(&text, &size); strftime(b, 64, f, &tm); /* time() */", False),
    ("model/a.c", 'failure_set(f, "call open(path) at a time(1)");', False),
    ("elsewhere/a.c", "", True),
]


def main():
    root = pathlib.Path(sys.argv[1])
    files = {p.relative_to(root / top).as_posix(): p.read_text(encoding="utf-8")
             for top in ["src", "integration"] for p in sorted((root / top).rglob("*.[ch]"))}
    wrong = ["it was judged otherwise"]
    for name, text, expected in SELF_TEST:
        report(f"judge {name}: {text.strip().splitlines()[0] if text else 'empty'}", wrong * (bool(judge(name, text)) != expected))
    for name, texts, expected in CIRCLES_SELF_TEST:
        report(f"judge circles: {name}", wrong * (bool(find_circles(texts)) != expected))
    for texts, expected in PRIVATE_SELF_TEST:
        report(f"judge static functions: {' '.join(texts.values())}".replace("\n", ""), wrong * (find_private(texts) != expected))
    report("there are sources", [] if len(files) > 10 else [f"{len(files)} were found"])
    for name, text in files.items():
        report(name, judge(name, text))
    for folder in sorted(MAY_USE):
        texts = {name: text for name, text in files.items() if name.split("/")[0] == folder}
        report(f"{folder}: no circles of files", [", ".join(circle) for circle in find_circles(texts)])
    private, listed = find_private(files), {f for functions in FOR_TESTS.values() for f in functions}
    report("functions of one file are static", [f"make {f}() static" for f in sorted(private - listed)] +
           [f"{f}() need not be in the list" for f in sorted(listed - private)] +
           [f"{test} does not call {f}()" for test, functions in FOR_TESTS.items() for f in functions
            if f not in (root / "tests" / test).read_text()])
    finish()


if __name__ == "__main__":
    main()
