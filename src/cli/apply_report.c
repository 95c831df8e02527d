/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply.h"

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool shows_progress(const struct apply_options *options, size_t count)
{
    return count > 1 && !options->common.quiet && !options->common.verbose && isatty(STDERR_FILENO);
}

static void clear_progress(const struct apply_options *options, size_t count)
{
    if (shows_progress(options, count))
        fputs("\033[K", stderr);
}

/* Short, and with the cursor at its start, so that whatever is printed next covers it. */
void apply_progress(const struct apply_options *options, size_t index, size_t count)
{
    if (!shows_progress(options, count))
        return;
    fprintf(stderr, "%zu of %zu\r", index + 1, count);
    fflush(stderr);
}

/* Time on the device, or around it where it has no clock. */
static double seconds_of(const struct apply_result *result)
{
    return result->device_seconds > 0 ? result->device_seconds : result->wall_seconds;
}

static double megapixels_per_second(const struct apply_result *result)
{
    const double seconds = seconds_of(result);
    return seconds > 0 ? (double)result->in.width * result->in.height * 1e-6 / seconds : 0;
}

static const char *device_name(const struct engine *engine)
{
    const hone_device_info *info = hone_device_get_info(engine->device);
    return info->board[0] ? info->board : info->name;
}

/* ---- JSON ---- */

static json_t *steps_json(const hone_plan *plan)
{
    json_t *steps = json_array();
    hone_step_info step;
    for (size_t i = 0; hone_plan_step(plan, i, &step); i++)
        json_array_append_new(steps,
                              json_pack("{s:s, s:s, s:s, s:s, s:i, s:s?}", "filter", step.filter, "variant",
                                        step.variant, "config", step.config, "origin", step.origin, "passes",
                                        (int)step.passes, "fused_with", step.fused_with));
    return steps;
}

static json_t *failure_json(const struct apply_result *result)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:s, s:o}", "status", "failed", "exit_status", result->exit_status,
                     "input", cli_json_text(result->item->input), "output",
                     cli_json_text(result->item->output), "error", hone_status_name(result->error.status),
                     "message", cli_json_text(result->error.message));
}

static json_t *success_json(const struct engine *engine, const struct apply_result *result)
{
    const hone_device_info *info = hone_device_get_info(engine->device);
    const hone_device_counts counts = hone_device_get_counts(engine->device);
    const bool clock = result->device_seconds > 0;
    json_t *value =
        json_pack("{s:s, s:i, s:o, s:o, s:i, s:i, s:s, s:i}", "status", "done", "exit_status", EXIT_DONE,
                  "input", cli_json_text(result->item->input), "output", cli_json_text(result->item->output),
                  "width", (int)result->out.width, "height", (int)result->out.height, "type",
                  hone_type_name(result->out.type), "channels", (int)result->out.channels);
    json_t *how = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:I}", "chain",
                            cli_json_text(engine->chain_text), "device", cli_json_text(device_name(engine)),
                            "driver", cli_json_text(info->driver_version), "steps", steps_json(engine->plan),
                            "kernel_ms", clock ? json_real(result->device_seconds * 1e3) : json_null(),
                            "wall_ms", json_real(result->wall_seconds * 1e3), "megapixels_per_second",
                            cli_json_real(megapixels_per_second(result)), "zero_copy", (int)result->zero_copy,
                            "programs_compiled", (json_int_t)counts.built_from_source, "programs_loaded",
                            (json_int_t)counts.loaded_from_disk);
    if (!value || !how || json_object_update(value, how) != 0) {
        json_decref(value);
        value = NULL;
    }
    json_decref(how);
    return value;
}

/* ---- Text ---- */

static void name_steps(const struct engine *engine, struct text *text)
{
    hone_step_info step;
    for (size_t i = 0; hone_plan_step(engine->plan, i, &step); i++)
        text_add(text, "%s%s(%s)", i ? " | " : "", step.filter, step.fused_with ? "fused" : step.variant);
}

static void print_line(const struct engine *engine, const struct apply_result *result)
{
    struct text line = {0};
    text_add(&line, "%s: %ux%u %s, ", result->item->output, result->out.width, result->out.height,
             hone_type_name(result->out.type));
    name_steps(engine, &line);
    text_add(&line, " on %s, %.3g ms%s, %.0f MP/s", device_name(engine), seconds_of(result) * 1e3,
             result->device_seconds > 0 ? "" : " (wall clock)", megapixels_per_second(result));
    if (line.data)
        cli_make_one_line(line.data);
    puts(text_view(&line));
    text_finish(&line);
}

static void explain(const struct engine *engine, const struct apply_result *result)
{
    const struct common_options *common = &engine->options->common;
    const hone_device_counts counts = hone_device_get_counts(engine->device);
    hone_step_info step;
    cli_note(common, "'%s': %s, %ux%u %s, %u channels%s", result->item->input, result->format,
             result->in.width, result->in.height, hone_type_name(result->in.type), result->in.channels,
             result->gray_alpha ? " (gray and alpha)" : "");
    for (size_t i = 0; hone_plan_step(engine->plan, i, &step); i++)
        if (step.fused_with)
            cli_note(common, "  %s: in the kernel of %s", step.filter, step.fused_with);
        else
            cli_note(common, "  %s: variant %s%s%s, %s, %u %s, %.1f MB scratch", step.filter, step.variant,
                     step.config[0] ? ", " : "", step.config, step.origin, step.passes,
                     step.passes == 1 ? "pass" : "passes", (double)step.scratch_bytes * 1e-6);
    cli_note(common, "  %.3g ms%s, %.0f MP/s; %s; programs so far: %llu compiled, %llu loaded from disk",
             seconds_of(result) * 1e3,
             result->device_seconds > 0 ? " on the device" : " (the device has no clock)",
             megapixels_per_second(result),
             result->zero_copy ? "nothing was copied" : "copied to the device and back",
             (unsigned long long)counts.built_from_source, (unsigned long long)counts.loaded_from_disk);
}

static void report_failure(const struct engine *engine, struct apply_result *result)
{
    hone_error named = result->error;
    /* Messages about files name them; those of the library are about the chain or the device. */
    if (!strstr(named.message, result->item->input) && !strstr(named.message, result->item->output) &&
        named.status != HONE_ERROR_NO_DEVICE)
        error_prefix(&named, "'%s'", result->item->input);
    cli_fail(&engine->options->common, &named);
    result->error = named;
}

void apply_report(const struct engine *engine, struct apply_result *result, size_t count)
{
    const struct apply_options *options = engine->options;
    clear_progress(options, count);
    if (result->exit_status != EXIT_DONE)
        report_failure(engine, result);
    else
        explain(engine, result);
    if (options->common.json) {
        if (!cli_print_json_line(result->exit_status ? failure_json(result) : success_json(engine, result)))
            result->exit_status = EXIT_DEVICE;
    } else if (result->exit_status == EXIT_DONE && !options->common.quiet && !apply_to_stdout(options) &&
               isatty(STDOUT_FILENO)) {
        print_line(engine, result);
    }
    fflush(stdout);
}
