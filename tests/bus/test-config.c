/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* selvold meets a mistake in its configuration at the start, at a reload, and in a check. */

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "support.h"

#define DROPIN "etc/selvol.conf.d/test.conf"
#define TARGET "/srv/v"

enum { EXIT_CONFIG = 78 };

/* Runs a second selvold to its end, with the option, or a state directory if option is NULL. Returns the exit
 * status. */
static int run_selvold(Fixture *f, const char *option, char **ret_messages) {
        g_autofree char *state = g_strdup_printf("--state-directory=%s/other", f->directory),
                        *etc = g_strdup_printf("--config-etc=%s/etc", f->directory);
        g_autofree char *program = program_path("src/selvold"), *src = source_path("src"),
                        *usr = g_strdup_printf("--config-usr=%s", src);
        char *argv[] = { program, usr, etc, option ? (char *) option : state, NULL };
        g_autoptr(GError) error = NULL;
        int status;

        g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, ret_messages, &status, &error);
        g_assert_no_error(error);
        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* selvold tells where the mistake is, and ends with a status after which systemd does not start it again. */
TEST_FIXTURE(test_mistake, "/config/mistake") {
        const char *const options[] = { NULL, "--check-config" };

        write_file(f, DROPIN, "# comment\n[Service]\nJobTimeoutSec=30\n\nSELinuxMount=maybe\n");
        for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
                g_autofree char *messages = NULL;

                g_assert_cmpint(run_selvold(f, options[i], &messages), ==, EXIT_CONFIG);
                if (!strstr(messages, DROPIN ":5: [Service] SELinuxMount=maybe is not valid"))
                        g_test_message("%s", messages);
                g_assert_nonnull(strstr(messages, DROPIN ":5: [Service] SELinuxMount=maybe is not valid"));
        }
}

TEST_FIXTURE(test_check, "/config/check") {
        g_autofree char *messages = NULL;

        write_file(f, DROPIN, "[Service]\nJobTimeoutSec=30\n");
        g_assert_cmpint(run_selvold(f, "--check-config", &messages), ==, 0);
        g_assert_cmpstr(messages, ==, "");
}

/* --- the status, as systemd shows it --- */

/* Restarts selvold, and returns a socket that gets its status. */
static int restart_to_notify(Fixture *f) {
        g_autofree char *path = file_path(f, "notify");
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        g_assert_cmpint(fd, >=, 0);
        g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
        g_assert_cmpint(bind(fd, (struct sockaddr *) &address, sizeof(address)), ==, 0);
        daemon_stop(f, SIGTERM);
        f->notify_socket = path;
        daemon_start(f);
        f->notify_socket = NULL;
        return fd;
}

/* Reads all messages that have come; the last status counts. */
static void read_status(int fd, char **status) {
        char text[4096];
        ssize_t n;

        while ((n = recv(fd, text, sizeof(text) - 1, 0)) > 0) {
                text[n] = '\0';
                if (!g_str_has_prefix(text, "STATUS="))
                        continue;
                g_free(*status);
                *status = g_strdup(text);
        }
}

static gboolean status_has(int fd, char **status, const char *text, gboolean expected) {
        read_status(fd, status);
        return *status && (strstr(*status, text) != NULL) == expected;
}

static void assert_may_mount(Fixture *f, gboolean expected) {
        GAsyncResult *pending = start_mount(f, "v", "/dev/vdb", TARGET, "{}");

        if (expected)
                g_variant_unref(expect_reply(f, pending));
        else
                expect_error(f, pending, "PathNotAllowed", TARGET);
}

/* The status says the mode of SELinux as soon as selvold knows of it. */
TEST_FIXTURE(test_status_mode, "/config/status-mode") {
        g_autofree char *status = NULL;
        int fd = restart_to_notify(f);

        WAIT_FOR(status_has(fd, &status, "SELinux is enforcing.", TRUE));
        write_file(f, "node", "1 0");
        WAIT_FOR(status_has(fd, &status, "SELinux is permissive.", TRUE));
        close(fd);
}

/* The configuration in force stays until there is a new one without a mistake. */
TEST_FIXTURE(test_reload, "/config/reload") {
        static const char mistake[] = DROPIN ":3: [Service] has no key Nonsense=";
        g_autofree char *status = NULL;
        int fd = restart_to_notify(f);

        write_file(f, DROPIN, "[Service]\n\nNonsense=1\n[Worker]\nTargetRoots=/srv\n");
        g_assert_cmpint(kill(f->daemon, SIGHUP), ==, 0);
        WAIT_FOR(status_has(fd, &status, mistake, TRUE));
        g_assert_nonnull(strstr(status, "An earlier configuration is in force."));
        assert_metric(f, "selvol_config_rejected 1\n");
        assert_may_mount(f, FALSE);
        /* The status still has the mistake some time later. */
        pause_usec(600000);
        g_assert_true(status_has(fd, &status, mistake, TRUE));

        write_file(f, DROPIN, "[Worker]\nTargetRoots=/srv\n");
        g_assert_cmpint(kill(f->daemon, SIGHUP), ==, 0);
        WAIT_FOR(status_has(fd, &status, "configuration", FALSE));
        assert_may_mount(f, TRUE);
        assert_metric(f, "selvol_config_rejected 0\n");
        close(fd);
}

static void set_textfile(Fixture *f, const char *name) {
        g_autofree char *config = g_strdup_printf("[Service]\nMetricsTextfile=%s/%s\n", f->directory, name);

        write_file(f, DROPIN, config);
        g_assert_cmpint(kill(f->daemon, SIGHUP), ==, 0);
}

static gboolean exists(Fixture *f, const char *name) {
        g_autofree char *path = file_path(f, name);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* While selvold can't write the metrics, the status tells so, a metric counts it, and no file stays
 * behind. */
TEST_FIXTURE(test_textfile_fails, "/config/textfile-fails") {
        g_autofree char *status = NULL;
        int fd = restart_to_notify(f);

        assert_metric(f, "selvol_textfile_last_success_timestamp_seconds 0\n");
        set_textfile(f, "missing/selvol.prom");
        WAIT_FOR(status_has(fd, &status, "missing/selvol.prom: No such file or directory", TRUE));
        assert_metric(f, "selvol_textfile_errors_total 1\n");

        daemon_limit(f, TRUE);
        set_textfile(f, "selvol.prom");
        WAIT_FOR(status_has(fd, &status, "/selvol.prom: File too large", TRUE));
        assert_metric(f, "selvol_textfile_errors_total 2\n");
        assert_metric(f, "selvol_textfile_last_success_timestamp_seconds 0\n");
        g_assert_false(exists(f, "selvol.prom"));
        g_assert_false(exists(f, "selvol.prom.new"));

        daemon_limit(f, FALSE);
        WAIT_FOR(status_has(fd, &status, "selvol.prom", FALSE));
        g_assert_true(exists(f, "selvol.prom"));
        g_assert_false(exists(f, "selvol.prom.new"));
        g_assert_cmpfloat(read_metric(f, "selvol_textfile_last_success_timestamp_seconds"), >, 1e9);
        close(fd);
}
