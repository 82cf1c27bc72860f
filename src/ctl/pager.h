/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/args.h"

/* Shows long output on a terminal like systemd's tools: with $SYSTEMD_PAGER, $PAGER, or the first of pager,
 * less and more that exists. For root, under sudo, or if $SYSTEMD_PAGERSECURE says so, only with less in
 * secure mode. */

/* Sends all further output to the pager. Does nothing without a terminal, without a pager, or with
 * --no-pager. */
void pager_open(const Args *a);

/* Whether the pager is open. */
bool pager_is_open(void);

/* Closes the output and waits until the person leaves the pager. The caller has flushed stdout. */
void pager_close(void);
