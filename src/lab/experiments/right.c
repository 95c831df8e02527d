/* SPDX-License-Identifier: BSD-2-Clause */
/* What is right, in plain C, and how far from it something is. */
#include "image/view.h"
#include "lab/experiments/compare.h"
#include "lab/experiments/internal.h"

#include <math.h>
#include <string.h>

double largest_difference(hone_type type, const void *a, const void *b, size_t bytes)
{
    double worst = 0;
    if (memcmp(a, b, bytes) == 0)
        return 0;
    for (size_t i = 0; i < bytes / hone_type_size(type); i++) {
        const double far = fabs(type_value(type, a, i) - type_value(type, b, i));
        worst = isnan(far) ? INFINITY : far > worst ? far : worst;
    }
    return worst;
}

static int limit(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

static bool leaves(int x, int y, int width, int height)
{
    return x < RADIUS || y < RADIUS || x >= width - RADIUS || y >= height - RADIUS;
}

/* The mask of local_memory.cl, turned by half as the write-up does it. */
uint32_t right_convolution(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    static const int mask[25] = {0,  -1, 1,  -1, 0,  -1, 2,  -2, 2,  -1, 1,  -2, 5,
                                 -2, 1,  -1, 2,  -2, 2,  -1, 0,  -1, 1,  -1, 0};
    const uint8_t *from = in;
    uint8_t *to = out;
    const int w = (int)width, h = (int)height;
    (void)parameter;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++) {
                int sum = 0;
                for (int l = 0; l < 5 && !leaves(x, y, w, h); l++)
                    for (int k = 0; k < 5; k++)
                        sum += from[((y + l - 2) * w + x + k - 2) * 3 + c] * mask[(4 - k) + (4 - l) * 5];
                to[(y * w + x) * 3 + c] = (uint8_t)limit(sum, 0, 255);
            }
    return height;
}

/* One line of the recursion, `step` elements from pixel to pixel. */
static void recur(const float *in, float *out, size_t step, size_t count)
{
    static const double a[4] = {0.025, 0.0175, 0.0125, 0.0075}, c[4] = {-2, 1.5, -0.5, 0.0625};
    double i[4] = {0}, o[4] = {0};
    for (size_t x = 0; x < count; x++) {
        memmove(i + 1, i, 3 * sizeof *i);
        i[0] = (double)in[x * step];
        double made = 0;
        for (int k = 0; k < 4; k++)
            made += a[k] * i[k] - c[k] * o[k];
        memmove(o + 1, o, 3 * sizeof *o);
        o[0] = made;
        out[x * step] = (float)made;
    }
}

uint32_t right_rows(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    (void)parameter;
    for (size_t y = 0; y < height; y++)
        recur((const float *)in + y * width, (float *)out + y * width, 1, width);
    return height;
}

uint32_t right_columns(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    (void)parameter;
    for (size_t x = 0; x < width; x++)
        recur((const float *)in + x, (float *)out + x, width, height);
    return height;
}

uint32_t right_corners(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    enum { WINDOW = 32, THRESHOLD = 20000 };
    const uint16_t *from = in;
    uint16_t *to = out;
    (void)parameter;
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const size_t below = i + (size_t)WINDOW * width;
        const uint16_t sum = (uint16_t)(from[below + WINDOW] + from[i] - from[i + WINDOW] - from[below]);
        to[i] = sum >= THRESHOLD ? sum : 0;
    }
    return height;
}

uint32_t right_curve(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    const float *from = in;
    float *to = out;
    (void)parameter;
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const double v = (double)from[i] + 0.125;
        to[i] = (float)(exp(-v * v) + log(v) + sin(6 * v) + sqrt(v) + pow(v, 2.2) + v / (v + 3));
    }
    return height;
}

uint32_t right_windows(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    static const int line[5] = {1, 4, 6, 4, 1};
    const uint8_t *from = in;
    uint8_t *to = out;
    const int w = (int)width, h = (int)height;
    (void)parameter;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sum = 128;
            for (int l = 0; l < 5; l++)
                for (int k = 0; k < 5; k++)
                    sum +=
                        from[limit(y + l - 2, 0, h - 1) * w + limit(x + k - 2, 0, w - 1)] * line[l] * line[k];
            to[y * w + x] = (uint8_t)(sum / 256);
        }
    return height;
}

uint32_t right_quotients(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    const float *from = in;
    float *to = out;
    const int w = (int)width, h = (int)height;
    (void)parameter;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double sum = 0, total = 0;
            for (int l = -2; l <= 2; l++)
                for (int k = -2; k <= 2; k++) {
                    const double weight = 1.0 / (1 + k * k + l * l);
                    const double v = (double)from[limit(y + l, 0, h - 1) * w + limit(x + k, 0, w - 1)];
                    sum += weight * v / (1 + v);
                    total += weight;
                }
            to[y * w + x] = (float)(sum / total);
        }
    return height;
}

/* The first row is enough work: rounds are as many as keep a device busy. */
uint32_t right_rounds(const void *in, void *out, uint32_t width, uint32_t height, int parameter)
{
    const uint8_t *from = in;
    uint32_t *to = out;
    (void)height;
    for (uint32_t x = 0; x < width; x++) {
        uint32_t v = from[x];
        for (int k = 0; k < parameter; k++)
            v = v * 1664525u + 1013904223u;
        to[x] = v;
    }
    return 1;
}
