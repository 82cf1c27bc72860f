#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""selvol-metrics(7), the alert rules and the dashboard are compared with the metrics.

The first argument is print-metrics, which prints all series. Prints TAP."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

from tap import finish, report

root = pathlib.Path(sys.argv[2])

# The first labels can have any value; other pages explain the values of the second.
OPEN = {"version", "volume_plugin", "plugin_name"}
ELSEWHERE = OPEN | {"reason", "error"}


def read_metrics(text):
    """Returns {name: (type, {label: values})}; le is a label of Prometheus."""
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, flags=re.M))
    labels = {name: {} for name in kinds}
    for name, inside in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, flags=re.M):
        base = name if name in kinds else re.sub(r"_(bucket|sum|count)$", "", name)
        for label, value in re.findall(r'(\w+)="([^"]*)"', inside):
            if label != "le":
                labels[base].setdefault(label, set()).add(value)
    return {name: (kind, labels[name]) for name, kind in kinds.items()}


def read_page(text):
    """Returns the same for the metrics of the page."""
    described = {}
    for name, kind, names, body in re.findall(r"^\*(selvol_\w+)\* \((\w+)(?:: ([^)]*))?\)\n((?:    .*\n)+)", text, flags=re.M):
        labels = {}
        for label in re.findall(r"\*(\w+)\*", names):
            listed = re.search(rf"\*{label}\*: (.*?)(?:\. |\Z)", " ".join(body.split()))
            # "*a* with a remark, *b* (another)"
            labels[label] = set(re.findall(r"\*([\w-]+)\*", listed[1])) if listed else set()
        described[name] = (kind, labels)
    return described


metrics = read_metrics(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
page = (root / "docs/selvol-metrics.7.rst").read_text()
described = read_page(page)

report("there are metrics", [] if len(metrics) > 30 else [f"{len(metrics)} were found"])
report("selvol-metrics(7) has each metric", [f"{name} is not documented" for name in sorted(metrics.keys() - described.keys())] +
       [f"{name} does not exist" for name in sorted(described.keys() - metrics.keys())])
for name in sorted(metrics.keys() & described.keys()):
    kind, labels = metrics[name]
    said_kind, said_labels = described[name]
    problems = [] if kind == said_kind else [f"it is a {kind}, not a {said_kind}"]
    if labels.keys() != said_labels.keys():
        problems.append(f"its labels are {sorted(labels)}, not {sorted(said_labels)}")
    for label in sorted(labels.keys() & said_labels.keys() - ELSEWHERE):
        if labels[label] != said_labels[label]:
            problems.append(f"{label} is one of {sorted(labels[label])}, not of {sorted(said_labels[label])}")
    report(f"selvol-metrics(7): {name}", problems)

def check_expression(text):
    """Returns the metrics, labels and values in an expression that do not exist."""
    wrong = []
    for name, inside in re.findall(r"(\w*selvol_\w+)(?:\{(.*?)\})?", text):
        kind, labels = metrics.get(name, metrics.get(re.sub(r"_(bucket|sum|count)$", "", name), (None, {})))
        if kind is None:
            wrong.append(f"there is no {name}")
            continue
        for label, operator, values in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', inside):
            if label in {"job", "instance", "le"}:
                continue
            known = labels.get(label, set())
            if label not in labels:
                wrong.append(f"{name} has no label {label}")
            elif label not in OPEN:
                wrong += [f"{label} of {name} is never {value}" for value in values.split("|") if value not in known]
    for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", text):
        named = {label for name in re.findall(r"selvol_\w+", text)
                 for label in metrics.get(re.sub(r"_bucket$", "", name), (None, {}))[1]}
        wrong += [f"no metric has the label {label}" for label in re.split(r", *", group)
                  if label not in named | {"job", "instance", "le"}]
    return wrong


rules = (root / "monitoring/selvol.rules.yml").read_text()
alerts = re.findall(r"- alert: (\w+)\n(.*?)(?=\n\n|\Z)", rules, flags=re.S)
for alert, body in alerts:
    problems = check_expression(re.search(r"expr: (.*?)\n        (?:for|labels):", body, flags=re.S)[1])
    problems += [] if re.search(rf"^{alert}\n-+$", page, flags=re.M) else ["selvol-metrics(7) does not explain it"]
    problems += [] if f"runbook: 'man selvol-metrics: {alert}'" in body else ["its annotation names no section"]
    report(f"alert {alert}", problems)
section = page.split("ALERTS\n======\n")[1].split("\nFILES\n=====\n")[0]
report("selvol-metrics(7) explains alerts that exist",
       sorted(set(re.findall(r"^(\w+)\n-+$", section, flags=re.M)) - {alert for alert, _ in alerts}))


def check_legend(target):
    """Returns the labels in the legend of a query that the query drops."""
    groups = re.findall(r"\bby \(([^)]*)\)", target["expr"])
    if groups:
        left = set(re.split(r", *", groups[0]))
    elif re.search(r"\bsum\(", target["expr"]):
        left = set()
    else:
        left = {"instance"}.union(*(metrics[name][1] for name in re.findall(r"selvol_\w+", target["expr"])))
    return [f"its legend names {label}, which the query drops" for label in re.findall(r"{{(\w+)}}", target["legendFormat"])
            if label not in left]


panels = [p for p in json.loads((root / "monitoring/selvol-dashboard.json").read_text())["panels"] if p["type"] != "row"]
expressions = [target["expr"] for panel in panels for target in panel["targets"]]
for panel in panels:
    problems = [problem for target in panel["targets"] for problem in check_expression(target["expr"]) + check_legend(target)]
    report(f"dashboard: {panel['title']}", problems)
shown = {re.sub(r"_bucket$", "", name) for text in expressions for name in re.findall(r"selvol_\w+", text)}
report("the dashboard shows each metric", [f"{name} is on no panel" for name in sorted(metrics.keys() - shown)])

if shutil.which("promtool"):
    # promtool parses expressions only in rules.
    texts = [text.replace("$__rate_interval", "5m") for text in expressions]
    document = {"groups": [{"name": "a", "rules": [{"record": f"r{n}", "expr": text} for n, text in enumerate(texts)]}]}
    done = subprocess.run(["promtool", "check", "rules", "--lint=none", "/dev/stdin"], input=json.dumps(document), capture_output=True,
                          text=True, check=False)
    report("promtool parses the dashboard", (done.stdout + done.stderr).splitlines() if done.returncode else [])
finish()
