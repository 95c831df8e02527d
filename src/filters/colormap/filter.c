/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/colormap/colormap.h"

REFERENCE(colormap);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    c->out.type = HONE_U8;
    c->out.channels = 3;
    return HONE_OK;
}

/* Table 0: 256 colours. Table 1: three polynomials in single precision. */
static void fill_table(const struct filter_case *c, int index, void *table, size_t bytes)
{
    enum map map = (enum map)case_number(c, "map");
    (void)bytes;
    if (index == 0) {
        uint32_t *colors = table;
        for (int level = 0; level < PALETTE_SIZE; level++)
            colors[level] = palette_color(map, level);
        return;
    }
    float *terms = table;
    for (int channel = 0; channel < 3; channel++)
        for (int i = 0; i < PALETTE_TERMS; i++)
            *terms++ = (float)palette_fit(map, channel)[i];
}

#define GROUP_2D   WORK_GROUP("64 16 32 128", "1 2 4")
#define PALETTE    "table0:1024"
#define COST_BYTES "BITS/8 + 3"

static const struct variant variants[] = {
    {VARIANT("constant", NULL, 0, "buffer", "one pixel per work-item, the palette in constant memory"),
     .brief = true, .fuses = FUSES_BEFORE, .tunables = {GROUP_2D},
     .passes = {PASS("colormap_constant", .arguments = {"in", "out", PALETTE, "W", "H"})},
     .cost = {COST_BYTES, "2", "3"}},
    {VARIANT("image", NULL, NEEDS_IMAGES, "image",
             "one pixel per work-item, the palette through the texture unit"),
     .tunables = {GROUP_2D}, .scratch = {{.width = "256", .height = "1", .type = HONE_U8, .channels = 4}},
     .passes = {PASS("colormap_paint", .extent = {"256"}, .local = {"16"}, .arguments = {PALETTE, "tmp0"}),
                PASS("colormap_image", .arguments = {"in", "out", "tmp0", "sampler", "W", "H"})},
     .cost = {COST_BYTES, "2", "3"}},
    {VARIANT("formula", NULL, 0, "buffer", "rainbow and gray by integer arithmetic, exactly"),
     .condition = "map == 0 || map == 2", .tunables = {GROUP_2D}, .defines = {"MAP=map"},
     .passes = {PASS("colormap_formula", .arguments = {"in", "out", "W", "H"})},
     .cost = {COST_BYTES, "1", "12"}},
    {VARIANT("polynomial", NULL, 0, "buffer",
             "viridis, magma and turbo by polynomials, off by one level here and there"),
     .condition = "map == 1 || map >= 3", .relaxed = true,
     /* The fits stay within 0.52 of a level of the table before both are rounded; turbo's table is its fit,
      * of which single precision misses a hundredth. */
     .bounds = {1, 1, 1}, .tunables = {GROUP_2D},
     .passes = {PASS("colormap_polynomial", .arguments = {"in", "out", "table1:180", "W", "H"})},
     .cost = {COST_BYTES, "1", "92"}},
    {VARIANT("words", NULL, NEEDS_LOCAL, "local",
             "GPU: words of the result per work-item, the palette in local memory"),
     .fuses = FUSES_BEFORE,
     .tunables = {{"WORDS", TUNABLE_DEFINE, "4 1 8 16", "words of the result per work-item"},
                  {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width"}},
     .passes = {PASS("colormap_words", .extent = {"ceildiv(3*W, 4)", "H"}, .block = {"WORDS", "1"},
                     .arguments = {"in", "out", PALETTE, "local:1024", "W", "H"})},
     .cost = {COST_BYTES, "3", "9"}},
    {VARIANT(
         "staged", NULL, NEEDS_LOCAL, "local",
         "GPU: four pixels per work-item, whole words by way of local memory, a palette for several rows"),
     .fuses = FUSES_BEFORE,
     .tunables = {{"ROWS", TUNABLE_LAUNCH, "8 1 2 4 16 32", "rows of a work-group"},
                  {"BATCH", TUNABLE_DEFINE, "4 1 2 8", "rows loaded together"},
                  {"WG_X", TUNABLE_LAUNCH, "128 32 64 256", "work-group width"}},
     .passes = {PASS("colormap_staged", .extent = {"ceildiv(W, 4)", "ceildiv(H, ROWS)"},
                     .local = {"WG_X", "1"},
                     .arguments = {"in", "out", PALETTE, "local:1024", "local:24*WG_X", "W", "H", "ROWS"})},
     .cost = {COST_BYTES, "1.25", "6"}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: a load and a store of four bytes per pixel, levels in vectors"),
     .tunables = {{"LENGTH", TUNABLE_DEFINE, "4096 512", "pixels of a row per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "8 1 32", "rows per work-item"}},
     .passes = {PASS("colormap_vectors", .block = {"LENGTH", "ROWS"}, .local = {"1", "1"},
                     .arguments = {"in", "out", PALETTE, "W", "H"})},
     .cost = {COST_BYTES, "2", "FLOAT ? 6 : TYPE == 0 ? 1 : 4"}},
};

static const struct seed seeds[] = {
    {"WIDE", "vectors", ""},
    {"GPU && W*H >= 2097152", "staged", "ROWS=8 WG_X=64"},
    {"GPU", "words", "WORDS=4 WG_X=128"},
    {NULL, "constant", ""},
};

static const struct rung rungs[] = {
    {"by-constant", "palette in constant memory", "constant", "", "guide 7.1.3"},
    {"by-image", "palette through the texture unit", "image", "", "guide 7.1.4"},
    {"by-arithmetic", "integer arithmetic instead of a palette", "formula", "",
     "Japanese write-up, comments"},
    {"by-polynomial", "floating point arithmetic instead of a palette", "polynomial", "", "hone"},
    {"by-local", "palette in local memory, whole words written", "words", "", "guide 7.1.1"},
    {"by-rows", "palette in local memory for several rows, results staged there", "staged", "", "hone"},
    {"wide", "one load and one store per pixel", "vectors", "", "hone"},
};

static const char *const trials[] = {"", "map=viridis", "map=turbo", "map=gray", NULL};

static const struct point_arithmetic point = {.source = "point.clh", .arguments = {PALETTE}};

const struct hone_filter hone_filter_colormap = {
    FILTER("colormap", "maps intensity to colour: blue (low) to red (high), or another map",
           "Japanese write-up, comments", TYPES_ALL | TYPE_S16, CHANNELS_1, 1),
    .parameters = {CHOICE_PARAMETER("map", "rainbow", "rainbow|viridis|gray|magma|turbo",
                                    "colours from low to high")},
    .prepare = prepare, .table = fill_table,
    .examples = {{"gray levels as colours", "'colormap map=viridis' depth.png -o colours.png"},
                 {"smoothed before", "'gaussian sigma=3 | colormap map=turbo' heat.png -o heat-colours.png"}},
    .reference = colormap_reference,
    /* Exact: the level of a float is defined by single precision. */
    .bounds = {0, 0, 0}, .point = &point, TABLES(variants, seeds, rungs), .trials = trials};
