/* SPDX-License-Identifier: BSD-2-Clause */
/** Images on a device: created there, wrapped around the caller's memory, or imported. */
#ifndef HONE_IMAGE_H
#define HONE_IMAGE_H

#include "hone/device.h"
#include "hone/event.h"
#include "hone/pixels.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Pixels that plans read and write.
 *
 * Threads: one thread at a time per image; different images may be used in parallel.
 */
typedef struct hone_image hone_image;

/** Where an image is allocated. */
typedef enum hone_memory {
    HONE_MEMORY_DEVICE = 0, /**< chosen by the driver; accessed by upload and download */
    /** Allocated by the driver so that mapping copies nothing, if the device supports it
     *  (CL_MEM_ALLOC_HOST_PTR). */
    HONE_MEMORY_MAPPED = 1,
    /** Coarse-grained shared virtual memory; HONE_ERROR_UNSUPPORTED if there is none. */
    HONE_MEMORY_SHARED = 2
} hone_memory;

/**
 * Creates an image with undefined content, with the pitch of `desc` (0: tight).
 *
 * Ownership: destroy *out with hone_image_destroy.
 */
HONE_API hone_status hone_image_create(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                       hone_memory memory, hone_error *error);

/**
 * Wraps the caller's pixels.
 *
 * If the device works on host memory and the address has the alignment it needs, nothing is copied (zero
 * copy). Otherwise hone keeps a copy on the device, and hone_image_upload and hone_image_download move it;
 * they are free if nothing needs to move. hone_image_is_zero_copy says which applies.
 * Call hone_image_upload to pass new content to the device, and hone_image_download before you read results,
 * both with host = NULL. This is required with zero copy too, where they only transfer ownership.
 * Preconditions: `pixels` stays valid and at the same address until the image is destroyed. The caller
 * neither reads nor writes it while a plan uses the image.
 * Ownership: `pixels` remains the caller's. Destroy *out with hone_image_destroy.
 */
HONE_API hone_status hone_image_wrap(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                     void *pixels, hone_error *error);

/** Kinds of external memory. */
typedef enum hone_external_kind {
    HONE_EXTERNAL_ION = 1, /**< cl_qcom_ion_host_ptr: handle = file descriptor, host = its mapping */
    /** cl_qcom_android_native_buffer_host_ptr: host = the ANativeWindowBuffer. */
    HONE_EXTERNAL_ANDROID_BUFFER = 2,
    HONE_EXTERNAL_EGL_IMAGE = 3 /**< cl_khr_egl_image: host = the EGLImageKHR, display = the EGLDisplay */
} hone_external_kind;

/** External memory to import. */
typedef struct hone_external {
    size_t size; /**< sizeof(hone_external), or 0: the members of 0.1. See status.h. */
    hone_external_kind kind;
    intptr_t handle;
    void *host, *display;
} hone_external;

/**
 * Imports external memory through the vendor's extension.
 *
 * If an ION mapping cannot be imported, it is wrapped as by hone_image_wrap. An EGL image is acquired only
 * while its pixels are fetched or stored.
 * Preconditions: an EGL image has the size and format of `desc`.
 * Ownership: destroy *out with hone_image_destroy.
 * Errors: HONE_ERROR_UNSUPPORTED if the device cannot import this kind (except ION).
 */
HONE_API hone_status hone_image_import(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                       const hone_external *external, hone_error *error);

/**
 * Destroys an image and sets *image to NULL; *image may be NULL.
 *
 * Precondition: all work that uses the image is done.
 */
HONE_API void hone_image_destroy(hone_image **image);

/** The image's description with the actual pitch. Valid until the image is destroyed. */
HONE_API const hone_image_desc *hone_image_get_desc(const hone_image *image);

/**
 * Whether host and device use the same memory, so that upload (with host = NULL), download and mapping copy
 * nothing.
 *
 * A plan may still copy pixels in each run, if its variant needs another pitch or a 2D image: see
 * hone_plan_copies.
 */
HONE_API bool hone_image_is_zero_copy(const hone_image *image);

/**
 * Copies pixels from host to device, or from device to host; row by row if the pitches differ.
 *
 * `host` has the image's width, height and type, and rows `pitch` bytes apart (0: tight). For a wrapped
 * image, host = NULL means its own memory. The copy starts after the events in `wait` (NULL if wait_count is
 * 0). With done == NULL, the call blocks until the copy is complete. Otherwise it may return earlier.
 * Preconditions: with `done`, `host` stays valid until the event is done.
 * Ownership: the caller destroys *done with hone_event_destroy.
 */
HONE_API hone_status hone_image_upload(hone_image *image, const void *host, size_t pitch,
                                       const hone_event *const *wait, size_t wait_count, hone_event **done,
                                       hone_error *error);
HONE_API hone_status hone_image_download(hone_image *image, void *host, size_t pitch,
                                         const hone_event *const *wait, size_t wait_count, hone_event **done,
                                         hone_error *error);

/**
 * Maps an image into host memory; blocks until *pixels is usable. Set `write` if you will change pixels.
 *
 * The rows of *pixels are hone_image_get_desc(image)->pitch bytes apart.
 * Precondition: no plan uses the image until hone_image_unmap.
 */
HONE_API hone_status hone_image_map(hone_image *image, bool write, void **pixels, hone_error *error);
/** Ends a mapping; *pixels becomes invalid. */
HONE_API hone_status hone_image_unmap(hone_image *image, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
