/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of all pixels up to and with (x, y), each channel alone. */
#include "filter/filter.h"

#include <stdlib.h>

/* Whole numbers modulo 2^32; double precision holds every such sum of whole numbers. */
static double wrapped(const struct filter_case *c, double sum)
{
    return c->out.type == HONE_U32 ? (double)(uint32_t)(uint64_t)sum : sum;
}

/* One channel: the sum along the row so far, and what is above. */
static void integrate(const struct filter_case *c, const struct view *in, struct view *out, uint32_t channel,
                      double *above)
{
    for (int64_t x = 0; x < c->in.width; x++)
        above[x] = 0;
    for (int64_t y = 0; y < c->in.height; y++) {
        double row = 0;
        for (int64_t x = 0; x < c->in.width; x++) {
            row += view_get(in, x, y, channel);
            above[x] += row;
            view_set(out, x, y, channel, wrapped(c, above[x]));
        }
    }
}

REFERENCE(integral)
{
    double *above = malloc(c->in.width * sizeof *above);
    for (uint32_t channel = 0; channel < c->in.channels && above; channel++)
        integrate(c, in, out, channel, above);
    free(above);
}
