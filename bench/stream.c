/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many NV12 frames a second go through a stream, from host memory and back, beside what bounds them: on a
 * device with memory of its own, the bus, both ways at once, with nothing else to do (OpenCL alone); on one
 * that shares the host's, the chain's kernels, each plane's one after the other.
 *
 *   stream CHAIN WIDTH HEIGHT SLOTS FRAMES ROUNDS [any]
 *
 * SLOTS 0 is the default. Frames are of hone_frame_alloc; with `any`, of malloc, which the stream has to copy.
 * The device is that of HONE_DEVICE. Each round is a line: frames/s of the stream, and of the bound, measured
 * by turns; then microseconds of the stream's processor time for a frame.
 *
 *   gcc -O2 -Iinclude bench/stream.c -Lbuild -lhone -lOpenCL -Wl,-rpath,build -o build/stream-rate
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <hone/hone.h>
#include <hone/interop.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLANES = 2, BUFFERS = 16, AT_ONCE = 64, WAYS = 2 };

struct bench {
    hone_device *device;
    hone_chain *chain;
    hone_stream *stream;
    hone_image_desc plane[PLANES];
    size_t bytes; /* of a frame; the luma comes first */
    unsigned slots, frames;
    bool any;                         /* frames of malloc */
    void *in[BUFFERS], *out[BUFFERS]; /* of hone_frame_alloc */
    hone_plan *plan[PLANES];
    hone_image *from[PLANES], *to[PLANES];
    cl_command_queue queue[WAYS];
    cl_mem buffer[WAYS];
};

static void need(hone_status status, const hone_error *error)
{
    if (status == HONE_OK)
        return;
    fprintf(stderr, "stream: %s\n", error->message);
    exit(1);
}

static void check(cl_int code, const char *call)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "stream: %s gives %d\n", call, code);
    exit(1);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool has_own_memory(const struct bench *b)
{
    return !hone_device_get_info(b->device)->unified_memory;
}

/* ---- The stream ---- */

static void push(struct bench *b, unsigned frame)
{
    hone_error error = {0};
    unsigned char *in = b->in[frame % BUFFERS], *out = b->out[frame % BUFFERS];
    const size_t luma = hone_image_bytes(&b->plane[0]);
    const hone_frame pushed = {.in = {in, in + luma}, .out = {out, out + luma}};
    need(hone_stream_push(b->stream, &pushed, &error), &error);
}

static void pull(struct bench *b)
{
    hone_error error = {0};
    hone_stream_result result;
    bool got = false;
    need(hone_stream_pull(b->stream, &result, &got, &error), &error);
    need(result.status, result.error);
}

/* A result keeps its slot until the next one is pulled. */
static double stream_rate(struct bench *b, double *processor)
{
    const double start = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    unsigned pulled = 0;
    for (unsigned frame = 0; frame < b->frames; frame++) {
        push(b, frame);
        for (; frame - pulled + 2 >= b->slots; pulled++)
            pull(b);
    }
    for (; pulled < b->frames; pulled++)
        pull(b);
    *processor = (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - used) / b->frames;
    return b->frames / (seconds_of(CLOCK_MONOTONIC) - start);
}

/* ---- What bounds it ---- */

static void open_bus(struct bench *b)
{
    for (int i = 0; i < WAYS; i++) {
        cl_int code = CL_SUCCESS;
        cl_context context = hone_device_cl_context(b->device);
        b->queue[i] = clCreateCommandQueue(context, hone_device_cl_device(b->device), 0, &code);
        check(code, "clCreateCommandQueue");
        b->buffer[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, b->bytes, NULL, &code);
        check(code, "clCreateBuffer");
    }
}

static double bus_rate(struct bench *b)
{
    const double start = seconds_of(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < b->frames; i++) {
        check(clEnqueueWriteBuffer(b->queue[0], b->buffer[0], CL_FALSE, 0, b->bytes, b->in[i % BUFFERS], 0,
                                   NULL, NULL),
              "clEnqueueWriteBuffer");
        check(clEnqueueReadBuffer(b->queue[1], b->buffer[1], CL_FALSE, 0, b->bytes, b->out[i % BUFFERS], 0,
                                  NULL, NULL),
              "clEnqueueReadBuffer");
        for (int way = 0; way < WAYS; way++)
            check(i % AT_ONCE == AT_ONCE - 1 || i + 1 == b->frames ? clFinish(b->queue[way])
                                                                   : clFlush(b->queue[way]),
                  "clFinish");
    }
    return b->frames / (seconds_of(CLOCK_MONOTONIC) - start);
}

static void open_kernels(struct bench *b)
{
    hone_error error = {0};
    unsigned char *in = b->in[0], *out = b->out[0];
    for (int i = 0; i < PLANES; i++) {
        const size_t at = i * hone_image_bytes(&b->plane[0]);
        need(hone_plan_create(&b->plan[i], b->device, b->chain, &b->plane[i], NULL, &error), &error);
        need(hone_image_wrap(&b->from[i], b->device, &b->plane[i], in + at, &error), &error);
        need(hone_image_wrap(&b->to[i], b->device, &b->plane[i], out + at, &error), &error);
    }
}

static double kernel_rate(struct bench *b)
{
    const double start = seconds_of(CLOCK_MONOTONIC);
    hone_error error = {0};
    for (unsigned i = 0; i < b->frames; i++)
        for (int plane = 0; plane < PLANES; plane++) {
            hone_event *done = NULL;
            need(hone_plan_run(b->plan[plane], b->from[plane], b->to[plane], NULL, 0, &done, &error), &error);
            need(hone_event_wait(done, &error), &error);
            hone_event_destroy(&done);
        }
    return b->frames / (seconds_of(CLOCK_MONOTONIC) - start);
}

/* ---- Both ---- */

static void *open_frame(const struct bench *b)
{
    hone_error error = {0};
    void *frame = b->any ? malloc(b->bytes) : NULL;
    if (!b->any)
        need(hone_frame_alloc(&frame, b->device, b->bytes, &error), &error);
    if (!frame)
        exit(1);
    memset(frame, 0, b->bytes);
    return frame;
}

static void open_frames(struct bench *b)
{
    for (int i = 0; i < BUFFERS; i++) {
        b->in[i] = open_frame(b);
        b->out[i] = open_frame(b);
        unsigned state = (unsigned)i + 1;
        for (size_t k = 0; k < b->bytes; k++)
            ((unsigned char *)b->in[i])[k] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
    }
}

static void open_all(struct bench *b, const char *chain)
{
    const hone_stream_options options = {.slots = b->slots};
    const hone_device_request request = {0};
    hone_error error = {0};
    need(hone_device_open(&b->device, &request, &error), &error);
    need(hone_chain_parse(&b->chain, chain, &error), &error);
    need(hone_stream_create(&b->stream, b->device, b->chain, b->plane, PLANES, &options, &error), &error);
    hone_stream_stats stats = {0};
    hone_stream_get_stats(b->stream, &stats);
    b->slots = stats.slots;
    open_frames(b);
    if (has_own_memory(b))
        open_bus(b);
    else
        open_kernels(b);
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return fprintf(stderr, "usage: stream CHAIN WIDTH HEIGHT SLOTS FRAMES ROUNDS [any]\n"), 2;
    const uint32_t width = (uint32_t)atoi(argv[2]), height = (uint32_t)atoi(argv[3]);
    struct bench b = {.plane = {{.width = width, .height = height, .type = HONE_U8, .channels = 1},
                                {.width = width / 2, .height = height / 2, .type = HONE_U8, .channels = 2}},
                      .slots = (unsigned)atoi(argv[4]),
                      .frames = (unsigned)atoi(argv[5]),
                      .any = argc > 7 && strcmp(argv[7], "any") == 0};
    double processor = 0;
    b.bytes = hone_image_bytes(&b.plane[0]) + hone_image_bytes(&b.plane[1]);
    if (b.slots == 1 || b.slots > BUFFERS || b.frames < 1)
        return fprintf(stderr, "stream: 2 to %d slots, or 0; one frame at least\n", (int)BUFFERS), 2;
    open_all(&b, argv[1]);
    const char *bound = has_own_memory(&b) ? "the bus" : "the kernels alone";
    printf("# %s: frames/s of the stream, of %s; us of processor time a frame; %zu bytes each way\n",
           hone_device_get_info(b.device)->name, bound, b.bytes);
    for (int round = 0; round < atoi(argv[6]); round++) {
        const double rate = stream_rate(&b, &processor),
                     most = has_own_memory(&b) ? bus_rate(&b) : kernel_rate(&b);
        printf("%.0f %.0f %.1f\n", rate, most, processor * 1e6);
        fflush(stdout);
    }
    return 0;
}
