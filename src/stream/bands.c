/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/bands.h"

static uint32_t round_up(uint32_t value, uint32_t step)
{
    return (value + step - 1) / step * step;
}

/* Regions begin at multiples of the period. One that would pass the lower edge is moved up until it ends
 * there: its size has to leave it at a multiple. */
bool bands_make(struct bands *bands, uint32_t height, const hone_halo *halo, uint32_t region, uint32_t *least)
{
    const uint32_t period = halo->period, above = round_up(halo->top, period),
                   below = round_up(halo->bottom, period), rest = halo->wraps ? 0 : height % period;
    *bands = (struct bands){.height = height, .rows = height, .region = height};
    *least = 0;
    if (region >= height)
        return true;
    if (halo->wraps && height % period)
        return false;
    const uint64_t smallest = round_up(above + below + period, period) + (uint64_t)rest;
    *least = smallest < height ? (uint32_t)smallest : height;
    if (region < smallest)
        return false;
    bands->region = region - (region - rest) % period;
    bands->rows = (bands->region - above - below) / period * period;
    bands->above = above;
    bands->wraps = halo->wraps;
    return true;
}

uint32_t bands_count(const struct bands *bands)
{
    return bands->height / bands->rows + (bands->height % bands->rows != 0);
}

struct band bands_at(const struct bands *bands, uint32_t index)
{
    const uint64_t first = (uint64_t)index * bands->rows, left = bands->height - first;
    const int64_t most = (int64_t)bands->height - bands->region;
    int64_t origin = (int64_t)first - bands->above;
    if (!bands->wraps)
        origin = origin < 0 ? 0 : origin > most ? most : origin;
    return (struct band){(uint32_t)first, left < bands->rows ? (uint32_t)left : bands->rows, origin};
}
