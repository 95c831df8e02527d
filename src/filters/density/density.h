/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_DENSITY_DENSITY_H
#define FILTERS_DENSITY_DENSITY_H

#include "filter/filter.h"

void density_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                       struct view *out);

#endif
