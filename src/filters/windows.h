/* SPDX-License-Identifier: BSD-2-Clause */
/* Variants whose kernels include windows.clh: tunables, geometry, local memory. The filter has two symbols:
 * COLUMN_BITS, 16 where a column's sum of integers always fits, else 32, and SUM_BYTES of a window's sum
 * (floats: of two). `width` is an expression, the window's width. */
#pragma once

#define WINDOWS_TUNABLES                                                                                     \
    {"WORDS", TUNABLE_DEFINE, "1 2 4", "words of the input per work-item and row"},                          \
        {"BATCH", TUNABLE_DEFINE, "8 1 2 4 16", "rows at a time"},                                           \
        {"PX", TUNABLE_DEFINE, "16 8 12 24 32 48", "neighbouring results of a work-item"},                   \
        {"SHUFFLE", TUNABLE_DEFINE, "0 1", "lanes scan through registers (PTX)"},                            \
        {"GROUPS", TUNABLE_LAUNCH, "4 1 2 3 6 8 16 32", "work-groups per compute unit"},                     \
    {                                                                                                        \
        "WG_X", TUNABLE_DEFINE, "256 32 64 128 512", "work-group width"                                      \
    }

/* Columns of a work-group, and bytes for two copies of the cells of BATCH rows, those that lead included.
 * Each cell takes 5/4 of its size, since the strides have two more after eight at least. */
#define WINDOWS_COLUMNS "(WG_X*WORDS*32/BITS)"
#define WINDOWS_LOCAL(width)                                                                                 \
    "(BATCH*((" WINDOWS_COLUMNS " + " width "*C + 16 + 4*PX)*COLUMN_BITS/32*5/4)*8 + 16 + "                  \
    "(SHUFFLE ? 0 : WG_X*C*SUM_BYTES))"

/* The windows that these columns are enough for; how many of them a work-group takes, and how many rows where
 * each compute unit has GROUPS of them. */
#define WINDOWS_MOST(width)  "((" WINDOWS_COLUMNS " - " width "*C - 34)/PX*PX)"
#define WINDOWS_TILES(width) "ceildiv(W*C, " WINDOWS_MOST(width) ")"
#define WINDOWS_TILE(width)  "roundup(ceildiv(W*C, " WINDOWS_TILES(width) "), PX)"
#define WINDOWS_ROWS(width)                                                                                  \
    "max(roundup(ceildiv(H, " BANDS_OF_GROUPS("CU*GROUPS", WINDOWS_TILES(width)) "), BATCH), 16)"

#define WINDOWS_CONSTRAINTS(width)                                                                           \
    "PX % C == 0 && PX*BITS % 64 == 0 && PX*COLUMN_BITS >= 256 && PX*COLUMN_BITS % 64 == 0",                 \
        "!SHUFFLE || PTX", WINDOWS_MOST(width) " >= PX", WINDOWS_LOCAL(width) " <= LMEM", "WG_X <= 32*BATCH"

#define WINDOWS_EXTENT(width)                                                                                \
    {                                                                                                        \
        WINDOWS_TILES(width) "*WG_X", "ceildiv(H, " WINDOWS_ROWS(width) ")"                                  \
    }
