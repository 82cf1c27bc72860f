/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* "Did you mean ...?" for a misspelled word. */

typedef struct Suggestion {
        const char *word; /* the best so far; NULL: none is near */
        unsigned int distance;
} Suggestion;

/* Takes the candidate if it is near to what was typed, and nearer than the one before. */
void suggest_consider(Suggestion *s, const char *typed, const char *candidate);
