/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Streams on one device or several, for frames of any size. A device takes a frame when it expects to be done
 * with it before the others could be: a slow one beside fast ones works only while enough frames wait.
 *
 * A device keeps the streams of the shapes that it was used for last. A device that fails while there are
 * others leaves; so does one that is given up because it does not answer. What they had not finished is done
 * by another.
 *
 * Threads: all functions safe. What is asked of a device is asked by a thread of the pool's that belongs to
 * it, and its streams' threads: nobody who submits a frame waits for more than its result.
 */
#pragma once

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/event.h"
#include "hone/image.h"
#include "hone/plan.h"
#include "hone/stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_DEVICES = 64, POOL_ALIGN = 4096 };

struct pool;

/* A second image of a chain: tight pixels at a multiple of POOL_ALIGN, which outlive the pool. NULL: each
 * frame has its own. */
struct pool_second {
    size_t step;
    hone_image_desc desc;
    void *pixels;
};

/* What frames have in common: a chain, a format, second images. */
struct pool_shape;

/* Frames that lie anywhere, with any pitch that suits their format: each device has memory of its own for
 * them. */
struct pool_ring {
    uint64_t memory; /* bytes for each device; 0: any */
    unsigned slots;  /* of each device's stream; 0: as many as streams have */
    bool lent;       /* frames lie as pool_job says all the same, with any pitch; `memory` does not count */
    bool steady;     /* the next run is to be like this one: no other configurations are tried on them, and
                      * pool_shape asks the first device of the list that takes them, not any */
};

/* What the pool may be waiting for on one device: its own thread, which builds, enqueues and clears away, and
 * the oldest frame. */
enum pool_wait { POOL_PREPARES, POOL_RUNS, POOL_WAITS };

struct pool_options {
    const hone_plan_options *plan; /* for all shapes, without second images; strings outlive the pool */
    unsigned frames;               /* in flight on each device; 0: 3 */
    bool commands;                 /* jobs come back with what the device was given */
    /**
     * Tells that the pool waits for device `index` from now on (pixels: of the frame that it waits for), or
     * no longer (pixels 0); always with a new `number`, for pool_give_up. Under the pool's lock: it calls
     * nothing of the pool's. May be NULL.
     */
    void (*waits)(void *user, unsigned index, enum pool_wait what, double pixels, uint64_t number);
    /* A device has left, and why. As above. */
    void (*left)(void *user, unsigned index, const char *why);
    void *user;
};

/* Takes no ownership of the devices, which outlive the pool. Up to POOL_DEVICES of them. */
hone_status pool_create(struct pool **out, hone_device *const *devices, size_t count,
                        const struct pool_options *options, hone_error *error);

/* False if a device that failed could not be waited for: its driver's threads may still run what they were
 * given, and a process that ends had better not take the driver apart. */
bool pool_is_quiet(struct pool *pool);

/* When no frames are left. False if a device that was given up still does not answer: then what it may use is
 * left to it, and the device is not to be closed. *pool becomes NULL; NULL is fine. */
bool pool_destroy(struct pool **pool);

/**
 * Finds out what a chain makes of images like `in`: waits until a device has the stream for it. Tight rows.
 * ring: NULL for frames as pool_job describes them.
 * Errors: as hone_stream_create; the others where several devices fail. *out is released with pool_release.
 */
hone_status pool_shape(struct pool_shape **out, struct pool *pool, const hone_chain *chain,
                       const hone_image_desc *in, const struct pool_second *seconds, size_t second_count,
                       const struct pool_ring *ring, hone_error *error);
const hone_image_desc *pool_output(const struct pool_shape *shape);
/* As hone_plan_step, of that device; others may choose otherwise, see pool_job.steps. */
bool pool_step(const struct pool_shape *shape, size_t step, hone_step_info *info);
/* Frames of a ring lie elsewhere afterwards: what devices keep of their addresses is not used again. */
void pool_release(struct pool *pool, struct pool_shape **shape);
/* The same, and waits until no device holds memory for it, but for one that does not answer. No frame of it
 * may be under way. */
void pool_drop(struct pool *pool, struct pool_shape **shape);

/* The device at a place of the list; NULL past the last one. *works: it has not left. */
hone_device *pool_device(struct pool *pool, size_t index, bool *works);

/* One frame. Zeroed but for the first members; the caller's again after pool_wait. */
struct pool_job {
    struct pool_shape *shape;
    const void
        *in; /* tight rows at a multiple of POOL_ALIGN, in memory of whole such pieces; but see pool_ring */
    /* The same. A device that was given up, or cannot be waited for, may write to it for ever, and the job
     * gets another, from aligned_alloc. */
    void *out;
    size_t in_pitch, out_pitch; /* bytes between rows, for shapes with a ring */
    size_t out_bytes; /* that the caller counts on there; 0: those of the result. Another one has as many */
    size_t step;      /* of the chain, whose */
    const char *parameters; /* are these, for this frame alone; NULL: as in the chain */
    /* Second images of this frame alone, as many as the shape's, whose pixels are NULL then: anywhere, with
     * any pitch, and the caller's again with the job. NULL: the shape's. */
    const struct pool_second *own_seconds;

    hone_status status;
    hone_error error;
    bool in_is_lost;       /* such a device may still read `in`: it is never to be freed or changed */
    unsigned device;       /* that did it: its place in the list */
    uint64_t begun, ended; /* clock_ns: submitted; done, unless it failed */
    double seconds, device_seconds; /* as in hone_stream_result */
    hone_copy_counts copies;
    hone_copies staged;
    hone_step_info *steps; /* to be freed, with `config`s in the same memory */
    size_t step_count;
    hone_command
        *commands; /* where the pool's options ask for them, as many as there was memory for; to be freed */
    size_t command_count;

    bool done; /* what follows is the pool's */
    pthread_cond_t finished;
    struct pool_job *next;
};

void pool_submit(struct pool *pool, struct pool_job *job);
/* Gives job->status. */
hone_status pool_wait(struct pool *pool, struct pool_job *job);

/* Adds up how long the stages of all streams have worked so far, by hone_stream_stage. */
void pool_seconds(struct pool *pool, double seconds[HONE_STAGE_COUNT]);

/**
 * A device does not answer: the wait `number` has lasted too long. It leaves, and nobody waits for it from
 * now on. False if there is no other device that could do its work; true also if that wait is over.
 */
bool pool_give_up(struct pool *pool, unsigned index, enum pool_wait what, uint64_t number, const char *why);

/* A copy of what a plan or stream says of its steps; see pool_job.steps. NULL: out of memory. `next` is
 * hone_plan_step or the like. */
hone_step_info *pool_copy_steps(size_t *count,
                                bool (*next)(const void *of, size_t step, hone_step_info *info),
                                const void *of);
