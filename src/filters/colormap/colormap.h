/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#pragma once

#include "filter/filter.h"

enum { PALETTE_SIZE = 256, PALETTE_TERMS = 15 };

/* In the order of the parameter's choices. */
enum map { MAP_RAINBOW, MAP_VIRIDIS, MAP_GRAY, MAP_MAGMA, MAP_TURBO };

/* The colour of a level 0..255: red, green and blue in bytes 0, 1 and 2. */
uint32_t palette_color(enum map map, int level);

/* The polynomial of a fitted map for one of its channels: coefficients, lowest power first, of a variable
 * that runs from -1 to 1 over the levels. NULL for maps that are exact formulas. */
const double *palette_fit(enum map map, int channel);
