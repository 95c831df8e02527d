/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/choose.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/programs.h"
#include "choose/trust.h"
#include "cl/device.h"
#include "cl/select.h"
#include "cl/selftest.h"
#include "filter/registry.h"

#include <string.h>

const char *choice_origin_name(enum choice_origin origin)
{
    static const char *const names[CHOICE_ORIGIN_COUNT] = {
        [CHOICE_FORCED] = "forced",
        [CHOICE_MEASURED + LEVEL_EXACT] = "measured here",
        [CHOICE_MEASURED + LEVEL_DRIVER] = "measured here with another driver",
        [CHOICE_MEASURED + LEVEL_ARCHITECTURE] = "measured on the same architecture",
        [CHOICE_MEASURED + LEVEL_VENDOR] = "measured on this vendor's",
        [CHOICE_MEASURED + LEVEL_KIND] = "measured on this kind of device",
        [CHOICE_MEASURED + LEVEL_ALL] = "measured on other devices",
        [CHOICE_SHIPPED + LEVEL_EXACT] = "shipped, measured on such a device",
        [CHOICE_SHIPPED + LEVEL_DRIVER] = "shipped, measured with another driver",
        [CHOICE_SHIPPED + LEVEL_ARCHITECTURE] = "shipped, measured on the same architecture",
        [CHOICE_SHIPPED + LEVEL_VENDOR] = "shipped, measured on this vendor's",
        [CHOICE_SHIPPED + LEVEL_KIND] = "shipped, measured on this kind of device",
        [CHOICE_SHIPPED + LEVEL_ALL] = "shipped, measured on other devices",
        [CHOICE_HAND_WRITTEN] = "hand-written",
        [CHOICE_BRIEF] = "quick to compile",
        [CHOICE_COMPILED] = "compiled already",
        [CHOICE_TRIED] = "tried here",
        [CHOICE_ONLY] = "only variant",
        [CHOICE_FALLBACK] = "first that runs"};
    return (unsigned)origin < CHOICE_ORIGIN_COUNT ? names[origin] : "?";
}

static hone_status unknown_variant(const struct hone_filter *filter, const char *name, hone_error *error)
{
    struct text names = {0};
    filter_list_variants(filter, &names);
    hone_status status =
        error_usage(error, "%s has no variant '%s'; it has %s", filter->name, name, text_view(&names));
    text_finish(&names);
    return status;
}

static hone_status forced(struct choice *choice, hone_device *device, const struct filter_case *c,
                          const struct choose_request *request, hone_error *error)
{
    const struct rung *rung = filter_rung(c->filter, request->variant);
    choice->variant = filter_variant(c->filter, rung ? rung->variant : request->variant);
    choice->origin = CHOICE_FORCED;
    if (!choice->variant)
        return unknown_variant(c->filter, request->variant, error);
    config_default(choice->variant, &choice->config);
    TRY(rung ? config_parse(choice->variant, rung->config, &choice->config, error) : HONE_OK);
    TRY(config_parse(choice->variant, request->config, &choice->config, error));
    TRY(variant_usable(device, c, choice->variant, error));
    return config_legal(device, c, choice->variant, &choice->config, error);
}

/* What the candidates are collected with. */
struct collection {
    struct choice *choices;
    size_t *count;
    hone_device *device;
    const struct filter_case *c;
    const struct choose_request *request;
    struct choice brief; /* for few runs; its variant is NULL where there is none */
};

static bool is_same(const struct choice *a, const struct choice *b)
{
    return a->variant == b->variant && memcmp(&a->config, &b->config, sizeof a->config) == 0;
}

static bool listed(const struct collection *to, const struct choice *choice)
{
    for (size_t i = 0; i < *to->count; i++)
        if (is_same(&to->choices[i], choice))
            return true;
    return false;
}

/* What comes after the first candidate is seldom used: what it needs of the device is not asked yet, since an
 * answer may cost a compilation. Nor for the best one where a brief one will probably do. */
static hone_status check_candidate(const struct collection *to, const struct variant *variant)
{
    return *to->count > 0 || to->brief.variant ? variant_fits(to->device, to->c, variant, NULL)
                                               : variant_usable(to->device, to->c, variant, NULL);
}

/* Adds a candidate if it can run. `config` of the request goes on top, where the variant has these tunables.
 */
static void consider(struct collection *to, const struct variant *variant, const char *config,
                     enum choice_origin origin)
{
    struct choice choice = {.variant = variant, .origin = origin};
    if (*to->count == MAX_CHOICES)
        return;
    config_default(variant, &choice.config);
    if (config_parse(variant, config, &choice.config, NULL) == HONE_OK &&
        config_parse(variant, to->request->config, &choice.config, NULL) == HONE_OK && !listed(to, &choice) &&
        check_candidate(to, variant) == HONE_OK &&
        config_legal(to->device, to->c, variant, &choice.config, NULL) == HONE_OK)
        to->choices[(*to->count)++] = choice;
}

/* How many times as slow as a record's best one that comes before what is hand-written may be. Of a neighbour
 * the best may be illegal; then slower ones say what is slow. */
static const double much_slower = 2;

static void consider_ranked(struct collection *to, const struct record_choice *choice,
                            enum choice_origin origin)
{
    for (int i = 0; choice && i < choice->count; i++) {
        const struct variant *variant = filter_variant(to->c->filter, choice->ranked[i].variant);
        if (variant && choice->ranked[i].ms <= much_slower * choice->ranked[0].ms)
            consider(to, variant, choice->ranked[i].config, origin);
    }
}

/* What was measured on devices of these levels, from the nearest on; of the first level at which there is
 * something. */
static void consider_measured(struct collection *to, enum lookup_level first, enum lookup_level last)
{
    const struct records *own = NULL, *shipped = NULL;
    struct record_device device;
    struct record_case wanted;
    const size_t before = *to->count;
    if (to->request->without_measuring || trust_records(to->device, &own, NULL) != HONE_OK ||
        trust_shipped(to->device, to->c->filter, &shipped, NULL) != HONE_OK)
        return;
    record_device_of(to->device, &device);
    record_case_of(to->c, &wanted);
    for (int level = (int)first; level <= (int)last && *to->count == before; level++) {
        enum lookup_level at = (enum lookup_level)level;
        if (!to->request->without_own)
            consider_ranked(to, lookup_choice(own, &device, &wanted, at), CHOICE_MEASURED + at);
        if (*to->count == before)
            consider_ranked(to, lookup_choice(shipped, &device, &wanted, at), CHOICE_SHIPPED + at);
    }
}

static void consider_seeds(struct collection *to)
{
    struct case_scope scope;
    case_scope_init(&scope, to->c, to->device);
    for (size_t i = 0; i < to->c->filter->seed_count; i++) {
        const struct seed *seed = &to->c->filter->seeds[i];
        const struct variant *variant = filter_variant(to->c->filter, seed->variant);
        int64_t holds = 1;
        if (variant && expr_text_value(seed->where, &scope.scope, 1, &holds, NULL) == HONE_OK && holds)
            consider(to, variant, seed->config, CHOICE_HAND_WRITTEN);
    }
}

/* The smallest value of everything that is set at launch: for compilers that allow only small work-groups. */
static void smallest_groups(const struct variant *variant, struct text *config)
{
    for (size_t i = 0; i < variant_tunable_count(variant); i++) {
        int64_t values[64], least;
        const struct tunable *tunable = &variant->tunables[i];
        size_t count = tunable_values(tunable, values, COUNT_OF(values));
        if (tunable->kind != TUNABLE_LAUNCH || count == 0)
            continue;
        least = values[0];
        for (size_t k = 1; k < count && k < COUNT_OF(values); k++)
            least = values[k] < least ? values[k] : least;
        text_add(config, " %s=%lld", tunable->name, (long long)least);
    }
}

static void consider_all(struct collection *to)
{
    const struct hone_filter *filter = to->c->filter;
    for (size_t i = 0; i < filter->variant_count; i++)
        consider(to, &filter->variants[i], "", filter->variant_count == 1 ? CHOICE_ONLY : CHOICE_FALLBACK);
    for (size_t i = filter->variant_count; i-- > 0;) {
        struct text config = {0};
        smallest_groups(&filter->variants[i], &config);
        if (*to->count < MAX_CHOICES)
            consider(to, &filter->variants[i], text_view(&config), CHOICE_FALLBACK);
        text_finish(&config);
    }
}

/* ---- Few runs ---- */

/* Operations that a device does in 20 ms, at one a cycle in each lane of a compute unit: a fraction of what
 * compiling a long program takes (0.3 to 1 s on GPUs, 1 to 2 s with PoCL). */
static double few_operations(const hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    const double lanes = info->simd_width ? info->simd_width : 16; /* Intel's units have as few as 8 */
    return lanes * info->compute_units * device_clock_mhz(info) * 1e6 * 0.02;
}

/* Of all runs; negative: it cannot run. */
static double operations_of(const struct collection *to, const struct choice *choice)
{
    struct cost_values cost;
    if (variant_usable(to->device, to->c, choice->variant, NULL) != HONE_OK ||
        config_legal(to->device, to->c, choice->variant, &choice->config, NULL) != HONE_OK ||
        variant_cost(to->c, choice->variant, &choice->config, &cost, NULL) != HONE_OK)
        return -1;
    return cost.operations * to->c->in.width * to->c->in.height * to->request->runs;
}

static bool has_few_runs(const struct collection *to)
{
    return to->request->runs > 0 && !to->request->config;
}

static bool is_kept(const struct collection *to, const struct choice *choice)
{
    char digest[65];
    return variant_digest(digest, to->device, to->c, choice->variant, &choice->config, NULL) == HONE_OK &&
           programs_kept(to->device, digest);
}

/* Of the variants that are `suitable`, with their defaults, the one of the fewest operations, if a device is
 * done with them before a compiler is; its variant is NULL where there is none. */
static struct choice find_light(const struct collection *to, enum choice_origin origin,
                                bool (*suitable)(const struct collection *to, const struct choice *choice))
{
    const struct hone_filter *filter = to->c->filter;
    double least = few_operations(to->device);
    struct choice found = {.origin = origin};
    for (size_t i = 0; i < filter->variant_count; i++) {
        struct choice choice = {.variant = &filter->variants[i], .origin = origin};
        config_default(choice.variant, &choice.config);
        const double operations = suitable(to, &choice) ? operations_of(to, &choice) : -1;
        if (operations >= 0 && operations < least) {
            least = operations;
            found = choice;
        }
    }
    return found;
}

static bool is_brief(const struct collection *to, const struct choice *choice)
{
    (void)to;
    return choice->variant->brief;
}

static bool is_compiled(const struct collection *to, const struct choice *choice)
{
    return variant_fits(to->device, to->c, choice->variant, NULL) == HONE_OK && is_kept(to, choice);
}

/* It is compiled already, or somebody had it measured here. */
static bool is_ready(const struct collection *to, const struct choice *choice)
{
    return (choice->origin == CHOICE_MEASURED + LEVEL_EXACT || is_kept(to, choice)) &&
           variant_usable(to->device, to->c, choice->variant, NULL) == HONE_OK;
}

static void put_first(struct collection *to, const struct choice *choice)
{
    const size_t moved = *to->count < MAX_CHOICES ? *to->count : MAX_CHOICES - 1;
    memmove(to->choices + 1, to->choices, moved * sizeof *choice);
    to->choices[0] = *choice;
    *to->count = moved + 1;
}

/* For a few runs the best one is not worth compiling if there is another, or one that compiles quickly. */
static void put_ready_first(struct collection *to)
{
    if (!has_few_runs(to) || *to->count == 0 || is_ready(to, &to->choices[0]))
        return;
    const struct choice compiled = find_light(to, CHOICE_COMPILED, is_compiled);
    if (compiled.variant)
        put_first(to, &compiled);
    else if (to->brief.variant && !is_same(&to->brief, &to->choices[0]))
        put_first(to, &to->brief);
}

hone_status choose(struct choice choices[MAX_CHOICES], size_t *count, hone_device *device,
                   const struct filter_case *c, const struct choose_request *request, hone_error *error)
{
    struct collection to = {choices, count, device, c, request, {0}};
    *count = 0;
    selftest_warn(device);
    if (request->variant) {
        *count = 1;
        return forced(&choices[0], device, c, request, error);
    }
    if (has_few_runs(&to) && hone_device_get_info(device)->kind == HONE_DEVICE_GPU)
        to.brief = find_light(&to, CHOICE_BRIEF, is_brief);
    consider_measured(&to, LEVEL_EXACT, LEVEL_VENDOR);
    /* The best of another vendor's device, or of a CPU by another OpenCL, may be many times slower here: what
     * was thought of comes before. */
    consider_seeds(&to);
    consider_measured(&to, LEVEL_KIND, LEVEL_ALL);
    consider_all(&to);
    put_ready_first(&to);
    if (*count > 0)
        return HONE_OK;
    if (request->config && *request->config)
        return error_usage(error, "no variant of %s takes the configuration '%s' here", c->filter->name,
                           request->config);
    return error_unsupported(error, "no variant of %s can run on '%s' for %u-channel %s images",
                             c->filter->name, hone_device_get_info(device)->name, c->in.channels,
                             hone_type_name(c->in.type));
}
