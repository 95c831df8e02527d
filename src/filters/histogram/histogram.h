/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#pragma once

#include "filter/filter.h"

enum { HISTOGRAM_PICTURE_HEIGHT = 256 };

/* Edge 0 to `bins`. */
double histogram_edge(const struct filter_case *c, int64_t index);

/* See struct bins. */
void histogram_draw(const struct filter_case *c, const uint64_t *counts, uint32_t y, uint8_t *row);
