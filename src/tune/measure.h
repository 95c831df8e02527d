/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Measuring configurations of a filter on the device of this process.
 *
 * The protocol: run until two runs agree (clocks and caches settle after each compilation); give up early on
 * what is clearly slower than the best; else take the least of three. Leaders are measured again,
 * interleaved, and compared by medians. Short kernels run in batches. Three inputs rotate, so that no run
 * finds its input in a cache that is too small for them.
 */
#ifndef TUNE_MEASURE_H
#define TUNE_MEASURE_H

#include "filter/instance.h"
#include "tune/records.h"

struct measure;

enum { MEASURE_RUNS = 12 };

struct measured {
    enum record_state state;
    double ms;                 /* the score; negative when the state is not OK or SLOW */
    double runs[MEASURE_RUNS]; /* ms per launch, in the order they were taken */
    int run_count;
    double build_ms; /* compiling, loading, allocating */
    char note[512];  /* why it failed */
};

/* What an earlier try came to. One that was started and never ended took its process along. */
void measured_recall(struct measured *measured, const struct record_try *t);
/* Fills in a record but for device and case; `measured` NULL: the try is only about to begin. */
void measured_record(const struct measured *measured, const char *variant, const char *config,
                     enum record_state state, struct record_try *t);

/* Makes inputs (random, the same on every machine) and an output of the case's size on the device. */
hone_status measure_open(struct measure **out, hone_device *device, const struct filter_case *c,
                         hone_error *error);
void measure_close(struct measure **measure);

/* Takes the first rung's result at full size, which later results are compared with. It may be slow. Without
 * it (it fails, or was not asked for) that comparison is left out. */
void measure_baseline(struct measure *measure);

/* Builds, checks against the reference on a small picture, times, and checks what the timed runs wrote
 * against the first rung's result at full size. `best`: the best score so far, or negative. Failures are in
 * the result, never a status. */
struct measure_phase {
    void (*built)(void *context); /* called between building and running; may be NULL */
    void (*ran)(
        void *context); /* called when no kernel runs any more and only the host compares; may be NULL */
    void *context;
};
void measure_try(struct measure *measure, const struct variant *variant, const struct config *config,
                 double best, struct measure_phase phase, struct measured *result);

/* Times the given configurations again, by turns. Those that fail have no runs. */
struct measure_entry {
    const struct variant *variant;
    struct config config;
    double runs[MEASURE_RUNS];
    int run_count;
};
void measure_race(struct measure *measure, struct measure_entry *entries, int count, int rounds);

/* What times are read from: "device", "host" or "processor"; *reason says why not from the device. */
const char *measure_clock(const struct measure *measure, const char **reason);

/* The case that is measured. */
const struct filter_case *measure_case(const struct measure *measure);

/* Milliseconds for moving the input to the device and the output back; 0 where nothing moves. */
void measure_transfers(struct measure *measure, double *upload_ms, double *download_ms);

/* Starts compiling a configuration on another thread, so that a later measure_try finds it. One at a time:
 * returns false while one is under way. */
bool measure_prepare(struct measure *measure, const struct variant *variant, const struct config *config);

/* Of a list of numbers, which is put in order. */
double measure_median(double *values, int count);

#endif
