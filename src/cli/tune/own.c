/* SPDX-License-Identifier: BSD-2-Clause */
/* hone tune --kernel-file: tuning a kernel of the user's own. */
#include "cli/tune/own.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/policy.h"
#include "cli/tune/signals.h"
#include "cli/tune/tune.h"
#include "tune/own/results.h"
#include "tune/own/spec/inspect.h"
#include "tune/own/spec/sources.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tune_wants_kernel(int argc, char **argv)
{
    static const char *const words[] = {"--kernel-file", "--spec"};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; k < COUNT_OF(words); k++)
            if (strncmp(argv[i], words[k], strcspn(argv[i], "=")) == 0 &&
                strlen(words[k]) == strcspn(argv[i], "="))
                return true;
    return false;
}

/* ---- The specification: a T1 file or the source's comments, then flags over it ---- */

static hone_status set_all(struct kernel_run *run, const char *name, const struct option_list *list,
                           hone_error *error)
{
    for (int i = 0; i < list->count; i++)
        TRY(own_spec_set(run->spec, name, list->items[i], NULL, error));
    return HONE_OK;
}

static hone_status set_flags(struct kernel_run *run, hone_error *error)
{
    const struct {
        const char *name, *value;
    } singles[] = {{"global", run->global},           {"local", run->local}, {"tolerance", run->tolerance},
                   {"relative", run->relative},       {"bytes", run->bytes}, {"flops", run->flops},
                   {"cold", run->cold ? "yes" : NULL}};
    const struct {
        const char *name;
        const struct option_list *list;
    } lists[] = {{"param", &run->params},   {"restrict", &run->rules},  {"arg", &run->arguments},
                 {"define", &run->defines}, {"options", &run->options}, {"check", &run->checks}};
    hone_status status = HONE_OK;
    if (run->arguments.count)
        own_spec_clear_arguments(run->spec);
    if (run->checks.count)
        own_spec_clear_checks(run->spec);
    for (size_t i = 0; i < COUNT_OF(lists) && !status; i++)
        status = set_all(run, lists[i].name, lists[i].list, error);
    for (size_t i = 0; i < COUNT_OF(singles) && !status; i++)
        if (singles[i].value)
            status = own_spec_set(run->spec, singles[i].name, singles[i].value, NULL, error);
    return status;
}

static hone_status read_source(struct kernel_run *run, hone_error *error)
{
    const char *path = run->spec->file;
    if (!path)
        return error_usage(error, "'%s' names no kernel file", run->spec_file);
    char *whole = realpath(path, NULL), *end = whole ? strrchr(whole, '/') : NULL;
    if (end)
        run->folder = mem_copy_text_n(whole, end == whole ? 1 : (size_t)(end - whole));
    free(whole);
    return file_read(path, OWN_MAX_SOURCE, &run->source, error);
}

/* Of several, which are told; what is wrong where none is seen, the check of the specification says. */
static hone_status choose_kernel(struct kernel_run *run, hone_error *error)
{
    struct text list = {0};
    hone_status status = HONE_OK;
    run->spec->kernel = own_source_only(text_view(&run->source));
    if (!run->spec->kernel)
        own_source_kernels(&list, text_view(&run->source));
    if (list.length)
        status = error_usage(error, "which kernel of '%s'? Name it with --kernel: there are %s",
                             run->spec->file ? run->spec->file : "the file", text_view(&list));
    text_finish(&list);
    return status;
}

static hone_status make_spec(struct kernel_run *run, hone_error *error)
{
    hone_status status = HONE_OK;
    run->spec = own_spec_new();
    if (!run->spec)
        return error_memory(error, "a specification");
    if (run->spec_file)
        status = own_spec_read_t1(run->spec, run->spec_file, error);
    if (!status && run->kernel_file)
        status = own_spec_set(run->spec, "kernel-file", run->kernel_file, NULL, error);
    if (!status && run->kernel)
        status = own_spec_set(run->spec, "kernel", run->kernel, NULL, error);
    THEN(status, read_source(run, error));
    if (!status && !run->spec_file)
        status = own_spec_read_comments(run->spec, text_view(&run->source), run->folder, error);
    if (!status && !run->spec->kernel)
        status = choose_kernel(run, error);
    THEN(status, set_flags(run, error));
    THEN(status, tune_kernel_files(run, error));
    /* what the user defines counts more than an image's size, which counts more than a comment */
    THEN(status, set_all(run, "define", &run->defines, error));
    return status ? status : own_spec_check(run->spec, error);
}

/* ---- The session ---- */

static void show_progress(void *context, int evaluation, int of, const char *config,
                          const struct measured *measured, double best_ms)
{
    struct kernel_run *run = context;
    char left[48], best[32], line[256];
    cli_best(best, best_ms);
    run->left.total = run->session.seconds;
    tune_describe_left(&run->left, run->start, evaluation, of - evaluation, left, sizeof left);
    tune_note_evaluation(&run->common, config, measured);
    snprintf(line, sizeof line, "%s: %d of at most %d, %s%s  %.80s", run->spec->kernel, evaluation, of, left,
             best, config);
    tune_show_line(&run->common, run->on_terminal, line);
}

static void show_stage(void *context, const char *text)
{
    const struct kernel_run *run = context;
    char line[256];
    snprintf(line, sizeof line, "%.128s: %.100s", run->spec->kernel, text);
    tune_show_line(&run->common, run->on_terminal, line);
}

static void show_waiting(void *context)
{
    const struct kernel_run *run = context;
    cli_say_waiting(&run->common);
}

static hone_status read_limits(struct kernel_run *run, hone_error *error)
{
    struct session_options *s = &run->session;
    hone_status status = tune_parse_seconds(run->budget, &s->seconds, error);
    if (!run->budget)
        s->seconds = run->spec->budget_seconds;
    s->budget = tune_evaluations(run->evaluations, run->quick, run->full, run->spec->budget_count);
    s->random_seed = (uint32_t)run->seed;
    s->fresh = run->fresh;
    s->facts = run->wishes.facts;
    s->metrics = &run->wishes.metrics;
    THEN(status, tune_read_wishes(&run->wishes, error));
    run->request = (struct own_request){.spec = run->spec,
                                        .source = text_view(&run->source),
                                        .folder = run->folder,
                                        .read_right = tune_kernel_right,
                                        .context = run};
    s->interrupted = tune_is_interrupted;
    s->give_up = tune_is_given_up;
    s->waiting = show_waiting;
    s->progress = show_progress;
    s->stage = show_stage;
    s->context = run;
    return status;
}

static hone_status write_json(const char *path, json_t *object, hone_error *error)
{
    char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
    hone_status status = text ? file_write(path, text, strlen(text), error) : error_memory(error, "results");
    free(text);
    json_decref(object);
    return status;
}

static hone_status write_results(const struct kernel_run *run, hone_error *error)
{
    hone_status status = HONE_OK;
    struct text header = {0};
    if (run->output)
        status =
            write_json(run->output, own_results_t4(run->spec, run->session.metrics, &run->result), error);
    if (!status && run->header) {
        own_results_header(run->spec, &run->result, &header);
        status = header.failed ? error_memory(error, "a header")
                               : file_write(run->header, header.data, header.length, error);
    }
    text_finish(&header);
    return status;
}

/* The kernel's own files are often beside the results, and a slip replaces one. */
static hone_status spare_inputs(const struct kernel_run *run, const char *option, const char *path,
                                hone_error *error)
{
    const struct own_spec *spec = run->spec;
    hone_status status = file_output_spares(option, path, spec->file, error);
    if (!status && run->spec_file)
        status = file_output_spares(option, path, run->spec_file, error);
    THEN(status, cli_spare_records(option, path, error));
    for (int i = 0; i < spec->argument_count && !status; i++)
        if (spec->arguments[i].file)
            status = file_output_spares(option, path, spec->arguments[i].file, error);
    for (int i = 0; i < spec->check_count && spec->check == CHECK_FILES && !status; i++)
        status = file_output_spares(option, path, spec->checks[i], error);
    return status;
}

/* Before hours are spent: can the files be written at all? */
static hone_status try_output(const struct kernel_run *run, const char *option, const char *path,
                              hone_error *error)
{
    struct file_output output = FILE_OUTPUT_NONE;
    hone_status status = path ? spare_inputs(run, option, path, error) : HONE_OK;
    if (path)
        THEN(status, file_output_begin(&output, path, error));
    file_output_abort(&output);
    return status;
}

static hone_status try_outputs(const struct kernel_run *run, hone_error *error)
{
    TRY(try_output(run, "--output", run->output, error));
    TRY(try_output(run, "--header", run->header, error));
    return run->output && run->header ? file_output_spares("--header", run->header, run->output, error)
                                      : HONE_OK;
}

static int tune(struct kernel_run *run, struct worker *worker)
{
    hone_error error = {0}, write_error = {0};
    hone_status status = own_session_tune(worker, &run->request, &run->session, &run->result, &error);
    tune_clear_line(&run->common, run->on_terminal);
    if (run->result.base.ranked_count > 0) {
        hone_status written = write_results(run, &write_error);
        if (!tune_kernel_report(run))
            status = error_memory(&error, "the report");
        fflush(stdout);
        if (written)
            return cli_fail(&run->common, &write_error);
    }
    const bool interrupted = tune_is_interrupted(NULL);
    if (status && !(interrupted && run->result.base.ranked_count == 0))
        return cli_fail(&run->common, &error);
    return interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}

/* A name that is mistyped, perhaps. */
static void warn_of_unused(const struct kernel_run *run)
{
    const char *source = text_view(&run->source);
    for (int i = 0; i < run->spec->parameter_count && !own_source_includes(source); i++)
        if (!own_source_mentions(source, run->spec->parameters[i].name) && !own_spec_mentions(run->spec, i))
            cli_warn(
                &run->common,
                "neither the kernel nor an expression mentions the parameter %s, so that its values are all "
                "the same",
                run->spec->parameters[i].name);
}

static int run_all(struct kernel_run *run)
{
    hone_error error = {0};
    struct worker worker;
    hone_status status = make_spec(run, &error);
    THEN(status, read_limits(run, &error));
    THEN(status, try_outputs(run, &error));
    THEN(status, tune_start_worker(&worker, &run->common, run->memory, &error));
    if (status)
        return cli_fail(&run->common, &error);
    cli_note(&run->common, "tuning '%s' on %s (%s, driver %s)", run->spec->kernel, worker.device_record.name,
             worker.device_record.platform, worker.device_record.driver);
    tune_warn_of_clock(&worker, &run->common, false);
    warn_of_unused(run);
    tune_signals_begin(run->common.quiet);
    run->start = clock_ns();
    int result = tune(run, &worker);
    tune_stop_worker(&worker, &run->common);
    return result;
}

/* Images among the arguments, and those that results are compared with, are decoded as for hone apply. */
static int run_with_decoders(struct kernel_run *run)
{
    hone_error error = {0};
    if (policy_bind_reading(&run->decode_memory, &run->trust, &run->max_pixels, &error) ||
        media_decoders_begin(false, &error))
        return cli_fail(&run->common, &error);
    const int result = run_all(run);
    media_decoders_end();
    return result;
}

static void finish(struct kernel_run *run)
{
    for (int i = 0; i < OWN_MAX_ARGUMENTS; i++)
        held_file_close(&run->held[i]);
    own_session_finish(&run->result);
    own_spec_free(run->spec);
    text_finish(&run->source);
    free(run->folder);
}

#define FOR_FILTERS(name)                                                                                    \
    {                                                                                                        \
        name, 0, OPTION_ELSEWHERE, for_filters, 0, 0                                                         \
    }
#define FOR_FILES(name)                                                                                      \
    {                                                                                                        \
        name, 0, OPTION_ELSEWHERE, for_files, 0, 0                                                           \
    }

static enum parsed parse(struct kernel_run *run, int argc, char **argv, struct operands *operands)
{
    static char for_filters[] = "is for filters, not for kernels of one's own",
                for_files[] = "is for files of measurements: it takes no --kernel-file and no --spec";
    const struct option own[] = {{"kernel-file", 0, OPTION_TEXT, &run->kernel_file, 0, 0},
                                 {"spec", 0, OPTION_TEXT, &run->spec_file, 0, 0},
                                 {"kernel", 0, OPTION_TEXT, &run->kernel, 0, 0},
                                 {"param", 0, OPTION_LIST, &run->params, 0, 0},
                                 {"restrict", 0, OPTION_LIST, &run->rules, 0, 0},
                                 {"global", 0, OPTION_TEXT, &run->global, 0, 0},
                                 {"local", 0, OPTION_TEXT, &run->local, 0, 0},
                                 {"arg", 0, OPTION_LIST, &run->arguments, 0, 0},
                                 {"define", 0, OPTION_LIST, &run->defines, 0, 0},
                                 {"options", 0, OPTION_LIST, &run->options, 0, 0},
                                 {"check", 0, OPTION_LIST, &run->checks, 0, 0},
                                 {"tolerance", 0, OPTION_TEXT, &run->tolerance, 0, 0},
                                 {"relative", 0, OPTION_TEXT, &run->relative, 0, 0},
                                 {"bytes", 0, OPTION_TEXT, &run->bytes, 0, 0},
                                 {"flops", 0, OPTION_TEXT, &run->flops, 0, 0},
                                 {"output", 'o', OPTION_TEXT, &run->output, 0, 0},
                                 {"header", 0, OPTION_TEXT, &run->header, 0, 0},
                                 {"budget", 0, OPTION_TEXT, &run->budget, 0, 0},
                                 {"timeout", 0, OPTION_REAL, &run->session.run_seconds, 0.1, 86400},
                                 {"memory", 0, OPTION_REAL, &run->memory, 64, 1 << 24},
                                 {"build-timeout", 0, OPTION_REAL, &run->session.build_seconds, 0.1, 86400},
                                 {"evaluations", 0, OPTION_WHOLE, &run->evaluations, 1, 1 << 20},
                                 {"seed", 0, OPTION_WHOLE, &run->seed, 0, UINT32_MAX},
                                 {"quick", 0, OPTION_FLAG, &run->quick, 0, 0},
                                 {"full", 0, OPTION_FLAG, &run->full, 0, 0},
                                 {"fresh", 0, OPTION_FLAG, &run->fresh, 0, 0},
                                 {"cold", 0, OPTION_FLAG, &run->cold, 0, 0},
                                 {"trust", 0, OPTION_FLAG, &run->trust, 0, 0},
                                 {"decode-memory", 0, OPTION_REAL, &run->decode_memory, 1, 1 << 24},
                                 {"facts", 0, OPTION_FLAG, &run->wishes.facts, 0, 0},
                                 {"metric", 0, OPTION_LIST, &run->wishes.texts, 0, 0},
                                 {"objective", 0, OPTION_TEXT, &run->wishes.objective, 0, 0},
                                 FOR_FILTERS("size"),
                                 FOR_FILTERS("format"),
                                 FOR_FILTERS("channels"),
                                 FOR_FILTERS("variant"),
                                 FOR_FILES("export"),
                                 FOR_FILES("import"),
                                 FOR_FILES("replay"),
                                 FOR_FILES("repeat"),
                                 FOR_FILES("from-scratch"),
                                 {0}};
    return cli_parse(&command_tune, argc, argv, own, &run->common, operands);
}

int tune_kernel(int argc, char **argv)
{
    struct kernel_run run = {.on_terminal = cli_on_terminal(), .seed = TUNE_SEED};
    struct operands operands;
    for (int i = 0; i < OWN_MAX_ARGUMENTS; i++)
        run.held[i].fd = -1;
    enum parsed parsed = parse(&run, argc, argv, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    const char *wrong = tune_contradiction(run.evaluations, run.quick, run.full);
    if (wrong)
        return cli_usage(&command_tune, "%s", wrong);
    if (!run.kernel_file && !run.spec_file)
        return cli_usage(&command_tune, "--kernel-file or --spec is missing: where is the kernel?");
    if (operands.count)
        return cli_usage(&command_tune, "a kernel of one's own and the filter '%s' cannot be tuned together",
                         operands.items[0]);
    int status = run_with_decoders(&run);
    finish(&run);
    return status;
}
