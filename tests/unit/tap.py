# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests in Python print TAP."""

import sys

count = 0
failed = False


def report(name, problems):
    """Prints one test, which passes if there are no problems."""
    global count, failed
    count += 1
    failed = failed or bool(problems)
    print(f"{'not ok' if problems else 'ok'} {count} - {name.replace('#', ' ')}")
    for problem in problems:
        print(f"# {problem}")


def finish():
    print(f"1..{count}")
    sys.exit(failed)
