/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles/bands.h"

static uint32_t round_up(uint32_t value, uint32_t step)
{
    return (value + step - 1) / step * step;
}

struct side side_of_rows(const hone_image_desc *image, const hone_halo *halo)
{
    return (struct side){image->height, halo->top, halo->bottom, halo->period, halo->wraps};
}

struct side side_of_columns(const hone_image_desc *image, const hone_halo *halo)
{
    return (struct side){image->width, halo->left, halo->right, halo->period, halo->wraps};
}

/* Regions begin at multiples of the period. One that would pass the far edge is moved back until it ends
 * there: its size has to leave it at a multiple. */
bool bands_make(struct bands *bands, const struct side *side, uint32_t region, uint32_t *least)
{
    const uint32_t length = side->length, period = side->period, before = round_up(side->before, period),
                   behind = round_up(side->behind, period), rest = side->wraps ? 0 : length % period;
    *bands = (struct bands){.length = length, .rows = length, .region = length};
    *least = 0;
    if (region >= length)
        return true;
    if (side->wraps && length % period)
        return false;
    const uint64_t smallest = round_up(before + behind + period, period) + (uint64_t)rest;
    *least = smallest < length ? (uint32_t)smallest : length;
    if (region < smallest)
        return false;
    bands->region = region - (region - rest) % period;
    bands->rows = (bands->region - before - behind) / period * period;
    bands->before = before;
    bands->wraps = side->wraps;
    return true;
}

uint32_t bands_count(const struct bands *bands)
{
    return bands->length / bands->rows + (bands->length % bands->rows != 0);
}

struct band bands_at(const struct bands *bands, uint32_t index)
{
    const uint64_t first = (uint64_t)index * bands->rows, left = bands->length - first;
    const int64_t most = (int64_t)bands->length - bands->region;
    int64_t origin = (int64_t)first - bands->before;
    if (!bands->wraps)
        origin = origin < 0 ? 0 : origin > most ? most : origin;
    return (struct band){(uint32_t)first, left < bands->rows ? (uint32_t)left : bands->rows, origin};
}
