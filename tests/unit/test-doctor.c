/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doctor looks at a node without faults, and at nodes with one fault each. The files of the node are in a
 * directory of the test; calls of the kernel, systemd and the journal go to the test (ld --wrap). */
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>

#include <systemd/sd-journal.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"
#include "ctl/history.h"
#include "ctl/namespaces.h"
#include "ctl/bus.h"
#include "mount/denial.h"
#include "mount/image.h"
#include "support/files.h"
#include "support/program.h"
#include "wire/names.h"

#include "selvol-config.h"
#include "support.h"

#define NOW       UINT64_C(1767225600000000) /* 2026-01-01 00:00:00 UTC */
#define NOBODY    65534
#define PLUGIN    "selvol-volume-plugin.socket"
#define ONE_MOUNT "1 0 8:1 / / rw shared:1 - ext4 /dev/a rw\n"

/* The node as it is seen other than in files. */
typedef struct Outside {
        bool fsopen, mount_setattr, unique_mount_ids, statmount, synchronized, owned, journal, masked, read_only;
        uint64_t free, mount_id, recorded, held;
        int allowed, allowed_image; /* as policy_allows() returns them */
        const char *service, *worker_socket, *plugin_socket, *record, *users, *hidden;
} Outside;

static Outside outside;
static Doctor d;
static char *root;

/* --- in place of the kernel and of other programs --- */

#define WRAP(type, name, ...)            \
        type __real_##name(__VA_ARGS__); \
        type __wrap_##name(__VA_ARGS__); \
        type __wrap_##name(__VA_ARGS__)

WRAP(int, statvfs64, const char *path, struct statvfs *fs) {
        struct stat st;

        *fs = (struct statvfs){ .f_bavail = outside.free,
                                .f_frsize = 1,
                                .f_flag = outside.read_only ? ST_RDONLY : 0 };
        return stat(path, &st);
}

WRAP(struct passwd *, getpwnam, const char *name) {
        static struct passwd user;

        g_assert_cmpstr(name, ==, "selvol");
        user.pw_uid = getuid() + (outside.owned ? 0 : 1);
        return &user;
}

WRAP(int, adjtimex, struct timex *tx) {
        return outside.synchronized ? TIME_OK : TIME_ERROR;
}

WRAP(int, clock_gettime, clockid_t clock, struct timespec *ts) {
        if (clock != CLOCK_REALTIME)
                return __real_clock_gettime(clock, ts);
        *ts = timespec_of_nsec(NOW * NSEC_PER_USEC);
        return 0;
}

WRAP(ssize_t, getxattr, const char *path, const char *name, void *value, size_t size) {
        g_assert_cmpstr(name, ==, "security.selinux");
        return g_strlcpy(value, "system_u:object_r:var_t:s0", size);
}

WRAP(int, policy_allows, const char *subject, const char *object, const char *class, const char *permission) {
        const bool target = streq(class, "dir");

        g_assert_cmpstr(subject, ==, "system_u:system_r:selvol_worker_t:s0-s0:c0.c1023");
        g_assert_cmpstr(object, ==, "system_u:object_r:var_t:s0");
        g_assert_cmpstr(permission, ==, target ? "mounton" : "write");
        return target ? outside.allowed : outside.allowed_image;
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
        errno = (number == SYS_fsopen && !outside.fsopen) || (number == SYS_mount_setattr && !outside.mount_setattr)
                        ? ENOSYS
                        : EINVAL;
        return -1;
}

WRAP(int, mount_identify, int fd, uint64_t *ret_id, bool *ret_is_mount) {
        *ret_id = outside.mount_id;
        return 0;
}

WRAP(int, mount_identify_unique, int fd, uint64_t *ret_id, uint64_t *ret_unique) {
        *ret_id = 1;
        *ret_unique = outside.unique_mount_ids ? 5 : 0;
        return 0;
}

WRAP(int, statmount_is_there, uint64_t unique, uint64_t id) {
        return outside.statmount ? 1 : -EOPNOTSUPP;
}

WRAP(char *, unit_get_string, sd_bus *bus, const char *unit, const char *interface, const char *property) {
        const char *state = streq(unit, PLUGIN)                   ? outside.plugin_socket
                            : streq(unit, "selvol-worker.socket") ? outside.worker_socket
                                                                  : outside.service;

        g_assert_cmpstr(property, ==, "ActiveState");
        return state ? copy(state) : NULL;
}

WRAP(char *, unit_get_file_state, sd_bus *bus, const char *unit) {
        return copy(outside.masked ? "masked" : "enabled");
}

WRAP(int, journal_open, sd_journal **ret) {
        return outside.journal ? 0 : -EACCES;
}

WRAP(int, sd_journal_add_match, sd_journal *j, const void *data, size_t size) {
        return 0;
}

WRAP(int, sd_journal_seek_tail, sd_journal *j) {
        return 0;
}

WRAP(int, sd_journal_previous, sd_journal *j) {
        return outside.record != NULL;
}

WRAP(int, journal_get, sd_journal *j, const char *field, char **ret) {
        *ret = copy(outside.record);
        outside.record = NULL;
        return 0;
}

/* selvol-csi has said what is in this file. */
WRAP(FILE *, popen, const char *command, const char *mode) {
        return fopen(doctor_path(&d, "/csi"), "re");
}

WRAP(int, pclose, FILE *f) {
        return fclose(f);
}

WRAP(int, namespaces_read, Namespaces *ret) {
        *ret = (Namespaces){ 0 };
        return mount_table_read(doctor_path(&d, "/proc/self/mountinfo"), &ret->own);
}

WRAP(int, loop_find, dev_t device, ino_t inode, const char *path, dev_t **ret, size_t *ret_n) {
        g_assert_cmpstr(path, ==, "/a.img");
        *ret = calloc(1, sizeof(dev_t));
        *ret_n = 1;
        return 0;
}

WRAP(int, namespaces_describe, const Namespaces *all, const dev_t *devices, size_t n, char **ret) {
        g_assert_cmpuint(n, ==, 1);
        *ret = outside.users ? copy(outside.users) : NULL;
        return 0;
}

/* --- a node --- */

/* "" removes the file or directory; ">TARGET" makes a link. */
static void set_file(const char *path, const char *text) {
        g_autofree char *full = path_printf("%s%s", root, path), *directory = g_path_get_dirname(full);

        if (g_file_test(full, G_FILE_TEST_EXISTS))
                tree_remove(full);
        if (isempty(text))
                return;
        must(g_mkdir_with_parents(directory, 0755));
        if (text[0] == '>')
                must(symlink(text + 1, full));
        else
                file_write(full, text);
}

static void set_directory(const char *path) {
        g_autofree char *full = path_printf("%s%s", root, path);

        must(g_mkdir_with_parents(full, 0755));
}

static void set_socket(void *member, const char *path) {
        g_autofree char *full = path_printf("%s%s", root, path);

        must(mknod(full, S_IFSOCK | 0600, 0));
}

/* Files are from NOW, or with this word from 1970. */
static void set_old(void *member, const char *path) {
        g_autofree char *full = path_printf("%s%s", root, path);
        const struct timespec times[2] = { 0 };

        must(utimensat(AT_FDCWD, full, times, 0));
}

static void set_hidden(void *member, const char *path) {
        outside.hidden = g_intern_string(path);
}

static void set_fact(void *member, const char *value) {
        *(const char **) member = isempty(value) ? NULL : g_intern_string(value);
}

static void set_facts(void *member, const char *value) {
        static char *lists[4][2];
        static size_t n;
        char **list = lists[n++ % G_N_ELEMENTS(lists)];

        set_fact(&list[0], value);
        *(char ***) member = list;
}

static void set_allowed(void *member, const char *value) {
        *(int *) member = streq(value, "unknown") ? -EACCES : is_yes(value);
}

static void set_volumes(void *member, const char *value) {
        json_error_t error;

        d.volumes = json_loads(value, 0, &error);
        if (!d.volumes)
                g_error("%s: %s", value, error.text);
}

static void add_volumes(void) {
        if (outside.recorded == 0)
                return;
        d.volumes = json_array();
        for (size_t i = 0; i < outside.recorded; i++)
                json_array_append_new(d.volumes, json_pack("{s:o}", "Holders",
                                                           i < outside.held ? json_pack("[{}]") : json_array()));
}

static void change(const char *word) {
        const Key keys[] = {
                { "allowed", set_allowed, &outside.allowed },
                { "allowed_image", set_allowed, &outside.allowed_image },
                { "bus_error", set_fact, &d.bus_error },
                { "call_error", set_fact, &d.call_error.message },
                { "call_error_name", set_fact, &d.call_error.name },
                { "clock_synchronized", set_flag, &outside.synchronized },
                { "fsopen", set_flag, &outside.fsopen },
                { "gate_mount", set_flag, &d.settings.gate_mount },
                { "held", set_number, &outside.held },
                { "hide", set_hidden, NULL },
                { "in_force", set_fact, &d.in_force },
                { "in_worker", set_fact, &d.in_worker },
                { "journal", set_flag, &outside.journal },
                { "masked", set_flag, &outside.masked },
                { "metrics_textfile", set_fact, &d.settings.metrics_textfile },
                { "mistake", set_fact, &d.mistake },
                { "mount_id", set_number, &outside.mount_id },
                { "mount_setattr", set_flag, &outside.mount_setattr },
                { "names", set_facts, &d.names },
                { "old", set_old, NULL },
                { "record", set_fact, &outside.record },
                { "recorded", set_number, &outside.recorded },
                { "root", set_flag, &d.is_root },
                { "running", set_flag, &d.running },
                { PLUGIN, set_fact, &outside.plugin_socket },
                { "selvol-worker.socket", set_fact, &outside.worker_socket },
                { "selvold.service", set_fact, &outside.service },
                { "socket", set_socket, NULL },
                { "source_roots", set_facts, &d.settings.source_roots },
                { "statmount", set_flag, &outside.statmount },
                { "store_free", set_number, &outside.free },
                { "store_owned", set_flag, &outside.owned },
                { "store_read_only", set_flag, &outside.read_only },
                { "target_roots", set_facts, &d.settings.target_roots },
                { "unique_mount_ids", set_flag, &outside.unique_mount_ids },
                { "users", set_fact, &outside.users },
                { "version", set_fact, &d.version },
                { "volumes", set_volumes, NULL },
        };

        if (word[0] == '/') {
                g_auto(GStrv) parts = g_strsplit(word, "=", 2);

                set_file(parts[0], parts[1]);
        } else if (!set_word(keys, G_N_ELEMENTS(keys), word))
                g_error("unknown word %s", word);
}

static void make_well(void) {
        static char *types[] = { (char *) "container_file_t", NULL },
                    *roots[] = { (char *) "/var/lib/kubelet/pods", NULL },
                    *names[] = { (char *) BUS_NAME, (char *) "org.freedesktop.PolicyKit1", NULL };

        outside = (Outside){
                .fsopen = true,
                .mount_setattr = true,
                .unique_mount_ids = true,
                .statmount = true,
                .synchronized = true,
                .owned = true,
                .journal = true,
                .free = UINT64_C(1) << 30,
                .mount_id = 1,
                .allowed = 1,
                .allowed_image = 1,
                .service = "active",
                .worker_socket = "active",
                .plugin_socket = "active",
        };
        d = (Doctor){
                .root = root,
                .user = (char *) "alice",
                .settings = { .label_types = types, .target_roots = roots, .gate_mount = true },
                .names = names,
                .running = true,
                .version = (char *) "1.2",
                .in_force = (char *) "0000000000000000",
                .in_worker = (char *) "0000000000000000",
                .findings = json_array(),
        };
        set_file("/sys/fs/selinux/enforce", "1");
        set_file("/sys/fs/selinux/mls", "1");
        set_file("/sys/fs/selinux/context", "x");
        set_file("/proc/self/mountinfo", ONE_MOUNT);
        set_file("/proc/sys/user/max_user_namespaces", "1000");
        set_file(SELVOL_POLKIT_ACTIONS, "x");
        set_file("/var/lib/selvol/state.db", "x");
        set_directory("/var/lib/kubelet/pods");
        set_directory("/data/kubelet");
        set_directory("/run/selvol");
        set_socket(NULL, "/run/selvol/worker");
}

/* Root can look into each directory, so root is somebody else meanwhile. */
static void check_hidden(void) {
        g_autofree char *full = path_printf("%s%s", root, outside.hidden);

        must(chmod(full, 0));
        if (geteuid() == 0)
                must(seteuid(NOBODY));
        g_assert_cmpint(doctor_check(&d), ==, 0);
        if (getuid() == 0)
                must(seteuid(0));
        must(chmod(full, 0755));
}

/* Returns the last finding of a check, NULL if there is none: that of a whole comes after its parts'. */
static const json_t *find(const char *check) {
        const json_t *finding, *found = NULL;
        size_t i;

        json_array_foreach (d.findings, i, finding)
                if (streq(answer_string(finding, "Check"), check))
                        found = finding;
        return found;
}

TEST_TABLE(test_row, "/doctor", "doctor.table", "id with =state =remedy =text") {
        const char *id = row_need(row, "id"), *state = row_need(row, "=state"), *remedy = row_get(row, "=remedy");
        g_auto(GStrv) words = g_strsplit(strempty(row_get(row, "with")), "; ", -1);
        g_autofree char *check = g_strndup(id, strcspn(id, "/"));
        const json_t *finding;

        root = g_dir_make_tmp("doctor-XXXXXX", NULL);
        must(chmod(root, 0755));
        make_well();
        for (char **word = words; *word; word++)
                change(*word);
        add_volumes();
        if (outside.hidden)
                check_hidden();
        else
                g_assert_cmpint(doctor_check(&d), ==, 0);
        finding = find(check);
        if (streq(state, "none"))
                g_assert_null(finding);
        else {
                g_assert_cmpstr(answer_string(finding, "Text"), ==, row_need(row, "=text"));
                g_assert_cmpstr(answer_string(finding, "State"), ==, state);
                g_assert_cmpstr(json_string_value(json_object_get(finding, "Remedy")), ==, remedy);
                /* doctor tells a remedy for each fault. */
                g_assert_cmpint(streq(state, "ok") || streq(state, "note"), ==, !remedy);
        }
        strv_free(d.texts);
        json_decref(d.findings);
        json_decref(d.volumes);
        tree_remove(root);
        g_free(root);
}

void add_tests(void) {
        g_setenv("TZ", "UTC", TRUE);
}
