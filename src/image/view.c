/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/view.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct view view_new(const hone_image_desc *desc)
{
    struct view view = {*desc, mem_new(hone_image_bytes(desc), 1)};
    return view;
}

void view_finish(struct view *view)
{
    free(view->data);
    *view = (struct view){0};
}

static void *element(const struct view *view, int64_t x, int64_t y, uint32_t channel)
{
    size_t at = ((size_t)x * view->desc.channels + channel) * hone_type_size(view->desc.type);
    return (char *)view->data + (size_t)y * hone_image_pitch(&view->desc) + at;
}

double view_get(const struct view *view, int64_t x, int64_t y, uint32_t channel)
{
    return type_value(view->desc.type, element(view, x, y, channel), 0);
}

static double integer_result(double value, double least, double most)
{
    if (isnan(value))
        return 0;
    double nearest = nearbyint(value); /* the default rounding mode is to nearest even */
    return nearest < least ? least : nearest > most ? most : nearest;
}

void view_set(struct view *view, int64_t x, int64_t y, uint32_t channel, double value)
{
    void *at = element(view, x, y, channel);
    switch (view->desc.type) {
    case HONE_U8:
        *(uint8_t *)at = (uint8_t)integer_result(value, 0, UINT8_MAX);
        break;
    case HONE_U16:
        *(uint16_t *)at = (uint16_t)integer_result(value, 0, UINT16_MAX);
        break;
    case HONE_S16:
        *(int16_t *)at = (int16_t)integer_result(value, INT16_MIN, INT16_MAX);
        break;
    case HONE_U32:
        *(uint32_t *)at = (uint32_t)integer_result(value, 0, UINT32_MAX);
        break;
    default:
        *(float *)at = (float)value;
        break;
    }
}

static int64_t modulo(int64_t a, int64_t n)
{
    int64_t rest = a % n;
    return rest < 0 ? rest + n : rest;
}

int64_t border_index(hone_border border, int64_t at, int64_t size)
{
    if (at >= 0 && at < size)
        return at;
    int64_t folded;
    switch (border) {
    case HONE_BORDER_CONSTANT:
        return -1;
    case HONE_BORDER_WRAP:
        return modulo(at, size);
    case HONE_BORDER_REFLECT:
        folded = modulo(at, 2 * size);
        return folded < size ? folded : 2 * size - 1 - folded;
    case HONE_BORDER_REFLECT101:
        if (size == 1)
            return 0;
        folded = modulo(at, 2 * size - 2);
        return folded < size ? folded : 2 * size - 2 - folded;
    default:
        return at < 0 ? 0 : size - 1;
    }
}

double view_border_get(const struct view *view, hone_border border, double border_value, int64_t x, int64_t y,
                       uint32_t channel)
{
    int64_t inside_x = border_index(border, x, view->desc.width);
    int64_t inside_y = border_index(border, y, view->desc.height);
    return inside_x < 0 || inside_y < 0 ? border_value : view_get(view, inside_x, inside_y, channel);
}

bool view_window_leaves(const hone_image_desc *desc, int64_t x, int64_t y, int64_t left, int64_t right,
                        int64_t top, int64_t bottom)
{
    return x - left < 0 || y - top < 0 || x + right >= desc->width || y + bottom >= desc->height;
}

void view_copy_alpha(const struct view *in, struct view *out, double scale)
{
    for (int64_t y = 0; y < in->desc.height; y++)
        for (int64_t x = 0; x < in->desc.width; x++)
            view_set(out, x, y, 3, view_get(in, x, y, 3) * scale);
}

bool desc_same(const hone_image_desc *a, const hone_image_desc *b)
{
    return a->width == b->width && a->height == b->height && a->type == b->type && a->channels == b->channels;
}

bool desc_has_alpha(const hone_image_desc *desc)
{
    return desc->channels == 4;
}

double type_full_scale(hone_type type)
{
    switch (type) {
    case HONE_U8:
        return UINT8_MAX;
    case HONE_U16:
        return UINT16_MAX;
    case HONE_S16:
        return INT16_MAX;
    case HONE_U32:
        return UINT32_MAX;
    default:
        return 1;
    }
}

bool type_is_integer(hone_type type)
{
    return type != HONE_F32;
}
