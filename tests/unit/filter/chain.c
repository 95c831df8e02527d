/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains: what is understood, what is refused and where, and that a chain written out again means
 * the same. */
#include "hone/chain.h"

#include "base/text.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static hone_chain *parsed(const char *text)
{
    hone_chain *chain = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    return chain;
}

static void refused(const char *text, int column, const char *part)
{
    hone_chain *chain = (hone_chain *)&chain; /* must be overwritten */
    hone_error error;
    CHECK_STATUS(hone_chain_parse(&chain, text, &error), HONE_ERROR_USAGE);
    CHECK(chain == NULL);
    CHECK_EQ(error.column, column);
    CHECK_HAS(error.message, part);
}

TEST(one_filter)
{
    hone_chain *chain = parsed("box");
    CHECK_EQ(hone_chain_length(chain), 1);
    CHECK_TEXT(hone_chain_filter(chain, 0), "box");
    CHECK_TEXT(hone_chain_filter(chain, 1), NULL);
    CHECK_TEXT(hone_chain_parameter(chain, 0, "size"), "8");
    CHECK_TEXT(hone_chain_parameter(chain, 0, "width"), NULL);
    CHECK_TEXT(hone_chain_parameter(chain, 0, "nonsense"), NULL);
    CHECK_TEXT(hone_chain_parameter(chain, 1, "size"), NULL);
    hone_chain_destroy(&chain);
    CHECK(chain == NULL);
    hone_chain_destroy(&chain);
    hone_chain_destroy(NULL);
}

/* Own and common parameters alike have their default until another value is given. */
TEST(parameters_of_every_filter_have_their_defaults)
{
    hone_filter_info filter;
    hone_parameter_info parameter;
    for (size_t f = 0; hone_filter_at(f, &filter); f++) {
        hone_chain *chain = parsed(filter.name);
        for (size_t i = 0; hone_filter_parameter(filter.name, i, &parameter); i++)
            CHECK_TEXT(hone_chain_parameter(chain, 0, parameter.name), parameter.fallback);
        hone_chain_destroy(&chain);
    }
}

TEST(common_parameters_can_be_read)
{
    hone_chain *chain =
        parsed("box border=wrap border-value=12.50% accuracy=relaxed alpha=filter | gray | box");
    CHECK_TEXT(hone_chain_parameter(chain, 0, "border"), "wrap");
    CHECK_TEXT(hone_chain_parameter(chain, 0, "border-value"), "12.5%");
    CHECK_TEXT(hone_chain_parameter(chain, 0, "accuracy"), "relaxed");
    CHECK_TEXT(hone_chain_parameter(chain, 0, "alpha"), "filter");
    CHECK_TEXT(hone_chain_parameter(chain, 0, "exact"), "no");
    CHECK_TEXT(hone_chain_parameter(chain, 1, "border"), NULL);
    CHECK_TEXT(hone_chain_parameter(chain, 1, "accuracy"), "normal");
    CHECK_TEXT(hone_chain_parameter(chain, 2, "border-value"), "0");
    hone_chain_make_reproducible(chain);
    CHECK_TEXT(hone_chain_parameter(chain, 2, "exact"), "yes");
    hone_chain_destroy(&chain);
}

TEST(several_filters)
{
    hone_chain *chain = parsed("  box size=3\t|sobel norm=l1|box size='5' border=\"wrap\"  ");
    CHECK_EQ(hone_chain_length(chain), 3);
    CHECK_TEXT(hone_chain_filter(chain, 1), "sobel");
    CHECK_TEXT(hone_chain_parameter(chain, 1, "norm"), "l1");
    CHECK_TEXT(hone_chain_parameter(chain, 2, "size"), "5");
    hone_chain_destroy(&chain);
}

TEST(a_parameter_is_given_once)
{
    refused("box size=3 size=4", 12, "size is given a second time");
    refused("sobel | box border=wrap size=3 border=zero", 32, "border is given a second time");
    hone_chain *chain = parsed("box size=3 | box size=4");
    CHECK_TEXT(hone_chain_parameter(chain, 1, "size"), "4");
    hone_chain_destroy(&chain);
}

TEST(names_from_elsewhere_are_answered)
{
    refused("blur sigma=3", 1, "there is no filter 'blur'; 'gaussian' and 'box' blur. There are add, ");
    refused("box | Unsharp_Mask", 7, "'convolve' sharpens");
    refused("resize", 1, "'vips resize'");
}

TEST(mistakes_have_columns)
{
    refused("", 1, "expected the name of a filter");
    refused("   ", 4, "expected the name of a filter");
    refused("|", 1, "expected the name of a filter");
    refused("box |", 6, "expected the name of a filter");
    refused("box || sobel", 6, "expected the name of a filter");
    refused("boks", 1, "there is no filter 'boks'; did you mean 'box'? There are ");
    refused("box | sobbel", 7, "did you mean 'sobel'");
    refused("zzzzzzzzzz", 1, "there is no filter 'zzzzzzzzzz'; there are ");
    refused("box size", 9, "expected '='");
    refused("box size=3 sobel", 12, "sobel is another filter, and needs a '|' before it");
    refused("gaussian 2", 11, "after '2': parameters are name=value, such as sigma=2");
    refused("box size=", 10, "expected a value");
    refused("box size= 3", 10, "expected a value");
    refused("box siz=3", 5, "did you mean 'size'");
    refused("box size=0", 10, "out of range");
    refused("box size=3 | sobel norm=l3", 25, "none of l2|l1");
    refused("box size='3", 10, "the quote is not closed");
    refused("box size='3'x", 13, "expected a space");
    refused("box size=''", 10, "expected a value");
    refused("box=3", 4, "expected a space or '|'");
    refused("box, sobel", 4, "expected a space or '|'");
    refused("box \xff", 5, "expected a parameter");
}

TEST(messages_show_the_chain)
{
    hone_chain *chain = NULL;
    hone_error error;
    CHECK_STATUS(hone_chain_parse(&chain, "box | sobel nrm=l1", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "column 13 of 'box | sobel nrm=l1'");
    CHECK_STATUS(hone_chain_parse(NULL, "box", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_chain_parse(&chain, NULL, &error), HONE_ERROR_USAGE);
    CHECK_EQ(hone_chain_parse(&chain, "nonsense", NULL), HONE_ERROR_USAGE);
}

TEST(lengths_are_bounded)
{
    char text[40000] = "box", name[200];
    hone_chain *chain = NULL;
    hone_error error;
    for (int i = 1; i < 32; i++)
        strcat(text, "|box");
    CHECK_STATUS(hone_chain_parse(&chain, text, &error), HONE_OK);
    CHECK_EQ(hone_chain_length(chain), 32);
    hone_chain_destroy(&chain);
    strcat(text, "|box");
    refused(text, 32 * 4 + 1, "at most 32 filters");
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refused(name, 1, "this name is too long");
    enum { LONG = 1 << 17 };
    char *value = calloc(1, LONG + 10);
    strcpy(value, "box size=");
    memset(value + 9, '1', LONG);
    refused(value, 10, "this value is too long");
    free(value);
}

/* As many digits as a double may take: a program that writes its weights so gives the same ones. */
TEST(a_chain_holds_the_largest_kernel)
{
    hone_chain *chain = NULL;
    hone_error error;
    struct text text = {0};
    text_add(&text, "convolve kernel='31x31:");
    for (int i = 0; i < 31 * 31; i++)
        text_add(&text, " %.16e", -(i + 1) / 961.0);
    text_add(&text, "'");
    CHECK_STATUS(hone_chain_parse(&chain, text_view(&text), &error), HONE_OK);
    CHECK_EQ(strlen(hone_chain_parameter(chain, 0, "kernel")), text.length - strlen("convolve kernel=''"));
    hone_chain_destroy(&chain);
    text_finish(&text);
}

static void check_text(const char *text, const char *wanted)
{
    char written[256];
    hone_chain *chain = parsed(text);
    CHECK_EQ(hone_chain_text(chain, written, sizeof written), strlen(wanted));
    CHECK_TEXT(written, wanted);
    hone_chain *again = parsed(written);
    char twice[256];
    hone_chain_text(again, twice, sizeof twice);
    CHECK_TEXT(twice, wanted);
    hone_chain_destroy(&again);
    hone_chain_destroy(&chain);
}

TEST(written_out_again)
{
    check_text("box", "box");
    check_text(" box   border=wrap size=8|sobel output=dx", "box size=8 border=wrap | sobel output=dx");
    check_text("box border=constant border-value=17 accuracy=relaxed",
               "box border=constant border-value=17 accuracy=relaxed");
}

TEST(writing_is_bounded)
{
    char small[6] = "xxxxx";
    hone_chain *chain = parsed("box size=5");
    CHECK_EQ(hone_chain_text(chain, small, sizeof small), 10);
    CHECK_TEXT(small, "box s");
    CHECK_EQ(hone_chain_text(chain, NULL, 0), 10);
    hone_chain_destroy(&chain);
}

TEST(numbers_survive_writing)
{
    /* What is written must read back as the same number, not as a rounded one. */
    hone_chain *chain = parsed("box border=constant border-value=16777217"), *again = NULL;
    char text[128];
    hone_chain_text(chain, text, sizeof text);
    again = parsed(text);
    CHECK_HAS(text, "16777217");
    hone_chain_destroy(&chain);
    hone_chain_destroy(&again);
}

TEST(hostile_text)
{
    static const char *const seeds[] = {"box size=3 | sobel norm=l1 border=constant border-value=3",
                                        "box width=\"3\" height='9'|box", "sobel output=dx"};
    static const char alphabet[] = "|='\" \t\nabx0-.\x80\xff";
    uint32_t state = 99;
    for (int round = 0; round < 20000; round++) {
        char text[128];
        strcpy(text, seeds[round % 3]);
        size_t length = strlen(text);
        for (int change = 0; change < 1 + round % 4; change++) {
            state = state * 1664525u + 1013904223u;
            text[(state >> 8) % length] = alphabet[(state >> 24) % (sizeof alphabet - 1)];
        }
        hone_chain *chain = NULL;
        hone_error error = {.message = "untouched"};
        hone_status status = hone_chain_parse(&chain, text, &error);
        CHECK(status == HONE_OK || status == HONE_ERROR_USAGE);
        CHECK((status == HONE_OK) == (chain != NULL));
        if (status)
            CHECK(error.column >= 1 && error.column <= (int)length + 1);
        hone_chain_destroy(&chain);
    }
}

/* What `hone tune` takes is a chain of one filter, read by the same parser. */
TEST(a_single_filter_is_read_like_a_chain)
{
    static const char *const texts[] = {
        "box size=3", "box  size='3'", "box 'size=3'",     "box siz=3",     "bix",
        "box size=",  "box size=3 ",   "convolve kernel=", "box \"size=3\""};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        hone_error of_chain = {0}, error = {0};
        hone_chain *chain = NULL;
        struct filter_case c;
        hone_status status = hone_chain_parse(&chain, texts[i], &of_chain);
        CHECK_STATUS(chain_parse_case(&c, texts[i], &error), status);
        CHECK_EQ(error.column, of_chain.column);
        CHECK_TEXT(error.message, of_chain.message);
        if (!status)
            case_finish(&c);
        hone_chain_destroy(&chain);
    }
}

TEST(a_chain_is_not_a_single_filter)
{
    struct filter_case c;
    hone_error error;
    CHECK_STATUS(chain_parse_case(&c, "box | sobel", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "expected a single filter");
}
