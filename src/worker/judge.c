/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "basic/log.h"
#include "mount/superblock.h"
#include "plan/files.h"
#include "worker/judge.h"

static void judge(const MarkEvidence *e, OperationResult *result) {
        static const char *const words[] = { "not believed", "trusted", "believed" };
        MarkProof *proof = &result->outcome.proof;

        proof->belief = files_judge_mark(e);
        proof->fingerprint = fingerprint_is_kept_in_mark(&e->now) ? e->now : (Fingerprint){ 0 };
        log_debug("The mark is %s: it has '%s', kept is '%s', before '%s', now '%s'%s%s%s.", words[proof->belief],
                  result->mark.fingerprint.text, e->witness.kept.text, e->before.text, e->now.text,
                  e->witness.alive ? ", alive" : "", e->witness.beside ? ", others beside" : "",
                  e->fresh ? ", fresh" : "");
}

void judge_staged(const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                  const Fingerprint *before, OperationResult *result) {
        const Observed *o = &question->observed;
        const MarkEvidence e = {
                .mark = &result->mark,
                .root_inode = result->outcome.root_inode,
                .before = *before,
                .now = fingerprint_is_kept_in_mark(before) ? source_read_fingerprint(source) : *before,
                .fresh = isempty(answer->share_target) && o->n_mounts == 0 && !o->mounts_unknown && !o->hidden,
                .hidden = o->hidden,
                .writable = !result->outcome.superblock_read_only,
                .witness = answer->witness,
        };

        judge(&e, result);
}

void judge_mounted(int root, const PlanAnswer *answer, bool adopted, OperationResult *result) {
        MarkEvidence e = {
                .mark = &result->mark,
                .root_inode = result->outcome.root_inode,
                .adopted = adopted,
                .writable = !result->outcome.superblock_read_only,
                .witness = answer->witness,
        };

        /* It is compared with what was kept, and what others have changed may not be on disk yet. */
        if (adopted && !e.witness.alive && fingerprint_is_known(&e.witness.kept))
                (void) syncfs(root);
        e.now = superblock_read_fingerprint(root, &result->outcome.fact);
        judge(&e, result);
}

static bool is_kept(const OperationResult *result) {
        const MarkProof *proof = &result->outcome.proof;

        return result->mark.found == MARK_PRESENT && proof->belief != MARK_ELSEWHERE &&
               !fingerprint_is_kept_in_mark(&proof->fingerprint);
}

void judge_keep_mounted(OperationResult *result) {
        if (is_kept(result))
                (void) fingerprint_from_string(FINGERPRINT_MOUNTED, &result->fingerprint);
}

void judge_keep(const Source *source, OperationResult *result) {
        if (is_kept(result))
                result->fingerprint = source_take_fingerprint(source);
}
