/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory objects: buffers and 2D images, with the ways of sharing them with the host. */
#pragma once

#include "hone/device.h"
#include "hone/event.h"
#include "hone/image.h"
#include "hone/pixels.h"

#include <stdbool.h>
#include <stddef.h>

struct memory;

/* How a 2D image holds pixels. */
struct image_format {
    hone_type type;
    uint32_t channels; /* 1, 2 or 4 */
    bool normalised;   /* integers are read as 0..1 (UNORM) instead of as integers */
};

/* Events to wait for; what a command leaves behind. NULL stands for none. */
struct wait_list {
    const hone_event *const *events;
    size_t count;
};

hone_status memory_create(struct memory **out, struct hone_device *device, size_t bytes, hone_memory kind,
                          hone_error *error);
/* True when the device works on this host memory in place: it shares memory with the host, and GPUs get whole
 * pages. */
bool memory_can_wrap(const struct hone_device *device, const void *host, size_t bytes);
/* True when it does so with all memory that lies well: kernels work on what the host maps. */
bool memory_is_shared(const struct hone_device *device);
/* Around host memory (CL_MEM_USE_HOST_PTR), for which memory_can_wrap must hold. */
hone_status memory_wrap(struct memory **out, struct hone_device *device, void *host, size_t bytes,
                        hone_error *error);
/* A constant table: read-only on the device, filled from `bytes` at once. */
hone_status memory_create_table(struct memory **out, struct hone_device *device, const void *bytes,
                                size_t count, hone_error *error);
hone_status memory_create_image(struct memory **out, struct hone_device *device,
                                const struct image_format *format, size_t width, size_t height,
                                hone_error *error);
/* Whether the device can make such an image. */
bool memory_image_possible(struct hone_device *device, const struct image_format *format, size_t width,
                           size_t height);
/* Imports through a vendor's extension; HONE_ERROR_UNSUPPORTED where it is missing. */
hone_status memory_import(struct memory **out, struct hone_device *device, const hone_external *external,
                          size_t bytes, hone_error *error);
struct _cl_mem;
hone_status memory_from_cl(struct memory **out, struct hone_device *device, struct _cl_mem *object,
                           hone_error *error);
void memory_destroy(struct memory **memory);
/* One more owner: the object lasts until the last one has destroyed it. */
struct memory *memory_share(struct memory *memory);

struct _cl_mem *memory_cl(const struct memory *memory);
size_t memory_bytes(const struct memory *memory);
/* How far behind a page it begins, bytes: not 0 only around memory of the host, where what kernels see begins
 * there. */
size_t memory_skew(const struct memory *memory);
bool memory_is_image(const struct memory *memory);
/* Whether it is what memory_create_image makes of this. */
bool memory_is_such_image(const struct memory *memory, const struct image_format *format, size_t width,
                          size_t height);
/* Where its bytes really are, for telling whether two objects share some: *start bytes into *space, which is
 * NULL for the host's addresses, else the object that owns the bytes. */
void memory_home(const struct memory *memory, const void **space, size_t *start);

/* A rectangle of bytes: `rows` rows of `row_bytes`, `pitch` apart, the first at `offset`. */
struct span {
    size_t offset, pitch, row_bytes, rows;
};

/* Commands. With done == NULL the reads and writes block; the others just enqueue. */
hone_status memory_write(struct memory *memory, const struct span *to, const void *host, size_t host_pitch,
                         struct wait_list wait, hone_event **done, hone_error *error);
hone_status memory_read(struct memory *memory, const struct span *from, void *host, size_t host_pitch,
                        struct wait_list wait, hone_event **done, hone_error *error);
/* The same in the lanes for copies (see cl/device.h), never blocking. */
hone_status memory_send(struct memory *memory, const struct span *to, const void *host, size_t host_pitch,
                        struct wait_list wait, hone_event **done, hone_error *error);
hone_status memory_fetch(struct memory *memory, const struct span *from, void *host, size_t host_pitch,
                         struct wait_list wait, hone_event **done, hone_error *error);
hone_status memory_fill(struct memory *memory, const void *pattern, size_t pattern_bytes, size_t bytes,
                        struct wait_list wait, hone_event **done, hone_error *error);
/* Tight copies between a buffer (from `offset` on) and a whole 2D image. */
hone_status memory_buffer_to_image(struct memory *buffer, size_t offset, struct memory *image, size_t width,
                                   size_t height, struct wait_list wait, hone_event **done,
                                   hone_error *error);
hone_status memory_image_to_buffer(struct memory *image, struct memory *buffer, size_t offset, size_t width,
                                   size_t height, struct wait_list wait, hone_event **done,
                                   hone_error *error);
/* Rectangles of bytes between buffers. */
hone_status memory_copy(struct memory *from, const struct span *source, struct memory *to,
                        const struct span *target, struct wait_list wait, hone_event **done,
                        hone_error *error);
/* Maps a whole buffer (its content is kept) and unmaps it. Mapping blocks when done == NULL. */
hone_status memory_map(struct memory *memory, bool write, void **pointer, struct wait_list wait,
                       hone_event **done, hone_error *error);
hone_status memory_unmap(struct memory *memory, struct wait_list wait, hone_event **done, hone_error *error);
bool memory_is_mapped(const struct memory *memory);
/* Whether host and kernels work on the same bytes without mapping, so that it takes no command. */
bool memory_is_in_place(const struct memory *memory);
/* Maps wrapped memory, for writing, that no command uses: in place nothing is waited for. */
hone_status memory_own(struct memory *memory, hone_error *error);
/* Does nothing but give an event after `wait` and all earlier commands, for callers that want one (done may
 * be NULL). */
hone_status memory_mark(struct memory *memory, struct wait_list wait, hone_event **done, hone_error *error);

/* Whether a 2D image of someone else's holds such pixels, as integers or as 0..1. HONE_ERROR_USAGE says what
 * it holds. */
hone_status memory_check_image(const struct memory *memory, hone_type type, uint32_t channels, size_t width,
                               size_t height, hone_error *error);

/* EGL images belong to the graphics side and are lent for a while: to be called around use, where
 * memory_is_lent. */
bool memory_is_lent(const struct memory *memory);
hone_status memory_acquire(struct memory *memory, struct wait_list wait, hone_event **done,
                           hone_error *error);
hone_status memory_give_back(struct memory *memory, struct wait_list wait, hone_event **done,
                             hone_error *error);
