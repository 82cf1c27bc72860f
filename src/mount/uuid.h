/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { UUID_SIZE = 16, UUID_TEXT_SIZE = 37 };

/* Formats one as everybody writes it; returns text. */
static inline const char *uuid_format(const uint8_t uuid[static UUID_SIZE], char text[static UUID_TEXT_SIZE]) {
        char *p = text;

        for (size_t i = 0; i < UUID_SIZE; i++)
                p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
        return text;
}
