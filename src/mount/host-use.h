/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "model/settings.h"

/* Tells the block devices that may be sources of volumes from those of the host.
 *
 * The host uses a device if it is mounted outside of TargetRoots= and ForeignRoots= by others than selvol
 * (the mount table tells; worker/check.h), or if the host names it (mount/host-names.h): such a device is
 * never a source, as the host may mount it at any time. Neither is a device with something on it: a volume
 * group, a RAID, a loop device, which kubelet keeps on each raw block volume. An entry of a partition table
 * is none if it has a type that systemd boots from, or if the host uses another entry of its disk: the other
 * half of an A/B system, which is unused today, is the host's nevertheless. A disk is judged by its entries,
 * as writing to the disk writes to them; mkfs.vfat makes one. SourcesOnHostDisk= excepts
 * devices from the rule about entries. A logical volume on a partition is no entry.
 *
 * A plain open(2) of a device by another program can't be seen. */

/* Checks a device that is the source of a volume, named source in messages. Opens nothing but the disk of a
 * partition. Returns 0, a negative errno, PATH_NOT_ALLOWED, or WORKER_FAILED (a file that may name devices
 * can't be read). */
int host_check_device(const Settings *settings, dev_t device, const char *source, Failure *f) _warn_unused_;

/* Refuses a device that none of the names and patterns of SourceDevices= leads to. Returns 0, a negative
 * errno, or PATH_NOT_ALLOWED. */
int host_check_listed(const Settings *settings, dev_t device, const char *source, Failure *f) _warn_unused_;

/* Whether the host has the mount: outside of TargetRoots= and ForeignRoots=, and not made or adopted by the
 * worker. Returns 1, 0 or a negative errno. */
int host_has_mount(const Settings *settings, const MountFact *m) _warn_unused_;
