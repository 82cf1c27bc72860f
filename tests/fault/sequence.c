/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "sequence.h"

/* A sequence has calls, changes that strangers make to targets, images and files, kills, and a disk of the
 * state that stalls. After each action the mounts must be those of a simple model, and selvold must have
 * recorded them; after each mount for a group all files must have it. If a sequence fails, the test leaves
 * out actions that the failure does not need, and prints the rest. */

enum {
        LENGTH = 40,
        ACTIONS = 1000,
        FULL_ACTIONS = 100000,
        MORE = 10, /* a run has at most so many times as many actions, until selvold has done each kind */
        SHRINKS = 100,
        RECORDS = 4096, /* more than selvold keeps, with those of the test's own volumes */
        NEW_VOLUMES = 20,
        STALL_MSEC = 30
};

static const struct {
        const char *name;
        int weight;
} acts[ACTS] = {
        [ACT_MOUNT] = { "mount", 100 },
        [ACT_GROUP] = { "group", 50 },
        [ACT_OTHER_GROUP] = { "other-group", 30 },
        [ACT_UNMOUNT] = { "unmount", 90 },
        [ACT_UNMOUNT_ANY] = { "unmount-any", 10 },
        [ACT_OWNERSHIP] = { "ownership", 10 },
        [ACT_ADOPT] = { "adopt", 30 },
        [ACT_VERIFY] = { "verify", 10 },
        [ACT_FORGET] = { "forget", 10 },
        [ACT_COVER] = { "cover", 30 },
        [ACT_TAKE_AWAY] = { "take-away", 40 },
        [ACT_DETACH] = { "detach", 20 },
        [ACT_READ_ONLY] = { "read-only", 20 },
        [ACT_READ_WRITE] = { "read-write", 20 },
        [ACT_VANISH] = { "vanish", 10 },
        [ACT_WRITE] = { "write", 20 },
        [ACT_COPY_MARK] = { "copy-mark", 20 },
        [ACT_SWAP] = { "swap", 10 },
        [ACT_STALL] = { "stall", 10 },
        [ACT_CONFIGURE] = { "configure", 5 },
        [ACT_FILL] = { "fill", 1 },
        [ACT_KILL_DAEMON] = { "kill-selvold", 10 },
        [ACT_KILL_WORKER] = { "kill-worker", 10 },
        [ACT_LOSE_RECORD] = { "lose-record", 10 },
};

/* ---- mounts and records ---- */

static unsigned count_mounts_at(const char *target, int *ret_first_is_ours) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        unsigned n = 0;

        g_assert_true(g_file_get_contents("/proc/self/mountinfo", &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                g_auto(GStrv) fields = g_strsplit(*line, " ", -1);

                if (g_strv_length(fields) < 10 || !g_str_equal(fields[4], target))
                        continue;
                if (n == 0)
                        *ret_first_is_ours = !strstr(*line, " - tmpfs stranger ");
                n++;
        }
        return n;
}

static bool kernel_agrees(const Sequence *s, Wrong *w) {
        for (int i = 0; i < TARGETS; i++) {
                const Place *p = &s->places[i];
                int ours = 0;
                unsigned n = count_mounts_at(s->run.environment.targets[i], &ours);

                if (n != p->covers + (p->volume != NO_VOLUME) ||
                    (n > 0 && ours != (p->volume != NO_VOLUME && !p->adopted)))
                        return blame(w, p->volume, i,
                                     "%u mounts, the first is %s; expected are volume %i and %u of strangers", n,
                                     ours ? "selvol's" : "a stranger's", p->volume, p->covers);
        }
        return true;
}

/* Records may be late, as the watch looks at the mount table at most twice a second. */
static bool records_agree(const Sequence *s, Wrong *w) {
        Records records = { 0 };

        if (!read_records(&s->run.environment, &records, w))
                return false;
        for (int i = 0; i < TARGETS; i++) {
                int expected = s->places[i].lost ? NO_VOLUME : s->places[i].volume;

                if (records.at[i] != expected)
                        return blame(w, s->places[i].volume, i, "volume %i is recorded, expected is %i",
                                     records.at[i], expected);
        }
        return true;
}

/* Returns NULL if the call fails. */
static GVariant *call(const Sequence *s, const char *interface, const char *method, GVariant *arguments) {
        return g_dbus_connection_call_sync(s->run.environment.bus, "org.selvol1", "/org/selvol1", interface, method,
                                           arguments, NULL, G_DBUS_CALL_FLAGS_NONE, ANSWER_SEC * 1000, NULL, NULL);
}

static bool call_manager(const Sequence *s, const char *method, GVariant *arguments) {
        g_autoptr(GVariant) reply = call(s, "org.selvol1.Manager", method, arguments);

        return reply;
}

/* UnrecordedMounts has exactly the mounts whose records are lost. */
static bool lost_agree(const Sequence *s, Wrong *w) {
        g_autoptr(GVariant) reply = call(s, "org.freedesktop.DBus.Properties", "Get",
                                         g_variant_new("(ss)", "org.selvol1.Manager", "UnrecordedMounts"));
        g_autoptr(GVariant) list = NULL;
        const char *id, *target;
        unsigned n = 0;
        GVariantIter i;

        if (!reply)
                return blame(w, NO_VOLUME, NO_TARGET, "UnrecordedMounts can't be read");
        g_variant_get(reply, "(v)", &list);
        g_variant_iter_init(&i, list);
        while (g_variant_iter_next(&i, "(&s&s)", &id, &target)) {
                int at = environment_find_target(&s->run.environment, target);
                const Place *p = at == NO_TARGET ? NULL : &s->places[at];

                if (!p || !p->lost || !g_str_equal(id, s->run.environment.volumes[p->volume].id))
                        return blame(w, NO_VOLUME, at, "%s is said to be mounted without a record", id);
                n++;
        }
        for (int at = 0; at < TARGETS; at++)
                n -= s->places[at].lost;
        return n == 0 || blame(w, NO_VOLUME, NO_TARGET, "a mount without a record is not listed");
}

static bool check_places(const Sequence *s, Wrong *w) {
        return check_sound(&s->run.environment, w) && kernel_agrees(s, w) &&
               HOLDS_WITHIN(SETTLE_SEC, records_agree(s, w) && lost_agree(s, w));
}

/* ---- calls ---- */

/* *ret_done tells whether selvold has acknowledged the operation. */
static bool finish(Sequence *s, const Operation *o, bool *ret_done, Wrong *w) {
        if (!HOLDS_WITHIN(ANSWER_SEC, client_is_idle(s->run.client)))
                return blame(w, o->volume, o->target, "no answer");
        *ret_done = o->outcome == OUTCOME_ACKNOWLEDGED;
        return true;
}

static bool has_group(Sequence *s, const Action *a, uint32_t gid, Wrong *w) {
        if (read_gid(s->run.environment.targets[a->target]) != gid)
                return s->forgotten[a->volume] ||
                       blame(w, a->volume, a->target, "mounted for group %u, and files have other groups", gid);
        s->written[a->volume] = s->forgotten[a->volume] = false;
        return true;
}

static bool do_mount(Sequence *s, const Action *a, uint32_t gid, bool *ret_done, Wrong *w) {
        Place *p = &s->places[a->target];
        bool free = p->volume == NO_VOLUME && p->covers == 0;

        if (!finish(s, client_mount(s->run.client, a->volume, a->target, gid), ret_done, w))
                return false;
        if (*ret_done && !free && (p->volume != a->volume || p->lost))
                return blame(w, a->volume, a->target, "mounted, though the target is taken");
        if (*ret_done && free && s->vanished[a->volume])
                return blame(w, a->volume, a->target, "mounted, though there is no such image");
        /* selvold may refuse a further mount of a tmpfs, which would be another file system, a mount beside
         * one whose record is lost, and a group beside another one. */
        if (!*ret_done && free && is_image(s, a->volume) && !s->vanished[a->volume] &&
            !is_somewhere(s, a->volume, true) && !(gid != NO_GID && is_somewhere(s, a->volume, false)))
                return blame(w, a->volume, a->target, "not mounted, though nothing is in the way");
        if (*ret_done && free)
                *p = (Place){ .volume = a->volume, .grouped = gid != NO_GID };
        return !*ret_done || !free || gid == NO_GID || has_group(s, a, gid, w);
}

static bool do_unmount(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        Place *p = &s->places[a->target];
        bool any = a->act == ACT_UNMOUNT_ANY, there = p->volume != NO_VOLUME && (any || p->volume == a->volume);
        const Operation *o = client_unmount(s->run.client, any ? ANY_VOLUME : a->volume, a->target);

        if (!finish(s, o, ret_done, w))
                return false;
        if (there && p->covers > 0 && *ret_done)
                return blame(w, p->volume, a->target, "said to be unmounted beneath another mount");
        if (there && p->covers == 0 && (!*ret_done || o->idle))
                return blame(w, p->volume, a->target, "not unmounted");
        if (!there && *ret_done && !o->idle)
                return blame(w, a->volume, a->target, "said to have been unmounted, and was not there");
        if (there && *ret_done)
                *p = (Place){ .volume = NO_VOLUME };
        return true;
}

/* A tmpfs of a stranger becomes a volume, and a volume whose record is lost gets a new one. */
static bool do_adopt(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        Place *p = &s->places[a->target];
        int volume = p->volume == NO_VOLUME ? VOLUMES - 1 : p->volume;
        /* selvold may refuse a second tmpfs, because each tmpfs is another file system, and its own mount
         * with another group. */
        bool may_fail = p->grouped || (!is_image(s, volume) && is_somewhere(s, volume, false));

        *ret_done = false;
        if (p->covers != (p->volume == NO_VOLUME))
                return true;
        *ret_done = call_manager(s, "AdoptVolume",
                                 g_variant_new("(ssa{sv})", s->run.environment.volumes[volume].id,
                                               s->run.environment.targets[a->target], NULL));
        if (!*ret_done)
                return may_fail || blame(w, volume, a->target, "not adopted");
        if (p->volume == NO_VOLUME)
                *p = (Place){ .volume = volume, .adopted = true };
        p->lost = false;
        return true;
}

static bool do_forget(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        *ret_done = call_manager(s, "ForgetVolume",
                                 g_variant_new("(sa{sv})", s->run.environment.volumes[a->volume].id, NULL));
        s->forgotten[a->volume] = s->forgotten[a->volume] || (*ret_done && s->written[a->volume]);
        return !*ret_done || !is_somewhere(s, a->volume, false) ||
               blame(w, a->volume, NO_TARGET, "forgotten, though it is held");
}

/* Work by id never changes another file system. */
static bool do_swap(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        int other = (a->volume + 1) % VOLUMES;
        bool changed, ok;

        *ret_done = stranger_swaps_images(s, a->volume, other);
        if (!*ret_done)
                return true;
        ok = finish(s, client_ownership(s->run.client, a->volume, OTHER_GID), &changed, w);
        (void) stranger_swaps_images(s, a->volume, other);
        return ok && (!changed || blame(w, a->volume, NO_TARGET, "another volume was given to a group"));
}

/* ---- kills ---- */

static void do_kill(Sequence *s, Victim victim) {
        (void) environment_kill(&s->run.environment, victim, -1);
        environment_restart(&s->run.environment, victim, false);
}

static void do_lose_record(Sequence *s) {
        (void) environment_kill(&s->run.environment, VICTIM_DAEMON, -1);
        environment_lose_state();
        environment_restart(&s->run.environment, VICTIM_DAEMON, false);
        for (int i = 0; i < TARGETS; i++)
                s->places[i].lost = s->places[i].volume != NO_VOLUME;
        for (int i = 0; i < VOLUMES; i++)
                s->forgotten[i] = s->forgotten[i] || s->written[i];
}

/* Both configurations allow everything that a sequence does. */
static void do_configure(Sequence *s) {
        g_autofree char *path = g_build_filename(s->run.environment.service.etc, "selvol.conf.d/20-other.conf", NULL);

        (void) environment_kill(&s->run.environment, VICTIM_DAEMON, -1);
        s->configured = !s->configured;
        file_write(path, s->configured ? "[Service]\nJobTimeoutSec=30\n[Worker]\nImagesOfOthers=yes\n" : "");
        environment_restart(&s->run.environment, VICTIM_DAEMON, false);
}

static bool has_record(const Sequence *s) {
        for (int i = 0; i < VOLUMES; i++)
                if (is_somewhere(s, i, false))
                        return true;
        return false;
}

/* New volumes take the place of old ones that nobody uses, and of no others. */
static bool do_fill(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        const Place *p = &s->places[a->target];
        const char *target = s->run.environment.targets[a->target];

        *ret_done = p->volume == NO_VOLUME && p->covers == 0 && has_record(s);
        if (!*ret_done)
                return true;
        (void) environment_kill(&s->run.environment, VICTIM_DAEMON, -1);
        environment_fill_records(RECORDS);
        environment_restart(&s->run.environment, VICTIM_DAEMON, false);
        for (unsigned i = 1; i <= NEW_VOLUMES; i++) {
                g_autofree char *id = g_strdup_printf(RECORDS_PREFIX "%u", RECORDS + i);

                if (!call_manager(s, "MountVolume",
                                  g_variant_new("(sss@a{sv})", id, "tmpfs", target,
                                                g_variant_new_parsed("{'FSType': <'tmpfs'>}"))) ||
                    !call_manager(s, "UnmountVolume", g_variant_new("(ssa{sv})", id, target, NULL)))
                        return blame(w, NO_VOLUME, a->target, "a new volume finds no room");
        }
        return true;
}

static gboolean on_thaw(gpointer userdata) {
        environment_freeze_state(false);
        return G_SOURCE_REMOVE;
}

/* An unmount needs no record. A mount goes on when the disk does. */
static bool do_stall(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        const Action any = { ACT_UNMOUNT_ANY, a->volume, a->target };
        bool ok;

        environment_freeze_state(true);
        if (s->places[a->target].volume == NO_VOLUME) {
                (void) g_timeout_add(STALL_MSEC, on_thaw, NULL);
                ok = do_mount(s, a, NO_GID, ret_done, w);
                pause_usec(2 * STALL_MSEC * 1000);
                return ok;
        }
        ok = do_unmount(s, &any, ret_done, w);
        environment_freeze_state(false);
        return ok;
}

/* ---- sequences ---- */

static bool perform(Sequence *s, const Action *a, Wrong *w) {
        bool done = true, ok = true;

        switch (a->act) {
        case ACT_MOUNT:
        case ACT_GROUP:
        case ACT_OTHER_GROUP:
                ok = do_mount(s, a, a->act == ACT_MOUNT ? NO_GID : a->act == ACT_GROUP ? 2000 : 3000, &done, w);
                break;
        case ACT_UNMOUNT:
        case ACT_UNMOUNT_ANY:
                ok = do_unmount(s, a, &done, w);
                break;
        case ACT_OWNERSHIP:
                ok = finish(s, client_ownership(s->run.client, a->volume, 2000), &done, w);
                break;
        case ACT_ADOPT:
                ok = do_adopt(s, a, &done, w);
                break;
        case ACT_VERIFY:
                done = call_manager(s, "VerifyLabel",
                                    g_variant_new("(ssa{sv})", s->run.environment.volumes[a->volume].id,
                                                  "system_u:object_r:container_file_t:s0:c1,c2", NULL));
                break;
        case ACT_FORGET:
                ok = do_forget(s, a, &done, w);
                break;
        case ACT_COVER:
                done = stranger_covers(s, a);
                break;
        case ACT_TAKE_AWAY:
        case ACT_DETACH:
                done = stranger_takes_away(s, a);
                break;
        case ACT_READ_ONLY:
        case ACT_READ_WRITE:
                done = stranger_remounts(s, a);
                break;
        case ACT_VANISH:
                done = stranger_moves_image(s, a);
                break;
        case ACT_WRITE:
                ok = stranger_writes(s, a, &done, w);
                break;
        case ACT_COPY_MARK:
                done = stranger_copies_mark(s, a);
                break;
        case ACT_SWAP:
                ok = do_swap(s, a, &done, w);
                break;
        case ACT_STALL:
                ok = do_stall(s, a, &done, w);
                break;
        case ACT_CONFIGURE:
                do_configure(s);
                break;
        case ACT_FILL:
                ok = do_fill(s, a, &done, w);
                break;
        case ACT_KILL_DAEMON:
                do_kill(s, VICTIM_DAEMON);
                break;
        case ACT_KILL_WORKER:
                do_kill(s, VICTIM_WORKER);
                break;
        case ACT_LOSE_RECORD:
                do_lose_record(s);
                break;
        default:
                g_assert_not_reached();
        }
        s->n_done[a->act] += done;
        s->n_refused[a->act] += !done;
        return ok && check_places(s, w);
}

/* Unmounts everything, and brings all images back. */
static void start_over(Sequence *s) {
        Wrong w = { 0 };

        for (int i = 0; i < TARGETS; i++) {
                while (umount2(s->run.environment.targets[i], MNT_DETACH) >= 0)
                        ;
                s->places[i] = (Place){ .volume = NO_VOLUME };
        }
        for (int i = 0; i < VOLUMES; i++)
                if (s->vanished[i])
                        (void) stranger_moves_image(s, &(Action){ .volume = i });
        model_start_empty();
        if (!HOLDS_WITHIN(SETTLE_SEC, records_agree(s, &w)))
                g_error("Holders of what was unmounted are left: %s", w.text);
        g_free(w.text);
}

static bool play(Sequence *s, const GArray *actions, Wrong *w) {
        start_over(s);
        for (unsigned i = 0; i < actions->len; i++)
                if (!perform(s, &g_array_index(actions, Action, i), w))
                        return false;
        return true;
}

static Act draw_act(Sequence *s) {
        int sum = 0, n;
        Act act = 0;

        for (Act i = 0; i < ACTS; i++)
                sum += acts[i].weight;
        n = g_rand_int_range(s->run.rand, 0, sum);
        while (n >= acts[act].weight)
                n -= acts[act++].weight;
        return act;
}

/* A target has the same volume in two of three actions. */
static GArray *draw_actions(Sequence *s, int n) {
        GArray *actions = g_array_new(FALSE, FALSE, sizeof(Action));

        for (int i = 0; i < n; i++) {
                int target = g_rand_int_range(s->run.rand, 0, TARGETS);
                Action a = { draw_act(s), target % VOLUMES, target };

                if (g_rand_int_range(s->run.rand, 0, 3) == 0)
                        a.volume = g_rand_int_range(s->run.rand, 0, VOLUMES);
                g_array_append_val(actions, a);
        }
        return actions;
}

static void print_actions(const GArray *actions) {
        for (unsigned i = 0; i < actions->len; i++) {
                const Action *a = &g_array_index(actions, Action, i);

                g_print("#   %s volume %i target %i\n", acts[a->act].name, a->volume, a->target);
        }
}

/* Leaves out each action that the failure does not need, from the end on. */
static void shrink(Sequence *s, GArray *actions, Wrong *w) {
        int tries = SHRINKS;

        for (unsigned i = actions->len; i-- > 0 && tries-- > 0;) {
                Action left_out = g_array_index(actions, Action, i);

                g_array_remove_index(actions, i);
                if (play(s, actions, w))
                        g_array_insert_val(actions, i, left_out);
        }
        (void) play(s, actions, w);
}

static bool has_done_all(const Sequence *s) {
        for (Act i = 0; i < ACTS; i++)
                if (s->n_done[i] == 0)
                        return false;
        return true;
}

static bool goes_on(const Sequence *s, int n) {
        return n < s->run.amount || (s->run.amount >= ACTIONS && !has_done_all(s) && n < MORE * s->run.amount);
}

static bool run_sequences(Sequence *s) {
        for (int n = 0; goes_on(s, n); n += LENGTH) {
                g_autoptr(GArray) actions = draw_actions(s, LENGTH);
                Wrong w = { 0 };

                if (!play(s, actions, &w)) {
                        g_print("# volume %i, target %i: %s\n", w.volume, w.target, w.text);
                        print_log(s->run.environment.log);
                        shrink(s, actions, &w);
                        g_print("# volume %i, target %i: %s; the shortest sequence:\n", w.volume, w.target, w.text);
                        print_actions(actions);
                        return false;
                }
                g_free(w.text);
        }
        return true;
}

int main(int argc, char **argv) {
        static const RunSpec spec = { .name = "sequence",
                                      .option = "actions",
                                      .about = "How many there are (1000)",
                                      .few = ACTIONS,
                                      .all = FULL_ACTIONS };
        static Sequence s;
        bool ok, done;

        run_begin(&s.run, &spec, argc, argv);
        ok = run_sequences(&s);
        for (Act i = 0; i < ACTS; i++)
                g_print("# %s: %u done, %u not\n", acts[i].name, s.n_done[i], s.n_refused[i]);
        run_report(ok, 1, "after each action there is what the model says");
        done = !ok || s.run.amount < ACTIONS || has_done_all(&s);
        run_report(done, 2, "each action was done");
        return run_end(&s.run, ok && done);
}
