/* SPDX-License-Identifier: BSD-2-Clause */
/* Each missing colour is a weighted sum over 5x5 samples, in sixteenths, rounded half up and saturated. */
#include "filters/demosaic/demosaic.h"

enum { SIDE = 5, REACH = 2 };

typedef int mask[SIDE][SIDE];

/* What is missing: nothing; green where red or blue is; the colour of the row's, or of the column's
 * neighbours at a green sample; the colour of the diagonal neighbours. */
enum missing { OWN, GREEN, ACROSS, DOWN, DIAGONAL, MISSING_COUNT };

static const mask bilinear[MISSING_COUNT] = {
    [OWN] = {{0}, {0}, {0, 0, 16, 0, 0}},
    [GREEN] = {{0}, {0, 0, 4, 0, 0}, {0, 4, 0, 4, 0}, {0, 0, 4, 0, 0}},
    [ACROSS] = {{0}, {0}, {0, 8, 0, 8, 0}},
    [DOWN] = {{0}, {0, 0, 8, 0, 0}, {0}, {0, 0, 8, 0, 0}},
    [DIAGONAL] = {{0}, {0, 4, 0, 4, 0}, {0}, {0, 4, 0, 4, 0}},
};

/* Malvar, He and Cutler 2004, figure 2, whose eighths are doubled here. */
static const mask malvar[MISSING_COUNT] = {
    [OWN] = {{0}, {0}, {0, 0, 16, 0, 0}},
    [GREEN] = {{0, 0, -2, 0, 0}, {0, 0, 4, 0, 0}, {-2, 4, 8, 4, -2}, {0, 0, 4, 0, 0}, {0, 0, -2, 0, 0}},
    [ACROSS] = {{0, 0, 1, 0, 0}, {0, -2, 0, -2, 0}, {-2, 8, 10, 8, -2}, {0, -2, 0, -2, 0}, {0, 0, 1, 0, 0}},
    [DOWN] = {{0, 0, -2, 0, 0}, {0, -2, 8, -2, 0}, {1, 0, 10, 0, 1}, {0, -2, 8, -2, 0}, {0, 0, -2, 0, 0}},
    [DIAGONAL] = {{0, 0, -3, 0, 0}, {0, 4, 0, 4, 0}, {-3, 0, 12, 0, -3}, {0, 4, 0, 4, 0}, {0, 0, -3, 0, 0}},
};

/* For the four samples of a pattern (column and row away from red), what red, green and blue are made of. */
static const enum missing made_of[2][2][3] = {{{OWN, GREEN, DIAGONAL}, {ACROSS, OWN, DOWN}},
                                              {{DOWN, OWN, ACROSS}, {DIAGONAL, GREEN, OWN}}};

/* Where a sample outside is read: at one of the same colour. reflect101 keeps columns' and rows' colours by
 * itself; the other rules hold for every second sample on its own. A side of one sample has nothing of the
 * other colour. */
static int64_t fold(hone_border border, int64_t at, int64_t size)
{
    int64_t phase = at & 1, own = (size + 1 - phase) / 2;
    if (border == HONE_BORDER_REFLECT101 || (at >= 0 && at < size))
        return border_index(border, at, size);
    if (border == HONE_BORDER_CONSTANT || own == 0)
        return border == HONE_BORDER_CONSTANT ? -1 : 0;
    return 2 * border_index(border, (at - phase) / 2, own) + phase;
}

static int sample(const struct filter_case *c, const struct view *in, int64_t x, int64_t y)
{
    int64_t column = fold(c->border, x, c->in.width), row = fold(c->border, y, c->in.height);
    return (int)(column < 0 || row < 0 ? c->border_value : view_get(in, column, row, 0));
}

static double weighted(const struct filter_case *c, const struct view *in, int64_t x, int64_t y,
                       const mask weights)
{
    int sum = 8;
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            if (weights[j][i] != 0)
                sum += weights[j][i] * sample(c, in, x + i - REACH, y + j - REACH);
    return sum < 0 ? 0 : sum / 16; /* view_set saturates at the other end */
}

REFERENCE(demosaic)
{
    bool better = (int)case_number(c, "method") == METHOD_MALVAR;
    int64_t reach = better ? 2 : 1, red_x = case_symbol(c, RED_X_SYMBOL),
            red_y = case_symbol(c, RED_Y_SYMBOL);
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++) {
            bool nothing = c->border == HONE_BORDER_ZERO_OUTSIDE &&
                           view_window_leaves(&c->in, x, y, reach, reach, reach, reach);
            const enum missing *colors = made_of[(y ^ red_y) & 1][(x ^ red_x) & 1];
            for (uint32_t channel = 0; channel < 3; channel++)
                view_set(out, x, y, channel,
                         nothing ? 0 : weighted(c, in, x, y, (better ? malvar : bilinear)[colors[channel]]));
        }
}
