/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: IPTC records. TIFF holds them as they are, JPEG among the resources of Photoshop. */
#pragma once

#include "base/text.h"

/* The records in bytes of either form, as a part of them. NULL: there are none. */
const void *iptc_records(const void *bytes, size_t size, size_t *count);

/* Adds the resources of Photoshop that hold these records. */
void iptc_wrap(struct text *out, const void *records, size_t count);

/* Whether records are swapped as if they were numbers of 32 bits, which libtiff does where a TIFF has not the
 * byte order of the machine. */
bool iptc_is_swapped(const void *bytes, size_t size);

/* Swaps them once more. */
void iptc_swap(void *bytes, size_t size);
