/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixel formats and views (tests/check/oracles/oracles.py compares borders, roundings and frame layouts with
 * NumPy). */
#include "hone/pixels.h"

#include "image/pattern.h"
#include "image/view.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hone_status check(uint32_t width, uint32_t height, int type, uint32_t channels, size_t pitch,
                         hone_error *error)
{
    const hone_image_desc desc = {width, height, (hone_type)type, channels, pitch};
    return hone_image_desc_check(&desc, error);
}

TEST(types)
{
    static const char *const names[] = {"u8", "u16", "f32", "s16", "u32"};
    static const size_t sizes[] = {1, 2, 4, 2, 4};
    hone_type type;
    hone_error error;
    for (int i = 0; i < 5; i++) {
        CHECK_TEXT(hone_type_name((hone_type)i), names[i]);
        CHECK_EQ(hone_type_size((hone_type)i), sizes[i]);
        CHECK_STATUS(hone_type_parse(&type, names[i], &error), HONE_OK);
        CHECK_EQ(type, i);
    }
    CHECK_EQ(hone_type_size((hone_type)5), 0);
    CHECK_EQ(hone_type_size((hone_type)-1), 0);
    CHECK_TEXT(hone_type_name((hone_type)77), "?");
    CHECK_STATUS(hone_type_parse(&type, "u9", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "u8, u16, f32");
}

TEST(limits_of_images)
{
    hone_error error;
    CHECK_STATUS(check(1, 1, HONE_U8, 1, 0, &error), HONE_OK);
    CHECK_STATUS(check(1 << 20, 1 << 10, HONE_F32, 4, 0, &error), HONE_OK);
    CHECK_STATUS(check(1 << 20, (1 << 10) + 1, HONE_U8, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "2^30");
    CHECK_STATUS(check(0, 1, HONE_U8, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(1, 0, HONE_U8, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check((1 << 20) + 1, 1, HONE_U8, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(UINT32_MAX, UINT32_MAX, HONE_U8, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(1, 1, 9, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(1, 1, -1, 1, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(1, 1, HONE_U8, 0, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(1, 1, HONE_U8, 5, 0, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "1 to 4");
}

TEST(pitches)
{
    hone_error error;
    CHECK_STATUS(check(10, 2, HONE_U16, 3, 60, &error), HONE_OK);
    CHECK_STATUS(check(10, 2, HONE_U16, 3, 58, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "at least 60 and a multiple of 2");
    CHECK_STATUS(check(10, 2, HONE_U16, 3, 61, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(10, 2, HONE_U8, 1, SIZE_MAX, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(check(10, 2, HONE_U8, 1, (size_t)1 << 41, &error), HONE_ERROR_USAGE);
    const hone_image_desc padded = {10, 3, HONE_U16, 3, 64}, tight = {10, 3, HONE_U16, 3, 0};
    CHECK_EQ(hone_image_bytes(&padded), 64 * 2 + 60);
    CHECK_EQ(hone_image_bytes(&tight), 180);
    CHECK_EQ(hone_image_pitch(&tight), 60);
}

TEST(borders_have_names)
{
    CHECK_TEXT(hone_border_name(HONE_BORDER_ZERO_OUTSIDE), "zero-outside");
    CHECK_TEXT(hone_border_name((hone_border)6), "?");
    CHECK_TEXT(hone_border_name((hone_border)-1), "?");
}

TEST(frames_refuse_what_is_no_frame)
{
    hone_image_desc plane;
    size_t offset;
    hone_error error;
    CHECK_STATUS(hone_frame_plane((hone_layout)3, 4, 4, 0, 0, &plane, &offset, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_frame_plane(HONE_NV12, 0, 4, 0, 0, &plane, &offset, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_frame_plane(HONE_NV12, 8, 4, 7, 0, &plane, &offset, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_frame_plane(HONE_P010, 8, 4, 17, 0, &plane, &offset, &error), HONE_ERROR_USAGE);
    /* An odd width needs one byte more for chroma than for luma. */
    CHECK_STATUS(hone_frame_plane(HONE_NV12, 7, 4, 7, 1, &plane, &offset, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_frame_plane(HONE_NV12, 7, 4, 8, 1, &plane, &offset, &error), HONE_OK);
}

TEST(views_keep_rows_apart)
{
    const hone_image_desc desc = {3, 2, HONE_U16, 2, 20};
    struct view view = view_new(&desc);
    REQUIRE(view.data != NULL);
    view_set(&view, 2, 1, 1, 4660);
    CHECK_EQ(((uint16_t *)view.data)[10 + 2 * 2 + 1], 4660);
    CHECK_EQ(view_get(&view, 2, 1, 1), 4660);
    CHECK_EQ(view_border_get(&view, HONE_BORDER_REPLICATE, 0, 9, 9, 1), 4660);
    CHECK_EQ(view_border_get(&view, HONE_BORDER_CONSTANT, 17, 3, 1, 1), 17);
    CHECK_EQ(view_border_get(&view, HONE_BORDER_WRAP, 0, -1, 3, 1), 4660);
    view_finish(&view);
}

TEST(windows_leave_images)
{
    const hone_image_desc desc = {5, 4, HONE_U8, 1, 0};
    CHECK(!view_window_leaves(&desc, 1, 1, 1, 3, 1, 2));
    CHECK(view_window_leaves(&desc, 0, 1, 1, 3, 1, 2));
    CHECK(view_window_leaves(&desc, 2, 1, 1, 3, 1, 2));
    CHECK(view_window_leaves(&desc, 1, 0, 1, 3, 1, 2));
    CHECK(view_window_leaves(&desc, 1, 2, 1, 3, 1, 2));
}

TEST(patterns_are_what_they_say)
{
    const hone_image_desc desc = {31, 17, HONE_F32, 1, 0};
    struct view view = view_new(&desc), again = view_new(&desc);
    int nans = 0, infinities = 0;
    REQUIRE(view.data && again.data);
    pattern_fill(&view, PATTERN_SPECIAL, 3);
    pattern_fill(&again, PATTERN_SPECIAL, 3);
    CHECK(memcmp(view.data, again.data, hone_image_bytes(&desc)) == 0);
    for (int64_t i = 0; i < 31 * 17; i++) {
        double value = view_get(&view, i % 31, i / 31, 0);
        nans += isnan(value) != 0;
        infinities += isinf(value) != 0;
    }
    CHECK(nans > 0 && infinities > 0);
    pattern_fill(&view, PATTERN_IMPULSE, 1);
    CHECK(view_get(&view, 15, 8, 0) == 1);
    CHECK(view_get(&view, 14, 8, 0) == 0);
    pattern_fill(&view, PATTERN_RANDOM, 1);
    pattern_fill(&again, PATTERN_RANDOM, 2);
    CHECK(memcmp(view.data, again.data, hone_image_bytes(&desc)) != 0);
    view_finish(&view);
    view_finish(&again);
}
