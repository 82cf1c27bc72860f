/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "label/selinux.h"
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "mount/overlap.h"
#include "worker/operations.h"

/* A look reads the whole mount table, so a burst of changes gets one look. */
enum { LOOK_DELAY_USEC = 100 * 1000, LOOK_INTERVAL_USEC = 500 * 1000, NODE_INTERVAL_USEC = 1000 * 1000 };

/* An expected mount without a note is gone: a mount that looks the same is another one. */
#define NOTE_GONE UINT64_MAX

typedef struct Watch {
        Child *child;
        sd_event_source *source;
        sd_event_source *soon; /* the next look */
        sd_event_source *node_source;
        Node node;            /* as last sent to selvold */
        uint64_t looked_usec; /* time of the last look, CLOCK_MONOTONIC */
        int fd;               /* /proc/self/mountinfo, polled */
        MountFact *mounts;    /* sorted by id, as last sent to selvold */
        size_t n_mounts;
        char **former;  /* targets of noted mounts that are no longer beneath the roots */
        pid_t *orphans; /* children that selvold was told of */
        size_t n_orphans;
} Watch;

struct Watch *watch_free(struct Watch *w) {
        if (w) {
                sd_event_source_disable_unref(w->source);
                sd_event_source_disable_unref(w->soon);
                sd_event_source_disable_unref(w->node_source);
                node_done(&w->node);
                fd_close(w->fd);
                mount_facts_free(w->mounts, w->n_mounts);
                strv_free(w->former);
                free(w->orphans);
                free(w);
        }
        return NULL;
}

DEFINE_CLEANUP_FUNC(struct Watch *, watch_free);

static int compare_mount_ids(const void *a, const void *b) {
        const MountFact *x = a, *y = b;

        return x->mount_id < y->mount_id ? -1 : x->mount_id > y->mount_id;
}

/* Sets the volume of a mount that the worker has noted. */
static int recognize_mount(MountFact *fact) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        int r;

        r = mount_note_find(fact->mount_id, fact->device, fact->target, &note);
        if (r <= 0)
                return r;
        fact->note_id = note.unique_id;
        fact->note_adopted = note.adopted;
        return free_and_strdup(&fact->volume, note.volume);
}

static int look_at_mounts(const Watch *w, MountFact **ret, size_t *ret_n) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        MountFact *mounts;
        size_t n;
        int r;

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_beneath(table, w->child->settings->target_roots, w->former, &mounts, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = recognize_mount(&mounts[i]);
        if (r >= 0)
                r = beside_find(table, w->child->settings->target_roots, w->mounts, w->n_mounts, mounts, n);
        if (r < 0) {
                mount_facts_free(mounts, n);
                return r;
        }
        if (n > 1)
                qsort(mounts, n, sizeof(MountFact), compare_mount_ids);
        *ret = mounts;
        *ret_n = n;
        return 0;
}

/* The kernel reuses the id of a mount that is gone. An adopted mount gets its note while it is mounted. */
static bool is_same_fact(const MountFact *a, const MountFact *b) {
        return (a->note_id == 0 || a->note_id == b->note_id) && streq(a->target, b->target) &&
               streq(a->device, b->device) && streq(a->source, b->source) && streq(a->fs_type, b->fs_type);
}

static bool is_unchanged(const MountFact *a, const MountFact *b) {
        return is_same_fact(a, b) && streq(a->context, b->context) && a->seclabel == b->seclabel &&
               a->read_only == b->read_only && a->beside == b->beside &&
               streq(strempty(a->covered_by), strempty(b->covered_by)) &&
               streq(strempty(a->also_at), strempty(b->also_at));
}

/* Compares both lists, which are sorted by id. The lists of *changes have room for all; their strings belong
 * to w and new. */
static void find_changes(const Watch *w, const MountFact *new, size_t n_new, MountChanges *changes) {
        size_t i = 0, k = 0;

        while (i < w->n_mounts || k < n_new) {
                const MountFact *o = i < w->n_mounts ? &w->mounts[i] : NULL, *n = k < n_new ? &new[k] : NULL;
                int order = !o ? 1 : !n ? -1 : compare_mount_ids(o, n);

                if (order < 0 || (order == 0 && !is_same_fact(o, n)))
                        changes->went[changes->n_went++] = (MountIdentity){ .id = o->mount_id, .device = o->device };
                if (order > 0 || (order == 0 && !is_unchanged(o, n)))
                        changes->came[changes->n_came++] = *n;
                i += order <= 0;
                k += order >= 0;
        }
}

static int send_watch_signal(const Watch *w, const char *member, const MessageType *type, const void *value) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_signal(w->child->bus, &m, WORKER_PATH, WORKER_INTERFACE, member);
        if (r < 0)
                return r;
        r = message_append(m, type, value);
        if (r < 0)
                return r;
        r = sd_bus_send(w->child->bus, m, NULL);
        return r < 0 ? r : 0;
}

static int tell_changes(Watch *w, const MountFact *new, size_t n_new) {
        _cleanup_free_ MountFact *came = calloc(n_new + 1, sizeof(*came));
        _cleanup_free_ MountIdentity *went = calloc(w->n_mounts + 1, sizeof(*went));
        MountChanges changes = { .came = came, .went = went };

        if (!came || !went)
                return -ENOMEM;
        find_changes(w, new, n_new, &changes);
        if (changes.n_came == 0 && changes.n_went == 0)
                return 0;
        log_debug("%zu mounts have come or changed, %zu have gone.", changes.n_came, changes.n_went);
        return send_watch_signal(w, WORKER_CHANGED, &mount_changes_type, &changes);
}

static size_t count_gone(const Watch *w, const MountFact *new, size_t n_new) {
        size_t n = 0;

        for (size_t i = 0, k = 0; i < w->n_mounts; i++) {
                while (k < n_new && compare_mount_ids(&new[k], &w->mounts[i]) < 0)
                        k++;
                n += k >= n_new || new[k].mount_id != w->mounts[i].mount_id;
        }
        return n;
}

/* Removes the notes of mounts that are gone: the kernel may give a foreign mount at the target the same id,
 * and a tmpfs the same device. */
static void remove_notes(const Watch *w, const MountFact *new, size_t n_new) {
        for (size_t i = 0, k = 0; i < w->n_mounts; i++) {
                const MountFact *old = &w->mounts[i];

                while (k < n_new && compare_mount_ids(&new[k], old) < 0)
                        k++;
                if (k >= n_new || compare_mount_ids(&new[k], old) > 0 || new[k].note_id != old->note_id)
                        mount_note_remove(old->mount_id, old->note_id);
        }
}

static int look_soon(Watch *w);

/* The table may change during a read, so a mount that one look misses is reported as gone only if a second
 * look misses it, too. *ret_n is SIZE_MAX if the looks don't agree. */
static int look_surely(const Watch *w, MountFact **ret, size_t *ret_n) {
        MountFact *mounts;
        size_t n, gone;
        int r;

        r = look_at_mounts(w, &mounts, &n);
        if (r < 0)
                return r;
        gone = count_gone(w, mounts, n);
        if (gone > 0) {
                mount_facts_free(mounts, n);
                r = look_at_mounts(w, &mounts, &n);
                if (r < 0)
                        return r;
        }
        if (count_gone(w, mounts, n) > gone) {
                mounts = mount_facts_free(mounts, n);
                n = SIZE_MAX;
        }
        *ret = mounts;
        *ret_n = n;
        return 0;
}

static int look_and_tell(Watch *w) {
        MountFact *mounts = NULL;
        size_t n = 0;
        int r;

        r = look_surely(w, &mounts, &n);
        if (r >= 0 && n == SIZE_MAX)
                return look_soon(w);
        if (r >= 0) {
                remove_notes(w, mounts, n);
                r = tell_changes(w, mounts, n);
        }
        if (r < 0) {
                /* selvold sees the end of the connection and starts again with a full look. */
                mount_facts_free(mounts, n);
                log_error_errno(r, "Failed to watch the mount table: %m");
                return sd_event_exit(w->child->event, r);
        }

        mount_facts_free(w->mounts, w->n_mounts);
        w->mounts = mounts;
        w->n_mounts = n;
        w->looked_usec = now_monotonic_usec();
        return 0;
}

static int on_soon(sd_event_source *source, uint64_t usec, void *userdata) {
        Watch *w = userdata;

        w->soon = sd_event_source_disable_unref(w->soon);
        return look_and_tell(w);
}

static int look_soon(Watch *w) {
        uint64_t at = now_monotonic_usec() + LOOK_DELAY_USEC;

        if (w->soon)
                return 0;
        if (at < w->looked_usec + LOOK_INTERVAL_USEC)
                at = w->looked_usec + LOOK_INTERVAL_USEC;
        return sd_event_add_time(w->child->event, &w->soon, CLOCK_MONOTONIC, at, 1, on_soon, w);
}

static int on_change(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Watch *w = userdata;
        int r;

        r = look_soon(w);
        return r < 0 ? sd_event_exit(w->child->event, r) : 0;
}

static bool node_equal(const Node *a, const Node *b) {
        return a->selinux == b->selinux && a->enforcing == b->enforcing && a->mls == b->mls &&
               streq_ptr(a->file_context, b->file_context);
}

static int tell_node(Watch *w) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        r = selinux_read_node(&node);
        if (r < 0 || node_equal(&node, &w->node))
                return r;
        r = send_watch_signal(w, WORKER_NODE, &node_type, &node);
        if (r < 0)
                return r;
        node_done(&w->node);
        w->node = TAKE_STRUCT(node);
        return 0;
}

static int tell_orphan_gone(Child *c) {
        return sd_bus_emit_signal(c->bus, WORKER_PATH, WORKER_INTERFACE, WORKER_ORPHAN, NULL);
}

/* The end of a child that helpers have outlived, such as mount.nfs, wakes nobody. */
static int check_orphans(Watch *w) {
        for (size_t i = 0; i < w->n_orphans; i++)
                if (!children_has(w->child->children, w->orphans[i])) {
                        w->n_orphans = 0;
                        return tell_orphan_gone(w->child);
                }
        return 0;
}

/* A timer: the kernel reports setenforce(8) only through a netlink socket, of a family that the unit doesn't
 * allow. */
static int on_second(sd_event_source *source, uint64_t usec, void *userdata) {
        Watch *w = userdata;
        int r;

        r = tell_node(w);
        if (r < 0)
                log_error_errno(r, "Failed to look at SELinux: %m");
        r = check_orphans(w);
        if (r < 0)
                log_error_errno(r, "Failed to look at the children: %m");
        r = sd_event_source_set_time_relative(source, NODE_INTERVAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Only adds targets of noted mounts, so the list can't grow beyond the notes, whatever selvold expects. */
static int add_former(Watch *w, const char *target) {
        return strv_contains(w->former, target) ? 0 : strv_extend(&w->former, target);
}

static bool has_noted(const Watch *w, const MountNote *note) {
        for (size_t i = 0; i < w->n_mounts; i++)
                if (w->mounts[i].mount_id == note->id && w->mounts[i].note_id == note->unique_id)
                        return true;
        return false;
}

/* Lists the notes whose mount is gone. The strings of *ret are the caller's. */
static int find_left(const Watch *w, const MountNote *notes, size_t n_notes, Watched *ret) {
        ret->left = calloc(n_notes + 1, sizeof(MountIdentity));
        if (!ret->left)
                return -ENOMEM;
        for (size_t i = 0; i < n_notes; i++) {
                char *device;

                if (has_noted(w, &notes[i]))
                        continue;
                device = strdup(notes[i].device);
                if (!device)
                        return -ENOMEM;
                ret->left[ret->n_left++] = (MountIdentity){ .id = notes[i].id, .device = device };
        }
        return 0;
}

/* Reads the notes before the mount table, so a published mount that has a note is in the table. */
static int first_look(Watch *w, Watched *ret) {
        MountNote *notes = NULL;
        size_t n_notes = 0;
        int r;

        r = mount_notes_read(&notes, &n_notes);
        for (size_t i = 0; r >= 0 && i < n_notes; i++) {
                const MountNote *n = &notes[i];

                if (roots_contain(w->child->settings->target_roots, n->target))
                        continue;
                r = mount_note_find(n->id, n->device, n->target, NULL);
                if (r > 0)
                        r = add_former(w, n->target);
        }
        if (r >= 0)
                r = look_at_mounts(w, &w->mounts, &w->n_mounts);
        if (r >= 0)
                r = find_left(w, notes, n_notes, ret);
        mount_notes_free(notes, n_notes);
        return r;
}

static int on_child_gone(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Child *c = userdata;

        (void) sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return tell_orphan_gone(c);
}

/* Returns 1; 0 if the child is gone already, with its helpers; or a negative errno. The descriptor lives as
 * long as the process. */
static int watch_orphan(Child *c, pid_t pid) {
        int fd = pidfd_open(pid, 0), r;

        /* The id of a process group is one whose process may have gone; Linux before 6.15 says EINVAL. */
        if (fd < 0 && errno != ESRCH && errno != EINVAL)
                return -errno;
        /* Another process may have got the pid before pidfd_open(2). */
        if (!children_has(c->children, pid)) {
                fd_close(fd);
                return 0;
        }
        if (fd < 0)
                return 1;
        r = sd_event_add_io(c->event, NULL, fd, EPOLLIN, on_child_gone, c);
        return r < 0 ? r : 1;
}

/* Another child may take the entry of an orphan that is gone, so the strings are copied before watch_orphan()
 * checks that the orphan is still there. */
static int watch_orphans(Child *c, Watched *watched) {
        OrphanInfo seen;
        size_t i = 0;

        while (children_next_orphan(c->children, child_peer_pid(c), &i, &seen)) {
                _cleanup_(orphan_info_done) OrphanInfo o = {
                        .pid = seen.pid,
                        .operation = strdup(seen.operation),
                        .volume = strdup(seen.volume),
                        .target = strdup(seen.target),
                        .source = strdup(seen.source),
                };
                OrphanInfo *grown;
                int r;

                if (!o.operation || !o.volume || !o.target || !o.source)
                        return -ENOMEM;
                r = watch_orphan(c, o.pid);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                grown = reallocarray(watched->orphans, watched->n_orphans + 1, sizeof(o));
                if (!grown)
                        return -ENOMEM;
                watched->orphans = grown;
                grown[watched->n_orphans++] = TAKE_STRUCT(o);
        }
        return 0;
}

int watch_begin(Child *c, sd_bus_message *reply) {
        _cleanup_(watched_done) Watched watched = { 0 };
        _cleanup_(watch_freep) Watch *w = NULL;
        Watched all;
        int r;

        /* Looks for children first: a child that is gone by then has published everything before the table is
         * read. */
        r = watch_orphans(c, &watched);
        if (r < 0)
                return r;
        c->watch = watch_free(c->watch);
        w = calloc(1, sizeof(*w));
        if (!w)
                return -ENOMEM;
        w->child = c;
        w->orphans = calloc(watched.n_orphans + 1, sizeof(pid_t));
        if (!w->orphans)
                return -ENOMEM;
        for (; w->n_orphans < watched.n_orphans; w->n_orphans++)
                w->orphans[w->n_orphans] = watched.orphans[w->n_orphans].pid;
        /* Polled before the first look, so no change in between is missed. */
        w->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        if (w->fd < 0)
                return -errno;
        r = sd_event_add_io(c->event, &w->source, w->fd, EPOLLPRI, on_change, w);
        if (r < 0)
                return r;
        r = selinux_read_node(&w->node);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(c->event, &w->node_source, CLOCK_MONOTONIC, NODE_INTERVAL_USEC, 0, on_second,
                                       w);
        if (r < 0)
                return r;
        r = first_look(w, &watched);
        if (r < 0)
                return r;
        c->watch = TAKE_PTR(w);
        all = watched;
        all.settings = c->settings->digest;
        all.node = c->watch->node;
        all.mounts = c->watch->mounts;
        all.n_mounts = c->watch->n_mounts;
        return watched_append(reply, &all);
}

/* Takes the fact over, unless a look has seen the mount already. An earlier mount with the same id is
 * gone. */
static int add_expected(Watch *w, MountFact *fact) {
        MountFact *grown;
        size_t i = w->n_mounts;

        while (i > 0 && w->mounts[i - 1].mount_id >= fact->mount_id)
                i--;
        if (i < w->n_mounts && w->mounts[i].mount_id == fact->mount_id) {
                if (fact->note_id != NOTE_GONE && is_same_fact(&w->mounts[i], fact))
                        return 0;
                mount_fact_done(&w->mounts[i]);
        } else {
                grown = reallocarray(w->mounts, w->n_mounts + 1, sizeof(MountFact));
                if (!grown)
                        return -ENOMEM;
                w->mounts = grown;
                memmove(w->mounts + i + 1, w->mounts + i, (w->n_mounts - i) * sizeof(MountFact));
                w->n_mounts++;
        }
        w->mounts[i] = TAKE_STRUCT(*fact);
        return 0;
}

int watch_expect(Child *c, MountFact *fact, Failure *f) {
        Watch *w = c->watch;
        int r;

        if (!w)
                return failure_set(f, FAILURE_NOT_SUPPORTED, "Nothing is watched on this connection.");
        r = recognize_mount(fact);
        if (r < 0)
                return r;
        if (fact->note_id == 0)
                fact->note_id = NOTE_GONE;
        else if (!roots_contain(c->settings->target_roots, fact->target)) {
                /* Made by a child with other roots */
                r = add_former(w, fact->target);
                if (r < 0)
                        return r;
        }
        r = add_expected(w, fact);
        if (r < 0)
                return r;
        r = look_soon(w);
        return r < 0 ? r : 0;
}
