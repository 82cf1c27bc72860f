#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/messages.txt has every text that users meet, so that a reviewer can read all texts.

    tests/unit/test-messages.py . --update

writes it anew. Without --update the program compares the file, and prints the result as TAP.

A string of the sources that has words is a text: so nobody has to add a new kind of message here. Debug
messages, SQL and comments are left out, as users don't meet them."""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

from tap import finish, report

root = pathlib.Path(sys.argv[1])
update = sys.argv[2:] == ["--update"]
page = root / "docs/messages.txt"

# The folders have the order in which a request meets them.
FOLDERS = ["api", "model", "plan", "job", "state", "store", "daemon", "worker", "mount", "label", "tree", "wire", "basic",
           "client", "ctl", "metrics"]

NOT_MET = r'\b(?:log_debug|assert|db_execute|db_query)\((?:[^"();]|"(?:[^"\\]|\\.)*"|\([^()]*\))*\)'
COMMENT = r"/\*.*?\*/|//[^\n]*"
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# Adjacent literals, and the macros among them, are one text.
MACRO = r"[A-Z]\w+"
TEXT = rf"{LITERAL}(?:\s*(?:{MACRO}\s*)?{LITERAL})*(?:\s*{MACRO}\b)?"
SQL = r"^(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|VACUUM)\b|\b(?:NOT NULL|PRIMARY KEY|STRICT|WHERE|FROM \w+ WHERE)\b"


def is_text(s):
    return re.search(r"[A-Za-z]{2,}[,.:;)']* (?:[A-Za-z(%'<]|-{0,2}\w)", s) and not re.search(SQL, s)


def read_macros():
    """Yields the macros that stand for a literal."""
    for folder in ["src", "integration"]:
        for path in (root / folder).glob("*/*.[ch]"):
            yield from re.findall(rf"^#define ({MACRO})(?:\s|\\\n)+({LITERAL})$", path.read_text(), flags=re.M)


macros = dict(read_macros())


def read_literal(source):
    parts = re.findall(rf"{LITERAL}|{MACRO}", source)
    s = "".join(p[1:-1] if p[0] == '"' else macros[p][1:-1] if p in macros else p[3:4] if p.startswith("PRI") else p
                for p in parts)
    return s.replace('\\"', '"').replace("\\\\", "\\").replace("\\t", "    ").replace("\\n", "\n")


def texts_of_source(path):
    source = re.sub(COMMENT + "|" + LITERAL, lambda m: m[0] if m[0][0] == '"' else " ", path.read_text(), flags=re.S)
    source = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", source, flags=re.M)
    source = re.sub(NOT_MET, "", source)
    texts = (read_literal(m[0]) for m in re.finditer(TEXT, source))
    return [t.strip("\n") for t in dict.fromkeys(texts) if is_text(t)]


def texts_of_catalog():
    for entry in re.split(r"^-- ", (root / "units/selvol.catalog").read_text(), flags=re.M)[1:]:
        head, _, body = entry.partition("\n\n")
        yield f"{re.search('^Subject: (.*)$', head, flags=re.M)[1]}\n\n{body.strip()}"


def texts_of_polkit():
    for action in xml.parse(root / "polkit/org.selvol1.policy").getroot().iter("action"):
        yield f"{action.findtext('description')}: {action.findtext('message')}"


def texts_of_units():
    for path in sorted((root / "units").iterdir()):
        for line in re.findall(r"^Description=(.*)$", path.read_text(), flags=re.M):
            yield line


def texts_of_alerts():
    for rule in (root / "monitoring/selvol.rules.yml").read_text().split("- alert: ")[1:]:
        texts = re.findall(r"^ *(?:summary|description): (.*)$", rule, flags=re.M)
        yield ": ".join([rule.partition("\n")[0], ". ".join(t.strip("'") for t in texts)])


def texts_of_installation():
    yield from re.findall(r'\bsay "(.*)"', (root / "tools/post-install").read_text())


def collect():
    yield "tools/post-install", texts_of_installation()
    yield "units/selvol.catalog", texts_of_catalog()
    yield "polkit/org.selvol1.policy", texts_of_polkit()
    yield "units", texts_of_units()
    yield "monitoring/selvol.rules.yml", texts_of_alerts()
    for folder in FOLDERS:
        for path in sorted((root / "src" / folder).glob("*.[ch]")):
            yield path.relative_to(root), texts_of_source(path)
    for path in sorted((root / "integration").glob("*/*.[ch]")):
        yield path.relative_to(root), texts_of_source(path)


def format_page():
    parts = ["What users meet, by the file that it is in: read it as a whole. Written by tests/unit/test-messages.py\n"]
    for name, texts in collect():
        texts = ["\n".join(("  " + line).rstrip() for line in t.splitlines()) for t in texts]
        if texts:
            parts.append(f"{name}\n" + "\n".join(t + "\n" * ("\n" in t) for t in texts).rstrip("\n") + "\n")
    return "\n".join(parts)


wanted = format_page()
if update:
    page.write_text(wanted)
    sys.exit()

missing = sorted({p.name for p in (root / "src").iterdir() if p.is_dir()} ^ set(FOLDERS))
now = page.read_text() if page.exists() else ""
report("all folders are looked at", missing)
# The texts of the service have options in double quotes, which clients replace (client/client-call.c). "NAME="
# without quotes is a setting.
options = re.findall(r'\[OPTION_\w+\] = \{\s*"(\w+)"', (root / "src/wire/option-table.c").read_text())
compound = "|".join(o for o in options if re.search("[A-Z]", o[1:]))
served = "\n".join(t for name, texts in collect() if re.match("src/(?!ctl|client|daemon|metrics)", str(name)) for t in texts)
report("options are in double quotes", [f'"{w}" is no option' for w in re.findall(r'"([A-Z]\w+)"', served) if w not in options] +
       [f"{w} is not in quotes" for w in re.findall(rf"(?<![\w'\[\"])(?:{compound})(?![\w\"]|=(?!\w)|=no is| TYPE)", served)])
report("docs/messages.txt is up to date", [] if now == wanted else ["write it anew with: tests/unit/test-messages.py . --update"])
finish()
