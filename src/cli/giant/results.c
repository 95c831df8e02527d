/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply, images in bands: rows of results, band by band, to where they go. */
#include "cli/giant/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/guard.h"
#include "filter/chain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* On a terminal, every now and then. */
void giant_show_progress(struct giant *g, bool last)
{
    const struct common_options *common = &g->engine->options->common;
    const uint64_t now = clock_ns(), often = 200000000;
    struct tiles_state state;
    char line[256], left[32];
    if (common->quiet || common->verbose || !cli_on_terminal() || (!last && now - g->shown < often))
        return;
    g->shown = now;
    tiles_get_state(g->tiles, &state);
    const double elapsed = (double)(now - g->pass_start) * 1e-9,
                 part = (double)state.done / (double)state.bands;
    const double each = state.done > g->begun ? elapsed / (double)(state.done - g->begun) : 0;
    apply_show_time(each * (double)(state.bands - state.done), left, sizeof left);
    if (last)
        snprintf(line, sizeof line, "%s", "");
    else
        snprintf(line, sizeof line, "%.0f %%, %s left: %s", part * 100, left, g->item->output);
    cli_make_one_line(line);
    apply_fit_line(line, apply_columns(STDERR_FILENO));
    fprintf(stderr, "%s\033[K\r", line);
    fflush(stderr);
}

/* The device, and the decoder, which both may take their time for one band. The decoder's own limit comes
 * first: it costs its file alone. */
static void watch_band(const struct giant *g, struct guard_watch *watch)
{
    struct tiles_state state;
    hone_image_desc region = *giant_input(g);
    /* One device after the other may be given up, and what it was at is done again. */
    const double turns = (double)g->engine->shared->count;
    tiles_get_state(g->tiles, &state);
    region.height = (uint32_t)(state.region_pixels / region.width + 1);
    /* Rows in front of those that are left are decoded, too. */
    const hone_image_desc *decoded = kept_skips(&g->kept) ? giant_input(g) : &region;
    guard_watch(watch,
                engine_bound(g->engine, &region) * turns +
                    engine_decoder_seconds(g->engine, decoded) * (double)(1 + g->second_count),
                "filtering '%s' in bands", g->item->input);
}

hone_status giant_next_band(struct giant *g, hone_error *error)
{
    struct guard_watch watch;
    hone_status status = HONE_OK;
    for (bool ready = false; !ready && !status; giant_show_progress(g, false)) {
        watch_band(g, &watch);
        status = tiles_prepare(g->tiles, &ready, error);
        guard_unwatch(&watch);
    }
    watch_band(g, &watch);
    THEN(status, tiles_next(g->tiles, &g->rows, error));
    guard_unwatch(&watch);
    g->taken = 0;
    giant_show_progress(g, false);
    return status;
}

/* So that there is a row to take. */
static hone_status need_row(struct giant *g, hone_error *error)
{
    TRY(g->taken == g->rows.count ? giant_next_band(g, error) : HONE_OK);
    return g->rows.count ? HONE_OK
                         : error_set(error, HONE_ERROR_INTERNAL, "the result has fewer rows than were said");
}

static hone_status make_row(struct giant *g, void *to, hone_error *error)
{
    TRY(need_row(g, error));
    memcpy(to, (const unsigned char *)g->rows.pixels + g->taken++ * g->rows.pitch,
           hone_image_row_bytes(tiles_output(g->tiles)));
    return kept_add(&g->kept, g->tiles, to, error);
}

static hone_status give_rows(void *user, uint32_t count, void *to, hone_error *error)
{
    struct giant *g = user;
    const size_t row = hone_image_row_bytes(tiles_output(g->tiles));
    unsigned char *at = to;
    for (; count > 0; count--, at += row)
        TRY(kept_has(&g->kept) ? kept_take(&g->kept, at, error) : make_row(g, at, error));
    return HONE_OK;
}

static hone_status lend_rows(void *user, uint32_t most, struct media_rows *lent, hone_error *error)
{
    struct giant *g = user;
    TRY(need_row(g, error));
    const uint32_t left = g->rows.count - g->taken;
    *lent = (struct media_rows){(const unsigned char *)g->rows.pixels + g->taken * g->rows.pitch,
                                g->rows.pitch, left < most ? left : most};
    g->taken += lent->count;
    return HONE_OK;
}

static hone_status encode(struct giant *g, int fd, hone_error *error)
{
    struct media_write_options options = g->engine->options->write;
    /* Every filter does the same to all colours. */
    const struct media_source source = {
        .next = give_rows, .user = g, .gray = true, .lend = g->kept.on ? NULL : lend_rows};
    options.edges = g->edges;
    options.edge_count = g->edge_count;
    options.turned = chain_turns(g->engine->given);
    return media_write_rows(fd, g->item->output, tiles_output(g->tiles), &source, g->image, &options, error);
}

static hone_status begin_kept(struct giant *g, hone_error *error)
{
    struct tiles_state state;
    hone_status status = kept_begin(&g->kept, g->engine, g->item, g->tiles, error);
    tiles_get_state(g->tiles, &state);
    g->begun = state.done;
    return status;
}

hone_status giant_store_file(struct giant *g, const char *root, hone_error *error)
{
    struct guarded_output output = GUARDED_OUTPUT_NONE;
    hone_status status = root ? items_make_folders(g->item->output, root, error) : HONE_OK;
    THEN(status, begin_kept(g, error));
    THEN(status, guard_output_begin(&output, g->item->output, error));
    THEN(status, encode(g, output.file.fd, error));
    if (!status)
        made_mark(g->engine, &g->engine->made, output.file.fd, g->item->output);
    THEN(status, guard_output_commit(&output, g->engine->options->sync, error));
    guard_output_abort(&output);
    kept_end(&g->kept, g->engine, g->item, status);
    if (!status)
        kept_remove(g->item->output, media_get_info(g->image)->pages);
    return status;
}

hone_status giant_store_page(struct giant *g, hone_error *error)
{
    hone_status status = begin_kept(g, error);
    THEN(status, encode(g, media_pages_file(g->pages), error));
    kept_end(&g->kept, g->engine, g->item, status);
    return status;
}

/* By way of a file without a name, so that nothing comes out of what fails: memory may be too small for
 * it. */
hone_status giant_store_stdout(struct giant *g, hone_error *error)
{
    int fd = -1;
    TRY(file_unnamed(&fd, NULL, error));
    hone_status status = encode(g, fd, error);
    if (!status && !apply_copy_to_stdout(fd))
        status = error_io(error, "cannot write to standard output: %s", strerror(errno));
    close(fd);
    return status;
}
