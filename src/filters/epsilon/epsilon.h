/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_EPSILON_EPSILON_H
#define FILTERS_EPSILON_EPSILON_H

#include "filter/filter.h"

void epsilon_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                       struct view *out);

#endif
