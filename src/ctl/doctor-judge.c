/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdarg.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/doctor.h"
#include "ctl/terminal.h"

#define AS_ROOT "run 'selvolctl doctor' as root"

#define MIB UINT64_C(1048576)
enum { STORE_MIB_MIN = 64, METRICS_SEC_MAX = 60 };

static const char ok[] = "ok", warning[] = "warning", problem[] = "problem", unknown[] = "unknown";

/* Appends a finding whose text is made from format. */
static _printf_(5, 6) int add_finding(json_t *findings, const char *check, const char *state, const char *remedy,
                                      const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        json_t *finding;
        va_list ap;

        va_start(ap, format);
        text = strdup_vprintf(format, ap);
        va_end(ap);
        if (!text)
                return -ENOMEM;
        finding = json_pack("{s:s, s:s, s:s, s:s*}", "Check", check, "State", state, "Text", text, "Remedy", remedy);
        return json_array_append_new(findings, finding) < 0 ? -ENOMEM : 0;
}

static int judge_configuration(const NodeFacts *n, json_t *findings) {
        char files[sizeof("0123456789abcdef")];

        if (n->mistake)
                return add_finding(findings, "config", problem, "correct that file, then: systemctl reload selvold",
                                   "%s", n->mistake);
        if (!isempty(n->in_force) && !isempty(n->in_worker) && !streq(n->in_force, n->in_worker))
                return add_finding(
                        findings, "config", problem, "systemctl reload selvold",
                        "selvol-worker has another configuration than selvold: volumes can only be unmounted.");
        (void) snprintf(files, sizeof(files), "%016" PRIx64, n->settings.digest);
        if (!isempty(n->in_force) && !streq(n->in_force, files))
                return add_finding(findings, "config", warning, "systemctl reload selvold",
                                   "The files have been changed since selvold read them.");
        return add_finding(findings, "config", ok, NULL, "The configuration has no error.");
}

static int judge_selinux(const NodeFacts *n, json_t *findings) {
        if (!n->selinux)
                return add_finding(
                        findings, "selinux", warning,
                        "turn it on, and reboot (Debian: apt install selinux-basics selinux-policy-default; selinux-activate; reboot)",
                        "SELinux is off: volumes are mounted without a context, and nothing is relabeled.");
        if (!n->enforcing)
                return add_finding(findings, "selinux", warning, "setenforce 1",
                                   "SELinux is permissive: it only logs what it would deny.");
        return add_finding(findings, "selinux", ok, NULL, "SELinux is enforcing.");
}

static int judge_policy(const NodeFacts *n, json_t *findings) {
        _cleanup_free_ char *types = strv_join(n->settings.label_types, " ");

        if (!types)
                return -ENOMEM;
        if (!n->selinux || n->mistake)
                return 0;
        if (n->types == UNKNOWN)
                return add_finding(findings, "policy", unknown, AS_ROOT,
                                   "Can't tell whether the policy has types for containers.");
        if (n->types == NO)
                return add_finding(
                        findings, "policy", problem,
                        "load a policy with container types (Debian 12: in selvol's source tree: tools/container-policy), or set LabelTypes=",
                        "The loaded policy has none of the types %s: no volume can be mounted with a context.",
                        types);
        return add_finding(findings, "policy", ok, NULL, "The loaded policy has types for containers.");
}

static int judge_module(const NodeFacts *n, json_t *findings) {
        if (!n->selinux)
                return 0;
        if (n->module == UNKNOWN)
                return add_finding(findings, "module", unknown, AS_ROOT,
                                   "Can't tell whether selvol's policy module is loaded.");
        if (n->module == NO)
                return add_finding(
                        findings, "module", n->enforcing ? problem : warning,
                        "semodule -i /usr/share/selinux/packages/selvol.pp && restorecon -RFi /usr/libexec/selvol* /usr/sbin/mount.selvol /usr/lib/selvol /etc/selvol /run/selvol /run/selvold /var/lib/selvol /var/lib/selvol-volume-plugin && restorecon -RFix /var/lib/selvol-images && restorecon -Fi /var/lib/selvol-volumes/podman && systemctl restart selvol-worker.socket selvol-worker selvold",
                        "selvol's policy module is not loaded: the policy may drop the service's answers.");
        return add_finding(findings, "module", ok, NULL, "selvol's policy module is loaded.");
}

static int judge_root(const RootFacts *root, json_t *findings) {
        _cleanup_free_ char *path = format_string(root->path), *at = format_string(strempty(root->mount_point)),
                            *word = shell_quote(strempty(root->mount_point)), *share = NULL, *remount = NULL;

        if (!path || !at || !word)
                return -ENOMEM;
        if (root->exists == NO)
                return add_finding(findings, "targets", ok, NULL, "%s does not exist, and is not used.", path);
        if (root->exists == UNKNOWN)
                return add_finding(findings, "targets", unknown, AS_ROOT, "%s can't be looked at.", path);
        share = strdup_printf("mount --make-shared %s", word);
        remount = strdup_printf("mount -o remount,rw %s", word);
        if (!share || !remount)
                return -ENOMEM;
        if (!root->shared)
                return add_finding(
                        findings, "targets", problem, share,
                        "%s is on a mount that is not shared (%s): containers don't see what is mounted there.", path,
                        at);
        if (root->read_only)
                return add_finding(findings, "targets", warning, remount,
                                   "%s is on a read-only mount (%s): no directory for a volume can be made there.",
                                   path, at);
        return add_finding(findings, "targets", ok, NULL, "%s passes mounts on to containers.", path);
}

static int judge_roots(const NodeFacts *n, json_t *findings) {
        bool any = false;

        for (size_t i = 0; i < n->n_roots; i++) {
                int r;

                any = any || n->roots[i].exists != NO;
                r = judge_root(&n->roots[i], findings);
                if (r < 0)
                        return r;
        }
        if (n->mistake || any)
                return 0;
        return add_finding(findings, "targets", problem, "mkdir -p /var/lib/selvol-volumes",
                           "None of the directories of TargetRoots= exists: nothing can be mounted.");
}

static int judge_label(const NodeFacts *n, const LabelFacts *l, json_t *findings) {
        _cleanup_free_ char *path = format_string(l->path), *label = format_escaped(l->label),
                            *remedy = denial_remedy(l->object, l->path, l->path);

        if (!path || !label || !remedy)
                return -ENOMEM;
        if (l->allowed == UNKNOWN)
                return add_finding(findings, "labels", unknown, AS_ROOT,
                                   "Can't tell whether selvol-worker may use %s.", path);
        return add_finding(findings, "labels", n->enforcing ? problem : warning, remedy,
                           "SELinux does not let selvol-worker use %s, with the label %s, for %s: it may use %s.",
                           path, label, l->object == DENIED_TARGET ? "targets" : "images", denial_types(l->object));
}

static int judge_labels(const NodeFacts *n, json_t *findings) {
        bool all = true;

        for (size_t i = 0; i < n->n_labels; i++) {
                int r;

                if (n->labels[i].allowed == YES)
                        continue;
                all = false;
                r = judge_label(n, &n->labels[i], findings);
                if (r < 0)
                        return r;
        }
        if (!all || n->n_labels == 0)
                return 0;
        return add_finding(findings, "labels", ok, NULL,
                           "The directories of TargetRoots= and SourceRoots= have types that selvol-worker may use.");
}

/* Targets go through no symbolic link. */
static int judge_linked_kubelet(const NodeFacts *n, json_t *findings) {
        _cleanup_free_ char *real = format_string(n->kubelet_leads_to), *word = shell_quote(n->kubelet_leads_to),
                            *pod = strdup_printf("%s/pods/pod", n->kubelet_leads_to), *remedy = NULL;

        if (!real || !word || !pod)
                return -ENOMEM;
        if (roots_contain(n->settings.target_roots, pod))
                return add_finding(findings, "kubelet", ok, NULL,
                                   "TargetRoots= has %s/pods, which kubelet passes with --root-dir=%s.", real, word);
        remedy = strdup_printf(
                "start kubelet with --root-dir=%s, and write %s/pods and %s/plugins in place of those in /var/lib/kubelet in TargetRoots= under [Worker] in /etc/selvol/selvol.conf.d/50-local.conf, then: systemctl reload selvold",
                word, real, real);
        if (!remedy)
                return -ENOMEM;
        return add_finding(
                findings, "kubelet", problem, remedy,
                "/var/lib/kubelet leads to %s by a symbolic link, which targets may not go through: volumes of pods are refused.",
                real);
}

static int judge_kubelet(const NodeFacts *n, json_t *findings) {
        if (n->mistake)
                return 0;
        if (!n->kubelet)
                return add_finding(findings, "kubelet", ok, NULL, "There is no kubelet in its usual directory.");
        if (n->kubelet_leads_to)
                return judge_linked_kubelet(n, findings);
        if (!roots_contain(n->settings.target_roots, "/var/lib/kubelet/pods/pod"))
                return add_finding(
                        findings, "kubelet", problem,
                        "repeat the current value of TargetRoots= (selvolctl config) and add /var/lib/kubelet/pods, under [Worker] in /etc/selvol/selvol.conf.d/50-local.conf, then: systemctl reload selvold",
                        "TargetRoots= does not have /var/lib/kubelet/pods: volumes of pods are refused.");
        return add_finding(findings, "kubelet", ok, NULL, "kubelet's pods are beneath TargetRoots=.");
}

static int judge_kernel(const NodeFacts *n, json_t *findings) {
        static const struct {
                const char *state, *text, *remedy;
        } table[KERNEL_FEATURES] = {
                [KERNEL_FSOPEN] = { warning,
                                    "The kernel has no fsopen(2): each mount is made in a mount namespace of its own, which is slower.",
                                    "boot Linux 6.1 or newer" },
                [KERNEL_MOUNT_SETATTR] = { problem,
                                           "The kernel has no mount_setattr(2), and so no idmapped mounts: a change of group rewrites all files.",
                                           "boot Linux 6.1 or newer" },
                [KERNEL_USER_NAMESPACES] = { warning,
                                             "User namespaces are off, and so are idmapped mounts: a change of group rewrites all files.",
                                             "sysctl user.max_user_namespaces=10000" },
                [KERNEL_STATMOUNT] = { warning,
                                       "The kernel has no statmount(2): operations are slower where there are many mounts.",
                                       "boot Linux 6.8 or newer" },
                [KERNEL_UNIQUE_MOUNT_IDS] = { warning,
                                              "The kernel has neither unique mount ids nor statmount(2): a mount that was made anew by hand may be taken for the one before, and operations are slower where there are many mounts.",
                                              "boot Linux 6.8 or newer" },
        };
        size_t missing = 0;

        for (size_t i = 0; i < KERNEL_FEATURES; i++) {
                int r;

                /* A kernel without the ids has no statmount(2), because both came with Linux 6.8. */
                if (n->kernel[i] || (i == KERNEL_STATMOUNT && !n->kernel[KERNEL_UNIQUE_MOUNT_IDS]))
                        continue;
                missing++;
                r = add_finding(findings, "kernel", table[i].state, table[i].remedy, "%s", table[i].text);
                if (r < 0)
                        return r;
        }
        return missing > 0 ? 0 : add_finding(findings, "kernel", ok, NULL, "The kernel has all that selvol uses.");
}

static bool is_denied(const NodeFacts *n) {
        return streq_ptr(n->call_error_name, SD_BUS_ERROR_ACCESS_DENIED);
}

static int judge_call(const NodeFacts *n, json_t *findings) {
        _cleanup_free_ char *join = strdup_printf("usermod -aG selvol %s, and log in again", strempty(n->user)),
                            *error = format_escaped(strempty(n->call_error));

        if (!join || !error)
                return -ENOMEM;
        if (n->version)
                return add_finding(findings, "bus", ok, NULL, "selvold %s answers.", n->version);
        if (is_denied(n))
                return add_finding(
                        findings, "bus", problem, join,
                        "%s may not call selvold: only root and members of the group selvol, with polkit's consent, may.",
                        strempty(n->user));
        return add_finding(findings, "bus", problem, "systemctl status selvold", "selvold does not answer: %s",
                           error);
}

static int judge_bus(const NodeFacts *n, json_t *findings) {
        if (n->bus_error)
                return add_finding(findings, "bus", problem, "systemctl status dbus",
                                   "The system bus can't be reached: %s", n->bus_error);
        if (streq_ptr(n->service_file_state, "masked"))
                return add_finding(findings, "bus", problem, "systemctl unmask selvold",
                                   "selvold is masked: nobody can start it.");
        if (n->running)
                return judge_call(n, findings);
        if (streq_ptr(n->service_state, "failed"))
                return add_finding(findings, "bus", problem,
                                   "journalctl -u selvold -n 20, then: systemctl restart selvold",
                                   "selvold has failed.");
        if (n->bus_name == NO)
                return add_finding(findings, "bus", problem, "install selvol, then: systemctl reload dbus",
                                   "The bus does not know org.selvol1, so it can't start selvold.");
        return add_finding(findings, "bus", ok, NULL, "selvold is not running; the first call starts it.");
}

static int judge_callers(const NodeFacts *n, json_t *findings) {
        _cleanup_free_ char *allow = NULL;

        if (!n->denied_domain)
                return n->selinux && n->root ? add_finding(findings, "callers", ok, NULL,
                                                           "SELinux has denied no call to selvold since boot.")
                                             : 0;
        allow = strdup_printf(
                "if it is to call selvold: selvol_dbus_chat(%s) in a policy module, see selvol-integration(7)",
                n->denied_domain);
        if (!allow)
                return -ENOMEM;
        return add_finding(
                findings, "callers", warning, allow,
                "SELinux keeps processes in %s from calling selvold, or from its answers ('ausearch -m USER_AVC').",
                n->denied_domain);
}

static int judge_volumes(const NodeFacts *n, json_t *findings) {
        for (size_t i = 0; i < n->n_kept; i++) {
                const KeptFacts *k = &n->kept[i];
                int r;

                r = add_finding(
                        findings, "volumes", warning,
                        "if the volume is to be used otherwise, or elsewhere: end that process, or stop its container",
                        "Nobody holds volume %s, but another mount namespace has it mounted: %s.", k->volume,
                        k->users);
                if (r < 0)
                        return r;
        }
        if (n->n_kept > 0 || n->kept_known != YES)
                return 0;
        return add_finding(findings, "volumes", ok, NULL,
                           "No volume that nobody holds is mounted in another mount namespace.");
}

static int judge_polkit(const NodeFacts *n, json_t *findings) {
        if (n->polkit == NO)
                return add_finding(findings, "polkit", warning, "install polkit (Debian: apt install polkitd)",
                                   "polkit is not installed or not on the bus: only root can call selvold.");
        if (n->polkit_actions == NO)
                return add_finding(findings, "polkit", warning, "install selvol again",
                                   "selvol's actions are not installed for polkit: only root can call selvold.");
        if (n->polkit == UNKNOWN || n->polkit_actions == UNKNOWN)
                return 0; /* without a bus, judge_bus() reports a problem */
        return add_finding(findings, "polkit", ok, NULL, "polkit knows selvol's actions.");
}

static int judge_store(const NodeFacts *n, json_t *findings) {
        if (!n->store_directory)
                return n->running ? add_finding(
                                            findings, "store", problem, "systemctl restart selvold",
                                            "The state's directory /var/lib/selvol is gone: nothing can be recorded.")
                                  : add_finding(findings, "store", ok, NULL,
                                                "There is no state yet; selvold makes it when it starts.");
        if (n->store_read_only)
                return add_finding(findings, "store", problem,
                                   "mount -o remount,rw $(findmnt -n -o TARGET -T /var/lib/selvol)",
                                   "The state's directory is on a read-only file system: nothing can be recorded.");
        if (n->store_free < STORE_MIB_MIN * MIB)
                return add_finding(findings, "store", n->store_free < MIB ? problem : warning,
                                   "make room on the file system of /var/lib/selvol",
                                   "The state's file system has %" PRIu64
                                   " MiB left: without space nothing can be recorded.",
                                   n->store_free / MIB);
        if (n->store_owned == NO)
                return add_finding(
                        findings, "store", problem, "chown -R selvol:selvol /var/lib/selvol",
                        "The state in /var/lib/selvol does not belong to the user selvol: selvold can't write it.");
        if (n->store_owned == UNKNOWN)
                return add_finding(findings, "store", unknown, AS_ROOT,
                                   "The state has space; who owns the file can't be seen.");
        return add_finding(findings, "store", ok, NULL, "The state can be written, and has %" PRIu64 " MiB left.",
                           n->store_free / MIB);
}

static int judge_worker(const NodeFacts *n, json_t *findings) {
        static const char start[] = "systemctl restart selvol-worker.socket";

        if (!n->worker_socket)
                return add_finding(
                        findings, "worker", n->running ? problem : warning, start,
                        "The worker's socket /run/selvol/worker is not there: nothing can be mounted or unmounted.");
        if (n->socket_state && !streq(n->socket_state, "active"))
                return add_finding(findings, "worker", problem, start,
                                   "Nobody listens at the worker's socket: selvol-worker.socket is %s.",
                                   n->socket_state);
        return add_finding(findings, "worker", ok, NULL, "The worker's socket is there.");
}

static int judge_clock(const NodeFacts *n, json_t *findings) {
        _cleanup_free_ char *newest = format_time(n->newest_usec);

        if (!newest)
                return -ENOMEM;
        if (n->newest_usec > n->now_usec)
                return add_finding(
                        findings, "clock", problem, "timedatectl set-ntp true, or timedatectl set-time TIME",
                        "The clock is before the last time in the records, %s: history and ages are wrong.", newest);
        if (!n->clock_synchronized)
                return add_finding(
                        findings, "clock", warning, "timedatectl set-ntp true",
                        "The clock is not synchronized: times in the history can't be compared with those of other nodes.");
        return add_finding(findings, "clock", ok, NULL, "The clock is synchronized.");
}

static int judge_metrics(const NodeFacts *n, json_t *findings) {
        const char *path = n->settings.metrics_textfile;
        _cleanup_free_ char *escaped = format_string(strempty(path));

        if (!escaped)
                return -ENOMEM;
        if (n->mistake)
                return 0;
        if (!path)
                return add_finding(findings, "metrics", ok, NULL, "No text file of metrics is configured.");
        if (!n->running)
                return add_finding(findings, "metrics", ok, NULL, "%s is written while selvold runs.", escaped);
        if (n->metrics_directory == NO)
                return add_finding(findings, "metrics", problem,
                                   "make the directory, or correct MetricsTextfile=, then: systemctl reload selvold",
                                   "The directory of %s does not exist: no metrics are written.", escaped);
        if (n->metrics_usec == 0 && n->metrics_directory == UNKNOWN)
                return add_finding(findings, "metrics", unknown, AS_ROOT, "%s can't be looked at.", escaped);
        if (n->metrics_usec + METRICS_SEC_MAX * USEC_PER_SEC < n->now_usec)
                return add_finding(findings, "metrics", problem,
                                   "journalctl -u selvold -g metrics, see selvol-metrics(7)",
                                   "%s has not been written for a minute: selvold can't write there.", escaped);
        return add_finding(findings, "metrics", ok, NULL, "%s is up to date.", escaped);
}

int facts_judge(const NodeFacts *n, json_t *findings) {
        static int (*const judges[])(const NodeFacts *n, json_t *findings) = {
                judge_configuration, judge_selinux, judge_policy, judge_module,  judge_roots,   judge_labels,
                judge_kubelet,       judge_kernel,  judge_bus,    judge_callers, judge_volumes, judge_polkit,
                judge_store,         judge_worker,  judge_clock,  judge_metrics,
        };

        for (size_t i = 0; i < ELEMENTSOF(judges); i++) {
                int r;

                r = judges[i](n, findings);
                if (r < 0)
                        return r;
        }
        return 0;
}
