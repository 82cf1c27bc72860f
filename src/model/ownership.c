/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/ownership.h"

enum { MODE_READ_WRITE = 0660, MODE_READ_ONLY = 0440, MODE_SEARCH = 0110 };

mode_t ownership_mode(const Ownership *o, mode_t mode) {
        if (S_ISLNK(mode))
                return mode;
        mode |= o->readers ? MODE_READ_ONLY : MODE_READ_WRITE;
        return S_ISDIR(mode) ? mode | S_ISGID | MODE_SEARCH : mode;
}

bool ownership_holds(const Ownership *o, gid_t gid, mode_t mode) {
        return gid == o->gid && ownership_mode(o, mode) == mode;
}
