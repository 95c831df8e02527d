/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"

REFERENCE(gray);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    c->out.channels = 1;
    return HONE_OK;
}

#define COST_BYTES "(C+1)*BITS/8"
#define OPERATIONS "C == 1 ? 0 : BITS == 16 ? 9 : FLOAT ? 5 : 7"

static const struct variant variants[] = {
    {VARIANT("pixels", NULL, 0, "buffer", "one pixel per work-item"),
     .tunables = {WORK_GROUP("64 16 32 128", "1 2 4")}, .defines = {"WEIGHTS=weights"},
     .passes = {PASS("gray_pixels", .arguments = {"in", "out", "W", "H"})},
     .cost = {COST_BYTES, "C == 1 ? 1 : 3", OPERATIONS}},
    {VARIANT("stretches", NULL, 0, "wide", "stretches of rows per work-item, sixteen pixels at a time"),
     .tunables = {{"VECTORS", TUNABLE_DEFINE, "64 1 16 256", "vectors of the result per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "1 4 16", "rows per work-item"},
                  {"WG_X", TUNABLE_LAUNCH, "1 16 64", "work-group width"}},
     .defines = {"WEIGHTS=weights", "LANES=16"},
     .passes = {PASS("gray_stretches", .block = {"16*VECTORS", "ROWS"},
                     .arguments = {"in", "out", "W", "H"})},
     .cost = {COST_BYTES, "C/16", OPERATIONS}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: colours, those of integers in products of 16 bits"),
     .tunables = {{"COLUMNS", TUNABLE_DEFINE, "8192 2048 512", "pixels of a row per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "16 1 4 64", "rows per work-item"},
                  {"STREAM", TUNABLE_DEFINE, "0 1", "results go past the caches"}},
     .defines = {"WEIGHTS=weights"},
     .passes = {PASS("gray_vectors", .block = {"COLUMNS", "ROWS"}, .local = {"1", "1"},
                     .arguments = {"in", "out", "W", "H"})},
     .cost = {COST_BYTES, "C*BITS/128", OPERATIONS}},
    {VARIANT("blocks", NULL, 0, "packed", "GPU: four or sixteen pixels of several rows per work-item"),
     .align = 16,
     .tunables = {{"LANES", TUNABLE_DEFINE, "4 16", "pixels at a time"},
                  {"ROWS", TUNABLE_DEFINE, "1 2 4 8", "rows per work-item"},
                  {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width"}},
     /* Wider vectors would have to be aligned to more than 16 bytes. */
     .constraints = {"LANES == 4 || BITS == 8"}, .defines = {"WEIGHTS=weights"},
     .passes = {PASS("gray_blocks", .block = {"LANES", "ROWS"}, .arguments = {"in", "out", "W", "H"})},
     .cost = {COST_BYTES, "C/4", OPERATIONS}},
};

/* Results that the caches (here: 32 MB) hold beside what is read are worth keeping for whoever reads them. A
 * copy keeps more than means do. */
#define LARGE "(C == 1 ? W*H*BITS/8 > 20971520 : (C + 1)*W*H*BITS/8 > 16777216)"

static const struct seed seeds[] = {
    {"GPU && BITS == 8 && C == 4", "blocks", "LANES=4 ROWS=2 WG_X=128"},
    {"GPU && BITS == 8", "blocks", "LANES=16 WG_X=64"},
    {"GPU", "blocks", "LANES=4 WG_X=128"},
    /* Of rows longer than a piece, one piece after the other, as memory is fetched ahead. */
    {"WIDE && W > 8192 && " LARGE, "vectors", "ROWS=1 STREAM=1"},
    {"WIDE && W > 8192", "vectors", "ROWS=1"},
    {"WIDE && " LARGE, "vectors", "STREAM=1"},
    {"WIDE", "vectors", ""},
    {NULL, "stretches", ""},
};

static const char *const trials[] = {"", "weights=bt709", "weights=average", NULL};

static const char *const ahead[] = {"weights=bt709", NULL};

const struct hone_filter hone_filter_gray = {
    FILTER("gray", "one channel of red, green and blue: luma, or their mean; alpha is dropped",
           "ITU-R BT.601 and BT.709", TYPES_ALL | TYPE_S16, CHANNELS_1 | CHANNELS_3 | CHANNELS_4, 1),
    .parameters = {CHOICE_PARAMETER(
        "weights", "bt601", "bt601|bt709|average",
        "what red, green and blue count: luma by BT.601 or BT.709, or a third each")},
    .prepare = prepare,
    .examples = {{"a photograph without its colours", "'gray' photo.jpg -o gray.jpg"},
                 {"the brightness of a photograph as colours",
                  "'gray weights=bt709 | colormap map=magma' photo.jpg -o heat.png"}},
    .reference = gray_reference,
    /* Integers: exact. Floats: weights, products and two sums, each rounded once: 4 * 2^-24. */
    .bounds = {0, 0, 2.5e-7}, VARIANTS(variants), SEEDS(seeds), .trials = trials, .ahead = ahead};
