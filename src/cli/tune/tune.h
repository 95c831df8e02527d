/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `hone tune` share. */
#pragma once

#include "cli/cli.h"

#include "tune/session/budget.h"
#include "tune/session/filter.h"

#include <jansson.h>

enum { MAX_CASES = 512 };

/* What is found out and looked for beside time. */
struct tune_wishes {
    struct option_list texts; /* of --metric */
    const char *objective;
    bool facts;
    struct metrics metrics; /* made of them by tune_read_wishes */
};

enum { TUNE_SEED = 1 };

struct tune_run {
    struct common_options common;
    const char *size, *format, *budget;
    double seed; /* TUNE_SEED unless the user gives one */
    double channels;
    const char *variants;
    const char *export_to, *import_from, *replay_of; /* at most one is given */
    double repeats;
    bool from_scratch;
    double budgeted;        /* evaluations as the user wants them; 0: by --quick and --full */
    double timeout, memory; /* seconds and MiB for one configuration; 0: by the device */
    bool quick, full, fresh;
    struct tune_wishes wishes;
    /* Derived. */
    double seconds; /* for all cases; 0: no limit */
    int evaluations;
    uint32_t random_seed;
    struct worker worker;
    char *cases[MAX_CASES]; /* "box size=8" with the image behind a tab: "box size=8\tu8\t1\t3264\t2448" */
    int count, done;
    int evaluated;           /* over all cases */
    int here;                /* of them in this case */
    struct budget_view left; /* what was told of the time that is left */
    uint64_t start;
    bool on_terminal;
    char complained[sizeof((hone_error *)0)->message]; /* of the case before */
    json_t *report;
};

/* ---- report.c ---- */

/* "; 2 did not build; 1 crashed": evaluations by enum record_state, of those that gave no time. */
void tune_print_failures(const int *states);

/* For session_options.progress; the context is the run. */
void tune_show_progress(void *context, int evaluation, int of, const char *configuration,
                        const struct measured *measured, double best_ms);
/* For session_options.stage. */
void tune_show_stage(void *context, const char *text);
/* For session_options.waiting. */
void tune_show_waiting(void *context);
/* Lines of a report, behind that on how it was found out: how sure it is, and by which clock unless by the
 * device's. */
void tune_print_sureness(const struct session_result *result);
/* The same for a report in JSON, with what is known of times. */
void tune_add_outcome(json_t *report, const struct session_result *result, uint32_t random_seed);
/* "  box: ok, 1.5 ms", and how a configuration failed, where the user wants to see all. */
void tune_note_evaluation(const struct common_options *common, const char *configuration,
                          const struct measured *measured);
void tune_clear_line(const struct common_options *common, bool on_terminal);
/* `variants`: to which the search was limited; NULL: to none. */
void tune_print_result(const struct session_result *result, const struct session_options *options);
/* "at most 5 min left": with so many evaluations done since `start`, and at most so many to do. */
void tune_describe_left(struct budget_view *view, uint64_t start, double done, double to_do, char *to,
                        size_t size);
/* One line that the next one replaces, cut to the terminal's width; nothing where there is no terminal, or
 * where more or less than that is wanted. */
void tune_show_line(const struct common_options *common, bool on_terminal, const char *line);
/* For results that were compared with nobody's. */
extern const char tune_unchecked[];
/* Adds a result to the JSON report. */
void tune_add_report(struct tune_run *run, const struct session_result *result);

/* ---- figures.c: facts and metrics ---- */

hone_status tune_read_wishes(struct tune_wishes *wishes, hone_error *error);
/* The winner's metrics and what it won by; nothing where there are none. */
void tune_print_metrics(const struct session_result *result, const struct metrics *metrics);
/* Every configuration that was tried, the best first, where facts or metrics were asked for. */
void tune_print_tries(const struct session_result *result, const struct session_options *options);
/* The same for a report in JSON. */
json_t *tune_tries_json(const struct session_result *result, const struct metrics *metrics);
/* {"gbs": 12.3}; null where it is not known. */
json_t *tune_metrics_json(const double *values, const struct metrics *metrics);
/* "; private 0, local 1440": what is known of the kernels. */
void tune_add_figures(const struct record_figures *figures, struct text *out);

/* ---- cmd_tune.c: what filters and kernels of the user's own have in common ---- */

/* "60s", "5m", "1h", "90"; NULL is 0. */
hone_status tune_parse_seconds(const char *text, double *seconds, hone_error *error);
/* How many evaluations, of --evaluations (0: not given), --quick and --full; else `usual`, or 0: 100. */
int tune_evaluations(double wanted, bool quick, bool full, int usual);
/* What these options say when they contradict each other; NULL: they do not. */
const char *tune_contradiction(double evaluations, bool quick, bool full);
/* Where HONE_TUNE_CLOCK asks for a clock that is not for this. */
void tune_warn_of_clock(const struct worker *worker, const struct common_options *common, bool filters);
/* Starts the process that measures; `memory` in MiB, 0: by the machine. tune_stop_worker ends it. */
hone_status tune_start_worker(struct worker *worker, const struct common_options *common, double memory,
                              hone_error *error);
void tune_stop_worker(struct worker *worker, const struct common_options *common);

/* ---- variants.c ---- */

/* An error for a name among those of --variant (NULL: none) that no filter of the operands has. */
hone_status tune_check_variants(const char *variants, const struct operands *operands, hone_error *error);

/* ---- files.c: exit statuses ---- */

int tune_export(struct tune_run *run, const struct operands *operands);
int tune_import(struct tune_run *run);
int tune_replay(struct tune_run *run);
