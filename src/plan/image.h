/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "cl/memory.h"
#include "filter/instance.h"
#include "hone/image.h"

struct hone_image {
    hone_device *device;
    hone_image_desc desc;  /* pitch filled in */
    struct memory *memory; /* a buffer */
    struct memory *object; /* a 2D image of someone else's, whose pixels pass through `memory`; or NULL */
    size_t offset;
    void *host; /* wrapped memory of the caller's, or NULL */
    size_t host_pitch;
    bool zero_copy;   /* memory works on `host` itself */
    bool host_is_new; /* wrapped with a copy: the host's pixels were never handed over */
};

/* Makes the image ready for the device to read (and, for `read` false, to be written only): unmaps, uploads,
 * and fetches the pixels of a 2D image after `wait`. Sets *moved where that is a command of its own. */
hone_status image_hand_over(hone_image *image, bool read, struct wait_list wait, bool *moved,
                            hone_error *error);

/* Waits for `last`, the last command that uses a wrapped image; then the host has its pixels. */
hone_status image_take_back(hone_image *image, const hone_event *last, hone_error *error);

/* Puts the pixels where the image's owner looks for them: into its 2D image. Only where image->object. done
 * may be NULL. */
hone_status image_store(hone_image *image, struct wait_list wait, hone_event **done, hone_error *error);

/* As hone_image_wrap where memory_can_wrap() holds, but the pixels are the device's from the beginning:
 * nothing blocks. */
hone_status image_around(hone_image **out, hone_device *device, const hone_image_desc *desc, void *pixels,
                         hone_error *error);

struct surface image_surface(const hone_image *image);

/* Whether a pixel of one lies where a pixel of the other does. Images whose rows are equally far apart may
 * interleave: the halves of a picture do not overlap. */
bool image_overlaps(const hone_image *a, const hone_image *b);
