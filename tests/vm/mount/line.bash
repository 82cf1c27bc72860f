# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for the tests
# The line of mount.selvol(8), and what systemd makes of it.

volumes=/var/lib/selvol-volumes D=$volumes/db
options='volume=db,level="s0:c1,c2"'
at_boot=nofail,x-systemd.requires=selvol.target
unit_of() { systemd-escape --path --suffix=mount "$1"; }
