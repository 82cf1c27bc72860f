/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/observed.h"

void node_done(Node *n) {
        free(n->file_context);
        *n = (Node){ 0 };
}

void mount_fact_done(MountFact *m) {
        free(m->target);
        free(m->source);
        free(m->fs_type);
        free(m->device);
        free(m->root);
        free(m->context);
        free(m->covered_by);
        free(m->also_at);
        free(m->volume);
        *m = (MountFact){ 0 };
}

MountFact *mount_facts_free(MountFact *facts, size_t n) {
        for (size_t i = 0; i < n; i++)
                mount_fact_done(&facts[i]);
        free(facts);
        return NULL;
}

void observed_done(Observed *o) {
        free(o->fs_type);
        free(o->device);
        free(o->superblock);
        free(o->link);
        free(o->elsewhere);
        strv_free(o->replaced);
        mount_facts_free(o->mounts, o->n_mounts);
        *o = (Observed){ 0 };
}

void mount_outcome_done(MountOutcome *o) {
        mount_fact_done(&o->fact);
        free(o->root_context);
        *o = (MountOutcome){ 0 };
}
