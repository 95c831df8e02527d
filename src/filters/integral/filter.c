/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"

REFERENCE(integral);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    double width = c->in.width, height = c->in.height;
    c->out.type = c->in.type == HONE_F32 ? HONE_F32 : HONE_U32;
    /* The unit of the bound for floats, see below: terms of a sum times the additions that a term goes
     * through. */
    c->gain = width * height * (200 + (width + height) / 16);
    return HONE_OK;
}

#define BANDS "ceildiv(H, ROWS)"

/* Elements of a row of column sums. */
#define STRIDE "roundup(W*C, 16)"

/* Of `tiles`: columns of tiles, a row of column sums with the tiles' own behind, a column of row sums. */
#define TILES       "ceildiv(W, PIECES*128)"
#define TILE_STRIDE "roundup(" TILES "*(PIECES*128 + 1)*C, 4)"
#define TILE_ROWS   "(" BANDS "*ROWS)"
#define TILE_LOCAL  "(C > 1 ? 4*LINES*PIECES*C*WG_X : PTX ? 1 : 64*LINES*PIECES)*4"

/* Of `once`: elements of a row in whole vectors of 16 bytes, rows read at a time, local memory: NVIDIA's
 * driver (580.159.04) fails to start work-groups that take all it says there is. */
#define ONCE_STRIDE "roundup(W*C, 128/BITS)"
#define ONCE_PARTS  "min(GROUP*128/BITS/" ONCE_STRIDE ", (" ONCE_LOCAL "/4 - ROWS*C*32)/" ONCE_STRIDE ")"
#define ONCE_LOCAL  "(LMEM - 2048)"

/* Of `persistent`: work-groups, rows of a band, bands, columns of tiles, sums of a row, local memory for the
 * sums of a chunk and of a band. */
#define GROUPS       "min(CU*DENSITY, H)"
#define GROUP_ROWS   "ceildiv(H, " GROUPS ")"
#define GROUP_BANDS  "ceildiv(H, " GROUP_ROWS ")"
#define GROUP_TILE   "(PIECES*(PTX ? 128 : 4))"
#define GROUP_TILES  "ceildiv(W, " GROUP_TILE ")"
#define GROUP_STRIDE "roundup(" GROUP_TILES "*" GROUP_TILE "*C, 64)"
#define GROUP_CHUNK  "(" GROUP_BANDS "*(CHUNK*128/BITS + 1) + max(GROUP, CHUNK*128/BITS))"
#define GROUP_BAND   "(" GROUP_TILES "*C*(" GROUP_ROWS " + 2) + (PTX && C > 1 ? GROUP*PIECES*C*4 : 0))"
#define GROUP_AREA   "max(" GROUP_CHUNK ", " GROUP_BAND ")*4"

/* Of `lookback_tiles`: lanes of a warp; tiles side by side, and one above the other; sums of a tile. What is
 * found before every seventh tile of a row, and every fifteenth of a column, is published, too. */
#define SPAN_LANES  "(PTX ? 32 : 1)"
#define SPANS       "ceildiv(W*C, 4*" SPAN_LANES ")"
#define SPAN_BANDS  "ceildiv(H, WARPS*LINES)"
#define SPAN_CHUNKS "ceildiv(WARPS*LINES*C, " SPAN_LANES ")"
#define SPAN_SUMS   "((" SPAN_CHUNKS " + 4 + ceildiv(" SPAN_CHUNKS "*C, " SPAN_LANES "))*" SPAN_LANES ")"
#define NEAR_ACROSS "7"
#define NEAR_DOWN   "15"
#define SPAN_RECORDS                                                                                         \
    "(" SPANS "*" SPAN_BANDS " + " SPAN_BANDS "*ceildiv(" SPANS ", " NEAR_ACROSS ") + " SPANS                \
    "*ceildiv(" SPAN_BANDS ", " NEAR_DOWN "))"

/* Rows of a band that sums up those above itself: of two bands, the first one has no rows above it. */
#define ONCE_ROWS "(BANDS == 2 ? ceildiv(27*H, 50) : ceildiv(H, BANDS))"

static const struct variant variants[] = {
    {VARIANT("scans", NULL, 0, "buffer", "a work-item per row, then a work-item per column"), .brief = true,
     .tunables = {{"WG_ROWS", TUNABLE_LAUNCH, "16 1 4 64", "work-group height of the pass along rows"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 32 128", "work-group width of the pass along columns"}},
     .passes = {PASS("integral_rows", .extent = {"C", "H"}, .local = {"1", "WG_ROWS"},
                     .arguments = {"in", "out", "W", "H"}),
                PASS("integral_columns", .extent = {"W*C"}, .arguments = {"out", "W*C", "H"})},
     .cost = {"C*(BITS/8 + 12)", "2*C", "2*C"}},
    {VARIANT("bands", NULL, NEEDS_LOCAL, "local",
             "three passes without waiting: column sums of bands of rows, those above each band, then each "
             "band by a work-group that scans rows in local memory"),
     .align = 16,
     .tunables = {{"ROWS", TUNABLE_DEFINE, "32 64", "rows of a band"},
                  {"PX", TUNABLE_DEFINE, "4 8", "pixels side by side per work-item"},
                  {"LINES", TUNABLE_DEFINE, "4 2", "rows whose scans share their barriers"},
                  {"GROUP", TUNABLE_DEFINE, "64 32 256", "work-items that scan rows together"},
                  {"WG_X", TUNABLE_LAUNCH, "64 32", "work-group width of the first passes"}},
     .passes = {PASS("integral_band_sums", .extent = {"W*C", "H"}, .block = {"4", "ROWS"},
                     .arguments = {"in", "tmp0", STRIDE, "W*C", "H"}),
                PASS("integral_band_carries", .extent = {STRIDE}, .arguments = {"tmp0", STRIDE, BANDS}),
                PASS("integral_bands", .extent = {"GROUP", "H"}, .block = {NULL, "ROWS"},
                     .local = {"GROUP", "1"},
                     .arguments = {"in", "out", "tmp0", STRIDE, "W*C", "H", "local:(ROWS + LINES)*C*4",
                                   "local:2*GROUP*LINES*C*4"})},
     .scratch = {{.bytes = BANDS "*" STRIDE "*4"}},
     .cost = {"C*(2*BITS/8 + 4 + 16/ROWS)", "C*(0.5 + 4/ROWS)", "C*(4 + (2 + log2(GROUP))/PX)"}},
    {VARIANT("lookback", NULL, NEEDS_LOCAL | NEEDS_PROGRESS, "local",
             "one pass: bands publish what they add and whole sums, and look back at the bands above; formed "
             "again by `scans` where work-groups that wait do not let others run"),
     /* Words are numbered by int. */
     .condition = "ceildiv(H, 16)*W*C*2 <= 2147483647",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "16 32", "rows of a band"},
                  {"PX", TUNABLE_DEFINE, "1 4", "pixels side by side per work-item"},
                  {"GROUP", TUNABLE_DEFINE, "32 64 128", "work-items that scan rows together"},
                  {"SPINS", TUNABLE_DEFINE, "20000 0", "times that a work-item looks before it gives up"}},
     .passes = {PASS("integral_clear", .extent = {"max(2, " BANDS "*W*C*2)"}, .local = {"32"},
                     .arguments = {"tmp0", "tmp1", "tmp2", BANDS "*W*C*2"}),
                PASS("integral_lookback", .extent = {"GROUP", "H"}, .block = {NULL, "ROWS"},
                     .local = {"GROUP", "1"},
                     .arguments = {"in", "out", "tmp0", "tmp1", "tmp2", "W*C", "H", "local:ROWS*C*4",
                                   "local:2*GROUP*4*C*4"}),
                PASS("integral_redo_rows", .extent = {"C", "H"}, .local = {"1", "16"},
                     .arguments = {"in", "out", "tmp0", "W", "H"}),
                PASS("integral_redo_columns", .extent = {"W*C"}, .local = {"32"},
                     .arguments = {"out", "tmp0", "W*C", "H"})},
     /* The least size: Oclgrind 21.10 takes what atomic operations meet in a buffer for uninitialised where a
      * smaller buffer had its number before. */
     .scratch = {{.bytes = "8"},
                 {.bytes = "max(65536, " BANDS "*W*C*8)"},
                 {.bytes = "max(65536, " BANDS "*W*C*8)"}},
     .cost = {"C*(BITS/8 + 4 + 64/ROWS)", "C*(1 + 4/ROWS)", "C*(4 + (2 + log2(GROUP))/PX)"}},
    {VARIANT(
         "tiles", "tiles.cl", NEEDS_LOCAL, "packed",
         "three passes without waiting: what tiles add, what is above and left of them, then each tile by 32 "
         "lanes that exchange sums in registers"),
     .align = 16,
     .tunables = {{"ROWS", TUNABLE_DEFINE, "64 32 128 256", "rows of a tile"},
                  {"PIECES", TUNABLE_DEFINE, "4 1 2", "128 pixels side by side in a tile"},
                  {"LINES", TUNABLE_DEFINE, "2 1 4", "rows scanned together"},
                  {"STREAM", TUNABLE_DEFINE, "0 1", "stores go past the caches (PTX)"},
                  {"WG_SUMS", TUNABLE_LAUNCH, "32 64 128", "work-group width of the first pass"},
                  {"WG_X", TUNABLE_LAUNCH, "32 64 128 256", "work-group width of the last pass"}},
     /* Without PTX the lanes of a tile meet at barriers, which are the work-group's. Floats: see
      * README.md. */
     .constraints = {"PTX || (WG_X == 32 && WG_SUMS == 32)", "!FLOAT || ROWS <= 64", "PIECES*C*LINES <= 32",
                     TILE_LOCAL " <= 32768", "!STREAM || PTX"},
     .defines = {"WITH_PTX=PTX", "TAIL=W*C % 4 != 0"},
     .passes = {PASS("integral_tile_sums", .extent = {TILES "*32", "H"}, .block = {NULL, "ROWS"},
                     .local = {"WG_SUMS", "1"},
                     .arguments = {"in", "tmp0", TILE_STRIDE, "tmp1", TILE_ROWS, "W*C", "H",
                                   "local:33*WG_SUMS*4"}),
                PASS("integral_tile_carries",
                     .extent = {"roundup(" TILE_STRIDE ", 32) + " TILE_ROWS "*C", "8"}, .local = {"32", "8"},
                     .arguments = {"tmp0", TILE_STRIDE, BANDS, "tmp1", TILE_ROWS "*C", TILES}),
                PASS("integral_tiles", .extent = {TILES "*32", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "tmp0", TILE_STRIDE, "tmp1", TILE_ROWS, "W*C", "H",
                                   "local:" TILE_LOCAL})},
     .scratch = {{.bytes = BANDS "*" TILE_STRIDE "*4"}, {.bytes = TILES "*" TILE_ROWS "*C*4"}},
     .cost = {"C*(2*BITS/8 + 4 + 16/ROWS + 16/PIECES/128)", "C*(0.5 + 8/ROWS)", "C*(6 + 8/4)"}},
    {VARIANT("once", "once.cl", NEEDS_LOCAL, "local",
             "one launch, for small images: a work-group forms a few rows and sums up all above them itself"),
     .align = 16,
     .tunables = {{"GROUP", TUNABLE_DEFINE, "256 32 512 1024", "work-items"},
                  {"ROWS", TUNABLE_DEFINE, "4 1 2 8", "rows of a band"}},
     /* Sums of bytes have 16 bits; floats: see README.md. */
     .constraints = {"GROUP >= ROWS*32", ONCE_PARTS " >= 2",
                     "(ROWS*" ONCE_STRIDE " + ROWS*C*32)*4 <= " ONCE_LOCAL,
                     "TYPE != 0 || H <= 256*" ONCE_PARTS,
                     "!FLOAT || H/" ONCE_PARTS " + " ONCE_PARTS " + ROWS + 32 <= 200 + H/16"},
     .passes = {PASS("integral_once", .extent = {"GROUP*ceildiv(H, ROWS)"}, .local = {"GROUP"},
                     .arguments = {"in", "out", "local:max(" ONCE_PARTS ", ROWS)*" ONCE_STRIDE "*4",
                                   "local:ROWS*C*128", ONCE_STRIDE, ONCE_PARTS, "W", "H"})},
     .cost = {"C*(BITS/8*H/ROWS/2 + 4)", "C*H/ROWS*BITS/256", "C*(H/ROWS/2 + 4)"}},
    {VARIANT(
         "persistent", "persistent.cl", NEEDS_LOCAL | NEEDS_PROGRESS, "packed",
         "one launch of as many work-groups as there are compute units, which meet once: sums down columns, "
         "then each a band by lanes that exchange sums in registers"),
     .condition = "PTX || CPU", .align = 16,
     .tunables = {{"GROUP", TUNABLE_DEFINE, "512 256 1", "work-items"},
                  {"DENSITY", TUNABLE_LAUNCH, "1 2", "work-groups for each compute unit"},
                  {"PIECES", TUNABLE_DEFINE, "1 2", "128 pixels side by side in a tile"},
                  {"LINES", TUNABLE_DEFINE, "4 1 2", "rows scanned together"},
                  {"CHUNK", TUNABLE_DEFINE, "2 1 4", "16 bytes of columns summed up together"},
                  {"STREAM", TUNABLE_DEFINE, "0 1", "stores go past the caches (PTX)"},
                  {"SPINS", TUNABLE_DEFINE, "4000 0", "times that a work-group looks before it gives up"}},
     /* Without PTX, what others wrote before they counted themselves is seen on CPUs alone. Sums of bytes
      * have 16 bits; floats: see README.md. */
     .constraints = {"PTX ? GROUP > 1 : GROUP == 1",
                     "PIECES*C*LINES <= 32 && GROUP <= MAXWG && GROUP >= CHUNK", GROUP_AREA " <= " ONCE_LOCAL,
                     "TYPE != 0 || " GROUP_ROWS " <= 256", "!FLOAT || 2*" GROUP_ROWS " <= 60 + H/16",
                     "(!STREAM || PTX) && GROUP*DENSITY <= 512"},
     .defines = {"WITH_PTX=PTX", "WITH_REDUX=SM >= 80", "TAIL=W*C % 4 != 0"},
     .passes = {PASS("integral_persistent", .extent = {"GROUP*" GROUPS}, .local = {"GROUP"},
                     .arguments = {"in", "out", "tmp0", GROUP_STRIDE, "tmp1", GROUP_ROWS, GROUP_BANDS, "W*C",
                                   "H", "local:" GROUP_AREA})},
     .scratch = {{.bytes = GROUP_BANDS "*" GROUP_STRIDE "*4"}, {.bytes = "8", .kept = true}},
     .cost = {"C*(3*BITS/8 + 4.5)", "C*0.75", "C*(6 + 8/4)"}},
    {VARIANT("lookback_tiles", "lookback.cl", NEEDS_LOCAL | NEEDS_PROGRESS, "packed",
             "one launch that reads each pixel once: tiles publish their sums, and look back at those on the "
             "left and above"),
     .condition = "PTX || CPU", .align = 16,
     .options = {{"-cl-nv-maxrregcount=64", "PTX && REGISTERS == 64"},
                 {"-cl-nv-maxrregcount=80", "PTX && REGISTERS == 80"}},
     .tunables = {{"WARPS", TUNABLE_DEFINE, "8 4 16 1", "warps of a work-group"},
                  {"LINES", TUNABLE_DEFINE, "8 16 4 2", "rows of a warp"},
                  {"REGISTERS", TUNABLE_DEFINE, "64 80 0", "registers of a work-item at most (PTX); 0: any"},
                  {"STREAM", TUNABLE_DEFINE, "1 0", "stores go past the caches (PTX)"},
                  {"SPINS", TUNABLE_DEFINE, "4000 0", "times that a lane looks before it gives up"}},
     /* Floats, of small tiles: see README.md. */
     .constraints = {"PTX ? WARPS > 1 : WARPS == 1", "WARPS*" SPAN_LANES " <= MAXWG",
                     "PTX ? REGISTERS == 0 || WARPS <= 8 : REGISTERS == 0",
                     "WARPS*" SPAN_LANES "*(16 + LINES*(TYPE == 0 ? 8 : 16)) + 8*" SPAN_SUMS " + 64 <= LMEM",
                     "!STREAM || PTX", "PTX || !FLOAT || W*C*2/7 + H*8/7/LINES <= 150"},
     .defines = {"WITH_PTX=PTX", "TAIL=W*C % 4 != 0", "NEAR_ACROSS=" NEAR_ACROSS, "NEAR_DOWN=" NEAR_DOWN},
     .passes = {PASS("integral_lookback_tiles", .extent = {"WARPS*" SPAN_LANES "*" SPANS "*" SPAN_BANDS},
                     .local = {"WARPS*" SPAN_LANES}, .arguments = {"in", "out", "tmp0", SPANS, "W*C", "H"})},
     .scratch = {{.bytes = "16 + 8*" SPAN_RECORDS "*" SPAN_SUMS, .kept = true}},
     .cost = {"C*(BITS/8 + 4.5)", "C*0.75", "C*(6 + 8/4)"}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: bands of rows, sums along several rows at once in 64-byte vectors"),
     .tunables = {{"ROWS", TUNABLE_DEFINE, "64 32 128", "rows of a band"},
                  {"LINES", TUNABLE_DEFINE, "4 2 8", "rows walked along together"},
                  {"STREAM", TUNABLE_DEFINE, "0 1", "stores that fill whole cache lines go past the caches"}},
     .passes = {PASS("integral_wide_sums", .extent = {"W*C", "H"}, .block = {"256", "ROWS"},
                     .local = {"1", "1"}, .arguments = {"in", "tmp0", STRIDE, "W*C", "H"}),
                PASS("integral_wide_carries", .extent = {STRIDE}, .block = {"16"}, .local = {"1"},
                     .arguments = {"tmp0", STRIDE, BANDS}),
                PASS("integral_vectors", .extent = {"H"}, .block = {"ROWS"}, .local = {"1"},
                     .arguments = {"in", "out", "tmp0", STRIDE, "W*C", "H"})},
     .scratch = {{.bytes = BANDS "*" STRIDE "*4"}},
     .cost = {"C*(2*BITS/8 + 4 + 16/ROWS)", "C*(2 + 1/LINES)/16", "7*C"}},
    {VARIANT("once_vectors", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: one launch, for few cores: each of a few bands sums up all rows above it itself"),
     /* Down a band of any height floats would be one long chain: see README.md. */
     .condition = "!FLOAT",
     .tunables = {{"BANDS", TUNABLE_LAUNCH, "2 1 4", "bands of rows"},
                  {"LINES", TUNABLE_DEFINE, "4 2 8", "rows walked along together"},
                  {"STREAM", TUNABLE_DEFINE, "0 1", "stores that fill whole cache lines go past the caches"}},
     .passes = {PASS("integral_once_vectors", .extent = {"BANDS"}, .local = {"1"},
                     .arguments = {"in", "out", "tmp0", STRIDE " + 16", ONCE_ROWS, "W*C", "H"})},
     .scratch = {{.bytes = "BANDS*(" STRIDE " + 16)*4"}},
     .cost = {"C*(BITS/8*(BANDS + 1)/2 + 4)", "C*(2 + 1/LINES)/16", "6*C"}},
};

static const struct seed seeds[] = {
    /* Past the caches goes what they (here: 32 MB) do not hold from run to run. */
    {"WIDE && CU <= 2 && !FLOAT && W*H*C*(4 + BITS/8) >= 24000000", "once_vectors", "STREAM=1"},
    {"WIDE && CU <= 2 && !FLOAT", "once_vectors", ""},
    {"WIDE && W*H*C >= 1048576 && C == 1", "vectors", "LINES=2 STREAM=1"},
    {"WIDE && W*H*C >= 1048576", "vectors", "STREAM=1"},
    {"WIDE && C == 1", "vectors", "LINES=2"},
    {"WIDE", "vectors", ""},
    /* Older GPUs have local memory for few such work-groups at a time. */
    {"SM >= 80 && C == 1 && BITS == 8 && H >= 600 && W*H < 25000000", "lookback_tiles", "LINES=16"},
    {"SM >= 80 && C == 1 && BITS == 8 && W*H < 25000000", "lookback_tiles", ""},
    {"SM >= 80 && C == 1 && BITS == 16 && W*H < 20000000", "lookback_tiles", ""},
    {"SM >= 80 && C <= 2 && FLOAT", "lookback_tiles", ""},
    {"SM >= 80 && C == 2 && BITS == 8 && W*H < 12000000", "lookback_tiles", "LINES=16"},
    {"SM >= 80 && W*H*C <= 1200000", "lookback_tiles", ""},
    {"PTX && C == 1 && BITS > 8 && W*H >= 1000000 && W*H <= 9000000 && H <= CU*32", "persistent", "CHUNK=4"},
    {"PTX && C == 1 && W*H >= 3500000 && W*H <= 9000000 && H <= CU*32", "persistent",
     "PIECES=2 LINES=2 STREAM=1"},
    {"PTX && C == 1 && W*H <= 9000000 && H <= CU*32", "persistent", ""},
    {"PTX && C > 1 && W*H >= 1000000 && W*H*C <= 9000000 && H <= CU*32", "persistent", "LINES=1 CHUNK=4"},
    {"PTX && (C == 2 || C == 3) && W*H*C <= 9000000 && H <= CU*32", "persistent", "LINES=2"},
    {"PTX && C > 1 && W*H*C <= 9000000 && H <= CU*32", "persistent", "LINES=1"},
    {"GPU && W*H*C*BITS <= 6291456", "once", ""},
    {"GPU && PTX && C == 2 && W*H >= 16000000 && W*C % 4 == 0", "tiles", "PIECES=2 STREAM=1"},
    {"GPU && PTX && C == 3 && !FLOAT && W*H >= 16000000 && W*C % 4 == 0", "tiles",
     "PIECES=2 LINES=1 STREAM=1"},
    {"GPU && PTX && (C == 4 || (C == 3 && FLOAT)) && W*H < 16000000", "tiles",
     "ROWS=32 PIECES=1 LINES=1 WG_X=128"},
    {"GPU && PTX && C == 2 && BITS > 8 && W*H < 16000000", "tiles", "ROWS=32 PIECES=1 WG_SUMS=64 WG_X=128"},
    {"GPU && PTX && C > 1", "tiles", "ROWS=32 PIECES=1 STREAM=1 WG_SUMS=64 WG_X=64"},
    {"GPU && PTX && W*H >= 134217728 && !FLOAT && W % 4 == 0", "tiles", "ROWS=128 STREAM=1"},
    {"GPU && PTX && W*H >= 134217728", "tiles", "PIECES=2 STREAM=1"},
    {"GPU && PTX && W*H >= 16777216 && BITS == 8", "tiles", "ROWS=32 STREAM=1 WG_SUMS=64 WG_X=64"},
    {"GPU && PTX && W*H >= 16777216", "tiles", "ROWS=32"},
    {"GPU && PTX", "tiles", "ROWS=32 PIECES=1 LINES=4 STREAM=1 WG_SUMS=64 WG_X=64"},
    {"GPU", "bands", ""},
    {"CPU && LMEM >= 16384", "bands", "GROUP=32 WG_X=32 LINES=2"},
    {NULL, "scans", ""},
};

static const struct rung rungs[] = {
    {"scans", "a work-item per row, then one per column", "scans", "", "hone"},
    {"bands", "bands of rows: sums, carries, final", "bands", "", "hone"},
    {"single-pass", "bands publish sums and look back", "lookback", "GROUP=128",
     "hone; Merrill and Garland 2016"},
    {"tiles", "tiles: sums, carries, final by shuffles", "tiles", "", "hone"},
    {"one-launch", "bands sum up all above themselves", "once", "", "hone"},
    {"persistent", "work-groups that meet once", "persistent", "", "hone"},
    {"one-look", "tiles publish sums and look back, each pixel is read once", "lookback_tiles", "",
     "hone; Merrill and Garland 2016"},
    {"wide", "64-byte vectors", "vectors", "", "hone"},
};

const struct hone_filter hone_filter_integral = {
    FILTER("integral",
           "integral image: sum of all pixels above and to the left, inclusive (integers: u32, modulo 2^32)",
           "input of the density write-up", TYPES_ALL, CHANNELS_ALL, 1),
    .reads = READS_BEFORE, .prepare = prepare,
    .examples = {{"sums as a table", "'integral' small.png -o sums.csv"},
                 {"sums as an image", "'integral' gray.png -o sums.tif"}},
    .reference = integral_reference,
    /* Integers: exact modulo 2^32. Floats: on its way into a sum of n terms, each term goes through at most d
     * additions, which round by at most 2^-24 of a partial sum; so the error is at most d * 2^-24 * n * the
     * largest magnitude. No variant's d is over 200 + (width + height) / 16 (see README.md): gain is n * d.
     */
    .bounds = {0, 0, 6e-8}, TABLES(variants, seeds, rungs)};
