/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stands in for selvol-worker in the bus ring: it has the same protocol (src/wire), and makes the same
 * decision about files (src/plan/plan-files.h), but its mount table is the text DIRECTORY/mounts, and its
 * node has SELinux on unless DIRECTORY/node says otherwise. The last part of a source's name asks for a
 * behavior:
 *
 *   hang-STEP, held-STEP, die-STEP
 *                      waits for ever, waits until there is DIRECTORY/go, or ends, at a step, which it writes
 *                      to DIRECTORY/at: observe (before the question Plan), replaced (after the answer, when
 *                      another program's mount is gone), mount (after the answer), map, publishing (after the
 *                      answer to Ready), published (after the mount), unmount, walk
 *   replies-early      waits for no answer to Ready
 *   stuck-STEP         can't be ended at that step, and goes on when there is DIRECTORY/go: publishes,
 *                      unmounts, or ends; until then DIRECTORY/orphan-PID tells others of it
 *   drop-context, publish-fails
 *                      fails so
 *   foreign, exchanged
 *                      is mounted elsewhere on the host; has its target replaced at the last moment
 *   busy               can't be unmounted
 *   still-open         stays in use by a process in another mount namespace when it is unmounted
 *   xfs, vfat, btrfs, ext3
 *                      holds such a file system; ext3 is mounted as ext4 if that is asked for
 *   noseclabel         shows no labels, though its type does
 *   nonsense           asks Plan with rubbish
 *   nomark             keeps no mark
 *   mark-fails         its mark can't be written
 *   walk-held          walks until there is DIRECTORY/go
 *   walk-crawl, walk-hang
 *                      walks for ever, or stops in the walk without an end
 *   walk-die           ends in the middle of a walk
 *   walk-fails         can't change some entries
 *   walk-unsupported   can't be relabeled
 *   walk-nonsense, walk-back, walk-rubbish
 *                      sends impossible values of a walk: during the walk, or in the end
 *   mismatch, mismatch-stays
 *                      has wrong labels further down; its mark can't be reset
 *   links, links-nomark
 *                      has hard links, which it does not change; keeps no mark
 *   restless           has directories that change until the end
 *   misowned           has wrong groups further down, also where groups are to be swapped
 *   noidmap            can't be idmapped
 *   part               is a file system of which each mount has a directory of its own
 *
 * Sources with the same last part are one device; a source without a '/' is a tmpfs, and one with ":/" is
 * NFS, which the mount table calls nfs4. A walk visits 300 entries, and changes 250. NAME is the last part of
 * a source in these files of DIRECTORY:
 *
 *   fingerprint-NAME   the fingerprint, by which selvold believes a mark or not; without it, all marks are
 *                      believed
 *   identity-NAME      the identity of the file system; without it, one that follows from NAME
 *   link-NAME          the own link of the device
 *   options-NAME       the options, separated by commas, that a mount of the source by others shows
 *   image-NAME         the image that the source is; without it, the source is a device
 *   mark-NAME, root-NAME, group-NAME
 *                      the mark of the volume, the label of its root, and the group and mode of its root
 *   staged             the last source that was staged, and its options
 *   walks              a line for each walk that changes files
 *   then               a directory; if it exists, a walk copies selvold's state to it, as it is on disk then
 *   other-version      the worker speaks another version of the protocol
 *   hang-watch         the request for the watch gets no answer; at has "watch" then
 *   unseen             the watch removes this when it has looked
 *   hidden             no target leads to the mount there
 *   linger             children that have replied, or have to wait, end only when this is gone
 *
 * As in the real worker, one child serves one connection. The parent ends it when the peer hangs up, and the
 * peer sees the end of the connection only when the child has gone. */

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "basic/time-util.h"
#include "fake-node.h"
#include "model/files.h"
#include "plan/plan-files.h"
#include "wire/messages.h"
#include "wire/names.h"
#include "wire/peer.h"
#include "wire/protocol.h"

enum { CONNECTIONS_MAX = 256, LOOK_INTERVAL_USEC = 50000, FIRST_ID = 1000, IDS = 1024 };

static sd_bus *peer;
static bool served;
static Observed watched; /* the mounts of the last look */
static Node watched_node;
static bool watching;
static OrphanInfo *watched_orphans;
static size_t n_watched_orphans;
static OrphanInfo self; /* what this child works at */
static bool outlives;   /* in a process that the parent does not know */

static _Noreturn void hang(void) {
        for (;;)
                pause();
}

static void tell_at(WorkerAt at) {
        check(sd_bus_emit_signal(peer, WORKER_PATH, WORKER_INTERFACE, WORKER_AT, "s", worker_at_to_string(at)));
}

static pid_t peer_pid(void) {
        struct ucred credentials;
        socklen_t n = sizeof(credentials);

        check(getsockopt(sd_bus_get_fd(peer), SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0 ? -errno : 0);
        return credentials.pid;
}

static void begin_call(const char *operation, const CallOrigin *origin, const char *target) {
        self = (OrphanInfo){ .operation = FORMAT("%s", operation),
                             .volume = FORMAT("%s", origin->volume),
                             .target = FORMAT("%s", target),
                             .source = FORMAT("%s", origin->source) };
}

static char *orphan_file(pid_t pid) {
        return FORMAT("%s/orphan-%i", directory, (int) pid);
}

static _Noreturn void end_orphan(void) {
        (void) unlink(orphan_file(getpid()));
        _exit(0);
}

static const char *or_dash(const char *s) {
        return isempty(s) ? "-" : s;
}

/* Goes on in a process that the parent does not know. */
static void outlive(void) {
        pid_t of = peer_pid();

        if (fork() > 0)
                hang();
        outlives = true;
        write_text(orphan_file(getpid()), FORMAT("%i %s %s %s %s", (int) of, self.operation, or_dash(self.volume),
                                                 or_dash(self.target), or_dash(self.source)));
        for (unsigned i = 0; access(FORMAT("%s/go", directory), F_OK) < 0; i++) {
                if (i == 3000 || access(directory, F_OK) < 0)
                        _exit(1);
                (void) usleep(10000);
        }
}

static void step(const char *source, const char *where) {
        check(sd_bus_flush(peer));
        if (behaves(source, FORMAT("stuck-%s", where))) {
                outlive();
                if (!streq(where, "publishing") && !streq(where, "unmount"))
                        end_orphan();
        }
        if (behaves(source, FORMAT("hang-%s", where))) {
                write_text(FORMAT("%s/at", directory), where);
                hang();
        }
        if (behaves(source, FORMAT("held-%s", where))) {
                write_text(FORMAT("%s/at", directory), where);
                while (access(FORMAT("%s/go", directory), F_OK) < 0)
                        (void) usleep(5000);
        }
        if (behaves(source, FORMAT("die-%s", where)))
                _exit(1);
}

static void write_mark(const char *source, Mark *mark) {
        if (keeps_no_mark(source)) {
                *mark = (Mark){ .found = MARK_UNSUPPORTED };
                return;
        }
        mark->found = MARK_PRESENT;
        write_text(volume_file("mark", source), check_memory(mark_format(mark)));
}

static int change_mark(const char *source, Mark *mark, MarkChange change, Failure *f) {
        if (change != MARK_KEEP && behaves(source, "mark-fails"))
                return failure_set(f, FAILURE_MOUNT_FAILED, "The mark can't be written.");
        if (mark_apply(mark, change))
                write_mark(source, mark);
        return 0;
}

/* --- walks --- */

static void send_progress(uint64_t done, uint64_t changed, uint64_t total) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
        const WalkCounts counts = { .done = done, .changed = changed };

        check(sd_bus_message_new_signal(peer, &signal, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS));
        check(walk_counts_append(signal, &counts));
        check(sd_bus_message_append(signal, "t", total));
        check(sd_bus_send(peer, signal, NULL));
        check(sd_bus_flush(peer));
}

static void walk(const char *source) {
        send_progress(0, 0, ENTRIES);
        step(source, "walk");
        while (behaves(source, "walk-held") && access(FORMAT("%s/go", directory), F_OK) < 0) {
                (void) usleep(20000);
                send_progress(10, 0, ENTRIES);
        }
        if (behaves(source, "walk-hang") || behaves(source, "walk-die"))
                send_progress(10, 0, ENTRIES);
        if (behaves(source, "walk-nonsense"))
                send_progress(UINT64_MAX, 0, ENTRIES);
        if (behaves(source, "walk-back"))
                send_progress(1000, 0, ENTRIES);
        if (behaves(source, "walk-die"))
                _exit(1);
        if (behaves(source, "walk-hang") || behaves(source, "walk-nonsense"))
                hang();
        for (uint64_t done = 1; behaves(source, "walk-crawl"); done++) {
                send_progress(done, 0, 1000000);
                (void) usleep(50000);
        }
}

static void add_issue(WalkResult *w, const char *path, const char *text) {
        w->issues = check_memory(reallocarray(w->issues, w->n_issues + 1, sizeof(WalkIssue)));
        w->issues[w->n_issues++] = (WalkIssue){ .path = FORMAT("%s", path), .text = FORMAT("%s", text) };
}

static WalkResult walk_and_change(const char *source) {
        bool links = behaves(source, "links") || behaves(source, "links-nomark");
        WalkResult w = { .counts = { .done = ENTRIES,
                                     .changed = 250,
                                     .failed = behaves(source, "walk-fails") ? 20 : 0,
                                     .skipped = links ? 7 : 0,
                                     .modified = behaves(source, "restless") ? 3 : 0 } };

        walk(source);
        for (unsigned i = 0; i < WALK_ISSUES_MAX && w.counts.failed > 0; i++)
                add_issue(&w, FORMAT("dir/file-%u\\x0a", i), "immutable: chattr -i it");
        if (behaves(source, "walk-rubbish"))
                add_issue(&w, "a\033[31m", "b");
        check(links ? strv_extend(&w.submounts, "lost+found") : 0);
        return w;
}

/* --- Mount, Adopt and Change --- */

typedef struct Operation {
        const char *volume;
        PlanQuestion question;
        PlanAnswer answer;
        MountFact mount;
        Swap swap;
        OperationResult result;
} Operation;

static sd_bus_message *ask(sd_bus_message *question) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *answer;

        if (sd_bus_call(peer, question, UINT64_MAX, &error, &answer) < 0)
                _exit(1);
        return answer;
}

static sd_bus_message *new_question(const char *name) {
        sd_bus_message *m;

        check(sd_bus_message_new_method_call(peer, &m, NULL, DECISION_PATH, DECISION_INTERFACE, name));
        return m;
}

static _Noreturn void leave(void) {
        while (access(FORMAT("%s/linger", directory), F_OK) == 0)
                (void) usleep(5000);
        _exit(0);
}

static void ask_plan_with(Operation *o, const PlanQuestion *question) {
        sd_bus_message *m = new_question(DECISION_PLAN);

        check(plan_question_append(m, question));
        check(plan_answer_read(ask(m), &o->answer));
}

static void ask_plan(Operation *o) {
        ask_plan_with(o, &o->question);
        if (o->answer.step != PLAN_GO)
                leave();
}

/* As the real worker does, looks for the mounts of a source in use only when selvold needs them. */
static void ask_plan_unlooked(Operation *o) {
        PlanQuestion unlooked = o->question;

        if (o->question.observed.n_mounts > 0) {
                unlooked.observed.mounts_unknown = true;
                unlooked.observed.n_mounts = 0;
                ask_plan_with(o, &unlooked);
                if (o->answer.step == PLAN_GO)
                        return;
                if (o->answer.step != PLAN_LOOK)
                        leave();
        }
        ask_plan(o);
}

static MountIdentity identity_of(const MountFact *m) {
        return (MountIdentity){ .id = m->mount_id, .device = m->device };
}

static void ask_ready(const Operation *o) {
        ReadyQuestion note = { .identity = identity_of(&o->mount),
                               .file_system = o->result.outcome.identity,
                               .fingerprint = o->result.fingerprint,
                               .gid = o->result.files.gid,
                               .disk_gid = o->result.files.disk_gid,
                               .mark = o->result.mark };
        sd_bus_message *m = new_question(DECISION_READY);

        check(ready_question_append(m, &note));
        if (behaves(o->mount.source, "replies-early"))
                check(sd_bus_send(peer, m, NULL));
        else
                (void) ask(m);
}

/* The link of the recorded file system leads to its device still, as DIRECTORY/identity-LINK says. */
static char *find_elsewhere(const Identity *recorded, const char *link, const Identity *found) {
        char *there = isempty(link) ? NULL : read_text(volume_file("identity", link));

        return identity_differs(recorded, found) && there && streq(there, recorded->text) ? FORMAT("%s", link) : NULL;
}

/* Fills in the question Plan about a source, or about the mount that is there. */
static void observe(Operation *o, const char *source, const char *asked, const MountFact *mounted) {
        const char *type = mounted ? mounted->fs_type : type_of(source);
        Observed table = read_table(), *seen = &o->question.observed;
        const char *device = mounted ? mounted->device : device_of(source, 0);

        step(source, "observe");
        o->question.node = read_node();
        if (behaves(source, "nonsense"))
                o->question.node.file_context = FORMAT("rubbish");
        o->question.seclabel = mounted ? mounted->seclabel : -1;
        o->question.mounted = mounted != NULL;
        if (mounted) {
                o->mount = *mounted;
                o->swap = read_swap(mounted);
                o->question.outcome = outcome_of(mounted, &o->swap);
        }
        if (!mounted && !isempty(asked) && streq(fs_type_family(asked), fs_type_family(type)))
                type = asked;
        seen->fs_type = FORMAT("%s", type);
        seen->identity = read_identity(source);
        seen->link = read_text(volume_file("link", source));
        if (source[0] == '/') {
                char *image = read_text(volume_file("image", source));

                seen->device = image ? NULL : FORMAT("%s", device);
                seen->superblock = image ? FORMAT("image:%s", image) : FORMAT("device:%s", device);
        }
        for (size_t i = 0; i < table.n_mounts; i++)
                if (streq(table.mounts[i].device, device))
                        add_fact(seen, &table.mounts[i]);
}

static int share(Operation *o, Failure *f) {
        const PlanAnswer *a = &o->answer;
        Observed table = read_table();
        const MountFact *shared = find_mount(&table, strempty(a->share_target));

        if (isempty(a->share_target))
                return 0;
        if (!shared || shared->mount_id != a->share_id)
                return failure_set(f, FAILURE_MOUNT_FAILED, "The mount at %s is gone.", a->share_target);
        o->mount.fs_type = FORMAT("%s", shared->fs_type);
        o->swap = read_swap(shared);
        return 0;
}

/* Mounts where nobody sees it. If the mount shows labels, or none, against the plan, asks selvold again. */
static int stage(Operation *o, const char *source, const char *target, Failure *f) {
        const PlanAnswer *a = &o->answer;
        const char *type = o->question.observed.fs_type;
        int r;

        o->mount = (MountFact){ .target = FORMAT("%s", target),
                                .source = FORMAT("%s", source),
                                .fs_type = FORMAT("%s", streq(type, "nfs") ? "nfs4" : type),
                                .context = FORMAT("%s", strempty(a->context)),
                                .read_only = a->read_only,
                                .mount_id = reserve_id() };
        complete_fact(&o->mount);
        r = share(o, f);
        if (r != 0)
                return r;
        if (behaves(source, "drop-context") && !isempty(a->context))
                return failure_set(f, FAILURE_CONTEXT_DROPPED, "The kernel shows no context.");
        write_text(FORMAT("%s/staged", directory),
                   FORMAT("%s %s\n", source, (char *) check_memory(strv_join(a->mount_options, ","))));
        STRV_FOREACH (option, a->mount_options)
                if (startswith(*option, "gid="))
                        write_group(source, (gid_t) strtoul(*option + 4, NULL, 10), S_IFDIR | 0775);
        if (a->seclabel < 0 || a->seclabel == o->mount.seclabel)
                return 0;
        o->question.seclabel = o->mount.seclabel;
        ask_plan(o);
        return 0;
}

static int map_groups(Operation *o, Failure *f) {
        FilesDecision *d = &o->result.files;
        const char *source = o->mount.source;
        int r;

        step(source, "map");
        if (behaves(source, "misowned")) {
                files_fall_back(&o->answer.files, OWNERSHIP_FILES_DIFFER, d);
                o->result.detail = FORMAT("dir/a has group 5 and mode 0600");
                r = change_mark(source, &o->result.mark, MARK_RESET_OWNERSHIP, f);
                if (r != 0)
                        return r;
        } else if (behaves(source, "noidmap")) {
                files_fall_back(&o->answer.files, OWNERSHIP_NO_IDMAP, d);
                o->result.detail = FORMAT("the kernel says EPERM");
        } else
                o->swap = (Swap){ .disk = d->disk_gid, .shown = d->gid };
        return 0;
}

static void note_walk(const Operation *o, const MarkWork *work) {
        const char *groups = "", *target = o->question.mounted ? o->mount.target : "";
        FILE *f = fopen(FORMAT("%s/walks", directory), "ae");
        const FilesDecision *d = &o->result.files;

        if (work->gid != GID_NONE)
                groups = FORMAT("group=%u disk=%u readers=%d ", d->gid, work->gid, work->readers);
        if (!f ||
            fprintf(f, "target=%s context=%s %sblind=%d rate=%" PRIu64 " change=%s\n", target,
                    strempty(work->context), groups, d->blind, o->answer.entries_per_sec,
                    mark_change_to_string(o->answer.change)) < 0 ||
            fclose(f) != 0)
                check(-errno);
        if (access(FORMAT("%s/then", directory), F_OK) == 0 &&
            system(FORMAT("rm -rf '%s/then' && cp -r '%s/state' '%s/then'", directory, directory, directory)) != 0)
                check(-EIO);
}

static void ask_walk(const Operation *o) {
        sd_bus_message *m = new_question(DECISION_WALK);

        check(walk_question_append(m, &(WalkQuestion){ .mark = o->result.mark, .files = o->result.files }));
        (void) ask(m);
}

static void walk_files(Operation *o) {
        const FilesDecision *d = &o->result.files;
        const FilesWanted *w = &o->answer.files;
        const MarkWork work = { .context = d->relabel == RELABEL_WALK ? w->context : NULL,
                                .gid = d->ownership == OWNERSHIP_WALK ? d->disk_gid : GID_NONE,
                                .readers = w->readers };
        const Ownership ownership = { .gid = work.gid, .readers = w->readers };
        const char *source = o->mount.source;
        mode_t mode;
        gid_t gid;

        check(mark_begin(&o->result.mark, &work));
        write_mark(source, &o->result.mark);
        ask_walk(o);
        note_walk(o, &work);
        o->result.walked = true;
        o->result.walk = walk_and_change(source);
        if (o->result.walk.counts.failed > 0)
                return;
        if (work.context)
                write_text(volume_file("root", source), work.context);
        read_group(source, &gid, &mode);
        if (work.gid != GID_NONE)
                write_group(source, work.gid, ownership_mode(&ownership, mode));
        if (walk_is_complete(&o->result.walk.counts)) {
                mark_finish(&o->result.mark, &work);
                /* The mark is changed at once, so that it never claims too much. */
                (void) mark_apply(&o->result.mark, o->answer.change);
                write_mark(source, &o->result.mark);
        }
        o->result.outcome = outcome_of(&o->mount, &o->swap);
}

static MarkTrust judge(const Operation *o) {
        const Fingerprint now = read_fingerprint(o->mount.source);
        Mark mark = o->result.mark;
        /* Marks are not copied here. */
        const MarkEvidence e = {
                .mark = &mark,
                .identity = mark.identity = read_identity(o->mount.source),
                .root_inode = o->result.mark.inode,
                .before = now,
                .now = now,
                .fresh = isempty(o->answer.share_target) && o->question.observed.n_mounts == 0,
                .adopted = o->question.mounted,
                .writable = true,
                .history = o->answer.history,
        };

        return fingerprint_is_known(&now) || e.history.elsewhere ? files_judge_mark(&e) : MARK_TRUSTED;
}

static int change_files(Operation *o, Failure *f) {
        const FilesWanted *w = &o->answer.files;
        OperationResult *result = &o->result;
        FilesSeen seen;
        int r;

        result->outcome = outcome_of(&o->mount, &o->swap);
        result->mark = read_mark(o->mount.source);
        seen = (FilesSeen){ .mark = &result->mark,
                            .trust = judge(o),
                            .root_context = result->outcome.root_context,
                            .root_gid = result->outcome.root_gid,
                            .root_mode = result->outcome.root_mode };
        if (w->swapped_gid != (o->swap.disk != o->swap.shown ? o->swap.disk : GID_NONE))
                return failure_set(f, FAILURE_NOT_SUPPORTED, "The mount swaps other groups than selvold believes.");
        result->files = files_decide(w, &seen);
        if (files_need_map(w, &result->files)) {
                r = map_groups(o, f);
                if (r != 0)
                        return r;
        }
        r = files_check_reliances(&result->files, o->volume, o->mount.root, o->answer.reliances,
                                  o->answer.n_reliances, f);
        if (r == FAILURE_GROUP_CONFLICT) {
                PlanAnswer first = o->answer;

                step(o->mount.source, "conflict");
                o->question.files = result->files;
                o->question.root = o->mount.root;
                o->question.mark = result->mark;
                ask_plan(o);
                first.reliances = o->answer.reliances;
                first.n_reliances = o->answer.n_reliances;
                o->answer = first;
                failure_done(f);
                r = files_check_reliances(&result->files, o->volume, o->mount.root, first.reliances,
                                          first.n_reliances, f);
        }
        if (r != 0)
                return r;
        if (o->question.mounted) {
                r = change_mark(o->mount.source, &result->mark, o->answer.change, f);
                if (r != 0)
                        return r;
        }
        if (files_need_walk(&result->files))
                walk_files(o);
        if (seen.trust != MARK_STALE || result->walked)
                check(fingerprint_from_string(FINGERPRINT_MOUNTED, &result->fingerprint));
        result->outcome = outcome_of(&o->mount, &o->swap);
        return 0;
}

/* The real worker keeps notes of its mounts, too: mount/mount-note.h. */
static void note_mount(const Operation *o) {
        write_text(FORMAT("%s/note-%" PRIu64, directory, o->mount.mount_id), o->volume);
        write_text(FORMAT("%s/device-%" PRIu64, directory, o->mount.mount_id), o->mount.device);
}

static int publish(Operation *o, Failure *f) {
        const char *source = o->mount.source;
        Observed table;
        int lock, r;

        r = change_mark(source, &o->result.mark, o->answer.change, f);
        if (r != 0)
                return r;
        note_mount(o);
        ask_ready(o);
        step(source, "publishing");
        if (behaves(source, "publish-fails"))
                return failure_set(f, FAILURE_MOUNT_FAILED, "It can't be attached.");
        if (behaves(source, "exchanged"))
                return failure_set(f, FAILURE_INVALID_TARGET, "The target was replaced.");

        (void) unlink(FORMAT("%s/swap-%" PRIu64, directory, o->mount.mount_id));
        if (o->swap.disk != o->swap.shown)
                write_text(FORMAT("%s/swap-%" PRIu64, directory, o->mount.mount_id),
                           FORMAT("%u %u", o->swap.disk, o->swap.shown));
        lock = lock_table();
        table = read_table();
        add_fact(&table, &o->mount);
        write_table(&table);
        (void) close(lock);
        if (outlives)
                end_orphan();
        step(source, "published");
        return 0;
}

/* The mount of another program at the target is left out of what the plan is made for. */
static int observe_replaced(Operation *o, const MountCall *call, const MountFact *there, Failure *f) {
        Observed *seen = &o->question.observed;
        char *options = read_text(volume_file("options", call->source));

        if (!streq(there->device, device_of(call->source, 0)))
                return failure_set(f, FAILURE_INVALID_TARGET, "The mount at the target is not of %s.", call->source);
        if (seen->n_mounts > 1)
                return failure_set(f, FAILURE_BUSY, "The file system is mounted at '%s' too.",
                                   seen->mounts[streq(seen->mounts[0].target, call->target)].target);
        seen->n_mounts = 0;
        check(options ? strv_split(options, ",", &seen->replaced) : 0);
        return 0;
}

static int unmount_replaced(const MountCall *call, Failure *f) {
        int lock;
        Observed table;

        tell_at(WORKER_AT_UNMOUNT);
        step(call->source, "unmount");
        if (behaves(call->source, "busy"))
                return failure_set(f, FAILURE_BUSY, "The mount is in use.");
        lock = lock_table();
        table = read_table();
        for (size_t i = 0; i < table.n_mounts; i++)
                if (streq(table.mounts[i].target, call->target))
                        table.mounts[i] = table.mounts[--table.n_mounts];
        write_table(&table);
        (void) close(lock);
        tell_at(WORKER_AT_REPLACED);
        step(call->source, "replaced");
        return 0;
}

static int mount_volume(Operation *o, const MountCall *call, Failure *f) {
        Observed table = read_table();
        const MountFact *there = find_mount(&table, call->target);
        int r;

        o->volume = call->origin.volume;
        if (there && access(FORMAT("%s/hidden", directory), F_OK) == 0) {
                if (call->expected.id != 0 && has_identity(there, &call->expected))
                        return failure_set(f, FAILURE_BUSY, "The mount at %s is hidden.", call->target);
                there = NULL;
        }
        if (there && call->expected.id != 0 && has_identity(there, &call->expected)) {
                o->swap = read_swap(there);
                o->result.repeated = true;
                o->result.outcome = outcome_of(there, &o->swap);
                o->result.mark = read_mark(there->source);
                return 0;
        }
        if (there && (!call->replace || access(FORMAT("%s/note-%" PRIu64, directory, there->mount_id), F_OK) == 0))
                return failure_set(f, FAILURE_INVALID_TARGET, "Something is mounted at %s.", call->target);
        observe(o, call->source, call->fs_type, NULL);
        r = there ? observe_replaced(o, call, there, f) : 0;
        if (r != 0)
                return r;
        o->question.observed.elsewhere =
                find_elsewhere(&call->file_system, call->link, &o->question.observed.identity);
        ask_plan_unlooked(o);
        if (call->only_plan)
                return 0;
        r = there ? unmount_replaced(call, f) : 0;
        if (r != 0)
                return r;
        step(call->source, "mount");
        if (behaves(call->source, "foreign"))
                return failure_set(f, FAILURE_PATH_NOT_ALLOWED, "It is mounted at /.");
        r = stage(o, call->source, call->target, f);
        if (r != 0)
                return r;
        r = change_files(o, f);
        if (r != 0 || o->result.walk.counts.failed > 0)
                return r;
        return publish(o, f);
}

static int adopt_volume(Operation *o, const AdoptCall *call, Failure *f) {
        Observed table = read_table();
        const MountFact *there = find_mount(&table, call->target);
        int r;

        o->volume = call->origin.volume;
        if (!there)
                return failure_set(f, FAILURE_INVALID_TARGET, "Nothing is mounted at %s.", call->target);
        observe(o, there->source, NULL, there);
        o->question.observed.elsewhere =
                find_elsewhere(&call->file_system, call->link, &o->question.observed.identity);
        ask_plan(o);
        r = change_files(o, f);
        if (r == 0 && o->result.walk.counts.failed == 0)
                note_mount(o);
        return r;
}

static int change_volume(Operation *o, const ChangeCall *call, Failure *f) {
        Observed table = read_table();
        const MountFact *there = find_mount(&table, call->target);
        int r;

        o->volume = call->origin.volume;
        if (!isempty(call->target) && !there)
                return failure_set(f, FAILURE_INVALID_TARGET, "Nothing is mounted at %s.", call->target);
        if (!there) {
                const Identity found = read_identity(call->source);

                if (identity_differs(&call->file_system, &found))
                        return failure_set(f, FAILURE_SOURCE_CHANGED, "%s is not at %s: %s is, and %s not.",
                                           call->file_system.text, call->source, found.text, call->link);
        }
        observe(o, there ? there->source : call->source, call->fs_type, there);
        ask_plan(o);
        if (there && !isempty(o->answer.share_target)) {
                there = find_mount(&table, o->answer.share_target);
                if (!there || there->mount_id != o->answer.share_id)
                        return failure_set(f, FAILURE_INVALID_TARGET, "The mount at %s is gone.",
                                           o->answer.share_target);
                o->mount = *there;
                o->swap = read_swap(there);
        }
        if (!there) {
                step(call->source, "mount");
                r = stage(o, call->source, "", f);
                if (r != 0)
                        return r;
        }
        if (behaves(o->mount.source, "walk-unsupported") || (!isempty(o->answer.files.context) && !o->mount.seclabel))
                return failure_set(f, FAILURE_NOT_SUPPORTED, "The file system keeps no labels.");
        return change_files(o, f);
}

/* --- methods --- */

static sd_bus_message *new_reply(sd_bus_message *call) {
        sd_bus_message *reply;

        served = true;
        check(sd_bus_message_new_method_return(call, &reply));
        return reply;
}

static int send_reply(sd_bus_message *reply) {
        check(sd_bus_send(peer, reply, NULL));
        return 1;
}

static int end_operation(sd_bus_message *call, const Operation *o, int r, const Failure *f, sd_bus_error *error) {
        sd_bus_message *reply = new_reply(call);

        check(r);
        if (r > 0)
                return peer_error_set(error, f);
        check(operation_result_append(reply, &o->result));
        return send_reply(reply);
}

static const char *mount_word(const MountCall *call) {
        return call->only_plan ? WORKER_MOUNT_PLAN : WORKER_MOUNT;
}

static const char *adopt_word(const AdoptCall *call) {
        return WORKER_ADOPT;
}

static const char *change_word(const ChangeCall *call) {
        return WORKER_CHANGE;
}

#define DEFINE_OPERATION(name, type)                                                         \
        static int on_##name(sd_bus_message *m, void *userdata, sd_bus_error *error) {       \
                Operation o = { .answer = PLAN_ANSWER_INIT,                                  \
                                .question.seclabel = -1,                                     \
                                .result.files = { .gid = GID_NONE, .disk_gid = GID_NONE } }; \
                Failure f = { 0 };                                                           \
                type call;                                                                   \
                                                                                             \
                check(name##_call_read(m, &call));                                           \
                begin_call(name##_word(&call), &call.origin, call.target);                   \
                tell_at(WORKER_AT_LOOK);                                                     \
                return end_operation(m, &o, name##_volume(&o, &call, &f), &f, error);        \
        }                                                                                    \
        struct on_##name##_needs_a_semicolon

DEFINE_OPERATION(mount, MountCall);
DEFINE_OPERATION(adopt, AdoptCall);
DEFINE_OPERATION(change, ChangeCall);

/* Returns the reset of the part of the mark that is proved wrong. A wrong root needs none, as the next mount
 * sees it. */
static MarkChange find_reset(const VerifyCall *c, const VerifyResult *v, const Mark *mark, gid_t disk_gid) {
        bool beneath = c->depth != VERIFY_ROOT || !streq(c->path, strempty(c->mount_target)),
             labels = beneath && v->walk.counts.mismatched > 0 && mark->label_state == FILES_COMPLETE &&
                      streq(strempty(mark->context), c->expected),
             groups = v->walk.counts.misowned > 0 && mark->ownership_state == FILES_COMPLETE && mark->gid == disk_gid;

        return labels && groups ? MARK_RESET_ALL
               : labels         ? MARK_RESET_LABELS
               : groups         ? MARK_RESET_OWNERSHIP
                                : MARK_KEEP;
}

static void compare(const VerifyCall *c, const MountFact *m, VerifyResult *v) {
        bool root_only = c->depth == VERIFY_ROOT, labels = !isempty(c->expected),
             wrong = !root_only && (behaves(m->source, "mismatch") || behaves(m->source, "mismatch-stays"));

        v->actual = root_context(m);
        if (!root_only)
                walk(m->source);
        v->walk.counts.done = root_only ? 1 : ENTRIES;
        if (labels && (wrong || !streq(v->actual, c->expected))) {
                v->walk.counts.mismatched = root_only ? 1 : 2;
                add_issue(&v->walk, root_only ? "." : "dir/a", "system_u:object_r:tmp_t:s0");
        }
        if (!root_only && c->gid != GID_NONE && behaves(m->source, "misowned"))
                v->walk.counts.misowned = 3;
        v->matches = behaves(m->source, "walk-rubbish") ||
                     (v->walk.counts.mismatched == 0 && v->walk.counts.misowned == 0);
}

static int on_verify(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        MountFact none = { .source = (char *) "none", .context = (char *) "system_u:object_r:unlabeled_t:s0" };
        sd_bus_message *reply = new_reply(m);
        Observed table = read_table();
        const MountFact *path, *mount;
        VerifyResult v = { 0 };
        VerifyCall call;

        check(verify_call_read(m, &call));
        begin_call(WORKER_VERIFY, &call.origin, call.path);
        tell_at(WORKER_AT_LOOK);
        path = find_mount(&table, call.path);
        compare(&call, path ? path : &none, &v);
        mount = isempty(call.mount_target) ? NULL : find_mount(&table, call.mount_target);
        if (mount && mount->mount_id == call.mount.id) {
                Mark mark = read_mark(mount->source);
                Swap swap = read_swap(mount);

                v.reset = find_reset(&call, &v, &mark, swap_group(&swap, call.gid));
                if (v.reset != MARK_KEEP && behaves(mount->source, "mismatch-stays"))
                        v.not_reset = FORMAT("the file system is read-only");
                else if (mark_apply(&mark, v.reset))
                        write_mark(mount->source, &mark);
        }
        check(verify_result_append(reply, &v));
        return send_reply(reply);
}

/* The last mount at a target is on top. */
static bool is_hidden(const Observed *table, const UnmountCall *call) {
        for (size_t i = 0; i < table->n_mounts; i++)
                if (streq(table->mounts[i].target, call->target) && has_identity(&table->mounts[i], &call->identity))
                        return true;
        return false;
}

static int on_unmount(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        sd_bus_message *reply = new_reply(m);
        Observed table = read_table();
        const MountFact *there;
        UnmountResult result = { 0 };
        UnmountCall call;
        bool found;
        int lock;

        check(unmount_call_read(m, &call));
        begin_call(WORKER_UNMOUNT, &call.origin, call.target);
        there = find_mount(&table, call.target);
        if (there && behaves(there->source, "busy"))
                return sd_bus_error_set(error, ERROR_PREFIX "Busy", "The mount is in use.");
        tell_at(WORKER_AT_UNMOUNT);
        if (there)
                step(there->source, "unmount");

        lock = lock_table();
        table = read_table();
        there = find_mount(&table, call.target);
        found = there && call.identity.id != 0 && has_identity(there, &call.identity);
        if (found) {
                size_t i = (size_t) (there - table.mounts);

                result.still_open = call.last && behaves(there->source, "still-open");
                (void) unlink(FORMAT("%s/note-%" PRIu64, directory, there->mount_id));
                (void) unlink(FORMAT("%s/device-%" PRIu64, directory, there->mount_id));
                table.mounts[i] = table.mounts[--table.n_mounts];
                write_table(&table);
        }
        (void) close(lock);
        if (outlives)
                end_orphan();
        if (there && call.identity.id == 0)
                return sd_bus_error_set(error, ERROR_PREFIX "InvalidTarget", "There is a mount without a record.");
        if (!found && is_hidden(&table, &call))
                return sd_bus_error_set(error, ERROR_PREFIX "Busy", "Another mount is on top.");
        result.unmounted = found;
        if (found && !isempty(call.source))
                result.fingerprint = read_fingerprint(call.source);
        check(unmount_result_append(reply, &result));
        return send_reply(reply);
}

static void tell_node(void) {
        sd_bus_message *signal;
        Node now = read_node();

        if (now.selinux == watched_node.selinux && now.enforcing == watched_node.enforcing)
                return;
        watched_node = now;
        check(sd_bus_message_new_signal(peer, &signal, WORKER_PATH, WORKER_INTERFACE, WORKER_NODE));
        check(node_append(signal, &now));
        check(sd_bus_send(peer, signal, NULL));
        sd_bus_message_unref(signal);
}

/* The watch also tells by its notes of which volume each mount is. */
static Observed look(void) {
        Observed table = read_table();

        for (size_t i = 0; i < table.n_mounts; i++)
                table.mounts[i].volume = read_text(FORMAT("%s/note-%" PRIu64, directory, table.mounts[i].mount_id));
        return table;
}

/* The notes whose mount is gone. */
static MountIdentity *find_left(size_t *ret_n) {
        MountIdentity *left = check_memory(calloc(IDS, sizeof(*left)));

        *ret_n = 0;
        for (uint64_t id = FIRST_ID; id < FIRST_ID + IDS; id++) {
                char *device = read_text(FORMAT("%s/device-%" PRIu64, directory, id));

                for (size_t i = 0; device && i < watched.n_mounts; i++)
                        if (watched.mounts[i].mount_id == id)
                                device = NULL;
                if (device)
                        left[(*ret_n)++] = (MountIdentity){ .id = id, .device = device };
        }
        return left;
}

static void tell_changes(void) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
        Observed now = look(), came = { 0 };
        MountIdentity *went = calloc(watched.n_mounts + 1, sizeof(*went));
        size_t n_went = 0;

        for (size_t i = 0; i < now.n_mounts; i++)
                if (!is_listed(&now.mounts[i], &watched))
                        add_fact(&came, &now.mounts[i]);
        for (size_t i = 0; i < watched.n_mounts; i++)
                if (!is_listed(&watched.mounts[i], &now))
                        went[n_went++] = (MountIdentity){ .id = watched.mounts[i].mount_id };
        if (came.n_mounts > 0 || n_went > 0) {
                check(sd_bus_message_new_signal(peer, &signal, WORKER_PATH, WORKER_INTERFACE, WORKER_CHANGED));
                check(mount_changes_append(signal, &(MountChanges){ came.mounts, came.n_mounts, went, n_went }));
                check(sd_bus_send(peer, signal, NULL));
        }
        watched = now;
}

static void tell_orphans(void) {
        for (size_t i = 0; i < n_watched_orphans; i++)
                if (access(orphan_file(watched_orphans[i].pid), F_OK) < 0) {
                        n_watched_orphans = 0;
                        check(sd_bus_emit_signal(peer, WORKER_PATH, WORKER_INTERFACE, WORKER_ORPHAN, NULL));
                }
}

/* As the real worker does, ignores an id that it has seen. */
static int on_expect(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        MountFact fact;

        check(mount_fact_read(m, &fact));
        for (size_t i = 0; i < watched.n_mounts; i++)
                if (watched.mounts[i].mount_id == fact.mount_id)
                        return sd_bus_reply_method_return(m, NULL);
        add_fact(&watched, &fact);
        return sd_bus_reply_method_return(m, NULL);
}

static char *read_word(const char **line) {
        const char *word = *line;
        size_t n = strcspn(word, " ");

        *line = word + n + (word[n] == ' ');
        return n == 1 && word[0] == '-' ? FORMAT("%s", "") : FORMAT("%.*s", (int) n, word);
}

/* Lists the children of other processes than the peer. */
static void read_orphans(void) {
        DIR *d = opendir(directory);
        struct dirent *entry;

        n_watched_orphans = 0;
        while (d && (entry = readdir(d))) {
                OrphanInfo o = { 0 };
                const char *line;

                if (sscanf(entry->d_name, "orphan-%i", &o.pid) != 1)
                        continue;
                line = read_text(orphan_file(o.pid));
                if (isempty(line) || atoi(read_word(&line)) == peer_pid())
                        continue;
                o.operation = read_word(&line);
                o.volume = read_word(&line);
                o.target = read_word(&line);
                o.source = read_word(&line);
                watched_orphans =
                        check_memory(reallocarray(watched_orphans, n_watched_orphans + 1, sizeof(OrphanInfo)));
                watched_orphans[n_watched_orphans++] = o;
        }
        check(d && closedir(d) == 0 ? 0 : -errno);
}

static int on_watch(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        sd_bus_message *reply = new_reply(m);
        MountIdentity *left;
        uint64_t settings;
        size_t n_left;

        check(sd_bus_message_read(m, "t", &settings));
        if (access(FORMAT("%s/hang-watch", directory), F_OK) == 0) {
                write_text(FORMAT("%s/at", directory), "watch");
                hang();
        }
        read_orphans();
        watched_node = read_node();
        watched = look();
        watching = true;
        left = find_left(&n_left);
        check(watched_append(reply, &(Watched){ settings, watched_orphans, n_watched_orphans, watched_node,
                                                watched.mounts, watched.n_mounts, left, n_left }));
        return send_reply(reply);
}

#define METHOD(name, in, out, function) SD_BUS_METHOD(name, in, out, function, SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        METHOD(WORKER_MOUNT, MOUNT_CALL_TYPE, OPERATION_RESULT_TYPE, on_mount),
        METHOD(WORKER_ADOPT, ADOPT_CALL_TYPE, OPERATION_RESULT_TYPE, on_adopt),
        METHOD(WORKER_CHANGE, CHANGE_CALL_TYPE, OPERATION_RESULT_TYPE, on_change),
        METHOD(WORKER_VERIFY, VERIFY_CALL_TYPE, VERIFY_RESULT_TYPE, on_verify),
        METHOD(WORKER_UNMOUNT, UNMOUNT_CALL_TYPE, UNMOUNT_RESULT_TYPE, on_unmount),
        METHOD(WORKER_WATCH, "t", WATCHED_TYPE, on_watch),
        METHOD(WORKER_EXPECT, MOUNT_FACT_TYPE, "", on_expect),
        SD_BUS_VTABLE_END,
};

static _Noreturn void serve(int fd) {
        const char *interface = WORKER_INTERFACE;
        uint64_t next_look = 0;
        int r;

        check(peer_prepare(&peer));
        if (access(FORMAT("%s/other-version", directory), F_OK) == 0)
                interface = "org.selvol1.Worker0";
        check(sd_bus_add_object_vtable(peer, NULL, WORKER_PATH, interface, vtable, NULL));
        check(peer_accept(peer, fd));
        for (;;) {
                r = sd_bus_process(peer, NULL);
                if (r < 0 || (served && !watching)) {
                        (void) sd_bus_flush(peer);
                        leave();
                }
                if (watching && now_monotonic_usec() >= next_look) {
                        tell_changes();
                        tell_node();
                        tell_orphans();
                        (void) unlink(FORMAT("%s/unseen", directory));
                        next_look = now_monotonic_usec() + LOOK_INTERVAL_USEC;
                }
                if (r == 0)
                        (void) sd_bus_wait(peer, watching ? LOOK_INTERVAL_USEC : UINT64_MAX);
        }
}

/* --- the parent --- */

static struct pollfd fds[CONNECTIONS_MAX]; /* the first is the socket */
static pid_t children[CONNECTIONS_MAX];
static size_t n_fds = 1;

static void on_child(int signal_number) {
}

static void accept_connection(void) {
        int fd = accept(fds[0].fd, NULL, NULL);

        if (fd < 0)
                return;
        children[n_fds] = fork();
        if (children[n_fds] == 0) {
                for (size_t i = 0; i < n_fds; i++)
                        (void) close(fds[i].fd);
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                serve(fd);
        }
        fds[n_fds++] = (struct pollfd){ .fd = fd, .events = POLLRDHUP };
}

static void reap_children(void) {
        for (size_t i = 1; i < n_fds; i++) {
                if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
                        (void) kill(children[i], SIGKILL);
                if (waitpid(children[i], NULL, WNOHANG) == 0)
                        continue;
                (void) close(fds[i].fd);
                n_fds--;
                fds[i] = fds[n_fds];
                children[i] = children[n_fds];
                i--;
        }
}

int main(int argc, char *argv[]) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        sigset_t waiting, blocked;

        if (argc != 3 || strlen(argv[1]) >= sizeof(address.sun_path))
                return 2;
        directory = argv[2];
        (void) signal(SIGPIPE, SIG_IGN);
        (void) signal(SIGCHLD, on_child);
        (void) sigemptyset(&blocked);
        (void) sigaddset(&blocked, SIGCHLD);
        (void) sigprocmask(SIG_BLOCK, &blocked, &waiting);
        strcpy(address.sun_path, argv[1]);
        fds[0] = (struct pollfd){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLIN };
        if (fds[0].fd < 0 || bind(fds[0].fd, (struct sockaddr *) &address, sizeof(address)) < 0 ||
            listen(fds[0].fd, 128) < 0)
                return 1;
        for (;;) {
                /* A child may need some time to end. */
                struct timespec soon = { .tv_nsec = 100000000 };

                if (ppoll(fds, n_fds, &soon, &waiting) < 0) {
                        if (errno != EINTR)
                                return 1;
                        for (size_t i = 0; i < n_fds; i++)
                                fds[i].revents = 0;
                }
                if (fds[0].revents & POLLIN && n_fds < CONNECTIONS_MAX)
                        accept_connection();
                reap_children();
        }
}
