/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "files.h"
#include "program.h"

char *path_printf(const char *format, ...) {
        va_list ap;
        char *s;

        va_start(ap, format);
        s = g_strdup_vprintf(format, ap);
        va_end(ap);
        return s;
}

void file_write(const char *path, const char *text) {
        g_autofree char *directory = g_path_get_dirname(path);
        g_autoptr(GError) error = NULL;

        must(g_mkdir_with_parents(directory, 0755));
        g_file_set_contents(path, text, -1, &error);
        g_assert_no_error(error);
}

char *file_make(const char *text) {
        g_autoptr(GError) error = NULL;
        char *path = NULL;
        int fd = g_file_open_tmp("selvol-test-XXXXXX", &path, &error);

        g_assert_no_error(error);
        close(fd);
        file_write(path, text);
        return path;
}

char *file_read(const char *path) {
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

unsigned file_count_lines(const char *path, const char *pattern) {
        g_autofree char *text = file_read(path);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        unsigned n = 0;

        for (char **line = lines; *line; line++)
                n += g_pattern_match_simple(pattern, *line);
        return n;
}

void tree_remove(const char *path) {
        g_autoptr(GDir) d = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
        const char *name;

        while (d && (name = g_dir_read_name(d))) {
                g_autofree char *child = g_build_filename(path, name, NULL);

                tree_remove(child);
        }
        (void) g_remove(path);
}

bool image_make(const char *path, uint64_t size, const char *fs_type, ...) {
        g_autofree char *mkfs = path_printf("mkfs.%s", fs_type);
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        va_list ap;

        must(fd);
        must(ftruncate(fd, (off_t) size));
        close(fd);
        if (!fs_type)
                return true;
        if (!has_program(mkfs))
                return false;
        g_ptr_array_add(argv, mkfs);
        g_ptr_array_add(argv, (char *) "-q");
        va_start(ap, fs_type);
        for (const char *s; (s = va_arg(ap, const char *));)
                g_ptr_array_add(argv, (char *) s);
        va_end(ap);
        g_ptr_array_add(argv, (char *) path);
        g_ptr_array_add(argv, NULL);
        g_assert_true(run_words((char **) argv->pdata));
        return true;
}

void disk_mount(const char *directory, unsigned long flags) {
        must(mount("small", directory, "tmpfs", flags, "size=400k,mode=700"));
}

void disk_fill(const char *directory) {
        g_autofree char *path = path_printf("%s/filler", directory);
        char zeros[4096] = { 0 };
        FILE *filler = fopen(path, "we");

        g_assert_nonnull(filler);
        while (fwrite(zeros, sizeof(zeros), 1, filler) == 1 && fflush(filler) == 0) {
        }
        (void) fclose(filler);
}

void disk_make_room(const char *directory) {
        g_autofree char *path = path_printf("%s/filler", directory);

        must(unlink(path));
}

static bool skip_all(const char *why) {
        g_print("1..0 # SKIP %s\n", why);
        return false;
}

bool namespace_try(void) {
        return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool namespace_enter(void) {
        if (geteuid() != 0)
                return skip_all("needs root");
        if (access("/dev/loop-control", R_OK | W_OK) < 0)
                return skip_all("needs loop devices");
        if (!namespace_try())
                return skip_all("needs a mount namespace of its own");
        must(mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4g"));
        return true;
}
