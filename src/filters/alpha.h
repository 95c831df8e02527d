/* SPDX-License-Identifier: BSD-2-Clause */
/* What filters of colours and alpha share: of each pixel, colours are combined with alpha, and alpha itself
 * with the full range. */
#pragma once

#include "filter/filter.h"

/* The result's format is the parameter `type`. */
hone_status alpha_prepare(struct filter_case *c, hone_error *error);

/* Fills the result with what `combine` makes of values and weights, in levels of the input. */
void alpha_reference(const struct filter_case *c, const struct view *in, struct view *out,
                     double (*combine)(const struct filter_case *c, double value, double weight));

extern const struct seed alpha_seeds[6];
extern const char *const alpha_trials[];

#define ALPHA_BYTES "C*(BITS/8 + (OTYPE == 2 ? 4 : OTYPE + 1))"

/* The variants of filters/alpha.clh; `operations` are those on one pixel. */
#define ALPHA_VARIANTS(filter, operations)                                                                   \
    {                                                                                                        \
        {VARIANT("stretches", NULL, 0, "buffer",                                                             \
                 "stretches of rows per work-item, sixteen elements at a time"),                             \
         .tunables = {{"VECTORS", TUNABLE_DEFINE, "64 1 16 256", "vectors of a row per work-item"},          \
                      {"ROWS", TUNABLE_DEFINE, "1 4 16", "rows per work-item"},                              \
                      {"WG_X", TUNABLE_LAUNCH, "1 16 64", "work-group width"}},                              \
         .defines = {"LANES=16"},                                                                            \
         .passes = {PASS(filter "_stretches", .extent = {"ceildiv(W*C, 16)", "H"},                           \
                         .block = {"VECTORS", "ROWS"}, .arguments = {"in", "out", "W*C", "H"})},             \
         .cost = {ALPHA_BYTES, "C/16", operations}},                                                         \
            {VARIANT(                                                                                        \
                 "words", NULL, 0, "wide",                                                                   \
                 "CPU: integers that become their own type, in words of 32 bits with alpha in their lane"),  \
             .condition = "TYPE <= 1 && OTYPE == TYPE",                                                      \
             .tunables = {{"VECTORS", TUNABLE_DEFINE, "1024 64 256", "64 bytes of a row per work-item"},     \
                          {"ROWS", TUNABLE_DEFINE, "16 1 4 64", "rows per work-item"},                       \
                          {"WG_X", TUNABLE_LAUNCH, "1 16", "work-group width"}},                             \
             .defines = {"LANES=16"},                                                                        \
             .passes = {PASS(filter "_words", .extent = {"ceildiv(W*C*BITS, 512)", "H"},                     \
                             .block = {"VECTORS", "ROWS"}, .arguments = {"in", "out", "W*C", "H"})},         \
             .cost = {ALPHA_BYTES, "C*BITS/512", operations}},                                               \
            {VARIANT("vectors", NULL, 0, "wide",                                                             \
                     "GPU: integers that become their own type, 16 bytes of several rows per work-item"),    \
             .condition = "TYPE <= 1 && OTYPE == TYPE",                                                      \
             .align = 16,                                                                                    \
             .tunables = {{"ROWS", TUNABLE_DEFINE, "2 1 4 8", "rows per work-item"},                         \
                          {"WG_X", TUNABLE_LAUNCH, "128 32 64 256", "work-group width"}},                    \
             .defines = {"LANES=4"},                                                                         \
             .passes = {PASS(filter "_vectors", .extent = {"ceildiv(W*C*BITS, 128)", "H"},                   \
                             .block = {"1", "ROWS"}, .arguments = {"in", "out", "W*C", "H"})},               \
             .cost = {ALPHA_BYTES, "C*BITS/128", operations}},                                               \
            {VARIANT("quads", NULL, 0, "wide", "GPU: four elements of several rows per work-item"),          \
             .align = 16,                                                                                    \
             .tunables = {{"ROWS", TUNABLE_DEFINE, "1 2 4 8 16", "rows per work-item"},                      \
                          {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width"}},                    \
             .defines = {"LANES=4"},                                                                         \
             .passes = {PASS(filter "_quads", .extent = {"ceildiv(W*C, 4)", "H"}, .block = {"1", "ROWS"},    \
                             .arguments = {"in", "out", "W*C", "H"})},                                       \
             .cost = {ALPHA_BYTES, "C/4", operations}},                                                      \
    }

/* What their descriptions have in common. */
#define ALPHA_FILTER                                                                                         \
    .origin = "hone", .types = TYPES_ALL, .scales = true, .channels = CHANNELS_2 | CHANNELS_4, .inputs = 1,  \
    .parameters = {CHOICE_PARAMETER(                                                                         \
        "type", "same", "same|u8|u16|f32",                                                                   \
        "the result's format, each full range scaled to the other; same: that of the input")},               \
    .prepare = alpha_prepare, .seeds = alpha_seeds, .seed_count = COUNT_OF(alpha_seeds),                     \
    .trials = alpha_trials
