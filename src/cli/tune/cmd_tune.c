/* SPDX-License-Identifier: BSD-2-Clause */
/* hone tune: measure, choose, remember. */
#include "cli/tune/tune.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/show.h"
#include "cli/tune/own.h"
#include "cli/tune/signals.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "filter/registry.h"
#include "tune/measure/timing.h"
#include "tune/session/filter.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK = 20, NORMAL = 100, FULL = 500 };
/* What --quick takes at most: for all cases, and for each of a few. */
static const double quick_seconds = 540, quick_case_seconds = 60;

/* ---- Options ---- */

hone_status tune_parse_seconds(const char *text, double *seconds, hone_error *error)
{
    char *end = NULL;
    double number = text ? strtod(text, &end) : 0;
    *seconds = 0;
    if (!text)
        return HONE_OK;
    double unit = strcmp(end, "h") == 0 ? 3600 : strcmp(end, "m") == 0 || strcmp(end, "min") == 0 ? 60 : 1;
    bool known = unit > 1 || *end == '\0' || strcmp(end, "s") == 0;
    if (end == text || !known || !isfinite(number) || number <= 0)
        return error_usage(error, "a time is written like 60s, 5m or 1h, not '%s'", text);
    *seconds = number * unit;
    return HONE_OK;
}

int tune_evaluations(double wanted, bool quick, bool full, int usual)
{
    return wanted > 0 ? (int)wanted : quick ? QUICK : full ? FULL : usual > 0 ? usual : NORMAL;
}

const char *tune_contradiction(double evaluations, bool quick, bool full)
{
    return quick && full                        ? "--quick and --full exclude each other"
           : evaluations > 0 && (quick || full) ? "--evaluations takes the place of --quick and --full"
                                                : NULL;
}

/* ---- The worker ---- */

/* What tells the worker how to measure, but is no option. */
static hone_status check_environment(hone_error *error)
{
    enum timing_wish clock;
    double seconds;
    TRY(timing_wish(&clock, error));
    return filter_session_wish(&seconds, error);
}

hone_status tune_start_worker(struct worker *worker, const struct common_options *common, double memory,
                              hone_error *error)
{
    TRY(check_environment(error));
    hone_status status = worker_start(worker, common->device ? common->device : getenv("HONE_DEVICE"),
                                      common->no_cache, error);
    if (!status && memory > 0)
        worker->memory = (uint64_t)(memory * 1048576);
    return status;
}

void tune_warn_of_clock(const struct worker *worker, const struct common_options *common, bool filters)
{
    enum timing_wish wish;
    if (timing_wish(&wish, NULL) || wish != TIMING_PROCESSOR)
        return;
    if (!filters || worker->device_record.kind != HONE_DEVICE_CPU)
        cli_warn(common, "HONE_TUNE_CLOCK=processor is for filters on CPUs: %s is timed by another clock",
                 filters ? worker->device_record.name : "a kernel of one's own");
}

void tune_stop_worker(struct worker *worker, const struct common_options *common)
{
    worker_stop(worker);
    cli_warn_of_stuck(common, worker->stuck);
}

/* ---- Cases ---- */

static hone_status add_case(struct tune_run *run, const char *text, const hone_image_desc *in,
                            hone_error *error)
{
    struct text line = {0};
    if (run->count == MAX_CASES)
        return error_usage(error, "too many cases at once; name some filters");
    text_add(&line, "%s\t%d\t%u\t%u\t%u", text, (int)in->type, in->channels, in->width, in->height);
    run->cases[run->count] = text_take(&line);
    return run->cases[run->count++] ? HONE_OK : error_memory(error, "a case");
}

static hone_status add_usual(struct tune_run *run, const struct hone_filter *filter,
                             const hone_image_desc *in, hone_error *error)
{
    hone_status status = HONE_OK;
    struct text text = {0};
    const bool one = run->quick && in->channels > 1; /* colours of what was looked at in gray */
    for (size_t i = 0; !status && filter_usual(filter, i, &text); i++) {
        if (filter_takes(filter, in) && !(one && i > 0))
            status = add_case(run, text_view(&text), in, error);
        text_finish(&text);
    }
    return status;
}

/* A filter's name stands for its usual cases, a text with parameters for itself. */
static hone_status add_wanted(struct tune_run *run, const struct operands *operands,
                              const hone_image_desc *in, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; operands->count == 0 && registry_at(i) && !status; i++)
        status = add_usual(run, registry_at(i), in, error);
    for (int i = 0; i < operands->count && !status; i++) {
        const struct hone_filter *filter = registry_find(operands->items[i]);
        status = filter ? add_usual(run, filter, in, error) : add_case(run, operands->items[i], in, error);
    }
    return status;
}

/* What is wrong with a case whatever the images are. */
static hone_status check_case(const char *text, hone_error *error)
{
    struct filter_case c;
    hone_status status = chain_parse_case(&c, text, error);
    if (!status)
        case_finish(&c);
    return status;
}

/* Formats that were not named are the usual ones: gray and colour of u8, gray of f32. In a hurry what photos
 * need, and on smaller ones. */
static hone_status collect(struct tune_run *run, const struct operands *operands, hone_error *error)
{
    static const struct {
        const char *type;
        uint32_t channels;
    } usual[] = {{"u8", 1}, {"u8", 3}, {"f32", 1}};
    hone_image_desc in = {.width = 3264, .height = 2448, .type = HONE_U8, .channels = 1};
    if (run->quick)
        in.width = 2560, in.height = 1600; /* near enough to photos of 1 to 32 megapixels */
    hone_status status = run->size ? cli_parse_size("--size", run->size, &in, error) : HONE_OK;
    for (int i = 0; i < operands->count && !status; i++) /* told once, and before a device is opened */
        status = check_case(operands->items[i], error);
    THEN(status, tune_check_variants(run->variants, operands, error));
    bool named = run->format || run->channels > 0;
    for (size_t i = 0; i < (named ? 1 : COUNT_OF(usual) - run->quick) && !status; i++) {
        status = hone_type_parse(&in.type, run->format ? run->format : named ? "u8" : usual[i].type, error);
        in.channels = run->channels > 0 ? (uint32_t)run->channels : named ? 1 : usual[i].channels;
        THEN(status, add_wanted(run, operands, &in, error));
    }
    if (!status && run->count == 0)
        status = error_usage(error, "these filters do not take %s images of %s", hone_type_name(in.type),
                             show_count(in.channels, "channel").text);
    return status;
}

static hone_status open_case(const char *line, struct filter_case *c, hone_error *error)
{
    hone_image_desc in = {0};
    int type = 0;
    size_t length = strcspn(line, "\t");
    char *text = mem_copy_text_n(line, length);
    if (!text)
        return error_memory(error, "a case");
    sscanf(line + length, "\t%d\t%u\t%u\t%u", &type, &in.channels, &in.width, &in.height);
    in.type = (hone_type)type;
    hone_status status = chain_parse_case(c, text, error);
    free(text);
    if (status)
        return status;
    status = case_prepare(c, &in, c->filter->inputs > 1 ? &in : NULL, error);
    if (status)
        case_finish(c);
    return status;
}

/* ---- The run ---- */

static double seconds_for_case(const struct tune_run *run)
{
    return budget_share(run->seconds, (double)(clock_ns() - run->start) * 1e-9, run->count - run->done);
}

/* The report tells of all cases. What is wrong with a filter in all its formats is told once. */
static int fail_case(struct tune_run *run, const hone_error *error)
{
    if (strcmp(run->complained, error->message) != 0)
        cli_complain(&run->common, error);
    snprintf(run->complained, sizeof run->complained, "%s", error->message);
    json_array_append_new(run->report, cli_failure_json(error));
    return cli_exit_status(error->status);
}

static int tune_one(struct tune_run *run, const char *line)
{
    hone_error error = {0};
    struct filter_case c;
    struct session_result result = {.missing = NULL};
    const struct session_options options = {.budget = run->evaluations,
                                            .seconds = seconds_for_case(run),
                                            .random_seed = run->random_seed,
                                            .fresh = run->fresh,
                                            .variants = run->variants,
                                            .metrics = &run->wishes.metrics,
                                            .facts = run->wishes.facts,
                                            .run_seconds = run->timeout,
                                            .interrupted = tune_is_interrupted,
                                            .give_up = tune_is_given_up,
                                            .waiting = tune_show_waiting,
                                            .stage = tune_show_stage,
                                            .progress = tune_show_progress,
                                            .context = run};
    hone_status status = open_case(line, &c, &error);
    if (status)
        return fail_case(run, &error);
    run->here = 0;
    tune_show_stage(run, "begins");
    status = filter_session_tune(&run->worker, &c, &options, &result, &error);
    case_finish(&c);
    tune_clear_line(&run->common, run->on_terminal);
    if (result.choice.count > 0 && run->common.json)
        tune_add_report(run, &result);
    else if (result.choice.count > 0 && !run->common.quiet)
        tune_print_result(&result, &options);
    session_result_finish(&result);
    fflush(stdout);
    return status ? fail_case(run, &error) : EXIT_DONE;
}

static bool is_over(const struct tune_run *run)
{
    return run->done > 0 && run->seconds > 0 && (double)(clock_ns() - run->start) * 1e-9 > run->seconds;
}

static int tune_all(struct tune_run *run)
{
    int worst = EXIT_DONE;
    tune_signals_begin(run->common.quiet);
    run->start = clock_ns();
    for (; run->done < run->count && !tune_is_interrupted(NULL) && !is_over(run); run->done++) {
        int status = tune_one(run, run->cases[run->done]);
        worst = status > worst ? status : worst;
    }
    if (run->done < run->count && !tune_is_interrupted(NULL))
        cli_warn(&run->common, "%.0f s are over: %d of %d cases %s not tuned (--budget gives more time)",
                 run->seconds, run->count - run->done, run->count,
                 run->count - run->done == 1 ? "was" : "were");
    if (run->common.json && !cli_print_json(json_incref(run->report))) /* it takes the report over */
        worst = EXIT_DEVICE;
    return tune_is_interrupted(NULL) ? EXIT_INTERRUPTED : worst;
}

static int run_cases(struct tune_run *run, const struct operands *operands)
{
    hone_error error = {0};
    hone_status status = tune_parse_seconds(run->budget, &run->seconds, &error);
    THEN(status, tune_read_wishes(&run->wishes, &error));
    THEN(status, collect(run, operands, &error));
    if (run->quick && run->seconds <= 0)
        run->seconds = fmin(quick_seconds, quick_case_seconds * run->count);
    THEN(status, tune_start_worker(&run->worker, &run->common, run->memory, &error));
    if (status)
        return cli_fail(&run->common, &error);
    cli_note(&run->common, "tuning %s on %s (%s, driver %s)", show_count((size_t)run->count, "case").text,
             run->worker.device_record.name, run->worker.device_record.platform,
             run->worker.device_record.driver);
    tune_warn_of_clock(&run->worker, &run->common, true);
    int result = tune_all(run);
    tune_stop_worker(&run->worker, &run->common);
    return result;
}

#define FOR_KERNELS(name, letter)                                                                            \
    {                                                                                                        \
        name, letter, OPTION_ELSEWHERE, for_kernels, 0, 0                                                    \
    }

static enum parsed parse(struct tune_run *run, int argc, char **argv, struct operands *operands)
{
    static char for_kernels[] =
        "is for kernels of one's own, and --kernel-file or --spec is missing: where is the kernel?";
    const struct option own[] = {{"size", 0, OPTION_TEXT, &run->size, 0, 0},
                                 {"format", 0, OPTION_TEXT, &run->format, 0, 0},
                                 {"channels", 0, OPTION_WHOLE, &run->channels, 1, 4},
                                 {"budget", 0, OPTION_TEXT, &run->budget, 0, 0},
                                 {"seed", 0, OPTION_WHOLE, &run->seed, 0, UINT32_MAX},
                                 {"variant", 0, OPTION_TEXT, &run->variants, 0, 0},
                                 {"timeout", 0, OPTION_REAL, &run->timeout, 0.1, 86400},
                                 {"memory", 0, OPTION_REAL, &run->memory, 64, 1 << 24},
                                 {"evaluations", 0, OPTION_WHOLE, &run->budgeted, 1, 1 << 20},
                                 {"export", 0, OPTION_TEXT, &run->export_to, 0, 0},
                                 {"import", 0, OPTION_TEXT, &run->import_from, 0, 0},
                                 {"replay", 0, OPTION_TEXT, &run->replay_of, 0, 0},
                                 {"repeat", 0, OPTION_WHOLE, &run->repeats, 1, 10000},
                                 {"from-scratch", 0, OPTION_FLAG, &run->from_scratch, 0, 0},
                                 {"quick", 0, OPTION_FLAG, &run->quick, 0, 0},
                                 {"full", 0, OPTION_FLAG, &run->full, 0, 0},
                                 {"fresh", 0, OPTION_FLAG, &run->fresh, 0, 0},
                                 {"facts", 0, OPTION_FLAG, &run->wishes.facts, 0, 0},
                                 {"metric", 0, OPTION_LIST, &run->wishes.texts, 0, 0},
                                 {"objective", 0, OPTION_TEXT, &run->wishes.objective, 0, 0},
                                 FOR_KERNELS("kernel", 0),
                                 FOR_KERNELS("param", 0),
                                 FOR_KERNELS("restrict", 0),
                                 FOR_KERNELS("global", 0),
                                 FOR_KERNELS("local", 0),
                                 FOR_KERNELS("arg", 0),
                                 FOR_KERNELS("define", 0),
                                 FOR_KERNELS("options", 0),
                                 FOR_KERNELS("check", 0),
                                 FOR_KERNELS("tolerance", 0),
                                 FOR_KERNELS("relative", 0),
                                 FOR_KERNELS("bytes", 0),
                                 FOR_KERNELS("flops", 0),
                                 FOR_KERNELS("header", 0),
                                 FOR_KERNELS("build-timeout", 0),
                                 FOR_KERNELS("cold", 0),
                                 FOR_KERNELS("trust", 0),
                                 FOR_KERNELS("decode-memory", 0),
                                 FOR_KERNELS("output", 'o'),
                                 {0}};
    return cli_parse(&command_tune, argc, argv, own, &run->common, operands);
}

static int run_tune(int argc, char **argv)
{
    if (tune_wants_kernel(argc, argv))
        return tune_kernel(argc, argv);
    struct tune_run run = {.on_terminal = cli_on_terminal(), .seed = TUNE_SEED};
    struct operands operands;
    enum parsed parsed = parse(&run, argc, argv, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    hone_error error;
    if (cli_load_all(&operands, &error))
        return cli_fail(&run.common, &error);
    const char *wrong = tune_contradiction(run.budgeted, run.quick, run.full);
    if (wrong)
        return cli_usage(&command_tune, "%s", wrong);
    run.random_seed = (uint32_t)run.seed;
    run.evaluations = tune_evaluations(run.budgeted, run.quick, run.full, 0);
    if (!!run.export_to + !!run.import_from + !!run.replay_of > 1)
        return cli_usage(&command_tune, "--export, --import and --replay exclude each other");
    if ((run.export_to || run.import_from) && (run.wishes.texts.count || run.wishes.objective))
        return cli_usage(&command_tune,
                         "--metric and --objective are for measuring and --replay: they do not "
                         "go with --export and --import");
    if (run.import_from || run.replay_of) {
        if (operands.count)
            return cli_usage(&command_tune, "--%s takes one file and no filter, not also '%s'",
                             run.replay_of ? "replay" : "import", operands.items[0]);
        return run.replay_of ? tune_replay(&run) : tune_import(&run);
    }
    if (run.export_to)
        return tune_export(&run, &operands);
    run.report = json_array();
    int status = run_cases(&run, &operands);
    for (int i = 0; i < run.count; i++)
        free(run.cases[i]);
    json_decref(run.report);
    return status;
}

const struct command command_tune = {
    "tune", "measure variants on this device and remember the best",
    "usage: hone tune [FILTER...]\n"
    "       hone tune --kernel-file FILE.cl | --spec FILE.json ...\n"
    "\n"
    "Measures the variants and configurations of filters on a device and remembers the best for\n"
    "'hone apply'. Results are compared with plain C before and after timing. FILTER is a name, which\n"
    "stands for its usual parameters, or a filter with parameters; default: all filters. Kernels run in\n"
    "a separate process; those that hang or crash are not tried again. You can interrupt a session; the\n"
    "next call resumes it.\n"
    "\n"
    "  hone tune\n"
    "  hone tune sobel 'box size=31' --size 3264x2448 --format u8 --budget 60s\n"
    "\n"
    "options:\n"
    "  --size WxH       image size (default 3264x2448)\n"
    "  --format TYPE    u8, u16, s16 or f32 (default: u8 gray and colour, f32 gray)\n"
    "  --channels N     1 to 4\n"
    "  --budget TIME    time limit for the whole session: 60s, 5m, 1h\n"
    "  --quick          fewer cases (2560x1600; u8 gray, and u8 colour with the first usual\n"
    "                   parameters), at most 20 evaluations per case instead of 100, and at most 9\n"
    "                   minutes in total unless --budget is given\n"
    "  --full           at most 500 evaluations per case, or all configurations if there are fewer\n"
    "  --evaluations N  at most N evaluations per case\n"
    "  --variant NAMES  try only these variants, separated by commas; the current choice stays unless\n"
    "                   one of them is faster\n"
    "  --timeout N      seconds after which a running kernel counts as hung (default: 60 until one has\n"
    "                   been measured, then 10 on CPUs and 2 on other devices)\n"
    "  --memory N       memory limit of the measuring process in MiB (default: most of what is free)\n"
    "  --fresh          start over instead of resuming, and retry what failed before\n"
    "  --seed N         seed of the random restarts (default 1)\n"
    "  --facts          show every configuration with its registers, spills, memory and waves, even if\n"
    "                   the driver must compile again to report them\n"
    "  --metric N=E     compute a metric for every configuration, such as 'gbs=bytes/time/1e9', from\n"
    "                   tunables, time (seconds), bytes, flops, registers, energy (joules), metrics before\n"
    "                   it, and others; can be repeated\n"
    "  --objective N    what is best: time (default), energy, or a metric or name of metrics with :max or\n"
    "                   :min. 'hone apply' uses the result only if it is time\n"
    "\n"
    "files of measurements:\n"
    "  --export FILE    write them in the T4 format of the FAIR auto-tuning toolkits; a folder/ for\n"
    "                   several cases. Filters, --size, --format, --channels and --device select them\n"
    "  --import FILE    add the measurements in a T4 file of hone's or in the tuning.jsonl of another\n"
    "                   machine, or the fastest configurations in a cache file of Kernel Tuner\n"
    "  --replay FILE    search the recorded results without a device, and report how close to the\n"
    "                   optimum the search gets; --objective and --metric may use what the file records\n"
    "  --repeat N       with --replay: number of searches (default 50), with seeds from --seed on\n"
    "  --from-scratch   with --replay: ignore the seeds of the recorded session\n" KERNEL_HELP,
    run_tune};
