/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>

#include "basic/log.h"
#include "wire/protocol.h"
#include "mount/idmap.h"
#include "worker/staged.h"
#include "worker/verbs.h"
#include "worker/walk.h"

/* A swap corrects nothing, unlike a walk, so the record alone is not enough: files that others have given to other
 * groups since would stay unreachable. The first ones that a walk meets are compared, in a time that does not grow
 * with the volume. */
enum { MAP_ENTRIES_COMPARED = 1024 };

typedef struct Mapped {
        const char *result;
        char *text;
} Mapped;

static void mapped_done(Mapped *m) {
        free(m->text);
}

static int set_result(Mapped *m, const char *result, char *text) {
        m->result = result;
        m->text = text;
        return text ? 0 : -ENOMEM;
}

static int check_call(const Child *child, gid_t from, gid_t to, Failure *f) {
        int r;

        r = staged_check(child, true, f);
        if (r != 0)
                return r;
        if (from == to || from == GID_NONE || to == GID_NONE)
                return failure_set(f, FAILURE_INVALID_OPTION, "The call names no two groups.");
        if (child->staged->mounted.outcome.idmapped)
                return failure_set(f, FAILURE_NOT_SUPPORTED, "What is staged is idmapped already.");
        return 0;
}

static char *describe_difference(const TreeResult *t) {
        const TreeIssue *issue = &t->issues[0];
        _cleanup_free_ char *path = string_escape(t->n_issues > 0 ? strempty(issue->path) : "", 200);

        if (!path)
                return NULL;
        if (t->n_issues > 0 && issue->text)
                return strdup_printf("%s %s", path, issue->text);
        return strdup_printf("%s could not be checked: %s", path,
                             t->n_issues > 0 ? files_error_text(issue->error) : "unknown error");
}

static int look(Child *child, int root, gid_t from, bool any_mode, Mapped *m, Failure *f) {
        _cleanup_(tree_result_done) TreeResult result = { 0 };
        const Ownership recorded = { .gid = from, .any_mode = any_mode };
        FilesSpec spec = {
                .mode = FILES_VERIFY,
                .tree.fd = root,
                .ownership = &recorded,
                .tree.max_entries = MAP_ENTRIES_COMPARED,
        };
        int r;

        r = walk_files(child, &spec, 0, &result, f);
        if (r != 0)
                return r;
        if (result.counts.differ[DIFFERS_OWNER] > 0 || result.counts.failed > 0)
                return set_result(m, "differs", describe_difference(&result));
        return 0;
}

static int swap_groups(Staged *s, gid_t from, gid_t to, Mapped *m) {
        int r;

        r = idmap_swap_groups(s->tree, from, to);
        if (r < 0 && idmap_is_unsupported(r))
                return set_result(m, "unsupported",
                                  strdup_printf("the kernel says %s of a mount of %s", strerrorname_np(-r),
                                                s->mounted.outcome.fact.fs_type));
        if (r < 0)
                return r;
        s->mounted.outcome.idmapped = true;
        log_info("Idmapped what is staged: group %" PRIu32 " on disk is shown as %" PRIu32 ".", from, to);
        return set_result(m, "mapped", strdup(""));
}

static int map(Child *child, gid_t from, gid_t to, bool any_mode, Mapped *m, Failure *f) {
        _cleanup_close_ int root = -EBADF;
        int r;

        r = check_call(child, from, to, f);
        if (r != 0)
                return r;
        root = openat(child->staged->tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        r = look(child, root, from, any_mode, m, f);
        return r != 0 || m->result ? r : swap_groups(child->staged, from, to, m);
}

int verb_map(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(mapped_done) Mapped mapped = { 0 };
        gid_t from, to;
        int any_mode, r;

        r = sd_bus_message_read(m, WORKER_MAP_IN, &from, &to, &any_mode);
        if (r < 0)
                return r;
        r = map(child, from, to, any_mode, &mapped, &f);
        if (r == 0)
                r = sd_bus_reply_method_return(m, WORKER_MAP_OUT, mapped.result, mapped.text);
        return child_finish(WORKER_MAP, NULL, r > 0 && f.kind == FAILURE_NONE ? 0 : r, &f, error);
}
