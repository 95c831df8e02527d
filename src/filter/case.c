/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/case.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/selftest.h"
#include "filter/registry.h"
#include "image/view.h"

#include <assert.h>
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

/* What a share is in levels: whole ones, or parts of what is full for f32. */
static double share_levels(const struct parameter *p, const struct share *share, hone_type type)
{
    if (type_is_integer(type))
        return floor(share->percent * type_full_scale(type) / 100 + 0.5);
    return share->percent * (p->f32_full != 0 ? p->f32_full : 1) / 100;
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

/* Shares become levels of the input's format. */
static hone_status resolve_shares(struct filter_case *c, hone_error *error)
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
        c->border_value = number, c->border_share = share;
    else if (index == COMMON_ACCURACY)
        c->relaxed = number != 0;
    else if (index == COMMON_ALPHA)
        c->filter_alpha = number != 0, c->alpha_given = true;
    else
        c->exact = number != 0;
    return HONE_OK;
}

static hone_status set_own(struct filter_case *c, int index, const char *text, bool given, hone_error *error)
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
        if (filter->parameters[i].fallback)
            status = set_own(c, (int)i, filter->parameters[i].fallback, false, error);
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

void case_list_types(unsigned types, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (int type = HONE_U8; type <= HONE_S16; type++)
        if (types & 1u << type)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
                                     hone_type_name((hone_type)type));
}

/* What gives an image of one channel, where that would be taken. */
static hone_status refuse_channels(const struct filter_case *c, hone_error *error)
{
    const char *name = c->filter->name;
    const struct hone_filter *gray = registry_find("gray");
    if ((c->filter->channels & CHANNELS_1) && gray && filter_takes(gray, &c->in))
        return error_unsupported(error,
                                 "%s does not take images of %u channels; 'gray | %s' takes their luma", name,
                                 c->in.channels, name);
    return error_unsupported(error, "%s does not take images of %u channels", name, c->in.channels);
}

static hone_status check_formats(const struct filter_case *c, hone_error *error)
{
    char types[32];
    TRY(hone_image_desc_check(&c->in, error));
    case_list_types(c->filter->types, types, sizeof types);
    if (!(c->filter->types & 1u << c->in.type))
        return error_unsupported(error, "%s does not take %s pixels; it takes %s", c->filter->name,
                                 hone_type_name(c->in.type), types);
    if (!(c->filter->channels & 1u << c->in.channels))
        return refuse_channels(c, error);
    return HONE_OK;
}

static hone_status check_border_value(const struct filter_case *c, hone_error *error)
{
    const double most = type_full_scale(c->in.type), least = c->in.type == HONE_S16 ? -most - 1 : 0;
    if (c->border != HONE_BORDER_CONSTANT || c->in.type == HONE_F32)
        return HONE_OK;
    if (c->border_value < least || c->border_value > most || c->border_value != floor(c->border_value))
        return error_usage(
            error, "%s: border-value=%g does not fit %s pixels; it takes a whole number from %.0f to %.0f",
            c->filter->name, c->border_value, hone_type_name(c->in.type), least, most);
    return HONE_OK;
}

/* s16 has the bounds of u16. */
static int bound_place(hone_type type)
{
    return type == HONE_S16 ? HONE_U16 : (int)type;
}

double filter_bound(const struct hone_filter *filter, hone_type type)
{
    return filter->bounds[bound_place(type)];
}

unsigned case_exact_types(const struct hone_filter *filter)
{
    unsigned types = 0;
    for (int type = HONE_U8; type <= HONE_S16; type++)
        if (filter_bound(filter, (hone_type)type) == 0 ||
            (filter->exact_integers && type_is_integer((hone_type)type)))
            types |= 1u << type;
    for (size_t i = 0; i < filter->variant_count; i++)
        types |= filter->variants[i].exact;
    return types & filter->types;
}

/* The filter's bound in this case. */
static double bound_here(const struct filter_case *c)
{
    const bool integers = type_is_integer(c->in.type) && type_is_integer(c->out.type);
    return integers && c->filter->exact_integers ? 0 : filter_bound(c->filter, c->in.type);
}

bool case_needs_exact(const struct filter_case *c)
{
    return c->exact && bound_here(c) > 0;
}

static hone_status check_exact(const struct filter_case *c, hone_error *error)
{
    char types[32];
    unsigned exact = case_exact_types(c->filter);
    if (!c->exact)
        return HONE_OK;
    if (c->relaxed)
        return error_usage(error, "%s: exact=yes and accuracy=relaxed exclude each other", c->filter->name);
    if (exact & 1u << c->in.type)
        return HONE_OK;
    case_list_types(exact, types, sizeof types);
    return error_unsupported(
        error,
        "%s of %s pixels rounds in floating point, which differs in the last bits from device to "
        "device: no variant is exact; %s%s",
        c->filter->name, hone_type_name(c->in.type), exact ? "it is exact for " : "it is exact for no format",
        types);
}

/* Where the result's type decides, which prepare() sets. */
static hone_status check_exact_result(const struct filter_case *c, hone_error *error)
{
    if (!c->filter->exact_integers || !case_needs_exact(c))
        return HONE_OK;
    return error_unsupported(
        error,
        "%s to %s rounds in floating point, which differs in the last bits from device to device: "
        "with exact=yes its result is u8 or u16",
        c->filter->name, hone_type_name(c->out.type));
}

static hone_status check_given(const struct filter_case *c, hone_error *error)
{
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++) {
        const struct parameter *p = &c->filter->parameters[i];
        if (p->kind == PARAMETER_TEXT && !p->fallback && !c->values[i].text)
            return error_usage(error, "%s needs %s=...: %s", c->filter->name, p->name, p->help);
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
    THEN(status, check_formats(c, error));
    THEN(status, resolve_shares(c, error));
    THEN(status, check_border_value(c, error));
    THEN(status, check_exact(c, error));
    if (!status && c->filter->prepare)
        status = c->filter->prepare(c, error);
    THEN(status, check_exact_result(c, error));
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

bool case_draws(const struct filter_case *c)
{
    const struct bins *bins = c->filter->bins;
    return bins && strcmp(case_value(c, bins->output)->text, bins->picture) == 0;
}

hone_status case_copy(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    *to = *from;
    to->data = NULL;
    to->fused_count = 0;
    hone_status status = copy_texts(to, from, error);
    THEN(status, copy_fused(to, from, error));
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
    if (c->border_share.given || c->border_value != 0) {
        text_add(out, " border-value=");
        text_add_number(out, c->border_share.given ? c->border_share.percent : c->border_value);
        text_add(out, "%s", c->border_share.given ? "%" : "");
    }
    if (c->relaxed)
        text_add(out, " accuracy=relaxed");
    if (c->filter_alpha)
        text_add(out, " alpha=filter");
    if (c->exact)
        text_add(out, " exact=yes");
}

static bool same_value(const struct value *a, const struct value *b)
{
    bool texts = a->text && b->text;
    return a->number == b->number && a->given == b->given &&
           (texts ? strcmp(a->text, b->text) == 0 : a->text == b->text);
}

bool case_same(const struct filter_case *a, const struct filter_case *b)
{
    bool same = a->filter == b->filter && a->border == b->border && a->border_value == b->border_value &&
                a->relaxed == b->relaxed && a->exact == b->exact && a->filter_alpha == b->filter_alpha &&
                desc_same(&a->in, &b->in) && desc_same(&a->second, &b->second) && a->before == b->before &&
                a->fused_count == b->fused_count;
    for (int i = 0; i < MAX_PARAMETERS && same; i++)
        same = same_value(&a->values[i], &b->values[i]);
    for (unsigned i = 0; i < a->fused_count && same; i++)
        same = case_same(a->fused[i], b->fused[i]);
    return same;
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

static const struct {
    const char *name;
    enum selftest_item item;
} features[] = {{"IMAGES", SELFTEST_IMAGES},
                {"HALF", SELFTEST_HALF},
                {"WIDE", SELFTEST_WIDE},
                {"PTX", SELFTEST_PTX},
                {"SUBGROUPS", SELFTEST_SUBGROUPS}};

static bool find_feature(void *device, const char *name, int64_t *value)
{
    if (strcmp(name, "SM") == 0)
        return *value = compute_capability(device), true;
    for (size_t i = 0; i < COUNT_OF(features); i++)
        if (strcmp(name, features[i].name) == 0)
            return *value = selftest_holds(device, features[i].item), true;
    return false;
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
    s->scope.find = find_feature;
    s->scope.context = device;
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
    s->scope = (struct expr_scope){.names = s->names, .values = s->values};
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
    add_name(s, "EXACT", c->exact);
    for (int i = 0; i < MAX_SYMBOLS && c->filter->symbols[i]; i++)
        add_name(s, c->filter->symbols[i], c->symbols[i]);
    add_parameters(s, c);
    if (device)
        add_device(s, device);
}

void case_scope_complete(struct case_scope *s)
{
    int64_t value;
    for (size_t i = 0; i < COUNT_OF(features); i++)
        if (expr_lookup(&s->scope, features[i].name, &value))
            add_name(s, features[i].name, value);
    if (expr_lookup(&s->scope, "SM", &value))
        add_name(s, "SM", value);
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
    if (c->exact)
        return 0;
    double bound = variant && variant->relaxed ? variant->bounds[bound_place(c->in.type)] : bound_here(c);
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
