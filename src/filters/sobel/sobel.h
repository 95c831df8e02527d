/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#pragma once

#include "filter/filter.h"

enum sobel_norm { SOBEL_L2 = 0, SOBEL_L1 = 1 };
enum sobel_output { SOBEL_MAGNITUDE = 0, SOBEL_DX = 1, SOBEL_DY = 2 };
