/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside precompiled.c and precompiler.c: how the file is laid out. */
#pragma once

#include "base/hash.h"

/*
 *   HEAD DIGEST LENGTH\n            of the index; LENGTH fills up to 12 digits
 *   index: \n, then a line for each name: KIND NAME OFFSET LENGTH DIGEST\n
 *   body: the parts that these tell, by their offsets
 *
 * A program's part has the files of PoCL's folder: for each LENGTH NAME\n and so many bytes. Programs that
 * were compiled together share one. A verdict's part is its file.
 */
#define PRECOMPILED_HEAD    "hone precompiled 1"
#define PRECOMPILED_PROGRAM "program"
#define PRECOMPILED_VERDICT "verdict"

enum {
    PRECOMPILED_HEAD_SIZE = sizeof PRECOMPILED_HEAD + SHA256_TEXT_SIZE + 12 + 1,
    PRECOMPILED_MAX_PART = 64 << 20,
    PRECOMPILED_MAX_NAME = 512
};

/* PoCL's folder, opened, where it keeps what this process compiles; -1: it keeps nothing. */
int precompiled_driver_folder(void);
