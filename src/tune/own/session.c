/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/session_internal.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double cold_seconds = 30, cold_final_seconds = 300; /* for flushing caches */

static void print(const struct session *s, const struct point *point, struct text *out)
{
    own_spec_print(own_session_of(s)->spec, point->values, out);
}

static bool same_case(const struct record_case *a, const struct record_case *b)
{
    return strcmp(a->filter, b->filter) == 0 && strcmp(a->source, b->source) == 0;
}

/* Winners seed the search: of other devices and sizes too, where kernel and file have the same names. Of
 * another tuner's results, which are no tries of ours, all that were kept. */
static void learn(struct session *s, const struct records *all)
{
    enum { MOST_SEEDS = 8 };
    for (size_t i = all->choice_count; i-- > 0 && s->seed_count < MOST_SEEDS;) {
        const struct record_choice *choice = &all->choices[i];
        bool same_file =
            !choice->c.parameters[0] || strcmp(choice->c.parameters, s->record_case.parameters) == 0;
        const int count = choice->origin == ORIGIN_IMPORT ? choice->count : choice->count > 0;
        if (strcmp(choice->c.filter, s->record_case.filter) == 0 && same_file)
            for (int k = 0; k < count && s->seed_count < MOST_SEEDS; k++)
                own_session_add_seed(s, choice->ranked[k].config);
    }
}

/* One that failed in the final did not work. */
static void drop(struct session *s, const char *config, const struct measured *fault)
{
    struct session_result *r = s->result;
    for (size_t i = 0; i < r->try_count; i++)
        if (strcmp(r->tries[i].config, config) == 0) {
            r->states[r->tries[i].measured.state]--;
            r->tries[i].measured = *fault;
        }
}

/* The gain is told against the first configuration, which would run without tuning. */
static void compare(struct session *s, struct search_result *found)
{
    const struct session_result *r = s->result;
    for (size_t i = 0; i < r->try_count; i++)
        if (strcmp(r->tries[i].config, own_session_of(s)->result->first) == 0) {
            s->compared[WITHOUT_TUNING].point = r->tries[i].point;
            session_searched(found, &s->compared[WITHOUT_TUNING]);
        }
}

static double value_of(const struct session *s, const struct formula *formula, const struct point *point)
{
    struct own_scope scope;
    double value = NAN;
    own_scope_init(&scope, own_session_of(s)->spec, point->values, &s->scope);
    if (!formula || expr_real(&formula->expr, &scope.scope, &value, NULL) != HONE_OK)
        return NAN;
    return value;
}

static void cost(const struct session *s, const struct point *point, double *bytes, double *flops)
{
    *bytes = value_of(s, own_session_of(s)->spec->bytes, point);
    *flops = value_of(s, own_session_of(s)->spec->flops, point);
}

static bool is_number(const struct session *s, int parameter)
{
    return !own_has_words(own_session_of(s)->spec, parameter);
}

static void tell_costs(struct session *s)
{
    struct own_session_result *r = own_session_of(s)->result;
    double bytes, flops;
    cost(s, &s->result->ranked[0].point, &bytes, &flops);
    r->bytes = isnan(bytes) ? 0 : bytes;
    r->flops = isnan(flops) ? 0 : flops;
}

static const struct session_ops ops = {.request = own_session_request,
                                       .describe = own_session_describe,
                                       .print = print,
                                       .same_case = same_case,
                                       .learn = learn,
                                       .dropped = drop,
                                       .compare = compare,
                                       .cost = cost,
                                       .is_number = is_number,
                                       .conclude = tell_costs};

hone_status own_session_tune(struct worker *worker, const struct own_request *request,
                             const struct session_options *options, struct own_session_result *result,
                             hone_error *error)
{
    struct own_session *own = mem_new(1, sizeof *own);
    *result = (struct own_session_result){0};
    if (!own)
        return error_memory(error, "a tuning session");
    own->request = request;
    own->spec = request->spec;
    own->result = result;
    own->source.fd = -1;
    own->base.own = true;
    own->base.beside = own->spec->cold ? cold_seconds : 0;
    own->base.at_race = own->spec->cold ? cold_final_seconds : 0;
    snprintf(own->base.name, sizeof own->base.name, "'%.60s'", own->spec->kernel);
    hone_status status = session_run(&own->base, &ops, worker, options, &result->base, error);
    held_file_close(&own->source);
    free(own);
    return status;
}

void own_session_finish(struct own_session_result *result)
{
    session_result_finish(&result->base);
    *result = (struct own_session_result){0};
}
