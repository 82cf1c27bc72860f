/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "basic/time-util.h"
#include "label/selinux.h"
#include "label/tree-internal.h"

enum { RATE_SLICE_NSEC = 50000000 };

static int thread_enter(Thread *t, const Dir *d) {
        if (t->cwd == d->serial)
                return 0;
        if (fchdir(d->fd) < 0)
                return -errno;
        t->cwd = d->serial;
        return 0;
}

/* All threads share one clock that tells when the next entries may be visited; each takes entries for a slice of time
 * and waits until that has come. Time that was not used is not made up for. */
static void wait_for_turn(Thread *t) {
        Walk *w = t->walk;
        uint64_t rate = w->spec->entries_per_sec, n, length, turn, next, now = clock_nsec(CLOCK_MONOTONIC);

        n = rate * RATE_SLICE_NSEC / NSEC_PER_SEC;
        n = n == 0 ? 1 : n;
        length = n * NSEC_PER_SEC / rate;

        turn = atomic_load(&w->next_nsec);
        do
                next = (turn < now ? now : turn) + length;
        while (!atomic_compare_exchange_weak(&w->next_nsec, &turn, next));
        t->granted = n;

        for (now = clock_nsec(CLOCK_MONOTONIC); now < next - length && !walk_is_stopped(w);
             now = clock_nsec(CLOCK_MONOTONIC)) {
                uint64_t wait = next - length - now;
                const struct timespec ts = { .tv_nsec = (long) (wait < RATE_SLICE_NSEC ? wait : RATE_SLICE_NSEC) };

                (void) nanosleep(&ts, NULL);
        }
}

static bool label_is_wanted(const Walk *w, const char *label, ssize_t n) {
        return n >= 0 && label_is_verbatim(label, (size_t) n, w->spec->context, w->context_size - 1);
}

/* A path that is followed is one of /proc/self/fd. */
static ssize_t get_label(const char *path, bool follow, char *buffer) {
        ssize_t n = follow ? getxattr(path, LABEL_XATTR, buffer, LABEL_MAX - 1)
                           : lgetxattr(path, LABEL_XATTR, buffer, LABEL_MAX - 1);

        return n < 0 ? -errno : n;
}

static int set_label(const Walk *w, const char *path, bool follow) {
        int r = follow ? setxattr(path, LABEL_XATTR, w->spec->context, w->context_size, 0)
                       : lsetxattr(path, LABEL_XATTR, w->spec->context, w->context_size, 0);

        return r < 0 ? -errno : 0;
}

/* Returns 1 if the label is as wanted, or gone; 0 if it is another one, which is in t->label then, "" if it can't be
 * compared; or a negative errno. */
static int look(Thread *t, const Spot *s) {
        ssize_t n = get_label(s->path, s->follow, t->label);

        if (is_gone((int) n) || label_is_wanted(t->walk, t->label, n))
                return 1;
        if (n < 0 && n != -ENODATA && n != -ERANGE)
                return (int) n;
        t->label[n < 0 ? 0 : n] = '\0';
        return 0;
}

/* What differs in its spelling only is no other label. Most of those that differ are alike. */
static int verify_label(Thread *t, const Spot *s, TreeIssue *found) {
        _cleanup_free_ char *canonical = NULL;
        int r = look(t, s);

        if (r != 0)
                return r < 0 ? r : 0;
        if (isempty(t->label) || !streq(t->label, t->other)) {
                if (selinux_canonicalize_label(t->label, &canonical) >= 0 && streq(canonical, t->walk->spec->context))
                        return 0;
                strcpy(t->other, t->label);
        }
        count(&t->mismatched);
        found->label = canonical ? TAKE_PTR(canonical) : strdup(t->label);
        return 0;
}

/* A right label is not written, as that would move its ctime. */
static int change_label(Thread *t, const Spot *s, unsigned *written) {
        bool looked = !t->walk->blind || t->walk->pass > 1;
        int r = looked ? look(t, s) : 0, found;

        if (r != 0)
                return r < 0 ? r : 0;
        r = set_label(t->walk, s->path, s->follow);
        if (r >= 0)
                *written |= WROTE_LABEL;
        if (r >= 0 || is_gone(r))
                return 0;
        /* What can't be written may be right. */
        found = looked ? 0 : look(t, s);
        return found == 0 ? r : found < 0 ? found : 0;
}

static void visit(Thread *t, const Spot *s) {
        const TreeSpec *spec = t->walk->spec;
        bool change = spec->mode == TREE_CHANGE;
        unsigned written = 0;
        int label = 0, owner = 0;
        TreeIssue found = { 0 };

        if (spec->context)
                label = change ? change_label(t, s, &written) : verify_label(t, s, &found);
        if (spec->ownership)
                owner = change ? owner_change(t->walk, s, &written) : owner_verify(spec->ownership, s, &found);

        if (written)
                count(&t->changed);
        if (found.misowned)
                count(&t->misowned);
        if (label < 0 || owner < 0)
                found.error = label < 0 ? -label : -owner;
        if (found.error != 0 || found.label || found.misowned)
                issue_add(t->walk, s->dir, s->name, &found);
        free(found.label);
}

/* In a directory of a larger file system a name may be a hard link to a file outside, and may become one at any time:
 * the inode is pinned before its links are counted. */
static void visit_pinned(Thread *t, const Dir *d, const char *name) {
        _cleanup_close_ int fd = openat(d->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        char path[32];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0) {
                if (!is_gone(-errno))
                        issue_add_error(t->walk, d, name, errno);
                return;
        }
        if (st.st_nlink > 1 && !S_ISDIR(st.st_mode)) {
                count(t->walk->pass == 1 ? &t->skipped : &t->skipped_later);
                return;
        }
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        visit(t, &(Spot){ .dir = d, .name = name, .path = path, .follow = true, .fd = fd });
}

static void visit_entry(Thread *t, const Dir *d, const char *name) {
        const TreeSpec *spec = t->walk->spec;
        int r = 0;

        if (spec->entries_per_sec > 0 && t->granted-- == 0) {
                wait_for_turn(t);
                t->granted--;
        }
        if (name || spec->context)
                r = thread_enter(t, d);
        if (r < 0)
                issue_add_error(t->walk, d, name, -r);
        else if (!name)
                visit(t, &(Spot){ .dir = d, .path = ".", .fd = d->fd });
        else if (spec->part && spec->mode == TREE_CHANGE)
                visit_pinned(t, d, name);
        else
                visit(t, &(Spot){ .dir = d, .name = name, .path = name, .fd = -EBADF });
}

void entry_visit(Thread *t, const Dir *d, const char *name) {
        const TreeSpec *spec = t->walk->spec;

        count(&t->steps);
        if (t->walk->pass == 1)
                count(&t->done);
        if (spec->mode != TREE_COUNT)
                visit_entry(t, d, name);
        if (spec->max_entries > 0 && t->done >= spec->max_entries)
                walk_stop(t->walk, 0);
}
