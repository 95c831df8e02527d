/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/check.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct wait_list no_wait;

static double largest_magnitude(const struct view *view)
{
    double largest = 0;
    for (int64_t y = 0; y < view->desc.height; y++)
        for (int64_t x = 0; x < view->desc.width; x++)
            for (uint32_t channel = 0; channel < view->desc.channels; channel++) {
                double value = fabs(view_get(view, x, y, channel));
                if (isfinite(value) && value > largest)
                    largest = value;
            }
    return largest;
}

static bool make_seconds(struct check *check, uint32_t seed)
{
    for (unsigned i = 0; i <= check->c.fused_count; i++) {
        const struct filter_case *member = case_member(&check->c, i);
        if (member->filter->inputs < 2)
            continue;
        check->second[i] = view_new(&member->second);
        if (!check->second[i].data)
            return false;
        pattern_fill(&check->second[i], PATTERN_RANDOM, seed + 1 + i);
    }
    return true;
}

/* All but what the reference makes of the picture. */
static hone_status make_pictures(struct check *check, const struct filter_case *c, enum pattern pattern,
                                 uint32_t seed, hone_error *error)
{
    *check = (struct check){0};
    TRY(case_copy(&check->c, c, error));
    check->in = view_new(case_input(&check->c));
    check->expected = view_new(case_result(&check->c));
    if (!check->in.data || !check->expected.data || !make_seconds(check, seed)) {
        check_finish(check);
        return error_memory(error, "a check");
    }
    pattern_fill(&check->in, pattern, seed);
    return HONE_OK;
}

void check_finish(struct check *check)
{
    view_finish(&check->in);
    for (int i = 0; i <= MAX_FUSED; i++)
        view_finish(&check->second[i]);
    view_finish(&check->expected);
    case_finish(&check->c);
}

/* A picture inside a larger buffer. */
struct frame {
    hone_image_desc desc;
    size_t offset, pitch, bytes;
    uint8_t *host;
    uint8_t *wrapped; /* what memory is wrapped around, or NULL */
    struct memory *memory;
};

enum { TAIL = 64, /* poisoned bytes behind the last row */ WRAP_ALIGN = 4096 };

/* Callers' memory begins wherever an element may. */
static hone_status frame_wrap(struct frame *frame, hone_device *device, size_t shift, hone_error *error)
{
    void *aligned = NULL;
    if (posix_memalign(&aligned, WRAP_ALIGN, frame->bytes + shift) != 0)
        return error_memory(error, "a check");
    frame->wrapped = aligned;
    return memory_wrap(&frame->memory, device, frame->wrapped + shift, frame->bytes, error);
}

static hone_status frame_init(struct frame *frame, hone_device *device, const hone_image_desc *desc,
                              struct check_layout layout, hone_error *error)
{
    size_t element = hone_type_size(desc->type);
    frame->desc = *desc;
    frame->pitch = hone_image_row_bytes(desc) + layout.pad * element;
    frame->offset = layout.offset * element;
    frame->bytes = frame->offset + frame->pitch * desc->height + (layout.pad || layout.offset ? TAIL : 0);
    frame->host = mem_new(frame->bytes, 1);
    if (!frame->host)
        return error_memory(error, "a check");
    if (layout.shift && memory_can_wrap(device, frame->host + layout.shift * element, frame->bytes))
        return frame_wrap(frame, device, layout.shift * element, error);
    return memory_create(&frame->memory, device, frame->bytes, HONE_MEMORY_DEVICE, error);
}

static void frame_finish(struct frame *frame)
{
    memory_destroy(&frame->memory);
    free(frame->wrapped);
    free(frame->host);
}

static struct view frame_view(struct frame *frame)
{
    struct view view = {frame->desc, frame->host + frame->offset};
    view.desc.pitch = frame->pitch;
    return view;
}

static hone_status frame_move(struct frame *frame, bool to_device, hone_error *error)
{
    const struct span span = {0, frame->bytes, frame->bytes, 1};
    return to_device ? memory_write(frame->memory, &span, frame->host, frame->bytes, no_wait, NULL, error)
                     : memory_read(frame->memory, &span, frame->host, frame->bytes, no_wait, NULL, error);
}

/* Poison around the pixels: NaN in floats, noise in integers. */
static hone_status frame_load(struct frame *frame, const struct view *picture, hone_error *error)
{
    size_t row = hone_image_row_bytes(&frame->desc);
    memset(frame->host, 0xff, frame->bytes);
    for (uint32_t y = 0; y < frame->desc.height; y++)
        memcpy(frame->host + frame->offset + y * frame->pitch, (const char *)picture->data + y * row, row);
    return frame_move(frame, true, error);
}

static uint64_t count_damage(const struct frame *frame, uint8_t poison)
{
    size_t row = hone_image_row_bytes(&frame->desc);
    uint64_t damaged = 0;
    for (size_t i = 0; i < frame->bytes; i++) {
        size_t inside = i - frame->offset;
        bool pixel =
            i >= frame->offset && inside / frame->pitch < frame->desc.height && inside % frame->pitch < row;
        damaged += !pixel && frame->host[i] != poison;
    }
    return damaged;
}

static bool close_enough(double got, double wanted, double bound, double *difference)
{
    *difference = 0;
    if (isnan(got) || isnan(wanted))
        return isnan(got) && isnan(wanted);
    if (isinf(got) || isinf(wanted))
        return got == wanted;
    *difference = fabs(got - wanted);
    return *difference <= bound;
}

/* Large results are compared often, so rows in which all is well are passed over at the speed of plain loops.
 * NaN and infinities fail here and get a closer look. */
#define ROW_CLOSE(NAME, TYPE)                                                                                \
    static bool NAME(const void *got, const void *wanted, size_t count, double bound, double *largest)       \
    {                                                                                                        \
        const TYPE *a = got, *b = wanted;                                                                    \
        size_t far = 0;                                                                                      \
        double most = 0;                                                                                     \
        for (size_t i = 0; i < count; i++) {                                                                 \
            double difference = fabs((double)a[i] - (double)b[i]);                                           \
            far += !(difference <= bound);                                                                   \
            most = difference > most ? difference : most;                                                    \
        }                                                                                                    \
        if (far == 0 && most > *largest)                                                                     \
            *largest = most;                                                                                 \
        return far == 0;                                                                                     \
    }

ROW_CLOSE(row_close_u8, uint8_t)
ROW_CLOSE(row_close_u16, uint16_t)
ROW_CLOSE(row_close_s16, int16_t)
ROW_CLOSE(row_close_u32, uint32_t)
ROW_CLOSE(row_close_f32, float)

static bool row_close(const struct view *got, const struct view *wanted, int64_t y, double bound,
                      double *largest)
{
    static bool (*const by_type[])(const void *, const void *, size_t, double, double *) = {
        [HONE_U8] = row_close_u8,   [HONE_U16] = row_close_u16, [HONE_S16] = row_close_s16,
        [HONE_U32] = row_close_u32, [HONE_F32] = row_close_f32,
    };
    const hone_image_desc *d = &wanted->desc;
    const char *a = (const char *)got->data + (size_t)y * hone_image_pitch(&got->desc),
               *b = (const char *)wanted->data + (size_t)y * hone_image_pitch(d);
    return memcmp(a, b, hone_image_row_bytes(d)) == 0 ||
           by_type[d->type](a, b, (size_t)d->width * d->channels, bound, largest);
}

static void compare_row(const struct view *got, const struct view *wanted, int64_t y, double bound,
                        struct check_result *result)
{
    for (int64_t x = 0; x < wanted->desc.width; x++)
        for (uint32_t channel = 0; channel < wanted->desc.channels; channel++) {
            double a = view_get(got, x, y, channel), b = view_get(wanted, x, y, channel), difference;
            bool fine = close_enough(a, b, bound, &difference);
            if (difference > result->largest)
                result->largest = difference;
            if (fine)
                continue;
            if (result->wrong++ == 0) {
                result->x = x;
                result->y = y;
                result->channel = channel;
                result->got = a;
                result->wanted = b;
            }
        }
}

void check_compare(const struct view *got, const struct view *wanted, double bound,
                   struct check_result *result)
{
    for (int64_t y = 0; y < wanted->desc.height; y++)
        if (!row_close(got, wanted, y, bound, &result->largest))
            compare_row(got, wanted, y, bound, result);
    result->bound = bound;
}

struct bench {
    struct instance *instance;
    bool keep_scratch;
    struct frame in, out, second[MAX_FUSED + 1];
};

static hone_status bench_init(struct bench *bench, const struct check *check, hone_device *device,
                              const struct variant *variant, const struct config *config,
                              struct check_layout layout, hone_error *error)
{
    bench->keep_scratch = layout.keep_scratch;
    hone_status status = instance_create(&bench->instance, device, &check->c, variant, config, error);
    THEN(status, frame_init(&bench->in, device, &check->in.desc, layout, error));
    THEN(status, frame_load(&bench->in, &check->in, error));
    for (unsigned i = 0; i <= check->c.fused_count && !status; i++)
        if (check->second[i].data) {
            status = frame_init(&bench->second[i], device, &check->second[i].desc, layout, error);
            THEN(status, frame_load(&bench->second[i], &check->second[i], error));
        }
    return status ? status : frame_init(&bench->out, device, &check->expected.desc, layout, error);
}

static void bench_finish(struct bench *bench)
{
    instance_destroy(&bench->instance);
    frame_finish(&bench->in);
    frame_finish(&bench->out);
    for (int i = 0; i <= MAX_FUSED; i++)
        frame_finish(&bench->second[i]);
}

static struct surface frame_surface(const struct frame *frame)
{
    return (struct surface){frame->memory, frame->offset, frame->pitch};
}

static struct surfaces bench_surfaces(const struct bench *bench, const struct filter_case *c)
{
    struct surfaces surfaces = {.in = frame_surface(&bench->in), .out = frame_surface(&bench->out)};
    for (unsigned i = 0; i <= c->fused_count; i++) {
        struct surface *place =
            i == c->before ? &surfaces.second : &surfaces.fused[i < c->before ? i : i - 1];
        *place = frame_surface(&bench->second[i]);
    }
    return surfaces;
}

static hone_status run_once(struct bench *bench, hone_device *device, uint8_t poison, hone_error *error)
{
    const struct surfaces surfaces = bench_surfaces(bench, instance_case(bench->instance));
    hone_event *done = NULL;
    memset(bench->out.host, poison, bench->out.bytes);
    hone_status status = frame_move(&bench->out, true, error);
    if (!status && !bench->keep_scratch)
        status = instance_fill_scratch(bench->instance, poison, error);
    THEN(status, instance_enqueue(bench->instance, &surfaces, no_wait, &done, error));
    if (!status)
        status = hone_event_wait(done, error);
    else
        hone_device_finish(device, NULL);
    hone_event_destroy(&done);
    return status ? status : frame_move(&bench->out, false, error);
}

/* The second run, over another poison, shows what was never written, or read before it was: there the results
 * differ. */
static hone_status run_again(struct bench *bench, const struct check *check, hone_device *device,
                             uint8_t poison, double bound, struct check_result *result, hone_error *error)
{
    struct check_result second = {0}, between = {0};
    struct view first = view_new(&bench->out.desc), got = frame_view(&bench->out);
    if (!first.data)
        return error_memory(error, "a check");
    size_t row = hone_image_row_bytes(&first.desc);
    for (uint32_t y = 0; y < first.desc.height; y++)
        memcpy((char *)first.data + y * row, (const char *)got.data + y * got.desc.pitch, row);
    hone_status status = run_once(bench, device, poison, error);
    if (!status) {
        check_compare(&got, &check->expected, bound, &second);
        check_compare(&got, &first, 2 * bound, &between); /* sums may be taken in another order */
        result->damaged += count_damage(&bench->out, poison);
        result->unsteady = between.wrong;
        result->right = result->wrong == 0 && second.wrong == 0 && between.wrong == 0 && result->damaged == 0;
    }
    view_finish(&first);
    return status;
}

static hone_status run_twice(struct bench *bench, const struct check *check, hone_device *device,
                             double bound, struct check_result *result, hone_error *error)
{
    enum { FIRST_POISON = 0x5a, SECOND_POISON = 0xda }; /* as floats, far beyond any result */
    TRY(run_once(bench, device, FIRST_POISON, error));
    struct view got = frame_view(&bench->out);
    check_compare(&got, &check->expected, bound, result);
    result->damaged = count_damage(&bench->out, FIRST_POISON);
    return run_again(bench, check, device, SECOND_POISON, bound, result, error);
}

/* The first variant with its defaults, where there is no other reference. */
static hone_status refer_to_first(struct check *check, hone_device *device, hone_error *error)
{
    const struct check_layout tight = {0};
    const struct variant *first = &check->c.filter->variants[0];
    struct bench bench = {0};
    struct config config;
    config_default(first, &config);
    hone_status status = bench_init(&bench, check, device, first, &config, tight, error);
    THEN(status, run_once(&bench, device, 0, error));
    const size_t row = status ? 0 : hone_image_row_bytes(&check->expected.desc);
    const size_t pitch = status ? 0 : hone_image_pitch(&check->expected.desc);
    for (uint32_t y = 0; y < check->expected.desc.height && !status; y++)
        memcpy((char *)check->expected.data + y * pitch, bench.out.host + y * bench.out.pitch, row);
    bench_finish(&bench);
    return status;
}

hone_status check_init(struct check *check, hone_device *device, const struct filter_case *c,
                       enum pattern pattern, uint32_t seed, hone_error *error)
{
    TRY(make_pictures(check, c, pattern, seed, error));
    hone_status status = check->c.filter->reference
                             ? case_reference(&check->c, &check->in, check->second, &check->expected, error)
                             : refer_to_first(check, device, error);
    if (status) {
        check_finish(check);
        return status;
    }
    check->magnitude = largest_magnitude(&check->in);
    if (check->c.border == HONE_BORDER_CONSTANT && fabs(check->c.border_value) > check->magnitude)
        check->magnitude = fabs(check->c.border_value);
    return HONE_OK;
}

hone_status check_run(const struct check *check, hone_device *device, const struct variant *variant,
                      const struct config *config, struct check_layout layout, struct check_result *result,
                      hone_error *error)
{
    struct bench bench = {0};
    double bound = case_bound(&check->c, variant, check->magnitude);
    *result = (struct check_result){0};
    hone_status status = bench_init(&bench, check, device, variant, config, layout, error);
    THEN(status, run_twice(&bench, check, device, bound, result, error));
    bench_finish(&bench);
    return status;
}

hone_status check_launch(hone_device *device, const struct filter_case *c, const struct variant *variant,
                         const struct config *config, hone_error *error)
{
    const struct check_layout tight = {0};
    struct check check;
    struct bench bench = {0};
    TRY(make_pictures(&check, c, PATTERN_RANDOM, 1, error));
    hone_status status = bench_init(&bench, &check, device, variant, config, tight, error);
    THEN(status, run_once(&bench, device, 0, error));
    bench_finish(&bench);
    check_finish(&check);
    return status;
}

void check_explain(const struct check_result *r, struct text *out)
{
    if (r->right) {
        text_add(out, "right: largest difference %g, allowed %g", r->largest, r->bound);
        return;
    }
    if (r->wrong)
        text_add(
            out,
            "pixel (%lld,%lld) channel %u is %.9g, should be %.9g (allowed difference %g); %llu elements are "
            "wrong",
            (long long)r->x, (long long)r->y, r->channel, r->got, r->wanted, r->bound,
            (unsigned long long)r->wrong);
    if (r->unsteady)
        text_add(out, "%s%llu elements are never written, or differ from run to run", r->wrong ? "; " : "",
                 (unsigned long long)r->unsteady);
    if (r->damaged)
        text_add(out, "%s%llu bytes outside the result were changed", r->wrong || r->unsteady ? "; " : "",
                 (unsigned long long)r->damaged);
}
