/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "basic/open-util.h"
#include "basic/time-util.h"
#include "model/failure.h"
#include "label/draw.h"
#include "label/selinux.h"
#include "label/tree.h"

enum {
        DRAWS_MAX = 1000000,
        VANISHED_MAX = 64, /* times that one draw begins anew */
        PATH_SIZE = 4096,
        PATH_HEAD = 1024, /* bytes that are kept of a path that is longer */
        PATH_TAIL = 1024,
        LABEL_SIZE = 4096,
};

#define PATH_LEFT_OUT "/…/"

typedef struct Sampler {
        const SampleSpec *spec;
        TreeResult *result;
        Draw *draw;
        uint64_t told_usec;   /* when progress was told of, monotonic */
        bool mismatched;      /* the current draw has met a label that is */
        bool misowned;        /* likewise, a group or mode */
        char path[PATH_SIZE]; /* where it is, "" for the root */
} Sampler;

void sample_result_done(SampleResult *r) {
        tree_result_done(&r->tree);
}

static void path_append(Sampler *s, const char *name) {
        size_t length = strlen(s->path), n = strlen(name);

        /* A name that alone is longer than what is kept does not come from a file system that keeps labels. */
        n = n < PATH_TAIL ? n : PATH_TAIL;
        if (length + 1 + n >= sizeof(s->path)) {
                memcpy(s->path + PATH_HEAD, PATH_LEFT_OUT, strlen(PATH_LEFT_OUT));
                memmove(s->path + PATH_HEAD + strlen(PATH_LEFT_OUT), s->path + length - PATH_TAIL, PATH_TAIL);
                length = PATH_HEAD + strlen(PATH_LEFT_OUT) + PATH_TAIL;
        }
        if (length > 0)
                s->path[length++] = '/';
        memcpy(s->path + length, name, n);
        s->path[length + n] = '\0';
}

/* Names the entry at which the draw is, once. */
static int add_issue(Sampler *s, const TreeIssue *what) {
        const char *path = isempty(s->path) ? "." : s->path;
        TreeIssue *issue;

        for (size_t i = 0; i < s->result->n_issues; i++)
                if (streq(s->result->issues[i].path, path) && s->result->issues[i].error == what->error)
                        return 0;
        if (s->result->n_issues == TREE_ISSUES_MAX)
                return 0;

        issue = s->result->issues + s->result->n_issues;
        *issue = *what;
        issue->path = strdup(path);
        issue->label = what->label ? strdup(what->label) : NULL;
        s->result->n_issues++; /* freed with the others, whatever it has */
        return issue->path && (issue->label || !what->label) ? 0 : -ENOMEM;
}

/* Not for what was opened with O_PATH. */
static bool has_label_verbatim(int fd, const char *context) {
        char label[LABEL_SIZE];
        ssize_t n = fgetxattr(fd, LABEL_XATTR, label, sizeof(label));

        return n >= 0 && label_is_verbatim(label, (size_t) n, context, strlen(context));
}

/* *ret_label stays NULL if it is right. */
static int compare_label(const Sampler *s, int fd, bool is_directory, char **ret_label) {
        _cleanup_free_ char *label = NULL;
        int r;

        /* Right, mostly. The other way knows all spellings and costs several system calls, which matters in a deep
         * tree only. */
        if (is_directory && has_label_verbatim(fd, s->spec->context))
                return 0;
        r = selinux_read_label(fd, &label);
        if (r < 0)
                return r;
        if (!streq(label, s->spec->context))
                *ret_label = TAKE_PTR(label);
        return 0;
}

static int compare_owner(const Sampler *s, int fd, TreeIssue *found) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!ownership_holds(s->spec->ownership, st.st_gid, st.st_mode)) {
                found->misowned = true;
                found->gid = st.st_gid;
                found->mode = st.st_mode;
        }
        return 0;
}

static int compare(Sampler *s, int fd, bool is_directory) {
        _cleanup_free_ char *label = NULL;
        TreeIssue found = { 0 };
        int r = 0;

        if (s->spec->context)
                r = compare_label(s, fd, is_directory, &label);
        if (r >= 0 && s->spec->ownership)
                r = compare_owner(s, fd, &found);
        if (r < 0 || (!label && !found.misowned))
                return r;
        found.label = label;
        s->mismatched = s->mismatched || label;
        s->misowned = s->misowned || found.misowned;
        return add_issue(s, &found);
}

/* Opens an entry; what is no directory can't be opened but with O_PATH. */
static int open_entry(int fd, const DrawnEntry *entry, int *ret, bool *ret_directory) {
        unsigned char type = entry->type;
        int r;

        if (type == DT_UNKNOWN) {
                struct stat st;

                if (fstatat(fd, entry->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
                        return -errno;
                type = S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
        }
        r = open_beneath(fd, entry->name, type == DT_DIR ? OPEN_DIRECTORY : O_PATH | O_NOFOLLOW, RESOLVE_NO_XDEV);
        /* It was one a moment ago. */
        if (type == DT_DIR && (r == -ENOTDIR || r == -ELOOP))
                return -ENOENT;
        if (r < 0)
                return r;
        *ret = r;
        *ret_directory = type == DT_DIR;
        return 0;
}

/* Goes down once. Only the directory that is drawn from is open, and the entry drawn. */
static int descend(Sampler *s) {
        _cleanup_close_ int fd = -EBADF;
        bool is_directory = true;
        int r;

        s->path[0] = '\0';
        fd = open_beneath(s->spec->fd, ".", OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        if (fd < 0)
                return fd;
        for (;;) {
                _cleanup_close_ int entry_fd = -EBADF;
                DrawnEntry entry;

                r = compare(s, fd, is_directory);
                if (r < 0 || !is_directory)
                        return r;
                r = draw_entry(s->draw, fd, &entry);
                if (r <= 0)
                        return r;
                path_append(s, entry.name);
                r = open_entry(fd, &entry, &entry_fd, &is_directory);
                if (r < 0)
                        return r;
                (void) fd_close(fd);
                fd = TAKE_FD(entry_fd);
        }
}

static bool is_vanished(int r) {
        return r == -ENOENT || r == -ESTALE;
}

/* That this process lacks something says nothing about the volume. */
static bool is_fatal(int r) {
        return r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

static int take_draw(Sampler *s) {
        int r;

        s->mismatched = s->misowned = false;
        for (unsigned i = 0; i < VANISHED_MAX; i++) {
                r = descend(s);
                if (!is_vanished(r))
                        break;
        }
        if (is_fatal(r))
                return r;
        if (r < 0) {
                s->result->counts.failed++;
                r = add_issue(s, &(TreeIssue){ .error = -r });
                if (r < 0)
                        return r;
        }
        s->result->counts.mismatched += s->mismatched;
        s->result->counts.misowned += s->misowned;
        s->result->counts.done++;
        return 0;
}

/* The least number of draws of which all are right with no more than the probability 1 - confidence, if the share of
 * wrong ones is as large as in the spec. */
static int count_draws(const SampleSpec *spec, unsigned *ret_draws, double *ret_miss, Failure *f) {
        double miss = 1;
        unsigned n = 0;

        if (!(spec->confidence > 0 && spec->confidence < 1 && spec->share > 0 && spec->share < 1))
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "A sample needs a confidence and a share between 0 and 1, not %g and %g.",
                                   spec->confidence, spec->share);
        while (miss > 1 - spec->confidence) {
                if (n == DRAWS_MAX)
                        return failure_set(
                                f, FAILURE_INVALID_OPTION,
                                "To notice a share of %g of wrong entries with the confidence %g takes more than %i draws; ask for less, or for a full check.",
                                spec->share, spec->confidence, DRAWS_MAX);
                miss *= 1 - spec->share;
                n++;
        }

        *ret_draws = n;
        *ret_miss = miss;
        return 0;
}

static int check_root(const SampleSpec *spec, TreeResult *result, Failure *f) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!spec->context)
                return 0;
        r = selinux_require_labels(spec->fd, f);
        if (r != 0)
                return r;
        /* In the way in which the entries are looked at, so that a wrong /proc does not pass for their error. */
        fd = open_beneath(spec->fd, ".", O_PATH, RESOLVE_NO_XDEV);
        if (fd < 0)
                return fd;
        return selinux_read_label(fd, &result->root_label);
}

static int tell(Sampler *s) {
        uint64_t now = now_monotonic_usec();

        if (!s->spec->progress || now - s->told_usec < TREE_PROGRESS_USEC)
                return 0;
        s->told_usec = now;
        return s->spec->progress(&s->result->counts, s->spec->userdata);
}

int sample_tree(const SampleSpec *spec, SampleResult *ret, Failure *f) {
        _cleanup_(sample_result_done) SampleResult result = { 0 };
        _cleanup_(draw_freep) Draw *draw = NULL;
        unsigned n_draws = 0;
        Sampler s;
        int r;

        r = count_draws(spec, &n_draws, &result.miss_probability, f);
        if (r != 0)
                return r;
        r = check_root(spec, &result.tree, f);
        if (r != 0)
                return r;
        r = draw_new(spec->seed, &draw);
        if (r < 0)
                return r;

        s = (Sampler){ .spec = spec, .result = &result.tree, .draw = draw, .told_usec = now_monotonic_usec() };
        for (unsigned i = 0; i < n_draws; i++) {
                r = take_draw(&s);
                if (r >= 0)
                        r = tell(&s);
                if (r < 0)
                        return r;
        }

        *ret = result;
        result = (SampleResult){ 0 };
        return 0;
}
