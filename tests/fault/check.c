/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>

#include "check.h"

enum { SETTLE_SEC = WAIT_SEC, DEVICE_LENGTH = 16 };

typedef struct Kernel {
        int at[TARGETS];                     /* the volume that is mounted at the target */
        char device[VOLUMES][DEVICE_LENGTH]; /* MAJOR:MINOR, "" if the volume is not mounted */
        bool bystander;
} Kernel;

bool blame(Wrong *w, int volume, int target, const char *format, ...) {
        va_list ap;

        w->volume = volume;
        w->target = target;
        g_free(w->text);
        va_start(ap, format);
        w->text = g_strdup_vprintf(format, ap);
        va_end(ap);
        return false;
}

static const char *name_of(const Environment *e, int volume) {
        return volume == NO_VOLUME ? "nothing" : e->volumes[volume].id;
}

/* ---- mounts of the kernel ---- */

/* Returns the image of a loop device, NULL if the device is no loop device. */
static char *read_backing_file(const char *directory, const char *device) {
        g_autofree char *path = g_build_filename(directory, device, "loop/backing_file", NULL);
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? g_strchomp(text) : NULL;
}

static int find_volume(const Environment *e, const char *device, const char *source) {
        g_autofree char *file = read_backing_file("/sys/dev/block", device);

        for (int i = 0; i < VOLUMES; i++)
                if (g_strcmp0(e->volumes[i].source, e->volumes[i].image ? file : source) == 0)
                        return i;
        return NO_VOLUME;
}

static bool take_mount(const Environment *e, const char *path, const char *device, const char *source, Kernel *k,
                       Wrong *w) {
        int volume = find_volume(e, device, source), target = environment_find_target(e, path);

        if (target == NO_TARGET)
                return blame(w, volume, target, "%s is mounted at %s", source, path);
        if (volume == NO_VOLUME)
                return blame(w, volume, target, "a device %s with the source %s is mounted", device, source);
        if (k->at[target] != NO_VOLUME)
                return blame(w, volume, target, "there are two mounts at the target");
        if (k->device[volume][0] != '\0' && !g_str_equal(k->device[volume], device))
                return blame(w, volume, target, "it has two superblocks, %s and %s", k->device[volume], device);
        k->at[target] = volume;
        g_strlcpy(k->device[volume], device, DEVICE_LENGTH);
        return true;
}

/* A line: ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [FIELDS] - TYPE SOURCE OPTIONS (proc_pid_mountinfo(5)). */
static bool read_mount(const Environment *e, const char *line, Kernel *k, Wrong *w) {
        g_auto(GStrv) fields = g_strsplit(line, " ", -1);
        char **rest = fields;

        /* The prefix has the targets of the test, and the directories in which selvol-worker stages. */
        if (g_strv_length(fields) < 10 || !g_str_has_prefix(fields[4], "/run/selvol"))
                return true;
        if (g_str_equal(fields[4], e->bystander))
                return k->bystander = true;
        while (*rest && !g_str_equal(*rest, "-"))
                rest++;
        return take_mount(e, fields[4], fields[2], rest[2], k, w);
}

static bool read_kernel(const Environment *e, Kernel *k, Wrong *w) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        *k = (Kernel){ 0 };
        for (int i = 0; i < TARGETS; i++)
                k->at[i] = NO_VOLUME;
        g_assert_true(g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
                if (!read_mount(e, *line, k, w))
                        return false;
        return k->bystander || blame(w, NO_VOLUME, NO_TARGET, "the bystander's mount is gone");
}

static bool check_loops(const Environment *e, const Kernel *k, Wrong *w) {
        g_autoptr(GDir) dir = g_dir_open("/sys/block", 0, NULL);
        int n[VOLUMES] = { 0 };
        const char *name;

        g_assert_nonnull(dir);
        while ((name = g_dir_read_name(dir))) {
                g_autofree char *file = read_backing_file("/sys/block", name);

                for (int i = 0; i < VOLUMES; i++)
                        n[i] += g_strcmp0(file, e->volumes[i].source) == 0;
        }
        for (int i = 0; i < VOLUMES; i++)
                if (e->volumes[i].image && n[i] != (k->device[i][0] != '\0'))
                        return blame(w, i, NO_TARGET, "it has %i loop devices, and is mounted as '%s'", n[i],
                                     k->device[i]);
        return true;
}

/* ---- records of selvold ---- */

static bool take_holder(const Environment *e, int volume, GVariant *holder, Records *r, Wrong *w) {
        const char *path = "", *state = "";
        uint32_t gid = NO_GID;
        int target;

        (void) g_variant_lookup(holder, "Target", "&s", &path);
        (void) g_variant_lookup(holder, "State", "&s", &state);
        (void) g_variant_lookup(holder, "FSGroup", "u", &gid);
        target = environment_find_target(e, path);
        if (target == NO_TARGET || r->at[target] != NO_VOLUME)
                return blame(w, volume, target, "one holder too many is listed, at %s", path);
        if (!g_str_equal(state, "mounted"))
                return blame(w, volume, target, "a holder's state is '%s', and nothing is at work", state);
        r->at[target] = volume;
        r->shown_gid[target] = gid;
        return true;
}

/* The group on disk is the property DiskGroup, or FSGroup if the volume has no DiskGroup. */
static bool take_volume(const Environment *e, GVariant *properties, Records *r, Wrong *w) {
        g_autoptr(GVariant) holders = g_variant_lookup_value(properties, "Holders", NULL);
        const char *id = "", *state = "";
        int volume = 0;

        (void) g_variant_lookup(properties, "Id", "&s", &id);
        (void) g_variant_lookup(properties, "OwnershipState", "&s", &state);
        if (g_str_has_prefix(id, RECORDS_PREFIX))
                return true;
        while (volume < VOLUMES && !g_str_equal(id, e->volumes[volume].id))
                volume++;
        if (volume == VOLUMES || !holders)
                return blame(w, NO_VOLUME, NO_TARGET, "volume '%s' is unknown, or has no property Holders", id);
        if (g_str_equal(state, "complete") &&
            !g_variant_lookup(properties, "DiskGroup", "u", &r->complete_gid[volume]))
                (void) g_variant_lookup(properties, "FSGroup", "u", &r->complete_gid[volume]);
        for (gsize i = 0; i < g_variant_n_children(holders); i++) {
                g_autoptr(GVariant) holder = g_variant_get_child_value(holders, i);

                if (!take_holder(e, volume, holder, r, w))
                        return false;
        }
        return true;
}

bool read_records(const Environment *e, Records *r, Wrong *w) {
        g_autoptr(GVariant) reply = NULL, objects = NULL;
        g_autoptr(GError) error = NULL;

        for (int i = 0; i < TARGETS; i++)
                r->at[i] = NO_VOLUME;
        for (int i = 0; i < VOLUMES; i++)
                r->complete_gid[i] = NO_GID;
        reply = g_dbus_connection_call_sync(
                e->bus, "org.selvol1", "/org/selvol1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects",
                NULL, G_VARIANT_TYPE("(a{oa{sa{sv}}})"), G_DBUS_CALL_FLAGS_NONE, SETTLE_SEC * 1000, NULL, &error);
        if (!reply)
                return blame(w, NO_VOLUME, NO_TARGET, "GetManagedObjects: %s", error->message);
        objects = g_variant_get_child_value(reply, 0);
        for (gsize i = 0; i < g_variant_n_children(objects); i++) {
                g_autoptr(GVariant) object = g_variant_get_child_value(objects, i),
                                    interfaces = g_variant_get_child_value(object, 1),
                                    volume = g_variant_lookup_value(interfaces, "org.selvol1.Volume", NULL);

                if (volume && !take_volume(e, volume, r, w))
                        return false;
        }
        return true;
}

/* ---- mounts, records and answers ---- */

static bool compare(const Environment *e, const Kernel *k, const Records *r, Wrong *w) {
        for (int i = 0; i < TARGETS; i++)
                if (k->at[i] != r->at[i])
                        return blame(w, k->at[i] == NO_VOLUME ? r->at[i] : k->at[i], i,
                                     "%s is mounted, %s is recorded", name_of(e, k->at[i]), name_of(e, r->at[i]));
        return true;
}

/* One child of the worker remains, which watches the mount table. */
static bool has_settled(const Environment *e, Kernel *k, Records *r, Wrong *w) {
        if (count_children(e->worker, CHILDREN_SERVING) != 1)
                return blame(w, NO_VOLUME, NO_TARGET,
                             "an operation's child has not ended, or nobody watches the mount table");
        return read_kernel(e, k, w) && read_records(e, r, w) && compare(e, k, r, w) && check_loops(e, k, w);
}

static bool check_acknowledged(const Environment *e, const Kernel *k, Wrong *w) {
        for (int i = 0; i < TARGETS; i++)
                if (!model_may_be_mounted(i, k->at[i]))
                        return blame(w, k->at[i], i, "%s is mounted; from the answers something else is expected",
                                     name_of(e, k->at[i]));
        return true;
}

/* ---- groups ---- */

static uint32_t seen_gid;
static bool seen_any;

/* Stops the walk at the second group. */
static int look(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        if (seen_any && st->st_gid != seen_gid)
                return 1;
        seen_any = true;
        seen_gid = st->st_gid;
        return 0;
}

uint32_t read_gid(const char *path) {
        int r;

        seen_any = false;
        must(r = nftw(path, look, 16, FTW_PHYS | FTW_MOUNT));
        return r == 0 ? seen_gid : NO_GID;
}

static bool check_shown_gids(const Environment *e, const Records *r, Wrong *w) {
        for (int i = 0; i < TARGETS; i++) {
                uint32_t gid;

                if (r->at[i] == NO_VOLUME || r->shown_gid[i] == NO_GID)
                        continue;
                gid = read_gid(e->targets[i]);
                if (gid != r->shown_gid[i])
                        return blame(w, r->at[i], i, "the holder was given group %u, and sees %i (-1: several)",
                                     r->shown_gid[i], (int) gid);
        }
        return true;
}

/* Mounts the volume once more, as selvol's mounts may be idmapped. The mount is not read-only, as the kernel
 * may have to replay a journal after a kill. */
static uint32_t read_disk_gid(const Environment *e, const TestVolume *v, const char *device) {
        uint32_t gid;

        environment_peek(e, v, device);
        gid = read_gid(e->peek);
        must(umount2(e->peek, 0));
        return gid;
}

static bool check_disk_gid(int volume, uint32_t gid, uint32_t complete_gid, Wrong *w) {
        if (!model_may_have_gid(volume, gid))
                return blame(w, volume, NO_TARGET, "the files' group on disk is %i (-1: several), not as answered",
                             (int) gid);
        if (complete_gid != NO_GID && complete_gid != gid)
                return blame(w, volume, NO_TARGET, "the files' group is said to be %u, and is %i (-1: several)",
                             complete_gid, (int) gid);
        return true;
}

bool check_sound(const Environment *e, Wrong *w) {
        g_autofree char *log = file_read(e->log);
        const char *complaint = strstr(log, "Sanitizer") || strstr(log, "runtime error:")
                                        ? "a sanitizer has found something"
                                : program_get_end(e->daemon) >= 0 ? "selvold has ended by itself"
                                : program_get_end(e->worker) >= 0 ? "selvol-worker has ended by itself"
                                                                  : NULL;

        return !complaint || blame(w, NO_VOLUME, NO_TARGET, "%s", complaint);
}

bool check_all(const Environment *e, Wrong *w) {
        uint32_t gids[VOLUMES] = { 0 };
        Records records = { 0 };
        Kernel kernel;

        if (!check_sound(e, w) || !HOLDS_WITHIN(SETTLE_SEC, has_settled(e, &kernel, &records, w)) ||
            !check_acknowledged(e, &kernel, w) || !check_shown_gids(e, &records, w))
                return false;
        for (int i = 0; i < VOLUMES; i++) {
                if (!e->volumes[i].image)
                        continue;
                gids[i] = read_disk_gid(e, &e->volumes[i], kernel.device[i]);
                if (!check_disk_gid(i, gids[i], records.complete_gid[i], w))
                        return false;
        }
        model_start_over(kernel.at, gids);
        return true;
}
