/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <linux/magic.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "basic/string-util.h"
#include "label/draw.h"

#define EVERYTHING UINT64_MAX
#define XFS_MAGIC  0x58465342U /* linux/magic.h has it since 6.11 */

enum {
        LIST_SIZE = 32 * 1024,
        RECORD_MAX = 1280, /* FUSE has names of 1024 bytes, most others of 255 */
        CHUNK = 4 * 1024,
        DENSITY_PROBES = 16,
        BIN_ENTRIES = 32, /* aimed at; three times as many fit into the list even if all names have 255 bytes */
        BIN_TRIES = 256,
        SCAN_MAX = 1024 * 1024, /* entries */
        SCAN_TRIES = 16,
        MARKS = 256,
        LARGE_SLOTS = 256,
};

/* What is known about a directory that does not fit into the list. */
typedef struct Large {
        dev_t dev;
        ino_t ino; /* 0: nothing is known */
        bool by_position;

        /* By position: [0, end) is cut into bins of equal width. */
        uint64_t end, width;
        size_t fullest; /* entries in a bin */

        /* Otherwise: of n entries, the position of each stride-th. */
        uint64_t n, stride;
        uint64_t marks[MARKS];
} Large;

struct Draw {
        uint64_t state;
        size_t used;       /* bytes of the list */
        uint64_t last_end; /* d_off of the last record in it */
        alignas(struct dirent64) char list[LIST_SIZE];
        Large large[LARGE_SLOTS]; /* by a hash of the inode: a newer one takes an older one's place */
};

int draw_new(uint64_t seed, Draw **ret) {
        _cleanup_(draw_freep) Draw *d = NULL;

        if (seed == 0 && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
                return errno > 0 ? -errno : -EIO;
        d = calloc(1, sizeof(*d));
        if (!d)
                return -ENOMEM;
        d->state = seed;

        *ret = TAKE_PTR(d);
        return 0;
}

Draw *draw_free(Draw *d) {
        free(d);
        return NULL;
}

/* splitmix64 */
static uint64_t mix(uint64_t x) {
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

uint64_t draw_number(Draw *d, uint64_t n) {
        uint64_t mask = UINT64_MAX, x;

        while (mask >> 1 >= n - 1 && mask > 0)
                mask >>= 1;
        do
                x = mix(d->state += UINT64_C(0x9e3779b97f4a7c15)) & mask;
        while (x >= n);
        return x;
}

static const struct dirent64 *list_next(const Draw *d, const struct dirent64 *record) {
        const char *p = record ? (const char *) record + record->d_reclen : d->list;

        return p < d->list + d->used ? (const struct dirent64 *) (const void *) p : NULL;
}

static bool is_entry(const struct dirent64 *record) {
        return !streq(record->d_name, ".") && !streq(record->d_name, "..");
}

/* Reads on, in pieces of at most chunk bytes, until the list has what lies before the position until, and a little
 * more. Returns 1, also at the directory's end, or 0 if there is no room for all of that. */
static int list_fill(Draw *d, int fd, size_t chunk, uint64_t until) {
        d->used = 0;
        for (;;) {
                const struct dirent64 *record;
                ssize_t n;

                if (LIST_SIZE - d->used < RECORD_MAX)
                        return 0;
                record = (const struct dirent64 *) (const void *) (d->list + d->used);
                n = getdents64(fd, d->list + d->used, MIN(chunk, LIST_SIZE - d->used));
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 1;
                d->used += (size_t) n;
                for (; record; record = list_next(d, record))
                        d->last_end = (uint64_t) record->d_off;
                if (until != EVERYTHING && d->last_end >= until)
                        return 1;
        }
}

/* How many entries of the list begin before the position until. One begins where the one before ends; where the first
 * one does is not known, it is taken to be in. */
static size_t list_count(const Draw *d, uint64_t until) {
        uint64_t position = 0;
        size_t n = 0;

        for (const struct dirent64 *r = list_next(d, NULL); r && position < until; r = list_next(d, r)) {
                n += is_entry(r);
                position = (uint64_t) r->d_off;
        }
        return n;
}

static int list_draw(Draw *d, size_t n, DrawnEntry *ret) {
        uint64_t k;

        if (n == 0)
                return 0;
        k = draw_number(d, n);
        for (const struct dirent64 *r = list_next(d, NULL); r; r = list_next(d, r))
                if (is_entry(r) && k-- == 0) {
                        *ret = (DrawnEntry){ .name = r->d_name, .type = r->d_type };
                        return 1;
                }
        return 0;
}

static int seek_to(int fd, uint64_t position) {
        return lseek(fd, (off_t) position, SEEK_SET) < 0 ? -errno : 0;
}

/* Whether anything begins there or behind. */
static int has_entry_at(Draw *d, int fd, uint64_t position) {
        int r;

        r = seek_to(fd, position);
        if (r == -EINVAL)
                return 0;
        if (r < 0)
                return r;
        r = list_fill(d, fd, RECORD_MAX, 1);
        return r < 0 ? r : d->used > 0;
}

/* A position behind all entries, too large by a thousandth at most. */
static int find_end(Draw *d, int fd, uint64_t *ret) {
        uint64_t low = 0, high;
        int r = 1;

        for (high = 1; high < INT64_MAX; high *= 2) {
                r = has_entry_at(d, fd, high);
                if (r <= 0)
                        break;
                low = high;
        }
        if (r < 0)
                return r;
        high = MIN(high, (uint64_t) INT64_MAX);

        while (high - low > high / 1024 + 1) {
                uint64_t middle = low + (high - low) / 2;

                r = has_entry_at(d, fd, middle);
                if (r < 0)
                        return r;
                *(r > 0 ? &low : &high) = middle;
        }

        *ret = high;
        return 0;
}

/* The mean distance of the list's entries, 0 if that can't be told. The first one's beginning is not known, the last
 * one's end is whatever the file system says at the end of a directory. */
static uint64_t list_distance(const Draw *d) {
        const struct dirent64 *first = list_next(d, NULL);
        uint64_t begin = 0, position = 0, n = 0;

        for (const struct dirent64 *r = first; r; r = list_next(d, r), n++) {
                begin = position;
                position = (uint64_t) r->d_off;
        }
        if (n < 3 || begin <= (uint64_t) first->d_off)
                return 0;
        return MAX((begin - (uint64_t) first->d_off) / (n - 2), 1U);
}

/* The bins are made for the parts where entries are closest. */
static int measure_positions(Draw *d, int fd, Large *l) {
        uint64_t least = 0;
        int r;

        r = find_end(d, fd, &l->end);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < DENSITY_PROBES; i++) {
                uint64_t distance, position = draw_number(d, l->end);

                r = seek_to(fd, position);
                if (r < 0)
                        return r;
                r = list_fill(d, fd, CHUNK, position + 1);
                if (r < 0)
                        return r;
                distance = list_distance(d);
                if (distance > 0 && (least == 0 || distance < least))
                        least = distance;
        }
        l->width = least == 0 || least > l->end / BIN_ENTRIES ? l->end : least * BIN_ENTRIES;
        /* Room for some chance: hashes are not evenly spaced. */
        l->fullest = BIN_ENTRIES + BIN_ENTRIES / 2;
        return 0;
}

/* Settles what list_count() leaves open of a list with one entry: if it is also the first one behind the bin, it is
 * not in it. */
static int bin_check_single(Draw *d, int fd, uint64_t until, size_t *n) {
        size_t size = MIN((size_t) list_next(d, NULL)->d_reclen, (size_t) RECORD_MAX);
        alignas(struct dirent64) char single[RECORD_MAX];
        const struct dirent64 *other;
        int r;

        memcpy(single, d->list, size);
        r = has_entry_at(d, fd, until);
        if (r < 0)
                return r;
        other = list_next(d, NULL);
        if (other && streq(other->d_name, ((const struct dirent64 *) (const void *) single)->d_name)) {
                *n = 0;
                return 1;
        }
        memcpy(d->list, single, size);
        d->used = size;
        return 1;
}

/* Returns 0 if the bin has more entries than the list has room for: *ret_n is how many it has room for. */
static int bin_read(Draw *d, int fd, uint64_t from, uint64_t until, size_t *ret_n) {
        int r;

        r = seek_to(fd, from);
        if (r < 0)
                return r;
        r = list_fill(d, fd, CHUNK, until);
        if (r < 0)
                return r;
        *ret_n = list_count(d, until);
        if (*ret_n == 1 && (uint64_t) list_next(d, NULL)->d_off >= until)
                return bin_check_single(d, fd, until, ret_n);
        return r;
}

/* What lies at a random position, or at the beginning: entries that follow a gap are drawn too often. */
static int draw_roughly(Draw *d, int fd, uint64_t end, DrawnEntry *ret) {
        const uint64_t positions[] = { draw_number(d, end), 0 };

        for (size_t i = 0; i < ELEMENTSOF(positions); i++) {
                size_t n;
                int r;

                r = seek_to(fd, positions[i]);
                if (r < 0)
                        return r;
                r = list_fill(d, fd, CHUNK, positions[i] + 1);
                if (r < 0)
                        return r;
                n = list_count(d, EVERYTHING);
                if (n > 0)
                        return list_draw(d, n, ret);
        }
        return 0;
}

/* A bin is drawn, and accepted with the more chance the more entries it has, so that all entries are alike however
 * they are spread. */
static int draw_by_position(Draw *d, int fd, Large *l, DrawnEntry *ret) {
        for (unsigned i = 0; i < BIN_TRIES; i++) {
                uint64_t bin = draw_number(d, (l->end - 1) / l->width + 1);
                size_t n;
                int r;

                r = bin_read(d, fd, bin * l->width, MIN((bin + 1) * l->width, l->end), &n);
                if (r < 0)
                        return r;
                if (r == 0 && l->width > 1) {
                        l->width /= 2;
                        continue;
                }
                l->fullest = MAX(l->fullest, n);
                if (draw_number(d, l->fullest) < n)
                        return list_draw(d, n, ret);
        }
        return draw_roughly(d, fd, l->end, ret);
}

static void mark(Large *l, uint64_t position) {
        if (l->n == l->stride * MARKS) {
                for (size_t i = 0; i < MARKS / 2; i++)
                        l->marks[i] = l->marks[2 * i];
                l->stride *= 2;
        }
        if (l->n % l->stride == 0)
                l->marks[l->n / l->stride] = position;
        l->n++;
}

static int scan(Draw *d, int fd, Large *l) {
        uint64_t position = 0;
        int r;

        l->n = 0;
        l->stride = 1;
        r = seek_to(fd, 0);
        while (r == 0 && l->n < SCAN_MAX) {
                r = list_fill(d, fd, LIST_SIZE, 1);
                if (r < 0 || d->used == 0)
                        break;
                for (const struct dirent64 *e = list_next(d, NULL); e; e = list_next(d, e)) {
                        mark(l, position);
                        position = (uint64_t) e->d_off;
                }
                r = 0;
        }
        return MIN(r, 0);
}

/* Returns 0 if the directory has become so short, or what is there is "." or "..". */
static int draw_at(Draw *d, int fd, const Large *l, uint64_t k, DrawnEntry *ret) {
        uint64_t skip = k % l->stride;
        int r;

        r = seek_to(fd, l->marks[k / l->stride]);
        if (r < 0)
                return r;
        for (;;) {
                r = list_fill(d, fd, LIST_SIZE, 1);
                if (r < 0)
                        return r;
                if (d->used == 0)
                        return 0;
                for (const struct dirent64 *e = list_next(d, NULL); e; e = list_next(d, e))
                        if (skip-- == 0) {
                                *ret = (DrawnEntry){ .name = e->d_name, .type = e->d_type };
                                return is_entry(e);
                        }
        }
}

static int draw_by_mark(Draw *d, int fd, const Large *l, DrawnEntry *ret) {
        for (unsigned i = 0; i < SCAN_TRIES && l->n > 0; i++) {
                int r = draw_at(d, fd, l, draw_number(d, l->n), ret);

                if (r != 0)
                        return r;
        }
        return draw_roughly(d, fd, 1, ret);
}

/* Found by experiment, in directories of 3 to 200,000 entries, also after most of them were removed: on these an
 * lseek(2) to any number works and leads to the next entry, exactly (on ext4 with and without dir_index). tmpfs
 * counts down, or has the entry's index in older kernels; network file systems take no numbers that they did not
 * give. */
static bool has_ascending_positions(const struct statfs *sfs) {
        switch ((unsigned long) sfs->f_type) {
        case EXT4_SUPER_MAGIC:
        case XFS_MAGIC:
        case BTRFS_SUPER_MAGIC:
                return true;
        default:
                return false;
        }
}

static int learn(Draw *d, int fd, const struct stat *st, Large *l) {
        struct statfs sfs;
        int r;

        if (fstatfs(fd, &sfs) < 0)
                return -errno;
        *l = (Large){ .by_position = has_ascending_positions(&sfs) };
        r = l->by_position ? measure_positions(d, fd, l) : scan(d, fd, l);
        if (r < 0)
                return r;
        l->dev = st->st_dev;
        l->ino = st->st_ino;
        return 0;
}

int draw_entry(Draw *d, int fd, DrawnEntry *ret) {
        struct stat st;
        Large *l;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        l = d->large + mix(st.st_ino ^ (uint64_t) st.st_dev << 32) % LARGE_SLOTS;
        if (l->dev != st.st_dev || l->ino != st.st_ino) {
                r = list_fill(d, fd, LIST_SIZE, EVERYTHING);
                if (r < 0)
                        return r;
                if (r > 0)
                        return list_draw(d, list_count(d, EVERYTHING), ret);
                r = learn(d, fd, &st, l);
                if (r < 0)
                        return r;
        }
        return l->by_position ? draw_by_position(d, fd, l, ret) : draw_by_mark(d, fd, l, ret);
}
