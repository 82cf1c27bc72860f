/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What doctor says of a node: of one that is well, and of such with one thing wrong each. */
#include <glib.h>

#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"

#define NOW UINT64_C(1767225600000000) /* 2026-01-01 00:00:00 UTC */

static char *types[] = { (char *) "container_file_t", NULL };
static char *target_roots[] = { (char *) "/var/lib/kubelet/pods", NULL };
static char *other_roots[] = { (char *) "/srv", NULL };
static RootFacts root;

/* Nothing in it is to be released. */
static const NodeFacts well = {
        .user = (char *) "alice",
        .settings = { .label_types = types, .target_roots = target_roots },
        .selinux = true,
        .enforcing = true,
        .types = YES,
        .module = YES,
        .roots = &root,
        .n_roots = 1,
        .kubelet = true,
        .kernel = { true, true, true, true, true },
        .bus_name = YES,
        .running = true,
        .version = (char *) "1.2",
        .service_file_state = (char *) "enabled",
        .service_state = (char *) "active",
        .socket_state = (char *) "active",
        .worker_socket = true,
        .polkit = YES,
        .polkit_actions = YES,
        .store_directory = true,
        .store_owned = YES,
        .store_free = UINT64_C(1) << 30,
        .clock_synchronized = true,
        .now_usec = NOW,
};
static const RootFacts well_root = {
        .path = (char *) "/var/lib/kubelet/pods",
        .exists = YES,
        .mount_point = (char *) "/",
        .shared = true,
};

#define LIE(name, statements)            \
        static void name(NodeFacts *n) { \
                statements               \
        }                                \
        struct name##_needs_a_semicolon

LIE(nothing, (void) n;);
LIE(mistake, n->mistake = (char *) "Configuration: /etc/x:3: wrong.";);
LIE(selinux_off, n->selinux = n->enforcing = false; n->types = n->module = UNKNOWN;);
LIE(permissive, n->enforcing = false;);
LIE(no_types, n->types = NO;);
LIE(hidden_types, n->types = UNKNOWN;);
LIE(no_module, n->module = NO;);
LIE(no_module_permissive, n->module = NO; n->enforcing = false;);
LIE(hidden_module, n->module = UNKNOWN;);
LIE(private_root, root.shared = false; root.mount_point = (char *) "/a\n";);
LIE(read_only_root, root.read_only = true;);
LIE(hidden_root, root.exists = UNKNOWN; root.mount_point = NULL;);
LIE(no_root, root.exists = NO; root.mount_point = NULL;);
LIE(no_kubelet, n->kubelet = false;);
LIE(kubelet_elsewhere, n->settings.target_roots = other_roots;);
LIE(no_fsopen, n->kernel[KERNEL_FSOPEN] = false;);
LIE(no_setattr, n->kernel[KERNEL_MOUNT_SETATTR] = false;);
LIE(no_user_namespaces, n->kernel[KERNEL_USER_NAMESPACES] = false;);
LIE(no_statmount, n->kernel[KERNEL_STATMOUNT] = false;);
LIE(no_unique_ids, n->kernel[KERNEL_UNIQUE_MOUNT_IDS] = n->kernel[KERNEL_STATMOUNT] = false;);
LIE(no_bus, n->bus_error = (char *) "Connection refused"; n->running = false; n->polkit = UNKNOWN;);
LIE(masked, n->running = false; n->service_file_state = (char *) "masked";);
LIE(failed, n->running = false; n->service_state = (char *) "failed";);
LIE(not_activatable, n->running = false; n->bus_name = NO;);
LIE(stopped, n->running = false; n->service_state = (char *) "inactive";);
LIE(denied, n->version = NULL; n->call_error_name = (char *) SD_BUS_ERROR_ACCESS_DENIED;
    n->call_error = (char *) "x";);
LIE(silent, n->version = NULL; n->call_error_name = (char *) SD_BUS_ERROR_TIMEOUT;
    n->call_error = (char *) "Too\nlate";);
LIE(as_root, n->root = true;);
LIE(deaf_caller, n->denied_domain = (char *) "unconfined_mount_t";);
LIE(no_polkit, n->polkit = NO;);
LIE(no_actions, n->polkit_actions = NO;);
LIE(no_store, n->store_directory = false;);
LIE(no_store_yet, n->store_directory = n->running = false;);
LIE(store_read_only, n->store_read_only = true;);
LIE(store_narrow, n->store_free = UINT64_C(5) << 20;);
LIE(store_full, n->store_free = 0;);
LIE(store_foreign, n->store_owned = NO;);
LIE(store_hidden, n->store_owned = UNKNOWN;);
LIE(no_socket, n->worker_socket = false;);
LIE(dead_socket, n->socket_state = (char *) "failed";);
LIE(clock_loose, n->clock_synchronized = false;);
LIE(clock_back, n->newest_usec = NOW + 1000000;);
LIE(metrics_fresh, n->settings.metrics_textfile = (char *) "/m/a"; n->metrics_directory = YES;
    n->metrics_usec = NOW;);
LIE(metrics_old, n->settings.metrics_textfile = (char *) "/m/a"; n->metrics_directory = YES; n->metrics_usec = 5;);
LIE(metrics_nowhere, n->settings.metrics_textfile = (char *) "/m/a"; n->metrics_directory = NO;);
LIE(metrics_stopped, n->running = false; n->settings.metrics_textfile = (char *) "/m/a"; n->metrics_directory = NO;);
LIE(metrics_hidden, n->settings.metrics_textfile = (char *) "/m/a"; n->metrics_directory = UNKNOWN;);

static const struct {
        const char *name;
        void (*lie)(NodeFacts *n);
        const char *check, *state, *text;
        const char *remedy; /* NULL: none */
} cases[] = {
        { "config/ok", nothing, "config", "ok", "The configuration has no error.", NULL },
        { "config/mistake", mistake, "config", "problem", "Configuration: /etc/x:3: wrong.",
          "correct that file, then: systemctl reload selvold" },
        { "selinux/ok", nothing, "selinux", "ok", "SELinux is enforcing.", NULL },
        { "selinux/off", selinux_off, "selinux", "warning",
          "SELinux is off: volumes are mounted without a context, and nothing is relabeled.",
          "turn it on, and reboot (Debian: apt install selinux-basics selinux-policy-default; selinux-activate; reboot)" },
        { "selinux/permissive", permissive, "selinux", "warning",
          "SELinux is permissive: it only logs what it would deny.", "setenforce 1" },
        { "policy/ok", nothing, "policy", "ok", "The loaded policy has types for containers.", NULL },
        { "policy/none", no_types, "policy", "problem",
          "The loaded policy has none of the types container_file_t: no volume can be mounted with a context.",
          "load a policy with container types (Debian 12: in selvol's source tree: tools/container-policy), or set LabelTypes=" },
        { "policy/hidden", hidden_types, "policy", "unknown",
          "Can't tell whether the policy has types for containers.", "run 'selvolctl doctor' as root" },
        { "module/ok", nothing, "module", "ok", "selvol's policy module is loaded.", NULL },
        { "module/none", no_module, "module", "problem",
          "selvol's policy module is not loaded: the policy may drop the service's answers.",
          "semodule -i /usr/share/selinux/packages/selvol.pp && restorecon -RFi /usr/libexec/selvol* /usr/sbin/mount.selvol /usr/lib/selvol /etc/selvol /run/selvol /run/selvold /var/lib/selvol /var/lib/selvol-volume-plugin && restorecon -Fi /var/lib/selvol-volumes/podman && systemctl restart selvol-worker.socket selvol-worker selvold" },
        { "module/permissive", no_module_permissive, "module", "warning",
          "selvol's policy module is not loaded: the policy may drop the service's answers.",
          "semodule -i /usr/share/selinux/packages/selvol.pp && restorecon -RFi /usr/libexec/selvol* /usr/sbin/mount.selvol /usr/lib/selvol /etc/selvol /run/selvol /run/selvold /var/lib/selvol /var/lib/selvol-volume-plugin && restorecon -Fi /var/lib/selvol-volumes/podman && systemctl restart selvol-worker.socket selvol-worker selvold" },
        { "module/hidden", hidden_module, "module", "unknown", "Can't tell whether selvol's policy module is loaded.",
          "run 'selvolctl doctor' as root" },
        { "targets/ok", nothing, "targets", "ok", "/var/lib/kubelet/pods passes mounts on to containers.", NULL },
        { "targets/private", private_root, "targets", "problem",
          "/var/lib/kubelet/pods is on a mount that is not shared (/a\\x0a): containers don't see what is mounted there.",
          "mount --make-shared $'/a\\x0a'" },
        { "targets/read-only", read_only_root, "targets", "warning",
          "/var/lib/kubelet/pods is on a read-only mount (/): no directory for a volume can be made there.",
          "mount -o remount,rw /" },
        { "targets/hidden", hidden_root, "targets", "unknown", "/var/lib/kubelet/pods can't be looked at.",
          "run 'selvolctl doctor' as root" },
        { "targets/none", no_root, "targets", "problem",
          "None of the directories of TargetRoots= exists: nothing can be mounted.",
          "mkdir -p /var/lib/selvol-volumes" },
        { "kubelet/ok", nothing, "kubelet", "ok", "kubelet's pods are beneath TargetRoots=.", NULL },
        { "kubelet/none", no_kubelet, "kubelet", "ok", "There is no kubelet in its usual directory.", NULL },
        { "kubelet/elsewhere", kubelet_elsewhere, "kubelet", "problem",
          "TargetRoots= does not have /var/lib/kubelet/pods: volumes of pods are refused.",
          "repeat the current value of TargetRoots= (selvolctl config) and add /var/lib/kubelet/pods, under [Worker] in /etc/selvol/selvol.conf.d/50-local.conf, then: systemctl reload selvold" },
        { "kernel/ok", nothing, "kernel", "ok", "The kernel has all that selvol uses.", NULL },
        { "kernel/fsopen", no_fsopen, "kernel", "warning",
          "The kernel has no fsopen(2): each mount is made in a mount namespace of its own, which is slower.",
          "boot Linux 6.1 or newer" },
        { "kernel/setattr", no_setattr, "kernel", "problem",
          "The kernel has no mount_setattr(2), and so no idmapped mounts: a change of group rewrites all files.",
          "boot Linux 6.1 or newer" },
        { "kernel/user-namespaces", no_user_namespaces, "kernel", "warning",
          "User namespaces are off, and so are idmapped mounts: a change of group rewrites all files.",
          "sysctl user.max_user_namespaces=10000" },
        { "kernel/statmount", no_statmount, "kernel", "warning",
          "The kernel has no statmount(2): operations are slower where there are many mounts.",
          "boot Linux 6.8 or newer" },
        { "kernel/unique-ids", no_unique_ids, "kernel", "warning",
          "The kernel has neither unique mount ids nor statmount(2): a mount that was made anew by hand may be taken for the one before, and operations are slower where there are many mounts.",
          "boot Linux 6.8 or newer" },
        { "bus/ok", nothing, "bus", "ok", "selvold 1.2 answers.", NULL },
        { "bus/none", no_bus, "bus", "problem", "The system bus can't be reached: Connection refused",
          "systemctl status dbus" },
        { "bus/masked", masked, "bus", "problem", "selvold is masked: nobody can start it.",
          "systemctl unmask selvold" },
        { "bus/failed", failed, "bus", "problem", "selvold has failed.",
          "journalctl -u selvold -n 20, then: systemctl restart selvold" },
        { "bus/not-activatable", not_activatable, "bus", "problem",
          "The bus does not know org.selvol1, so it can't start selvold.",
          "install selvol, then: systemctl reload dbus" },
        { "bus/stopped", stopped, "bus", "ok", "selvold is not running; the first call starts it.", NULL },
        { "bus/denied", denied, "bus", "problem",
          "alice may not call selvold: only root and members of the group selvol, with polkit's consent, may.",
          "usermod -aG selvol alice, and log in again" },
        { "bus/silent", silent, "bus", "problem", "selvold does not answer: Too\\x0alate",
          "systemctl status selvold" },
        { "callers/ok", as_root, "callers", "ok", "SELinux has denied no call to selvold since boot.", NULL },
        { "callers/denied", deaf_caller, "callers", "warning",
          "SELinux keeps processes in unconfined_mount_t from calling selvold, or from its answers ('ausearch -m USER_AVC').",
          "if it is to call selvold: selvol_dbus_chat(unconfined_mount_t) in a policy module, see selvol-integration(7)" },
        { "polkit/ok", nothing, "polkit", "ok", "polkit knows selvol's actions.", NULL },
        { "polkit/none", no_polkit, "polkit", "warning",
          "polkit is not installed or not on the bus: only root can call selvold.",
          "install polkit (Debian: apt install polkitd)" },
        { "polkit/actions", no_actions, "polkit", "warning",
          "selvol's actions are not installed for polkit: only root can call selvold.", "install selvol again" },
        { "store/ok", nothing, "store", "ok", "The state can be written, and has 1024 MiB left.", NULL },
        { "store/gone", no_store, "store", "problem",
          "The state's directory /var/lib/selvol is gone: nothing can be recorded.", "systemctl restart selvold" },
        { "store/not-yet", no_store_yet, "store", "ok", "There is no state yet; selvold makes it when it starts.",
          NULL },
        { "store/read-only", store_read_only, "store", "problem",
          "The state's directory is on a read-only file system: nothing can be recorded.",
          "mount -o remount,rw $(findmnt -n -o TARGET -T /var/lib/selvol)" },
        { "store/narrow", store_narrow, "store", "warning",
          "The state's file system has 5 MiB left: without space nothing can be recorded.",
          "make room on the file system of /var/lib/selvol" },
        { "store/full", store_full, "store", "problem",
          "The state's file system has 0 MiB left: without space nothing can be recorded.",
          "make room on the file system of /var/lib/selvol" },
        { "store/foreign", store_foreign, "store", "problem",
          "The state in /var/lib/selvol does not belong to the user selvol: selvold can't write it.",
          "chown -R selvol:selvol /var/lib/selvol" },
        { "store/hidden", store_hidden, "store", "unknown", "The state has space; who owns the file can't be seen.",
          "run 'selvolctl doctor' as root" },
        { "worker/ok", nothing, "worker", "ok", "The worker's socket is there.", NULL },
        { "worker/none", no_socket, "worker", "problem",
          "The worker's socket /run/selvol/worker is not there: nothing can be mounted or unmounted.",
          "systemctl restart selvol-worker.socket" },
        { "worker/dead", dead_socket, "worker", "problem",
          "Nobody listens at the worker's socket: selvol-worker.socket is failed.",
          "systemctl restart selvol-worker.socket" },
        { "clock/ok", nothing, "clock", "ok", "The clock is synchronized.", NULL },
        { "clock/loose", clock_loose, "clock", "warning",
          "The clock is not synchronized: times in the history can't be compared with those of other nodes.",
          "timedatectl set-ntp true" },
        { "clock/back", clock_back, "clock", "problem",
          "The clock is before the last time in the records, 2026-01-01 00:00:01 UTC: history and ages are wrong.",
          "timedatectl set-ntp true, or timedatectl set-time TIME" },
        { "metrics/off", nothing, "metrics", "ok", "No text file of metrics is configured.", NULL },
        { "metrics/fresh", metrics_fresh, "metrics", "ok", "/m/a is up to date.", NULL },
        { "metrics/old", metrics_old, "metrics", "problem",
          "/m/a has not been written for a minute: selvold can't write there.",
          "journalctl -u selvold -g metrics, see selvol-metrics(7)" },
        { "metrics/nowhere", metrics_nowhere, "metrics", "problem",
          "The directory of /m/a does not exist: no metrics are written.",
          "make the directory, or correct MetricsTextfile=, then: systemctl reload selvold" },
        { "metrics/stopped", metrics_stopped, "metrics", "ok", "/m/a is written while selvold runs.", NULL },
        { "metrics/hidden", metrics_hidden, "metrics", "unknown", "/m/a can't be looked at.",
          "run 'selvolctl doctor' as root" },
};

/* What is said of one check: the last, as what is wrong in all comes after its parts. */
static const json_t *find(const json_t *findings, const char *check) {
        const json_t *finding, *found = NULL;
        size_t i;

        json_array_foreach (findings, i, finding)
                if (streq(answer_string(finding, "Check"), check))
                        found = finding;
        g_assert_nonnull(found);
        return found;
}

static void test_case(gconstpointer data) {
        size_t i = GPOINTER_TO_SIZE(data);
        _cleanup_json_ json_t *findings = json_array();
        const json_t *finding;
        NodeFacts n = well;

        root = well_root;
        cases[i].lie(&n);
        g_assert_cmpint(facts_judge(&n, findings), ==, 0);
        finding = find(findings, cases[i].check);
        g_assert_cmpstr(answer_string(finding, "Text"), ==, cases[i].text);
        g_assert_cmpstr(answer_string(finding, "State"), ==, cases[i].state);
        g_assert_cmpstr(json_string_value(json_object_get(finding, "Remedy")), ==, cases[i].remedy);
}

/* Whoever can be told of something wrong is told what to type. */
static void test_remedies(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(streq(cases[i].state, "ok") == !cases[i].remedy);
}

static void test_denials(void) {
        static const struct {
                const char *record, *domain; /* NULL: none of ours */
        } records[] = {
                { "USER_AVC pid=345 uid=103 subj=system_u:system_r:system_dbusd_t:s0 msg='avc:  denied  { send_msg } for  "
                  "msgtype=method_return dest=:1.20 spid=511 tpid=734 scontext=system_u:system_r:selvold_t:s0 "
                  "tcontext=unconfined_u:unconfined_r:unconfined_mount_t:s0-s0:c0.c1023 tclass=dbus permissive=0'",
                  "unconfined_mount_t" },
                { "denied  { send_msg } for  scontext=system_u:system_r:spc_t:s0 tcontext=system_u:system_r:selvold_t:s0 "
                  "tclass=dbus",
                  "spc_t" },
                { "denied  { send_msg } for  scontext=u:r:selvold_t tcontext=u:r:x_t tclass=dbus", "x_t" },
                { "denied  { send_msg } for  scontext=u:r:selvold_t tcontext=u:r:x_t tclass=dbus permissive=1",
                  NULL },
                { "granted  { send_msg } for  scontext=u:r:selvold_t tcontext=u:r:x_t tclass=dbus", NULL },
                { "denied  { send_msg } for  scontext=u:r:a_t tcontext=u:r:b_t tclass=dbus", NULL },
                { "denied  { acquire_svc } for  scontext=u:r:selvold_t tcontext=u:r:x_t tclass=dbus", NULL },
                { "denied  { send_msg } for  scontext=u:r:selvold_t tcontext=u:r tclass=dbus", NULL },
                { "denied  { send_msg } for  scontext=u:r:selvold_t tclass=dbus", NULL },
                { "", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
                g_autofree char *domain = NULL;

                g_assert_cmpint(denial_parse(records[i].record, &domain), ==, records[i].domain != NULL);
                g_assert_cmpstr(domain, ==, records[i].domain);
        }
}

int main(int argc, char *argv[]) {
        g_setenv("TZ", "UTC", TRUE);
        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/doctor/%s", cases[i].name);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_case);
        }
        g_test_add_func("/doctor/remedies", test_remedies);
        g_test_add_func("/doctor/denials", test_denials);
        return g_test_run();
}
