/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/metrics.h"

/* Prints all series with their first values. Tests compare documents, rules and the dashboard with these. */
int main(void) {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();
        _cleanup_free_ char *text = m ? metrics_render(m) : NULL;

        return text && fputs(text, stdout) >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
