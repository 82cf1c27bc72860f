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

/* Helper of "tools/bench relabel" and "chgrp". It checks and sets labels and groups outside of the measured
 * time, and it is the row "bare" of the tables: a loop over a prepared list in inode order, with as few
 * system calls for each entry as possible. docs/bench.md explains the rows.
 *
 * bench-label VERB [--threads N] [--call at|chdir|open] [--look] LABEL DIR
 *   check    counts the entries without the label; fails if it finds one
 *   set      labels all entries
 *   scatter  labels some entries (--percent, --seed), never the root
 *   write    row "bare", where all entries need the label
 *   compare  row "bare", where few entries need the label: reads each label, writes it if it differs
 * --look: row "bare-look": asks for the type of each entry before, as the engine does
 *
 * bench-label VERB [--threads N] GID DIR
 *   check-group  counts the entries without the group, or without the modes that fsGroup gives
 *   set-group    row "bare": sets group and mode where they differ
 *   plain-group  sets the group, and modes without the bits that fsGroup adds */

#ifndef __NR_setxattrat
#define __NR_setxattrat 463 /* Linux 6.13; glibc has no wrapper yet */
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
        CALL_OPEN,  /* open, fsetxattr, close: works before Linux 6.13 without chdir */
} Call;

typedef struct Job {
        const char *label;
        size_t size; /* with the NUL, as libselinux writes it */
        Call call;
        bool look;
        unsigned percent, seed;
        gid_t gid;
        struct {
                uint64_t wrong, set;
        } __attribute__((aligned(64))) workers[WORKERS_MAX];
} Job;

#define ATTRIBUTE "security.selinux"

/* ---- the calls --------------------------------------------------------------------------------------- */

/* unshare(CLONE_FS) gives the thread a working directory of its own. */
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

static void look_at(const List *l, const Entry *e) {
        struct stat st;

        if (fstatat(list_directory(l, e), list_name(l, e), &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
                fail("%s can't be looked at: %s", list_name(l, e), strerror(errno));
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
        if (n > 0 && value[n - 1] == '\0') /* go-selinux writes labels without the NUL */
                n--;
        return n >= 0 && (size_t) n == j->size - 1 && memcmp(value, j->label, (size_t) n) == 0;
}

static void check_label(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;

        if (!label_is(l, e, j))
                j->workers[worker].wrong++;
}

static void write_label(const List *l, const Entry *e, unsigned worker, void *data) {
        const Job *j = data;

        if (j->look)
                look_at(l, e);
        set_label(l, e, worker, data);
}

static void compare_label(const List *l, const Entry *e, unsigned worker, void *data) {
        const Job *j = data;

        if (j->look)
                look_at(l, e);
        if (!label_is(l, e, data))
                set_label(l, e, worker, data);
}

/* A hash of the inode number selects the entries, so that the order of the walk does not matter. */
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

/* ---- groups and modes -------------------------------------------------------------------------------- */

/* Returns also the mode that the entry should have, of a group's files or of plain ones. The trees have only
 * directories and files. The inode number selects the half of the files that only their owner reads. The
 * modes are constants and not the engine's arithmetic, because check_group() checks the engine. */
static mode_t look(const List *l, const Entry *e, bool shared, struct stat *ret) {
        bool is_open = e->inode % 2 == 0;

        if (fstatat(list_directory(l, e), list_name(l, e), ret, AT_SYMLINK_NOFOLLOW) < 0)
                fail("%s can't be looked at: %s", list_name(l, e), strerror(errno));
        if (S_ISDIR(ret->st_mode))
                return shared ? 02775 : 0755;
        if (!S_ISREG(ret->st_mode))
                fail("%s is neither a file nor a directory", list_name(l, e));
        if (shared)
                return is_open ? 0664 : 0660;
        return is_open ? 0644 : 0600;
}

static void give(const List *l, const Entry *e, unsigned worker, Job *j, bool shared) {
        struct stat now;
        mode_t mode = look(l, e, shared, &now);
        bool group_differs = now.st_gid != j->gid, mode_differs = (now.st_mode & ALLPERMS) != mode;

        /* The group comes first, because chown(2) can remove the setgid bit. */
        if (group_differs &&
            fchownat(list_directory(l, e), list_name(l, e), (uid_t) -1, j->gid, AT_SYMLINK_NOFOLLOW) < 0)
                fail("%s can't be given to a group: %s", list_name(l, e), strerror(errno));
        if (mode_differs && fchmodat(list_directory(l, e), list_name(l, e), mode, 0) < 0)
                fail("%s can't be given a mode: %s", list_name(l, e), strerror(errno));
        j->workers[worker].set += group_differs || mode_differs;
}

static void check_group(const List *l, const Entry *e, unsigned worker, void *data) {
        Job *j = data;
        struct stat st;
        mode_t mode = look(l, e, true, &st);

        if (st.st_uid != 0 || st.st_gid != j->gid || (st.st_mode & ALLPERMS) != mode)
                j->workers[worker].wrong++;
}

static void set_group(const List *l, const Entry *e, unsigned worker, void *data) {
        give(l, e, worker, data, true);
}

static void plain_group(const List *l, const Entry *e, unsigned worker, void *data) {
        give(l, e, worker, data, false);
}

/* ---- main -------------------------------------------------------------------------------------------- */

static const struct Verb {
        const char *name;
        void (*work)(const List *l, const Entry *e, unsigned worker, void *data);
        bool of_group;
} verbs[] = {
        { "check", check_label },         { "set", set_label },
        { "scatter", scatter_label },     { "write", write_label },
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

/* Prints the time of the loop, without that of the reading of the list, and the counts. */
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
                "bench-label check|set|scatter|write|compare [--threads N] [--call at|chdir|open] [--look]\n"
                "            [--percent N] [--seed N] LABEL DIR\n"
                "bench-label check-group|set-group|plain-group [--threads N] GID DIR";
        Job j = { .call = best_call(), .percent = 1, .seed = 1 };
        const struct Verb *verb = NULL;
        const char *call = NULL;
        unsigned threads = 0;
        const BenchOption options[] = {
                NUMBER("threads", threads, WORKERS_MAX),
                TEXT("call", call),
                FLAG("look", j.look),
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
