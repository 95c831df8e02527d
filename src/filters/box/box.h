/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_BOX_BOX_H
#define FILTERS_BOX_BOX_H

#include "filter/filter.h"

void box_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                   struct view *out);

#endif
