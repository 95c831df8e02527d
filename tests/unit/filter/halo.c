/* SPDX-License-Identifier: BSD-2-Clause */
/* Halos of filters and chains, by what references do: a pixel outside of a result's halo never changes the
 * result, and with border=zero-outside the result is 0 exactly where the halo leaves the image. */
#include "filter/case.h"
#include "filter/chain.h"
#include "filter/registry.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 23, HEIGHT = 18 };

static hone_halo halo_of(const char *text, hone_type type, uint32_t channels)
{
    const hone_image_desc desc = {WIDTH, HEIGHT, type, channels, 0};
    hone_chain *chain = NULL;
    hone_halo halo = {0};
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    REQUIRE_OK(hone_chain_halo(chain, &desc, &halo, &error));
    hone_chain_destroy(&chain);
    return halo;
}

static void check_sides(const char *text, uint32_t left, uint32_t right, uint32_t top, uint32_t bottom)
{
    const hone_halo halo = halo_of(text, HONE_U8, 1);
    char got[64], wanted[64];
    snprintf(got, sizeof got, "%u %u %u %u", halo.left, halo.right, halo.top, halo.bottom);
    snprintf(wanted, sizeof wanted, "%u %u %u %u", left, right, top, bottom);
    CHECK_TEXT(got, wanted);
}

TEST(known_halos)
{
    check_sides("colormap", 0, 0, 0, 0);
    check_sides("box size=8", 4, 3, 4, 3);
    check_sides("box width=5 height=1", 2, 2, 0, 0);
    check_sides("box size=8 border=reflect", 4, 4, 4, 4);
    check_sides("epsilon radius=3", 3, 3, 3, 3);
    check_sides("gaussian sigma=10", 50, 50, 50, 50);
    check_sides("convolve kernel='4x2: 1 2 3 4 5 6 7 8' anchor-x=0 anchor-y=1", 0, 3, 1, 0);
    check_sides("box size=8 | sobel | density size=31", 20, 19, 20, 19);
    check_sides("box width=1048576 height=2 | box width=1048576 height=1 | box width=9 height=1",
                HONE_MAX_SIDE, HONE_MAX_SIDE, 1, 0);
}

TEST(kinds_of_reach)
{
    CHECK_EQ(halo_of("box | sobel", HONE_U8, 1).reach, HONE_REACH_WINDOW);
    CHECK_EQ(halo_of("box | integral", HONE_U8, 1).reach, HONE_REACH_BEFORE);
    CHECK_EQ(halo_of("box | integral", HONE_U8, 1).step, 1);
    CHECK_EQ(halo_of("histogram", HONE_U8, 3).reach, HONE_REACH_ALL);
    CHECK_EQ(halo_of("transpose | integral", HONE_U8, 1).reach, HONE_REACH_ELSEWHERE);
    CHECK_EQ(halo_of("demosaic | box", HONE_U8, 1).period, 2);
    CHECK_EQ(halo_of("box", HONE_U8, 1).period, 1);
    CHECK(halo_of("box border=wrap | sobel", HONE_U8, 1).wraps);
    CHECK(!halo_of("box size=1 border=wrap | sobel", HONE_U8, 1).wraps);
}

TEST(mistakes_are_refused)
{
    const hone_image_desc desc = {WIDTH, HEIGHT, HONE_U8, 3, 0};
    hone_chain *chain = NULL;
    hone_halo halo;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, "demosaic", &error));
    CHECK_STATUS(hone_chain_halo(chain, &desc, &halo, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "demosaic does not take images of 3 channels");
    CHECK_STATUS(hone_chain_halo(NULL, &desc, &halo, &error), HONE_ERROR_USAGE);
    hone_chain_destroy(&chain);
}

/* ---- Against references ---- */

static struct view result_of(const struct filter_case *c, const struct view *in)
{
    struct view out = view_new(&c->out);
    REQUIRE(out.data);
    c->filter->reference(c, in, in, &out);
    return out;
}

static bool within(int64_t at, int64_t changed, uint32_t before, uint32_t after, bool wraps, int64_t size)
{
    const int64_t distance = changed - at; /* the changed pixel is so far behind the result */
    for (int64_t turn = wraps ? -size : 0; turn <= (wraps ? size : 0); turn += size)
        if (distance + turn >= -(int64_t)before && distance + turn <= (int64_t)after)
            return true;
    return false;
}

static void check_change(const char *text, const struct filter_case *c, const hone_halo *halo,
                         const struct view *in, const struct view *plain, int64_t x, int64_t y)
{
    const double old = view_get(in, x, y, 0);
    view_set((struct view *)in, x, y, 0, old > 100 ? 3 : 222);
    struct view changed = result_of(c, in);
    view_set((struct view *)in, x, y, 0, old);
    for (int64_t j = 0; j < c->out.height; j++)
        for (int64_t i = 0; i < c->out.width; i++)
            for (uint32_t channel = 0; channel < c->out.channels; channel++)
                if (view_get(&changed, i, j, channel) != view_get(plain, i, j, channel) &&
                    !(within(i, x, halo->left, halo->right, halo->wraps, c->in.width) &&
                      within(j, y, halo->top, halo->bottom, halo->wraps, c->in.height))) {
                    CHECK(!"a pixel outside of the halo changes a result");
                    test_note("'%s' border=%s: (%lld,%lld) changes (%lld,%lld)", text,
                              hone_border_name(c->border), (long long)x, (long long)y, (long long)i,
                              (long long)j);
                    view_finish(&changed);
                    return;
                }
    view_finish(&changed);
}

static void check_changes(const char *text, const struct filter_case *c, const hone_halo *halo)
{
    struct view in = support_picture(c->in.width, HEIGHT, c->in.type, c->in.channels, 7);
    struct view plain = result_of(c, &in);
    for (int64_t y = 0; y < HEIGHT; y += y == 0 || y == HEIGHT - 2 ? 1 : 8)
        for (int64_t x = 0; x < WIDTH; x += x == 0 || x == WIDTH - 2 ? 1 : 10)
            check_change(text, c, halo, &in, &plain, x, y);
    view_finish(&plain);
    view_finish(&in);
}

/* Of pixels that all are 200 a result is 0 only where its window leaves the image, or everywhere. */
static void check_edge(const char *text, const struct filter_case *c, const hone_halo *halo)
{
    struct view in = view_new(&c->in);
    for (int64_t y = 0; y < HEIGHT; y++)
        for (int64_t x = 0; x < WIDTH; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++)
                view_set(&in, x, y, channel, 200);
    struct view out = result_of(c, &in);
    const bool flat = view_get(&out, WIDTH / 2, HEIGHT / 2, 0) == 0;
    for (int64_t y = 0; y < HEIGHT && !flat; y++)
        for (int64_t x = 0; x < WIDTH; x++)
            if ((view_get(&out, x, y, 0) == 0) !=
                view_window_leaves(&c->in, x, y, halo->left, halo->right, halo->top, halo->bottom)) {
                CHECK(!"the halo is not the window of border=zero-outside");
                test_note("'%s' at (%lld,%lld)", text, (long long)x, (long long)y);
                y = HEIGHT;
                break;
            }
    view_finish(&out);
    view_finish(&in);
}

static bool make_case(struct filter_case *c, const struct hone_filter *filter, const char *trial,
                      hone_border border)
{
    char text[1024];
    const hone_type type = filter->types & TYPE_U8 ? HONE_U8 : HONE_F32;
    /* Under border=wrap the pattern of a sensor ends with the image only where the sides are even. */
    hone_image_desc in = {WIDTH + (border == HONE_BORDER_WRAP && filter->period == 2), HEIGHT, type, 1, 0};
    while (!(filter->channels & 1u << in.channels))
        in.channels++;
    snprintf(text, sizeof text, "%s %s%s%s", filter->name, trial, filter->spatial ? " border=" : "",
             filter->spatial ? hone_border_name(border) : "");
    return chain_parse_case(c, text, NULL) == HONE_OK &&
           case_prepare(c, &in, filter->inputs > 1 ? &in : NULL, NULL) == HONE_OK;
}

static void check_case(const struct hone_filter *filter, const char *trial, hone_border border, int *checked)
{
    struct filter_case c = {0};
    hone_halo halo;
    hone_error error;
    if (!make_case(&c, filter, trial, border)) {
        case_finish(&c);
        return;
    }
    REQUIRE_OK(case_halo(&c, &halo, &error));
    if (halo.reach == HONE_REACH_WINDOW) {
        check_changes(trial, &c, &halo);
        if (border == HONE_BORDER_ZERO_OUTSIDE)
            check_edge(trial, &c, &halo);
        (*checked)++;
    }
    case_finish(&c);
}

TEST(results_depend_on_their_halos_alone)
{
    static const char *const plain[] = {"", NULL};
    for (size_t f = 0; registry_at(f); f++) {
        const struct hone_filter *filter = registry_at(f);
        int checked = 0;
        for (const char *const *trial = filter->trials ? filter->trials : plain; *trial; trial++)
            for (int border = 0; border <= HONE_BORDER_ZERO_OUTSIDE; border++)
                if (filter->spatial || border == 0)
                    check_case(filter, *trial, (hone_border)border, &checked);
        CHECK(checked > 0 || filter->reads != READS_WINDOW);
    }
}
