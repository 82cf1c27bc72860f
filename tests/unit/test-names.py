#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names are found, and comments are read once: no two files and no two types have the same name, a static function's name has two words or
more, no function has over 60 lines. A comment has at most 110 columns, and begins with its subject.

Prints TAP; the first tests show that the judge notices what it is to notice."""

import pathlib
import re
import sys
from collections import defaultdict

from tap import finish, report

LINES_MAX = 60
COLUMNS_MAX = 110

# Folders of tests/ whose comments are judged, too.
TESTS = ("bench", "bus", "fault", "fuzz", "root", "support", "unit")

# Folders with scripts, tables and units.
HASH_FOLDERS = ("dbus", "integration", "packaging", "selinux", "src", "tests", "tools", "units")

COMMENT = re.compile(r"/\*.*?\*/", re.S)
BEGINNING = re.compile(r"/\*[ \n*]*(What|Who|Whom|Whose|Whoever|Whatever|Of)\b")
HASH_BEGINNING = re.compile(r"^\s*# (What|Who|Whom|Whose|Whoever|Whatever|Of)\b", re.M)
TYPE = re.compile(r"^\} (\w+);$|^typedef (?:struct|enum|union) \w+ (\w+);$", re.M)
ATTRIBUTE = re.compile(r"\b_[a-z]+_(?:\([^()]*\))? |\b__attribute__\(\(.*?\)\) ")
# systemd's names for these are known.
KNOWN = {"freep", "isempty", "streq"}
STATIC = re.compile(r"^static (?!const\b|inline const\b)[^=;{}()]*?\b(\w+)\([^;{}]*\)\s*(?:_\w+_\s*)?[{;]", re.M)
FUNCTION = re.compile(r"^[A-Za-z_][^;{}=\n]*?\b(\w+)\([^;{}]*\)\s*\{\n(.*?)^\}", re.M | re.S)


def judge_comments(name, text):
    wrong = []
    for comment in COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        first = BEGINNING.match(comment.group())
        if first:
            wrong.append(f"{name}:{line}: the comment begins with {first.group(1)}")
        start = text.rfind("\n", 0, comment.start()) + 1
        end = text.find("\n", comment.end())
        for i, row in enumerate(text[start:end].split("\n")):
            if len(row) > COLUMNS_MAX:
                wrong.append(f"{name}:{line + i}: {len(row)} columns")
    return wrong


def judge_hash_comments(name, text):
    """A line that goes on with a sentence may begin with any word."""
    rows = text.split("\n")
    return [f"{name}:{i + 1}: the comment begins with {HASH_BEGINNING.match(row).group(1)}" for i, row in enumerate(rows)
            if HASH_BEGINNING.match(row) and (i == 0 or not re.search(r"#.*[^.:;)]$", rows[i - 1]))]


def judge_functions(name, text):
    wrong = []
    for function in FUNCTION.finditer(text):
        lines = function.group().count("\n") + 1
        if lines > LINES_MAX:
            wrong.append(f"{name}: {function.group(1)}() has {lines} lines")
    for function in STATIC.findall(ATTRIBUTE.sub("", text)):
        if "_" not in function.strip("_") and function not in KNOWN:
            wrong.append(f"{name}: {function}() says too little: put a noun into its name")
    return wrong


def judge_doubles(files):
    """files: {path: text}. Names that several files, or types, have."""
    bases, types = defaultdict(set), defaultdict(set)
    for path, text in files.items():
        bases[path.rsplit("/", 1)[-1]].add(path)
        for a, b in TYPE.findall(text):
            types[a or b].add(path.rsplit(".", 1)[0])
    wrong = [f"{', '.join(sorted(paths))}: files with one name" for base, paths in bases.items() if len(paths) > 1 and base != "main.c"]
    return wrong + [f"{', '.join(sorted(paths))}: types called {name}" for name, paths in types.items() if len(paths) > 1]


LONG = "int a_b(void) {\n" + "        x();\n" * (LINES_MAX - 1) + "}\n"
SELF_TEST = [
    (judge_comments, "/* What it does. */", True),
    (judge_comments, "/*\n * Of all. */", True),
    (judge_comments, "/* Whatever. */ int x; /* Offset. */", True),
    (judge_comments, "int x; /* Offset in what there is. */", False),
    (judge_comments, "        /* " + "x" * COLUMNS_MAX + "\n */", True),
    (judge_comments, 'char *s = "' + "x" * COLUMNS_MAX + '";', False),
    (judge_hash_comments, "x\n  # What it does.\n", True),
    (judge_hash_comments, "# It is the one\n# Of which\n", False),
    (judge_functions, LONG, True),
    (judge_functions, LONG.replace("        x();\n", "", 1), False),
    (judge_functions, "static int take(int a,\n                int b) {\n}\n", True),
    (judge_functions, "static int take(int a);\n", True),
    (judge_functions, "static int take_this(int a) {\n}\nint take(void) {\n        return run(x);\n}\n", False),
    (judge_functions, "static const char *const names[] = { NAMES(x) };\n", False),
]
DOUBLES_SELF_TEST = [
    ({"a/x.c": "", "b/x.c": ""}, True),
    ({"a/main.c": "", "b/main.c": ""}, False),
    ({"a/x.h": "typedef struct X {\n} X;", "b/y.c": "typedef enum X {\n} X;"}, True),
    ({"a/x.h": "typedef struct X X;", "a/x.c": "typedef struct X {\n} X;"}, False),
]


def main():
    top = pathlib.Path(sys.argv[1])
    for judge, text, wrong in SELF_TEST:
        found = judge("x.c", text)
        report(f"self-test: {text[:40]!r}", [] if bool(found) == wrong else [f"found: {found}"])
    for files, wrong in DOUBLES_SELF_TEST:
        found = judge_doubles(files)
        report(f"self-test: {', '.join(files)}", [] if bool(found) == wrong else [f"found: {found}"])

    files = {str(path.relative_to(top)): path.read_text() for folder in ("src", "integration") for path in (top / folder).rglob("*.[ch]")}
    report("no two files or types have the same name", judge_doubles(files))
    for path, text in sorted(files.items()):
        report(path, judge_comments(path, text) + judge_functions(path, text))
    for path in sorted(path for folder in TESTS for path in (top / "tests" / folder).rglob("*.[ch]")):
        name = str(path.relative_to(top))
        report(name, judge_comments(name, path.read_text()))
    for path in sorted(path for folder in HASH_FOLDERS for path in (top / folder).rglob("*") if path.is_file() and not path.is_symlink()):
        try:
            wrong = judge_hash_comments(str(path.relative_to(top)), path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        if wrong:
            report(str(path.relative_to(top)), wrong)
    finish()


main()
