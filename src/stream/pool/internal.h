/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a pool share. */
#pragma once

#include "stream/internal.h"
#include "stream/pool.h"

/* More lanes than frames in flight: one is always free or idle. */
enum { POOL_FRAMES = 3, POOL_LANES = 5 };

struct pool_shape {
    struct pool_shape *next;
    char *text; /* of the chain */
    hone_chain *chain;
    hone_image_desc in, out;
    bool known; /* out and steps are */
    hone_step_info *steps;
    size_t step_count;
    struct pool_second *seconds;
    size_t second_count;
    bool has_ring;
    struct pool_ring ring;
    unsigned users;   /* callers, lanes and attempts */
    uint64_t refused; /* by which members: they lack the memory, or a variant */
};

/* The stream of one shape on one device. */
struct lane {
    struct pool_shape *shape; /* NULL: free */
    hone_stream *stream;
    unsigned in_flight;
    bool stale;      /* a frame failed in it, or what it keeps of addresses is no longer true */
    uint64_t frames; /* so far */
    uint64_t used;
    double seconds[HONE_STAGE_COUNT];
};

/* A job on its way through one device. */
struct attempt {
    struct pool_job *job; /* NULL: it was given up */
    struct pool_shape *shape;
    struct member *member;
    struct lane *lane; /* NULL while it is looked for */
    struct attempt *next;
    uint64_t started, ended;
    bool pushed, returned; /* both: it is over */
    bool is_using;         /* it failed, and nobody knows whether the device is done with its memory */
    hone_stream_result result;
    hone_error error;
    hone_step_info *steps;
    size_t step_count;
    hone_image **seconds;   /* of this frame alone; NULL: none */
    hone_command *commands; /* the stream's thread's until it returned */
    size_t command_count, command_room;
};

enum member_state { MEMBER_WORKS, MEMBER_FAILED, MEMBER_HANGS };

/* A device. */
struct member {
    struct pool *pool;
    unsigned index;
    hone_device *device;
    pthread_t thread;
    bool started; /* and to be joined */
    enum member_state state;
    struct lane lanes[POOL_LANES]; /* its own thread's, but for in_flight and stale */
    uint64_t uses;
    struct attempt *serving;  /* what its thread is at */
    struct attempt *oldest;   /* in flight, oldest first */
    unsigned in_flight, most; /* most 1: and nothing else meanwhile */
    uint64_t last_return;
    double rate; /* seconds for a byte of input; 0: not known */
    struct bound {
        void *pixels;
        hone_image *image;
    } * bounds; /* second images; its own thread's */
    size_t bound_count, bound_room;
};

struct pool {
    struct pool_options options;
    hone_plan_options plan;
    pthread_mutex_t lock;   /* over all that follows */
    pthread_cond_t changed; /* what members wait for: work, or that there is none */
    struct member *members;
    size_t count;
    double seconds[HONE_STAGE_COUNT]; /* of streams that are gone */
    struct pool_job *waiting;         /* the next first */
    struct pool_shape *shapes;
    uint64_t waits; /* so far */
    uint64_t number[POOL_DEVICES][POOL_WAITS];
    bool stop;
    bool is_unsure; /* see pool_is_quiet */
};

/* ---- lanes.c: the member's thread alone ---- */

/* The stream of a shape; another one may go for it. Without the lock. */
hone_status pool_lane(struct lane **out, struct member *member, struct pool_shape *shape, hone_error *error);
/* Destroys those in which nothing is in flight; of these, the stale ones. */
void pool_lanes_clear(struct member *member);
void pool_lanes_sweep(struct member *member);
/* Under the lock: the shape of a stale one in which nothing is in flight; NULL: there is none. */
const struct pool_shape *pool_lanes_stale(const struct member *member);
/* Once all is done. */
void pool_lanes_finish(struct member *member);

/* ---- shapes.c ---- */

/* Under the lock. */
void shape_release(struct pool *pool, struct pool_shape *shape);

/* ---- sharing.c: all under the lock ---- */

/* Takes the first job that this device should do out of those that wait; NULL: none. */
struct pool_job *pool_next_job(struct member *member);
/* Whether another device takes frames of this shape, and whether none works but this one. */
bool pool_another_takes(const struct member *member, const struct pool_shape *shape);
bool member_is_last(const struct member *member);
/* The job is done, well or not; or goes back to the head of those that wait. */
void pool_finish_job(struct pool_job *job, hone_status status, const hone_error *error);
void pool_hand_back(struct pool *pool, struct pool_job *job);
/* Gives a job other memory, for a device may use that of its frame for ever. */
hone_status pool_replace_memory(struct pool_job *job, const struct pool_shape *shape, hone_error *error);
/* A device leaves. What the others refused they try again: nobody else is left to do it, perhaps. */
void member_leave(struct member *member, enum member_state state, const char *why);
/* Tells the pool's owner that something of a shape is waited for; NULL: nothing any more. */
void member_tell(struct member *member, enum pool_wait what, const struct pool_shape *shape);

/* ---- work.c ---- */

/* The thread of a member. */
void *member_work(void *member);
/* The callback of all streams. */
void pool_returned(void *member, const hone_stream_result *result);
/* Told of each command of an attempt. */
void pool_command(void *attempt, const hone_command *command);
