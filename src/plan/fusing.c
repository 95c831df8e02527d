/* SPDX-License-Identifier: BSD-2-Clause */
/* Which filters of a chain run in one kernel (guide 8.1): point filters with the window filter beside them,
 * or with each other, where the variant that would run anyway lets them. A variant
 * states FUSES_x only where the fused kernel was measured to be faster than two (bench/fused.c). */
#include "base/error.h"
#include "choose/choose.h"
#include "filter/case.h"
#include "plan/internal.h"

/* Filters in a row: `before` point filters, the one whose kernel runs, `after` more point filters. */
struct group {
    unsigned before, after;
};

static bool is_point(const struct filter_case *c)
{
    return c->filter->point != NULL;
}

/* Point filters that may follow; one that makes several elements of one ends the row. */
static unsigned points_after(const struct filter_case *cases, size_t count)
{
    unsigned found = 0;
    bool one_for_one = true;
    for (; found < count && found < MAX_FUSED && is_point(&cases[found]) && one_for_one; found++)
        one_for_one = cases[found].out.channels == cases[found].in.channels;
    return found;
}

static unsigned points_before(const struct filter_case *cases, size_t count)
{
    unsigned found = 0;
    while (found < count && found < MAX_FUSED && is_point(&cases[found]))
        found++;
    return found;
}

/* What the variant that would run alone lets run with it. */
static unsigned fuses_of(hone_plan *plan, const struct filter_case *c, const hone_plan_options *options)
{
    struct choice choices[MAX_CHOICES];
    size_t count = 0;
    const struct choose_request request = {.without_measuring = options->tune == HONE_TUNE_OFF,
                                           .runs = options->runs};
    hone_status status = choose(choices, &count, plan->device, c, &request, NULL);
    return status || count == 0 ? 0 : choices[0].variant->fuses;
}

static struct group widest(hone_plan *plan, const struct filter_case *cases, size_t count,
                           const hone_plan_options *options)
{
    struct group g = {.before = points_before(cases, count)};
    if (g.before == count || g.before == MAX_FUSED) /* nothing but point filters: the first one is the host */
        g.before = 0;
    g.after = points_after(cases + g.before + 1, count - g.before - 1);
    unsigned fuses = g.before || g.after ? fuses_of(plan, &cases[g.before], options) : 0;
    if (g.before && !(fuses & FUSES_BEFORE)) {
        g.after = points_after(cases + 1, g.before - 1);
        g.before = 0;
        fuses = g.after ? fuses_of(plan, &cases[0], options) : 0;
    }
    if (!(fuses & FUSES_AFTER))
        g.after = 0;
    if (g.after > MAX_FUSED - g.before)
        g.after = MAX_FUSED - g.before;
    return g;
}

/* Rounding errors of one filter must not decide a step of the next: all but the last are exact, or all are
 * floats. */
static bool is_safe(const struct filter_case *cases, size_t count)
{
    bool exact = true, floats = true;
    for (size_t i = 0; i < count; i++) {
        exact = exact && (i + 1 == count || case_bound(&cases[i], NULL, 1) == 0);
        floats = floats && cases[i].out.type == HONE_F32;
    }
    return exact || floats;
}

static hone_status make_case(struct filter_case *c, const struct filter_case *cases, struct group g,
                             hone_error *error)
{
    struct filter_case points[MAX_FUSED];
    for (unsigned i = 0; i < g.before; i++)
        points[i] = cases[i];
    for (unsigned i = 0; i < g.after; i++)
        points[g.before + i] = cases[g.before + 1 + i];
    TRY(case_copy(c, &cases[g.before], error));
    hone_status status = case_fuse(c, points, g.before, g.before + g.after, error);
    if (status)
        case_finish(c);
    return status;
}

hone_status fusing_next(struct filter_case *c, size_t *taken, hone_plan *plan,
                        const struct filter_case *cases, size_t count, const hone_plan_options *options,
                        hone_error *error)
{
    bool wanted = !options->no_fuse && !options->variant && !options->config;
    struct group g = wanted ? widest(plan, cases, count, options) : (struct group){0};
    *taken = 1 + g.before + g.after;
    if (*taken > 1 && is_safe(cases, *taken) && make_case(c, cases, g, NULL) == HONE_OK)
        return HONE_OK;
    *taken = 1;
    return case_copy(c, &cases[0], error);
}
