/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of all types of OpenCL C: names, rounding, and half precision, which is computed here. */
#include "tune/own/spec/element.h"

#include "test.h"

#include <math.h>
#include <string.h>

static bool parses(const char *text, enum element wanted, int wanted_lanes)
{
    enum element element = ELEMENT_COUNT;
    int lanes = 0;
    return element_parse(text, strlen(text), &element, &lanes) && element == wanted && lanes == wanted_lanes;
}

TEST(names_of_ours_and_of_the_languages)
{
    enum element element;
    int lanes;
    CHECK(parses("u8", ELEMENT_U8, 1));
    CHECK(parses("uchar16", ELEMENT_U8, 16));
    CHECK(parses("unsigned int", ELEMENT_U32, 1));
    CHECK(parses("float3", ELEMENT_F32, 3));
    CHECK(parses("int8", ELEMENT_S32, 8));
    CHECK(!element_parse("float5", 6, &element, &lanes));
    CHECK(!element_parse("", 0, &element, &lanes));
    CHECK(!element_parse("pixel", 5, &element, &lanes));
    CHECK(element_parse_t1("int8", &element, &lanes) && element == ELEMENT_S8 && lanes == 1);
    CHECK(element_parse_t1("float8", &element, &lanes) && element == ELEMENT_F32 && lanes == 8);
    CHECK_EQ(element_room(3), 4);
}

static double there_and_back(enum element element, double value)
{
    unsigned char bytes[8] = {0};
    element_set(element, bytes, 0, value);
    return element_get(element, bytes, 0);
}

TEST(integers_round_and_saturate)
{
    CHECK(there_and_back(ELEMENT_U8, 2.5) == 2);
    CHECK(there_and_back(ELEMENT_U8, -3) == 0);
    CHECK(there_and_back(ELEMENT_U8, 1e9) == 255);
    CHECK(there_and_back(ELEMENT_S8, -200) == -128);
    CHECK(there_and_back(ELEMENT_S16, -32768) == -32768);
    CHECK(there_and_back(ELEMENT_U32, 4294967295.0) == 4294967295.0);
    CHECK(there_and_back(ELEMENT_S32, -7) == -7);
    CHECK(there_and_back(ELEMENT_U64, INFINITY) == 0x1p64);
    CHECK(there_and_back(ELEMENT_S64, -INFINITY) == -0x1p63);
    CHECK(there_and_back(ELEMENT_S32, NAN) == 0);
}

/* Every half there is comes back from its value; what lies between two goes to the nearer, ties to even. */
TEST(halves_are_exact)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits, back = 1;
        double value = element_get(ELEMENT_F16, &half, 0);
        element_set(ELEMENT_F16, &back, 0, value);
        CHECK(isnan(value) ? (back & 0x7fff) > 0x7c00 : back == half);
    }
    CHECK(there_and_back(ELEMENT_F16, 1 + 0x1p-11) == 1);
    CHECK(there_and_back(ELEMENT_F16, 1 + 3 * 0x1p-11) == 1 + 0x1p-9);
    CHECK(there_and_back(ELEMENT_F16, 65519) == 65504);
    CHECK(isinf(there_and_back(ELEMENT_F16, 65520)));
    CHECK(there_and_back(ELEMENT_F16, 0x1p-25) == 0);
    CHECK(there_and_back(ELEMENT_F16, 0x1.8p-24) == 0x1p-23);
    CHECK(there_and_back(ELEMENT_F16, 2047.5 * 0x1p-25) == 0x1p-14);
}

TEST(noise_is_the_same_and_within_its_range)
{
    for (int e = 0; e < ELEMENT_COUNT; e++) {
        unsigned char a[1000 * 8] = {0}, b[1000 * 8] = {0};
        double least = INFINITY, most = -INFINITY;
        element_fill_random((enum element)e, a, 1000, 5);
        element_fill_random((enum element)e, b, 1000, 5);
        CHECK(memcmp(a, b, sizeof a) == 0);
        for (size_t i = 0; i < 1000; i++) {
            double value = element_get((enum element)e, a, i);
            least = fmin(least, value);
            most = fmax(most, value);
        }
        CHECK(most > least && most <= 65535 && least >= -32768);
        CHECK(!element_is_float((enum element)e) || (least >= 0 && most <= 1));
    }
}
