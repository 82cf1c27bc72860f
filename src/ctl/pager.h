/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/args.h"

/* Long output on a terminal, as systemd's tools show it: by $SYSTEMD_PAGER, $PAGER, or the first of pager,
 * less and more that there is; for root and by sudo, or as $SYSTEMD_PAGERSECURE says, only by less, in its
 * secure mode. */

/* From now on what is printed goes there; nothing changes without a terminal, with --no-pager or if there is
 * none. */
void pager_open(const Args *a);

/* Whether it has been opened. */
bool pager_is_open(void);

/* Waits until it has been left. What is printed has been flushed. */
void pager_close(void);
