/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* This client takes the place of a selvold that an attacker controls: it makes any calls on the worker's
 * socket, in any order, and answers the worker's questions with lies. These have to hold, whatever it says:
 *
 *   mounts and files outside of the target roots stay as they are, and so do the host's disks;
 *   no disk is mounted that the host has mounted, if only while an answer is withheld, or that fstab names;
 *   what the host has mounted read-only stays so, although it has a bind mount beneath the roots;
 *   the worker does not unmount a mount of others beneath the roots that was not adopted;
 *   the worker mounts another pod's tmpfs nowhere else, and does not change its files, adopted or not;
 *   all mounts that the worker makes beneath the roots are nosuid and nodev;
 *   neither the worker nor a child of it crashes, and the worker does not grow.
 *
 * The client adopts nothing in the first phase, anything in the second one, and so on. It runs for
 * --seconds N (10), and until it has tried everything, which takes two phases. --seed N decides on calls. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "mount/mount-table.h"
#include "hostile-message.h"
#include "wire/names.h"
#include "wire/protocol.h"

enum {
        SESSIONS = 4,
        CHECK_EVERY = 10,
        ASKED_ROUNDS = 8, /* for the host's disks, in each second phase */
        PHASE = 100,      /* sessions */
        LONG_PHASE = 400,
        MOUNTS_MAX = 5,
        SECONDS = 10,
        OVERTIME_SEC = 600, /* for a busy machine */
        GROWTH_MAX_KIB = 32 * 1024,
        CHILDREN_MAX_KIB = 512 * 1024, /* all children, with memory that AddressSanitizer keeps */
        GIANT_MAX_KIB = 384 * 1024,    /* one child; it has a giant message in memory three times */
};

#define LOG TEST_DIR "/log"

/* A giant message has the largest size that sd-bus takes. An unfinished one never ends. */
enum { GIANT_EVERY_SEC = 15, GIANT_MAX_SEC = 120, UNFINISHED_MAX_MSEC = 2000 };

/* Signals beside an answer. */
enum { TALK_SIZE = 1024 * 1024, TALKS_MAX = 64 };

/* A session lasts at most so long, or so many times as long as an answer takes. */
enum { SESSION_MSEC = 1500, PATIENCE = 100 };

enum { MOUNT, ADOPT, CHANGE, VERIFY, UNMOUNT, WATCH, EXPECT, N_VERBS };

static const char *const verb_names[N_VERBS] = { WORKER_MOUNT,   WORKER_ADOPT, WORKER_CHANGE, WORKER_VERIFY,
                                                 WORKER_UNMOUNT, WORKER_WATCH, WORKER_EXPECT };

typedef struct Verb {
        unsigned n_done, n_refused;
} Verb;

/* A file or directory that must not change. */
typedef struct Sentinel {
        const char *path;
        struct stat st;
        char *label;
} Sentinel;

/* A disk that must not be mounted beneath the targets. */
typedef struct Disk {
        const char *name, *path;
        const char *mounted; /* where the host mounts it; NULL: nowhere */
        dev_t device;
} Disk;

enum { DISK_HOST, DISK_FIXED, DISK_LATE, DISK_FSTAB, N_DISKS };

typedef struct Session {
        struct Client *client;
        sd_bus *bus;
        gint64 deadline;
} Session;

typedef struct Client {
        Chance chance;
        Worker *worker;
        Session sessions[SESSIONS];
        Verb verbs[N_VERBS];
        Sentinel sentinels[5];
        size_t n_sentinels;
        char *outside;                /* the mounts that are not beneath the targets */
        char *others;                 /* a disk that others have mounted */
        uint64_t others_id, bound_id; /* of their mounts; 0 while the worker may unmount these */
        Disk disks[N_DISKS];
        dev_t secret;
        Session *giant; /* the session that sends a giant message, of which there is one at a time */
        gint64 next_giant, giant_ended, unfinished_deadline;
        int unfinished;            /* a connection with an unfinished message; -1: none */
        bool adopts;               /* the client adopts in this phase */
        unsigned phase, phase_end; /* the sessions of a phase, and the number of the last one of this phase */
        guint32 session_usec;      /* the longest time of a session */
        unsigned n_sessions, n_checked, n_questions, n_giants, n_giants_answered, n_unfinished, n_talks, n_asked;
        long memory;                                /* of the worker after the first phase */
        long memory_of_children, memory_with_giant; /* the largest sums, without and with a giant message */
} Client;

/* --- sessions: each has a connection --- */

static void session_end(Session *s) {
        if (s->client && s->client->giant == s) {
                s->client->giant = NULL;
                s->client->giant_ended = g_get_monotonic_time();
        }
        s->bus = sd_bus_close_unref(s->bus);
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *failure = sd_bus_message_get_error(reply);
        Verb *v = userdata;

        if (!failure)
                v->n_done++;
        else if (g_str_has_prefix(failure->name, ERROR_PREFIX))
                v->n_refused++;
        return 1;
}

/* Sends more beside an answer than a child may keep. */
static void talk_beside(Session *s) {
        g_autofree char *text = g_strnfill(TALK_SIZE, 'x');

        s->client->n_talks++;
        for (unsigned n = 1 + below(&s->client->chance, TALKS_MAX); n > 0; n--)
                if (sd_bus_emit_signal(s->bus, "/", "a.b", "C", "s", text) < 0)
                        return; /* the child has ended */
}

static int on_question(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Session *s = userdata;
        Client *c = s->client;
        int r;

        if (!sd_bus_message_is_method_call(m, DECISION_INTERFACE, NULL))
                return 0;
        c->n_questions++;
        if (percent(&c->chance, 10))
                talk_beside(s);
        if (percent(&c->chance, 3))
                return 1; /* never answered */
        if (percent(&c->chance, 3)) {
                s->deadline = 0;
                return 1;
        }
        if (percent(&c->chance, 3))
                return sd_bus_reply_method_errorf(m, percent(&c->chance, 50) ? ERROR_PREFIX "Busy" : "a.b",
                                                  "\033[2J lie\n");
        g_assert_cmpint(sd_bus_message_new_method_return(m, &reply), >=, 0);
        if (percent(&c->chance, 5))
                r = append_rubbish(&c->chance, reply);
        else
                r = sd_bus_message_is_method_call(m, NULL, DECISION_PLAN) ? append_plan(&c->chance, reply) : 0;
        if (r >= 0)
                (void) sd_bus_send(s->bus, reply, NULL);
        return 1;
}

static void say(Session *s) {
        Client *c = s->client;
        size_t verb = below(&c->chance, N_VERBS);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        if (verb == ADOPT && !c->adopts)
                verb = MOUNT;
        if (sd_bus_message_new_method_call(s->bus, &m, NULL, WORKER_PATH, WORKER_INTERFACE, verb_names[verb]) < 0 ||
            append_call(&c->chance, verb_names[verb], m) < 0)
                return;
        (void) sd_bus_call_async(s->bus, NULL, m, on_reply, &c->verbs[verb], UINT64_MAX);
}

static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";

static int dial(const Client *c) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        must(fd);
        strcpy(address.sun_path, c->worker->socket);
        if (connect(fd, (struct sockaddr *) &address, sizeof(address)) >= 0)
                return fd;
        close(fd);
        return -1;
}

static int on_giant_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *failure = sd_bus_message_get_error(reply);
        Session *s = userdata;

        /* sd-bus makes an error of another name if the connection breaks. */
        if (failure && g_str_has_prefix(failure->name, ERROR_PREFIX))
                s->client->n_giants_answered++;
        s->deadline = 0;
        return 1;
}

/* The session makes no other call, as a child serves only one. */
static void say_giant(Session *s) {
        static const char *const verbs[] = { WORKER_MOUNT, WORKER_VERIFY, WORKER_UNMOUNT };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        Client *c = s->client;
        const char *verb = verbs[c->n_giants % G_N_ELEMENTS(verbs)];
        gint64 now = g_get_monotonic_time();

        g_assert_cmpint(sd_bus_message_new_method_call(s->bus, &m, NULL, WORKER_PATH, WORKER_INTERFACE, verb), >=, 0);
        g_assert_cmpint(append_giant(verb, m), >=, 0);
        if (sd_bus_call_async(s->bus, NULL, m, on_giant_reply, s, UINT64_MAX) < 0)
                return;
        c->giant = s;
        c->n_giants++;
        c->next_giant = now + GIANT_EVERY_SEC * G_USEC_PER_SEC;
        s->deadline = now + GIANT_MAX_SEC * G_USEC_PER_SEC;
}

static void begin_message(Client *c) {
        /* The header of a call, with the lengths of its body and its fields */
        const struct {
                uint8_t endian, type, flags, version;
                uint32_t body, serial, fields;
        } header = { 'l',
                     SD_BUS_MESSAGE_METHOD_CALL,
                     0,
                     1,
                     GUINT32_TO_LE(127 * 1024 * 1024),
                     GUINT32_TO_LE(1),
                     GUINT32_TO_LE(64) };

        c->unfinished = dial(c);
        if (c->unfinished < 0)
                return;
        (void) send(c->unfinished, hello, sizeof(hello) - 1, MSG_NOSIGNAL);
        (void) send(c->unfinished, &header, sizeof(header), MSG_NOSIGNAL);
        c->unfinished_deadline = g_get_monotonic_time() + 1000 * below(&c->chance, UNFINISHED_MAX_MSEC);
}

/* The message counts if the child has accepted the connection, and waits for the rest. */
static void abandon_message(Client *c) {
        char text[512] = "";

        if (c->unfinished < 0)
                return;
        if (recv(c->unfinished, text, sizeof(text) - 1, MSG_DONTWAIT) > 0 && strstr(text, "OK ") &&
            recv(c->unfinished, text, sizeof(text), MSG_DONTWAIT) < 0)
                c->n_unfinished++;
        close(c->unfinished);
        c->unfinished = -1;
}

/* Sends bytes that are no D-Bus message. */
static void babble(Client *c) {
        int fd = dial(c);
        char bytes[4096];

        if (fd < 0)
                return;
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (char) below(&c->chance, 256);
        if (percent(&c->chance, 50))
                memcpy(bytes, hello, sizeof(hello));
        (void) send(fd, bytes, below(&c->chance, sizeof(bytes)), MSG_NOSIGNAL);
        close(fd);
}

static void session_begin(Client *c, Session *s) {
        c->n_sessions++;
        if (percent(&c->chance, 3))
                babble(c);
        *s = (Session){ .client = c, .bus = worker_dial(c->worker) };
        s->deadline = g_get_monotonic_time() + below(&c->chance, c->session_usec);
        g_assert_cmpint(sd_bus_add_filter(s->bus, NULL, on_question, s), >=, 0);
        if (c->unfinished < 0 && percent(&c->chance, 5))
                begin_message(c);
        if (!c->giant && g_get_monotonic_time() >= c->next_giant) {
                say_giant(s);
                return;
        }
        do
                say(s);
        while (percent(&c->chance, 20));
}

/* Returns whether there was anything to do. */
static bool session_step(Session *s) {
        int r = sd_bus_process(s->bus, NULL);

        if (s->client->giant != s && percent(&s->client->chance, 1))
                say(s);
        if (r < 0 || g_get_monotonic_time() > s->deadline)
                session_end(s);
        return r > 0;
}

/* --- checks --- */

static bool is_beneath_targets(const Mount *m) {
        return g_str_has_prefix(m->target, TEST_TARGETS "/");
}

static char *describe_outside(void) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        GString *text = g_string_new(NULL);

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        for (size_t i = 0; i < table->n; i++)
                if (!is_beneath_targets(&table->mounts[i]))
                        g_string_append_printf(text, "%" PRIu64 " %s %s %s %s\n", table->mounts[i].id,
                                               table->mounts[i].root, table->mounts[i].target,
                                               table->mounts[i].options, table->mounts[i].fs_options);
        return g_string_free(text, FALSE);
}

static void check_mount(const Client *c, const Mount *m) {
        bool bound = m->device == c->disks[DISK_FIXED].device && g_str_equal(m->target, BOUND),
             theirs = bound || g_str_equal(m->target, SECRET) || g_str_equal(m->target, OTHERS);

        for (size_t i = 0; i < N_DISKS; i++)
                if (m->device == c->disks[i].device && !bound)
                        g_error("The host's disk, %s, is mounted at %s.", c->disks[i].name, m->target);
        if (m->device == c->secret && !g_str_equal(m->target, SECRET))
                g_error("The secret is mounted at %s.", m->target);
        if (!theirs && (!strstr(m->options, "nosuid") || !strstr(m->options, "nodev")))
                g_error("%s is mounted %s.", m->target, m->options);
}

static void check_mounts(const Client *c) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        g_autofree char *outside = describe_outside();

        if (!g_str_equal(outside, c->outside))
                g_error("Mounts outside of the targets were\n%sand are\n%s", c->outside, outside);
        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        for (size_t i = 0; i < table->n; i++)
                if (is_beneath_targets(&table->mounts[i]))
                        check_mount(c, &table->mounts[i]);
        if (c->others_id != 0 && (!mountinfo_find(table, c->others_id) || !mountinfo_find(table, c->bound_id)))
                g_error("What others have mounted at " OTHERS " or " BOUND " was unmounted.");
}

static void check_sentinels(const Client *c) {
        for (size_t i = 0; i < c->n_sentinels; i++) {
                const Sentinel *s = &c->sentinels[i];
                g_autofree char *label = get_label(s->path);
                struct stat st;

                must(lstat(s->path, &st));
                if (st.st_uid != s->st.st_uid || st.st_gid != s->st.st_gid || st.st_mode != s->st.st_mode ||
                    st.st_ctim.tv_sec != s->st.st_ctim.tv_sec || st.st_ctim.tv_nsec != s->st.st_ctim.tv_nsec ||
                    !g_str_equal(label, s->label))
                        g_error("%s was changed.", s->path);
        }
}

/* AddressSanitizer and UBSan write reports, and the worker logs children that crash. */
static void check_reports(void) {
        g_autofree char *log = NULL;
        g_autoptr(GDir) directory = g_dir_open(TEST_DIR, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(directory)))
                if (g_str_has_prefix(name, "report")) {
                        g_autofree char *path = path_printf(TEST_DIR "/%s", name), *text = NULL;

                        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                        g_error("The worker, or a child, crashed:\n%s", text);
                }
        g_assert_true(g_file_get_contents(LOG, &log, NULL, NULL));
        if (strstr(log, "was killed by signal"))
                g_error("A child crashed: %s", strstr(log, "was killed by signal"));
}

/* The child that has read a giant message ends a moment after its answer. */
static bool has_giant(const Client *c) {
        return c->giant || (c->n_giants > 0 && g_get_monotonic_time() < c->giant_ended + 2 * G_USEC_PER_SEC);
}

static void note_memory_of_children(Client *c) {
        g_auto(GStrv) pids = list_children(c->worker->pid, CHILDREN_ALL);
        long sum = 0;

        for (char **pid = pids; *pid; pid++)
                sum += program_memory(atoi(*pid));
        if (has_giant(c)) {
                c->memory_with_giant = MAX(c->memory_with_giant, sum);
                sum -= GIANT_MAX_KIB;
        } else
                c->memory_of_children = MAX(c->memory_of_children, sum);
        g_assert_cmpint(sum, <, CHILDREN_MAX_KIB);
}

static void check(const Client *c) {
        check_mounts(c);
        check_sentinels(c);
}

/* --- files and mounts --- */

static void add_sentinel(Client *c, const char *path) {
        Sentinel *s;

        g_assert_cmpuint(c->n_sentinels, <, G_N_ELEMENTS(c->sentinels));
        s = &c->sentinels[c->n_sentinels++];
        s->path = path;
        must(lstat(path, &s->st));
        s->label = get_label(path);
}

static void mount_others(Client *c) {
        must(mount(c->others, OTHERS, "ext4", 0, NULL));
        must(mount(FIXED, BOUND, NULL, MS_BIND, NULL));
        c->bound_id = mount_id_of(BOUND);
        c->others_id = mount_id_of(OTHERS);
}

static dev_t device_of(const char *path) {
        struct stat st;

        must(stat(path, &st));
        return st.st_dev;
}

static void add_source(Client *c, const char *source) {
        g_assert_cmpuint(c->chance.n_sources, <, G_N_ELEMENTS(c->chance.sources));
        c->chance.sources[c->chance.n_sources++] = source;
}

static void make_disk(Disk *d) {
        g_autofree char *image = make_image(d->name, "ext4");
        struct stat st;
        int loop;

        d->path = attach_loop(image, &loop); /* for as long as the test runs */
        must(fstat(loop, &st));
        d->device = st.st_rdev;
}

static void make_disks(Client *c) {
        static const Disk disks[N_DISKS] = {
                [DISK_HOST] = { "host", .mounted = HOST },
                [DISK_FIXED] = { "fixed", .mounted = BOUND },
                [DISK_LATE] = { "late", .mounted = LATE },
                [DISK_FSTAB] = { "fstab" },
        };
        g_autofree char *line = NULL;

        for (size_t i = 0; i < N_DISKS; i++) {
                c->disks[i] = disks[i];
                make_disk(&c->disks[i]);
                if (i != DISK_LATE)
                        add_source(c, c->disks[i].path);
        }
        must(mkdir(HOST, 0755));
        must(mkdir(FIXED, 0755));
        must(mkdir(LATE, 0755));
        must(mount(c->disks[DISK_HOST].path, HOST, "ext4", 0, NULL));
        must(mount(c->disks[DISK_FIXED].path, FIXED, "ext4", MS_RDONLY, NULL));
        line = path_printf("%s /srv ext4 noauto 0 0\n", c->disks[DISK_FSTAB].path);
        file_write(TEST_DIR "/fstab", line);
        must(mount(TEST_DIR "/fstab", "/etc/fstab", NULL, MS_BIND, NULL));
}

static void make_host(Client *c) {
        make_disks(c);
        must(mkdir(OUTSIDE, 0755));
        file_write(HOST "/file", "text");
        file_write(OUTSIDE "/file", "text");
        must(symlink(OUTSIDE, TEST_TARGETS "/link"));
        add_sentinel(c, HOST);
        add_sentinel(c, HOST "/file");
        add_sentinel(c, OUTSIDE "/file");
}

static void make_strangers(Client *c) {
        g_autofree char *image = make_image("others", "ext4");
        int loop;

        must(mkdir(SECRET, 0755));
        must(mkdir(OTHERS, 0755));
        must(mkdir(BOUND, 0755));
        must(mount("tmpfs", SECRET, "tmpfs", 0, NULL));
        file_write(SECRET "/token", "text");
        /* The open file keeps the mount busy, as the worker may unmount it after an adoption. */
        must(open(SECRET "/token", O_RDONLY | O_CLOEXEC));
        c->secret = device_of(SECRET);
        add_sentinel(c, SECRET);
        add_sentinel(c, SECRET "/token");
        c->others = attach_loop(image, &loop);
        mount_others(c);
}

static void make_sources(Client *c) {
        const char *const others[] = {
                TEST_IMAGES "/a",      TEST_IMAGES "/a", TEST_IMAGES "/b",    "tmpfs", "tmpfs", "tmpfs",
                TEST_IMAGES "/theirs", "/dev/null",      TEST_IMAGES "/link", ""
        };

        g_free(make_image("a", "ext4"));
        g_free(make_image("b", "ext4"));
        g_free(make_image("theirs", "ext4"));
        must(chown(TEST_IMAGES "/theirs", 1000, 1000));
        must(symlink("a", TEST_IMAGES "/link"));
        add_source(c, c->others);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                add_source(c, others[i]);
        must(mkdir(TEST_TARGETS "/a", 0755));
        must(mkdir(TEST_TARGETS "/b", 0755));
        must(mkdir(TEST_TARGETS "/c", 0755));
}

static void unmount_all(const Client *c) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        for (size_t i = table->n; i-- > 0;)
                if (is_beneath_targets(&table->mounts[i]) && table->mounts[i].device != c->secret &&
                    table->mounts[i].id != c->others_id && table->mounts[i].id != c->bound_id)
                        (void) umount2(table->mounts[i].target, MNT_DETACH);
}

static void end_sessions(Client *c) {
        for (size_t i = 0; i < SESSIONS; i++)
                session_end(&c->sessions[i]);
        abandon_message(c);
        WAIT_FOR(count_children(c->worker->pid, CHILDREN_ALL) <= 1); /* the spare child is left */
        check(c);
        check_reports();
        must(truncate(LOG, 0));
}

/* Sessions last longer on a busy machine, so that the worker has time for some of their calls. */
static void begin_sessions(Client *c) {
        g_autoptr(sd_bus) bus = worker_dial(c->worker);
        gint64 start = g_get_monotonic_time();

        g_assert_cmpint(call_verify_on(bus, OUTSIDE, NULL), <, 0);
        c->session_usec = MAX(SESSION_MSEC * 1000, PATIENCE * (guint32) (g_get_monotonic_time() - start));
        c->phase_end = c->n_sessions + c->phase;
}

/* Asks for a disk of the host in a way that has no other mistake. The host mounts one after the child has
 * looked, while the child waits for the answer to Plan. */
static void ask_for_disk(Client *c, const Disk *d) {
        const Chance *chance = &c->chance;
        bool late = d == &c->disks[DISK_LATE];
        Arguments a = volume_at(d->path, "ext4", TEST_TARGETS "/a", .hold_plan = late,
                                .read_only = percent(chance, 50), .blind = percent(chance, 50));
        Operation *o = late ? operation_start_held(c->worker, WORKER_MOUNT, &a)
                            : operation_start(c->worker, WORKER_MOUNT, &a);

        o->arguments.hold_plan = false;
        if (late)
                must(mount(d->path, LATE, "ext4", percent(chance, 50) ? MS_RDONLY : 0, NULL));
        if (d->mounted && percent(chance, 50)) {
                o->arguments.share = d->mounted;
                o->arguments.share_id = mount_id_of(d->mounted);
        }
        if (late)
                operation_answer(o);
        g_auto(Answer) answer = operation_finish(o);
        if (g_str_equal(answer.kind, "ok"))
                g_error("The host's disk, %s, was mounted.", d->name);
        if (late)
                must(umount2(LATE, 0));
        check(c);
        c->n_asked++;
}

static void ask_for_disks(Client *c) {
        const char *late = c->disks[DISK_LATE].path;

        /* Nothing but the host's mount is in the way. */
        assert_ok(mount_with(c->worker, late, "ext4", TEST_TARGETS "/a"));
        must(umount2(TEST_TARGETS "/a", 0));
        for (size_t i = 0; i < ASKED_ROUNDS * N_DISKS; i++)
                ask_for_disk(c, &c->disks[i % N_DISKS]);
}

/* A new mount is not adopted. All others go before, as one of the same disk may be read-only. */
static void begin_phase(Client *c) {
        end_sessions(c);
        begin_sessions(c);
        c->adopts = !c->adopts;
        c->others_id = c->bound_id = 0;
        if (c->adopts)
                return;
        unmount_all(c);
        mount_others(c);
        ask_for_disks(c);
}

/* The worker has to do each verb at least once, and to refuse each at least once. */
static bool has_tried_all(const Client *c) {
        for (size_t i = 0; i < N_VERBS; i++)
                if (c->verbs[i].n_done == 0 || (i != WATCH && c->verbs[i].n_refused == 0))
                        return false;
        return c->n_giants_answered > 0 && c->n_unfinished > 0 && c->n_talks > 0 && c->n_asked > 0 && c->memory > 0 &&
               c->n_sessions >= 2 * c->phase;
}

static bool goes_on(const Client *c, gint64 end) {
        gint64 now = g_get_monotonic_time();

        return now < end || (!has_tried_all(c) && now < end + OVERTIME_SEC * G_USEC_PER_SEC);
}

static void run_sessions(Client *c, int seconds) {
        gint64 end = g_get_monotonic_time() + (gint64) seconds * G_USEC_PER_SEC;

        c->phase = seconds > SECONDS ? LONG_PHASE : PHASE;
        begin_sessions(c);
        while (goes_on(c, end)) {
                bool busy = false;

                for (size_t i = 0; i < SESSIONS; i++) {
                        Session *s = &c->sessions[i];

                        if (s->bus)
                                busy = session_step(s) || busy;
                        else {
                                note_memory_of_children(c);
                                if (c->n_sessions >= c->phase_end && !c->giant)
                                        begin_phase(c);
                                session_begin(c, s);
                        }
                }
                if (!busy)
                        g_usleep(1000);
                if (c->unfinished >= 0 && g_get_monotonic_time() > c->unfinished_deadline)
                        abandon_message(c);
                if (c->n_sessions < c->n_checked + CHECK_EVERY)
                        continue;
                c->n_checked = c->n_sessions;
                check(c);
                if (count_mounts() >= MOUNTS_MAX)
                        unmount_all(c);
                if (c->n_sessions >= c->phase && c->memory == 0)
                        c->memory = program_memory(c->worker->pid);
        }
        end_sessions(c);
}

static void check_mixture(const Client *c) {
        for (size_t i = 0; i < N_VERBS; i++)
                g_print("# %s: %u done, %u refused\n", verb_names[i], c->verbs[i].n_done, c->verbs[i].n_refused);
        g_print("# %u sessions, %u questions, memory of the worker %li KiB, then %li KiB, of its children %li KiB at most\n",
                c->n_sessions, c->n_questions, c->memory, program_memory(c->worker->pid), c->memory_of_children);
        g_print("# %u giants, %u of them answered, memory of the children %li KiB with one, %u messages without an end, %u talks, %u calls for the host's disks\n",
                c->n_giants, c->n_giants_answered, c->memory_with_giant, c->n_unfinished, c->n_talks, c->n_asked);
        (void) fflush(stdout);
        g_assert_true(has_tried_all(c));
        g_assert_cmpint(program_memory(c->worker->pid), <, c->memory + GROWTH_MAX_KIB);
}

int main(int argc, char **argv) {
        static const char *const environment[] = {
                "ASAN_OPTIONS=handle_abort=1:quarantine_size_mb=4:log_path=" TEST_DIR "/report",
                "UBSAN_OPTIONS=log_path=" TEST_DIR "/report", NULL
        };
        static Client c;
        int seconds = SECONDS, seed = -1;
        const GOptionEntry entries[] = {
                { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "How long (10)", "N" },
                { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "What decides on what is said (random)", "N" },
                { NULL },
        };
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_autoptr(GError) error = NULL;

        g_option_context_add_main_entries(context, entries, NULL);
        if (!g_option_context_parse(context, &argc, &argv, &error))
                g_error("%s", error->message);
        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;
        if (seed < 0)
                seed = (int) (g_random_int() >> 1);
        g_print("1..1\n# to repeat: meson test -C build-asan hostile-client --test-args='--seed %i --seconds %i'\n",
                seed, seconds);
        c.unfinished = -1;
        c.chance.random = g_rand_new_with_seed((guint32) seed);
        make_host(&c);
        make_strangers(&c);
        make_sources(&c);
        c.outside = describe_outside();
        c.worker = worker_launch(NULL, &(Launch){ .environment = environment, .log = LOG });

        run_sessions(&c, seconds);
        check_mixture(&c);
        worker_stop(c.worker);
        check_reports();
        g_rand_free(c.chance.random);
        g_print("ok 1 - nothing that the client may not touch was touched\n");
        return 0;
}
