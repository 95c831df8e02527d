/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of one's own: loading, names, and what descriptions must say. Kernels are
 * tests/check/command/own_filters.py's. */
#include "hone/chain.h"
#include "hone/filter.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

static const char body[] = "hone_pixel\n{\n    return hone_in(0, 0);\n}\n";

static hone_status load(const char *path, const char *lines, hone_error *error)
{
    char text[2000];
    snprintf(text, sizeof text, "%s%s", lines, body);
    return hone_filter_load(path, text, NULL, error);
}

static void refused(const char *path, const char *lines, const char *part)
{
    hone_error error = {0};
    CHECK_STATUS(load(path, lines, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, part);
}

TEST(described_as_written)
{
    hone_error error;
    hone_filter_info info;
    hone_parameter_info parameter;
    REQUIRE_OK(load("dir/first.cl",
                    "//@filter summary says so\n//@filter types u8 f32\n//@filter channels 1 3\n"
                    "  //@filter param size int 1..9 = 3 pixels: how much\n//@filter window size/2, 0\n"
                    "//@filter param how choice soft|hard = hard\n//@filter tolerance 2 1e-3\n",
                    &error));
    REQUIRE(hone_filter_find("first", &info));
    CHECK_TEXT(info.name, "first");
    CHECK_TEXT(info.summary, "says so");
    CHECK_TEXT(info.types, "u8, f32");
    CHECK_TEXT(info.channels, "1, 3");
    CHECK(info.spatial && info.inputs == 1);
    CHECK(info.bounds[HONE_U8] == 2 && info.bounds[HONE_F32] == 1e-3);
    REQUIRE(hone_filter_parameter("first", 0, &parameter));
    CHECK_TEXT(parameter.help, "how much");
    CHECK_TEXT(parameter.unit, "pixels");
    CHECK_TEXT(parameter.fallback, "3");
    CHECK(parameter.min == 1 && parameter.max == 9);
    REQUIRE(hone_filter_parameter("first", 1, &parameter));
    CHECK_TEXT(parameter.choices, "soft|hard");
}

TEST(a_mark_of_utf8_is_no_part_of_the_text)
{
    static const char text[] = "\xef\xbb\xbf//@filter summary marked\nhone_pixel { return hone_in(0, 0); }\n";
    hone_error error;
    hone_filter_info info;
    REQUIRE_OK(hone_filter_load("marked.cl", text, &info, &error));
    CHECK_TEXT(info.summary, "marked");
}

TEST(chains_find_what_was_loaded_and_load_nothing)
{
    hone_error error;
    hone_chain *chain = NULL;
    CHECK_STATUS(hone_chain_parse(&chain, "./examples/filters/grain.cl", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "hone_filter_load");
    REQUIRE_OK(load("dir/second.cl", "//@filter param n int 0..9 = 3\n", &error));
    REQUIRE_OK(hone_chain_parse(&chain, "second n=4 | dir/second.cl n=5", &error));
    CHECK_TEXT(hone_chain_filter(chain, 1), "second");
    CHECK_TEXT(hone_chain_parameter(chain, 1, "n"), "5");
    hone_chain_destroy(&chain);
    CHECK_STATUS(hone_chain_parse(&chain, "second n=10", &error), HONE_ERROR_USAGE);
}

TEST(halo_is_the_window)
{
    hone_error error;
    hone_chain *chain = NULL;
    hone_halo halo;
    const hone_image_desc in = {.width = 9, .height = 9, .type = HONE_U8, .channels = 1};
    REQUIRE_OK(load("far.cl",
                    "//@filter param r int 0..9 = 3\n//@filter param s real 0..9 = 1.2\n"
                    "//@filter window r, r + 1, s, 2*s\n",
                    &error));
    REQUIRE_OK(hone_chain_parse(&chain, "far r=2 | far", &error));
    REQUIRE_OK(hone_chain_halo(chain, &in, &halo, &error));
    CHECK_EQ(halo.left, 2 + 3);
    CHECK_EQ(halo.right, 3 + 4);
    CHECK_EQ(halo.top, 2 + 2);
    CHECK_EQ(halo.bottom, 4 + 4);
    CHECK_EQ(halo.reach, HONE_REACH_WINDOW);
    hone_chain_destroy(&chain);
    REQUIRE_OK(hone_filter_load(
        "place.cl", "//@filter window 1\nhone_pixel { return hone_in(1, 0) * hone_x; }", NULL, &error));
    REQUIRE_OK(hone_chain_parse(&chain, "place", &error));
    REQUIRE_OK(hone_chain_halo(chain, &in, &halo, &error));
    CHECK_EQ(halo.reach, HONE_REACH_ELSEWHERE);
    hone_chain_destroy(&chain);
}

TEST(a_changed_file_replaces_the_old_one)
{
    hone_error error;
    hone_filter_info before, after;
    REQUIRE_OK(load("dir/third.cl", "//@filter summary one\n", &error));
    REQUIRE(hone_filter_find("third", &before));
    REQUIRE_OK(load("dir/third.cl", "//@filter summary one\n", &error));
    REQUIRE(hone_filter_find("third", &after));
    CHECK(before.summary == after.summary); /* the same filter */
    REQUIRE_OK(load("dir/third.cl", "//@filter summary two\n", &error));
    REQUIRE(hone_filter_find("third", &after));
    CHECK_TEXT(after.summary, "two");
    CHECK_TEXT(before.summary, "one"); /* still there for who holds it */
    refused("other/third.cl", "//@filter summary x\n", "both named 'third'");
    size_t count = 0;
    for (size_t i = 0; hone_filter_at(i, &after); i++)
        count += strcmp(after.name, "third") == 0;
    CHECK_EQ(count, 1);
}

TEST(mistakes_say_what_would_be_right)
{
    hone_error error = {0};
    refused("box.cl", "//@filter summary x\n", "has a filter 'box' already");
    refused("Up.cl", "//@filter summary x\n", "small letter");
    refused("e.cl", "", "does not describe a filter");
    refused("e.cl", "\n//@filter parm x\n", "e.cl:2: 'parm' says nothing");
    refused("e.cl", "//@filter param x int 1-8 = 2\n", "1..8");
    refused("e.cl", "//@filter param x int 1..8\n", "needs a default");
    refused("e.cl", "//@filter param x int 1..8 = 9\n", "out of range");
    refused("e.cl", "//@filter param x float 1..8 = 2\n", "an int, a real or a choice");
    refused("e.cl", "//@filter param x int 1..8 = 2\n//@filter param x int 1..8 = 2\n", "already");
    refused("e.cl", "//@filter param Size int 1..8 = 2\n", "small letters");
    refused("e.cl", "//@filter param out int 1..8 = 2\n", "passes to kernels by that name");
    refused("e.cl", "//@filter param border int 1..8 = 2\n", "passes to kernels by that name");
    refused("e.cl", "//@filter param tmp0 int 1..8 = 2\n", "passes to kernels by that name");
    refused("e.cl", "//@filter param exact int 0..1 = 0\n", "'exact' already");
    refused("e.cl", "//@filter param alpha real 0..1 = 1\n//@filter window 1\n", "'alpha' already");
    refused("e.cl", "//@filter window radius\n", "radius");
    refused("e.cl", "//@filter window 1, 2, 3\n", "two for X and Y");
    refused("e.cl", "//@filter window -1\n", "0 to 1024");
    refused("e.cl", "//@filter types u8 u32\n", "none of u8");
    refused("e.cl", "//@filter channels 5\n", "none of 1");
    refused("e.cl", "//@filter tunable N 1 x\n", "whole numbers");
    refused("e.cl", "//@filter tunable N 1 2\n//@filter restrict N <= M\n", "'M'");
    refused("e.cl", "//@filter kernel k(in, out)\n", "begin one with 'variant");
    refused("e.cl", "//@filter variant a: x\n", "has no kernel");
    refused("e.cl", "//@filter variant a: x\n//@filter kernel k(in, second)\n", "one image");
    refused("e.cl", "//@filter variant a: x\n//@filter kernel k(in, tmp0)\n", "scratch");
    refused("e.cl", "//@filter variant a: x\n//@filter kernel k(in, out, WIDTH)\n", "'WIDTH'");
    CHECK_STATUS(hone_filter_load("e.cl", "//@filter summary x\n", NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "hone_pixel");
    CHECK_STATUS(hone_filter_load("does/not/exist.cl", NULL, NULL, &error), HONE_ERROR_IO);
    CHECK_STATUS(hone_filter_load(NULL, NULL, NULL, &error), HONE_ERROR_USAGE);
}

/* No text may do harm: cut anywhere, and with each byte replaced. */
TEST(damaged_descriptions)
{
    char text[700], damaged[700];
    hone_error error;
    const int length =
        snprintf(text, sizeof text,
                 "//@filter param n int 0..9 = 3 pixels: x\n//@filter window max(n, 2), 1\n"
                 "//@filter tunable N 1 2: y\n//@filter restrict N <= (n + 1)\n//@filter variant a: b\n"
                 "//@filter scratch 4*W\n//@filter kernel k(in, out, tmp0, float:n)\n//@filter block N, 1\n");
    for (int cut = 0; cut < length; cut++) {
        snprintf(damaged, sizeof damaged, "%.*s", cut, text);
        (void)hone_filter_load("cut.cl", damaged, NULL, &error);
        memcpy(damaged, text, (size_t)length + 1);
        damaged[cut] = "(,=:. \n9"[cut % 8];
        (void)hone_filter_load("cut.cl", damaged, NULL, &error);
    }
    CHECK_STATUS(hone_filter_load("cut.cl", text, NULL, &error), HONE_OK);
}
