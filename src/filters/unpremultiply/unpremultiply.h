/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_UNPREMULTIPLY_UNPREMULTIPLY_H
#define FILTERS_UNPREMULTIPLY_UNPREMULTIPLY_H

#include "filter/filter.h"

void unpremultiply_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                             struct view *out);

#endif
