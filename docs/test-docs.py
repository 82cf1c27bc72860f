#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The man pages name everything there is: the D-Bus interface, errors, reasons, settings and command line options.

Prints TAP."""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

root = pathlib.Path(sys.argv[1])
count = 0
failed = False


def read(path):
    return (root / path).read_text()


def check(name, wanted, text):
    global count, failed
    missing = [w for w in wanted if not re.search(rf"(?<![\w-]){re.escape(w)}(?!\w)", text)]
    count += 1
    failed = failed or bool(missing) or not wanted
    print(f"{'ok' if wanted and not missing else 'not ok'} {count} - {name}")
    for word in missing:
        print(f"# {word} is not documented")


def interface(file):
    node = xml.parse(root / "dbus" / file).getroot().find("interface")
    return [e.get("name") for e in node if e.tag in ("method", "property", "signal")]


def signatures(file):
    """Methods as the page writes their headings."""
    for method in xml.parse(root / "dbus" / file).getroot().iter("method"):
        sides = [", ".join(f"{a.get('type')} {a.get('name')}" for a in method.iter("arg") if a.get("direction") == d)
                 for d in ("in", "out")]
        yield f"{method.get('name')}({sides[0]}) → ({sides[1]})"


page = read("docs/org.selvol1.5.rst")
for file in ("org.selvol1.Job.xml", "org.selvol1.Manager.xml", "org.selvol1.Volume.xml"):
    check(f"org.selvol1(5): {file}", interface(file), page)
    headings = set(page.splitlines())
    check(f"org.selvol1(5): arguments in {file}", list(signatures(file)), "\n".join(headings))
errors = re.findall(r'\[FAILURE_\w+\] = "(\w+)"', read("src/model/failure.c"))
check("org.selvol1(5): errors", [e for e in errors if e != "None"], page)
options = re.findall(r'\[OPTION_\w+\] = \{\s*"(\w+)",\s*"(?:s|b|u|t|as)",[^"]*"([a-z-]+)"', read("src/wire/options.c"))
check("org.selvol1(5): options", [name for name, _ in options], page)
model = "".join(path.read_text() for path in sorted((root / "src/model").glob("*.c")))
reasons = sorted(set(re.findall(r'\[REASON_\w+\] = "([a-z]+(?:-[a-z]+)*)"', model)))
check("selvol(7): reasons", reasons, read("docs/selvol.7.rst"))
keys = re.findall(r'^\s*\{ "(\w+)", read_\w+', read("src/model/settings.c"), flags=re.M)
check("selvol.conf(5): settings", keys, read("docs/selvol.conf.5.rst"))
long_options = [option for _, option in options]
long_options += re.findall(r'\{ SWITCH_\w+, (?:0|\'\w\'), "([a-z-]+)"', read("src/ctl/args.c"))
check("selvolctl(1): options", [f"--{o}" for o in long_options], read("docs/selvolctl.1.rst"))
verbs = re.findall(r"verb_(\w+)\(sd_bus", read("src/ctl/verbs.h"))
check("selvolctl(1): verbs", verbs, read("docs/selvolctl.1.rst"))
fields = {f for path in (root / "src/daemon").glob("*.c") for f in re.findall(r'"(SELVOL_[A-Z_]+)", ', path.read_text())}
check("selvold(8): journal fields", sorted(fields), read("docs/selvold.8.rst"))
print(f"1..{count}")
sys.exit(failed)
