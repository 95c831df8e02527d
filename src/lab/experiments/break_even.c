/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * From which size a filter pays: a plain C loop on one core against the filter with both transfers, and
 * against its kernels alone, for sides that double.
 */
#include "lab/experiments/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "hone/plan.h"
#include "image/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SIDE = 64, SIZES = 7, WAYS = 3 };
enum { WAY_PLAIN, WAY_WHOLE, WAY_KERNELS };

/* One channel of bytes becomes three. */
typedef void plain_loop(const uint8_t *in, uint8_t *out, int width, int height);

struct size_run {
    int side;
    hone_plan *plan;
    hone_image *in, *out;
    uint8_t *pixels, *result, *right;
    bool is_wrong[WAYS];
};

struct break_even {
    hone_device *device;
    plain_loop *plain;
    bool believed; /* the device's clock */
    int count;
    struct size_run sizes[SIZES];
};

/* ---- Plain C ---- */

static void rainbow(const uint8_t *in, uint8_t *out, int width, int height)
{
    uint8_t palette[256][3];
    for (int level = 0; level < 256; level++) {
        const int w = 4 * level, raw[3] = {w - 510, w < 510 ? w : 1020 - w, 510 - w};
        for (int c = 0; c < 3; c++)
            palette[level][c] = (uint8_t)(raw[c] < 0 ? 0 : raw[c] > 255 ? 255 : raw[c]);
    }
    for (size_t i = 0; i < (size_t)width * (size_t)height; i++) {
        const uint8_t *color = palette[in[i]];
        out[3 * i] = color[0];
        out[3 * i + 1] = color[1];
        out[3 * i + 2] = color[2];
    }
}

static int two(int a, int b)
{
    return (a + b + 1) >> 1;
}

static int four(int a, int b, int c, int d)
{
    return (a + b + c + d + 2) >> 2;
}

/* Red and green in even rows, green and blue in odd ones; the mosaic is mirrored at its first and last
 * samples. */
static void bayer(const uint8_t *in, uint8_t *out, int width, int height)
{
    for (int y = 0; y < height; y++) {
        const uint8_t *row = in + (size_t)y * width, *above = in + (size_t)(y > 0 ? y - 1 : 1) * width,
                      *below = in + (size_t)(y + 1 < height ? y + 1 : height - 2) * width;
        for (int x = 0; x < width; x++, out += 3) {
            const int l = x > 0 ? x - 1 : 1, r = x + 1 < width ? x + 1 : width - 2;
            const int across = two(row[l], row[r]), down = two(above[x], below[x]);
            const bool is_green = (x + y) & 1, is_red_row = !(y & 1);
            int own = row[x], green = own, other = across;
            if (is_green) {
                own = is_red_row ? across : down; /* red */
                other = is_red_row ? down : across;
            } else {
                green = four(row[l], row[r], above[x], below[x]);
                other = four(above[l], above[r], below[l], below[r]);
            }
            const bool swap = !is_green && !is_red_row;
            out[0] = (uint8_t)(swap ? other : own);
            out[1] = (uint8_t)green;
            out[2] = (uint8_t)(swap ? own : other);
        }
    }
}

/* ---- One size ---- */

static hone_status open_plan(struct break_even *b, struct size_run *s, const hone_image_desc *desc,
                             const char *filter, hone_error *error)
{
    hone_chain *chain = NULL;
    hone_status status = hone_chain_parse(&chain, filter, error);
    THEN(status, hone_plan_create(&s->plan, b->device, chain, desc, NULL, error));
    hone_chain_destroy(&chain);
    THEN(status, hone_image_create(&s->in, b->device, desc, HONE_MEMORY_DEVICE, error));
    THEN(status, hone_image_create(&s->out, b->device, hone_plan_output(s->plan), HONE_MEMORY_DEVICE, error));
    return status ? status : hone_image_upload(s->in, s->pixels, 0, NULL, 0, NULL, error);
}

static hone_status open_size(struct break_even *b, int side, const char *filter, hone_error *error)
{
    struct size_run *s = &b->sizes[b->count++];
    const hone_image_desc desc = {
        .width = (uint32_t)side, .height = (uint32_t)side, .type = HONE_U8, .channels = 1};
    struct view view = view_new(&desc);
    const size_t pixels = (size_t)side * (size_t)side;
    s->side = side;
    s->pixels = view.data;
    s->result = mem_new(pixels, 3);
    s->right = mem_new(pixels, 3);
    if (!s->pixels || !s->result || !s->right)
        return error_memory(error, "the experiment");
    pattern_fill(&view, PATTERN_RANDOM, 5);
    return open_plan(b, s, &desc, filter, error);
}

static void close_size(struct size_run *s)
{
    hone_plan_destroy(&s->plan);
    hone_image_destroy(&s->in);
    hone_image_destroy(&s->out);
    free(s->pixels);
    free(s->result);
    free(s->right);
}

static hone_status run_kernels_alone(struct break_even *b, struct size_run *s, double *ms, hone_error *error)
{
    hone_event *done = NULL;
    hone_durations durations;
    const uint64_t start = clock_ns();
    hone_status status = hone_plan_run(s->plan, s->in, s->out, NULL, 0, &done, error);
    THEN(status, hone_device_finish(b->device, error));
    *ms = (double)(clock_ns() - start) * 1e-6;
    if (!status && b->believed && hone_event_durations(done, &durations, NULL) == HONE_OK)
        *ms = (double)durations.kernels * 1e-6;
    hone_event_destroy(&done);
    return status ? status : hone_image_download(s->out, s->result, 0, NULL, 0, NULL, error);
}

static hone_status run_way(void *context, size_t arm, double *ms, hone_error *error)
{
    struct break_even *b = context;
    struct size_run *s = &b->sizes[arm / WAYS];
    const size_t bytes = 3 * (size_t)s->side * (size_t)s->side;
    hone_status status = HONE_OK;
    const uint64_t start = clock_ns();
    if (arm % WAYS == WAY_PLAIN)
        b->plain(s->pixels, s->right, s->side, s->side);
    else if (arm % WAYS == WAY_WHOLE)
        status = hone_plan_apply(s->plan, s->pixels, 0, s->result, 0, error);
    *ms = (double)(clock_ns() - start) * 1e-6;
    if (arm % WAYS == WAY_KERNELS)
        status = run_kernels_alone(b, s, ms, error);
    if (!status && arm % WAYS != WAY_PLAIN)
        s->is_wrong[arm % WAYS] |= memcmp(s->result, s->right, bytes) != 0;
    memset(s->result, 0, bytes);
    return status;
}

/* ---- All sizes ---- */

static void add_arms(struct break_even *b, struct experiment_result *result, int side, const char *filter)
{
    static const char *const titles[WAYS] = {"a plain C loop on one core", "OpenCL with both transfers",
                                             "its kernels alone"};
    static const char *const words[WAYS] = {"C", "OpenCL", "kernels"};
    hone_error error = {0};
    const bool failed = open_size(b, side, filter, &error) != HONE_OK;
    for (int w = 0; w < WAYS; w++) {
        char name[64];
        snprintf(name, sizeof name, "%dx%d %s", side, side, words[w]);
        struct arm_result *arm = arm_add(result, name, titles[w]);
        if (arm && failed)
            arm_fails(arm, &error);
    }
}

/* The least size from which OpenCL wins at every size that follows; by `way`. 0: at none. */
static int break_even(const struct break_even *b, const struct experiment_result *result, int way)
{
    int from = 0;
    for (int i = b->count - 1; i >= 0; i--) {
        const struct arm_result *arms = &result->arms[i * WAYS];
        if (!arms[WAY_PLAIN].ran || !arms[way].ran || arms[way].ms >= arms[WAY_PLAIN].ms)
            break;
        from = b->sizes[i].side;
    }
    return from;
}

static void say(const struct break_even *b, struct experiment_result *result)
{
    const int whole = break_even(b, result, WAY_WHOLE), kernels = break_even(b, result, WAY_KERNELS);
    char from[2][64];
    const int sides[2] = {whole, kernels};
    for (int i = 0; i < 2; i++)
        if (sides[i])
            snprintf(from[i], sizeof from[i], "from %dx%d on", sides[i], sides[i]);
        else
            snprintf(from[i], sizeof from[i], "at none of these sizes");
    snprintf(result->seen, sizeof result->seen,
             "with both transfers OpenCL is faster than the plain C loop %s; without them %s", from[0],
             from[1]);
}

static hone_status run_both(const struct experiment *e, hone_device *device, struct experiment_result *result,
                            plain_loop *plain, hone_error *error)
{
    struct break_even b = {.device = device, .plain = plain, .believed = timing_clock_of(device).believed};
    if (result->width < LEAST_SIDE)
        return error_usage(error, "this experiment begins with %dx%d", LEAST_SIDE, LEAST_SIDE);
    for (int side = LEAST_SIDE; side <= (int)result->width && b.count < SIZES; side *= 2)
        add_arms(&b, result, side, e->file);
    take_turns(result, run_way, &b);
    for (size_t a = 0; a < result->count; a++) {
        compare_with(&result->arms[a], &result->arms[a - a % WAYS]);
        if (result->arms[a].ran && a % WAYS != WAY_PLAIN)
            result->arms[a].verdict = b.sizes[a / WAYS].is_wrong[a % WAYS] ? ROW_WRONG : ROW_RIGHT;
    }
    result->by_host = !b.believed;
    say(&b, result);
    for (int i = 0; i < b.count; i++)
        close_size(&b.sizes[i]);
    return HONE_OK;
}

hone_status run_bayer(const struct experiment *e, hone_device *device, struct experiment_result *result,
                      hone_error *error)
{
    return run_both(e, device, result, bayer, error);
}

hone_status run_rainbow(const struct experiment *e, hone_device *device, struct experiment_result *result,
                        hone_error *error)
{
    return run_both(e, device, result, rainbow, error);
}
