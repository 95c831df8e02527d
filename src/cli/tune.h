/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `hone tune` share. */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli/cli.h"

#include "tune/session.h"

#include <jansson.h>

enum { MAX_CASES = 512 };

struct tune_run {
    struct common_options common;
    const char *size, *format, *budget, *seed;
    double channels;
    const char *variants;
    const char *export_to, *import_from, *replay_of; /* at most one is given */
    double repeats;
    bool from_scratch;
    double budgeted;        /* evaluations as the user wants them; 0: by --quick and --full */
    double timeout, memory; /* seconds and MiB for one configuration; 0: by the device */
    bool quick, full, fresh;
    /* Derived. */
    double seconds; /* for all cases; 0: no limit */
    int evaluations;
    uint32_t random_seed;
    struct worker worker;
    char *cases[MAX_CASES]; /* "box size=8" with the image behind a tab: "box size=8\tu8\t1\t3264\t2448" */
    int count, done;
    int evaluated; /* over all cases */
    uint64_t start;
    bool on_terminal;
    json_t *report;
};

/* ---- tune_report.c ---- */

/* For session_options.progress; the context is the run. */
void tune_show_progress(void *context, int evaluation, int of, const char *configuration,
                        const struct measured *measured, double best_ms);
/* For session_options.waiting. */
void tune_show_waiting(void *context);
/* How far the times of a session can be told apart. */
struct tune_sureness {
    bool raced, interrupted;
    double spread, load; /* parts; load negative: not known */
    int tied;
};
/* The line "how sure" of a report. */
void tune_print_sureness(const struct tune_sureness *sure);
/* A line of a report that says by which clock, unless by the device's. */
void tune_print_clock(const char *clock, const char *reason);
void tune_clear_progress(const struct tune_run *run);
void tune_print_result(const struct record_choice *choice, const struct session_result *result);
/* For results that were compared with nobody's. */
extern const char tune_unchecked[];
/* Adds a result to the JSON report. */
void tune_add_report(struct tune_run *run, const struct session_result *result);

/* ---- tune_files.c: exit statuses ---- */

int tune_export(struct tune_run *run, const struct operands *operands);
int tune_import(struct tune_run *run);
int tune_replay(struct tune_run *run);

#endif
