# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash
# Each file system again, for a worker that mounts without file system contexts. The suite "namespace" runs all other
# files of this suite in that way.

[[ $(systemctl show-environment) != *SELVOL_STAGE=namespace* ]] || return 0

stage=/run/systemd/system/selvol-worker.service.d
mkdir -p $stage
printf '[Service]\nEnvironment=SELVOL_STAGE=namespace\n' >$stage/stage.conf
systemctl daemon-reload
bring_up restart selvol-worker
like 'the worker stages in a namespace' "$(tr '\0' ' ' <"/proc/$(main_pid selvol-worker)/environ")" 'SELVOL_STAGE=namespace '
# shellcheck source-path=SCRIPTDIR source=file-systems.bash
. ./file-systems.bash
rm -r $stage
systemctl daemon-reload
bring_up restart selvol-worker
