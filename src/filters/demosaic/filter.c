/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/demosaic/demosaic.h"

REFERENCE(demosaic);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    /* rggb, bggr, grbg, gbrg */
    static const int red_x[] = {0, 1, 1, 0}, red_y[] = {0, 1, 0, 1};
    int pattern = (int)case_number(c, "pattern");
    (void)error;
    case_set_symbol(c, RED_X_SYMBOL, red_x[pattern]);
    case_set_symbol(c, RED_Y_SYMBOL, red_y[pattern]);
    c->out.channels = 3;
    return HONE_OK;
}

#define SHAPE                                                                                                \
    {                                                                                                        \
        "RED_X=RX", "RED_Y=RY", "MALVAR=method"                                                              \
    }
#define COST_BYTES      "4*BITS/8"
#define COST_OPERATIONS "method ? 20 : 7"

static const struct variant variants[] = {
    {VARIANT("direct", NULL, 0, "buffer", "one pixel per work-item, all samples that it needs read"),
     .brief = true, .tunables = {WORK_GROUP("16 8 32", "8 1 4")}, .defines = SHAPE,
     .passes = {PASS("demosaic_direct", .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {COST_BYTES, "method ? 13 : 9", COST_OPERATIONS}},
    {VARIANT("tile", NULL, NEEDS_LOCAL, "local", "a work-group's samples in local memory"),
     .tunables = {WORK_GROUP("16 8 32", "8 2 4")}, .defines = SHAPE,
     .passes = {PASS("demosaic_tile",
                     .arguments = {"in", "out", "local:(WG_X + 4)*(WG_Y + 4)*BITS/8", "W", "H", "border"})},
     .cost = {COST_BYTES, "(WG_X + 4)*(WG_Y + 4)/WG_X/WG_Y", COST_OPERATIONS}},
    {VARIANT("quads", NULL, 0, "buffer",
             "strips two or more pixels wide that slide down two rows at a time, samples in registers"),
     .tunables = {{"PX", TUNABLE_DEFINE, "4 2 8", "pixels across per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "8 2 16", "rows per work-item, an even number"},
                  {"WG_X", TUNABLE_LAUNCH, "32 64", "work-group width"}},
     .defines = SHAPE,
     .passes = {PASS("demosaic_quads", .block = {"PX", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {COST_BYTES, "(PX + 4)*(ROWS + 4)/PX/ROWS", COST_OPERATIONS}},
    {VARIANT("vectors", NULL, NEEDS_WIDE, "wide", "CPU: rows in 64-byte vectors, colours picked by blending"),
     .tunables = {{"ROWS", TUNABLE_DEFINE, "8 2 32", "rows per work-item"}}, .defines = SHAPE,
     .passes = {PASS("demosaic_vectors", .extent = {"H"}, .block = {"ROWS"}, .local = {"1"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {COST_BYTES, "(method ? 13 : 9)*BITS/256", "method ? 40 : 17"}},
};

static const struct seed seeds[] = {
    {"WIDE", "vectors", ""},
    {"GPU && H >= 1024 && TYPE == 0", "quads", "PX=8 ROWS=8 WG_X=32"},
    {"GPU && H >= 1024", "quads", "PX=4 ROWS=8 WG_X=32"},
    {"GPU", "quads", "PX=4 ROWS=2 WG_X=32"},
    {"CPU", "quads", "PX=8 ROWS=16 WG_X=32"},
    {NULL, "direct", ""},
};

static const struct rung rungs[] = {
    {"direct", "one pixel per work-item", "direct", "", "Japanese write-up, comments: camera data to RGB"},
    {"local", "samples in local memory", "tile", "", "hone"},
    {"quad", "2x2 pixels per work-item", "quads", "PX=2 ROWS=2", "hone"},
    {"sliding", "strips of four pixels that slide down", "quads", "PX=4 ROWS=16", "hone"},
    {"wide", "64-byte vectors", "vectors", "", "hone"},
};

static const char *const trials[] = {"method=malvar", "pattern=bggr", "pattern=grbg method=malvar",
                                     "pattern=gbrg", NULL};

static const char *const usual[] = {"method=bilinear", "method=malvar", NULL};

const struct hone_filter hone_filter_demosaic = {
    FILTER("demosaic", "reconstructs colours from a camera's colour filter array",
           "Japanese write-up, comments; Malvar, He and Cutler 2004", TYPE_U8 | TYPE_U16, CHANNELS_1, 1),
    .spatial = true, .window = {"method + 1", "method + 1", "method + 1", "method + 1"}, .period = 2,
    .parameters = {CHOICE_PARAMETER("pattern", "rggb", "rggb|bggr|grbg|gbrg",
                                    "colours of the first two samples of the first row, then of the second",
                                    .incidental = true),
                   CHOICE_PARAMETER(
                       "method", "bilinear", "bilinear|malvar",
                       "mean of the nearest samples, or corrected by the gradient of the pixel's own "
                       "colour")},
    .symbols = {RED_X_SYMBOL, RED_Y_SYMBOL}, .prepare = prepare,
    .examples = {{"a camera's raw samples as a photograph",
                  "'demosaic pattern=rggb' samples.png -o photo.png"},
                 {"the same with finer detail, of a sensor that begins with blue",
                  "'demosaic pattern=bggr method=malvar' samples.tif -o photo.tif"}},
    .reference = demosaic_reference, .bounds = {0, 0, 0},
    /* integers */
    TABLES(variants, seeds, rungs), .trials = trials, .usual = usual};
