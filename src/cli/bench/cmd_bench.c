/* SPDX-License-Identifier: BSD-2-Clause */
/* hone bench: the tables of the documents that the filters come from, measured here. */
#include "cli/bench/bench.h"

#include "base/error.h"
#include "base/mem.h"
#include "tune/measure/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is wanted ---- */

/* "u8", "u8x3". */
static hone_status parse_format(const char *text, hone_image_desc *in, hone_error *error)
{
    char name[16], rest;
    const size_t length = strcspn(text, "x");
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    in->channels = 1;
    if (text[length] &&
        (sscanf(text + length, "x%u%c", &in->channels, &rest) != 1 || in->channels < 1 || in->channels > 4))
        return error_usage(error, "a format is written like u8, f32 or u8x3 (1 to 4 channels), not '%s'",
                           text);
    return hone_type_parse(&in->type, name, error);
}

/* Words between commas, at most `most`; each is given to `take`. */
static hone_status each_word(const char *list,
                             hone_status (*take)(void *context, const char *word, hone_error *error),
                             void *context, hone_error *error)
{
    hone_status status = HONE_OK;
    char word[256];
    for (const char *at = list; at && !status;) {
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        status = take(context, word, error);
        at = at[length] ? at + length + 1 : NULL;
    }
    return status;
}

static hone_status take_format(void *context, const char *word, hone_error *error)
{
    struct bench_run *run = context;
    hone_image_desc in = {.width = 1, .height = 1};
    hone_status status = parse_format(word, &in, error);
    if (!status && run->format_count == BENCH_FORMATS)
        status = error_usage(error, "more than %d formats at once", BENCH_FORMATS);
    if (!status)
        run->images[run->format_count++] = in;
    return status;
}

/* The formats in front become images of this size. */
struct sizing {
    struct bench_run *run;
    hone_image_desc formats[BENCH_FORMATS];
};

static hone_status take_size(void *context, const char *word, hone_error *error)
{
    struct sizing *sizing = context;
    struct bench_run *run = sizing->run;
    hone_status status = HONE_OK;
    if (run->image_count + run->format_count > BENCH_SIZES * BENCH_FORMATS)
        return error_usage(error, "too many sizes at once");
    for (int i = 0; i < run->format_count && !status; i++) {
        hone_image_desc *in = &run->images[run->image_count++];
        *in = sizing->formats[i];
        status = cli_parse_size("--sizes", word, in, error);
    }
    return status;
}

/* The images that a table names, or the options instead. */
static hone_status collect_images(struct bench_run *run, hone_error *error)
{
    const struct seed_table *table = &run->ladder->table;
    const bool listed = run->ladder->is_table;
    hone_status status = HONE_OK;
    struct sizing sizing = {.run = run};
    run->image_count = run->format_count = 0;
    if (run->format || !listed)
        status = each_word(run->format ? run->format : "u8", take_format, run, error);
    for (int i = 0; listed && !run->format && i < table->format_count && !status; i++)
        status = take_format(run, table->formats[i], error);
    memcpy(sizing.formats, run->images, sizeof *run->images * (size_t)run->format_count);
    if (!status && (run->sizes || !listed))
        status = each_word(run->sizes ? run->sizes : "3264x2448", take_size, &sizing, error);
    for (int i = 0; listed && !run->sizes && i < table->size_count && !status; i++)
        status = take_size(&sizing, table->sizes[i], error);
    if (!status)
        html_add_sizes(run);
    return status;
}

static hone_status take_device(void *context, const char *word, hone_error *error)
{
    struct bench_run *run = context;
    if (run->device_count == BENCH_DEVICES)
        return error_usage(error, "more than %d devices at once", BENCH_DEVICES);
    const int d = run->device_count;
    TRY(cli_open_device(&run->devices[d], &run->common, *word ? word : NULL, error));
    run->device_count++;
    return roofs_know(&run->roofs[d], run->devices[d], run->anew, error);
}

/* A list of devices is climbed side by side. */
hone_status bench_open_devices(struct bench_run *run, hone_error *error)
{
    const char *spec = run->common.device ? run->common.device : "";
    return each_word(spec, take_device, run, error);
}

/* ---- Climbing ---- */

static void say_step(const struct bench_run *run, int step, int device)
{
    cli_note(&run->common, "%s, step %s on %s", run->ladder->name, run->ladder->steps[step].name,
             hone_device_get_info(run->devices[device])->name);
}

static void climb(struct bench_run *run, int image, struct climbed *results)
{
    for (int d = 0; d < run->device_count; d++) {
        double first = 0;
        for (int s = 0; s < run->ladder->count; s++) {
            say_step(run, s, d);
            ladder_climb(run->ladder, s, run->devices[d], &run->roofs[d], &run->images[image], &first,
                         &results[d * run->ladder->count + s]);
            if (!run->common.json)
                bench_print_step(run, image, s, &results[d * run->ladder->count + s]);
        }
    }
}

static bool went_wrong(const struct climbed *results, int count)
{
    for (int i = 0; i < count; i++)
        if (results[i].row.verdict == ROW_WRONG)
            return true;
    return false;
}

static int climb_all(struct bench_run *run, hone_error *error)
{
    const int steps = run->ladder->count * run->device_count;
    struct climbed *results = mem_new((size_t)(steps * run->image_count), sizeof *results);
    if (!results)
        return error_memory(error, "the results"), cli_fail(&run->common, error);
    for (int i = 0; i < run->image_count; i++) {
        struct climbed *here = results + i * steps;
        if (!run->common.json)
            bench_print_begin(run, i);
        climb(run, i, here);
        if (run->common.json)
            json_array_append_new(run->report, bench_json(run, i, here));
        else
            bench_print_end(run, i, here);
    }
    if (!run->common.json && run->image_count > run->format_count)
        bench_print_sizes(run, results);
    const bool wrong = went_wrong(results, steps * run->image_count);
    hone_status status = html_add(run, results, error);
    free(results);
    if (status)
        return cli_fail(&run->common, error);
    return wrong ? EXIT_CHECK : EXIT_DONE;
}

static hone_status prepare(struct bench_run *run, const char *name, hone_error *error)
{
    hone_status status = ladder_of(run->ladder, run->seeds, name, error);
    run->ladder->facts |= run->facts;
    run->ladder->probes = run->probes;
    if (!status && run->rungs.count)
        status = ladder_keep(run->ladder, run->rungs.items, run->rungs.count, error);
    if (!status && run->config)
        status = ladder_configure(run->ladder, run->config, error);
    return status ? status : collect_images(run, error);
}

static int run_ladder(struct bench_run *run, const char *name)
{
    hone_error error = {0};
    hone_status status = prepare(run, name, &error);
    if (!status && !run->device_count)
        status = bench_open_devices(run, &error);
    return status ? cli_fail(&run->common, &error) : climb_all(run, &error);
}

/* ---- The command ---- */

/* What is no ladder. */
static bool is_special(const char *name)
{
    return strcmp(name, "roofs") == 0 || strcmp(name, "probes") == 0 || strcmp(name, "experiments") == 0;
}

/* All that can be said before anything is measured, which may take long. */
static hone_status check_operands(struct bench_run *run, const struct operands *operands, hone_error *error)
{
    const bool experiments = strcmp(operands->items[0], "experiments") == 0;
    hone_status status = run->html ? cli_spare_operands("--html", run->html, operands, error) : HONE_OK;
    if (run->html)
        THEN(status, cli_spare_records("--html", run->html, error));
    for (int i = 0; i < operands->count && run->html && !status; i++)
        if (experiments || is_special(operands->items[i]))
            status = error_usage(error, "--html draws tables and filters, not '%s'", operands->items[i]);
    for (int i = 0; i < operands->count && !experiments && !status; i++)
        if (strcmp(operands->items[i], "experiments") == 0)
            status = error_usage(error, "'experiments' comes first, and alone or with names "
                                        "of experiments");
        else if (!is_special(operands->items[i]))
            status = prepare(run, operands->items[i], error);
    return status;
}

static int run_operand(struct bench_run *run, const char *name)
{
    hone_error error = {0};
    if (!is_special(name))
        return run_ladder(run, name);
    if (!run->device_count && bench_open_devices(run, &error))
        return cli_fail(&run->common, &error);
    return strcmp(name, "roofs") == 0 ? bench_show_roofs(run) : bench_prove_probes(run);
}

static int run_all(struct bench_run *run, const struct operands *operands)
{
    hone_error error = {0};
    int worst = EXIT_DONE;
    if (seeds_open(&run->seeds, &error))
        return cli_fail(&run->common, &error);
    if (operands->count == 0 && run->html)
        return cli_usage(&command_bench, "--html needs a table or a filter to draw");
    if (operands->count == 0)
        return bench_list_tables(run);
    run->ladder = mem_new(1, sizeof *run->ladder);
    run->report = json_array();
    if (!run->ladder || !run->report)
        return error_memory(&error, "a ladder"), cli_fail(&run->common, &error);
    if (check_operands(run, operands, &error) || html_begin(run, &error))
        return cli_fail(&run->common, &error);
    const bool experiments = strcmp(operands->items[0], "experiments") == 0;
    if (experiments)
        worst = bench_experiments(run, operands->items + 1, operands->count - 1);
    for (int i = 0; i < operands->count && !experiments && worst <= EXIT_CHECK; i++) {
        const int one = run_operand(run, operands->items[i]);
        worst = one > worst ? one : worst;
    }
    if (worst <= EXIT_CHECK && html_end(run, &error))
        return cli_fail(&run->common, &error);
    if (run->common.json && worst <= EXIT_CHECK && !cli_print_json(json_incref(run->report)))
        worst = EXIT_DEVICE;
    return worst;
}

static void finish(struct bench_run *run)
{
    for (int i = 0; i < run->device_count; i++)
        hone_device_close(&run->devices[i]);
    seeds_close(&run->seeds);
    free(run->ladder);
    json_decref(run->report);
    text_finish(&run->command);
    text_finish(&run->page);
}

/* A page that is begun leaves nothing behind when a signal comes. */
static int run_guarded(struct bench_run *run, struct operands *operands)
{
    hone_error error;
    enum timing_wish clock;
    if (timing_wish(&clock, &error) || cli_load_all(operands, &error) || (run->html && guard_begin(&error)))
        return cli_fail(&run->common, &error);
    const int status = run_all(run, operands);
    guard_output_abort(&run->page_file);
    if (run->html)
        guard_end();
    return status;
}

static int run_bench(int argc, char **argv)
{
    struct bench_run run = {.page_file = GUARDED_OUTPUT_NONE};
    struct operands operands;
    const struct option own[] = {{"sizes", 0, OPTION_TEXT, &run.sizes, 0, 0},
                                 {"format", 0, OPTION_TEXT, &run.format, 0, 0},
                                 {"rung", 0, OPTION_LIST, &run.rungs, 0, 0},
                                 {"config", 0, OPTION_TEXT, &run.config, 0, 0},
                                 {"facts", 0, OPTION_FLAG, &run.facts, 0, 0},
                                 {"probe", 0, OPTION_FLAG, &run.probes, 0, 0},
                                 {"html", 0, OPTION_TEXT, &run.html, 0, 0},
                                 {"anew", 0, OPTION_FLAG, &run.anew, 0, 0},
                                 {"perf-hint", 0, OPTION_TEXT, &run.common.perf_hint, 0, 0},
                                 {0}};
    html_note_command(&run.command, argc, argv);
    enum parsed parsed = cli_parse(&command_bench, argc, argv, own, &run.common, &operands);
    if (parsed != PARSED_GO) {
        text_finish(&run.command);
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    }
    const int status = run_guarded(&run, &operands);
    finish(&run);
    return status;
}

const struct command command_bench = {
    "bench", "measure published tables, roofs and experiments here",
    "usage: hone bench [TABLE|FILTER|roofs|probes...]\n"
    "       hone bench experiments [NAME...]\n"
    "\n"
    "Measures the tables of the documents that the filters come from: the same rows, data and sizes,\n"
    "next to the document's figures and device. FILTER is a filter, with or without parameters; all its\n"
    "rungs and variants are measured. 'roofs' measures the device's limits; 'probes' tests --probe on\n"
    "kernels whose limit is known. 'experiments' puts the documents' open questions to this device: two\n"
    "or more ways of doing the same thing, timed in turn. Without an operand, lists tables and\n"
    "experiments. Exit status 1: a result was wrong.\n"
    "\n"
    "  hone bench 9-2\n"
    "  hone bench 'box size=31' --sizes 1920x1080,3264x2448 --format u8,f32\n"
    "  hone bench convolution --device 0,1\n"
    "  hone bench experiments local-memory indices\n"
    "\n"
    "Columns: median time of the kernels and its spread (half the interquartile range); megapixels per\n"
    "second; gain over the first row that runs, and the document's gain; loads and bytes per pixel by the\n"
    "variant's model, and bytes of the result; the share of the device's roof of memory or arithmetic,\n"
    "whichever is larger; what limits the row, judged by the roofs; whether a small picture equals the\n"
    "plain C result; copies from buffers to images and back, which are not part of the time.\n"
    "\n"
    "options:\n"
    "  --sizes LIST     image sizes instead of the table's: 512x512,1920x1080; one size for experiments\n"
    "  --format LIST    formats instead of the table's: u8, f32, u8x3 ...\n"
    "  --rung NAME      only this row; can be repeated\n"
    "  --config VALUES  tunables of that row, such as 'WG_X=32 ROWS=8'; others keep the row's values\n"
    "  --facts          registers, spills, waves and memory of each kernel, if the driver reports them\n"
    "  --probe          find each row's limiter by probes: arithmetic or loads added, half of the\n"
    "                   work-groups, loads that come from a cache\n"
    "  --html FILE      write a page with plots (by gnuplot): gains, roofline, sizes, work-group shapes\n"
    "                   from tuning, a timeline; if there is one size, three smaller ones are added\n"
    "  --anew           measure the roofs again instead of using the remembered ones\n"
    "  --perf-hint WORD high, normal or low: clock of a device with cl_qcom_perf_hint\n"
    "\n"
    "A list of devices (--device 0,1) is measured side by side.\n",
    run_bench};
