#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR source=../lib.bash
. ./lib.bash
# shellcheck source-path=SCRIPTDIR source=page.bash
. ./page.bash

run_files
