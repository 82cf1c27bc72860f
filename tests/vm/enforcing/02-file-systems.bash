# SPDX-License-Identifier: LGPL-2.1-or-later

# shellcheck source-path=SCRIPTDIR source=file-systems.bash
. ./file-systems.bash
