#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""With --help, and with wrong arguments, the scripts in tools/ only print texts. Prints TAP."""

import pathlib
import subprocess
import sys

from tap import finish, report

TOP = pathlib.Path(sys.argv[1])

# Scripts refuse these arguments before they do anything, with a sentence that has the word.
REFUSED = {
    "bench": [([], ""), (["nonsense"], "nonsense"), (["--nonsense"], "--nonsense")],
    "build": [(["--nonsense"], "--nonsense")],
    "container-policy": [(["--nonsense"], "--nonsense")],
    "coverage": [(["nonsense"], "nonsense"), (["--nonsense"], "--nonsense")],
    "full": [(["nonsense"], "nonsense"), (["--nonsense"], "--nonsense"), (["--continue", "nonsense"], "nonsense")],
    "fuzz": [(["nonsense"], "nonsense"), (["-x"], "-x"), (["-t"], "-t"), (["-t", "x"], "x")],
    "guest": [([], ""), (["-x"], "-x"), (["-t"], "-t"), (["/nowhere"], "")],
    "pictures": [(["nonsense"], "nonsense"), (["growth", "nonsense"], "nonsense"), (["-s", "nonsense"], "nonsense"), (["-s"], "")],
    "package": [([], "deb"), (["nonsense"], "nonsense"), (["deb", "-x"], ""), (["rpm", "-x"], ""), (["deb", "-s", "nonsense"], "nonsense")],
    "policy-check": [([], "HEADERS"), (["--nonsense"], "HEADERS"), (["/nowhere"], "/nowhere")],
    "release": [([], "VERSION"), (["nonsense"], "nonsense"), (["1.2.3", "-x"], "")],
    "root": [([], ""), (["nonsense", "test"], "nonsense"), (["bookworm", "nonsense"], "nonsense"),
             (["bookworm", "test", "nonsense"], "nonsense"), (["bookworm", "install"], ""), (["bookworm", "arm64", "x"], "arm64"),
             (["bookworm", "package", "x", "nonsense"], "arm64")],
    "run": [(["nonsense"], "nonsense"), (["--nonsense"], "--nonsense")],
    "test": [(["nonsense"], "nonsense"), (["--nonsense"], "--nonsense"), (["unit", "--full"], "--full"),
             (["--full", "nonsense"], "nonsense")],
}


def run(tool, arguments):
    return subprocess.run([TOP / "tools" / tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=60)


def judge_help(tool, done):
    problems = [] if done.returncode == 0 else [f"it exits with {done.returncode}"]
    problems += [] if f"tools/{tool}" in done.stdout else ["it does not show how to call it"]
    problems += [f"a line of the script: {line}" for line in done.stdout.splitlines() if line.startswith(("#", "set -"))]
    return problems + done.stderr.splitlines()


def judge_refusal(named, done):
    lines = done.stderr.splitlines()
    problems = [] if done.returncode == 2 else [f"it exits with {done.returncode}"]
    problems += [] if len(lines) == 1 and named in lines[0] else ["no sentence about it", *lines]
    return problems + done.stdout.splitlines()


for tool, cases in REFUSED.items():
    for option in "--help", "-h":
        report(f"{tool} {option}", judge_help(tool, run(tool, [option])))
    for arguments, named in cases:
        report(" ".join([tool, *arguments]), judge_refusal(named, run(tool, arguments)))
for arguments, named in (["nonsense"], "nonsense"), (["enforcing/99"], "enforcing/99"), (["-s", "nonsense"], "nonsense"):
    report(" ".join(["run-all", *arguments]), judge_refusal(named, run("../tests/vm/run-all", arguments)))
# run-all takes each name that it prints after a failure.
files = ["/".join(path.parts[-2:]) for path in (TOP / "tests/vm").glob("[a-z]*/[0-9]*.bash")]
report("run-all with each file", run("../tests/vm/run-all", ["--list", *files]).stderr.splitlines())
finish()
