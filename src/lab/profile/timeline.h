/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What devices did for many images, as a trace (see trace.h): the host's process has a span for each image,
 * from being handed to the devices to having its result, and each device's process its commands.
 *
 * Spans that overlap get tracks of their own, so that those of a track do not: a queue in order has one.
 */
#pragma once

#include "hone/device.h"
#include "hone/event.h"

struct timeline;

/* NULL: no memory. */
struct timeline *timeline_new(void);
/* Copies all. Devices live as long as the timeline. Times of the host by clock_ns. Threads: safe. What there
 * is no memory for is missing, and timeline_json then fails. */
void timeline_add(struct timeline *timeline, const hone_device *device, const char *image, uint64_t begun,
                  uint64_t ended, const hone_command *commands, size_t count);
/* NULL: no memory, then or now; else the caller's. */
struct json_t *timeline_json(struct timeline *timeline, const char *program);
void timeline_free(struct timeline **timeline);
