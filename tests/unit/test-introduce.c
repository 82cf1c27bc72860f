/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib/gstdio.h>

#include "job/introduce.h"
#include "support/cases.h"
#include "support/files.h"

/* The last user has a name that is the number of bob. */
static const char users[] = "root:x:0:0::/root:/bin/sh\n"
                            "bob:x:1000:1000::/home/bob:/bin/sh\n"
                            "damaged\n"
                            "bobby:x:1001:1001::/home/bobby:/bin/sh\n"
                            "rob/ert:x:1002:1002::/home/robert:/bin/sh\n"
                            "robert:x:1002:1002::/home/robert:/bin/sh\n"
                            "1000:x:1003:1003::/:/bin/sh\n";

/* use: what the message advises; NULL: the user may introduce the volume. */
static const struct {
        const char *name;
        uid_t uid;
        const char *volume, *use;
} rows[] = {
        { "name", 1000, "bob/db", NULL },
        { "slashes", 1000, "bob/carol/db", NULL },
        { "number", 1000, "1000/db", NULL },
        { "second-name", 1002, "robert/db", NULL },
        { "number-of-unknown", 61184, "61184/db", NULL },
        { "no-slash", 1000, "db", ": pass bob/db." },
        { "slash-first", 1000, "/db", ": pass bob//db." },
        { "other-user", 1000, "bobby/db", ": pass bob/bobby/db." },
        { "other-number", 1000, "1001/db", ": pass bob/1001/db." },
        { "longer-number", 1000, "10001/db", ": pass bob/10001/db." },
        { "nothing-behind", 1000, "bob/", ": pass bob/NAME." },
        { "nothing-behind-number", 1000, "1000/", ": pass bob/1000/." },
        { "name-only", 1000, "bob", ": pass bob/bob." },
        { "shorter-name", 1001, "bob/db", ": pass bobby/bob/db." },
        { "name-with-slash", 1002, "rob/ert/db", ": pass robert/rob/ert/db." },
        { "number-as-name", 1003, "1000/db", ": pass 1003/1000/db." },
        { "unknown", 61184, "db", ": pass 61184/db." },
        { "name-of-root", 61184, "root/db", ": pass 61184/root/db." },
};

TEST_ROWS(test_users, "/introduce/users", rows, row) {
        g_autofree char *path = file_make(users);
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpint(introduce_check(path, row->uid, row->volume, &f), ==, row->use ? FAILURE_INVALID_VOLUME : 0);
        g_assert_true(row->use ? g_str_has_suffix(f.message, row->use) : !f.message);
        g_assert_cmpint(g_unlink(path), ==, 0);
}

/* Without the file users have their numbers. */
TEST(test_no_file, "/introduce/no-file") {
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpint(introduce_check("/nonexistent", 1000, "1000/db", &f), ==, 0);
        g_assert_cmpint(introduce_check("/nonexistent", 1000, "bob/db", &f), ==, FAILURE_INVALID_VOLUME);
        g_assert_cmpstr(strstr(f.message, ": pass"), ==, ": pass 1000/bob/db.");
}
