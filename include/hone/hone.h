/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * libhone: image filters for any OpenCL device that tune themselves.
 *
 *     hone_device *device = NULL;
 *     hone_chain *chain = NULL;
 *     hone_plan *plan = NULL;
 *     hone_error error;
 *     hone_image_desc frame = {.width = 1920, .height = 1080, .type = HONE_U8, .channels = 1};
 *     if (hone_device_open(&device, NULL, &error) || hone_chain_parse(&chain, "box size=5", &error) ||
 *         hone_plan_create(&plan, device, chain, &frame, NULL, &error) ||
 *         hone_plan_apply(plan, in, 0, out, 0, &error))
 *         fprintf(stderr, "%s\n", error.message);
 *     hone_plan_destroy(&plan);
 *     hone_chain_destroy(&chain);
 *     hone_device_close(&device);
 */
#ifndef HONE_H
#define HONE_H

#include "hone/cache.h"
#include "hone/chain.h"
#include "hone/device.h"
#include "hone/event.h"
#include "hone/filter.h"
#include "hone/image.h"
#include "hone/interop.h"
#include "hone/pixels.h"
#include "hone/plan.h"
#include "hone/status.h"
#include "hone/stream.h"
#include "hone/version.h"

#endif
