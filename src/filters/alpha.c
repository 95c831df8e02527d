/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/alpha.h"

const struct seed alpha_seeds[6] = {
    {"GPU && TYPE <= 1 && OTYPE == TYPE", "vectors", ""},
    {"GPU && !FLOAT", "quads", "ROWS=4 WG_X=128"},
    {"GPU", "quads", "ROWS=1 WG_X=128"},
    /* Of rows longer than a piece, one piece after the other, as memory is fetched ahead. */
    {"CPU && W*C*BITS > 524288", "words", "ROWS=1"},
    {"CPU", "words", ""},
    {NULL, "stretches", ""},
};

const char *const alpha_trials[] = {"", "type=u16", "type=u8", "type=f32", NULL};

hone_status alpha_prepare(struct filter_case *c, hone_error *error)
{
    const int type = (int)case_number(c, "type"); /* same, then as hone_type counts */
    (void)error;
    c->out.type = type ? (hone_type)(type - 1) : c->in.type;
    return HONE_OK;
}

void alpha_reference(const struct filter_case *c, const struct view *in, struct view *out,
                     double (*combine)(const struct filter_case *c, double value, double weight))
{
    const uint32_t last = c->in.channels - 1;
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel <= last; channel++) {
                const double full = type_full_scale(c->in.type), value = view_get(in, x, y, channel);
                const double weight = channel == last ? full : view_get(in, x, y, last);
                view_set(out, x, y, channel, combine(c, value, weight));
            }
}
