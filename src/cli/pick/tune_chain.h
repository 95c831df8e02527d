/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning what a chain needs before it runs: `hone apply --tune full`. */
#pragma once

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/image.h"
#include "tune/session/filter.h"

struct tune_chain_request {
    hone_device *device; /* the one to tune for */
    const char *spec;    /* how the worker process finds it */
    bool no_disk;        /* neither records nor caches: what is found out is for this device object alone */
    const hone_chain *chain;
    const hone_image_desc *input, *second; /* as for hone_plan_create */
    size_t second_count;
    struct session_options options;
    /* Told after each filter that was tuned; may be NULL. */
    void (*tuned)(void *context, const struct session_result *result);
};

/* Every filter of the chain that was not tuned on this device for images like these is tuned now; the results
 * are remembered, and known to the device. Nothing is measured when all were. */
hone_status tune_chain(const struct tune_chain_request *request, hone_error *error);
