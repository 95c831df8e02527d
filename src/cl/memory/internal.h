/* SPDX-License-Identifier: BSD-2-Clause */
/* What a memory object is, for those who make it and those who move its content. */
#pragma once

#include "cl/internal.h"

#include <stdatomic.h>
#include <stdint.h>

struct memory {
    struct hone_device *device;
    atomic_uint owners;
    cl_mem object;
    size_t bytes;
    uint64_t reserved; /* of the device's budget */
    bool is_image, is_egl;
    void *mapped;
    bool written;       /* by whoever has it mapped */
    void *svm;          /* freed with the object */
    size_t skew;        /* see memory_skew */
    const void *host;   /* what it was made around, or NULL */
    bool wraps;         /* made around it by memory_wrap */
    const void *parent; /* of a sub-buffer, or NULL */
    size_t parent_offset;
    struct image_format format; /* of images that memory_create_image made */
    size_t width, height;
};
