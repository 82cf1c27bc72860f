/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "wire/protocol.h"
#include "volumes.h"

TestVolume *volume_mount(const char *name, const char *fs_type, unsigned long flags) {
        g_autofree TestVolume *v = g_new0(TestVolume, 1);
        bool image = !g_str_equal(fs_type, "tmpfs") && !g_str_equal(fs_type, "ramfs");

        v->loop = -1;
        if (image) {
                v->image = make_image(name, fs_type);
                if (!v->image)
                        return NULL;
                v->device = attach_loop(v->image, &v->loop);
        }
        v->target = make_target(name);
        must(mount(image ? v->device : name, v->target, fs_type, flags, NULL));
        v->mount_id = mount_id_of(v->target);
        return g_steal_pointer(&v);
}

void volume_unmount(TestVolume *v) {
        must(umount2(v->target, 0));
        if (v->loop >= 0)
                close(v->loop);
        g_free(v->image);
        g_free(v->target);
        g_free(v->device);
        g_free(v);
}

void fill_tree(const char *path, unsigned n_dirs, unsigned n_files) {
        g_autofree char *link = path_printf("%s/link", path), *fifo = path_printf("%s/fifo", path);

        must(symlink("/etc/passwd", link));
        must(mkfifo(fifo, 0600));
        for (unsigned d = 0; d < n_dirs; d++) {
                g_autofree char *dir = path_printf("%s/dir-%u", path, d);

                must(mkdir(dir, 0755));
                for (unsigned i = 0; i < n_files; i++) {
                        g_autofree char *file = path_printf("%s/file-%u", dir, i);

                        must(mknod(file, S_IFREG | 0644, 0));
                }
        }
}

char *get_label(const char *path) {
        char label[1024];
        ssize_t n;

        n = lgetxattr(path, "security.selinux", label, sizeof(label) - 1);
        if (n < 0 && errno != ENODATA)
                g_error("%s: %s", path, g_strerror(errno));
        return n < 0 ? g_strdup("") : g_strndup(label, (size_t) n);
}

void set_label(const char *path, const char *label) {
        must(lsetxattr(path, "security.selinux", label, strlen(label) + 1, 0));
}

ChangeArguments live(const TestVolume *v, const char *context) {
        return (ChangeArguments){ .target = v->target, .mount_id = v->mount_id, .context = context };
}

ChangeArguments staged(const char *context) {
        return (ChangeArguments){ .context = context };
}

static const char *wanted;
static unsigned n_wanted;

static int look(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        g_autofree char *label = get_label(path);

        n_wanted += g_str_equal(label, wanted);
        return 0;
}

unsigned count_labelled(const char *path, const char *label) {
        wanted = label;
        n_wanted = 0;
        must(nftw(path, look, 64, FTW_PHYS | FTW_MOUNT));
        return n_wanted;
}

char *get_record(const char *path) {
        char text[4096];
        ssize_t n;

        n = getxattr(path, VOLUME_RECORD_XATTR, text, sizeof(text) - 1);
        if (n < 0) {
                g_assert_cmpint(errno, ==, ENODATA);
                return NULL;
        }
        return g_strndup(text, (size_t) n);
}

void set_record_bytes(const char *path, const void *bytes, size_t n) {
        must(setxattr(path, VOLUME_RECORD_XATTR, bytes, n, 0));
}

void set_record(const char *path, const char *text) {
        set_record_bytes(path, text, strlen(text));
}

void assert_record(const char *path, RecordState state, const char *context, bool tainted, uint64_t generation) {
        g_autofree char *text = get_record(path);
        VolumeRecord record = { 0 };

        g_assert_nonnull(text);
        g_assert_cmpint(volume_record_parse(text, strlen(text), &record), ==, 0);
        g_assert_cmpstr(record_state_to_string(record.label_state), ==, record_state_to_string(state));
        g_assert_cmpstr(strempty(record.context), ==, context);
        g_assert_cmpint(record.tainted, ==, tainted);
        g_assert_cmpint(record.generation, ==, generation);
        volume_record_done(&record);
}

void assert_told(const Answer *a, const char *path) {
        g_autofree char *text = get_record(path);

        g_assert_cmpint(a->found, ==, text ? RECORD_PRESENT : RECORD_ABSENT);
        g_assert_cmpstr(a->record, ==, text ? text : "");
}

void set_immutable(const char *path, bool immutable) {
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), flags;

        must(fd);
        must(ioctl(fd, FS_IOC_GETFLAGS, &flags));
        flags = immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
        must(ioctl(fd, FS_IOC_SETFLAGS, &flags));
        close(fd);
}

static int on_progress(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Progress *p = userdata;
        WalkCounts counts;

        g_assert_cmpint(worker_read_progress(m, &counts, &p->total), >=, 0);
        g_assert_cmpint(counts.done, >=, p->done);
        p->done = counts.done;
        p->n++;
        return 0;
}

void watch_progress(sd_bus *bus, Progress *progress) {
        g_assert_cmpint(sd_bus_match_signal(bus, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS,
                                            on_progress, progress),
                        >=, 0);
}

void wait_for_progress(sd_bus *bus, const Progress *p, unsigned n, sd_bus_message **reply) {
        while (p->n < n && !*reply) {
                g_assert_cmpint(sd_bus_wait(bus, 10 * G_USEC_PER_SEC), >, 0);
                while (sd_bus_process(bus, NULL) > 0)
                        ;
        }
}

char *read_capabilities(void) {
        g_autofree char *unit = g_test_build_filename(G_TEST_DIST, "units", "selvol-worker.service.in", NULL),
                        *text = NULL, *line = NULL;
        static const char key[] = "\nCapabilityBoundingSet=";
        g_auto(GStrv) names = NULL;
        GString *set = g_string_new("-all");
        const char *start;

        g_assert_true(g_file_get_contents(unit, &text, NULL, NULL));
        start = strstr(text, key);
        g_assert_nonnull(start);
        start += strlen(key);
        line = g_ascii_strdown(start, (gssize) strcspn(start, "\n"));
        names = g_strsplit(line, " ", -1);
        for (char **name = names; *name; name++)
                g_string_append_printf(set, ",+%s", *name + strlen("cap_"));
        return g_string_free(set, FALSE);
}
