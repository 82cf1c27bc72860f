# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# A volume's life on xfs and btrfs.

# shellcheck source-path=SCRIPTDIR source=life.bash
. ./life.bash

mkfs.xfs -q -f /dev/scratch1
mkfs.btrfs -q -f /dev/scratch2 >/dev/null 2>&1
a_life xfs /dev/scratch1
a_life btrfs /dev/scratch2
clean walk
