/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers are read and written in the same way whatever language the process has set. */
#include "base/expr.h"
#include "base/text.h"
#include "support.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A locale with a decimal comma, made for the test alone. */
static void speak_german(void)
{
    char command[PATH_MAX * 2];
    const char *folder = support_folder();
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8", folder);
    int status = system(command);
    REQUIRE(status != -1);
    setenv("LOCPATH", folder, 1);
    REQUIRE(setlocale(LC_ALL, "de_DE.UTF-8") != NULL);
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    REQUIRE(strcmp(text, "1,5") == 0);
}

TEST(numbers_are_read_and_written_alike)
{
    speak_german();
    struct text text = {0};
    text_add_number(&text, 0.1);
    CHECK_TEXT(text_view(&text), "0.1");
    text_finish(&text);
    char *end;
    CHECK(text_number("2.25x", &end) == 2.25);
    CHECK_TEXT(end, "x");
}

TEST(chains_and_expressions)
{
    speak_german();
    hone_chain *chain = NULL;
    hone_error error;
    double value = 0;
    char text[128];
    CHECK_STATUS(expr_text_real("1.5 * 2", NULL, 0, &value, &error), HONE_OK);
    CHECK(value == 3);
    REQUIRE_OK(hone_chain_parse(&chain, "box border=constant border-value=0.75", &error));
    hone_chain_text(chain, text, sizeof text);
    CHECK_TEXT(text, "box border=constant border-value=0.75");
    hone_chain_destroy(&chain);
}

TEST(shortest_spelling)
{
    static const double numbers[] = {
        0, 1, -1, 0.1, 1.0 / 3, 16777217, 1e300, 5e-324, 123456789012345678.0, 0.125, 1e-7, 65535, 2.5};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct text text = {0};
        text_add_number(&text, numbers[i]);
        CHECK(strtod(text_view(&text), NULL) == numbers[i]);
        text_finish(&text);
    }
    struct text text = {0};
    text_add_number(&text, 0.1);
    text_add_bytes(&text, " ", 1);
    text_add_number(&text, 16777217);
    CHECK_TEXT(text_view(&text), "0.1 16777217");
    text_finish(&text);
}
