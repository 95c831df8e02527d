/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings, memory, error records. */
#include "base/text.h"

#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST(text_grows)
{
    struct text text = {0};
    CHECK_TEXT(text_view(&text), "");
    for (int i = 0; i < 1000; i++)
        text_add(&text, "%d,", i % 10);
    CHECK_EQ(text.length, 2000);
    CHECK_EQ(strlen(text_view(&text)), 2000);
    text_add_bytes(&text, "a\0b", 3);
    CHECK_EQ(text.length, 2003);
    CHECK_EQ(text.data[2003], 0);
    text_finish(&text);
    CHECK_TEXT(text_view(&text), "");
}

TEST(names_without_case)
{
    CHECK(text_equals_without_case("out/IMG_1.png", "OUT/img_1.PNG"));
    CHECK(text_equals_without_case("\u00e9t\u00e9\u0434\u03b1", "\u00c9T\u00c9\u0414\u0391"));
    CHECK(text_equals_without_case("", ""));
    CHECK(!text_equals_without_case("a", "ab"));
    CHECK(!text_equals_without_case("e", "\u00e9"));
    CHECK(text_equals_without_case("\xff\xe9x", "\xff\xe9X"));
    CHECK(!text_equals_without_case("\xe9", "\xc9")); /* no UTF-8 */
}

TEST(taking_gives_the_string_away)
{
    struct text text = {0};
    char *empty = text_take(&text);
    CHECK_TEXT(empty, "");
    free(empty);
    text_add(&text, "%s", "mine");
    char *taken = text_take(&text);
    CHECK_TEXT(taken, "mine");
    CHECK(text.data == NULL);
    free(taken);
}

TEST(failure_is_remembered)
{
    struct text text = {0};
    text_add(&text, "before");
    text.failed = true;
    text_add(&text, "after");
    CHECK_TEXT(text_view(&text), "before");
    CHECK(text_take(&text) == NULL);
}

TEST(words)
{
    CHECK(text_has_word("cl_khr_fp16 cl_khr_fp64", "cl_khr_fp16"));
    CHECK(text_has_word("cl_khr_fp16 cl_khr_fp64", "cl_khr_fp64"));
    CHECK(text_has_word("a, b,c", "c"));
    CHECK(!text_has_word("cl_khr_fp16_more", "cl_khr_fp16"));
    CHECK(!text_has_word("more_cl_khr_fp16", "cl_khr_fp16"));
    CHECK(text_has_word("ab abc ab", "abc"));
    CHECK(!text_has_word("abc", ""));
    CHECK(!text_has_word("", "abc"));
}

TEST(comparing)
{
    CHECK(text_starts("gfx1030", "gfx"));
    CHECK(!text_starts("gf", "gfx"));
    CHECK(text_ends("a.busy", ".busy"));
    CHECK(!text_ends(".busy", ".busy"));
    CHECK(!text_ends("usy", ".busy"));
    CHECK(text_contains_nocase("NVIDIA H200", "h200"));
    CHECK(text_contains_nocase("abc", ""));
    CHECK(!text_contains_nocase("abc", "abcd"));
}

TEST(distance_of_long_words_is_the_limit)
{
    char text[200];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_EQ(text_distance(text, "x", 7), 7);
    CHECK_EQ(text_distance("x", text, 7), 7);
}

TEST(growing_arrays_are_zeroed_and_bounded)
{
    int *array = NULL;
    size_t capacity = 0;
    REQUIRE(mem_grow(&array, &capacity, 5, sizeof *array));
    CHECK(capacity >= 5);
    memset(array, 0xff, capacity * sizeof *array);
    size_t old = capacity;
    REQUIRE(mem_grow(&array, &capacity, old + 1, sizeof *array));
    for (size_t i = old; i < capacity; i++)
        CHECK_EQ(array[i], 0);
    CHECK_EQ(array[0], -1);
    int *before = array;
    CHECK(!mem_grow(&array, &capacity, SIZE_MAX, sizeof *array));
    CHECK(!mem_grow(&array, &capacity, SIZE_MAX / 8, 64));
    CHECK(array == before);
    free(array);
}

TEST(products_saturate)
{
    CHECK_EQ(mem_product(3, 5), 15);
    CHECK(mem_product(SIZE_MAX, 2) == SIZE_MAX);
    CHECK(mem_product(SIZE_MAX / 2 + 1, 2) == SIZE_MAX);
}

TEST(copies)
{
    CHECK(mem_copy_text(NULL) == NULL);
    char *part = mem_copy_text_n("abcdef", 3);
    CHECK_TEXT(part, "abc");
    free(part);
    CHECK(mem_copy_text_n("abc", SIZE_MAX) == NULL);
}

TEST(error_messages_are_one_line_and_bounded)
{
    char long_text[5000];
    hone_error error;
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    CHECK_EQ(error_set(&error, HONE_ERROR_IO, "a\tb\nc\x7f%s", long_text), HONE_ERROR_IO);
    CHECK_EQ(strlen(error.message), sizeof error.message - 1);
    CHECK(strpbrk(error.message, "\t\n\x7f") == NULL);
    CHECK_EQ(error.cl_code, 0);
    error_prefix(&error, "prefix %s", long_text);
    CHECK_EQ(strlen(error.message), sizeof error.message - 1);
    CHECK_EQ(error_set(NULL, HONE_ERROR_IO, "%s", "nobody listens"), HONE_ERROR_IO);
    error_prefix(NULL, "%s", "nobody");
}

TEST(prefixes_stand_in_front)
{
    hone_error error;
    error_set(&error, HONE_ERROR_USAGE, "what");
    error_prefix(&error, "where %d", 7);
    CHECK_TEXT(error.message, "where 7: what");
}

TEST(status_names)
{
    CHECK_TEXT(hone_status_name(HONE_OK), "HONE_OK");
    CHECK_TEXT(hone_status_name(HONE_ERROR_INTERNAL), "HONE_ERROR_INTERNAL");
    CHECK_TEXT(hone_status_name((hone_status)99), "unknown status");
    CHECK_TEXT(hone_status_name((hone_status)-1), "unknown status");
}
