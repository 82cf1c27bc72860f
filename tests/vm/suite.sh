#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh of suites that have none of their own: run-all puts it and lib.bash beside their files.
cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR source=lib.bash
. ./lib.bash

run_files
