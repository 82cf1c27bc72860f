/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pods use the FlexVolume driver, in front of selvold with a fake worker. */

#include <string.h>

#include "support.h"

#define PODS "/var/lib/kubelet/pods/"
#define A    PODS "a/volumes/selvol~volume/v"
#define B    PODS "b/volumes/selvol~volume/v"

#define POD(name, level)                                                                           \
        "{\"kubernetes.io/fsType\":\"\",\"kubernetes.io/pod.name\":\"" name                        \
        "\",\"kubernetes.io/pod.namespace\":\"default\",\"kubernetes.io/pvOrVolumeName\":\"pvc\"," \
        "\"kubernetes.io/readwrite\":\"rw\",\"device\":\"/dev/vdb\"" level "}"
#define LEVEL(level) ",\"level\":\"" level "\""
#define SUCCESS      "{\"status\":\"Success\"}\n"

/* Returns the output of the driver, which kubelet reads. */
static char *drive(const char *word, const char *directory, const char *options) {
        const char *argv[] = { FLEXVOLUME, word, directory, options, NULL };
        g_autoptr(GSubprocessLauncher) launcher =
                g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
        g_autoptr(GSubprocess) driver = NULL;
        g_autoptr(GError) error = NULL;
        char *out = NULL;

        g_subprocess_launcher_setenv(launcher, "DBUS_SYSTEM_BUS_ADDRESS", g_getenv("DBUS_SESSION_BUS_ADDRESS"), TRUE);
        driver = g_subprocess_launcher_spawnv(launcher, argv, &error);
        g_assert_no_error(error);
        g_subprocess_communicate_utf8(driver, NULL, NULL, &out, NULL, &error);
        g_assert_no_error(error);
        return out;
}

static void expect(const char *word, const char *directory, const char *options, const char *text) {
        g_autofree char *out = drive(word, directory, options);

        if (!strstr(out, text))
                g_error("%s %s: '%s' is not in '%s'", word, directory, text, out);
}

TEST(test_two_pods, "/flexvolume-pods/two") {
        Fixture fixture = { 0 }, *f = &fixture;

        fixture_start(f, CALLER_ROOT, TRUE);
        expect("mount", A, POD("web", LEVEL("s0:c1,c2")), SUCCESS);
        expect("mount", A, POD("web", LEVEL("s0:c1,c2")), SUCCESS);
        g_assert_cmpuint(count_mounts(f), ==, 1);

        expect("mount", B, POD("db", LEVEL("s0:c3,c4")), "held by default/web at " A " since");
        expect("mount", B, POD("db", LEVEL("s0:c2,c1")), SUCCESS);
        g_assert_cmpuint(count_holders(f, "pvc"), ==, 2);

        expect("unmount", A, NULL, SUCCESS);
        expect("unmount", A, NULL, SUCCESS);
        expect("unmount", B, NULL, SUCCESS);
        expect("mount", B, POD("db", LEVEL("s0:c3,c4")), SUCCESS);
        fixture_stop(f);
}

/* The driver refuses options with which neither kubelet nor selvold would relabel. */
TEST(test_nobody_relabels, "/flexvolume-pods/nobody-relabels") {
        static const char *const options[] = {
                POD("web", ""),
                POD("web", ",\"policy\":\"Always\""),
                POD("web", LEVEL("s0:c1,c2") ",\"policy\":\"Always\",\"relabel-by\":\"runtime\""),
        };
        Fixture fixture = { 0 }, *f = &fixture;

        fixture_start(f, CALLER_ROOT, TRUE);
        for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
                expect("mount", A, options[i], "\"status\":\"Failure\"");
                g_assert_false(is_mounted(f, A));
        }
        expect("mount", A, POD("web", ",\"relabel-by\":\"none\""), SUCCESS);
        expect("unmount", A, NULL, SUCCESS);
        expect("mount", A, POD("web", LEVEL("s0:c1,c2") ",\"policy\":\"Always\""), SUCCESS);
        fixture_stop(f);
}

void add_tests(void) {
        g_test_set_nonfatal_assertions();
}
