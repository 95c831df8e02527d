/* SPDX-License-Identifier: BSD-2-Clause */
/* One use of a filter: parameters from text, formats, configurations, launches. With a filter of the test's
 * own. */
#include "filter/case.h"

#include "base/mem.h"
#include "base/text.h"
#include "filter/instance.h"
#include "filter/variant.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    case_set_symbol(c, "AREA", (int64_t)case_number(c, "radius") * 2 + 1);
    case_set_real(c, "WEIGHT", case_number(c, "strength") / 2);
    free(c->data);
    c->data = mem_copy_text(case_value(c, "table")->text);
    if (strcmp(case_value(c, "table")->text, "wrong") == 0)
        return case_wrong(error, "this table is %s; write another", "wrong");
    return HONE_OK;
}

static const struct variant play_variants[] = {
    {.name = "plain",
     .tunables = {{"WG_X", TUNABLE_LAUNCH, "16 8 32", "width"}, {"ROWS", TUNABLE_DEFINE, "1 2 4", "rows"}},
     .constraints = {"WG_X * ROWS <= 64", "ROWS <= H"},
     .passes = {{.kernel = "play",
                 .extent = {"W", "H"},
                 .block = {"1", "ROWS"},
                 .local = {"WG_X", "1"},
                 .arguments = {"in", "out"}}},
     .cost = {"2*C*BITS/8", "AREA", "AREA/2"}}};

static const struct hone_filter play = {
    .name = "play",
    .types = TYPE_U8 | TYPE_F32,
    .channels = CHANNELS_1 | CHANNELS_3,
    .inputs = 1,
    .spatial = true,
    .parameters =
        {{.name = "radius", .kind = PARAMETER_INTEGER, .fallback = "2", .min = 0, .max = 100},
         {.name = "strength", .kind = PARAMETER_REAL, .fallback = "1.5", .min = -1, .max = 10},
         {.name = "mode-word", .kind = PARAMETER_CHOICE, .fallback = "fast", .choices = "fast|slow|slower"},
         {.name = "table", .kind = PARAMETER_TEXT, .help = "numbers"}},
    .symbols = {"AREA"},
    .reals = {"WEIGHT"},
    .prepare = prepare,
    .variants = play_variants,
    .variant_count = 1,
};

static const hone_image_desc gray = {100, 50, HONE_U8, 1, 0};

static void make(struct filter_case *c)
{
    hone_error error;
    REQUIRE_OK(case_init(c, &play, &error));
    REQUIRE_OK(case_set(c, "table", "1 2 3", &error));
}

static void set_refused(const char *name, const char *text, const char *part, int column)
{
    struct filter_case c;
    hone_error error;
    make(&c);
    CHECK_STATUS(case_set(&c, name, text, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, part);
    CHECK_EQ(error.column, column);
    CHECK_EQ(case_number(&c, "radius"), 2); /* as it was */
    case_finish(&c);
}

TEST(defaults_and_values)
{
    struct filter_case c;
    hone_error error;
    make(&c);
    CHECK_EQ(case_number(&c, "radius"), 2);
    CHECK(!case_value(&c, "radius")->given);
    CHECK_STATUS(case_set(&c, "radius", "7", &error), HONE_OK);
    CHECK_STATUS(case_set(&c, "strength", "2.25", &error), HONE_OK);
    CHECK_STATUS(case_set(&c, "mode-word", "slow", &error), HONE_OK);
    CHECK_STATUS(case_set(&c, "border", "reflect101", &error), HONE_OK);
    CHECK_STATUS(case_set(&c, "accuracy", "relaxed", &error), HONE_OK);
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error), HONE_OK);
    CHECK(case_value(&c, "radius")->given);
    CHECK_EQ(case_symbol(&c, "AREA"), 15);
    CHECK(c.reals[0] == 1.125);
    CHECK_EQ(case_number(&c, "mode-word"), 1);
    CHECK_EQ(c.border, HONE_BORDER_REFLECT101);
    CHECK(c.relaxed);
    case_finish(&c);
}

TEST(wrong_names)
{
    set_refused("radus", "3", "has no parameter 'radus'; did you mean 'radius'? It takes radius,", 1);
    set_refused("bordr", "wrap", "did you mean 'border'", 1);
    set_refused("zzzzzzzz", "3",
                "has no parameter 'zzzzzzzz'; it takes radius, strength, mode-word, table, border", 1);
    set_refused("", "3", "has no parameter ''", 1);
}

TEST(wrong_values)
{
    set_refused("radius", "101", "out of range; it takes a whole number from 0 to 100", 2);
    set_refused("radius", "-1", "out of range", 2);
    set_refused("radius", "2.5", "not a whole number", 2);
    set_refused("radius", "", "not a whole number", 2);
    set_refused("radius", "3x", "not a whole number", 2);
    set_refused("radius", "nan", "not a whole number", 2);
    set_refused("radius", "inf", "not a whole number", 2);
    set_refused("radius", "1e400", "not a whole number", 2);
    set_refused("strength", "10.001", "a number from -1 to 10", 2);
    set_refused("strength", "nan", "not a number", 2);
    set_refused("mode-word", "slo", "none of fast|slow|slower", 2);
    set_refused("mode-word", "fast|slow", "none of", 2);
    set_refused("mode-word", "", "none of", 2);
    set_refused("border", "none", "none of replicate|reflect|reflect101|wrap|constant|zero-outside", 2);
    set_refused("table", "", "needs a value", 2);
    set_refused("accuracy", "high", "none of normal|relaxed", 2);
}

static void prepare_refused(const char *name, const char *value, const hone_image_desc *desc,
                            hone_status wanted, const char *part)
{
    struct filter_case c;
    hone_error error;
    make(&c);
    if (name)
        CHECK_STATUS(case_set(&c, name, value, &error), HONE_OK);
    CHECK_STATUS(case_prepare(&c, desc, NULL, &error), wanted);
    CHECK_HAS(error.message, part);
    case_finish(&c);
}

TEST(wrong_formats)
{
    const hone_image_desc wide = {100, 50, HONE_U16, 1, 0}, alpha = {100, 50, HONE_U8, 4, 0},
                          none = {0, 0, HONE_U8, 1, 0};
    prepare_refused(NULL, NULL, &wide, HONE_ERROR_UNSUPPORTED, "u16");
    prepare_refused(NULL, NULL, &alpha, HONE_ERROR_UNSUPPORTED, "4 channels");
    prepare_refused(NULL, NULL, &none, HONE_ERROR_USAGE, "0x0");
    prepare_refused("table", "wrong", &gray, HONE_ERROR_USAGE, "write another");
}

TEST(a_value_that_is_needed)
{
    struct filter_case c;
    hone_error error;
    REQUIRE_OK(case_init(&c, &play, &error));
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "needs table=...");
    case_finish(&c);
}

TEST(border_values_fit_the_format)
{
    struct filter_case c;
    hone_error error;
    const hone_image_desc real = {10, 10, HONE_F32, 1, 0};
    make(&c);
    CHECK_STATUS(case_set(&c, "border-value", "255.5", &error), HONE_OK);
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error),
                 HONE_OK); /* without border=constant it does not matter */
    CHECK_STATUS(case_set(&c, "border", "constant", &error), HONE_OK);
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "whole number from 0 to 255");
    CHECK_STATUS(case_prepare(&c, &real, NULL, &error), HONE_OK);
    CHECK_STATUS(case_set(&c, "border-value", "-1", &error), HONE_OK);
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(case_set(&c, "border-value", "255", &error), HONE_OK);
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error), HONE_OK);
    case_finish(&c);
}

TEST(shares_of_the_full_range_are_levels_of_each_format)
{
    struct filter_case c;
    hone_error error;
    struct text text = {0};
    const hone_image_desc real = {10, 10, HONE_F32, 1, 0};
    make(&c);
    REQUIRE_OK(case_set(&c, "border", "constant", &error));
    REQUIRE_OK(case_set(&c, "border-value", "8%", &error));
    REQUIRE_OK(case_prepare(&c, &gray, NULL, &error));
    CHECK_EQ(c.border_value, 20);
    REQUIRE_OK(case_prepare(&c, &real, NULL, &error));
    CHECK(c.border_value == 8.0 / 100);
    case_describe(&c, &text);
    CHECK_HAS(text_view(&text), "border-value=8%");
    text_finish(&text);
    CHECK_STATUS(case_set(&c, "border-value", "8%%", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(case_set(&c, "border-value", "%", &error), HONE_ERROR_USAGE);
    REQUIRE_OK(case_set(&c, "border-value", "101%", &error));
    CHECK_STATUS(case_prepare(&c, &gray, NULL, &error), HONE_ERROR_USAGE);
    REQUIRE_OK(case_set(&c, "border-value", "7", &error));
    REQUIRE_OK(case_prepare(&c, &gray, NULL, &error));
    CHECK_EQ(c.border_value, 7);
    case_finish(&c);
}

TEST(copies_stand_alone)
{
    struct filter_case c, copy;
    hone_error error;
    make(&c);
    REQUIRE_OK(case_set(&c, "radius", "9", &error));
    REQUIRE_OK(case_prepare(&c, &gray, NULL, &error));
    REQUIRE_OK(case_copy(&copy, &c, &error));
    CHECK(copy.data != c.data);
    CHECK(copy.values[0].text != c.values[0].text);
    case_finish(&c);
    CHECK_EQ(case_symbol(&copy, "AREA"), 19);
    CHECK_TEXT(copy.data, "1 2 3");
    case_finish(&copy);
}

static void check_described(const char *const set[][2], size_t count, const char *wanted)
{
    struct filter_case c;
    struct text text = {0};
    hone_error error;
    REQUIRE_OK(case_init(&c, &play, &error));
    for (size_t i = 0; i < count; i++)
        CHECK_STATUS(case_set(&c, set[i][0], set[i][1], &error), HONE_OK);
    case_describe(&c, &text);
    CHECK_TEXT(text_view(&text), wanted);
    text_finish(&text);
    case_finish(&c);
}

TEST(described_as_a_chain_writes_it)
{
    static const char *const some[][2] = {{"table", "a b"}, {"radius", "7"}, {"border", "wrap"}};
    static const char *const quoted[][2] = {{"table", "it's | \t"}, {"border-value", "3.5"}};
    check_described(NULL, 0, "play");
    check_described(some, 3, "play radius=7 table=\"a b\" border=wrap");
    check_described(quoted, 2, "play table=\"it's | \t\" border-value=3.5");
}

TEST(names_in_expressions)
{
    struct filter_case c;
    struct case_scope scope;
    hone_error error;
    int64_t value = 0;
    const hone_image_desc colour = {100, 50, HONE_F32, 3, 0};
    make(&c);
    REQUIRE_OK(case_set(&c, "mode-word", "slower", &error));
    REQUIRE_OK(case_prepare(&c, &colour, NULL, &error));
    case_scope_init(&scope, &c, NULL);
    CHECK_STATUS(expr_text_value("W*10000 + H*100 + C*10 + mode_word", &scope.scope, 0, &value, &error),
                 HONE_OK);
    CHECK_EQ(value, 100 * 10000 + 50 * 100 + 3 * 10 + 2);
    CHECK_STATUS(
        expr_text_value("FLOAT*1000 + BITS*10 + BORDER + radius + AREA", &scope.scope, 0, &value, &error),
        HONE_OK);
    CHECK_EQ(value, 1000 + 320 + 0 + 2 + 5);
    case_finish(&c);
}

/* ---- Configurations ---- */

static void config_refused(const char *text, const char *part)
{
    struct config config;
    hone_error error;
    config_default(&play_variants[0], &config);
    CHECK_STATUS(config_parse(&play_variants[0], text, &config, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, part);
}

TEST(configurations)
{
    struct config config;
    struct text text = {0};
    hone_error error;
    config_default(&play_variants[0], &config);
    CHECK_EQ(config.values[0], 16);
    CHECK_EQ(config.values[1], 1);
    CHECK_STATUS(config_parse(&play_variants[0], " ROWS=4,WG_X=8 ", &config, &error), HONE_OK);
    config_print(&play_variants[0], &config, &text);
    CHECK_TEXT(text_view(&text), "WG_X=8 ROWS=4");
    CHECK_STATUS(config_parse(&play_variants[0], NULL, &config, &error), HONE_OK);
    CHECK_STATUS(config_parse(&play_variants[0], "", &config, &error), HONE_OK);
    CHECK_EQ(config.values[1], 4);
    text_finish(&text);
    config_refused("ROWS=3", "it takes 1 2 4");
    config_refused("LINES=1", "it has WG_X, ROWS");
    config_refused("ROWS", "is written NAME=NUMBER");
    config_refused("ROWS=", "is written NAME=NUMBER");
    config_refused("ROWS=two", "is written NAME=NUMBER");
    config_refused("ROWS=2x", "is written NAME=NUMBER");
    config_refused("=2", "is written NAME=NUMBER");
    config_refused("ROWS=99999999999999999999999", "not legal");
}

TEST(a_broken_constraint_says_which_values_would_do)
{
    static const char *const names[] = {"H"};
    const int64_t height = 100;
    const struct expr_scope image = {.names = names, .values = &height, .count = 1};
    const struct variant_limits limits = {1024, {1024, 1024, 1024}, 1 << 15};
    struct config config;
    hone_error error;
    config_default(&play_variants[0], &config);
    REQUIRE_OK(config_parse(&play_variants[0], "WG_X=32 ROWS=4", &config, &error));
    CHECK_STATUS(config_legal_within(&image, &limits, &play_variants[0], &config, &error),
                 HONE_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.message, "variant 'plain' needs WG_X * ROWS <= 64: --config WG_X=16 or WG_X=8 or ROWS=1 "
                              "or ROWS=2 would do");
}

TEST(legal_values)
{
    int64_t few[2] = {0};
    CHECK_EQ(tunable_values(&play_variants[0].tunables[0], few, 2), 3);
    CHECK_EQ(few[0], 16);
    CHECK_EQ(few[1], 8);
}

TEST(costs)
{
    struct filter_case c;
    struct config config;
    struct cost_values cost;
    hone_error error;
    make(&c);
    REQUIRE_OK(case_prepare(&c, &gray, NULL, &error));
    config_default(&play_variants[0], &config);
    CHECK_STATUS(variant_cost(&c, &play_variants[0], &config, &cost, &error), HONE_OK);
    CHECK(cost.bytes == 2 && cost.loads == 5 && cost.operations == 2.5);
    case_finish(&c);
}

static void check_geometry(uint32_t width, uint32_t height, const char *text, const int64_t global[2])
{
    struct filter_case c;
    struct config config;
    struct case_scope names;
    struct config_scope scope;
    struct pass_geometry geometry;
    hone_error error;
    const hone_image_desc desc = {width, height, HONE_U8, 1, 0};
    make(&c);
    REQUIRE_OK(case_prepare(&c, &desc, NULL, &error));
    config_default(&play_variants[0], &config);
    REQUIRE_OK(config_parse(&play_variants[0], text, &config, &error));
    case_scope_init(&names, &c, NULL);
    config_scope_init(&scope, &play_variants[0], &config, &names.scope);
    CHECK_STATUS(pass_geometry(&play_variants[0].passes[0], &scope.scope, &geometry, &error), HONE_OK);
    CHECK_EQ(geometry.dimensions, 2);
    CHECK_EQ(geometry.global[0], global[0]);
    CHECK_EQ(geometry.global[1], global[1]);
    case_finish(&c);
}

TEST(launches_cover_every_pixel)
{
    check_geometry(100, 50, "WG_X=16 ROWS=1", (const int64_t[]){112, 50});
    check_geometry(96, 50, "WG_X=16 ROWS=4", (const int64_t[]){96, 13});
    check_geometry(1, 1, "WG_X=32 ROWS=2", (const int64_t[]){32, 1});
}

static void file_refused(const char *content, size_t bytes, const char *part)
{
    char path[] = "/tmp/hone-case-XXXXXX", *text = NULL;
    hone_error error;
    int fd = mkstemp(path);
    REQUIRE(fd >= 0 && write(fd, content, bytes) == (ssize_t)bytes && close(fd) == 0);
    CHECK_STATUS(case_read_file(path, 8, &text, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, part);
    CHECK_HAS(error.message, path);
    CHECK(text == NULL);
    unlink(path);
}

TEST(files_of_parameters)
{
    char path[] = "/tmp/hone-case-XXXXXX", *text = NULL, *end = NULL;
    hone_error error;
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    CHECK_STATUS(case_read_file(path, 8, &text, &error), HONE_OK);
    CHECK(text && !*text);
    free(text);
    REQUIRE(write(fd, "1.5 2", 5) == 5 && close(fd) == 0);
    CHECK_STATUS(case_read_file(path, 8, &text, &error), HONE_OK);
    CHECK(text && strcmp(text, "1.5 2") == 0);
    CHECK(text && case_parse_number(text, &end) == 1.5 && end == text + 3);
    free(text);
    unlink(path);
    CHECK_STATUS(case_read_file(path, 8, &text, &error), HONE_ERROR_IO);
    CHECK_STATUS(case_read_file("/tmp", 8, &text, &error), HONE_ERROR_IO);
    CHECK_STATUS(case_read_file("/dev/zero", 8, &text, &error), HONE_ERROR_IO);
    file_refused("123456789", 9, "larger");
    file_refused("1\0002", 3, "no text");
}

TEST(bounds_follow_the_gain)
{
    struct filter_case c;
    hone_error error;
    static const hone_image_desc real = {100, 50, HONE_F32, 1, 0};
    struct hone_filter bounded = play;
    bounded.bounds[HONE_U8] = 1;
    bounded.bounds[HONE_F32] = 0.5;
    make(&c);
    c.filter = &bounded;
    REQUIRE_OK(case_prepare(&c, &real, NULL, &error));
    CHECK(c.gain == 1 && c.bias == 0);
    CHECK(case_bound(&c, NULL, 3) == 1.5);
    c.gain = 4;
    c.bias = 2;
    CHECK(case_bound(&c, NULL, 3) == 7);
    REQUIRE_OK(case_prepare(&c, &gray, NULL, &error));
    CHECK(case_bound(&c, NULL, 3) == 1);
    case_finish(&c);
}

static void fill_table(const struct filter_case *c, int index, void *table, size_t bytes)
{
    (void)c;
    if (index == 0)
        memcpy(table, (const int32_t[]){-1, 0, 77}, bytes);
    else
        memcpy(table, (const float[]){-1, 0.5f, 0x1p-20f}, bytes);
}

TEST(tables_compiled_in)
{
    struct filter_case c;
    struct variant variant = play_variants[0];
    struct hone_filter filled = play;
    struct config config;
    struct text options = {0};
    hone_error error;
    make(&c);
    filled.table = fill_table;
    c.filter = &filled;
    variant.defines[0] = "WHOLE=ints0:AREA - 2";
    variant.defines[1] = "REAL=floats1:3";
    variant.defines[2] = "ONE=AREA";
    REQUIRE_OK(case_prepare(&c, &gray, NULL, &error));
    config_default(&variant, &config);
    REQUIRE_OK(variant_options(&options, NULL, &c, &variant, &config, &error));
    CHECK_HAS(text_view(&options), " -DWHOLE=-1,0,77 -DREAL=-1,0.5f,9.5367431640625e-07f -DONE=5");
    variant.defines[0] = "WHOLE=ints";
    CHECK_STATUS(variant_options(&options, NULL, &c, &variant, &config, &error), HONE_ERROR_INTERNAL);
    text_finish(&options);
    case_finish(&c);
}
