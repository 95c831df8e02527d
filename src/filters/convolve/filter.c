/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/convolve/convolve.h"

#include <math.h>
#include <stdlib.h>

REFERENCE(convolve);

static hone_status check_anchor(const struct filter_case *c, const char *name, int size, int *anchor,
                                hone_error *error)
{
    const struct value *value = case_value(c, name);
    *anchor = value->given ? (int)value->number : size / 2;
    if (*anchor < size)
        return HONE_OK;
    return case_wrong(error, "convolve: %s=%d lies outside the kernel; it takes 0 to %d", name, *anchor,
                      size - 1);
}

/* The largest magnitude of a pixel. */
static double largest(hone_type type)
{
    return type == HONE_S16 ? -(double)INT16_MIN : type_full_scale(type);
}

/* Pixels that are made signed leave room for twice the weights, if none is negative. */
static void set_woven(struct filter_case *c, const struct weights *w)
{
    const bool bytes = c->in.type == HONE_U8;
    const int plain = bytes ? weights_woven_capacity(w, false) : 0;
    const int biased = bytes && 2 * plain <= w->height ? weights_woven_capacity(w, true) : 0;
    case_set_symbol(c, "WOVEN", biased > plain ? biased : plain);
    case_set_symbol(c, "WOVEN_BIAS", biased > plain ? 128 * weights_whole_total(w) : 0);
}

static void set_symbols(struct filter_case *c, const struct weights *w)
{
    bool integer = type_is_integer(c->in.type);
    double sum = integer ? (double)weights_whole_total(w) * largest(c->in.type) : 0;
    case_set_symbol(c, "KW", w->width);
    case_set_symbol(c, "KH", w->height);
    case_set_symbol(c, "LEFT", w->left);
    case_set_symbol(c, "TOP", w->top);
    case_set_symbol(c, "SUMS", integer && w->sums == SUMS_64);
    case_set_symbol(c, "SUM24", sum < 0x1p24);
    case_set_symbol(c, "SHORTS",
                    integer && w->sums == SUMS_32 && sum >= 0x1p24 && weights_whole_most(w) <= INT16_MAX);
    case_set_symbol(c, "BYTES", c->in.type == HONE_U8 && weights_whole_most(w) <= INT8_MAX);
    case_set_symbol(c, "LIMBS", c->in.type <= HONE_U16 ? weights_limbs(w) : 0);
    case_set_symbol(c, "COLOURS", case_copies_alpha(c) ? 3 : c->in.channels);
    case_set_symbol(c, "CAPACITY", c->in.type == HONE_U8 ? weights_capacity(w) : 0);
    set_woven(c, w);
    case_set_symbol(c, "ZEROS", weights_hold_zero(w));
    case_set_symbol(c, "SEPARABLE", w->separable);
    case_set_real(c, "factor", w->factor);
}

static void set_weights(struct weights *w, const struct kernel *k, bool flip)
{
    int count = k->width * k->height;
    w->width = k->width;
    w->height = k->height;
    for (int i = 0; i < count; i++)
        w->real[i] = k->weights[flip ? count - 1 - i : i];
}

static hone_status fill_weights(struct filter_case *c, struct weights *w, hone_error *error)
{
    struct kernel kernel;
    double scale = case_number(c, "scale");
    hone_status status = kernel_read(&kernel, case_value(c, "kernel")->text, error);
    if (!status)
        status = check_anchor(c, "anchor-x", kernel.width, &w->left, error);
    if (!status)
        status = check_anchor(c, "anchor-y", kernel.height, &w->top, error);
    if (status)
        return status;
    set_weights(w, &kernel, case_number(c, "flip") != 0);
    if (!weights_make_whole(w, type_is_integer(c->in.type), largest(c->in.type), scale))
        return case_wrong(error, "convolve: the weights' sizes lie too far apart for %s pixels; use f32",
                          hone_type_name(c->in.type));
    c->gain = fabs(scale) * weights_total(w);
    c->bias = fabs(case_number(c, "offset"));
    set_symbols(c, w);
    return HONE_OK;
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    struct weights *w = calloc(1, sizeof *w);
    free(c->data);
    c->data = w;
    return w ? fill_weights(c, w, error) : case_wrong(error, "convolve: memory is short");
}

/* Four names for the numbers that every kernel takes. */
#define WINDOW   "KW", "KH", "LEFT", "TOP"

#define GROUP_2D WORK_GROUP("16 8 32", "16 1 4 8")

#define STRIP_TUNABLES                                                                                       \
    {"WG_X", TUNABLE_LAUNCH, "32 64 128", "work-group width"},                                               \
    {                                                                                                        \
        "ROWS", TUNABLE_DEFINE, "16 4 8 32", "rows per work-item"                                            \
    }

#define WHY_SUMS   "two classes of weights: sums of 32 bits where they fit, else of 64"
#define CELLS      "(roundup(W*C, 16*VECTORS) + KW*C + 16)"
#define BYTES      "(roundup(W, 64) + roundup(KW, 4) + 64)"
#define WOVEN_LINE "(roundup(W*C, 64) + roundup(KW*C, 64) + 64)"
/* Of matrix.cl, where neighbours are so many elements apart: elements before a tile of 16, and the depth of
 * products in units of 32. */
#define MATRIX_BEFORE(step) "roundup(LEFT*" step ", 4)"
#define MATRIX_DEPTH(step)  "ceildiv(16 + roundup(LEFT*" step ", 4) + (KW - 1 - LEFT)*" step ", 32)"
#define MATRIX_DEFINES(step)                                                                                 \
    {                                                                                                        \
        "WITH_PTX=SM >= 80", "KW=KW", "KH=KH", "LIMBS=LIMBS", "BEFORE=" MATRIX_BEFORE(step),                 \
            "DEPTH=" MATRIX_DEPTH(step)                                                                      \
    }
#define MATRIX_ARGUMENTS(table, step)                                                                        \
    {                                                                                                        \
        "in", "out", "W", "H", "LEFT", "TOP", "float:factor", "float:offset", "border",                      \
            table ":KH*LIMBS*" MATRIX_DEPTH(step) "*512"                                                     \
    }
#define MATRIX_TUNABLES(groups)                                                                              \
    {"LINES", TUNABLE_DEFINE, "8 2 4 16", "rows of results at once"},                                        \
        {"ROWS", TUNABLE_DEFINE, "16 8 32 64", "rows per warp"},                                             \
    {                                                                                                        \
        "WG_X", TUNABLE_DEFINE, groups, "work-items of a work-group"                                         \
    }
#define MATRIX_UNITS "(SM >= 80 || W*H <= 65536)"
/* Of a work-group's tile, and of what lanes exchange elsewhere than under PTX; matrix_tiles puts the results
 * of more than one channel beside them. */
#define TILE_BYTES(channels, rows, strips)                                                                   \
    channels "*(" rows " + KH - 1)*(256*" strips " + 32*" MATRIX_DEPTH("1") " - 16)*BITS/8 + 768*" channels  \
                                                                            "*" strips
#define TILES_FIT(rows, lines, strips)                                                                       \
    TILE_BYTES("COLOURS", rows, strips) " + min(C - 1, 1)*" lines "*" strips "*32*C*BITS <= LMEM"
#define CHANNEL_FITS(rows, strips) TILE_BYTES("1", rows, strips) " <= LMEM"
#define ALL_TAPS                   "KW*KH*C"
#define WEIGHTS                    "table0:KW*KH*4"
#define SUMS_WIDE                  "SUMS=FLOAT || SUM24 ? 2 : SUMS"
#define SUMS_PAIRS                 "SUMS=FLOAT || SUM24 ? 2 : SHORTS ? 3 : SUMS"

static const struct variant variants[] = {
    {VARIANT("global", NULL, 0, "buffer",
             "the write-up's filterImage: one pixel per work-item, everything from global memory"),
     .brief = true, .specialised = WHY_SUMS, .tunables = {GROUP_2D}, .defines = {"SUMS=SUMS"},
     .passes = {PASS("convolve_global", .arguments = {"in", "out", "W", "H", WINDOW, "float:factor",
                                                      "float:offset", "border", WEIGHTS})},
     .cost = {"2*C*BITS/8", ALL_TAPS, ALL_TAPS}},
    {VARIANT("cached", NULL, NEEDS_LOCAL, "local",
             "the write-up's filterImageCached: the work-group's own pixels in local memory, those around "
             "them from global memory"),
     .specialised = WHY_SUMS, .tunables = {GROUP_2D}, .defines = {"SUMS=SUMS"},
     .passes = {PASS("convolve_cached",
                     .arguments = {"in", "out", "W", "H", WINDOW, "float:factor", "float:offset", "border",
                                   WEIGHTS, "local:WG_X*WG_Y*C*BITS/8"})},
     .cost = {"2*C*BITS/8", ALL_TAPS " + C", ALL_TAPS}},
    {VARIANT("tile", NULL, NEEDS_LOCAL, "local",
             "the work-group's pixels with all that their windows see in local memory"),
     .specialised = WHY_SUMS, .tunables = {GROUP_2D, {"ROWS", TUNABLE_DEFINE, "4 1 2", "rows per work-item"}},
     .defines = {"SUMS=SUMS"},
     .passes = {PASS("convolve_tile", .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "W", "H", WINDOW, "float:factor", "float:offset", "border",
                                   WEIGHTS, "local:(WG_X + KW - 1)*(WG_Y*ROWS + KH - 1)*C*BITS/8"})},
     .cost = {"2*C*BITS/8", ALL_TAPS " + C", ALL_TAPS}},
    {VARIANT("separable", NULL, 0, "buffer",
             "two passes, along rows and along columns, where the kernel is the product of both"),
     .condition = "SEPARABLE", .specialised = WHY_SUMS, .tunables = {GROUP_2D}, .defines = {"SUMS=SUMS"},
     .scratch = {{.bytes = "W*H*C*(SUMS ? 8 : 4)"}},
     .passes = {PASS("convolve_rows", .extent = {"W*C", "H"},
                     .arguments = {"in", "tmp0", "W", "H", "KW", "LEFT", "border", "table2:(KW + KH)*4"}),
                PASS("convolve_columns", .extent = {"W*C", "H"},
                     .arguments = {"tmp0", "in", "out", "W", "H", WINDOW, "float:factor", "float:offset",
                                   "border", "table2:(KW + KH)*4"})},
     .cost = {"2*C*BITS/8 + 8*C", "C*(KW + KH)", "C*(KW + KH)"}},
    {VARIANT(
         "sliding", "gpu.cl", NEEDS_LOCAL, "local",
         "strips that slide down, all sums that a row belongs to in registers, the weights in local memory"),
     .condition = "KW*KH <= 225 || PTX",
     .specialised = "the kernel's sides set how many sums are kept in registers",
     .tunables = {STRIP_TUNABLES, {"PX", TUNABLE_DEFINE, "4 1 2 8", "pixels across"}},
     .constraints = {"KH*PX + KW <= 160"}, .defines = {"WITH_PTX=PTX", SUMS_WIDE, "KW=KW", "KH=KH"},
     .passes = {PASS("convolve_sliding", .extent = {"ceildiv(W, PX)*COLOURS", "H"}, .block = {"1", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "LEFT", "TOP", "float:factor", "float:offset",
                                   "border", "table1:KW*KH*4"})},
     .cost = {"2*C*BITS/8", "C*(PX + KW - 1)*(ROWS + KH - 1)/PX/ROWS", ALL_TAPS}},
    /* Of f32 only without zeros: llvmpipe leaves out what is multiplied by one, and with it infinities. */
    {VARIANT("literal", "gpu.cl", 0, "buffer", "the same with the weights compiled in"),
     .condition = "KW*KH <= 225 && (FLOAT ? !ZEROS : SUM24)",
     .specialised = "the weights become operands of instructions, which neither loads nor registers hold",
     .tunables = {STRIP_TUNABLES, {"PX", TUNABLE_DEFINE, "4 1 2 8", "pixels across"}},
     .constraints = {"KH*PX + KW <= 128"},
     .defines = {"WITH_PTX=PTX", SUMS_WIDE, "KW=KW", "KH=KH", "WEIGHTS=floats1:KW*KH"},
     .passes = {PASS(
         "convolve_literal", .extent = {"ceildiv(W, PX)*COLOURS", "H"}, .block = {"1", "ROWS"},
         .arguments = {"in", "out", "W", "H", "LEFT", "TOP", "float:factor", "float:offset", "border"})},
     .cost = {"2*C*BITS/8", "C*(PX + KW - 1)*(ROWS + KH - 1)/PX/ROWS", ALL_TAPS}},
    {VARIANT("packed", "gpu.cl", 0, "packed", "the same with four bytes times four weights at once"),
     .condition = "TYPE == 0 && C == 1 && BYTES && KW*KH <= 400", .align = 4,
     .specialised = "the weights become operands of instructions", .tunables = {STRIP_TUNABLES},
     .defines = {"KW=KW", "KH=KH", "WITH_PTX=PTX", "WEIGHTS=ints3:ceildiv(KW, 4)*KH"},
     .passes = {PASS(
         "convolve_packed", .extent = {"W", "H"}, .block = {"4", "ROWS"},
         .arguments = {"in", "out", "W", "H", "LEFT", "TOP", "float:factor", "float:offset", "border"})},
     .cost = {"2", "(KW + 10)/16*(ROWS + KH - 1)/ROWS", "2*KH*roundup(KW, 4)*(ROWS + KH - 1)/ROWS"}},
    {VARIANT("matrix", "matrix.cl", 0, "packed",
             "sums of bytes times weights as products of matrices of 16x32 and 32x8"),
     .condition = "LIMBS > 0 && " MATRIX_UNITS, .align = 16,
     .specialised = "the kernel's sides and the weights' size set how many products there are",
     .tunables = {MATRIX_TUNABLES("32 64 128")}, .constraints = {"WG_X <= MAXWG", "LINES <= ROWS"},
     .defines = MATRIX_DEFINES("C"),
     .passes = {PASS("convolve_matrix", .extent = {"ceildiv(W*C, 256)*32", "H"}, .block = {"1", "ROWS"},
                     .arguments = MATRIX_ARGUMENTS("table4", "C"))},
     /* The products are done by units of their own; what is left is packing and rounding. */
     .cost = {"2*C*BITS/8", "C*" MATRIX_DEPTH("C") "*(KH + LINES - 1)/LINES/2", "8*C"}},
    {VARIANT("matrix_planes", "matrix.cl", 0, "packed", "the same with one channel of the pixels at a time"),
     .condition = "LIMBS > 0 && C > 1 && " MATRIX_UNITS, .align = 16,
     .specialised = "the kernel's sides and the weights' size set how many products there are",
     .tunables = {MATRIX_TUNABLES("96 32 64 128")}, .constraints = {"WG_X <= MAXWG", "LINES <= ROWS"},
     .defines = MATRIX_DEFINES("1"),
     .passes = {PASS("convolve_matrix_planes", .extent = {"ceildiv(W, 256)*COLOURS*32", "H"},
                     .block = {"1", "ROWS"}, .arguments = MATRIX_ARGUMENTS("table5", "1"))},
     .cost = {"2*C*BITS/8", "C*C*" MATRIX_DEPTH("1") "*(KH + LINES - 1)/LINES/2", "8*C"}},
    {VARIANT(
         "matrix_tiles", "matrix.cl", NEEDS_LOCAL, "packed",
         "the same from a tile of all that a work-group's windows see, channel by channel, in local memory"),
     .condition = "LIMBS > 0 && " MATRIX_UNITS " && " TILES_FIT("8", "4", "1"), .align = 16,
     .specialised = "the kernel's sides and the weights' size set how many products there are",
     .tunables = {{"LINES", TUNABLE_DEFINE, "4 2 8", "rows of results at once"},
                  {"ROWS", TUNABLE_DEFINE, "8 16 32", "rows per warp"},
                  {"STRIPS", TUNABLE_DEFINE, "1 2 4", "strips of 256 pixels of a work-group"}},
     .constraints = {"32*COLOURS*STRIPS <= MAXWG", "LINES <= ROWS", TILES_FIT("ROWS", "LINES", "STRIPS")},
     .defines = MATRIX_DEFINES("1"),
     .passes = {PASS("convolve_matrix_tiles", .extent = {"ceildiv(W, 256*STRIPS)*32*COLOURS*STRIPS", "H"},
                     .block = {"1", "ROWS"}, .local = {"32*COLOURS*STRIPS", "1"},
                     .arguments = MATRIX_ARGUMENTS("table5", "1"))},
     .cost = {"2*C*BITS/8", "C*" MATRIX_DEPTH("1") "*(KH + LINES - 1)/LINES/2", "8*C"}},
    {VARIANT("matrix_channels", "matrix.cl", NEEDS_LOCAL, "packed",
             "the same with a work-group for each channel, where tiles of all channels are too large"),
     .condition = "LIMBS > 0 && C > 1 && " MATRIX_UNITS " && " CHANNEL_FITS("8", "1"), .align = 16,
     .specialised = "the kernel's sides and the weights' size set how many products there are",
     .tunables = {{"LINES", TUNABLE_DEFINE, "4 2 8", "rows of results at once"},
                  {"ROWS", TUNABLE_DEFINE, "8 16 32", "rows per warp"},
                  {"STRIPS", TUNABLE_DEFINE, "1 2 4", "strips of 256 pixels of a work-group"}},
     .constraints = {"32*STRIPS <= MAXWG", "LINES <= ROWS", CHANNEL_FITS("ROWS", "STRIPS")},
     .defines = MATRIX_DEFINES("1"),
     .passes = {PASS("convolve_matrix_channels", .extent = {"ceildiv(W, 256*STRIPS)*32*COLOURS*STRIPS", "H"},
                     .block = {"1", "ROWS"}, .local = {"32*STRIPS", "1"},
                     .arguments = MATRIX_ARGUMENTS("table5", "1"))},
     .cost = {"2*C*BITS/8", "C*C*" MATRIX_DEPTH("1") "*(KH + LINES - 1)/LINES/2", "8*C"}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: bands of rows, four rows of results at once from 64-byte vectors"),
     .specialised = "classes of weights: float sums below 2^24, where they are exact, else pairs of products "
                    "where weights fit 16 bits, else integers",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "32 64 128", "rows of a band"},
                  {"LINES", TUNABLE_DEFINE, "4 2 1", "rows of results at once"},
                  {"VECTORS", TUNABLE_DEFINE, "2 4", "vectors of 16 results at once"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .constraints = {"LINES <= KH"}, .defines = {SUMS_PAIRS},
     .scratch = {{.bytes = "ceildiv(H, ROWS)*(KH + LINES - 1)*" CELLS "*4"}},
     .passes = {PASS("convolve_vectors", .extent = {"H"}, .block = {"ROWS"},
                     .arguments = {"in", "out", "W", "H", WINDOW, "float:factor", "float:offset", "border",
                                   "table6:KW*KH*4", "tmp0", CELLS})},
     .cost = {"2*C*BITS/8", ALL_TAPS "/16", ALL_TAPS}},
    {VARIANT("dots", "dots.cl", NEEDS_WIDE, "packed",
             "CPU: bytes times weights of 8 bits, four taps at once, 64 results from four vectors"),
     .condition = "TYPE == 0 && CAPACITY > 0",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "64 32 128", "rows of a band"},
                  {"LINES", TUNABLE_DEFINE, "4 1 2 3", "rows of results at once"}},
     .constraints = {"LINES <= KH"}, .scratch = {{.bytes = "ceildiv(H, ROWS)*(KH + LINES - 1)*C*" BYTES}},
     .passes = {PASS("convolve_dots", .extent = {"H"}, .block = {"ROWS"}, .local = {"1"},
                     .arguments = {"in", "out", "W", "H", WINDOW, "float:factor", "float:offset", "border",
                                   "table3:ceildiv(KW, 4)*KH*4", "CAPACITY", "tmp0", BYTES})},
     .cost = {"2*C", "ceildiv(KW, 4)*(KH + LINES - 1)*C/LINES/16", "2*ceildiv(KW, 4)*4*KH*C"}},
    {VARIANT(
         "woven", "woven.cl", NEEDS_WIDE, "packed",
         "CPU: bytes times weights of 8 bits, two taps one below the other at once, channels as they lie"),
     .condition = "TYPE == 0 && WOVEN > 0",
     .specialised = "two classes of weights: where none is negative, and sums of plain pixels do not fit",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "64 32 128", "rows of a band"},
                  {"LINES", TUNABLE_DEFINE, "4 2", "rows of results at once"}},
     .defines = {"BIASED=WOVEN_BIAS > 0"},
     .scratch = {{.bytes = "ceildiv(H, ROWS)*(KH + LINES - 1)*" WOVEN_LINE}},
     .passes = {PASS("convolve_woven", .extent = {"H"}, .block = {"ROWS"}, .local = {"1"},
                     .arguments = {"in", "out", "W", "H", WINDOW, "float:factor", "float:offset", "border",
                                   "table7:KW*(KH + 1)*4", "WOVEN", "WOVEN_BIAS", "tmp0", WOVEN_LINE})},
     .cost = {"2*C", "KW*(KH + LINES - 1)*C/LINES/64", "KW*(KH + 1)*C"}},
};

/* Where one channel at a time takes fewer products. */
#define BY_PLANES "SM >= 80 && C > 1 && " MATRIX_DEPTH("1") " < " MATRIX_DEPTH("C")

/* u16 of colours with all of a small and narrow window in one product, channels side by side. */
#define SMALL_SHORTS "(TYPE == 1 && C > 2 && KW <= 5 && KW*KH <= 25)"

static const struct seed seeds[] = {
    {"SM >= 80 && C > 1 && !" SMALL_SHORTS " && H >= 2048", "matrix_tiles", "LINES=4 ROWS=16 STRIPS=1"},
    {"SM >= 80 && C > 1 && !" SMALL_SHORTS, "matrix_tiles", "LINES=4 ROWS=8 STRIPS=1"},
    {"SM >= 80 && C > 1 && !" SMALL_SHORTS " && H >= 2048", "matrix_channels", "LINES=4 ROWS=16 STRIPS=1"},
    {"SM >= 80 && C > 1 && !" SMALL_SHORTS, "matrix_channels", "LINES=4 ROWS=8 STRIPS=1"},
    {"SM >= 80 && KW*KH > 225", "matrix_tiles", "LINES=4 ROWS=16 STRIPS=2"},
    {"SM >= 80 && KW*KH > 225", "matrix_tiles", "LINES=4 ROWS=8 STRIPS=2"},
    {"SM >= 80 && TYPE == 1 && C == 1 && KW*KH > 49 && H >= 2048", "matrix_tiles",
     "LINES=4 ROWS=16 STRIPS=2"},
    {"SM >= 80 && TYPE == 1 && C == 1 && KW*KH > 49", "matrix_tiles", "LINES=4 ROWS=8 STRIPS=1"},
    {"SM >= 80 && TYPE == 0 && C == 1 && 25 < KW*KH < 225 && H >= 2048", "matrix_tiles",
     "LINES=4 ROWS=16 STRIPS=4"},
    {"SM >= 80 && TYPE == 0 && C == 1 && 25 < KW*KH < 225 && H >= 2048", "matrix_tiles",
     "LINES=4 ROWS=16 STRIPS=2"},
    {BY_PLANES " && TYPE == 1 && C == 4", "matrix_planes", "WG_X=64"},
    {BY_PLANES, "matrix_planes", "LINES=4"},
    {"SM >= 80 && (TYPE == 1 || (C == 1 && KW*KH <= 49)) && H >= 4096", "matrix", "LINES=4 ROWS=16"},
    {"SM >= 80 && (TYPE == 1 || (C == 1 && KW*KH <= 49))", "matrix", "LINES=4 ROWS=8"},
    {"SM >= 80 && H >= 4096", "matrix", "LINES=8 ROWS=16"},
    {"SM >= 80", "matrix", "LINES=8 ROWS=8"},
    {"PTX && FLOAT && KH > 15 && KW*KH <= 49", "literal", "PX=4 ROWS=16 WG_X=64"},
    {"PTX && FLOAT && KH > 15", "sliding", "PX=2 ROWS=32 WG_X=64"},
    {"PTX && FLOAT && KW > 15 && KH <= 3", "sliding", "PX=2 ROWS=8 WG_X=128"},
    {"PTX && FLOAT && C == 1 && W*H <= 524288 && KW <= 15 && 1 < KH <= 15", "tile", "WG_X=32 WG_Y=8 ROWS=4"},
    {"PTX && FLOAT && W*H <= 524288 && KH > 1", "sliding", "PX=2 ROWS=4 WG_X=128"},
    {"PTX && FLOAT && W*H < 4194304", "sliding", "PX=2 ROWS=8 WG_X=64"},
    {"PTX && FLOAT && C == 4 && KW*KH <= 49", "sliding", "PX=2 ROWS=16 WG_X=128"},
    {"PTX && FLOAT && KW*KH <= 25", "sliding", "PX=4 ROWS=8 WG_X=64"},
    {"PTX && FLOAT", "sliding", "PX=4 ROWS=16 WG_X=64"},
    {"GPU && PTX && H >= 4096", "packed", "ROWS=32 WG_X=64"},
    {"GPU && PTX", "packed", "ROWS=16 WG_X=64"},
    {"GPU && H >= 4096", "literal", "PX=4 ROWS=32 WG_X=64"},
    {"GPU", "literal", "PX=4 ROWS=16 WG_X=64"},
    {"GPU", "sliding", "PX=4 ROWS=16 WG_X=64"},
    {"WIDE && KH > 1 && (KH <= 3 || WOVEN == 1)", "woven", "LINES=2"},
    {"WIDE && KH > 3 && (C < 4 || KW*KH <= 100)", "woven", "LINES=4"},
    {"WIDE && KH >= 4", "dots", "LINES=4"},
    {"WIDE && KH == 3", "dots", "LINES=3"},
    {"WIDE && KH == 2", "dots", "LINES=2"},
    {"WIDE", "dots", "LINES=1"},
    {"WIDE && FLOAT && KH >= 5", "vectors", "LINES=2 VECTORS=2"},
    {"WIDE && FLOAT", "vectors", "LINES=1 VECTORS=4"},
    {"WIDE && KH >= 4", "vectors", "LINES=4 VECTORS=2"},
    {"WIDE && KH >= 2", "vectors", "LINES=2 VECTORS=2"},
    {"WIDE", "vectors", "LINES=1 VECTORS=2"},
    {"CPU && KW*KH <= 49", "literal", "PX=8 ROWS=32 WG_X=32"},
    {"SEPARABLE && KW + KH >= 10", "separable", ""},
    {"KW*KH >= 9", "tile", "WG_X=32 WG_Y=8"},
    {NULL, "global", ""},
    {NULL, "global", "WG_X=16 WG_Y=1"}, /* for drivers that take small work-groups only */
};

static const struct rung rungs[] = {
    {"filterImage", "one pixel per work-item, all from global memory", "global", "WG_X=16 WG_Y=16",
     "Russian write-up, RTX 3060, 2048x1536"},
    {"filterImageCached", "16x16 pixels of the work-group in local memory, the rest from global memory",
     "cached", "WG_X=16 WG_Y=16", "Russian write-up, RTX 3060, 2048x1536"},
    {"halo", "all that the work-group's windows see in local memory", "tile", "WG_X=16 WG_Y=16 ROWS=1",
     "hone"},
    {"halo-rows", "the same, four rows per work-item", "tile", "WG_X=32 WG_Y=8 ROWS=4", "hone"},
    {"separable", "two passes where the kernel allows it", "separable", "", "hone"},
    {"sliding", "strips that slide down, sums in registers", "sliding", "", "hone"},
    {"literal", "the same with weights compiled in", "literal", "", "hone"},
    {"packed", "four bytes times four weights at once", "packed", "", "hone"},
    {"matrix", "products by matrix units", "matrix", "", "hone"},
    {"matrix-planes", "the same, one channel at a time", "matrix_planes", "", "hone"},
    {"matrix-tiles", "the same from tiles in local memory", "matrix_tiles", "", "hone"},
    {"matrix-channels", "the same with a work-group for each channel", "matrix_channels", "", "hone"},
    {"wide", "64-byte vectors", "vectors", "", "hone"},
    {"wide-packed", "64-byte vectors, four bytes times four weights at once", "dots", "", "hone"},
    {"wide-woven", "the same of two rows at once, channels as they lie", "woven", "", "hone"},
};

/* What tests and the doctor try: even sides, one row, one column, anchors, weights of all classes. */
static const char *const trials[] = {
    "kernel='4x3: 1 -2 3 4 2 -4 6 8 -1 2 -3 -4' scale=0.1 offset=30.5",
    "kernel='9x5: 1 2 3 4 5 6 7 8 9 9 8 7 6 5 4 3 2 1 0 1 0 1 0 1 0 1 0 -1 -300 2 7 7 5 1 3 1 1 4 1 5 99 2 6 "
    "5 300' scale=.003",
    "kernel='1x4: 127 127 1 1' scale=0.004", /* black takes the sums of `woven` as low as they go */
    "kernel='1x7: 1 -1 3 -2 5 1 90000' scale=1e-4 flip=yes",
    "kernel='5x2: 0.3 0.21 0.171 -0.0123457 0.1 0.03 0.07 0.1 0.05 -0.02' anchor-x=0 anchor-y=1",
    NULL};

static const char *const usual[] = {"",
                                    "kernel='5x5: 1 4 6 4 1 4 16 24 16 4 6 24 36 24 6 4 16 24 16 4 1 4 6 4 "
                                    "1' scale=0.00390625",
                                    NULL};

static bool averages(const struct filter_case *c)
{
    const struct weights *w = c->data;
    double sum = 0;
    for (int i = 0; i < w->width * w->height; i++)
        sum += w->real[i];
    return fabs(sum * case_number(c, "scale") - 1) < 1e-6 && case_number(c, "offset") == 0;
}

const struct hone_filter hone_filter_convolve = {
    FILTER("convolve", "weighted sum over a window of up to 31x31 pixels", "Russian write-up on local memory",
           TYPES_ALL | TYPE_S16, CHANNELS_ALL, 1),
    .spatial = true, .window = {"LEFT", "KW - 1 - LEFT", "TOP", "KH - 1 - TOP"},
    .parameters =
        {{.name = "kernel",
          .kind = PARAMETER_TEXT,
          .fallback = "3x3: 0 -1 0 -1 5 -1 0 -1 0",
          .help =
              "'WIDTHxHEIGHT: weights' row by row, or a file that holds this, or a row of weights per line"},
         NUMBER_PARAMETER("scale", PARAMETER_REAL, "1", -1e20, 1e20, NULL, "factor applied to the sum",
                          .incidental = true),
         NUMBER_PARAMETER("offset", PARAMETER_REAL, "0", -1e20, 1e20, "levels", "offset added after that",
                          .incidental = true),
         CHOICE_PARAMETER("flip", "no", "no|yes",
                          "yes: convolution (the kernel rotated by 180 degrees); no: correlation",
                          .incidental = true),
         NUMBER_PARAMETER("anchor-x", PARAMETER_INTEGER, NULL, 0, SIDE_MOST - 1, "pixels",
                          "column of the window at the result's pixel; default: width / 2",
                          .incidental = true),
         NUMBER_PARAMETER("anchor-y", PARAMETER_INTEGER, NULL, 0, SIDE_MOST - 1, "pixels",
                          "row of the window at the result's pixel; default: height / 2",
                          .incidental = true)},
    .symbols = {"KW", "KH", "LEFT", "TOP", "SUMS", "SUM24", "SHORTS", "BYTES", "LIMBS", "COLOURS", "CAPACITY",
                "WOVEN", "WOVEN_BIAS", "ZEROS", "SEPARABLE"},
    .reals = {"factor"}, .prepare = prepare, .averages = averages, .table = convolve_table,
    .examples = {{"sharper, by the kernel that is the default", "'convolve' photo.jpg -o sharp.jpg"},
                 {"a relief, by a kernel of one's own",
                  "'convolve kernel=\"3x3: -2 -1 0 -1 1 1 0 1 2\"' photo.jpg -o relief.jpg"}},
    .reference = convolve_reference,
    /* Integers: exact sums, and two roundings in single precision that are the same everywhere. Floats:
       weights and products are rounded, then at most 31 additions in a row and 31 rows (`vectors`: or 49
       additions in all), each to half an ulp of a sum of magnitudes: 65 * 2^-24 at the worst. */
    .bounds = {0, 0, 4e-6}, TABLES(variants, seeds, rungs), .trials = trials, .usual = usual};
