/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"

#include "base/mem.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wctype.h>

void text_finish(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

static bool reserve(struct text *text, size_t extra)
{
    if (text->failed || extra > (size_t)-1 / 2 - text->length ||
        !mem_grow(&text->data, &text->capacity, text->length + extra + 1, 1))
        text->failed = true;
    return !text->failed;
}

void text_add_bytes(struct text *text, const void *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int needed = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (needed < 0)
        text->failed = true;
    else if (reserve(text, (size_t)needed)) {
        vsnprintf(text->data + text->length, (size_t)needed + 1, format, again);
        text->length += (size_t)needed;
    }
    va_end(again);
}

const char *text_view(const struct text *text)
{
    return text->data ? text->data : "";
}

void text_add_shell(struct text *text, const char *word, bool always)
{
    const bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                             "_-./=:,+@%") == strlen(word);
    if (plain && !always) {
        text_add(text, "%s", word);
        return;
    }
    text_add(text, "'");
    for (const char *at = word; *at; at++)
        text_add(text, *at == '\'' ? "'\\''" : "%c", *at);
    text_add(text, "'");
}

char *text_take(struct text *text)
{
    if (!text->failed && !text->data)
        text_add_bytes(text, "", 0);
    char *taken = text->failed ? NULL : text->data;
    if (text->failed)
        free(text->data);
    *text = (struct text){0};
    return taken;
}

static locale_t c_locale; /* 0 where it cannot be made: then the process's own is used */

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t get_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale;
}

double text_number(const char *text, char **end)
{
    locale_t locale = get_c_locale();
    return locale ? strtod_l(text, end, locale) : strtod(text, end);
}

static void add_shortest(struct text *text, double number, bool single)
{
    char spelled[40];
    locale_t locale = get_c_locale(), before = locale ? uselocale(locale) : (locale_t)0;
    for (int digits = 6; digits <= 17; digits++) { /* 17 always suffice */
        snprintf(spelled, sizeof spelled, "%.*g", digits, number);
        double back = strtod(spelled, NULL);
        if ((single ? (double)(float)back : back) == number)
            break;
    }
    if (locale)
        uselocale(before);
    text_add_bytes(text, spelled, strlen(spelled));
}

void text_add_number(struct text *text, double number)
{
    add_shortest(text, number, false);
}

void text_add_float(struct text *text, float number)
{
    add_shortest(text, (double)number, true);
}

const char *text_after_mark(const char *text)
{
    static const char mark[] = "\xef\xbb\xbf";
    return text_starts(text, mark) ? text + sizeof mark - 1 : text;
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    const size_t length = strlen(text), tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
}

bool text_contains_nocase(const char *text, const char *needle)
{
    size_t length = strlen(needle);
    for (; *text; text++)
        if (strncasecmp(text, needle, length) == 0)
            return true;
    return length == 0;
}

static locale_t letters_of_utf8; /* 0 where it cannot be made */

static void make_letters(void)
{
    letters_of_utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static locale_t get_letters(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_letters);
    return letters_of_utf8;
}

wchar_t *text_without_case(const char *text)
{
    const wchar_t beyond_letters = 0x110000;
    const locale_t locale = get_letters(), before = locale ? uselocale(locale) : (locale_t)0;
    size_t left = strlen(text), used;
    wchar_t *letters = mem_new(left + 1, sizeof *letters), letter;
    for (wchar_t *at = letters; at && left; left -= used, text += used) {
        mbstate_t state = {0};
        used = mbrtowc(&letter, text, left, &state);
        if (used == 0 || used > left) {
            letter = beyond_letters + (unsigned char)*text;
            used = 1;
        }
        *at++ = letter < beyond_letters ? (wchar_t)towupper((wint_t)letter) : letter;
    }
    if (locale)
        uselocale(before);
    return letters;
}

bool text_equals_without_case(const char *a, const char *b)
{
    wchar_t *first = text_without_case(a), *second = text_without_case(b);
    const bool equal = first && second && wcscmp(first, second) == 0;
    free(first);
    free(second);
    return equal;
}

bool text_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; length && (at = strstr(at, word)); at += length) {
        bool starts = at == list || at[-1] == ' ' || at[-1] == ',';
        bool ends = at[length] == '\0' || at[length] == ' ' || at[length] == ',';
        if (starts && ends)
            return true;
    }
    return false;
}

enum { DISTANCE_MAX_LENGTH = 63 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Damerau's distance by dynamic programming over three rows. */
unsigned text_distance(const char *a, const char *b, unsigned limit)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > DISTANCE_MAX_LENGTH || m > DISTANCE_MAX_LENGTH)
        return limit;
    unsigned row[3][DISTANCE_MAX_LENGTH + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[n % 3][m] < limit ? row[n % 3][m] : limit;
}

void text_add_choices(struct text *text, const char *near, const char *verb, const char *choices)
{
    if (near)
        text_add(text, "; did you mean '%s'? %c%s %s", near, toupper((unsigned char)*verb), verb + 1,
                 choices);
    else
        text_add(text, "; %s %s", verb, choices);
}

bool text_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "kmgt";
    char *end;
    double number = text_number(text, &end);
    const char *unit = end != text && *end ? strchr(units, *end | 0x20) : NULL;
    const double least = 1048576, most = 1e18;
    for (const char *at = units; unit ? at <= unit : at < units + 2; at++)
        number *= 1024; /* mebibytes without a unit */
    end += unit != NULL;
    if (end == text || *end || !(number >= least) || number > most)
        return false;
    *bytes = (uint64_t)number;
    return true;
}
