#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Outside of optional blocks selvol.te uses only names that each of five policies has: see tests/data/policy-names.table."""

import pathlib
import re
import sys

from tap import finish, report

ROOT = pathlib.Path(sys.argv[1])
CONDITIONAL = ("optional_policy(`", "ifdef(`")


def without_blocks(text):
    """Cuts the blocks that a policy may leave out."""
    kept, depth, at = [], 0, 0
    for line in re.sub(r"#.*", "", text).splitlines():
        if depth == 0 and not line.startswith(CONDITIONAL):
            kept.append(line)
            continue
        depth += line.count("`") - line.count("'")
    if depth != 0:
        sys.exit("a block of selvol.te has no end")
    return "\n".join(kept)


def names_used(text):
    """Yields kind and name of each foreign thing that the text requires or calls."""
    required = re.compile(r"gen_require\(`(.*?)'\)", re.S)
    for block in required.findall(text):
        for kind, names in re.findall(r"(attribute_role|attribute|type|role|class) ([^;]+);", block):
            for name in re.sub(r"\{.*?\}", "", names).split(","):
                yield kind, name.strip()
    for name in re.findall(r"^\t?([a-z0-9_]+)\(", required.sub("", text), re.M):
        yield "interface", name


table = [line.split() for line in (ROOT / "tests/data/policy-names.table").read_text().splitlines() if not re.match("#|$", line)]
common = {(kind, name) for kind, name in table}
module = (ROOT / "selinux/selvol.te").read_text()
own = set(re.findall(r"(?:interface|define)\(`(\w+)'", module + (ROOT / "selinux/selvol.if").read_text()))
used = {(kind, name) for kind, name in names_used(without_blocks(module)) if name not in own}
report("names outside of optional blocks are those that each policy has",
       [f"{kind} {name}: not in tests/data/policy-names.table" for kind, name in sorted(used - common)])
report("each name of the table is used", [f"{kind} {name}" for kind, name in sorted(common - used)])
report("a name that one policy lacks is found",
       [] if set(names_used("gen_require(`\n\ttype mount_runtime_t;\n')\n")) - common else ["it is not"])
finish()
