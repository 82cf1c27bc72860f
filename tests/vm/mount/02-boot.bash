# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154 # of lib.bash and line.bash
# The machine boots with the line of mount.selvol(8) in fstab. Another line, which does not wait for selvold, fails, and
# nothing else fails.

((SELVOL_GUEST_BOOT == 1)) && boot_with_line
((SELVOL_GUEST_BOOT == 2)) || return 0
booted enabled
umount "$D"
soon 'enabled: the holder is released' has_no_holder db
clean boot
