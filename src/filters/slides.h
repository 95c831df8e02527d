/* SPDX-License-Identifier: BSD-2-Clause */
/* For the descriptions of filters on CPUs that work in bands of whole rows, such as those of slides.clh. */
#pragma once

/* Rows of a band: at most ROWS, and alike in all bands, of which each compute unit gets as many. But what a
 * band begins with, as many rows as the window is high or the image, should not be most of its work. */
#define BANDS_ROWS(kh) "max(ceildiv(H, roundup(ceildiv(H, ROWS), CU)), min(ROWS, ceildiv(min(" kh ", H), 8)))"

/* Columns of a line of sums, with those beyond the edges. */
#define SLIDES_LINE(kw)        "roundup((W + " kw ")*C + 64, 64)"

#define SLIDES_SCRATCH(kw, kh) "ceildiv(H, " BANDS_ROWS(kh) ")*" SLIDES_LINE(kw) "*COLUMN_BITS/8"
