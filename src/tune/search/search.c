/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/search/search.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/pattern.h"

#include <stdlib.h>

enum {
    RANDOM_STARTS = 10,     /* of which the best is searched from */
    RANDOM_TRIES = 1 << 16, /* to find one point that is worth it */
    PATIENCE = 40,          /* evaluations without a gain of 1 %, after which search may end */
    MAX_STALE_RESTARTS = 6, /* restarts that evaluate nothing new */
    GIVE_UP = 3             /* failures of a path none of whose points worked */
};
static const double hopeless =
    2.0; /* a path this many times slower than the best, after its own line search */
static const double far_behind = 8; /* nor one that is so far behind before it */
static const double worthwhile = 0.99;

struct search {
    const struct space *space;
    const struct search_options *options;
    const struct evaluator *evaluator;
    struct search_result *result;
    size_t capacity;
    uint32_t *legal; /* numbers of all legal points; NULL: too many to list */
    uint32_t random;
    size_t last_gain; /* number of evaluations at the last gain of 1 % */
    double gain_from; /* the best then */
    bool out_of_memory;
};

static bool over(const struct search *s)
{
    return s->out_of_memory || s->result->count >= (size_t)s->options->budget ||
           (s->evaluator->stop && s->evaluator->stop(s->evaluator->context));
}

static int find(const struct search *s, const struct point *point)
{
    for (size_t i = 0; i < s->result->count; i++)
        if (point_equal(&s->result->all[i].point, point))
            return (int)i;
    return -1;
}

static double best_ms(const struct search *s)
{
    return s->result->best >= 0 ? s->result->all[s->result->best].ms : -1;
}

static void note_best(struct search *s, int index)
{
    double ms = s->result->all[index].ms, best = best_ms(s);
    if (ms < 0 || (best >= 0 && ms >= best))
        return;
    s->result->best = index;
    if (s->gain_from < 0 || ms < s->gain_from * worthwhile) {
        s->gain_from = ms;
        s->last_gain = s->result->count;
    }
}

/* Index of the evaluation of a point, new or remembered; -1 when it is not legal or the search is over. */
static int visit(struct search *s, const struct point *point)
{
    int known = find(s, point);
    if (known >= 0)
        return known;
    if (over(s) || !point_legal(s->space, point))
        return -1;
    if (!mem_grow(&s->result->all, &s->capacity, s->result->count + 1, sizeof *s->result->all)) {
        s->out_of_memory = true;
        return -1;
    }
    double ms = s->evaluator->evaluate(s->evaluator->context, point, best_ms(s));
    int index = (int)s->result->count++;
    s->result->all[index] = (struct evaluated){*point, ms};
    note_best(s, index);
    return index;
}

static bool better(const struct search *s, int candidate, int than)
{
    if (candidate < 0 || s->result->all[candidate].ms < 0)
        return false;
    return than < 0 || s->result->all[than].ms < 0 || s->result->all[candidate].ms < s->result->all[than].ms;
}

/* Compiling begins so many evaluations before: as many as there are threads for it. */
enum { AHEAD = 4 };

static void announce(struct search *s, const struct point *point)
{
    if (s->evaluator->upcoming && find(s, point) < 0 && point_legal(s->space, point))
        s->evaluator->upcoming(s->evaluator->context, point);
}

/* All values of one parameter, the others as they are; the index of the best point. */
static int line(struct search *s, int from, int parameter)
{
    const struct point start = s->result->all[from].point;
    const struct space_parameter *p = &s->space->paths[start.path].parameters[parameter];
    int best = from;
    for (int i = 0; i < p->count; i++) {
        struct point point = start, next = start;
        point.values[parameter] = p->values[i];
        for (int k = i == 0 ? 1 : i + AHEAD; k <= i + AHEAD && k < p->count; k++) {
            next.values[parameter] = p->values[k];
            announce(s, &next);
        }
        int index = visit(s, &point);
        if (better(s, index, best))
            best = index;
    }
    return best;
}

/* Parameters that compile nothing first: they are cheap, and what they find guides the others. */
static void order_parameters(struct search *s, const struct space_path *path, int order[SPACE_MAX_PARAMETERS])
{
    int count = 0;
    for (int pass = 1; pass >= 0; pass--)
        for (int i = 0; i < path->count; i++)
            if (path->parameters[i].launch_only == (pass == 1))
                order[count++] = i;
    for (int i = count - 1; i > 0; i--) { /* shuffled within its kind, so that restarts differ */
        int k = (int)(pattern_random(&s->random) % (uint32_t)(i + 1));
        if (path->parameters[order[i]].launch_only == path->parameters[order[k]].launch_only) {
            int swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
    }
}

/* Coordinate line search until no single parameter helps; the index of the local optimum. */
static int descend(struct search *s, int from)
{
    int order[SPACE_MAX_PARAMETERS], best = from;
    for (;;) {
        int before = best;
        const struct space_path *path = &s->space->paths[s->result->all[best].point.path];
        order_parameters(s, path, order);
        for (int i = 0; i < path->count && !over(s); i++)
            best = line(s, best, order[i]);
        if (best == before || over(s))
            return best;
    }
}

/* A path on which nothing works: its kernels do not build here, hang or are wrong. */
static bool is_dead(const struct search *s, int path)
{
    int failures = 0;
    for (size_t i = 0; i < s->result->count; i++)
        if (s->result->all[i].point.path == path) {
            if (s->result->all[i].ms >= 0)
                return false;
            failures++;
        }
    return failures >= GIVE_UP;
}

/* The best evaluated point of a path, or -1. */
static int best_of_path(const struct search *s, int path)
{
    int best = -1;
    for (size_t i = 0; i < s->result->count; i++)
        if (s->result->all[i].point.path == path && better(s, (int)i, best))
            best = (int)i;
    return best;
}

/* The defaults of paths that nothing is known of. */
static void visit_defaults(struct search *s)
{
    for (int path = 0; path < s->space->count && !over(s); path++)
        if (best_of_path(s, path) < 0 && !is_dead(s, path)) {
            const struct point point = point_default(s->space, path);
            visit(s, &point);
        }
}

/* The fastest path that was not searched, or -1. */
static int next_path(const struct search *s, const bool searched[SPACE_MAX_PATHS])
{
    int next = -1;
    for (int path = 0; path < s->space->count; path++) {
        int best = searched[path] ? -1 : best_of_path(s, path);
        if (best >= 0 && (next < 0 || s->result->all[best].ms < s->result->all[best_of_path(s, next)].ms))
            next = path;
    }
    return next;
}

/* Every path keeps an incumbent, until it has had its own line search and is still hopeless: the fastest path
 * first. One whose incumbent is far behind already gets none. */
static void search_paths(struct search *s)
{
    bool searched[SPACE_MAX_PATHS] = {0};
    for (int path; !over(s) && (path = next_path(s, searched)) >= 0; searched[path] = true) {
        int best = best_of_path(s, path);
        if (s->result->all[best].ms <= best_ms(s) * far_behind)
            descend(s, best);
    }
}

/* New, and not on a path that is known to be slow or not to work. */
static bool is_worth_it(const struct search *s, const struct point *point)
{
    if (!point_legal(s->space, point) || find(s, point) >= 0 || is_dead(s, point->path))
        return false;
    int best = best_of_path(s, point->path);
    return best < 0 || s->result->all[best].ms <= best_ms(s) * hopeless;
}

/* Of the legal ones where they are listed: in a sparse space hardly any combination is. */
static bool random_point(struct search *s, struct point *point)
{
    uint64_t size = (uint64_t)(s->legal ? s->result->legal : space_size(s->space)), wide = 0;
    for (int i = 0; i < RANDOM_TRIES && size > 0; i++) {
        wide = (uint64_t)pattern_random(&s->random) << 32 | pattern_random(&s->random);
        *point = space_at(s->space, s->legal ? s->legal[wide % size] : (int64_t)(wide % size));
        if (is_worth_it(s, point))
            return true;
    }
    for (uint64_t i = 0; i < size && s->legal; i++) { /* the few that are left */
        *point = space_at(s->space, s->legal[(wide + i) % size]);
        if (is_worth_it(s, point))
            return true;
    }
    return false;
}

/* The best of ten random points, searched from. False when there was nothing new. */
static bool restart(struct search *s)
{
    size_t before = s->result->count;
    int best = -1;
    for (int i = 0; i < RANDOM_STARTS && !over(s); i++) {
        struct point point;
        if (!random_point(s, &point))
            break;
        int index = visit(s, &point);
        if (better(s, index, best))
            best = index;
    }
    if (best >= 0 && !over(s))
        descend(s, best);
    return s->result->count > before;
}

static bool settled(const struct search *s)
{
    return s->result->best >= 0 && s->result->count >= s->last_gain + PATIENCE;
}

static void visit_all(struct search *s)
{
    bool all = true;
    for (int64_t i = 0; i < s->result->legal && all; i++) {
        const struct point point = space_at(s->space, s->legal[i]);
        for (int64_t k = i == 0 ? 1 : i + AHEAD; k <= i + AHEAD && k < s->result->legal; k++) {
            const struct point next = space_at(s->space, s->legal[k]);
            announce(s, &next);
        }
        all = is_dead(s, point.path) || visit(s, &point) >= 0;
    }
    s->result->exhausted = all;
}

hone_status search_run(const struct space *space, const struct search_options *options,
                       const struct evaluator *evaluator, struct search_result *result, hone_error *error)
{
    struct search s = {.space = space,
                       .options = options,
                       .evaluator = evaluator,
                       .result = result,
                       .random = options->random_seed * 2654435761u | 1,
                       .gain_from = -1};
    *result = (struct search_result){.best = -1};
    s.legal = space_list_legal(space, &result->legal);
    for (size_t i = 0; i < options->seed_count; i++) {
        for (size_t k = i == 0 ? 1 : i + AHEAD; k <= i + AHEAD && k < options->seed_count; k++)
            announce(&s, &options->seeds[k]);
        visit(&s, &options->seeds[i]);
    }
    if (result->best < 0) /* without seeds the paths are looked at before any of them is searched */
        visit_defaults(&s);
    if (result->best >= 0)
        descend(&s, result->best);
    visit_defaults(&s);
    search_paths(&s);
    if (s.legal && result->legal <= options->budget)
        visit_all(&s);
    for (int stale = 0; stale < MAX_STALE_RESTARTS && !over(&s) && !settled(&s) && !result->exhausted;)
        stale = restart(&s) ? 0 : stale + 1;
    free(s.legal);
    if (!s.out_of_memory)
        return HONE_OK;
    search_finish(result);
    return error_memory(error, "a search");
}

void search_finish(struct search_result *result)
{
    free(result->all);
    *result = (struct search_result){.best = -1};
}
