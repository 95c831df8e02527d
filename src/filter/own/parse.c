/* SPDX-License-Identifier: BSD-2-Clause */
/* The `//@filter` lines of a file, read into the description of a filter. */
#include "filter/own/own.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/arguments.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char marker[] = "//@filter";

/* A line, and how far it was read. */
struct line {
    struct own *own;
    const char *at, *end; /* without the spaces around */
    int number;
    hone_error *error;
};

/* ---- Words ---- */

__attribute__((format(printf, 2, 3))) static hone_status mistake(const struct line *line, const char *format,
                                                                 ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_usage(line->error, "%s:%d: %s", line->own->source.path, line->number, message);
}

static void skip(struct line *line)
{
    while (line->at < line->end && isspace((unsigned char)*line->at))
        line->at++;
}

/* What stands before the next of `stops`, without spaces around; "" at the end. A stop inside of parentheses
 * is none. The stop is passed over. */
static const char *take(struct line *line, const char *stops)
{
    int depth = 0;
    skip(line);
    const char *start = line->at;
    while (line->at < line->end && (depth > 0 || !strchr(stops, *line->at))) {
        depth += *line->at == '(' ? 1 : *line->at == ')' ? -1 : 0;
        line->at++;
    }
    const char *end = line->at;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    line->at += line->at < line->end;
    return own_keep(line->own, start, (size_t)(end - start));
}

static const char *take_word(struct line *line)
{
    return take(line, " \t");
}

static bool is_name(const char *text, const char *letters, size_t most)
{
    const size_t length = strlen(text);
    return length > 0 && length <= most && strspn(text, letters) == length && !isdigit((unsigned char)*text);
}

static bool is_number(const char *text, double *number)
{
    char *end = NULL;
    *number = text_number(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

/* ---- What a line may say ---- */

static hone_status read_summary(struct line *line)
{
    line->own->filter.summary = take(line, "");
    return HONE_OK;
}

/* "1..8" */
static bool read_range(const char *text, struct parameter *p)
{
    const char *dots = strstr(text, "..");
    char low[64];
    snprintf(low, sizeof low, "%.*s", dots ? (int)(dots - text) : 0, text);
    return dots && is_number(low, &p->min) && is_number(dots + 2, &p->max) && p->min <= p->max;
}

/* KIND RANGE = DEFAULT UNIT */
static hone_status read_kind(struct line *line, struct parameter *p)
{
    const char *kind = take_word(line), *range = take(line, "=");
    p->fallback = take_word(line);
    const char *unit = take(line, "");
    p->unit = *unit ? unit : NULL;
    if (strcmp(kind, "choice") == 0) {
        p->kind = PARAMETER_CHOICE;
        p->choices = range;
        if (!is_name(range, "abcdefghijklmnopqrstuvwxyz0123456789|", 200))
            return mistake(line, "choices are words with bars between, such as soft|hard, not '%s'", range);
    } else if (strcmp(kind, "int") == 0 || strcmp(kind, "real") == 0) {
        p->kind = kind[0] == 'i' ? PARAMETER_INTEGER : PARAMETER_REAL;
        if (!read_range(range, p))
            return mistake(line, "a range is written like 1..8, not '%s'", range);
    } else {
        return mistake(line, "a parameter is an int, a real or a choice, not '%s'", kind);
    }
    if (!*p->fallback)
        return mistake(line, "%s needs a default: '%s %s = ...'", p->name, kind, range);
    return HONE_OK;
}

/* Parameters are arguments of kernels, of which these words are others. */
static bool is_argument(const char *name)
{
    const char *const tokens[] = {name, NULL};
    struct argument_list list;
    return arguments_parse(&list, tokens, 0, NULL) == HONE_OK && list.list[0].kind != ARGUMENT_INT;
}

/* NAME KIND RANGE = DEFAULT UNIT: HELP */
static hone_status read_parameter(struct line *line)
{
    struct hone_filter *filter = &line->own->filter;
    size_t count = 0;
    while (count < MAX_PARAMETERS && filter->parameters[count].name)
        count++;
    if (count == MAX_PARAMETERS)
        return mistake(line, "a filter has at most %d parameters", MAX_PARAMETERS);
    struct parameter *p = &filter->parameters[count];
    p->name = take_word(line);
    if (!is_name(p->name, "abcdefghijklmnopqrstuvwxyz0123456789_", 24) || text_starts(p->name, "hone"))
        return mistake(line, "'%s' is no name for a parameter: small letters, digits and '_' are", p->name);
    if (is_argument(p->name))
        return mistake(line, "'%s' is what hone passes to kernels by that name; choose another one", p->name);
    for (size_t i = 0; i < count; i++)
        if (strcmp(filter->parameters[i].name, p->name) == 0)
            return mistake(line, "there is a parameter '%s' already", p->name);
    const char *colon = memchr(line->at, ':', (size_t)(line->end - line->at)), *end = line->end;
    if (colon)
        line->end = colon;
    hone_status status = read_kind(line, p);
    line->at = colon ? colon + 1 : end;
    line->end = end;
    p->help = take(line, "");
    return status;
}

/* One expression for all sides, two for X and Y, or four: left, right, top, bottom. */
static hone_status read_window(struct line *line)
{
    const char *sides[4];
    int count = 0;
    line->own->window_line = line->number;
    for (skip(line); line->at < line->end && count < 4; skip(line))
        sides[count++] = take(line, ",");
    if (count == 0 || count == 3 || line->at < line->end)
        return mistake(line,
                       "a window is one expression, two for X and Y, or four: left, right, top, bottom");
    for (int i = 0; i < 4; i++)
        line->own->window[i] = sides[count == 4 ? i : count == 2 ? i / 2 : 0];
    return HONE_OK;
}

static hone_status read_types(struct line *line)
{
    unsigned types = 0;
    for (skip(line); line->at < line->end; skip(line)) {
        const char *word = take_word(line);
        hone_type type;
        if (hone_type_parse(&type, word, NULL) || type == HONE_U32)
            return mistake(line, "'%s' is none of u8, u16, s16, f32", word);
        types |= 1u << type;
    }
    line->own->filter.types = types;
    return types ? HONE_OK : mistake(line, "types are some of u8, u16, s16, f32");
}

static hone_status read_channels(struct line *line)
{
    unsigned channels = 0;
    for (skip(line); line->at < line->end; skip(line)) {
        const char *word = take_word(line);
        if (!*word || word[1] || *word < '1' || *word > '4')
            return mistake(line, "'%s' is none of 1, 2, 3, 4", word);
        channels |= 1u << (*word - '0');
    }
    line->own->filter.channels = channels;
    return channels ? HONE_OK : mistake(line, "channels are some of 1, 2, 3, 4");
}

/* LEVELS [FRACTION] */
static hone_status read_tolerance(struct line *line)
{
    double levels = 0, fraction = 0;
    const char *first = take_word(line), *second = take_word(line);
    if (!is_number(first, &levels) || (*second && !is_number(second, &fraction)) || levels < 0 ||
        fraction < 0)
        return mistake(line,
                       "a tolerance is LEVELS of integer formats and, for f32, a FRACTION of the largest "
                       "value: 'tolerance 1 1e-5'");
    double *bounds = line->own->filter.bounds;
    bounds[HONE_U8] = bounds[HONE_U16] = levels;
    bounds[HONE_F32] = *second ? fraction : levels == 0 ? 0 : bounds[HONE_F32];
    return HONE_OK;
}

/* ---- Variants ---- */

/* The variant that lines speak of: before the first, one that all of a pixel function's are made of. */
static struct variant *current(struct line *line)
{
    struct own *own = line->own;
    return &own->variants[own->variant_count ? own->variant_count - 1 : 0];
}

static hone_status read_variant(struct line *line)
{
    struct own *own = line->own;
    if (own->variant_count == COUNT_OF(own->variants))
        return mistake(line, "a filter has at most %zu variants", COUNT_OF(own->variants));
    struct variant *v = &own->variants[own->variant_count++];
    v->name = take(line, ":");
    v->summary = take(line, "");
    if (!is_name(v->name, "abcdefghijklmnopqrstuvwxyz0123456789_", 24))
        return mistake(line, "'%s' is no name for a variant: small letters, digits and '_' are", v->name);
    for (size_t i = 0; i + 1 < own->variant_count; i++)
        if (strcmp(own->variants[i].name, v->name) == 0)
            return mistake(line, "there is a variant '%s' already", v->name);
    if (own->variant_count == 1)
        own->source.pixel = false;
    return HONE_OK;
}

static hone_status check_values(const struct line *line, const char *values)
{
    int count = 0;
    for (const char *at = values; *at; count++) {
        char *end = NULL;
        strtoll(at, &end, 10);
        if (end == at || (*end && *end != ' ') || count == 64)
            return mistake(line, "'%s' is no list of at most 64 whole numbers with spaces between", values);
        at = end + strspn(end, " ");
    }
    return count ? HONE_OK : mistake(line, "a tunable needs values: 'tunable NAME 1 2 4'");
}

/* NAME VALUE...: HELP */
static hone_status read_tunable(struct line *line)
{
    struct variant *v = current(line);
    size_t count = 0;
    while (count < MAX_TUNABLES && v->tunables[count].name)
        count++;
    if (count >= MAX_TUNABLES - 4) /* room for those of hone's own variants */
        return mistake(line, "a variant has at most %d tunables", MAX_TUNABLES - 4);
    struct tunable *t = &v->tunables[count];
    t->name = take_word(line);
    t->values = take(line, ":");
    t->help = take(line, "");
    if (!is_name(t->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", 24) || text_starts(t->name, "HONE"))
        return mistake(line, "'%s' is no name for a tunable: capitals, digits and '_' are", t->name);
    t->kind = strcmp(t->name, "WG_X") == 0 || strcmp(t->name, "WG_Y") == 0 ? TUNABLE_LAUNCH : TUNABLE_DEFINE;
    for (size_t i = 0; i < count; i++)
        if (strcmp(v->tunables[i].name, t->name) == 0)
            return mistake(line, "there is a tunable '%s' already", t->name);
    return check_values(line, t->values);
}

static hone_status add_to_list(struct line *line, const char **list, size_t most, const char *what)
{
    size_t count = 0;
    while (count < most && list[count])
        count++;
    if (count == most)
        return mistake(line, "there are at most %zu %s", most, what);
    list[count] = take(line, "");
    return *list[count] ? HONE_OK : mistake(line, "an expression is missing");
}

static hone_status read_constraint(struct line *line)
{
    struct variant *v = current(line);
    return add_to_list(line, v->constraints, COUNT_OF(v->constraints), "conditions");
}

static hone_status read_options(struct line *line)
{
    current(line)->options[0].text = take(line, "");
    return HONE_OK;
}

/* ---- Kernels ---- */

static hone_status need_variant(const struct line *line)
{
    return line->own->variant_count ? HONE_OK
                                    : mistake(line, "this speaks of a variant: begin one with 'variant NAME: "
                                                    "what it does'");
}

/* NAME(ARGUMENT, ...) */
static hone_status read_kernel(struct line *line)
{
    struct own *own = line->own;
    TRY(need_variant(line));
    unsigned *count = &own->passes[own->variant_count - 1], arguments = 0;
    const char *open = memchr(line->at, '(', (size_t)(line->end - line->at));
    if (*count == MAX_PASSES)
        return mistake(line, "a variant has at most %d kernels", MAX_PASSES);
    if (!open || line->end[-1] != ')')
        return mistake(line, "a kernel is written with its arguments: 'kernel NAME(in, out, W, H)'");
    struct pass *pass = &current(line)->passes[(*count)++];
    pass->kernel = own_keep(own, line->at, (size_t)(open - line->at));
    line->at = open + 1;
    line->end--;
    for (skip(line); line->at < line->end && arguments < MAX_ARGUMENTS; skip(line))
        pass->arguments[arguments++] = take(line, ",");
    if (line->at < line->end)
        return mistake(line, "a kernel has at most %d arguments", MAX_ARGUMENTS);
    return HONE_OK;
}

static hone_status read_sides(struct line *line, size_t offset)
{
    struct own *own = line->own;
    hone_status status = need_variant(line);
    if (status || own->passes[own->variant_count - 1] == 0)
        return status ? status : mistake(line, "this speaks of a kernel: write its line first");
    struct pass *pass = &current(line)->passes[own->passes[own->variant_count - 1] - 1];
    const char **sides = (const char **)((char *)pass + offset);
    for (int i = 0; i < 3 && line->at < line->end; i++) {
        sides[i] = take(line, ",");
        skip(line);
    }
    return sides[0] && *sides[0] ? HONE_OK : mistake(line, "one to three expressions are missing");
}

static hone_status read_extent(struct line *line)
{
    return read_sides(line, offsetof(struct pass, extent));
}

static hone_status read_block(struct line *line)
{
    return read_sides(line, offsetof(struct pass, block));
}

static hone_status read_group(struct line *line)
{
    return read_sides(line, offsetof(struct pass, local));
}

static hone_status read_scratch(struct line *line)
{
    struct own *own = line->own;
    TRY(need_variant(line));
    unsigned *count = &own->scratch[own->variant_count - 1];
    if (*count == MAX_SCRATCH)
        return mistake(line, "a variant has at most %d scratch buffers", MAX_SCRATCH);
    const char *bytes = current(line)->scratch[(*count)++].bytes = take(line, "");
    return *bytes ? HONE_OK : mistake(line, "the number of bytes is missing");
}

static hone_status read_define(struct line *line)
{
    struct variant *v = current(line);
    hone_status status = need_variant(line);
    return status ? status : add_to_list(line, v->defines, COUNT_OF(v->defines), "definitions");
}

static hone_status read_where(struct line *line)
{
    hone_status status = need_variant(line);
    if (!status)
        current(line)->condition = take(line, "");
    return status;
}

/* ---- The lines ---- */

static const struct {
    const char *word;
    hone_status (*read)(struct line *line);
} keys[] = {
    {"summary", read_summary}, {"param", read_parameter},     {"window", read_window},
    {"types", read_types},     {"channels", read_channels},   {"tolerance", read_tolerance},
    {"tunable", read_tunable}, {"restrict", read_constraint}, {"options", read_options},
    {"variant", read_variant}, {"kernel", read_kernel},       {"extent", read_extent},
    {"block", read_block},     {"group", read_group},         {"scratch", read_scratch},
    {"define", read_define},   {"where", read_where},
};

static hone_status read_line(struct line *line)
{
    const char *key = take_word(line);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].word, key) == 0) {
            skip(line);
            return keys[i].read(line);
        }
    struct text all = {0};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        text_add(&all, "%s%s", i ? ", " : "", keys[i].word);
    hone_status status = mistake(line, "'%s' says nothing of a filter; there are %s", key, text_view(&all));
    text_finish(&all);
    return status;
}

hone_status own_parse(struct own *own, hone_error *error)
{
    const char *at = own->source.text;
    hone_status status = HONE_OK;
    bool any = false;
    own->source.pixel = true;
    own->filter.types = TYPES_ALL;
    own->filter.channels = CHANNELS_ALL;
    own->filter.bounds[HONE_U8] = own->filter.bounds[HONE_U16] = 1;
    own->filter.bounds[HONE_F32] = 1e-5;
    for (int number = 1; *at && !status; number++) {
        const char *start = at, *end = at + strcspn(at, "\n");
        at = end + (*end != '\0');
        start += strspn(start, " \t");
        if (!text_starts(start, marker) || !strchr(" \t\r\n", start[strlen(marker)]))
            continue;
        while (end > start && isspace((unsigned char)end[-1]))
            end--;
        struct line line = {own, start + strlen(marker), end, number, error};
        any = true;
        status = read_line(&line);
    }
    if (!status && !any)
        status =
            error_usage(error,
                        "'%s' does not describe a filter: it needs lines such as '//@filter summary what "
                        "it does' (docs/own-filters.md); for a kernel to tune, use hone tune --kernel-file",
                        own->source.path);
    return status;
}
