/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "wire/protocol.h"
#include "label/files.h"
#include "worker/marshal.h"

/* Of an issue's path and text, escaped. */
enum { LINE_MAX_BYTES = 4096 };

_Static_assert((int) TREE_ISSUES_MAX <= (int) WORKER_ISSUES_MAX, "the engine names more than the wire carries");

static int append_string(sd_bus_message *m, const char *s) {
        _cleanup_free_ char *escaped = NULL;

        s = strempty(s);
        if (!utf8_is_valid(s)) {
                escaped = string_escape(s, PATH_MAX);
                if (!escaped)
                        return -ENOMEM;
                s = escaped;
        }
        return sd_bus_message_append_basic(m, 's', s);
}

int marshal_node(sd_bus_message *m, const Node *node) {
        int r;

        r = sd_bus_message_append(m, NODE_SIGNATURE, node->selinux, node->enforcing, node->mls,
                                  strempty(node->file_context));
        return r < 0 ? r : 0;
}

int marshal_fact(sd_bus_message *m, const MountFact *fact) {
        const char *const strings[] = { fact->target, fact->source, fact->fs_type,
                                        fact->device, fact->root,   fact->context };
        int r;

        r = sd_bus_message_open_container(m, 'r', MOUNT_FACT_FIELDS);
        if (r >= 0)
                r = sd_bus_message_append(m, "t", fact->mount_id);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(strings); i++)
                r = append_string(m, strings[i]);
        if (r >= 0)
                r = sd_bus_message_append(m, "bb", fact->seclabel, fact->read_only);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int marshal_facts(sd_bus_message *m, const MountFact *facts, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, 'a', MOUNT_FACT_SIGNATURE);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = marshal_fact(m, &facts[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

static int marshal_outcome(sd_bus_message *m, const MountOutcome *outcome) {
        int r;

        r = sd_bus_message_open_container(m, 'r', MOUNT_FACT_SIGNATURE OUTCOME_FIELDS);
        if (r >= 0)
                r = marshal_fact(m, &outcome->fact);
        if (r >= 0)
                r = append_string(m, outcome->root_context);
        if (r >= 0)
                r = sd_bus_message_append(m, "uubt", outcome->root_gid, outcome->root_mode,
                                          outcome->superblock_read_only, outcome->inodes_used);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int marshal_record(sd_bus_message *m, RecordFound found, const char *text) {
        int r;

        r = sd_bus_message_append(m, VOLUME_RECORD_SIGNATURE, record_found_to_string(found), strempty(text));
        return r < 0 ? r : 0;
}

int marshal_mounted(sd_bus_message *m, const Mounted *mounted) {
        int r;

        r = marshal_outcome(m, &mounted->outcome);
        return r < 0 ? r : marshal_record(m, mounted->found, mounted->record);
}

int marshal_counts(sd_bus_message *m, const TreeCounts *c) {
        int r;

        r = sd_bus_message_append(m, TREE_COUNTS_SIGNATURE, c->done, c->changed, c->differ[DIFFERS_LABEL],
                                  c->differ[DIFFERS_OWNER], c->failed, c->skipped, c->modified);
        return r < 0 ? r : 0;
}

static int marshal_issue(sd_bus_message *m, const TreeIssue *issue) {
        _cleanup_free_ char *path = string_escape(issue->path, LINE_MAX_BYTES), *text = NULL;

        text = issue->error != 0 ? strdup(files_error_text(issue->error)) : strdup(strempty(issue->text));
        if (!path || !text)
                return -ENOMEM;
        return sd_bus_message_append(m, "(ss)", path, text);
}

int marshal_tree(sd_bus_message *m, const TreeResult *result) {
        int r;

        r = marshal_counts(m, &result->counts);
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'a', "(ss)");
        for (size_t i = 0; r >= 0 && i < result->n_issues; i++)
                r = marshal_issue(m, &result->issues[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int marshal_paths(sd_bus_message *m, char *const *paths) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "s");
        for (size_t i = 0; r >= 0 && paths && paths[i] && i < WORKER_MOUNTS_INSIDE_MAX; i++) {
                _cleanup_free_ char *path = string_escape(paths[i], LINE_MAX_BYTES);

                r = path ? sd_bus_message_append_basic(m, 's', path) : -ENOMEM;
        }
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int reply_mounted(sd_bus_message *m, const Mounted *mounted) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = marshal_mounted(answer, mounted);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

int unmarshal_effect(const char *word, RecordEffect *ret) {
        int r = record_effect_from_string(word);

        if (r < 0)
                return r;
        *ret = (RecordEffect) r;
        return 0;
}
