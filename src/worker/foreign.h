/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"
#include "mount/source.h"
#include "worker/child.h"

/* Whether a file system may be the host's own, or a service's: it is mounted where no volume is, outside of TargetRoots= and
 * ForeignRoots=, and not by the worker. That tells a disk of the host's that no list knows, such as one at /var/lib/etcd, and a
 * directory of the host's that is mounted as a volume; the global mounts of CSI drivers are in kubelet's directory. Such a
 * file system is neither mounted, nor are its files or its mark changed. What is mounted in other mount namespaces can't be
 * seen: of that selvold decides (Observed.hidden). All return 0, a negative errno or PATH_NOT_ALLOWED. */

/* Of what is to be mounted: observe_source_mounts(), and checks what was seen. */
int foreign_check_source(const Child *c, const Source *s, Observed *o, Failure *f) _warn_unused_;

/* The same where selvold did not want to know what there is to see. */
int foreign_check_unobserved(const Child *c, const Source *s, Failure *f) _warn_unused_;

/* Of what is mounted, by all its mounts in the table. ret_n: how many there are; may be NULL. */
int foreign_check_table(const Child *c, const MountTable *table, const MountFact *fact, size_t *ret_n,
                        Failure *f) _warn_unused_;

/* The same with a look at the table. */
int foreign_check(const Child *c, const MountFact *fact, Failure *f) _warn_unused_;
