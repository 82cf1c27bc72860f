/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The test plays podman, and talks to selvol-volume-plugin, in front of selvold with a fake worker. */

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/limits.h"
#include "support.h"

enum { CONNECTIONS_MAX = 128 };

#define ID                    "2f73349cf6ee3d4b2aa4b0e5b2bd64f45afcbdd6a3db7dd3a4d5b2ac4a4a1e54"
#define NAMED(n)              "{\"Name\":\"" n "\",\"ID\":\"" ID "\"}"
#define DB                    NAMED("db")
#define OPTIONS               "\"source\":\"/dev/vdb\",\"level\":\"s0:c1,c2\""
#define HELD                  "\"source\":\"/dev/walk-held\",\"level\":\"s0:c1,c2\",\"policy\":\"Always\""
#define CREATE(name, options) "{\"Name\":\"" name "\",\"Opts\":{" options "}}"
#define CREATE_DB             CREATE("db", OPTIONS)
#define NOT_MOUNTED           "{\"Volume\":{\"Name\":\"db\",\"Mountpoint\":\"\"},\"Err\":\"\"}"
#define DONE                  "{\"Err\":\"\"}"

typedef struct Context {
        Fixture f;
        char *socket, *records, *targets;
        const char *id_prefix; /* NULL: none */
        pid_t plugin;
} Context;

static struct sockaddr_un address_of(const Context *c) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        g_assert_cmpuint(g_strlcpy(address.sun_path, c->socket, sizeof(address.sun_path)), <,
                         sizeof(address.sun_path));
        return address;
}

static void plugin_start(Context *c, const char *timeout) {
        const struct sockaddr_un address = address_of(c);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_autofree char *option = g_strdup_printf("--timeout=%s", timeout),
                        *prefix = g_strdup_printf("--id-prefix=%s", c->id_prefix ?: ""),
                        *bus = g_strdup_printf("DBUS_SYSTEM_BUS_ADDRESS=%s", g_getenv("DBUS_SESSION_BUS_ADDRESS"));
        /* By default AddressSanitizer keeps memory that was freed, which a measurement would count. */
        const Launch how = {
                .wrapper = socket_activation,
                .environment =
                        (const char *const[]){ bus, "SELVOL_LOG_LEVEL", "ASAN_OPTIONS=quarantine_size_mb=1", NULL },
                .inherited = fd,
        };

        (void) g_unlink(c->socket);
        g_assert_cmpint(bind(fd, (const struct sockaddr *) &address, sizeof(address)), ==, 0);
        g_assert_cmpint(chmod(c->socket, 0666), ==, 0);
        g_assert_cmpint(listen(fd, 128), ==, 0);
        c->plugin = launch(&how, g_getenv("SELVOL_VOLUME_PLUGIN"), option, prefix, c->records, c->targets, NULL);
        close(fd);
}

/* The plugin must still be alive. */
static void plugin_stop(Context *c) {
        g_assert_cmpint(program_get_end(c->plugin), ==, -1);
        (void) program_end(c->plugin, SIGTERM);
}

static void plugin_restart(Context *c, const char *timeout) {
        plugin_stop(c);
        plugin_start(c, timeout);
}

static void set_up(Context *c, gconstpointer data) {
        g_autofree char *roots = NULL;

        c->f.logged = TRUE;
        fixture_start(&c->f, CALLER_ROOT, FALSE);
        c->socket = file_path(&c->f, "plugin.sock");
        c->records = file_path(&c->f, "records");
        c->targets = file_path(&c->f, "targets");
        g_assert_cmpint(g_mkdir(c->records, 0700), ==, 0);
        g_assert_cmpint(g_mkdir(c->targets, 0755), ==, 0);
        g_assert_cmpint(chmod(c->f.directory, 0755), ==, 0);
        roots = g_strdup_printf("[Worker]\nTargetRoots=\nTargetRoots=%s /var/lib/kubelet\n", c->f.directory);
        daemon_stop(&c->f, SIGTERM);
        write_file(&c->f, "etc/selvol.conf.d/20-roots.conf", roots);
        daemon_start(&c->f);
        plugin_start(c, "10s");
}

static void tear_down(Context *c, gconstpointer data) {
        plugin_stop(c);
        fixture_stop(&c->f);
        g_free(c->socket);
        g_free(c->records);
        g_free(c->targets);
}

#define TEST_PLUGIN(function, name)                              \
        DEFINE_TEST(function, (Context * c, gconstpointer data), \
                    g_test_add("/volume-plugin/" name, Context, NULL, set_up, function, tear_down))

static int connect_to(const Context *c) {
        const struct sockaddr_un address = address_of(c);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_assert_cmpint(connect(fd, (const struct sockaddr *) &address, sizeof(address)), ==, 0);
        return fd;
}

static int begin_post(const Context *c, const char *method, const char *body) {
        g_autofree char *request = g_strdup_printf("POST /%s HTTP/1.1\r\nHost: plugin\r\nContent-Type: application/"
                                                   "vnd.docker.plugins.v1.1+json\r\nContent-Length: %zu\r\n\r\n%s",
                                                   method, strlen(body), body);
        int fd = connect_to(c);

        g_assert_cmpint(send(fd, request, strlen(request), MSG_NOSIGNAL), ==, strlen(request));
        return fd;
}

/* Asserts the status of the answer, and returns the body. */
static char *end_post(int fd, const char *status) {
        g_autofree char *reply = socket_receive(fd);
        const char *end = strstr(reply, "\r\n\r\n");

        if (strncmp(reply, "HTTP/1.1 ", 9) != 0 || strncmp(reply + 9, status, 3) != 0 || !end)
                g_error("The answer is not %s: %s", status, reply);
        return g_strdup(end + 4);
}

static void assert_answer(const Context *c, const char *method, const char *body, const char *expected) {
        g_autofree char *answer = end_post(begin_post(c, method, body), "200");

        g_assert_cmpstr(answer, ==, expected);
}

static char *call_refused(const Context *c, const char *method, const char *body) {
        char *answer = end_post(begin_post(c, method, body), "500");

        g_assert_true(g_str_has_prefix(answer, "{\"Err\":\""));
        return answer;
}

static gboolean is_walking(const Context *c) {
        g_autofree char *answer = call_refused(c, "VolumeDriver.Mount", DB);

        return strstr(answer, " % of its files") != NULL;
}

static void assert_refused(const Context *c, const char *method, const char *body, const char *text) {
        g_autofree char *answer = call_refused(c, method, body);

        if (!strstr(answer, text))
                g_error("'%s' is not in %s", text, answer);
}

static void assert_mounted_at(const Context *c, const char *method, const char *body, const char *name) {
        g_autofree char *expected = g_strdup_printf("{\"Mountpoint\":\"%s/%s\",\"Err\":\"\"}", c->targets, name);

        assert_answer(c, method, body, expected);
}

static gboolean has_file(const char *directory, const char *name) {
        g_autofree char *path = g_build_filename(directory, name, NULL);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* podman creates, mounts, unmounts and removes a volume. It makes each call twice, as after a lost answer. */
TEST_PLUGIN(test_life, "life") {
        g_autofree char *target = g_build_filename(c->targets, "db", NULL),
                        *got = g_strdup_printf("{\"Volume\":{\"Name\":\"db\",\"Mountpoint\":\"%s\"},\"Err\":\"\"}",
                                               target);

        assert_answer(c, "Plugin.Activate", "", "{\"Implements\":[\"VolumeDriver\"],\"Err\":\"\"}");
        assert_answer(c, "VolumeDriver.Capabilities", "{}", "{\"Capabilities\":{\"Scope\":\"local\"},\"Err\":\"\"}");
        assert_refused(c, "VolumeDriver.Get", DB, "Volume db was not created");
        assert_refused(c, "VolumeDriver.Mount", DB, "Volume db was not created");
        assert_refused(c, "VolumeDriver.Path", DB, "Volume db was not created");
        assert_answer(c, "VolumeDriver.List", "{}", "{\"Volumes\":[],\"Err\":\"\"}");
        for (guint i = 0; i < 2; i++) {
                assert_answer(c, "VolumeDriver.Create", CREATE_DB, DONE);
                g_assert_true(has_file(c->targets, "db") && has_file(c->records, "db"));
        }
        assert_refused(c, "VolumeDriver.Create", CREATE("db", OPTIONS ",\"o\":\"ro\""),
                       "Volume db was created with other options before");
        assert_answer(c, "VolumeDriver.List", "{}", "{\"Volumes\":[{\"Name\":\"db\"}],\"Err\":\"\"}");
        assert_answer(c, "VolumeDriver.Get", DB, NOT_MOUNTED);
        for (guint i = 0; i < 2; i++)
                assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        g_assert_true(is_mounted(&c->f, target));
        g_assert_cmpuint(count_holders(&c->f, "db"), ==, 1);
        g_autoptr(GVariant) holders = get_holders(&c->f, "db");
        g_autofree char *text = g_variant_print(holders, FALSE);
        g_assert_nonnull(strstr(text, "'podman:db'"));
        assert_mounted_at(c, "VolumeDriver.Path", DB, "db");
        assert_answer(c, "VolumeDriver.Get", DB, got);

        /* The plugin keeps nothing in memory alone. */
        plugin_restart(c, "10s");
        assert_answer(c, "VolumeDriver.Get", DB, got);
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        for (guint i = 0; i < 2; i++) {
                assert_answer(c, "VolumeDriver.Unmount", DB, DONE);
                g_assert_false(is_mounted(&c->f, target));
        }
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        for (guint i = 0; i < 2; i++) {
                assert_answer(c, "VolumeDriver.Remove", DB, DONE);
                g_assert_false(is_mounted(&c->f, target));
                g_assert_false(has_file(c->targets, "db") || has_file(c->records, "db"));
        }
        assert_refused(c, "VolumeDriver.Get", DB, "Volume db was not created");
}

/* The plugin refuses to create a volume with wrong options, and leaves nothing behind. */
TEST_PLUGIN(test_options, "options") {
        static const struct {
                const char *options, *text;
        } rows[] = {
                { "", "Pass --opt source=SOURCE" },
                { "\"level\":\"s0:c1,c2\"", "Pass --opt source=SOURCE" },
                { "\"source\":\"/dev/vdb\"", "Pass --opt level=LEVEL" },
                { "\"source\":\"/dev/vdb\",\"relabel-by\":\"service\"", "Pass --opt level=LEVEL" },
                { "\"source\":\"/dev/vdb\",\"level\":\"\"", "Pass --opt level=LEVEL" },
                { OPTIONS ",\"colour\":\"red\"", "There is no option 'colour'" },
                { OPTIONS ",\"SELinuxLevel\":\"s0\"", "There is no option 'SELinuxLevel'" },
                { OPTIONS ",\"depth\":\"full\"", "There is no option 'depth'" },
                { OPTIONS ",\"a\\u001b\":\"\"", "There is no option 'a\\\\x1b'" },
                { OPTIONS ",\"fs-group\":\"staff\"", "Option fs-group=staff: must be the number of a group" },
                { OPTIONS ",\"fs-group\":\"\"", "Option fs-group=: must be the number of a group" },
                { OPTIONS ",\"read-only\":\"maybe\"", "Option read-only=maybe: must be yes or no." },
                { OPTIONS ",\"wait\":\"\\n\"", "Option wait=\\\\x0a: must be a time" },
                { OPTIONS ",\"o\":\"a=\\\"b\"", "must be UTF-8, with a closing quote" },
                { OPTIONS ",\"read-only\":true", "Option 'read-only' is not a string." },
                { OPTIONS ",\"volume\":\"a\\uffff\"",
                  "Option 'volume' has a noncharacter of Unicode, which D-Bus does not take." },
                /* The plugin replaces names of options in the texts of selvold. */
                { "\"source\":\"/dev/vdb\",\"level\":\"s0:x\"", "s0:x" },
                { "\"source\":\"a b\",\"level\":\"s0:c1\"", "a b" },
                { OPTIONS ",\"context\":\"u:r:t:s0\"", "context can't be combined with user, role, type or level" },
                /* Only the plan of the mount tells of this mistake. */
                { OPTIONS ",\"o\":\"foo\"", "foo" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *body = g_strdup_printf("{\"Name\":\"db\",\"Opts\":{%s}}", rows[i].options);

                assert_refused(c, "VolumeDriver.Create", body, rows[i].text);
                g_assert_false(has_file(c->targets, "db") || has_file(c->records, "db"));
        }
        assert_refused(c, "VolumeDriver.Create", "{\"Name\":\"db\"}", "Pass --opt source=SOURCE");
        assert_refused(c, "VolumeDriver.Create", "{\"Name\":\"db\",\"Opts\":null}", "Pass --opt source=SOURCE");
        assert_answer(c, "VolumeDriver.List", "", "{\"Volumes\":[],\"Err\":\"\"}");
}

/* Options have the names that selvolctl uses, and reach selvold. */
TEST_PLUGIN(test_request, "request") {
        g_autofree char *options = NULL, *strategy = NULL, *text = NULL;

        assert_answer(c, "VolumeDriver.Create",
                      "{\"Name\":\"v\",\"Opts\":{\"source\":\"/dev/xfs\",\"volume\":\"pvc-1\",\"policy\":\"Always\","
                      "\"level\":\"s0:c1,c2\",\"o\":\"noatime,nodiratime\",\"holder\":\"me\",\"read-only\":\"\"}}",
                      DONE);
        assert_mounted_at(c, "VolumeDriver.Mount", NAMED("v"), "v");
        options = get_volume_text(&c->f, "pvc_2d1", "MountOptions");
        g_assert_cmpstr(options, ==, "['noatime', 'nodiratime']");
        strategy = get_volume_text(&c->f, "pvc_2d1", "Strategy");
        g_assert_cmpstr(strategy, !=, "context-mount");
        g_autoptr(GVariant) holders = get_holders(&c->f, "pvc_2d1");
        text = g_variant_print(holders, FALSE);
        g_assert_nonnull(strstr(text, "'me'"));
        g_assert_nonnull(strstr(text, "'ReadOnly': <true>"));
        assert_answer(c, "VolumeDriver.Unmount", NAMED("v"), DONE);
}

/* As the unit calls it: the ids are those of a caller that is not root. */
TEST_PLUGIN(test_prefix, "prefix") {
        c->id_prefix = "selvol-volume-plugin/";
        plugin_restart(c, "10s");
        assert_answer(c, "VolumeDriver.Create", CREATE_DB, DONE);
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        g_assert_cmpuint(count_holders(&c->f, "selvol_2dvolume_2dplugin_2fdb"), ==, 1);
        assert_answer(c, "VolumeDriver.Create",
                      CREATE("v", "\"source\":\"/dev/xfs\",\"level\":\"s0\",\"volume\":\"pvc-1\""), DONE);
        assert_mounted_at(c, "VolumeDriver.Mount", NAMED("v"), "v");
        g_assert_cmpuint(count_holders(&c->f, "pvc_2d1"), ==, 1);
        assert_answer(c, "VolumeDriver.Unmount", DB, DONE);
        assert_answer(c, "VolumeDriver.Unmount", NAMED("v"), DONE);
}

/* selvold refuses another level, and the text names the holder that is in the way. */
TEST_PLUGIN(test_conflict, "conflict") {
        mount_volume(&c->f, "db", "/dev/vdb", "/var/lib/kubelet/pods/a/volumes/v",
                     "{'Holder': <'pod-A'>, 'SELinuxLevel': <'s0:c3,c4'>, 'SELinuxRelabelPolicy': "
                     "<'OnVolumeMount'>, 'SELinuxMountSupported': <true>}");
        assert_answer(c, "VolumeDriver.Create", CREATE_DB, DONE);
        assert_refused(c, "VolumeDriver.Mount", DB, "in use by pod-A with level s0:c3,c4 since");
        assert_refused(c, "VolumeDriver.Mount", DB,
                       "you asked for s0:c1,c2. Stop pod-A, wait for it with wait, or use its level.");
        g_assert_cmpuint(count_holders(&c->f, "db"), ==, 1);
}

/* podman does not wait for a long relabel. The answer tells so, the relabel goes on, and the next call joins
 * it. */
TEST_PLUGIN(test_relabel, "relabel") {
        g_autofree char *walks = NULL;

        assert_answer(c, "VolumeDriver.Create", CREATE("db", HELD), DONE);
        plugin_restart(c, "500ms");
        WAIT_FOR(is_walking(c));
        for (guint i = 0; i < 2; i++) {
                assert_refused(c, "VolumeDriver.Mount", DB, "Volume db is not mounted yet: ");
                assert_refused(c, "VolumeDriver.Mount", DB, " % of its files are done.");
        }
        /* The volume has a holder, whose mount is not there yet. */
        assert_answer(c, "VolumeDriver.Get", DB, NOT_MOUNTED);
        assert_answer(c, "VolumeDriver.Path", DB, "{\"Mountpoint\":\"\",\"Err\":\"\"}");
        g_assert_cmpuint(count_mounts(&c->f), ==, 0);
        plugin_restart(c, "10s");
        write_file(&c->f, "go", "");
        WAIT_FOR(count_mounts(&c->f) == 1);
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        walks = read_file(&c->f, "walks");
        g_assert_cmpint(g_strrstr(walks, "target=") - walks, ==, 0);
}

TEST_PLUGIN(test_stuck, "stuck") {
        assert_answer(c, "VolumeDriver.Create", CREATE("db", "\"source\":\"/dev/hang-mount\",\"level\":\"s0:c1,c2\""),
                      DONE);
        plugin_restart(c, "300ms");
        assert_refused(c, "VolumeDriver.Mount", DB, "Volume db is not mounted yet. It goes on");
        assert_refused(c, "VolumeDriver.Create",
                       CREATE("slow", "\"source\":\"/dev/hang-observe\",\"level\":\"s0:c1,c2\""),
                       "selvold has not answered within 0.3 seconds.");
        g_assert_false(has_file(c->targets, "slow") || has_file(c->records, "slow"));
}

static guint count_jobs(Context *c) {
        return (guint) (read_metric(&c->f, "selvol_jobs") + read_metric(&c->f, "selvol_jobs_waiting"));
}

/* selvold refuses calls of a user beyond those that polkit is asked about at once. */
TEST_PLUGIN(test_turns, "turns") {
        enum { MANY = QUESTIONS_OF_USER_MAX + 4, AT_ONCE = QUESTIONS_OF_USER_MAX / 2 };
        int posts[MANY];

        plugin_restart(c, "60s");
        for (guint i = 0; i < MANY; i++) {
                g_autofree char *create = g_strdup_printf(
                        CREATE("turn-%u", "\"source\":\"/dev/vd%u/held-mount\",\"level\":\"s0:c1\""), i, i);

                assert_answer(c, "VolumeDriver.Create", create, DONE);
        }
        for (guint i = 0; i < MANY; i++) {
                g_autofree char *body = g_strdup_printf(NAMED("turn-%u"), i);

                posts[i] = begin_post(c, "VolumeDriver.Mount", body);
        }
        WAIT_FOR(count_jobs(c) == AT_ONCE);
        assert_answer(c, "VolumeDriver.Unmount", DB, DONE);
        g_assert_cmpuint(count_jobs(c), ==, AT_ONCE);
        write_file(&c->f, "go", "");
        for (guint i = 0; i < MANY; i++)
                g_free(end_post(posts[i], "200"));
}

static const struct {
        const char *name, *method, *body;
        const char *step; /* of the worker, which waits there */
        const char *before[2];
} flooded_rows[] = {
        { "create",
          "VolumeDriver.Create",
          CREATE("db", "\"source\":\"/dev/held-observe\",\"level\":\"s0:c1,c2\""),
          "observe",
          { NULL } },
        { "mount",
          "VolumeDriver.Mount",
          DB,
          "mount",
          { "VolumeDriver.Create", CREATE("db", "\"source\":\"/dev/held-mount\",\"level\":\"s0:c1,c2\"") } },
        { "unmount",
          "VolumeDriver.Unmount",
          DB,
          "unmount",
          { "VolumeDriver.Create", CREATE("db", "\"source\":\"/dev/held-unmount\",\"level\":\"s0:c1,c2\"") } },
};

static gboolean is_at(Context *c, const char *step) {
        g_autofree char *at = read_file(&c->f, "at");

        return g_str_equal(at, step);
}

/* Strangers send signals while the plugin waits for an answer. */
static void test_flooded(Context *c, gconstpointer data) {
        const __typeof__(flooded_rows[0]) *row = data;
        g_autoptr(GDBusConnection) stranger = bus_connect(g_getenv("DBUS_SESSION_BUS_ADDRESS"));
        g_autofree char *name = NULL;
        int fd;

        plugin_restart(c, "5min");
        if (row->before[0])
                assert_answer(c, row->before[0], row->before[1], DONE);
        if (g_str_equal(row->name, "unmount"))
                assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        fd = begin_post(c, row->method, row->body);
        WAIT_FOR(is_at(c, row->step));
        name = bus_name_of(stranger, c->plugin, NULL);
        g_assert_nonnull(name);
        bus_flood(stranger, name, c->plugin);
        write_file(&c->f, "go", "");
        g_free(end_post(fd, "200"));
}

TEST_PLUGIN(test_no_selvold, "no-selvold") {
        assert_answer(c, "VolumeDriver.Create", CREATE_DB, DONE);
        daemon_stop(&c->f, SIGTERM);
        assert_refused(c, "VolumeDriver.Mount", DB, "selvold is not running");
        assert_refused(c, "VolumeDriver.Remove", DB, "selvold is not running");
        g_assert_true(has_file(c->records, "db"));
        /* The volume exists, so the plugin need not ask selvold. */
        assert_answer(c, "VolumeDriver.Create", CREATE_DB, DONE);
        daemon_start(&c->f);
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
}

/* The configuration does not name the directory any more: podman can still unmount and remove the volumes
 * there. */
TEST_PLUGIN(test_narrowed, "narrowed") {
        assert_answer(c, "VolumeDriver.Create", CREATE_DB, DONE);
        assert_answer(c, "VolumeDriver.Create", CREATE("idle", OPTIONS), DONE);
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        daemon_stop(&c->f, SIGTERM);
        write_file(&c->f, "etc/selvol.conf.d/30-roots.conf",
                   "[Worker]\nTargetRoots=\nTargetRoots=/var/lib/kubelet\n");
        daemon_start(&c->f);

        assert_answer(c, "VolumeDriver.Get", NAMED("idle"),
                      "{\"Volume\":{\"Name\":\"idle\",\"Mountpoint\":\"\"},\"Err\":\"\"}");
        assert_mounted_at(c, "VolumeDriver.Path", DB, "db");
        assert_answer(c, "VolumeDriver.Remove", NAMED("idle"), DONE);
        assert_refused(c, "VolumeDriver.Create", CREATE("idle", OPTIONS), "TargetRoots=");
        assert_answer(c, "VolumeDriver.Remove", DB, DONE);
        g_assert_cmpuint(count_mounts(&c->f), ==, 0);
        g_assert_false(has_file(c->targets, "db") || has_file(c->records, "db"));
}

static gboolean log_has(Context *c, const char *text) {
        g_autofree char *log = read_file(&c->f, "log");

        return strstr(log, text) != NULL;
}

/* Each process in turn dies during a mount, and the same call then completes the mount. */
TEST_PLUGIN(test_killed, "killed") {
        g_autofree char *answer = NULL;
        int fd;

        assert_answer(c, "VolumeDriver.Create", CREATE("db", HELD), DONE);
        fd = begin_post(c, "VolumeDriver.Mount", DB);
        wait_for_job(&c->f, 10002, "running"); /* the first job was the plan at the creation */
        plugin_restart(c, "10s");
        close(fd);

        fd = begin_post(c, "VolumeDriver.Mount", DB);
        WAIT_FOR(log_has(c, "db: job 10002: another caller waits for it."));
        daemon_stop(&c->f, SIGKILL);
        answer = end_post(fd, "500");
        g_assert_nonnull(strstr(answer, "selvold ended before it answered."));
        daemon_start(&c->f);

        fd = begin_post(c, "VolumeDriver.Mount", DB);
        wait_for_job(&c->f, 20001, "running");
        worker_stop(&c->f);
        g_free(answer);
        answer = end_post(fd, "500");
        g_assert_nonnull(strstr(answer, "selvol-worker"));
        worker_start(&c->f);

        write_file(&c->f, "go", "");
        assert_mounted_at(c, "VolumeDriver.Mount", DB, "db");
        g_assert_cmpuint(count_mounts(&c->f), ==, 1);
        g_assert_cmpuint(count_holders(&c->f, "db"), ==, 1);
}

TEST_PLUGIN(test_damaged_record, "damaged-record") {
        static const char *const texts[] = { "", "[]", "{", "{\"a\":1,\"a\":2}", "\xff" };
        g_autofree char *path = file_path(&c->f, "records/db"), *large = g_strnfill(1 << 20, ' ');

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                write_file(&c->f, "records/db", texts[i]);
                assert_answer(c, "VolumeDriver.Get", DB, NOT_MOUNTED);
                assert_refused(c, "VolumeDriver.Mount", DB, "The record of volume db is damaged.");
                assert_refused(c, "VolumeDriver.Create", CREATE_DB, "The record of volume db is damaged.");
                assert_answer(c, "VolumeDriver.Remove", DB, DONE);
        }
        write_file(&c->f, "records/db", large);
        assert_refused(c, "VolumeDriver.Mount", DB, "The record of volume db is damaged.");
        assert_answer(c, "VolumeDriver.Remove", DB, DONE);
        g_assert_cmpint(symlink("/etc/hostname", path), ==, 0);
        assert_refused(c, "VolumeDriver.Mount", DB, "The record of volume db can't be read or written");
        assert_answer(c, "VolumeDriver.Remove", DB, DONE);
        g_assert_cmpint(mkfifo(path, 0600), ==, 0);
        assert_refused(c, "VolumeDriver.Mount", DB, "The record of volume db is damaged.");
        assert_answer(c, "VolumeDriver.Remove", DB, DONE);
        write_file(&c->f, "records/db", "{\"source\":1}");
        assert_refused(c, "VolumeDriver.Mount", DB, "Option 'source' is not a string.");
}

/* The plugin refuses requests that the protocol does not have. */
TEST_PLUGIN(test_bad_requests, "bad-requests") {
        static const struct {
                const char *method, *body, *status, *text;
        } rows[] = {
                { "VolumeDriver.Mount", "", "400", "The request is not a JSON object." },
                { "VolumeDriver.Mount", "{", "400", "The request is not a JSON object." },
                { "VolumeDriver.Mount", "[]", "400", "The request is not a JSON object." },
                { "VolumeDriver.Mount", "{\"Name\":\"a\",\"Name\":\"b\"}", "400",
                  "The request is not a JSON object." },
                { "VolumeDriver.Mount", "{\"Name\":\"\xff\"}", "400", "The request is not a JSON object." },
                { "VolumeDriver.Mount", "{\"Name\":\"a\\u0000b\"}", "400", "The request is not a JSON object." },
                { "VolumeDriver.Mount", "{}", "400", "A volume's name is" },
                { "VolumeDriver.Mount", "{\"Name\":1}", "400", "A volume's name is" },
                { "VolumeDriver.Mount", "{\"Name\":\"\"}", "400", "A volume's name is" },
                { "VolumeDriver.Mount", "{\"Name\":\"..\"}", "400", "A volume's name is" },
                { "VolumeDriver.Mount", "{\"Name\":\".a\"}", "400", "A volume's name is" },
                { "VolumeDriver.Mount", "{\"Name\":\"a/../../b\"}", "400", "A volume's name is" },
                { "VolumeDriver.Remove", "{\"Name\":\"/etc\"}", "400", "A volume's name is" },
                { "VolumeDriver.Remove", "{\"Name\":\"a\\nb\"}", "400", "A volume's name is" },
                { "VolumeDriver.Create", "{\"Name\":\"a\",\"Opts\":[]}", "400", "Opts is not an object." },
                { "VolumeDriver.Create", "{\"Name\":\"a\",\"Opts\":\"x\"}", "400", "Opts is not an object." },
                { "VolumeDriver.Nothing", "{}", "404", "There is no such method" },
                { "", "{}", "404", "There is no such method" },
                { "../VolumeDriver.List", "{}", "404", "There is no such method" },
        };
        g_autofree char *deep = g_strnfill(60000, '['), *large = g_strnfill(1 << 20, 'a'),
                        *long_name = g_strnfill(201, 'a'), *named = g_strdup_printf("{\"Name\":\"%s\"}", long_name),
                        *answer = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = end_post(begin_post(c, rows[i].method, rows[i].body), rows[i].status);

                if (!strstr(text, rows[i].text))
                        g_error("%s %s was answered with %s", rows[i].method, rows[i].body, text);
        }
        g_free(end_post(begin_post(c, "VolumeDriver.Mount", deep), "400"));
        g_free(end_post(begin_post(c, "VolumeDriver.Mount", named), "400"));
        g_free(end_post(begin_post(c, "VolumeDriver.Mount", large), "413"));
        answer = socket_ask(connect_to(c), "GET /VolumeDriver.List HTTP/1.1\r\nHost: a\r\n\r\n", 44);
        g_assert_true(g_str_has_prefix(answer, "HTTP/1.1 405 "));
        g_assert_false(has_file(c->f.directory, "a"));
        assert_answer(c, "VolumeDriver.List", "", "{\"Volumes\":[],\"Err\":\"\"}");
}

/* Bytes that are no HTTP end only that connection. */
TEST_PLUGIN(test_garbage, "garbage") {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        for (guint i = 0; i < 200; i++) {
                char bytes[256];
                gsize n = (gsize) g_rand_int_range(rand, 1, sizeof(bytes) - 4);
                g_autofree char *reply = NULL;

                for (gsize k = 0; k < n; k++)
                        bytes[k] = (char) g_rand_int(rand);
                memcpy(bytes + n, "\r\n\r\n", 4);
                reply = socket_ask(connect_to(c), bytes, n + 4);
                g_assert_null(strstr(reply, " 200 "));
        }
        assert_answer(c, "VolumeDriver.List", "", "{\"Volumes\":[],\"Err\":\"\"}");
}

static const char request[] = "POST /VolumeDriver.List HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";

/* Idle clients have all places. The plugin turns further clients away until there is a place again. */
TEST_PLUGIN(test_connections, "connections") {
        gint64 end = g_get_monotonic_time() + WAIT_SEC * G_USEC_PER_SEC;
        g_autofree char *answer = NULL;
        int idle[CONNECTIONS_MAX];

        for (gsize i = 0; i < G_N_ELEMENTS(idle); i++) {
                idle[i] = connect_to(c);
                g_assert_cmpint(send(idle[i], "P", 1, MSG_NOSIGNAL), ==, 1);
        }
        answer = socket_ask(connect_to(c), request, strlen(request));
        g_assert_cmpstr(answer, ==, "");
        close(idle[0]);
        do {
                g_assert_cmpint(g_get_monotonic_time(), <, end);
                g_free(answer);
                answer = socket_ask(connect_to(c), request, strlen(request));
        } while (answer[0] == '\0');
        g_assert_true(g_str_has_prefix(answer, "HTTP/1.1 200 "));
        for (gsize i = 1; i < G_N_ELEMENTS(idle); i++)
                close(idle[i]);
}

/* The plugin refuses another user even if the mode of the socket lets that user in. */
TEST_PLUGIN(test_other_user, "other-user") {
        pid_t child;
        int status;

        if (getuid() != 0) {
                g_test_skip("only root can be somebody else");
                return;
        }
        child = fork();
        if (child == 0) {
                g_autofree char *reply = NULL;

                if (setgid(65534) < 0 || setuid(65534) < 0)
                        _exit(2);
                reply = socket_ask(connect_to(c), request, strlen(request));
                _exit(g_str_has_prefix(reply, "HTTP/1.1 403 ") ? 0 : 1);
        }
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_cmpint(status, ==, 0);
}

void add_tests(void) {
        add_fixture_rows("/volume-plugin/flooded", Context, flooded_rows, set_up, test_flooded, tear_down);
        g_setenv("SELVOL_LOG_LEVEL", "debug", TRUE);
}
