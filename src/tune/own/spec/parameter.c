/* SPDX-License-Identifier: BSD-2-Clause */
/* A parameter of a kernel of the user's own, "NAME=8,16,32": whole numbers, or words for the compiler. */
#include "tune/own/spec/spec.h"

#include "base/error.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hone_status add_value(struct space_parameter *p, int64_t value, hone_error *error)
{
    for (int i = 0; i < p->count; i++)
        if (p->values[i] == value)
            return error_usage(error, "param %s has the value %lld twice", p->name, (long long)value);
    if (p->count == SPACE_MAX_VALUES)
        return error_usage(error, "param %s has more than %d values", p->name, SPACE_MAX_VALUES);
    p->values[p->count++] = value;
    return HONE_OK;
}

/* What a compiler's option can hold as it is. */
static bool is_word(const char *text, size_t length)
{
    bool any = false, range = false;
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("_.+-", text[i]))
            return false;
        any = any || isalnum((unsigned char)text[i]);
        range = range || (i > 0 && text[i] == '.' && text[i - 1] == '.');
    }
    return any && !range && length <= OWN_MAX_WORD;
}

/* The same text, or another spelling of the same number. */
static bool is_same(const char *a, const char *b)
{
    char *end_a, *end_b;
    const double x = text_number(a, &end_a), y = text_number(b, &end_b);
    return strcmp(a, b) == 0 || (end_a != a && !*end_a && end_b != b && !*end_b && x == y);
}

static hone_status add_word(struct space_parameter *p, struct own_words *words, const char *text,
                            size_t length, hone_error *error)
{
    char word[OWN_MAX_WORD + 1];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    for (int i = 0; i < p->count; i++)
        if (is_same(words->list[i], word))
            return error_usage(error, "param %s has the value %s twice", p->name, word);
    if (p->count == SPACE_MAX_VALUES)
        return error_usage(error, "param %s has more than %d values", p->name, SPACE_MAX_VALUES);
    memcpy(words->list[p->count], word, sizeof word);
    p->values[p->count] = p->count;
    p->count++;
    return HONE_OK;
}

/* "float,float4" or "0.5,1.0" */
static hone_status parse_words(struct space_parameter *p, struct own_words *words, const char *text,
                               hone_error *error)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (!is_word(at, length))
            return error_usage(
                error,
                "param %s takes whole numbers such as 1,2,4 or 1..4, or words and fractions of "
                "at most %d letters, digits and '_.+-' such as float4 or 0.5, not '%s'",
                p->name, OWN_MAX_WORD, text);
        hone_status status = add_word(p, words, at, length, error);
        at += length;
        if (status || !*at)
            return status;
    }
}

/* Whether all values are whole numbers or ranges of them. */
static bool are_numbers(const char *text)
{
    for (;; text++) {
        char *end;
        strtoll(text, &end, 0);
        if (end != text && strncmp(end, "..", 2) == 0) {
            text = end + 2;
            strtoll(text, &end, 0);
        }
        if (end == text || (*end && *end != ','))
            return false;
        text = end;
        if (!*text)
            return true;
    }
}

/* "8,16,32" or "1..4" */
static hone_status parse_numbers(struct space_parameter *p, const char *text, hone_error *error)
{
    hone_status status = HONE_OK;
    while (!status) {
        char *end;
        long long first = strtoll(text, &end, 0), last = first;
        if (strncmp(end, "..", 2) == 0)
            last = strtoll(end + 2, &end, 0);
        if (last < first)
            return error_usage(error, "param %s: a range such as 1..4 goes upwards, not '%s'", p->name, text);
        for (long long value = first; !status; value++) {
            status = add_value(p, value, error);
            if (value == last)
                break;
        }
        if (!*end)
            break;
        text = end + 1;
    }
    return status;
}

hone_status own_parameter_set(struct own_spec *spec, const char *text, hone_error *error)
{
    struct space_parameter p = {0};
    struct own_words words = {0};
    size_t length;
    TRY(own_split_name("param", text, &length, error));
    snprintf(p.name, sizeof p.name, "%.*s", (int)length, text);
    text += length + 1;
    TRY(are_numbers(text) ? parse_numbers(&p, text, error) : parse_words(&p, &words, text, error));
    int index = 0;
    while (index < spec->parameter_count && strcmp(spec->parameters[index].name, p.name) != 0)
        index++;
    if (index == SPACE_MAX_PARAMETERS)
        return error_usage(error, "there are more than %d parameters", SPACE_MAX_PARAMETERS);
    spec->parameters[index] = p;
    spec->words[index] = words;
    spec->parameter_count += index == spec->parameter_count;
    return HONE_OK;
}
