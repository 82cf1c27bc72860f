/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/xattr.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/doctor.h"
#include "model/limits.h"
#include "model/settings.h"
#include "mount/mountinfo.h"

#include "selvol-config.h"

#define SELINUX_FS "/sys/fs/selinux"
#define STATE      "/var/lib/selvol"
#define SOCKET     "/run/selvol/worker"
#define KUBELET    "/var/lib/kubelet"

#define WORKER_DOMAIN "system_u:system_r:selvol_worker_t"

/* Reads the first byte of a file; a negative errno if that fails. */
static int read_first(const char *path, char *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read(fd, ret, 1);
        return n < 0 ? -errno : n == 0 ? -ENODATA : 0;
}

static Truth truth_of_errno(int error) {
        return error == 0 ? YES : error == EACCES || error == EPERM ? UNKNOWN : NO;
}

static Truth path_exists(const char *path) {
        struct stat st;

        return truth_of_errno(stat(path, &st) < 0 ? errno : 0);
}

/* Whether the loaded policy has a type: checks a context with the type, and with a level only if the policy
 * has levels. */
static Truth policy_has_type(const char *role, const char *type) {
        _cleanup_close_ int fd = open(SELINUX_FS "/context", O_RDWR | O_CLOEXEC);
        _cleanup_free_ char *context = NULL;
        char mls = '1';

        (void) read_first(SELINUX_FS "/mls", &mls);
        context = strdup_printf("system_u:%s:%s%s", role, type, mls == '1' ? ":s0" : "");
        if (fd < 0 || !context)
                return UNKNOWN;
        return truth_of_errno(write(fd, context, strlen(context) + 1) < 0 ? errno : 0);
}

static void read_selinux(NodeFacts *n) {
        char enforce = '0';

        n->selinux = read_first(SELINUX_FS "/enforce", &enforce) >= 0;
        n->enforcing = enforce == '1';
        if (!n->selinux)
                return;
        n->module = policy_has_type("system_r", "selvold_t");
        n->types = NO;
        STRV_FOREACH (type, n->settings.label_types) {
                Truth known = policy_has_type("object_r", *type);

                if (known != NO)
                        n->types = known;
                if (known == YES)
                        break;
        }
}

/* Finds the mount of a path, by its text alone. */
static const Mount *find_mount(const MountTable *table, const char *path) {
        const Mount *found = NULL;

        for (size_t i = 0; i < table->n; i++) {
                const Mount *m = &table->mounts[i];

                if ((streq(m->target, path) || path_is_beneath(path, m->target)) &&
                    (!found || strlen(m->target) >= strlen(found->target)))
                        found = m;
        }
        return found;
}

static bool may_hang(const Mount *m) {
        static const char *const types[] = { "nfs", "cifs", "smb", "ceph", "fuse", "9p", "afs", "autofs", "gluster" };

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (startswith(m->fs_type, types[i]))
                        return true;
        return false;
}

bool path_may_hang(const MountTable *table, const char *path) {
        const Mount *m = find_mount(table, path);

        return m && may_hang(m);
}

static int set_mount(const Mount *m, RootFacts *root) {
        root->mount_point = strdup(m->target);
        root->shared = m->peer_group != 0;
        root->read_only = startswith(m->options, "ro");
        return root->mount_point ? 0 : -ENOMEM;
}

static int read_mount(int fd, RootFacts *root) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        uint64_t id;
        int r;

        r = mount_identify(fd, &id, NULL);
        if (r < 0)
                return r;
        r = mount_table_read_mount(NULL, id, &table);
        if (r < 0)
                return r;
        return set_mount(&table->mounts[0], root);
}

static int read_root(const MountTable *table, const char *path, RootFacts *root) {
        const Mount *m = find_mount(table, path);
        _cleanup_close_ int fd = -EBADF;

        root->path = strdup(path);
        if (!root->path)
                return -ENOMEM;
        if (m && may_hang(m)) {
                root->exists = YES; /* not checked, because the check may hang */
                return set_mount(m, root);
        }
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        root->exists = truth_of_errno(fd < 0 ? errno : 0);
        return fd < 0 ? 0 : read_mount(fd, root);
}

static int read_roots(NodeFacts *n) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        char **roots = n->settings.target_roots;
        int r;

        n->roots = calloc(strv_length(roots) + 1, sizeof(*n->roots));
        if (!n->roots)
                return -ENOMEM;
        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        STRV_FOREACH (path, roots) {
                r = read_root(table, *path, &n->roots[n->n_roots++]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Asks the policy what it lets selvol-worker do there. A directory that does not exist has no label. */
static int read_label(const MountTable *table, const char *path, DeniedObject object, NodeFacts *n) {
        const bool target = object == DENIED_TARGET;
        char mls = '1', label[CONTEXT_MAX + 1];
        LabelFacts *l = &n->labels[n->n_labels];
        ssize_t length;
        int r;

        length = path_may_hang(table, path) ? -1 : getxattr(path, "security.selinux", label, sizeof(label) - 1);
        if (length < 0)
                return 0;
        label[length] = '\0';
        *l = (LabelFacts){ .object = object, .path = path, .label = strdup(label) };
        if (!l->label)
                return -ENOMEM;
        n->n_labels++;
        (void) read_first(SELINUX_FS "/mls", &mls);
        r = policy_allows(mls == '1' ? WORKER_DOMAIN ":s0-s0:c0.c1023" : WORKER_DOMAIN, label,
                          target ? "dir" : "file", target ? "mounton" : "write");
        l->allowed = r > 0 ? YES : r == 0 ? NO : UNKNOWN;
        return r == -ENOMEM ? r : 0;
}

static int read_labels(NodeFacts *n) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        const Settings *s = &n->settings;
        int r;

        n->labels = calloc(strv_length(s->target_roots) + strv_length(s->source_roots) + 1, sizeof(*n->labels));
        if (!n->labels)
                return -ENOMEM;
        if (n->module != YES)
                return 0;
        r = mount_table_read(NULL, &table);
        STRV_FOREACH (path, s->target_roots)
                if (r >= 0)
                        r = read_label(table, *path, DENIED_TARGET, n);
        STRV_FOREACH (path, s->source_roots)
                if (r >= 0 && !streq(*path, "/dev") && !path_is_beneath(*path, "/dev"))
                        r = read_label(table, *path, DENIED_IMAGE, n);
        return r;
}

static bool has_system_call(long number) {
        return syscall(number, -1, NULL, 0, NULL, 0) >= 0 || errno != ENOSYS;
}

static void read_kernel(NodeFacts *n) {
        _cleanup_close_ int fd = open("/", O_PATH | O_CLOEXEC);
        uint64_t id, unique_id = 0;
        char first = '0';

        n->kernel[KERNEL_FSOPEN] = has_system_call(SYS_fsopen);
        n->kernel[KERNEL_MOUNT_SETATTR] = has_system_call(SYS_mount_setattr);
        n->kernel[KERNEL_USER_NAMESPACES] =
                read_first("/proc/sys/user/max_user_namespaces", &first) >= 0 && first != '0';
        n->kernel[KERNEL_UNIQUE_MOUNT_IDS] =
                fd >= 0 && mount_identify_unique(fd, &id, &unique_id) >= 0 && unique_id > 0;
        n->kernel[KERNEL_STATMOUNT] = unique_id > 0 && statmount_is_there(unique_id, id) >= 0;
}

static Truth belongs_to(const char *path, uid_t uid) {
        struct stat st;

        if (stat(path, &st) < 0)
                return errno == ENOENT ? YES : UNKNOWN;
        return st.st_uid == uid ? YES : NO;
}

static void read_store(NodeFacts *n) {
        const struct passwd *selvol = getpwnam("selvol");
        struct statvfs fs;

        if (statvfs(STATE, &fs) < 0)
                return;
        n->store_directory = true;
        n->store_read_only = fs.f_flag & ST_RDONLY;
        n->store_free = (uint64_t) fs.f_bavail * fs.f_frsize;
        n->store_owned = selvol ? belongs_to(STATE, selvol->pw_uid) : NO;
        if (n->store_owned == YES)
                n->store_owned = belongs_to(STATE "/state.db", selvol->pw_uid);
}

static void read_clock(NodeFacts *n) {
        struct timex tx = { 0 };

        n->now_usec = now_realtime_usec();
        n->clock_synchronized = adjtimex(&tx) != TIME_ERROR;
}

static int read_metrics(NodeFacts *n) {
        const char *path = n->settings.metrics_textfile;
        _cleanup_free_ char *directory = NULL;
        struct stat st;

        if (!path)
                return 0;
        directory = strndup(path, (size_t) (strrchr(path, '/') - path) + 1);
        if (!directory)
                return -ENOMEM;
        n->metrics_directory = path_exists(directory);
        if (stat(path, &st) >= 0)
                n->metrics_usec = timespec_nsec(&st.st_mtim) / NSEC_PER_USEC;
        else if (errno == EACCES)
                n->metrics_directory = UNKNOWN;
        return 0;
}

static int read_user(NodeFacts *n) {
        const struct passwd *user = getpwuid(geteuid());

        n->root = geteuid() == 0;
        n->user = user ? strdup(user->pw_name) : strdup_printf("uid %u", (unsigned) geteuid());
        return n->user ? 0 : -ENOMEM;
}

int facts_read(NodeFacts *n) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *real = NULL;
        struct stat st;
        int r;

        r = settings_load(NULL, NULL, &n->settings, &f);
        if (r < 0)
                return r;
        n->mistake = TAKE_PTR(f.message);
        r = read_user(n);
        if (r < 0)
                return r;
        read_selinux(n);
        r = read_roots(n);
        if (r < 0)
                return r;
        r = read_labels(n);
        if (r < 0)
                return r;
        n->kubelet = path_exists(KUBELET) == YES;
        real = n->kubelet ? realpath(KUBELET, NULL) : NULL;
        if (real && !streq(real, KUBELET))
                n->kubelet_leads_to = TAKE_PTR(real);
        read_kernel(n);
        n->polkit_actions = path_exists(SELVOL_POLKIT_ACTIONS);
        read_store(n);
        n->worker_socket = stat(SOCKET, &st) >= 0 && S_ISSOCK(st.st_mode);
        read_clock(n);
        return read_metrics(n);
}

void facts_done(NodeFacts *n) {
        for (size_t i = 0; i < n->n_roots; i++) {
                free(n->roots[i].path);
                free(n->roots[i].mount_point);
        }
        free(n->roots);
        for (size_t i = 0; i < n->n_labels; i++)
                free(n->labels[i].label);
        free(n->labels);
        for (size_t i = 0; i < n->n_kept; i++) {
                free(n->kept[i].volume);
                free(n->kept[i].users);
        }
        free(n->kept);
        free(n->kubelet_leads_to);
        free(n->user);
        free(n->mistake);
        settings_done(&n->settings);
        free(n->bus_error);
        free(n->in_force);
        free(n->in_worker);
        free(n->version);
        free(n->call_error);
        free(n->call_error_name);
        free(n->denied_domain);
        free(n->service_file_state);
        free(n->service_state);
        free(n->socket_state);
        *n = (NodeFacts){ 0 };
}
