/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply, images in bands: the chain that is run for one. */
#include "cli/giant/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "filter/case.h"
#include "filter/chain.h"

#include <stdlib.h>
#include <string.h>

/* ---- Alpha ---- */

static hone_status look_at_alpha(struct giant *g, bool *full, hone_error *error)
{
    hone_image_desc strip = *giant_input(g);
    const uint32_t height = strip.height, most = 64;
    hone_status status = HONE_OK;
    void *rows = mem_new(hone_image_row_bytes(&strip), most);
    if (!rows)
        return error_memory(error, "rows of an image");
    *full = true;
    for (uint32_t y = 0; y < height && *full && !status; y += strip.height) {
        strip.height = height - y < most ? height - y : most;
        status = giant_read_rows(&g->first, y, strip.height, rows, 0, error);
        *full = !status && alpha_is_full(rows, &strip);
    }
    free(rows);
    return status;
}

/* As for images that are in memory: means weigh colours by alpha, unless it is full everywhere. */
static hone_status find_rule(struct giant *g, hone_error *error)
{
    const struct apply_options *o = g->engine->options;
    const struct media_info *info = media_get_info(g->image);
    const hone_image_desc part = giant_excerpt(&info->desc);
    const bool copies = o->variant || o->config || (o->alpha && strcmp(o->alpha, "copy") == 0);
    bool weighs = false, full = true;
    g->rule = info->desc.channels == 4 && info->extra > 0 ? ALPHA_PLAIN : ALPHA_COPY;
    if (info->desc.channels != 4 || info->extra > 0 || copies)
        return HONE_OK;
    hone_status status =
        alpha_weighs(&weighs, g->engine->given, &part, g->second_parts, g->second_count, error);
    if (!status && weighs)
        status = look_at_alpha(g, &full, error);
    if (!status && !full)
        g->rule = ALPHA_WEIGH;
    return status;
}

/* ---- Counts ---- */

static hone_status list_edges(struct giant *g, const struct filter_case *last, size_t bins, hone_error *error)
{
    g->edge_count = bins + 1;
    g->edges = mem_new(g->edge_count, sizeof *g->edges);
    if (!g->edges)
        return error_memory(error, "the edges of bins");
    for (size_t i = 0; i < g->edge_count; i++)
        g->edges[i] = last->filter->bins->edge(last, (int64_t)i);
    return HONE_OK;
}

/* What outputs of this name need of a chain that ends in counts; `last` is its prepared last step. */
static hone_status shape_counts(struct giant *g, struct filter_case *last, struct filter_case *step,
                                hone_error *error)
{
    const struct bins *bins = last->filter->bins;
    const struct value *output = case_value(last, bins->output);
    const bool table = strcmp(output->text, bins->table) == 0, full = strcmp(output->text, bins->full) == 0;
    const uint32_t width = last->out.width - (full ? 3 : 0);
    if (!media_is_table(g->item->output) || !(table || full))
        return HONE_OK;
    hone_status status = list_edges(g, last, width, error);
    return status ? status : case_set(step, bins->output, bins->full, error);
}

/* ---- The chain for this image ---- */

static hone_status copy_chain(struct giant *g, hone_error *error)
{
    const hone_chain *given = g->engine->given;
    const hone_image_desc part = giant_excerpt(giant_input(g));
    const size_t length = hone_chain_text(given, NULL, 0) + 1;
    char *text = mem_new(length, 1);
    hone_status status = text ? HONE_OK : error_memory(error, "a chain");
    size_t *moved = mem_new(given->count, sizeof *moved);
    if (!status && !moved)
        status = error_memory(error, "a chain");
    if (!status)
        hone_chain_text(given, text, length);
    THEN(status, g->rule == ALPHA_COPY ? hone_chain_parse(&g->chain, text, error)
                                       : alpha_chain(&g->chain, moved, given, g->rule, &part, g->second_parts,
                                                     g->second_count, error));
    free(moved);
    free(text);
    return status;
}

/* Asks something about the last step, on an excerpt of the input. */
static hone_status ask_last(struct giant *g,
                            hone_status (*ask)(struct giant *g, struct filter_case *last, void *user,
                                               hone_error *error),
                            void *user, hone_error *error)
{
    const hone_image_desc part = giant_excerpt(giant_input(g));
    const size_t count = g->chain->count;
    struct filter_case *cases = mem_new(count, sizeof *cases);
    if (!cases)
        return error_memory(error, "a chain");
    hone_status status = chain_cases(cases, g->chain, &part, g->second_parts, g->second_count, error);
    if (!status) {
        status = ask(g, &cases[count - 1], user, error);
        chain_cases_finish(cases, count);
    }
    free(cases);
    return status;
}

static hone_status shape_output(struct giant *g, struct filter_case *last, void *user, hone_error *error)
{
    (void)user;
    return last->filter->bins ? shape_counts(g, last, &g->chain->steps[g->chain->count - 1].c, error)
                              : HONE_OK;
}

/* ---- The range of counts ---- */

/* All rows of what the last step counts. */
static hone_status read_range(struct giant *g, struct bins_range *range, hone_error *error)
{
    struct tiles_state state;
    hone_image_desc rows = *tiles_output(g->tiles);
    hone_status status;
    while (!(status = giant_next_band(g, error)) && g->rows.count) {
        rows.height = g->rows.count;
        rows.pitch = g->rows.pitch;
        bins_add(range, &rows, g->rule, g->rows.pixels);
    }
    tiles_get_state(g->tiles, &state);
    g->earlier_copies = state.copies;
    g->earlier_staged = state.staged;
    return status;
}

/* Bands are counted in one range: where it is that of the picture, all of it is read and filtered once for
 * that. */
static hone_status find_range(struct giant *g, hone_error *error)
{
    hone_chain *before = mem_new(1, sizeof *before); /* to be looked at only */
    struct bins_range range = BINS_RANGE_NONE;
    if (!before)
        return error_memory(error, "a chain");
    *before = *g->chain;
    before->count--;
    hone_status status = giant_make_tiles(g, before, error);
    free(before);
    THEN(status, read_range(g, &range, error));
    tiles_destroy(&g->tiles);
    TRY(status);
    const size_t last = g->chain->count - 1;
    struct filter_case *c = &g->chain->steps[last].c;
    const struct bins *bins = c->filter->bins;
    char *parameters = bins_parameters(bins, range, hone_chain_parameter(g->chain, last, bins->min),
                                       hone_chain_parameter(g->chain, last, bins->max));
    status = parameters ? chain_parse_parameters(c, parameters, error) : error_memory(error, "a range");
    free(parameters);
    return status;
}

static hone_status wants_range(struct giant *g, struct filter_case *last, void *wants, hone_error *error)
{
    (void)g, (void)error;
    *(bool *)wants = bins_wants_range(last);
    return HONE_OK;
}

hone_status giant_choose_chain(struct giant *g, hone_error *error)
{
    bool ranged = false;
    hone_status status = find_rule(g, error);
    THEN(status, copy_chain(g, error));
    THEN(status, ask_last(g, wants_range, &ranged, error));
    if (ranged)
        THEN(status, find_range(g, error));
    return status ? status : ask_last(g, shape_output, NULL, error);
}
