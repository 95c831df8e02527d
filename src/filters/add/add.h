/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_ADD_ADD_H
#define FILTERS_ADD_ADD_H

#include "filter/filter.h"

void add_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                   struct view *out);

#endif
