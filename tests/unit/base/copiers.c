/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that copy together: every byte of the rows, and none beside them, at any size and pitch. */
#include "base/copiers.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, UNTOUCHED = 0x5a };

static unsigned char *filled(size_t bytes, bool random)
{
    unsigned char *memory = malloc(bytes);
    REQUIRE(memory);
    unsigned state = 7;
    for (size_t i = 0; i < bytes; i++)
        memory[i] = random ? (unsigned char)((state = state * 1664525u + 1013904223u) >> 24) : UNTOUCHED;
    return memory;
}

/* What memcpy, row by row, makes of the same memory. */
static void check_copy(struct copiers *copiers, uint32_t width, uint32_t height, size_t to_gap,
                       size_t from_gap)
{
    const size_t to_pitch = width + to_gap, from_pitch = width + from_gap, bytes = to_pitch * height + GUARD;
    unsigned char *from = filled(from_pitch * height, true), *to = filled(bytes, false),
                  *expected = filled(bytes, false);
    for (size_t y = 0; y < height; y++)
        memcpy(expected + y * to_pitch, from + y * from_pitch, width);
    copiers_copy(copiers,
                 &(struct copy_job){(char *)to, (const char *)from, to_pitch, from_pitch, width, height});
    CHECK(memcmp(to, expected, bytes) == 0);
    free(expected);
    free(to);
    free(from);
}

static void check_sizes(unsigned count)
{
    struct copiers copiers;
    copiers_open(&copiers, count);
    CHECK_EQ(copiers.count, count);
    for (int round = 0; round < 8; round++) {
        check_copy(&copiers, 1920, 1080, 0, 0);
        check_copy(&copiers, 1920, 540, 128, 0);
        check_copy(&copiers, 1919, 1081, 0, 65);
        check_copy(&copiers, 4000000, 1, 0, 0);
        check_copy(&copiers, 1, 70000, 7, 3);
        check_copy(&copiers, 700, 751, 1, 1);
    }
    copiers_close(&copiers);
}

TEST(helpers_copy_every_byte_once)
{
    check_sizes(MOST_COPIERS);
}

TEST(one_helper_copies_every_byte_once)
{
    check_sizes(1);
}

TEST(the_caller_copies_alone)
{
    check_sizes(0);
}

TEST(helpers_end_without_work)
{
    for (int i = 0; i < 50; i++) {
        struct copiers copiers;
        copiers_open(&copiers, MOST_COPIERS);
        copiers_close(&copiers);
    }
}
