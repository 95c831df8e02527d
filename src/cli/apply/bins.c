/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: where to count. The library takes a range; here it is that of the picture, where none is given
 * and there are more than 8 bits. Tables get the edges beside the counts. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "filter/registry.h"
#include "image/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct bins *bins_of(const struct engine *engine)
{
    return engine->chain->steps[engine->chain->count - 1].c.filter->bins;
}

/* What the chain says of a parameter of its last step. */
static const char *asked(const struct engine *engine, const char *name)
{
    return hone_chain_parameter(engine->chain, engine->chain->count - 1, name);
}

/* The chain with another value of a parameter of its last step. */
static hone_status set_last(struct engine *engine, const char *parameter, const char *value,
                            hone_error *error)
{
    const size_t length = hone_chain_text(engine->chain, NULL, 0) + 1;
    char *chain = mem_new(length, 1);
    hone_chain *own = NULL;
    struct text text = {0};
    text_add(&text, "%s=%s", parameter, value);
    hone_status status = chain && !text.failed ? HONE_OK : error_memory(error, "a chain");
    if (!status) {
        hone_chain_text(engine->chain, chain, length);
        status = hone_chain_parse(&own, chain, error);
    }
    THEN(status, chain_parse_parameters(&own->steps[own->count - 1].c, text_view(&text), error));
    if (status) {
        hone_chain_destroy(&own);
    } else {
        hone_chain_destroy(&engine->own);
        engine->chain = engine->own = own;
    }
    text_finish(&text);
    free(chain);
    return status;
}

hone_status bins_shape(struct engine *engine, const char *output, hone_error *error)
{
    const struct bins *bins = bins_of(engine);
    free(engine->edges);
    free(engine->range);
    engine->edges = NULL;
    engine->range = NULL;
    engine->edge_count = 0;
    engine->wants_edges = false;
    if (!bins)
        return HONE_OK;
    const bool table = strcmp(asked(engine, bins->output), bins->table) == 0;
    engine->wants_edges =
        media_is_table(output) && (table || strcmp(asked(engine, bins->output), bins->full) == 0);
    return table && engine->wants_edges ? set_last(engine, bins->output, bins->full, error) : HONE_OK;
}

/* ---- The range of a picture ---- */

#define RANGE_OF(NAME, TYPE)                                                                                 \
    static void NAME(const void *pixels, size_t count, size_t channels, size_t seen,                         \
                     struct bins_range *range)                                                               \
    {                                                                                                        \
        const TYPE *at = pixels;                                                                             \
        for (size_t i = 0; i < count; i++, at += channels)                                                   \
            for (size_t channel = 0; channel < seen; channel++) {                                            \
                const double value = (double)at[channel];                                                    \
                if (!isfinite(value))                                                                        \
                    continue;                                                                                \
                range->least = value < range->least ? value : range->least;                                  \
                range->most = value > range->most ? value : range->most;                                     \
            }                                                                                                \
    }

RANGE_OF(range_of_u16, uint16_t)
RANGE_OF(range_of_s16, int16_t)
RANGE_OF(range_of_f32, float)

/* Alpha is full in most pictures, and would be the end of every range. */
void bins_add(struct bins_range *range, const hone_image_desc *desc, enum alpha_rule rule, const void *pixels)
{
    const size_t pitch = hone_image_pitch(desc), count = desc->width, channels = desc->channels;
    const size_t seen = desc_has_alpha(desc) && rule != ALPHA_PLAIN ? channels - 1 : channels;
    for (size_t y = 0; y < desc->height; y++) {
        const void *row = (const unsigned char *)pixels + y * pitch;
        if (desc->type == HONE_U16)
            range_of_u16(row, count, channels, seen, range);
        else if (desc->type == HONE_S16)
            range_of_s16(row, count, channels, seen, range);
        else if (desc->type == HONE_F32)
            range_of_f32(row, count, channels, seen, range);
    }
}

/* One that is not empty, with the ends that are given. Around a single value it is 1 wide, or as much as can
 * be told apart. */
static struct bins_range completed(struct bins_range found, const char *least, const char *most)
{
    if (!isfinite(found.least))
        found = (struct bins_range){0, 1};
    const struct bins_range all = {least ? text_number(least, NULL) : found.least,
                                   most ? text_number(most, NULL) : found.most};
    if (all.least < all.most || (least && most))
        return all;
    const double half = fmax(0.5, fabs(least ? all.least : all.most) * 0x1p-20);
    if (least)
        return (struct bins_range){all.least, all.least + 2 * half};
    return (struct bins_range){all.most - (most ? 2 * half : half), most ? all.most : all.most + half};
}

bool bins_wants_range(const struct filter_case *c)
{
    const struct bins *bins = c->filter->bins;
    return bins && c->in.type != HONE_U8 &&
           !(case_value(c, bins->min)->given && case_value(c, bins->max)->given);
}

char *bins_parameters(const struct bins *bins, struct bins_range found, const char *least, const char *most)
{
    const struct bins_range range = completed(found, least, most);
    struct text text = {0};
    text_add(&text, "%s=", bins->min);
    text_add_number(&text, range.least);
    text_add(&text, " %s=", bins->max);
    text_add_number(&text, range.most);
    return text_take(&text);
}

/* ---- What the last step sees ---- */

static hone_status shape_before(struct pool_shape **shape, struct engine *engine, hone_error *error)
{
    struct text text = {0};
    hone_chain *chain = NULL;
    for (size_t i = 0; i + 1 < engine->chain->count; i++) {
        text_add(&text, "%s", i ? " | " : "");
        case_describe(&engine->chain->steps[i].c, &text);
    }
    hone_status status =
        text.failed ? error_memory(error, "a chain") : hone_chain_parse(&chain, text_view(&text), error);
    THEN(status, pool_shape(shape, engine->shared->pool, chain, &engine->input, engine->bound,
                            engine->second_count, NULL, error));
    hone_chain_destroy(&chain);
    text_finish(&text);
    return status;
}

/* The filters before run by themselves: the range is needed before the last one can begin. */
static hone_status range_behind(struct engine *engine, struct bins_range *range, hone_error *error)
{
    struct pool_shape *shape = NULL;
    struct pixels between = {0};
    TRY(shape_before(&shape, engine, error));
    const hone_image_desc *desc = pool_output(shape);
    between.bytes = (hone_image_bytes(desc) + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    between.data = aligned_alloc(POOL_ALIGN, between.bytes);
    hone_status status = between.data ? engine_run(engine, shape, &engine->in, &between, NULL, NULL, error)
                                      : error_memory(error, "the range of a picture");
    if (!status)
        bins_add(range, desc, engine->rule, between.data);
    free(between.data);
    pool_release(engine->shared->pool, &shape);
    return status;
}

static hone_status find_range(struct engine *engine, struct bins_range *range, hone_error *error)
{
    if (engine->chain->count > 1)
        return range_behind(engine, range, error);
    bins_add(range, &engine->input, engine->rule, engine->in.data);
    return HONE_OK;
}

/* Finds the range for the stream, and sets that of `c`, the prepared last step. */
static hone_status set_range(struct engine *engine, struct filter_case *c, hone_error *error)
{
    const struct bins *bins = bins_of(engine);
    struct bins_range range = BINS_RANGE_NONE;
    if (!bins_wants_range(c))
        return HONE_OK;
    TRY(find_range(engine, &range, error));
    engine->range = bins_parameters(bins, range, asked(engine, bins->min), asked(engine, bins->max));
    return engine->range ? chain_parse_parameters(c, engine->range, error) : error_memory(error, "a range");
}

static hone_status list_edges(struct engine *engine, const struct filter_case *c, hone_error *error)
{
    const size_t count = engine->output.width - 2; /* three counters more than bins */
    engine->edges = mem_new(count, sizeof *engine->edges);
    if (!engine->edges)
        return error_memory(error, "the edges of bins");
    for (size_t i = 0; i < count; i++)
        engine->edges[i] = c->filter->bins->edge(c, (int64_t)i);
    engine->edge_count = count;
    return HONE_OK;
}

hone_status bins_range(struct engine *engine, hone_error *error)
{
    const size_t count = engine->chain->count;
    if (!bins_of(engine))
        return HONE_OK;
    struct filter_case *cases = mem_new(count, sizeof *cases);
    hone_image_desc *seconds = engine_seconds(engine, error);
    hone_status status = cases && seconds ? chain_cases(cases, engine->chain, &engine->input, seconds,
                                                        engine->second_count, error)
                                          : error_memory(error, "a chain");
    if (!status) {
        status = set_range(engine, &cases[count - 1], error);
        if (!status && engine->wants_edges)
            status = list_edges(engine, &cases[count - 1], error);
        chain_cases_finish(cases, count);
    }
    free(seconds);
    free(cases);
    return status;
}
