#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dashboard is one that Grafana 9 to 11 shows as it is meant; test-monitoring.py has its expressions.

Prints TAP."""

import json
import pathlib
import re
import sys

from tap import finish, report

root = pathlib.Path(sys.argv[1])
dashboard = json.loads((root / "monitoring/selvol-dashboard.json").read_text())
panels = dashboard["panels"]

# Grafana has no default for some of these: without showLegend there is no legend.
OPTIONS = {
    "stat": {"reduceOptions", "orientation", "textMode", "colorMode", "graphMode"},
    "timeseries": {"legend", "tooltip"},
}
LEGEND = {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}
UNITS = {"short", "s", "ops"}
BUILT_IN = {"__all", "__rate_interval"}


def covers(a, b):
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def check_place(panel):
    place = panel["gridPos"]
    inside = place["x"] >= 0 and place["y"] >= 0 and place["w"] > 0 and place["h"] > 0 and place["x"] + place["w"] <= 24
    wrong = [] if inside else ["it leaves the grid"]
    for other in panels:
        if other is not panel and covers(place, other["gridPos"]):
            wrong.append(f"it covers {other['title']}")
        if other is not panel and other["id"] == panel["id"]:
            wrong.append(f"{other['title']} has the same id")
    return wrong


def check_row(panel):
    return [] if panel["panels"] == [] and panel["collapsed"] is False else ["it hides panels"]


def check_panel(panel):
    options, names = panel["options"], [target["refId"] for target in panel["targets"]]
    wrong = [f"there is no option {name}" for name in sorted(OPTIONS[panel["type"]] - options.keys())]
    if panel["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
        wrong.append("its data source can't be chosen")
    if panel["fieldConfig"]["defaults"]["unit"] not in UNITS:
        wrong.append(f"{panel['fieldConfig']['defaults']['unit']} is none of the units")
    if options.get("legend", LEGEND) != LEGEND:
        wrong.append(f"its legend is {options['legend']}")
    if not names or len(set(names)) < len(names):
        wrong.append(f"its queries are {names}")
    return wrong + [f"query {target['refId']} has no legend" for target in panel["targets"] if not target["legendFormat"]]


report("version of the schema", [] if dashboard["schemaVersion"] == 37 else ["it is not that of Grafana 9, from which later ones go on"])
known = {variable["name"] for variable in dashboard["templating"]["list"]} | BUILT_IN
used = set(re.findall(r"\$\{?(\w+)", json.dumps([panels, dashboard["templating"]])))
report("variables", [f"${name} is not defined" for name in sorted(used - known)])
for panel in panels:
    report(f"{panel['type']}: {panel['title']}",
           check_place(panel) + (check_row(panel) if panel["type"] == "row" else check_panel(panel)))
finish()
