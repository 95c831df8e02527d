/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/pattern.h"

#include "base/mem.h"

#include <math.h>

static const char *const names[PATTERN_COUNT] = {"random", "least", "most",   "impulse",
                                                 "ramp",   "steps", "special"};

const char *pattern_name(enum pattern pattern)
{
    return (unsigned)pattern < COUNT_OF(names) ? names[pattern] : "?";
}

uint32_t pattern_random(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

struct fill {
    struct view *view;
    enum pattern pattern;
    uint32_t state;
    double most;  /* of the format, or the span used for f32 */
    double least; /* of an integer format */
};

static double special(struct fill *f)
{
    uint32_t dice = pattern_random(&f->state) % 64;
    if (f->view->desc.type != HONE_F32)
        return dice < 32 ? f->least : f->most;
    return dice == 0 ? NAN : dice == 1 ? INFINITY : dice == 2 ? -INFINITY : (double)dice / 64 - 0.5;
}

static double uniform(struct fill *f)
{
    double unit = pattern_random(&f->state) / 4294967296.0;
    return f->view->desc.type == HONE_F32 ? unit : f->least + floor(unit * (f->most - f->least + 1));
}

static double value_at(struct fill *f, int64_t x, int64_t y, uint32_t channel)
{
    const hone_image_desc *d = &f->view->desc;
    switch (f->pattern) {
    case PATTERN_RANDOM:
        return uniform(f);
    case PATTERN_LEAST:
        return d->type == HONE_F32 ? -f->most : f->least;
    case PATTERN_MOST:
        return f->most;
    case PATTERN_IMPULSE:
        return x == d->width / 2 && y == d->height / 2 ? f->most : 0;
    case PATTERN_RAMP:
        return fmod((double)(x * 3 + y * 7 + channel * 50), 250) * (d->type == HONE_F32 ? 0.01 : 1) -
               (d->type == HONE_S16 ? 125 : 0);
    case PATTERN_STEPS: {
        double base = (double)((x / 5 + y / 4) % 3 + 1) * f->most / 5;
        double noise =
            ((double)(pattern_random(&f->state) % 41) - 20) * (d->type == HONE_F32 ? f->most / 255 : 1);
        return fmax(0, fmin(f->most, d->type == HONE_F32 ? base + noise : floor(base + noise)));
    }
    default:
        return special(f);
    }
}

void pattern_fill(struct view *view, enum pattern pattern, uint32_t seed)
{
    struct fill fill = {view, pattern, seed * 2654435761u | 1, type_full_scale(view->desc.type),
                        view->desc.type == HONE_S16 ? INT16_MIN : 0};
    if (view->desc.type == HONE_F32 && (pattern == PATTERN_MOST || pattern == PATTERN_LEAST))
        fill.most = 1e6;
    for (int64_t y = 0; y < view->desc.height; y++)
        for (int64_t x = 0; x < view->desc.width; x++)
            for (uint32_t channel = 0; channel < view->desc.channels; channel++)
                view_set(view, x, y, channel, value_at(&fill, x, y, channel));
}
