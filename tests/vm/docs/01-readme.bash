# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Every command that README shows.

run_page README.md
