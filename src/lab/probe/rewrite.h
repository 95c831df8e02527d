/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels with more to do than they have: the same program, whose kernels first compute or load for
 * nothing. */
#pragma once

#include "base/text.h"
#include "hone/status.h"

/* What each work-item does more; with `every` over 1, only one of so many runs of 64 neighbours does. */
struct probe_load {
    bool floats;     /* the arithmetic is of floats, else of integers */
    unsigned rounds; /* of PROBE_OPERATIONS operations */
    unsigned loads;  /* of 16 bytes, from PROBE_BYTES of memory that the kernel gets as its last argument */
    unsigned every;
};

enum { PROBE_OPERATIONS = 8, PROBE_LOADED = 16 };

/**
 * Gives every kernel of a program one more argument, `__global uint4 *` of `1 << log2_loads` elements, and
 * lets it begin with the load. Only that memory is ever written, and that hardly ever: results stay as they
 * are. HONE_ERROR_UNSUPPORTED when no kernel is found.
 */
hone_status probe_rewrite(struct text *source, const struct probe_load *load, unsigned log2_loads,
                          hone_error *error);
