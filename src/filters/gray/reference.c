/* SPDX-License-Identifier: BSD-2-Clause */
/* A weighted mean of red, green and blue; a single channel is gray already. */
#include "filter/filter.h"

/* Of one divisor: the decimal weights as whole numbers. In the order of the parameter's choices. */
static const struct {
    int64_t red, green, blue, divisor;
} weights[] = {{299, 587, 114, 1000}, {2126, 7152, 722, 10000}, {1, 1, 1, 3}};

static int64_t divide_down(int64_t value, int64_t divisor)
{
    return value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor);
}

REFERENCE(gray)
{
    const int kind = (int)case_number(c, "weights");
    const int64_t divisor = weights[kind].divisor;
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++) {
            double value = view_get(in, x, y, 0);
            if (c->in.channels > 1) {
                double sum = (double)weights[kind].red * value +
                             (double)weights[kind].green * view_get(in, x, y, 1) +
                             (double)weights[kind].blue * view_get(in, x, y, 2);
                value = type_is_integer(c->in.type)
                            ? (double)divide_down(2 * (int64_t)sum + divisor, 2 * divisor)
                            : sum / (double)divisor;
            }
            view_set(out, x, y, 0, value);
        }
}
