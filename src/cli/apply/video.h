/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply for videos: decoding, filtering and encoding at the same time. */
#pragma once

#include "cli/apply/apply.h"
#include "media/video/video.h"

/* Whether an input and its output are a video's: one of their names says so. */
bool apply_is_video(const struct item *item);
bool apply_has_video(const struct items *items);
bool apply_has_videos_only(const struct items *items);
/* --frames, --planes and the other options of videos. HONE_ERROR_USAGE. */
hone_status apply_check_video(struct apply_options *options, hone_error *error);
/* Whether options were given that only videos heed. */
const char *apply_video_option(const struct apply_options *options);
/* The same for options that only pictures heed. */
const char *apply_picture_option(const struct apply_options *options);

/* One video to one output; `result` says what came of it. */
void apply_video(struct engine *engine, const struct item *item, const char *root,
                 struct apply_result *result);

/* How far a video is: a line on a terminal. */
void video_progress(const struct apply_options *options, const struct video_outcome *outcome, uint64_t of,
                    double seconds);
/* What a report says of a video, beside what it says of pictures. */
void video_print_line(const struct apply_result *result);
void video_explain(const struct engine *engine, const struct apply_result *result);
struct json_t *video_json(const struct engine *engine, const struct apply_result *result);

/* ---- Planes of a video ---- */

/* What the chain makes of planes, which has to be like them. With --memory, rings have half of it. */
hone_status planes_open(struct engine *engine, const hone_image_desc *planes, unsigned count,
                        struct pool_shape *shapes[VIDEO_PLANES], hone_error *error);
void planes_close(struct engine *engine, struct pool_shape *shapes[VIDEO_PLANES]);

/* The planes of a frame on their way through devices. */
struct frame_jobs {
    struct pool_job job[VIDEO_PLANES];
    unsigned count;
};

/* Gives a frame to the pool. planes_free is due after planes_wait. */
hone_status planes_submit(struct frame_jobs **out, struct engine *engine,
                          struct pool_shape *const shapes[VIDEO_PLANES], const struct video_unit *unit,
                          hone_error *error);
/* Waits for the result, which is where the frame has its place for it. *unit becomes another one where a
 * device that was given up may use its memory for ever; NULL, with an error, where there is no memory for
 * that. */
hone_status planes_wait(struct engine *engine, struct frame_jobs *jobs, struct video_unit **unit,
                        hone_error *error);
void planes_free(struct frame_jobs **jobs);

/* ---- Units on their way from the decoder to the encoder, in order ---- */

enum { QUEUE_UNITS = 256 };

struct queued {
    struct video_unit *unit;
    struct frame_jobs *jobs; /* NULL: a packet */
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

/* Waits until there is room for a unit. False when the queue was stopped. */
bool queue_has_room(struct unit_queue *queue, const struct video_unit *unit);
/* Once there is room; one thread. */
void queue_put(struct unit_queue *queue, const struct queued *queued);
/* Waits for the next unit, which the caller takes over. False when there will be none, or the queue was
 * stopped. */
bool queue_take(struct unit_queue *queue, struct queued *queued);
/* There is room for one frame more: to be called when a frame that was taken is done with. */
void queue_leave(struct unit_queue *queue);
/* Nothing more comes. */
void queue_end(struct unit_queue *queue);
/* Nobody waits any more. */
void queue_stop(struct unit_queue *queue);
/* One after the other, also when the queue was stopped. False when it is empty. */
bool queue_drain(struct unit_queue *queue, struct queued *queued);
