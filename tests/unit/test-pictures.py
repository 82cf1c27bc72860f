#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures of docs show the data beside them, the panels of the dashboard and the commands of README, and
docs/bench.md has the times of its plot.

Prints TAP."""

import json
import pathlib
import re
import subprocess
import sys

from tap import finish, report

root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "tests/bench"))
from svg import seconds  # noqa: E402
DASHBOARD = "monitoring/selvol-dashboard.json"


def draw(*command):
    done = subprocess.run([sys.executable, *command, "-"], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr.splitlines()


def check_drawing(picture, *command):
    text, wrong = draw(*command)
    if not wrong and text != (root / picture).read_text():
        wrong = ["it is another one; tools/pictures says how it is made"]
    report(f"{picture} is drawn from its data", wrong)


check_drawing("docs/files-growth.svg", "tests/bench/plot", "docs/files-growth.json")
check_drawing("docs/million-files.svg", "tests/bench/plot", "--bars", "docs/files-growth.json")
check_drawing("docs/mount-growth.svg", "tests/bench/plot", "docs/bench.md")
check_drawing("docs/terminal.svg", "tests/vm/pictures/terminal", "README.md")
check_drawing("docs/dashboard.svg", "tests/vm/pictures/draw", DASHBOARD, "docs/dashboard.json")
check_drawing("docs/dashboard-wait.svg", "tests/vm/pictures/draw", "--wait", DASHBOARD, "docs/dashboard.json")

# The run of the pictures has made queries, which must be those that the dashboard makes now.
panels = [panel for panel in json.loads((root / DASHBOARD).read_text())["panels"] if panel["type"] != "row"]
wanted = [(panel["id"], panel["title"], target["expr"], target["legendFormat"]) for panel in panels for target in panel["targets"]]
answers = [json.loads(line) for line in (root / "docs/dashboard.json").read_text().splitlines()[1:]]
asked = [tuple(answer[key] for key in ("id", "title", "expr", "legend")) for answer in answers]
report("docs/dashboard.json has each query of the dashboard", [f"{title}: {expr} was not asked" for _, title, expr, _ in set(wanted) - set(asked)] +
       [f"{title}: {expr} is on no panel" for _, title, expr, _ in set(asked) - set(wanted)])
picture = (root / "docs/dashboard.svg").read_text()
shown = set(re.findall(r'font-weight="bold"[^>]*>([^<]*)</text>', picture))
report("docs/dashboard.svg has each panel", [f"{panel['title']} is not there" for panel in panels if panel["title"] not in shown])
values = {answer["title"] for answer in answers for series in answer["series"] if any(value is not None for value in series["values"])}
report("each panel has values", [f"{panel['title']} is empty" for panel in panels if panel["title"] not in values])

# The table of docs/bench.md has the times of that run for the largest volume, and README's sentence on the bars three of them.
entries = [json.loads(line) for line in (root / "docs/files-growth.json").read_text().splitlines()]
largest = max(entry.get("entries", 0) for entry in entries)
times = {}
for entry in entries:
    if entry.get("bench") == "mount":
        mounted = entry["entries"]
    elif "row" in entry and mounted == largest:
        times[entry["row"], "hot"] = entry["median_usec"]
    elif entry.get("entries") == largest and entry.get("phase") in ("all", "first"):
        times[f"{entry['subject']} {entry['phase']}", entry["cache"]] = entry["wait_usec"]
table = {row: cells for row, *cells in re.findall(r"^\| (.*?) \| (.*?) \| ?(.*?) ?\|$", (root / "docs/bench.md").read_text(), flags=re.M)}
for way, row in (("go-selinux all", "the container runtime relabels all files"),
                 ("selvol all", "selvol relabels all files, where a mount with the label isn't possible"),
                 ("skip", "selvol skips the walk, because the volume is marked as already labeled"),
                 ("selvol", "selvol mounts the volume with the label"),
                 ("kubelet first", "kubelet gives all files to a pod's group (*fsGroup*)"),
                 ("selvol first", "selvol changes the group once; a later pod with another group changes no file (idmapped mount)")):
    said = [seconds(times[way, cache] / 1e6) if (way, cache) in times else "" for cache in ("hot", "cold")]
    report(f"docs/bench.md: {row}", [] if table.get(row) == said else [f"it took {said}, not {table.get(row)}"])
bars = ", ".join(f"{text} {seconds(times[way] / 1e6)}" for text, way in (
    ("relabel by the runtime", ("go-selinux all", "cold")), ("relabel by selvol", ("selvol all", "cold")),
    ("mount with the label", ("selvol", "hot"))))
report("README: the bars", [] if f"{bars}](docs/million-files.svg)" in (root / "README.md").read_text() else [f"they are {bars}"])
finish()
