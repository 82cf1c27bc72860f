#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The commands in messages work, as far as that can be known without a node.

tests/data/remedies.table has each command that docs/messages.txt names, and the test that follows it, which has to have the
command. Those of selvol are compared with the tables of selvolctl, the units and the policy module; settings and options
with theirs."""

import pathlib
import re
import sys

from tap import finish, report

root = pathlib.Path(sys.argv[1])
messages = (root / "docs/messages.txt").read_text()

# A program and the words that make it a command, and not a word of a sentence.
COMMANDS = {"selvolctl": r"[a-z%-]", "systemctl": "[a-z]", "semanage": "[a-z]", "restorecon": "-", "setsebool": "-", "semodule": "-",
            "journalctl": "-|SELVOL", "ausearch": "-", "audit2allow": "-", "findmnt": "-", "fuser": "-", "losetup": "-",
            "blockdev": "-", "podman": "(?:stop|ps|volume) ", "tune2fs": "-", "usermod": "-", "timedatectl": "set", "setenforce": r"\d",
            "sysctl": r"\w+\.", "mount": "-", "umount": "[A-Z%]", "mkdir": "-", "btrfs": "(?:check|device)", "selvold": "--",
            "btrfstune": "-", "chattr": "-", "chmod": "go", "chown": "root|-R", "cryptsetup": "open", "drbdadm": "up", "e2fsck": "-",
            "grep": "-", "install": "-D", "ls": "[-/]", "lsblk": "-", "mdadm": "-", "stratis": "pool", "vgchange": "-",
            "xfs_admin": "-", "zpool": "import"}
# Units and settings of others.
FOREIGN = {"dbus", "polkit", "systemd-journald", "ProtectSystem", "PrivateTmp", "Storage", "ExecStart", "LimitNOFILE",
           "ListenStream", "RequiresMountsFor"}


def read(path):
    return (root / path).read_text()


def names(path, pattern):
    return set(re.findall(pattern, read(path), flags=re.M))


verbs = names("src/ctl/verb-table.c", r'\{ GROUP_\w+, "([a-z]+)"') | {"help"}
requests = re.findall(r'= \{ "(\w+)", "\w+", [^"]*"([a-z-]+)"', read("src/wire/option-table.c"))
options = {long for _, long in requests} | names("src/ctl/args.c", r'\{ SWITCH_\w+, [^"]*"([a-z-]+)"')
keys = names("src/model/settings.c", r'^ +\{ "(\w+)", FORM_') | FOREIGN
sections = names("src/model/settings.c", r'"(Service|Worker|FileSystem|VolumeType|Driver)\b')
units = {re.sub(r"\.service|\.in", "", p.name) for p in (root / "units").glob("*.*.in")} | {p.name for p in (root / "units").glob("*.socket")}
types = names("selinux/selvol.te", r"\b([a-z_]+_t)\b")


def check(command):
    """Yields what is wrong with a command."""
    program, *words = command.split()
    plain = [w for w in words if not w.startswith("-")]
    if program == "selvolctl":
        if plain and plain[0] not in verbs and plain[0][0] not in "%":
            yield f"{plain[0]} is no verb"
        yield from (f"{w} is no option" for w in words if w.startswith("--") and w[2:].split("=")[0] not in options)
    elif program == "systemctl":
        yield from (f"{w} is no unit" for w in plain[1:]
                   if w.removesuffix(".service").replace("@%s", "@") not in units | FOREIGN)
    elif program == "setsebool" and f"gen_tunable({plain[0]}," not in read("selinux/selvol.te"):
        yield f"{plain[0]} is no boolean"
    yield from (f"the policy module has no {w}" for w in words if re.fullmatch(r"\w+_t", w) and w not in types)


def find_test(place):
    """Returns the only file of the place, or None."""
    ring, name = place.split(" ")
    files = list((root / "tests" / ring).glob({"vm": f"{name}.*bash", "bus": f"test-{name}.c"}.get(ring, "")))
    return files[0] if len(files) == 1 else None


def check_place(command, place):
    """Yields what is wrong with the test that follows a command: it has to have the command, with names or expressions for
    the words that stand for something. In the bus ring the tests themselves add the program."""
    if place == "none":
        return
    file = find_test(place)
    if not file:
        yield f"there is no test {place}"
        return
    words = [r"\S+" if re.search(r"[%@$]|^\[?[A-Z]+\b", w) else re.escape(w) for w in command.split()]
    while words[-1] == r"\S+":
        words.pop()
    if place.startswith("bus ") and words[0] == "selvolctl":
        words.pop(0)
    if not re.search(r"(?<![\w/-])" + r"\s".join(words) + r"(?![\w-])", file.read_text().replace("\\", "")):
        yield f"{place} does not have it"


found = set()
for program, first in COMMANDS.items():
    for text in re.findall(rf"(?<![\w/.=-])(?<!selvolctl ){program} (?={first})[^'\"(),;:&|\n]*", messages):
        # A sentence may go on behind a command that is not in quotes.
        text = re.sub(r"\.? (?:[A-Z][a-z]|(?:and|may|on the|or|to|has|is|for|where|in|when|if|says|with)\b).*$", "", text.strip())
        found.add(text.removesuffix(".").strip())
found.discard("selvolctl")
table = dict(re.split(r" +\| ", line) for line in read("tests/data/remedies.table").splitlines()
             if line and not line.startswith("#"))
report("commands: the table has each", [f"not in tests/data/remedies.table: {c}" for c in sorted(found - set(table))] +
       [f"not in docs/messages.txt: {c}" for c in sorted(set(table) - found)])
for command, place in sorted(table.items()):
    report(f"command: {command}", [*check(command), *check_place(command, place)])

api = {name for name, _ in requests}
report("options", [f'"{o}" is no option of the API' for o in re.findall(r'[Pp]ass "([A-Z]\w+)"', messages) if o not in api])
report("settings", sorted({f"{k}= is no setting" for k in re.findall(r"(?<![\"\w*])([A-Z][a-z]\w+)=", messages)
                           if k not in keys | api}))
report("sections", sorted({f"[{s}] is no section" for s in re.findall(r"\[([A-Z][a-z][A-Za-z]+)[ \]]", messages) if s not in sections}))
finish()
