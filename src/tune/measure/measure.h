/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Measuring configurations of a filter on the device of this process.
 *
 * The protocol: run until two runs agree (clocks and caches settle after each compilation); give up early on
 * what is clearly slower than the best; else take the least of three. Leaders are measured again,
 * interleaved, and compared by medians. Short kernels run in batches. Three inputs rotate, so that no run
 * finds its input in a cache that is too small for them.
 */
#pragma once

#include "choose/records.h"
#include "filter/instance.h"

#include <jansson.h>

struct measure;

enum { MEASURE_RUNS = 12 };

struct measured {
    enum record_state state;
    double ms;                 /* the score; negative when the state is not OK or SLOW */
    double runs[MEASURE_RUNS]; /* ms per launch, in the order they were taken */
    int run_count;
    double build_ms; /* compiling, loading, allocating */
    struct record_figures figures;
    char note[512]; /* why it failed */
};

/* What an earlier try came to. One that was started and never ended counts as a crash, see record_is_left. */
void measured_recall(struct measured *measured, const struct record_try *t);
/* Fills in a record but for device and case; `measured` NULL: the try is only about to begin. */
void measured_record(const struct measured *measured, const char *variant, const char *config,
                     enum record_state state, struct record_try *t);

/* The same as a line between processes, and back; false, with *measured as it was, where it is none. */
json_t *measured_json(const struct measured *measured, const char *variant, const char *config);
bool measured_read(struct measured *measured, const json_t *object);

/* Makes inputs (random, the same on every machine) and an output of the case's size on the device. `held`
 * names the file in which the right result at full size is kept for this process and those that come after
 * it: empty at first. NULL: results at full size are not compared. */
hone_status measure_open(struct measure **out, hone_device *device, const struct filter_case *c,
                         const char *held, hone_error *error);
/* What measure_try finds out beside times: `asked` outlives the measurement. Nothing by default. */
struct figuring;
void measure_ask(struct measure *measure, const struct figuring *asked);
void measure_close(struct measure **measure);

/* Builds, checks against the reference on a small picture, times, and checks the result at full size against
 * the right one, if there is one. `best`: the best score so far, or negative. Failures are in the result,
 * never a status. */
struct measure_phase {
    void (*built)(void *context); /* called between building and running; may be NULL */
    void (*ran)(
        void *context); /* called when no kernel runs any more and only the host compares; may be NULL */
    void (*round)(void *context, int round, int of); /* called by measure_race; may be NULL */
    void *context;
};
void measure_try(struct measure *measure, const struct variant *variant, const struct config *config,
                 double best, struct measure_phase phase, struct measured *result);

/* ---- The right result at full size ---- */

/* Who made it, as the file begins. */
enum measure_right { RIGHT_NONE, RIGHT_REFERENCE, RIGHT_DEVICE };
enum measure_right measure_right_of(int file);

/* Keeps what the reference in plain C makes of the first input, unless that would take more than so many
 * seconds, or the pictures much of the machine's memory. */
hone_status measure_refer(struct measure *measure, double seconds, hone_error *error);
/* The same as measure_try, but keeps the result instead of comparing it: where the reference takes too long.
 * What is compared with it may differ by twice the bound, for both may lie on the two sides of the truth. */
void measure_hold(struct measure *measure, const struct variant *variant, const struct config *config,
                  struct measure_phase phase, struct measured *result);

/* ---- The final ---- */

/* Times the given configurations again, by turns, and checks what the last timed run of each wrote. Those
 * that fail have no runs; of one whose result was wrong, or could not be read, state and note say so. */
struct measure_entry {
    const struct variant *variant;
    struct config config;
    struct measured result; /* of it runs, run_count, state and note */
};
void measure_race(struct measure *measure, struct measure_entry *entries, int count, int rounds,
                  const struct measure_phase *phase);

/* What times are read from: "device", "host" or "processor"; *reason says why not from the device. */
const char *measure_clock(const struct measure *measure, const char **reason);

/* The case that is measured. */
const struct filter_case *measure_case(const struct measure *measure);

/* Milliseconds for moving the input to the device and the output back; 0 where nothing moves. */
void measure_transfers(struct measure *measure, double *upload_ms, double *download_ms);

/* Starts compiling a configuration on another thread, so that a later measure_try finds it. Returns false
 * while as many are under way as there are threads for it. */
bool measure_prepare(struct measure *measure, const struct variant *variant, const struct config *config);

/* Of a list of numbers, which is put in order. */
double measure_median(double *values, int count);
