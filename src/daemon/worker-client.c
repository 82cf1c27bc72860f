/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/socket.h>
#include <sys/un.h>

#include "model/context.h"
#include "wire/protocol.h"
#include "daemon/worker-client.h"

enum { LINE_MAX_BYTES = 16 * 1024 };

int worker_connect(const char *socket_path, sd_event *event, sd_bus **ret) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *worker = NULL;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (strlen(socket_path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, socket_path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;

        r = sd_bus_new(&worker);
        if (r < 0)
                return r;
        r = sd_bus_set_fd(worker, fd, fd);
        if (r < 0)
                return r;
        TAKE_FD(fd);
        r = sd_bus_start(worker);
        if (r >= 0 && event)
                r = sd_bus_attach_event(worker, event, 0);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(worker);
        return 0;
}

void worker_hang_up(sd_bus *worker) {
        (void) shutdown(sd_bus_get_fd(worker), SHUT_WR);
}

sd_bus *worker_disconnect(sd_bus *worker) {
        if (worker)
                (void) sd_bus_detach_event(worker);
        return sd_bus_close_unref(worker);
}

/* A context comes canonical or empty. */
static bool context_is_good(const char *context) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *canonical = NULL;

        return isempty(context) || (context_canonicalize(context, &canonical, &f) == 0 && streq(canonical, context));
}

int worker_read_node(sd_bus_message *m, Node *ret) {
        _cleanup_(node_done) Node n = { 0 };
        int selinux, enforcing, mls, r;
        const char *file_context;

        r = sd_bus_message_read(m, NODE_SIGNATURE, &selinux, &enforcing, &mls, &file_context);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        if (!context_is_good(file_context))
                return -EBADMSG;

        n = (Node){ .selinux = selinux, .enforcing = enforcing, .mls = mls };
        r = free_and_strdup(&n.file_context, isempty(file_context) ? NULL : file_context);
        if (r < 0)
                return r;
        *ret = n;
        n = (Node){ 0 };
        return 0;
}

/* Returns 1 if there was one, 0 at the end of an array. */
static int read_fact(sd_bus_message *m, MountFact *ret) {
        const char *target, *source, *fs_type, *device, *root, *context;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int seclabel, read_only, r;
        uint64_t id;

        r = sd_bus_message_read(m, MOUNT_FACT_SIGNATURE, &id, &target, &source, &fs_type, &device, &root, &context,
                                &seclabel, &read_only);
        if (r <= 0)
                return r;
        if (!context_is_good(context))
                return -EBADMSG;

        fact = (MountFact){
                .target = strdup(target),
                .source = strdup(source),
                .fs_type = strdup(fs_type),
                .device = strdup(device),
                .root = strdup(root),
                .context = strdup(context),
                .seclabel = seclabel,
                .read_only = read_only,
                .mount_id = id,
        };
        if (!fact.target || !fact.source || !fact.fs_type || !fact.device || !fact.root || !fact.context)
                return -ENOMEM;
        *ret = fact;
        fact = (MountFact){ 0 };
        return 1;
}

int worker_read_facts(sd_bus_message *m, MountFact **ret, size_t *ret_n) {
        _cleanup_(observed_done) Observed list = { 0 }; /* for its cleanup */
        MountFact fact;
        int r;

        r = sd_bus_message_enter_container(m, 'a', MOUNT_FACT_SIGNATURE);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        while ((r = read_fact(m, &fact)) > 0) {
                MountFact *grown = reallocarray(list.mounts, list.n_mounts + 1, sizeof(MountFact));

                if (!grown) {
                        mount_fact_done(&fact);
                        return -ENOMEM;
                }
                list.mounts = grown;
                list.mounts[list.n_mounts++] = fact;
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(list.mounts);
        *ret_n = list.n_mounts;
        list.n_mounts = 0;
        return 0;
}

int worker_read_outcome(sd_bus_message *m, MountOutcome *ret) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        const char *root_context;
        int read_only, r;

        r = sd_bus_message_enter_container(m, 'r', MOUNT_FACT_SIGNATURE OUTCOME_FIELDS);
        if (r > 0)
                r = read_fact(m, &o.fact);
        if (r > 0)
                r = sd_bus_message_read(m, OUTCOME_FIELDS, &root_context, &o.root_gid, &o.root_mode, &read_only,
                                        &o.inodes_used);
        if (r > 0)
                r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        if (r == 0 || !context_is_good(root_context))
                return -EBADMSG;

        o.superblock_read_only = read_only;
        o.root_context = strdup(root_context);
        if (!o.root_context)
                return -ENOMEM;
        *ret = o;
        o = (MountOutcome){ 0 };
        return 0;
}

int worker_read_observed(sd_bus_message *m, Node *ret_node, Observed *ret) {
        _cleanup_(observed_done) Observed o = { 0 };
        _cleanup_(node_done) Node node = { 0 };
        const char *fs_type, *device;
        int read_only, r;

        r = worker_read_node(m, &node);
        if (r >= 0)
                r = sd_bus_message_read(m, "sbs", &fs_type, &read_only, &device);
        if (r == 0)
                r = -EBADMSG;
        if (r >= 0)
                r = worker_read_facts(m, &o.mounts, &o.n_mounts);
        if (r >= 0)
                r = free_and_strdup(&o.fs_type, isempty(fs_type) ? NULL : fs_type);
        if (r >= 0)
                r = free_and_strdup(&o.device, isempty(device) ? NULL : device);
        if (r < 0)
                return r;

        o.device_read_only = read_only;
        *ret_node = node;
        node = (Node){ 0 };
        *ret = o;
        o = (Observed){ 0 };
        return 0;
}

int worker_read_volume_record(sd_bus_message *m, RecordFound *ret_found, char **ret_text) {
        const char *word, *text;
        char *copy;
        int found, r;

        r = sd_bus_message_read(m, VOLUME_RECORD_SIGNATURE, &word, &text);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        found = record_found_from_string(word);
        if (found < 0 || strlen(text) > VOLUME_RECORD_MAX || (found != RECORD_PRESENT && !isempty(text)))
                return -EBADMSG;

        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        *ret_found = (RecordFound) found;
        *ret_text = copy;
        return 0;
}

void walk_result_done(WalkResult *r) {
        for (size_t i = 0; i < r->n_issues; i++) {
                free(r->issues[i].path);
                free(r->issues[i].text);
        }
        free(r->issues);
        strv_free(r->mounts_inside);
        free(r->actual);
        *r = (WalkResult){ 0 };
}

static int read_counts(sd_bus_message *m, WalkCounts *ret) {
        WalkCounts c = { 0 };
        int r;

        r = sd_bus_message_read(m, TREE_COUNTS_SIGNATURE, &c.done, &c.changed, &c.mismatched, &c.misowned, &c.failed,
                                &c.skipped, &c.unsettled);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        *ret = c;
        return 0;
}

/* What goes on to users and logs: the worker has escaped it, or it isn't the worker. */
static bool line_is_good(const char *s) {
        return text_is_clean(s) && strlen(s) <= LINE_MAX_BYTES;
}

static int read_issues(sd_bus_message *m, WalkResult *result) {
        const char *path, *text;
        int r;

        result->issues = calloc(WORKER_ISSUES_MAX, sizeof(WalkIssue));
        if (!result->issues)
                return -ENOMEM;
        r = sd_bus_message_enter_container(m, 'a', "(ss)");
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        while ((r = sd_bus_message_read(m, "(ss)", &path, &text)) > 0) {
                WalkIssue *issue = &result->issues[result->n_issues];

                if (result->n_issues >= WORKER_ISSUES_MAX || !line_is_good(path) || !line_is_good(text))
                        return -EBADMSG;
                result->n_issues++;
                *issue = (WalkIssue){ .path = strdup(path), .text = strdup(text) };
                if (!issue->path || !issue->text)
                        return -ENOMEM;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 0;
}

static int read_mounts_inside(sd_bus_message *m, char ***ret) {
        _cleanup_strv_ char **paths = NULL;
        int r;

        r = sd_bus_message_read_strv(m, &paths);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        if (strv_length(paths) > WORKER_MOUNTS_INSIDE_MAX)
                return -EBADMSG;
        STRV_FOREACH (path, paths)
                if (!line_is_good(*path))
                        return -EBADMSG;
        *ret = TAKE_PTR(paths);
        return 0;
}

int worker_read_changed(sd_bus_message *m, WalkResult *ret, RecordFound *ret_found, char **ret_text) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        r = read_counts(m, &result.counts);
        if (r >= 0)
                r = read_issues(m, &result);
        if (r >= 0)
                r = read_mounts_inside(m, &result.mounts_inside);
        if (r >= 0)
                r = worker_read_volume_record(m, ret_found, ret_text);
        if (r < 0)
                return r;

        *ret = result;
        result = (WalkResult){ 0 };
        return 0;
}

static const char *const map_result_table[MAP_RESULTS] = {
        [MAP_MAPPED] = "mapped",
        [MAP_DIFFERS] = "differs",
        [MAP_UNSUPPORTED] = "unsupported",
};
DEFINE_STRING_TABLE(map_result, MapResult);

int worker_read_mapped(sd_bus_message *m, MapResult *ret, char **ret_text) {
        const char *word, *text;
        char *copy;
        int result, r;

        r = sd_bus_message_read(m, WORKER_MAP_OUT, &word, &text);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        result = map_result_from_string(word);
        if (result < 0 || !line_is_good(text))
                return -EBADMSG;
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        *ret = (MapResult) result;
        *ret_text = copy;
        return 0;
}

int worker_read_verified(sd_bus_message *m, WalkResult *ret) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        const char *actual;
        int matches, r;

        r = sd_bus_message_read(m, "bs", &matches, &actual);
        if (r == 0 || (r > 0 && !context_is_good(actual)))
                return -EBADMSG;
        if (r >= 0)
                r = read_counts(m, &result.counts);
        if (r >= 0)
                r = read_issues(m, &result);
        if (r < 0)
                return r;

        result.matches = matches;
        result.actual = strdup(actual);
        if (!result.actual)
                return -ENOMEM;
        *ret = result;
        result = (WalkResult){ 0 };
        return 0;
}

int worker_read_progress(sd_bus_message *m, WalkCounts *ret, uint64_t *ret_total) {
        WalkCounts counts;
        uint64_t total;
        int r;

        r = read_counts(m, &counts);
        if (r >= 0)
                r = sd_bus_message_read(m, "t", &total);
        if (r < 0)
                return r;
        *ret = counts;
        *ret_total = total;
        return 0;
}

static FailureKind kind_of_error(const sd_bus_error *e) {
        const char *name = e->name ? startswith(e->name, ERROR_PREFIX) : NULL;
        int kind = name ? failure_kind_from_string(name) : -EINVAL;

        return kind > 0 ? (FailureKind) kind : FAILURE_NONE;
}

bool worker_error_is_answer(const sd_bus_error *e) {
        FailureKind kind = kind_of_error(e);

        return kind != FAILURE_NONE && kind != FAILURE_WORKER_FAILED;
}

int worker_read_failure(const sd_bus_error *e, Failure *f) {
        FailureKind kind = kind_of_error(e);

        if (kind != FAILURE_NONE)
                return failure_set(f, kind, "%s", strempty(e->message));
        return failure_set(f, FAILURE_WORKER_FAILED,
                           "The worker gave no answer (%s): see journalctl -u selvol-worker.", strempty(e->message));
}
