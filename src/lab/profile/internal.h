/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "lab/profile/profile.h"

/* What one run needs. */
struct subject {
    hone_device *device;
    hone_plan *plan;
    hone_image *in, *out;
};

/* One run; on failure run->commands is NULL, else the caller frees it. */
hone_status run_once(struct profile_run *run, const struct subject *subject, hone_error *error);

/* Everything that follows from the runs: rows, medians, traffic. */
hone_status summary_make(struct profile *profile, hone_error *error);
