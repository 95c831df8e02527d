/* SPDX-License-Identifier: BSD-2-Clause */
/* hone bench experiments: the documents' open questions, asked of this device. */
#include "cli/bench/bench.h"

#include "base/error.h"
#include "base/json_text.h"
#include "lab/experiments/experiments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The list ---- */

static json_t *text_json(const struct experiment_text *text)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "experiment", text->name, "title", text->title, "where",
                     text->where, "question", text->question);
}

void bench_list_experiments(void)
{
    for (size_t i = 0; i < experiments_count(); i++) {
        const struct experiment_text text = experiment_describe(experiments_at(i));
        printf("   %-17s %s (%s)\n", text.name, text.title, text.where);
    }
}

/* ---- As text ---- */

static void print_worst(const struct arm_result *arm)
{
    static const char *const verdicts[] = {"-", "right", "WRONG"};
    if (arm->differs && arm->worst > 0)
        printf("  differs, by up to %.3g (%s)", arm->worst, arm->differs);
    else if (arm->differs)
        printf("  the same, by luck (%s)", arm->differs);
    else if (arm->worst > 0)
        printf("  %s, within %.2g", verdicts[arm->verdict], arm->worst);
    else
        printf("  %s", verdicts[arm->verdict]);
}

static void print_arm(const struct arm_result *arm)
{
    if (!arm->ran) {
        printf("   %-18s %s\n", arm->name, arm->note);
        return;
    }
    printf("   %-18s %9.4g %4.0f%% %7.2f", arm->name, arm->ms, 100 * arm->spread, arm->gain);
    if (arm->has_facts && arm->facts.has_registers)
        printf(" %5u %5u", arm->facts.compiled.registers, arm->facts.compiled.spills);
    else
        printf(" %5s %5s", "-", "-");
    if (arm->has_facts)
        printf(" %7" PRIu64 " %6" PRIu64, arm->facts.driver.private_memory, arm->facts.driver.local_memory);
    else
        printf(" %7s %6s", "-", "-");
    print_worst(arm);
    if (arm->longest_ms > 0)
        printf("; longest launch %.3g ms", arm->longest_ms);
    printf("%s%s\n", arm->title[0] ? "; " : "", arm->title);
}

static void print_result(const struct experiment_text *text, const hone_device_info *device,
                         const struct experiment_result *result)
{
    printf("%s: %s\n   asked by %s: %s\n", text->name, text->title, text->where, text->question);
    printf("   here     %s, driver %s, %ux%u, by the clock of the %s\n\n",
           device->board[0] ? device->board : device->name, device->driver_version, result->width,
           result->height, result->by_host ? "host" : "device");
    printf("   %-18s %9s %5s %7s %5s %5s %7s %6s  %s\n", "", "ms", "+-", "gain", "regs", "spill", "private",
           "local", "result; what it is");
    for (size_t a = 0; a < result->count; a++)
        print_arm(&result->arms[a]);
    printf("\n   seen: %s\n\n", result->seen);
}

/* ---- As JSON ---- */

static json_t *arm_json(const struct arm_result *arm)
{
    static const char *const verdicts[] = {"unchecked", "right", "wrong"};
    json_t *object = json_pack("{s:s, s:s, s:b}", "arm", arm->name, "title", arm->title, "ran", arm->ran);
    if (arm->note[0])
        json_object_set_new(object, "note", json_text(arm->note));
    if (arm->differs)
        json_object_set_new(object, "differs", json_string(arm->differs));
    if (!arm->ran)
        return object;
    json_object_set_new(object, "ms", json_real(arm->ms));
    json_object_set_new(object, "spread", json_real(arm->spread));
    json_object_set_new(object, "gain", arm->gain > 0 ? json_real(arm->gain) : json_null());
    json_object_set_new(object, "turns", json_integer(arm->turns));
    json_object_set_new(object, "result", json_string(verdicts[arm->verdict]));
    json_object_set_new(object, "largest_difference",
                        arm->worst >= 0 ? cli_json_real(arm->worst) : json_null());
    if (arm->longest_ms > 0)
        json_object_set_new(object, "longest_launch_ms", json_real(arm->longest_ms));
    if (arm->has_facts)
        json_object_set_new(object, "facts", bench_facts_json(&arm->facts));
    return object;
}

static json_t *result_json(const struct bench_run *run, int device, const struct experiment_text *text,
                           const struct experiment_result *result)
{
    json_t *object = text_json(text), *arms = json_array();
    for (size_t a = 0; a < result->count; a++)
        json_array_append_new(arms, arm_json(&result->arms[a]));
    json_object_set_new(object, "device", bench_device_json(run, device, result->by_host));
    json_object_set_new(object, "width", json_integer(result->width));
    json_object_set_new(object, "height", json_integer(result->height));
    json_object_set_new(object, "arms", arms);
    json_object_set_new(object, "seen", json_string(result->seen));
    return object;
}

/* ---- Running ---- */

static bool is_wrong(const struct experiment_result *result)
{
    for (size_t a = 0; a < result->count; a++)
        if (result->arms[a].verdict == ROW_WRONG)
            return true;
    return false;
}

static int run_one(struct bench_run *run, const struct experiment *experiment, const hone_image_desc *size)
{
    const struct experiment_text text = experiment_describe(experiment);
    struct experiment_result *result = malloc(sizeof *result);
    hone_error error = {0};
    int worst = EXIT_DONE;
    if (!result)
        return error_memory(&error, "the results"), cli_fail(&run->common, &error);
    for (int d = 0; d < run->device_count && worst <= EXIT_CHECK; d++) {
        cli_note(&run->common, "experiment %s on %s", text.name, hone_device_get_info(run->devices[d])->name);
        if (experiment_run(experiment, run->devices[d], size->width, size->height, result, &error)) {
            worst = cli_fail(&run->common, &error);
            break;
        }
        if (is_wrong(result))
            worst = EXIT_CHECK;
        if (run->common.json)
            json_array_append_new(run->report, result_json(run, d, &text, result));
        else
            print_result(&text, hone_device_get_info(run->devices[d]), result);
        fflush(stdout);
    }
    free(result);
    return worst;
}

static hone_status check_names(char *const *names, int count, hone_error *error)
{
    struct text list = {0};
    hone_status status = HONE_OK;
    for (size_t i = 0; i < experiments_count(); i++)
        text_add(&list, " %s", experiment_describe(experiments_at(i)).name);
    for (int i = 0; i < count && !status; i++)
        if (!experiments_find(names[i]))
            status =
                error_usage(error, "there is no experiment '%s'; there are:%s", names[i], text_view(&list));
    text_finish(&list);
    return status;
}

int bench_experiments(struct bench_run *run, char *const *names, int count)
{
    hone_error error = {0};
    hone_image_desc size = {.width = 0, .channels = 1}; /* 0: each its own */
    int worst = EXIT_DONE;
    hone_status status = check_names(names, count, &error);
    if (!status && run->sizes)
        status = cli_parse_size("--sizes", run->sizes, &size, &error);
    THEN(status, bench_open_devices(run, &error));
    if (status)
        return cli_fail(&run->common, &error);
    const int all = count ? count : (int)experiments_count();
    for (int i = 0; i < all && worst <= EXIT_CHECK; i++) {
        const int one = run_one(run, count ? experiments_find(names[i]) : experiments_at((size_t)i), &size);
        worst = one > worst ? one : worst;
    }
    return worst;
}
