/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/variant.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/memory.h"
#include "cl/selftest.h"
#include "filter/arguments.h"
#include "filter/registry.h"

#include <stdlib.h>
#include <string.h>

size_t tunable_values(const struct tunable *tunable, int64_t *values, size_t capacity)
{
    size_t count = 0;
    const char *at = tunable->values;
    for (;;) {
        char *end = NULL;
        long long value = strtoll(at, &end, 10);
        if (end == at)
            return count;
        if (count < capacity)
            values[count] = value;
        count++;
        at = end;
    }
}

void config_default(const struct variant *variant, struct config *config)
{
    *config = (struct config){0};
    size_t count = variant_tunable_count(variant);
    for (size_t i = 0; i < count; i++)
        tunable_values(&variant->tunables[i], &config->values[i], 1);
}

static hone_status set_one(const struct variant *variant, const char *name, size_t length, int64_t value,
                           struct config *config, hone_error *error)
{
    int64_t legal[64];
    size_t tunables = variant_tunable_count(variant);
    struct text names = {0};
    for (size_t i = 0; i < tunables; i++) {
        const struct tunable *tunable = &variant->tunables[i];
        text_add(&names, "%s%s", i ? ", " : "", tunable->name);
        if (strlen(tunable->name) != length || strncmp(tunable->name, name, length) != 0)
            continue;
        text_finish(&names);
        size_t count = tunable_values(tunable, legal, COUNT_OF(legal));
        for (size_t k = 0; k < count && k < COUNT_OF(legal); k++)
            if (legal[k] == value) {
                config->values[i] = value;
                return HONE_OK;
            }
        return error_usage(error, "%s=%lld is not legal for variant '%s'; it takes %s", tunable->name,
                           (long long)value, variant->name, tunable->values);
    }
    hone_status status = error_usage(error, "variant '%s' has no tunable '%.*s'; it has %s", variant->name,
                                     (int)length, name, tunables ? text_view(&names) : "none");
    text_finish(&names);
    return status;
}

hone_status config_parse(const struct variant *variant, const char *text, struct config *config,
                         hone_error *error)
{
    const char *at = text ? text : "";
    for (;;) {
        at += strspn(at, " ,\t");
        size_t length = strcspn(at, "= ,\t");
        if (*at == '\0')
            return HONE_OK;
        char *end = NULL;
        long long value = at[length] == '=' ? strtoll(at + length + 1, &end, 10) : 0;
        if (length == 0 || at[length] != '=' || end == at + length + 1 || (*end && !strchr(" ,\t", *end)))
            return error_usage(error, "a configuration is written NAME=NUMBER NAME=NUMBER, not '%s'", text);
        TRY(set_one(variant, at, length, value, config, error));
        at = end;
    }
}

void config_print(const struct variant *variant, const struct config *config, struct text *out)
{
    size_t count = variant_tunable_count(variant);
    for (size_t i = 0; i < count; i++)
        text_add(out, "%s%s=%lld", i ? " " : "", variant->tunables[i].name, (long long)config->values[i]);
}

void config_scope_init(struct config_scope *s, const struct variant *variant, const struct config *config,
                       const struct expr_scope *outer)
{
    int count = (int)variant_tunable_count(variant);
    for (int i = 0; i < count; i++) {
        s->names[i] = variant->tunables[i].name;
        s->values[i] = config->values[i];
    }
    s->scope = (struct expr_scope){.outer = outer, .names = s->names, .values = s->values, .count = count};
}

/* Usable: what does not depend on tunables */

/* The condition alone would read as the reason. */
static hone_status unmet(hone_error *error, const struct filter_case *c, const struct variant *variant)
{
    return error_unsupported(error, "variant '%s' of %s cannot run here: it runs only where %s",
                             variant->name, c->filter->name, variant->condition);
}

static hone_status unusable(hone_error *error, const struct filter_case *c, const struct variant *variant,
                            const char *why)
{
    return error_unsupported(error, "variant '%s' of %s cannot run here: %s", variant->name, c->filter->name,
                             why);
}

hone_status variant_allowed(const struct filter_case *c, const struct variant *variant, hone_error *error)
{
    const char *name = c->filter->name;
    if (variant->relaxed && !c->relaxed)
        return error_usage(
            error, "variant '%s' of %s keeps wider bounds; add accuracy=relaxed to the filter to allow it",
            variant->name, name);
    if (variant->exact && !c->exact)
        return error_usage(error, "variant '%s' of %s is for exact=yes; add that to the filter",
                           variant->name, name);
    if (case_needs_exact(c) && !(variant->exact & 1u << c->in.type))
        return error_usage(error, "variant '%s' of %s is not exact to the last bit, which exact=yes asks for",
                           variant->name, name);
    return HONE_OK;
}

static hone_status check_needs(hone_device *device, const struct filter_case *c,
                               const struct variant *variant, hone_error *error)
{
    static const struct {
        unsigned need;
        enum selftest_item item;
        const char *why;
    } needs[] = {
        {NEEDS_IMAGES, SELFTEST_IMAGES, "the device has no working images"},
        {NEEDS_HALF, SELFTEST_HALF, "the device has no half precision arithmetic"},
        {NEEDS_WIDE, SELFTEST_WIDE, "the compiler has no 64-byte vectors"},
        {NEEDS_PTX, SELFTEST_PTX, "the compiler takes no PTX"},
        {NEEDS_SUBGROUPS, SELFTEST_SUBGROUPS, "the device has no subgroups"},
        {NEEDS_LOCAL, SELFTEST_LOCAL, "the device has no working local memory"},
        {NEEDS_PROGRESS, SELFTEST_PROGRESS, "work-groups that wait do not let others run"},
    };
    for (size_t i = 0; i < COUNT_OF(needs); i++)
        if ((variant->needs & needs[i].need) && !selftest_holds(device, needs[i].item))
            return unusable(error, c, variant, needs[i].why);
    if ((variant->needs & NEEDS_DOUBLE) && !hone_device_get_info(device)->fp64)
        return unusable(error, c, variant, "the device has no double precision arithmetic");
    return HONE_OK;
}

static hone_status check_images(hone_device *device, const struct filter_case *c,
                                const struct variant *variant, hone_error *error)
{
    struct argument_list arguments;
    struct image_shape shape;
    for (size_t p = 0; p < variant_pass_count(variant); p++) {
        TRY(arguments_parse(&arguments, variant->passes[p].arguments, 0, error));
        for (unsigned a = 0; a < arguments.count; a++)
            if (argument_image_shape(&arguments.list[a], c, &shape) &&
                !memory_image_possible(device, &shape.format, shape.width, shape.height))
                return unusable(error, c, variant, "the device has no image of this format and size");
    }
    return HONE_OK;
}

static hone_status check_fusing(const struct filter_case *c, const struct variant *variant, hone_error *error)
{
    if (c->before && !(variant->fuses & FUSES_BEFORE))
        return unusable(error, c, variant, "no other filter can run on its input in the same kernel");
    if (c->fused_count > c->before && !(variant->fuses & FUSES_AFTER))
        return unusable(error, c, variant, "no other filter can run on its result in the same kernel");
    return HONE_OK;
}

hone_status variant_fits(hone_device *device, const struct filter_case *c, const struct variant *variant,
                         hone_error *error)
{
    struct case_scope scope;
    int64_t holds = 1;
    TRY(variant_allowed(c, variant, error));
    case_scope_init(&scope, c, device);
    hone_status status = expr_text_value(variant->condition, &scope.scope, 1, &holds, error);
    if (!status && !holds)
        status = unmet(error, c, variant);
    THEN(status, check_images(device, c, variant, error));
    return status ? status : check_fusing(c, variant, error);
}

hone_status variant_usable(hone_device *device, const struct filter_case *c, const struct variant *variant,
                           hone_error *error)
{
    hone_status status = variant_fits(device, c, variant, error);
    return status ? status : check_needs(device, c, variant, error);
}

/* Legal: what does */

/* Side `d` of the work-group; NULL: not named. */
static const char *local_side(const struct pass *pass, const struct expr_scope *scope, int d)
{
    static const char *const tunables[3] = {"WG_X", "WG_Y", NULL};
    int64_t value = 0;
    if (pass->local[0])
        return pass->local[d];
    return tunables[d] && expr_text_value(tunables[d], scope, 0, &value, NULL) == HONE_OK ? tunables[d]
                                                                                          : NULL;
}

hone_status pass_geometry(const struct pass *pass, const struct expr_scope *scope, struct pass_geometry *g,
                          hone_error *error)
{
    static const char *const whole[3] = {"W", "H", NULL};
    const char *const *extent = pass->extent[0] ? pass->extent : whole;
    *g = (struct pass_geometry){0};
    hone_status status = HONE_OK;
    for (int d = 0; d < 3 && !status; d++) {
        bool used = extent[d] != NULL;
        g->dimensions += used;
        status = expr_text_value(extent[d], scope, 1, &g->extent[d], error);
        THEN(status, expr_text_value(pass->block[d], scope, 1, &g->block[d], error));
        THEN(status, expr_text_value(used ? local_side(pass, scope, d) : NULL, scope,
                                     local_side(pass, scope, 0) != NULL, &g->local[d], error));
        if (!status && (g->extent[d] < 1 || g->block[d] < 1 || g->local[d] < 0))
            status = error_set(error, HONE_ERROR_INTERNAL, "pass '%s' has an empty launch", pass->kernel);
        if (status)
            break;
        int64_t items = (g->extent[d] + g->block[d] - 1) / g->block[d], local = g->local[d] ? g->local[d] : 1;
        g->global[d] = (items + local - 1) / local * local;
    }
    return status;
}

static hone_status check_group(const struct variant_limits *limits, const struct pass_geometry *g,
                               const struct pass *pass, hone_error *error)
{
    int64_t size = g->local[0] ? g->local[0] * g->local[1] * g->local[2] : 1;
    bool fits = size <= (int64_t)limits->max_work_group;
    for (int d = 0; d < 3; d++)
        fits = fits && g->local[d] <= (int64_t)limits->max_work_items[d];
    if (!fits)
        return error_unsupported(
            error, "a work-group of %lldx%lld for pass '%s' is over the device's limit of %zu",
            (long long)g->local[0], (long long)g->local[1], pass->kernel, limits->max_work_group);
    if (g->global[0] > UINT32_MAX || g->global[1] > UINT32_MAX)
        return error_unsupported(error, "pass '%s' has too many work-items", pass->kernel);
    return HONE_OK;
}

static hone_status check_local(const struct variant_limits *limits, const struct pass *pass,
                               const struct expr_scope *scope, hone_error *error)
{
    struct argument_list arguments;
    int64_t total = 0;
    hone_status status = arguments_parse(&arguments, pass->arguments, 0, error);
    for (unsigned a = 0; a < arguments.count && !status; a++) {
        int64_t bytes = 0;
        if (arguments.list[a].kind == ARGUMENT_LOCAL)
            status = expr_text_value(arguments.list[a].text, scope, 0, &bytes, error);
        total += bytes;
    }
    if (status)
        return status;
    if (total > (int64_t)limits->local_memory)
        return error_unsupported(error, "pass '%s' needs %lld bytes of local memory; the device has %llu",
                                 pass->kernel, (long long)total, (unsigned long long)limits->local_memory);
    return HONE_OK;
}

static bool holds_with(const char *constraint, const struct expr_scope *scope, const char *name,
                       int64_t value)
{
    const struct expr_scope inner = {.outer = scope, .names = &name, .values = &value, .count = 1};
    int64_t holds = 0;
    return expr_text_value(constraint, &inner, 1, &holds, NULL) == HONE_OK && holds;
}

/* "variant 'v' needs LINES <= KH: LINES=2 or LINES=1 would do", where one tunable alone can mend it. */
static hone_status break_constraint(const struct variant *variant, const char *constraint,
                                    const struct expr_scope *scope, hone_error *error)
{
    int64_t values[64];
    struct text choices = {0};
    for (size_t i = 0; error && i < variant_tunable_count(variant); i++) {
        const struct tunable *tunable = &variant->tunables[i];
        const size_t count = tunable_values(tunable, values, COUNT_OF(values));
        for (size_t k = 0; k < count; k++)
            if (holds_with(constraint, scope, tunable->name, values[k]))
                text_add(&choices, "%s%s=%lld", choices.length ? " or " : ": --config ", tunable->name,
                         (long long)values[k]);
    }
    hone_status status = error_unsupported(error, "variant '%s' needs %s%s%s", variant->name, constraint,
                                           text_view(&choices), choices.length ? " would do" : "");
    text_finish(&choices);
    return status;
}

static hone_status check_constraints(const struct variant *variant, const struct expr_scope *scope,
                                     hone_error *error)
{
    for (size_t i = 0; i < COUNT_OF(variant->constraints) && variant->constraints[i]; i++) {
        int64_t holds = 0;
        hone_status status = expr_text_value(variant->constraints[i], scope, 1, &holds, error);
        if (!status && !holds)
            status = break_constraint(variant, variant->constraints[i], scope, error);
        if (status)
            return status;
    }
    return HONE_OK;
}

hone_status config_legal_within(const struct expr_scope *names, const struct variant_limits *limits,
                                const struct variant *variant, const struct config *config, hone_error *error)
{
    struct config_scope scope;
    config_scope_init(&scope, variant, config, names);
    hone_status status = check_constraints(variant, &scope.scope, error);
    for (size_t p = 0; p < variant_pass_count(variant) && !status; p++) {
        struct pass_geometry geometry;
        status = pass_geometry(&variant->passes[p], &scope.scope, &geometry, error);
        THEN(status, check_group(limits, &geometry, &variant->passes[p], error));
        THEN(status, check_local(limits, &variant->passes[p], &scope.scope, error));
    }
    return status;
}

hone_status config_legal(hone_device *device, const struct filter_case *c, const struct variant *variant,
                         const struct config *config, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(device);
    const struct variant_limits limits = {
        info->max_work_group,
        {info->max_work_items[0], info->max_work_items[1], info->max_work_items[2]},
        info->local_memory};
    struct case_scope names;
    case_scope_init(&names, c, device);
    return config_legal_within(&names.scope, &limits, variant, config, error);
}

hone_status variant_cost(const struct filter_case *c, const struct variant *variant,
                         const struct config *config, struct cost_values *cost, hone_error *error)
{
    struct case_scope names;
    struct config_scope scope;
    case_scope_init(&names, c, NULL);
    config_scope_init(&scope, variant, config, &names.scope);
    *cost = (struct cost_values){0};
    TRY(expr_text_real(variant->cost.bytes, &scope.scope, 0, &cost->bytes, error));
    TRY(expr_text_real(variant->cost.loads, &scope.scope, 0, &cost->loads, error));
    return expr_text_real(variant->cost.operations, &scope.scope, 0, &cost->operations, error);
}

static hone_status scratch_bytes(const struct scratch *wanted, const struct expr_scope *scope,
                                 uint32_t channels, int64_t *bytes, hone_error *error)
{
    int64_t width = 0, height = 0;
    if (!wanted->width) {
        hone_status status = expr_text_value(wanted->bytes, scope, 0, bytes, error);
        *bytes = *bytes > 0 ? *bytes : 1;
        return status;
    }
    hone_status status = expr_text_value(wanted->width, scope, 1, &width, error);
    THEN(status, expr_text_value(wanted->height, scope, 1, &height, error));
    *bytes = width * height * (wanted->channels ? wanted->channels : channels) *
             (int64_t)hone_type_size(wanted->type);
    return status;
}

hone_status variant_scratch_bytes(hone_device *device, const struct filter_case *c,
                                  const struct variant *variant, const struct config *config, size_t *bytes,
                                  hone_error *error)
{
    struct case_scope names;
    struct config_scope scope;
    hone_status status = HONE_OK;
    case_scope_init(&names, c, device);
    config_scope_init(&scope, variant, config, &names.scope);
    *bytes = 0;
    for (size_t i = 0; i < variant_scratch_count(variant) && !status; i++) {
        int64_t one = 0;
        status = scratch_bytes(&variant->scratch[i], &scope.scope, c->in.channels, &one, error);
        *bytes += (size_t)one;
    }
    return status;
}
