# SPDX-License-Identifier: LGPL-2.1-or-later
# The service relabels volumes on xfs and btrfs.

# shellcheck source-path=SCRIPTDIR source=life.bash
. ./life.bash

with_file_systems a_life xfs btrfs
clean walk
