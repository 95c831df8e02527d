/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_HISTOGRAM_HISTOGRAM_H
#define FILTERS_HISTOGRAM_HISTOGRAM_H

#include "filter/filter.h"

enum { HISTOGRAM_PICTURE_HEIGHT = 256 };

/* Edge 0 to `bins`. */
double histogram_edge(const struct filter_case *c, int64_t index);

#endif
