/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Scope-bound ownership: a variable with one of these attributes releases its value when it goes out of
 * scope, unless TAKE_PTR(), TAKE_FD() or TAKE_STRUCT() has handed the value on. */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)   __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _pure_         __attribute__((pure))
#define _unused_       __attribute__((unused))
#define _warn_unused_  __attribute__((warn_unused_result))
#define _fallthrough_  __attribute__((fallthrough))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))

#define TAKE_PTR(ptr)                          \
        ({                                     \
                __typeof__(ptr) *_p_ = &(ptr); \
                __typeof__(ptr) _v_ = *_p_;    \
                *_p_ = NULL;                   \
                _v_;                           \
        })

#define TAKE_FD(fd)               \
        ({                        \
                int *_p_ = &(fd); \
                int _v_ = *_p_;   \
                *_p_ = -EBADF;    \
                _v_;              \
        })

/* For structs that own nothing if all members are 0. */
#define TAKE_STRUCT(s)                       \
        ({                                   \
                __typeof__(s) *_p_ = &(s);   \
                __typeof__(s) _v_ = *_p_;    \
                *_p_ = (__typeof__(s)){ 0 }; \
                _v_;                         \
        })

/* Defines FUNCp() for _cleanup_(): it calls FUNC() unless the value is NULL. */
#define DEFINE_CLEANUP_FUNC(type, func)                \
        static inline _unused_ void func##p(type *p) { \
                if (*p)                                \
                        func(*p);                      \
        }                                              \
        struct func##_cleanup_needs_a_semicolon

static inline void freep(void *p) {
        free(*(void **) p);
}

/* After HASH_ADD_KEYPTR() of uthash with HASH_NONFATAL_OOM: 0, or -ENOMEM if the element is in no table. */
#define hash_was_added(element) ((element)->hh.tbl ? 0 : -ENOMEM)

/* Closes fd unless it is negative, and keeps errno. Returns -EBADF, so that "fd = fd_close(fd)" prevents a
 * second close. */
static inline int fd_close(int fd) {
        if (fd >= 0) {
                int saved = errno;

                (void) close(fd);
                errno = saved;
        }

        return -EBADF;
}

static inline void fd_closep(int *fd) {
        (void) fd_close(*fd);
}

DEFINE_CLEANUP_FUNC(FILE *, fclose);

#define _cleanup_free_   _cleanup_(freep)
#define _cleanup_close_  _cleanup_(fd_closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
