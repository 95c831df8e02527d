/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/case.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/selftest.h"
#include "filter/registry.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every filter has, beside its own. */
static const struct parameter common_parameters[] = {
    {.name = "border",
     .kind = PARAMETER_CHOICE,
     .otherwise = "replicate",
     .choices = "replicate|reflect|reflect101|wrap|constant|zero-outside",
     .help = "what lies beyond the edge; zero-outside: results whose window leaves the image are 0"},
    {.name = "border-value",
     .kind = PARAMETER_REAL,
     .otherwise = "0",
     .least = -3.4e38,
     .most = 3.4e38,
     .unit = "levels",
     .help = "every channel of every pixel beyond the edge under border=constant"},
    {.name = "accuracy",
     .kind = PARAMETER_CHOICE,
     .otherwise = "exact",
     .choices = "exact|relaxed",
     .help = "relaxed allows variants that are faster and not exact"},
};

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
    hone_status status = error_set(error, HONE_ERROR_USAGE, format, filter, parameter, text, right);
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
             p->least, p->most);
    errno = 0;
    double value = text_number(text, &end);
    bool ok = end != text && *end == '\0' && isfinite(value) && (!whole || value == floor(value));
    if (!ok)
        return bad_value(error, "%s: %s=%s is not %s", filter, p->name, text, range);
    if (value < p->least || value > p->most)
        return bad_value(error, "%s: %s=%s is out of range; it takes %s", filter, p->name, text, range);
    *number = value;
    return HONE_OK;
}

static hone_status parse_value(const char *filter, const struct parameter *p, const char *text,
                               double *number, hone_error *error)
{
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
    return filter->spatial || index == 2; /* accuracy; borders are for filters that look beyond the pixel */
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
    error_set(error, HONE_ERROR_USAGE, "%s has no parameter '%s'%s", filter->name, name, text_view(&answer));
    if (error)
        error->column = 1;
    text_finish(&all);
    text_finish(&answer);
    return HONE_ERROR_USAGE;
}

static hone_status set_common(struct filter_case *c, size_t index, const char *text, hone_error *error)
{
    double number = 0;
    hone_status status = parse_value(c->filter->name, &common_parameters[index], text, &number, error);
    if (status)
        return status;
    if (index == 0)
        c->border = (hone_border)number;
    else if (index == 1)
        c->border_value = number;
    else
        c->relaxed = number != 0;
    return HONE_OK;
}

static hone_status set_own(struct filter_case *c, int index, const char *text, bool given, hone_error *error)
{
    double number = 0;
    hone_status status = parse_value(c->filter->name, &c->filter->parameters[index], text, &number, error);
    if (status)
        return status;
    char *copy = mem_copy_text(text);
    if (!copy)
        return error_memory(error, "a parameter");
    free((char *)c->values[index].text);
    c->values[index] = (struct value){number, copy, given};
    return HONE_OK;
}

hone_status case_set(struct filter_case *c, const char *name, const char *text, hone_error *error)
{
    int index = filter_parameter(c->filter, name);
    if (index >= 0)
        return set_own(c, index, text, true, error);
    for (size_t i = 0; i < COUNT_OF(common_parameters); i++)
        if (is_common(c->filter, i) && strcmp(common_parameters[i].name, name) == 0)
            return set_common(c, i, text, error);
    return unknown_parameter(c->filter, name, error);
}

hone_status case_init(struct filter_case *c, const struct hone_filter *filter, hone_error *error)
{
    *c = (struct filter_case){.filter = filter};
    hone_status status = HONE_OK;
    size_t count = filter_parameter_count(filter);
    for (size_t i = 0; i < count && !status; i++)
        if (filter->parameters[i].otherwise)
            status = set_own(c, (int)i, filter->parameters[i].otherwise, false, error);
    if (status)
        case_finish(c);
    return status;
}

void case_finish(struct filter_case *c)
{
    for (int i = 0; i < MAX_PARAMETERS; i++)
        free((char *)c->values[i].text);
    for (unsigned i = 0; i < c->fused_count; i++) {
        case_finish(c->fused[i]);
        free(c->fused[i]);
    }
    free(c->data);
    *c = (struct filter_case){0};
}

static void list_types(unsigned types, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (int type = HONE_U8; type <= HONE_F32; type++)
        if (types & 1u << type)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
                                     hone_type_name((hone_type)type));
}

static hone_status check_formats(const struct filter_case *c, hone_error *error)
{
    char types[32];
    hone_status status = hone_image_desc_check(&c->in, error);
    if (status)
        return status;
    list_types(c->filter->types, types, sizeof types);
    if (!(c->filter->types & 1u << c->in.type))
        return error_set(error, HONE_ERROR_UNSUPPORTED, "%s does not take %s pixels; it takes %s",
                         c->filter->name, hone_type_name(c->in.type), types);
    if (!(c->filter->channels & 1u << c->in.channels))
        return error_set(error, HONE_ERROR_UNSUPPORTED, "%s does not take images of %u channels",
                         c->filter->name, c->in.channels);
    return HONE_OK;
}

static hone_status check_border_value(const struct filter_case *c, hone_error *error)
{
    double most = type_full_scale(c->in.type);
    if (c->border != HONE_BORDER_CONSTANT || c->in.type == HONE_F32)
        return HONE_OK;
    if (c->border_value < 0 || c->border_value > most || c->border_value != floor(c->border_value))
        return error_set(error, HONE_ERROR_USAGE,
                         "%s: border-value=%g does not fit %s pixels; it takes a whole number from 0 to %.0f",
                         c->filter->name, c->border_value, hone_type_name(c->in.type), most);
    return HONE_OK;
}

static hone_status check_given(const struct filter_case *c, hone_error *error)
{
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++) {
        const struct parameter *p = &c->filter->parameters[i];
        if (p->kind == PARAMETER_TEXT && !p->otherwise && !c->values[i].text)
            return error_set(error, HONE_ERROR_USAGE, "%s needs %s=...: %s", c->filter->name, p->name,
                             p->help);
    }
    return HONE_OK;
}

hone_status case_prepare_alone(struct filter_case *c, const hone_image_desc *in,
                               const hone_image_desc *second, hone_error *error)
{
    c->in = *in;
    c->second = second ? *second : (hone_image_desc){0};
    c->out = *in;
    c->out.pitch = 0;
    c->gain = 1;
    c->bias = 0;
    hone_status status = check_given(c, error);
    if (!status)
        status = check_formats(c, error);
    if (!status)
        status = check_border_value(c, error);
    if (!status && c->filter->prepare)
        status = c->filter->prepare(c, error);
    return status ? status : hone_image_desc_check(&c->out, error);
}

static hone_status copy_texts(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    bool ok = true;
    for (int i = 0; i < MAX_PARAMETERS; i++)
        if (from->values[i].text) {
            to->values[i].text = mem_copy_text(from->values[i].text);
            ok = ok && to->values[i].text;
        }
    return ok ? HONE_OK : error_memory(error, "a filter's parameters");
}

static hone_status copy_fused(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < from->fused_count && !status; i++) {
        struct filter_case *copy = mem_new(1, sizeof *copy);
        if (!copy)
            return error_memory(error, "a filter's parameters");
        to->fused[to->fused_count++] = copy;
        status = case_copy(copy, from->fused[i], error);
    }
    return status;
}

hone_status case_copy(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    *to = *from;
    to->data = NULL;
    to->fused_count = 0;
    hone_status status = copy_texts(to, from, error);
    if (!status)
        status = copy_fused(to, from, error);
    if (!status && from->in.width)
        status = case_prepare(to, case_input(from), from->second.width ? &from->second : NULL, error);
    if (status)
        case_finish(to);
    return status;
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
    if (c->border_value != 0) {
        text_add(out, " border-value=");
        text_add_number(out, c->border_value);
    }
    if (c->relaxed)
        text_add(out, " accuracy=relaxed");
}

/* Names for expressions */

static void add_name(struct case_scope *s, const char *name, int64_t value)
{
    assert(s->scope.count < MAX_CASE_NAMES);
    s->names[s->scope.count] = name;
    s->values[s->scope.count++] = value;
}

/* NVIDIA's compute capability times ten, where its inline assembly works; else 0. */
static int64_t compute_capability(hone_device *device)
{
    const char *name = hone_device_get_info(device)->architecture;
    return selftest_holds(device, SELFTEST_PTX) && strncmp(name, "sm_", 3) == 0 ? atoi(name + 3) : 0;
}

static void add_device(struct case_scope *s, hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    add_name(s, "CPU", info->kind == HONE_DEVICE_CPU);
    add_name(s, "GPU", info->kind == HONE_DEVICE_GPU);
    add_name(s, "CU", info->compute_units);
    add_name(s, "MAXWG", (int64_t)info->max_work_group);
    add_name(s, "LMEM", (int64_t)info->local_memory);
    add_name(s, "VENDOR", info->vendor_id);
    add_name(s, "WARP", info->simd_width);
    add_name(s, "UNIFIED", info->unified_memory);
    add_name(s, "IMAGES", selftest_holds(device, SELFTEST_IMAGES));
    add_name(s, "HALF", selftest_holds(device, SELFTEST_HALF));
    add_name(s, "WIDE", selftest_holds(device, SELFTEST_WIDE));
    add_name(s, "PTX", selftest_holds(device, SELFTEST_PTX));
    add_name(s, "SM", compute_capability(device));
    add_name(s, "SUBGROUPS", selftest_holds(device, SELFTEST_SUBGROUPS));
}

static void add_parameters(struct case_scope *s, const struct filter_case *c)
{
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++) {
        const struct parameter *p = &c->filter->parameters[i];
        if (p->kind != PARAMETER_INTEGER && p->kind != PARAMETER_CHOICE)
            continue;
        snprintf(s->spelled[i], sizeof s->spelled[i], "%s", p->name);
        for (char *at = s->spelled[i]; (at = strchr(at, '-'));)
            *at = '_';
        add_name(s, s->spelled[i], (int64_t)c->values[i].number);
    }
}

void case_scope_init(struct case_scope *s, const struct filter_case *c, hone_device *device)
{
    s->scope = (struct expr_scope){NULL, s->names, s->values, 0};
    add_name(s, "W", c->out.width);
    add_name(s, "H", c->out.height);
    add_name(s, "IW", c->in.width);
    add_name(s, "IH", c->in.height);
    add_name(s, "C", c->in.channels);
    add_name(s, "TYPE", c->in.type);
    add_name(s, "OTYPE", c->out.type);
    add_name(s, "FLOAT", c->in.type == HONE_F32);
    add_name(s, "BITS", (int64_t)hone_type_size(c->in.type) * 8);
    add_name(s, "BORDER", c->border);
    add_name(s, "RELAXED", c->relaxed);
    for (int i = 0; i < MAX_SYMBOLS && c->filter->symbols[i]; i++)
        add_name(s, c->filter->symbols[i], c->symbols[i]);
    add_parameters(s, c);
    if (device)
        add_device(s, device);
}

bool case_real(const struct filter_case *c, const char *name, double *value)
{
    for (int i = 0; i < MAX_REALS && c->filter->reals[i]; i++)
        if (strcmp(c->filter->reals[i], name) == 0)
            return *value = c->reals[i], true;
    int index = filter_parameter(c->filter, name);
    if (index >= 0)
        return *value = c->values[index].number, true;
    if (strcmp(name, "border-value") == 0)
        return *value = c->border_value, true;
    return false;
}

static double own_bound(const struct filter_case *c, const struct variant *variant, double magnitude)
{
    double bound = variant && variant->relaxed ? variant->bounds[c->in.type] : c->filter->bounds[c->in.type];
    return c->in.type == HONE_F32 && c->out.type == HONE_F32 ? bound * (c->gain * magnitude + c->bias)
                                                             : bound;
}

/* Of filters in a row: magnitudes add up as images are added. */
double case_bound(const struct filter_case *c, const struct variant *variant, double magnitude)
{
    double bound = own_bound(c, variant, magnitude);
    for (unsigned i = 0; i < c->fused_count; i++)
        bound += own_bound(c->fused[i], NULL, magnitude * (i + 2));
    return bound;
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
    return error_set(error, HONE_ERROR_USAGE, "%s", message);
}

hone_status case_read_file(const char *path, size_t limit, char **content, hone_error *error)
{
    struct text text = {0};
    *content = NULL;
    hone_status status = file_read(path, limit, &text, error);
    if (!status && text.length > 0 && memchr(text.data, '\0', text.length))
        status = error_set(error, HONE_ERROR_IO, "'%s' is no text: it holds bytes of value 0", path);
    if (!status && !(*content = text_take(&text)))
        status = error_memory(error, path);
    text_finish(&text);
    return status;
}

double case_parse_number(const char *text, char **end)
{
    return text_number(text, end);
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
