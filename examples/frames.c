/* SPDX-License-Identifier: BSD-2-Clause */
/* A plan run per frame: two slots of wrapped memory, so that one frame is filtered while the other is made or
 * checked. */
#include <hone/hone.h>
#include <stdio.h>
#include <time.h>

enum { WIDTH = 1280, HEIGHT = 720, FRAMES = 60, CHANGE = 30, SLOTS = 2 };

struct slot {
    hone_image *in, *out;
    hone_event *done; /* its out_pixels are complete */
};

/* Page-aligned, and whole pages: then GPUs that share memory with the host copy nothing either. */
static _Alignas(4096) unsigned char in_pixels[SLOTS][HEIGHT][WIDTH], out_pixels[SLOTS][HEIGHT][WIDTH];

static unsigned char pixel(int frame, int x, int y)
{
    x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return (unsigned char)((x + 3 * frame) ^ (y + frame));
}

/* Compares every 45th row with the plain loop. */
static int count_wrong(int frame, unsigned char (*result)[WIDTH])
{
    int wrong = 0, size = frame < CHANGE ? 3 : 5, area = size * size;
    for (int y = frame % 45; y < HEIGHT; y += 45)
        for (int x = 0; x < WIDTH; x++) {
            int sum = area / 2;
            for (int i = 0; i < area; i++)
                sum += pixel(frame, x + i % size - size / 2, y + i / size - size / 2);
            wrong += result[y][x] != sum / area;
        }
    return wrong;
}

/* Enqueues a frame and returns at once: upload and download move pixels only where the device has memory of
 * its own. */
static hone_status start(int frame, struct slot *slot, unsigned char (*pixels)[WIDTH], hone_plan *plan,
                         hone_error *e)
{
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i / WIDTH][i % WIDTH] = pixel(frame, i % WIDTH, i / WIDTH);
    hone_status status = hone_image_upload(slot->in, NULL, 0, NULL, 0, NULL, e);
    if (!status &&
        frame == CHANGE) /* another window: an argument of the kernel, so nothing is compiled again */
        status = hone_plan_set(plan, 0, "size=5", e);
    status = status ? status : hone_plan_run(plan, slot->in, slot->out, NULL, 0, NULL, e);
    return status ? status : hone_image_download(slot->out, NULL, 0, NULL, 0, &slot->done, e);
}

static hone_status run(hone_plan *plan, struct slot *slots, int *wrong, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int frame = 0, s = 0; frame < FRAMES + SLOTS && !status; s = ++frame % SLOTS) {
        if (slots[s].done && !(status = hone_event_wait(slots[s].done, error)))
            *wrong += count_wrong(frame - SLOTS, out_pixels[s]);
        hone_event_destroy(&slots[s].done);
        if (!status && frame < FRAMES)
            status = start(frame, &slots[s], in_pixels[s], plan, error);
    }
    return status;
}

int main(void)
{
    const hone_image_desc desc = {WIDTH, HEIGHT, HONE_U8, .channels = 1};
    struct slot slots[SLOTS] = {0};
    hone_device *device = NULL;
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    struct timespec begin, end;
    hone_error error;
    int wrong = 0;
    bool failed = hone_device_open(&device, NULL, &error) || hone_chain_parse(&chain, "box size=3", &error) ||
                  hone_plan_create(&plan, device, chain, &desc, NULL, &error);
    for (int s = 0; s < SLOTS && !failed; s++)
        failed = hone_image_wrap(&slots[s].in, device, &desc, in_pixels[s], &error) ||
                 hone_image_wrap(&slots[s].out, device, &desc, out_pixels[s], &error);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    failed = failed || run(plan, slots, &wrong, &error);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (failed)
        return fprintf(stderr, "%s\n", error.message), 1;
    double seconds = difftime(end.tv_sec, begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.0f frames per second, making and checking included; %s; %d pixels wrong\n", FRAMES / seconds,
           hone_image_is_zero_copy(slots[0].in) ? "zero copy" : "copied", wrong);
    hone_plan_destroy(&plan); /* waits for what is still under way */
    for (int s = 0; s < SLOTS; s++) {
        hone_event_destroy(&slots[s].done);
        hone_image_destroy(&slots[s].in);
        hone_image_destroy(&slots[s].out);
    }
    hone_chain_destroy(&chain);
    hone_device_close(&device);
    return wrong != 0;
}
