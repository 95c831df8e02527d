/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "tune/worker/target.h"

/* Told of each compilation while a target opens: the configuration, and NULL when it is over. */
struct target_opening {
    void (*compiling)(void *context, const char *config);
    void *context;
};

/* Makes a target of {"settings", "source", "folder", "data", "expected", "ready"}: names of files that the
 * parent holds ready; whether "expected" holds the right outputs already. */
hone_status own_target_open(struct target **out, hone_device *device, const json_t *request,
                            const struct target_opening *opening, hone_error *error);

/* Names and limits for expressions, and the outputs. */
json_t *own_target_describe(const struct target *target);
