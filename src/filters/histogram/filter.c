/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/histogram/histogram.h"

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    bool picture = case_number(c, "output") != 0;
    c->out.width = (uint32_t)case_number(c, "bins");
    c->out.height = picture ? HISTOGRAM_PICTURE_HEIGHT : 1;
    c->out.type = picture ? HONE_U8 : HONE_U32;
    return HONE_OK;
}

/* The counters, and the largest of them behind. */
#define COUNTS "bins*C"
#define COUNTERS                                                                                             \
    {                                                                                                        \
        .bytes = "(" COUNTS " + 1)*4"                                                                        \
    }

#define CLEAR                                                                                                \
    {                                                                                                        \
        .kernel = "histogram_clear", .extent = {COUNTS " + 1"}, .arguments = { "tmp0", COUNTS }              \
    }

/* From counts to the result; the largest count matters to pictures alone. */
#define FINISH                                                                                               \
    {.kernel = "histogram_largest", .extent = {"output ? " COUNTS " : 1"}, .arguments = {"tmp0", COUNTS}},   \
    {                                                                                                        \
        .kernel = "histogram_write", .extent = {COUNTS, "H"}, .arguments = { "tmp0", COUNTS, "out" }         \
    }

/* Per pixel of the result: its share of the input, and its counters. */
#define SHARE "C*IW*IH/(W*H)"

static const struct variant variants[] = {
    {.name = "global",
     .summary = "one element per work-item, one global atomic addition each",
     .path = "buffer",
     .tunables = {{"WG_X", TUNABLE_LAUNCH, "64 16 256", "work-group width"}},
     .scratch = {COUNTERS},
     .passes = {CLEAR,
                {.kernel = "histogram_global",
                 .extent = {"IW*C", "IH"},
                 .local = {"WG_X", "1"},
                 .arguments = {"in", "tmp0", "IW", "IH", "bins"}},
                FINISH},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE, "3*" SHARE}},
    {.name = "local",
     .summary = "work-groups count in local memory, in several copies, and add to global memory once",
     .path = "local",
     .needs = NEEDS_LOCAL,
     .tunables = {{"COPIES", TUNABLE_DEFINE, "4 1 2 8 16", "of the counters of a work-group"},
                  {"PX", TUNABLE_DEFINE, "4 16", "elements that are loaded at once"},
                  {"ROWS", TUNABLE_LAUNCH, "16 4 64", "rows of a work-group"},
                  {"WG_X", TUNABLE_LAUNCH, "256 32 64 512", "work-items of a work-group"}},
     .constraints = {"COPIES*" COUNTS "*4 <= LMEM"},
     .scratch = {COUNTERS},
     .passes = {CLEAR,
                {.kernel = "histogram_local",
                 .extent = {"WG_X", "IH"},
                 .block = {NULL, "ROWS"},
                 .local = {"WG_X", "1"},
                 .arguments = {"in", "tmp0", "local:COPIES*" COUNTS "*4", "IW", "IH", "bins", "ROWS"}},
                FINISH},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE "/PX", "3*" SHARE}},
    {.name = "private",
     .summary = "CPU: each work-item counts a band of rows in copies of its own, a second pass sums up",
     .path = "buffer",
     .tunables = {{"COPIES", TUNABLE_DEFINE, "4 1 2 8", "of the counters of a band"},
                  {"ROWS", TUNABLE_LAUNCH, "256 16 64 1024", "rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 8", "bands per work-group"}},
     .scratch = {COUNTERS, {.bytes = "ceildiv(IH, ROWS)*COPIES*(TYPE == 0 ? 256 : bins)*C*4"}},
     .passes = {{.kernel = "histogram_private",
                 .extent = {"IH"},
                 .block = {"ROWS"},
                 .local = {"WG_X"},
                 .arguments = {"in", "tmp1", "IW", "IH", "bins", "ROWS"}},
                {.kernel = "histogram_sum",
                 .extent = {COUNTS " + 1"},
                 .arguments = {"tmp1", "tmp0", "bins", "ceildiv(IH, ROWS)*COPIES"}},
                FINISH},
     .cost = {"BITS/8*" SHARE " + 12*C", SHARE, "4*" SHARE}},
};

static const struct seed seeds[] = {
    /* Without vectors in the source a compiler makes them of neighbouring work-items. */
    {"CPU && !WIDE && bins <= 4096", "private", "COPIES=4 ROWS=16 WG_X=8"},
    {"CPU && bins <= 4096", "private", "ROWS=256"},
    {"CPU", "private", "ROWS=1024 COPIES=2"},
    {"SM >= 80 && bins*C <= 1024 && IH >= 8192", "local", "COPIES=1 PX=4 ROWS=16 WG_X=256"},
    {"GPU && bins*C <= 1024 && IH >= 8192", "local", "COPIES=8 PX=16 ROWS=16"},
    {"GPU && bins*C <= 1024", "local", "COPIES=8 ROWS=4"},
    {"bins*C <= 4096", "local", "COPIES=1"},
    {NULL, "global", ""},
};

static const struct rung rungs[] = {
    {"global", "atomic additions to global memory", "global", "", 1, "guide 7.3, rule 1"},
    {"local", "local atomics first, then one global one per counter", "local", "COPIES=1", 0,
     "guide 7.3, rule 2"},
    {"copies", "several copies in local memory", "local", "COPIES=8", 0, "hone"},
    {"private", "private counters, no atomics", "private", "", 0, "hone"},
};

/* What tests and the doctor try. */
static const char *const trials[] = {"", "bins=10 output=picture", "bins=3001", "bins=1", NULL};

static const char *const usual[] = {"", NULL};

const struct hone_filter hone_filter_histogram = {
    .name = "histogram",
    .summary = "how often each value occurs: a table, or a picture of bars",
    .origin = "guide 7.3",
    .types = TYPES_ALL,
    .channels = CHANNELS_ALL,
    .inputs = 1,
    .parameters = {{.name = "bins",
                    .kind = PARAMETER_INTEGER,
                    .otherwise = "256",
                    .least = 1,
                    .most = 65536,
                    .help = "counters, which share the format's range evenly (f32: 0 to 1)"},
                   {.name = "output",
                    .kind = PARAMETER_CHOICE,
                    .otherwise = "table",
                    .choices = "table|picture",
                    .help = "table: counts, bins x 1, u32; picture: bars, bins x 256, u8"}},
    .prepare = prepare,
    .reference = histogram_reference,
    /* Counts: exact. */
    .bounds = {0, 0, 0},
    .variants = variants,
    .variant_count = COUNT_OF(variants),
    .seeds = seeds,
    .seed_count = COUNT_OF(seeds),
    .rungs = rungs,
    .rung_count = COUNT_OF(rungs),
    .trials = trials,
    .usual = usual,
};
