/* SPDX-License-Identifier: BSD-2-Clause */
/* Test pictures: what finds mistakes, rather than what looks nice. */
#pragma once

#include "image/view.h"

enum pattern {
    PATTERN_RANDOM,  /* every value equally likely (f32: 0..1) */
    PATTERN_LEAST,   /* all at the minimum */
    PATTERN_MOST,    /* all at the maximum (f32: 1e6) */
    PATTERN_IMPULSE, /* one pixel at the maximum in a black image */
    PATTERN_RAMP,    /* rising along rows and columns: swapped coordinates show */
    PATTERN_STEPS,   /* noisy patches: filters with thresholds see both sides */
    PATTERN_SPECIAL, /* f32: some NaN and infinities among random values; others: random extremes */
    PATTERN_COUNT
};

const char *pattern_name(enum pattern pattern);

/* Fills all channels. The same seed gives the same picture everywhere. */
void pattern_fill(struct view *view, enum pattern pattern, uint32_t seed);

/* A steady generator (xorshift); state must not be 0. */
uint32_t pattern_random(uint32_t *state);
