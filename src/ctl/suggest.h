/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* "Did you mean ...?" for a misspelled word. */

typedef struct Suggestion {
        const char *word; /* the best so far; NULL: none is similar */
        unsigned int distance;
} Suggestion;

/* Takes the candidate if it is similar to typed, and more so than the present word. */
void suggest_consider(Suggestion *s, const char *typed, const char *candidate);
