/* SPDX-License-Identifier: BSD-2-Clause */
/* Expressions: what Python cannot answer for (tests/check/oracles/oracles.py asks it for values): names,
 * errors, hostile text. */
#include "base/expr.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"W", "H", "WG_X"};
static const int64_t values[] = {1920, 1080, 16};
static const struct expr_scope scope = {.names = names, .values = values, .count = 3};

static int64_t value(const char *text)
{
    int64_t result = -99;
    hone_error error;
    CHECK_STATUS(expr_text_value(text, &scope, 0, &result, &error), HONE_OK);
    return result;
}

/* Checks that a text is refused with this message part, and at this column (0: do not care). */
static void refused(const char *text, const char *part, int column)
{
    int64_t result = 0;
    hone_error error = {0};
    CHECK_STATUS(expr_text_value(text, &scope, 0, &result, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, part);
    if (column)
        CHECK_EQ(error.column, column);
}

TEST(comparisons_in_a_row_all_have_to_hold)
{
    CHECK_EQ(value("1 < 2 < 3"), 1);
    CHECK_EQ(value("3 > 2 > 2"), 0);
    CHECK_EQ(value("32 <= WG_X*2 <= 64 and 1 <= H"), 1);
    CHECK_EQ(value("32 <= WG_X*8 <= 64"), 0);
    CHECK_EQ(value("5 == 5 == 5"), 1);
    CHECK_EQ(value("(3 > 2) > 0"), 1);
    CHECK_EQ(value("1 < 2 == 2 < 3"), 1); /* two comparisons that are equal */
    CHECK_EQ(value("0 < 5 < 4 < 9"), 0);
    CHECK_EQ(value("2 < 3 ? 7 : 8"), 7);
}

TEST(names_have_their_values)
{
    CHECK_EQ(value("W*H"), 1920 * 1080);
    CHECK_EQ(value("ceildiv(W, WG_X*8)"), 15);
    CHECK_EQ(value("roundup(W+1, 64)"), 1984);
}

TEST(inner_scope_wins)
{
    static const char *const inner_names[] = {"W"};
    static const int64_t inner_values[] = {7};
    const struct expr_scope inner = {
        .outer = &scope, .names = inner_names, .values = inner_values, .count = 1};
    int64_t result = 0;
    hone_error error;
    CHECK_STATUS(expr_text_value("W + H", &inner, 0, &result, &error), HONE_OK);
    CHECK_EQ(result, 7 + 1080);
}

static int found;

static bool find(void *context, const char *name, int64_t *value)
{
    found++;
    *value = *(const int64_t *)context;
    return strcmp(name, "LATER") == 0;
}

/* What is not listed is looked for when its value decides, and not before. */
TEST(names_are_found_when_they_are_needed)
{
    int64_t forty = 40, result = 0;
    hone_error error;
    const struct expr_scope late = {.outer = &scope, .find = find, .context = &forty};
    CHECK_STATUS(expr_text_value("1 || LATER", &late, 0, &result, &error), HONE_OK);
    CHECK_STATUS(expr_text_value("0 && LATER", &late, 0, &result, &error), HONE_OK);
    CHECK_EQ(found, 0);
    CHECK_STATUS(expr_text_value("LATER + 2", &late, 0, &result, &error), HONE_OK);
    CHECK_EQ(result, 42);
    CHECK_EQ(found, 1);
    CHECK_STATUS(expr_text_value("NEVER", &late, 0, &result, &error), HONE_ERROR_USAGE);
}

TEST(empty_text_gives_the_other_value)
{
    int64_t result = 0;
    double real = 0;
    hone_error error;
    CHECK_STATUS(expr_text_value(NULL, &scope, 42, &result, &error), HONE_OK);
    CHECK_EQ(result, 42);
    CHECK_STATUS(expr_text_value("", &scope, 43, &result, &error), HONE_OK);
    CHECK_EQ(result, 43);
    CHECK_STATUS(expr_text_real("", &scope, 1.5, &real, &error), HONE_OK);
    CHECK(real == 1.5);
}

TEST(mentions)
{
    struct expr expr;
    hone_error error;
    REQUIRE_OK(expr_parse(&expr, "WG_X * 2 + min(H, 3)", &error));
    CHECK(expr_mentions(&expr, "WG_X"));
    CHECK(expr_mentions(&expr, "H"));
    CHECK(!expr_mentions(&expr, "W"));
    CHECK(!expr_mentions(&expr, "min"));
}

TEST(only_what_decides_is_evaluated)
{
    CHECK_EQ(value("0 && 1/0"), 0);
    CHECK_EQ(value("1 or 1/0"), 1);
    CHECK_EQ(value("1 ? 5 : 1/0"), 5);
    refused("1 && 1/0", "division by zero", 0);
}

/* Of 64 bits, which a double has not. */
TEST(whole_numbers_are_exact)
{
    CHECK_EQ(value("9223372036854775807"), INT64_MAX);
    CHECK_EQ(value("-9223372036854775807 - 1"), INT64_MIN);
    CHECK_EQ(value("9007199254740993"), 9007199254740993);
    CHECK_EQ(value("1e15 + 2.0"), 1000000000000002);
}

TEST(overflow_is_an_error)
{
    refused("9000000000 * 9000000000", "overflows", 0);
    refused("-9000000000 * 9000000000", "overflows", 0);
    refused("1000000000000000000 * 9 + 1000000000000000000", "overflows", 0);
    refused("roundup(9223372036854775807, 7000000000)", "overflows", 0);
    refused("9223372036854775808", "no number that fits", 1);
    refused("2 * 1e30", "too large for a whole one", 0);
    CHECK_EQ(value("-9 * 1000000000000000000"), -9000000000000000000);
}

TEST(division_by_zero_is_an_error)
{
    refused("1 / (W - W)", "division by zero", 0);
    refused("1 % 0", "division by zero", 0);
    refused("ceildiv(4, 0)", "division by zero", 0);
    refused("roundup(4, 0)", "division by zero", 0);
}

TEST(mistakes_have_columns)
{
    refused("W +", "ends too early", 4);
    refused("W + )", "expected a number", 5);
    refused("(W", "expected ')'", 3);
    refused("W H", "expected an operator", 3);
    refused("max(1)", "expected ','", 6);
    refused("max(1, 2", "expected ')'", 9);
    refused("foo(1)", "unknown function", 1);
    refused("1 ? 2", "expected ':'", 6);
    refused("Q + 1", "unknown name in an expression: Q", 0);
    refused("1e400", "no number that fits", 1);
    refused("a_name_that_is_longer_than_any_name_may_be", "too long", 1);
}

/* Text of `count` times `part`, then `tail`. */
static char *repeated(const char *part, size_t count, const char *tail)
{
    char *text = malloc(strlen(part) * count + strlen(tail) + 1);
    REQUIRE(text != NULL);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * strlen(part), part, strlen(part) + 1);
    strcat(text, tail);
    return text;
}

TEST(nesting_is_bounded)
{
    static const char *const parts[] = {"(", "-", "!", "not ", "max(1,", "1?", "1?1:", "abs(", "1 or "};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *text = repeated(parts[i], 100000, "1");
        int64_t result = 0;
        CHECK_EQ(expr_text_value(text, &scope, 0, &result, NULL), HONE_ERROR_USAGE);
        free(text);
    }
}

TEST(length_is_bounded)
{
    char *fits = repeated("1+", 40, "1"), *long_one = repeated("1+", 100, "1");
    int64_t result = 0;
    CHECK_EQ(expr_text_value(fits, &scope, 0, &result, NULL), HONE_OK);
    CHECK_EQ(result, 41);
    refused(long_one, "too long", 0);
    free(fits);
    free(long_one);
}

TEST(hostile_text_is_refused_or_evaluated)
{
    /* Every byte sequence is answered one way or the other; the sanitizer build looks for what goes wrong
     * inside. */
    static const char alphabet[] = "()+-*/%<>=!&|?:, .019eWHx_\t\n\x01\x7f\xff";
    uint32_t state = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[48];
        size_t length = 1 + (state >> 7) % (sizeof text - 2);
        for (size_t i = 0; i < length; i++) {
            state = state * 1664525u + 1013904223u;
            text[i] = alphabet[(state >> 16) % (sizeof alphabet - 1)];
        }
        text[length] = '\0';
        int64_t result = 0;
        double real = 0;
        hone_error error = {.message = "untouched"};
        hone_status status = expr_text_value(text, &scope, 0, &result, &error);
        if (status)
            CHECK_EQ(status, HONE_ERROR_USAGE);
        else
            CHECK_TEXT(error.message, "untouched");
        expr_text_real(text, &scope, 0, &real, NULL);
    }
}

TEST(messages_stay_one_line)
{
    hone_error error;
    int64_t result = 0;
    CHECK_EQ(expr_text_value("1 +\n\x1b[31m*", &scope, 0, &result, &error), HONE_ERROR_USAGE);
    CHECK(strpbrk(error.message, "\n\x1b") == NULL);
}
