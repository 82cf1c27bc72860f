# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs every command in README.

run_page README.md
