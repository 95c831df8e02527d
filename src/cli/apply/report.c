/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply/video.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/device.h"
#include "cli/profile/traffic.h"
#include "cli/show.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool shows_progress(const struct apply_options *options, size_t count)
{
    return count > 1 && !options->common.quiet && !options->common.verbose && cli_on_terminal();
}

static void clear_progress(const struct apply_options *options, size_t count)
{
    if (shows_progress(options, count))
        fputs("\033[K", stderr);
}

/* Columns of the terminal behind a descriptor. */
size_t apply_columns(int fd)
{
    struct winsize size;
    const size_t usual = 80;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/* Cuts a line of UTF-8 so that the cursor stays on it. */
void apply_fit_line(char *line, size_t columns)
{
    size_t column = 0;
    for (char *at = line; *at; at++)
        if (((unsigned char)*at & 0xc0) != 0x80 && ++column >= columns) {
            *at = '\0';
            return;
        }
}

void apply_show_time(double seconds, char *to, size_t size)
{
    const double minute = 60, hour = 3600;
    if (seconds < 2 * minute)
        snprintf(to, size, "%.0f s", seconds);
    else if (seconds < 2 * hour)
        snprintf(to, size, "%.0f min", seconds / minute);
    else
        snprintf(to, size, "%.1f h", seconds / hour);
}

/* Short, and with the cursor at its start, so that whatever is printed next covers it. */
void apply_progress(const struct apply_options *options, const struct apply_tally *tally)
{
    char line[128], left[32];
    const size_t ended = tally->written + tally->failed, done = ended + tally->skipped;
    if (!shows_progress(options, tally->count))
        return;
    const double elapsed = (double)(clock_ns() - tally->start) * 1e-9;
    apply_show_time(ended ? elapsed / (double)ended * (double)(tally->count - done) : 0, left, sizeof left);
    snprintf(line, sizeof line, "%zu of %zu%s%s%s", tally->begun, tally->count, ended > 1 ? ", " : "",
             ended > 1 ? left : "", ended > 1 ? " left" : "");
    apply_fit_line(line, apply_columns(STDERR_FILENO));
    fprintf(stderr, "%s\033[K\r", line);
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
    const double images =
        result->is_video ? (double)result->video.frames : (double)result->pages * result->parts;
    const double pixels =
        result->pixels ? (double)result->pixels : (double)result->in.width * result->in.height * images;
    return seconds > 0 ? pixels * 1e-6 / seconds : 0;
}

/* Every kind of copy under its names for text and JSON. */
struct copies_of {
    const char *text, *json;
    hone_copies copies;
};

enum { COPY_KINDS = 6 };

/* False when there were none at all. */
static bool list_copies(const struct apply_result *result, struct copies_of list[COPY_KINDS])
{
    const hone_copy_counts *counts = &result->copies;
    const struct copies_of all[COPY_KINDS] = {
        {"to the device", "uploads", counts->uploads},
        {"between buffers", "moves", counts->moves},
        {"between buffer and 2D image", "conversions", counts->conversions},
        {"to the host", "downloads", counts->downloads},
        {"mapped by the driver", "maps", counts->maps},
        {"by the processor, into and out of staging memory", "staging", result->staged}};
    bool any = false;
    for (int i = 0; i < COPY_KINDS; i++) {
        list[i] = all[i];
        any = any || all[i].copies.count > 0;
    }
    return any;
}

bool apply_tells_commands(const struct apply_options *options)
{
    return options->common.verbose || options->common.json || options->trace;
}

struct copy_situation apply_situation(const struct apply_result *result, const hone_device *device,
                                      const hone_image_desc *in, const hone_image_desc *out)
{
    return (struct copy_situation){.device = (hone_device *)device,
                                   .steps = result->steps,
                                   .step_count = result->step_count,
                                   .in = *in,
                                   .out = *out};
}

void apply_add_traffic(struct apply_result *result, const hone_device *device, const hone_image_desc *in,
                       const hone_image_desc *out, const struct pool_job *job)
{
    hone_image_desc from = *in, to = *out;
    from.pitch = job->in_pitch ? job->in_pitch : hone_image_row_bytes(in);
    to.pitch = job->out_pitch ? job->out_pitch : hone_image_row_bytes(out);
    const struct copy_situation situation = apply_situation(result, device, &from, &to);
    traffic_add(&result->traffic, &situation, job->commands, job->command_count);
    copy_counts_add(&result->copies, &job->copies);
    result->staged.count += job->staged.count;
    result->staged.bytes += job->staged.bytes;
}

void apply_tell_copies(const struct apply_result *result, struct text *text)
{
    struct copies_of list[COPY_KINDS];
    const char *before = "copied ";
    if (!list_copies(result, list))
        text_add(text, "nothing was copied");
    for (int i = 0; i < COPY_KINDS; i++) {
        const hone_copies *c = &list[i].copies;
        if (c->count == 0)
            continue;
        text_add(text, "%s%s %s", before, show_count(c->bytes, "byte").text, list[i].text);
        if (c->count > 1)
            text_add(text, " in %llu pieces", (unsigned long long)c->count);
        before = ", ";
    }
}

/* ---- JSON ---- */

static json_t *copies_json(const struct apply_result *result)
{
    struct copies_of list[COPY_KINDS];
    json_t *value = json_object();
    list_copies(result, list);
    for (int i = 0; i < COPY_KINDS; i++)
        json_object_set_new(value, list[i].json,
                            json_pack("{s:I, s:I}", "count", (json_int_t)list[i].copies.count, "bytes",
                                      (json_int_t)list[i].copies.bytes));
    return value;
}

static json_t *steps_json(const struct apply_result *result)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < result->step_count; i++) {
        const hone_step_info *step = &result->steps[i];
        json_array_append_new(steps,
                              json_pack("{s:s, s:s, s:s, s:s, s:i, s:s?}", "filter", step->filter, "variant",
                                        step->variant, "config", step->config, "origin", step->origin,
                                        "passes", (int)step->passes, "fused_with", step->fused_with));
    }
    return steps;
}

json_t *apply_devices_json(const struct engine *engine, const struct apply_result *result, const char *what)
{
    json_t *list = json_array();
    for (size_t i = 0; i < engine->shared->count; i++)
        json_array_append_new(list, json_pack("{s:i, s:I}", "device_index",
                                              (int)hone_device_get_info(engine->shared->devices[i])->index,
                                              what, (json_int_t)result->by_device[i]));
    return list;
}

/* Whether several devices could do tiles of it. */
static bool is_shared(const struct engine *engine, const struct apply_result *result)
{
    uint64_t done = 0;
    for (size_t i = 0; i < engine->shared->count; i++)
        done += result->by_device[i];
    return result->bands && engine->shared->count > 1 && done > 0;
}

static json_t *failure_json(const struct apply_result *result)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:s, s:o}", "status", "failed", "exit_status", result->exit_status,
                     "input", json_text(result->item->input), "output", json_text(result->item->output),
                     "error", hone_status_name(result->error.status), "message",
                     json_text(result->error.message));
}

static json_t *success_json(const struct engine *engine, const struct apply_result *result)
{
    const hone_device_info *info = hone_device_get_info(result->device);
    const hone_device_counts counts = hone_device_get_counts(result->device);
    const bool clock = result->device_seconds > 0;
    struct copies_of copies[COPY_KINDS];
    json_t *value =
        json_pack("{s:s, s:i, s:o, s:o, s:i, s:i, s:s, s:i}", "status", "done", "exit_status", EXIT_DONE,
                  "input", json_text(result->item->input), "output", json_text(result->item->output), "width",
                  (int)result->out.width, "height", (int)result->out.height, "type",
                  hone_type_name(result->out.type), "channels", (int)(result->out.channels * result->parts));
    json_t *how = json_pack(
        "{s:o, s:o, s:i, s:o, s:o, s:b, s:i, s:o, s:o, s:o, s:b, s:o, s:I, s:I}", "chain",
        json_text(engine->chain_text), "device", json_text(cli_device_name(result->device)), "device_index",
        (int)info->index, "driver", json_text(info->driver_version), "steps", steps_json(result),
        "alpha_weighed", (int)result->alpha_weighed, "pages", (int)result->pages, "kernel_ms",
        clock ? json_real(result->device_seconds * 1e3) : json_null(), "wall_ms",
        json_real(result->wall_seconds * 1e3), "megapixels_per_second",
        cli_json_real(megapixels_per_second(result)), "zero_copy", (int)!list_copies(result, copies),
        "copies", copies_json(result), "programs_compiled", (json_int_t)counts.built_from_source,
        "programs_loaded", (json_int_t)counts.loaded_from_disk);
    if (!value || !how || json_object_update(value, how) != 0) {
        json_decref(value);
        value = NULL;
    }
    json_decref(how);
    if (value && result->traffic.sum.launches)
        json_object_set_new(value, "traffic", traffic_json(&result->traffic));
    if (value && engine->shared->energy.asked)
        json_object_set_new(value, "energy", apply_energy_json(&engine->shared->energy));
    if (value && result->bands)
        json_object_set_new(value, "bands", json_integer(result->bands));
    if (value && is_shared(engine, result))
        json_object_set_new(value, "devices", apply_devices_json(engine, result, "tiles"));
    if (value && result->is_video)
        json_object_set_new(value, "video", video_json(engine, result));
    return value;
}

/* ---- Text ---- */

void apply_name_steps(const struct apply_result *result, struct text *text)
{
    for (size_t i = 0; i < result->step_count; i++) {
        const hone_step_info *step = &result->steps[i];
        text_add(text, "%s%s(%s)", i ? " | " : "", step->filter, step->fused_with ? "fused" : step->variant);
    }
}

/* Among several lines the device is left out, and each fits the terminal. */
static void print_line(const struct apply_result *result, size_t count)
{
    struct text line = {0};
    text_add(&line, "%s: %ux%u %s, ", result->item->output, result->out.width, result->out.height,
             hone_type_name(result->out.type));
    apply_name_steps(result, &line);
    if (count == 1)
        text_add(&line, " on %s", cli_device_name(result->device));
    text_add(&line, ", %.3g ms%s, %.0f MP/s", seconds_of(result) * 1e3,
             result->device_seconds > 0 ? "" : " (wall clock)", megapixels_per_second(result));
    if (line.data)
        cli_make_one_line(line.data);
    if (line.data && count > 1)
        apply_fit_line(line.data, apply_columns(STDOUT_FILENO) + 1);
    puts(text_view(&line));
    text_finish(&line);
}

static void explain_step(const struct common_options *common, const hone_step_info *step)
{
    if (step->fused_with)
        cli_note(common, "  %s: in the kernel of %s", step->filter, step->fused_with);
    else
        cli_note(common, "  %s: variant %s%s%s, %s, %u %s, %.1f MB scratch", step->filter, step->variant,
                 step->config[0] ? ", " : "", step->config, step->origin, step->passes,
                 step->passes == 1 ? "pass" : "passes", (double)step->scratch_bytes * 1e-6);
}

void apply_note_devices(const struct engine *engine, const struct apply_result *result, const char *what)
{
    for (size_t i = 0; i < engine->shared->count && engine->shared->count > 1; i++)
        cli_note(&engine->options->common, "  %llu %s by device %u (%s)",
                 (unsigned long long)result->by_device[i], what,
                 hone_device_get_info(engine->shared->devices[i])->index,
                 cli_device_name(engine->shared->devices[i]));
}

void apply_note_traffic(const struct common_options *common, const struct apply_result *result)
{
    if (result->traffic.sum.launches)
        traffic_note(common, &result->traffic);
}

static void explain(const struct engine *engine, const struct apply_result *result)
{
    const struct common_options *common = &engine->options->common;
    const hone_device_counts counts = hone_device_get_counts(result->device);
    struct text copies = {0};
    apply_tell_copies(result, &copies);
    char pages[80] = "";
    if (result->pages > 1)
        snprintf(pages, sizeof pages, ", %u pages%s", result->pages, result->pixels ? " that differ" : "");
    else if (result->bands)
        snprintf(pages, sizeof pages, ", in %s", show_count(result->bands, "band").text);
    cli_note(common, "'%s': %s, %ux%u %s, %s%s%s", result->item->input, result->format, result->in.width,
             result->in.height, hone_type_name(result->in.type),
             show_count((size_t)result->in.channels * result->parts, "channel").text,
             result->gray_alpha ? " (gray and alpha)" : "", pages);
    if (is_shared(engine, result))
        apply_note_devices(engine, result, "tiles");
    else if (engine->shared->count > 1)
        cli_note(common, "  on device %u (%s)", hone_device_get_info(result->device)->index,
                 cli_device_name(result->device));
    for (size_t i = 0; i < result->step_count; i++)
        explain_step(common, &result->steps[i]);
    if (result->alpha_weighed)
        cli_note(common, "  colours are weighed by alpha (--alpha copy: they are not, and alpha stays)");
    cli_note(common, "  %.3g ms%s, %.0f MP/s; %s; programs so far: %llu compiled, %llu loaded from disk",
             seconds_of(result) * 1e3,
             result->device_seconds > 0 ? " on the device"
             : result->bands            ? " with reading and writing"
                                        : " (the device has no clock)",
             megapixels_per_second(result), text_view(&copies), (unsigned long long)counts.built_from_source,
             (unsigned long long)counts.loaded_from_disk);
    apply_note_traffic(common, result);
    text_finish(&copies);
}

/* `path` may be "-", which messages call by its name or in quotes. */
static bool says(const char *message, const char *path, const char *standard)
{
    const bool is_standard = strcmp(path, "-") == 0;
    return strstr(message, is_standard ? standard : path) != NULL ||
           (is_standard && strstr(message, "'-'") != NULL);
}

static void report_failure(const struct engine *engine, struct apply_result *result)
{
    hone_error named = result->error;
    /* Messages about files name them; those of the library are about the chain or the device. */
    if (!says(named.message, result->item->input, "standard input") &&
        !says(named.message, result->item->output, "standard output") && named.status != HONE_ERROR_NO_DEVICE)
        error_prefix(&named, "'%s'",
                     strcmp(result->item->input, "-") == 0 ? "standard input" : result->item->input);
    cli_complain(&engine->options->common, &named);
    result->error = named;
}

static json_t *skipped_json(const char *input, const char *output, const char *reason)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "status", "skipped", "input", json_text(input), "output",
                     output ? json_text(output) : json_null(), "reason", json_text(reason));
}

static const char *why_skipped(const struct engine *engine)
{
    return engine->options->update ? "the output is up to date" : "the output is there already";
}

static void report_json(const struct engine *engine, struct apply_result *result)
{
    const struct item *item = result->item;
    json_t *line = result->exit_status ? failure_json(result)
                   : result->skipped   ? skipped_json(item->input, item->output, why_skipped(engine))
                                       : success_json(engine, result);
    if (!cli_print_json_line(line))
        result->exit_status = EXIT_DEVICE;
}

static void print_result(const struct apply_result *result, size_t count)
{
    if (result->is_video)
        video_print_line(result);
    else
        print_line(result, count);
}

void apply_report(const struct engine *engine, struct apply_result *result, size_t count)
{
    const struct apply_options *options = engine->options;
    clear_progress(options, result->is_video ? 2 : count);
    if (result->exit_status != EXIT_DONE && !result->told)
        report_failure(engine, result);
    else if (result->skipped)
        cli_note(&options->common, "'%s': %s", result->item->output, why_skipped(engine));
    else if (result->exit_status == EXIT_DONE)
        (result->is_video ? video_explain : explain)(engine, result);
    if (options->common.json)
        report_json(engine, result);
    else if (result->exit_status == EXIT_DONE && !result->skipped && !options->common.quiet &&
             !apply_to_stdout(options) && isatty(STDOUT_FILENO))
        print_result(result, count);
    fflush(stdout);
}

/* ---- Before and after ---- */

static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot != name ? dot : "";
}

/* A file of a folder that is left out. */
struct other {
    const char *path, *why, *suffix; /* suffix: behind why, or "" */
};

static struct other describe_other(const char *path)
{
    const char *suffix = suffix_of(path);
    struct stat info;
    if (stat(path, &info) != 0)
        return (struct other){path, "the symbolic link leads nowhere", ""};
    if (S_ISDIR(info.st_mode))
        return (struct other){path, "-r follows no symbolic links to folders (name it as an input)", ""};
    if (!S_ISREG(info.st_mode))
        return (struct other){path, "it is a pipe or a device, not a file", ""};
    if (video_is_built() && video_is_raw_name(path))
        return (struct other){path, "--raw, for one file, says what such frames are: ", suffix};
    if (video_is_built() && video_is_name(path) && !video_muxer(path))
        return (struct other){path, "no such videos are written; -o FILE.mkv takes one: ", suffix};
    if (video_is_built() && video_is_name(path))
        return (struct other){path, "--format is for pictures, and this is a video: ", suffix};
    return (struct other){path, *suffix ? "hone reads no files of the kind " : "the name has no suffix",
                          suffix};
}

static int by_kind(const void *a, const void *b)
{
    const struct other *first = a, *second = b;
    const int why = strcmp(first->why, second->why), suffix = strcasecmp(first->suffix, second->suffix);
    return why ? why : suffix ? suffix : strcmp(first->path, second->path);
}

static bool same_kind(const struct other *a, const struct other *b)
{
    return strcmp(a->why, b->why) == 0 && strcasecmp(a->suffix, b->suffix) == 0;
}

/* A line for all files of a kind. */
static void tell_kinds(const struct apply_options *options, const struct other *list, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        char more[48] = "";
        for (end = i + 1; end < count && same_kind(&list[i], &list[end]);)
            end++;
        if (end - i > 1)
            snprintf(more, sizeof more, " and %zu more", end - i - 1);
        cli_warn(&options->common, "skipped '%s'%s: %s%s", list[i].path, more, list[i].why, list[i].suffix);
    }
}

static void tell_others(const struct apply_options *options, const struct items *items)
{
    struct other *list = mem_new(items->other_count, sizeof *list);
    if (!list)
        return; /* the work goes on */
    for (size_t i = 0; i < items->other_count; i++) {
        struct text reason = {0};
        list[i] = describe_other(items->others[i]);
        text_add(&reason, "%s%s", list[i].why, list[i].suffix);
        if (options->common.json && items->count > 0) /* else the report is that there is no image */
            cli_print_json_line(skipped_json(list[i].path, NULL, text_view(&reason)));
        text_finish(&reason);
    }
    qsort(list, items->other_count, sizeof *list, by_kind);
    tell_kinds(options, list, items->other_count);
    free(list);
}

void apply_report_items(const struct apply_options *options, const struct items *items)
{
    hone_error error = {0};
    for (size_t i = 0; i < items->count; i++)
        if (items->list[i].tell) {
            error_usage(&error, "%s", items->list[i].problem);
            cli_complain(&options->common, &error);
        }
    if (items->other_count)
        tell_others(options, items);
}

void apply_summary(const struct apply_options *options, const struct items *items,
                   const struct apply_tally *tally)
{
    char failed[48] = "", skipped[48] = "", left[48] = "", seconds[32];
    const size_t left_out = tally->skipped + items->other_count,
                 done = tally->written + tally->failed + tally->skipped;
    if (items->count + items->other_count < 2 || options->common.quiet)
        return;
    clear_progress(options, items->count);
    if (tally->failed)
        snprintf(failed, sizeof failed, ", %zu failed", tally->failed);
    if (left_out)
        snprintf(skipped, sizeof skipped, ", %zu skipped", left_out);
    if (done < tally->count && !items->from_stream)
        snprintf(left, sizeof left, ", %zu not begun", tally->count - done);
    snprintf(seconds, sizeof seconds, "%.1f", (double)(clock_ns() - tally->start) * 1e-9);
    fprintf(stderr, "hone: %zu written%s%s%s in %s s\n", tally->written, failed, skipped, left, seconds);
}
