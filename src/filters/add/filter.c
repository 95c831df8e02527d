/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"

REFERENCE(add);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    const hone_image_desc *a = &c->in, *b = &c->second;
    if (a->width == b->width && a->height == b->height && a->type == b->type && a->channels == b->channels)
        return HONE_OK;
    return case_wrong(error,
                      "add: the second image is %ux%u %s x%u; it must be %ux%u %s x%u like the first one",
                      b->width, b->height, hone_type_name(b->type), b->channels, a->width, a->height,
                      hone_type_name(a->type), a->channels);
}

#define COST_BYTES "3*C*BITS/8"

static const struct variant variants[] = {
    {VARIANT("scalar", NULL, 0, "buffer", "one element per work-item"), .fuses = FUSES_BEFORE | FUSES_AFTER,
     .tunables = {{"ALONG", TUNABLE_DEFINE, "1 0",
                   "neighbouring work-items take neighbours in a row (1) or in a column (0)"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 256", "work-group width"}},
     .passes = {PASS("add_scalar", .extent = {"ALONG ? W*C : H", "ALONG ? H : W*C"},
                     .arguments = {"in", "second", "out", "W*C", "H"})},
     .cost = {COST_BYTES, "2*C", "C"}},
    {VARIANT("float4", NULL, 0, "buffer", "vectors of four elements"), .align = 16,
     .tunables = {{"MAD24", TUNABLE_DEFINE, "1 0", "indices by mul24 and mad24"},
                  {"CAST", TUNABLE_DEFINE, "1 0", "vectors through a cast pointer, or by vload4 and vstore4"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 256", "work-group width"}},
     .passes = {PASS("add_float4", .extent = {"W*C", "H"}, .block = {"4", "1"},
                     .arguments = {"in", "second", "out", "W*C", "H"})},
     .cost = {COST_BYTES, "C/2", "C"}},
    {VARIANT("wide16", NULL, 0, "packed",
             "GPU: 16 bytes of several rows per work-item, elements that share a word added together"),
     .align = 16,
     .tunables = {{"ROWS", TUNABLE_DEFINE, "4 1 2 8", "rows per work-item"},
                  {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width"}},
     .passes = {PASS("add_wide16", .extent = {"W*C*BITS/8", "H"}, .block = {"16", "ROWS"},
                     .arguments = {"in", "second", "out", "W*C", "H"})},
     .cost = {COST_BYTES, "C*BITS/64", "C*(FLOAT ? 1 : 13*BITS/32)"}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide", "CPU: 64-byte vectors"),
     .tunables = {{"VECTORS", TUNABLE_DEFINE, "1024 128 4096", "vectors of a row per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "16 1 4 64", "rows per work-item"},
                  {"STREAM", TUNABLE_DEFINE, "1 0", "results go past the caches"}},
     .passes = {PASS("add_vectors", .extent = {"ceildiv(W*C*BITS, 512)", "H"}, .block = {"VECTORS", "ROWS"},
                     .local = {"1", "1"}, .arguments = {"in", "second", "out", "W*C", "H"})},
     .cost = {COST_BYTES, "C*BITS/256", "C"}},
};

static const struct seed seeds[] = {
    /* Results that the caches hold are worth keeping for whoever reads them next. */
    {"WIDE && W*H*C*BITS/8 <= 4194304", "vectors", "STREAM=0"},
    {"WIDE && W*C*BITS > 524288", "vectors", "ROWS=1 STREAM=1"},
    {"WIDE", "vectors", "STREAM=1"},
    {"GPU && H >= 2048", "wide16", "ROWS=4 WG_X=128"},
    {"GPU", "wide16", "ROWS=1 WG_X=64"},
    {"CPU", "float4", "WG_X=256"},
    {NULL, "scalar", ""},
};

static const struct rung rungs[] = {
    {"simple", "one element per work-item, work-items side by side in a column", "scalar", "ALONG=0",
     "guide 9.1.2, first listing"},
    {"simple-rows", "the same, work-items side by side in a row", "scalar", "ALONG=1", "hone"},
    {"optimized2", "float4 loads and stores through cast pointers, mul24 and mad24", "float4",
     "MAD24=1 CAST=1", "guide 9.1.2, second listing"},
    {"vload", "the same with vload4 and vstore4", "float4", "MAD24=1 CAST=0",
     "guide 9.1.2, \"alternatively\""},
    {"index32", "the same with 32-bit multiplication", "float4", "MAD24=0 CAST=1", "guide 8.10"},
    {"16-bytes", "16 bytes of four rows per work-item", "wide16", "ROWS=4", "hone"},
    {"wide", "64-byte vectors", "vectors", "STREAM=0", "hone"},
    {"wide-stream", "64-byte vectors, results past the caches", "vectors", "STREAM=1", "hone"},
};

static const char *const trials[] = {"", NULL};

static const struct point_arithmetic point = {.source = "point.clh", .arguments = {"second"}};

const struct hone_filter hone_filter_add = {
    FILTER("add", "element-wise sum of two images of the same format; integers saturate", "guide 9.1.2",
           TYPES_ALL | TYPE_S16, CHANNELS_ALL, 2),
    .parameters = {{.name = "image", .kind = PARAMETER_IMAGE, .help = "the image to add"}},
    .prepare = prepare,
    .examples = {{"two images of the same size, added", "'add image=flash.png' daylight.png -o both.png"},
                 {"added, and the sum shown in colours",
                  "'add image=second.png | colormap' first.png -o colours.png"}},
    .reference = add_reference,
    /* Integers: exact. Floats: one rounding, the same everywhere, except that a device may take denormals for
       0. */
    .bounds = {0, 0, 6e-8}, .point = &point, TABLES(variants, seeds, rungs), .trials = trials};
