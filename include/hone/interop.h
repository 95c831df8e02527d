/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Sharing contexts, queues, memory objects and events between hone and your own OpenCL code.
 *
 * This header does not include CL/cl.h; `struct _cl_context *` is what cl.h calls cl_context, and so on.
 */
#ifndef HONE_INTEROP_H
#define HONE_INTEROP_H

#include "hone/device.h"
#include "hone/event.h"
#include "hone/image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_event;
struct _cl_device_id;

/**
 * Opens the device of the caller's queue; hone then enqueues all its work there.
 *
 * Profiling and out-of-order execution follow the queue; request->spec and the flags for these are ignored.
 * Ownership: the queue is retained. Close *out with hone_device_close.
 */
HONE_API hone_status hone_device_from_queue(hone_device **out, struct _cl_command_queue *queue,
                                            const hone_device_request *request, hone_error *error);

/** The OpenCL objects of an open device. Ownership: not retained; valid until the device is closed. */
HONE_API struct _cl_context *hone_device_cl_context(const hone_device *device);
HONE_API struct _cl_command_queue *hone_device_cl_queue(const hone_device *device);
HONE_API struct _cl_device_id *hone_device_cl_device(const hone_device *device);

/**
 * Makes an image from the caller's OpenCL buffer or 2D image.
 *
 * In a buffer, the first pixel is at byte `offset`. The pixels of a 2D image pass through a buffer of hone's:
 * they are fetched when a plan that reads the image runs, and stored when a plan that writes it is done.
 * Preconditions: `offset` is a multiple of the element size; a 2D image has the format of `desc`.
 * Ownership: `memory` is retained. Destroy *out with hone_image_destroy.
 */
HONE_API hone_status hone_image_from_cl(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                        struct _cl_mem *memory, size_t offset, hone_error *error);
/** The memory object of an image. Ownership: not retained. */
HONE_API struct _cl_mem *hone_image_cl_mem(const hone_image *image);

/** Makes an event that plans can wait for from the caller's OpenCL event, which is retained. */
HONE_API hone_status hone_event_from_cl(hone_event **out, hone_device *device, struct _cl_event *event,
                                        hone_error *error);
/** The OpenCL event of an event. Ownership: not retained. */
HONE_API struct _cl_event *hone_event_cl(const hone_event *event);

#ifdef __cplusplus
}
#endif
#endif
