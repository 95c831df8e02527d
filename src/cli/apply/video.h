/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply for videos: decoding, filtering and encoding at the same time. */
#ifndef CLI_APPLY_VIDEO_H
#define CLI_APPLY_VIDEO_H

#include "cli/apply/apply.h"
#include "media/video/video.h"

/* Whether an input and its output are a video's: one of their names says so. */
bool apply_is_video(const struct item *item);
/* --frames, --planes and the other options of videos. HONE_ERROR_USAGE. */
hone_status apply_check_video(struct apply_options *options, hone_error *error);
/* Whether options were given that only videos heed. */
const char *apply_video_option(const struct apply_options *options);

/* One video to one output; `result` says what came of it. */
void apply_video(struct engine *engine, const struct item *item, const char *root,
                 struct apply_result *result);

/* How far a video is: a line on a terminal. */
void video_progress(const struct apply_options *options, const struct video_outcome *outcome, uint64_t of,
                    double seconds);
/* The stage that takes the most time. */
const char *video_bottleneck(const struct video_outcome *outcome);
/* What a report says of a video, beside what it says of pictures. */
void video_print_line(const struct apply_result *result);
void video_explain(const struct engine *engine, const struct apply_result *result);
struct json_t *video_json(const struct apply_result *result);

/* ---- Units on their way from the decoder to the encoder, in order ---- */

enum { QUEUE_UNITS = 256 };

struct queued {
    struct video_unit *unit;
    unsigned pending; /* streams that are not done with it */
};

struct unit_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct queued units[QUEUE_UNITS];
    unsigned first, count, frames;
    unsigned most_frames;
    bool ended, stopped;
};

#define UNIT_QUEUE_INITIALIZER                                                                               \
    {                                                                                                        \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                               \
    }

/* Waits for room. NULL, with the unit freed, when the queue was stopped; else the unit's place, which stays until it is
 * taken. */
struct queued *queue_put(struct unit_queue *queue, struct video_unit *unit, unsigned pending);
/* One stream is done with it. */
void queue_done(struct unit_queue *queue, struct queued *place);
/* Waits until there is a unit, done or not. False when there will be none. */
bool queue_wait(struct unit_queue *queue);
/* Waits until the first unit is done. NULL when the queue was stopped. */
struct video_unit *queue_take(struct unit_queue *queue);
/* Nothing more comes. */
void queue_end(struct unit_queue *queue);
/* Nobody waits any more. */
void queue_stop(struct unit_queue *queue);
/* Once all streams are done with them. */
void queue_free_units(struct unit_queue *queue);

#endif
