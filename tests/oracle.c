/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers questions on standard input, a line each, for scripts that know the right answer from elsewhere:
 *
 *   sha256 HEX                       digest
 *   border NAME SIZE AT              index inside, or -1
 *   int EXPRESSION                   value, or "error"
 *   real EXPRESSION                  value, or "error"
 *   distance A B LIMIT               edits
 *   divide DIVISOR MOST BITS         multiplier and shift, or "none"
 *   plane LAYOUT W H PITCH INDEX     offset, pitch, width, height, channels, bytes of an element; or "error"
 *   clname CODE                      name of an OpenCL error
 *   round TYPE VALUE                 what a pixel of that type holds after VALUE was stored
 */
#include "base/expr.h"
#include "base/hash.h"
#include "base/text.h"
#include "filter/filter.h"
#include "hone/pixels.h"
#include "image/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer_sha256(const char *hex)
{
    uint8_t digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    struct sha256 hash;
    sha256_init(&hash);
    for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
        uint8_t value = (uint8_t)byte;
        sha256_add(&hash, &value, 1);
    }
    sha256_end(&hash, digest);
    sha256_text(digest, text);
    puts(text);
}

static int border_by_name(const char *name)
{
    int border = HONE_BORDER_REPLICATE;
    while (border <= HONE_BORDER_ZERO_OUTSIDE && strcmp(hone_border_name((hone_border)border), name) != 0)
        border++;
    return border;
}

static void answer_border(const char *text)
{
    char name[32];
    long long size, at;
    if (sscanf(text, "%31s %lld %lld", name, &size, &at) == 3)
        printf("%lld\n", (long long)border_index((hone_border)border_by_name(name), at, size));
    else
        puts("error");
}

static void answer_int(const char *text)
{
    int64_t value = 0;
    if (expr_text_value(text, NULL, 0, &value, NULL) == HONE_OK)
        printf("%" PRId64 "\n", value);
    else
        puts("error");
}

static void answer_real(const char *text)
{
    double value = 0;
    if (expr_text_real(text, NULL, 0, &value, NULL) == HONE_OK)
        printf("%.17g\n", value);
    else
        puts("error");
}

static void answer_distance(const char *text)
{
    char a[128], b[128];
    unsigned limit;
    if (sscanf(text, "%127s %127s %u", a, b, &limit) == 3)
        printf("%u\n", text_distance(a, b, limit));
    else
        puts("error");
}

static void answer_division(const char *text, bool (*find)(uint64_t divisor, uint64_t most, unsigned bits,
                                                           uint64_t *multiplier, unsigned *shift))
{
    uint64_t divisor, most, multiplier;
    unsigned bits, shift;
    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %u", &divisor, &most, &bits) == 3 &&
        find(divisor, most, bits, &multiplier, &shift))
        printf("%" PRIu64 " %u\n", multiplier, shift);
    else
        puts("none");
}

static void answer_divide(const char *text)
{
    answer_division(text, division_constants);
}

static void answer_divide_next(const char *text)
{
    answer_division(text, division_constants_of_next);
}

static void answer_plane(const char *text)
{
    unsigned layout, width, height, index;
    size_t pitch, offset;
    hone_image_desc plane;
    if (sscanf(text, "%u %u %u %zu %u", &layout, &width, &height, &pitch, &index) == 5 &&
        hone_frame_plane((hone_layout)layout, width, height, pitch, index, &plane, &offset, NULL) == HONE_OK)
        printf("%zu %zu %u %u %u %zu\n", offset, plane.pitch, plane.width, plane.height, plane.channels,
               hone_type_size(plane.type));
    else
        puts("error");
}

static void answer_clname(const char *text)
{
    puts(hone_cl_error_name(atoi(text)));
}

static void answer_round(const char *text)
{
    char name[8];
    double value;
    hone_image_desc desc = {1, 1, HONE_U8, 1, 0};
    if (sscanf(text, "%7s %lf", name, &value) != 2 || hone_type_parse(&desc.type, name, NULL) != HONE_OK) {
        puts("error");
        return;
    }
    struct view view = view_new(&desc);
    if (view.data) {
        view_set(&view, 0, 0, 0, value);
        printf("%.17g\n", view_get(&view, 0, 0, 0));
    }
    view_finish(&view);
}

static const struct {
    const char *word;
    void (*answer)(const char *text);
} questions[] = {{"sha256", answer_sha256}, {"border", answer_border},
                 {"int", answer_int},       {"real", answer_real},
                 {"divide", answer_divide}, {"divide-next", answer_divide_next},
                 {"plane", answer_plane},   {"distance", answer_distance},
                 {"clname", answer_clname}, {"round", answer_round}};

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = strchr(line, ' ');
        if (rest)
            *rest++ = '\0';
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
            if (strcmp(questions[i].word, line) == 0)
                questions[i].answer(rest ? rest : "");
    }
    free(line);
    return 0;
}
