/* SPDX-License-Identifier: BSD-2-Clause */
/* Variants whose kernels include abreast.clh: tunables, geometry, local memory. The filter has a symbol MOST,
 * the largest that a pixel counts. `width` and `height` are expressions, the window's. */
#pragma once

#define ABREAST_TUNABLES                                                                                     \
    {"WORDS", TUNABLE_DEFINE, "4 2 8", "words of the input per work-item and row"},                          \
        {"BATCH", TUNABLE_DEFINE, "4 1 2 8", "rows at a time"},                                              \
        {"AT_ONCE", TUNABLE_DEFINE, "1 2 4", "rows whose windows slide side by side"},                       \
        {"GROUPS", TUNABLE_LAUNCH, "8 1 2 3 4 5 6 7 10 12 14 16 20 24 32", "work-groups per compute unit"},  \
    {                                                                                                        \
        "WG_X", TUNABLE_DEFINE, "32 64 128 256 512", "work-group width"                                      \
    }

#define ABREAST_COLUMN_BITS(height) "(" height "*MOST <= 32767 ? 16 : 32)"
#define ABREAST_DEFINES(width, height)                                                                       \
    "ABREAST=1", "COLUMN_BITS=" ABREAST_COLUMN_BITS(height), "IN_ODD=(" width " - 1 - " width "/2)*C % 2",   \
        "OUT_ODD=(" width "/2 + 1)*C % 2", "WITH_PTX=PTX", "REDUX=SM >= 80"

/* Elements of a work-item; its windows begin where those of channel 0 do. */
#define ABREAST_PX   "(WORDS*32/BITS)"
#define ABREAST_STEP "(" ABREAST_PX "*(C == 3 ? 3 : 1))"

/* Bytes for the sums of columns, with a cell more for each work-item, and for what lanes exchange. */
#define ABREAST_LOCAL(height)                                                                                \
    "(4*(BATCH*(WG_X*(WORDS*" ABREAST_COLUMN_BITS(height) "/BITS + 1) + 2) + (PTX ? 0 : 4*WG_X)))"

/* The windows that a work-group's columns are enough for; how many of them it takes, and how many rows where
 * each compute unit has GROUPS of them. */
#define ABREAST_MOST(width)                                                                                  \
    "((WG_X*" ABREAST_PX " - roundup((" width "/2 + 1)*C, " ABREAST_PX ") - (" width " - 1 - " width         \
    "/2)*C)/" ABREAST_STEP "*" ABREAST_STEP ")"
#define ABREAST_TILES(width) "ceildiv(W*C, " ABREAST_MOST(width) ")"
#define ABREAST_TILE(width)  "roundup(ceildiv(W*C, " ABREAST_TILES(width) "), " ABREAST_STEP ")"
#define ABREAST_ROWS(width)  "max(roundup(ceildiv(H, max(CU*GROUPS/" ABREAST_TILES(width) ", 1)), BATCH), 8)"

#define ABREAST_CONSTRAINTS(width, height)                                                                   \
    ABREAST_MOST(width)                                                                                      \
    " >= " ABREAST_STEP, ABREAST_LOCAL(height) " <= LMEM", "BATCH % AT_ONCE == 0",                           \
        "WORDS*32/BITS % (C == 3 ? 1 : C) == 0"

#define ABREAST_EXTENT(width)                                                                                \
    {                                                                                                        \
        ABREAST_TILES(width) "*WG_X", "ceildiv(H, " ABREAST_ROWS(width) ")"                                  \
    }

/* Variants with a pass before that makes sums of BLOCK rows: its extent, and bytes for the sums. */
#define ABREAST_BLOCK                                                                                        \
    {                                                                                                        \
        "BLOCK", TUNABLE_DEFINE, "32 16 64", "rows of which a pass before makes sums"                        \
    }
#define ABREAST_BLOCKS_EXTENT                                                                                \
    {                                                                                                        \
        "ceildiv(W*C, " ABREAST_PX ")", "max(H/BLOCK, 1)"                                                    \
    }
#define ABREAST_BLOCKS_BYTES "ceildiv(W*C, " ABREAST_PX ")*max(H/BLOCK, 1)*WORDS*8"
