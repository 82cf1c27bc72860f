/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "run.h"

/* A sequence has calls, changes that strangers make at the targets, and kills. After each action the mounts
 * must be those of a simple model, and selvold must have recorded them. If a sequence fails, the test leaves
 * out actions that the failure does not need, and prints the rest. */

enum {
        LENGTH = 40,
        ACTIONS = 1000,
        FULL_ACTIONS = 100000,
        MORE = 10, /* a run has at most so many times as many actions, until selvold has done each kind */
        COVERS_MAX = 2,
        SETTLE_SEC = 30,
        ANSWER_SEC = 90,
        SHRINKS = 100
};

typedef enum Act {
        ACT_MOUNT,
        ACT_UNMOUNT,
        ACT_UNMOUNT_ANY, /* without the volume's name */
        ACT_OWNERSHIP,
        ACT_ADOPT,
        ACT_VERIFY,
        ACT_FORGET,
        ACT_COVER,     /* a stranger mounts a tmpfs over the target */
        ACT_TAKE_AWAY, /* a stranger unmounts the mount on top */
        ACT_DETACH,    /* the same with MNT_DETACH */
        ACT_READ_ONLY, /* a stranger remounts the mount on top */
        ACT_READ_WRITE,
        ACT_VANISH, /* a stranger moves the image of a volume away, or back */
        ACT_KILL_DAEMON,
        ACT_KILL_WORKER,
        ACT_LOSE_RECORD, /* selvold is killed and its state removed */
        ACTS
} Act;

static const struct {
        const char *name;
        int weight;
} acts[ACTS] = {
        [ACT_MOUNT] = { "mount", 10 },
        [ACT_UNMOUNT] = { "unmount", 6 },
        [ACT_UNMOUNT_ANY] = { "unmount-any", 1 },
        [ACT_OWNERSHIP] = { "ownership", 1 },
        [ACT_ADOPT] = { "adopt", 3 },
        [ACT_VERIFY] = { "verify", 1 },
        [ACT_FORGET] = { "forget", 1 },
        [ACT_COVER] = { "cover", 3 },
        [ACT_TAKE_AWAY] = { "take-away", 4 },
        [ACT_DETACH] = { "detach", 2 },
        [ACT_READ_ONLY] = { "read-only", 2 },
        [ACT_READ_WRITE] = { "read-write", 2 },
        [ACT_VANISH] = { "vanish", 1 },
        [ACT_KILL_DAEMON] = { "kill-selvold", 1 },
        [ACT_KILL_WORKER] = { "kill-worker", 1 },
        [ACT_LOSE_RECORD] = { "lose-record", 1 },
};

typedef struct Action {
        Act act;
        int volume, target;
} Action;

/* A target has at most one mount of selvol's, and mounts of strangers above it. */
typedef struct Place {
        int volume;
        unsigned covers;
        bool adopted; /* a stranger had made selvol's mount */
        bool lost;    /* selvold has lost its record */
} Place;

typedef struct Sequence {
        Run run;
        Place places[TARGETS];
        bool vanished[VOLUMES];
        unsigned n_done[ACTS], n_refused[ACTS];
} Sequence;

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

static bool is_image(const Sequence *s, int volume) {
        return s->run.environment.volumes[volume].image;
}

/* *ret_done tells whether selvold has acknowledged the operation. */
static bool finish(Sequence *s, const Operation *o, bool *ret_done, Wrong *w) {
        if (!HOLDS_WITHIN(ANSWER_SEC, client_is_idle(s->run.client)))
                return blame(w, o->volume, o->target, "no answer");
        *ret_done = o->outcome == OUTCOME_ACKNOWLEDGED;
        return true;
}

/* Tells whether the volume has a mount whose record is lost, or is not lost. */
static bool is_somewhere(const Sequence *s, int volume, bool lost) {
        for (int i = 0; i < TARGETS; i++)
                if (s->places[i].lost == lost && s->places[i].volume == volume)
                        return true;
        return false;
}

static bool do_mount(Sequence *s, const Action *a, bool *ret_done, Wrong *w) {
        Place *p = &s->places[a->target];
        bool free = p->volume == NO_VOLUME && p->covers == 0;

        if (!finish(s, client_mount(s->run.client, a->volume, a->target, NO_GID), ret_done, w))
                return false;
        if (*ret_done && !free && (p->volume != a->volume || p->lost))
                return blame(w, a->volume, a->target, "mounted, though the target is taken");
        if (*ret_done && free && s->vanished[a->volume])
                return blame(w, a->volume, a->target, "mounted, though there is no such image");
        /* selvold may refuse a further mount of a tmpfs, which would be another file system, and a mount
         * beside one whose record is lost. */
        if (!*ret_done && free && is_image(s, a->volume) && !s->vanished[a->volume] &&
            !is_somewhere(s, a->volume, true))
                return blame(w, a->volume, a->target, "not mounted, though nothing is in the way");
        if (*ret_done && free)
                *p = (Place){ .volume = a->volume };
        return true;
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
        /* selvold may refuse a second tmpfs, because each tmpfs is another file system. */
        bool may_fail = !is_image(s, volume) && is_somewhere(s, volume, false);

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
        return !*ret_done || !is_somewhere(s, a->volume, false) ||
               blame(w, a->volume, NO_TARGET, "forgotten, though it is held");
}

/* ---- strangers ---- */

static bool do_cover(Sequence *s, const Action *a) {
        Place *p = &s->places[a->target];

        if (p->covers == COVERS_MAX)
                return false;
        must(mount("stranger", s->run.environment.targets[a->target], "tmpfs", 0, NULL));
        p->covers++;
        return true;
}

static bool do_take_away(Sequence *s, const Action *a) {
        Place *p = &s->places[a->target];

        if (p->covers == 0 && p->volume == NO_VOLUME)
                return false;
        must(umount2(s->run.environment.targets[a->target], a->act == ACT_DETACH ? MNT_DETACH : 0));
        if (p->covers > 0)
                p->covers--;
        else
                *p = (Place){ .volume = NO_VOLUME };
        return true;
}

static bool do_remount(Sequence *s, const Action *a) {
        const Place *p = &s->places[a->target];
        unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV;

        if (p->covers == 0 && p->volume == NO_VOLUME)
                return false;
        must(mount(NULL, s->run.environment.targets[a->target], NULL,
                   flags | (a->act == ACT_READ_ONLY ? MS_RDONLY : 0), NULL));
        return true;
}

static bool do_vanish(Sequence *s, const Action *a) {
        const char *image = s->run.environment.volumes[a->volume].source;
        g_autofree char *away = g_strconcat(image, ".away", NULL);

        if (!is_image(s, a->volume))
                return false;
        must(s->vanished[a->volume] ? rename(away, image) : rename(image, away));
        s->vanished[a->volume] = !s->vanished[a->volume];
        return true;
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
}

/* ---- sequences ---- */

static bool perform(Sequence *s, const Action *a, Wrong *w) {
        bool done = true, ok = true;

        switch (a->act) {
        case ACT_MOUNT:
                ok = do_mount(s, a, &done, w);
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
                done = do_cover(s, a);
                break;
        case ACT_TAKE_AWAY:
        case ACT_DETACH:
                done = do_take_away(s, a);
                break;
        case ACT_READ_ONLY:
        case ACT_READ_WRITE:
                done = do_remount(s, a);
                break;
        case ACT_VANISH:
                done = do_vanish(s, a);
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
                        (void) do_vanish(s, &(Action){ .volume = i });
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
