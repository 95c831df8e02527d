/* SPDX-License-Identifier: BSD-2-Clause */
/* A camera: NV12 frames in a ring of buffers that the device reads and writes itself, so that the processor
 * copies nothing. hone filters the luma of each while the next ones are captured, and hands it to a callback;
 * the strength changes on the way. */
#include <hone/hone.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum {
    WIDTH = 1280,
    HEIGHT = 720,
    PITCH = 1344,
    BYTES = PITCH * HEIGHT * 3 / 2,
    FRAMES = 60,
    CHANGE = 30,
    BUFFERS = 6
};

struct buffer {
    int frame;
    bool busy;               /* from capture until it was shown */
    unsigned char *captured; /* luma and chroma */
    unsigned char *filtered; /* luma; the chroma stays where it is */
};

struct camera {
    pthread_mutex_t lock; /* over `busy` */
    pthread_cond_t shown;
    struct buffer buffers[BUFFERS];
    int frames, wrong;
};

static unsigned char luma(int frame, int x, int y)
{
    x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return (unsigned char)((x + 3 * frame) ^ (y + frame));
}

/* The mean of the neighbours that differ from the centre by at most the threshold. */
static int expected(int frame, int x, int y)
{
    const int threshold = frame < CHANGE ? 8 : 24, centre = luma(frame, x, y);
    int sum = 0, count = 0;
    for (int i = 0; i < 9; i++) {
        const int value = luma(frame, x + i % 3 - 1, y + i / 3 - 1);
        const bool near = value - centre <= threshold && centre - value <= threshold;
        sum += near ? value : 0;
        count += near;
    }
    return (2 * sum + count) / (2 * count);
}

/* Compares every 45th row with the plain loop; chroma must be as it was captured. */
static int count_wrong(int frame, const unsigned char *filtered, const unsigned char *captured)
{
    int wrong = 0;
    for (int y = frame % 45; y < HEIGHT; y += 45)
        for (int x = 0; x < WIDTH; x++)
            wrong += filtered[y * PITCH + x] != expected(frame, x, y);
    for (int i = PITCH * HEIGHT; i < BYTES; i += 997)
        wrong += captured[i] != (unsigned char)(i + frame);
    return wrong;
}

static void capture(struct buffer *buffer, int frame)
{
    unsigned char *captured = buffer->captured;
    buffer->frame = frame;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            captured[y * PITCH + x] = luma(frame, x, y);
    for (int i = PITCH * HEIGHT; i < BYTES; i++)
        captured[i] = (unsigned char)(i + frame);
}

/* Called for each frame, in order. */
static void show(void *user, const hone_stream_result *result)
{
    struct camera *camera = user;
    struct buffer *buffer = result->user;
    if (result->status)
        fprintf(stderr, "frame %d: %s\n", buffer->frame, result->error->message);
    camera->wrong += result->status || buffer->frame != camera->frames
                         ? 1
                         : count_wrong(buffer->frame, result->planes[0], buffer->captured);
    camera->frames++;
    pthread_mutex_lock(&camera->lock);
    buffer->busy = false;
    pthread_cond_signal(&camera->shown);
    pthread_mutex_unlock(&camera->lock);
}

static void wait_for_buffer(struct camera *camera, struct buffer *buffer)
{
    pthread_mutex_lock(&camera->lock);
    while (buffer->busy)
        pthread_cond_wait(&camera->shown, &camera->lock);
    buffer->busy = true;
    pthread_mutex_unlock(&camera->lock);
}

static hone_status record(struct camera *camera, hone_stream *stream, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int frame = 0; frame < FRAMES && !status; frame++) {
        struct buffer *buffer = &camera->buffers[frame % BUFFERS];
        wait_for_buffer(camera, buffer);
        capture(buffer, frame);
        if (frame == CHANGE) /* for the frames from this one on; those before are not disturbed */
            status = hone_stream_set(stream, 0, "threshold=24", error);
        if (!status)
            status = hone_stream_push(stream,
                                      &(hone_frame){.in = {buffer->captured},
                                                    .out = {buffer->filtered},
                                                    .out_pitch = {PITCH},
                                                    .user = buffer},
                                      error);
    }
    return status ? status : hone_stream_flush(stream, error);
}

/* They are freed with the device. */
static hone_status make_buffers(struct camera *camera, hone_device *device, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < BUFFERS && !status; i++) {
        void *captured = NULL, *filtered = NULL;
        status = hone_frame_alloc(&captured, device, BYTES, error);
        if (!status)
            status = hone_frame_alloc(&filtered, device, (size_t)PITCH * HEIGHT, error);
        camera->buffers[i] = (struct buffer){.captured = captured, .filtered = filtered};
    }
    return status;
}

int main(void)
{
    struct camera camera = {.lock = PTHREAD_MUTEX_INITIALIZER, .shown = PTHREAD_COND_INITIALIZER};
    const hone_stream_options options = {.callback = show, .user = &camera};
    hone_image_desc plane;
    hone_device *device = NULL;
    hone_chain *chain = NULL;
    hone_stream *stream = NULL;
    hone_stream_stats stats;
    struct timespec begin, end;
    hone_error error;
    size_t offset;
    bool failed = hone_frame_plane(HONE_NV12, WIDTH, HEIGHT, PITCH, 0, &plane, &offset, &error) ||
                  hone_device_open(&device, &(hone_device_request){.out_of_order = true}, &error) ||
                  hone_chain_parse(&chain, "epsilon radius=1 threshold=8", &error) ||
                  hone_stream_create(&stream, device, chain, &plane, 1, &options, &error) ||
                  make_buffers(&camera, device, &error);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    failed = failed || record(&camera, stream, &error);
    clock_gettime(CLOCK_MONOTONIC, &end);
    hone_stream_get_stats(stream, &stats);
    hone_stream_destroy(&stream);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
    if (failed)
        return fprintf(stderr, "%s\n", error.message), 1;
    double seconds = difftime(end.tv_sec, begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    const unsigned long long copies = stats.copies_in.count + stats.copies_out.count;
    printf("%.0f frames per second, capturing and checking included; slowest stage: %s; %llu frames copied "
           "by the "
           "processor, %d pixels wrong\n",
           FRAMES / seconds, hone_stream_stage_name(stats.bottleneck), copies, camera.wrong);
    return camera.wrong != 0 || camera.frames != FRAMES;
}
