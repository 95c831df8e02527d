/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files kernel_memory*.c share. */
#ifndef TUNE_KERNEL_MEMORY_PRIVATE_H
#define TUNE_KERNEL_MEMORY_PRIVATE_H

#include "tune/kernel_memory.h"

struct piece {
    struct memory *memory;  /* NULL: not in memory */
    struct memory *staging; /* of an image */
    unsigned char *initial; /* of inputs that are also outputs */
    size_t bytes, count;    /* without the guard; elements */
    size_t channels, width, height;
};

struct kernel_memory {
    hone_device *device;
    const struct kernel_spec *spec;
    struct piece pieces[KERNEL_MAX_ARGUMENTS];
    size_t output_bytes;
};

static inline const struct kernel_argument_spec *kernel_memory_argument(const struct kernel_memory *m, int i)
{
    return &m->spec->arguments[i];
}

#endif
