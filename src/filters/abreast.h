/* SPDX-License-Identifier: BSD-2-Clause */
/* Variants whose kernels include abreast.clh: tunables, geometry, local memory. The filter has a symbol MOST,
 * the largest that a pixel counts. `width` and `height` are expressions, the window's. */
#pragma once

#define ABREAST_TUNABLES                                                                                     \
    {"WORDS", TUNABLE_DEFINE, "4 2 8", "words of the input per work-item and row"},                          \
        {"BATCH", TUNABLE_DEFINE, "4 1 2 8", "rows at a time"},                                              \
        {"AT_ONCE", TUNABLE_DEFINE, "1 2 4", "rows whose windows slide side by side"},                       \
        {"TEAMS", TUNABLE_DEFINE, "1 2 4 8", "tiles of a work-group, which share first windows"},            \
        {"GROUPS", TUNABLE_LAUNCH, "8 1 2 3 4 5 6 7 10 12 14 16 20 24 32", "work-groups per compute unit"},  \
    {                                                                                                        \
        "WG_X", TUNABLE_DEFINE, "32 64 128 256 512", "work-group width"                                      \
    }

/* Symbols of a filter whose pixels count `most` at most: bits of a cell, which holds the sum of a column;
 * DELTAS, tall windows of bytes, whose columns' sums take more than 16 bits, but what changes them does not;
 * LANE_SUMS, windows so wide that work-items' sums of their columns pay, where these fit 32 bits. */
#define ABREAST_SYMBOLS "CELL_BITS", "DELTAS", "LANE_SUMS"

static inline void set_abreast(struct filter_case *c, int64_t width, int64_t height, int64_t most)
{
    const bool bytes = c->in.type == HONE_U8,
               deltas = bytes && height * most > 32767 && height * most < 1 << 23;
    const int bits = height * most <= 32767 || deltas ? 16 : 32;
    case_set_symbol(c, "CELL_BITS", bits);
    case_set_symbol(c, "DELTAS", deltas);
    case_set_symbol(c, "LANE_SUMS",
                    width * c->in.channels * bits > 7000 && height * most < 1 << 26 &&
                        !(bytes && bits == 32));
}

#define ABREAST_CELLS "(WORDS*CELL_BITS/BITS)"          /* of a work-item */
#define ABREAST_TIED  "(C*CELL_BITS % 64 == 0 ? 2 : 1)" /* that are stored and loaded together */
#define ABREAST_DEFINES(width)                                                                               \
    "ABREAST=1", "COLUMN_BITS=CELL_BITS", "DELTAS=DELTAS", "LANE_SUMS=LANE_SUMS",                            \
        "IN_ODD=(" width " - 1 - " width "/2)*C % 2", "OUT_ODD=(" width "/2 + 1)*C % 2", "WITH_PTX=PTX",     \
        "REDUX=SM >= 80"

/* Limits of registers on NVIDIA's GPUs: how many a compiler takes differs by the border rule, and with a few
 * more fewer work-groups run at once than the launch counts on. These configurations hardly spill. */
#define ABREAST_OF_128 "(PTX && WORDS <= 4 && BATCH <= 4 && AT_ONCE <= 2 && WG_X*TEAMS <= 256)"
#define ABREAST_OF_168 "(PTX && WORDS == 8 && BATCH <= 2 && AT_ONCE == 1 && WG_X*TEAMS <= 128)"
#define ABREAST_LIMITS                                                                                       \
    {"-cl-nv-maxrregcount=128", ABREAST_OF_128},                                                             \
    {                                                                                                        \
        "-cl-nv-maxrregcount=168", ABREAST_OF_168                                                            \
    }
#define ABREAST_LIMITED "REGISTERS=128*" ABREAST_OF_128 " + 168*" ABREAST_OF_168

/* Elements of a work-item; its windows begin where those of channel 0 do. */
#define ABREAST_PX   "(WORDS*32/BITS)"
#define ABREAST_STEP "(" ABREAST_PX "*(C == 3 ? 3 : 1))"

/* Bytes for cells, with ABREAST_TIED more for each work-item, for the sums of work-items' columns, and for
 * what lanes exchange; or for the sums of columns that teams share. */
#define ABREAST_LOCAL                                                                                        \
    "(4*TEAMS*max(BATCH*(WG_X*(" ABREAST_CELLS " + " ABREAST_TIED                                            \
    " + LANE_SUMS*C) + 2) + (PTX ? 0 : 4*WG_X), (TEAMS > 1)*"                                                \
    "2*" ABREAST_CELLS "*(1 + DELTAS)*WG_X))"

/* The windows that a work-group's columns are enough for; how many of them it takes, and how many rows where
 * each compute unit has GROUPS of them. */
#define ABREAST_MOST(width)                                                                                  \
    "((WG_X*" ABREAST_PX " - roundup((" width "/2 + 1)*C, " ABREAST_PX ") - (" width " - 1 - " width         \
    "/2)*C)/" ABREAST_STEP "*" ABREAST_STEP ")"
#define ABREAST_TILES(width) "ceildiv(W*C, " ABREAST_MOST(width) ")"
#define ABREAST_TILE(width)  "roundup(ceildiv(W*C, " ABREAST_TILES(width) "), " ABREAST_STEP ")"
/* `tiles`: how many a work-group has, one below the other. */
#define ABREAST_ROWS(width, tiles)                                                                           \
    "max(roundup(ceildiv(H, " BANDS_OF_GROUPS("CU*GROUPS*" tiles, ABREAST_TILES(width)) "), BATCH), 8)"

#define ABREAST_CONSTRAINTS(width)                                                                           \
    ABREAST_MOST(width)                                                                                      \
    " >= " ABREAST_STEP, ABREAST_LOCAL " <= LMEM", "BATCH % AT_ONCE == 0",                                   \
        "WORDS*32/BITS % (C == 3 ? 1 : C) == 0", "TEAMS*WG_X <= 1024"

#define ABREAST_EXTENT(width, tiles)                                                                         \
    {                                                                                                        \
        ABREAST_TILES(width) "*WG_X", "ceildiv(H, " ABREAST_ROWS(width, tiles) ")"                           \
    }

/* Variants with a pass before (above.clh) that makes sums of what is above bands of rows, of which there
 * are few enough for local memory: rows of a band, bands, sums of a row, and how to launch it. */
#define ABREAST_BAND             "max(8, ceildiv(H, 240))"
#define ABREAST_BANDS            "(H/" ABREAST_BAND " + 1)"
#define ABREAST_STRIDE           "roundup(W*C, 64)"
#define ABREAST_GROUP            "256"
#define ABREAST_CHUNK            "2"
#define ABREAST_ABOVE_DEFINES    "TALL=1", "ABREAST_GROUP=" ABREAST_GROUP, "ABREAST_CHUNK=" ABREAST_CHUNK
#define ABREAST_ABOVE_CONSTRAINT "(BITS > 8 || " ABREAST_BAND " <= 256)"
#define ABREAST_ABOVE_SCRATCH                                                                                \
    {                                                                                                        \
        .bytes = ABREAST_BANDS "*" ABREAST_STRIDE "*4"                                                       \
    }
#define ABREAST_ABOVE(kernel)                                                                                \
    PASS(kernel, .extent = {ABREAST_GROUP "*" ABREAST_STRIDE "/(" ABREAST_CHUNK "*128/BITS)"},               \
         .local = {ABREAST_GROUP, "1"},                                                                      \
         .arguments = {"in", "tmp0", ABREAST_STRIDE, ABREAST_BAND, ABREAST_BANDS, "W*C", "H",                \
                       "local:(" ABREAST_BANDS "*(" ABREAST_CHUNK "*128/BITS + 1) + " ABREAST_GROUP ")*4"})
#define ABREAST_ABOVE_ARGUMENTS "tmp0", ABREAST_STRIDE, ABREAST_BAND
