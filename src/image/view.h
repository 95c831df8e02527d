/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixels in host memory as doubles: what references, comparing and tests read and write. Slow and obvious. */
#pragma once

#include "hone/pixels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element `index` of elements of a type. */
static inline double type_value(hone_type type, const void *elements, size_t index)
{
    switch (type) {
    case HONE_U8:
        return ((const uint8_t *)elements)[index];
    case HONE_U16:
        return ((const uint16_t *)elements)[index];
    case HONE_S16:
        return ((const int16_t *)elements)[index];
    case HONE_U32:
        return ((const uint32_t *)elements)[index];
    default:
        return (double)((const float *)elements)[index];
    }
}

struct view {
    hone_image_desc desc;
    void *data;
};

/* A tight (or desc.pitch) image of zeros; data is NULL when memory is short. view_finish frees it. */
struct view view_new(const hone_image_desc *desc);
void view_finish(struct view *view);

double view_get(const struct view *view, int64_t x, int64_t y, uint32_t channel);

/* Stores a value by the rule of the contract: integers are rounded to nearest even and saturated, NaN becomes
 * 0. */
void view_set(struct view *view, int64_t x, int64_t y, uint32_t channel, double value);

/* The position inside 0..size-1 that `at` stands for; -1: outside under a constant border. The rule repeats,
 * so any distance from the image is fine. zero-outside reads like replicate (its results are overwritten). */
int64_t border_index(hone_border border, int64_t at, int64_t size);

/* A pixel, also outside of the image. */
double view_border_get(const struct view *view, hone_border border, double border_value, int64_t x, int64_t y,
                       uint32_t channel);

/* True when the window x-left..x+right, y-top..y+bottom leaves the image. */
bool view_window_leaves(const hone_image_desc *desc, int64_t x, int64_t y, int64_t left, int64_t right,
                        int64_t top, int64_t bottom);

/* Copies the fourth channel, times `scale`, as view_set stores it. */
void view_copy_alpha(const struct view *in, struct view *out, double scale);

/* HONE_ERROR_USAGE for a pitch so large that no memory has such rows, and addresses would wrap around. */
hone_status pitch_check_limit(size_t pitch, hone_error *error);

/* The same size and format; pitches may differ. */
bool desc_same(const hone_image_desc *a, const hone_image_desc *b);

/* The fourth channel of a colour image carries alpha, which spatial filters copy. */
bool desc_has_alpha(const hone_image_desc *desc);

/* The largest value of an integer type; 1 for f32. */
double type_full_scale(hone_type type);
bool type_is_integer(hone_type type);
