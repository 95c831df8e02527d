/* SPDX-License-Identifier: BSD-2-Clause */
/* What limits a row, as far as its time, its cost model and the device's roofs tell. */
#pragma once

#include "lab/bench/row.h"
#include "lab/roofs/roofs.h"

enum limiter { LIMIT_UNKNOWN, LIMIT_MEMORY, LIMIT_ARITHMETIC, LIMIT_LATENCY, LIMIT_LAUNCH, LIMIT_COUNT };

struct limit {
    enum limiter limiter;
    double memory, arithmetic; /* shares of the roofs that the row reaches; 0: not known */
};

/* "memory", "arithmetic", "latency", "launch"; "-" when unknown. Static. */
const char *limiter_name(enum limiter limiter);
/* What the guide advises for it (5.6.2 and the sections that it leads to). Static. */
const char *limiter_advice(enum limiter limiter);

/* `pixels` of the row's input; `is_float`: it computes with floats. */
struct limit limit_of(const struct row *row, const struct roofs_list *roofs, double pixels, bool is_float);
