/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of parameters, read from text and written as text. */
#include "filter/case/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/registry.h"
#include "image/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every filter has, beside its own. */
static const struct parameter common_parameters[] = {
    CHOICE_PARAMETER("border", "replicate", "replicate|reflect|reflect101|wrap|constant|zero-outside",
                     "what lies beyond the edge; zero-outside: results whose window leaves the image are 0"),
    NUMBER_PARAMETER("border-value", PARAMETER_REAL, "0", -3.4e38, 3.4e38, "levels",
                     "every channel of every pixel beyond the edge under border=constant"),
    CHOICE_PARAMETER("accuracy", "normal", "normal|relaxed",
                     "relaxed also allows variants that are faster and keep wider bounds"),
    CHOICE_PARAMETER("alpha", "copy", "copy|filter",
                     "the fourth channel: copied, or filtered like the others"),
    CHOICE_PARAMETER(
        "exact", "no", "no|yes",
        "yes: the same result on every device, to the last bit; an error for formats where no variant "
        "gives it"),
};

/* Their places in the table. */
enum { COMMON_BORDER, COMMON_BORDER_VALUE, COMMON_ACCURACY, COMMON_ALPHA, COMMON_EXACT };

/* Index of a word among choices, or -1. */
static int find_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *at = choices;; index++) {
        size_t word = strcspn(at, "|");
        if (word == length && strncmp(at, text, length) == 0)
            return index;
        if (at[word] == '\0')
            return -1;
        at += word + 1;
    }
}

static void choice_at(const char *choices, int index, char *to, size_t size)
{
    while (index-- > 0)
        choices += strcspn(choices, "|") + 1;
    snprintf(to, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

static hone_status bad_value(hone_error *error, const char *format, const char *filter, const char *parameter,
                             const char *text, const char *right)
{
    hone_status status = error_usage(error, format, filter, parameter, text, right);
    if (error)
        error->column = 2;
    return status;
}

static hone_status parse_number(const char *filter, const struct parameter *p, const char *text,
                                double *number, hone_error *error)
{
    char *end = NULL, range[96];
    bool whole = p->kind == PARAMETER_INTEGER;
    snprintf(range, sizeof range, whole ? "a whole number from %.0f to %.0f" : "a number from %g to %g",
             p->min, p->max);
    errno = 0;
    double value = text_number(text, &end);
    bool ok = end != text && *end == '\0' && isfinite(value) && (!whole || value == floor(value));
    if (!ok)
        return bad_value(error, "%s: %s=%s is not %s", filter, p->name, text, range);
    if (value < p->min || value > p->max)
        return bad_value(error, "%s: %s=%s is out of range; it takes %s", filter, p->name, text, range);
    *number = value;
    return HONE_OK;
}

static bool takes_share(const struct parameter *p)
{
    return p->kind == PARAMETER_REAL && p->unit && strcmp(p->unit, "levels") == 0;
}

/* "8%", where the parameter is in levels. */
static bool parse_share(const struct parameter *p, const char *text, struct share *share)
{
    char *end = NULL;
    const double percent = text_number(text, &end);
    *share = (struct share){0};
    if (end != text && strcmp(end, "%") == 0 && isfinite(percent) && takes_share(p) &&
        (percent >= 0 || p->min < 0))
        *share = (struct share){true, percent};
    return share->given;
}

double parameter_full_scale(const struct parameter *p, hone_type type)
{
    if (type_is_integer(type))
        return type_full_scale(type);
    return p && p->f32_full != 0 ? p->f32_full : 1;
}

/* What a share is in levels: whole ones for integers. */
static double share_levels(const struct parameter *p, const struct share *share, hone_type type)
{
    const double levels = share->percent * parameter_full_scale(p, type) / 100;
    return type_is_integer(type) ? floor(levels + 0.5) : levels;
}

static hone_status resolve_share(const struct filter_case *c, const struct parameter *p,
                                 const struct share *share, double *number, hone_error *error)
{
    if (!share->given)
        return HONE_OK;
    const double levels = share_levels(p, share, c->in.type);
    if (levels < p->min || levels > p->max)
        return error_usage(error, "%s: %s=%g%% is %g levels of %s; it takes %g to %g", c->filter->name,
                           p->name, share->percent, levels, hone_type_name(c->in.type), p->min, p->max);
    *number = levels;
    return HONE_OK;
}

hone_status case_resolve_shares(struct filter_case *c, hone_error *error)
{
    hone_status status =
        resolve_share(c, &common_parameters[COMMON_BORDER_VALUE], &c->border_share, &c->border_value, error);
    for (size_t i = 0; i < filter_parameter_count(c->filter) && !status; i++)
        status =
            resolve_share(c, &c->filter->parameters[i], &c->values[i].share, &c->values[i].number, error);
    return status;
}

static hone_status parse_value(const char *filter, const struct parameter *p, const char *text,
                               double *number, struct share *share, hone_error *error)
{
    if (parse_share(p, text, share))
        return HONE_OK;
    if (p->kind == PARAMETER_TEXT || p->kind == PARAMETER_IMAGE) {
        *number = 0;
        return *text ? HONE_OK : bad_value(error, "%s: %s=%s needs a value%s", filter, p->name, text, "");
    }
    if (p->kind != PARAMETER_CHOICE)
        return parse_number(filter, p, text, number, error);
    int index = find_choice(p->choices, text);
    if (index < 0)
        return bad_value(error, "%s: %s=%s is none of %s", filter, p->name, text, p->choices);
    *number = index;
    return HONE_OK;
}

static bool is_common(const struct hone_filter *filter, size_t index)
{
    return filter->spatial || index == COMMON_ACCURACY ||
           index == COMMON_EXACT; /* the rest is for filters that look beyond the pixel */
}

const struct parameter *case_common_parameter(const struct hone_filter *filter, size_t index)
{
    for (size_t i = 0; i < COUNT_OF(common_parameters); i++)
        if (is_common(filter, i) && index-- == 0)
            return &common_parameters[i];
    return NULL;
}

static void consider(const char *name, const char *candidate, const char **nearest, unsigned *best)
{
    unsigned distance = text_distance(name, candidate, *best);
    if (distance < *best) {
        *best = distance;
        *nearest = candidate;
    }
}

static hone_status unknown_parameter(const struct hone_filter *filter, const char *name, hone_error *error)
{
    const char *nearest = NULL;
    unsigned best = 1000;
    struct text all = {0}, answer = {0};
    for (size_t i = 0; i < filter_parameter_count(filter); i++) {
        consider(name, filter->parameters[i].name, &nearest, &best);
        text_add(&all, "%s%s", all.length ? ", " : "", filter->parameters[i].name);
    }
    for (size_t i = 0; i < COUNT_OF(common_parameters); i++)
        if (is_common(filter, i)) {
            consider(name, common_parameters[i].name, &nearest, &best);
            text_add(&all, "%s%s", all.length ? ", " : "", common_parameters[i].name);
        }
    bool near = nearest && best <= 3 && best < strlen(nearest);
    text_add_choices(&answer, near ? nearest : NULL, "it takes", text_view(&all));
    error_usage(error, "%s has no parameter '%s'%s", filter->name, name, text_view(&answer));
    if (error)
        error->column = 1;
    text_finish(&all);
    text_finish(&answer);
    return HONE_ERROR_USAGE;
}

static void add_border_value(const struct filter_case *c, struct text *out)
{
    text_add_number(out, c->border_share.given ? c->border_share.percent : c->border_value);
    text_add(out, "%s", c->border_share.given ? "%" : "");
}

static hone_status set_border_value(struct filter_case *c, double number, const struct share *share,
                                    hone_error *error)
{
    struct text text = {0};
    c->border_value = number, c->border_share = *share;
    add_border_value(c, &text);
    snprintf(c->border_text, sizeof c->border_text, "%s", text_view(&text));
    const bool failed = text.failed;
    text_finish(&text);
    return failed ? error_memory(error, "a parameter") : HONE_OK;
}

static hone_status set_common(struct filter_case *c, size_t index, const char *text, hone_error *error)
{
    double number = 0;
    struct share share;
    hone_status status =
        parse_value(c->filter->name, &common_parameters[index], text, &number, &share, error);
    if (status)
        return status;
    if (index == COMMON_BORDER)
        c->border = (hone_border)number;
    else if (index == COMMON_BORDER_VALUE)
        return set_border_value(c, number, &share, error);
    else if (index == COMMON_ACCURACY)
        c->relaxed = number != 0;
    else if (index == COMMON_ALPHA)
        c->filter_alpha = number != 0, c->alpha_given = true;
    else
        c->exact = number != 0;
    return HONE_OK;
}

hone_status case_set_own(struct filter_case *c, int index, const char *text, bool given, hone_error *error)
{
    double number = 0;
    struct share share;
    hone_status status =
        parse_value(c->filter->name, &c->filter->parameters[index], text, &number, &share, error);
    if (status)
        return status;
    char *copy = mem_copy_text(text);
    if (!copy)
        return error_memory(error, "a parameter");
    free((char *)c->values[index].text);
    c->values[index] = (struct value){number, share, copy, given};
    return HONE_OK;
}

hone_status case_set(struct filter_case *c, const char *name, const char *text, hone_error *error)
{
    int index = filter_parameter(c->filter, name);
    if (index >= 0)
        return case_set_own(c, index, text, true, error);
    for (size_t i = 0; i < COUNT_OF(common_parameters); i++)
        if (is_common(c->filter, i) && strcmp(common_parameters[i].name, name) == 0)
            return set_common(c, i, text, error);
    return unknown_parameter(c->filter, name, error);
}

static const char *common_text(const struct filter_case *c, size_t index)
{
    switch (index) {
    case COMMON_BORDER:
        return hone_border_name(c->border);
    case COMMON_BORDER_VALUE:
        return c->border_text[0] ? c->border_text : common_parameters[index].fallback;
    case COMMON_ACCURACY:
        return c->relaxed ? "relaxed" : "normal";
    case COMMON_ALPHA:
        return c->filter_alpha ? "filter" : "copy";
    default:
        return c->exact ? "yes" : "no";
    }
}

const char *case_text(const struct filter_case *c, const char *name)
{
    const int own = filter_parameter(c->filter, name);
    if (own >= 0)
        return c->values[own].text;
    for (size_t i = 0; i < COUNT_OF(common_parameters); i++)
        if (is_common(c->filter, i) && strcmp(common_parameters[i].name, name) == 0)
            return common_text(c, i);
    return NULL;
}

static void describe_value(struct text *out, const char *name, const char *value)
{
    bool quote = strpbrk(value, " |'\t") != NULL;
    char mark = strchr(value, '"') ? '\'' : '"';
    if (quote)
        text_add(out, " %s=%c%s%c", name, mark, value, mark);
    else
        text_add(out, " %s=%s", name, value);
}

void case_describe(const struct filter_case *c, struct text *out)
{
    char word[32];
    size_t count = filter_parameter_count(c->filter);
    text_add(out, "%s", c->filter->name);
    for (size_t i = 0; i < count; i++)
        if (c->values[i].given)
            describe_value(out, c->filter->parameters[i].name, c->values[i].text);
    if (c->border != HONE_BORDER_REPLICATE) {
        choice_at(common_parameters[0].choices, (int)c->border, word, sizeof word);
        text_add(out, " border=%s", word);
    }
    if (c->border_share.given || c->border_value != 0) {
        text_add(out, " border-value=");
        add_border_value(c, out);
    }
    if (c->relaxed)
        text_add(out, " accuracy=relaxed");
    if (c->filter_alpha)
        text_add(out, " alpha=filter");
    if (c->exact)
        text_add(out, " exact=yes");
}
