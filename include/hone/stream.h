/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Streams: a chain over many frames, with uploads, kernels and downloads of different frames running at the
 * same time.
 *
 *     hone_stream *stream = NULL;
 *     hone_stream_options options = {.callback = show, .user = &window};
 *     if (hone_stream_create(&stream, device, chain, &luma, 1, &options, &error))
 *         fail(&error);
 *     while (camera_read(&buffer)) {
 *         hone_frame frame = {.in = {buffer.luma}, .out = {buffer.luma}, .user = &buffer};
 *         if (hone_stream_push(stream, &frame, &error)) // waits while the ring is full
 *             fail(&error);
 *     }
 *     if (hone_stream_flush(stream, &error)) // all callbacks have returned
 *         fail(&error);
 *     hone_stream_destroy(&stream);
 */
#ifndef HONE_STREAM_H
#define HONE_STREAM_H

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/image.h"
#include "hone/pixels.h"
#include "hone/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A ring of slots, each of which takes one frame through the chain.
 *
 * All memory is allocated and all kernels are built by hone_stream_create. A push only enqueues work, and
 * results come in the order of the pushes.
 * Threads: any number of threads may use one stream at the same time; frames are ordered as their pushes are.
 * One thread that belongs to the stream waits for the device, copies results and runs the callback. Where the
 * device has memory of its own and the machine four processors or more, helpers share large copies out.
 */
typedef struct hone_stream hone_stream;

/** The most planes that a frame may have. */
enum { HONE_STREAM_PLANES = 4 };

/**
 * One frame in the caller's memory: the planes that are filtered, in the order of hone_stream_create.
 *
 * Preconditions: `in` and `out` stay valid until the frame is finished; until then the caller does not write
 * to `in` and neither reads nor writes `out`. Addresses and pitches are multiples of the element size. Planes
 * of `out` overlap neither each other nor a plane of `in` of this frame (HONE_ERROR_USAGE) or of another one
 * that is not finished, except that out[i] may be in[i] (in place) if the result has the size, format and
 * pitch of the input. Where a frame ends with HONE_ERROR_DEVICE, the driver may still use its planes: free
 * them once the stream and the device are closed.
 */
typedef struct hone_frame {
    size_t size; /**< sizeof(hone_frame), or 0: the members of 0.1. See status.h. */
    const void *in[HONE_STREAM_PLANES];
    size_t in_pitch[HONE_STREAM_PLANES]; /**< bytes between rows; 0: the pitch given to hone_stream_create */
    /** Where results go. NULL: they stay in memory of the stream's, see hone_stream_result. */
    void *out[HONE_STREAM_PLANES];
    size_t out_pitch[HONE_STREAM_PLANES]; /**< bytes between rows; 0: in_pitch if in place, else tight */
    void *user;                           /**< returned with the result */
} hone_frame;

/**
 * Gives memory for frames, `bytes` of it at the start of a page, that the device reads and writes without
 * a copy by the host: any frame of any stream of this device whose planes lie in it. A device that works
 * on host memory gets pages of that; for one with memory of its own, it is pinned, and uploads and
 * downloads go straight between it and the device.
 * A ring of such frames replaces that of a camera or decoder, which writes into it; a plane begins at any
 * multiple of its element size, though zero-copy needs what hone_stream_mode says. Pinned memory is
 * scarce: take what the ring needs, once.
 * The content is not defined at first. It counts in hone_device_memory where the device has its own
 * memory.
 * Ownership: hone_frame_free, or with the device when that is closed and nothing uses it any more.
 * Threads: safe, beside streams, too.
 * Errors: HONE_ERROR_MEMORY.
 */
HONE_API hone_status hone_frame_alloc(void **out, hone_device *device, size_t bytes, hone_error *error);

/** Frees what hone_frame_alloc gave for the same device, and sets *memory to NULL; *memory may be NULL.
 *  No frame in it may be unfinished. Streams may still know the address: those that work in the caller's
 *  memory (zero_copy) are destroyed before. */
HONE_API void hone_frame_free(hone_device *device, void **memory);

/** A finished frame. */
typedef struct hone_stream_result {
    uint64_t index; /**< counts the frames that were pushed, from 0 */
    void *user;     /**< of its hone_frame */
    /** HONE_OK, or why there is no result: `out` is then undefined, and later frames are not affected. */
    hone_status status;
    const hone_error *error; /**< the details of `status`, or NULL if it is HONE_OK */
    /** The pixels: `out` of the frame, or memory of the stream's. NULL on failure. */
    const void *planes[HONE_STREAM_PLANES];
    size_t pitch[HONE_STREAM_PLANES]; /**< bytes between rows */
    double seconds;                   /**< from its push until it was finished */
    double device_seconds;   /**< of its kernels, by the device's clock; 0 without `profile` or a clock */
    hone_copy_counts copies; /**< of this frame, enqueued on the device */
    /** Of this frame, by the CPU: between the caller's memory and staging memory, one per plane. */
    hone_copies staged;
} hone_stream_result;

/**
 * Receives results, in order, one call at a time.
 *
 * `result` and the stream's memory that it points to are valid until the function returns; its slot is free
 * again then. Threads: called from the stream's own thread. The function may call hone_stream_try_push,
 * hone_stream_set and hone_stream_get_stats. hone_stream_push, hone_stream_flush and the pulls return
 * HONE_ERROR_USAGE there. It must not destroy the stream.
 */
typedef void (*hone_stream_function)(void *user, const hone_stream_result *result);

/** How frames get to the device. */
typedef enum hone_stream_mode {
    /** In the caller's memory, if the device works on host memory and the address and pitch suit the kernels;
     *  else through memory of the stream's that the device can access quickly (pinned, if it has memory of
     *  its own). The host copies between the two, but for frames in memory of hone_frame_alloc. */
    HONE_STREAM_AUTO = 0,
    /** As AUTO, but a frame that would be copied is refused (HONE_ERROR_UNSUPPORTED). In place is a copy. */
    HONE_STREAM_ZERO_COPY = 1,
    HONE_STREAM_STAGED = 2 /**< always copied to buffers of the device's, even if it works on host memory */
} hone_stream_mode;

/** How to make a stream. Zero gives good defaults. */
typedef struct hone_stream_options {
    size_t size; /**< sizeof(hone_stream_options), or 0: the members of 0.1. See status.h. */
    /** Frames in flight, 2 to 64. 0: 4, or 6 where frames are copied to memory of the device's own; fewer if
     *  `memory` allows no more. */
    unsigned slots;
    /** The most memory for the ring, bytes: buffers of the device's and staging memory together, without the
     *  plans' own (hone_step_info.scratch_bytes). 0: what the device's budget has left. */
    uint64_t memory;
    hone_stream_mode mode;
    hone_stream_function callback; /**< NULL: results are pulled */
    void *user;                    /**< first argument of `callback` */
    const hone_plan_options *plan; /**< for the plan of each plane; NULL: defaults */
} hone_stream_options;

/**
 * Makes a stream: plans for each plane, memory for each slot, and a thread.
 *
 * `planes` describes the planes that are filtered, 1 to HONE_STREAM_PLANES of them; other planes of a video
 * frame (the chroma of NV12 if only luma is filtered) are the caller's own business. See hone_frame_plane.
 * `options` may be NULL. After this call, pushes build nothing and allocate no device memory. If kernels work
 * in the caller's memory, a new address gets an OpenCL object, which is kept while the address is among the
 * last 64 or in flight. Ownership: destroy *out with hone_stream_destroy. `chain` may be destroyed before the
 * stream. Errors: as hone_plan_create. HONE_ERROR_MEMORY if two slots do not fit into the memory; the message
 * says what one takes. HONE_ERROR_USAGE if the chain has filters with second inputs and there is more than
 * one plane.
 */
HONE_API hone_status hone_stream_create(hone_stream **out, hone_device *device, const hone_chain *chain,
                                        const hone_image_desc *planes, size_t plane_count,
                                        const hone_stream_options *options, hone_error *error);

/**
 * Destroys a stream and sets *stream to NULL; *stream may be NULL.
 *
 * Waits until the device no longer uses memory of the caller's. Frames in flight are no longer delivered:
 * call hone_stream_flush before if they matter. Threads: no other thread may use the stream, except a
 * callback that is running: this waits until it returns, and *stream stays what it is until then.
 */
HONE_API void hone_stream_destroy(hone_stream **stream);

/** The format of the result for a plane (with pitch 0), or NULL past the last plane. It never changes. Valid
 *  until the stream is destroyed. */
HONE_API const hone_image_desc *hone_stream_output(const hone_stream *stream, size_t plane);

/** What was chosen for filter `step` (from 0) of the chain, for a plane. Returns false past the last one.
 *  Strings are valid until hone_stream_set is called or the stream is destroyed. */
HONE_API bool hone_stream_step(const hone_stream *stream, size_t plane, size_t step, hone_step_info *info);

/**
 * Gives a frame to the stream. Waits while all slots are taken (back-pressure).
 *
 * A slot is free again when its result has been delivered: the callback has returned, or the pull after the
 * one that returned it. Without a callback, a thread that both pushes and pulls must therefore not push while
 * all slots are taken: hone_stream_try_push tells.
 * Errors: the frame was not taken, it will not be delivered, and its memory is not in use. The stream is
 * usable unless hone_stream_get_stats says that it is dead. HONE_ERROR_USAGE if all slots are taken and the
 * thread that calls is the one that pulled last: it would wait for itself.
 */
HONE_API hone_status hone_stream_push(hone_stream *stream, const hone_frame *frame, hone_error *error);

/** As hone_stream_push, but does not wait: if all slots are taken, sets *taken to false and returns
 *  HONE_OK. */
HONE_API hone_status hone_stream_try_push(hone_stream *stream, const hone_frame *frame, bool *taken,
                                          hone_error *error);

/**
 * Waits for the oldest frame and returns it. For streams without a callback.
 *
 * *got is false, and *result is zeroed, if hone_stream_end was called and all frames have been pulled. On an
 * empty stream that has not ended, the call waits for a push of another thread. *result and the stream's
 * memory that it points to are valid until the next pull or until the stream is destroyed.
 * The status is that of the call. Whether the frame succeeded is in result->status.
 * Threads: one thread at a time.
 */
HONE_API hone_status hone_stream_pull(hone_stream *stream, hone_stream_result *result, bool *got,
                                      hone_error *error);

/** As hone_stream_pull, but does not wait: if the oldest frame is not finished yet, *got is false. */
HONE_API hone_status hone_stream_try_pull(hone_stream *stream, hone_stream_result *result, bool *got,
                                          hone_error *error);

/** Waits until all frames pushed so far are finished and, with a callback, delivered. */
HONE_API hone_status hone_stream_flush(hone_stream *stream, hone_error *error);

/** Says that no frames follow: later pushes return HONE_ERROR_USAGE, and pulls end after the last frame. */
HONE_API hone_status hone_stream_end(hone_stream *stream, hone_error *error);

/**
 * Changes parameters of a step, as hone_plan_set does, for all frames pushed after the call and all planes.
 *
 * Frames in flight keep the old parameters, and the call does not wait for them. It compiles only what is new
 * to the device: see hone_stream_prepare.
 * Errors: the stream is unchanged. HONE_ERROR_USAGE if the result would have another size or format.
 */
HONE_API hone_status hone_stream_set(hone_stream *stream, size_t step, const char *parameters,
                                     hone_error *error);

/** Builds in advance what hone_stream_set needs for the same parameters. Pushes wait during the call. */
HONE_API hone_status hone_stream_prepare(hone_stream *stream, size_t step, const char *parameters,
                                         hone_error *error);

/** Sets the second image of a step (hone_plan_bind) for frames pushed after the call. The image must outlive
 *  its use. */
HONE_API hone_status hone_stream_bind(hone_stream *stream, size_t step, hone_image *second,
                                      hone_error *error);

/** Where a stream spends its time. */
typedef enum hone_stream_stage {
    HONE_STAGE_INPUT = 0,    /**< no frame was in flight: the stream waited for the caller to push */
    HONE_STAGE_COPY_IN = 1,  /**< from the caller's memory to staging memory, by the CPU, inside the push */
    HONE_STAGE_UPLOAD = 2,   /**< to the device */
    HONE_STAGE_KERNELS = 3,  /**< the chain */
    HONE_STAGE_DOWNLOAD = 4, /**< from the device */
    HONE_STAGE_COPY_OUT = 5, /**< from staging memory to the caller's, on its thread and helpers */
    /** In the callback, or finished frames that waited to be pulled while the ring was full. */
    HONE_STAGE_OUTPUT = 6,
    HONE_STAGE_COUNT = 7
} hone_stream_stage;

/** "input", "copy in", "upload", "kernels", "download", "copy out", "output"; "?" for an invalid stage.
 *  Static. */
HONE_API const char *hone_stream_stage_name(hone_stream_stage stage);

/** What a stream has done since it was created. */
typedef struct hone_stream_stats {
    uint64_t pushed, finished; /**< frames; failed ones are finished, too */
    uint64_t failed;
    unsigned slots, in_flight; /**< in_flight: pushed and not finished */
    uint64_t memory;           /**< bytes held by the ring */
    uint64_t zero_copy;        /**< finished frames of which no pixel was copied */
    hone_copy_counts copies;   /**< enqueued on the device, inside the plans included */
    /** By the CPU, between the caller's memory and staging memory; one per plane. */
    hone_copies copies_in, copies_out;
    /** Seconds in which each stage worked. Stages overlap, so the sum may exceed the time that has passed. On
     *  devices opened without `profile`, those of the device are how long the stream waits for them. */
    double seconds[HONE_STAGE_COUNT];
    hone_stream_stage bottleneck; /**< the stage with the most seconds */
    /** The stream can take no more frames: after a failure, the device could not be brought to a known
     *  state. */
    bool dead;
} hone_stream_stats;

/** Fills *stats. Threads: safe. */
HONE_API void hone_stream_get_stats(const hone_stream *stream, hone_stream_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
