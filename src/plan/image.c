/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/image.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "cl/device.h"
#include "hone/interop.h"
#include "image/view.h"

#include <stdint.h>
#include <stdlib.h>

static const struct wait_list no_wait;

static hone_status new_image(hone_image **out, hone_device *device, const hone_image_desc *desc,
                             hone_error *error)
{
    *out = NULL;
    hone_status status = device_check(device, "an image", error);
    THEN(status, hone_image_desc_check(desc, error));
    if (status)
        return status;
    *out = mem_new(1, sizeof **out);
    if (!*out)
        return error_memory(error, "an image");
    (*out)->device = device;
    device_retain(device);
    (*out)->desc = *desc;
    (*out)->desc.pitch = hone_image_pitch(desc);
    return HONE_OK;
}

static hone_status settle(hone_image **out, hone_image *image, hone_status status)
{
    if (status)
        hone_image_destroy(&image);
    *out = image;
    return status;
}

static hone_status lacks(const char *call, const char *what, hone_error *error)
{
    return error_usage(error, "%s needs %sa place for the image (out): a pointer is NULL", call, what);
}

/* With the padding of the last row: transfers of rectangles are simpler then. */
static size_t whole_rows(const hone_image_desc *desc)
{
    return desc->pitch * desc->height;
}

hone_status hone_image_create(hone_image **out, hone_device *device, const hone_image_desc *desc,
                              hone_memory memory, hone_error *error)
{
    hone_image *image = NULL;
    if (!out)
        return lacks("hone_image_create", "", error);
    *out = NULL;
    if ((unsigned)memory > HONE_MEMORY_SHARED)
        return error_usage(error, "%d is no kind of memory: HONE_MEMORY_DEVICE, _MAPPED and _SHARED are",
                           (int)memory);
    hone_status status = new_image(&image, device, desc, error);
    THEN(status, memory_create(&image->memory, device, whole_rows(&image->desc), memory, error));
    if (!status)
        image->zero_copy = memory != HONE_MEMORY_DEVICE && hone_device_get_info(device)->unified_memory;
    return settle(out, image, status);
}

/* Without zero copy the device keeps its own pixels, in rows that are aligned for wide loads. */
static hone_status wrap_by_copy(hone_image *image, hone_error *error)
{
    enum { ROW_ALIGN = 64 };
    size_t row = hone_image_row_bytes(&image->desc);
    image->desc.pitch = (row + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    image->host_is_new = true;
    return memory_create(&image->memory, image->device, whole_rows(&image->desc), HONE_MEMORY_DEVICE, error);
}

hone_status hone_image_wrap(hone_image **out, hone_device *device, const hone_image_desc *desc, void *pixels,
                            hone_error *error)
{
    hone_image *image = NULL;
    if (out)
        *out = NULL;
    if (!out || !pixels)
        return lacks("hone_image_wrap", "pixels and ", error);
    hone_status status = new_image(&image, device, desc, error);
    if (!status && (uintptr_t)pixels % hone_type_size(desc->type) != 0)
        status = error_usage(error, "pixels of %s must be aligned to %zu bytes", hone_type_name(desc->type),
                             hone_type_size(desc->type));
    if (!status) {
        size_t bytes = hone_image_bytes(&image->desc);
        image->host = pixels;
        image->host_pitch = image->desc.pitch;
        image->zero_copy = memory_can_wrap(device, pixels, bytes);
        status = image->zero_copy ? memory_wrap(&image->memory, device, pixels, bytes, error)
                                  : wrap_by_copy(image, error);
        if (!status && image->zero_copy) /* the host owns the pixels until they are handed over */
            status = memory_own(image->memory, error);
    }
    return settle(out, image, status);
}

hone_status image_around(hone_image **out, hone_device *device, const hone_image_desc *desc, void *pixels,
                         hone_error *error)
{
    hone_image *image = NULL;
    hone_status status = new_image(&image, device, desc, error);
    if (!status) {
        image->host = pixels;
        image->host_pitch = image->desc.pitch;
        image->zero_copy = true;
        status = memory_wrap(&image->memory, device, pixels, hone_image_bytes(&image->desc), error);
    }
    return settle(out, image, status);
}

/* Kernels work on buffers: the pixels of a 2D image pass through one with tight rows. Takes `object` over. */
static hone_status stage(hone_image *image, struct memory *object, hone_error *error)
{
    const hone_image_desc *desc = &image->desc;
    image->object = object;
    image->desc.pitch = hone_image_row_bytes(desc);
    hone_status status =
        memory_check_image(object, desc->type, desc->channels, desc->width, desc->height, error);
    return status ? status
                  : memory_create(&image->memory, image->device, hone_image_bytes(desc), HONE_MEMORY_DEVICE,
                                  error);
}

hone_status hone_image_import(hone_image **out, hone_device *device, const hone_image_desc *desc,
                              const hone_external *given, hone_error *error)
{
    enum { FIRST = sizeof(hone_external) }; /* 0.1 has all members; the next one begins behind them */
    hone_image *image = NULL;
    hone_external external;
    if (out)
        *out = NULL;
    if (!out || !given)
        return lacks("hone_image_import", "what is imported and ", error);
    hone_status status = options_take(&external, given, sizeof external, FIRST, "hone_external", error);
    THEN(status, new_image(&image, device, desc, error));
    if (status)
        return status;
    hone_error why;
    struct memory *memory = NULL;
    status = memory_import(&memory, device, &external, hone_image_bytes(&image->desc), &why);
    if (status == HONE_ERROR_UNSUPPORTED && external.kind == HONE_EXTERNAL_ION) {
        hone_image_destroy(&image);
        return hone_image_wrap(out, device, desc, external.host, error);
    }
    if (status && error)
        *error = why;
    if (!status && memory_is_image(memory)) {
        status = stage(image, memory, error);
    } else if (!status) {
        image->memory = memory;
        image->zero_copy = true;
    }
    return settle(out, image, status);
}

static hone_status check_place(const hone_image *image, hone_error *error)
{
    size_t element = hone_type_size(image->desc.type), needed = hone_image_bytes(&image->desc);
    size_t there = memory_bytes(image->memory);
    if (image->offset % element != 0 || image->offset > there || needed > there - image->offset)
        return error_usage(
            error,
            "an image of %zu bytes at offset %zu does not fit a buffer of %zu bytes, or the offset is no "
            "multiple of %zu",
            needed, image->offset, there, element);
    return HONE_OK;
}

hone_status hone_image_from_cl(hone_image **out, hone_device *device, const hone_image_desc *desc,
                               struct _cl_mem *memory, size_t offset, hone_error *error)
{
    hone_image *image = NULL;
    if (out)
        *out = NULL;
    if (!out || !memory)
        return lacks("hone_image_from_cl", "memory and ", error);
    struct memory *theirs = NULL;
    hone_status status = new_image(&image, device, desc, error);
    THEN(status, memory_from_cl(&theirs, device, memory, error));
    if (!status && memory_is_image(theirs)) {
        status = stage(image, theirs, error);
    } else if (!status) {
        image->memory = theirs;
        image->offset = offset;
        status = check_place(image, error);
    }
    return settle(out, image, status);
}

void hone_image_destroy(hone_image **image)
{
    if (!image || !*image)
        return;
    hone_device *device = (*image)->device;
    if (device_is_here(device)) {
        memory_destroy(&(*image)->memory);
        memory_destroy(&(*image)->object);
        free(*image);
        device_release(device);
    }
    *image = NULL;
}

const hone_image_desc *hone_image_get_desc(const hone_image *image)
{
    return image ? &image->desc : NULL;
}

bool hone_image_is_zero_copy(const hone_image *image)
{
    return image && image->zero_copy;
}

struct _cl_mem *hone_image_cl_mem(const hone_image *image)
{
    return image ? memory_cl(image->object ? image->object : image->memory) : NULL;
}

struct surface image_surface(const hone_image *image)
{
    return (struct surface){image->memory, image->offset, image->desc.pitch};
}

static struct span whole(const hone_image *image)
{
    return (struct span){image->offset, image->desc.pitch, hone_image_row_bytes(&image->desc),
                         image->desc.height};
}

static size_t pitch_or_tight(const hone_image *image, size_t pitch)
{
    return pitch ? pitch : hone_image_row_bytes(&image->desc);
}

static hone_status check_image(const hone_image *image, const char *call, hone_error *error)
{
    if (!image)
        return error_usage(error, "%s needs an image", call);
    return device_check(image->device, call, error);
}

static hone_status check_host(const hone_image *image, const void *host, size_t pitch, const char *call,
                              hone_error *error)
{
    TRY(check_image(image, call, error));
    if (!host && !image->host)
        return error_usage(error, "this image wraps no host memory: give the address of pixels");
    if (pitch_or_tight(image, pitch) < hone_image_row_bytes(&image->desc))
        return error_usage(error, "a pitch of %zu bytes is shorter than a row of %zu", pitch,
                           hone_image_row_bytes(&image->desc));
    return pitch_check_limit(pitch, error);
}

/* Between a 2D image and the buffer that stands for it, borrowing the image from its owner where it
 * must be. */
static hone_status move_object(hone_image *image, bool to_buffer, struct wait_list wait, hone_event **done,
                               hone_error *error)
{
    const hone_image_desc *d = &image->desc;
    bool lent = memory_is_lent(image->object);
    hone_event *acquired = NULL, *copied = NULL;
    hone_event **after_copy = lent ? &copied : done;
    hone_status status = lent ? memory_acquire(image->object, wait, &acquired, error) : HONE_OK;
    if (lent)
        wait = (struct wait_list){(const hone_event *const *)&acquired, 1};
    if (!status && to_buffer)
        status = memory_image_to_buffer(image->object, image->memory, 0, d->width, d->height, wait,
                                        after_copy, error);
    else if (!status)
        status = memory_buffer_to_image(image->memory, 0, image->object, d->width, d->height, wait,
                                        after_copy, error);
    wait = (struct wait_list){(const hone_event *const *)&copied, 1};
    if (!status && lent)
        status = memory_give_back(image->object, wait, done, error);
    hone_event_destroy(&acquired);
    hone_event_destroy(&copied);
    return status;
}

hone_status image_store(hone_image *image, struct wait_list wait, hone_event **done, hone_error *error)
{
    return move_object(image, false, wait, done, error);
}

/* Pixels of the host's into or out of a 2D image, by way of the buffer; blocking. */
static hone_status exchange(hone_image *image, void *host, size_t pitch, bool upload, struct wait_list wait,
                            hone_error *error)
{
    const struct span span = whole(image);
    hone_status status = upload ? memory_write(image->memory, &span, host, pitch, wait, NULL, error)
                                : move_object(image, true, wait, NULL, error);
    if (!status && upload)
        status = move_object(image, false, no_wait, NULL, error);
    if (!status) /* also where commands may overtake each other */
        status = hone_device_finish(image->device, error);
    return !status && !upload ? memory_read(image->memory, &span, host, pitch, no_wait, NULL, error) : status;
}

/* The same with an event that is over already, where the caller wants one. */
static hone_status exchange_object(hone_image *image, void *host, size_t pitch, bool upload,
                                   struct wait_list wait, hone_event **done, hone_error *error)
{
    hone_status status = exchange(image, host, pitch_or_tight(image, pitch), upload, wait, error);
    return status || !done ? status : memory_mark(image->memory, no_wait, done, error);
}

hone_status hone_image_upload(hone_image *image, const void *host, size_t pitch,
                              const hone_event *const *wait, size_t wait_count, hone_event **done,
                              hone_error *error)
{
    const struct wait_list list = {wait, wait_count};
    if (done)
        *done = NULL;
    hone_status status = check_host(image, host, pitch, "hone_image_upload", error);
    if (status)
        return status;
    if (image->object)
        return exchange_object(image, (void *)host, pitch, true, list, done, error);
    if (!host && image->zero_copy)
        return memory_is_mapped(image->memory) ? memory_unmap(image->memory, list, done, error)
                                               : memory_mark(image->memory, list, done, error);
    if (memory_is_mapped(image->memory))
        status = memory_unmap(image->memory, no_wait, NULL, error);
    const struct span span = whole(image);
    THEN(status, memory_write(image->memory, &span, host ? host : image->host,
                              host ? pitch_or_tight(image, pitch) : image->host_pitch, list, done, error));
    if (!status)
        image->host_is_new = false;
    return status;
}

hone_status hone_image_download(hone_image *image, void *host, size_t pitch, const hone_event *const *wait,
                                size_t wait_count, hone_event **done, hone_error *error)
{
    const struct wait_list list = {wait, wait_count};
    void *mapped = NULL;
    if (done)
        *done = NULL;
    hone_status status = check_host(image, host, pitch, "hone_image_download", error);
    if (status)
        return status;
    if (image->object)
        return exchange_object(image, host, pitch, false, list, done, error);
    if (!host && image->zero_copy && memory_is_mapped(image->memory))
        return done ? memory_mark(image->memory, list, done, error) : HONE_OK;
    if (!host && image->zero_copy)
        return memory_map(image->memory, true, &mapped, list, done, error);
    if (memory_is_mapped(image->memory))
        status = memory_unmap(image->memory, no_wait, NULL, error);
    const struct span span = whole(image);
    return status ? status
                  : memory_read(image->memory, &span, host ? host : image->host,
                                host ? pitch_or_tight(image, pitch) : image->host_pitch, list, done, error);
}

hone_status image_take_back(hone_image *image, const hone_event *last, hone_error *error)
{
    if (image->object || !image->zero_copy || memory_is_mapped(image->memory) ||
        !memory_is_in_place(image->memory))
        return hone_image_download(image, NULL, 0, &last, 1, NULL, error);
    hone_status status = hone_event_wait(last, error);
    return status ? status : memory_own(image->memory, error);
}

hone_status hone_image_map(hone_image *image, bool write, void **pixels, hone_error *error)
{
    void *start = NULL;
    TRY(check_image(image, "hone_image_map", error));
    if (!pixels || memory_is_mapped(image->memory))
        return error_usage(error, pixels ? "the image is mapped already"
                                         : "hone_image_map needs a place for the address");
    if (image->object)
        return error_unsupported(error, "a 2D image object cannot be mapped; download it");
    hone_status status = memory_map(image->memory, write, &start, no_wait, NULL, error);
    if (!status)
        *pixels = (char *)start + image->offset;
    return status;
}

hone_status hone_image_unmap(hone_image *image, hone_error *error)
{
    TRY(check_image(image, "hone_image_unmap", error));
    if (!memory_is_mapped(image->memory))
        return error_usage(error, "the image is not mapped");
    return memory_unmap(image->memory, no_wait, NULL, error);
}

hone_status image_hand_over(hone_image *image, bool read, struct wait_list wait, bool *moved,
                            hone_error *error)
{
    const bool mapped = !image->object && memory_is_mapped(image->memory);
    if (!mapped && !(read && (image->object || image->host_is_new)))
        return HONE_OK;
    *moved = true;
    if (image->object)
        return move_object(image, true, wait, NULL, error);
    return mapped ? memory_unmap(image->memory, no_wait, NULL, error)
                  : hone_image_upload(image, NULL, 0, NULL, 0, NULL, error);
}
