/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doctor judges a node without faults, and nodes with one fault each. */
#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"

#include "support.h"

#define NOW UINT64_C(1767225600000000) /* 2026-01-01 00:00:00 UTC */

static char *types[] = { (char *) "container_file_t", NULL };
static char *target_roots[] = { (char *) "/var/lib/kubelet/pods", NULL };
static RootFacts root;
static LabelFacts label;
static KeptFacts kept;

/* Nobody frees the members. */
static const NodeFacts well = {
        .user = (char *) "alice",
        .settings = { .label_types = types, .target_roots = target_roots },
        .selinux = true,
        .enforcing = true,
        .types = YES,
        .module = YES,
        .roots = &root,
        .n_roots = 1,
        .labels = &label,
        .n_labels = 1,
        .kubelet = true,
        .kernel = { true, true, true, true, true },
        .bus_name = YES,
        .running = true,
        .in_force = (char *) "0000000000000000",
        .in_worker = (char *) "0000000000000000",
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

static const LabelFacts well_label = {
        .path = "/srv/volumes",
        .label = (char *) "system_u:object_r:var_t:s0",
        .allowed = YES,
};

static void set_truth(void *member, const char *value) {
        *(Truth *) member = streq(value, "unknown") ? UNKNOWN : is_yes(value) ? YES : NO;
}

static void set_image(void *member, const char *value) {
        *(DeniedObject *) member = is_yes(value) ? DENIED_IMAGE : DENIED_TARGET;
}

static void set_fact(void *member, const char *value) {
        *(const char **) member = isempty(value) ? NULL : g_intern_string(value);
}

static void set_facts(void *member, const char *value) {
        static char *list[2];

        set_fact(&list[0], value);
        *(char ***) member = list;
}

static void set_kept(void *member, const char *value) {
        NodeFacts *n = member;

        kept = (KeptFacts){ (char *) "pvc-1", (char *) g_intern_string(value) };
        n->kept = &kept;
        n->n_kept = 1;
        n->kept_known = YES;
}

static void lie(NodeFacts *n, const char *word) {
        const Key keys[] = {
                { "bus_error", set_fact, &n->bus_error },
                { "bus_name", set_truth, &n->bus_name },
                { "call_error", set_fact, &n->call_error },
                { "call_error_name", set_fact, &n->call_error_name },
                { "clock_synchronized", set_flag, &n->clock_synchronized },
                { "denied_domain", set_fact, &n->denied_domain },
                { "enforcing", set_flag, &n->enforcing },
                { "fsopen", set_flag, &n->kernel[KERNEL_FSOPEN] },
                { "in_force", set_fact, &n->in_force },
                { "in_worker", set_fact, &n->in_worker },
                { "kept", set_kept, n },
                { "kept_known", set_truth, &n->kept_known },
                { "kubelet", set_flag, &n->kubelet },
                { "kubelet_leads_to", set_fact, &n->kubelet_leads_to },
                { "label.allowed", set_truth, &label.allowed },
                { "label.image", set_image, &label.object },
                { "label.path", set_fact, &label.path },
                { "metrics_directory", set_truth, &n->metrics_directory },
                { "metrics_textfile", set_fact, &n->settings.metrics_textfile },
                { "metrics_usec", set_number, &n->metrics_usec },
                { "mistake", set_fact, &n->mistake },
                { "module", set_truth, &n->module },
                { "mount_setattr", set_flag, &n->kernel[KERNEL_MOUNT_SETATTR] },
                { "newest_usec", set_number, &n->newest_usec },
                { "polkit", set_truth, &n->polkit },
                { "polkit_actions", set_truth, &n->polkit_actions },
                { "root", set_flag, &n->root },
                { "root.exists", set_truth, &root.exists },
                { "root.mount_point", set_fact, &root.mount_point },
                { "root.read_only", set_flag, &root.read_only },
                { "root.shared", set_flag, &root.shared },
                { "running", set_flag, &n->running },
                { "selinux", set_flag, &n->selinux },
                { "service_file_state", set_fact, &n->service_file_state },
                { "service_state", set_fact, &n->service_state },
                { "socket_state", set_fact, &n->socket_state },
                { "statmount", set_flag, &n->kernel[KERNEL_STATMOUNT] },
                { "store_directory", set_flag, &n->store_directory },
                { "store_free", set_number, &n->store_free },
                { "store_owned", set_truth, &n->store_owned },
                { "store_read_only", set_flag, &n->store_read_only },
                { "target_roots", set_facts, &n->settings.target_roots },
                { "types", set_truth, &n->types },
                { "unique_mount_ids", set_flag, &n->kernel[KERNEL_UNIQUE_MOUNT_IDS] },
                { "user_namespaces", set_flag, &n->kernel[KERNEL_USER_NAMESPACES] },
                { "version", set_fact, &n->version },
                { "worker_socket", set_flag, &n->worker_socket },
        };

        if (!set_word(keys, G_N_ELEMENTS(keys), word))
                g_error("unknown word %s", word);
}

/* Returns the last finding of a check: the judgment of a whole comes after those of its parts. */
static const json_t *find(const json_t *findings, const char *check) {
        const json_t *finding, *found = NULL;
        size_t i;

        json_array_foreach (findings, i, finding)
                if (streq(answer_string(finding, "Check"), check))
                        found = finding;
        g_assert_nonnull(found);
        return found;
}

TEST_TABLE(test_row, "/doctor", "doctor.table", "id with =state =remedy =text") {
        const char *id = row_need(row, "id"), *state = row_need(row, "=state"), *remedy = row_get(row, "=remedy");
        g_auto(GStrv) words = g_strsplit(strempty(row_get(row, "with")), "; ", -1);
        g_autofree char *check = g_strndup(id, strcspn(id, "/"));
        _cleanup_json_ json_t *findings = json_array();
        const json_t *finding;
        NodeFacts n = well;

        root = well_root;
        label = well_label;
        for (char **word = words; *word; word++)
                lie(&n, *word);
        g_assert_cmpint(facts_judge(&n, findings), ==, 0);
        finding = find(findings, check);
        g_assert_cmpstr(answer_string(finding, "Text"), ==, row_need(row, "=text"));
        g_assert_cmpstr(answer_string(finding, "State"), ==, state);
        g_assert_cmpstr(json_string_value(json_object_get(finding, "Remedy")), ==, remedy);
        /* doctor tells a remedy for each fault. */
        g_assert_cmpint(streq(state, "ok"), ==, !remedy);
}

TEST(test_denials, "/doctor/denials") {
        static const struct {
                const char *record, *domain; /* NULL: the record is not about selvold */
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

void add_tests(void) {
        g_setenv("TZ", "UTC", TRUE);
}
