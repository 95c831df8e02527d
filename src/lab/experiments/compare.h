/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "hone/pixels.h"

#include <stddef.h>

/* The largest difference between two rows of elements, `bytes` long. A NaN beside a number counts as
 * infinite. */
double largest_difference(hone_type type, const void *a, const void *b, size_t bytes);
