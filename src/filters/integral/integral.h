/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_INTEGRAL_INTEGRAL_H
#define FILTERS_INTEGRAL_INTEGRAL_H

#include "filter/filter.h"

void integral_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                        struct view *out);

#endif
