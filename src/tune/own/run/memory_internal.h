/* SPDX-License-Identifier: BSD-2-Clause */
/* What its files share. */
#pragma once

#include "tune/own/run/memory.h"

struct piece {
    struct memory *memory;  /* NULL: not in memory */
    struct memory *staging; /* of an image */
    unsigned char *initial; /* of inputs that are also outputs */
    size_t bytes, count;    /* without the guard; elements */
    size_t channels, width, height;
};

struct own_memory {
    hone_device *device;
    const struct own_spec *spec;
    struct piece pieces[OWN_MAX_ARGUMENTS];
    size_t output_bytes;
};

static inline const struct own_argument *own_memory_argument(const struct own_memory *m, int i)
{
    return &m->spec->arguments[i];
}
