/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>

#include "scene.h"

Scene scene_on(const char *fs_type) {
        static unsigned n;
        g_autofree char *name = path_printf("tree-%u", n++), *image = NULL;
        Scene s = { .path = make_target(name) };

        if (g_str_equal(fs_type, "tmpfs"))
                must(mount("tmpfs", s.path, "tmpfs", 0, NULL));
        else {
                image = make_image(name, fs_type);
                g_assert_true(run("mount", "-o", "loop", image, s.path, NULL));
        }
        s.fd = open_directory(s.path);
        must(fchdir(s.fd));
        return s;
}

void scene_leave(Scene *s) {
        must(chdir("/"));
        if (s->fd >= 0)
                close(s->fd);
        if (s->path)
                (void) umount2(s->path, MNT_DETACH);
        g_free(s->path);
}

const char *numbered(const char *format, ...) {
        static _Thread_local char names[8][64];
        static _Thread_local unsigned n;
        char *name = names[n++ % G_N_ELEMENTS(names)];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(name, sizeof(names[0]), format, ap);
        va_end(ap);
        return name;
}

void write_file(const char *path) {
        must(mknod(path, S_IFREG | 0644, 0));
}

void write_files(const char *prefix, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *path = path_printf("%s%u", prefix, i);

                write_file(path);
        }
}

uint64_t ctime_of(const char *path) {
        struct stat st;

        must(lstat(path, &st));
        return (uint64_t) st.st_ctim.tv_sec * 1000000000 + (uint64_t) st.st_ctim.tv_nsec;
}

void let_clock_tick(void) {
        g_usleep(30000);
}

WalkResult walk(FilesSpec spec) {
        WalkResult result = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (!spec.context && !spec.ownership)
                spec.context = WANTED;
        r = files_walk(&spec, &result, &f);
        if (r != 0)
                g_error("files_walk: %i %s", r, f.message ? f.message : "");
        return result;
}

WalkCounts walk_well(FilesSpec spec) {
        g_auto(WalkResult) r = walk(spec);

        for (size_t i = 0; i < r.n_issues; i++)
                g_test_message("%s: '%s' %i", r.issues[i].path, r.issues[i].text, r.issues[i].error);
        g_assert_cmpuint(r.counts.failed, ==, 0);
        return r.counts;
}

const WalkIssue *find_issue(const WalkResult *r, const char *path) {
        for (size_t i = 0; i < r->n_issues; i++)
                if (g_strcmp0(r->issues[i].path, path) == 0)
                        return &r->issues[i];
        g_error("no issue names %s", path);
}

void assert_issue(const WalkResult *r, const char *path, int error) {
        g_assert_cmpint(find_issue(r, path)->error, ==, error);
}

void assert_all_right(int fd, uint64_t entries) {
        const WalkCounts counts = walk_well(VERIFY(fd));

        g_assert_cmpuint(counts.mismatched, ==, 0);
        if (entries > 0)
                g_assert_cmpuint(counts.done, ==, entries);
}
