/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/cases.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/registry.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VALUE = 4096 };

static hone_status malformed(const char *text, hone_error *error)
{
    return error_set(error, HONE_ERROR_USAGE,
                     "'%s' is not written as a filter with parameters: name parameter=value parameter=value",
                     text);
}

/* Takes one word off the front, without its quotes; false when a quote is not closed or the word is too long.
 */
static bool take_word(const char **at, char word[MAX_VALUE])
{
    size_t length = 0;
    char quote = '\0';
    *at += strspn(*at, " \t");
    for (; **at && (quote || !strchr(" \t", **at)); ++*at) {
        if (!quote && (**at == '\'' || **at == '"'))
            quote = **at;
        else if (quote && **at == quote)
            quote = '\0';
        else if (length + 1 < MAX_VALUE)
            word[length++] = **at;
        else
            return false;
    }
    word[length] = '\0';
    return !quote;
}

static hone_status set_parameters(struct filter_case *c, const char *text, const char *at, hone_error *error)
{
    char word[MAX_VALUE];
    for (;;) {
        if (!take_word(&at, word))
            return malformed(text, error);
        if (!*word)
            return HONE_OK;
        char *equals = strchr(word, '=');
        if (!equals)
            return malformed(text, error);
        *equals = '\0';
        hone_status status = case_set(c, word, equals + 1, error);
        if (status)
            return status;
    }
}

static hone_status unknown_filter(const char *name, hone_error *error)
{
    const struct hone_filter *near = registry_nearest(name);
    struct text all = {0}, answer = {0};
    for (size_t i = 0; registry_at(i); i++)
        text_add(&all, "%s%s", i ? ", " : "", registry_at(i)->name);
    text_add_choices(&answer, near ? near->name : NULL, "there are", text_view(&all));
    error_set(error, HONE_ERROR_USAGE, "there is no filter '%s'%s", name, text_view(&answer));
    text_finish(&all);
    text_finish(&answer);
    return HONE_ERROR_USAGE;
}

/* All that a text says by itself; the case is to be finished where that went well. */
static hone_status read_case(struct filter_case *c, const char *text, hone_error *error)
{
    char name[MAX_VALUE];
    const char *at = text;
    if (!take_word(&at, name))
        return malformed(text, error);
    const struct hone_filter *filter = registry_find(name);
    hone_status status = filter ? case_init(c, filter, error) : unknown_filter(name, error);
    if (status)
        return status;
    status = set_parameters(c, text, at, error);
    if (status)
        case_finish(c);
    return status;
}

hone_status tune_case_check(const char *text, hone_error *error)
{
    struct filter_case c;
    hone_status status = read_case(&c, text, error);
    if (!status)
        case_finish(&c);
    return status;
}

hone_status tune_case_parse(struct filter_case *c, const char *text, const hone_image_desc *in,
                            hone_error *error)
{
    hone_status status = read_case(c, text, error);
    if (status)
        return status;
    status = case_prepare(c, in, c->filter->inputs > 1 ? in : NULL, error);
    if (status)
        case_finish(c);
    return status;
}

void tune_case_finish(struct filter_case *c)
{
    case_finish(c);
}

void tune_case_print(const struct filter_case *c, struct text *out)
{
    case_describe(c, out);
}

const struct hone_filter *tune_filter_at(size_t index)
{
    return registry_at(index);
}

const struct hone_filter *tune_filter_find(const char *name)
{
    return registry_find(name);
}

bool tune_usual(const struct hone_filter *filter, size_t index, struct text *out)
{
    static const char *const defaults[] = {"", NULL};
    const char *const *usual = filter->usual ? filter->usual : defaults;
    for (size_t i = 0; usual[i]; i++)
        if (i == index) {
            text_add(out, "%s %s", filter->name, usual[i]);
            return true;
        }
    return false;
}

bool tune_takes(const struct hone_filter *filter, const hone_image_desc *in)
{
    return (filter->types & 1u << in->type) && (filter->channels & 1u << in->channels);
}
