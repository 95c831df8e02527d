/* SPDX-License-Identifier: BSD-2-Clause */
/* Cache files of Kernel Tuner: what it measured of a kernel, one line appended for each configuration, so
 * that a file of a run that has not ended lacks its end. */
#pragma once

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>

/* Makes a cache file one that a parser of JSON takes: the end is added, half an entry dropped, and NaN and
 * Infinity, which are no JSON, become empty strings. Other texts stay as they are. */
void kernel_tuner_mend(struct text *file);

bool kernel_tuner_is_cache(const json_t *root);

/* The same results as T4, with all other numbers of an entry as measurements, with the space and its order
 * under metadata.x_hone, and device and kernel under metadata.kernel_tuner. NULL without memory. */
json_t *kernel_tuner_as_t4(const json_t *root);
