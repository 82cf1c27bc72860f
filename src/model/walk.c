/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "model/walk.h"

void walk_result_done(WalkResult *r) {
        for (size_t i = 0; i < r->n_issues; i++) {
                free(r->issues[i].path);
                free(r->issues[i].text);
        }
        free(r->issues);
        strv_free(r->submounts);
        *r = (WalkResult){ 0 };
}
