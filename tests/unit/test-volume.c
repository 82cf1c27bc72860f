/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/volume.h"
#include "support.h"

static Holder *make_holder(const char *name, const char *target, bool read_only) {
        Holder *h = calloc(1, sizeof(*h));

        g_assert_nonnull(h);
        *h = (Holder){ .name = copy(name),
                       .target = copy(target),
                       .read_only = read_only,
                       .fs_group = GID_NONE,
                       .disk_gid = GID_NONE };
        return h;
}

static Volume *make_volume(Volumes *all, const char *id) {
        Volume *v = volume_new(id);

        g_assert_nonnull(v);
        g_assert_cmpint(volumes_add(all, v), ==, 0);
        return v;
}

static void test_new(void) {
        Volume *v = volume_new("pvc-1");

        g_assert_cmpstr(v->id, ==, "pvc-1");
        /* selvold must not skip work by a mark that it does not know. */
        g_assert_cmpint(v->mark.label_state, ==, FILES_UNKNOWN);
        g_assert_cmpint(v->strategy, ==, STRATEGY_NONE);
        g_assert_cmpstr(v->context, ==, "");
        g_assert_cmpuint(volume_count_holders(v), ==, 0);
        g_assert_null(volume_free(v));
        g_assert_null(volume_free(NULL));
        g_assert_null(holder_free(NULL));
}

static void test_holders(void) {
        Volume *v = volume_new("pvc-1");
        Holder *reader = make_holder("pod-1", "/a/1", true), *writer = make_holder("pod-2", "/a/2", false);

        g_assert_cmpint(volume_add_holder(v, reader), ==, 0);
        g_assert_cmpint(volume_add_holder(v, writer), ==, 0);
        g_assert_cmpuint(volume_count_holders(v), ==, 2);
        g_assert_true(v->holders == reader);
        g_assert_true(volume_find_holder(v, "/a/2") == writer);
        g_assert_null(volume_find_holder(v, "/a"));
        g_assert_null(volume_find_holder(v, "/a/22"));

        volume_remove_holder(v, reader);
        g_assert_cmpuint(volume_count_holders(v), ==, 1);
        g_assert_null(volume_find_holder(v, "/a/1"));
        volume_free(v);
}

/* G4 of kubernetes-two-pods.table: selvold finds what it has recorded. */
static void test_volumes(void) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        Volume *a, *b, *found = NULL;
        Holder *h = make_holder("pod-1", "/a/1", false);

        g_assert_null(volumes_find(&all, "a"));
        g_assert_null(volumes_find_target(&all, "/a/1", &found));
        g_assert_null(found);
        g_assert_cmpuint(volumes_count(&all), ==, 0);

        a = make_volume(&all, "a");
        b = make_volume(&all, "b");
        g_assert_cmpint(volume_add_holder(b, h), ==, 0);
        g_assert_cmpuint(volumes_count(&all), ==, 2);
        g_assert_true(volumes_find(&all, "a") == a);
        g_assert_null(volumes_find(&all, "A"));
        g_assert_true(volumes_find_target(&all, "/a/1", &found) == h);
        g_assert_true(found == b);
        g_assert_true(volumes_find_target(&all, "/a/1", NULL) == h);
        g_assert_null(volumes_find_target(&all, "/a/2", NULL));

        volumes_remove(&all, b);
        g_assert_null(volumes_find(&all, "b"));
        g_assert_null(volumes_find_target(&all, "/a/1", NULL));
        g_assert_cmpuint(volumes_count(&all), ==, 1);
}

/* The innermost target counts, whatever volume has it. */
static void test_find_above(void) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        Holder *outer = make_holder("pod-1", "/a/1", false), *inner = make_holder("pod-2", "/a/1/b", false);
        Volume *a = make_volume(&all, "a"), *b = make_volume(&all, "b"), *found = NULL;
        const struct {
                const char *path;
                const Holder *holder;
                const Volume *volume;
        } cases[] = {
                { "/a/1", outer, a },     { "/a/1/c", outer, a }, { "/a/1/bc", outer, a }, { "/a/1/b", inner, b },
                { "/a/1/b/c", inner, b }, { "/a", NULL, NULL },   { "/a/11", NULL, NULL }, { "/", NULL, NULL },
        };

        g_assert_cmpint(volume_add_holder(a, outer), ==, 0);
        g_assert_cmpint(volume_add_holder(b, inner), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                found = NULL;
                g_assert_true(volumes_find_above(&all, cases[i].path, &found) == cases[i].holder);
                g_assert_true(found == cases[i].volume);
        }
}

static void test_many(void) {
        _cleanup_(volumes_done) Volumes all = { 0 };

        for (int i = 0; i < VOLUMES_MAX; i++) {
                g_autofree char *id = g_strdup_printf("pvc-%i", i);

                make_volume(&all, id);
        }
        g_assert_cmpuint(volumes_count(&all), ==, VOLUMES_MAX);
        for (int i = 0; i < VOLUMES_MAX; i += 2) {
                g_autofree char *id = g_strdup_printf("pvc-%i", i);

                volumes_remove(&all, volumes_find(&all, id));
        }
        g_assert_cmpuint(volumes_count(&all), ==, VOLUMES_MAX / 2);
        g_assert_null(volumes_find(&all, "pvc-4094"));
        g_assert_nonnull(volumes_find(&all, "pvc-4095"));
        volumes_done(&all);
        g_assert_cmpuint(volumes_count(&all), ==, 0);
}

/* --- the request in one string --- */

static Request make_request(void) {
        Request q = REQUEST_INIT;

        q.by_root = true;
        q.volume = copy("pvc-1");
        q.source = copy("/dev/vdb");
        q.target = copy("/var/lib/kubelet/pods/1/v");
        q.fs_type = copy("ext4");
        q.holder = copy("pod-1");
        q.driver = copy("ebs.csi.aws.com");
        q.volume_type = copy("csi");
        q.level = copy("s0:c0,c1");
        return q;
}

typedef struct Change {
        const char *name, *word;
} Change;

static const Change changes[] = {
        { "source", "source=/dev/vdc" },
        { "no-source", "source=" },
        { "fs-type", "fs=xfs" },
        { "options", "options=noatime" },
        { "holder", "holder=pod-2" },
        { "driver", "driver=" },
        { "volume-type", "type=local" },
        { "access-mode", "mode=RWX" },
        { "context", "context=u:r:t:s0" },
        { "user", "user=x" },
        { "role", "role=x" },
        { "type", "settype=x" },
        { "level", "level=s0:c0,c2" },
        { "policy", "policy=Always" },
        { "supported", "supported=no" },
        { "read-only", "ro" },
        { "relabel-by", "by=service" },
        { "relabel-by-none", "by=none" },
        { "force", "force" },
        { "fs-group", "group=1000" },
        { "fs-group-root", "group=0" },
};

static void assert_spec(const Request *q, const char *expected) {
        _cleanup_free_ char *spec = request_spec(q);

        g_assert_cmpstr(spec, ==, expected);
}

/* The string of a request and the comparison agree. */
static void assert_same(const Request *a, const Request *b, bool same) {
        _cleanup_free_ char *spec_a = request_spec(a), *spec_b = request_spec(b);

        g_assert_cmpint(streq(spec_a, spec_b), ==, same);
        g_assert_cmpint(request_equal(a, b), ==, same);
        g_assert_cmpint(request_equal(b, a), ==, same);
}

/* Requests that differ in one part are not the same. */
static void test_spec(gconstpointer data) {
        const Change *change = data;
        _cleanup_(request_done) Request a = make_request(), b = make_request();

        assert_same(&a, &b, true);
        g_assert_true(request_set_word(&b, change->word));
        assert_same(&a, &b, false);
}

/* Two requests whose parts end at different places have different strings. */
static void test_spec_borders(void) {
        _cleanup_(request_done) Request a = make_request(), b = make_request();

        g_assert_cmpint(free_and_strdup(&a.driver, "d|x"), ==, 0);
        g_assert_cmpint(free_and_strdup(&a.holder, "y"), ==, 0);
        g_assert_cmpint(free_and_strdup(&b.driver, "d"), ==, 0);
        g_assert_cmpint(free_and_strdup(&b.holder, "x|y"), ==, 0);
        assert_same(&a, &b, false);
}

/* The string stays as earlier versions have written it to the store: the same request has to be found
 * equal. */
static void test_spec_stays(void) {
        _cleanup_(request_done) Request q = make_request();

        assert_spec(&q, "/dev/vdb ext4 rw  - :::s0:c0,c1 -1 -1 csi |ebs.csi.aws.com,pod-1");
}

/* Other options for groups count only if there is a group. */
static bool same_group(const Request *a, const Request *b) {
        if (a->fs_group == GID_NONE)
                return b->fs_group == GID_NONE;
        return a->fs_group == b->fs_group && a->fs_group_policy == b->fs_group_policy &&
               a->fs_group_change_policy == b->fs_group_change_policy && a->user_namespace == b->user_namespace;
}

static void set_group(Request *q, unsigned i) {
        static const gid_t groups[] = { GID_NONE, 0, 1, 1000, GID_NONE - 1 };

        q->fs_group = groups[i % 5];
        q->fs_group_policy = (int) (i / 5 % (FS_GROUP_POLICIES + 1)) - 1;
        q->fs_group_change_policy = (int) (i / 5 / (FS_GROUP_POLICIES + 1) % (FS_GROUP_CHANGE_POLICIES + 1)) - 1;
        q->user_namespace = i / 5 / (FS_GROUP_POLICIES + 1) / (FS_GROUP_CHANGE_POLICIES + 1);
}

static void test_spec_groups(void) {
        const unsigned all = 5 * (FS_GROUP_POLICIES + 1) * (FS_GROUP_CHANGE_POLICIES + 1) * 2;

        for (unsigned i = 0; i < all; i++) {
                _cleanup_(request_done) Request a = make_request();

                set_group(&a, i);
                for (unsigned k = i; k < all; k++) {
                        _cleanup_(request_done) Request b = make_request();

                        set_group(&b, k);
                        g_assert_true(same_group(&a, &b) || i != k);
                        assert_same(&a, &b, same_group(&a, &b));
                }
        }
}

/* Stores have these strings, too. Without a group the string has no word about groups. */
static void test_spec_group_stays(void) {
        _cleanup_(request_done) Request q = make_request();
        _cleanup_free_ char *plain = request_spec(&q);

        q.fs_group_policy = FS_GROUP_FILE;
        q.fs_group_change_policy = FS_GROUP_CHANGE_ALWAYS;
        q.user_namespace = true;
        assert_spec(&q, plain);
        q.fs_group = 4294967294;
        q.relabel_by = RELABEL_BY_SERVICE;
        q.walk.force = true;
        assert_spec(&q, "/dev/vdb ext4 rw  - :::s0:c0,c1 -1 -1 csi  service force group=4294967294:1:1:user"
                        "|ebs.csi.aws.com,pod-1");
        q.relabel_by = RELABEL_BY_NONE;
        assert_spec(&q, "/dev/vdb ext4 rw  - :::s0:c0,c1 -1 -1 csi  none force group=4294967294:1:1:user"
                        "|ebs.csi.aws.com,pod-1");
        request_done(&q);
        q = make_request();
        q.fs_group = 0;
        assert_spec(&q, "/dev/vdb ext4 rw  - :::s0:c0,c1 -1 -1 csi  group=0:-1:-1|ebs.csi.aws.com,pod-1");
}

/* An empty request asks for no group; 0 would be root's group. */
static void test_spec_group_init(void) {
        Request q = make_request();

        g_assert_cmpuint(q.fs_group, ==, GID_NONE);
        q.fs_group = 0;
        q.fs_group_policy = q.fs_group_change_policy = 0;
        request_done(&q);
        g_assert_cmpuint(q.fs_group, ==, GID_NONE);
        g_assert_cmpint(q.fs_group_policy, ==, -1);
        g_assert_cmpint(q.fs_group_change_policy, ==, -1);
        g_assert_false(q.user_namespace);
}

static void test_mapped(void) {
        static const struct {
                gid_t shown, on_disk;
                bool mapped;
        } cases[] = {
                { GID_NONE, GID_NONE, false }, { 0, 0, false },   { 1000, 1000, false },
                { 1000, 2000, true },          { 0, 1000, true }, { 1000, 0, true },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const Holder h = { .fs_group = cases[i].shown, .disk_gid = cases[i].on_disk };

                g_assert_cmpint(holder_is_mapped(&h), ==, cases[i].mapped);
        }
}

/* The speed of a walk, and the time that a caller waits, are not part of what a request asks for. */
static void test_spec_manner(void) {
        _cleanup_(request_done) Request a = make_request(), b = make_request();

        b.walk = (WalkOptions){ .entries_per_sec = 1000 };
        b.timeout_usec = 1;
        b.wait_usec = 1;
        assert_same(&a, &b, true);
}

static void test_runtime_flag(void) {
        g_assert_cmpstr(runtime_flag(STRATEGY_RELABEL, false), ==, "Z");
        g_assert_cmpstr(runtime_flag(STRATEGY_RELABEL, true), ==, "");
        g_assert_cmpstr(runtime_flag(STRATEGY_NONE, false), ==, "");
        g_assert_cmpstr(runtime_flag(STRATEGY_CONTEXT_MOUNT, false), ==, "");
}

void add_tests(void) {
        g_test_add_func("/volume/new", test_new);
        g_test_add_func("/volume/holders", test_holders);
        g_test_add_func("/volume/volumes", test_volumes);
        g_test_add_func("/volume/find-above", test_find_above);
        g_test_add_func("/volume/many", test_many);
        g_test_add_func("/volume/runtime-flag", test_runtime_flag);
        add_rows("/volume/spec", changes, test_spec);
        g_test_add_func("/volume/spec/borders", test_spec_borders);
        g_test_add_func("/volume/spec/stays", test_spec_stays);
        g_test_add_func("/volume/spec/groups", test_spec_groups);
        g_test_add_func("/volume/spec/group-stays", test_spec_group_stays);
        g_test_add_func("/volume/spec/group-init", test_spec_group_init);
        g_test_add_func("/volume/mapped", test_mapped);
        g_test_add_func("/volume/spec/manner", test_spec_manner);
}
