/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Without memory for the mount table a read fails, and never returns a table that lacks mounts. Each
 * allocation fails in turn: the linker (--wrap) makes src/ allocate with the functions below, and all
 * libraries call __getdelim() here for getline(3). */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mount/mount-table.h"
#include "support/cases.h"
#include "support/files.h"

static unsigned until_failure; /* 0: no allocation fails any more */
static bool failed;

static bool fails(void) {
        if (until_failure == 0 || --until_failure > 0)
                return false;
        errno = ENOMEM;
        failed = true;
        return true;
}

#define WRAP(type, name, parameters, arguments) \
        type __real_##name parameters;          \
        type __wrap_##name parameters;          \
        type __wrap_##name parameters {         \
                if (fails())                    \
                        return NULL;            \
                return __real_##name arguments; \
        }
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *p, size_t size), (p, size))
WRAP(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
WRAP(char *, strdup, (const char *s), (s))
WRAP(char *, strndup, (const char *s, size_t n), (s, n))

__attribute__((visibility("default"))) ssize_t __getdelim(char **line, size_t *size, int end, FILE *file) {
        ssize_t (*real)(char **, size_t *, int, FILE *) = dlsym(RTLD_NEXT, "__getdelim");

        return fails() ? -1 : real(line, size, end, file);
}

/* Returns whether an allocation has failed. */
typedef bool (*Attempt)(const char *path);

static bool read_all(const char *path) {
        char *const roots[] = { (char *) "/a", NULL };
        MountTable *table = NULL;
        MountFact *facts = NULL;
        size_t n = 0;
        int r;

        r = mount_table_read(path, &table);
        if (r >= 0)
                r = mount_table_find_beneath(table, roots, NULL, &facts, &n);
        g_assert_cmpint(r, ==, failed ? -ENOMEM : 0);
        g_assert_cmpint(n, ==, failed ? 0 : 3);
        mount_facts_free(facts, n);
        mount_table_free(table);
        return failed;
}

static bool read_one(const char *path) {
        MountTable *table = NULL;
        int r = mount_table_read_mount(path, 52, &table);

        g_assert_cmpint(r, ==, failed ? -ENOMEM : 0);
        mount_table_free(table);
        return failed;
}

static void test_each(gconstpointer data) {
        Attempt attempt = (Attempt) data;
        g_autofree char *path = file_make("50 1 8:2 / /a/one rw - ext4 /dev/sdb rw\n"
                                          "51 1 8:3 / /a/two rw - ext4 /dev/sdc rw,context=\"a_u:b_r:c_t:s0:c1,c2\"\n"
                                          "52 1 8:4 / /a/three rw - ext4 /dev/sdd rw\n");
        unsigned n = 0;

        do {
                failed = false;
                until_failure = ++n;
        } while (attempt(path));
        until_failure = 0;
        g_test_message("%u allocations", n - 1);
        g_assert_cmpint(n, >, 3);
        unlink(path);
}

void add_tests(void) {
        g_test_add_data_func("/mount-table/memory/all", (gconstpointer) read_all, test_each);
        g_test_add_data_func("/mount-table/memory/one", (gconstpointer) read_one, test_each);
}
