/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels built to be limited by one thing each: whether the probes find it on a device. */
#pragma once

#include "lab/probe/probe.h"

enum { PROOF_COUNT = 4 };

/* Kernel `index` of PROOF_COUNT: what it is built to be, what it does, and what the probes find. */
struct proof {
    enum limiter built;
    const char *what;
    struct probed probed;
};
hone_status proof_run(struct proof *proof, int index, hone_device *device, const struct roofs_list *roofs,
                      hone_error *error);
