/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences between images whose figures were worked out by hand. */
#include "media/compare.h"

#include "test.h"

#include <math.h>

static const hone_image_desc rgb = {.width = 2, .height = 2, .type = HONE_U8, .channels = 3};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

TEST(equal_images)
{
    const uint8_t a[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct comparison c;
    compare_pixels(&c, &rgb, 0xf, a, a);
    CHECK_EQ(c.all.elements, 12);
    CHECK_EQ(c.all.differing, 0);
    CHECK(c.all.largest == 0 && c.all.mean == 0 && isinf(c.all.psnr) && c.all.psnr > 0);
    CHECK_EQ(c.channels[2].elements, 4);
}

TEST(the_largest_the_mean_and_the_peak_ratio)
{
    const uint8_t a[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255};
    const uint8_t b[12] = {0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 250};
    struct comparison c;
    compare_pixels(&c, &rgb, 0xf, a, b);
    CHECK_EQ(c.all.differing, 3);
    CHECK(c.all.largest == 5);
    CHECK_EQ(c.all.x, 1);
    CHECK_EQ(c.all.y, 1);
    CHECK_EQ(c.all.channel, 2);
    CHECK(c.all.a == 255 && c.all.b == 250);
    CHECK(near(c.all.mean, 9.0 / 12));
    CHECK(near(c.all.psnr, 10 * log10(255.0 * 255.0 / (35.0 / 12)))); /* 9 + 1 + 25 over 12 elements */
    CHECK_EQ(c.channels[0].differing, 0);
    CHECK(c.channels[1].largest == 3 && near(c.channels[1].mean, 1));
    CHECK_EQ(c.channels[1].x, 0);
    CHECK_EQ(c.channels[1].y, 0);
    CHECK(near(c.channels[2].mean, 1.25));
}

TEST(the_first_of_equal_differences_is_named)
{
    const uint8_t a[12] = {0}, b[12] = {0, 0, 0, 0, 0, 7, 7, 0, 0, 0, 7, 0};
    struct comparison c;
    compare_pixels(&c, &rgb, 0xf, a, b);
    CHECK_EQ(c.all.x, 1);
    CHECK_EQ(c.all.y, 0);
    CHECK_EQ(c.all.channel, 2);
}

TEST(masked_channels_do_not_count)
{
    const uint8_t a[12] = {0}, b[12] = {9, 1, 9, 9, 0, 9, 9, 0, 9, 9, 0, 9};
    struct comparison c;
    compare_pixels(&c, &rgb, 1u << 1, a, b);
    CHECK_EQ(c.all.elements, 4);
    CHECK_EQ(c.all.differing, 1);
    CHECK(c.all.largest == 1);
    CHECK_EQ(c.channels[0].elements, 0);
}

TEST(nan_and_infinity)
{
    const hone_image_desc desc = {.width = 5, .height = 1, .type = HONE_F32, .channels = 1};
    const float a[5] = {NAN, NAN, INFINITY, INFINITY, 1}, b[5] = {NAN, NAN, INFINITY, INFINITY, 1};
    const float other[5] = {NAN, 3, INFINITY, -INFINITY, 2};
    struct comparison c;
    compare_pixels(&c, &desc, 0xf, a, b);
    CHECK_EQ(c.all.differing, 0);
    compare_pixels(&c, &desc, 0xf, a, other);
    CHECK_EQ(c.all.differing, 3);
    CHECK(isinf(c.all.largest));
    CHECK_EQ(c.all.x, 1);
    CHECK(c.all.psnr < 0 && isinf(c.all.psnr));
}

TEST(signed_and_wide_integers)
{
    const hone_image_desc s16 = {.width = 2, .height = 1, .type = HONE_S16, .channels = 1};
    const hone_image_desc u32 = {.width = 1, .height = 1, .type = HONE_U32, .channels = 1};
    const int16_t low[2] = {-32768, 5}, high[2] = {32767, 5};
    const uint32_t zero = 0, most = UINT32_MAX;
    struct comparison c;
    compare_pixels(&c, &s16, 0xf, low, high);
    CHECK(c.all.largest == 65535);
    compare_pixels(&c, &u32, 0xf, &zero, &most);
    CHECK(c.all.largest == 4294967295.0);
    CHECK(near(c.all.psnr, 0));
}
