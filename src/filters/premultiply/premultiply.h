/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_PREMULTIPLY_PREMULTIPLY_H
#define FILTERS_PREMULTIPLY_PREMULTIPLY_H

#include "filter/filter.h"

void premultiply_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                           struct view *out);

#endif
