/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mman.h>
#include <unistd.h>

#include "mount/mount-table.h"
#include "mount/overlap.h"
#include "fuzz.h"

/* The input is a mount table, of which anybody may have chosen targets, sources and options. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static char *const roots[] = { (char *) "/var/lib/kubelet", NULL };
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ const Mount **covers = NULL, **elsewhere = NULL;
        _cleanup_close_ int fd = memfd_create("mountinfo", MFD_CLOEXEC);
        _cleanup_free_ char *path = strdup_printf("/proc/self/fd/%i", fd);
        MountFact *facts = NULL;
        size_t n = 0;

        assert(fd >= 0 && path && write(fd, data, size) == (ssize_t) size);
        if (mount_table_read(path, &table) < 0)
                return 0;
        assert(table->n > 0);
        assert(cover_find(table, &covers) == 0 && elsewhere_find(table, roots, &elsewhere) == 0);
        assert(mount_table_find_beneath(table, roots, NULL, &facts, &n) == 0 && n <= table->n);
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *text = mount_fact_describe(&facts[i]);

                assert(roots_contain(roots, facts[i].target));
                assert(text && text_is_clean(text));
        }
        mount_facts_free(facts, n);
        return 0;
}
