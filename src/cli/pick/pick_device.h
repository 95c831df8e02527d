/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of several devices runs a chain soonest. */
#pragma once

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/image.h"

struct pick_request {
    const hone_chain *chain;
    const hone_image_desc *input, *second; /* as for hone_plan_create */
    size_t second_count;
    hone_device_request device;                        /* how to open devices; its spec is not looked at */
    void (*tell)(void *context, const char *sentence); /* what is expected of each device; may be NULL */
    void *context;
};

/**
 * The number of the device that is expected to finish first, its transfers included: from what was measured
 * for the chain's filters there (hone tune, plans that tried configurations, and what comes with hone), else
 * from the cost of the best variant and the device's measured roofs. The roofs of a device are measured at
 * the first call that meets it, so that one takes longer. With a single device nothing is opened or measured.
 */
hone_status pick_device(unsigned *index, const struct pick_request *request, hone_error *error);

/* The same among given devices; of one that is unknown the roofs are measured. HONE_ERROR_NO_DEVICE when none
 * can be used. */
hone_status pick_device_among(unsigned *index, const struct pick_request *request,
                              const hone_device_info *devices, size_t count, hone_error *error);
