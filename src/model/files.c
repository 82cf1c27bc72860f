/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stdio.h>

#include "model/files.h"

static const char *const relabel_action_table[RELABEL_ACTIONS] = {
        [RELABEL_NONE] = "none",
        [RELABEL_SKIP] = "skip",
        [RELABEL_WALK] = "walk",
};
DEFINE_STRING_TABLE(relabel_action, RelabelAction);

static const char *const relabel_reason_table[RELABEL_REASONS] = {
        [RELABEL_REASON_COMPLETE] = "complete",
        [RELABEL_REASON_FORCED] = "forced",
        [RELABEL_REASON_UNKNOWN] = "unknown",
        [RELABEL_REASON_PARTIAL] = "partial",
        [RELABEL_REASON_TAINTED] = "tainted",
        [RELABEL_REASON_OTHER_CONTEXT] = "other-context",
        [RELABEL_REASON_ROOT_DIFFERS] = "root-differs",
        [RELABEL_REASON_TRUSTED] = "trusted-mark",
        [RELABEL_REASON_ELSEWHERE] = "mounted-elsewhere",
};
DEFINE_STRING_TABLE(relabel_reason, RelabelReason);

static const char *const relabel_text[RELABEL_REASONS] = {
        [RELABEL_REASON_COMPLETE] =
                "All files have the context already: the mark on the volume says so, and the root's label agrees.",
        [RELABEL_REASON_TRUSTED] =
                "All files have the context already: the mark on the volume says so, and the root's label agrees. Others may have mounted the volume for writing since, but TrustedMark=yes is configured.",
        [RELABEL_REASON_FORCED] = "All files are checked, as requested.",
        [RELABEL_REASON_UNKNOWN] = "The labels are unknown: all files are checked.",
        [RELABEL_REASON_PARTIAL] = "An earlier relabel was not completed: all files are checked.",
        [RELABEL_REASON_TAINTED] = "Files may have no label on disk: all files are checked.",
        [RELABEL_REASON_ELSEWHERE] =
                "Somebody else may have had the volume mounted for writing since the mark on it was written: all files are checked.",
        [RELABEL_REASON_OTHER_CONTEXT] = "The files have another context.",
        [RELABEL_REASON_ROOT_DIFFERS] = "The root has another label than the mark says: all files are checked.",
};

const char *relabel_reason_text(RelabelReason reason) {
        assert(reason < RELABEL_REASONS);
        return relabel_text[reason];
}

static const char *const ownership_action_table[OWNERSHIP_ACTIONS] = {
        [OWNERSHIP_NONE] = "none", [OWNERSHIP_OPTION] = "option", [OWNERSHIP_SKIP] = "skip",
        [OWNERSHIP_MAP] = "map",   [OWNERSHIP_WALK] = "walk",
};
DEFINE_STRING_TABLE(ownership_action, OwnershipAction);

static const char *const ownership_reason_table[OWNERSHIP_REASONS] = {
        [OWNERSHIP_NOT_ASKED] = "",
        [OWNERSHIP_TYPE_NOT_MANAGED] = "type-not-managed",
        [OWNERSHIP_POLICY_NONE] = "policy-none",
        [OWNERSHIP_READ_ONLY] = "read-only",
        [OWNERSHIP_NO_FS_TYPE] = "no-fs-type",
        [OWNERSHIP_ACCESS_MODE] = "access-mode",
        [OWNERSHIP_POLICY_MOUNT] = "policy-mount",
        [OWNERSHIP_COMPLETE] = "complete",
        [OWNERSHIP_TRUSTED] = "trusted-mark",
        [OWNERSHIP_ELSEWHERE] = "mounted-elsewhere",
        [OWNERSHIP_ROOT_ONLY] = "root-only",
        [OWNERSHIP_OTHER_GROUP] = "other-group",
        [OWNERSHIP_FORCED] = "forced",
        [OWNERSHIP_GATE_DISABLED] = "gate-disabled",
        [OWNERSHIP_POLICY_ALWAYS] = "policy-always",
        [OWNERSHIP_PARTIAL] = "partial",
        [OWNERSHIP_UNKNOWN] = "unknown",
        [OWNERSHIP_ROOT_DIFFERS] = "root-differs",
        [OWNERSHIP_FILES_DIFFER] = "files-differ",
        [OWNERSHIP_REQUESTED] = "requested",
        [OWNERSHIP_USER_NAMESPACE] = "user-namespace",
        [OWNERSHIP_MOUNTED] = "mounted",
        [OWNERSHIP_NO_IDMAP] = "no-idmap",
};
DEFINE_STRING_TABLE(ownership_reason, OwnershipReason);

static const char *const ownership_text[OWNERSHIP_REASONS] = {
        [OWNERSHIP_NOT_ASKED] = "",
        [OWNERSHIP_TYPE_NOT_MANAGED] = "Groups of this volume type are never changed.",
        [OWNERSHIP_POLICY_NONE] = "The policy for groups is None (FSGroupPolicy=): the group is left to the driver.",
        [OWNERSHIP_READ_ONLY] = "The volume is read-only: its group is not changed.",
        [OWNERSHIP_NO_FS_TYPE] =
                "\"FSGroupPolicy\" is ReadWriteOnceWithFSType, and the volume is not known to have a file system of its own: the group is not changed. To change it, pass \"FSGroupPolicy\"=File.",
        [OWNERSHIP_ACCESS_MODE] =
                "\"FSGroupPolicy\" is ReadWriteOnceWithFSType, and the volume is not ReadWriteOnce: the group is not changed.",
        [OWNERSHIP_POLICY_MOUNT] = "\"FSGroupPolicy\" is Mount: the file system is mounted for the group.",
        [OWNERSHIP_COMPLETE] =
                "All files have the group already: the mark on the volume says so, and the root agrees.",
        [OWNERSHIP_TRUSTED] =
                "All files have the group already: the mark on the volume says so, and the root agrees. Others may have mounted the volume for writing since, but TrustedMark=yes is configured.",
        [OWNERSHIP_ELSEWHERE] =
                "Somebody else may have had the volume mounted for writing since the mark on it was written: all files are checked.",
        [OWNERSHIP_ROOT_ONLY] =
                "The root has the group. The file system can't carry a mark, so the other files are not known to have it.",
        [OWNERSHIP_OTHER_GROUP] = "All files have another group, and the mount shows the wanted one in its place.",
        [OWNERSHIP_FORCED] = "All files are checked, as requested.",
        [OWNERSHIP_GATE_DISABLED] = "SkipFSGroupChange=no is configured: all files are checked.",
        [OWNERSHIP_POLICY_ALWAYS] = "\"FSGroupChangePolicy\" is Always: all files are checked.",
        [OWNERSHIP_PARTIAL] = "An earlier change of the group was not completed: all files are checked.",
        [OWNERSHIP_UNKNOWN] = "The group of the files is unknown: all files are checked.",
        [OWNERSHIP_ROOT_DIFFERS] = "The root has another group or mode than the mark says: all files are checked.",
        [OWNERSHIP_FILES_DIFFER] = "Files have another group than the mark says: all files are checked.",
        [OWNERSHIP_REQUESTED] = "All files are given to the group, as requested.",
        [OWNERSHIP_USER_NAMESPACE] =
                "The files have another group, and the runtime will idmap the mount for a user namespace, which is possible only once: all files are given to the group.",
        [OWNERSHIP_MOUNTED] =
                "The files have another group, and a mount that is visible already can't be idmapped: all files are given to the group.",
        [OWNERSHIP_NO_IDMAP] =
                "The files have another group, and the mount can't be idmapped: all files are given to the group.",
};

const char *ownership_reason_text(OwnershipReason reason) {
        assert(reason < OWNERSHIP_REASONS);
        return ownership_text[reason];
}

void reliances_free(Reliance *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(list[i].root);
                free(list[i].use);
                free(list[i].end);
                free(list[i].volume);
        }
        free(list);
}

enum { MODE_READ_WRITE = 0660, MODE_READ_ONLY = 0440, MODE_SEARCH = 0110 };

mode_t ownership_mode(const Ownership *o, mode_t mode) {
        if (S_ISLNK(mode))
                return mode;
        mode |= o->readers ? MODE_READ_ONLY : MODE_READ_WRITE;
        return S_ISDIR(mode) ? mode | S_ISGID | MODE_SEARCH : mode;
}

bool ownership_holds(const Ownership *o, gid_t gid, mode_t mode) {
        return gid == o->gid && ownership_mode(o, mode) == mode;
}

/* --- the result of a walk over all files --- */

void walk_result_done(WalkResult *r) {
        for (size_t i = 0; i < r->n_issues; i++) {
                free(r->issues[i].path);
                free(r->issues[i].text);
        }
        free(r->issues);
        strv_free(r->submounts);
        *r = (WalkResult){ 0 };
}

static bool is_of_earlier_cause(const WalkResult *w, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (streq(w->issues[k].text, w->issues[i].text))
                        return true;
        return false;
}

/* Prints "a, b: why": the names of all issues with the same cause as the first one. Ends the names after max
 * bytes. Adds the number of names to *n_named; returns the number of bytes that it printed. */
static size_t print_alike(FILE *out, const WalkResult *w, size_t first, size_t max, size_t *n_named) {
        enum { NAME_MAX_BYTES = 200, CAUSE_MAX_BYTES = 500 };
        const char *separator = *n_named > 0 ? "; " : "", *cause = w->issues[first].text;
        int n = 0;

        for (size_t i = first; i < w->n_issues && (size_t) n < max; i++) {
                const char *path = w->issues[i].path;
                int length = (int) utf8_length_within(path, NAME_MAX_BYTES);

                if (!streq(w->issues[i].text, cause))
                        continue;
                n += fprintf(out, "%s%.*s%s", separator, length, path, path[length] ? "..." : "");
                separator = ", ";
                ++*n_named;
        }
        n += fprintf(out, ": %.*s", (int) utf8_length_within(cause, CAUSE_MAX_BYTES), cause);
        return (size_t) n;
}

char *walk_describe_failures(const WalkResult *w) {
        enum { PLEASANT = 2048 };
        size_t n = 0, n_named = 0, size = 0;
        char *text = NULL;
        FILE *out;

        out = open_memstream(&text, &size);
        if (!out)
                return NULL;
        for (size_t i = 0; i < w->n_issues && n < PLEASANT; i++)
                if (!is_of_earlier_cause(w, i))
                        n += print_alike(out, w, i, PLEASANT - n, &n_named);
        if (n_named == 0)
                fputs("none of them is named", out);
        else if (w->counts.failed > n_named)
                fprintf(out, "; and %llu more", (unsigned long long) w->counts.failed - (unsigned long long) n_named);
        if (fclose(out) == 0)
                return text;
        free(text);
        return NULL;
}
