/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours times alpha; alpha itself goes with the full range. Integers are exact, floats a product in single
 * precision. */
#include "filters/alpha.h"

static double combine(const struct filter_case *c, double value, double weight)
{
    const int64_t from = (int64_t)type_full_scale(c->in.type), to = (int64_t)type_full_scale(c->out.type);
    if (!type_is_integer(c->in.type))
        return (double)((float)(value * weight) * (float)to);
    if (!type_is_integer(c->out.type))
        return value * weight / (double)(from * from);
    return (double)((2 * (int64_t)(value * weight) * to + from * from) / (2 * from * from));
}

REFERENCE(premultiply)
{
    alpha_reference(c, in, out, combine);
}
