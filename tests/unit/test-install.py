#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What gives others rights is neither built nor installed unless it is asked for. The second argument is a build that
has it. Prints TAP."""

import json
import pathlib
import subprocess
import sys
import tempfile

from tap import finish, report

TOP, BUILD = map(pathlib.Path, sys.argv[1:])
# The script of integration/flexvolume/meson.build installs the driver, which is built as "volume".
RIGHTS = {"flexvolume": ("volume", "selvol-flexvolume.8")}


def read_about(build, what):
    return json.loads((build / f"meson-info/intro-{what}.json").read_text())


def made_by(build):
    """Returns the names of all that the build compiles or installs."""
    targets = [target["filename"] for target in read_about(build, "targets")]
    return {pathlib.Path(name).name for names in [*targets, read_about(build, "installed").values()] for name in names}


def has_option(build, name):
    return any(option["name"] == name and option["value"] for option in read_about(build, "buildoptions"))


with tempfile.TemporaryDirectory() as directory:
    default = pathlib.Path(directory)
    done = subprocess.run(["meson", "setup", default, TOP, "-Dtests=false"], capture_output=True, text=True)
    report("a build without options", done.stdout.splitlines()[-20:] if done.returncode else [])
    by_default, here = made_by(default), made_by(BUILD)
    report("has selvold", {"selvold"} - by_default)
    for option, names in RIGHTS.items():
        report(f"has nothing of {option}", sorted(by_default & set(names)))
        if has_option(BUILD, option):
            report(f"with {option} the build has it", sorted(set(names) - here))
finish()
