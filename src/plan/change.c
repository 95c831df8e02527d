/* SPDX-License-Identifier: BSD-2-Clause */
/* Changing the parameters of a plan: another one is laid out beside it, of the same steps as far as nothing
 * about them changes, and takes its place only when all of it is there. */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "plan/internal.h"
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct plan_change {
    size_t count;
    struct filter_case *cases;
    struct layout layout;
};

static const hone_image_desc *second_of(const struct filter_case *c)
{
    return c->second.width ? &c->second : NULL;
}

/* Later filters follow a change of size or format. */
static hone_status prepare_from(struct filter_case *cases, size_t first, size_t count, hone_error *error)
{
    hone_status status = case_prepare(&cases[first], &cases[first].in, second_of(&cases[first]), error);
    for (size_t i = first + 1; i < count && !status; i++)
        status = case_prepare(&cases[i], &cases[i - 1].out, second_of(&cases[i]), error);
    return status;
}

static void finish_cases(struct filter_case *cases, size_t count)
{
    for (size_t i = 0; cases && i < count; i++)
        case_finish(&cases[i]);
    free(cases);
}

/* The plan's cases with other parameters of one filter. */
static hone_status changed_cases(struct filter_case **out, const hone_plan *plan, size_t index,
                                 const char *parameters, hone_error *error)
{
    struct filter_case *cases = mem_new(plan->filter_count, sizeof *cases);
    hone_status status = cases ? HONE_OK : error_memory(error, "a plan");
    size_t done = 0;
    for (; done < plan->filter_count && !status; done += status == HONE_OK)
        status = case_copy(&cases[done], &plan->cases[done], error);
    THEN(status, chain_parse_parameters(&cases[index], parameters, error));
    THEN(status, prepare_from(cases, index, plan->filter_count, error));
    if (status) {
        finish_cases(cases, done);
        cases = NULL;
    }
    *out = cases;
    return status;
}

/* Swaps, so that what is finished afterwards is what the plan was. */
static void take_over(hone_plan *plan, struct filter_case *cases, struct layout *layout)
{
    struct layout before = plan->now;
    for (size_t i = 0; i < plan->filter_count; i++) {
        struct filter_case old = plan->cases[i];
        plan->cases[i] = cases[i];
        cases[i] = old;
    }
    plan->now = *layout;
    *layout = before;
    plan->output = *layout_output(&plan->now);
}

void plan_change_drop(struct plan_change **slot)
{
    struct plan_change *change = *slot;
    *slot = NULL;
    if (!change)
        return;
    layout_finish(&change->layout);
    finish_cases(change->cases, change->count);
    free(change);
}

hone_status plan_change_make(struct plan_change **out, hone_plan *plan, size_t index, const char *parameters,
                             hone_error *error)
{
    struct plan_change *change = mem_new(1, sizeof *change);
    *out = NULL;
    if (!change)
        return error_memory(error, "a plan");
    change->count = plan->filter_count;
    hone_status status = changed_cases(&change->cases, plan, index, parameters, error);
    THEN(status, layout_make(&change->layout, plan, change->cases, index, error));
    if (status)
        plan_change_drop(&change);
    *out = change;
    return status;
}

const hone_image_desc *plan_change_output(const struct plan_change *change)
{
    return layout_output(&change->layout);
}

void plan_change_take(hone_plan *plan, struct plan_change **change)
{
    take_over(plan, (*change)->cases, &(*change)->layout);
    plan_change_drop(change);
}

static hone_status change(hone_plan *plan, size_t index, const char *parameters, bool keep, hone_error *error)
{
    struct plan_change *change = NULL;
    hone_status status = plan_change_make(&change, plan, index, parameters, error);
    if (!status && keep)
        plan_change_take(plan, &change);
    plan_change_drop(&change);
    return status;
}

hone_status plan_change_check(const hone_plan *plan, const char *call, size_t index, const char *text,
                              hone_error *error)
{
    TRY(plan_check(plan, call, error));
    if (index >= plan->filter_count)
        return plan_no_such_filter(plan, error);
    return text ? HONE_OK : error_usage(error, "%s needs parameters, not NULL", call);
}

hone_status hone_plan_set(hone_plan *plan, size_t index, const char *parameters, hone_error *error)
{
    hone_status status = plan_change_check(plan, "hone_plan_set", index, parameters, error);
    return status ? status : change(plan, index, parameters, true, error);
}

hone_status hone_plan_prepare(hone_plan *plan, size_t index, const char *parameters, hone_error *error)
{
    hone_status status = plan_change_check(plan, "hone_plan_prepare", index, parameters, error);
    return status ? status : change(plan, index, parameters, false, error);
}

/* ---- Ranges ---- */

static const struct parameter *any_parameter(const struct hone_filter *filter, const char *name)
{
    const int at = filter_parameter(filter, name);
    if (at >= 0)
        return &filter->parameters[at];
    const struct parameter *p = NULL;
    for (size_t i = 0; (p = case_common_parameter(filter, i)) && strcmp(p->name, name) != 0;)
        i++;
    return p;
}

static const struct parameter *numeric(const struct hone_filter *filter, const char *name, hone_error *error)
{
    const struct parameter *p = any_parameter(filter, name);
    if (p && (p->kind == PARAMETER_INTEGER || p->kind == PARAMETER_REAL))
        return p;
    error_usage(error, "%s has no numeric parameter '%s'", filter->name, name);
    return NULL;
}

static hone_status write_value(struct text *out, const char *name, double value, hone_error *error)
{
    text_add(out, "%s=", name);
    text_add_number(out, value);
    return out->failed ? error_memory(error, "a parameter") : HONE_OK;
}

static hone_status prepare_value(hone_plan *plan, size_t index, const char *name, double value,
                                 hone_error *error)
{
    struct text parameters = {0};
    hone_status status = write_value(&parameters, name, value, error);
    THEN(status, change(plan, index, text_view(&parameters), false, error));
    text_finish(&parameters);
    return status;
}

/* Whether the filters would accept a value; builds nothing. */
static bool is_taken(const hone_plan *plan, size_t index, const char *name, double value)
{
    struct text parameters = {0};
    struct filter_case *cases = NULL;
    hone_error error;
    hone_status status = write_value(&parameters, name, value, &error);
    THEN(status, changed_cases(&cases, plan, index, text_view(&parameters), &error));
    finish_cases(cases, plan->filter_count);
    text_finish(&parameters);
    return status == HONE_OK;
}

/* Levels of integer formats may be real numbers by their kind: then the filter refuses a fraction between two
 * whole numbers that it takes. */
static bool takes_whole_alone(const hone_plan *plan, size_t index, const struct parameter *p, double minimum,
                              double maximum)
{
    if (p->kind == PARAMETER_INTEGER)
        return true;
    const double fraction =
        minimum < ceil(minimum) ? minimum : minimum + fmin(maximum - minimum, 1) / 2; /* in the range */
    return !is_taken(plan, index, p->name, fraction) && is_taken(plan, index, p->name, floor(fraction)) &&
           is_taken(plan, index, p->name, ceil(fraction));
}

static hone_status prepare_values(hone_plan *plan, size_t index, const char *name, double first, double last,
                                  bool whole, hone_error *error)
{
    enum { MAX_VALUES = 257 };
    hone_status status = HONE_OK;
    const double steps = first == last ? 0 : whole ? fmin(last - first, MAX_VALUES - 1) : MAX_VALUES - 1;
    for (int i = 0; i <= (int)steps && !status; i++) {
        double value = steps > 0 ? first + (last - first) * i / steps : first;
        status = prepare_value(plan, index, name, whole ? floor(value) : value, error);
    }
    return status;
}

hone_status hone_plan_prepare_range(hone_plan *plan, size_t index, const char *name, double minimum,
                                    double maximum, hone_error *error)
{
    hone_status status = plan_change_check(plan, "hone_plan_prepare_range", index, "", error);
    if (status)
        return status;
    if (!name)
        return error_usage(error, "hone_plan_prepare_range needs a parameter's name, not NULL");
    const struct parameter *p = numeric(plan->cases[index].filter, name, error);
    if (!p)
        return HONE_ERROR_USAGE;
    if (!(isfinite(minimum) && isfinite(maximum) && minimum <= maximum))
        return error_usage(error, "%g to %g is no range of %s", minimum, maximum, name);
    if (ceil(minimum) <= floor(maximum) && takes_whole_alone(plan, index, p, minimum, maximum))
        return prepare_values(plan, index, name, ceil(minimum), floor(maximum), true, error);
    return prepare_values(plan, index, name, minimum, maximum, false, error);
}
