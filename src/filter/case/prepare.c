/* SPDX-License-Identifier: BSD-2-Clause */
/* What a filter takes, and the bounds that its results keep. */
#include "filter/case/internal.h"

#include "base/error.h"
#include "filter/registry.h"
#include "image/view.h"

#include <math.h>
#include <stdio.h>

void case_list_types(unsigned types, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (int type = HONE_U8; type <= HONE_S16; type++)
        if (types & 1u << type)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "",
                                     hone_type_name((hone_type)type));
}

/* "1, 3 or 4" */
static void list_channels(unsigned channels, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (unsigned n = 1; n <= 4; n++)
        if (channels & 1u << n)
            used += (size_t)snprintf(to + used, size - used, "%s%u",
                                     !used                 ? ""
                                     : channels >> (n + 1) ? ", "
                                                           : " or ",
                                     n);
}

/* What gives an image of one channel, where that would be taken. */
static hone_status refuse_channels(const struct filter_case *c, hone_error *error)
{
    const char *name = c->filter->name;
    char taken[16];
    const struct hone_filter *gray = registry_find("gray");
    if (c->filter->period > 1 && c->in.channels > 1)
        return error_unsupported(
            error,
            "%s does not take images of %u channels: it makes colours of a sensor's raw values, one "
            "channel, and this image has its colours already",
            name, c->in.channels);
    if ((c->filter->channels & CHANNELS_1) && gray && filter_takes(gray, &c->in))
        return error_unsupported(error,
                                 "%s does not take images of %u channels; 'gray | %s' takes their luma", name,
                                 c->in.channels, name);
    list_channels(c->filter->channels, taken, sizeof taken);
    const bool splits = (c->filter->channels & CHANNELS_1) && c->in.channels > 1;
    return error_unsupported(error, "%s does not take images of %u channel%s; it takes %s%s", name,
                             c->in.channels, c->in.channels == 1 ? "" : "s", taken,
                             splits ? ": save the channel that is meant as an image of its own" : "");
}

static hone_status check_formats(const struct filter_case *c, hone_error *error)
{
    char types[32];
    TRY(hone_image_desc_check(&c->in, error));
    case_list_types(c->filter->types, types, sizeof types);
    if (!(c->filter->types & 1u << c->in.type))
        return error_unsupported(error, "%s does not take %s pixels%s; it takes %s", c->filter->name,
                                 hone_type_name(c->in.type),
                                 c->filter->scales ? ", whose full range is not known" : "", types);
    if (!(c->filter->channels & 1u << c->in.channels))
        return refuse_channels(c, error);
    return HONE_OK;
}

static hone_status check_border_value(const struct filter_case *c, hone_error *error)
{
    const double most = type_full_scale(c->in.type), least = c->in.type == HONE_S16 ? -most - 1 : 0;
    if (c->border != HONE_BORDER_CONSTANT || c->in.type == HONE_F32)
        return HONE_OK;
    const bool fits = c->border_value >= least && c->border_value <= most;
    if (c->border_share.given && !fits)
        return error_usage(error, "%s: border-value=%g%% does not fit %s pixels; it takes %s to 100%%",
                           c->filter->name, c->border_share.percent, hone_type_name(c->in.type),
                           least < 0 ? "-100%" : "0%");
    if (!fits || c->border_value != floor(c->border_value))
        return error_usage(
            error, "%s: border-value=%.15g does not fit %s pixels; it takes a whole number from %.0f to %.0f",
            c->filter->name, c->border_value, hone_type_name(c->in.type), least, most);
    return HONE_OK;
}

/* s16 has the bounds of u16. */
static int bound_place(hone_type type)
{
    return type == HONE_S16 ? HONE_U16 : (int)type;
}

/* The filter's own bound for inputs of a type. */
static double filter_bound(const struct hone_filter *filter, hone_type type)
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
    THEN(status, case_resolve_shares(c, error));
    THEN(status, check_border_value(c, error));
    THEN(status, check_exact(c, error));
    if (!status && c->filter->prepare)
        status = c->filter->prepare(c, error);
    THEN(status, check_exact_result(c, error));
    return status ? status : hone_image_desc_check(&c->out, error);
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
