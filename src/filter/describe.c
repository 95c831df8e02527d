/* SPDX-License-Identifier: BSD-2-Clause */
/* What filters call, and what their descriptions say of themselves. Nothing here asks the registry. */
#include "filter/filter.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "filter/registry.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct variant *filter_variant(const struct hone_filter *filter, const char *name)
{
    for (size_t i = 0; i < filter->variant_count; i++)
        if (strcmp(filter->variants[i].name, name) == 0)
            return &filter->variants[i];
    return NULL;
}

void filter_list_variants(const struct hone_filter *filter, struct text *out)
{
    for (size_t i = 0; i < filter->variant_count; i++)
        text_add(out, "%s%s", i ? ", " : "", filter->variants[i].name);
}

const struct rung *filter_rung(const struct hone_filter *filter, const char *name)
{
    for (size_t i = 0; i < filter->rung_count; i++)
        if (strcmp(filter->rungs[i].name, name) == 0)
            return &filter->rungs[i];
    return NULL;
}

size_t filter_parameter_count(const struct hone_filter *filter)
{
    size_t count = 0;
    while (count < MAX_PARAMETERS && filter->parameters[count].name)
        count++;
    return count;
}

int filter_parameter(const struct hone_filter *filter, const char *name)
{
    size_t count = filter_parameter_count(filter);
    for (size_t i = 0; i < count; i++)
        if (strcmp(filter->parameters[i].name, name) == 0)
            return (int)i;
    return -1;
}

size_t variant_tunable_count(const struct variant *variant)
{
    size_t count = 0;
    while (count < MAX_TUNABLES && variant->tunables[count].name)
        count++;
    return count;
}

size_t variant_pass_count(const struct variant *variant)
{
    size_t count = 0;
    while (count < MAX_PASSES && variant->passes[count].kernel)
        count++;
    return count;
}

size_t variant_scratch_count(const struct variant *variant)
{
    size_t count = 0;
    while (count < MAX_SCRATCH && (variant->scratch[count].bytes || variant->scratch[count].width))
        count++;
    return count;
}

static size_t count_texts(const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

static const char *const *usual_of(const struct hone_filter *filter)
{
    static const char *const defaults[] = {"", NULL};
    return filter->usual ? filter->usual : defaults;
}

static bool write_one(const struct hone_filter *filter, const char *const *texts, size_t index,
                      struct text *out)
{
    const bool there = index < count_texts(texts);
    if (there)
        text_add(out, "%s %s", filter->name, texts[index]);
    return there;
}

bool filter_usual(const struct hone_filter *filter, size_t index, struct text *out)
{
    return write_one(filter, usual_of(filter), index, out);
}

bool filter_ahead(const struct hone_filter *filter, size_t index, struct text *out)
{
    return write_one(filter, filter->ahead, index, out);
}

void filter_first_format(const struct hone_filter *filter, hone_image_desc *in)
{
    in->type = HONE_U8;
    in->channels = 1;
    while (!(filter->types & 1u << in->type))
        in->type++;
    while (!(filter->channels & 1u << in->channels))
        in->channels++;
}

bool filter_takes(const struct hone_filter *filter, const hone_image_desc *in)
{
    return (filter->types & 1u << in->type) && (filter->channels & 1u << in->channels);
}

/* What filters call */

const struct value *case_value(const struct filter_case *c, const char *name)
{
    int index = filter_parameter(c->filter, name);
    assert(index >= 0);
    return &c->values[index];
}

double case_number(const struct filter_case *c, const char *name)
{
    return case_value(c, name)->number;
}

bool case_copies_alpha(const struct filter_case *c)
{
    return desc_has_alpha(&c->in) && !c->filter_alpha;
}

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count && names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    assert(!"a filter uses a symbol or real that it does not declare");
    return 0;
}

void case_set_symbol(struct filter_case *c, const char *name, int64_t value)
{
    c->symbols[find_name(c->filter->symbols, MAX_SYMBOLS, name)] = value;
}

int64_t case_symbol(const struct filter_case *c, const char *name)
{
    return c->symbols[find_name(c->filter->symbols, MAX_SYMBOLS, name)];
}

void case_set_real(struct filter_case *c, const char *name, double value)
{
    c->reals[find_name(c->filter->reals, MAX_REALS, name)] = value;
}

hone_status case_wrong(hone_error *error, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_usage(error, "%s", message);
}

hone_status case_read_file(const char *path, size_t limit, char **content, hone_error *error)
{
    struct text text = {0};
    *content = NULL;
    hone_status status = file_read(path, limit, &text, error);
    if (!status && text.length > 0 && memchr(text.data, '\0', text.length))
        status = error_io(error, "'%s' is no text: it holds bytes of value 0", path);
    if (!status && !(*content = text_take(&text)))
        status = error_memory(error, path);
    text_finish(&text);
    return status;
}

double case_parse_number(const char *text, char **end)
{
    return text_number(text, end);
}

bool division_constants_of_next(uint64_t divisor, uint64_t most, unsigned bits, uint64_t *multiplier,
                                unsigned *shift)
{
    for (unsigned k = 0; k < 63; k++) {
        const uint64_t power = (uint64_t)1 << k, m = power / divisor;
        /* (n + 1)*m/2^k is (n + 1)/divisor less (n + 1)*missing/(divisor*2^k): it must be less, so that the
         * next multiple stays out of reach, but by no more than the 1/divisor that was added. */
        const uint64_t missing = power % divisor;
        if (bits < 64 && m >> bits)
            return false;
        if (missing > 0 && (unsigned __int128)missing * ((unsigned __int128)most + 1) <= power) {
            *multiplier = m;
            *shift = k;
            return true;
        }
    }
    return false;
}

bool division_constants(uint64_t divisor, uint64_t most, unsigned bits, uint64_t *multiplier, unsigned *shift)
{
    for (unsigned k = 0; k < 63; k++) {
        uint64_t power = (uint64_t)1 << k, m = power / divisor + (power % divisor != 0);
        /* n*m/2^k is n/divisor plus n*excess/(divisor*2^k), which must stay under the next multiple of
         * 1/divisor. */
        unsigned __int128 excess = (unsigned __int128)m * divisor - power;
        if (bits < 64 && m >> bits)
            return false;
        if (excess * most < power) {
            *multiplier = m;
            *shift = k;
            return true;
        }
    }
    return false;
}
