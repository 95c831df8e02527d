/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/alpha.h"

REFERENCE(premultiply);

static const struct variant variants[] = ALPHA_VARIANTS("premultiply", "FLOAT ? C : 4*C");

const struct hone_filter hone_filter_premultiply = {
    .name = "premultiply",
    .summary = "colours multiplied by alpha",
    ALPHA_FILTER,
    .examples = {{"colours weighed by alpha, with 16 bits for those of 8",
                  "'premultiply type=u16' logo.png -o weighed.png"},
                 {"a blur in which hidden colours stay hidden",
                  "'premultiply type=u16 | box alpha=filter | unpremultiply type=u8' logo.png -o soft.png"}},
    .reference = premultiply_reference,
    /* Integers of integers are exact. Floats of u8: a division in single precision of a whole number, 2.5
       ulp; of u16 that number is rounded before. Of f32: a product, rounded once, except that a device may
       take denormals for 0. */
    .bounds = {3e-7, 3e-7, 6e-8},
    .exact_integers = true,
    VARIANTS(variants),
};
