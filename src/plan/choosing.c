/* SPDX-License-Identifier: BSD-2-Clause */
/* Which variant and configuration each step of a plan gets. */
#include "base/error.h"
#include "base/text.h"
#include "choose/choose.h"
#include "choose/trust.h"
#include "cl/device.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>

/* The part of "a:x,b:y" or "x" that concerns a filter; false when nothing does. */
static bool forced_name(const char *forced, const struct hone_filter *filter, char *name, size_t size)
{
    while (forced && *forced) {
        size_t length = strcspn(forced, ",");
        const char *colon = memchr(forced, ':', length);
        const char *start = colon ? colon + 1 : forced;
        size_t name_length = length - (size_t)(start - forced);
        bool ours = !colon || ((size_t)(colon - forced) == strlen(filter->name) &&
                               strncmp(forced, filter->name, strlen(filter->name)) == 0);
        if (ours && name_length < size) {
            memcpy(name, start, name_length);
            name[name_length] = '\0';
            if (colon || filter_variant(filter, name) || filter_rung(filter, name))
                return true;
        }
        forced += length + (forced[length] == ',');
    }
    return false;
}

hone_status choosing_check(const hone_chain *chain, const hone_plan_options *options, hone_error *error)
{
    char name[128];
    if (!options->variant)
        return HONE_OK;
    for (size_t i = 0; i < chain->count; i++)
        if (forced_name(options->variant, chain->steps[i].c.filter, name, sizeof name))
            return HONE_OK;
    struct text names = {0};
    for (size_t i = 0; i < chain->count; i++)
        for (size_t v = 0; v < chain->steps[i].c.filter->variant_count; v++)
            text_add(&names, "%s%s:%s", names.length ? ", " : "", chain->steps[i].c.filter->name,
                     chain->steps[i].c.filter->variants[v].name);
    hone_status status = error_usage(error, "no filter of the chain has a variant '%s'; there are %s",
                                     options->variant, text_view(&names));
    text_finish(&names);
    return status;
}

/* A candidate is taken when it builds and is known, or found now, to give right results here. */
static hone_status try_choice(hone_plan *plan, struct step *step, const struct filter_case *c,
                              const struct choice *choice, const struct instance *other, hone_error *error)
{
    hone_status status = instance_create_beside(&step->instance, other, plan->device, c, choice->variant,
                                                &choice->config, error);
    THEN(status, trust_check(plan->device, step->instance, error));
    if (status)
        instance_destroy(&step->instance);
    else
        step->origin = choice->origin;
    return status;
}

/* Takes the first candidate that passes. What the compiler, the device or the check refuses is said and
 * passed over. */
hone_status choosing_make(hone_plan *plan, struct step *step, const struct filter_case *c,
                          const struct instance *other, hone_error *error)
{
    const hone_plan_options *options = &plan->options;
    struct choice choices[MAX_CHOICES];
    char name[128];
    size_t count = 0;
    bool forced = forced_name(options->variant, c->filter, name, sizeof name);
    const struct choose_request request = {.variant = forced ? name : NULL,
                                           .config = options->variant && !forced ? NULL : options->config,
                                           .without_measuring = options->tune == HONE_TUNE_OFF,
                                           .runs = options->runs};
    hone_status status = choose(choices, &count, plan->device, c, &request, error);
    for (size_t i = 0; i < count && !(status && i == 0); i++) {
        hone_error why = {0};
        if (i > 0 && variant_usable(plan->device, c, choices[i].variant, NULL) != HONE_OK)
            continue;
        status = try_choice(plan, step, c, &choices[i], other, &why);
        if (!status) {
            if (!plan->steady && !forced && !options->config && options->tune == HONE_TUNE_AUTO &&
                c->fused_count == 0)
                step->trial = trial_new(plan->device, step->instance, choices + i, count - i);
            return choosing_note(step, error);
        }
        if (error)
            *error = why;
        if ((status == HONE_ERROR_USAGE && c->filter->own) || status == HONE_ERROR_IO)
            return status; /* its author's mistake, or no space to compile: the same for every variant */
        if (i + 1 < count)
            device_log(plan->device, HONE_LOG_WARNING, "variant '%s' of %s is passed over: %s",
                       choices[i].variant->name, c->filter->name, why.message);
    }
    return status;
}

hone_status choosing_note(struct step *step, hone_error *error)
{
    struct text text = {0};
    config_print(instance_variant(step->instance), instance_config(step->instance), &text);
    free(step->config);
    step->config = text_take(&text);
    return step->config ? HONE_OK : error_memory(error, "a configuration");
}
