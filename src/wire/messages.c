/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/messages.h"

static const char *const plan_verdict_table[PLAN_VERDICTS] = {
        [PLAN_GO] = "go",
        [PLAN_LOOK] = "look",
        [PLAN_WAIT] = "wait",
        [PLAN_STOP] = "stop",
};
DEFINE_STRING_TABLE(plan_verdict, PlanVerdict);

void mount_identity_done(MountIdentity *i) {
        free(i->device);
        *i = (MountIdentity){ 0 };
}

void mount_call_done(MountCall *c) {
        free(c->volume);
        free(c->source);
        free(c->fs_type);
        free(c->target);
        mount_identity_done(&c->expected);
        *c = (MountCall){ 0 };
}

void adopt_call_done(AdoptCall *c) {
        free(c->volume);
        free(c->target);
        *c = (AdoptCall){ 0 };
}

void change_call_done(ChangeCall *c) {
        free(c->volume);
        free(c->target);
        free(c->source);
        free(c->fs_type);
        *c = (ChangeCall){ 0 };
}

void verify_call_done(VerifyCall *c) {
        free(c->path);
        free(c->expected);
        free(c->mount_target);
        free(c->mount_device);
        *c = (VerifyCall){ 0 };
}

void verify_result_done(VerifyResult *r) {
        free(r->actual);
        walk_result_done(&r->walk);
        free(r->not_reset);
        *r = (VerifyResult){ 0 };
}

void unmount_call_done(UnmountCall *c) {
        free(c->target);
        mount_identity_done(&c->identity);
        free(c->source);
        free(c->fs_type);
        *c = (UnmountCall){ 0 };
}

void plan_question_done(PlanQuestion *q) {
        node_done(&q->node);
        observed_done(&q->observed);
        mount_outcome_done(&q->outcome);
        *q = (PlanQuestion){ 0 };
}

void plan_answer_done(PlanAnswer *a) {
        free(a->context);
        strv_free(a->mount_options);
        free(a->share_target);
        files_wanted_done(&a->files);
        reliances_free(a->reliances, a->n_reliances);
        *a = PLAN_ANSWER_INIT;
}

void ready_note_done(ReadyNote *n) {
        mount_identity_done(&n->identity);
}

void operation_result_done(OperationResult *r) {
        mount_outcome_done(&r->outcome);
        mark_done(&r->mark);
        free(r->detail);
        walk_result_done(&r->walk);
        *r = (OperationResult){ 0 };
}
