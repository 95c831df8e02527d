/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by alpha; alpha itself goes with the full range. Of alpha 0 colours are 0. Integers are exact and
 * at most the full range, floats a quotient in single precision. */
#include "filters/alpha.h"

#include <math.h>

static double combine(const struct filter_case *c, double value, double weight)
{
    const double full = type_full_scale(c->out.type);
    if (weight == 0)
        return 0;
    if (!type_is_integer(c->in.type))
        return (double)((float)(value / weight) * (float)full);
    value = fmin(value, weight);
    if (!type_is_integer(c->out.type))
        return value / weight;
    return (double)((2 * (int64_t)(value * full) + (int64_t)weight) / (2 * (int64_t)weight));
}

REFERENCE(unpremultiply)
{
    alpha_reference(c, in, out, combine);
}
