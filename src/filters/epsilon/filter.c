/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/epsilon/epsilon.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

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

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    double threshold = case_number(c, "threshold"), most = type_full_scale(c->in.type);
    int64_t side = 2 * (int64_t)case_number(c, "radius") + 1;
    if (type_is_integer(c->in.type) && (threshold > most || threshold != (double)(int64_t)threshold))
        return case_wrong(
            error, "epsilon: threshold=%g does not fit %s pixels; it takes a whole number from 0 to %.0f",
            threshold, hone_type_name(c->in.type), most);
    /* Of f32, a level is 1/255: the threshold means the same for an image of either format. */
    case_set_real(c, "limit", type_is_integer(c->in.type) ? threshold : (float)(threshold / 255));
    /* The largest number that the vector kernel sums for one neighbour. */
    int64_t span = type_is_integer(c->in.type) ? (int64_t)threshold * 2 + 1 : 1;
    span = span < (int64_t)most ? span : (int64_t)most;
    case_set_symbol(c, "SIDE", side);
    case_set_symbol(c, "FLUSH", flush_class((int64_t)most / (span > 0 ? span : 1), side));
    case_set_symbol(c, "BIG", c->in.type == HONE_U8 && side * side * span > UINT16_MAX);
    return HONE_OK;
}

static const struct variant variants[] = {
    {.name = "direct",
     .summary = "one pixel per work-item, every pixel of the window read",
     .path = "buffer",
     .tunables = {{"WG_X", TUNABLE_LAUNCH, "16 8 32 64", "work-group width"},
                  {"WG_Y", TUNABLE_LAUNCH, "16 1 2 4 8", "work-group height"}},
     .passes = {{.kernel = "epsilon_direct",
                 .local = {"WG_X", "WG_Y"},
                 .arguments = {"in", "out", "W", "H", "radius", "border", "number:limit"}}},
     .cost = {"2*C*BITS/8", "SIDE*SIDE*C", "4*SIDE*SIDE*C"}},
    {.name = "vectors",
     .summary = "CPU: strips of one 64-byte vector, one comparison per neighbour",
     .source = "cpu.cl",
     .needs = NEEDS_WIDE,
     .path = "wide",
     .specialised = "the loop over a row of the window is unrolled, and the threshold's class sets how often "
                    "sums are widened",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "32 8 16 64 128", "rows per work-item"},
                  {"WG_X", TUNABLE_LAUNCH, "4 1 2 8 16", "strips per work-group"}},
     .defines = {"RADIUS=radius", "FLUSH=FLUSH", "BIG=BIG"},
     .passes = {{.kernel = "epsilon_vectors",
                 .extent = {"ceildiv(W*C*BITS, 512)", "H"},
                 .block = {NULL, "ROWS"},
                 .local = {"WG_X", "1"},
                 .arguments = {"in", "out", "W", "H", "border", "number:limit"}}},
     .cost = {"2*C*BITS/8", "SIDE*SIDE*C*BITS/512", "4*SIDE*SIDE*C"}},
};

static const struct seed seeds[] = {
    {"WIDE", "vectors", "ROWS=32 WG_X=4"},
    {NULL, "direct", ""},
};

/* What tests and the doctor try. */
static const char *const trials[] = {"", "radius=1 threshold=0", "radius=2 threshold=200",
                                     "radius=7 threshold=40", NULL};

const struct hone_filter hone_filter_epsilon = {
    .name = "epsilon",
    .summary = "mean of the pixels of a window that differ little from its centre: smooths and keeps edges",
    .origin = "guide 9.2",
    .types = TYPES_ALL,
    .channels = CHANNELS_ALL,
    .inputs = 1,
    .spatial = true,
    .parameters = {{.name = "radius",
                    .kind = PARAMETER_INTEGER,
                    .otherwise = "4",
                    .least = 1,
                    .most = 15,
                    .unit = "pixels",
                    .help = "the window has 2 * radius + 1 pixels a side"},
                   {.name = "threshold",
                    .kind = PARAMETER_REAL,
                    .otherwise = "16",
                    .least = 0,
                    .most = 65535,
                    .unit = "levels",
                    .help = "largest difference from the centre that counts; of f32 in 1/255"}},
    .symbols = {"SIDE", "FLUSH", "BIG"},
    .reals = {"limit"},
    .prepare = prepare,
    .reference = epsilon_reference,
    /* Integers: exact. Floats: a sum of at most 961 terms that lie within the threshold of each other. */
    .bounds = {0, 0, 1e-5},
    .variants = variants,
    .variant_count = COUNT_OF(variants),
    .seeds = seeds,
    .seed_count = COUNT_OF(seeds),
    .trials = trials,
};
