/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/compare.h"

#include "image/view.h"

#include <math.h>

/* Sums in double precision: the squares of 2^30 differences of 2^16 still keep 15 digits of their mean. */
struct sums {
    double absolute, squares;
};

static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) : (double)INFINITY;
}

static void add(struct difference *d, struct sums *sums, double a, double b, uint32_t x, uint32_t y,
                uint32_t channel)
{
    const double far = distance(a, b);
    d->elements++;
    if (far == 0)
        return;
    if (d->differing++ == 0 || far > d->largest) {
        d->largest = far;
        d->x = x;
        d->y = y;
        d->channel = channel;
        d->a = a;
        d->b = b;
    }
    sums->absolute += far;
    sums->squares += far * far;
}

static void settle(struct difference *d, const struct sums *sums, double peak)
{
    const double count = (double)d->elements;
    d->mean = count > 0 ? sums->absolute / count : 0;
    d->psnr = sums->squares > 0 ? 10 * log10(peak * peak * count / sums->squares) : (double)INFINITY;
}

/* All channels together follow from the single ones; the largest is the first one in reading order. Mean and
 * PSNR are still to be settled. */
static void join(struct difference *all, const struct difference *d)
{
    const bool earlier = d->y < all->y || (d->y == all->y && d->x < all->x);
    const bool leads = d->differing && (!all->differing || d->largest > all->largest ||
                                        (!(d->largest < all->largest) && earlier));
    struct difference next = leads ? *d : *all;
    next.elements = all->elements + d->elements;
    next.differing = all->differing + d->differing;
    *all = next;
}

static struct sums sums_of(const struct difference *d, double peak)
{
    const double count = (double)d->elements;
    return (struct sums){count > 0 ? d->mean * count : 0,
                         d->differing ? peak * peak * count * pow(10, -d->psnr / 10) : 0};
}

void compare_join(struct difference *all, const struct difference *d, hone_type type)
{
    const double peak = type_full_scale(type);
    const struct sums before = sums_of(all, peak), more = sums_of(d, peak);
    const struct sums sums = {before.absolute + more.absolute, before.squares + more.squares};
    join(all, d);
    settle(all, &sums, peak);
}

void compare_pixels(struct comparison *out, const hone_image_desc *desc, unsigned mask, const void *a,
                    const void *b)
{
    struct sums sums[4] = {{0}}, all = {0};
    const double peak = type_full_scale(desc->type);
    size_t index = 0;
    *out = (struct comparison){0};
    for (uint32_t y = 0; y < desc->height; y++)
        for (uint32_t x = 0; x < desc->width; x++)
            for (uint32_t c = 0; c < desc->channels; c++, index++)
                if (mask & 1u << c)
                    add(&out->channels[c], &sums[c], type_value(desc->type, a, index),
                        type_value(desc->type, b, index), x, y, c);
    for (uint32_t c = 0; c < desc->channels; c++) {
        if (!(mask & 1u << c))
            continue;
        join(&out->all, &out->channels[c]);
        all.absolute += sums[c].absolute;
        all.squares += sums[c].squares;
        settle(&out->channels[c], &sums[c], peak);
    }
    settle(&out->all, &all, peak);
}
