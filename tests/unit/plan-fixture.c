/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-fixture.h"

static const char *source_for(const char *fs) {
        if (!fs)
                return NULL;
        return g_str_has_prefix(fs, "nfs") ? "server:/export" : strcmp(fs, "tmpfs") == 0 ? "tmpfs" : "/dev/vdb";
}

Request make_request(const char *target, const char *holder, const char *fs, const char *mode, const char *policy,
                     const char *level) {
        Request q = REQUEST_INIT;

        q.by_root = true;
        q.volume = copy(TEST_VOLUME);
        q.target = copy(target);
        q.holder = copy(holder);
        q.source = source_for(fs) ? copy(source_for(fs)) : NULL;
        q.fs_type = fs ? copy(fs) : NULL;
        q.level = level ? copy(level) : NULL;
        q.access_mode = mode ? mode_from_word(mode) : ACCESS_INLINE;
        if (policy) {
                q.policy = relabel_policy_parse(policy);
                g_assert_cmpint(q.policy, >=, 0);
        }
        return q;
}

int validate_and_plan(const Node *node, const Settings *settings, Request *q, const Volumes *volumes,
                      const Observed *observed, int seclabel, Plan *ret, Failure *f) {
        PlanInput in = { .node = node,
                         .settings = settings,
                         .request = q,
                         .volumes = volumes,
                         .observed = observed,
                         .seclabel = seclabel,
                         .claimed = true };
        int r;

        r = request_validate(q, settings, f);
        if (r != 0)
                return r;
        return plan_make(&in, ret, f);
}

MountFact *observe(Observed *o, const char *target, const char *fs_type, const char *context) {
        o->mounts = reallocarray(o->mounts, o->n_mounts + 1, sizeof(MountFact));
        g_assert_nonnull(o->mounts);
        o->mounts[o->n_mounts++] = (MountFact){
                .target = copy(target),
                .source = copy("/dev/vdb"),
                .fs_type = copy(fs_type),
                .device = copy("254:16"),
                .context = copy(context),
                .seclabel = isempty(context),
                .mount_id = 1,
        };
        return &o->mounts[o->n_mounts - 1];
}

void assert_conflict_with_pod_1(const Plan *p, const char *context) {
        g_assert_cmpuint(p->n_conflicts, ==, 1);
        g_assert_cmpstr(p->conflicts[0].volume, ==, TEST_VOLUME);
        g_assert_cmpstr(p->conflicts[0].holder, ==, "pod-1");
        g_assert_cmpstr(p->conflicts[0].target, ==, TARGET_1);
        g_assert_cmpstr(p->conflicts[0].context, ==, context);
        g_assert_cmpuint(p->conflicts[0].since_usec, ==, TEST_SINCE_USEC);
}

void fixture_set_up(Fixture *x, gconstpointer data) {
        x->node = test_node();
        x->settings = test_settings(NULL);
        x->request = make_request(TARGET_2, "pod-2", "ext4", "RWO", "OnVolumeMount", "s0:c0,c1");
        x->request.selinux_mount_supported = 1;
}

static void fixture_forget(Fixture *x) {
        plan_done(&x->plan);
        failure_done(&x->failure);
}

void fixture_tear_down(Fixture *x, gconstpointer data) {
        fixture_forget(x);
        request_done(&x->request);
        observed_done(&x->observed);
        volumes_done(&x->volumes);
        node_done(&x->node);
}

int fixture_plan(Fixture *x) {
        fixture_forget(x);
        return validate_and_plan(&x->node, &x->settings, &x->request, &x->volumes, &x->observed, -1, &x->plan,
                                 &x->failure);
}

Volume *fixture_volume(Fixture *x, const char *id) {
        Volume *v = volumes_find(&x->volumes, id);

        if (v)
                return v;
        v = volume_new(id);
        g_assert_nonnull(v);
        g_assert_cmpint(volumes_add(&x->volumes, v), ==, 0);
        return v;
}

Holder *fixture_hold(Fixture *x, const char *volume, const char *target, const char *holder, Strategy strategy,
                     const char *context) {
        Volume *v = fixture_volume(x, volume);
        Holder *h = calloc(1, sizeof(*h));

        g_assert_nonnull(h);
        v->strategy = strategy;
        g_assert_cmpint(free_and_strdup(&v->context, context), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        *h = (Holder){
                .name = copy(holder),
                .target = copy(target),
                .state = HOLDER_MOUNTED,
                .strategy = strategy,
                .since_usec = TEST_SINCE_USEC,
                .context = copy(context),
                .fs_group = GID_NONE,
                .disk_gid = GID_NONE,
        };
        g_assert_cmpint(volume_add_holder(v, h), ==, 0);
        return h;
}

int fixture_adopt(Fixture *x) {
        PlanInput in = {
                .node = &x->node,
                .settings = &x->settings,
                .request = &x->request,
                .volumes = &x->volumes,
                .observed = &x->observed,
                .seclabel = x->observed.mounts[0].seclabel,
                .mounted = &x->observed.mounts[0],
                .claimed = true,
        };
        int r;

        fixture_forget(x);
        r = request_validate(&x->request, &x->settings, &x->failure);
        return r != 0 ? r : plan_make(&in, &x->plan, &x->failure);
}
