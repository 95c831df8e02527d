/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"

REFERENCE(dot);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    const hone_image_desc *a = &c->in, *b = &c->second;
    if (a->width != b->width || a->height != b->height || a->type != b->type || a->channels != b->channels)
        return case_wrong(error,
                          "dot: the second image is %ux%u %s x%u; it must be %ux%u f32 x4 like the first one",
                          b->width, b->height, hone_type_name(b->type), b->channels, a->width, a->height);
    c->out.channels = 1;
    return HONE_OK;
}

#define GROUP_1D                                                                                             \
    {                                                                                                        \
        "WG_X", TUNABLE_LAUNCH, "64 16 128 256", "work-group width"                                          \
    }
#define COST(loads)                                                                                          \
    {                                                                                                        \
        "36", loads, "7"                                                                                     \
    }

static const struct variant variants[] = {
    {VARIANT("buffer", NULL, 0, "buffer", "one pair per work-item, both from buffers"),
     .tunables = {GROUP_1D}, .passes = {PASS("dot_buffer", .arguments = {"in", "second", "out", "W", "H"})},
     .cost = COST("2")},
    {VARIANT("image", NULL, NEEDS_IMAGES, "image", "one pair per work-item, both through the texture unit"),
     .tunables = {WORK_GROUP("16 8 32", "8 1 4")},
     .passes = {PASS("dot_image", .arguments = {"in:uint", "second:uint", "out", "sampler", "W", "H"})},
     .cost = COST("2")},
    {VARIANT("mixed", NULL, NEEDS_IMAGES, "image",
             "one pair per work-item, the first from a buffer, the second through the texture unit"),
     .tunables = {WORK_GROUP("16 8 32", "8 1 4")},
     .passes = {PASS("dot_mixed", .arguments = {"in", "second:uint", "out", "sampler", "W", "H"})},
     .cost = COST("2")},
    {VARIANT("fours", NULL, 0, "buffer", "four pairs side by side per work-item, results stored as a vector"),
     .tunables = {GROUP_1D},
     .passes = {PASS("dot_fours", .block = {"4", "1"}, .arguments = {"in", "second", "out", "W", "H"})},
     .cost = COST("2")},
    {VARIANT("rows", NULL, 0, "buffer",
             "GPU: a pair of each of several rows per work-item, all loads under way at once"),
     .tunables = {{"ROWS", TUNABLE_DEFINE, "4 1 2 8", "rows per work-item"}, GROUP_1D},
     .passes = {PASS("dot_rows", .block = {"1", "ROWS"}, .arguments = {"in", "second", "out", "W", "H"})},
     .cost = COST("2")},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide", "CPU: 64-byte vectors, sixteen pairs at a time"),
     .tunables = {{"VECTORS", TUNABLE_DEFINE, "256 8 64", "vectors of results of a row per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "8 1 32", "rows per work-item"},
                  {"STREAM", TUNABLE_DEFINE, "1 0", "results go past the caches"}},
     .passes = {PASS("dot_vectors", .extent = {"ceildiv(W, 16)", "H"}, .block = {"VECTORS", "ROWS"},
                     .local = {"1", "1"}, .arguments = {"in", "second", "out", "W", "H"})},
     .cost = COST("0.5")},
};

static const struct seed seeds[] = {
    {"WIDE && W*H <= 131072", "vectors", "STREAM=0"},
    {"WIDE", "vectors", "STREAM=1"},
    {"GPU && H >= 1024", "rows", "ROWS=4 WG_X=128"},
    {"GPU", "rows", "ROWS=1"},
    {"CPU", "fours", "WG_X=256"},
    {NULL, "buffer", ""},
};

static const struct rung rungs[] = {
    {"buffer-buffer", "dot(a[gid], b[gid]), both from buffers", "buffer", "", "guide 9.1.3, first listing"},
    {"image-image", "dot(read_imagef(c), read_imagef(d))", "image", "", "guide 9.1.3, second listing"},
    {"buffer-image", "one from a buffer, one from an image", "mixed", "", "guide 7.1.4 and 9.1.3"},
    {"vectorised", "four pairs per work-item", "fours", "", "guide 7.2"},
    {"loads-in-flight", "pairs of several rows per work-item", "rows", "ROWS=4", "hone"},
    {"wide", "64-byte vectors", "vectors", "", "hone"},
};

static const char *const trials[] = {"", NULL};

const struct hone_filter hone_filter_dot = {
    FILTER("dot", "pixel-wise dot product of two images of four-vectors", "guide 9.1.3", TYPE_F32, CHANNELS_4,
           2),
    .parameters = {{.name = "image", .kind = PARAMETER_IMAGE, .help = "the second vectors"}},
    .prepare = prepare,
    .examples = {{"dot products of the vectors of two images",
                  "'dot image=second.tif' first.tif -o products.tif"},
                 {"how often each product occurs",
                  "'dot image=second.tif | histogram bins=100' first.tif -o counts.csv"}},
    .reference = dot_reference,
    /* Four products and three sums, each rounding by at most 2^-24 of a sum of magnitudes that is at most 4 *
     * a * b for vectors of elements up to a and b: 4 * 4 * 2^-24 = 9.6e-7 of a * b. (The check's second image
     * has elements up to b = 1.) */
    .bounds = {0, 0, 1e-6}, TABLES(variants, seeds, rungs), .trials = trials};
