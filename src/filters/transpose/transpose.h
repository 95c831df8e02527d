/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_TRANSPOSE_TRANSPOSE_H
#define FILTERS_TRANSPOSE_TRANSPOSE_H

#include "filter/filter.h"

void transpose_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                         struct view *out);

#endif
