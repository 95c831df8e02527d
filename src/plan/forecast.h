/* SPDX-License-Identifier: BSD-2-Clause */
/* What a plan would use, said without making it. */
#pragma once

#include "choose/choose.h"

struct forecast {
    const struct variant *variant; /* static */
    struct config config;
    enum choice_origin origin;
    size_t scratch_bytes;
};

/* What a plan of one filter, with its default parameters, would take first for images like `desc` (and second
 * ones like it). Asks the device's self-test at most: whether the program builds, and gives right results, is
 * found out by the first plan, which passes over what does not. Errors: those of a plan for which there is no
 * candidate. */
hone_status plan_forecast(struct forecast *out, hone_device *device, const char *filter,
                          const hone_image_desc *desc, hone_error *error);
