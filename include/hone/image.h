/* SPDX-License-Identifier: BSD-2-Clause */
/** Images on a device: made there, wrapped around memory of the caller's, or imported. */
#ifndef HONE_IMAGE_H
#define HONE_IMAGE_H

#include "hone/device.h"
#include "hone/event.h"
#include "hone/pixels.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pixels that plans read and write. Threads: one at a time, but different images freely. */
typedef struct hone_image hone_image;

typedef enum hone_memory {
    HONE_MEMORY_DEVICE = 0, /**< wherever the device likes; reached by upload and download */
    HONE_MEMORY_MAPPED = 1, /**< memory that the driver allocates so that mapping it copies nothing where the device
                                 can (CL_MEM_ALLOC_HOST_PTR) */
    HONE_MEMORY_SHARED = 2  /**< coarse-grained shared virtual memory; HONE_ERROR_UNSUPPORTED without it */
} hone_memory;

/** Makes an image of undefined content. The pitch of `desc` is used, 0 becomes the tight one. */
HONE_API hone_status hone_image_create(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                       hone_memory memory, hone_error *error);

/**
 * Wraps pixels that the caller has in memory. Where the device works on host memory, and the address is aligned as it
 * needs, no byte is ever copied; elsewhere hone keeps a copy on the device and moves it in hone_image_upload and
 * hone_image_download (which are free when nothing needs moving). hone_image_is_zero_copy tells which it is.
 * `pixels` must stay valid and unmoved until the image is destroyed. While a plan uses the image, the caller neither
 * reads nor writes it. To hand new content over call hone_image_upload, to read results hone_image_download, both
 * with host = NULL: also under zero copy, where they only pass ownership.
 */
HONE_API hone_status hone_image_wrap(hone_image **out, hone_device *device, const hone_image_desc *desc, void *pixels,
                                     hone_error *error);

/** Memory that belongs to someone else. */
typedef enum hone_external_kind {
    HONE_EXTERNAL_ION = 1,            /**< cl_qcom_ion_host_ptr: handle = file descriptor, host = its mapping */
    HONE_EXTERNAL_ANDROID_BUFFER = 2, /**< cl_qcom_android_native_buffer_host_ptr: host = the ANativeWindowBuffer */
    HONE_EXTERNAL_EGL_IMAGE = 3       /**< cl_khr_egl_image: host = the EGLImageKHR, display = the EGLDisplay */
} hone_external_kind;

typedef struct hone_external {
    hone_external_kind kind;
    intptr_t handle;
    void *host, *display;
} hone_external;

/** Imports external memory through the vendor's extension. Where an ION mapping cannot be imported it is wrapped like
 * any memory (and hone_image_is_zero_copy says what came of it); the other kinds give HONE_ERROR_UNSUPPORTED. An EGL
 * image must have the description's size and format; it is acquired only while its pixels are fetched or stored. */
HONE_API hone_status hone_image_import(hone_image **out, hone_device *device, const hone_image_desc *desc,
                                       const hone_external *external, hone_error *error);

/** Destroys an image; *image becomes NULL, NULL is fine. Work that uses it must be done. */
HONE_API void hone_image_destroy(hone_image **image);

/** The image's description, its pitch filled in. Valid until it is destroyed. */
HONE_API const hone_image_desc *hone_image_get_desc(const hone_image *image);

/** 1 when host memory and device memory are the same for this image. */
HONE_API int hone_image_is_zero_copy(const hone_image *image);

/**
 * Copies pixels from host to device, or from device to host, row by row where pitches differ.
 * `host` has the image's width, height and type and rows `pitch` bytes apart (0: tight). For a wrapped image
 * host = NULL means its own memory. Waits for `wait` first (wait may be NULL when wait_count is 0).
 * With done == NULL the call blocks until the copy is complete; else it may return before, *done is to be
 * destroyed by the caller, and `host` must stay valid until the event is over.
 */
HONE_API hone_status hone_image_upload(hone_image *image, const void *host, size_t pitch, const hone_event *const *wait,
                                       size_t wait_count, hone_event **done, hone_error *error);
HONE_API hone_status hone_image_download(hone_image *image, void *host, size_t pitch, const hone_event *const *wait,
                                         size_t wait_count, hone_event **done, hone_error *error);

/** Maps an image into host memory, blocking: *pixels with rows hone_image_get_desc(image)->pitch bytes apart. No plan
 * may use the image until hone_image_unmap. `write` non-zero: the caller will change pixels. */
HONE_API hone_status hone_image_map(hone_image *image, int write, void **pixels, hone_error *error);
HONE_API hone_status hone_image_unmap(hone_image *image, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
