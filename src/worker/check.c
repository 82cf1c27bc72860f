/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/context.h"
#include "label/selinux.h"
#include "worker/check.h"

int check_context(const Settings *settings, const char *context, char **ret, Failure *f) {
        _cleanup_free_ char *canonical = NULL, *type = NULL;
        int r;

        r = context_canonicalize(context, &canonical, f);
        if (r != 0)
                return r;
        type = context_part(canonical, CONTEXT_TYPE);
        if (!type)
                return -ENOMEM;
        if (!strv_contains(settings->label_types, type))
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "Type %s is not one that volumes may be labelled with; an administrator can add it to LabelTypes= of [Worker].",
                        type);
        return selinux_check_context(canonical, ret, f);
}

int check_invent_target(Request *q, const Settings *settings) {
        if (strv_length(settings->target_roots) == 0)
                return 0;
        free(q->target);
        q->target = strdup_printf("%s/staged", settings->target_roots[0]);
        return q->target ? 0 : -ENOMEM;
}
