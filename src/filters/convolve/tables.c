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

/* A weight, none outside of the kernel. */
static uint32_t byte_at(const struct weights *w, int row, int column)
{
    return row < 0 || row >= w->height ? 0 : (uint8_t)w->whole[row * w->width + column];
}

/* Each weight and the one below it, twice in a word; first those of the row above the kernel's first. */
static void fill_woven(const struct filter_case *c, uint32_t *table)
{
    const struct weights *w = c->data;
    for (int j = 0; j <= w->height; j++)
        for (int i = 0; i < w->width; i++)
            table[j * w->width + i] = (byte_at(w, j - 1, i) | byte_at(w, j, i) << 8) * 0x10001;
}

/* Two weights of a row to a word, the first in its lower half. */
static void fill_shorts(const struct filter_case *c, uint32_t *table)
{
    const struct weights *w = c->data;
    int groups = (w->width + 1) / 2;
    for (int j = 0; j < w->height; j++)
        for (int i = 0; i < w->width; i++)
            table[j * groups + i / 2] |= (uint32_t)(uint16_t)w->whole[j * w->width + i] << 16 * (i % 2);
}

/* A limb of what element `from` of a row of the products gives to result `to` of a tile, where neighbours are
 * `channels` apart. */
static uint32_t limb_at(const struct filter_case *c, const int32_t *row, int channels, int limb, int from,
                        int to)
{
    const struct weights *w = c->data;
    int before = (w->left * channels + 3) / 4 * 4;
    int distance = from - before - to + w->left * channels;
    if (distance < 0 || distance % channels || distance / channels >= w->width)
        return 0;
    int32_t weight = row[distance / channels];
    int32_t upper = (weight + 128) >> 8; /* so that the lower limb fits a signed byte */
    if (case_symbol(c, "LIMBS") == 1)
        return (uint8_t)weight;
    return (uint8_t)(limb ? upper : weight - 256 * upper);
}

/* As lanes of matrix.cl want them: for each row, limb and depth of 32 four words of each lane. Lane 4 * g + p
 * has of column g bytes 4 * p ... and 16 further, first of results 0, 1, 4, 5 ... of a tile, then of 2, 3, 6,
 * 7 ... */
static void fill_matrix(const struct filter_case *c, int channels, uint32_t *table)
{
    const struct weights *w = c->data;
    int limbs = (int)case_symbol(c, "LIMBS");
    int depth = (16 + (w->left * channels + 3) / 4 * 4 + (w->width - 1 - w->left) * channels + 31) / 32;
    for (int i = 0; i < w->height * limbs * depth * 128; i++) {
        int word = i % 4, lane = i / 4 % 32, block = i / 128 % depth;
        int limb = i / 128 / depth % limbs, row = i / 128 / depth / limbs;
        int column = lane / 4, to = 4 * (column / 2) + column % 2 + 2 * (word / 2);
        int from = 32 * block + 4 * (lane % 4) + 16 * (word % 2);
        table[i] = 0;
        for (int k = 0; k < 4; k++)
            table[i] |= limb_at(c, w->whole + row * w->width, channels, limb, from + k, to) << 8 * k;
    }
}

void convolve_table(const struct filter_case *c, int index, void *table, size_t bytes)
{
    memset(table, 0, bytes);
    if (index == 0)
        fill_plain(c, is_float(c), table);
    else if (index == 6 && case_symbol(c, "SHORTS"))
        fill_shorts(c, table);
    else if (index == 1 || index == 6)
        fill_plain(c, is_float(c) || case_symbol(c, "SUM24"), table);
    else if (index == 2)
        fill_factors(c, table);
    else if (index == 3)
        fill_bytes(c, table);
    else if (index == 7)
        fill_woven(c, table);
    else
        fill_matrix(c, index == 4 ? (int)c->in.channels : 1, table);
}
