/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "client/values.h"

#define _cleanup_json_ _cleanup_(json_decrefp)

/* A volume as kubelet passes it: kubelet's own keys, which begin with "kubernetes.io/", and the options in
 * the pod or PersistentVolume. */
typedef struct FlexOptions {
        json_t *json; /* owns the strings */
        const char *volume, *source;
        char *holder;
        OptionValue values[REQUEST_OPTIONS];
} FlexOptions;

/* Returns 0, -ENOMEM, or 1 with the reason if the text is invalid. */
int volume_options_parse(const char *text, FlexOptions *ret, char **ret_why) _warn_unused_;
void volume_options_done(FlexOptions *o);
