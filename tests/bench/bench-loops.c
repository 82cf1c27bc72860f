/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-common.h"

/* bench-loops IMAGE DIRECTORY N LIST: copies IMAGE N times, sparsely, attaches each copy to a loop device,
 * then writes the names of the devices into LIST. Waits for SIGTERM, which the kernel sends too when the
 * parent ends. Then it detaches the devices and removes those that it added. */

enum { BLOCK = 4096, REMOVE_SEC = 120, REMOVE_MSEC = 50, REMOVE_THREADS = 16 };

typedef struct Loop {
        int fd, number;
        bool is_new;
} Loop;

static void copy_image(int from, off_t size, const char *path) {
        static const char zeros[BLOCK];
        char block[BLOCK];
        int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (to < 0 || ftruncate(to, size) < 0)
                fail("%s: %s", path, strerror(errno));
        for (off_t at = 0; at < size; at += BLOCK) {
                ssize_t n;

                at = lseek(from, at, SEEK_DATA);
                if (at < 0)
                        break;
                at -= at % BLOCK;
                n = pread(from, block, BLOCK, at);
                if (n < 0 || (memcmp(block, zeros, (size_t) n) != 0 && pwrite(to, block, (size_t) n, at) != n))
                        fail("%s: %s", path, strerror(errno));
        }
        if (close(to) < 0)
                fail("%s: %s", path, strerror(errno));
}

static bool loop_exists(int number) {
        _cleanup_free_ char *path = format_string("/sys/block/loop%i", number);

        return access(path, F_OK) == 0;
}

/* Another process may take the free device first, hence the loop. */
static Loop attach(int control, int first_free, const char *image) {
        _cleanup_close_ int file = open(image, O_RDWR | O_CLOEXEC);
        struct loop_config config = { .fd = (unsigned) file, .info.lo_flags = LO_FLAGS_AUTOCLEAR };

        if (file < 0)
                fail("%s: %s", image, strerror(errno));
        for (;;) {
                _cleanup_close_ int configured = -EBADF;
                _cleanup_free_ char *path = NULL;
                Loop loop = { .number = ioctl(control, LOOP_CTL_GET_FREE) };

                if (loop.number < 0)
                        fail("there is no loop device: %s", strerror(errno));
                loop.is_new = loop.number >= first_free;
                path = format_string("/dev/loop%i", loop.number);
                /* LOOP_CONFIGURE through a descriptor for reading makes the device read-only. */
                configured = open(path, O_RDWR | O_CLOEXEC);
                if (configured < 0)
                        fail("%s: %s", path, strerror(errno));
                if (ioctl(configured, LOOP_CONFIGURE, &config) >= 0) {
                        loop.fd = open(path, O_RDONLY | O_CLOEXEC);
                        if (loop.fd < 0)
                                fail("%s: %s", path, strerror(errno));
                        return loop;
                }
                if (errno != EBUSY)
                        fail("%s: %s", path, strerror(errno));
        }
}

typedef struct Removal {
        int control;
        const Loop *loops;
        unsigned n;
        double deadline; /* microseconds */
        atomic_uint next;
} Removal;

/* The kernel detaches a device when its last user is gone, some time after an unmount, hence EBUSY. */
static void *remove_some(void *userdata) {
        Removal *r = userdata;
        unsigned i;

        while ((i = atomic_fetch_add(&r->next, 1)) < r->n)
                while (r->loops[i].is_new && now_usec() < r->deadline) {
                        if (ioctl(r->control, LOOP_CTL_REMOVE, r->loops[i].number) >= 0 || errno != EBUSY)
                                break;
                        sleep_msec(REMOVE_MSEC);
                }
        return NULL;
}

/* Threads remove the devices, because the kernel mostly waits, tens of milliseconds for each device. */
static void detach(int control, const Loop *loops, unsigned n) {
        Removal removal = { .control = control, .loops = loops, .n = n, .deadline = now_usec() + REMOVE_SEC * 1e6 };
        pthread_t threads[REMOVE_THREADS];
        unsigned n_threads = 0;

        for (unsigned i = 0; i < n; i++)
                (void) close(loops[i].fd);
        while (n_threads < REMOVE_THREADS && pthread_create(&threads[n_threads], NULL, remove_some, &removal) == 0)
                n_threads++;
        (void) remove_some(&removal);
        while (n_threads > 0)
                (void) pthread_join(threads[--n_threads], NULL);
}

static void raise_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
}

static void write_list(const char *path, const Loop *loops, unsigned n) {
        _cleanup_free_ char *temporary = format_string("%s.new", path);
        FILE *file = fopen(temporary, "we");

        if (!file)
                fail("%s: %s", temporary, strerror(errno));
        for (unsigned i = 0; i < n; i++)
                fprintf(file, "/dev/loop%i\n", loops[i].number);
        if (fclose(file) != 0 || rename(temporary, path) < 0)
                fail("%s: %s", path, strerror(errno));
}

int main(int argc, char **argv) {
        _cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), image = -EBADF;
        _cleanup_free_ Loop *loops = NULL;
        unsigned wanted, n = 0;
        int first_free = 0, signal_number;
        struct stat st;
        sigset_t signals;

        if (argc != 5)
                fail("IMAGE DIRECTORY N LIST are expected");
        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGHUP);
        (void) sigprocmask(SIG_BLOCK, &signals, NULL);
        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        raise_limit();

        wanted = parse_number(argv[3], 100000);
        loops = calloc(wanted + 1, sizeof(*loops));
        image = open(argv[1], O_RDONLY | O_CLOEXEC);
        if (!loops || control < 0 || image < 0 || fstat(image, &st) < 0)
                fail("%s: %s", argv[1], strerror(errno));
        while (loop_exists(first_free))
                first_free++;
        /* main() looks for signals only between two devices, so that detach() knows all devices. */
        for (; n < wanted && sigtimedwait(&signals, NULL, &(struct timespec){ 0 }) <= 0; n++) {
                _cleanup_free_ char *path = format_string("%s/image-%u", argv[2], n);

                copy_image(image, st.st_size, path);
                loops[n] = attach(control, first_free, path);
        }
        if (n == wanted) {
                write_list(argv[4], loops, n);
                (void) sigwait(&signals, &signal_number);
        }
        detach(control, loops, n);
        return EXIT_SUCCESS;
}
