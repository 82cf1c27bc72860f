#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The policy module in selvol-integration(7) compiles with the command there."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tap import finish, report

ROOT = pathlib.Path(sys.argv[1])
PAGE = (ROOT / "docs/selvol-integration.7.rst").read_text()


def build(source):
    """Returns the lines that the command prints if it fails."""
    command = re.search(r"^    (make .* agent_selvol\.pp)$", PAGE, re.M)[1]
    with tempfile.TemporaryDirectory() as directory:
        # An installation has the interface beside those of the policy; here a module finds only the one with
        # its own name.
        shutil.copy(ROOT / "selinux/selvol.if", pathlib.Path(directory) / "agent_selvol.if")
        (pathlib.Path(directory) / "agent_selvol.te").write_text(source)
        made = subprocess.run(command.split(), cwd=directory, capture_output=True, text=True)
    return (made.stdout + made.stderr).splitlines() if made.returncode else []


module = re.search(r"^    policy_module\(agent_selvol.*?(?=^\S)", PAGE, re.M | re.S)[0]
report("the module of an agent compiles", build(module))
report("one with a mistake does not", [] if build(module.replace("selvol_dbus_chat", "selvol_dbus_chatt")) else ["it does"])
finish()
