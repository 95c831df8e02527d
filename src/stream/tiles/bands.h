/* SPDX-License-Identifier: BSD-2-Clause */
/* Cutting a side of an image into bands: of whole rows, or of columns. Every band is made from a region of as
 * many rows, so that one plan does for all. */
#pragma once

#include "hone/chain.h"

/* What is cut: so many rows (or columns), of which each depends on others in front of it and behind it. */
struct side {
    uint32_t length, before, behind;
    uint32_t period; /* as in hone_halo */
    bool wraps;
};
struct side side_of_rows(const hone_image_desc *image, const hone_halo *halo);
struct side side_of_columns(const hone_image_desc *image, const hone_halo *halo);

struct bands {
    uint32_t length; /* of the image */
    uint32_t rows;   /* of each band but the last, which may have fewer */
    uint32_t region; /* rows that each is made from */
    uint32_t before; /* of these, in front of the band, where the image goes on there */
    bool wraps;      /* rows beyond an edge are those of the other edge */
};

/* Regions of at most `region` rows. False where the halo leaves no room for a band, or border=wrap none for
 * the period; *least is the smallest region that would do then, 0: none. */
bool bands_make(struct bands *bands, const struct side *side, uint32_t region, uint32_t *least);

uint32_t bands_count(const struct bands *bands);

struct band {
    uint32_t first, count; /* rows of the result */
    int64_t origin; /* first row of its region; negative, or beyond the end, only where the border wraps */
};
struct band bands_at(const struct bands *bands, uint32_t index);
