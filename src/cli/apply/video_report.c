/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: what is told of videos, while they are filtered and after. */
#include "cli/apply/video.h"

#include "base/clock.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cli/show.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static const char *const stages[VIDEO_STAGES] = {"decoding", "copying",  "upload",
                                                 "kernels",  "download", "encoding"};

/* The stage that takes the most time. */
static const char *video_bottleneck(const struct video_outcome *outcome)
{
    int most = 0;
    for (int i = 1; i < VIDEO_STAGES; i++)
        if (outcome->busy[i] > outcome->busy[most])
            most = i;
    return stages[most];
}

static void add_left(struct text *line, const struct video_outcome *outcome, uint64_t of, double rate)
{
    char left[32];
    if (of <= outcome->frames || !(rate > 0))
        return;
    apply_show_time((double)(of - outcome->frames) / rate, left, sizeof left);
    text_add(line, ", %s left", left);
}

/* At most some times a second; only this thread's frames come here. */
void video_progress(const struct apply_options *options, const struct video_outcome *outcome, uint64_t of,
                    double seconds)
{
    static _Thread_local uint64_t shown;
    const uint64_t now = clock_ns(), between = 200000000;
    struct text line = {0};
    if (options->common.quiet || options->common.verbose || !cli_on_terminal() || now - shown < between)
        return;
    shown = now;
    const double rate = seconds > 0 ? (double)outcome->frames / seconds : 0;
    text_add(&line, "frame %llu", (unsigned long long)outcome->frames);
    if (of)
        text_add(&line, " of %llu", (unsigned long long)of);
    text_add(&line, ", %.1f frames/s", rate);
    add_left(&line, outcome, of, rate);
    text_add(&line, ", %s is the bottleneck", video_bottleneck(outcome));
    if (line.data)
        apply_fit_line(line.data, apply_columns(STDERR_FILENO));
    fprintf(stderr, "%s\033[K\r", text_view(&line));
    fflush(stderr);
    text_finish(&line);
}

static double rate_of(const struct video_outcome *outcome)
{
    return outcome->seconds > 0 ? (double)outcome->frames / outcome->seconds : 0;
}

void video_print_line(const struct apply_result *result)
{
    const struct video_outcome *video = &result->video;
    struct text line = {0};
    text_add(&line, "%s: %s of %ux%u %s, ", result->item->output, show_count(video->frames, "frame").text,
             result->in.width, result->in.height, video->pixels);
    apply_name_steps(result, &line);
    text_add(&line, ", %s, %.1f s, %.1f frames/s", video->encoder, video->seconds, rate_of(video));
    if (video->damages)
        text_add(&line, ", %llu damaged", (unsigned long long)video->damages);
    if (line.data)
        cli_make_one_line(line.data);
    puts(text_view(&line));
    text_finish(&line);
}

void video_explain(const struct engine *engine, const struct apply_result *result)
{
    const struct video_outcome *video = &result->video;
    const struct common_options *common = &engine->options->common;
    struct text busy = {0}, copies = {0};
    apply_tell_copies(result, &copies);
    cli_note(common, "'%s': %s, %s of %ux%u %s, encoded by %s", result->item->input, video->codec,
             show_count(video->frames, "frame").text, result->in.width, result->in.height, video->pixels,
             video->encoder);
    for (int i = 0; i < VIDEO_STAGES; i++)
        if (video->busy[i] > 0)
            text_add(&busy, "%s %s %.2f s", busy.data ? "," : "", stages[i], video->busy[i]);
    apply_note_devices(engine, result, "frames");
    cli_note(common, "  %.2f s, %.1f frames/s; busy:%s; %s filtered where decoded", video->seconds,
             rate_of(video), text_view(&busy), show_count(video->zero_copy, "frame").text);
    cli_note(common, "  %s", text_view(&copies));
    apply_note_traffic(common, result);
    text_finish(&copies);
    text_finish(&busy);
}

json_t *video_json(const struct engine *engine, const struct apply_result *result)
{
    const struct video_outcome *video = &result->video;
    json_t *busy = json_object();
    for (int i = 0; i < VIDEO_STAGES; i++)
        json_object_set_new(busy, stages[i], json_real(video->busy[i]));
    return json_pack("{s:I, s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:s, s:o, s:o}", "frames",
                     (json_int_t)video->frames, "pixels", video->pixels, "codec", video->codec, "encoder",
                     video->encoder, "damaged", (json_int_t)video->damages, "zero_copy_frames",
                     (json_int_t)video->zero_copy, "seconds", video->seconds, "frames_per_second",
                     rate_of(video), "bottleneck", video_bottleneck(video), "busy_seconds", busy, "devices",
                     apply_devices_json(engine, result, "frames"));
}
