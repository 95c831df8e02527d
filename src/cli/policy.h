/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Limits on what files may take, set by the machine's administrator (/etc/hone/policy) and by the user
 * ($XDG_CONFIG_HOME/hone/policy, or ~/.config/hone/policy). Each line is `limit NAME VALUE`, which no option
 * exceeds, or `default NAME VALUE`, for where there is no option; '#' begins a comment. A limit in one file
 * binds the other, too.
 */
#pragma once

#include "hone/status.h"

#include <limits.h>
#include <stdbool.h>

/* Named like their options. */
enum policy_item { POLICY_MAX_PIXELS, POLICY_MEMORY, POLICY_DECODE_MEMORY, POLICY_TRUST, POLICY_ITEMS };

struct policy_rule {
    bool has_limit, has_usual;
    double limit, usual; /* pixels; bytes; MiB; 0 or 1 */
    char path[PATH_MAX]; /* of the file that limits */
};

struct policy {
    struct policy_rule rules[POLICY_ITEMS];
};

/* Both files; a missing one is fine. One that is not whole and right, or that others may write to, is
 * HONE_ERROR_IO: then nothing is to be done. */
hone_status policy_read(struct policy *policy, hone_error *error);
/* One file, on top of what is there. */
hone_status policy_add(struct policy *policy, const char *path, hone_error *error);

/* Whether the files say anything of this. */
bool policy_has(const struct policy *policy, enum policy_item item);
/* *value is what an option gave, or, unless `given`, what holds without policy; what holds with it
 * afterwards. HONE_ERROR_USAGE where the option exceeds a limit. */
hone_status policy_apply(const struct policy *policy, enum policy_item item, bool given, double *value,
                         hone_error *error);
/* The same for --decode-memory (MiB; 0: not given) and --trust (false: not given). */
hone_status policy_apply_decoders(const struct policy *policy, double *memory, bool *trust,
                                  hone_error *error);
/* Of commands that read whole images: reads both files, heeds what they say of decoders, and gives the most
 * pixels of an image; 0: they say nothing of that. */
hone_status policy_bind_reading(double *memory, bool *trust, double *max_pixels, hone_error *error);
