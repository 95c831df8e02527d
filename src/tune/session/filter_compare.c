/* SPDX-License-Identifier: BSD-2-Clause */
/* What users want to see the best compared with: what runs without tuning, the plain kernel, the first
 * rung. */
#include "tune/session/filter_internal.h"

#include "base/mem.h"

#include <stdio.h>

/* A point of the search, or one that is measured now and takes part from here on: what is compared with may
 * turn out the best. False when it cannot run. */
static bool find_time(struct session *s, struct search_result *found, struct evaluated *to)
{
    struct measured m;
    char config[256];
    double best = found->best >= 0 ? found->all[found->best].ms : -1;
    size_t capacity = found->count;
    to->ms = -1;
    if (session_searched(found, to))
        return to->ms >= 0;
    if (s->result->interrupted || s->failure.status || !point_legal(&s->space, &to->point))
        return false;
    session_config(s, &to->point, config);
    session_measure(s, s->space.paths[to->point.path].name, config, best, &m);
    if (m.state != STATE_ABANDONED)
        session_keep_try(s, &to->point, config, &m);
    to->ms = session_worked(&m) ? m.ms : -1;
    if (to->ms >= 0 && mem_grow(&found->all, &capacity, found->count + 1, sizeof *found->all))
        found->all[found->count++] = *to;
    return to->ms >= 0;
}

/* The first that works is what runs. However late it is, and whatever the search was limited to: nobody shall
 * get something slower by tuning. */
static void find_first(struct session *s, struct search_result *found, const struct candidates *candidates,
                       struct evaluated *to)
{
    to->ms = -1;
    for (int i = 0; i < candidates->count && to->ms < 0; i++) {
        to->point = candidates->points[i];
        find_time(s, found, to);
    }
}

/* What is only told: of the variants that are searched, and as long as there is time. */
static bool compare_with(struct session *s, struct search_result *found, const char *variant,
                         const char *config, struct evaluated *to)
{
    to->ms = -1;
    if (!filter_session_point(filter_session_of(s), variant, config, &to->point) ||
        to->point.path >= s->searched)
        return false;
    return session_is_late(s) ? session_searched(found, to) && to->ms >= 0 : find_time(s, found, to);
}

/* The pass of a variant, with its defaults, that has a work-item for each pixel or each of its channels;
 * false when it has none. */
static bool plain_pass(const struct filter_session *f, const struct variant *variant, struct pass_geometry *g,
                       int64_t *items)
{
    struct config config;
    struct config_scope scope;
    config_default(variant, &config);
    config_scope_init(&scope, variant, &config, &f->base.scope);
    for (int p = 0; p < MAX_PASSES && variant->passes[p].kernel; p++) {
        if (pass_geometry(&variant->passes[p], &scope.scope, g, NULL) != HONE_OK)
            return false;
        *items = g->extent[0] * g->extent[1] * g->extent[2];
        if (g->block[0] * g->block[1] * g->block[2] == 1 &&
            *items >= (int64_t)f->c->in.width * f->c->in.height)
            return true;
    }
    return false;
}

/* The first variant of the table is the plain one, where it leaves a work-item one pixel. */
static void measure_plain(struct session *s, struct search_result *found)
{
    const struct filter_session *f = filter_session_of(s);
    const struct variant *variant = &f->c->filter->variants[0];
    struct session_result *r = s->result;
    struct pass_geometry g;
    int64_t items;
    if (!plain_pass(f, variant, &g, &items) ||
        !compare_with(s, found, variant->name, "", &s->compared[PLAIN])) {
        s->compared[PLAIN].ms = -1;
        return;
    }
    const char *what = items > (int64_t)f->c->in.width * f->c->in.height ? "element" : "pixel";
    if (g.local[0] > 0)
        snprintf(r->plain, sizeof r->plain, "one %s per work-item, %lldx%lld (%s)", what,
                 (long long)g.local[0], (long long)g.local[1], variant->name);
    else
        snprintf(r->plain, sizeof r->plain, "one %s per work-item (%s)", what, variant->name);
}

void filter_session_compare(struct session *s, struct search_result *found)
{
    const struct filter_session *f = filter_session_of(s);
    const struct hone_filter *filter = f->c->filter;
    session_stage(s, "what the best is compared with");
    s->comparing = true;
    if (s->options->variants && found->best >= 0)
        s->compared[ASKED] = found->all[found->best];
    find_first(s, found, &f->untuned, &s->compared[WITHOUT_TUNING]);
    find_first(s, found, &f->now, &s->compared[INCUMBENT]);
    measure_plain(s, found);
    for (size_t i = 0; i < filter->rung_count; i++)
        if (compare_with(s, found, filter->rungs[i].variant, filter->rungs[i].config,
                         &s->compared[FIRST_RUNG]))
            return;
    s->compared[FIRST_RUNG].ms = -1;
}
