/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-list.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "basic/string-util.h"

/* The helper of "tools/bench relabel" and "chgrp": checks and sets labels and groups out of the timed part, and is
 * the limit: a bare loop of as few system calls per entry as can be, over a prepared list in inode order. See
 * docs/bench.md.
 *
 * bench-label VERB [--threads N] [--call at|chdir|open] LABEL DIR
 *   check    counts the entries without the label; fails if there are any
 *   set      gives all the label
 *   scatter  gives some (--percent, --seed) the label, never the root
 *   write    the limit where all have to be written
 *   compare  the limit where most are right: looks, and writes what differs
 *
 * bench-label VERB [--threads N] GID DIR
 *   check-group  counts the entries that don't have the group, or not the modes that a group's are to have
 *   set-group    gives them to what differs; the limit
 *   plain-group  gives all the group, and modes as of programs that know nothing of sharing */

#ifndef __NR_setxattrat
#define __NR_setxattrat 463 /* Linux 6.13; glibc has none of them yet */
#define __NR_getxattrat 464
#endif

struct bench_xattr_args { /* struct xattr_args of linux/xattr.h */
        uint64_t value;
        uint32_t size;
        uint32_t flags;
};

typedef enum Call {
        CALL_AT,    /* setxattrat(directory, name) */
        CALL_CHDIR, /* lsetxattr(name) in the directory */
        CALL_OPEN,  /* open, fsetxattr, close: what kernels before 6.13 have for one that has no working directory */
} Call;

typedef struct Job {
        const char *label;
        size_t size; /* with the NUL, as libselinux writes it */
        Call call;
        unsigned percent, seed;
        gid_t gid;
        struct {
                uint64_t wrong, set;
        } __attribute__((aligned(64))) workers[WORKERS_MAX];
} Job;

#define ATTRIBUTE "security.selinux"

/* ---- the calls ------------------------------------------------------------------------------------------------- */

/* A working directory of the thread's own. */
static void enter(const List *l, const Entry *e) {
        static _Thread_local int now = -EBADF;
        int fd = list_directory(l, e);

        if (now < 0 && unshare(CLONE_FS) < 0)
                fail("unshare: %s", strerror(errno));
        if (now == fd)
                return;
        if (fchdir(fd) < 0)
                fail("fchdir: %s", strerror(errno));
        now = fd;
}

static int open_entry(const List *l, const Entry *e) {
        int fd = openat(list_directory(l, e), list_name(l, e),
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

        if (fd < 0)
                fail("%s can't be opened: %s", list_name(l, e), strerror(errno));
        return fd;
}

static void set_label(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;
        struct bench_xattr_args args = { .value = (uint64_t) (uintptr_t) j->label, .size = (uint32_t) j->size };
        _cleanup_close_ int fd = -EBADF;
        long r;

        switch (j->call) {
        case CALL_AT:
                r = syscall(__NR_setxattrat, list_directory(l, e), list_name(l, e), AT_SYMLINK_NOFOLLOW, ATTRIBUTE,
                            &args, sizeof(args));
                break;
        case CALL_CHDIR:
                enter(l, e);
                r = lsetxattr(list_name(l, e), ATTRIBUTE, j->label, j->size, 0);
                break;
        default:
                fd = open_entry(l, e);
                r = fsetxattr(fd, ATTRIBUTE, j->label, j->size, 0);
        }
        if (r < 0)
                fail("%s can't be labeled: %s", list_name(l, e), strerror(errno));
        j->workers[worker].set++;
}

static bool label_is(const List *l, const Entry *e, const Job *j) {
        char value[256];
        struct bench_xattr_args args = { .value = (uint64_t) (uintptr_t) value, .size = sizeof(value) };
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        switch (j->call) {
        case CALL_AT:
                n = syscall(__NR_getxattrat, list_directory(l, e), list_name(l, e), AT_SYMLINK_NOFOLLOW, ATTRIBUTE,
                            &args, sizeof(args));
                break;
        case CALL_CHDIR:
                enter(l, e);
                n = lgetxattr(list_name(l, e), ATTRIBUTE, value, sizeof(value));
                break;
        default:
                fd = open_entry(l, e);
                n = fgetxattr(fd, ATTRIBUTE, value, sizeof(value));
        }
        if (n < 0 && errno != ENODATA)
                fail("%s: the label can't be read: %s", list_name(l, e), strerror(errno));
        if (n > 0 && value[n - 1] == '\0') /* go-selinux writes none */
                n--;
        return n >= 0 && (size_t) n == j->size - 1 && memcmp(value, j->label, (size_t) n) == 0;
}

static void check_label(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;

        if (!label_is(l, e, j))
                j->workers[worker].wrong++;
}

static void compare_label(const List *l, const Entry *e, unsigned worker, void *data) {
        if (!label_is(l, e, data))
                set_label(l, e, worker, data);
}

/* Which ones does not depend on the order: a hash of the inode number decides. */
static void scatter_label(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;
        uint64_t x = e->inode + j->seed * UINT64_C(0x9e3779b97f4a7c15);

        if (e->inode == 0)
                return;
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        if (x % 100 < j->percent)
                set_label(l, e, worker, data);
}

/* ---- groups and modes ------------------------------------------------------------------------------------------ */

/* The trees have directories and files only, and root owns all. Half of the files are readable by their owner only;
 * which ones does not depend on the order. */
static mode_t plain_mode(const Entry *e, mode_t type) {
        return S_ISDIR(type) ? 0755 : e->inode % 2 == 0 ? 0644 : 0600;
}

/* What has to become of that: not the engine's own arithmetic, as this checks it. */
static mode_t shared_mode(const Entry *e, mode_t type) {
        return S_ISDIR(type) ? 02775 : e->inode % 2 == 0 ? 0664 : 0660;
}

static void look(const List *l, const Entry *e, struct stat *ret) {
        if (fstatat(list_directory(l, e), list_name(l, e), ret, AT_SYMLINK_NOFOLLOW) < 0)
                fail("%s can't be looked at: %s", list_name(l, e), strerror(errno));
        if (!S_ISDIR(ret->st_mode) && !S_ISREG(ret->st_mode))
                fail("%s is neither a file nor a directory", list_name(l, e));
}

static void give(const List *l, const Entry *e, const struct stat *now, gid_t gid, mode_t mode, uint64_t *set) {
        bool group_differs = now->st_gid != gid, mode_differs = (now->st_mode & ALLPERMS) != mode;

        /* the group first: to write it may take setgid away */
        if (group_differs &&
            fchownat(list_directory(l, e), list_name(l, e), (uid_t) -1, gid, AT_SYMLINK_NOFOLLOW) < 0)
                fail("%s can't be given to a group: %s", list_name(l, e), strerror(errno));
        if (mode_differs && fchmodat(list_directory(l, e), list_name(l, e), mode, 0) < 0)
                fail("%s can't be given a mode: %s", list_name(l, e), strerror(errno));
        *set += group_differs || mode_differs;
}

static void check_group(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;
        struct stat st;

        look(l, e, &st);
        if (st.st_uid != 0 || st.st_gid != j->gid || (st.st_mode & ALLPERMS) != shared_mode(e, st.st_mode))
                j->workers[worker].wrong++;
}

static void set_group(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;
        struct stat st;

        look(l, e, &st);
        give(l, e, &st, j->gid, shared_mode(e, st.st_mode), &j->workers[worker].set);
}

static void plain_group(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;
        struct stat st;

        look(l, e, &st);
        give(l, e, &st, j->gid, plain_mode(e, st.st_mode), &j->workers[worker].set);
}

/* ---- main ------------------------------------------------------------------------------------------------------ */

static const struct Verb {
        const char *name;
        void (*work)(const List *l, const Entry *e, unsigned worker, void *data);
        bool of_group;
} verbs[] = {
        { "check", check_label },         { "set", set_label },
        { "scatter", scatter_label },     { "write", set_label },
        { "compare", compare_label },     { "check-group", check_group, true },
        { "set-group", set_group, true }, { "plain-group", plain_group, true },
};

static Call best_call(void) {
        return syscall(__NR_getxattrat, -EBADF, "", 0, NULL, NULL, 0) < 0 && errno == ENOSYS ? CALL_CHDIR : CALL_AT;
}

static Call parse_call(const char *s) {
        static const char *const names[] = { [CALL_AT] = "at", [CALL_CHDIR] = "chdir", [CALL_OPEN] = "open" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(s, names[i]))
                        return (Call) i;
        fail("there is no call '%s'", s);
}

/* Does it all, and prints what the loop took, without the preparation, and what came of it. */
static uint64_t run_verb(const struct Verb *verb, List *l, unsigned threads, Job *j) {
        uint64_t wrong = 0, set = 0;
        struct rusage before, after;
        double usec;

        (void) getrusage(RUSAGE_SELF, &before);
        usec = list_run(l, threads, verb->work, j);
        (void) getrusage(RUSAGE_SELF, &after);
        timersub(&after.ru_utime, &before.ru_utime, &after.ru_utime);
        timersub(&after.ru_stime, &before.ru_stime, &after.ru_stime);
        for (unsigned i = 0; i < WORKERS_MAX; i++) {
                wrong += j->workers[i].wrong;
                set += j->workers[i].set;
        }
        printf("bench loop=%.0f user=%lld sys=%lld entries=%zu wrong=%llu changed=%llu\n", usec,
               after.ru_utime.tv_sec * 1000000LL + after.ru_utime.tv_usec,
               after.ru_stime.tv_sec * 1000000LL + after.ru_stime.tv_usec, l->n_entries, (unsigned long long) wrong,
               (unsigned long long) set);
        return wrong;
}

int main(int argc, char **argv) {
        static const char usage[] =
                "bench-label check|set|scatter|write|compare [--threads N] [--call at|chdir|open] [--percent N]\n"
                "            [--seed N] LABEL DIR\n"
                "bench-label check-group|set-group|plain-group [--threads N] GID DIR";
        Job j = { .call = best_call(), .percent = 1, .seed = 1 };
        const struct Verb *verb = NULL;
        const char *call = NULL;
        unsigned threads = 0;
        const BenchOption options[] = {
                NUMBER("threads", threads, WORKERS_MAX),
                TEXT("call", call),
                NUMBER("percent", j.percent, 100),
                NUMBER("seed", j.seed, UINT32_MAX),
        };
        uint64_t wrong;
        List l;

        if (argc - parse_options(options, argc, argv, usage) != 3)
                print_usage(usage);
        if (call)
                j.call = parse_call(call);
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(argv[optind], verbs[i].name))
                        verb = verbs + i;
        if (!verb)
                print_usage(usage);
        if (verb->of_group)
                j.gid = parse_number(argv[optind + 1], UINT32_MAX - 1);
        else {
                j.label = argv[optind + 1];
                j.size = strlen(j.label) + 1;
        }

        list_read(&l, argv[optind + 2]);
        wrong = run_verb(verb, &l, threads, &j);
        list_done(&l);
        return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
