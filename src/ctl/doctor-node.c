/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <glob.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/xattr.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"
#include "ctl/terminal.h"
#include "ctl/bus.h"
#include "model/limits.h"
#include "mount/denial.h"
#include "mount/mountinfo.h"

#define SELINUX_FS    "/sys/fs/selinux"
#define WORKER_DOMAIN "system_u:system_r:selvol_worker_t"
#define KUBELET       "/var/lib/kubelet"
#define PLUGIN_SOCKET "/run/selvol/volume-plugin.sock"
#define CSI_PROGRAM   "/usr/libexec/selvol-csi"
#define BLANKS        " \t"
#define QUOTES        "\"'"
#define DROP_IN       "under [Worker] in /etc/selvol/selvol.conf.d/50-local.conf, then: systemctl reload selvold"

/* Returns the first byte of a file; '\0' if it can't be read. */
static char read_first(Doctor *d, const char *path) {
        _cleanup_close_ int fd = open(doctor_path(d, path), O_RDONLY | O_CLOEXEC);
        char first;

        return fd >= 0 && read(fd, &first, 1) == 1 ? first : '\0';
}

static bool selinux_is_on(Doctor *d) {
        return read_first(d, SELINUX_FS "/enforce") != '\0';
}

static FindingState if_enforcing(Doctor *d) {
        return read_first(d, SELINUX_FS "/enforce") == '1' ? PROBLEM : WARNING;
}

/* Whether the loaded policy has a type: the kernel takes a context with the type, and with a level only if
 * the policy has levels. Returns 1, 0, or -EACCES if only root can tell. */
static int policy_has_type(Doctor *d, const char *role, const char *type) {
        _cleanup_close_ int fd = open(doctor_path(d, SELINUX_FS "/context"), O_RDWR | O_CLOEXEC);
        const char *context = doctor_keep(d, strdup_printf("system_u:%s:%s%s", role, type,
                                                           read_first(d, SELINUX_FS "/mls") == '0' ? "" : ":s0"));

        if (fd < 0)
                return -EACCES;
        if (write(fd, context, strlen(context) + 1) >= 0)
                return 1;
        return errno == EACCES || errno == EPERM ? -EACCES : 0;
}

static void check_selinux(Doctor *d) {
        if (!selinux_is_on(d))
                doctor_found(
                        d, WARNING,
                        "SELinux is off: volumes are mounted without a context, and nothing is relabeled.\n"
                        "turn it on, and reboot (Debian: apt install selinux-basics selinux-policy-default; selinux-activate; reboot)");
        else if (if_enforcing(d) == PROBLEM)
                doctor_found(d, OK, "SELinux is enforcing.");
        else
                doctor_found(d, WARNING,
                             "SELinux is permissive: it only logs what it would deny.\n"
                             "setenforce 1");
}

static void check_policy(Doctor *d) {
        int known = 0;

        if (!selinux_is_on(d) || d->mistake)
                return;
        STRV_FOREACH (type, d->settings.label_types)
                if (known <= 0) {
                        int r = policy_has_type(d, "object_r", *type);

                        known = r != 0 ? r : known;
                }
        if (known > 0)
                doctor_found(d, OK, "The loaded policy has types for containers.");
        else if (known < 0)
                doctor_found(d, UNKNOWN, "Can't tell whether the policy has types for containers." AS_ROOT);
        else
                doctor_found(
                        d, PROBLEM,
                        "The loaded policy has none of the types %s: no volume can be mounted with a context.\n"
                        "load a policy with container types (Debian 12: that of selvol-selinux), or set LabelTypes=",
                        doctor_keep(d, strv_join(d->settings.label_types, " ")));
}

static void check_module(Doctor *d) {
        const char *module = "/usr/share/selinux/packages/targeted/selvol.pp.bz2"; /* Fedora's directory */
        int known;

        if (!selinux_is_on(d))
                return;
        known = policy_has_type(d, "system_r", "selvold_t");
        if (known > 0)
                doctor_found(d, OK, "selvol's policy module is loaded.");
        else if (known < 0)
                doctor_found(d, UNKNOWN, "Can't tell whether selvol's policy module is loaded." AS_ROOT);
        else {
                if (access(doctor_path(d, module), F_OK) < 0)
                        module = "/usr/share/selinux/packages/selvol.pp";
                doctor_found(
                        d, if_enforcing(d),
                        "selvol's policy module is not loaded: the policy may drop the service's answers.\n"
                        "semodule -X 200 -i %s && restorecon -RFi /usr/libexec/selvol* /usr/sbin/mount.selvol /usr/lib/selvol /etc/selvol /run/selvol /run/selvold /var/lib/selvol /var/lib/selvol-volume-plugin && restorecon -RFix /var/lib/selvol-images && restorecon -Fi /var/lib/selvol-volumes/podman && systemctl restart selvol-worker.socket selvol-worker selvold",
                        module);
        }
}

/* Judges a directory of TargetRoots=. Returns whether it is there. */
static bool check_target(Doctor *d, const MountTable *table, const char *path) {
        const Mount *m = doctor_find_slow_mount(table, path);
        const char *name = doctor_string(d, path), *at, *word;
        uint64_t id;

        if (!m) {
                _cleanup_close_ int fd = open(doctor_path(d, path), O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (fd < 0 && (errno == EACCES || errno == EPERM)) {
                        doctor_found(d, UNKNOWN, "%s can't be looked at." AS_ROOT, name);
                        return true;
                }
                m = fd >= 0 && mount_identify(fd, &id, NULL) >= 0 ? mountinfo_find(table, id) : NULL;
        }
        if (!m) {
                doctor_found(d, OK, "%s does not exist, and is not used.", name);
                return false;
        }
        at = doctor_string(d, m->target);
        word = doctor_keep(d, shell_quote(m->target));
        if (m->peer_group == 0)
                doctor_found(d, PROBLEM,
                             "%s is on a mount that is not shared (%s): containers don't see what is mounted there.\n"
                             "mount --make-shared %s",
                             name, at, word);
        else if (startswith(m->options, "ro"))
                doctor_found(d, WARNING,
                             "%s is on a read-only mount (%s): no directory for a volume can be made there.\n"
                             "mount -o remount,rw %s",
                             name, at, word);
        else
                doctor_found(d, OK, "%s passes mounts on to containers.", name);
        return true;
}

static void check_targets(Doctor *d) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        bool any = false;

        if (doctor_failed(d, mount_table_read(doctor_path(d, "/proc/self/mountinfo"), &table)))
                return;
        STRV_FOREACH (path, d->settings.target_roots)
                any = check_target(d, table, *path) || any;
        if (!any && !d->mistake)
                doctor_found(d, PROBLEM,
                             "None of the directories of TargetRoots= exists: nothing can be mounted.\n"
                             "mkdir -p /var/lib/selvol-volumes");
}

/* Judges what the policy lets selvol-worker do with a directory. Returns whether that is right; a directory
 * that does not exist has no label. */
static bool check_label(Doctor *d, const MountTable *table, const char *path, DeniedObject object) {
        const char *domain =
                read_first(d, SELINUX_FS "/mls") == '0' ? WORKER_DOMAIN : WORKER_DOMAIN ":s0-s0:c0.c1023";
        const bool target = object == DENIED_TARGET;
        char label[CONTEXT_MAX + 1];
        ssize_t length;
        int r;

        if (doctor_find_slow_mount(table, path))
                return true;
        length = getxattr(doctor_path(d, path), "security.selinux", label, sizeof(label) - 1);
        if (length < 0)
                return true;
        label[length] = '\0';
        r = policy_allows(domain, label, target ? "dir" : "file", target ? "mounton" : "write");
        if (r > 0)
                return true;
        if (r < 0)
                doctor_found(d, UNKNOWN, "Can't tell whether selvol-worker may use %s." AS_ROOT,
                             doctor_string(d, path));
        else
                doctor_found(d, if_enforcing(d),
                             "SELinux does not let selvol-worker use %s, with the label %s, for %s: it may use %s.\n"
                             "%s",
                             doctor_string(d, path), doctor_keep(d, format_escaped(label)),
                             target ? "targets" : "images", denial_types(object),
                             doctor_keep(d, denial_remedy(object, path, path)));
        return false;
}

static void check_labels(Doctor *d) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        bool right = true;

        if (!selinux_is_on(d) || policy_has_type(d, "system_r", "selvold_t") <= 0 ||
            doctor_failed(d, mount_table_read(doctor_path(d, "/proc/self/mountinfo"), &table)))
                return;
        STRV_FOREACH (path, d->settings.target_roots)
                right = check_label(d, table, *path, DENIED_TARGET) && right;
        STRV_FOREACH (path, d->settings.source_roots)
                if (!streq(*path, "/dev") && !path_is_beneath(*path, "/dev"))
                        right = check_label(d, table, *path, DENIED_IMAGE) && right;
        if (right && !d->mistake)
                doctor_found(
                        d, OK,
                        "The directories of TargetRoots= and SourceRoots= have types that selvol-worker may use.");
}

/* Targets go through no symbolic link. */
static void check_kubelet(Doctor *d) {
        _cleanup_free_ char *real = realpath(doctor_path(d, KUBELET), NULL);
        const char *directory = real ? real + strlen(d->root) : KUBELET, *name = doctor_string(d, directory);
        const bool known =
                roots_contain(d->settings.target_roots, doctor_keep(d, strdup_printf("%s/pods/pod", directory)));

        if (d->mistake)
                return;
        if (!real)
                doctor_found(d, OK, "There is no kubelet in its usual directory.");
        else if (streq(directory, KUBELET) && known)
                doctor_found(d, OK, "kubelet's pods are beneath TargetRoots=.");
        else if (streq(directory, KUBELET))
                doctor_found(d, PROBLEM,
                             "TargetRoots= does not have /var/lib/kubelet/pods: volumes of pods are refused.\n"
                             "add TargetRoots=/var/lib/kubelet/pods " DROP_IN);
        else if (known)
                doctor_found(d, OK, "TargetRoots= has %s/pods, which kubelet passes with --root-dir=%s.", name,
                             doctor_keep(d, shell_quote(directory)));
        else
                doctor_found(
                        d, PROBLEM,
                        "/var/lib/kubelet leads to %s by a symbolic link, which targets may not go through: volumes of pods are refused.\n"
                        "start kubelet with --root-dir=%s, and add TargetRoots=%s/pods %s/plugins " DROP_IN,
                        name, doctor_keep(d, shell_quote(directory)), name, name);
}

/* Returns the value of the last line with the key in the files that match the patterns, without its quotes;
 * NULL: none. Every line of TOML and YAML that is looked for has one key. */
static const char *read_value(Doctor *d, const char *const patterns[], const char *key, char separator) {
        _cleanup_(globfree) glob_t files = { 0 };
        _cleanup_free_ char *line = NULL;
        const char *value = NULL;
        size_t size = 0;

        for (size_t i = 0; patterns[i]; i++)
                (void) glob(doctor_path(d, patterns[i]), i > 0 ? GLOB_APPEND : 0, NULL, &files);
        for (size_t i = 0; i < files.gl_pathc; i++) {
                _cleanup_fclose_ FILE *f = fopen(files.gl_pathv[i], "re");

                while (f && getline(&line, &size, f) >= 0) {
                        const char *p = startswith(line + strspn(line, BLANKS), key);

                        p = p ? p + strspn(p, BLANKS) : "";
                        if (p[0] != separator)
                                continue;
                        p += 1 + strspn(p + 1, BLANKS QUOTES);
                        value = doctor_keep(d, strndup(p, strcspn(p, BLANKS QUOTES "\n")));
                }
        }
        return value;
}

static void check_kubelet_gate(Doctor *d) {
        static const char *const files[] = { KUBELET "/config.yaml", NULL };
        const char *value = read_value(d, files, "SELinuxMount", ':');

        if (streq_ptr(value, "false"))
                doctor_found(
                        d, NOTE,
                        "kubelet's feature gate SELinuxMount is off: it passes a CSI driver the context of ReadWriteOncePod volumes only.");
        else if (streq_ptr(value, "true") && !d->settings.gate_mount && !d->mistake)
                doctor_found(
                        d, WARNING,
                        "kubelet passes a CSI driver the context of each volume, but SELinuxMount=no allows a context for ReadWriteOncePod volumes only.\n"
                        "add SELinuxMount=yes under [Service] in /etc/selvol/selvol.conf.d/50-local.conf, then: systemctl reload selvold");
        else if (streq_ptr(value, "true"))
                doctor_found(
                        d, OK,
                        "kubelet's feature gate SELinuxMount is on: it passes a CSI driver with seLinuxMount the context of each volume.");
}

static void check_podman(Doctor *d) {
        static const char *const files[] = { "/usr/share/containers/containers.conf",
                                             "/etc/containers/containers.conf",
                                             "/etc/containers/containers.conf.d/?*.conf", NULL };
        const char *path = read_value(d, files, "selvol", '=');
        _cleanup_free_ char *state = unit_get_string(d->bus, "selvol-volume-plugin.socket", "Unit", "ActiveState");
        struct stat st;
        bool listens;

        if (doctor_stat(d, "/usr/bin/podman", NULL) < 0)
                return;
        listens =
                doctor_stat(d, PLUGIN_SOCKET, &st) == 0 && S_ISSOCK(st.st_mode) && (!state || streq(state, "active"));
        if (!path && !listens)
                doctor_found(d, OK, "podman does not use selvol's volume plugin.");
        else if (!streq_ptr(path, PLUGIN_SOCKET))
                doctor_found(
                        d, WARNING,
                        "podman's setting for the socket of selvol's volume plugin is %s: podman can't use the plugin's volumes.\n"
                        "write selvol = \"" PLUGIN_SOCKET
                        "\" under [engine.volume_plugins] in /etc/containers/containers.conf.d/selvol.conf",
                        path ? doctor_string(d, path) : "missing");
        else if (!listens)
                doctor_found(
                        d, PROBLEM,
                        "Nobody listens at the socket of selvol's volume plugin: podman can't use the plugin's volumes.\n"
                        "systemctl enable --now selvol-volume-plugin.socket");
        else
                doctor_found(d, OK, "podman can use selvol's volume plugin.");
}

/* A line of selvol-csi is the state, the driver, the text and what to type, with tabs between them. */
static void add_driver(Doctor *d, char *line) {
        char *state = strsep(&line, "\t"), *driver = strsep(&line, "\t"), *text = strsep(&line, "\t");

        if (!driver || !text)
                return;
        doctor_found(d,
                     streq(state, "problem")   ? PROBLEM
                     : streq(state, "warning") ? WARNING
                                               : OK,
                     "%s%s%s", text, line ? "\n" : "", strempty(line));
}

static bool any_driver_has_socket(const Settings *s) {
        for (size_t i = 0; i < s->n_drivers; i++)
                if (s->drivers[i].socket)
                        return true;
        return false;
}

/* selvol-csi speaks gRPC, and so asks drivers and their registrars. */
static void check_drivers(Doctor *d) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        FILE *f;

        if (doctor_stat(d, CSI_PROGRAM, NULL) < 0 ||
            (doctor_stat(d, "/run/selvol/csi", NULL) == -ENOENT && !any_driver_has_socket(&d->settings)))
                return;
        if (!d->is_root) {
                doctor_found(d, UNKNOWN, "CSI drivers can't be asked." AS_ROOT);
                return;
        }
        f = popen(CSI_PROGRAM " --check", "re");
        while (f && getline(&line, &size, f) >= 0) {
                line[strcspn(line, "\n")] = '\0';
                add_driver(d, line);
        }
        if (!f || pclose(f) != 0)
                doctor_found(d, PROBLEM, "doctor could not ask the CSI drivers.\n" CSI_PROGRAM " --check says why");
}

static bool has_system_call(long number) {
        return syscall(number, -1, NULL, 0, NULL, 0) >= 0 || errno != ENOSYS;
}

/* The oldest kernel of a supported release, 6.1 of Debian 12, has neither unique ids nor statmount(2). */
static void check_kernel(Doctor *d) {
        _cleanup_close_ int fd = open("/", O_PATH | O_CLOEXEC);
        const char namespaces = read_first(d, "/proc/sys/user/max_user_namespaces");
        const size_t before = json_array_size(d->findings);
        uint64_t id, unique_id = 0;

        if (!has_system_call(SYS_fsopen))
                doctor_found(
                        d, WARNING,
                        "The kernel has no fsopen(2): each mount is made in a mount namespace of its own, which is slower.\n"
                        "boot Linux 6.1 or newer");
        if (!has_system_call(SYS_mount_setattr))
                doctor_found(
                        d, PROBLEM,
                        "The kernel has no mount_setattr(2), and so no idmapped mounts: a change of group rewrites all files.\n"
                        "boot Linux 6.1 or newer");
        if (namespaces == '\0' || namespaces == '0')
                doctor_found(
                        d, WARNING,
                        "User namespaces are off, and so are idmapped mounts: a change of group rewrites all files.\n"
                        "sysctl user.max_user_namespaces=10000");
        if (fd < 0 || mount_identify_unique(fd, &id, &unique_id) < 0 || unique_id == 0)
                doctor_found(
                        d, NOTE,
                        "The kernel has neither unique mount ids nor statmount(2), which came with Linux 6.8: a mount that was made anew by hand may be taken for the one before, and operations are slower where there are many mounts.");
        else if (statmount_is_there(unique_id, id) < 0)
                doctor_found(d, NOTE,
                             "The kernel has no statmount(2): operations are slower where there are many mounts.");
        if (json_array_size(d->findings) == before)
                doctor_found(d, OK, "The kernel has all that selvol uses.");
}

static void check_clock(Doctor *d) {
        const json_t *lists[] = { d->volumes, d->holders }, *object;
        struct timex tx = { 0 };
        uint64_t newest = 0;
        size_t i;

        for (size_t k = 0; k < ELEMENTSOF(lists); k++)
                json_array_foreach (lists[k], i, object) {
                        uint64_t usec = answer_number(object, k == 0 ? "LastVerifiedUSec" : "SinceUSec");

                        newest = usec > newest ? usec : newest;
                }
        if (newest > now_realtime_usec())
                doctor_found(d, PROBLEM,
                             "The clock is before the last time in the records, %s: history and ages are wrong.\n"
                             "timedatectl set-ntp true, or timedatectl set-time TIME",
                             doctor_keep(d, format_time(newest)));
        else if (adjtimex(&tx) == TIME_ERROR)
                doctor_found(
                        d, WARNING,
                        "The clock is not synchronized: times in the history can't be compared with those of other nodes.\n"
                        "timedatectl set-ntp true");
        else
                doctor_found(d, OK, "The clock is synchronized.");
}

const Check node_checks[] = {
        { "selinux", check_selinux },      { "policy", check_policy },   { "module", check_module },
        { "targets", check_targets },      { "labels", check_labels },   { "kubelet", check_kubelet },
        { "kubelet", check_kubelet_gate }, { "drivers", check_drivers }, { "podman", check_podman },
        { "kernel", check_kernel },        { "clock", check_clock },     { NULL, NULL },
};
