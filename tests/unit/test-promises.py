#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No name that docs/stability.md promises to keep is gone: tests/data/promises.table has them all. Prints TAP. With
--update it adds the names that are new to the table; one that has gone has to be taken out by hand, and announced."""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

from tap import finish, report

TOP = pathlib.Path(sys.argv[1])
TABLE = TOP / "tests/data/promises.table"
HEAD = """\
# SPDX-License-Identifier: LGPL-2.1-or-later
# The promises of docs/stability.md: a line of the table may only go with a new X of the version, and a line in NEWS.md.
# "tests/unit/test-promises.py . --update" adds what is new. Until 0.1.0 is tagged lines may change.
"""


def find(path, pattern):
    return re.findall(pattern, (TOP / path).read_text(), flags=re.M | re.S)


def interface(name):
    """Yields the members of an interface on the bus, with their signatures."""
    for member in xml.parse(TOP / f"dbus/org.selvol1.{name}.xml").getroot().find("interface"):
        if member.tag in ("method", "property", "signal"):
            types = {"in": "", "out": ""}
            for argument in member.iter("arg"):
                types[argument.get("direction", "out")] += argument.get("type")
            yield f"{name}.{member.get('name')} {types['in']}>{types['out']}{member.get('type', '')}"


def metrics():
    """Yields metrics with their labels."""
    for kind, name, rest in find("src/state/metrics.c", r'^        (COUNTER|GAUGE|HISTOGRAM)\(METRIC_[^"]*"(\w+)",(.*?)\),$'):
        yield " ".join([kind.lower(), name, *re.findall(r'\{ "(\w+)"', rest)])


NAMES = {
    "bus": lambda: [m for name in ("Manager", "Volume", "Job") for m in interface(name)],
    "option": lambda: map(" ".join, find("src/wire/option-table.c", r'\[OPTION_\w+\] = \{\s*"(\w+)",\s*"(\w+)",\s*[A-Z_| ]+,\s*"([a-z-]+)"')),
    "result": lambda: find("src/api/call.c", r'\(d, "(\w+)"'),
    "error": lambda: find("src/model/failure.c", r'\[FAILURE_\w+\] = "(\w+)"'),
    "verb": lambda: find("src/ctl/verb-table.c", r'\{\s*GROUP_\w+,\s*"(\w+)"'),
    "switch": lambda: find("src/ctl/args.c", r"\{ SWITCH_\w+, (?:0|'\w'), \"([a-z-]+)\""),
    "exit": lambda: map(" ".join, find("src/ctl/args.h", r"(EXIT_\w+) = (\d+),")),
    "setting": lambda: find("src/model/settings.c", r'^\s*\{ "(\w+)", FORM_\w+'),
    "metric": metrics,
    "message": lambda: map(" ".join, find("src/wire/message-ids.h", r'^#define (MESSAGE_\w+) "(\w+)"$')),
    "field": lambda: [f for path in sorted(TOP.glob("src/*/*.c")) for f in find(path, r'\{ "(SELVOL_[A-Z_]+)", ')],
    "unit": lambda: [path.name.removesuffix(".in") for path in TOP.glob("units/*") if re.search(r"\.(service|socket|target)(\.in)?$", path.name)],
    "action": lambda: find("polkit/org.selvol1.policy", r'<action id="([^"]+)"'),
    "boolean": lambda: find("selinux/selvol.te", r"^gen_tunable\((\w+)"),
    "interface": lambda: find("selinux/selvol.if", r"^interface\(`(\w+)'"),
    "type": lambda: [t for t in find("selinux/selvol.te", r"^type (\w+)") if t == "selvol_image_t"],
    "user": lambda: find("units/sysusers.conf", r"^u (\S+)") + find("units/volume-plugin-sysusers.conf", r"^u (\S+)"),
}

now = {kind: sorted(set(names())) for kind, names in NAMES.items()}
table = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")] if TABLE.exists() else []
promised = {kind: [line.partition(" ")[2] for line in table if line.split()[0] == kind] for kind in NAMES}
if "--update" in sys.argv:
    lines = [f"{kind} {name}\n" for kind in NAMES for name in sorted({*promised[kind], *now[kind]})]
    TABLE.write_text(HEAD + "".join(lines))
    sys.exit()
for kind in NAMES:
    report(f"{kind}: {len(promised[kind])} names", [f"{name} is promised, and gone" for name in promised[kind] if name not in now[kind]] +
           [f"{name} is not in the table: tests/unit/test-promises.py . --update" for name in now[kind] if name not in promised[kind]] +
           ([] if now[kind] else ["nothing was found"]))
finish()
