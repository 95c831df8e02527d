/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of values as T1 files write them, in the words of Python. */
#include "tune/own/spec/t1.h"

#include "base/text.h"
#include "tune/search/space.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct values {
    int64_t list[SPACE_MAX_VALUES];
    int count;
};

static bool add_number(struct values *v, int64_t value)
{
    if (v->count == SPACE_MAX_VALUES)
        return false;
    v->list[v->count++] = value;
    return true;
}

/* "range(1, 9)" or "range(9)" or "range(1, 9, 2)"; `text` behind the parenthesis. */
static bool read_range(struct values *v, const char *text)
{
    long long numbers[3] = {0, 0, 1};
    int count = 0;
    for (char *end; count < 3; text = end + 1) {
        numbers[count++] = strtoll(text, &end, 10);
        while (*end == ' ')
            end++;
        if (end == text || (*end != ',' && *end != ')'))
            return false;
        if (*end == ')')
            break;
    }
    long long from = count > 1 ? numbers[0] : 0, to = count > 1 ? numbers[1] : numbers[0];
    if (numbers[2] < 1 || count == 0)
        return false;
    if (numbers[2] > INT32_MAX) /* so that adding it cannot overflow where it matters */
        return false;
    for (long long value = from; value < to; value += numbers[2])
        if (!add_number(v, value) || value > INT64_MAX - numbers[2])
            return false;
    return true;
}

/* "1, 2, 4]" */
static bool read_list(struct values *v, const char *text)
{
    for (;;) {
        text += strspn(text, " ");
        char *end;
        long long value = strtoll(text, &end, 0);
        if (end == text && (text_starts(text, "True") || text_starts(text, "true"))) {
            value = 1;
            end += 4;
        } else if (end == text && (text_starts(text, "False") || text_starts(text, "false"))) {
            value = 0;
            end += 5;
        }
        if (end == text || !add_number(v, value))
            return false;
        end += strspn(end, " ");
        if (*end == ']')
            return end[1 + strspn(end + 1, " ")] == '\0';
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

static bool read_values(struct values *v, const char *text)
{
    text += strspn(text, " ");
    if (text_starts(text, "list("))
        text += 5;
    if (text_starts(text, "range("))
        return read_range(v, text + 6);
    return *text == '[' && read_list(v, text + 1);
}

/* The default comes first: a search begins there. */
static void put_first(struct values *v, const json_t *value)
{
    int64_t first = json_is_true(value) ? 1 : json_integer_value(value);
    if (!json_is_integer(value) && !json_is_boolean(value))
        return;
    for (int i = 0; i < v->count; i++)
        if (v->list[i] == first) {
            memmove(&v->list[1], &v->list[0], sizeof first * (size_t)i);
            v->list[0] = first;
        }
}

bool t1_numbers(const char *values, const json_t *otherwise, struct text *out)
{
    struct values all = {0};
    if (!read_values(&all, values))
        return false;
    put_first(&all, otherwise);
    for (int i = 0; i < all.count; i++)
        text_add(out, "%s%lld", i ? "," : "", (long long)all.list[i]);
    return true;
}

/* One word of "['a', 0.5]", quotes left out, and moves on to behind the comma or bracket; 0 at a mistake. */
static size_t take_word(const char **at, const char **word)
{
    *at += strspn(*at, " ");
    const char quote = **at == '\'' || **at == '"' ? **at : '\0';
    *word = *at + (quote != '\0');
    const char *end = *word;
    end += quote ? strcspn(end, quote == '"' ? "\"" : "'") : strcspn(end, " ,]");
    const size_t length = (size_t)(end - *word);
    end += quote && *end;
    end += strspn(end, " ");
    *at = end + 1;
    /* A comma would make two values of it. */
    return (*end == ',' || *end == ']') && !memchr(*word, ',', length) ? length : 0;
}

static bool is_default(const json_t *value, const char *word, size_t length)
{
    char *end;
    if (json_is_string(value))
        return json_string_length(value) == length && strncmp(json_string_value(value), word, length) == 0;
    return json_is_number(value) && text_number(word, &end) == json_number_value(value) &&
           end == word + length;
}

bool t1_words(const char *values, const json_t *otherwise, struct text *out)
{
    const char *at = values + strspn(values, " "), *word = at;
    struct text first = {0}, rest = {0};
    bool ok = *at++ == '[';
    do {
        const size_t length = ok ? take_word(&at, &word) : 0;
        ok = length > 0;
        struct text *to = ok && !first.length && is_default(otherwise, word, length) ? &first : &rest;
        text_add(to, "%s%.*s", to == &rest ? "," : "", (int)length, word);
    } while (ok && at[-1] == ',');
    ok = ok && at[strspn(at, " ")] == '\0';
    text_add(out, "%s%s", text_view(&first), text_view(&rest) + (first.length == 0 && rest.length > 0));
    out->failed = out->failed || first.failed || rest.failed;
    text_finish(&first);
    text_finish(&rest);
    return ok;
}
