/* SPDX-License-Identifier: BSD-2-Clause */
/** hone beside the caller's own OpenCL code: hand over a context, a queue, memory objects and events, or get them.
 *  This header does not include CL/cl.h; `struct _cl_context *` and its kin are what cl.h calls cl_context and so on.
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

/** Opens the device of a queue that the caller made, and enqueues everything there. The queue is retained. Whether it
 *  profiles or runs out of order is read from it; request->spec and the flags for these are ignored. */
HONE_API hone_status hone_device_from_queue(hone_device **out, struct _cl_command_queue *queue,
                                            const hone_device_request *request, hone_error *error);

/** The objects of an open device, not retained: valid until it is closed. */
HONE_API struct _cl_context *hone_device_cl_context(const hone_device *device);
HONE_API struct _cl_command_queue *hone_device_cl_queue(const hone_device *device);
HONE_API struct _cl_device_id *hone_device_cl_device(const hone_device *device);

/** An image in a buffer (or in a 2D image, whose format must be the description's) of the caller's, which is retained.
 *  For a buffer, the first pixel lies `offset` bytes from its start, a multiple of the element's size. The pixels of a
 * 2D image pass through a buffer of hone's: they are fetched when a plan that reads the image is run, and stored when a
 * plan that writes it is done. */
HONE_API hone_status hone_image_from_cl(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                        struct _cl_mem *memory, size_t offset, hone_error *error);
/** The memory object behind an image, not retained. */
HONE_API struct _cl_mem *hone_image_cl_mem(const hone_image *image);

/** An event of the caller's (which is retained), to wait for in a plan; and the other way round (not retained). */
HONE_API hone_status hone_event_from_cl(hone_event **out, hone_device *device, struct _cl_event *event,
                                        hone_error *error);
HONE_API struct _cl_event *hone_event_cl(const hone_event *event);

#ifdef __cplusplus
}
#endif
#endif
