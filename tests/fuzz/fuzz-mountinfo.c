/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mount/mount-table.h"
#include "mount/overlap.h"
#include "fuzz.h"

/* The input is a mount table, of which anybody may have chosen targets, sources and options. A mount reads
 * the same when its line is written as for statmount(2). */

static int read_text(const void *text, size_t size, MountTable **ret) {
        _cleanup_close_ int fd = memfd_create("mountinfo", MFD_CLOEXEC);
        _cleanup_free_ char *path = strdup_printf("/proc/self/fd/%i", fd);

        assert(fd >= 0 && path && write(fd, text, size) == (ssize_t) size);
        return mount_table_read(path, ret);
}

static void write_mount(FILE *f, const Mount *m) {
        const char *const fields[] = { m->root, m->target, m->options }, *const behind[] = { m->fs_type, m->source };

        fprintf(f, "%" PRIu64 " %" PRIu64 " %u:%u", m->id, m->parent, major(m->device), minor(m->device));
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                _cleanup_free_ char *escaped = mountinfo_escape(fields[i]);

                assert(escaped && !strpbrk(escaped, " \t\n"));
                fprintf(f, " %s", escaped);
        }
        if (m->peer_group > 0)
                fprintf(f, " shared:%" PRIu64, m->peer_group);
        fprintf(f, "%s -", m->slave ? " master:1" : "");
        for (size_t i = 0; i < ELEMENTSOF(behind); i++) {
                _cleanup_free_ char *escaped = mountinfo_escape(behind[i]);

                assert(escaped);
                fprintf(f, " %s", escaped);
        }
        fprintf(f, " %s\n", m->fs_options);
}

static bool mounts_equal(const Mount *a, const Mount *b) {
        return a->id == b->id && a->parent == b->parent && a->device == b->device && streq(a->root, b->root) &&
               streq(a->target, b->target) && streq(a->options, b->options) && streq(a->fs_type, b->fs_type) &&
               streq(a->source, b->source) && streq(a->fs_options, b->fs_options) && a->peer_group == b->peer_group &&
               a->slave == b->slave;
}

static void check_again(const MountTable *table) {
        _cleanup_(mount_table_freep) MountTable *again = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert(f);
        for (size_t i = 0; i < table->n; i++)
                write_mount(f, &table->mounts[i]);
        assert(fclose(f) == 0);
        assert(read_text(text, size, &again) == 0 && again->n == table->n);
        for (size_t i = 0; i < table->n; i++)
                assert(mounts_equal(&table->mounts[i], &again->mounts[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static char *const roots[] = { (char *) "/var/lib/kubelet", NULL };
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ const Mount **covers = NULL, **elsewhere = NULL;
        MountFact *facts = NULL;
        size_t n = 0;

        if (read_text(data, size, &table) < 0) {
                assert(!table);
                return 0;
        }
        assert(table->n > 0);
        check_again(table);
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
