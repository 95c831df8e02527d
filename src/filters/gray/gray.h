/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_GRAY_GRAY_H
#define FILTERS_GRAY_GRAY_H

#include "filter/filter.h"

void gray_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                    struct view *out);

#endif
