/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stands in for selvol-worker in the bus ring: it speaks the same protocol, on a node that has SELinux on, over a
 * pretended mount table in DIRECTORY/mounts. What goes wrong is asked for by the last part of the source's name:
 *
 *   hang-observe, hang-mount, hang-after   never answers, the last one after mounting
 *   die-observe, die-mount, die-after      ends, likewise
 *   slow-observe, slow-mount, slow-unmount takes half a second
 *   drop-context                           CONTEXT_DROPPED
 *   busy                                   can't be unmounted
 *   xfs, vfat, btrfs                       holds such a file system
 *   nonsense                               answers with rubbish
 *   norecord                               keeps no record of its labels
 *   walk-slow                              walks for a second
 *   walk-crawl, walk-hang                  walks for ever, or stops walking without an end
 *   walk-die                               ends in the middle of a walk
 *   walk-fails                             can't relabel some entries
 *   walk-nonsense, walk-back, walk-rubbish says what can't be of a walk: while it walks, or in the end
 *   mismatch, mismatch-stays               has wrong labels further down; and then can't be marked
 *   links, links-norecord                  has hard links that are left alone; and keeps no record
 *   restless                               has directories that change to the last
 *   misowned                               has wrong groups further down; Map meets some of them, too
 *   noidmap                                can't be idmapped
 *   mode-differs                           has files that the group can't write, until they are changed
 *   part                                   is a file system of which each mount has a directory of its own
 *
 * What was staged is in DIRECTORY/staged, with its options. What a volume carries is in DIRECTORY/record-NAME and
 * DIRECTORY/root-NAME, its root's group and mode in DIRECTORY/group-NAME, NAME being that last part. Change notes its
 * arguments in DIRECTORY/relabels, and keeps a copy of the state as it is at that moment.
 *
 * As in the real worker, one child serves one connection, the parent ends it when the peer hangs up, and the peer
 * sees the connection's end only when the child is gone. */

#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include <systemd/sd-bus.h>

#include "model/ownership.h"
#include "model/volume-record.h"
#include "wire/protocol.h"

enum { CONNECTIONS_MAX = 64, LOOK_INTERVAL_USEC = 50000 };

typedef struct Mount {
        unsigned long long id;
        char target[512], source[512], fs_type[32], context[256];
        int read_only;
        unsigned from, to; /* groups that it swaps; DIRECTORY/swap-ID has them */
} Mount;

static const char *directory;

static FILE *open_table(const char *mode) {
        char path[512];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/mounts", directory);
        f = fopen(path, mode);
        if (!f && (f = fopen(path, "w+")) == NULL)
                abort();
        (void) flock(fileno(f), LOCK_EX);
        return f;
}

static size_t read_table(FILE *f, Mount mounts[static 64]) {
        size_t n = 0;

        rewind(f);
        while (n < 64 && fscanf(f, "%llu %511s %511s %31s %255s %d\n", &mounts[n].id, mounts[n].target,
                                mounts[n].source, mounts[n].fs_type, mounts[n].context, &mounts[n].read_only) == 6)
                n++;
        return n;
}

static void add_mount(const Mount *m, unsigned long long *ret_id) {
        FILE *f = open_table("r+");
        Mount mounts[64];
        size_t n = read_table(f, mounts);

        *ret_id = 1000;
        for (size_t i = 0; i < n; i++)
                if (mounts[i].id >= *ret_id)
                        *ret_id = mounts[i].id + 1;
        (void) fseek(f, 0, SEEK_END);
        fprintf(f, "%llu %s %s %s %s %d\n", *ret_id, m->target, m->source, m->fs_type, m->context, m->read_only);
        (void) fclose(f);
}

static bool remove_mount(const char *target, unsigned long long id) {
        FILE *f = open_table("r+");
        Mount mounts[64];
        size_t n = read_table(f, mounts);
        bool found = false;

        rewind(f);
        if (ftruncate(fileno(f), 0) < 0)
                abort();
        for (size_t i = 0; i < n; i++) {
                if (streq(mounts[i].target, target) && (id == 0 || id == mounts[i].id)) {
                        found = true;
                        continue;
                }
                fprintf(f, "%llu %s %s %s %s %d\n", mounts[i].id, mounts[i].target, mounts[i].source,
                        mounts[i].fs_type, mounts[i].context, mounts[i].read_only);
        }
        (void) fclose(f);
        return found;
}

static bool find_mount(const char *target, Mount *ret) {
        FILE *f = open_table("r+");
        Mount mounts[64];
        size_t n = read_table(f, mounts);

        (void) fclose(f);
        for (size_t i = n; i-- > 0;)
                if (streq(mounts[i].target, target)) {
                        *ret = mounts[i];
                        return true;
                }
        return false;
}

static const char *context_of(const Mount *m) {
        return streq(m->context, "-") ? "" : m->context;
}

/* Sources that end alike are on one device. */
static unsigned device_of(const char *source) {
        const char *name = strrchr(source, '/');
        unsigned n = 1;

        for (const char *p = name ? name : source; *p; p++)
                n = n * 31 + (unsigned char) *p;
        return n;
}

static const char *root_directory(const Mount *m) {
        const char *name = strrchr(m->source, '/');

        return name && streq(name, "/part") ? m->target : "/";
}

static int append_fact(sd_bus_message *m, const Mount *mount) {
        char device[32];

        (void) snprintf(device, sizeof(device), "8:%u", device_of(mount->source));
        return sd_bus_message_append(m, MOUNT_FACT_SIGNATURE, (uint64_t) mount->id, mount->target, mount->source,
                                     mount->fs_type, device, root_directory(mount), context_of(mount),
                                     (int) (isempty(context_of(mount)) && !streq(mount->fs_type, "vfat")),
                                     mount->read_only);
}

/* DIRECTORY/node, when there, holds "selinux enforcing". */
static int append_node(sd_bus_message *m) {
        int selinux = 1, enforcing = 1;
        char path[512];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/node", directory);
        f = fopen(path, "r");
        if (f) {
                (void) !fscanf(f, "%d %d", &selinux, &enforcing);
                (void) fclose(f);
        }
        return sd_bus_message_append(m, NODE_SIGNATURE, selinux, enforcing, 1,
                                     "system_u:object_r:container_file_t:s0");
}

static bool behaves(const char *source, const char *how) {
        const char *name = strrchr(source, '/');

        return name && streq(name + 1, how);
}

static bool has_links(const char *source) {
        return behaves(source, "links") || behaves(source, "links-norecord");
}

static bool keeps_no_record(const char *source) {
        return behaves(source, "norecord") || behaves(source, "links-norecord");
}

static _Noreturn void hang(void) {
        for (;;)
                pause();
}

static void slow_down(void) {
        (void) usleep(500000);
}

static const char *type_of(const char *source) {
        return behaves(source, "xfs")     ? "xfs"
               : behaves(source, "vfat")  ? "vfat"
               : behaves(source, "btrfs") ? "btrfs"
               : streq(source, "tmpfs")   ? "tmpfs"
               : strstr(source, ":/")     ? "nfs"
                                          : "ext4";
}

static int verb_observe(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *source, *type, *target;
        Mount mounts[64], here;
        char device[16] = "";
        size_t n;
        FILE *f;
        int r;

        r = sd_bus_message_read(call, "sss", &source, &type, &target);
        if (r < 0)
                return r;
        if (behaves(source, "hang-observe"))
                hang();
        if (behaves(source, "die-observe"))
                _exit(1);
        if (behaves(source, "slow-observe"))
                slow_down();
        if (!isempty(target) && isempty(source) != find_mount(target, &here))
                return sd_bus_error_set(error, ERROR_PREFIX "InvalidTarget", "It is a mount already, or none.");

        f = open_table("r+");
        n = read_table(f, mounts);
        (void) fclose(f);
        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = behaves(source, "nonsense") ? sd_bus_message_append(reply, NODE_SIGNATURE, 1, 1, 1, "rubbish")
                                                : append_node(reply);
        if (r >= 0 && source[0] == '/')
                (void) snprintf(device, sizeof(device), "8:%u", device_of(source));
        if (r >= 0)
                r = sd_bus_message_append(reply, "sbs", isempty(source) ? here.fs_type : type_of(source), 0, device);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', MOUNT_FACT_SIGNATURE);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (streq(mounts[i].source, isempty(source) ? here.source : source))
                        r = append_fact(reply, &mounts[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

/* What the volume carries, as files of the directory. */
static void volume_path(char path[static 512], const char *what, const char *source) {
        const char *name = strrchr(source, '/');

        (void) snprintf(path, 512, "%s/%s-%s", directory, what, name ? name + 1 : "none");
}

static void write_text(const char *path, const char *text) {
        FILE *f = fopen(path, "w");

        if (!f || fputs(text, f) < 0 || fclose(f) != 0)
                abort();
}

static bool read_text(const char *path, char text[static VOLUME_RECORD_MAX]) {
        FILE *f = fopen(path, "r");
        size_t n;

        if (!f)
                return false;
        n = fread(text, 1, VOLUME_RECORD_MAX - 1, f);
        text[n] = '\0';
        (void) fclose(f);
        return true;
}

static const char *root_of(const Mount *m) {
        static char text[VOLUME_RECORD_MAX];
        char path[512];

        if (!isempty(context_of(m)))
                return context_of(m);
        volume_path(path, "root", m->source);
        return read_text(path, text) ? text : "system_u:object_r:unlabeled_t:s0";
}

static RecordFound read_record(const char *source, char text[static VOLUME_RECORD_MAX]) {
        char path[512];

        text[0] = '\0';
        if (keeps_no_record(source))
                return RECORD_UNSUPPORTED;
        volume_path(path, "record", source);
        return read_text(path, text) ? RECORD_PRESENT : RECORD_ABSENT;
}

static void write_record(const char *source, const VolumeRecord *r) {
        _cleanup_free_ char *text = volume_record_format(r);
        char path[512];

        if (!text)
                abort();
        if (keeps_no_record(source))
                return;
        volume_path(path, "record", source);
        write_text(path, text);
}

/* As the real one does. */
static void mark(const char *source, const char *effect) {
        _cleanup_(volume_record_done) VolumeRecord record = { 0 };
        char text[VOLUME_RECORD_MAX];
        RecordFound found = read_record(source, text);
        int e = record_effect_from_string(effect);

        if (e < 0)
                abort();
        if (found == RECORD_PRESENT && volume_record_parse(text, strlen(text), &record) < 0)
                return;
        if ((found == RECORD_PRESENT || e == EFFECT_TAINT) && volume_record_apply(&record, (RecordEffect) e))
                write_record(source, &record);
}

static int append_record(sd_bus_message *reply, const char *source) {
        char text[VOLUME_RECORD_MAX];
        RecordFound found = read_record(source, text);

        return sd_bus_message_append(reply, VOLUME_RECORD_SIGNATURE, record_found_to_string(found), text);
}

static void swap_path(char path[static 512], unsigned long long id) {
        (void) snprintf(path, 512, "%s/swap-%llu", directory, id);
}

static void write_swap(const Mount *m) {
        char path[512], text[64];

        swap_path(path, m->id);
        (void) unlink(path);
        if (m->from == m->to)
                return;
        (void) snprintf(text, sizeof(text), "%u %u", m->from, m->to);
        write_text(path, text);
}

static void read_swap(Mount *m) {
        char path[512], text[VOLUME_RECORD_MAX];

        swap_path(path, m->id);
        m->from = m->to = 0;
        if (read_text(path, text) && sscanf(text, "%u %u", &m->from, &m->to) != 2)
                abort();
}

/* "GID MODE"; root's, if nobody was there yet. An option gid= is what all files have. */
static void read_group(const Mount *m, gid_t *ret_gid, mode_t *ret_mode) {
        char path[512], text[VOLUME_RECORD_MAX];
        unsigned gid = 0, mode = 040755;

        volume_path(path, "group", m->source);
        if (read_text(path, text) && sscanf(text, "%u %o", &gid, &mode) != 2)
                abort();
        *ret_gid = m->from == m->to ? gid : gid == m->from ? m->to : gid == m->to ? m->from : gid;
        *ret_mode = mode;
}

static void write_group(const char *source, gid_t gid, mode_t mode) {
        char path[512], text[64];

        volume_path(path, "group", source);
        (void) snprintf(text, sizeof(text), "%u %o", gid, mode);
        write_text(path, text);
}

static int append_outcome(sd_bus_message *reply, const Mount *m) {
        mode_t mode;
        gid_t gid;
        int r;

        read_group(m, &gid, &mode);
        r = sd_bus_message_open_container(reply, 'r', MOUNT_FACT_SIGNATURE OUTCOME_FIELDS);
        if (r >= 0)
                r = append_fact(reply, m);
        if (r >= 0)
                r = sd_bus_message_append(reply, OUTCOME_FIELDS, root_of(m), gid, mode, m->read_only, UINT64_C(300));
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : append_record(reply, m->source);
}

static int reply_outcome(sd_bus_message *call, const Mount *m) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = append_outcome(reply, m);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static void note_staged(const char *source, char **options) {
        _cleanup_free_ char *joined = strv_join(options, ","), *line = NULL;
        char path[512];

        line = strdup_printf("%s %s\n", source, strempty(joined));
        if (!line)
                abort();
        (void) snprintf(path, sizeof(path), "%s/staged", directory);
        write_text(path, line);
}

static int read_mount(sd_bus_message *call, Mount *m) {
        const char *source, *type, *target, *context, *share;
        _cleanup_strv_ char **options = NULL;
        uint64_t share_id;
        Mount shared;
        int r;

        r = sd_bus_message_read(call, "sss", &source, &type, &target);
        if (r >= 0)
                r = sd_bus_message_read_strv(call, &options);
        if (r >= 0)
                r = sd_bus_message_read(call, "sbst", &context, &m->read_only, &share, &share_id);
        if (r < 0)
                return r;
        if (sd_bus_message_is_method_call(call, NULL, WORKER_STAGE))
                note_staged(source, options);
        STRV_FOREACH (option, options)
                if (startswith(*option, "gid="))
                        write_group(source, (gid_t) strtoul(*option + 4, NULL, 10), 040775);
        if (!isempty(share) && find_mount(share, &shared)) {
                read_swap(&shared);
                m->from = shared.from;
                m->to = shared.to;
        }
        (void) snprintf(m->target, sizeof(m->target), "%s", target);
        (void) snprintf(m->source, sizeof(m->source), "%s", source);
        (void) snprintf(m->fs_type, sizeof(m->fs_type), "%s", type);
        (void) snprintf(m->context, sizeof(m->context), "%s", isempty(context) ? "-" : context);
        return 0;
}

/* The mount itself, of Mount and Publish. */
static int make_mount(sd_bus_message *call, Mount *m, const char *effect) {
        mark(m->source, effect);
        add_mount(m, &m->id);
        write_swap(m);
        if (behaves(m->source, "die-after"))
                _exit(1);
        if (behaves(m->source, "hang-after"))
                hang();
        return reply_outcome(call, m);
}

static int verb_mount(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *effect;
        Mount m = { 0 };
        int r;

        r = read_mount(call, &m);
        if (r >= 0)
                r = sd_bus_message_read(call, "s", &effect);
        if (r < 0)
                return r;
        if (behaves(m.source, "hang-mount"))
                hang();
        if (behaves(m.source, "die-mount"))
                _exit(1);
        if (behaves(m.source, "slow-mount"))
                slow_down();
        if (behaves(m.source, "drop-context"))
                return sd_bus_error_set(error, ERROR_PREFIX "ContextDropped", "The kernel shows no context.");
        return make_mount(call, &m, effect);
}

static Mount staged;
static bool is_staged;

static int verb_stage(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        int r = read_mount(call, &staged);

        if (r < 0)
                return r;
        if (behaves(staged.source, "hang-stage"))
                hang();
        is_staged = true;
        staged.id = 999;
        return reply_outcome(call, &staged);
}

static int verb_publish(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *effect;
        int r = sd_bus_message_read(call, "s", &effect);

        if (r < 0)
                return r;
        if (!is_staged || isempty(staged.target))
                return sd_bus_error_set(error, ERROR_PREFIX "InvalidTarget", "Nothing is staged.");
        if (behaves(staged.source, "publish-fails"))
                return sd_bus_error_set(error, ERROR_PREFIX "MountFailed", "It can't be attached.");
        return make_mount(call, &staged, effect);
}

static int verb_inspect(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *target;
        Mount m;
        int r;

        r = sd_bus_message_read(call, "s", &target);
        if (r < 0)
                return r;
        if (!find_mount(target, &m))
                return sd_bus_error_set(error, ERROR_PREFIX "InvalidTarget", "Nothing is mounted there.");
        read_swap(&m);
        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = append_node(reply);
        if (r >= 0)
                r = append_outcome(reply, &m);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int verb_mark(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *target, *effect;
        uint64_t id;
        Mount m;
        int r;

        r = sd_bus_message_read(call, WORKER_MARK_IN, &target, &id, &effect);
        if (r < 0)
                return r;
        if (!find_mount(target, &m) || m.id != id || behaves(m.source, "mark-busy") ||
            behaves(m.source, "mismatch-stays"))
                return sd_bus_error_set(error, ERROR_PREFIX "Busy", "It isn't there any more.");
        mark(m.source, effect);
        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = append_record(reply, m.source);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static void send_progress(sd_bus *bus, uint64_t done, uint64_t changed, uint64_t total) {
        if (sd_bus_emit_signal(bus, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS, WORKER_PROGRESS_SIGNATURE, done,
                               changed, UINT64_C(0), UINT64_C(0), UINT64_C(0), UINT64_C(0), UINT64_C(0), total) < 0 ||
            sd_bus_flush(bus) < 0)
                _exit(1);
}

/* What goes on before the end of Change and Verify. */
static void walk(sd_bus *bus, const char *source, bool changes) {
        if (behaves(source, "walk-slow"))
                for (uint64_t done = 0; done <= 250; done += 25) {
                        send_progress(bus, done, changes ? done : 0, 300);
                        (void) usleep(100000);
                }
        if (behaves(source, "walk-hang") || behaves(source, "walk-die") || behaves(source, "walk-nonsense"))
                send_progress(bus, behaves(source, "walk-nonsense") ? UINT64_MAX : 10, 0, 300);
        if (behaves(source, "walk-back"))
                send_progress(bus, 1000, 0, 300);
        if (behaves(source, "walk-hang") || behaves(source, "walk-nonsense"))
                hang();
        if (behaves(source, "walk-die"))
                _exit(1);
        for (uint64_t done = 1; behaves(source, "walk-crawl"); done++) {
                send_progress(bus, done, 0, 1000000);
                (void) usleep(50000);
        }
}

static void note_relabel(const char *line) {
        _cleanup_free_ char *copy = NULL;
        char path[512];
        FILE *f;

        (void) snprintf(path, sizeof(path), "%s/relabels", directory);
        f = fopen(path, "a");
        if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f) != 0)
                abort();
        copy = strdup_printf("rm -rf '%s/then' && cp -r '%s/state' '%s/then'", directory, directory, directory);
        if (!copy || system(copy) != 0)
                abort();
}

static int reply_changed(sd_bus_message *call, const char *source) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        bool fails = behaves(source, "walk-fails");
        uint64_t done = 300, changed = 250;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = sd_bus_message_append(reply, TREE_COUNTS_SIGNATURE, done, changed, UINT64_C(0), UINT64_C(0),
                                          fails ? UINT64_C(20) : UINT64_C(0),
                                          has_links(source) ? UINT64_C(7) : UINT64_C(0),
                                          behaves(source, "restless") ? UINT64_C(3) : UINT64_C(0));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ss)");
        for (unsigned i = 0; i < 16 && fails && r >= 0; i++) {
                char path[64];

                (void) snprintf(path, sizeof(path), "dir/file-%u\\x0a", i);
                r = sd_bus_message_append(reply, "(ss)", path, "immutable: chattr -i it");
        }
        if (r >= 0 && behaves(source, "walk-rubbish"))
                r = sd_bus_message_append(reply, "(ss)", "a\033[31m", "b");
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_message_append(reply, "as", 1, "lost+found");
        if (r >= 0)
                r = append_record(reply, source);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

typedef struct ChangeCall {
        const char *target, *context, *effect;
        uint64_t id, generation, rate;
        uint32_t gid, disk_gid;
        int read_only, blind;
} ChangeCall;

static void note_change(const ChangeCall *c) {
        char line[1024], group[64] = "";

        if (c->gid != GID_NONE)
                (void) snprintf(group, sizeof(group), "group=%u disk=%u read-only=%i ", c->gid, c->disk_gid,
                                c->read_only);
        (void) snprintf(line, sizeof(line), "target=%s context=%s %sblind=%i generation=%llu rate=%llu effect=%s",
                        c->target, c->context, group, c->blind, (unsigned long long) c->generation,
                        (unsigned long long) c->rate, c->effect);
        note_relabel(line);
}

/* As the real one does: a volume's own record of another generation says nothing of what is not worked on. */
static void begin_record(const ChangeCall *c, const char *source, VolumeRecord *record, const RecordWork *work) {
        char text[VOLUME_RECORD_MAX];

        if (read_record(source, text) != RECORD_PRESENT || volume_record_parse(text, strlen(text), record) < 0 ||
            record->generation != c->generation) {
                volume_record_done(record);
                record->generation = c->generation;
        }
        if (volume_record_begin(record, work) < 0)
                abort();
        write_record(source, record);
}

/* With the effect in it at once, so that the record never claims too much. */
static void finish_change(const ChangeCall *c, const char *source, VolumeRecord *record, const RecordWork *work) {
        const Ownership ownership = { .gid = c->disk_gid, .read_only = c->read_only };
        int effect = record_effect_from_string(c->effect);
        const Mount plain = { 0 };
        Mount m = plain;
        char path[512];
        mode_t mode;
        gid_t gid;

        if (effect < 0)
                abort();
        if (!has_links(source) && !behaves(source, "restless")) {
                volume_record_finish(record, work);
                (void) volume_record_apply(record, (RecordEffect) effect);
                write_record(source, record);
        }
        if (work->context) {
                volume_path(path, "root", source);
                write_text(path, work->context);
        }
        (void) snprintf(m.source, sizeof(m.source), "%s", source);
        read_group(&m, &gid, &mode);
        if (c->gid != GID_NONE)
                write_group(source, c->disk_gid, ownership_mode(&ownership, mode));
}

static int verb_change(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(volume_record_done) VolumeRecord record = { 0 };
        ChangeCall c = { 0 };
        RecordWork work;
        Mount m;
        int r;

        r = sd_bus_message_read(call, WORKER_CHANGE_IN, &c.target, &c.id, &c.context, &c.gid, &c.disk_gid,
                                &c.read_only, &c.blind, &c.generation, &c.rate, &c.effect);
        if (r < 0)
                return r;
        note_change(&c);
        if (!isempty(c.target) && (!find_mount(c.target, &m) || m.id != c.id))
                return sd_bus_error_set(error, ERROR_PREFIX "Busy", "It isn't there any more.");
        if (isempty(c.target) && !is_staged)
                return sd_bus_error_set(error, ERROR_PREFIX "InvalidTarget", "Nothing is staged.");
        if (isempty(c.target))
                m = staged;
        else
                read_swap(&m);
        if (behaves(m.source, "walk-unsupported"))
                return sd_bus_error_set(error, ERROR_PREFIX "NotSupported", "It keeps no labels.");
        if ((c.gid != c.disk_gid) != (m.from != m.to))
                return sd_bus_error_set(error, ERROR_PREFIX "NotSupported", "Which group is on disk?");

        work = (RecordWork){ .context = isempty(c.context) ? NULL : c.context,
                             .gid = c.disk_gid,
                             .read_only = c.read_only };
        begin_record(&c, m.source, &record, &work);
        walk(sd_bus_message_get_bus(call), m.source, true);
        if (!behaves(m.source, "walk-fails"))
                finish_change(&c, m.source, &record, &work);
        return reply_changed(call, m.source);
}

static int verb_map(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        uint32_t from, to;
        int any_mode, r;

        r = sd_bus_message_read(call, WORKER_MAP_IN, &from, &to, &any_mode);
        if (r < 0)
                return r;
        if (!is_staged || staged.from != staged.to || from == to)
                return sd_bus_error_set(error, ERROR_PREFIX "NotSupported", "There is nothing to map.");
        /* A look at the first files takes its time, and is none of the walk's. */
        send_progress(sd_bus_message_get_bus(call), 1, 0, 0);
        if (behaves(staged.source, "map-dies"))
                _exit(1);
        if (behaves(staged.source, "misowned"))
                return sd_bus_reply_method_return(call, WORKER_MAP_OUT, "differs", "dir/a has group 5 and mode 0600");
        if (behaves(staged.source, "mode-differs") && !any_mode)
                return sd_bus_reply_method_return(call, WORKER_MAP_OUT, "differs",
                                                  "dir/a has group 1000 and mode 0600");
        if (behaves(staged.source, "noidmap"))
                return sd_bus_reply_method_return(call, WORKER_MAP_OUT, "unsupported", "the kernel says EPERM");
        if (behaves(staged.source, "map-nonsense"))
                return sd_bus_reply_method_return(call, WORKER_MAP_OUT, "perhaps", "");
        staged.from = from;
        staged.to = to;
        return sd_bus_reply_method_return(call, WORKER_MAP_OUT, "mapped", "");
}

static int reply_verified(sd_bus_message *call, const Mount *m, const char *expected, const char *depth,
                          uint32_t gid) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint64_t done = streq(depth, "root") ? 1 : 300;
        bool wrong = (behaves(m->source, "mismatch") || behaves(m->source, "mismatch-stays")) && done > 1,
             matches = streq(root_of(m), expected) && !wrong;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = sd_bus_message_append(reply, "bs", (int) (behaves(m->source, "walk-rubbish") || matches),
                                          root_of(m));
        if (r >= 0)
                r = sd_bus_message_append(reply, TREE_COUNTS_SIGNATURE, done, UINT64_C(0),
                                          matches    ? UINT64_C(0)
                                          : done > 1 ? UINT64_C(2)
                                                     : UINT64_C(1),
                                          behaves(m->source, "misowned") && gid != GID_NONE ? UINT64_C(3)
                                                                                            : UINT64_C(0),
                                          UINT64_C(0), UINT64_C(0), UINT64_C(0));
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ss)");
        if (r >= 0 && !matches)
                r = sd_bus_message_append(reply, "(ss)", "dir/a", "system_u:object_r:tmp_t:s0");
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int verb_verify(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *target, *expected, *depth;
        uint64_t rate;
        uint32_t gid;
        int r;
        Mount m;

        r = sd_bus_message_read(call, WORKER_VERIFY_IN, &target, &expected, &depth, &rate, &gid);
        if (r < 0)
                return r;
        if (!find_mount(target, &m))
                m = (Mount){ .source = "/dev/none", .context = "system_u:object_r:unlabeled_t:s0" };
        if (!streq(depth, "root"))
                walk(sd_bus_message_get_bus(call), m.source, false);
        return reply_verified(call, &m, expected, depth, gid);
}

static int verb_unmount(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *target;
        uint64_t id;
        Mount m = { 0 };
        int r;

        r = sd_bus_message_read(call, "st", &target, &id);
        if (r < 0)
                return r;
        (void) find_mount(target, &m);
        if (behaves(m.source, "busy"))
                return sd_bus_error_set(error, ERROR_PREFIX "Busy", "It is in use.");
        if (behaves(m.source, "slow-unmount"))
                slow_down();
        return sd_bus_reply_method_return(call, "b", (int) remove_mount(target, id));
}

static int send_table(sd_bus_message *m, const Mount *mounts, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, 'a', MOUNT_FACT_SIGNATURE);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = append_fact(m, &mounts[i]);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static Mount watched[64];
static size_t n_watched;
static bool watching;

/* Ids are given anew once they are free, so an id alone names no mount. */
static bool is_listed(const Mount *m, const Mount *mounts, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (mounts[i].id == m->id && streq(mounts[i].target, m->target))
                        return true;
        return false;
}

static int send_changes(sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
        FILE *f = open_table("r+");
        size_t n, n_came = 0;
        Mount now[64], came[64];
        int r;

        n = read_table(f, now);
        (void) fclose(f);
        for (size_t i = 0; i < n; i++)
                if (!is_listed(&now[i], watched, n_watched))
                        came[n_came++] = now[i];
        r = sd_bus_message_new_signal(bus, &signal, WORKER_PATH, WORKER_INTERFACE, WORKER_CHANGED);
        if (r >= 0)
                r = send_table(signal, came, n_came);
        if (r >= 0)
                r = sd_bus_message_open_container(signal, 'a', "t");
        for (size_t i = 0; i < n_watched && r >= 0; i++)
                if (!is_listed(&watched[i], now, n))
                        r = sd_bus_message_append(signal, "t", (uint64_t) watched[i].id);
        if (r >= 0)
                r = sd_bus_message_close_container(signal);
        if (r >= 0)
                r = sd_bus_send(bus, signal, NULL);
        memcpy(watched, now, sizeof(now));
        n_watched = n;
        return r;
}

/* Like the real one, ignores an id that it has seen. */
static int verb_expect(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        const char *target;
        uint64_t id;
        int r;

        r = sd_bus_message_enter_container(call, 'r', MOUNT_FACT_FIELDS);
        if (r >= 0)
                r = sd_bus_message_read(call, "ts", &id, &target);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_watched; i++)
                if (watched[i].id == id)
                        return sd_bus_reply_method_return(call, NULL);
        if (n_watched < 64) {
                watched[n_watched] = (Mount){ .id = id };
                (void) snprintf(watched[n_watched].target, sizeof(watched->target), "%s", target);
                n_watched++;
        }
        return sd_bus_reply_method_return(call, NULL);
}

static int verb_watch(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        FILE *f = open_table("r+");
        int r;

        n_watched = read_table(f, watched);
        watching = true;
        (void) fclose(f);
        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = append_node(reply);
        if (r >= 0)
                r = send_table(reply, watched, n_watched);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD(WORKER_OBSERVE, WORKER_OBSERVE_IN, WORKER_OBSERVE_OUT, verb_observe,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_MOUNT, WORKER_MOUNT_IN, WORKER_MOUNT_OUT, verb_mount, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_STAGE, WORKER_STAGE_IN, WORKER_STAGE_OUT, verb_stage, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_PUBLISH, WORKER_PUBLISH_IN, WORKER_PUBLISH_OUT, verb_publish,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_MARK, WORKER_MARK_IN, WORKER_MARK_OUT, verb_mark, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_MAP, WORKER_MAP_IN, WORKER_MAP_OUT, verb_map, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_CHANGE, WORKER_CHANGE_IN, WORKER_CHANGE_OUT, verb_change, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_INSPECT, WORKER_INSPECT_IN, WORKER_INSPECT_OUT, verb_inspect,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_VERIFY, WORKER_VERIFY_IN, WORKER_VERIFY_OUT, verb_verify, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_UNMOUNT, WORKER_UNMOUNT_IN, WORKER_UNMOUNT_OUT, verb_unmount,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_WATCH, WORKER_WATCH_IN, WORKER_WATCH_OUT, verb_watch, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(WORKER_EXPECT, WORKER_EXPECT_IN, WORKER_EXPECT_OUT, verb_expect, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static uint64_t monotonic_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static _Noreturn void serve(int fd) {
        uint64_t next_look = 0;
        sd_id128_t id;
        sd_bus *bus;
        int r;

        if (sd_id128_randomize(&id) < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
            sd_bus_set_server(bus, 1, id) < 0 || sd_bus_set_trusted(bus, 1) < 0 || sd_bus_start(bus) < 0 ||
            sd_bus_add_object_vtable(bus, NULL, WORKER_PATH, WORKER_INTERFACE, vtable, NULL) < 0)
                _exit(1);
        for (;;) {
                r = sd_bus_process(bus, NULL);
                if (r < 0)
                        _exit(0);
                if (r == 0 && sd_bus_wait(bus, watching ? LOOK_INTERVAL_USEC : UINT64_MAX) < 0)
                        _exit(0);
                if (r == 0 && watching && monotonic_usec() >= next_look) {
                        if (send_changes(bus) < 0)
                                _exit(0);
                        next_look = monotonic_usec() + LOOK_INTERVAL_USEC;
                }
        }
}

int main(int argc, char *argv[]) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct pollfd fds[CONNECTIONS_MAX];
        pid_t children[CONNECTIONS_MAX];
        size_t n = 1;

        if (argc != 3 || strlen(argv[1]) >= sizeof(address.sun_path))
                return 2;
        directory = argv[2];
        (void) signal(SIGPIPE, SIG_IGN);
        strcpy(address.sun_path, argv[1]);
        fds[0] = (struct pollfd){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLIN };
        if (fds[0].fd < 0 || bind(fds[0].fd, (struct sockaddr *) &address, sizeof(address)) < 0 ||
            listen(fds[0].fd, 16) < 0)
                return 1;

        for (;;) {
                if (poll(fds, n, 20) < 0 && errno != EINTR)
                        return 1;
                for (size_t i = 1; i < n; i++) {
                        if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
                                (void) kill(children[i], SIGKILL);
                        if (waitpid(children[i], NULL, WNOHANG) == 0)
                                continue;
                        (void) close(fds[i].fd);
                        fds[i] = fds[n - 1];
                        children[i] = children[n - 1];
                        n--;
                        i--;
                }
                if (fds[0].revents & POLLIN && n < CONNECTIONS_MAX) {
                        fds[n] = (struct pollfd){ .fd = accept(fds[0].fd, NULL, NULL), .events = POLLRDHUP };
                        children[n] = fork();
                        if (children[n] == 0) {
                                for (size_t i = 0; i < n; i++)
                                        (void) close(fds[i].fd);
                                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                                serve(fds[n].fd);
                        }
                        n++;
                }
        }
}
