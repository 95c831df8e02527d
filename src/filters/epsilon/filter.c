/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"

REFERENCE(epsilon);

/* How many neighbours may be summed before the sum outgrows a pixel: few classes, so that few programs are
 * compiled. */
static int64_t flush_class(int64_t fitting, int64_t side)
{
    static const int64_t classes[] = {31, 16, 9, 5, 3, 2, 1};
    size_t i = 0;
    while (classes[i] > fitting && classes[i] > 1)
        i++;
    return classes[i] < side ? classes[i] : side;
}

/* The bits of a whole number from 1 to 2048 in half precision. */
static int64_t half_bits(int64_t number)
{
    int exponent = 0;
    while (number >> (exponent + 1))
        exponent++;
    return (int64_t)(exponent + 15) << 10 | ((number << 11 >> exponent >> 1) & 0x3ff);
}

/* What the kernels of packed.cl take: the threshold as they compare, and how many neighbours fit a sum in
 * half precision (of three classes), which is exact up to 2048. */
static void set_packed(struct filter_case *c, int64_t side, int64_t threshold)
{
    int64_t fitting = threshold > 0 ? 2048 / threshold : side * side;
    case_set_symbol(c, "HIGH", threshold > 127);
    case_set_symbol(c, "BIAS", (threshold > 127 ? 255 - threshold : 127 - threshold) * 0x01010101);
    case_set_symbol(c, "LIMITS", half_bits(threshold + 1) * 0x00010001);
    case_set_symbol(c, "HALF_FLUSH", fitting >= side * side ? 0 : fitting >= side ? side : 8);
}

static hone_status wrong_threshold(const struct filter_case *c, hone_error *error)
{
    const struct value *threshold = case_value(c, "threshold");
    const char *type = hone_type_name(c->in.type);
    if (threshold->share.given)
        return case_wrong(error, "epsilon: threshold=%g%% does not fit %s pixels; it takes 0%% to 100%%",
                          threshold->share.percent, type);
    return case_wrong(
        error, "epsilon: threshold=%.15g does not fit %s pixels; it takes a whole number from 0 to %.0f",
        threshold->number, type, type_full_scale(c->in.type));
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    double threshold = case_number(c, "threshold"), most = type_full_scale(c->in.type);
    int64_t side = 2 * (int64_t)case_number(c, "radius") + 1;
    if (type_is_integer(c->in.type) && (threshold > most || threshold != (double)(int64_t)threshold))
        return wrong_threshold(c, error);
    /* Of f32, a level is 1/255: the threshold means the same for an image of either format. */
    case_set_real(c, "limit", type_is_integer(c->in.type) ? threshold : (float)(threshold / 255));
    /* The largest number that the vector kernel sums for one neighbour. */
    int64_t span = type_is_integer(c->in.type) ? (int64_t)threshold * 2 + 1 : 1;
    span = span < (int64_t)most ? span : (int64_t)most;
    case_set_symbol(c, "SIDE", side);
    case_set_symbol(c, "FLUSH", flush_class((int64_t)most / (span > 0 ? span : 1), side));
    case_set_symbol(c, "BIG", c->in.type == HONE_U8 && side * side * span > UINT16_MAX);
    case_set_symbol(c, "COLOURS", case_copies_alpha(c) ? 3 : c->in.channels);
    if (c->in.type == HONE_U8)
        set_packed(c, side, (int64_t)threshold);
    return HONE_OK;
}

/* Work-group shapes of kernels with one item per pixel or strip. */
#define GROUP_2D WORK_GROUP("16 8 64", "16 1 4")
/* Those of the guide's tiles, 8x16 and 8x24, and wider ones. */
#define GROUP_TILE WORK_GROUP("8 32", "16 4 24")
#define BRANCHES                                                                                             \
    {                                                                                                        \
        "BRANCHES", TUNABLE_DEFINE, "0 1", "what is far is left out: 1 by `?:`, 0 by arithmetic"             \
    }
#define PIXELS(values)                                                                                       \
    {                                                                                                        \
        "PX", TUNABLE_DEFINE, values, "results per work-item"                                                \
    }
/* Of kernels whose work-items make blocks of results. */
#define BLOCK                                                                                                \
    {"PX", TUNABLE_DEFINE, "8 4 16", "results per work-item, across"},                                       \
        {"ROWS", TUNABLE_DEFINE, "4 2 3 8", "and down"}, WORK_GROUP("32 8 16 64", "4 1 2 8")
/* The guide's kernels are written for 9x9 windows of a plane of bytes. CPUs without half precision round
 * floats after each operation, if their compiler knows _Float16. */
#define GUIDE_ONLY "TYPE == 0 && C == 1 && BORDER == 0 && radius == 4"
#define HALF_KIND  "(HALF || WIDE)"
/* Means of 81 numbers up to 1, added in half precision: the sum's last place is 1/32 from 32 on and 1/16 from
 * 64 on. Half a place for each addition is 1.23 in all, which is 3.9 levels of the mean; the quotient and the
 * pixels' own rounding add less than one. */
#define HALF_BOUND 5
#define TILE_BYTES "(WG_X*PX + 2*roundup(radius*C, 4))*(WG_Y + 2*radius)"

static const struct variant variants[] = {
    {VARIANT("direct", NULL, 0, "buffer", "one pixel per work-item, every pixel of the window read"),
     .brief = true, .tunables = {GROUP_2D},
     .passes = {PASS("epsilon_direct",
                     .arguments = {"in", "out", "W", "H", "radius", "border", "number:limit"})},
     .cost = {"2*C*BITS/8", "SIDE*SIDE*C", "4*SIDE*SIDE*C"}},
    {VARIANT("image", NULL, NEEDS_IMAGES, "image",
             "the same through the texture unit, pixels read as whole numbers"),
     .condition = "C != 3 && (BORDER == 0 || BORDER == 5)", .tunables = {GROUP_2D},
     .passes = {PASS("epsilon_image",
                     .arguments = {"in:uint", "out", "sampler", "W", "H", "radius", "number:limit"})},
     .cost = {"2*C*BITS/8", "SIDE*SIDE + 1", "4*SIDE*SIDE*C"}},
    {VARIANT("unorm", NULL, NEEDS_IMAGES, "image",
             "the guide's first form: pixels read as floats of 0..1, rounded by the texture unit"),
     .condition = "TYPE == 0 && C == 1 && BORDER == 0", .relaxed = true, .bounds = {1},
     /* a mean half-way between two levels may go to either */
     .tunables = {GROUP_2D},
     .passes = {PASS("epsilon_unorm",
                     .arguments = {"in:unorm", "out:unorm", "sampler", "W", "H", "radius", "float:limit"})},
     .cost = {"2", "SIDE*SIDE + 1", "4*SIDE*SIDE"}},
    {VARIANT("unorm_half", NULL, NEEDS_IMAGES, "image",
             "the guide's second form: the same in half precision"),
     .condition = GUIDE_ONLY " && " HALF_KIND, .relaxed = true, .bounds = {HALF_BOUND},
     .tunables = {GROUP_2D}, .defines = {"WITH_HALF=HALF"},
     .passes = {PASS("epsilon_unorm_half",
                     .arguments = {"in:unorm", "out:unorm", "sampler", "W", "H", "radius", "float:limit"})},
     .cost = {"2", "SIDE*SIDE + 1", "4*SIDE*SIDE"}},
    {VARIANT("strips", "ladder.cl", 0, "buffer",
             "4 to 16 results per work-item, a row of their windows read once, no loop along it"),
     .condition = "radius*C <= 32", .align = 16,
     .specialised = "the loop over a row of the window is unrolled",
     .tunables = {PIXELS("4 8 16"), BRANCHES, GROUP_2D}, .defines = {"RADIUS=radius"},
     .passes = {PASS("epsilon_strips", .extent = {"W*C", "H"}, .block = {"PX"},
                     .arguments = {"in", "border", "out", "W", "H", "number:limit"})},
     .cost = {"2*C*BITS/8", "SIDE*C*(PX + 2*radius*C)/4/PX", "4*SIDE*SIDE*C"}},
    {VARIANT("tiles", "ladder.cl", NEEDS_LOCAL, "local", "the same from a tile in local memory"),
     .condition = "TYPE == 0 && C == 1", .align = 16,
     .specialised = "the loop over a row of the window is unrolled",
     .tunables = {PIXELS("4 8"), BRANCHES, GROUP_TILE}, .defines = {"RADIUS=radius"},
     .passes = {PASS("epsilon_tiles", .extent = {"W*C", "H"}, .block = {"PX"},
                     .arguments = {"in", "border", "local:" TILE_BYTES, "out", "W", "H", "number:limit"})},
     .cost = {"2*C*BITS/8", "SIDE*C*(PX + 2*radius*C)/4/PX", "4*SIDE*SIDE*C"}},
    {VARIANT("texels_half", "ladder.cl", NEEDS_IMAGES, "image",
             "the guide's third to sixth form: four pixels in a texel, half precision, 1 to 16 results per "
             "work-item"),
     .condition = GUIDE_ONLY " && W % 4 == 0 && " HALF_KIND, .relaxed = true, .bounds = {HALF_BOUND},
     .specialised = "the loop over a row of the window is unrolled",
     .tunables = {PIXELS("4 1 8 16"), BRANCHES, GROUP_2D}, .defines = {"RADIUS=radius", "WITH_HALF=HALF"},
     .passes = {PASS("epsilon_texels_half", .block = {"PX"},
                     .arguments = {"in:packed", "sampler", "out", "W", "H", "float:limit"})},
     .cost = {"2", "SIDE*(ceildiv(PX, 4) + 2)/PX", "4*SIDE*SIDE"}},
    {VARIANT("tiles_half", "ladder.cl", NEEDS_IMAGES | NEEDS_LOCAL, "local",
             "the same from a tile in local memory"),
     .condition = GUIDE_ONLY " && W % 4 == 0 && " HALF_KIND, .relaxed = true, .bounds = {HALF_BOUND},
     .specialised = "the loop over a row of the window is unrolled",
     .tunables = {PIXELS("4 8"), BRANCHES, GROUP_TILE}, .defines = {"RADIUS=radius", "WITH_HALF=HALF"},
     .passes = {PASS(
         "epsilon_tiles_half", .block = {"PX"},
         .arguments = {"in:packed", "sampler", "local:" TILE_BYTES "*2", "out", "W", "H", "float:limit"})},
     .cost = {"2", "SIDE*(PX/4 + 2)/PX", "4*SIDE*SIDE"}},
    {VARIANT("bytes", "packed.cl", 0, "packed",
             "four neighbours in a register, compared at once and summed by dot products of bytes"),
     .condition = "TYPE == 0", .align = 16,
     .specialised =
         "the loop over a row of the window is unrolled, and thresholds from 128 on are compared in "
         "another form",
     .tunables = {BLOCK}, .constraints = {"PX*ROWS <= 32"},
     .defines = {"RADIUS=radius", "HIGH=HIGH", "WITH_PTX=PTX"},
     .passes = {PASS("epsilon_bytes", .extent = {"ceildiv(W, PX)*COLOURS", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "BIAS"})},
     .cost = {"2*C", "C*C*(SIDE + ROWS - 1)*(PX + 2*radius)/4/PX/ROWS", "C*(6*ceildiv(SIDE*SIDE, 4) + 16)"}},
    {VARIANT("halves", "packed.cl", 0, "packed",
             "one neighbour of two pixels in a register, as half precision numbers, exact"),
     .condition = "TYPE == 0 && " HALF_KIND, .align = 16,
     .specialised = "the loop over a row of the window is unrolled, and the threshold's class sets how often "
                    "sums leave half precision",
     .tunables = {BLOCK}, .constraints = {"PX*ROWS <= 32"},
     .defines = {"RADIUS=radius", "FLUSH=HALF_FLUSH", "WITH_PTX=PTX", "WITH_HALF=HALF"},
     .passes = {PASS("epsilon_halves", .extent = {"ceildiv(W, PX)*COLOURS", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "LIMITS"})},
     .cost = {"2*C", "C*C*(SIDE + ROWS - 1)*(PX + 2*radius)/4/PX/ROWS", "C*(2*SIDE*SIDE + 16)"}},
    {VARIANT("shorts", "packed.cl", 0, "packed",
             "u16: two neighbours in a register, what is far cut off at the limit"),
     .condition = "TYPE == 1", .align = 16, .specialised = "the loop over a row of the window is unrolled",
     .tunables = {BLOCK}, .constraints = {"PX*ROWS <= 32"},
     .defines = {"RADIUS=radius", "WITH_PTX=PTX", "WITH_DPX=SM >= 90"},
     .passes = {PASS("epsilon_shorts", .extent = {"ceildiv(W, PX)*COLOURS", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "number:limit"})},
     .cost = {"4*C", "C*(SIDE + ROWS - 1)*(PX + 2*radius)/2/PX/ROWS", "C*(4*ceildiv(SIDE*SIDE, 2) + 24)"}},
    {VARIANT("floats", "packed.cl", 0, "packed",
             "f32: what is near is added, to sum and count, by instructions that a comparison switches"),
     .condition = "TYPE == 2", .specialised = "the loop over a row of the window is unrolled",
     .tunables = {{"PX", TUNABLE_DEFINE, "4 2 1 8", "results per work-item, across"},
                  {"ROWS", TUNABLE_DEFINE, "4 2 8", "and down"},
                  WORK_GROUP("32 8 16 64", "4 1 2 8")},
     .defines = {"RADIUS=radius", "WITH_PTX=PTX"},
     .passes = {PASS("epsilon_floats", .extent = {"ceildiv(W, PX)*COLOURS", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "number:limit"})},
     .cost = {"8*C", "C*(SIDE + ROWS - 1)*(PX + 2*radius)/PX/ROWS", "4*SIDE*SIDE*C"}},
    {VARIANT("symmetric", "symmetric.cl", 0, "buffer",
             "each pair of pixels of a strip compared once for both, sums of rows to come in registers"),
     .condition = "TYPE == 0 && C == 1 && radius <= 5",
     .specialised = "the loops over pairs are unrolled, and the radius sets how many rows of sums are kept",
     .tunables = {{"PX", TUNABLE_DEFINE, "8 4", "results per work-item, across"},
                  {"ROWS", TUNABLE_DEFINE, "32 8", "and down"},
                  {"WG_X", TUNABLE_LAUNCH, "32 8 64", "work-group width"}},
     .defines = {"RADIUS=radius"},
     .passes = {PASS("epsilon_symmetric", .block = {"PX", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "number:limit"})},
     .cost = {"2", "(radius + 1)*(PX + 2*radius)/PX*(ROWS + radius)/ROWS", "3*SIDE*SIDE"}},
    {VARIANT(
         "vectors", "cpu.cl", NEEDS_WIDE, "wide",
         "CPU: rows by vectors, five operations per neighbour and no comparison; fewer where areas are even"),
     .specialised = "the loop over a row of the window is unrolled, and the threshold's class sets how often "
                    "sums are widened",
     .tunables = {{"STRIPS", TUNABLE_DEFINE, "256 64 32 16", "pieces of 64 bytes of a row per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "8 4 16 32 64", "rows per work-item"}},
     .defines = {"RADIUS=radius", "FLUSH=FLUSH", "BIG=BIG"},
     .passes = {PASS("epsilon_vectors", .extent = {"ceildiv(W*C*BITS, 512)", "H"},
                     .block = {"STRIPS", "ROWS"}, .local = {"1", "1"},
                     .arguments = {"in", "out", "W", "H", "border", "number:limit"})},
     .cost = {"2*C*BITS/8", "SIDE*SIDE*C*BITS/512", "4*SIDE*SIDE*C"}},
};

static const struct seed seeds[] = {
    {"WIDE && H < 64*CU", "vectors", "ROWS=4"},
    {"WIDE", "vectors", ""},
    {"PTX && TYPE == 0 && (C == 2 || C == 3)", "bytes", "PX=8 ROWS=3 WG_X=32 WG_Y=2"},
    {"PTX && TYPE == 0", "bytes", "PX=8 ROWS=2 WG_X=8 WG_Y=8"},
    {"PTX && TYPE == 0", "halves", "PX=8 ROWS=4 WG_X=32 WG_Y=4"},
    {"SM >= 90 && TYPE == 1", "shorts", "PX=4 ROWS=2 WG_X=8 WG_Y=8"},
    {"GPU && HALF && TYPE == 0 && C == 1", "halves", "PX=8 ROWS=2 WG_X=32 WG_Y=4"},
    {"PTX && TYPE == 2", "floats", "PX=4 ROWS=4 WG_X=32 WG_Y=4"},
    {"GPU && radius*C <= 32", "strips", "PX=4 WG_X=16 WG_Y=16"},
    {"GPU && TYPE == 0 && C == 1", "tiles", "PX=4 WG_X=8 WG_Y=16"},
    {"GPU", "image", ""},
    {"CPU && radius <= 32 && C == 1", "strips", "PX=4 BRANCHES=0 WG_X=8 WG_Y=4"},
    {"CPU && radius*C <= 32", "strips", "PX=16 WG_X=8 WG_Y=1"},
    {NULL, "direct", ""},
};

#define TABLE "guide 9.2, table 9-2"
static const struct rung rungs[] = {
    {"1", "one pixel per work-item, image CL_R | CL_UNORM_INT8, float", "unorm", "", TABLE},
    {"2", "half arithmetic", "unorm_half", "", TABLE},
    {"3", "CL_RGBA texels of four pixels, one result per work-item", "texels_half", "PX=1 BRANCHES=1", TABLE},
    {"4", "four results per work-item (half4), unrolled, sliding", "texels_half", "PX=4 BRANCHES=1", TABLE},
    {"5", "eight results per work-item", "texels_half", "PX=8 BRANCHES=1", TABLE},
    {"6", "sixteen results per work-item", "texels_half", "PX=16 BRANCHES=1", TABLE},
    {"4-1", "local memory, work-group 8x16", "tiles_half", "PX=4 BRANCHES=1 WG_X=8 WG_Y=16", TABLE},
    {"4-1-1", "local memory, work-group 8x24", "tiles_half", "PX=4 BRANCHES=1 WG_X=8 WG_Y=24", TABLE},
    {"4-1-2", "local memory, work-group 8x24, no branches", "tiles_half", "PX=4 BRANCHES=0 WG_X=8 WG_Y=24",
     TABLE},
    {"4-2", "rung 4 without branches", "texels_half", "PX=4 BRANCHES=0", TABLE},
    {"1-exact", "rung 1 with pixels read as whole numbers", "image", "", TABLE ", made exact"},
    {"1-buffer", "rung 1 by buffer", "direct", "", TABLE ", made exact, without images"},
    {"4-exact", "rung 4 by buffer, whole numbers", "strips", "PX=4 BRANCHES=1", TABLE ", made exact"},
    {"5-exact", "rung 5 by buffer, whole numbers", "strips", "PX=8 BRANCHES=1", TABLE ", made exact"},
    {"6-exact", "rung 6 by buffer, whole numbers", "strips", "PX=16 BRANCHES=1", TABLE ", made exact"},
    {"4-1-exact", "rung 4-1 by buffer, whole numbers", "tiles", "PX=4 BRANCHES=1 WG_X=8 WG_Y=16",
     TABLE ", made exact"},
    {"4-1-1-exact", "rung 4-1-1 by buffer, whole numbers", "tiles", "PX=4 BRANCHES=1 WG_X=8 WG_Y=24",
     TABLE ", made exact"},
    {"4-1-2-exact", "rung 4-1-2 by buffer, whole numbers", "tiles", "PX=4 BRANCHES=0 WG_X=8 WG_Y=24",
     TABLE ", made exact"},
    {"4-2-exact", "rung 4-2 by buffer, whole numbers", "strips", "PX=4 BRANCHES=0", TABLE ", made exact"},
    {"half2", "two pixels in a register, half precision, exact", "halves", "", "hone"},
    {"packed", "four neighbours in a register", "bytes", "", "hone"},
    {"packed16", "two neighbours of u16 in a register", "shorts", "", "hone"},
    {"switched", "f32: comparisons switch additions", "floats", "", "hone"},
    {"pairs", "each pair of pixels compared once", "symmetric", "", "hone"},
    {"wide", "whole vectors; even areas by sums of columns", "vectors", "", "hone"},
};

/* What tests and the doctor try. */
static const char *const trials[] = {"", "radius=1 threshold=0", "radius=7 threshold=200", NULL};

static const char *const ahead[] = {"threshold=4", "threshold=30", "threshold=60", "radius=1",
                                    "radius=2",    "radius=3",     "radius=5",     NULL};

const struct hone_filter hone_filter_epsilon = {
    FILTER("epsilon", "edge-preserving mean: averages the pixels of a window that are close to its centre",
           "guide 9.2", TYPES_ALL, CHANNELS_ALL, 1),
    .spatial = true, .window = {"radius", "radius", "radius", "radius"},
    .parameters = {NUMBER_PARAMETER("radius", PARAMETER_INTEGER, "4", 1, 15, "pixels",
                                    "the window has 2 * radius + 1 pixels per side"),
                   NUMBER_PARAMETER("threshold", PARAMETER_REAL, "16", 0, 65535, "levels",
                                    "largest accepted difference from the centre; for f32 in units of 1/255",
                                    .incidental = true, .f32_full = 255)},
    .symbols = {"SIDE", "FLUSH", "BIG", "HIGH", "BIAS", "LIMITS", "HALF_FLUSH", "COLOURS"},
    .reals = {"limit"}, .prepare = prepare,
    .examples = {{"less noise, and edges stay", "'epsilon radius=4 threshold=8%' photo.jpg -o clean.jpg"},
                 {"edges without noise", "'epsilon radius=2 | sobel' photo.jpg -o edges.png"}},
    .reference = epsilon_reference,
    /* Integers: exact. Floats: a sum of at most 961 terms that lie within the threshold of each other. */
    .bounds = {0, 0, 1e-5}, TABLES(variants, seeds, rungs), .trials = trials, .ahead = ahead};
