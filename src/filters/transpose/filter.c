/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"

REFERENCE(transpose);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    c->out.width = c->in.height;
    c->out.height = c->in.width;
    return HONE_OK;
}

/* Read once, written once: pixels of all channels. */
#define BYTES "2*C*BITS/8"

static const struct variant variants[] = {
    {VARIANT("naive", NULL, 0, "buffer", "one pixel per work-item: reads along rows, writes down columns"),
     .tunables = {WORK_GROUP("16 8 32 64", "16 1 4 8")},
     .passes = {PASS("transpose_naive", .extent = {"IW", "IH"}, .arguments = {"in", "out", "IW", "IH"})},
     .cost = {BYTES, "C", "0"}},
    {VARIANT("image", NULL, NEEDS_IMAGES, "image",
             "one pixel per work-item: reads down columns through the texture unit, writes along rows"),
     /* Reading floats may flush tiny ones to zero; signed integers would need another kernel. */
     .condition = "C != 3 && TYPE <= 1", .tunables = {WORK_GROUP("16 8 32 64", "16 1 4 8")},
     .passes = {PASS("transpose_image", .extent = {"IH", "IW"},
                     .arguments = {"in:uint", "out", "sampler", "IW", "IH"})},
     .cost = {BYTES, "1", "0"}},
    {VARIANT("local", NULL, NEEDS_LOCAL, "local", "the write-up's blocks of 16x16 pixels in local memory"),
     .condition = "MAXWG >= 256",
     .passes = {PASS("transpose_local", .extent = {"IW", "IH"}, .local = {"16", "16"},
                     .arguments = {"in", "out", "IW", "IH"})},
     .cost = {BYTES, "C", "0"}},
    {VARIANT("tiles", NULL, NEEDS_LOCAL, "local",
             "tiles in local memory whose columns lie in different banks, several rows per work-item"),
     .tunables = {{"TILE", TUNABLE_DEFINE, "32 16 64", "pixels across and down a tile"},
                  {"LINES", TUNABLE_DEFINE, "8 2 4 16 32", "rows moved at a time: the work-group's height"},
                  {"PLACE", TUNABLE_DEFINE, "1 2 0", "of a pixel in the tile: plain, padded or swizzled"}},
     .constraints = {"LINES <= TILE"},
     .passes = {PASS(
         "transpose_tiles", .extent = {"IW", "IH"}, .block = {NULL, "TILE/LINES"}, .local = {"TILE", "LINES"},
         .arguments = {"in", "out", "IW", "IH", "local:TILE*(TILE + 1)*(C == 3 ? 4 : C)*BITS/8"})},
     .cost = {BYTES, "C", "0"}},
    {VARIANT("bytes", "packed.cl", NEEDS_LOCAL, "packed",
             "pixels of 1, 2 or 4 bytes in words: blocks of bytes turned in registers, then tiles"),
     .condition = "C*BITS <= 32 && C*BITS != 24", .align = 4,
     .tunables = {{"ACROSS", TUNABLE_DEFINE, "32 16", "blocks across and down a tile"},
                  {"LINES", TUNABLE_DEFINE, "8 1 4 16 32",
                   "rows of blocks at a time: the work-group's height"}},
     .constraints = {"LINES <= ACROSS"}, .defines = {"WITH_PTX=PTX"},
     .passes = {PASS("transpose_bytes", .extent = {"IW", "IH"},
                     .block = {"32/(C*BITS)", "32*ACROSS/(C*BITS)/LINES"}, .local = {"ACROSS", "LINES"},
                     .arguments = {"in", "out", "IW", "IH", "local:ACROSS*ACROSS*4*32/(C*BITS)"})},
     .cost = {BYTES, "C*BITS/32", "C*BITS == 32 ? 0 : 32/(C*BITS)/2"}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: four blocks at a time turned in 64-byte vectors, 64 neighbours of a column per store"),
     .tunables = {{"COLUMNS", TUNABLE_DEFINE, "64 32 128 256", "of the input, per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "4096 64 256 1024", "of the input, per work-item"},
                  {"STREAM", TUNABLE_DEFINE, "0 1", "stores that fill whole cache lines go past the caches"}},
     .passes = {PASS("transpose_vectors", .extent = {"IW", "IH"}, .block = {"COLUMNS", "ROWS"},
                     .local = {"1", "1"}, .arguments = {"in", "out", "IW", "IH"})},
     .cost = {BYTES, "C*BITS/128", "C*BITS/64"}},
};

static const struct seed seeds[] = {
    /* A result larger than a cache goes past it, where its rows begin with cache lines; then short pieces of
     * many rows serve best. So does one of large pixels, whose rows soon fall on the same lines of a cache.
     * Elsewhere a whole band of columns, whose unfinished lines wait in the cache for
     * the next step. */
    {"WIDE && (W*H*C*BITS >= 33554432 || C*BITS > 32) && W*C*BITS % 512 == 0 && C*BITS != 24", "vectors",
     "COLUMNS=256 ROWS=64 STREAM=1"},
    {"WIDE && (W*H >= 1048576 || W >= 128*CU)", "vectors", "COLUMNS=64 ROWS=4096"},
    {"WIDE", "vectors", "COLUMNS=64 ROWS=256"},
    {"GPU && C*BITS == 32", "tiles", "TILE=64 LINES=4 PLACE=1"},
    {"GPU && C*BITS <= 32 && C*BITS != 24", "bytes", "LINES=4"},
    {"CPU && C*BITS == 8", "bytes", "LINES=1"},
    {"CPU", "naive", "WG_X=32 WG_Y=1"},
    {"CPU", "tiles", "TILE=16 LINES=2 PLACE=0"},
    {"MAXWG >= 256", "tiles", ""},
    {NULL, "naive", "WG_X=8 WG_Y=1"},
};

static const struct rung rungs[] = {
    {"naive", "each pixel copied to its place", "naive", "", "Japanese write-up, 13.7.4, figure 23"},
    {"16x16", "blocks of 16x16 in local memory", "local", "", "Japanese write-up, 13.7.4, transposeL"},
    {"texture", "columns read through the texture unit", "image", "", "hone"},
    {"plain", "tiles of 32x32, columns in one bank", "tiles", "PLACE=0", "hone"},
    {"padded", "rows of the tile one pixel longer", "tiles", "PLACE=1", "hone"},
    {"swizzled", "columns of the tile renamed", "tiles", "PLACE=2", "hone"},
    {"bytes", "4x4 bytes or 2x2 shorts turned in registers", "bytes", "", "hone"},
    {"wide", "64-byte vectors", "vectors", "", "hone"},
};

const struct hone_filter hone_filter_transpose = {
    FILTER("transpose", "swaps rows and columns", "Japanese write-up, 13.7.4", TYPES_ALL | TYPE_S16,
           CHANNELS_ALL, 1),
    .reads = READS_ELSEWHERE, .turns = true, .prepare = prepare,
    .examples = {{"rows become columns", "'transpose' photo.jpg -o turned.jpg"},
                 {"the same for a folder", "'transpose' scans/ -o turned/"}},
    .reference = transpose_reference,
    /* Pixels are moved, never computed with. */
    .bounds = {0, 0, 0}, TABLES(variants, seeds, rungs)};
