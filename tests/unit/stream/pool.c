/* SPDX-License-Identifier: BSD-2-Clause */
/* The pool of streams: results, bounds, what is made on the way, and devices that fail; on devices that work
 * in the host's memory, and on ones that play to have their own. */
#include "stream/pool/internal.h"
#include "support.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 2, FRAMES = 24, CALLERS = 4 };

static const hone_image_desc sizes[SHAPES] = {{.width = 96, .height = 40, .type = HONE_U8, .channels = 1},
                                              {.width = 61, .height = 33, .type = HONE_U8, .channels = 3}};
static const char *const chain_text = "box size=3";
static hone_device *devices[2];
static long (*layer_calls)(const char *name);
static void (*layer_fail)(const char *names, long number, bool sticky);

static void *layer_symbol(void *layer, const char *name)
{
    void *symbol = dlsym(layer, name);
    REQUIRE(symbol);
    return symbol;
}

/* Two devices: PoCL's, twice; or another driver's first one, twice. */
static void begin(bool own_memory)
{
    char layers[2 * PATH_MAX];
    const char *counting = support_beside_program("layer.so");
    setenv("POCL_DEVICES", "pthread pthread", 1);
    snprintf(layers, sizeof layers, "%s", counting);
    if (own_memory) { /* the counting one is the nearer to the program */
        setenv("FAKE_TYPE", "4", 1);
        setenv("FAKE_MEMORY", "own", 1);
        snprintf(layers, sizeof layers, "%s:%s", support_beside_program("vendor.so"), counting);
    }
    setenv("OPENCL_LAYERS", layers, 1);
    devices[0] = support_open(&(hone_device_request){.spec = "0", .no_disk_cache = true});
    const bool pocl = support_is_pocl(devices[0]);
    if (!pocl && !own_memory)
        test_skip("these devices are PoCL's");
    devices[1] = support_open(&(hone_device_request){.spec = pocl ? "1" : "0", .no_disk_cache = true});
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(hone_device_get_info(devices[i])->kind, own_memory ? HONE_DEVICE_GPU : HONE_DEVICE_CPU);
        CHECK_EQ(memory_is_shared(devices[i]), !own_memory);
    }
    void *layer = dlopen(counting, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(layer);
    *(void **)&layer_calls = layer_symbol(layer, "layer_calls");
    *(void **)&layer_fail = layer_symbol(layer, "layer_fail");
}

static void end(void)
{
    for (int i = 0; i < 2; i++)
        hone_device_close(&devices[i]);
}

/* ---- Pools that look at themselves ---- */

/* Written under the pool's lock. */
struct watched {
    struct pool *pool;
    unsigned most;  /* frames in flight on a device, ever */
    unsigned lefts; /* devices that have left */
    bool prepares;  /* a device prepared something */
    char why[256];
};

static void look(void *user, unsigned index, enum pool_wait what, double pixels, uint64_t number)
{
    struct watched *watched = user;
    (void)number;
    watched->prepares |= what == POOL_PREPARES && pixels > 0;
    if (watched->pool && watched->pool->members[index].in_flight > watched->most)
        watched->most = watched->pool->members[index].in_flight;
}

static void left(void *user, unsigned index, const char *why)
{
    struct watched *watched = user;
    (void)index;
    watched->lefts++;
    snprintf(watched->why, sizeof watched->why, "%s", why);
}

static struct pool *make(struct watched *watched, unsigned count, unsigned frames)
{
    const hone_plan_options plan = {.tune = HONE_TUNE_OFF};
    const struct pool_options options = {
        .plan = &plan, .frames = frames, .waits = look, .left = left, .user = watched};
    struct pool *pool = NULL;
    hone_error error;
    *watched = (struct watched){0};
    REQUIRE_OK(pool_create(&pool, devices, count, &options, &error));
    pthread_mutex_lock(&pool->lock);
    watched->pool = pool;
    pthread_mutex_unlock(&pool->lock);
    return pool;
}

static struct pool_shape *shape_of(struct pool *pool, int size)
{
    struct pool_shape *shape = NULL;
    hone_chain *chain = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, chain_text, &error));
    REQUIRE_OK(pool_shape(&shape, pool, chain, &sizes[size], NULL, 0, NULL, &error));
    hone_chain_destroy(&chain);
    CHECK(desc_same(pool_output(shape), &sizes[size]));
    return shape;
}

/* ---- Frames ---- */

struct frame {
    struct view in, wanted;
    struct pool_job job;
    void *out; /* the job's first */
};

static void *pages(const hone_image_desc *desc)
{
    const size_t bytes = hone_image_bytes(desc);
    void *memory = aligned_alloc(POOL_ALIGN, (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN);
    REQUIRE(memory);
    return memory;
}

static void frame_make(struct frame *frame, struct pool_shape *shape, uint32_t seed)
{
    const hone_image_desc *desc = &shape->in;
    void *in = pages(desc), *out = pages(desc);
    frame->in = support_picture(desc->width, desc->height, desc->type, desc->channels, seed);
    frame->wanted = support_expected(chain_text, &frame->in);
    memcpy(in, frame->in.data, hone_image_bytes(desc));
    memset(out, 0xee, hone_image_bytes(desc));
    frame->job = (struct pool_job){.shape = shape, .in = in, .out = out};
    frame->out = out;
}

static void frame_finish(struct frame *frame)
{
    free((void *)frame->job.in);
    free(frame->job.out);
    free(frame->job.steps);
    view_finish(&frame->in);
    view_finish(&frame->wanted);
}

static void check_frame(const struct frame *frame)
{
    const struct view got = {.desc = frame->job.shape->in, .data = frame->job.out};
    CHECK(frame->job.done && frame->job.device < 2 && frame->job.step_count == 1);
    CHECK_SAME(&got, &frame->wanted, 0);
}

/* The next lap: the same memory again. */
static void frame_again(struct frame *frame)
{
    free(frame->job.steps);
    frame->job = (struct pool_job){.shape = frame->job.shape, .in = frame->job.in, .out = frame->job.out};
}

/* ---- Results ---- */

/* One of several callers, each with frames of both shapes. */
struct caller {
    struct pool *pool;
    struct frame frames[FRAMES / CALLERS];
    pthread_t thread;
};

static void *call(void *user)
{
    struct caller *caller = user;
    for (int i = 0; i < FRAMES / CALLERS; i++)
        pool_submit(caller->pool, &caller->frames[i].job);
    for (int i = 0; i < FRAMES / CALLERS; i++)
        pool_wait(caller->pool, &caller->frames[i].job);
    return NULL;
}

static void check_callers(bool own_memory)
{
    static struct caller callers[CALLERS];
    struct pool_shape *shapes[SHAPES];
    struct watched watched;
    begin(own_memory);
    struct pool *pool = make(&watched, 2, 0);
    for (int i = 0; i < SHAPES; i++)
        shapes[i] = shape_of(pool, i);
    for (int c = 0; c < CALLERS; c++) {
        callers[c].pool = pool;
        for (int i = 0; i < FRAMES / CALLERS; i++)
            frame_make(&callers[c].frames[i], shapes[(c + i) % SHAPES], (uint32_t)(c * FRAMES + i));
    }
    for (int c = 0; c < CALLERS; c++)
        REQUIRE(pthread_create(&callers[c].thread, NULL, call, &callers[c]) == 0);
    for (int c = 0; c < CALLERS; c++) {
        pthread_join(callers[c].thread, NULL);
        for (int i = 0; i < FRAMES / CALLERS; i++) {
            CHECK_EQ(callers[c].frames[i].job.status, HONE_OK);
            check_frame(&callers[c].frames[i]);
            frame_finish(&callers[c].frames[i]);
        }
    }
    for (int i = 0; i < SHAPES; i++)
        pool_release(pool, &shapes[i]);
    CHECK(pool_destroy(&pool));
    CHECK(watched.most <= POOL_FRAMES && watched.most > 0 && watched.lefts == 0);
    end();
}

TEST(each_caller_gets_the_results_of_its_frames)
{
    check_callers(false);
}

TEST(each_caller_gets_its_results_from_devices_with_memory)
{
    check_callers(true);
}

/* ---- What is made, and how much is held ---- */

static long built(void)
{
    return layer_calls("clCreateKernel") + layer_calls("clCreateProgramWithSource") +
           layer_calls("clCreateProgramWithBinary") + layer_calls("clBuildProgram") +
           layer_calls("clCreateCommandQueue") + layer_calls("clCreateContext");
}

static long allocated(void)
{
    return layer_calls("clCreateBuffer") + layer_calls("clCreateImage") + layer_calls("clSVMAlloc");
}

static void run_lap(struct pool *pool, struct frame *frames, int count)
{
    for (int i = 0; i < count; i++)
        pool_submit(pool, &frames[i].job);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(pool_wait(pool, &frames[i].job), HONE_OK);
        check_frame(&frames[i]);
        frame_again(&frames[i]);
    }
}

/* On one device, so that the first lap is all of the beginning. A pool's frames are never kept: where the
 * device works in their memory, each gets an object for its input and one for its result, of no bytes of its
 * own. */
static void check_steady(bool own_memory)
{
    enum { LAP = 8, LAPS = 3, TWO = 2 };
    struct frame frames[LAP];
    struct watched watched;
    uint64_t held = 0, later = 0;
    begin(own_memory);
    struct pool *pool = make(&watched, 1, TWO);
    struct pool_shape *shape = shape_of(pool, 0);
    for (int i = 0; i < LAP; i++)
        frame_make(&frames[i], shape, (uint32_t)i);
    run_lap(pool, frames, LAP);
    const long built_before = built(), allocated_before = allocated(), finished = layer_calls("clFinish"),
               blocked = layer_calls(NULL);
    hone_device_memory(devices[0], &held, NULL);
    for (int lap = 0; lap < LAPS; lap++)
        run_lap(pool, frames, LAP);
    hone_device_memory(devices[0], &later, NULL);
    CHECK_EQ(built(), built_before);
    CHECK_EQ(allocated() - allocated_before, own_memory ? 0 : 2 * LAP * LAPS);
    CHECK_EQ(layer_calls("clFinish"), finished);
    CHECK_EQ(layer_calls(NULL), blocked);
    CHECK_EQ(later, held);
    CHECK(watched.most <= TWO);
    for (int i = 0; i < LAP; i++)
        frame_finish(&frames[i]);
    pool_release(pool, &shape);
    CHECK(pool_destroy(&pool));
    end();
}

TEST(frames_make_nothing_and_memory_stays_bounded)
{
    check_steady(false);
}

TEST(frames_make_nothing_on_a_device_with_memory)
{
    check_steady(true);
}

/* ---- Failures ---- */

static const char *const launch = "clEnqueueNDRangeKernel";

static void check_failure(bool own_memory, bool sticky)
{
    static struct frame frames[FRAMES];
    struct watched watched;
    int good = 0, lost = 0;
    begin(own_memory);
    struct pool *pool = make(&watched, 2, 0);
    struct pool_shape *shape = shape_of(pool, 0);
    for (int i = 0; i < FRAMES; i++)
        frame_make(&frames[i], shape, (uint32_t)i);
    layer_fail(launch, FRAMES / 2, sticky);
    for (int i = 0; i < FRAMES; i++)
        pool_submit(pool, &frames[i].job);
    for (int i = 0; i < FRAMES; i++)
        good += pool_wait(pool, &frames[i].job) == HONE_OK;
    layer_fail(NULL, 0, false);
    for (size_t i = 0; i < 2; i++) { /* which may still run what was enqueued */
        bool works;
        CHECK_EQ(hone_device_finish(pool_device(pool, i, &works), NULL), HONE_OK);
    }
    for (int i = 0; i < FRAMES; i++) {
        const struct pool_job *job = &frames[i].job;
        if (!job->status)
            check_frame(&frames[i]);
        else
            CHECK_HAS(job->error.message, ": CL_");
        /* Where waits fail, too, nobody knows when the device is done with a frame's memory. */
        CHECK_EQ(job->in_is_lost, job->out != frames[i].out);
        lost += job->in_is_lost;
        if (job->in_is_lost)
            free(frames[i].out);
        frame_finish(&frames[i]);
    }
    CHECK(sticky ? good < FRAMES && good > 0 : good == FRAMES);
    CHECK(sticky ? lost > 0 : lost == 0);
    CHECK_EQ(watched.lefts, 1); /* the last one stays */
    /* Once a device is lost all calls fail, those of the other thread, too: any of them may be told first. */
    CHECK_HAS(watched.why, sticky ? ": CL_" : launch);
    pool_release(pool, &shape);
    CHECK_EQ(pool_is_quiet(pool), !sticky);
    CHECK(pool_destroy(&pool));
    end();
}

TEST(a_device_that_fails_leaves_and_nothing_is_lost)
{
    check_failure(false, false);
}

TEST(a_device_with_memory_that_fails_leaves_and_nothing_is_lost)
{
    check_failure(true, false);
}

TEST(the_last_device_reports_what_fails)
{
    check_failure(false, true);
}

TEST(a_device_is_given_up_but_the_last_is_not)
{
    struct watched watched;
    static struct frame frames[4];
    begin(false);
    static struct pool *pool; /* stays, as its memory does */
    pool = make(&watched, 2, 0);
    struct pool_shape *shape = shape_of(pool, 0);
    for (int i = 0; i < 4; i++) {
        frame_make(&frames[i], shape, (uint32_t)i);
        pool_submit(pool, &frames[i].job);
        CHECK_EQ(pool_wait(pool, &frames[i].job), HONE_OK);
    }
    CHECK(pool_give_up(pool, 0, POOL_RUNS, UINT64_MAX, "")); /* of a wait that is over */
    pthread_mutex_lock(&pool->lock);
    CHECK_EQ(watched.lefts, 0);
    const uint64_t first = pool->number[0][POOL_RUNS], second = pool->number[1][POOL_RUNS];
    pthread_mutex_unlock(&pool->lock);
    CHECK(pool_give_up(pool, 0, POOL_RUNS, first, "too late"));
    CHECK_EQ(watched.lefts, 1);
    CHECK_TEXT(watched.why, "too late");
    CHECK(!pool_give_up(pool, 1, POOL_RUNS, second, "too late"));
    for (int i = 0; i < 4; i++) {
        frame_again(&frames[i]);
        pool_submit(pool, &frames[i].job);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pool_wait(pool, &frames[i].job), HONE_OK);
        CHECK_EQ(frames[i].job.device, 1);
        check_frame(&frames[i]);
    }
    struct pool *ended = pool;
    CHECK(!pool_destroy(&ended) && !ended); /* what the one that was given up may use is left to it */
}

/* Gives up the device that has the job in flight; false if it is done already. */
static bool give_up_flying(struct pool *pool)
{
    uint64_t number = 0;
    unsigned index = 2;
    pthread_mutex_lock(&pool->lock);
    for (unsigned i = 0; i < 2; i++)
        if (pool->members[i].oldest) {
            index = i;
            number = pool->number[i][POOL_RUNS];
        }
    pthread_mutex_unlock(&pool->lock);
    return index < 2 && pool_give_up(pool, index, POOL_RUNS, number, "too late");
}

/* Which happens in a moment, but not with every frame. */
TEST(a_frame_of_a_device_that_is_given_up_gets_as_much_memory_again)
{
    enum { MORE = 1 << 16 };
    struct watched watched;
    static struct frame frame;
    static struct pool *pool;
    static void *before; /* which may never be freed */
    begin(false);
    pool = make(&watched, 2, 0);
    struct pool_shape *shape = shape_of(pool, 0);
    frame_make(&frame, shape, 1);
    while (watched.lefts == 0) {
        frame_again(&frame);
        free(frame.job.out);
        frame.job.out = aligned_alloc(POOL_ALIGN, MORE);
        frame.job.out_bytes = MORE;
        REQUIRE(frame.job.out);
        before = frame.job.out;
        pool_submit(pool, &frame.job);
        for (int i = 0; i < 1000 && watched.lefts == 0; i++)
            give_up_flying(pool);
        CHECK_EQ(pool_wait(pool, &frame.job), HONE_OK);
        check_frame(&frame);
        if (frame.job.in_is_lost)
            CHECK(frame.job.out != before && malloc_usable_size(frame.job.out) >= MORE);
    }
}
