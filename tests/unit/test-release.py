#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tools/release makes nothing unless all files agree on the version and the tests pass. It runs in a clone of its own, where
the tests and the packages are stand-ins. Prints TAP."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tap import finish, report

TOP = pathlib.Path(sys.argv[1])
VERSIONED = ["meson.build", "selinux/selvol.te", "NEWS.md", "packaging/debian/changelog", "packaging/rpm/selvol.spec"]
STAND_INS = {
    "tools/test": "exit 0",
    "tools/package": """mkdir "${!#}"; cd "${!#}"
        if [ "$1" = rpm ]; then touch selvol-1.2.3{.tar.gz,-1.src.rpm,-1.x86_64.rpm}; else touch "selvol-$1-$3.deb"; fi""",
    "tests/packages/compare-files": "exit 0",
}
# The changes of a commit before a release; each, left out, is refused.
PREPARED = [
    ("meson.build", r"version: '[\d.]+'", "version: '1.2.3'"),
    ("selinux/selvol.te", r"policy_module\(selvol, [\d.]+\)", "policy_module(selvol, 1.2.3)"),
    ("NEWS.md", r"\A# News\n\n## .*", "# News\n\n## 1.2.3"),
    ("packaging/debian/changelog", r"\Aselvol .*", "selvol (1.2.3-1) unstable; urgency=medium"),
    ("packaging/rpm/selvol.spec", r"(?m)^Version: .*", "Version:        1.2.3"),
    ("packaging/rpm/selvol.spec", r"%changelog\n.*", "%changelog\n* Fri Nov 27 2026 Somebody <a@example.org> - 1.2.3-1"),
    ("README.md", r", not released yet", ""),
]


def git(top, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", top, *identity, *arguments], check=True, capture_output=True)


def make_clone(directory, left_out=None):
    """Returns a tree that is ready for the release of 1.2.3, but for one row of PREPARED."""
    top = pathlib.Path(directory)
    for name in [*VERSIONED, "tools/release", "tools/usage"]:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, top / name)
    for name, script in STAND_INS.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"#!/bin/bash\n{script}\n")
        (top / name).chmod(0o755)
    (top / "README.md").write_text("**Status:** version 1.2, not released yet, tested\n")
    for row in PREPARED:
        name, pattern, text = row
        if row != left_out:
            (top / name).write_text(re.sub(pattern, text, (top / name).read_text(), count=1))
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "all")
    return top


def release(top):
    return subprocess.run([top / "tools/release", "1.2.3", top / "made"], capture_output=True, text=True, check=False)


def judge_refusal(top, named):
    done = release(top)
    problems = [] if done.returncode == 1 else [f"it exits with {done.returncode}"]
    problems += [] if named in done.stderr else ["it does not say so", *done.stderr.splitlines()]
    return problems + (["it has made something"] if (top / "made").exists() else [])


def refuses(name, named, left_out=None, spoil=lambda top: None):
    with tempfile.TemporaryDirectory() as directory:
        top = make_clone(directory, left_out)
        spoil(top)
        report(f"refuses {name}", judge_refusal(top, named))


def fail_tests(top):
    (top / "tools/test").write_text("#!/bin/bash\nexit 1\n")
    git(top, "commit", "-qam", "the tests fail")


if not shutil.which("git"):
    print("1..0 # SKIP there is no git")
    sys.exit(0)
for number, row in enumerate(PREPARED, 1):
    refuses(f"{row[0]} as it was, {number}", f"{row[0]}:", left_out=row)
refuses("changes", "not committed", spoil=lambda top: (top / "new").touch())
refuses("a version that has a tag", "v1.2.3 exists", spoil=lambda top: git(top, "tag", "v1.2.3"))
refuses("tests that fail", "tests that fail", spoil=fail_tests)
with tempfile.TemporaryDirectory() as directory:
    top = make_clone(directory)
    done = release(top)
    report("makes a release", [] if done.returncode == 0 else done.stderr.splitlines())
    made = sorted(file.name for file in (top / "made").glob("*"))
    wanted = ["SHA256SUMS", "selvol-1.2.3-1.src.rpm", "selvol-1.2.3.tar.gz", "selvol-arm64-bookworm.deb", "selvol-arm64-trixie.deb",
              "selvol-deb-bookworm.deb", "selvol-deb-trixie.deb"]
    report("with these files", [] if made == wanted else ["it makes", *made])
    sums = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=top / "made", capture_output=True, text=True, check=False)
    report("and their sums", sums.stderr.splitlines())
    report("and says how to tag it", [] if "git tag -s -m 'selvol 1.2.3' v1.2.3" in done.stdout else ["it does not", *done.stdout.splitlines()])
finish()
