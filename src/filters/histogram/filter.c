/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/histogram/histogram.h"

#include <float.h>
#include <math.h>
#include <string.h>

REFERENCE(histogram);

enum {
    OUTPUT_TABLE,
    OUTPUT_PICTURE,
    OUTPUT_FULL,
    OUTSIDE = 3,            /* below, above, NaN */
    EDGES_AND_DIVISION = 3, /* words beyond one for each bin: the last edge, and see quick_division() */
};

/* The range of a format; the end of integers is the first number beyond them. */
static double format_end(hone_type type)
{
    return type_is_integer(type) ? type_full_scale(type) + 1 : 1;
}

static double least_of(const struct filter_case *c)
{
    const struct value *least = case_value(c, "min");
    return least->given ? least->number : c->in.type == HONE_S16 ? -format_end(HONE_S16) : 0;
}

static double most_of(const struct filter_case *c)
{
    const struct value *most = case_value(c, "max");
    return most->given ? most->number : format_end(c->in.type);
}

/*
 * How far, in bins, the place of a value that kernels compute from `origin` and `scale` may be from the true
 * one: each of the two, their difference and product are rounded by 2^-24, and a device may take numbers
 * below 1.2e-38 for 0. Doubled, and 1 where that is no use or floats cannot hold the numbers.
 */
static double place_margin(double least, double most, double bins)
{
    const double range = most - least, scale = bins / range;
    const double margin = 2 * (3 * bins * 0x1p-24 + scale * (fabs(least) * 0x1p-24 + 1.2e-38));
    return range <= FLT_MAX && scale <= FLT_MAX && margin < 0.25 ? margin : 1;
}

double histogram_edge(const struct filter_case *c, int64_t index)
{
    const double least = least_of(c), most = most_of(c), bins = case_number(c, "bins");
    return (double)index < bins ? fmin(least + (most - least) * (double)index / bins, most) : most;
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    const int output = (int)case_number(c, "output");
    const double least = least_of(c), most = most_of(c), bins = case_number(c, "bins");
    if (!(least < most))
        return case_wrong(error, "histogram: min=%.15g is not less than max=%.15g", least, most);
    c->out.width = (uint32_t)bins + (output == OUTPUT_FULL ? OUTSIDE : 0);
    c->out.height = output == OUTPUT_PICTURE ? HISTOGRAM_PICTURE_HEIGHT : 1;
    c->out.type = output == OUTPUT_PICTURE ? HONE_U8 : HONE_U32;
    const bool ranged = c->in.type == HONE_F32 || case_value(c, "min")->given || case_value(c, "max")->given;
    case_set_symbol(c, "ranged", ranged);
    case_set_symbol(c, "slots", (int64_t)bins + (ranged ? OUTSIDE : 0));
    case_set_real(c, "origin", least);
    case_set_real(c, "scale", fmin(bins / (most - least), FLT_MAX));
    case_set_real(c, "margin", place_margin(least, most, bins));
    return HONE_OK;
}

/* The first number of the format that is not below an edge, or that is `beyond` it. */
static float first_float(double edge, bool beyond)
{
    const float nearest = (float)edge;
    return (double)nearest < edge || (beyond && (double)nearest == edge) ? nextafterf(nearest, INFINITY)
                                                                         : nearest;
}

static int32_t first_integer(double edge, bool beyond)
{
    const double far = 1 << 20; /* no value of a format reaches it */
    return (int32_t)fmax(-far, fmin(far, beyond ? floor(edge) + 1 : ceil(edge)));
}

/*
 * Behind the edges of integers two words, times and plus: a value v in the range is in bin
 *     min(((v - edges[0]) * times + plus) >> 32, bins - 1)
 * All values are tried. Where that cannot be right for all of them, times is 0.
 */
static void quick_division(uint32_t *to, const struct filter_case *c, int64_t bins)
{
    const int32_t *edges = (const int32_t *)to;
    const double scale = (double)bins / (most_of(c) - least_of(c));
    const double first = (edges[0] - least_of(c)) * scale; /* where the first value lies, in bins */
    double lowest = 0, highest = 1;                        /* of what may be added to all places */
    int64_t bin = 0;
    for (int32_t i = 0; i < edges[bins] - edges[0]; i++) {
        while (bin + 1 < bins && edges[bin + 1] <= edges[0] + i)
            bin++;
        lowest = fmax(lowest, (double)bin - (first + i * scale));
        highest = bin + 1 < bins ? fmin(highest, (double)(bin + 1) - (first + i * scale)) : highest;
    }
    const double plus = first + (lowest + highest) / 2;
    if (!(scale < 1 && plus >= 0 && plus < 1))
        return;
    const uint64_t times = (uint64_t)(scale * 0x1p32), offset = (uint64_t)(plus * 0x1p32);
    bin = 0;
    for (int32_t i = 0; i < edges[bins] - edges[0]; i++) {
        while (bin + 1 < bins && edges[bin + 1] <= edges[0] + i)
            bin++;
        const int64_t found = (int64_t)(((uint64_t)i * times + offset) >> 32);
        if ((found < bins ? found : bins - 1) != bin)
            return;
    }
    to[bins + 1] = (uint32_t)times;
    to[bins + 2] = (uint32_t)offset;
}

static void table(const struct filter_case *c, int index, void *to, size_t bytes)
{
    (void)index;
    const int64_t bins = (int64_t)case_number(c, "bins");
    memset(to, 0, bytes);
    for (int64_t i = 0; i <= bins && (size_t)i < bytes / 4; i++)
        if (c->in.type == HONE_F32)
            ((float *)to)[i] = first_float(histogram_edge(c, i), i == bins);
        else
            ((int32_t *)to)[i] = first_integer(histogram_edge(c, i), i == bins);
    if (c->in.type != HONE_F32 && bytes / 4 >= (size_t)bins + EDGES_AND_DIVISION)
        quick_division(to, c, bins);
}

/* The counters, and the largest of them behind. */
#define COUNTS "slots*C"
#define EDGES  "table0:(bins + 3)*4"
#define RANGE  EDGES, "float:origin", "float:scale", "float:margin", "bins"
#define COUNTERS                                                                                             \
    {                                                                                                        \
        .bytes = "(" COUNTS " + 1)*4"                                                                        \
    }

/* clang-format off */
/* Passes whose work-groups the driver chooses. */
#define CLEAR                                                                                      \
    {.kernel = "histogram_clear", .extent = {COUNTS " + 1"}, .local = {"0"},                       \
     .arguments = {"tmp0", COUNTS}}

/* From counts to the result; the largest count matters to pictures alone. */
#define FINISH                                                                                               \
    {.kernel = "histogram_largest", .extent = {"output == 1 ? bins*C : 1"}, .local = {"0"},                  \
     .arguments = {"tmp0", "bins*C", COUNTS}},                                                               \
    {.kernel = "histogram_write", .extent = {"W*C", "H"}, .local = {"0"},                                    \
     .arguments = {"tmp0", COUNTS, "W*C", "out"}}
/* clang-format on */

/* Per pixel of the result: its share of the input, and its counters. */
#define SHARE "C*IW*IH/(W*H)"

/* Local memory of `once`: copies of the counters, of bytes one for each value; or one of each count, and a
 * word. NVIDIA's driver (580.159.04) fails to start work-groups that take all it says there is. */
#define AREA "max(COPIES*C*(TYPE == 0 ? 256 : slots + 1), slots*C + 1)*4"
#define GRID "min(CU*GROUPS, ceildiv(IW*IH*C*BITS/8, WG_X*16))*WG_X"

/* Of `shares`: how many, counters for one copy and of a work-item; these in whole cache lines. Copies of
 * bytes' counters have 16 bits, and are beside the sums. */
#define PARTS_ALL    "min(CU*PARTS, ceildiv(IW*IH*C, 32768))"
#define COUNTERS_ALL "(TYPE == 0 ? 256 : slots)*C"
#define OWN          "roundup((TYPE == 0 ? (COPIES + 3)/2 : COPIES)*" COUNTERS_ALL ", 16)"

static const struct variant variants[] = {
    {VARIANT("global", NULL, 0, "buffer", "one element per work-item, one global atomic addition each"),
     .tunables = {{"WG_X", TUNABLE_LAUNCH, "64 16 256", "work-group width"}}, .defines = {"RANGED=ranged"},
     .scratch = {COUNTERS},
     .passes = {CLEAR,
                PASS("histogram_global", .extent = {"IW*C", "IH"},
                     .arguments = {"in", "tmp0", "IW", "IH", RANGE}),
                FINISH},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE, "3*" SHARE}},
    {VARIANT("local", NULL, NEEDS_LOCAL, "local",
             "work-groups count in local memory, in several copies, and add to global memory once"),
     .tunables = {{"COPIES", TUNABLE_DEFINE, "4 1 2 8 16", "of the counters of a work-group"},
                  {"PX", TUNABLE_DEFINE, "4 16", "elements that are loaded at once"},
                  {"ROWS", TUNABLE_LAUNCH, "16 4 64", "rows of a work-group"},
                  {"WG_X", TUNABLE_LAUNCH, "256 32 64 512", "work-items of a work-group"}},
     .constraints = {"COPIES*" COUNTS "*4 <= LMEM"}, .defines = {"RANGED=ranged"}, .scratch = {COUNTERS},
     .passes = {CLEAR,
                PASS("histogram_local", .extent = {"WG_X", "IH"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "tmp0", "local:COPIES*" COUNTS "*4", "IW", "IH", "ROWS", RANGE}),
                FINISH},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE "/PX", "3*" SHARE}},
    {VARIANT("once", "once.cl", NEEDS_LOCAL, "local",
             "one launch: work-groups count in local memory, the last one to end makes the result"),
     /* Places of vectors are counted by int. */
     .condition = "IW*IH*C <= 2147480000",
     .tunables = {{"COPIES", TUNABLE_DEFINE, "8 1 2 4 16 32", "of the counters of a work-group"},
                  {"AHEAD", TUNABLE_DEFINE, "2 1 4 8", "vectors of 16 bytes loaded before they are counted"},
                  {"GROUPS", TUNABLE_LAUNCH, "2 1 4 8", "work-groups per compute unit"},
                  {"WG_X", TUNABLE_DEFINE, "256 32 128 512 1024", "work-items of a work-group"}},
     .constraints = {AREA " + 2048 <= LMEM", "WG_X <= MAXWG"}, .defines = {"RANGED=ranged"},
     .scratch = {{.bytes = "(" COUNTS " + 1)*4", .kept = true}},
     .passes = {PASS("histogram_once", .extent = {GRID},
                     .arguments = {"in", "tmp0", "out", "local:" AREA, "IW", "IH", "W*C", RANGE})},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE "*BITS/128", "3*" SHARE}},
    {VARIANT("private", NULL, 0, "buffer",
             "CPU: each work-item counts a band of rows in copies of its own, a second pass sums up"),
     .tunables = {{"COPIES", TUNABLE_DEFINE, "4 1 2 8", "of the counters of a band"},
                  {"ROWS", TUNABLE_LAUNCH, "256 16 64 1024", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 8", "bands per work-group"}},
     .defines = {"RANGED=ranged"},
     .scratch = {COUNTERS, {.bytes = "ceildiv(IH, ROWS)*COPIES*(TYPE == 0 ? 256 : slots)*C*4"}},
     .passes = {PASS("histogram_private", .extent = {"IH"}, .block = {"ROWS"},
                     .arguments = {"in", "tmp1", "IW", "IH", "ROWS", RANGE}),
                PASS("histogram_sum", .extent = {COUNTS " + 1"}, .local = {"0"},
                     .arguments = {"tmp1", "tmp0", EDGES, "bins", "ceildiv(IH, ROWS)*COPIES"}),
                FINISH},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE, "4*" SHARE}},
    {VARIANT("shares", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: one launch: each work-item counts a share in copies of its own, the last one to end makes "
             "the result"),
     .condition = "IW*IH*C <= 4294967295",
     .tunables = {{"COPIES", TUNABLE_DEFINE, "4 1 2 8", "of the counters of a share"},
                  {"PARTS", TUNABLE_LAUNCH, "4 1 2 8", "shares per compute unit"}},
     .defines = {"RANGED=ranged"},
     .scratch = {{.bytes = "(" PARTS_ALL "*" OWN " + 1)*4", .kept = true},
                 {.bytes = "(" COUNTERS_ALL " + " COUNTS ")*4"}},
     .passes = {PASS("histogram_shares", .extent = {PARTS_ALL}, .local = {"1"},
                     .arguments = {"in", "tmp0", "tmp1", "out", OWN, "IW", "IH", "W*C", RANGE})},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE, "4*" SHARE}},
};

#define GPU_ONCE "GPU && slots*C <= 4096"
#define PTX_ONCE "PTX && slots*C <= 4096"

static const struct seed seeds[] = {
    {"WIDE && slots*C <= 16384", "shares", ""},
    /* Without vectors in the source a compiler makes them of neighbouring work-items. */
    {"CPU && !WIDE && bins <= 4096", "private", "COPIES=4 ROWS=16 WG_X=8"},
    {"CPU && bins <= 4096", "private", "ROWS=256"},
    {"CPU", "private", "ROWS=1024 COPIES=2"},
    /* Large work-groups add up fewer copies, and as many copies as keep lanes out of each other's banks. */
    {PTX_ONCE " && C == 1 && IW*IH >= 33554432", "once", "COPIES=32 AHEAD=4 GROUPS=1 WG_X=1024"},
    {PTX_ONCE " && C == 2 && IW*IH >= 33554432", "once", "COPIES=16 AHEAD=4 GROUPS=1 WG_X=1024"},
    {PTX_ONCE " && C == 4 && IW*IH >= 33554432", "once", "COPIES=8 AHEAD=4 GROUPS=1 WG_X=1024"},
    {PTX_ONCE " && TYPE == 0 && C == 2", "once", "COPIES=16 AHEAD=4 GROUPS=4 WG_X=512"},
    {PTX_ONCE " && TYPE == 0 && C == 3", "once", "COPIES=8 AHEAD=4 GROUPS=4 WG_X=512"},
    {PTX_ONCE " && C == 1", "once", "COPIES=32 AHEAD=4 GROUPS=2 WG_X=1024"},
    {PTX_ONCE " && C == 2", "once", "COPIES=16 AHEAD=4 GROUPS=2 WG_X=1024"},
    {PTX_ONCE, "once", "COPIES=8 AHEAD=4 GROUPS=2 WG_X=1024"},
    /* Of bytes so many copies that lanes are in each other's way seldom; of others the bin takes longer. */
    {GPU_ONCE " && TYPE == 0 && C == 1 && IW*IH >= 16777216", "once", "COPIES=32 AHEAD=4 GROUPS=4 WG_X=256"},
    {GPU_ONCE " && TYPE == 0 && C == 1", "once", "COPIES=32 AHEAD=4 GROUPS=2 WG_X=256"},
    {GPU_ONCE " && TYPE == 0 && C == 2", "once", "COPIES=16 AHEAD=4 GROUPS=2 WG_X=256"},
    {GPU_ONCE " && TYPE == 0 && IW*IH >= 16777216", "once", "COPIES=8 AHEAD=4 GROUPS=2 WG_X=256"},
    {GPU_ONCE " && TYPE == 0", "once", "COPIES=8 AHEAD=2 GROUPS=2 WG_X=256"},
    {GPU_ONCE, "once", "COPIES=8 AHEAD=2 GROUPS=4 WG_X=256"},
    {GPU_ONCE, "once", "COPIES=1 AHEAD=2 GROUPS=4 WG_X=256"},
    {"bins*C <= 4096", "local", "COPIES=1"},
    {NULL, "global", ""},
};

static const struct rung rungs[] = {
    {"global", "atomic additions to global memory", "global", "", "guide 7.3, rule 1"},
    {"local", "local atomics first, then one global one per counter", "local", "COPIES=1",
     "guide 7.3, rule 2"},
    {"copies", "several copies in local memory", "local", "COPIES=8", "hone"},
    {"one-launch", "16 bytes at a time, the last work-group makes the result", "once", "COPIES=32", "hone"},
    {"private", "private counters, no atomics", "private", "", "hone"},
    {"shares", "private counters, one launch", "shares", "", "hone"},
};

/* What tests and the doctor try. */
static const char *const trials[] = {
    "",       "bins=10 output=picture min=0.25 max=200.5", "bins=3001 output=full",
    "bins=1", "bins=77 output=full min=-0.3 max=0.7",      NULL};

static const char *const usual[] = {"", NULL};

static const struct bins bins = {.min = "min",
                                 .max = "max",
                                 .output = "output",
                                 .table = "table",
                                 .full = "full",
                                 .picture = "picture",
                                 .edge = histogram_edge,
                                 .draw = histogram_draw};

static const char *const ahead[] = {"output=picture", NULL};

const struct hone_filter hone_filter_histogram = {
    FILTER("histogram", "counts of each value, as a table or as an image of bars", "guide 7.3",
           TYPES_ALL | TYPE_S16, CHANNELS_ALL, 1),
    .reads = READS_ALL,
    .parameters =
        {NUMBER_PARAMETER("bins", PARAMETER_INTEGER, "256", 1, 65536, NULL,
                          "number of equal bins across the range"),
         CHOICE_PARAMETER(
             "output", "table", "table|picture|full",
             "table: counts, bins x 1, u32; picture: bars, bins x 256, u8; full: counts and how many "
             "are below, above and NaN, (bins + 3) x 1",
             .incidental = true),
         NUMBER_PARAMETER(
             "min", PARAMETER_REAL, NULL, -3.4e38, 3.4e38, NULL,
             "lower edge of the first bin; default: the format's minimum (f32: 0), or in `hone apply` "
             "the minimum value (not for u8)",
             .incidental = true),
         NUMBER_PARAMETER(
             "max", PARAMETER_REAL, NULL, -3.4e38, 3.4e38, NULL,
             "upper edge of the last bin; default: the format's end (256, 65536, 32768, f32: 1), or in "
             "`hone apply` the maximum value (not for u8)",
             .incidental = true)},
    .symbols = {"ranged", "slots"}, .reals = {"origin", "scale", "margin"}, .bins = &bins, .prepare = prepare,
    .table = table,
    .examples = {{"counts as a table", "'histogram' photo.jpg -o counts.csv"},
                 {"a picture of bars", "'histogram output=picture' photo.jpg -o bars.png"}},
    .reference = histogram_reference,
    /* Counts: exact. */
    .bounds = {0, 0, 0}, TABLES(variants, seeds, rungs), .trials = trials, .usual = usual, .ahead = ahead};
