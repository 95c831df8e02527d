/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams: results, order, back-pressure, changes, failures, and what OpenCL was asked for on the way. */
#include "hone/stream.h"
#include "cl/memory.h"
#include "support.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 96, HEIGHT = 40, FRAMES = 12, PAGE = 4096 };

static const hone_image_desc gray = {.width = WIDTH, .height = HEIGHT, .type = HONE_U8, .channels = 1};
static hone_device *device;
static long (*layer_copies)(const char *name, unsigned long *bytes);
static long (*layer_calls)(const char *name);
static void (*layer_fail)(const char *names, long number, bool sticky);

static void *layer_symbol(void *layer, const char *name)
{
    void *symbol = dlsym(layer, name);
    REQUIRE(symbol);
    return symbol;
}

/* own_memory: the device plays a GPU whose memory is not the host's. */
static void begin_on(bool own_memory, bool out_of_order)
{
    char path[PATH_MAX], layers[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s", support_beside_program("layer.so"));
    snprintf(layers, sizeof layers, "%s", path);
    if (own_memory) { /* the counting one is the nearer to the program */
        setenv("FAKE_TYPE", "4", 1);
        setenv("FAKE_MEMORY", "own", 1);
        snprintf(layers, sizeof layers, "%s:%s", support_beside_program("vendor.so"), path);
    }
    setenv("OPENCL_LAYERS", layers, 1);
    device = support_open(&(hone_device_request){.no_disk_cache = true, .out_of_order = out_of_order});
    void *layer = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(layer);
    *(void **)&layer_copies = layer_symbol(layer, "layer_copies");
    *(void **)&layer_calls = layer_symbol(layer, "layer_calls");
    *(void **)&layer_fail = layer_symbol(layer, "layer_fail");
}

static void begin(bool out_of_order)
{
    begin_on(false, out_of_order);
}

static hone_stream *make(const char *text, const hone_image_desc *planes, size_t count,
                         hone_stream_options options)
{
    hone_stream *stream = NULL;
    hone_chain *chain = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    REQUIRE_OK(hone_stream_create(&stream, device, chain, planes, count, &options, &error));
    hone_chain_destroy(&chain);
    return stream;
}

static hone_stream_stats stats_of(const hone_stream *stream)
{
    hone_stream_stats stats;
    hone_stream_get_stats(stream, &stats);
    return stats;
}

static hone_stream_result pull(hone_stream *stream)
{
    hone_stream_result result;
    hone_error error;
    bool got = false;
    REQUIRE_OK(hone_stream_pull(stream, &result, &got, &error));
    REQUIRE(got);
    return result;
}

static struct view plain(const hone_image_desc *desc, const void *pixels, size_t pitch)
{
    struct view view = {.desc = *desc, .data = (void *)pixels};
    view.desc.pitch = pitch;
    return view;
}

/* ---- Results ---- */

/* Frames of one format through a chain, against plain runs of a plan; in the caller's memory where `own`. */
static void check_chain(const char *chain, const hone_image_desc *desc, hone_stream_mode mode, bool own)
{
    hone_stream *stream = make(chain, desc, 1, (hone_stream_options){.slots = 4, .mode = mode});
    hone_plan *plan = support_plan(device, chain, desc, NULL);
    const hone_image_desc *output = hone_stream_output(stream, 0);
    struct view in[5], out[5], wanted = view_new(output);
    hone_error error;
    for (int i = 0; i < 5; i++) {
        in[i] = support_picture(desc->width, desc->height, desc->type, desc->channels, (uint32_t)i);
        out[i] = view_new(output);
    }
    for (int i = 0; i < 5 + 2; i++) {
        const hone_frame frame = {
            .in = {in[i % 5].data}, .out = {own ? out[i % 5].data : NULL}, .user = &in[i % 5]};
        if (i < 5)
            REQUIRE_OK(hone_stream_push(stream, &frame, &error));
        if (i < 2)
            continue;
        const hone_stream_result result = pull(stream);
        CHECK_EQ(result.index, i - 2);
        CHECK(result.user == &in[i - 2]);
        REQUIRE(result.status == HONE_OK);
        CHECK(!own || result.planes[0] == out[i - 2].data);
        const struct view got = plain(output, result.planes[0], result.pitch[0]);
        CHECK_STATUS(hone_plan_apply(plan, in[i - 2].data, 0, wanted.data, 0, &error), HONE_OK);
        if (!CHECK_SAME(&got, &wanted, 0))
            test_note("%s %ux%u, mode %d, %s memory", chain, desc->width, desc->height, (int)mode,
                      own ? "own" : "its");
    }
    for (int i = 0; i < 5; i++) {
        view_finish(&in[i]);
        view_finish(&out[i]);
    }
    view_finish(&wanted);
    hone_plan_destroy(&plan);
    hone_stream_destroy(&stream);
}

static void check_chains(void)
{
    static const hone_image_desc rgb = {.width = 37, .height = 23, .type = HONE_U8, .channels = 3},
                                 deep = {.width = 64, .height = 9, .type = HONE_U16, .channels = 1},
                                 one = {.width = 1, .height = 1, .type = HONE_U8, .channels = 1};
    for (int mode = HONE_STREAM_AUTO; mode <= HONE_STREAM_STAGED; mode += HONE_STREAM_STAGED)
        for (int own = 0; own < 2; own++) {
            check_chain("box size=3 | sobel", &gray, (hone_stream_mode)mode, own);
            check_chain("transpose", &rgb, (hone_stream_mode)mode, own);
            check_chain("box size=5", &deep, (hone_stream_mode)mode, own);
            check_chain("sobel output=dx", &one, (hone_stream_mode)mode, own);
        }
}

TEST(a_stream_gives_what_a_plan_gives)
{
    begin(false);
    check_chains();
    hone_device_close(&device);
}

TEST(a_stream_gives_the_same_out_of_order)
{
    begin(true);
    check_chains();
    hone_device_close(&device);
}

/* What the plain C reference makes of a frame whose result lies at `got`. */
static void check_reference(const char *chain, const struct view *in, const struct view *got)
{
    struct view wanted = support_expected(chain, in);
    if (!CHECK_SAME(got, &wanted, 0))
        test_note("%s", chain);
    view_finish(&wanted);
}

TEST(a_change_counts_from_the_next_frame_on)
{
    static const char *const chains[] = {"box size=3", "box size=5", "box size=7", "box size=5"};
    begin(false);
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){.slots = 8});
    struct view in[8];
    hone_error error;
    for (int i = 0; i < 8; i++) {
        in[i] = support_picture(WIDTH, HEIGHT, HONE_U8, 1, (uint32_t)i + 50);
        if (i % 2 == 0)
            CHECK_STATUS(hone_stream_set(stream, 0, strchr(chains[i / 2], ' ') + 1, &error), HONE_OK);
        REQUIRE_OK(hone_stream_push(stream, &(hone_frame){.in = {in[i].data}}, &error));
    }
    CHECK_STATUS(hone_stream_set(stream, 0, "size=nine", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_set(stream, 1, "size=9", &error), HONE_ERROR_USAGE);
    for (int i = 0; i < 8; i++) {
        const hone_stream_result result = pull(stream);
        const struct view got = plain(&gray, result.planes[0], result.pitch[0]);
        check_reference(chains[i / 2], &in[i], &got);
        view_finish(&in[i]);
    }
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

TEST(a_change_that_needs_another_ring_is_refused)
{
    begin(false);
    hone_stream *stream = make("sobel", &gray, 1, (hone_stream_options){0});
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 4);
    hone_error error;
    CHECK_STATUS(hone_stream_set(stream, 0, "output=dx", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "s16");
    REQUIRE_OK(hone_stream_push(stream, &(hone_frame){.in = {in.data}}, &error));
    const hone_stream_result result = pull(stream);
    const struct view got = plain(&gray, result.planes[0], result.pitch[0]);
    check_reference("sobel", &in, &got);
    view_finish(&in);
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

/* ---- Video frames in the caller's ring of buffers ---- */

static void *pages(size_t bytes)
{
    void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    REQUIRE(memory);
    return memory;
}

static void check_nv12(hone_stream_mode mode)
{
    enum { PITCH = 128, BYTES = PITCH * (HEIGHT + HEIGHT / 2) };
    hone_image_desc luma;
    size_t offset = 1;
    hone_error error;
    REQUIRE_OK(hone_frame_plane(HONE_NV12, WIDTH, HEIGHT, PITCH, 0, &luma, &offset, &error));
    hone_stream *stream =
        make("epsilon radius=2 threshold=40", &luma, 1, (hone_stream_options){.mode = mode});
    unsigned char *buffer = pages(BYTES), *before = pages(BYTES);
    for (int i = 0; i < BYTES; i++)
        before[i] = buffer[i] = (unsigned char)(i * 7919 >> 3);
    REQUIRE_OK(hone_stream_push(stream, &(hone_frame){.in = {buffer}, .out = {buffer}}, &error));
    const hone_stream_result result = pull(stream);
    CHECK(result.status == HONE_OK && result.planes[0] == buffer && result.pitch[0] == PITCH);
    const struct view in = plain(&luma, before, PITCH), got = plain(&luma, buffer, PITCH);
    check_reference("epsilon radius=2 threshold=40", &in, &got);
    for (int y = 0; y < HEIGHT; y++)
        CHECK(memcmp(buffer + y * PITCH + WIDTH, before + y * PITCH + WIDTH, PITCH - WIDTH) == 0);
    CHECK(memcmp(buffer + PITCH * HEIGHT, before + PITCH * HEIGHT, PITCH * HEIGHT / 2) == 0);
    free(buffer);
    hone_stream_destroy(&stream);
    free(before);
}

TEST(luma_is_filtered_in_place_and_nothing_else_is_touched)
{
    begin(false);
    check_nv12(HONE_STREAM_AUTO);
    check_nv12(HONE_STREAM_STAGED);
    hone_device_close(&device);
}

TEST(planes_of_several_sizes_go_together)
{
    const hone_image_desc chroma = {.width = WIDTH / 2, .height = HEIGHT / 2, .type = HONE_U8, .channels = 1};
    const hone_image_desc planes[] = {gray, chroma, chroma};
    begin(false);
    hone_stream *stream = make("box size=3", planes, 3, (hone_stream_options){0});
    struct view in[3], out[3];
    hone_frame frame = {0};
    hone_error error;
    for (int p = 0; p < 3; p++) {
        in[p] = support_picture(planes[p].width, planes[p].height, HONE_U8, 1, (uint32_t)p);
        out[p] = view_new(&planes[p]);
        frame.in[p] = in[p].data;
        frame.out[p] = out[p].data;
    }
    REQUIRE_OK(hone_stream_push(stream, &frame, &error));
    CHECK_STATUS(hone_stream_set(stream, 0, "size=5", &error), HONE_OK);
    CHECK(pull(stream).status == HONE_OK);
    for (int p = 0; p < 3; p++)
        check_reference("box size=3", &in[p], &out[p]);
    REQUIRE_OK(hone_stream_push(stream, &frame, &error));
    CHECK(pull(stream).status == HONE_OK);
    for (int p = 0; p < 3; p++) {
        check_reference("box size=5", &in[p], &out[p]);
        view_finish(&in[p]);
        view_finish(&out[p]);
    }
    CHECK(hone_stream_output(stream, 2)->width == WIDTH / 2 && !hone_stream_output(stream, 3));
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

/* Two planes of 8 x 4 pixels: what is written where something else is read or written is refused. */
static void check_pushes(hone_stream *stream, const hone_frame *frame, const char *wanted)
{
    hone_error error = {0};
    CHECK_STATUS(hone_stream_push(stream, frame, &error), wanted ? HONE_ERROR_USAGE : HONE_OK);
    if (wanted)
        CHECK_HAS(error.message, wanted);
    else
        CHECK(pull(stream).status == HONE_OK);
}

TEST(planes_that_overlap_are_refused)
{
    const hone_image_desc small = {.width = 8, .height = 4, .type = HONE_U8, .channels = 1};
    const hone_image_desc planes[] = {small, small};
    begin(false);
    hone_stream *stream = make("box size=3", planes, 2, (hone_stream_options){0});
    unsigned char memory[256] = {0}, *a = memory, *b = memory + 64, *c = memory + 128, *d = memory + 192;
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {c, d}}, NULL);
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {a, b}}, NULL);
    check_pushes(stream, &(hone_frame){.in = {a, b}}, NULL);
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {a + 1, d}},
                 "the result of plane 0 overlaps the input of plane 0");
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {c, a + 31}},
                 "the result of plane 1 overlaps the input of plane 0");
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {c, a + 32}}, NULL);
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {b, d}},
                 "the result of plane 0 overlaps the input of plane 1");
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {c, c}},
                 "the result of plane 1 overlaps the result of plane 0");
    /* Side by side, as in one picture. */
    check_pushes(
        stream,
        &(hone_frame){.in = {a, a + 8}, .in_pitch = {16, 16}, .out = {c, c + 8}, .out_pitch = {16, 16}},
        NULL);
    check_pushes(stream, &(hone_frame){.in = {a, b}, .out = {c, c + 7}, .out_pitch = {16, 16}},
                 "the result of plane 1 overlaps the result of plane 0");
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

/* ---- The ring ---- */

TEST(a_full_ring_takes_nothing)
{
    begin(false);
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){.slots = 3});
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 1);
    const hone_frame frame = {.in = {in.data}};
    hone_error error;
    bool taken;
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(hone_stream_try_push(stream, &frame, &taken, &error), HONE_OK);
        CHECK_EQ(taken, i < 3);
    }
    CHECK_STATUS(hone_stream_flush(stream, &error), HONE_OK);
    CHECK(stats_of(stream).finished == 3 && stats_of(stream).in_flight == 0);
    CHECK_EQ(pull(stream).index, 0); /* its pixels are there until the next pull */
    CHECK_STATUS(hone_stream_try_push(stream, &frame, &taken, &error), HONE_OK);
    CHECK(!taken);
    CHECK_STATUS(hone_stream_push(stream, &frame, &error),
                 HONE_ERROR_USAGE); /* it would wait for this thread */
    CHECK_EQ(pull(stream).index, 1);
    CHECK_STATUS(hone_stream_try_push(stream, &frame, &taken, &error), HONE_OK);
    CHECK(taken);
    CHECK_EQ(pull(stream).index, 2);
    CHECK_EQ(pull(stream).index, 3);
    hone_stream_result result;
    bool got = true;
    CHECK_STATUS(hone_stream_try_pull(stream, &result, &got, &error), HONE_OK);
    CHECK(!got);
    view_finish(&in);
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

static void *push_all(void *argument)
{
    hone_stream *stream = argument;
    static unsigned char pixels[FRAMES][HEIGHT][WIDTH];
    hone_error error;
    for (int i = 0; i < FRAMES; i++) {
        memset(pixels[i], i + 1, sizeof pixels[i]);
        CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {pixels[i]}, .user = pixels[i]}, &error),
                     HONE_OK);
    }
    CHECK_STATUS(hone_stream_end(stream, &error), HONE_OK);
    CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {pixels[0]}}, &error), HONE_ERROR_USAGE);
    return NULL;
}

TEST(two_threads_push_and_pull_until_the_end)
{
    hone_stream_result result;
    pthread_t producer;
    hone_error error;
    int count = 0;
    bool got = true;
    begin(false);
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){.slots = 2});
    REQUIRE(pthread_create(&producer, NULL, push_all, stream) == 0);
    while (hone_stream_pull(stream, &result, &got, &error) == HONE_OK && got) {
        CHECK(result.index == (uint64_t)count && result.status == HONE_OK);
        CHECK_EQ(((const unsigned char *)result.planes[0])[0], ++count);
    }
    CHECK_EQ(count, FRAMES);
    pthread_join(producer, NULL);
    CHECK_STATUS(hone_stream_pull(stream, &result, &got, &error), HONE_OK);
    CHECK(!got && !result.planes[0]);
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

struct seen {
    hone_stream *stream;
    const hone_frame *again;
    int count, wrong, extra;
};

static void look(void *user, const hone_stream_result *result)
{
    struct seen *seen = user;
    hone_error error;
    bool taken = false;
    seen->wrong += result->index != (uint64_t)seen->count || result->status != HONE_OK;
    seen->count++;
    seen->wrong += hone_stream_flush(seen->stream, &error) != HONE_ERROR_USAGE;
    seen->wrong += hone_stream_push(seen->stream, seen->again, &error) != HONE_ERROR_USAGE;
    if (seen->extra < 2 && hone_stream_set(seen->stream, 0, "size=5", &error) == HONE_OK &&
        hone_stream_try_push(seen->stream, seen->again, &taken, &error) == HONE_OK && taken)
        seen->extra++;
}

TEST(callbacks_come_in_order_and_may_push)
{
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 1);
    const hone_frame frame = {.in = {in.data}};
    struct seen seen = {.again = &frame};
    hone_stream_result result;
    hone_error error;
    bool got;
    begin(false);
    hone_stream *stream =
        make("box size=3", &gray, 1, (hone_stream_options){.callback = look, .user = &seen});
    seen.stream = stream;
    CHECK_STATUS(hone_stream_pull(stream, &result, &got, &error), HONE_ERROR_USAGE);
    for (int i = 0; i < FRAMES; i++)
        CHECK_STATUS(hone_stream_push(stream, &frame, &error), HONE_OK);
    for (int i = 0; i < 3; i++) /* what a callback pushes comes after what was pushed before the flush */
        CHECK_STATUS(hone_stream_flush(stream, &error), HONE_OK);
    hone_stream_destroy(&stream);
    CHECK_EQ(seen.count, FRAMES + seen.extra);
    CHECK_EQ(seen.wrong, 0);
    view_finish(&in);
    hone_device_close(&device);
}

static void destroy_in_flight(hone_stream_mode mode)
{
    hone_stream *stream = make("epsilon radius=7", &gray, 1, (hone_stream_options){.slots = 8, .mode = mode});
    unsigned char *in = pages(WIDTH * HEIGHT), *out = pages(WIDTH * HEIGHT);
    hone_error error;
    memset(in, 3, WIDTH * HEIGHT);
    for (int i = 0; i < 8; i++)
        CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {in}, .out = {out}}, &error), HONE_OK);
    hone_stream_destroy(&stream);
    CHECK(!stream);
    memset(in, 4, WIDTH * HEIGHT); /* nobody uses them any more */
    free(in);
    free(out);
}

TEST(a_stream_can_be_destroyed_with_frames_in_flight)
{
    begin(false);
    destroy_in_flight(HONE_STREAM_AUTO);
    destroy_in_flight(HONE_STREAM_STAGED);
    hone_device_close(&device);
}

struct watched {
    hone_stream *stream;
    pthread_mutex_t lock;
    pthread_cond_t begun;
    bool runs;
    uint64_t pushed; /* as it says at the end; 0: it was gone */
};

/* Runs for a while, in which the stream is being destroyed, and uses it at the end. */
static void watch(void *user, const hone_stream_result *result)
{
    struct watched *watched = user;
    hone_stream *volatile *stream = &watched->stream;
    const struct timespec moment = {.tv_nsec = 1000000};
    (void)result;
    pthread_mutex_lock(&watched->lock);
    watched->runs = true;
    pthread_cond_signal(&watched->begun);
    pthread_mutex_unlock(&watched->lock);
    for (int i = 0; i < 200 && *stream; i++)
        nanosleep(&moment, NULL);
    watched->pushed = *stream ? stats_of(*stream).pushed : 0;
}

TEST(a_callback_has_its_stream_until_it_returns)
{
    struct watched watched = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER};
    unsigned char *in = pages(WIDTH * HEIGHT), *out = pages(WIDTH * HEIGHT);
    hone_error error;
    memset(in, 3, WIDTH * HEIGHT);
    begin(false);
    watched.stream = make("box", &gray, 1, (hone_stream_options){.callback = watch, .user = &watched});
    CHECK_STATUS(hone_stream_push(watched.stream, &(hone_frame){.in = {in}, .out = {out}}, &error), HONE_OK);
    pthread_mutex_lock(&watched.lock);
    while (!watched.runs)
        pthread_cond_wait(&watched.begun, &watched.lock);
    pthread_mutex_unlock(&watched.lock);
    hone_stream_destroy(&watched.stream);
    CHECK_EQ(watched.pushed, 1);
    CHECK(!watched.stream);
    hone_device_close(&device);
    free(in);
    free(out);
}

TEST(the_ring_keeps_to_its_memory)
{
    uint64_t held = 0, later = 0;
    hone_chain *chain = NULL;
    hone_error error;
    begin(false);
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){.mode = HONE_STREAM_STAGED});
    const uint64_t six = stats_of(stream).memory;
    CHECK_EQ(stats_of(stream).slots, 6);
    CHECK(six >= 6 * 4 * WIDTH * HEIGHT);
    hone_stream_destroy(&stream);
    hone_device_memory(device, &held, NULL);
    stream =
        make("box size=3", &gray, 1, (hone_stream_options){.mode = HONE_STREAM_STAGED, .memory = six - 1});
    CHECK(stats_of(stream).slots == 5 && stats_of(stream).memory == six / 6 * 5);
    hone_stream_destroy(&stream);
    hone_device_memory(device, &later, NULL);
    CHECK_EQ(later, held);
    REQUIRE_OK(hone_chain_parse(&chain, "box size=3", &error));
    const hone_stream_options tight = {.mode = HONE_STREAM_STAGED, .memory = six / 6};
    CHECK_STATUS(hone_stream_create(&stream, device, chain, &gray, 1, &tight, &error), HONE_ERROR_MEMORY);
    CHECK(!stream);
    CHECK_HAS(error.message, "2 slots");
    hone_chain_destroy(&chain);
    hone_device_close(&device);
}

/* ---- What OpenCL is asked for ---- */

static long made(void)
{
    return layer_calls("clCreateBuffer") + layer_calls("clCreateImage") + layer_calls("clSVMAlloc") +
           layer_calls("clCreateKernel") + layer_calls("clCreateProgramWithSource") +
           layer_calls("clCreateProgramWithBinary") + layer_calls("clBuildProgram") +
           layer_calls("clCreateCommandQueue") + layer_calls("clCreateContext");
}

static long waited(void)
{
    return layer_calls("clFinish") + layer_calls(NULL);
}

static long moved(void)
{
    static const char *const names[] = {"clEnqueueReadBuffer",        "clEnqueueReadBufferRect",
                                        "clEnqueueWriteBuffer",       "clEnqueueWriteBufferRect",
                                        "clEnqueueCopyBuffer",        "clEnqueueCopyBufferRect",
                                        "clEnqueueCopyBufferToImage", "clEnqueueCopyImageToBuffer"};
    unsigned long bytes = 0;
    long all = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        all += layer_copies(names[i], &bytes);
    return all;
}

/* Frames in a ring of `ring` buffers of the caller's. */
static void stream_ring(hone_stream *stream, unsigned char (*in)[HEIGHT][WIDTH],
                        unsigned char (*out)[HEIGHT][WIDTH], int ring, int frames)
{
    hone_error error;
    for (int i = 0; i < frames + ring; i++) {
        if (i >= ring) {
            CHECK(pull(stream).status == HONE_OK);
            CHECK_EQ(out ? out[i % ring][5][5] : 0, out ? 10 + i % ring : 0);
        }
        if (i < frames) {
            memset(in[i % ring], 10 + i % ring, sizeof *in);
            const hone_frame frame = {.in = {in[i % ring]}, .out = {out ? out[i % ring] : NULL}};
            REQUIRE_OK(hone_stream_push(stream, &frame, &error));
        }
    }
}

static void check_calls(hone_stream_mode mode, bool out_of_order)
{
    enum { RING = 3 };
    begin(out_of_order);
    unsigned char(*in)[HEIGHT][WIDTH] = pages(RING * sizeof *in),
             (*out)[HEIGHT][WIDTH] = pages(RING * sizeof *out);
    hone_stream *stream = make("box size=3 | sobel", &gray, 1, (hone_stream_options){.mode = mode});
    const long made_before = made();
    long waited_before = waited();
    stream_ring(stream, in, NULL, RING, FRAMES);
    if (mode == HONE_STREAM_STAGED)
        CHECK_EQ(made(), made_before);
    CHECK_EQ(waited(), waited_before);
    hone_stream_destroy(&stream);
    stream = make("box size=3", &gray, 1, (hone_stream_options){.mode = mode});
    stream_ring(stream, in, out, RING, RING); /* one lap */
    const long made_later = made();
    waited_before = waited();
    stream_ring(stream, in, out, RING, FRAMES);
    CHECK_EQ(made(), made_later);
    CHECK_EQ(waited(), waited_before);
    hone_stream_destroy(&stream);
    hone_device_close(&device);
    free(in);
    free(out);
}

TEST(frames_make_nothing_and_wait_for_nothing)
{
    check_calls(HONE_STREAM_AUTO, false);
}

TEST(staged_frames_make_nothing_and_wait_for_nothing)
{
    check_calls(HONE_STREAM_STAGED, false);
}

TEST(frames_out_of_order_make_nothing_and_wait_for_nothing)
{
    check_calls(HONE_STREAM_AUTO, true);
}

TEST(staged_frames_out_of_order_make_nothing_and_wait_for_nothing)
{
    check_calls(HONE_STREAM_STAGED, true);
}

TEST(aligned_frames_are_not_copied_where_memory_is_shared)
{
    enum { RING = 3 };
    begin(false);
    if (!support_is_pocl(device))
        test_skip("no PoCL");
    const hone_image_desc wide = {.width = 128, .height = HEIGHT, .type = HONE_U8, .channels = 1};
    unsigned char *in = pages((size_t)RING * 128 * HEIGHT), *out = pages((size_t)RING * 128 * HEIGHT);
    hone_stream *stream = make("box size=3", &wide, 1, (hone_stream_options){.mode = HONE_STREAM_ZERO_COPY});
    hone_error error;
    memset(in, 5, (size_t)RING * 128 * HEIGHT);
    const long before = moved();
    for (int i = 0; i < FRAMES; i++) {
        const size_t at = (size_t)(i % RING) * 128 * HEIGHT;
        REQUIRE_OK(hone_stream_push(stream, &(hone_frame){.in = {in + at}, .out = {out + at}}, &error));
        CHECK(pull(stream).status == HONE_OK && out[at + 77] == 5);
    }
    const hone_stream_stats stats = stats_of(stream);
    CHECK_EQ(moved(), before);
    CHECK(stats.zero_copy == FRAMES && stats.finished == FRAMES && stats.failed == 0);
    CHECK(stats.copies_in.count == 0 && stats.copies_out.count == 0 && stats.copies.uploads.count == 0);
    CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {in}, .out = {in}}, &error),
                 HONE_ERROR_UNSUPPORTED);
    hone_stream_destroy(&stream);
    free(in);
    free(out);
    hone_device_close(&device);
}

/* Frames of NV12 in a ring of the device's: a place for what is captured, and one for the filtered planes. */
static void check_no_host_copy(bool own_memory, bool out_of_order, bool in_place)
{
    enum { RING = 3, PITCH = 128, BYTES = PITCH * (HEIGHT + HEIGHT / 2) };
    const char *chain = "epsilon radius=2 threshold=40";
    hone_image_desc planes[2];
    size_t offset[2];
    void *in[RING], *out[RING];
    hone_error error;
    begin_on(own_memory, out_of_order);
    if (!own_memory && !memory_is_shared(device))
        test_skip("the device does not work on host memory");
    for (int p = 0; p < 2; p++)
        REQUIRE_OK(
            hone_frame_plane(HONE_NV12, WIDTH, HEIGHT, PITCH, (unsigned)p, &planes[p], &offset[p], &error));
    hone_stream *stream = make(chain, planes, 2, (hone_stream_options){0});
    for (int i = 0; i < RING; i++) {
        REQUIRE_OK(hone_frame_alloc(&in[i], device, BYTES, &error));
        REQUIRE_OK(hone_frame_alloc(&out[i], device, BYTES, &error));
        memset(out[i], 0xA5, BYTES);
    }
    unsigned char *before = pages(BYTES);
    const long moved_before = moved();
    long made_before = 0;
    for (int i = 0; i < FRAMES; i++) {
        unsigned char *from = in[i % RING], *to = in_place ? from : out[i % RING];
        for (int b = 0; b < BYTES; b++)
            from[b] = before[b] = (unsigned char)((b + i) * 7919 >> 3);
        made_before = i == RING ? made() : made_before;
        REQUIRE_OK(hone_stream_push(stream,
                                    &(hone_frame){.in = {from, from + offset[1]},
                                                  .out = {to, to + offset[1]},
                                                  .out_pitch = {PITCH, PITCH}},
                                    &error));
        const hone_stream_result result = pull(stream);
        CHECK(result.status == HONE_OK && result.planes[0] == to && result.staged.count == 0);
        for (int p = 0; p < 2; p++) {
            const struct view is = plain(&planes[p], before + offset[p], PITCH),
                              got = plain(&planes[p], to + offset[p], PITCH);
            check_reference(chain, &is, &got);
        }
        CHECK_EQ(to[WIDTH], in_place ? before[WIDTH] : 0xA5); /* between rows */
    }
    const hone_stream_stats stats = stats_of(stream);
    CHECK(stats.copies_in.count == 0 && stats.copies_out.count == 0);
    CHECK_EQ(made(), made_before);
    if (own_memory) {
        CHECK(stats.copies.uploads.count == 2 * FRAMES && stats.copies.downloads.count == 2 * FRAMES);
        CHECK_EQ(moved() - moved_before, 4 * FRAMES);
    } else {
        CHECK(stats.zero_copy == FRAMES && moved() == moved_before);
    }
    hone_stream_destroy(&stream);
    hone_frame_free(device, &in[0]);
    CHECK(!in[0]); /* the others go with the device */
    free(before);
    hone_device_close(&device);
}

TEST(frames_in_memory_of_the_device_s_are_not_copied_by_the_host)
{
    check_no_host_copy(false, false, false);
}

TEST(frames_in_pinned_memory_are_not_copied_by_the_host)
{
    check_no_host_copy(true, false, false);
}

TEST(frames_in_pinned_memory_are_filtered_in_place_out_of_order)
{
    check_no_host_copy(true, true, true);
}

/* One in memory of any kind goes by way of the slot's. */
TEST(frames_of_both_kinds_go_through_one_stream)
{
    void *pinned = NULL;
    hone_error error;
    begin_on(true, false);
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 3), out = view_new(&gray);
    REQUIRE_OK(hone_frame_alloc(&pinned, device, WIDTH * HEIGHT, &error));
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){0});
    for (int i = 0; i < 4; i++) {
        memcpy(pinned, in.data, WIDTH * HEIGHT);
        const hone_frame frame = {.in = {i & 1 ? pinned : in.data}, .out = {i & 2 ? pinned : out.data}};
        REQUIRE_OK(hone_stream_push(stream, &frame, &error));
        const hone_stream_result result = pull(stream);
        CHECK_EQ(result.staged.count, !(i & 1) + !(i & 2));
        const struct view got = plain(&gray, result.planes[0], WIDTH);
        check_reference("box size=3", &in, &got);
    }
    hone_stream_destroy(&stream);
    hone_frame_free(device, &pinned);
    CHECK_STATUS(hone_frame_alloc(&pinned, device, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_frame_alloc(&pinned, NULL, 1, &error), HONE_ERROR_USAGE);
    hone_frame_free(device, &pinned);
    view_finish(&in);
    view_finish(&out);
    hone_device_close(&device);
}

TEST(copies_are_counted)
{
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 1);
    hone_error error;
    begin(false);
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){.mode = HONE_STREAM_STAGED});
    const long before = moved();
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(hone_stream_push(stream, &(hone_frame){.in = {in.data}, .out = {i < 2 ? in.data : NULL}},
                                    &error));
        CHECK(pull(stream).status == HONE_OK);
    }
    const hone_stream_stats stats = stats_of(stream);
    CHECK(stats.copies_in.count == 3 && stats.copies_in.bytes == 3 * WIDTH * HEIGHT);
    CHECK(stats.copies_out.count == 2 && stats.copies_out.bytes == 2 * WIDTH * HEIGHT);
    CHECK(stats.copies.uploads.count == 3 && stats.copies.downloads.count == 3 && stats.zero_copy == 0);
    CHECK_EQ((long)(stats.copies.moves.count + stats.copies.conversions.count), moved() - before - 6);
    for (int s = HONE_STAGE_COPY_IN; s <= HONE_STAGE_DOWNLOAD; s++)
        CHECK(stats.seconds[s] > 0 && stats.seconds[s] <= stats.seconds[stats.bottleneck]);
    view_finish(&in);
    hone_stream_destroy(&stream);
    hone_device_close(&device);
}

/* ---- Failures ---- */

/* The N-th of such calls fails: that frame alone is lost. Returns false when it never came to that. */
static bool check_failure(const char *chain, hone_stream_mode mode, const char *call, long number)
{
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 3), out = view_new(&gray);
    hone_stream *stream = make(chain, &gray, 1, (hone_stream_options){.slots = 2, .mode = mode});
    const hone_frame frame = {.in = {in.data}, .out = {out.data}};
    int lost = 0;
    layer_fail(call, number, false);
    for (int i = 0; i < 4; i++) {
        hone_error error = {0};
        memset(out.data, 0, WIDTH * HEIGHT);
        hone_status status = hone_stream_push(stream, &frame, &error);
        const hone_stream_result result = status ? (hone_stream_result){.status = status} : pull(stream);
        const char *said = status ? error.message : result.error ? result.error->message : "";
        lost += result.status != HONE_OK;
        CHECK(!result.status || strncmp(said, "cl", 2) == 0);
        if (!result.status)
            check_reference(chain, &in, &out);
    }
    layer_fail(NULL, 0, false);
    if (lost > 1 || stats_of(stream).dead)
        test_fail(__FILE__, __LINE__, "%s %ld, mode %d: %d frames were lost", call, number, (int)mode, lost);
    hone_stream_destroy(&stream);
    view_finish(&in);
    view_finish(&out);
    return lost > 0;
}

TEST(a_failure_costs_one_frame)
{
    static const char *const calls[] = {"clEnqueueNDRangeKernel",
                                        "clEnqueueMapBuffer",
                                        "clEnqueueUnmapMemObject",
                                        "clEnqueueWriteBuffer",
                                        "clEnqueueReadBuffer",
                                        "clSetKernelArg",
                                        "clFlush",
                                        "clWaitForEvents"};
    int lost = 0;
    begin(false);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (long number = 1; number < 4; number++) {
            lost += check_failure("box size=3", HONE_STREAM_AUTO, calls[i], number);
            lost += check_failure("box size=3", HONE_STREAM_STAGED, calls[i], number);
        }
    CHECK(lost >= 24);
    hone_device_close(&device);
}

TEST(a_lost_device_ends_the_stream)
{
    struct view in = support_picture(WIDTH, HEIGHT, HONE_U8, 1, 3);
    const hone_frame frame = {.in = {in.data}};
    hone_error error;
    begin(false);
    hone_stream *stream = make("box size=3", &gray, 1, (hone_stream_options){0});
    CHECK_STATUS(hone_stream_push(stream, &frame, &error), HONE_OK);
    CHECK_STATUS(hone_stream_flush(stream, &error), HONE_OK);
    layer_fail("clEnqueueNDRangeKernel", 1, true);
    CHECK_STATUS(hone_stream_push(stream, &frame, &error), HONE_ERROR_DEVICE);
    CHECK(stats_of(stream).dead);
    CHECK_STATUS(hone_stream_push(stream, &frame, &error), HONE_ERROR_DEVICE);
    CHECK_HAS(error.message, "dead");
    CHECK_EQ(pull(stream).status, HONE_OK); /* the frame before */
    hone_stream_destroy(&stream);
    layer_fail(NULL, 0, false);
    view_finish(&in);
    hone_device_close(&device);
}

/* ---- Mistakes ---- */

TEST(mistakes_are_refused)
{
    static uint16_t pixels[WIDTH * HEIGHT];
    const hone_image_desc deep = {.width = WIDTH, .height = HEIGHT, .type = HONE_U16, .channels = 1};
    hone_chain *chain = NULL;
    hone_stream *stream = NULL;
    hone_error error;
    begin(false);
    REQUIRE_OK(hone_chain_parse(&chain, "transpose", &error));
    const hone_stream_options one = {.slots = 1}, many = {.slots = 65}, mode = {.mode = (hone_stream_mode)3};
    const hone_stream_options staged = {.mode = HONE_STREAM_STAGED};
    CHECK_STATUS(hone_stream_create(NULL, device, chain, &deep, 1, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_create(&stream, device, chain, &deep, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_create(&stream, device, chain, &deep, 5, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_create(&stream, device, chain, &deep, 1, &one, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_create(&stream, device, chain, &deep, 1, &many, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_create(&stream, device, chain, &deep, 1, &mode, &error), HONE_ERROR_USAGE);
    REQUIRE_OK(hone_stream_create(&stream, device, chain, &deep, 1, &staged, &error));
    CHECK_STATUS(hone_stream_push(stream, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_push(stream, &(hone_frame){0}, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {(char *)pixels + 1}}, &error),
                 HONE_ERROR_USAGE);
    CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {pixels}, .in_pitch = {WIDTH}}, &error),
                 HONE_ERROR_USAGE);
    CHECK_STATUS(
        hone_stream_push(stream, &(hone_frame){.in = {pixels}, .in_pitch = {(size_t)1 << 63}}, &error),
        HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "too large");
    CHECK_STATUS(hone_stream_push(stream, &(hone_frame){.in = {pixels}, .out = {pixels}}, &error),
                 HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "in place");
    CHECK_EQ(stats_of(stream).pushed, 0);
    CHECK_TEXT(hone_stream_stage_name(HONE_STAGE_COPY_OUT), "copy out");
    CHECK_TEXT(hone_stream_stage_name(HONE_STAGE_COUNT), "?");
    hone_stream_destroy(&stream);
    hone_stream_destroy(&stream);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
}
