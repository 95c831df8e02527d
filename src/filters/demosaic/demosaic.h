/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#pragma once

#include "filter/filter.h"

/* In the order of the parameter's choices. */
enum method { METHOD_BILINEAR, METHOD_MALVAR };

/* Where the first red sample lies, 0 or 1 each; computed from the pattern. */
#define RED_X_SYMBOL "RX"
#define RED_Y_SYMBOL "RY"
