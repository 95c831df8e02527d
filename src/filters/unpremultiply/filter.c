/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/alpha.h"

REFERENCE(unpremultiply);

static const struct variant variants[] = ALPHA_VARIANTS("unpremultiply", "FLOAT ? 5*C : 9*C");

const struct hone_filter hone_filter_unpremultiply = {
    .name = "unpremultiply",
    .summary = "colours divided by alpha, as before premultiply",
    ALPHA_FILTER,
    .examples = {{"a picture whose colours were multiplied by alpha",
                  "unpremultiply rendered.png -o straight.png"},
                 {"a blur in which hidden colours stay hidden",
                  "'premultiply type=u16 | box alpha=filter | unpremultiply type=u8' logo.png -o soft.png"}},
    .reference = unpremultiply_reference,
    /* Integers of integers are exact. Floats of integers: a division in single precision, 2.5 ulp. Of f32:
       the quotient rounded once, except that a device may take denormals for 0. */
    .bounds = {3e-7, 3e-7, 6e-8},
    .exact_integers = true,
    VARIANTS(variants),
};
