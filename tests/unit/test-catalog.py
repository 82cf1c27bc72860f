#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every kind of event in src/wire/message-ids.h has an entry in the journal catalog, and every entry is
about one.

Prints TAP."""

import collections
import pathlib
import re
import sys

from tap import finish, report

root = pathlib.Path(sys.argv[1])
header = (root / "src/wire/message-ids.h").read_text()
catalog = (root / "units/selvol.catalog").read_text()


def parse_entries(text):
    """Yields the entries as (id, headers, body)."""
    for part in re.split(r"^-- ", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n\n")
        lines = head.splitlines()
        yield lines[0], dict(line.split(": ", 1) for line in lines[1:]), body


macros = re.findall(r'^#define (MESSAGE_\w+)\s+"([^"]*)"', header, flags=re.M)
entries = list(parse_entries(catalog))
ids = {value for _, value in macros}
entry_ids = [entry[0] for entry in entries]
# Records have these fields.
logged = set()
for path in root.glob("src/*/*.[ch]"):
    logged.update(re.findall(r'"(SELVOL_[A-Z_]+)"', path.read_text()))

report("there are kinds of events", [] if macros else ["none found"])
report("ids are 32 hexadecimal digits", [n for n, v in macros if not re.fullmatch("[0-9a-f]{32}", v)])
report("no id is used twice",
      [i for i, n in collections.Counter([v for _, v in macros]).items() if n > 1] +
      [i for i, n in collections.Counter(entry_ids).items() if n > 1])
report("every kind of event is explained", [n for n, v in macros if v not in entry_ids])
report("every entry explains a kind of event", [i for i in entry_ids if i not in ids])
report("every entry says who and where",
      [i for i, h, _ in entries if not h.get("Subject") or h.get("Defined-By") != "selvol" or not h.get("Support")])
report("every entry has a text of lines that fit",
      [i for i, _, b in entries if not b.strip() or any(len(line) > 80 for line in b.splitlines())])
report("only fields that exist are named",
      [f"{i}: {f}" for i, h, b in entries for f in re.findall(r"@(\w+)@", h["Subject"] + b) if f not in logged])
finish()
