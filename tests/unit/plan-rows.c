/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "plan/plan-files.h"
#include "plan/plan-change.h"
#include "plan/plan-group.h"

#include "plan-rows.h"

/* --- the words of a row --- */

static void set_identity(void *member, const char *value) {
        g_assert_cmpint(identity_from_string(value, member), ==, 0);
}

DEFINE_SET(strategy, strategy_from_string)
DEFINE_SET(holder_state, holder_state_from_string)
DEFINE_SET(files_state, files_state_from_string)

static const char *context_from_word(const char *word) {
        return streq(word, "A") ? CONTEXT_0_1 : streq(word, "B") ? CONTEXT_0_2 : word;
}

static void set_context(void *member, const char *value) {
        set_text(member, context_from_word(value));
}

static void need_word(const Key *keys, size_t n, const char *word) {
        if (!set_word(keys, n, word))
                g_error("unknown word %s", word);
}

static char **split(const char *cell, const char *separators) {
        char **list;

        g_assert_cmpint(strv_split(strempty(cell), separators, &list), ==, 0);
        return list;
}

/* Cuts the text at its first such character, and returns the rest; NULL if there is none. */
static char *cut(char *text, char at) {
        char *end = strchr(text, at);

        if (!end)
                return NULL;
        *end = '\0';
        return end + 1;
}

/* The word is the name of a pod, such as "pod-1", or a path. */
static char *target_of(const char *word) {
        const char *pod = startswith(word, "pod-");

        return pod ? g_strdup_printf("/var/lib/kubelet/pods/%s/volumes/v/mount", pod) : g_strdup(word);
}

/* The item is "NAME[@VOLUME] STRATEGY[:CONTEXT] WORD...". */
static void add_holder(Fixture *x, const char *item) {
        _cleanup_strv_ char **words = split(item, " ");
        const char *volume = cut(words[0], '@'), *context = cut(words[1], ':');
        g_autofree char *target = target_of(words[0]);
        Holder *h = fixture_hold(x, volume ? volume : TEST_VOLUME, target, words[0],
                                 (Strategy) strategy_from_string(words[1]), context_from_word(strempty(context)));
        const Key keys[] = {
                { "adopted", set_flag, &h->adopted },       { "covered", set_text, &h->covered_by },
                { "device", set_text, &h->device },         { "disk", set_gid, &h->disk_gid },
                { "here", set_flag, &h->relabeled_here },   { "ro", set_flag, &h->read_only },
                { "shows", set_gid, &h->fs_group },         { "state", set_holder_state, &h->state },
                { "superblock", set_text, &h->superblock }, { "context", set_string, &h->context },
                { "id", set_number, &h->mount_id },         { "stays", set_flag, &h->release_on_umount },
        };

        for (char **word = words + 2; *word; word++)
                need_word(keys, G_N_ELEMENTS(keys), *word);
}

/* The item is "TARGET[:CONTEXT] WORD...". */
static void add_mount(Fixture *x, const char *item) {
        _cleanup_strv_ char **words = split(item, " ");
        const char *context = cut(words[0], ':');
        g_autofree char *target = target_of(words[0]);

        MountFact *m = observe(&x->observed, target, "ext4", context_from_word(strempty(context)));
        const Key keys[] = { { "device", set_text, &m->device },
                             { "ro", set_flag, &m->read_only },
                             { "seclabel", set_flag, &m->seclabel },
                             { "source", set_text, &m->source } };

        for (char **word = words + 1; *word; word++)
                need_word(keys, G_N_ELEMENTS(keys), *word);
}

static void set_up_word(Fixture *x, const char *word) {
        Observed *o = &x->observed;
        const Key keys[] = {
                { "selinux", set_flag, &x->node.selinux },
                { "mls", set_flag, &x->node.mls },
                { "file-context", set_string, &x->node.file_context },
                { "found", set_string, &o->fs_type },
                { "device", set_string, &o->device },
                { "device-ro", set_flag, &o->device_read_only },
                { "elsewhere", set_string, &o->elsewhere },
                { "hidden", set_flag, &o->hidden },
                { "identity", set_identity, &o->identity },
                { "superblock", set_string, &o->superblock },
        };

        if (!request_set_word(&x->request, word))
                need_word(keys, G_N_ELEMENTS(keys), word);
}

/* A word "v.WORD" is about the record of the volume itself. */
static void set_up_volume(Fixture *x, const char *word) {
        Volume *v = fixture_volume(x, TEST_VOLUME);
        const Key keys[] = {
                { "boot", set_flag, &v->mounted_this_boot },
                { "context", set_context, &v->context },
                { "driver", set_string, &v->driver },
                { "fs", set_text, &v->mount_type },
                { "gid", set_gid, &v->mark.gid },
                { "groups", set_files_state, &v->mark.ownership_state },
                { "identity", set_identity, &v->identity },
                { "inodes", set_number, &v->inodes_used },
                { "label", set_context, &v->mark.context },
                { "labels", set_files_state, &v->mark.label_state },
                { "mode", set_mode, &v->access_mode },
                { "mounted-here", set_flag, &v->mounted_here },
                { "options", set_list, &v->mount_options },
                { "source", set_text, &v->source },
                { "strategy", set_strategy, &v->strategy },
                { "type", set_text, &v->volume_type },
        };

        need_word(keys, G_N_ELEMENTS(keys), word);
}

static void set_up_row(Fixture *x, const Row *row) {
        _cleanup_strv_ char **holders = split(row_get(row, "holders"), ";"),
                            **mounts = split(row_get(row, "mounts"), ";"), **with = split(row_get(row, "with"), " ");

        if (row_get(row, "conf"))
                x->settings = test_settings(row_get(row, "conf"));
        STRV_FOREACH (item, holders)
                add_holder(x, *item);
        STRV_FOREACH (item, mounts)
                add_mount(x, *item);
        STRV_FOREACH (word, with)
                if (startswith(*word, "v."))
                        set_up_volume(x, *word + 2);
                else if (startswith(*word, "other.identity="))
                        set_identity(&fixture_volume(x, "other")->identity, strchr(*word, '=') + 1);
                else
                        set_up_word(x, *word);
}

/* --- the call --- */

int plan_check_reliances(Fixture *x, gid_t gid) {
        const FilesDecision walk = { .ownership = OWNERSHIP_WALK, .gid = gid, .disk_gid = gid };
        Reliance *list = NULL;
        size_t n = 0;
        int r;

        failure_done(&x->failure);
        g_assert_cmpint(plan_find_reliances(&x->volumes, TEST_VOLUME, TARGET_2, &x->observed, &list, &n), ==, 0);
        r = files_check_reliances(&walk, TEST_VOLUME, NULL, list, n, &x->failure);
        reliances_free(list, n);
        return r;
}

static int relabel(Fixture *x, const char *context, bool seen) {
        const ChangeInput in = { .node = seen ? &x->node : NULL,
                                 .settings = &x->settings,
                                 .volumes = &x->volumes,
                                 .volume = volumes_find(&x->volumes, TEST_VOLUME),
                                 .context = context,
                                 .observed = seen ? &x->observed : NULL };

        return plan_relabel(&in, &x->plan, &x->failure);
}

/* selvold decides on a change of groups without a look at the node and the superblock. */
static int give(Fixture *x, gid_t gid, bool readers) {
        const ChangeInput in = { .settings = &x->settings,
                                 .volumes = &x->volumes,
                                 .volume = volumes_find(&x->volumes, TEST_VOLUME) };

        return plan_ownership(&in, gid, readers, &x->plan, &x->failure);
}

static int make_call(Fixture *x, const char *cell) {
        g_autofree char *verb = g_strdup(strempty(cell));
        const char *argument = cut(verb, ':');

        if (isempty(verb))
                return fixture_plan(x);
        if (streq(verb, "adopt"))
                return fixture_adopt(x);
        plan_done(&x->plan);
        failure_done(&x->failure);
        if (streq(verb, "check"))
                return plan_check_reliances(x, gid_from_word(argument));
        if (streq(verb, "relabel") || streq(verb, "relabel-unseen"))
                return relabel(x, argument ? context_from_word(argument) : NULL, streq(verb, "relabel"));
        if (streq(verb, "give") || streq(verb, "give-readers"))
                return give(x, gid_from_word(argument), streq(verb, "give-readers"));
        g_error("unknown call %s", verb);
}

/* --- the answer --- */

static const char *yes_or_no(bool b) {
        return b ? "yes" : "no";
}

static char *number_or_none(uint64_t n, uint64_t none) {
        return n == none ? g_strdup("none") : g_strdup_printf("%" PRIu64, n);
}

/* Returns the conflicts as a row has them: "HOLDER[@VOLUME][:CONTEXT]", or a stranger's path. */
static char *describe_conflicts(const Plan *p) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (size_t i = 0; i < p->n_conflicts; i++) {
                const Conflict *c = &p->conflicts[i];
                const char *who = isempty(c->volume) ? c->target : c->holder;
                g_autofree char *target = target_of(who);

                g_assert_cmpstr(c->target, ==, target);
                g_assert_cmpint(isempty(c->volume), ==, isempty(c->holder));
                g_assert_cmpuint(c->since_usec, ==, isempty(c->volume) ? 0 : TEST_SINCE_USEC);
                g_string_append_printf(text, "%s%s", i > 0 ? "," : "", who);
                if (!isempty(c->volume) && !streq(c->volume, TEST_VOLUME))
                        g_string_append_printf(text, "@%s", c->volume);
                if (!isempty(c->context))
                        g_string_append_printf(text, ":%s",
                                               streq(c->context, CONTEXT_0_1)   ? "A"
                                               : streq(c->context, CONTEXT_0_2) ? "B"
                                                                                : c->context);
        }
        return g_strdup(text->str);
}

static void assert_word(const Fixture *x, const char *word) {
        const Plan *p = &x->plan;
        g_auto(GStrv) pair = g_strsplit(word, "=", 2);
        g_autofree char *conflicts = describe_conflicts(p), *entries = number_or_none(p->entries, 0),
                        *group = number_or_none(p->fs_group, GID_NONE), *usec = number_or_none(p->usec, 0);
        _cleanup_free_ char *options = strv_join(p->mount_options, ",");
        const struct {
                const char *key, *value;
        } answers[] = {
                { "action", ownership_action_to_string(p->ownership) },
                { "change", mark_change_to_string(p->change) },
                { "conflicts", conflicts },
                { "context", p->context },
                { "entries", entries },
                { "flag", p->runtime_flag },
                { "group", group },
                { "group-reason", ownership_reason_to_string(p->ownership_reason) },
                { "here", yes_or_no(p->relabel_here) },
                { "looks", yes_or_no(plan_needs_mounts(p, &x->volumes, TEST_VOLUME)) },
                { "options", options },
                { "readers", yes_or_no(p->readers) },
                { "reason", reason_to_string(p->reason) },
                { "renewed", yes_or_no(p->renewed) },
                { "ro", yes_or_no(p->read_only) },
                { "share", p->share ? p->share->name : "none" },
                { "strategy", strategy_to_string(p->strategy) },
                { "usec", usec },
        };

        g_assert_nonnull(pair[1]);
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++)
                if (streq(answers[i].key, pair[0])) {
                        g_assert_cmpstr(answers[i].value, ==, context_from_word(pair[1]));
                        return;
                }
        g_error("unknown word %s", word);
}

/* In a cell {A} and {B} stand for contexts, and {1} for the target of pod-1. A text behind "!" must not be
 * there. */
static void assert_sentence(const char *text, const char *cell) {
        static const char *const shorts[][2] = {
                { "{A}", CONTEXT_0_1 }, { "{B}", CONTEXT_0_2 }, { "{since}", TEST_SINCE },
                { "{1}", TARGET_1 },    { "{2}", TARGET_2 },    { "{3}", TARGET_3 },
        };
        g_auto(GStrv) parts = g_strsplit(strempty(cell), " & ", -1);

        for (char **part = parts; *part; part++) {
                g_autoptr(GString) needle = g_string_new(*part);
                bool absent = **part == '!';

                if (absent)
                        g_string_erase(needle, 0, 1);
                for (size_t i = 0; i < G_N_ELEMENTS(shorts); i++)
                        g_string_replace(needle, shorts[i][0], shorts[i][1], 0);
                if (!strstr(strempty(text), needle->str) != absent)
                        g_error("'%s' %s in: %s", needle->str, absent ? "is" : "is not", text);
        }
}

static void assert_answer(Fixture *x, const Row *row, int r) {
        const char *expected = row_get(row, "=result");
        _cleanup_strv_ char **words = split(row_get(row, "=plan"), " ");

        g_assert_cmpstr(result_word(r, &x->failure), ==, expected ? expected : "ok");
        assert_sentence(r == 0 ? x->plan.text : x->failure.message, row_get(row, "=says"));
        if (r == 0) {
                assert_success(r, &x->failure);
                g_assert_cmpuint(x->plan.n_conflicts, ==, 0);
                g_assert_true(!x->plan.text || g_str_has_suffix(x->plan.text, "."));
        } else {
                assert_failure(r, &x->failure, (FailureKind) r);
                g_assert_null(x->plan.share);
        }
        STRV_FOREACH (word, words)
                assert_word(x, *word);
}

static char *describe_record(const Volumes *all) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (const Volume *v = all->table; v; v = v->hh.next)
                g_string_append_printf(text, "%s %zu;", v->id, volume_count_holders(v));
        return g_strdup(text->str);
}

/* The same input gives the same answer: a plan changes neither the record nor a request that was validated
 * before. */
void plan_row_check(Fixture *x, const Row *row) {
        const char *call = row_get(row, "call");
        _cleanup_free_ char *message = NULL, *spec = NULL, *spec_again = NULL;
        g_autofree char *record = NULL, *record_again = NULL;
        const Holder *share;
        int r;

        set_up_row(x, row);
        record = describe_record(&x->volumes);
        r = make_call(x, call);
        assert_answer(x, row, r);
        message = x->failure.message ? copy(x->failure.message) : NULL;
        share = x->plan.share;
        spec = request_spec(&x->request);

        g_assert_cmpint(make_call(x, call), ==, r);
        assert_answer(x, row, r);
        g_assert_cmpstr(x->failure.message, ==, message);
        g_assert_true(x->plan.share == share);
        spec_again = request_spec(&x->request);
        g_assert_cmpstr(spec_again, ==, spec);
        record_again = describe_record(&x->volumes);
        g_assert_cmpstr(record_again, ==, record);
}
