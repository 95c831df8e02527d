/* SPDX-License-Identifier: BSD-2-Clause */
/* The weights as kernels read them. */
#include "filters/convolve/convolve.h"

#include <string.h>

static bool is_float(const struct filter_case *c)
{
    return !type_is_integer(c->in.type);
}

/* Row by row, as int or (for f32, or where floats hold the sums) as float. */
static void fill_plain(const struct filter_case *c, bool as_float, void *table)
{
    const struct weights *w = c->data;
    int32_t *whole = table;
    float *real = table;
    for (int i = 0; i < w->width * w->height; i++)
        if (as_float)
            real[i] = is_float(c) ? (float)w->real[i] : (float)w->whole[i];
        else
            whole[i] = w->whole[i];
}

/* The row, then the column. */
static void fill_factors(const struct filter_case *c, void *table)
{
    const struct weights *w = c->data;
    int32_t *whole = table;
    float *real = table;
    for (int i = 0; i < w->width + w->height; i++) {
        int32_t factor = i < w->width ? w->across[i] : w->down[i - w->width];
        if (is_float(c))
            real[i] = (float)(i < w->width ? factor : factor / w->denominator);
        else
            whole[i] = factor;
    }
}

/* Four weights of a row to a word, the first in its lowest byte. */
static void fill_bytes(const struct filter_case *c, uint32_t *table)
{
    const struct weights *w = c->data;
    int groups = (w->width + 3) / 4;
    for (int j = 0; j < w->height; j++)
        for (int i = 0; i < w->width; i++)
            table[j * groups + i / 4] |= (uint32_t)(uint8_t)w->whole[j * w->width + i] << 8 * (i % 4);
}

void convolve_table(const struct filter_case *c, int index, void *table, size_t bytes)
{
    memset(table, 0, bytes);
    if (index == 0)
        fill_plain(c, is_float(c), table);
    else if (index == 1)
        fill_plain(c, is_float(c) || case_symbol(c, "SUM24"), table);
    else if (index == 2)
        fill_factors(c, table);
    else
        fill_bytes(c, table);
}
