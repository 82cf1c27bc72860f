/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "model/fingerprint.h"

/* s_mnt_count of ext4 has 16 bits. */
enum { EXT_COUNTS = 1 << 16 };

/* What stays from mount to mount, the length of it, and the count; false if it is not one of ext4. */
static bool split_ext(const Fingerprint *f, size_t *ret_n, unsigned long long *ret_count) {
        const char *mtime, *count = strrchr(f->text, ':');

        if (!startswith(f->text, "ext4:") || !count || parse_u64(count + 1, ret_count) < 0 ||
            *ret_count >= EXT_COUNTS)
                return false;
        mtime = memrchr(f->text, ':', (size_t) (count - f->text));
        if (!mtime)
                return false;
        *ret_n = (size_t) (mtime - f->text);
        return true;
}

bool fingerprint_is_next(const Fingerprint *before, const Fingerprint *now) {
        unsigned long long old_count, new_count;
        size_t n, new_n;

        return split_ext(before, &n, &old_count) && split_ext(now, &new_n, &new_count) && n == new_n &&
               memcmp(before->text, now->text, n) == 0 && new_count == (old_count + 1) % EXT_COUNTS;
}

int fingerprint_from_string(const char *text, Fingerprint *ret) {
        size_t n = strlen(text);

        if (n >= FINGERPRINT_MAX || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-:") != n)
                return -EBADMSG;
        memset(ret, 0, sizeof(*ret));
        memcpy(ret->text, text, n);
        return 0;
}
