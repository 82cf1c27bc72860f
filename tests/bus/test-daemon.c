/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* selvold on a private bus, in front of a fake worker: what every method answers, what is recorded, and what happens
 * when the worker, the state or selvold itself fails. */

#include <signal.h>

#include <glib/gstdio.h>

#include "model/failure.h"
#include "support.h"

#define T1            "/var/lib/kubelet/pods/a/volumes/v"
#define T2            "/var/lib/kubelet/pods/b/volumes/v"
#define T3            "/var/lib/kubelet/pods/c/volumes/v"
#define T4            "/var/lib/kubelet/pods/d/volumes/v"
#define T5            "/var/lib/kubelet/pods/e/volumes/v"
#define OVM           "'SELinuxRelabelPolicy': <'OnVolumeMount'>, 'SELinuxMountSupported': <true>"
#define POD_A         "{'SELinuxLevel': <'s0:c10,c0'>, 'Holder': <'pod-a'>, " OVM "}"
#define POD_A2        "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a2'>, " OVM "}"
#define POD_B         "{'SELinuxLevel': <'s0:c20,c30'>, 'Holder': <'pod-b'>, " OVM "}"
#define CONTEXT_A     "system_u:object_r:container_file_t:s0:c0,c10"
#define LOG_CONTROL   "/org/freedesktop/LogControl1"
#define LOG_INTERFACE "org.freedesktop.LogControl1"

static void set_up(Fixture *f, gconstpointer data) {
        fixture_start(f, CALLER_ROOT, FALSE);
}

static void tear_down(Fixture *f, gconstpointer data) {
        fixture_stop(f);
}

/* Keys that say nothing are left out. */
static void assert_applies(GVariant *result) {
        GVariantIter iterator;
        const char *key;
        GVariant *value;

        g_assert_cmpuint(g_variant_n_children(result), <=, 10);
        g_variant_iter_init(&iterator, result);
        while (g_variant_iter_loop(&iterator, "{&sv}", &key, &value)) {
                g_autofree char *text = g_variant_print(value, FALSE);

                g_test_message("%s=%s", key, text);
                g_assert_cmpstr(text, !=, "''");
                g_assert_cmpstr(text, !=, "[]");
                g_assert_cmpstr(text, !=, "false");
                g_assert_cmpstr(text, !=, "4294967295");
        }
}

static void assert_mounted(GVariant *reply, const char *context, const char *flag, const char *reason) {
        const char *actual_context, *actual_flag, *actual_reason = NULL;
        g_autoptr(GVariant) result = NULL;

        g_assert_nonnull(reply);
        g_variant_get(reply, "(&s&s@a{sv})", &actual_context, &actual_flag, &result);
        g_assert_cmpstr(actual_context, ==, context);
        g_assert_cmpstr(actual_flag, ==, flag);
        g_assert_true(g_variant_lookup(result, "Reason", "&s", &actual_reason));
        g_assert_cmpstr(actual_reason, ==, reason);
        assert_applies(result);
}

/* A property of a volume, by its encoded path. */
static GVariant *get_property(Fixture *f, const char *element, const char *property) {
        g_autofree char *path = g_strdup_printf("/org/selvol1/volume/%s", element);

        return get_property_at(f, path, "org.selvol1.Volume", property);
}

static guint64 find_mount_id(Fixture *f, const char *target) {
        g_autofree char *table = mount_table(f), *needle = g_strdup_printf(" %s ", target);
        const char *line = strstr(table, needle);

        g_assert_nonnull(line);
        while (line > table && line[-1] != '\n')
                line--;
        return g_ascii_strtoull(line, NULL, 10);
}

static void assert_result(Fixture *f, GVariant *reply, const char *target, gboolean shared) {
        g_autoptr(GVariant) result = g_variant_get_child_value(reply, 2);
        gboolean flag = FALSE;

        g_assert_cmpstr(get_string(result, "Strategy"), ==, "context-mount");
        g_assert_cmpstr(get_string(result, "FSType"), ==, "ext4");
        g_assert_cmpuint(get_number(result, "MountID"), ==, find_mount_id(f, target));
        assert_absent(result, "ReadOnly");
        assert_absent(result, "LabelState");
        assert_absent(result, "Tainted");
        assert_absent(result, "MountOptions");
        assert_absent(result, "Relabel");
        assert_absent(result, "Ownership");
        assert_absent(result, "Job");
        g_assert_cmpint(g_variant_lookup(result, "Shared", "b", &flag), ==, shared);
}

/* The record of a mounted holder is complete. */
static void assert_holder(Fixture *f, const char *element, gsize i, const char *name, const char *target) {
        g_autoptr(GVariant) holders = get_holders(f, element), holder = g_variant_get_child_value(holders, i);
        guint64 since;
        gboolean flag;

        g_assert_cmpstr(get_string(holder, "Holder"), ==, name);
        g_assert_cmpstr(get_string(holder, "Target"), ==, target);
        g_assert_cmpstr(get_string(holder, "State"), ==, "mounted");
        g_assert_true(g_variant_lookup(holder, "ReadOnly", "b", &flag) && !flag);
        g_assert_true(g_variant_lookup(holder, "Adopted", "b", &flag) && !flag);
        g_assert_true(g_str_has_prefix(get_string(holder, "Device"), "8:"));
        since = get_number(holder, "SinceUSec");
        g_assert_cmpuint(since, <=, (guint64) g_get_real_time());
        g_assert_cmpuint(since, >, (guint64) g_get_real_time() - 60 * G_USEC_PER_SEC);
        assert_absent(holder, "FSGroup");
        assert_absent(holder, "DiskGroup");
}

static void test_story(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) first = NULL, again = NULL, second = NULL, third = NULL, tainted = NULL;
        GError *error = NULL;

        first = call_mount(f, "pvc-1", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        assert_mounted(first, CONTEXT_A, "", "context-mount");
        again = call_mount(f, "pvc-1", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        assert_mounted(again, CONTEXT_A, "", "context-mount");
        g_assert_cmpuint(count_holders(f, "pvc_2d1"), ==, 1);
        second = call_mount(f, "pvc-1", "/dev/vdb", T2, POD_A2, &error);
        g_assert_no_error(error);
        assert_mounted(second, CONTEXT_A, "", "context-shared");
        assert_result(f, first, T1, FALSE);
        assert_result(f, second, T2, TRUE);
        g_assert_cmpuint(count_holders(f, "pvc_2d1"), ==, 2);
        assert_holder(f, "pvc_2d1", 0, "pod-a", T1);
        assert_holder(f, "pvc_2d1", 1, "pod-a2", T2);
        tainted = get_property(f, "pvc_2d1", "Tainted");
        g_assert_true(g_variant_get_boolean(tainted));

        g_assert_null(call_mount(f, "pvc-1", "/dev/vdb", T3, POD_B, &error));
        g_assert_nonnull(strstr(error->message, "pod-a"));
        g_assert_nonnull(strstr(error->message, " since 20"));
        g_assert_nonnull(strstr(error->message, "Unmount it there"));
        assert_error(g_steal_pointer(&error), "ContextConflict", T1);

        g_assert_true(call_unmount(f, "pvc-1", T1, &error));
        g_assert_true(call_unmount(f, "pvc-1", T2, &error));
        g_assert_false(call_unmount(f, "pvc-1", T2, &error));
        g_assert_no_error(error);
        third = call_mount(f, "pvc-1", "/dev/vdb", T3, POD_B, &error);
        g_assert_no_error(error);
        assert_mounted(third, "system_u:object_r:container_file_t:s0:c20,c30", "", "context-mount");
}

static void test_other_spec(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        reply = call_mount(f, "pvc-1", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "pvc-1", "/dev/vdb", T1, POD_A2, &error));
        assert_error(g_steal_pointer(&error), "Incompatible", "unmount it first");
        g_assert_null(call_mount(f, "pvc-2", "/dev/vdc", T1, POD_A, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "pvc-1");
        g_assert_null(call_mount(f, "pvc-1", "/dev/vdc", T2, POD_A2, &error));
        assert_error(g_steal_pointer(&error), "Incompatible", "/dev/vdb");
}

static char *get_image(Fixture *f) {
        g_autoptr(GVariant) holders = get_holders(f, "v"), first = NULL;

        g_assert_cmpuint(g_variant_n_children(holders), ==, 1);
        first = g_variant_get_child_value(holders, 0);
        return g_strdup(get_string(first, "Image"));
}

/* An image that was put in the place of that of a holder is not the same volume. */
static void test_other_image(Fixture *f, gconstpointer data) {
        static const char source[] = "/var/lib/selvol-images/disk";
        g_autoptr(GVariant) first = NULL, second = NULL;
        g_autofree char *image = NULL;
        GError *error = NULL;

        write_file(f, "image-disk", "8:1:12");
        first = call_mount(f, "v", source, T1, POD_A, &error);
        g_assert_no_error(error);
        image = get_image(f);
        g_assert_cmpstr(image, ==, "8:1:12");

        write_file(f, "image-disk", "8:1:13");
        daemon_stop(f, SIGTERM);
        daemon_start(f, CALLER_ROOT);
        g_assert_null(call_mount(f, "v", source, T2, POD_A, &error));
        assert_error(g_steal_pointer(&error), "Incompatible",
                     "was the image with inode 12 on device 8:1 and is the image with inode 13 on device 8:1 now");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);

        write_file(f, "image-disk", "8:1:12");
        second = call_mount(f, "v", source, T2, POD_A, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(count_holders(f, "v"), ==, 2);
}

/* What was unmounted a moment ago by others, and not heard of, is in nobody's way. */
static void test_unmounted_just_now(Fixture *f, gconstpointer data) {
        static const struct {
                const char *volume, *source, *options;
        } calls[] = {
                { "pvc-1", "/dev/vdb", POD_A },
                { "pvc-1", "/dev/vdb", POD_B }, /* with other options */
                { "pvc-2", "/dev/vdc", POD_A }, /* another volume */
        };

        for (size_t i = 0; i < 10 * G_N_ELEMENTS(calls); i++) {
                size_t k = i % G_N_ELEMENTS(calls);
                g_autoptr(GVariant) planned = NULL, mounted = NULL;
                GError *error = NULL;

                planned = call(f, "PlanVolume",
                               mount_arguments(calls[k].volume, calls[k].source, T1, calls[k].options), &error);
                g_assert_no_error(error);
                mounted = call_mount(f, calls[k].volume, calls[k].source, T1, calls[k].options, &error);
                g_assert_no_error(error);
                assert_metric(f, "selvol_holders 1\n");
                write_file(f, "mounts", "");
        }
}

/* Another volume id on the same device, and a mount that is nobody's. */
static void test_conflict_elsewhere(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL;
        GError *error = NULL;

        reply = call_mount(f, "pvc-1", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "pvc-2", "/dev/vdb", T2, POD_B, &error));
        assert_error(g_steal_pointer(&error), "ContextConflict", "as volume pvc-1");
        write_file(f, "mounts", "7 /mnt /dev/vdc ext4 - 0\n");
        g_assert_null(call_mount(f, "pvc-3", "/dev/vdc", T3, POD_B, &error));
        assert_error(g_steal_pointer(&error), "ContextConflict", "mounted at /mnt, not by selvol");
}

/* A plan says how files need not be relabeled; the answer of a mount, which has been made, does not. */
static void assert_avoidance(Fixture *f, const char *options, const char *expected) {
        g_autoptr(GVariant) planned = NULL, mounted = NULL, plan = NULL, details = NULL;
        const char *text;
        GError *error = NULL;

        planned = call(f, "PlanVolume", mount_arguments("pvc-1", "/dev/vdb", T1, options), &error);
        g_assert_no_error(error);
        plan = g_variant_get_child_value(planned, 0);
        g_assert_true(g_variant_lookup(plan, "Text", "&s", &text));
        g_assert_true(g_str_has_suffix(text, expected));

        mounted = call_mount(f, "pvc-1", "/dev/vdb", T1, options, &error);
        g_assert_no_error(error);
        details = g_variant_get_child_value(mounted, 2);
        g_assert_true(g_variant_lookup(details, "Text", "&s", &text));
        g_assert_null(strstr(text, "To avoid that"));
        g_assert_true(call_unmount(f, "pvc-1", T1, &error));
        g_assert_no_error(error);
}

static void test_avoidance(Fixture *f, gconstpointer data) {
        assert_avoidance(
                f, "{'SELinuxLevel': <'s0:c1,c2'>}",
                " To avoid that, pass SELinuxRelabelPolicy=OnVolumeMount, and SELinuxMountSupported=yes if the volume is a file system of its own.");
        assert_avoidance(f, "{'SELinuxLevel': <'s0:c1,c2'>, 'SELinuxRelabelPolicy': <'OnVolumeMount'>}",
                         " To avoid that, pass SELinuxMountSupported=yes if the volume is a file system of its own.");
        assert_avoidance(f, POD_A, ": no file has to be changed.");
}

static void test_always(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) ext4 = NULL, vfat = NULL, host_path = NULL, left_alone = NULL, no_seclabel = NULL;
        GError *error = NULL;

        ext4 = call_mount(f, "pvc-1", "/dev/vdb", T1, "{'SELinuxLevel': <'s0:c1,c2'>}", &error);
        g_assert_no_error(error);
        assert_mounted(ext4, "system_u:object_r:container_file_t:s0:c1,c2", "Z", "policy-always");
        vfat = call_mount(f, "pvc-2", "/dev/vfat", T2, "{}", &error);
        g_assert_no_error(error);
        assert_mounted(vfat, "", "", "no-seclabel");
        host_path = call_mount(f, "host", "/dev/vdd", T3,
                               "{'VolumeType': <'hostPath'>, 'SELinuxLevel': <'s0:c1'>, " OVM "}", &error);
        g_assert_no_error(error);
        assert_mounted(host_path, "", "", "type-not-managed");
        /* What only the mount shows is decided on when it is there. */
        no_seclabel = call_mount(f, "pvc-4", "/dev/noseclabel", T5, "{'SELinuxLevel': <'s0:c1,c2'>}", &error);
        g_assert_no_error(error);
        assert_mounted(no_seclabel, "", "", "no-seclabel");
        left_alone =
                call_mount(f, "pvc-3", "/dev/vde", T4, "{'SELinuxLevel': <'s0:c1'>, 'RelabelBy': <'none'>}", &error);
        g_assert_no_error(error);
        assert_mounted(left_alone, "", "", "not-relabeled");
}

static gboolean selinux_is(Fixture *f, const char *mode) {
        g_autofree char *actual = get_text(f, "/org/selvol1", "org.selvol1.Manager", "SELinuxMode");

        return g_str_equal(actual, mode);
}

static void test_selinux_modes(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) off = NULL, permissive = NULL;
        g_autofree char *disabled = NULL, *mode = NULL;
        GError *error = NULL;

        write_file(f, "node", "0 0");
        off = call_mount(f, "pvc-1", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        assert_mounted(off, "", "", "selinux-disabled");
        disabled = get_text(f, "/org/selvol1", "org.selvol1.Manager", "SELinuxMode");
        g_assert_cmpstr(disabled, ==, "disabled");
        write_file(f, "node", "1 0");
        permissive = call_mount(f, "pvc-2", "/dev/vdc", T2, POD_A, &error);
        g_assert_no_error(error);
        assert_mounted(permissive, CONTEXT_A, "", "context-mount");
        mode = get_text(f, "/org/selvol1", "org.selvol1.Manager", "SELinuxMode");
        g_assert_cmpstr(mode, ==, "permissive");
}

/* setenforce(8) is seen without anything being mounted. */
static void test_setenforce(Fixture *f, gconstpointer data) {
        write_file(f, "node", "1 1");
        WAIT_FOR(f, selinux_is(f, "enforcing"));
        assert_metric(f, "selvol_selinux_enforcing 1\n");
        write_file(f, "node", "1 0");
        WAIT_FOR(f, selinux_is(f, "permissive"));
        assert_metric(f, "selvol_selinux_enforcing 0\n");
        write_file(f, "node", "1 1");
        WAIT_FOR(f, selinux_is(f, "enforcing"));
        assert_metric(f, "selvol_selinux_enforcing 1\n");
}

/* Both ways between two looks of the watch, and a mount in between has seen it. */
static void test_setenforce_quickly(Fixture *f, gconstpointer data) {
        GError *error = NULL;
        g_autoptr(GVariant) mounted = NULL;

        write_file(f, "node", "1 1");
        WAIT_FOR(f, selinux_is(f, "enforcing"));
        write_file(f, "node", "1 0");
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        write_file(f, "node", "1 1");
        WAIT_FOR(f, selinux_is(f, "enforcing"));
}

typedef struct BadCall {
        const char *name, *volume, *source, *target, *options, *kind, *text;
} BadCall;

static const BadCall bad_calls[] = {
        { "no-level", "v", "/dev/vdb", T1, "{" OVM "}", "LevelRequired", "SELinuxLevel" },
        { "level-malformed", "v", "/dev/vdb", T1, "{'SELinuxLevel': <'c1,c2'>, " OVM "}", "InvalidContext",
          "s0:c1,c2" },
        { "category-range", "v", "/dev/vdb", T1, "{'SELinuxLevel': <'s0:c1,c1024'>, " OVM "}", "InvalidContext",
          "c0 to c1023" },
        { "level-quote", "v", "/dev/vdb", T1, "{'SELinuxLevel': <'s0:c1\",suid,x=\"'>, " OVM "}", "InvalidContext",
          "malformed" },
        { "type", "v", "/dev/vdb", T1, "{'SELinuxContext': <'system_u:object_r:shadow_t:s0:c1'>, " OVM "}",
          "TypeNotAllowed", "shadow_t" },
        { "target-outside", "v", "/dev/vdb", "/etc/v", POD_A, "PathNotAllowed", "/var/lib/kubelet" },
        { "target-dots", "v", "/dev/vdb", "/var/lib/kubelet/../etc", POD_A, "InvalidTarget",
          "absolute path without" },
        { "target-relative", "v", "/dev/vdb", "pods/x", POD_A, "InvalidTarget", "absolute" },
        { "source-outside", "v", "/etc/passwd", T1, POD_A, "PathNotAllowed", "SourceRoots" },
        { "source-empty", "v", "", T1, POD_A, "InvalidVolume", "empty" },
        { "volume-dots", "a/../b", "/dev/vdb", T1, POD_A, "InvalidVolume", "'..'" },
        { "volume-empty", "", "/dev/vdb", T1, POD_A, "InvalidVolume", "empty" },
        { "volume-comma", "a,b", "/dev/vdb", T1, POD_A, "InvalidVolume", "characters" },
        { "option-unknown", "v", "/dev/vdb", T1, "{'Colour': <'red'>}", "InvalidOption", "Colour" },
        { "option-type", "v", "/dev/vdb", T1, "{'ReadOnly': <'yes'>}", "InvalidOption", "type 'b'" },
        { "option-value", "v", "/dev/vdb", T1, "{'AccessMode': <'Sometimes'>}", "InvalidOption", "AccessMode" },
        { "fs-type", "v", "/dev/vdb", T1, "{'FSType': <'nfs../x'>}", "TypeNotAllowed", "nfs../x" },
        { "fs-type-other", "v", "/dev/vdb", T1, "{'FSType': <'xfs'>}", "Incompatible", "ext4" },
        { "mount-option", "v", "/dev/vdb", T1, "{'MountOptions': <['journal_path=/x']>}", "InvalidOption",
          "journal_path" },
        { "mount-option-label", "v", "/dev/vdb", T1, "{'MountOptions': <['rootcontext=a:b:c:s0']>}", "InvalidOption",
          "SELinuxContext" },
        { "mount-option-context", "v", "/dev/vdb", T1,
          "{'MountOptions': <['context=\"system_u:object_r:container_file_t:s0:c1\"']>, 'SELinuxLevel': <'s0:c2'>}",
          "Incompatible", "s0:c2" },
        { "dropped", "v", "/dev/drop-context", T1, POD_A, "ContextDropped", "no context" },
        { "dies", "v", "/dev/die-mount", T1, POD_A, "WorkerFailed", "journalctl" },
        { "dies-publishing", "v", "/dev/die-publishing", T1, POD_A, "WorkerFailed", "journalctl" },
        { "dies-published", "v", "/dev/die-published", T1, POD_A, "WorkerFailed", "journalctl" },
        { "dies-early", "v", "/dev/die-observe", T1, POD_A, "WorkerFailed", "journalctl" },
        { "nonsense", "v", "/dev/nonsense", T1, POD_A, "WorkerFailed", "same version" },
        { "timeout-too-long", "v", "/dev/vdb", T1, "{'TimeoutUSec': <@t 3600000001>}", "InvalidOption",
          "TimeoutUSec" },
};

/* A clear error, and nothing is changed: no mount, no record. */
static void test_bad_call(Fixture *f, gconstpointer data) {
        const BadCall *b = data;
        g_autofree char *table = NULL;
        GError *error = NULL;

        g_assert_null(call_mount(f, b->volume, b->source, b->target, b->options, &error));
        assert_error(g_steal_pointer(&error), b->kind, b->text);
        table = mount_table(f);
        g_assert_cmpstr(table, ==, "");
        g_assert_null(call(f, "GetVolume", g_variant_new("(s)", "v"), &error));
        assert_error(g_steal_pointer(&error), "NoSuchVolume", "v");
}

static void test_long_strings(Fixture *f, gconstpointer data) {
        g_autofree char *filler = g_strnfill(4096, 'a'), *target = g_strdup_printf("/var/lib/kubelet/%s", filler),
                        *level = g_strdup_printf("{'SELinuxLevel': <'s0:%s'>}", filler),
                        *holder = g_strdup_printf("{'Holder': <'%s'>}", filler),
                        *option = g_strdup_printf("{'MountOptions': <['%s']>}", filler);
        GError *error = NULL;

        g_assert_null(call_mount(f, filler, "/dev/vdb", T1, "{}", &error));
        assert_error(g_steal_pointer(&error), "InvalidVolume", "longer than 256");
        g_assert_null(call_mount(f, "v", "/dev/vdb", target, "{}", &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T1, level, &error));
        assert_error(g_steal_pointer(&error), "InvalidContext", "");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T1, holder, &error));
        assert_error(g_steal_pointer(&error), "InvalidOption", "Holder");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T1, option, &error));
        assert_error(g_steal_pointer(&error), "InvalidOption", "longer");
}

/* A volume that hangs holds up nobody but itself, and is free again when the child is gone. */
static void test_hang(Fixture *f, gconstpointer data) {
        g_autofree char *source = g_strdup_printf("/dev/%s", (const char *) data), *table = NULL;
        g_autoptr(GVariant) other = NULL, freed = NULL;
        GAsyncResult *hung, *next;
        GError *error = NULL;

        hung = call_start(f, "MountVolume",
                          mount_arguments("v", source, T1, "{'TimeoutUSec': <@t 500000>, 'SELinuxLevel': <'s0'>}"));
        next = call_start(f, "MountVolume", mount_arguments("v", "/dev/vdc", T3, POD_A));
        other = call_mount(f, "w", "/dev/vdb", T2, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_end(f, hung, &error));
        assert_error(g_steal_pointer(&error), "TimedOut", "did not answer");
        freed = call_end(f, next, &error);
        g_assert_no_error(error);
        table = mount_table(f);
        g_assert_null(strstr(table, T1));
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
}

/* The same request while it runs gets the same answer. */
static void test_join(Fixture *f, gconstpointer data) {
        GAsyncResult *calls[3];
        GError *error = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = call_start(f, "MountVolume", mount_arguments("v", "/dev/vdb", T1, POD_A));
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autoptr(GVariant) reply = call_end(f, calls[i], &error);

                g_assert_no_error(error);
                assert_mounted(reply, CONTEXT_A, "", "context-mount");
        }
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
}

/* Whoever is in the way has one form, in plans and signals. */
static void assert_conflict(GVariant *conflict, const char *volume, const char *holder, const char *target) {
        g_assert_cmpstr(get_string(conflict, "Volume"), ==, volume);
        g_assert_cmpstr(get_string(conflict, "Holder"), ==, holder);
        g_assert_cmpstr(get_string(conflict, "Target"), ==, target);
        g_assert_cmpstr(get_string(conflict, "Context"), ==, CONTEXT_A);
        g_assert_cmpuint(get_number(conflict, "SinceUSec"), <=, (guint64) g_get_real_time());
}

static void test_plan(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) reply = NULL, plan = NULL, mounted = NULL, refused = NULL, refusal = NULL,
                            conflicts = NULL, conflict = NULL;
        const char *strategy, *context;
        g_autofree char *table = NULL;
        GError *error = NULL;

        reply = call(f, "PlanVolume", mount_arguments("v", "/dev/vdb", T1, POD_A), &error);
        g_assert_no_error(error);
        plan = g_variant_get_child_value(reply, 0);
        g_assert_true(g_variant_lookup(plan, "Strategy", "&s", &strategy));
        g_assert_true(g_variant_lookup(plan, "Context", "&s", &context));
        g_assert_cmpstr(strategy, ==, "context-mount");
        g_assert_cmpstr(context, ==, CONTEXT_A);
        assert_applies(plan);
        assert_absent(plan, "RuntimeFlag");
        assert_absent(plan, "Conflicts");
        assert_absent(plan, "ErrorName");
        assert_absent(plan, "ErrorMessage");
        assert_absent(plan, "EstimatedEntries");
        assert_absent(plan, "EstimatedUSec");
        table = mount_table(f);
        g_assert_cmpstr(table, ==, "");

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        refused = call(f, "PlanVolume", mount_arguments("v", "/dev/vdb", T2, POD_B), &error);
        g_assert_no_error(error);
        refusal = g_variant_get_child_value(refused, 0);
        g_assert_cmpstr(get_string(refusal, "ErrorName"), ==, "ContextConflict");
        g_assert_nonnull(strstr(get_string(refusal, "ErrorMessage"), "pod-a"));
        conflicts = g_variant_lookup_value(refusal, "Conflicts", G_VARIANT_TYPE("aa{sv}"));
        g_assert_cmpuint(g_variant_n_children(conflicts), ==, 1);
        conflict = g_variant_get_child_value(conflicts, 0);
        assert_conflict(conflict, "v", "pod-a", T1);
}

static void test_adopt(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) adopted = NULL, plain = NULL;
        GError *error = NULL;

        write_file(f, "mounts", "7 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n8 " T2 " /dev/vdc ext4 - 0\n");
        adopted = call(f, "AdoptVolume", g_variant_new_parsed("('v', %s, {'SELinuxLevel': <'s0:c10,c0'>})", T1),
                       &error);
        g_assert_no_error(error);
        assert_mounted(adopted, CONTEXT_A, "", "context-mount");
        plain = call(f, "AdoptVolume", g_variant_new_parsed("('w', %s, @a{sv} {})", T2), &error);
        g_assert_no_error(error);
        assert_mounted(plain, "", "Z", "policy-always");

        g_assert_null(call(f, "AdoptVolume", g_variant_new_parsed("('u', %s, @a{sv} {})", T3), &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "");
        g_assert_true(call_unmount(f, "w", T2, &error));
        write_file(f, "mounts", "7 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n9 " T2 " /dev/vdc ext4 - 0\n");
        g_assert_null(call(f, "AdoptVolume",
                           g_variant_new_parsed("('w', %s, {'SELinuxLevel': <'s0:c1'>, 'SELinuxRelabelPolicy': "
                                                "<'OnVolumeMount'>, 'SELinuxMountSupported': <true>})",
                                                T2),
                           &error));
        assert_error(g_steal_pointer(&error), "ContextDropped", "dropped the option");
}

static void test_verify(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, right = NULL, wrong = NULL, result = NULL;
        const char *actual;
        gboolean matches;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        right = call(f, "VerifyLabel", g_variant_new_parsed("('v', '', {'Depth': <'root'>})"), &error);
        g_assert_no_error(error);
        g_variant_get(right, "(b&s@a{sv})", &matches, &actual, &result);
        g_assert_true(matches);
        g_assert_cmpstr(get_string(result, "Expected"), ==, CONTEXT_A);
        g_assert_cmpstr(get_string(result, "Target"), ==, T1);
        g_assert_cmpstr(get_string(result, "Depth"), ==, "root");
        g_assert_cmpstr(get_string(result, "SELinuxMode"), ==, "enforcing");
        g_assert_cmpuint(get_number(result, "EntriesDone"), ==, 1);
        g_assert_cmpuint(get_number(result, "EntriesMismatched"), ==, 0);
        assert_absent(result, "FSGroup");
        assert_absent(result, "EntriesMisowned");
        assert_absent(result, "EntriesFailed");
        assert_absent(result, "Mismatches");
        assert_absent(result, "Job");
        wrong = call(f, "VerifyLabel",
                     g_variant_new_parsed("(%s, 'system_u:object_r:container_file_t:s0:c1', @a{sv} {})", T1), &error);
        g_assert_no_error(error);
        g_variant_get(wrong, "(b&sa{sv})", &matches, &actual, NULL);
        g_assert_false(matches);
        g_assert_cmpstr(actual, ==, CONTEXT_A);
        g_assert_null(call(f, "VerifyLabel", g_variant_new_parsed("('nobody', '', @a{sv} {})"), &error));
        assert_error(g_steal_pointer(&error), "NoSuchVolume", "nobody");
        g_assert_null(call(f, "VerifyLabel", g_variant_new_parsed("('v', '', {'Depth': <'bottom'>})"), &error));
        assert_error(g_steal_pointer(&error), "InvalidOption", "Depth");
        g_assert_null(call(f, "VerifyLabel", g_variant_new_parsed("('/etc', '', @a{sv} {})"), &error));
        assert_error(g_steal_pointer(&error), "PathNotAllowed", "/etc");
}

static char *get_by_target(Fixture *f, const char *target, GError **error) {
        g_autoptr(GVariant) reply = call(f, "GetVolumeByTarget", g_variant_new("(s)", target), error);
        char *path = NULL;

        if (reply)
                g_variant_get(reply, "(o)", &path);
        return path;
}

/* Whoever knows a directory only, as kubelet does when it unmounts. */
static void test_by_target(Fixture *f, gconstpointer data) {
        g_autofree char *object = NULL, *table = NULL;
        g_autoptr(GVariant) one = NULL, two = NULL;
        GError *error = NULL;

        one = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        two = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
        g_assert_no_error(error);
        object = get_by_target(f, T2, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(object, ==, "/org/selvol1/volume/w");
        g_assert_null(get_by_target(f, T3, &error));
        assert_error(g_steal_pointer(&error), "NoSuchVolume", T3);

        g_assert_true(call_unmount(f, "", T2, &error));
        g_assert_no_error(error);
        g_assert_false(call_unmount(f, "", T2, &error));
        g_assert_no_error(error);
        g_assert_null(get_by_target(f, T2, &error));
        assert_error(g_steal_pointer(&error), "NoSuchVolume", T2);
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        g_assert_cmpuint(count_holders(f, "w"), ==, 0);
        /* What nobody holds is nobody's to unmount, but it is there. */
        write_file(f, "mounts", "7 " T3 " /dev/vdd ext4 - 0\n1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n");
        g_assert_false(call_unmount(f, "", T3, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "without a record");
        g_assert_false(call_unmount(f, "w", T3, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "without a record");
        table = mount_table(f);
        g_assert_nonnull(strstr(table, T3));
}

static void test_forget(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, forgotten = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call(f, "ForgetVolume", g_variant_new_parsed("('v', @a{sv} {})"), &error));
        assert_error(g_steal_pointer(&error), "Busy", T1);
        g_assert_true(call_unmount(f, "v", T1, &error));
        forgotten = call(f, "ForgetVolume", g_variant_new_parsed("('v', @a{sv} {})"), &error);
        g_assert_no_error(error);
        g_assert_null(call(f, "ForgetVolume", g_variant_new_parsed("('v', @a{sv} {})"), &error));
        assert_error(g_steal_pointer(&error), "NoSuchVolume", "v");
}

static void test_unmount_busy(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/busy", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_false(call_unmount(f, "v", T1, &error));
        assert_error(g_steal_pointer(&error), "Busy", "in use");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        g_assert_false(call_unmount(f, "w", T1, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "volume v");
}

static void test_unmount_hidden(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        g_autofree char *table = NULL, *covered = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        table = mount_table(f);
        covered = g_strconcat(table, "7 " T1 " in-the-way tmpfs - 0\n", NULL);
        write_file(f, "mounts", covered);
        g_assert_false(call_unmount(f, "v", T1, &error));
        assert_error(g_steal_pointer(&error), "Busy", "on top");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        write_file(f, "mounts", table);
        g_assert_true(call_unmount(f, "v", T1, &error));
        g_assert_no_error(error);
}

/* More callers than selvold remembers the uid of, each of which it asks the bus for. */
static void test_many_callers(Fixture *f, gconstpointer data) {
        const char *address = g_getenv("DBUS_SESSION_BUS_ADDRESS");
        enum { MANY = 100 };
        GDBusConnection *callers[MANY];

        for (size_t i = 0; i < MANY; i++) {
                GError *error = NULL;

                callers[i] =
                        g_dbus_connection_new_for_address_sync(address,
                                                               G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                                       G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                                               NULL, NULL, &error);
                g_assert_no_error(error);
        }
        for (size_t i = 0; i < 2 * MANY; i++) {
                g_autoptr(GVariant) metrics = NULL;
                GError *error = NULL;

                metrics = g_dbus_connection_call_sync(callers[i % MANY], "org.selvol1", "/org/selvol1",
                                                      "org.selvol1.Manager", "GetMetrics", NULL, NULL,
                                                      G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
                g_assert_no_error(error);
        }
        for (size_t i = 0; i < MANY; i++)
                g_object_unref(callers[i]);
}

typedef struct Seen {
        GPtrArray *names;
        GVariant *conflict;
} Seen;

static void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                      const char *name, GVariant *parameters, gpointer userdata) {
        Seen *seen = userdata;

        if (g_str_has_prefix(name, "Context"))
                g_ptr_array_add(seen->names, g_strdup(name));
        if (g_str_equal(name, "ContextConflict") && !seen->conflict)
                seen->conflict = g_variant_ref(parameters);
}

/* An unmount behind our back releases the holder and tells those who wait. */
static void test_released_behind_our_back(Fixture *f, gconstpointer data) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GVariant) mounted = NULL, other = NULL, conflicts = NULL, conflict = NULL;
        const char *volume, *wanted, *held;
        Seen seen = { .names = names };
        GError *error = NULL;
        guint subscription;

        subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager", NULL, NULL,
                                                          NULL, G_DBUS_SIGNAL_FLAGS_NONE, on_signal, &seen, NULL);
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "v", "/dev/vdb", T2, POD_B, &error));
        assert_error(g_steal_pointer(&error), "ContextConflict", T1);
        WAIT_FOR(f, names->len == 1);
        g_assert_cmpstr(names->pdata[0], ==, "ContextConflict");
        g_variant_get(seen.conflict, "(&s&s&s@aa{sv})", &volume, &wanted, &held, &conflicts);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpstr(wanted, ==, "system_u:object_r:container_file_t:s0:c20,c30");
        g_assert_cmpstr(held, ==, CONTEXT_A);
        conflict = g_variant_get_child_value(conflicts, 0);
        assert_conflict(conflict, "v", "pod-a", T1);
        write_file(f, "mounts", "");
        WAIT_FOR(f, names->len == 2);
        g_assert_cmpstr(names->pdata[1], ==, "ContextReleased");
        other = call_mount(f, "v", "/dev/vdb", T2, POD_B, &error);
        g_assert_no_error(error);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
        g_variant_unref(seen.conflict);
}

static void on_mount_changed(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
                             const char *name, GVariant *parameters, gpointer userdata) {
        const char *volume, *target, *text;

        g_variant_get(parameters, "(&s&s&s)", &volume, &target, &text);
        g_assert_cmpstr(volume, ==, "v");
        g_assert_cmpstr(target, ==, T1);
        g_ptr_array_add(userdata, g_strdup(text));
}

/* What strangers do to the mount of a holder: the words of the signal, and what the record says of it then. */
static void test_mount_changed(Fixture *f, gconstpointer data) {
        const struct {
                const char *table, *text;
                gboolean read_only, covered;
                const char *also_at;
        } rows[] = {
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n7 " T1 " on-top tmpfs - 0\n",
                  "hidden by another one: on-top", FALSE, TRUE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n", "not hidden any more", FALSE, FALSE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 1\n", "read-only", TRUE, FALSE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n", "writable", FALSE, FALSE },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n7 /mnt/v /dev/vdb ext4 " CONTEXT_A " 0\n",
                  "mounted files of the volume at /mnt/v", FALSE, FALSE, "/mnt/v" },
                { "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n", "any more", FALSE, FALSE },
        };
        g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;
        guint subscription = g_dbus_connection_signal_subscribe(f->client, "org.selvol1", "org.selvol1.Manager",
                                                                "MountChanged", NULL, NULL, G_DBUS_SIGNAL_FLAGS_NONE,
                                                                on_mount_changed, texts, NULL);

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GVariant) holders = NULL, holder = NULL;
                const char *also_at = NULL;
                gboolean read_only;

                write_file(f, "mounts", rows[i].table);
                WAIT_FOR(f, texts->len == i + 1);
                g_assert_nonnull(strstr(texts->pdata[i], rows[i].text));
                holders = get_holders(f, "v");
                holder = g_variant_get_child_value(holders, 0);
                g_assert_true(g_variant_lookup(holder, "ReadOnly", "b", &read_only));
                g_assert_cmpint(read_only, ==, rows[i].read_only);
                g_assert_cmpint(g_variant_lookup(holder, "CoveredBy", "&s", NULL), ==, rows[i].covered);
                (void) g_variant_lookup(holder, "AlsoAt", "&s", &also_at);
                g_assert_cmpstr(also_at, ==, rows[i].also_at);
        }
        /* Moved, it is not the holder's any more. */
        write_file(f, "mounts", "1000 " T2 " /dev/vdb ext4 " CONTEXT_A " 0\n");
        WAIT_FOR(f, count_holders(f, "v") == 0);
        g_dbus_connection_signal_unsubscribe(f->client, subscription);
}

static void test_restart(Fixture *f, gconstpointer data) {
        int signal_number = GPOINTER_TO_INT(data);
        g_autoptr(GVariant) mounted = NULL, again = NULL, tainted = NULL;
        g_autofree char *before = NULL, *after = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        before = mount_table(f);
        daemon_stop(f, signal_number);
        daemon_start(f, CALLER_ROOT);
        after = mount_table(f);
        g_assert_cmpstr(before, ==, after);
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        tainted = get_property(f, "v", "Tainted");
        g_assert_true(g_variant_get_boolean(tainted));
        again = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        assert_mounted(again, CONTEXT_A, "", "context-mount");

        /* Unmounted while nobody looked. */
        daemon_stop(f, signal_number);
        write_file(f, "mounts", "");
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
}

/* Who relies on no labels is known as such afterwards: labels may be written beside it, if it is known which. */
static void test_restart_not_relabeled(Fixture *f, gconstpointer data) {
        static const char privileged[] = "{'RelabelBy': <'none'>, " OVM "}";
        g_autoptr(GVariant) first = NULL, again = NULL, beside = NULL;
        GError *error = NULL;

        first = call_mount(f, "v", "/dev/vdb", T1, privileged, &error);
        g_assert_no_error(error);
        assert_mounted(first, "", "", "not-relabeled");
        daemon_stop(f, SIGKILL);
        daemon_start(f, CALLER_ROOT);
        again = call_mount(f, "v", "/dev/vdb", T1, privileged, &error);
        g_assert_no_error(error);
        assert_mounted(again, "", "", "not-relabeled");
        beside = call_mount(f, "v", "/dev/vdb", T2, "{'SELinuxLevel': <'s0:c1,c2'>}", &error);
        g_assert_no_error(error);
        assert_mounted(beside, "system_u:object_r:container_file_t:s0:c1,c2", "Z", "policy-always");
        g_assert_null(call_mount(f, "v", "/dev/vdb", T3, "{}", &error));
        assert_error(g_steal_pointer(&error), "ContextConflict", "RelabelBy=none");
}

/* Killed in the middle of a mount: finished if the mount is there, rolled back if not, and what isn't certainly it is
 * left alone. */
static const struct {
        const char *name, *source, *mounts;
        gsize n_holders;
        gboolean tainted, not_noted;
} interruptions[] = {
        { "finished", "/dev/hang-publishing", "1000 " T1 " /dev/hang-publishing ext4 " CONTEXT_A " 0\n", 1, TRUE },
        { "stranger", "/dev/hang-publishing", "7 " T1 " /dev/hang-publishing ext4 " CONTEXT_A " 0\n", 0, TRUE },
        { "not-noted", "/dev/hang-publishing", "1000 " T1 " /dev/hang-publishing ext4 " CONTEXT_A " 0\n", 0, TRUE,
          TRUE },
        { "other-device", "/dev/hang-publishing", "1000 " T1 " /dev/vdz ext4 " CONTEXT_A " 0\n", 0, TRUE },
        { "other-context", "/dev/hang-publishing", "1000 " T1 " /dev/hang-publishing ext4 - 0\n", 0, TRUE },
        { "not-published", "/dev/hang-publishing", NULL, 0, TRUE },
        { "published", "/dev/hang-published", NULL, 1, TRUE },
};

static void test_interrupted(Fixture *f, gconstpointer data) {
        gsize i = GPOINTER_TO_SIZE(data);
        g_autoptr(GVariant) tainted = NULL;
        g_autofree char *before = NULL, *after = NULL;
        GAsyncResult *hung;
        GError *error = NULL;

        hung = call_start(f, "MountVolume", mount_arguments("v", interruptions[i].source, T1, POD_A));
        run_for(500);
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, hung, &error));
        g_clear_error(&error);
        if (interruptions[i].mounts)
                write_file(f, "mounts", interruptions[i].mounts);
        if (interruptions[i].not_noted)
                write_file(f, "note-1000", "");
        before = mount_table(f);
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_holders(f, "v"), ==, interruptions[i].n_holders);
        tainted = get_property(f, "v", "Tainted");
        g_assert_cmpint(g_variant_get_boolean(tainted), ==, interruptions[i].tainted);
        after = mount_table(f);
        g_assert_cmpstr(after, ==, before);
}

/* Before it was known which mount it will be there is nothing to remember. */
static void test_interrupted_early(Fixture *f, gconstpointer data) {
        GAsyncResult *hung = call_start(f, "MountVolume", mount_arguments("v", "/dev/hang-mount", T1, POD_A));
        GError *error = NULL;

        run_for(500);
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, hung, &error));
        g_clear_error(&error);
        daemon_start(f, CALLER_ROOT);
        g_assert_null(call(f, "GetVolume", g_variant_new("(s)", "v"), &error));
        assert_error(error, "NoSuchVolume", "v");
}

/* What another volume's mount was to be at the target is looked for before it is given up, also when nobody has compared it with
 * the mount table yet. */
static void test_interrupted_hidden(Fixture *f, gconstpointer data) {
        GAsyncResult *hung = call_start(f, "MountVolume", mount_arguments("v", "/dev/hang-published", T1, POD_A));
        GError *error = NULL;

        WAIT_FOR(f, is_mounted(f, T1));
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, hung, &error));
        g_clear_error(&error);
        worker_stop(f);
        daemon_start(f, CALLER_ROOT);
        write_file(f, "hang-watch", "");
        write_file(f, "hidden", "");
        worker_start(f);
        g_assert_null(call_mount(f, "w", "/dev/vdc", T1, POD_A, &error));
        assert_error(error, "Busy", "hidden");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
}

/* A child of before that can't be ended keeps its volume and target, and nothing else; what it publishes is the volume's. */
static void test_orphan(Fixture *f, gconstpointer data) {
        GAsyncResult *hung = call_start(f, "MountVolume", mount_arguments("v", "/dev/stuck-publishing", T1, POD_A));
        g_autoptr(GVariant) other = NULL, again = NULL;
        g_autofree char *path = g_build_filename(f->directory, "orphan", NULL);
        GAsyncResult *waiting;
        GError *error = NULL;

        WAIT_FOR(f, g_file_test(path, G_FILE_TEST_EXISTS));
        daemon_stop(f, SIGKILL);
        g_assert_null(call_end(f, hung, &error));
        g_clear_error(&error);
        daemon_start(f, CALLER_ROOT);
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        other = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "v", "/dev/vdb", T3, "{'TimeoutUSec': <@t 300000>}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "Mount by process");
        g_assert_null(call_mount(f, "u", "/dev/vdd", T1, "{'TimeoutUSec': <@t 300000>}", &error));
        assert_error(g_steal_pointer(&error), "Busy", "from before selvold was restarted");

        waiting = call_start(f, "MountVolume", mount_arguments("v", "/dev/stuck-publishing", T1, POD_A));
        run_for(300);
        g_assert_false(call_has_ended(waiting));
        write_file(f, "go", "");
        again = call_end(f, waiting, &error);
        g_assert_no_error(error);
        assert_mounted(again, CONTEXT_A, "", "context-mount");
        g_assert_cmpuint(count_mounts(f), ==, 2);
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
}

/* The worker is restarted: what is mounted stays, what happened meanwhile is noticed. */
static void test_worker_restart(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) first = NULL, second = NULL, third = NULL;
        GError *error = NULL;

        first = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        second = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
        g_assert_no_error(error);
        assert_metric(f, "selvol_mount_table_watched 1\n");
        assert_metrics_zero(f, "selvol_worker_failures_total");
        worker_stop(f);
        g_assert_null(call_mount(f, "u", "/dev/vdd", T3, POD_A, &error));
        assert_error(g_steal_pointer(&error), "WorkerFailed", "selvol-worker");
        WAIT_FOR(f, read_metric(f, "selvol_mount_table_watched") == 0);
        assert_metric(f, "selvol_worker_failures_total{connection=\"job\"} 1\n");
        g_assert_cmpfloat(read_metric(f, "selvol_worker_failures_total{connection=\"watch\"}"), >=, 1);
        write_file(f, "mounts", "1000 " T1 " /dev/vdb ext4 " CONTEXT_A " 0\n");
        worker_start(f);
        WAIT_FOR(f, count_holders(f, "w") == 0);
        assert_metric(f, "selvol_mount_table_watched 1\n");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        third = call_mount(f, "u", "/dev/vdd", T3, POD_A, &error);
        g_assert_no_error(error);
}

static double read_watched(Fixture *f) {
        return read_metric(f, "selvol_mount_table_watched");
}

/* A worker that accepts connections and does not answer is none that reports changes. */
static void test_watch_hangs(Fixture *f, gconstpointer data) {
        g_autofree char *hang = g_build_filename(f->directory, "hang-watch", NULL);

        worker_stop(f);
        WAIT_FOR(f, read_watched(f) == 0);
        write_file(f, "hang-watch", "");
        worker_start(f);
        WAIT_FOR(f, worker_count_children(f) == 1);
        g_assert_cmpfloat(read_watched(f), ==, 0);
        run_for(300);
        g_assert_cmpfloat(read_watched(f), ==, 0);

        worker_stop(f);
        g_assert_cmpint(g_unlink(hang), ==, 0);
        worker_start(f);
        WAIT_FOR(f, read_watched(f) == 1);
}

static void lose_unmount(Fixture *f) {
        GError *error = NULL;

        g_assert_false(call_unmount(f, "v", T1, &error));
        assert_error(g_steal_pointer(&error), "WorkerFailed", "");
}

/* When a child was lost, the whole table is looked at again: changes are heard of meanwhile, unless no answer comes. */
static void test_watch_recheck(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/die-unmount", T1, POD_A, &error);
        g_assert_no_error(error);
        write_file(f, "hang-watch", "");
        lose_unmount(f);
        g_assert_cmpfloat(read_watched(f), ==, 1);
        WAIT_FOR(f, worker_count_children(f) == 0);
        WAIT_FOR(f, worker_count_children(f) == 1);
        g_assert_cmpfloat(read_watched(f), ==, 1);
        run_for(1200);
        lose_unmount(f);
        g_assert_cmpfloat(read_watched(f), ==, 0);
}

static void lose_state(Fixture *f) {
        daemon_stop(f, SIGTERM);
        write_file(f, "state/state.db",
                   "This is no database, but it is long enough to be looked at as one. Or is it not? ");
        daemon_start(f, CALLER_ROOT);
}

static void assert_unrecorded(Fixture *f, const char *expected) {
        g_autoptr(GVariant) list = get_property_at(f, "/org/selvol1", "org.selvol1.Manager", "UnrecordedMounts");
        g_autofree char *actual = g_variant_print(list, FALSE);

        g_assert_cmpstr(actual, ==, expected);
}

static gboolean has_unrecorded(Fixture *f) {
        g_autoptr(GVariant) list = get_property_at(f, "/org/selvol1", "org.selvol1.Manager", "UnrecordedMounts");

        return g_variant_n_children(list) > 0;
}

/* What the worker has mounted is found again without a record: it is listed, and can be unmounted and adopted. */
static void test_lost_state(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) v = NULL, w = NULL, x = NULL, adopted = NULL;
        g_autofree char *left = NULL;
        GError *error = NULL;

        v = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        w = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
        x = call_mount(f, "x", "/dev/vdd", T3, POD_A, &error);
        g_assert_no_error(error);
        assert_unrecorded(f, "[]");
        lose_state(f);
        assert_unrecorded(f, "[('v', '" T1 "'), ('w', '" T2 "'), ('x', '" T3 "')]");
        assert_metric(f, "selvol_unrecorded_mounts 3\n");

        g_assert_false(call_unmount(f, "w", T1, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "is volume v, not w");
        g_assert_true(call_unmount(f, "", T1, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(count_mounts(f), ==, 2);
        assert_unrecorded(f, "[('w', '" T2 "'), ('x', '" T3 "')]");

        adopted =
                call(f, "AdoptVolume", g_variant_new_parsed("('w', '" T2 "', @a{sv} {'Holder': <'pod-a'>})"), &error);
        g_assert_no_error(error);
        assert_unrecorded(f, "[('x', '" T3 "')]");

        /* By others */
        left = g_strdup_printf("%" G_GUINT64_FORMAT " " T2 " /dev/vdc ext4 " CONTEXT_A " 0\n", find_mount_id(f, T2));
        write_file(f, "mounts", left);
        WAIT_FOR(f, !has_unrecorded(f));
        g_assert_cmpuint(count_holders(f, "w"), ==, 1);
}

static void test_damaged_state(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        g_autofree char *state = g_build_filename(f->directory, "state", NULL);
        g_autoptr(GDir) d = NULL;
        gboolean aside = FALSE;
        GError *error = NULL;
        const char *name;

        lose_state(f);
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        d = g_dir_open(state, 0, NULL);
        while ((name = g_dir_read_name(d)))
                aside = aside || g_str_has_prefix(name, "state.db.damaged-");
        g_assert_true(aside);
}

static void test_history_and_metrics(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, history = NULL, entries = NULL, all = NULL, metrics = NULL, path = NULL;
        g_autofree char *all_text = NULL;
        const char *object, *text;
        GError *error = NULL;

        mounted = call_mount(f, "a/b", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "a/b", "/dev/vdb", T2, POD_B, &error));
        assert_error(g_steal_pointer(&error), "ContextConflict", "");
        path = call(f, "GetVolume", g_variant_new("(s)", "a/b"), &error);
        g_assert_no_error(error);
        g_variant_get(path, "(&o)", &object);
        history = g_dbus_connection_call_sync(f->client, "org.selvol1", object, "org.selvol1.Volume", "GetHistory",
                                              NULL, G_VARIANT_TYPE("(aa{sv})"), G_DBUS_CALL_FLAGS_NONE, -1, NULL,
                                              &error);
        g_assert_no_error(error);
        entries = g_variant_get_child_value(history, 0);
        g_assert_cmpuint(g_variant_n_children(entries), ==, 2);

        all = call(f, "GetHistory", NULL, &error);
        g_assert_no_error(error);
        all_text = g_variant_print(all, FALSE);
        g_assert_nonnull(strstr(all_text, "'Volume': <'a/b'>, 'Operation': <'mount'>, 'Result': <'done'>"));
        g_assert_nonnull(
                strstr(all_text, "'Volume': <'a/b'>, 'Operation': <'mount'>, 'Result': <'ContextConflict'>"));

        metrics = call(f, "GetMetrics", NULL, &error);
        g_assert_no_error(error);
        g_variant_get(metrics, "(&s)", &text);
        g_assert_nonnull(strstr(text,
                                "selvol_volume_manager_selinux_volumes_admitted_total{volume_plugin=\"kubernetes.io/"
                                "csi\",access_mode=\"inline\"} 1\n"));
        g_assert_nonnull(strstr(text, "selvol_refusals_total{error=\"ContextConflict\"} 1\n"));
        g_assert_nonnull(strstr(text, "selvol_tainted_volumes 1\n"));
        g_assert_null(strstr(text, "a/b"));
}

/* Prometheus' own tool has nothing to say against the text. */
static void test_promtool(Fixture *f, gconstpointer data) {
        g_autofree char *promtool = g_find_program_in_path("promtool");
        g_autoptr(GVariant) mounted = NULL, metrics = NULL;
        g_autoptr(GSubprocess) check = NULL;
        g_autofree char *said = NULL;
        GError *error = NULL;
        const char *text;

        if (!promtool) {
                g_test_skip("promtool is not installed (Debian: prometheus)");
                return;
        }
        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        metrics = call(f, "GetMetrics", NULL, &error);
        g_assert_no_error(error);
        g_variant_get(metrics, "(&s)", &text);
        check = g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE |
                                         G_SUBPROCESS_FLAGS_STDERR_MERGE,
                                 &error, promtool, "check", "metrics", NULL);
        g_assert_no_error(error);
        g_subprocess_communicate_utf8(check, text, NULL, &said, NULL, &error);
        g_assert_no_error(error);
        if (!g_subprocess_get_successful(check))
                g_test_message("%s", said);
        g_assert_true(g_subprocess_get_successful(check));
}

/* What the service answers to Introspect is what the installed XML says. */
static void test_introspection(Fixture *f, gconstpointer data) {
        const char *interface = data;
        g_autofree char *file = g_strdup_printf(SOURCE_ROOT "/dbus/%s.xml", interface), *xml = NULL, *object = NULL;
        g_autoptr(GVariant) mounted = NULL, reply = NULL;
        g_autoptr(GDBusNodeInfo) written = NULL, answered = NULL;
        g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);
        GDBusInterfaceInfo *info;
        GError *error = NULL;
        const char *text;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        object = g_strdup(g_str_has_suffix(interface, "Volume") ? "/org/selvol1/volume/v" : "/org/selvol1");
        g_file_get_contents(file, &xml, NULL, &error);
        g_assert_no_error(error);
        written = g_dbus_node_info_new_for_xml(xml, &error);
        g_assert_no_error(error);
        reply = g_dbus_connection_call_sync(f->client, "org.selvol1", object, "org.freedesktop.DBus.Introspectable",
                                            "Introspect", NULL, G_VARIANT_TYPE("(s)"), G_DBUS_CALL_FLAGS_NONE, -1,
                                            NULL, &error);
        g_assert_no_error(error);
        g_variant_get(reply, "(&s)", &text);
        answered = g_dbus_node_info_new_for_xml(text, &error);
        g_assert_no_error(error);
        info = g_dbus_node_info_lookup_interface(answered, interface);
        g_assert_nonnull(info);
        g_dbus_interface_info_generate_xml(g_dbus_node_info_lookup_interface(written, interface), 0, a);
        g_dbus_interface_info_generate_xml(info, 0, b);
        g_assert_cmpstr(a->str, ==, b->str);
}

static void test_objects(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) one = NULL, two = NULL, reply = NULL, objects = NULL;
        GError *error = NULL;

        one = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        two = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
        g_assert_no_error(error);
        reply = g_dbus_connection_call_sync(f->client, "org.selvol1", "/org/selvol1",
                                            "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", NULL, NULL,
                                            G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
        g_assert_no_error(error);
        objects = g_variant_get_child_value(reply, 0);
        g_assert_cmpuint(g_variant_n_children(objects), ==, 2);
}

/* The entries of a volume's history. */
static GVariant *get_history(Fixture *f, const char *object) {
        g_autoptr(GVariant) reply = NULL;
        g_autoptr(GError) error = NULL;

        reply = g_dbus_connection_call_sync(f->client, "org.selvol1", object, "org.selvol1.Volume", "GetHistory",
                                            NULL, G_VARIANT_TYPE("(aa{sv})"), G_DBUS_CALL_FLAGS_NONE, -1, NULL,
                                            &error);
        g_assert_no_error(error);
        return g_variant_get_child_value(reply, 0);
}

/* Published, but too late: it is taken away again, is no success in any record, and may have been written to. */
static void test_late(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) plain = NULL, tainted = NULL, history = NULL, last = NULL;
        g_autofree char *table = NULL;
        GError *error = NULL;

        plain = call_mount(f, "v", "/dev/vdb", T1, "{'SELinuxLevel': <'s0:c1,c2'>}", &error);
        g_assert_true(call_unmount(f, "v", T1, &error));
        g_assert_no_error(error);
        g_assert_null(call_mount(f, "v", "/dev/hang-published", T1,
                                 "{'TimeoutUSec': <@t 300000>, 'SELinuxLevel': <'s0:c1,c2'>, " OVM "}", &error));
        assert_error(g_steal_pointer(&error), "TimedOut", "");
        WAIT_FOR(f, count_holders(f, "v") == 0);
        table = mount_table(f);
        g_assert_cmpstr(table, ==, "");
        tainted = get_property(f, "v", "Tainted");
        g_assert_true(g_variant_get_boolean(tainted));
        history = get_history(f, "/org/selvol1/volume/v");
        last = g_variant_get_child_value(history, g_variant_n_children(history) - 1);
        g_assert_cmpstr(get_string(last, "Operation"), ==, "mount");
        g_assert_cmpstr(get_string(last, "Result"), ==, "TimedOut");
        assert_metric(f, "selvol_refusals_total{error=\"TimedOut\"} 1\n");
}

/* Two volumes want one target at the same time. */
static void test_same_target(Fixture *f, gconstpointer data) {
        GAsyncResult *one = call_start(f, "MountVolume", mount_arguments("v", "/dev/a/slow-observe", T1, POD_A)),
                     *two = call_start(f, "MountVolume", mount_arguments("w", "/dev/b/slow-observe", T1, POD_A));
        g_autoptr(GVariant) mounted = NULL;
        GError *error = NULL;

        mounted = call_end(f, one, &error);
        g_assert_no_error(error);
        g_assert_null(call_end(f, two, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "volume v");
        g_assert_null(call_mount(f, "w", "/dev/vdc", T1, POD_A, &error));
        assert_error(g_steal_pointer(&error), "InvalidTarget", "volume v");
        assert_metric(f, "selvol_store_errors_total 0\n");
}

/* A plan for a target that is being mounted on leaves the mount alone. */
static void test_plan_meanwhile(Fixture *f, gconstpointer data) {
        GAsyncResult *pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/slow-mount", T1, POD_A));
        g_autoptr(GVariant) plan = NULL, mounted = NULL;
        GError *error = NULL;

        run_for(200);
        plan = call(f, "PlanVolume", mount_arguments("v", "/dev/slow-mount", T1, POD_A), &error);
        g_assert_no_error(error);
        mounted = call_end(f, pending, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        assert_metric(f, "selvol_holders_lost_total 0\n");
}

/* What MountVolume would refuse, and what it answers to a call that repeats one. */
static void test_plan_held(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL, other = NULL, other_plan = NULL, same = NULL, same_plan = NULL;
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
        g_assert_no_error(error);
        other = call(f, "PlanVolume", mount_arguments("v", "/dev/vdb", T1, POD_B), &error);
        g_assert_no_error(error);
        other_plan = g_variant_get_child_value(other, 0);
        g_assert_cmpstr(get_string(other_plan, "ErrorName"), ==, "Incompatible");
        same = call(f, "PlanVolume", mount_arguments("v", "/dev/vdb", T1, POD_A), &error);
        g_assert_no_error(error);
        same_plan = g_variant_get_child_value(same, 0);
        assert_absent(same_plan, "ErrorName");
        g_assert_cmpstr(get_string(same_plan, "Context"), ==, CONTEXT_A);
}

static void test_join_unmount(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        GAsyncResult *calls[2];
        GError *error = NULL;

        mounted = call_mount(f, "v", "/dev/slow-unmount", T1, POD_A, &error);
        g_assert_no_error(error);
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                calls[i] = call_start(f, "UnmountVolume", unmount_arguments("v", T1));
                run_for(100);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_autoptr(GVariant) reply = call_end(f, calls[i], &error);

                g_assert_no_error(error);
                g_assert_nonnull(reply);
        }
}

/* Those who wait for one job are limited too. */
static void test_join_limit(Fixture *f, gconstpointer data) {
        GAsyncResult *calls[WAITERS_MAX + WAITERS_RESERVED + 16];
        size_t n_refused = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                calls[i] = call_start(f, "MountVolume",
                                      mount_arguments("v", "/dev/hang-observe", T1, "{'TimeoutUSec': <@t 1000000>}"));
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
                GError *error = NULL;

                g_assert_null(call_end(f, calls[i], &error));
                if (strstr(error->message, "LimitReached"))
                        n_refused++;
                g_error_free(error);
        }
        g_assert_cmpuint(n_refused, ==, 16);
}

/* As many holders as there can be. */
static void test_holders_limit(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        for (size_t i = 0; i < HOLDERS_MAX; i++) {
                g_autofree char *target = g_strdup_printf("/var/lib/kubelet/pods/%zu/volumes/v", i);
                g_autoptr(GVariant) reply = call_mount(f, "v", "/dev/vdb", target, POD_A, &error);

                g_assert_no_error(error);
                g_assert_nonnull(reply);
        }
        g_assert_null(call_mount(f, "v", "/dev/vdb", "/var/lib/kubelet/pods/more/volumes/v", POD_A, &error));
        assert_error(g_steal_pointer(&error), "LimitReached", "can't have more: unmount one");
}

/* A repeated call is no further decision. */
static void test_repeated(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) history = NULL;
        GError *error = NULL;

        for (size_t i = 0; i < 3; i++) {
                g_autoptr(GVariant) reply = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);

                g_assert_no_error(error);
                assert_mounted(reply, CONTEXT_A, "", "context-mount");
        }
        history = get_history(f, "/org/selvol1/volume/v");
        g_assert_cmpuint(g_variant_n_children(history), ==, 1);
        assert_metric(f, "selvol_decisions_total{strategy=\"context-mount\",reason=\"context-mount\"} 1\n");
        assert_metric(f, "volumes_admitted_total{volume_plugin=\"kubernetes.io/csi\",access_mode=\"inline\"} 1\n");
}

/* The kernel gives an id anew as soon as it is free: the news that a mount went is not about the next one. */
static void test_mount_id_again(Fixture *f, gconstpointer data) {
        GError *error = NULL;

        for (size_t i = 0; i < 10; i++) {
                g_autoptr(GVariant) first = NULL, second = NULL;

                first = call_mount(f, "v", "/dev/vdb", T1, POD_A, &error);
                g_assert_no_error(error);
                run_for(120);
                g_assert_true(call_unmount(f, "v", T1, &error));
                second = call_mount(f, "w", "/dev/vdc", T2, POD_A, &error);
                g_assert_no_error(error);
                run_for(150);
                g_assert_cmpuint(count_holders(f, "w"), ==, 1);
                g_assert_true(call_unmount(f, "w", T2, &error));
        }
        assert_metric(f, "selvol_holders_lost_total 0\n");
}

/* While one holder of a volume is being served, another one's mount goes away. */
static void test_released_meanwhile(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) first = NULL, second = NULL;
        GAsyncResult *pending;
        GError *error = NULL;

        first = call_mount(f, "v", "/dev/slow-publishing", T1, POD_A, &error);
        g_assert_no_error(error);
        pending = call_start(f, "MountVolume", mount_arguments("v", "/dev/slow-publishing", T2, POD_A2));
        run_for(200);
        write_file(f, "mounts", "");
        second = call_end(f, pending, &error);
        g_assert_no_error(error);
        WAIT_FOR(f, count_holders(f, "v") == 1);
}

/* What is adopted stays so if it can't be looked at again, and nobody takes its labels. */
static void test_adopt_again(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) adopted = NULL, again = NULL;
        GError *error = NULL;

        write_file(f, "mounts", "8 " T1 " /dev/vdc ext4 - 0\n");
        adopted = call(f, "AdoptVolume", g_variant_new_parsed("('v', %s, {'SELinuxLevel': <'s0:c1'>})", T1), &error);
        g_assert_no_error(error);
        again = call(f, "AdoptVolume", g_variant_new_parsed("('v', %s, {'SELinuxLevel': <'s0:c1'>})", T1), &error);
        g_assert_no_error(error);
        assert_mounted(again, "system_u:object_r:container_file_t:s0:c1", "Z", "policy-always");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);

        g_assert_null(
                call(f, "AdoptVolume", g_variant_new_parsed("('v', %s, {'SELinuxLevel': <'s0:c2'>})", T1), &error));
        assert_error(g_steal_pointer(&error), "Incompatible", "unmount it first");
        worker_stop(f);
        g_assert_null(
                call(f, "AdoptVolume", g_variant_new_parsed("('v', %s, {'SELinuxLevel': <'s0:c1'>})", T1), &error));
        assert_error(g_steal_pointer(&error), "WorkerFailed", "");
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
}

/* A worker that listens but does not answer delays the start of selvold, for ten seconds, but does not prevent it. */
static void test_worker_hangs(Fixture *f, gconstpointer data) {
        daemon_stop(f, SIGTERM);
        g_assert_cmpint(kill(f->worker, SIGSTOP), ==, 0);
        daemon_start(f, CALLER_ROOT);
        assert_metric(f, "selvol_holders 0\n");
        g_assert_cmpint(kill(f->worker, SIGCONT), ==, 0);
}

static gboolean file_has(Fixture *f, const char *name, const char *text) {
        g_autofree char *all = read_file(f, name);

        return strstr(all, text) != NULL;
}

/* Counters that move without any volume changing get into the file too. */
static void test_textfile(Fixture *f, gconstpointer data) {
        g_autofree char *config = g_strdup_printf("[Service]\nMetricsTextfile=%s/selvol.prom\n", f->directory);
        GError *error = NULL;

        daemon_stop(f, SIGTERM);
        write_file(f, "etc/selvol.conf.d/textfile.conf", config);
        daemon_start(f, CALLER_ROOT);
        g_assert_null(call_mount(f, "v", "/dev/drop-context", T1, POD_A, &error));
        assert_error(g_steal_pointer(&error), "ContextDropped", "");
        WAIT_FOR(f, file_has(f, "selvol.prom", "selvol_refusals_total{error=\"ContextDropped\"} 1\n"));
}

static void assert_log_level(Fixture *f, const char *level) {
        g_autofree char *text = get_text(f, LOG_CONTROL, LOG_INTERFACE, "LogLevel");

        g_assert_cmpstr(text, ==, level);
}

static void set_log_property(Fixture *f, const char *property, const char *value, GError **error) {
        g_autoptr(GVariant) reply = NULL;

        reply = call_end(f,
                         call_start_at(f, LOG_CONTROL, "org.freedesktop.DBus.Properties", "Set",
                                       g_variant_new("(ssv)", LOG_INTERFACE, property, g_variant_new_string(value))),
                         error);
}

static void test_log_control(Fixture *f, gconstpointer data) {
        g_autofree char *target = NULL, *identifier = NULL;
        GError *error = NULL;

        assert_log_level(f, "info");
        set_log_property(f, "LogLevel", "debug", &error);
        g_assert_no_error(error);
        assert_log_level(f, "debug");
        set_log_property(f, "LogLevel", "4", &error);
        g_assert_no_error(error);
        assert_log_level(f, "warning");
        set_log_property(f, "LogLevel", "loud", &error);
        assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.InvalidArgs", "debug");
        assert_log_level(f, "warning");

        target = get_text(f, LOG_CONTROL, LOG_INTERFACE, "LogTarget");
        g_assert_cmpstr(target, ==, "console");
        set_log_property(f, "LogTarget", "journal", &error);
        assert_error(g_steal_pointer(&error), "org.freedesktop.DBus.Error.PropertyReadOnly", "LogTarget");
        identifier = get_text(f, LOG_CONTROL, LOG_INTERFACE, "SyslogIdentifier");
        g_assert_cmpstr(identifier, ==, "selvold");
}

static void test_log_level_environment(Fixture *f, gconstpointer data) {
        static const struct {
                const char *value, *level;
        } rows[] = { { "err", "err" }, { "7", "debug" }, { "loud", "info" }, { "", "info" } };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                daemon_stop(f, SIGTERM);
                g_setenv("SELVOL_LOG_LEVEL", rows[i].value, TRUE);
                daemon_start(f, CALLER_ROOT);
                g_unsetenv("SELVOL_LOG_LEVEL");
                assert_log_level(f, rows[i].level);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/daemon/" name, Fixture, data, set_up, function, tear_down)
        ADD("story", NULL, test_story);
        ADD("other-spec", NULL, test_other_spec);
        ADD("other-image", NULL, test_other_image);
        ADD("unmounted-just-now", NULL, test_unmounted_just_now);
        ADD("conflict-elsewhere", NULL, test_conflict_elsewhere);
        ADD("always", NULL, test_always);
        ADD("avoidance", NULL, test_avoidance);
        ADD("selinux-modes", NULL, test_selinux_modes);
        ADD("setenforce-quickly", NULL, test_setenforce_quickly);
        ADD("setenforce", NULL, test_setenforce);
        for (size_t i = 0; i < G_N_ELEMENTS(bad_calls); i++) {
                g_autofree char *path = g_strdup_printf("/daemon/bad/%s", bad_calls[i].name);

                g_test_add(path, Fixture, &bad_calls[i], set_up, test_bad_call, tear_down);
        }
        ADD("long-strings", NULL, test_long_strings);
        ADD("hang/observe", "hang-observe", test_hang);
        ADD("hang/mount", "hang-mount", test_hang);
        ADD("hang/late", NULL, test_late);
        ADD("join/mount", NULL, test_join);
        ADD("join/unmount", NULL, test_join_unmount);
        ADD("join/limit", NULL, test_join_limit);
        ADD("holders/limit", NULL, test_holders_limit);
        ADD("repeated", NULL, test_repeated);
        ADD("same-target", NULL, test_same_target);
        ADD("plan/free", NULL, test_plan);
        ADD("plan/held", NULL, test_plan_held);
        ADD("plan/meanwhile", NULL, test_plan_meanwhile);
        ADD("adopt/once", NULL, test_adopt);
        ADD("adopt/again", NULL, test_adopt_again);
        ADD("verify", NULL, test_verify);
        ADD("by-target", NULL, test_by_target);
        ADD("forget", NULL, test_forget);
        ADD("many-callers", NULL, test_many_callers);
        ADD("unmount-busy", NULL, test_unmount_busy);
        ADD("unmount-hidden", NULL, test_unmount_hidden);
        ADD("mount-changed", NULL, test_mount_changed);
        ADD("released-behind-our-back", NULL, test_released_behind_our_back);
        ADD("released-meanwhile", NULL, test_released_meanwhile);
        ADD("mount-id-again", NULL, test_mount_id_again);
        ADD("restart/term", GINT_TO_POINTER(SIGTERM), test_restart);
        ADD("restart/kill", GINT_TO_POINTER(SIGKILL), test_restart);
        ADD("restart/not-relabeled", NULL, test_restart_not_relabeled);
        for (size_t i = 0; i < G_N_ELEMENTS(interruptions); i++) {
                g_autofree char *path = g_strdup_printf("/daemon/interrupted/%s", interruptions[i].name);

                g_test_add(path, Fixture, GSIZE_TO_POINTER(i), set_up, test_interrupted, tear_down);
        }
        ADD("interrupted-early", NULL, test_interrupted_early);
        ADD("interrupted-hidden", NULL, test_interrupted_hidden);
        ADD("orphan", NULL, test_orphan);
        ADD("worker-restart", NULL, test_worker_restart);
        ADD("watch-hangs", NULL, test_watch_hangs);
        ADD("watch-recheck", NULL, test_watch_recheck);
        ADD("damaged-state", NULL, test_damaged_state);
        ADD("lost-state", NULL, test_lost_state);
        ADD("history-and-metrics", NULL, test_history_and_metrics);
        ADD("promtool", NULL, test_promtool);
        ADD("worker-hangs", NULL, test_worker_hangs);
        ADD("textfile", NULL, test_textfile);
        ADD("introspection/manager", "org.selvol1.Manager", test_introspection);
        ADD("introspection/volume", "org.selvol1.Volume", test_introspection);
        ADD("objects", NULL, test_objects);
        ADD("log/control", NULL, test_log_control);
        ADD("log/environment", NULL, test_log_level_environment);
        return g_test_run();
}
