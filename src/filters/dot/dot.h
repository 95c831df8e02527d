/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#ifndef FILTERS_DOT_DOT_H
#define FILTERS_DOT_DOT_H

#include "filter/filter.h"

void dot_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                   struct view *out);

#endif
