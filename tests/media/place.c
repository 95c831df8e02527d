/* SPDX-License-Identifier: BSD-2-Clause */
/* Turning images upright: EXIF 2.32, tag 274, says for each value where the first row and the first column of
 * the file belong; the expected images are written out by hand from that table. */
#include "media/reader.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 3, HEIGHT = 2 };

/* The file: ABC
 *           DEF */
static const char *const upright[9] = {NULL,     "ABCDEF", "CBAFED", "FEDCBA", "DEFABC",
                                       "ADBECF", "DAEBFC", "FCEBDA", "CFBEAD"};

static void place_all(unsigned orientation, size_t pixel_bytes, unsigned char *out, size_t gap)
{
    static const char *const rows[HEIGHT] = {"ABC", "DEF"};
    const uint32_t across = orientation >= 5 ? HEIGHT : WIDTH;
    const struct placement place = {out, across * pixel_bytes + gap, pixel_bytes, WIDTH, HEIGHT, orientation,
                                    0};
    for (uint32_t y = 0; y < HEIGHT; y++) {
        unsigned char wide[WIDTH * 8];
        for (size_t i = 0; i < WIDTH * pixel_bytes; i++)
            wide[i] = (unsigned char)(rows[y][i / pixel_bytes] + 32 * (int)(i % pixel_bytes));
        media_put_row(&place, y, wide);
    }
}

TEST(eight_orientations_of_single_bytes)
{
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        unsigned char out[WIDTH * HEIGHT + 1] = {0};
        place_all(orientation, 1, out, 0);
        CHECK_TEXT((const char *)out, upright[orientation]);
    }
}

TEST(pixels_of_several_bytes_stay_together)
{
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        unsigned char out[WIDTH * HEIGHT * 2];
        place_all(orientation, 2, out, 0);
        for (size_t i = 0; i < WIDTH * HEIGHT; i++) {
            CHECK_EQ(out[2 * i], upright[orientation][i]);
            CHECK_EQ(out[2 * i + 1], upright[orientation][i] + 32);
        }
    }
}

TEST(gaps_between_rows_are_left_alone)
{
    for (unsigned orientation = 1; orientation <= 8; orientation++) {
        const size_t across = orientation >= 5 ? HEIGHT : WIDTH, down = WIDTH * HEIGHT / across;
        unsigned char out[64];
        memset(out, '.', sizeof out);
        place_all(orientation, 1, out, 2);
        for (size_t y = 0; y < down; y++) {
            CHECK(memcmp(out + y * (across + 2), upright[orientation] + y * across, across) == 0);
            CHECK(memcmp(out + y * (across + 2) + across, "..", 2) == 0);
        }
    }
}

TEST(gray_and_alpha_spread)
{
    const uint16_t from[] = {1, 2, 65535, 0};
    uint16_t to[8];
    media_spread_gray_alpha(to, from, 2, sizeof *from);
    const uint16_t wanted[] = {1, 1, 1, 2, 65535, 65535, 65535, 0};
    CHECK(memcmp(to, wanted, sizeof wanted) == 0);
}
