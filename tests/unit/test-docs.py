#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The man pages name all that exists, and nothing else: the D-Bus interface, options, results, errors,
reasons, settings, options of the command line, journal fields, polkit actions. HACKING.md names the
folders of src/ and integration/. No link of an installed page is dead: the second argument is a build.

Prints TAP."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

from tap import finish, report

root = pathlib.Path(sys.argv[1])
build = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else root / "build")


def read(path):
    return (root / path).read_text()


def check(name, wanted, text):
    """Reports the words that are not in the text."""
    missing = [w for w in wanted if not re.search(rf"(?<![\w-]){re.escape(w)}(?!\w)", text)]
    report(name, [f"{word} is not documented" for word in missing] if wanted else ["nothing was found"])


def compare(name, wanted, documented):
    """Reports the words that only one of both has."""
    wanted, documented = set(wanted), set(documented)
    report(name, [f"{word} is not documented" for word in sorted(wanted - documented)] +
           [f"{word} does not exist" for word in sorted(documented - wanted)] +
           ([] if wanted else ["nothing was found"]))


def section(text, title):
    """Returns the text below a heading, up to the next heading of the same kind."""
    body = re.split(rf"^{re.escape(title)}\n=+\n", text, flags=re.M)[1]
    return re.split(r"^[^\n]+\n=+\n", body, flags=re.M)[0]


def table_names(text, name):
    """Returns the words of a table for DEFINE_STRING_TABLE()."""
    return re.findall(r'\] = "([^"]+)"', re.search(rf"{name}_table\[\w+\] = \{{(.*?)\}};", text, flags=re.S)[1])


def elements(file, *tags):
    node = xml.parse(root / "dbus" / file).getroot().find("interface")
    return [e for e in node if e.tag in tags]


def arguments(element, direction):
    return ", ".join(f"{a.get('type')} {a.get('name')}" for a in element.iter("arg")
                     if a.get("direction", direction) == direction)


page = read("docs/org.selvol1.5.rst")
lines = "\n".join(set(page.splitlines()))
for file in ("org.selvol1.Job.xml", "org.selvol1.Manager.xml", "org.selvol1.Volume.xml"):
    # A volume has no methods.
    check(f"org.selvol1(5): members of {file}", [f"{m.get('name')}({arguments(m, 'in')}) → ({arguments(m, 'out')})"
                                                 for m in elements(file, "method")] +
          [f"{p.get('name')} *{p.get('type')}*" for p in elements(file, "property")], lines)
check("org.selvol1(5): signals", [f"{s.get('name')}({arguments(s, 'out')})"
                                  for s in elements("org.selvol1.Manager.xml", "signal")], lines)

errors = re.findall(r'\[FAILURE_\w+\] = "(\w+)"', read("src/model/failure.c"))
compare("org.selvol1(5): errors", [e for e in errors if e != "None"],
        re.findall(r"^(\w+)$\n    ", section(page, "ERRORS"), flags=re.M))
# The page has the reaction of a plugin, and the status of gRPC, for each error.
compare("selvol-integration(7): errors", [e for e in errors if e != "None"],
        re.findall(r"^(\w+) \(\*(?:wait|repeat|report)\*, [A-Z_]+\)$\n    ", read("docs/selvol-integration.7.rst"), flags=re.M))

statuses = dict(re.findall(r"^(\w+) \(\*\w+\*, ([A-Z_]+)\)$", read("docs/selvol-integration.7.rst"), flags=re.M))
script = ". docs/examples/csi-node.bash; for selvol_error; do grpc_status; done"
answers = subprocess.run(["bash", "-c", script, "bash", *statuses], cwd=root, capture_output=True, text=True, check=True).stdout.split()
compare("docs/examples/csi-node.bash: status of each error", [f"{e} {s}" for e, s in zip(statuses, answers)],
        [f"{e} {s}" for e, s in statuses.items()])

# A letter stands for each method of an option, in the order in which the page explains them.
letters = {"METHOD_MOUNT": "M", "METHOD_ADOPT": "A", "METHOD_RELABEL": "R", "METHOD_OWNERSHIP": "O",
           "METHOD_UNMOUNT": "U", "METHOD_VERIFY": "V", "METHODS_ALL": "MAROUV"}
source = read("src/wire/option-table.c")
for name, value in re.findall(r"^        (\w+) = ([^,]+),$", source, flags=re.M):
    letters[name] = "".join(letters[part] for part in value.split(" | "))
options = re.findall(r'\[OPTION_\w+\] = \{\s*"(\w+)",\s*"(\w+)",\s*([A-Z_| ]+),\s*"([a-z-]+)"', source)
compare("org.selvol1(5): options", [
    f"{name} *{kind}* ({', '.join(l for l in 'MAROUV' if any(l in letters[m] for m in methods.split(' | ')))})"
    for name, kind, methods, _ in options
], re.findall(r"^(\w+ \*\w+\* \([A-Z, ]+\))$", section(page, "OPTIONS"), flags=re.M))

keys = set(re.findall(r'\(d, "(\w+)"', read("src/api/call.c")))
headings = re.findall(r"^(\w.*) \([A-Z, ]+\)$", section(page, "RESULTS"), flags=re.M)
compare("org.selvol1(5): results", keys, {key for heading in headings for key in re.findall(r"(\w+) \*", heading)})
members = read("src/api/api.c") + read("src/api/objects.c")
check("org.selvol1(5): members of holders and conflicts",
      [f"*{member}*" for member in re.findall(r'\(d, "(\w+)"', members)], page)
jobs = read("src/job/job.c")
operations = [name for file in (root / "src/job").glob("*.c")
              for name in re.findall(r'const OperationType \w+ = \{\s+\.name = "(\w+)"', file.read_text())]
states = re.search(r"^const char \*job_state_word.*?^}", jobs, flags=re.M | re.S)[0]
check("org.selvol1(5): operations and states",
      [f"*{word}*" for word in operations + re.findall(r'"(\w+)"', states)], page)
report("HACKING.md: files", [f"{file} does not exist" for file in
                             re.findall(r"`((?:src/)?[a-z]+/[a-z-]+\.[ch])`", read("HACKING.md"))
                             if not any((root / top / file).exists() for top in ["", "src", "integration"])])
sources = "".join(file.read_text() for top in ["src", "integration"] for file in (root / top).rglob("*.[ch]"))
report("HACKING.md: functions", [f"{name}() does not exist" for name in sorted(set(re.findall(r"`(\w+)\(\)`", read("HACKING.md"))))
                                 if not re.search(rf"\b{name}\(", sources) and not name.startswith(("x_", "gt_"))])
steps = re.findall(r"\[JOB_(\w+)\] =\s+(STEP[^,]+),", re.search(r" transitions\[.*?\};", jobs, flags=re.S)[0])
compare("HACKING.md: the states of a job",
        {(state.lower(), step.lower()) for state, text in steps for step in re.findall(r"STEP\(JOB_(\w+)\)", text)},
        set(re.findall(r"^    (\w+) --> (\w+): ", read("HACKING.md"), flags=re.M)))

files = read("src/model/files.c")
check("selvol(7): reasons", table_names(read("src/model/volume.c"), "reason"), read("docs/selvol.7.rst"))
check("org.selvol1(5): reasons", table_names(files, "relabel_reason") + table_names(files, "ownership_reason"), page)
check("plan.md: reasons", table_names(read("src/model/volume.c"), "reason") + table_names(files, "relabel_reason") +
      table_names(files, "ownership_reason"), read("docs/plan.md"))

compare("selvol.conf(5): settings", re.findall(r'^\s*\{ "(\w+)", FORM_\w+', read("src/model/settings.c"), flags=re.M),
        re.findall(r"^(\w+)=$", read("docs/selvol.conf.5.rst"), flags=re.M))

long_options = [option for *_, option in options]
long_options += re.findall(r'\{ SWITCH_\w+, (?:0|\'\w\'), "([a-z-]+)"', read("src/ctl/args.c"))
manual = read("docs/selvolctl.1.rst")
compare("selvolctl(1): options", [f"--{o}" for o in long_options],
        [o for line in re.findall(r"^-.*$", manual, flags=re.M) for o in re.findall(r"--[a-z-]*\w", line)])
verbs = [(name, f"{name} {operands}".strip(), alias) for name, alias, operands in
         re.findall(r'\{\s*GROUP_\w+,\s*"(\w+)",\s*(?:NULL|"(\w+)"),\s*"([^"]*)"', read("src/ctl/verb-table.c"))]
compare("selvolctl(1): synopsis", [f"| **selvolctl** [OPTIONS...] **{name}**{usage[len(name):]}" for name, usage, _ in verbs],
        [line for line in section(manual, "SYNOPSIS").splitlines() if line])
compare("selvolctl(1): verbs", [usage + (f", {alias}{usage[len(name):]}" if alias else "") for name, usage, alias in verbs],
        re.findall(r"^([a-z]+(?:,? [\[A-Za-z].*)?)$\n    ", section(manual, "VERBS"), flags=re.M))

# The page has options of MountVolume without a name in mount(8), options of mount(8), and options of the
# helper itself.
names = {name for _, _, methods, name in options if any("M" in letters[m] for m in methods.split(" | "))} - {"user", "options"}
names |= set(re.findall(r'"(\w+)"', re.search(r"names\[\] = \{(.*?)\};", read("src/model/mount-options.c"), flags=re.S)[1]))
compare("mount.selvol(8): options", names | {"volume", "ro", "rw", "remount", "x-*", "X-*"}, [
    option.split("=")[0].replace("\\", "") for line in
    re.findall(r"^([a-z].*)$\n    ", section(read("docs/mount.selvol.8.rst"), "OPTIONS"), flags=re.M) for option in line.split(", ")])

manual = read("docs/selvold.8.rst")
numbers = {name: int(value) for name, value in re.findall(r"^ +([A-Z_]+) = (\d+),", read("src/model/limits.h"), flags=re.M)}
rows = re.findall(r"^ +\[LIMIT_\w+\] = (\{.*?\})", read("src/model/quota.c"), flags=re.M | re.S)
values = [[eval(value.strip().replace("/", "//"), numbers | {"SIZE_MAX": "any"}) or "none" for value in row.strip("{ }").split(",") if value.strip()] for row in rows]
compare("selvold(8): limits", [" ".join(map(str, [name, *row])) for name, row in
                                 zip(re.findall(r"^ +LIMIT_\w+, +/\* (.*) \*/$", read("src/model/quota.h"), flags=re.M), values, strict=True)],
        [" ".join(line.split()) for line in re.findall(r"^    (\w.* \w+)$", section(manual, "LIMITS"), flags=re.M)])
compare("selvold(8): connections", [str(numbers[name]) for name in ["SERVER_CONNECTIONS_MAX", "SERVER_RESERVED"]],
        re.search(r"selvol-worker, which has (\d+) connections, and keeps (\d+) of them", section(manual, "LIMITS")).groups())
fields = {f for path in (root / "src").glob("*/*.c") for f in re.findall(r'\{ "(SELVOL_[A-Z_]+)", ', path.read_text())}
compare("selvold(8): journal fields", fields, re.findall(r"^\*(SELVOL_[A-Z_]+)=\*$", manual, flags=re.M))
actions = re.findall(r'"(org\.selvol1\.[a-z-]+)"', read("src/api/authorize.c"))
compare("selvold(8): polkit actions", actions, re.findall(r"^\*(org\.selvol1\.[a-z-]+)\*$", manual, flags=re.M))
policy = xml.parse(root / "polkit/org.selvol1.policy").getroot()
compare("polkit: actions", actions, [action.get("id") for action in policy.iter("action")])


layers = re.search(r"^MAY_USE = (\{.*?^\})", read("tests/unit/test-layers.py"), flags=re.M | re.S)[1]
may_use = ast.literal_eval(layers.replace("set()", "[]"))
folders = [folder for folder in may_use if (root / "src" / folder).is_dir() or (root / "integration" / folder).is_dir()]
compare("HACKING.md: folders", [f"{folder}: {' '.join(sorted(may_use[folder])) or '-'}" for folder in folders], [
    f"{folder}: {' '.join(sorted(re.findall(r'[a-z]+', others))) or '-'}"
    for folder, others in re.findall(r"^\| `([\w-]+)` \|.*\|([a-z, -]*)\|$", read("HACKING.md"), flags=re.M)
])

def tests_of(cell):
    """Returns the files that a row of SECURITY.md names as its tests, and a problem for each that does not
    exist."""
    found, missing = [], []
    for name in re.findall(r"`([^`]+)`", cell):
        if re.match(r"tools/|src/|units/", name):
            continue
        patterns = [f"{name}*"] if name.startswith("tests/") else [f"tests/*/{name}", f"tests/vm/{name}.bash", f"tests/vm/{name}/*.bash"]
        files = [file for pattern in patterns for file in sorted(root.glob(pattern)) if file.is_file()]
        found += files
        if not files:
            missing.append(f"{name} does not exist")
    return found, missing


for number, cell in re.findall(r"^\| (\d+) \|.*\|([^|]*)\|$", read("SECURITY.md"), flags=re.M):
    files, problems = tests_of(cell)
    text = "".join(file.read_text() for file in files)
    report(f"SECURITY.md: tests of {number}", problems + ([] if files else ["no test is named"]) +
           [f'"{name}" is in none of its files' for name in re.findall(r'"([^"]+)"', cell) if name not in text])

DOCS = pathlib.Path("/usr/share/doc/selvol")
plan = json.loads((build / "meson-info/intro-installed.json").read_text())
installed = {pathlib.Path(to): pathlib.Path(source) for source, to in plan.items()
             if pathlib.Path(to).is_relative_to(DOCS)}


def headings(text):
    """Returns the anchors of a page, as a code host makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, flags=re.M)}


def dead_links(page, text):
    """Yields the links of an installed page whose file is not installed, or has no such heading."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        if "://" in link:
            yield f"{link} leaves the node"
        elif target not in installed:
            yield f"{link} is not installed"
        elif anchor and anchor not in headings(installed[target].read_text()):
            yield f"{link} is no heading"


pages = [page for page in installed if page.suffix == ".md"]
report("installed pages", [] if DOCS / "README.md" in pages else ["README.md is not among them"])
for page in sorted(pages):
    report(f"{page}: links", list(dead_links(page, installed[page].read_text())))
named = {(file.name, path.rstrip(".")) for file in sorted((root / "docs").glob("*.rst"))
         for path in re.findall(r"/usr/share/doc/selvol/[\w./-]+", file.read_text())}
report("files that man pages name", [f"{name}: {path} is not installed" for name, path in sorted(named) if pathlib.Path(path) not in installed]
       + ([] if named else ["nothing was found"]))
finish()
