/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ftw.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "basic/string-util.h"
#include "model/files.h"
#include "mount/loop-device.h"
#include "mount/mount-table.h"
#include "race.h"
#include "wire/protocol.h"

/* Other threads exchange paths while the worker mounts, unmounts, relabels, and gives files to a group. Files
 * outside have to stay as they are, the worker has to mount the source that it has checked, and the answers
 * have to be true. */

enum {
        EXCHANGES = 10000,   /* of all cases; the variable SELVOL_EXCHANGES sets another number */
        UNMOUNTS_MAX = 1000, /* one of so many unmounts finds the mount at its target */
};

static unsigned long n_exchanges; /* of each case */

/* Returns the target of the mount, or NULL if it is not there. Counts all mounts of the namespace. */
static char *find_mount(uint64_t id, size_t *ret_n) {
        MountTable *table;
        const Mount *m;
        char *target;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        m = id == 0 ? NULL : mountinfo_find(table, id);
        target = m ? g_strdup(m->target) : NULL;
        *ret_n = table->n;
        mount_table_free(table);
        return target;
}

/* --- the target --- */

typedef struct TargetRow {
        const char *name;
        enum { LINK, DIRECTORY, MOUNT, DIRECTORY_OUTSIDE } other;
        bool parent; /* the target's parent is exchanged, not the target itself */
} TargetRow;

static const TargetRow target_rows[] = {
        { "link", LINK, false },
        { "directory", DIRECTORY, false },
        { "outside", DIRECTORY_OUTSIDE, false },
        { "parent/link", LINK, true },
        { "parent/directory", DIRECTORY, true },
        { "parent/mounted", MOUNT, true }, /* the directory at the other path has a mount of others in it */
        { "parent/outside", DIRECTORY_OUTSIDE, true },
};

typedef struct TargetScene {
        char *one, *other; /* are exchanged */
        char *points[2];   /* the target, and the place where it is when its parent is exchanged */
        Outside outside;
        size_t n_mounts;
} TargetScene;

static void target_scene_enter(TargetScene *s, const TargetRow *row) {
        static unsigned n;
        const char *name = row->parent ? "" : "/t";
        g_autofree char *base = path_printf(TEST_TARGETS "/%u", n), *outside = path_printf(TEST_DIR "/outside-%u", n),
                        *parent = path_printf("%s/p", base);

        n++;
        must(mkdir(base, 0755));
        outside_make(&s->outside, outside);
        s->one = path_printf("%s%s", parent, name);
        s->other = path_printf("%s/other", row->other == DIRECTORY_OUTSIDE ? TEST_DIR : base);
        s->points[0] = path_printf("%s/t", parent);
        s->points[1] = row->parent ? path_printf("%s/t", s->other) : NULL;
        g_assert_cmpint(g_mkdir_with_parents(s->points[0], 0755), ==, 0);
        if (row->other == LINK)
                must(symlink(outside, s->other));
        else
                g_assert_cmpint(g_mkdir_with_parents(row->parent ? s->points[1] : s->other, 0755), ==, 0);
        if (row->other == MOUNT)
                must(mount("in-the-way", s->points[1], "tmpfs", 0, NULL));
        g_free(find_mount(0, &s->n_mounts));
}

static void target_scene_leave(TargetScene *s, const TargetRow *row) {
        size_t n;

        g_free(find_mount(0, &n));
        g_assert_cmpuint(n, ==, s->n_mounts);
        if (row->other == MOUNT)
                must(umount2(s->points[is_mounted(s->points[1])], 0));
        g_assert_true(run("rm", "-r", s->other, NULL));
        outside_done(&s->outside);
        g_free(s->one);
        g_free(s->other);
        g_free(s->points[0]);
        g_free(s->points[1]);
}

/* The mount may be at both points, as it moves with the directory that it is in. */
static void check_mounts(const TargetScene *s, uint64_t id, bool mounted) {
        size_t n;
        g_autofree char *at = find_mount(id, &n);

        g_assert_cmpuint(n, ==, s->n_mounts + mounted);
        g_assert_cmpint(!!at, ==, mounted);
        if (mounted && g_strcmp0(at, s->points[0]) != 0 && g_strcmp0(at, s->points[1]) != 0)
                g_error("It is mounted at %s, not %s.", at, s->points[0]);
        outside_check(&s->outside);
}

/* An unmount fails while the mount is elsewhere with its parent. */
static void unmount_at_last(Race *race, const TargetScene *s, uint64_t id) {
        for (unsigned i = 0; i < UNMOUNTS_MAX; i++) {
                race_resume(race);
                g_auto(Answer) a = call_unmount(worker, s->points[0], id);
                race_pause(race);
                if (!streq(a.kind, "ok"))
                        assert_answer(a, streq(a.kind, "Busy") ? "Busy" : "InvalidTarget");
                check_mounts(s, id, !a.unmounted);
                if (a.unmounted)
                        return;
                g_assert_nonnull(s->points[1]);
        }
        g_error("It is never found at its target.");
}

TEST_ROWS(test_target, "/exchange/target", target_rows, row) {
        TargetScene s = { 0 };
        Race race = { 0 };

        target_scene_enter(&s, row);
        race_add(&race, 0, s.one, s.other);
        race_start(&race);
        while (race_goes_on(&race, n_exchanges)) {
                race_resume(&race);
                g_auto(Answer) a = mount_with(worker, "tmpfs", "tmpfs", s.points[0]);
                race_pause(&race);
                bool mounted = streq(a.kind, "ok");

                if (!mounted)
                        assert_answer(a, "InvalidTarget");
                check_mounts(&s, a.outcome.fact.mount_id, mounted);
                if (mounted)
                        unmount_at_last(&race, &s, a.outcome.fact.mount_id);
                race_note(&race, mounted);
        }
        race_finish(&race, n_exchanges);
        target_scene_leave(&s, row);
}

/* --- the source --- */

enum { MINE, OTHER, IMAGES };

/* An image of a file system that has a file with the name of the image. */
typedef struct Image {
        const char *name;
        char *path, *superblock; /* the worker calls the superblock so */
        char *device;            /* NULL while the test has not attached the image */
        int loop;
} Image;

static Image images[IMAGES] = { { "mine" }, { "other" } };

static void make_images(void) {
        for (size_t i = 0; i < IMAGES; i++) {
                Image *image = &images[i];
                g_autoptr(TestVolume) v = volume_mount(image->name, "ext4", 0);
                g_autofree char *file = path_printf("%s/%s", v->target, image->name);
                struct stat st;

                g_assert_true(g_file_set_contents(file, "", -1, NULL));
                must(stat(v->image, &st));
                image->path = g_strdup(v->image);
                image->superblock = path_printf("image:%u:%u:%llu", major(st.st_dev), minor(st.st_dev),
                                                (unsigned long long) st.st_ino);
        }
}

/* These functions make a source at the path. */

static const char *device_of(Image *image) {
        if (!image->device)
                image->device = attach_loop(image->path, &image->loop);
        return image->device;
}

static void make_hard_link(const char *path, Image *image) {
        must(link(image->path, path));
}

static void make_of_others(const char *path, Image *image) {
        make_hard_link(path, image);
        must(chown(path, 1000, 0));
}

static void make_writable(const char *path, Image *image) {
        make_hard_link(path, image);
        must(chmod(path, 0620));
}

static void make_mounted_elsewhere(const char *path, Image *image) {
        make_hard_link(path, image);
        must(mount(device_of(image), "/srv", "ext4", 0, NULL));
}

static void make_link_to_device(const char *path, Image *image) {
        must(symlink(device_of(image), path));
}

static void make_link_to_host(const char *path, Image *image) {
        make_link_to_device(path, image);
        must(mount(image->device, "/srv", "ext4", 0, NULL));
}

static void make_link_out(const char *path, Image *image) {
        must(symlink("../etc/shadow", path));
}

static void make_node(const char *path, Image *image) {
        struct stat st;

        must(stat(device_of(image), &st));
        must(mknod(path, S_IFBLK | 0600, st.st_rdev));
}

static void make_directory(const char *path, Image *image) {
        g_autofree char *name = path_printf("%s/image", path);

        must(mkdir(path, 0755));
        make_hard_link(name, image);
}

static void make_directory_of_others(const char *path, Image *image) {
        make_directory(path, image);
        must(chown(path, 1000, 0));
}

static void make_link_to_directory(const char *path, Image *image) {
        g_autofree char *directory = path_printf("%s-behind", path);

        make_directory(directory, image);
        must(symlink(directory, path));
}

typedef struct SourceRow {
        const char *name;
        void (*make_one)(const char *path, Image *image);
        void (*make_other)(const char *path, Image *image);
        const char *refused; /* the kind of refusals; NULL: no mount is refused */
        bool good;           /* the worker may mount the other source, too */
        bool in_dev;
} SourceRow;

static const SourceRow source_rows[] = {
        { "image/image", make_hard_link, make_hard_link, NULL, true, false },
        { "image/of-others", make_hard_link, make_of_others, "PathNotAllowed", false, false },
        { "image/writable", make_hard_link, make_writable, "PathNotAllowed", false, false },
        { "image/mounted-elsewhere", make_hard_link, make_mounted_elsewhere, "PathNotAllowed", false, false },
        { "image/link-to-device", make_hard_link, make_link_to_device, "PathNotAllowed", false, false },
        { "image/node", make_hard_link, make_node, "PathNotAllowed", false, false },
        { "directory/directory", make_directory, make_directory, NULL, true, false },
        { "directory/of-others", make_directory, make_directory_of_others, "PathNotAllowed", false, false },
        { "directory/link", make_directory, make_link_to_directory, "PathNotAllowed", false, false },
        { "link/link", make_link_to_device, make_link_to_device, NULL, true, true },
        { "link/to-host", make_link_to_device, make_link_to_host, "PathNotAllowed", false, true },
        { "link/out", make_link_to_device, make_link_out, "PathNotAllowed", false, true },
        { "node/node", make_node, make_node, "MountFailed", true, true },
};

typedef struct SourceScene {
        char *one, *other, *source, *target; /* one and other are exchanged */
        MarkHistory before;                  /* the fingerprint of the other image in the beginning */
        size_t n_mounts;
} SourceScene;

/* The host sees /dev, too, so names there have the pid. */
static void source_scene_enter(SourceScene *s, const SourceRow *row) {
        static unsigned n;
        g_autofree char *base = row->in_dev ? path_printf("/dev/selvol-test-%i", (int) getpid())
                                            : path_printf(TEST_IMAGES "/race-%u", n),
                        *name = path_printf("source-%u", n++);

        s->one = path_printf("%s-one", base);
        s->other = path_printf("%s-other", base);
        row->make_one(s->one, &images[MINE]);
        row->make_other(s->other, &images[OTHER]);
        s->source = path_printf("%s%s", s->one, row->make_one == make_directory ? "/image" : "");
        s->target = make_target(name);
        s->before = mark_history_of(images[OTHER].path, "ext4");
        g_free(find_mount(0, &s->n_mounts));
}

static void source_scene_leave(SourceScene *s, const SourceRow *row) {
        const MarkHistory after = mark_history_of(images[OTHER].path, "ext4");

        g_assert_true(row->good || fingerprint_equal(&s->before.kept, &after.kept));
        if (is_mounted("/srv"))
                must(umount2("/srv", 0));
        g_assert_true(run("rm", "-r", s->one, s->other, NULL));
        for (size_t i = 0; i < IMAGES; i++) {
                Image *image = &images[i];

                must(chown(image->path, 0, 0));
                must(chmod(image->path, 0600));
                if (image->device)
                        close(image->loop);
                g_clear_pointer(&image->device, g_free);
                assert_no_loop(image->path);
        }
        g_free(s->one);
        g_free(s->other);
        g_free(s->source);
        g_free(s->target);
}

/* The image that is mounted has to be the one that the worker has checked. Returns its index. */
static size_t check_visible(const SourceScene *s, const Answer *a) {
        g_autofree char *file = path_printf("%s/%s", s->target, images[MINE].name), *device = NULL;
        size_t i = access(file, F_OK) == 0 ? MINE : OTHER;
        dev_t image_device;
        ino_t inode;
        struct stat st, of_image;

        must(stat(s->target, &st));
        must(stat(images[i].path, &of_image));
        device = path_printf("%u:%u", major(st.st_dev), minor(st.st_dev));
        g_assert_cmpstr(a->question.observed.superblock, ==, images[i].superblock);
        g_assert_cmpstr(a->outcome.fact.device, ==, device);
        g_assert_cmpint(loop_find_image(st.st_dev, &image_device, &inode), ==, 1);
        g_assert_cmpuint(inode, ==, of_image.st_ino);
        g_assert_cmpuint(image_device, ==, of_image.st_dev);
        return i;
}

/* If the worker tells a fingerprint, then that of the image that was mounted. */
static void unmount_source(Race *race, const SourceScene *s, size_t i, uint64_t id) {
        MarkHistory w;

        race_resume(race);
        g_auto(Answer) a = call_unmount_of(worker, s->target, id, s->source, "ext4");
        race_pause(race);
        assert_answer(a, "ok");
        g_assert_true(a.unmounted);
        w = mark_history_of(images[i].path, "ext4");
        if (fingerprint_is_known(&a.fingerprint))
                g_assert_cmpstr(a.fingerprint.text, ==, w.kept.text);
}

TEST_ROWS(test_source, "/exchange/source", source_rows, row) {
        SourceScene s = { 0 };
        Race race = { 0 };

        source_scene_enter(&s, row);
        race_add(&race, 0, s.one, s.other);
        race_start(&race);
        while (race_goes_on(&race, n_exchanges)) {
                size_t n, which = OTHER;

                race_resume(&race);
                g_auto(Answer) a = mount_with(worker, s.source, "ext4", s.target);
                race_pause(&race);
                bool mounted = is_mounted(s.target);

                assert_answer(a, mounted ? "ok" : row->refused);
                g_free(find_mount(0, &n));
                g_assert_cmpuint(n, ==, s.n_mounts + mounted);
                if (mounted) {
                        which = check_visible(&s, &a);
                        unmount_source(&race, &s, which, a.outcome.fact.mount_id);
                }
                g_assert_true(!mounted || which == MINE || row->good);
                race_note(&race, row->refused ? mounted : which == MINE);
        }
        race_finish(&race, n_exchanges);
        source_scene_leave(&s, row);
}

/* --- the files --- */

typedef struct WalkRow {
        const char *name, *fs_type;
        bool labels, group;
        bool part;  /* the volume is a directory of the file system with the files outside */
        bool open;  /* directories come in from outside, so that wrong files may be left after each walk */
        bool mount; /* a further mount of the volume changes the files */
} WalkRow;

static const WalkRow walk_rows[] = {
        { "labels", "ext4", true, false, false, false, false },
        { "group", "ext4", false, true, false, false, false },
        { "both", "tmpfs", true, true, false, false, false },
        { "mount", "ext4", true, true, false, false, true },
        { "part/labels", "tmpfs", true, false, true, false, false },
        { "part/group", "ext4", false, true, true, false, false },
        { "part/both", "ext4", true, true, true, false, false },
        { "part/open", "ext4", true, true, true, true, false },
};

enum { VICTIMS = 64 };

/* A thread that gives files outside a second name in the volume, again and again. */
typedef struct Linker {
        Meddler meddler;
        Sentinel victims[VICTIMS];
        int outside, directory; /* descriptors, as the directory in the volume moves */
        unsigned seed;
        const atomic_llong *until;
} Linker;

static const char *victim_name(const Linker *l, size_t i) {
        return strrchr(l->victims[i].path, '/') + 1;
}

static void link_all(const Linker *l) {
        for (size_t i = 0; i < VICTIMS; i++)
                must(linkat(l->outside, victim_name(l, i), l->directory, victim_name(l, i), 0));
}

/* Exchanges one of the second names with a file of the volume, and back. */
static void exchange_linked(Linker *l) {
        const char *name = victim_name(l, draw(&l->seed, VICTIMS));

        for (unsigned i = 0; i < 2; i++)
                must(renameat2(l->directory, name, l->directory, "f0", RENAME_EXCHANGE));
}

static void unlink_all(const Linker *l) {
        for (size_t i = 0; i < VICTIMS; i++)
                must(unlinkat(l->directory, victim_name(l, i), 0));
}

/* The links of this thread change the ctime of the files, but nothing else may. */
static void link_victims(void *userdata, unsigned round) {
        Linker *l = userdata;

        if (race_rests(l->until)) {
                g_usleep(1000);
                return;
        }
        for (unsigned n = draw(&l->seed, 10); n > 0; n--) {
                link_all(l);
                exchange_linked(l);
                unlink_all(l);
        }
        for (size_t i = 0; i < VICTIMS; i++)
                sentinel_touched(&l->victims[i]);
        linger(&l->seed);
        for (size_t i = 0; i < VICTIMS; i++)
                sentinel_check(&l->victims[i]);
}

typedef struct WalkScene {
        TestVolume *volume;
        char *root, *target; /* the root of the volume, and its mount; one path unless part */
        char *second;        /* the target of a further mount */
        uint64_t mount_id;
        Outside outside;
        Linker linker;
        GPtrArray *names;
        unsigned n_entries;
} WalkScene;

/* Returns a path beneath the root, which the scene frees. */
static const char *name_in(WalkScene *s, const char *name) {
        char *path = path_printf("%s/%s", s->root, name);

        g_ptr_array_add(s->names, path);
        return path;
}

static void fill_directory(WalkScene *s, const char *path) {
        must(mkdir(name_in(s, path), 0755));
        for (unsigned i = 0; i < 8; i++) {
                g_autofree char *file = path_printf("%s/f%u", path, i);

                must(mknod(name_in(s, file), S_IFREG | 0644, 0));
        }
}

static void fill_volume(WalkScene *s) {
        static const char *const directories[] = { "d0", "d0/sub", "d1", "d1/sub", "d2",    "d2/sub",
                                                   "d3", "d3/sub", "d4", "d4/sub", "d5",    "d5/sub",
                                                   "m0", "m0/sub", "m1", "m1/sub", "linked" };

        for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
                fill_directory(s, directories[i]);
        must(symlink(s->outside.sentinels[OUTSIDE].path, name_in(s, "link")));
        must(symlink(s->outside.sentinels[OUTSIDE].path, name_in(s, "d3/link")));
        must(symlink(s->outside.sentinels[OUTSIDE_FILE].path, name_in(s, "d3/link-to-file")));
}

static void add_pairs(WalkScene *s, Race *race, const WalkRow *row) {
        static const char *const pairs[][2] = {
                { "d0", "d1" },     { "d2/sub", "d3/sub" }, { "d4", "link" },
                { "d5", "d2/sub" }, { "m0", "m1" },         { "d0/f0", "d1/sub/f1" },
                { "linked", "d4" }, { "d3/f0", "d3/link" }, { "d3/f1", "d3/link-to-file" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++)
                race_add(race, i % RACE_EXCHANGERS, name_in(s, pairs[i][0]), name_in(s, pairs[i][1]));
        if (!row->open)
                return;
        fill_directory(s, "../moves");
        race_add(race, 1, name_in(s, "d0/sub"), name_in(s, "../moves"));
}

/* Mounts the volume. *ret_outside is the path for a directory outside, which the caller makes. */
static bool place_volume(WalkScene *s, const WalkRow *row, char **ret_outside) {
        g_autofree char *name = g_strdelimit(path_printf("walk-%s", row->name), "/", '-'),
                        *part = path_printf("%s-part", name), *second = path_printf("%s-second", name);

        s->volume = volume_mount(name, row->fs_type, 0);
        if (!s->volume)
                return false;
        s->second = make_target(second);
        if (row->part) {
                s->root = path_printf("%s/part", s->volume->target);
                s->target = make_target(part);
                must(mkdir(s->root, 0755));
                must(mount(s->root, s->target, NULL, MS_BIND, NULL));
                note_mount(s->target);
                *ret_outside = path_printf("%s/outside", s->volume->target);
        } else {
                s->root = g_strdup(s->volume->target);
                s->target = g_strdup(s->root);
                *ret_outside = path_printf(TEST_DIR "/%s-outside", name);
        }
        s->mount_id = mount_id_of(s->target);
        return true;
}

static void linker_init(Linker *l, const WalkScene *s, Race *race) {
        g_autofree char *directory = path_printf("%s/linked", s->root),
                        *outside = path_printf("%s-linked", s->outside.sentinels[OUTSIDE].path);

        *l = (Linker){ .meddler = { .meddle = link_victims, .userdata = l }, .seed = 1, .until = &race->until };
        must(mkdir(outside, 0700));
        for (size_t i = 0; i < VICTIMS; i++)
                sentinel_make(&l->victims[i], path_printf("%s/v%zu", outside, i), S_IFREG | 0600);
        l->outside = open_directory(outside);
        l->directory = open_directory(directory);
        race->other = &l->meddler;
}

static void linker_done(Linker *l) {
        for (size_t i = 0; i < VICTIMS; i++)
                sentinel_done(&l->victims[i]);
        close(l->outside);
        close(l->directory);
}

static bool walk_scene_enter(WalkScene *s, const WalkRow *row, Race *race) {
        g_autofree char *outside = NULL, *point = NULL;

        if (!place_volume(s, row, &outside))
                return false;
        outside_make(&s->outside, outside);
        s->names = g_ptr_array_new_with_free_func(g_free);
        fill_volume(s);
        add_pairs(s, race, row);
        point = path_printf("%s/m0/sub", s->target);
        must(mount(outside, point, NULL, MS_BIND, NULL));
        s->n_entries = count_labeled(s->root, "");
        if (row->part)
                linker_init(&s->linker, s, race);
        return true;
}

static void walk_scene_leave(WalkScene *s, const WalkRow *row) {
        g_autofree char *one = path_printf("%s/m0/sub", s->target), *other = path_printf("%s/m1/sub", s->target);

        must(umount2(is_mounted(one) ? one : other, 0));
        outside_done(&s->outside);
        if (row->part) {
                linker_done(&s->linker);
                must(umount2(s->target, 0));
        }
        volume_unmount(s->volume);
        g_ptr_array_free(s->names, true);
        g_free(s->root);
        g_free(s->target);
        g_free(s->second);
}

static gid_t wanted_gid;
static unsigned n_given;

static int look_at_group(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        const Ownership o = { .gid = wanted_gid };

        n_given += ownership_holds(&o, st->st_gid, st->st_mode);
        return 0;
}

static unsigned count_given(const char *path, gid_t gid) {
        wanted_gid = gid;
        n_given = 0;
        must(nftw(path, look_at_group, 64, FTW_PHYS | FTW_MOUNT));
        return n_given;
}

/* All files have to be right if the worker says that the walk is complete. */
static void check_complete(const WalkScene *s, const WalkRow *row, const Answer *a, const FilesWanted *wanted) {
        bool complete = walk_is_complete(&a->walk.counts);

        for (size_t i = 0; i < a->walk.n_issues; i++)
                g_test_message("%s: %s", a->walk.issues[i].path, a->walk.issues[i].text);
        g_assert_cmpuint(a->walk.counts.failed, ==, 0);
        if (row->labels)
                g_assert_cmpint(a->mark.label_state == FILES_COMPLETE, ==, complete);
        if (row->group)
                g_assert_cmpint(a->mark.ownership_state == FILES_COMPLETE, ==, complete);
        if (!complete || row->open)
                return;
        if (row->labels)
                g_assert_cmpuint(count_labeled(s->root, wanted->context), ==, s->n_entries);
        if (row->group)
                g_assert_cmpuint(count_given(s->root, wanted->gid), ==, s->n_entries);
}

/* The threads exchange paths until some time after the walk has begun. */
static Answer change_files(Race *race, const WalkScene *s, const WalkRow *row, const FilesWanted *wanted) {
        Arguments a = { .target = row->mount ? s->second : s->target,
                        .source = row->mount ? s->volume->device : NULL,
                        .fs_type = row->mount ? row->fs_type : NULL,
                        .share = s->target,
                        .share_id = s->mount_id,
                        .files = *wanted,
                        .entries_per_sec = draw(&race->seed, 2) * 20000 };
        Operation *o;
        Answer answer;

        race->until = 0;
        race_resume(race);
        o = operation_start(worker, row->mount ? WORKER_MOUNT : WORKER_CHANGE, &a);
        operation_wait(o, o->heard.n_walks > 0);
        race->until = g_get_monotonic_time() + draw(&race->seed, 80000);
        answer = operation_finish(o);
        race_pause(race);
        return answer;
}

TEST_ROWS(test_walk, "/exchange/files", walk_rows, row) {
        WalkScene s = { 0 };
        Race race = { 0 };

        if (!walk_scene_enter(&s, row, &race))
                return;
        race_start(&race);
        while (race_goes_on(&race, n_exchanges)) {
                bool odd = race.operations % 2;
                FilesWanted wanted = row->group ? wanted_group(odd ? 2000 : 3000) : wanted_labels(NULL);

                wanted.context = row->labels ? (char *) (odd ? LABEL_1 : LABEL_2) : NULL;
                wanted.force = wanted.on_disk = true;
                g_auto(Answer) a = expect_ok(change_files(&race, &s, row, &wanted));
                g_assert_true(a.walked);
                check_complete(&s, row, &a, &wanted);
                if (row->mount)
                        must(umount2(s.second, 0));
                outside_check(&s.outside);
                race_note(&race, walk_is_complete(&a.walk.counts));
        }
        race_finish(&race, n_exchanges);
        walk_scene_leave(&s, row);
}

void add_tests(void) {
        const char *total = g_getenv("SELVOL_EXCHANGES");
        unsigned long n_cases = G_N_ELEMENTS(target_rows) + G_N_ELEMENTS(source_rows) + G_N_ELEMENTS(walk_rows);

        n_exchanges = (total ? strtoul(total, NULL, 10) : EXCHANGES) / n_cases + 1;
        make_images();
        worker = worker_start(NULL, NULL);
}
