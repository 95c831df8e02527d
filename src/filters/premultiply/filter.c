/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/premultiply/premultiply.h"

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    const int type = (int)case_number(c, "type"); /* same, then as hone_type counts */
    (void)error;
    c->out.type = type ? (hone_type)(type - 1) : c->in.type;
    return HONE_OK;
}

#define ROW_TUNABLE                                                                                          \
    {                                                                                                        \
        "ROWS", TUNABLE_DEFINE, "1 4 16", "rows per work-item"                                               \
    }
#define COST_BYTES "C*(BITS/8 + (OTYPE == 2 ? 4 : OTYPE + 1))"

static const struct variant variants[] = {
    {.name = "stretches",
     .summary = "stretches of rows per work-item, sixteen elements at a time",
     .path = "buffer",
     .tunables = {{"VECTORS", TUNABLE_DEFINE, "64 1 16 256", "vectors of a row per work-item"},
                  ROW_TUNABLE,
                  {"WG_X", TUNABLE_LAUNCH, "1 16 64", "work-group width"}},
     .defines = {"LANES=16"},
     .passes = {{.kernel = "premultiply_stretches",
                 .extent = {"ceildiv(W*C, 16)", "H"},
                 .block = {"VECTORS", "ROWS"},
                 .local = {"WG_X", "1"},
                 .arguments = {"in", "out", "W*C", "H"}}},
     .cost = {COST_BYTES, "C/16", "FLOAT ? C : 4*C"}},
    {.name = "quads",
     .summary = "GPU: four elements of several rows per work-item",
     .path = "wide",
     .align = 16,
     .tunables = {ROW_TUNABLE, {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width"}},
     .defines = {"LANES=4"},
     .passes = {{.kernel = "premultiply_quads",
                 .extent = {"ceildiv(W*C, 4)", "H"},
                 .block = {"1", "ROWS"},
                 .local = {"WG_X", "1"},
                 .arguments = {"in", "out", "W*C", "H"}}},
     .cost = {COST_BYTES, "C/4", "FLOAT ? C : 4*C"}},
};

static const struct seed seeds[] = {
    {"GPU", "quads", "ROWS=1 WG_X=128"},
    {NULL, "stretches", ""},
};

static const char *const trials[] = {"", "type=u16", "type=u8", "type=f32", NULL};

const struct hone_filter hone_filter_premultiply = {
    .name = "premultiply",
    .summary = "colours multiplied by alpha",
    .origin = "hone",
    .types = TYPES_ALL,
    .channels = CHANNELS_2 | CHANNELS_4,
    .inputs = 1,
    .parameters = {{.name = "type",
                    .kind = PARAMETER_CHOICE,
                    .fallback = "same",
                    .choices = "same|u8|u16|f32",
                    .help =
                        "the result's format, each full range scaled to the other; same: that of the input"}},
    .prepare = prepare,
    .examples = {{"colours weighed by alpha, with 16 bits for those of 8",
                  "'premultiply type=u16' logo.png -o weighed.png"},
                 {"a blur in which hidden colours stay hidden",
                  "'premultiply type=u16 | box alpha=filter | unpremultiply type=u8' logo.png -o soft.png"}},
    .reference = premultiply_reference,
    /* Integers of integers are exact. Floats of u8: a division in single precision of a whole number, 2.5 ulp; of
       u16 that number is rounded before. Of f32: a product, rounded once, except that a device may take
       denormals for 0. */
    .bounds = {3e-7, 3e-7, 6e-8},
    .variants = variants,
    .variant_count = COUNT_OF(variants),
    .seeds = seeds,
    .seed_count = COUNT_OF(seeds),
    .trials = trials,
};
