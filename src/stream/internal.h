/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share about a stream. */
#pragma once

#include "base/copiers.h"
#include "cl/memory.h"
#include "hone/stream.h"
#include "plan/image.h"

#include <pthread.h>
#include <stdatomic.h>

/* STAGED_SLOTS: where frames cross a bus, two more are on their way. */
enum { MIN_SLOTS = 2, DEFAULT_SLOTS = 4, STAGED_SLOTS = 6, MAX_SLOTS = 64, LEAST_WRAPS = 64 };

/* Pixels of the caller's as an image. It is made when an address comes for the first time, and kept. */
struct wrap {
    hone_image *image; /* NULL: free */
    uint64_t used;     /* its place in the order of uses */
    atomic_uint users; /* frames in flight */
    hone_event *back;  /* out of order: the host has it again */
};

/* The memory of a slot for the input or the result of one plane. The device works on `image`; the host on
 * `host`, which is either that image, mapped while the device does not use it, or `pinned`, which stays
 * mapped. */
struct place {
    hone_image *image, *pinned;
    void *host;
};

/* What is enqueued for one plane, in this order. NULL: nothing to wait for. */
enum { SENT, OPENED, COMPUTED, FETCHED, RETURNED, EVENTS };

struct task {
    struct wrap *in, *out; /* NULL: the slot's own memory */
    bool sends, fetches;   /* between the device and the caller's memory, not by way of the slot's */
    hone_event *events[EVENTS];
};

struct slot {
    struct place in[HONE_STREAM_PLANES], out[HONE_STREAM_PLANES];
    /* the frame that is in it */
    hone_frame frame; /* all pitches filled in */
    struct task tasks[HONE_STREAM_PLANES];
    uint64_t index, pushed_ns, finished_ns;
    bool copied; /* a pixel of it was */
    hone_copy_counts copies;
    hone_copies staged;
    uint64_t device_ns;
    hone_status status;
    hone_error error;
};

struct hone_stream {
    hone_device *device;
    size_t plane_count;
    hone_image_desc inputs[HONE_STREAM_PLANES], outputs[HONE_STREAM_PLANES];
    hone_plan *plans[HONE_STREAM_PLANES]; /* planes of one kind share a plan */
    hone_stream_mode mode;
    bool shared;           /* kernels work on what the host maps */
    bool lent, trials;     /* see stream_extra */
    bool sends;            /* the same; never on shared memory */
    struct blocks *blocks; /* of the device */
    void (*command)(void *frame, const hone_command *command);
    bool chained, clocked; /* the device's queue is out of order; its time stamps can be used */
    hone_stream_function callback;
    void *user;

    pthread_mutex_t pushing; /* held while a frame is enqueued and while plans change; taken before `lock` */
    struct wrap *wraps;
    size_t wrap_count; /* enough for all that can be in flight */
    uint64_t wraps_used;
    hone_event *computed; /* out of order: the kernels of the frame before */

    struct slot *slots;
    unsigned slot_count;
    uint64_t memory;

    pthread_mutex_t lock;                /* over all that follows */
    pthread_cond_t work, news;           /* frames were pushed; frames were finished or delivered */
    uint64_t pushed, finished, released; /* frames so far; a slot is free when its frame is released */
    bool holding;                        /* the oldest one that is not released has been pulled */
    pthread_t puller;                    /* whose pull was the last, where has_puller */
    bool has_puller, ended, dead, stop;
    hone_stream_stats stats;
    uint64_t idle_since, full_since; /* 0: not so */

    pthread_t thread;
    bool has_thread, has_copiers;
    struct copiers into, from; /* of those who push (under `pushing`), and of the stream's thread */
};

/* What streams of a pool are, and others are not. */
struct stream_extra {
    /* Input and result are always the caller's, aligned to pages. Where kernels work on host memory the ring
     * has none of its own, rows that do not suit a variant are copied by its plan, and nothing is kept of an
     * address once its frame is finished. One slot will do. */
    bool lent;
    bool trials; /* plans try other configurations: pushes may build, and wait */
    bool sends;  /* input is always in memory of hone_frame_alloc: a device with its own reads it there */
    /* Told each command of a frame (its hone_frame.user), in the order of enqueueing, before the frame's
     * result; from the stream's thread. NULL: nobody wants to know. */
    void (*command)(void *frame, const hone_command *command);
};
hone_status stream_make(hone_stream **out, hone_device *device, const hone_chain *chain,
                        const hone_image_desc *planes, size_t plane_count, const hone_stream_options *options,
                        const struct stream_extra *extra, hone_error *error);

/* HONE_ERROR_USAGE for NULL and in a forked child. */
hone_status stream_check(const hone_stream *stream, const char *call, hone_error *error);
/* The same in a callback of the stream's, which would wait for itself. */
hone_status stream_check_outside(const hone_stream *stream, const char *call, hone_error *error);

/* A wait list; none where a queue in order makes them needless. NULL stands for none. */
struct wait_list stream_after(const hone_stream *stream, const hone_event *const *events, size_t count);

static inline struct slot *stream_slot(const hone_stream *stream, uint64_t index)
{
    return &stream->slots[index % stream->slot_count];
}

/* ---- ring.c ---- */

/* Decides how many slots there are, and allocates them. */
hone_status ring_create(hone_stream *stream, unsigned slots, uint64_t memory, hone_error *error);
void ring_destroy(hone_stream *stream);
/* Lends an image to the host, which has it at *host once *done is done; to the device. */
hone_status ring_to_host(hone_image *image, void **host, struct wait_list wait, hone_event **done,
                         hone_error *error);
hone_status ring_to_device(hone_image *image, struct wait_list wait, hone_event **done, hone_error *error);
/* After a failure: waits for the device, and gives the host all of a slot's memory again. */
hone_status ring_recover(hone_stream *stream, struct slot *slot, hone_error *error);

/* ---- wraps.c ---- */

hone_status wraps_create(hone_stream *stream, hone_error *error);
void wraps_destroy(hone_stream *stream);
/* Whether kernels can work on these pixels of the caller's where they are. */
bool wraps_suit(const hone_stream *stream, size_t plane, bool of_result, const void *pixels, size_t pitch);
hone_status wraps_take(struct wrap **out, hone_stream *stream, const hone_image_desc *desc, void *pixels,
                       hone_error *error);
void wraps_give_back(struct wrap **wrap);
/* Only when nothing is in flight that uses it. */
void wraps_forget(struct wrap *wrap);

/* ---- blocks.c ---- */

struct blocks;
/* Those of a device, until it is closed. */
hone_status blocks_of(struct blocks **out, hone_device *device, hone_error *error);
/* Whether hone_frame_alloc gave these bytes. */
bool blocks_hold(struct blocks *blocks, const void *pixels, size_t bytes);

/* ---- enqueue.c ---- */

/* Copies the caller's pixels where they must be, and enqueues all work of a frame. */
hone_status enqueue_frame(hone_stream *stream, struct slot *slot, hone_error *error);

/* ---- deliver.c ---- */

/* The stream's thread. */
void *deliver(void *stream);

/* ---- stats.c ---- */

/* Under the lock, all of them. */
void stats_pushed(hone_stream *stream, const struct slot *slot, uint64_t now);
void stats_finished(hone_stream *stream, const struct slot *slot, uint64_t now);
void stats_released(hone_stream *stream, uint64_t now);
void stats_add(hone_stream *stream, hone_stream_stage stage, uint64_t ns);
/* Of an event that is done, by the device's clock; 0 where it has none. */
uint64_t stats_device(const hone_stream *stream, const hone_event *event);
/* An event of a stage is done: how long it took by the device's clock; without one, how long the stream's
 * thread has waited for it: what ends while the thread copies or calls back holds nothing up. */
uint64_t stats_stage(const hone_stream *stream, const hone_event *event, uint64_t waited_from);
