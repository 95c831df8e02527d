/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/gaussian/gaussian.h"

#include <math.h>

REFERENCE(gaussian);

static void set_grid(struct filter_case *c, struct gaussian_grid grid, const char *step, const char *taps,
                     const char *reach)
{
    case_set_symbol(c, step, grid.step);
    case_set_symbol(c, taps, grid.taps);
    case_set_symbol(c, reach, grid.reach);
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    double sigma = case_number(c, "sigma");
    bool bytes = c->in.type == HONE_U8;
    case_set_symbol(c, "R", gaussian_radius(sigma));
    case_set_symbol(c, "S100", (int64_t)ceil(100 * sigma));
    case_set_symbol(c, "NEAR", bytes ? gaussian_near(sigma) : gaussian_radius(sigma));
    set_grid(c, gaussian_grid(c, sigma), "GRID_STEP", "GRID_TAPS", "GRID_REACH");
    set_grid(c, gaussian_coarse_grid(c, sigma), "STEP", "TAPS", "REACH");
    case_set_symbol(c, "SEEN", gaussian_matrix_grid(c, sigma).reach);
    case_set_symbol(c, "EXACT_BITS", gaussian_exact_bits(bytes, sigma));
    case_set_symbol(c, "MADE", c->in.channels - (c->in.channels == 4 && !c->filter_alpha));
    case_set_symbol(c, "EXACT_REACH", c->exact ? gaussian_exact_reach(c) : 1);
    case_set_symbol(c, "REACH_16", gaussian_reach_16(sigma));
    case_set_symbol(c, "BITS_16", gaussian_bits_16(sigma));
    return HONE_OK;
}

#define WEIGHTS   "table0:4*R + 4"
#define RECURSIVE "method != 2"
#define DIRECT    "method != 1"

/* 4th order is within a level of u8; finer formats take the 6th. */
#define PAIRS    "(TYPE == 0 ? 2 : 3)"
#define POLES    "table1:32*" PAIRS
#define SECTIONS "table2:64"

/* clang-format off */

/* The fourth order's own error is 0.14/255 in the worst picture, its recursion in single precision loses up
 * to 0.05/255 at sigma 100. As in the write-up, one channel. */
#define AS_WRITTEN        RECURSIVE " && S100 <= 10000 && C == 1 && TYPE != 1"
#define AS_WRITTEN_BOUNDS {1, 0, 1e-3}

#define LINES {"WG_X", TUNABLE_LAUNCH, "16 1 4 64 256", "lines per work-group"}
#define TILES {"TILES", TUNABLE_DEFINE, "0 1", "transposes go through local memory"}

/* Memory traffic: a sweep reads the line and writes floats; the sweep back reads both and writes the
 * result. */
#define COUPLED_OPS    "C*(4*11*" PAIRS " + 2)"
#define AS_WRITTEN_OPS "64*C"

#define LINE_PASSES(numbers)                                                                       \
    {{.kernel = "gaussian_lines_rows", .extent = {"H*C"}, .local = {"WG_X"},                       \
      .arguments = {"in", "tmp0", "W", "H", "border", WEIGHTS, numbers, "R"}},                     \
     {.kernel = "gaussian_lines_columns", .extent = {"W*C"}, .local = {"WG_X"},                    \
      .arguments = {"tmp0", "tmp1", "out", "W", "H", "border", WEIGHTS, numbers, "R"}}}

#define TRANSPOSE_PASSES(numbers)                                                                  \
    {{.kernel = "gaussian_down_pixels", .extent = {"W*C"}, .local = {"WG_X"},                      \
      .arguments = {"in", "tmp0", "W", "H", "border", WEIGHTS, numbers, "R"}},                     \
     {.kernel = "gaussian_transpose", .extent = {"W", "H"}, .local = {"16", "TILES ? 16 : 1"}, \
      .arguments = {"tmp0", "tmp1", "W", "H"}},                                                    \
     {.kernel = "gaussian_down_floats", .extent = {"H*C"}, .local = {"WG_X"},                      \
      .arguments = {"tmp1", "tmp0", "H", "W", "border", WEIGHTS, numbers, "R"}},                   \
     {.kernel = "gaussian_transpose_back", .extent = {"H", "W"}, .local = {"16", "TILES ? 16 : 1"}, \
      .arguments = {"tmp0", "out", "W", "H", "R"}}}

#define TWO_PICTURES {{.bytes = "4*W*H*C"}, {.bytes = "4*W*H*C"}}

/* clang-format on */

/* Elements: a line with its borders, a row of border values; rows that are narrower than a vector, as whole
 * vectors. */
#define BAND_LINE "(roundup((2*W + 2*NEAR)*C + 64, 64) + (W*C < 32 ? 16*(ROWS + 2*NEAR) : 0))"

/* The radius that is enough; pixels of a piece of a row; elements of the columns of one with what its windows
 * see, and of these and a row of border values. */
#define TURNED_NEAR    "(method == 2 ? R : REACH_16)"
#define TURNED_PIECE   "(BORDER == 3 ? W : max(256/C/4*4, 4*R))"
#define TURNED_COLUMNS "(16*((min(W, 2*" TURNED_PIECE ") + 2*R + 4)*C + 16))"
#define TURNED_SCRATCH "(" TURNED_COLUMNS " + roundup(W*C, 32))"
#define TURNED_BANDS   "4*ceildiv(H, ROWS)*" TURNED_SCRATCH
#define TURNED_PASS(table, radius)                                                                           \
    PASS("gaussian_turned", .extent = {"H"}, .block = {"ROWS"},                                              \
         .arguments = {"in", "out", "W", "H", "border", table, radius, WEIGHTS, "R", TURNED_PIECE, "tmp0",   \
                       TURNED_SCRATCH, TURNED_COLUMNS})

/* A tile of 32x32 pixels with what its windows see, and that after the rows' pass. */
#define TILE_BYTES "(4*(32 + 2*NEAR)*(64 + 2*NEAR))"

/* Points beyond the edges that are gathered: where the border rule repeats something, points are alike from
 * the second one on. Cells of rows that count and those of a band, bands; rows of filtered points, elements
 * of a row of points with what is read behind it, and of a line of all columns with what lies beyond both
 * edges. */
#define COARSE_BEYOND "(BORDER >= 1 && BORDER <= 3 ? REACH : 1)"
#define COARSE_CELLS  "max(3, ceildiv(ROWS, STEP))"
#define COARSE_BANDS  "ceildiv(ceildiv(H, STEP) + 2*" COARSE_BEYOND " + 6, " COARSE_CELLS ")"
#define COARSE_PITCH  "roundup((ceildiv(W, STEP) + 2*REACH + 3)*C + 80, 16)"
#define COARSE_LINE   "(roundup((ceildiv(W, STEP) + 2*REACH + 6)*STEP*C, 16) + 1024)"
#define COARSE_TABLE  "table5:4*(4*STEP + 2*TAPS + 7)"

/* Where the grid has a step. */
#define GRID "method == 0 && GRID_STEP >= 2"

/* The grid's results, from one point before the picture to two cells after it; what is gathered for these;
 * bytes read ahead; groups, whose first 4 work-items repeat those before; blocks across noted for NaN. */
#define GRID_POINTS(pixels) "(8*ceildiv(" pixels ", 8*GRID_STEP) + 4)"
#define GRID_COLUMNS        GRID_POINTS("W")
#define GRID_ROWS           GRID_POINTS("H")
#define GATHERED_COLUMNS    "(" GRID_COLUMNS " + 2*GRID_REACH)"
#define GATHERED_ROWS       "(" GRID_ROWS " + 2*GRID_REACH)"
#define GATHER_CELLS        "min(4, max(1, ceildiv(8*TAKE, GRID_STEP*BITS)))"
#define GATHER_STAGE        "(AHEAD == 2 ? max(24576, 2*C*GROUP*STACK*max(GRID_STEP*BITS/8, TAKE)) : 0)"
#define GATHER_GROUPS       "ceildiv(" GATHERED_COLUMNS ", (GROUP - 4)*" GATHER_CELLS ")"
#define GATHER_STRIPS       "ceildiv(" GATHERED_ROWS " + 3, STACK*ROWS)"
#define GRID_FLAGS          "(" GATHER_GROUPS "*(GROUP - 4) + 4)"
#define GRID_TABLE          "table4:4*(4*GRID_STEP + 2*GRID_TAPS + 7)"

/* Two tunables of what makes the grid, and its first pass. */
#define GRID_TUNABLES                                                                                        \
    {"TAKE", TUNABLE_DEFINE, "8 4 16", "bytes of a row per work-item that gathers, if that is a cell"},      \
        {"GIVE", TUNABLE_DEFINE, "16 4 8", "bytes of a row per work-item that spreads"},                     \
        {"AHEAD", TUNABLE_DEFINE, "0 1 2", "rows are read ahead, 2: into local memory"},                     \
        {"GROUP", TUNABLE_DEFINE, "128 32 64 256", "work-items of a group that gathers"},                    \
        {"ROWS", TUNABLE_DEFINE, "16 4 8 32", "rows of cells that they walk down"},                          \
        {"STACK", TUNABLE_DEFINE, "1 2 4", "work-items of a group that gathers, one below the other"},       \
    {                                                                                                        \
        "DOWN", TUNABLE_DEFINE, "4 1 2 8 16", "cells down per work-item that spreads"                        \
    }
#define GRID_CONSTRAINTS                                                                                     \
    "AHEAD != 1 || C*GRID_STEP*max(TAKE, GRID_STEP*BITS/8) <= 256",                                          \
        "STACK == 1 || GROUP*STACK <= min(512, MAXWG)",                                                      \
        "4*C*GROUP*STACK*(6 + (STACK == 1 ? 0 : 3*" GATHER_CELLS ")) + 4*C + " GATHER_STAGE " <= LMEM"
#define GATHER_SCRATCH                                                                                       \
    {.bytes = "4*C*" GATHERED_COLUMNS "*" GATHER_STRIPS "*(STACK*ROWS + 3)"},                                \
        {.bytes = "FLOAT ? C*" GRID_FLAGS "*(" GATHERED_ROWS " + 3) : 1"},                                   \
        {.bytes = "FLOAT ? C*" GATHER_GROUPS "*" GATHER_STRIPS " : 1"},                                      \
    {                                                                                                        \
        .bytes = "C == MADE ? 1 : roundup(W, 16)*H*BITS/8"                                                   \
    }
#define GATHER_PASS                                                                                          \
    PASS("gaussian_grid_gather", .extent = {GATHER_GROUPS "*GROUP", GATHER_STRIPS "*STACK"},                 \
         .local = {"GROUP", "STACK"},                                                                        \
         .arguments = {"in", "tmp0", "tmp1", "tmp2", "tmp3", "W", "H", "border", "GRID_REACH",               \
                       GATHERED_COLUMNS, GATHERED_ROWS, GRID_FLAGS})

/* Cells down of a work-group's tile, and the points of a channel's lines that it filters. */
#define TILE_CELLS "(ITEMS*8*GIVE/BITS/SPAN*DOWN)"
#define TILE_LINES                                                                                           \
    "(GRID_STEP >= 8 ? MADE : 1)*(" TILE_CELLS " + 4 + 2*GRID_TAPS)*(2*SPAN/GRID_STEP + 8 + 2*GRID_TAPS)"

/* The grid by matrix units: pixels across of a strip, a line of these and what windows see beside it, bytes
 * of matrices, and of local memory: two times 32 lines, points, and where elements of a line come from. */
#define SEEN_ACROSS "(64*UNITS - 16)"
#define SEEN_ROWS                                                                                            \
    "(GROUPS ? roundup(ceildiv(H, " BANDS("ceildiv(W, " SEEN_ACROSS ")") ") + 16, 64) : 64*TIMES) - 16"
#define SEEN_LINE     "(" SEEN_ACROSS " + 2*roundup(SEEN + 8, 16))"
#define SEEN_MATRICES "512*(2*ceildiv(60 + 2*SEEN, 16) + 10)"
#define SEEN_BYTES    "64*(" SEEN_LINE " + 16) + 128 + 512*(2*UNITS + 1)"

/* exact=yes: weights of 16 bits. */
#define EXACT_16      "EXACT_BITS <= 16"
#define EXACT_WEIGHTS "table6:4*EXACT_REACH + 4"

/* On CPUs: tables; rows of a band, such that all units have as many of them; elements of a row of a strip
 * with what windows see beside it; bytes of those, of where elements beyond edges come from, and of a ring of
 * rows. */
#define STRIPS_TUNABLES                                                                                      \
    {"ROWS", TUNABLE_LAUNCH, "256 16 32 64 128 512", "most rows of a band"},                                 \
        {"STRIP", TUNABLE_DEFINE, "1024 128 256 512", "elements across a strip"},                            \
    {                                                                                                        \
        "WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"                                              \
    }
#define STRIPS_PASS(tables, reach)                                                                           \
    PASS("gaussian_exact_strips", .extent = {"H"}, .block = {STRIPS_ROWS},                                   \
         .arguments = {"in", "out", "W", "H", "border", tables, #reach " + 1", "R", "tmp0",                  \
                       STRIPS_SCRATCH(reach), STRIPS_EDGE(reach), STRIPS_ROWS})
#define STRIPS_BANDS(reach)   "ceildiv(H, " STRIPS_ROWS ")*" STRIPS_SCRATCH(reach)
#define STRIPS_TABLES         "table7:(TYPE == 0 ? 16 : 12)*(EXACT_REACH + 1) + 8"
#define STRIPS_ROWS           "max(16, roundup(ceildiv(H, CU*ceildiv(H, ROWS*CU)), 2))"
#define STRIPS_EDGE(reach)    "(STRIP + roundup(2*" #reach "*C, 64) + 64)"
#define STRIPS_SCRATCH(reach) "((8*STRIP + 128)*(" #reach " + 2) + 256*C + 3*BITS/8*" STRIPS_EDGE(reach) ")"

/* Bytes of a line of doubles with its borders, and of a row of border values. */
#define EXACT_LINE "roundup(8*(W + 2*EXACT_REACH)*C + W*C*BITS/8 + 128, 128)"

/* clang-format off */

/* Products of small matrices: a warp for each channel that is made. Strips of a work-group, their stages, two
 * times 16 rows, each of pieces of 16 bytes and at most seven more that keep banks apart; of pixels of 16
 * bytes what products reach beyond; and 16 rows of results of colours that are integers. */
#define STRIPS             "(C == 1 ? WG_X/32 : 1)"
#define WIDE_PIXELS        "C*BITS >= 128"
#define LOADED(reach)      "roundup(" #reach ", " WIDE_PIXELS " ? 2 : 8)"
#define STAGE_BYTES(reach) "(" STRIPS                                                              \
    "*32*(16*TILES*C*BITS/8 + 2*roundup(" LOADED(reach) "*C*BITS/8, 16) + (C > 1 ? 16 : 112))"     \
    " + (" WIDE_PIXELS ")*192 + (C > 1 && !FLOAT)*16*(2*TILES*C*BITS + 16))"
#define MATRIX_FITS "WG_X <= MAXWG && 128 <= MAXWG", "C == 1 || (WG_X == 64 && BURST)"
#define BURST                                                                                      \
    {"BURST", TUNABLE_DEFINE, "1 0", "rows inside of the image are loaded by code of their own"}
/* Rows of a work-group: ROWS, or as many as give each compute unit at most GROUPS work-groups, where there
 * are so many `across`; work-groups that run one after the other on some units leave the others idle. */
#define GROUPS                                                                                     \
    {"GROUPS", TUNABLE_LAUNCH, "0 1 2 3 4 5 6 7 8 9 10 12 14 16",                                  \
     "work-groups per compute unit, which set the rows; 0: as said"}
#define BANDS(across) BANDS_OF_GROUPS("CU*GROUPS", across)
#define MATRIX_ROWS                                                                                \
    "(GROUPS ? roundup(ceildiv(H, " BANDS("ceildiv(ceildiv(W, 16*TILES), " STRIPS ")")             \
    "), 16) : ROWS)"
#define MATRIX_PASS(name, table)                                                                   \
    {.kernel = name, .extent = {"ceildiv(W, 16*TILES)*32*MADE", "H"}, .block = {"1", MATRIX_ROWS}, \
     .local = {"C == 1 ? WG_X : 32*MADE", "1"},                                                    \
     .arguments = {"in", "out", "W", "H", "border", table, "R", MATRIX_ROWS}}

/* Products of matrices of bytes. They are done by units of their own: what costs is splitting, carrying and
 * packing. */
#define BYTE_MATRIX(reach)      #reach " <= 32 && (SM >= 80 || W*H <= 65536)"
#define BYTE_MATRIX_FITS(reach) MATRIX_FITS, REGISTERS_CONSTRAINT, STAGE_BYTES(reach) " <= LMEM"
#define BYTE_MATRIX_TUNABLES                                                                       \
    {"TILES", TUNABLE_DEFINE, "4 2 8", "tiles of 16 columns per warp"},                            \
    {"ROWS", TUNABLE_LAUNCH, "128 16 32 64 192 256 384 512", "rows per warp"},                     \
    {"WG_X", TUNABLE_DEFINE, "64 32 128 256", "work-items of a work-group"}, BURST, REGISTERS, GROUPS
#define BYTE_MATRIX_COST(reach)                                                                    \
    "2*C*BITS/8", "C*BITS/8*(16*TILES + 16*ceildiv(" #reach ", 8))/(64*TILES)", "8*C*(TYPE + 2)"

/* clang-format on */

static const struct variant variants[] = {
    {VARIANT("direct", NULL, 0, "buffer", "every weight of the window, along rows, then along columns"),
     .brief = true, .condition = DIRECT, .tunables = {WORK_GROUP("16 8 32 64", "16 1 2 4 8")},
     .scratch = {{.bytes = "4*W*H*C"}},
     .passes = {PASS("gaussian_direct_rows", .extent = {"W*C", "H"},
                     .arguments = {"in", "tmp0", "W", "H", "border", WEIGHTS, "R"}),
                PASS("gaussian_direct_columns", .extent = {"W*C", "H"},
                     .arguments = {"tmp0", "out", "W", "H", "border", WEIGHTS, "R"})},
     .cost = {"C*(2*BITS/8 + 8)", "C*(4*R + 2)", "C*(8*R + 2)"}},
    {VARIANT(
         "bands", "cpu.cl", NEEDS_WIDE, "wide",
         "CPU: every weight, rows into a line that stays in the cache, then along it, in 64-byte vectors"),
     .condition = DIRECT " && NEAR <= 64",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "32 8 128", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .scratch = {{.bytes = "ceildiv(H, ROWS)*" BAND_LINE "*(TYPE == 0 ? 2 : 4)"}},
     .passes = {PASS("gaussian_bands", .extent = {"H"}, .block = {"ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "table3:(TYPE == 0 ? 2 : 4)*(NEAR + 1)",
                                   "NEAR", "R", "tmp0", BAND_LINE})},
     .cost = {"2*C*BITS/8", "C*(4*NEAR + 2)*BITS/512", "C*(6*NEAR + 2)"}},
    {VARIANT("turned", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: every weight, of as many rows as a vector has lanes: down, turned in registers, along; "
             "what is loaded serves four results"),
     .condition = DIRECT " && TYPE != 0 && NEAR <= 64 && W*C >= 16",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "32 16 64 128", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .defines = {"TURNED=1"}, .scratch = {{.bytes = TURNED_BANDS}},
     .passes = {TURNED_PASS("table0:4*" TURNED_NEAR " + 4", TURNED_NEAR)},
     .cost = {"2*C*BITS/8", "C*(" TURNED_NEAR " + 2)*BITS/512", "C*(6*" TURNED_NEAR " + 2)"}},
    {VARIANT("strips16", "exact_strips.cl", NEEDS_WIDE, "wide",
             "CPU, u16: every weight, along rows, then down strips, in products of 16 bits, rounded between"),
     .condition = "method == 0 && TYPE == 1 && S100 <= 400", .defines = {"ROUNDED=1"},
     .tunables = {STRIPS_TUNABLES}, .scratch = {{.bytes = STRIPS_BANDS(REACH_16)}},
     .passes = {STRIPS_PASS("table7:12*(REACH_16 + 1) + 8", REACH_16)},
     .cost = {"4*C", "C*(2*REACH_16 + 1)/16", "C*8*(REACH_16 + 1)"}},
    {VARIANT("coarse", "coarse.cl", NEEDS_WIDE, "wide",
             "CPU: any sigma at the same cost: every few rows and columns, blurred, and all pixels from "
             "those, in 64-byte vectors"),
     .condition = "method == 0 && STEP >= 2",
     .tunables = {{"ROWS", TUNABLE_LAUNCH, "128 32 64 256", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .scratch = {{.bytes = "4*" COARSE_BANDS "*(" COARSE_CELLS " + 3)*" COARSE_PITCH},
                 {.bytes = "32*" COARSE_BANDS "*" COARSE_PITCH},
                 {.bytes = "28*" COARSE_BANDS "*" COARSE_LINE}},
     .passes = {PASS("gaussian_coarse_gather", .extent = {COARSE_BANDS},
                     .arguments = {"in", "tmp0", "tmp2", "W", "H", "border", COARSE_TABLE, "STEP", "REACH",
                                   COARSE_BEYOND, COARSE_BANDS, COARSE_CELLS, COARSE_PITCH, COARSE_LINE}),
                PASS("gaussian_coarse_spread", .extent = {"H"}, .block = {COARSE_CELLS "*STEP"},
                     .arguments = {"in", "tmp0", "tmp1", "out", "tmp2", "W", "H", "border", COARSE_TABLE,
                                   "STEP", "TAPS", "REACH", COARSE_BEYOND, WEIGHTS, "R", COARSE_CELLS,
                                   COARSE_PITCH, COARSE_LINE})},
     .cost = {"C*(2*BITS/8 + 8/STEP/STEP)", "C*(20/STEP + (8*TAPS + 16)/STEP/STEP)/16",
              "C*(20 + 32/STEP + (8*TAPS + 16)/STEP/STEP)"}},
    {VARIANT("tile", NULL, NEEDS_LOCAL, "local",
             "every weight, both passes over a tile in local memory: the picture is read and written once"),
     .condition = DIRECT " && " TILE_BYTES " <= 32000",
     .tunables = {{"ITEMS", TUNABLE_DEFINE, "256 128 32", "work-items of a tile"}},
     .constraints = {TILE_BYTES " <= LMEM"},
     .passes = {PASS("gaussian_tile", .extent = {"ceildiv(W, 32)*ITEMS", "ceildiv(H, 32)"},
                     .local = {"ITEMS", "1"},
                     .arguments = {"in", "out", "W", "H", "border", "table0:4*NEAR + 4", "NEAR", "R",
                                   "local:4*(32 + 2*NEAR)*(32 + 2*NEAR)", "local:4*32*(32 + 2*NEAR)"})},
     .cost = {"2*C*BITS/8", "C*((32 + 2*NEAR)*(32 + 2*NEAR)/1024 + (2*NEAR + 4)/4*(2 + NEAR/16))",
              "C*2*(2*NEAR + 1)*(2 + NEAR/16)"}},
    {VARIANT("packed", "packed.cl", 0, "packed",
             "every weight, both passes in registers: strips that slide down; of u8, two bytes and "
             "weights at a time"),
     .condition = DIRECT " && (C == 1 ? NEAR <= 16 : TYPE == 2 && NEAR <= 20)", .align = 16,
     .specialised = "the window's radius sets how many results are under way in registers",
     .tunables = {{"PX", TUNABLE_DEFINE, "4 2 8 16", "pixels across per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "64 16 32 128 256", "rows per work-item"},
                  {"UNROLL", TUNABLE_DEFINE, "2 1 4", "rows per round of the loop"},
                  WORK_GROUP("32 64 128 256", "4 1 2")},
     .constraints = {"PX*(2*NEAR + 1) <= 160 && PX*BITS >= 32"}, .defines = {"RADIUS=NEAR", "WITH_PTX=PTX"},
     .passes = {PASS("gaussian_packed", .extent = {"W*C", "H"}, .block = {"PX", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", "table0:4*NEAR + 4", "R"})},
     .cost = {"2*C*BITS/8", "C*(2*ceildiv(NEAR*C, PX) + 1)/PX*(ROWS + 2*NEAR)/ROWS",
              "C*2*(2*NEAR + 1)*(ROWS + 2*NEAR)/ROWS"}},
    {VARIANT("columns", "columns.cl", NEEDS_LOCAL, "local",
             "every weight, down in registers, then across from local memory, in which all channels lie"),
     .condition = DIRECT " && TYPE != 0 && NEAR <= 20", .align = 16,
     .specialised = "the window's radius sets how many results are under way in registers",
     .tunables = {{"LANES", TUNABLE_DEFINE, "64 32 128", "work-items per channel"},
                  {"ROWS", TUNABLE_DEFINE, "128 8 16 32 64 256", "rows per work-group"},
                  {"TIMES", TUNABLE_DEFINE, "1 2 4", "rows at a time, per channel"}},
     .constraints = {"LANES*C <= MAXWG", "32*C*TIMES*(LANES*C + (C % 2 ? 0 : LANES)) <= LMEM",
                     "TIMES*C <= 4 || TIMES == 1"},
     .defines = {"RADIUS=NEAR", "WITH_PTX=PTX"},
     .passes = {PASS("gaussian_columns",
                     .extent = {"ceildiv(W, 4*LANES - 2*roundup(NEAR, 4))*LANES*C", "ceildiv(H, ROWS)"},
                     .local = {"LANES*C", "1"},
                     .arguments = {"in", "out", "W", "H", "border", "table0:4*NEAR + 4", "R"})},
     .cost = {"2*C*BITS/8", "C*((ROWS + 2*NEAR)/ROWS*BITS/128 + (2*NEAR + 4)/16)",
              "C*2*(2*NEAR + 1)*(2*ROWS + 2*NEAR)/ROWS"}},
    {VARIANT("matrix", "matrix.cl", 0, "packed",
             "every weight, both passes as products of 16x16 matrices of halves in registers"),
     .condition = DIRECT " && TYPE == 0 && NEAR <= 40 && (SM >= 80 || W*H <= 65536)", .align = 16,
     .specialised = "the window's radius sets the depth of the products",
     .tunables = {{"TILES", TUNABLE_DEFINE, "4 2 8", "tiles of 16 columns per warp"},
                  {"ROWS", TUNABLE_LAUNCH, "128 16 32 64 192 256 384 512", "rows per warp"},
                  {"WG_X", TUNABLE_DEFINE, "64 32 128 256", "work-items of a work-group"},
                  BURST,
                  REGISTERS,
                  GROUPS},
     .options = {REGISTERS_OPTIONS},
     .constraints = {MATRIX_FITS, STAGE_BYTES(NEAR) " <= LMEM", REGISTERS_CONSTRAINT},
     .defines = {"RADIUS=NEAR", "WITH_PTX=SM >= 80"},
     .passes = {MATRIX_PASS("gaussian_matrix", "table0:4*NEAR + 4")},
     /* The products are done by units of their own; what is left is packing and rounding. */
     .cost = {"2*C", "C*(16*TILES + 16*ceildiv(NEAR, 8))/(64*TILES)", "8*C"}},
    {VARIANT("grid_matrix", "grid_matrix.cl", 0, "packed",
             "gray u8: every few rows and columns, blurred, and all pixels from those, as products of 16x16 "
             "matrices of halves, in one launch"),
     .condition = "method == 0 && TYPE == 0 && C == 1 && S100 >= 500 && S100 <= 1600 && "
                  "(SM >= 80 || W*H <= 65536)",
     .align = 16, .specialised = "what a point of the grid sees sets the depth of the products",
     .tunables = {{"UNITS", TUNABLE_DEFINE, "4 1 2 8", "warps of a work-group, beside each other"},
                  {"TIMES", TUNABLE_LAUNCH, "5 1 2 3 4 6 8", "times 64 rows that a work-group makes, but 16"},
                  REGISTERS,
                  GROUPS},
     .options = {REGISTERS_OPTIONS},
     .constraints = {"32*UNITS <= MAXWG", SEEN_BYTES " <= LMEM", REGISTERS_CONSTRAINT},
     .defines = {"REACH=SEEN", "WITH_PTX=SM >= 80"},
     .passes = {PASS(
         "gaussian_grid_matrix", .extent = {"ceildiv(W, " SEEN_ACROSS ")*32*UNITS", "H"},
         .block = {"1", SEEN_ROWS}, .local = {"32*UNITS", "1"},
         .arguments = {"in", "out", "W", "H", "border", "table9:" SEEN_MATRICES " + 4", "R", SEEN_ROWS})},
     /* What is not done by units of its own: bytes as halves, and results as bytes. */
     .cost = {"2", "1/8", "8"}},
    {VARIANT("matrix16", "exact_matrix.cl", 0, "packed",
             "u16: every weight, both passes as products of matrices of bytes, in integers"),
     .condition = DIRECT " && TYPE == 1 && " BYTE_MATRIX(REACH_16), .align = 16,
     .specialised = "the window's reach sets the depth of the products", .tunables = {BYTE_MATRIX_TUNABLES},
     .options = {REGISTERS_OPTIONS}, .constraints = {BYTE_MATRIX_FITS(REACH_16)},
     .defines = {"RADIUS=REACH_16", "WITH_PTX=SM >= 80", "ROUNDED=1", "WEIGHT_BITS=BITS_16"},
     .passes = {MATRIX_PASS("gaussian_exact_matrix", "table8:4*REACH_16 + 4")},
     .cost = {BYTE_MATRIX_COST(REACH_16)}},
    {VARIANT("matrix32", "matrix32.cl", 0, "packed",
             "f32: every weight, both passes as products of matrices of numbers in two parts"),
     .condition = DIRECT " && TYPE == 2 && NEAR <= 35 && (SM >= 80 || W*H <= 65536)", .align = 16,
     .specialised = "the window's radius sets the depth of the products",
     .tunables = {{"TILES", TUNABLE_DEFINE, "2 1 4", "tiles of 16 columns per warp"},
                  {"ROWS", TUNABLE_LAUNCH, "64 16 32 128 256 384", "rows per warp"},
                  {"WG_X", TUNABLE_DEFINE, "64 32 128", "work-items of a work-group"},
                  BURST,
                  REGISTERS,
                  GROUPS},
     .options = {REGISTERS_OPTIONS},
     .constraints = {REGISTERS_CONSTRAINT, MATRIX_FITS,
                     STAGE_BYTES(NEAR) " + (C == 1 ? 2048*(1 + ceildiv(NEAR, 8)) : 0) <= LMEM"},
     .defines = {"RADIUS=NEAR", "WITH_PTX=SM >= 80"},
     .passes = {MATRIX_PASS("gaussian_matrix32", "table0:4*NEAR + 4")},
     .cost = {"8*C", "C*(16*TILES + 16*ceildiv(NEAR, 8))/(16*TILES)", "16*C"}},
    {VARIANT("grid", "grid.cl", NEEDS_LOCAL, "local",
             "any sigma at nearly the cost of a copy: every few rows and columns, blurred, and all pixels "
             "from those"),
     .condition = GRID, .align = 16,
     .specialised = "the grid's step, which changes where sigma doubles, sets what stays in registers",
     .tunables = {GRID_TUNABLES,
                  {"DEEP", TUNABLE_DEFINE, "8 4 16", "work-items that filter down, one below the other"},
                  {"TIMES", TUNABLE_DEFINE, "2 1", "times four results of a work-item that filters"},
                  {"SPLIT", TUNABLE_DEFINE, "1 2 4", "work-items that share the taps of a result"},
                  {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width of the last pass"}},
     .constraints = {GRID_CONSTRAINTS, "256*max(4*TIMES*DEEP + 32, (SPLIT > 1)*4*TIMES*DEEP*SPLIT) <= LMEM",
                     "2048*(3*TIMES + (SPLIT > 1)*SPLIT) <= LMEM", "16*SPLIT*max(DEEP, 8) <= MAXWG"},
     .defines = {"STEP=GRID_STEP", "PHI=floats4:4*GRID_STEP", "WITH_PTX=PTX*(1 + (SM >= 80))"},
     .scratch = {GATHER_SCRATCH, {.bytes = "4*C*" GRID_COLUMNS "*" GATHERED_ROWS}},
     .passes = {GATHER_PASS,
                PASS("gaussian_grid_rows", .extent = {GRID_COLUMNS, GATHERED_ROWS, "C*SPLIT"},
                     .block = {"8", "TIMES"}, .local = {"32", "4", "SPLIT"},
                     .arguments = {"tmp0", "tmp4", GRID_TABLE, "GRID_TAPS", "GRID_REACH - GRID_TAPS",
                                   GATHERED_COLUMNS, GATHERED_ROWS, GRID_COLUMNS}),
                PASS("gaussian_grid_columns", .extent = {GRID_COLUMNS, GRID_ROWS, "C*SPLIT"},
                     .block = {"4", "4*TIMES"}, .local = {"16", "DEEP", "SPLIT"},
                     .arguments = {"tmp4", "tmp0", GRID_TABLE, "GRID_TAPS", "GRID_REACH - GRID_TAPS",
                                   GATHERED_ROWS, GRID_COLUMNS, GRID_ROWS}),
                PASS("gaussian_grid_spread", .extent = {"W", "H"}, .block = {"8*GIVE/BITS", "DOWN*GRID_STEP"},
                     .arguments = {"in", "tmp0", "tmp1", "tmp2", "tmp3", "out", "W", "H", "border",
                                   "GRID_REACH", "R", GRID_COLUMNS, GRID_ROWS, GATHERED_ROWS, GRID_FLAGS})},
     .cost = {"C*(2*BITS/8 + 24/GRID_STEP/GRID_STEP)", "C*(2 + 16/GRID_STEP/GRID_STEP)*BITS/128",
              "C*(20 + 32/GRID_STEP + (8*GRID_TAPS + 16)/GRID_STEP/GRID_STEP)"}},
    {VARIANT("grid_tiles", "grid.cl", NEEDS_LOCAL, "local",
             "the same, the grid blurred in local memory by those who make the pixels of it: two launches"),
     .condition = GRID, .align = 16,
     .specialised = "the grid's step, which changes where sigma doubles, sets what stays in registers",
     .tunables = {GRID_TUNABLES,
                  {"SPAN", TUNABLE_DEFINE, "128 64 256", "pixels across of a work-group that spreads"},
                  {"ITEMS", TUNABLE_DEFINE, "256 128", "its work-items"}},
     .constraints = {GRID_CONSTRAINTS, TILE_CELLS " >= 4 && " TILE_CELLS " % 4 == 0",
                     "4*" TILE_LINES " + 4*C*(" TILE_CELLS " + 4)*(SPAN/GRID_STEP + 4) + 1024 <= LMEM"},
     .defines = {"STEP=GRID_STEP", "PHI=floats4:4*GRID_STEP", "WITH_PTX=PTX*(1 + (SM >= 80))"},
     .scratch = {GATHER_SCRATCH},
     .passes = {GATHER_PASS,
                PASS("gaussian_grid_tiles",
                     .extent = {"ceildiv(W, SPAN)*ITEMS", "ceildiv(H, " TILE_CELLS "*GRID_STEP)"},
                     .local = {"ITEMS", "1"},
                     .arguments = {"in", "tmp0", GRID_TABLE, "tmp1", "tmp2", "tmp3", "out", "W", "H",
                                   "border", "GRID_TAPS", "GRID_REACH", "R", GRID_COLUMNS, GRID_ROWS,
                                   GRID_FLAGS, "local:4*" TILE_LINES})},
     .cost = {"C*(2*BITS/8 + 8/GRID_STEP/GRID_STEP)", "C*(2 + 16/GRID_STEP/GRID_STEP)*BITS/128",
              "C*(20 + 32/GRID_STEP + (16*GRID_TAPS + 16)/GRID_STEP/GRID_STEP)"}},
    {VARIANT("lines", NULL, 0, "buffer",
             "recursive: a work-item for each row, then for each column; coupled complex poles"),
     .condition = RECURSIVE, .tunables = {LINES}, .defines = {"PAIRS=" PAIRS}, .scratch = TWO_PICTURES,
     .passes = LINE_PASSES(POLES), .cost = {"C*(3*BITS/8 + 28)", "6*C", COUPLED_OPS}},
    {VARIANT("segments", NULL, NEEDS_LOCAL, "local",
             "recursive, no transposes: rows through local memory, and lines in segments that begin at "
             "the edge of "
             "their first window"),
     .condition = RECURSIVE,
     .tunables = {{"LINES", TUNABLE_DEFINE, "32 64", "lines per work-group along rows"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 256", "columns per work-group"},
                  {"ALONG", TUNABLE_LAUNCH, "512 16 128 1024", "pixels of a segment of a row"},
                  {"DOWN", TUNABLE_LAUNCH, "512 16 128 1024", "rows of a segment of a column"}},
     .defines = {"PAIRS=" PAIRS}, .scratch = TWO_PICTURES,
     .passes = {PASS("gaussian_segments_rows", .extent = {"H*C", "W"}, .block = {NULL, "ALONG"},
                     .local = {"LINES", "1"},
                     .arguments = {"in", "tmp0", "W", "H", "border", WEIGHTS, POLES, "R", "ALONG"}),
                PASS("gaussian_segments_columns", .extent = {"W*C", "H"}, .block = {NULL, "DOWN"},
                     .arguments = {"tmp0", "tmp1", "out", "W", "H", "border", WEIGHTS, POLES, "R", "DOWN"})},
     .cost = {"C*(3*BITS/8 + 28)", "C*(6 + 2*R/ALONG + 2*R/DOWN)",
              "C*(11*" PAIRS "*(4 + 2*R/ALONG + 2*R/DOWN) + 2)"}},
    {VARIANT("lines4", NULL, 0, "buffer", "the write-up's rgH and rgV, of 4th order, as two real sections"),
     .condition = AS_WRITTEN, .relaxed = true, .bounds = AS_WRITTEN_BOUNDS, .tunables = {LINES},
     .defines = {"SECTIONS=1"}, .scratch = TWO_PICTURES, .passes = LINE_PASSES(SECTIONS),
     .cost = {"C*(3*BITS/8 + 28)", "6*C", AS_WRITTEN_OPS}},
    {VARIANT("exact", "exact.cl", 0, "buffer",
             "exact=yes: along rows, then along columns, in integers of 32 and 64 bits"),
     .exact = TYPE_U8 | TYPE_U16, .tunables = {WORK_GROUP("16 8 32 64", "16 1 2 4 8")},
     .defines = {"FINE=EXACT_BITS > 16"}, .specialised = "from sigma 6 on the weights take more bits",
     .scratch = {{.bytes = "(EXACT_BITS > 16 ? 8 : 4)*W*H*C"}},
     .passes = {PASS("gaussian_exact_rows", .extent = {"W*C", "H"},
                     .arguments = {"in", "tmp0", "W", "H", "border", EXACT_WEIGHTS, "EXACT_REACH"}),
                PASS("gaussian_exact_columns", .extent = {"W*C", "H"},
                     .arguments = {"tmp0", "out", "W", "H", "border", EXACT_WEIGHTS, "EXACT_REACH", "R",
                                   "EXACT_BITS"})},
     .cost = {"C*(2*BITS/8 + (EXACT_BITS > 16 ? 16 : 8))", "C*(4*EXACT_REACH + 2)", "C*(6*EXACT_REACH + 4)"}},
    {VARIANT("exact_packed", "packed.cl", 0, "packed",
             "exact=yes on a GPU: both passes in registers, near ties again in integers"),
     .condition = EXACT_16 " && TYPE == 0 && C == 1 && EXACT_REACH <= 16", .align = 16, .exact = TYPE_U8,
     .specialised = "the window's reach sets how many results are under way in registers",
     .tunables = {{"PX", TUNABLE_DEFINE, "4 8 16", "pixels across per work-item"},
                  {"ROWS", TUNABLE_DEFINE, "64 16 32 128 256", "rows per work-item"},
                  {"UNROLL", TUNABLE_DEFINE, "2 1 4", "rows per round of the loop"},
                  WORK_GROUP("32 64 128 256", "4 1 2")},
     .constraints = {"PX*(2*EXACT_REACH + 1) <= 160"},
     .defines = {"RADIUS=EXACT_REACH", "WITH_PTX=PTX", "EXACT=1"},
     .passes = {PASS("gaussian_exact_packed", .block = {"PX", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", EXACT_WEIGHTS, "R"})},
     .cost = {"2", "(2*ceildiv(EXACT_REACH, PX) + 1)/PX*(ROWS + 2*EXACT_REACH)/ROWS",
              "2*(2*EXACT_REACH + 1)*(ROWS + 2*EXACT_REACH)/ROWS"}},
    {VARIANT("exact_matrix", "exact_matrix.cl", 0, "packed",
             "exact=yes on a GPU: both passes as products of matrices of bytes, in integers"),
     .condition = EXACT_16 " && " BYTE_MATRIX(EXACT_REACH), .align = 16, .exact = TYPE_U8 | TYPE_U16,
     .specialised = "the window's reach sets the depth of the products", .tunables = {BYTE_MATRIX_TUNABLES},
     .options = {REGISTERS_OPTIONS},
     .constraints = {BYTE_MATRIX_FITS(EXACT_REACH), "TYPE == 1 || C > 1 || TILES >= 4"},
     .defines = {"RADIUS=EXACT_REACH", "WITH_PTX=SM >= 80", "WEIGHT_BITS=EXACT_BITS"},
     .passes = {MATRIX_PASS("gaussian_exact_matrix", EXACT_WEIGHTS)},
     .cost = {BYTE_MATRIX_COST(EXACT_REACH)}},
    {VARIANT("exact_strips", "exact_strips.cl", NEEDS_WIDE, "wide",
             "exact=yes of u8 and u16 on a CPU: along rows, then down strips, in products of 8 and 16 bits"),
     .condition = EXACT_16 " && TYPE <= 1", .exact = TYPE_U8 | TYPE_U16, .tunables = {STRIPS_TUNABLES},
     .scratch = {{.bytes = STRIPS_BANDS(EXACT_REACH)}}, .passes = {STRIPS_PASS(STRIPS_TABLES, EXACT_REACH)},
     .cost = {"2*C*BITS/8", "C*BITS/8*(2*EXACT_REACH + 1)/16", "C*BITS/8*6*(EXACT_REACH + 1)"}},
    {VARIANT("exact_turned", "cpu.cl", NEEDS_WIDE, "wide",
             "exact=yes of u8 on a CPU, sigma up to 25: the form of turned, near ties again in integers"),
     .condition = "EXACT_BITS == 24 && TYPE == 0 && R <= 125 && W*C >= 16", .exact = TYPE_U8,
     .tunables = {{"ROWS", TUNABLE_DEFINE, "32 16 64 128", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .defines = {"TURNED=1", "EXACT=1", "REACH=128"}, .scratch = {{.bytes = TURNED_BANDS}},
     .passes = {TURNED_PASS(EXACT_WEIGHTS, "EXACT_REACH")},
     .cost = {"2*C", "C*(EXACT_REACH + 2)*BITS/512", "C*(6*EXACT_REACH + 10)"}},
    {VARIANT("exact_doubles", "exact.cl", NEEDS_WIDE | NEEDS_DOUBLE, "wide",
             "exact=yes of u8 and u16 on a CPU, any large sigma: sums of doubles, near ties again in "
             "integers"),
     .condition = "EXACT_BITS == 24 && TYPE <= 1", .exact = TYPE_U8 | TYPE_U16,
     .tunables = {{"ROWS", TUNABLE_DEFINE, "16 4 8 32 64", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .scratch = {{.bytes = "ceildiv(H, ROWS)*" EXACT_LINE}},
     .passes = {PASS("gaussian_exact_doubles", .extent = {"H"}, .block = {"ROWS"},
                     .arguments = {"in", "out", "W", "H", "border", EXACT_WEIGHTS, "EXACT_REACH", "R", "tmp0",
                                   EXACT_LINE})},
     .cost = {"2*C*BITS/8", "C*(2*EXACT_REACH + 1)*(BITS + 64)/512", "C*(6*EXACT_REACH + 10)"}},
    {VARIANT("transposed", NULL, NEEDS_LOCAL, "local",
             "recursive: columns, transpose, columns, transpose; coupled complex poles"),
     .condition = RECURSIVE, .tunables = {LINES, TILES}, .defines = {"PAIRS=" PAIRS}, .scratch = TWO_PICTURES,
     .passes = TRANSPOSE_PASSES(POLES), .cost = {"C*(3*BITS/8 + 44)", "8*C", COUPLED_OPS}},
    {VARIANT("transposed4", NULL, NEEDS_LOCAL, "local", "the write-up's rgV + transpose + rgV + transpose"),
     .condition = AS_WRITTEN, .relaxed = true, .bounds = AS_WRITTEN_BOUNDS, .tunables = {LINES, TILES},
     .defines = {"SECTIONS=1"}, .scratch = TWO_PICTURES, .passes = TRANSPOSE_PASSES(SECTIONS),
     .cost = {"C*(3*BITS/8 + 44)", "8*C", AS_WRITTEN_OPS}},
};

/* Enough pixels for GPUs to be busy with long strips. */
#define LARGE "C == 1 && W*H >= 100000000"
#define BUSY  "W*H >= 16777216"
/* Where colours in u8 gain by products; the grid's steps have their best sigmas between. */
#define COLOUR_MATRIX "C > 1 && (S100 < 450 || S100 < 650 && (C == 4 || C == 3 && S100 >= 550))"
#define MATRIX32      "S100 <= 640"
#define GRAY_MATRIX   "SM >= 80 && method == 0 && TYPE == 0 && C == 1 && S100 >= 500 && S100 <= 1600"
#define SMALL         "W*H <= 4194304" /* too few pixels for many work-groups of the usual size */

/* Gathers with little for each work-item to walk down. */
#define BROAD   "AHEAD=1 GROUP=64 ROWS=4 STACK=2 "
#define STACKED "AHEAD=1 GROUP=32 ROWS=4 STACK=4 "
/* Pieces of 16 bytes by way of local memory, two groups of rows in one or a single one. */
#define WALK_TWICE  "TAKE=16 AHEAD=2 GROUP=64 ROWS=4 STACK=2 "
#define WALK        "TAKE=16 AHEAD=2 GROUP=64 "

#define NVIDIA_GRID "SM >= 80 && " GRID

/* On CPUs, exact results of which strips should stay in the first cache. */
#define NARROW_STRIPS "(TYPE == 0 ? C < 4 && EXACT_REACH >= 15 : C == 1 && EXACT_REACH >= 8)"

static const struct seed seeds[] = {
    {"EXACT && WIDE && H >= 256*CU && TYPE == 1 && C < 4 && EXACT_REACH <= 6", "exact_strips",
     "ROWS=128 STRIP=512"},
    {"EXACT && WIDE && (CU == 1 || H >= 2048*CU) && " NARROW_STRIPS, "exact_strips", "ROWS=512 STRIP=256"},
    {"EXACT && WIDE && (CU == 1 || H >= 2048*CU)", "exact_strips", "ROWS=512"},
    {"EXACT && WIDE && H >= 256*CU && " NARROW_STRIPS, "exact_strips", "STRIP=256"},
    {"EXACT && WIDE", "exact_strips", ""},
    {"EXACT && WIDE", "exact_turned", ""},
    {"EXACT && WIDE", "exact_doubles", ""},
    {"EXACT && SM >= 80 && C > 1 && TYPE == 0 && H >= 2048 && S100 < 300 && !(" BUSY ")", "exact_matrix",
     "ROWS=64"},
    {"EXACT && SM >= 80 && C == 4 && TYPE == 0 && H >= 2048 && " BUSY, "exact_matrix",
     "ROWS=256 REGISTERS=168"},
    {"EXACT && SM >= 80 && C == 4 && TYPE == 0 && H >= 2048", "exact_matrix", "REGISTERS=168"},
    {"EXACT && SM >= 80 && C > 1 && TYPE == 0 && H >= 2048", "exact_matrix", ""},
    {"EXACT && SM >= 80 && C > 1 && H >= 2048", "exact_matrix", "TILES=2"},
    {"EXACT && SM >= 80 && C > 1 && TYPE == 0 && W*H > 1048576", "exact_matrix", "ROWS=64"},
    {"EXACT && SM >= 80 && C > 1 && W*H > 1048576", "exact_matrix", "TILES=2 ROWS=64"},
    {"EXACT && SM >= 80 && C > 1 && TYPE == 0", "exact_matrix", "ROWS=16"},
    {"EXACT && SM >= 80 && C > 1", "exact_matrix", "TILES=2 ROWS=16"},
    {"EXACT && SM >= 80 && TYPE == 0 && H >= 2048", "exact_matrix", "BURST=0"},
    {"EXACT && SM >= 80 && H >= 2048", "exact_matrix", "TILES=2 BURST=0"},
    {"EXACT && SM >= 80 && TYPE == 0", "exact_matrix", "ROWS=32 BURST=0"},
    {"EXACT && SM >= 80", "exact_matrix", "TILES=2 ROWS=32 BURST=0"},
    {"EXACT && GPU && H >= 2048", "exact_packed", "ROWS=32"},
    {"EXACT && GPU", "exact_packed", "ROWS=16"},
    {"EXACT && GPU", "exact", "WG_X=64 WG_Y=4"},
    {"WIDE && STEP < 2 && REACH_16 >= (C == 1 ? 8 : 11)", "strips16", "STRIP=512"},
    {"WIDE && STEP < 2", "strips16", ""},
    {"WIDE && (TYPE == 2 || S100 >= 200) && (method == 2 || STEP < 2)", "turned", ""},
    {"WIDE && (method == 2 || (TYPE == 0 && S100 < (H >= 1024*CU ? 300 : 350)) || STEP < 2)", "bands", ""},
    {"WIDE && H < 128*CU", "coarse", "ROWS=32"},
    {"WIDE && H >= 1024*CU", "coarse", "ROWS=256"},
    {"WIDE", "coarse", ""},
    {GRAY_MATRIX " && W*H <= 1048576 && S100 >= 700", "grid_matrix", "UNITS=2 TIMES=1"},
    {GRAY_MATRIX " && W*H > 1048576 && " SMALL, "grid_matrix", "TIMES=1"},
    {GRAY_MATRIX " && W*H > 4194304 && W*H <= 12582912 && S100 < 1000", "grid_matrix", "TIMES=2"},
    {GRAY_MATRIX " && W*H > 12582912 && !(" BUSY ") && S100 <= 500", "grid_matrix", "TIMES=3 REGISTERS=128"},
    {GRAY_MATRIX " && W*H > 12582912 && !(" BUSY ") && S100 < 1000", "grid_matrix", "TIMES=3"},
    {GRAY_MATRIX " && " BUSY " && S100 < 750", "grid_matrix", ""},
    {GRAY_MATRIX " && " BUSY " && S100 < 1000", "grid_matrix", "UNITS=8"},
    {"SM >= 80 && C > 1 && S100 < 1000 && W*H <= 1048576", "matrix", "ROWS=16"},
    {"SM >= 80 && S100 < 1000 && W*H <= 1048576", "matrix", "ROWS=16 WG_X=32 BURST=0"},
    {"SM >= 80 && S100 < 300 && H >= 2048 && C == 1 && !(" BUSY ")", "matrix", "ROWS=64 WG_X=128 BURST=0"},
    {"SM >= 80 && S100 < 250 && C > 1 && H >= 2048", "matrix", "TILES=8 REGISTERS=168"},
    {"SM >= 80 && S100 < 250 && C > 1", "matrix", "TILES=8 ROWS=32 REGISTERS=168"},
    {"SM >= 80 && S100 < 701 && C == 4 && H >= 2048 && " BUSY, "matrix", "ROWS=256"},
    {"SM >= 80 && S100 >= 500 && S100 < 701 && C == 3 && H >= 2048 && " BUSY, "matrix",
     "ROWS=256 REGISTERS=168"},
    {"SM >= 80 && S100 >= 500 && S100 < 701 && C == 2 && H >= 2048 && " BUSY, "matrix", "ROWS=256"},
    {"SM >= 80 && S100 < 650 && C > 1 && H >= 2048", "matrix", ""},
    {"SM >= 80 && " COLOUR_MATRIX, "matrix", "ROWS=64"},
    {"SM >= 80 && S100 >= 250 && S100 < 500 && C == 1 && H >= 2048 && " BUSY, "matrix", ""},
    {"SM >= 80 && S100 < 500 && C == 1 && H >= 2048", "matrix", "BURST=0"},
    {"SM >= 80 && S100 >= 500 && S100 < 650 && C == 1 && H >= 2048 && !(" BUSY ")", "matrix", ""},
    {"SM >= 80 && S100 < 450 && C == 1", "matrix", "ROWS=32 BURST=0"},
    {"SM >= 80 && S100 < 700 && C > 1 && W*H <= 1048576", "matrix16", "TILES=2 ROWS=16"},
    {"SM >= 80 && S100 < 700 && C > 1 && H < 2048", "matrix16", "TILES=2 ROWS=64"},
    {"SM >= 80 && S100 < 150 && C == 3", "matrix16", "TILES=8"},
    {"SM >= 80 && S100 < 150 && C > 1", "matrix16", ""},
    {"SM >= 80 && S100 < 350 && C == 4", "matrix16", "REGISTERS=168"},
    {"SM >= 80 && S100 >= 250 && S100 < 350 && C == 3 && " BUSY, "matrix16",
     "TILES=2 ROWS=384 REGISTERS=128"},
    {"SM >= 80 && S100 >= 250 && S100 < 350 && C == 3", "matrix16", "TILES=2 REGISTERS=128"},
    {"SM >= 80 && S100 < 350 && C > 1", "matrix16", "REGISTERS=128"},
    {"SM >= 80 && S100 < 700 && C > 2 && " BUSY, "matrix16", "TILES=2 ROWS=384 REGISTERS=128"},
    {"SM >= 80 && S100 < 700 && C > 2", "matrix16", "TILES=2 REGISTERS=128"},
    {"SM >= 80 && S100 >= 550 && S100 < 700 && C == 2 && " BUSY, "matrix16", "TILES=2 ROWS=256"},
    {"SM >= 80 && S100 < 550 && C == 2 && " BUSY, "matrix16", "ROWS=256"},
    {"SM >= 80 && S100 < 700 && C == 2", "matrix16", ""},
    {"SM >= 80 && S100 >= 150 && S100 < 700 && H >= 2048 && " BUSY, "matrix16", "REGISTERS=168"},
    {"SM >= 80 && S100 < 700 && H >= 2048 && (S100 < 150 || (S100 >= 350 && S100 < 550))", "matrix16",
     "BURST=0"},
    {"SM >= 80 && S100 < 700 && H >= 2048", "matrix16", ""},
    {"SM >= 80 && S100 < 700 && W*H <= 1048576", "matrix16", "TILES=2 ROWS=16 WG_X=32 BURST=0"},
    {"SM >= 80 && S100 < 700", "matrix16", "TILES=2 ROWS=32 WG_X=32 BURST=0"},
    {"SM >= 80 && C % 2 == 0 && W*H <= 1048576 && S100 < 300", "columns", "LANES=32 ROWS=16"},
    {"SM >= 80 && C == 2 && S100 < 150 && !(" BUSY ")", "columns", "LANES=32 ROWS=64"},
    {"SM >= 80 && S100 >= 350 && " MATRIX32 " && C == 1 && W*H <= 1048576", "matrix32",
     "TILES=2 ROWS=16 BURST=0"},
    {"SM >= 80 && S100 >= 400 && " MATRIX32 " && C == 1 && H < 2048", "matrix32", "TILES=2 BURST=0"},
    {"SM >= 80 && S100 >= 350 && " MATRIX32 " && C == 4 && W*H <= 1048576", "matrix32", "ROWS=32"},
    {"SM >= 80 && " MATRIX32 " && C > 1 && W*H <= 1048576", "matrix32", "ROWS=16"},
    {"SM >= 80 && " MATRIX32 " && C > 1 && H < 2048", "matrix32", ""},
    {"SM >= 80 && S100 >= 150 && S100 < 350 && C == 3 && " BUSY, "matrix32", "ROWS=384 REGISTERS=128"},
    {"SM >= 80 && S100 < 350 && C == 2 && " BUSY, "matrix32", "ROWS=256"},
    {"SM >= 80 && S100 < 350 && C > 1 && " BUSY, "matrix32", "ROWS=384"},
    {"SM >= 80 && " MATRIX32 " && C > 1 && " BUSY, "matrix32", "ROWS=384 REGISTERS=168"},
    {"SM >= 80 && " MATRIX32 " && C == 4 && " BUSY, "matrix32", "TILES=1 ROWS=256"},
    {"SM >= 80 && S100 >= 150 && S100 < 350 && C == 3", "matrix32", "ROWS=128 REGISTERS=128"},
    {"SM >= 80 && S100 < 350 && C > 1", "matrix32", "ROWS=128"},
    {"SM >= 80 && " MATRIX32 " && C == 4", "matrix32", "ROWS=256 REGISTERS=168"},
    {"SM >= 80 && " MATRIX32 " && C > 1", "matrix32", "ROWS=128 REGISTERS=168"},
    {"SM >= 80 && W*H <= 1048576 && S100 < 300", "columns", "LANES=32 ROWS=8 TIMES=4"},
    {"SM >= 80 && W*H <= 1048576", "columns", "LANES=32 ROWS=16 TIMES=2"},
    {"SM >= 80 && S100 < 300 && H < 2048", "columns", "LANES=32 ROWS=16 TIMES=4"},
    {"SM >= 80 && S100 < 250 && C == 1", "matrix32", "TILES=4 ROWS=128 BURST=0"},
    {"SM >= 80 && S100 < 350 && C == 1 && (H >= 2048 || !(" GRID "))", "matrix32",
     "TILES=4 ROWS=128 BURST=0"},
    {"SM >= 80 && S100 < 450 && C == 1 && H >= 2048", "matrix32", "TILES=4 ROWS=128"},
    {"SM >= 80 && S100 <= 640 && C == 1 && H >= 2048", "matrix32", "ROWS=128"},
    {"SM >= 80 && S100 < 450 && C == 1 && (S100 < 400 || !(" GRID "))", "matrix32",
     "TILES=4 ROWS=128 BURST=0"},
    {"SM >= 80 && S100 >= 300 && (S100 < 400 || !(" GRID "))", "columns", "LANES=64 TIMES=2"},
    {"GPU && S100 < 400 && C > 1", "packed", "PX=2 UNROLL=1"},
    {"GPU && S100 < 300 && H >= 2048", "packed", ""},
    {"GPU && S100 < 300", "packed", "ROWS=16"},
    {NVIDIA_GRID " && " LARGE " && TYPE == 0 && GRID_STEP == 4", "grid_tiles",
     WALK "ROWS=8 DOWN=2 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && " LARGE " && TYPE == 0 && GRID_STEP == 16 && S100 < 4000", "grid_tiles",
     "TAKE=16 " STACKED "DOWN=1 SPAN=256 ITEMS=256"},
    {"GPU && " GRID " && " LARGE " && TYPE == 0 && GRID_STEP < 16", "grid", "AHEAD=1 DOWN=2 WG_X=128"},
    {"GPU && " GRID " && " LARGE " && TYPE == 0", "grid", "GROUP=64 ROWS=8 DOWN=1"},
    {NVIDIA_GRID " && " LARGE " && TYPE == 2 && GRID_STEP == 4", "grid_tiles",
     WALK "ROWS=8 DOWN=4 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && " LARGE " && TYPE == 2 && GRID_STEP == 8 && S100 < 5000", "grid_tiles",
     "TAKE=16 AHEAD=1 GROUP=64 ROWS=8 STACK=2 DOWN=4 SPAN=128 ITEMS=256"},
    {"GPU && " GRID " && " LARGE " && GRID_STEP < 8", "grid", "TAKE=16 AHEAD=1 ROWS=32 DOWN=2 WG_X=128"},
    {"GPU && " GRID " && " LARGE, "grid", "TAKE=16 DOWN=2"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 0 && C == 1", "grid_tiles",
     "AHEAD=1 GROUP=32 ROWS=4 STACK=4 GIVE=8 DOWN=1 SPAN=64 ITEMS=128"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 0 && C > 2 && S100 >= 5000", "grid",
     "AHEAD=1 GROUP=64 ROWS=4 GIVE=8 DOWN=1"},
    {NVIDIA_GRID " && W*H <= 1048576 && TYPE == 0", "grid_tiles",
     "AHEAD=1 GROUP=32 ROWS=4 GIVE=4 DOWN=1 SPAN=64 ITEMS=128"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 0", "grid_tiles",
     "AHEAD=1 GROUP=64 ROWS=4 GIVE=8 DOWN=1 SPAN=64 ITEMS=128"},
    {NVIDIA_GRID " && W*H <= 1048576 && TYPE == 1", "grid_tiles",
     "AHEAD=1 GROUP=32 ROWS=4 GIVE=8 DOWN=1 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && W*H <= 1048576 && TYPE == 2", "grid_tiles",
     "TAKE=16 AHEAD=1 GROUP=64 ROWS=4 DOWN=1 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 1 && C == 1", "grid_tiles",
     "AHEAD=1 GROUP=64 ROWS=4 DOWN=1 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 1 && GRID_STEP > 2", "grid_tiles",
     "AHEAD=1 GROUP=64 ROWS=4 DOWN=1 SPAN=64 ITEMS=128"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 2 && C == 1 && GRID_STEP >= 4", "grid_tiles",
     "TAKE=4 " STACKED "DOWN=2 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 2 && (C == 1 || GRID_STEP > 2)", "grid_tiles",
     "TAKE=16 AHEAD=1 GROUP=64 ROWS=4 DOWN=2 SPAN=64 ITEMS=128"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 1 && GRID_STEP > 2", "grid_tiles",
     "TAKE=16 AHEAD=2 GROUP=32 ROWS=4 GIVE=8 DOWN=1 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 1 && GRID_STEP > 2", "grid_tiles",
     "TAKE=16 AHEAD=2 GROUP=32 ROWS=4 GIVE=8 DOWN=1 SPAN=64 ITEMS=128"},
    {NVIDIA_GRID " && " SMALL " && TYPE == 2 && GRID_STEP > 2", "grid_tiles",
     "TAKE=16 AHEAD=2 GROUP=32 ROWS=4 DOWN=2 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && GRID_STEP == 2 && C > 1 && TYPE == 1", "grid", WALK "ROWS=16 GIVE=8 DOWN=4 DEEP=16"},
    {NVIDIA_GRID " && GRID_STEP == 2", "grid", WALK "ROWS=16 DOWN=4 DEEP=16"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 1 && C == 2", "grid_tiles",
     "TAKE=16 AHEAD=2 GROUP=32 ROWS=4 GIVE=8 DOWN=4 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 0 && C == 2 && GRID_STEP == 4", "grid_tiles",
     "TAKE=16 AHEAD=2 GROUP=32 ROWS=4 GIVE=8 DOWN=2 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 0 && C == 1 && GRID_STEP == 8", "grid_tiles",
     "TAKE=16 " BROAD "DOWN=1 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 0 && C > 2 && GRID_STEP == 8 && S100 < 5000", "grid_tiles",
     BROAD "DOWN=1 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 0 && C == 3 && GRID_STEP == 8", "grid", STACKED "DOWN=1"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 0 && C == 4 && GRID_STEP == 8", "grid", BROAD "GIVE=8 DOWN=1"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 1 && C == 3 && GRID_STEP == 8", "grid", WALK_TWICE "DOWN=1"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 1 && C == 1 && GRID_STEP == 8", "grid_tiles",
     WALK_TWICE "DOWN=2 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && !(" BUSY ") && TYPE == 2 && (C == 2 || (C == 1 && GRID_STEP == 8))", "grid_tiles",
     WALK_TWICE "DOWN=4 SPAN=64 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 0 && C == 1 && GRID_STEP == 4", "grid_tiles",
     WALK "ROWS=8 DOWN=2 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 0 && C == 1 && GRID_STEP == 8", "grid_tiles",
     WALK "ROWS=4 DOWN=2 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && " BUSY " && TYPE == 0 && C == 1", "grid_tiles",
     "TAKE=16 " STACKED "DOWN=1 SPAN=256 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 0 && C == 1", "grid_tiles", BROAD "DOWN=1 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 0 && C == 2 && GRID_STEP == 8", "grid_tiles",
     "TAKE=16 " STACKED "GIVE=8 DOWN=2 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 0 && (C == 3 || C == 4 && " BUSY ") && GRID_STEP == 4", "grid",
     "AHEAD=1 GROUP=64 ROWS=8 GIVE=8 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && TYPE == 0 && C == 4 && GRID_STEP == 4", "grid",
     "AHEAD=2 GROUP=64 ROWS=8 GIVE=8 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && TYPE == 0 && C == 4 && GRID_STEP == 8", "grid",
     "AHEAD=2 GROUP=64 ROWS=4 STACK=2 GIVE=16 DOWN=1 DEEP=16"},
    {NVIDIA_GRID " && TYPE == 1 && C == 1 && GRID_STEP == 4", "grid_tiles",
     "TAKE=16 AHEAD=1 GROUP=64 ROWS=8 DOWN=4 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 1 && C == 1 && GRID_STEP == 8 && S100 < 5000", "grid_tiles",
     "TAKE=16 " STACKED "DOWN=4 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 1 && C == 1 && GRID_STEP == 8 && S100 < 8000", "grid_tiles",
     "TAKE=16 " STACKED "DOWN=2 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && TYPE == 1 && C == 1 && GRID_STEP == 8", "grid", "TAKE=16 " STACKED "DOWN=1 DEEP=16"},
    {NVIDIA_GRID " && TYPE == 1 && C == 2 && GRID_STEP == 4", "grid",
     "TAKE=16 AHEAD=1 GROUP=64 ROWS=8 GIVE=8 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && TYPE == 1 && C == 2 && GRID_STEP == 8", "grid", WALK_TWICE "GIVE=8 DOWN=1 DEEP=16"},
    {NVIDIA_GRID " && TYPE == 1 && C == 3 && GRID_STEP == 8", "grid", WALK "ROWS=4 GIVE=8 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && TYPE < 2 && GRID_STEP == 4", "grid", WALK "ROWS=8 GIVE=8 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && TYPE < 2 && GRID_STEP == 8", "grid", WALK "ROWS=4 GIVE=8 DOWN=1 DEEP=16"},
    {NVIDIA_GRID " && C == 1 && GRID_STEP == 4", "grid_tiles", WALK "ROWS=8 DOWN=4 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && C == 1 && GRID_STEP == 8", "grid_tiles",
     "TAKE=16 AHEAD=1 GROUP=64 ROWS=8 STACK=2 DOWN=4 SPAN=128 ITEMS=256"},
    {NVIDIA_GRID " && GRID_STEP == 4", "grid", WALK "ROWS=8 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && C == 3", "grid", WALK "ROWS=4 DOWN=2 DEEP=16"},
    {NVIDIA_GRID " && C == 4", "grid", "TAKE=16 AHEAD=2 GROUP=32 ROWS=4 STACK=2 DOWN=1 DEEP=16"},
    {NVIDIA_GRID, "grid", WALK "ROWS=4 DOWN=1 DEEP=16"},
    {NVIDIA_GRID, "grid", "GROUP=64 ROWS=8 DOWN=2"},
    {"GPU && " GRID " && C > 1", "grid", "GIVE=8 ROWS=8 DOWN=2"},
    {"GPU && " GRID " && TYPE == 0 && GRID_STEP < 16", "grid", "AHEAD=1 ROWS=8 DOWN=2"},
    {"GPU && " GRID " && TYPE == 0", "grid", "GROUP=64 ROWS=4 DOWN=1"},
    {"GPU && " GRID " && TYPE == 1", "grid", "TAKE=16 GIVE=8 ROWS=8 DOWN=2"},
    {"GPU && " GRID, "grid", "TAKE=16 ROWS=8 DOWN=2"},
    {"SM >= 80 && H >= 2048", "matrix", ""},
    {"SM >= 80", "matrix", "ROWS=32"},
    {"SM >= 80", "matrix16", "TILES=2 ROWS=32"},
    {"GPU && C > 1", "packed", "PX=2 UNROLL=1"},
    {"GPU && H >= 2048", "packed", ""},
    {"GPU", "packed", "ROWS=16"},
    {"GPU && (method == 2 || S100 <= 500)", "tile", ""},
    {"GPU", "segments", ""},
    {"method == 2 || (method == 0 && S100 < 500)", "direct", ""},
    {NULL, "lines", ""},
    {NULL, "direct", ""},
};

static const struct rung rungs[] = {
    {"rgH+rgV", "a work-item for each row, then for each column", "lines4", "",
     "the Japanese write-up, 13.7.4, first listing"},
    {"V+T+V+T", "rgV, transpose, rgV, transpose", "transposed4", "", "the Japanese write-up, table 2"},
    {"V+TL+V+TL", "transposes by blocks of 16x16 in local memory", "transposed4", "TILES=1",
     "the Japanese write-up, 13.7.4, last listing"},
    {"rgH+rgV-exact", "the same, as exact as every other variant", "lines", "", "hone"},
    {"V+T+V+T-exact", "the same, as exact as every other variant", "transposed", "", "hone"},
    {"V+TL+V+TL-exact", "the same, as exact as every other variant", "transposed", "TILES=1", "hone"},
    {"segments", "no transposes, complex poles, rows through local memory", "segments", "", "hone"},
    {"direct", "every weight of the window", "direct", "", "hone"},
    {"tile", "every weight, both passes in local memory", "tile", "", "hone"},
    {"packed", "every weight, both passes in registers", "packed", "", "hone"},
    {"columns", "every weight, down in registers, across from local memory", "columns", "", "hone"},
    {"matrix", "every weight, both passes by matrix units", "matrix", "", "hone"},
    {"bands", "every weight, 64-byte vectors", "bands", "", "hone"},
    {"coarse", "every few rows and columns, and all from those, 64-byte vectors", "coarse", "", "hone"},
    {"grid", "every few rows and columns, and all from those", "grid", "", "hone"},
    {"grid-tiles", "the same in two launches", "grid_tiles", "", "hone"},
    {"grid-matrix", "the same, all of it by matrix units, in one launch", "grid_matrix", "", "hone"},
};

static const char *const trials[] = {"sigma=4",  "sigma=5", "sigma=12",
                                     "",         "sigma=6", "sigma=0.3",
                                     "sigma=21", "sigma=7", "sigma=25 method=recursive",
                                     "sigma=3",  NULL};

static const char *const usual[] = {"sigma=2", "sigma=10", "sigma=30", NULL};

static bool averages(const struct filter_case *c)
{
    (void)c;
    return true;
}

static const char *const ahead[] = {"sigma=0.5", "sigma=4", "exact=yes", "exact=yes sigma=4", NULL};

const struct hone_filter hone_filter_gaussian = {
    FILTER("gaussian", "Gaussian blur", "the Japanese write-up, 13.7.4; R. Deriche, INRIA report 1893, 1993",
           TYPES_ALL, CHANNELS_ALL, 1),
    .spatial = true, .window = {"R", "R", "R", "R"},
    .parameters = {NUMBER_PARAMETER("sigma", PARAMETER_REAL, "2", 0.3, 500, "pixels", "standard deviation"),
                   CHOICE_PARAMETER(
                       "method", "auto", "auto|recursive|fir",
                       "how: the same cost for every sigma, or every weight of the window; both are within "
                       "the bounds")},
    .symbols = {"R", "S100", "NEAR", "STEP", "TAPS", "REACH", "GRID_STEP", "GRID_REACH", "GRID_TAPS",
                "EXACT_BITS", "EXACT_REACH", "REACH_16", "BITS_16", "MADE", "SEEN"},
    .prepare = prepare, .averages = averages, .table = gaussian_table,
    .examples = {{"a photograph, blurred", "'gaussian sigma=4' photo.jpg -o blurred.jpg"},
                 {"edges of a slightly blurred photograph",
                  "'gaussian sigma=1.5 | sobel' photo.jpg -o edges.png"}},
    .reference = gaussian_reference,
    /* The recursion approximates: 0.14 levels of u8 at 4th order, 1e-5 of full scale at 6th; where it begins
       at the edge of the window, up to 1e-4 are missing. A value of u8 near a tie goes to either side. */
    .bounds = {1, 2e-4 * 65535, 2e-4}, TABLES(variants, seeds, rungs), .trials = trials, .usual = usual,
    .ahead = ahead};
