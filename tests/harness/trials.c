/* SPDX-License-Identifier: BSD-2-Clause */
/* Which parameters, shapes and configurations to try. */
#include "harness.h"

#include "base/mem.h"
#include "filter/chain.h"
#include "filter/registry.h"
#include "image/pattern.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BORDERS = HONE_BORDER_ZERO_OUTSIDE + 1, ALL_CONFIGS = 2000 };

/* Where each takes seconds: the default and the first that seeds name, before the smallest. */
enum { SEEDED_LEAST = 2, SEEDED_QUICK = 2 };

static void add_choices(const struct parameter *parameter, char texts[MAX_TRIALS][MAX_TRIAL_TEXT],
                        size_t *count)
{
    for (const char *at = parameter->choices; *at && *count < MAX_TRIALS;) {
        int length = (int)strcspn(at, "|");
        snprintf(texts[(*count)++], MAX_TRIAL_TEXT, "%s=%.*s", parameter->name, length, at);
        at += length + (at[length] == '|');
    }
}

size_t harness_trials(const struct hone_filter *filter, char texts[MAX_TRIALS][MAX_TRIAL_TEXT])
{
    size_t count = 0;
    for (; filter->trials && filter->trials[count] && count < MAX_TRIALS; count++)
        snprintf(texts[count], MAX_TRIAL_TEXT, "%s", filter->trials[count]);
    if (filter->trials)
        return count;
    texts[count++][0] = '\0';
    for (size_t i = 0; i < filter_parameter_count(filter); i++)
        if (filter->parameters[i].kind == PARAMETER_CHOICE)
            add_choices(&filter->parameters[i], texts, &count);
    return count;
}

static hone_status set_border(struct filter_case *c, const struct shape *shape, hone_error *error)
{
    if (!c->filter->spatial)
        return HONE_OK;
    hone_status status = case_set(c, "border", hone_border_name(shape->border), error);
    if (!status && shape->border == HONE_BORDER_CONSTANT)
        status = case_set(c, "border-value", shape->type == HONE_F32 ? "-0.375" : "99", error);
    return status;
}

/* Both rules for the fourth channel, border and type deciding which. Where results become zero, alpha that is
 * kept must not. */
static bool filters_alpha(const struct shape *shape)
{
    return shape->border != HONE_BORDER_ZERO_OUTSIDE && (shape->border + shape->type) % 2;
}

hone_status shape_case(struct filter_case *c, const struct hone_filter *filter, const struct variant *variant,
                       const struct shape *shape, uint32_t width, uint32_t height, hone_error *error)
{
    const hone_image_desc desc = {width, height, shape->type, shape->channels, 0};
    hone_status status = case_init(c, filter, error);
    if (status)
        return status;
    status = chain_parse_parameters(c, shape->parameters, error);
    if (!status)
        status = set_border(c, shape, error);
    if (!status && filter->spatial && shape->channels == 4 && filters_alpha(shape))
        status = case_set(c, "alpha", "filter", error);
    if (!status && variant && variant->relaxed)
        status = case_set(c, "accuracy", "relaxed", error);
    if (!status && variant && variant->exact)
        status = case_set(c, "exact", "yes", error);
    if (!status)
        status = case_prepare(c, &desc, filter->inputs > 1 ? &desc : NULL, error);
    if (status)
        case_finish(c);
    return status;
}

/* ---- Shapes ---- */

struct shapes {
    const struct hone_filter *filter;
    struct shape *list;
    size_t count, capacity;
};

static void add_shape(struct shapes *shapes, const char *parameters, hone_type type, uint32_t channels,
                      unsigned border)
{
    const struct hone_filter *filter = shapes->filter;
    const struct shape shape = {parameters, type, channels,
                                filter->spatial ? (hone_border)(border % BORDERS) : 0};
    if (!(filter->types & 1u << type) || !(filter->channels & 1u << channels))
        return;
    for (size_t i = 0; i < shapes->count; i++)
        if (shapes->list[i].parameters == shape.parameters && shapes->list[i].type == shape.type &&
            shapes->list[i].channels == shape.channels && shapes->list[i].border == shape.border)
            return;
    REQUIRE(mem_grow(&shapes->list, &shapes->capacity, shapes->count + 1, sizeof *shapes->list));
    shapes->list[shapes->count++] = shape;
}

static uint32_t fewest_channels(const struct hone_filter *filter)
{
    uint32_t channels = 1;
    while (channels < 4 && !(filter->channels & 1u << channels))
        channels++;
    return channels;
}

/* Each type with two numbers of channels, borders taking turns; with all of them when `whole`. */
static void add_formats(struct shapes *shapes, const char *parameters, unsigned turn, bool whole)
{
    for (unsigned type = HONE_U8; type <= HONE_S16; type++)
        for (uint32_t channels = 1; channels <= 4; channels++)
            if (whole || (channels + type) % 2 || !(shapes->filter->channels & 1u << (channels % 4 + 1)))
                add_shape(shapes, parameters, (hone_type)type, channels, turn++);
}

/* Each border with one type; formats take the rest by turns. */
static void add_borders(struct shapes *shapes, const char *parameters)
{
    unsigned type = HONE_U8;
    while (type < HONE_S16 && !(shapes->filter->types & 1u << type))
        type++;
    for (unsigned border = 0; border < BORDERS; border++)
        add_shape(shapes, parameters, (hone_type)type, fewest_channels(shapes->filter), border);
}

/* One type, taking turns. */
static void add_turn(struct shapes *shapes, const char *parameters, uint32_t channels, unsigned turn)
{
    const size_t before = shapes->count;
    for (unsigned i = 0; i <= HONE_S16 && shapes->count == before; i++)
        add_shape(shapes, parameters, (hone_type)((turn + i) % (HONE_S16 + 1)), channels, turn);
}

/* Each type once, the rest taking turns; and RGBA when `rgba`: of bytes with alpha that is kept, of floats
 * with alpha that is filtered. */
static void add_types(struct shapes *shapes, const char *parameters, unsigned turn, bool rgba)
{
    for (unsigned type = HONE_U8; type <= HONE_S16; type++, turn++) {
        uint32_t channels = 1 + turn % 4;
        while (!(shapes->filter->channels & 1u << channels))
            channels = channels % 4 + 1;
        add_shape(shapes, parameters, (hone_type)type, channels, turn);
        if (rgba && type == HONE_U8)
            add_shape(shapes, parameters, HONE_U8, 4, HONE_BORDER_ZERO_OUTSIDE);
        if (rgba && type == HONE_F32)
            add_shape(shapes, parameters, HONE_F32, 4, HONE_BORDER_WRAP);
    }
}

/* The smallest type that the filter takes; of the first parameter set each. */
static void add_least(struct shapes *shapes, const char *parameters, bool first, unsigned turn)
{
    size_t before = shapes->count;
    for (unsigned type = HONE_U8; type <= HONE_S16 && (first || shapes->count == before); type++)
        add_shape(shapes, parameters, (hone_type)type, fewest_channels(shapes->filter), turn);
}

static void add_everything(struct shapes *shapes, const char *parameters)
{
    for (unsigned border = 0; border < BORDERS; border++)
        for (unsigned type = HONE_U8; type <= HONE_S16; type++)
            for (uint32_t channels = 1; channels <= 4; channels++)
                add_shape(shapes, parameters, (hone_type)type, channels, border);
}

size_t harness_shapes(const struct hone_filter *filter, enum effort effort, char (*texts)[MAX_TRIAL_TEXT],
                      size_t text_count, struct shape **list)
{
    struct shapes shapes = {.filter = filter};
    for (size_t i = 0; i < text_count; i++) {
        if (effort == EFFORT_ALL) {
            add_everything(&shapes, texts[i]);
        } else if (effort == EFFORT_LEAST) {
            add_least(&shapes, texts[i], i == 0, (unsigned)i);
        } else if (i > 0) {
            add_turn(&shapes, texts[i], fewest_channels(filter), (unsigned)i);
            if (effort == EFFORT_DEFAULT || effort == EFFORT_QUICK)
                add_turn(&shapes, texts[i], 2 + (uint32_t)i % 3, (unsigned)i);
        } else if (effort <= EFFORT_TINY) {
            add_types(&shapes, texts[i], 0, effort == EFFORT_QUICK);
        } else {
            add_borders(&shapes, texts[i]);
            add_formats(&shapes, texts[i], 1, false);
            for (unsigned type = HONE_U8; type <= HONE_S16; type++)
                add_shape(&shapes, texts[i], (hone_type)type, 4, HONE_BORDER_ZERO_OUTSIDE);
        }
    }
    *list = shapes.list;
    return shapes.count;
}

/* ---- Configurations ---- */

struct configs {
    struct config *list;
    size_t count, capacity;
};

static void add_config(struct configs *configs, const struct config *config)
{
    for (size_t i = 0; i < configs->count; i++)
        if (memcmp(&configs->list[i], config, sizeof *config) == 0)
            return;
    REQUIRE(mem_grow(&configs->list, &configs->capacity, configs->count + 1, sizeof *configs->list));
    configs->list[configs->count++] = *config;
}

static void add_named(struct configs *configs, const struct variant *variant, const char *name,
                      const char *text)
{
    struct config config;
    config_default(variant, &config);
    if (name && strcmp(name, variant->name) == 0 && config_parse(variant, text, &config, NULL) == HONE_OK)
        add_config(configs, &config);
}

enum { MAX_VALUES = 64 };

static size_t values_of(const struct variant *variant, size_t tunable, int64_t values[MAX_VALUES])
{
    size_t count = tunable_values(&variant->tunables[tunable], values, MAX_VALUES);
    return count < MAX_VALUES ? count : MAX_VALUES;
}

static void add_each_value(struct configs *configs, const struct variant *variant, enum effort effort)
{
    for (size_t i = 0; i < variant_tunable_count(variant); i++) {
        int64_t values[MAX_VALUES];
        size_t count = values_of(variant, i, values);
        for (size_t k = 1; k < count; k++) {
            struct config config;
            if (effort != EFFORT_ALL && k != 1 && k + 1 != count)
                continue;
            config_default(variant, &config);
            config.values[i] = values[k];
            add_config(configs, &config);
        }
    }
}

/* Whether the number of all configurations stays within what can be tried. */
static bool few_enough(const struct variant *variant)
{
    size_t product = 1;
    for (size_t i = 0; i < variant_tunable_count(variant) && product <= ALL_CONFIGS; i++) {
        int64_t values[MAX_VALUES];
        product *= values_of(variant, i, values);
    }
    return product <= ALL_CONFIGS;
}

static void add_all(struct configs *configs, const struct variant *variant)
{
    size_t turn[MAX_TUNABLES] = {0}, tunables = variant_tunable_count(variant), i;
    do {
        struct config config = {0};
        for (i = 0; i < tunables; i++) {
            int64_t values[MAX_VALUES];
            values_of(variant, i, values);
            config.values[i] = values[turn[i]];
        }
        add_config(configs, &config);
        for (i = 0; i < tunables; i++) { /* counts like an odometer */
            int64_t values[MAX_VALUES];
            if (++turn[i] < values_of(variant, i, values))
                break;
            turn[i] = 0;
        }
    } while (i < tunables);
}

/* The same sample in every run: a failure can be repeated. */
static void add_sample(struct configs *configs, const struct variant *variant, size_t wanted)
{
    uint32_t state = 20240611;
    for (size_t n = 0; n < wanted; n++) {
        struct config config = {0};
        for (size_t i = 0; i < variant_tunable_count(variant); i++) {
            int64_t values[MAX_VALUES];
            config.values[i] = values[pattern_random(&state) % values_of(variant, i, values)];
        }
        add_config(configs, &config);
    }
}

/* The least of every launch tunable, then of every one: some devices allow small work-groups only. */
static void add_smallest(struct configs *configs, const struct variant *variant)
{
    for (int all = 0; all <= 1; all++) {
        struct config config;
        config_default(variant, &config);
        for (size_t i = 0; i < variant_tunable_count(variant); i++) {
            int64_t values[MAX_VALUES];
            size_t count = values_of(variant, i, values);
            for (size_t k = 0; k < count && (all || variant->tunables[i].kind == TUNABLE_LAUNCH); k++)
                config.values[i] = values[k] < config.values[i] ? values[k] : config.values[i];
        }
        add_config(configs, &config);
    }
}

/* How many configurations there may be before a seed adds one more. */
static size_t seeded(enum effort effort)
{
    return effort == EFFORT_LEAST ? SEEDED_LEAST : effort == EFFORT_QUICK ? SEEDED_QUICK : SIZE_MAX;
}

static size_t sampled(enum effort effort)
{
    static const size_t counts[] = {[EFFORT_LEAST] = 0,
                                    [EFFORT_QUICK] = 0,
                                    [EFFORT_TINY] = 1,
                                    [EFFORT_DEFAULT] = 2,
                                    [EFFORT_ALL] = ALL_CONFIGS};
    return counts[effort];
}

size_t harness_configs(const struct hone_filter *filter, const struct variant *variant, enum effort effort,
                       struct config **list)
{
    struct configs configs = {0};
    struct config config;
    config_default(variant, &config);
    add_config(&configs, &config);
    for (size_t i = 0; i < filter->seed_count && configs.count < seeded(effort); i++)
        add_named(&configs, variant, filter->seeds[i].variant, filter->seeds[i].config);
    for (size_t i = 0; i < filter->rung_count && effort > EFFORT_TINY; i++)
        add_named(&configs, variant, filter->rungs[i].variant, filter->rungs[i].config);
    if (effort >= EFFORT_TINY)
        add_each_value(&configs, variant, effort);
    add_smallest(&configs, variant);
    if (effort == EFFORT_ALL && few_enough(variant))
        add_all(&configs, variant);
    else
        add_sample(&configs, variant, sampled(effort));
    *list = configs.list;
    return configs.count;
}
