#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run-all copies this file as run.sh, and lib.bash, beside the files of a suite without a run.sh.
cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR source=lib.bash
. ./lib.bash
for helpers in groups line page packages; do
    # shellcheck source=/dev/null
    [[ ! -e $helpers.bash ]] || . "./$helpers.bash"
done

run_files
