/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/registry.h"
#include "filter/variant.h"
#include "tune/lookup.h"
#include "tune/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SEEDS = 32, FINALISTS = 8, FINAL_ROUNDS = 12, MAX_NAMES = 96 };
static const double leader_limit = 1.5; /* finalists are at most so much slower than the best score */
static const double final_share = 0.2;  /* of the time that is kept for the final */

struct session {
    struct worker *worker;
    const struct filter_case *c;
    const struct session_options *options;
    struct session_result *result;
    struct record_case record_case;
    struct records known; /* earlier tries of this very case */
    struct space space;
    const struct variant *variants[SPACE_MAX_PATHS]; /* by path */
    struct variant_limits limits;
    const char *names[MAX_NAMES];
    int64_t values[MAX_NAMES];
    struct expr_scope scope;
    struct point seeds[MAX_SEEDS];
    bool hand_written[MAX_SEEDS];
    size_t seed_count;
    uint64_t start;
    int evaluations;
    hone_error io_error; /* the first failure to write records */
};

/* ---- What the worker says of the case ---- */

static void read_names(struct session *s, const json_t *names)
{
    const char *name;
    json_t *value;
    int count = 0;
    json_object_foreach((json_t *)names, name, value)
    {
        if (count < MAX_NAMES) {
            s->names[count] = name; /* lives as long as the worker's description */
            s->values[count++] = json_integer_value(value);
        }
    }
    s->scope = (struct expr_scope){NULL, s->names, s->values, count};
}

static void read_limits(struct session *s, const json_t *limits)
{
    s->limits.max_work_group = (size_t)json_integer_value(json_array_get(limits, 0));
    for (size_t i = 0; i < 3; i++)
        s->limits.max_work_items[i] = (size_t)json_integer_value(json_array_get(limits, i + 1));
    s->limits.local_memory = (uint64_t)json_integer_value(json_array_get(limits, 4));
}

static void add_path(struct session *s, const struct variant *variant)
{
    struct space_path *path = &s->space.paths[s->space.count];
    if (s->space.count == SPACE_MAX_PATHS)
        return;
    s->variants[s->space.count++] = variant;
    snprintf(path->name, sizeof path->name, "%s", variant->name);
    path->count = (int)variant_tunable_count(variant);
    for (int i = 0; i < path->count; i++) {
        const struct tunable *tunable = &variant->tunables[i];
        struct space_parameter *parameter = &path->parameters[i];
        snprintf(parameter->name, sizeof parameter->name, "%s", tunable->name);
        size_t count = tunable_values(tunable, parameter->values, SPACE_MAX_VALUES);
        parameter->count = (int)(count < SPACE_MAX_VALUES ? count : SPACE_MAX_VALUES);
        parameter->launch_only = tunable->kind == TUNABLE_LAUNCH;
    }
}

static bool legal(const void *context, int path, const int64_t *values)
{
    const struct session *s = context;
    struct config config = {0};
    memcpy(config.values, values, sizeof(int64_t) * (size_t)s->space.paths[path].count);
    return config_legal_within(&s->scope, &s->limits, s->variants[path], &config, NULL) == HONE_OK;
}

static int path_of(const struct session *s, const char *variant)
{
    for (int i = 0; i < s->space.count; i++)
        if (strcmp(s->space.paths[i].name, variant) == 0)
            return i;
    return -1;
}

/* False when the names mean nothing in this space. */
static bool point_of(const struct session *s, const char *variant, const char *text, struct point *point)
{
    struct config config;
    int path = path_of(s, variant);
    if (path < 0)
        return false;
    config_default(s->variants[path], &config);
    if (config_parse(s->variants[path], text, &config, NULL) != HONE_OK)
        return false;
    *point = (struct point){.path = path};
    memcpy(point->values, config.values, sizeof(int64_t) * (size_t)s->space.paths[path].count);
    return true;
}

static void config_of(const struct session *s, const struct point *point, char *to, size_t size)
{
    struct text text = {0};
    const struct space_path *path = &s->space.paths[point->path];
    for (int i = 0; i < path->count; i++)
        text_add(&text, "%s%s=%lld", i ? " " : "", path->parameters[i].name, (long long)point->values[i]);
    snprintf(to, size, "%s", text_view(&text));
    text_finish(&text);
}

static void add_seed(struct session *s, const struct point *point, bool hand_written)
{
    for (size_t i = 0; i < s->seed_count; i++)
        if (point_equal(&s->seeds[i], point))
            return;
    if (s->seed_count == MAX_SEEDS)
        return;
    s->hand_written[s->seed_count] = hand_written;
    s->seeds[s->seed_count++] = *point;
}

/* What choosing would try, as far as it knows something of this case. */
static void read_seeds(struct session *s, const json_t *seeds)
{
    for (size_t i = 0; i < json_array_size(seeds); i++) {
        const json_t *seed = json_array_get(seeds, i);
        const char *variant = json_string_value(json_object_get(seed, "variant"));
        const char *config = json_string_value(json_object_get(seed, "config"));
        const char *origin = json_string_value(json_object_get(seed, "origin"));
        struct point point;
        if (variant && config && origin && strcmp(origin, "last resort") != 0 &&
            point_of(s, variant, config, &point))
            add_seed(s, &point, strcmp(origin, "hand-written") == 0);
    }
}

static hone_status read_description(struct session *s, hone_error *error)
{
    const json_t *description = s->worker->description;
    const json_t *variants = json_object_get(description, "variants");
    read_names(s, json_object_get(description, "names"));
    read_limits(s, json_object_get(description, "limits"));
    s->space = (struct space){.legal = legal, .context = s};
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const char *name = json_string_value(json_array_get(variants, i));
        const struct variant *variant = filter_variant(s->c->filter, name ? name : "");
        if (variant)
            add_path(s, variant);
    }
    if (s->space.count == 0)
        return error_set(error, HONE_ERROR_UNSUPPORTED, "no variant of %s can run on '%s' for these images",
                         s->c->filter->name, s->worker->device_record.name);
    read_seeds(s, json_object_get(description, "seeds"));
    return HONE_OK;
}

json_t *session_request(const struct filter_case *c)
{
    json_t *parameters = json_object();
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++)
        if (c->values[i].text && c->values[i].given)
            json_object_set_new(parameters, c->filter->parameters[i].name, json_string(c->values[i].text));
    if (c->filter->spatial)
        json_object_set_new(parameters, "border", json_string(hone_border_name(c->border)));
    if (c->relaxed)
        json_object_set_new(parameters, "accuracy", json_string("relaxed"));
    return json_pack("{s:s, s:s, s:o, s:s, s:i, s:i, s:i}", "do", "filter", "filter", c->filter->name,
                     "parameters", parameters, "type", hone_type_name(c->in.type), "channels",
                     (int)c->in.channels, "width", (int)c->in.width, "height", (int)c->in.height);
}

/* ---- What is known from before ---- */

static bool same_case(const struct record_case *a, const struct record_case *b)
{
    return lookup_distance(a, b) == 0 && a->width == b->width && a->height == b->height;
}

static bool same_device(const struct session *s, const struct record_device *device)
{
    return lookup_level_of(device, &s->worker->device_record) == LEVEL_EXACT;
}

/* Keeps the tries of this case: all that ended badly, and of the others those since the last choice. */
static hone_status load_known(struct session *s, hone_error *error)
{
    struct records all = {0};
    hone_status status = s->worker->no_disk ? HONE_OK : records_load(&all, READ_TRIES | READ_CHOICES, error);
    int64_t finished = INT64_MIN;
    for (size_t i = 0; i < all.choice_count; i++)
        if (same_device(s, &all.choices[i].device) && same_case(&all.choices[i].c, &s->record_case))
            finished = all.choices[i].time;
    for (size_t i = 0; i < all.try_count && !status; i++) {
        const struct record_try *t = &all.tries[i];
        bool useful =
            t->state != STATE_OK && t->state != STATE_SLOW ? true : t->time > finished && !s->options->fresh;
        if (!useful || !same_device(s, &t->device) || !same_case(&t->c, &s->record_case))
            continue;
        if (!mem_grow(&s->known.tries, &s->known.try_capacity, s->known.try_count + 1,
                      sizeof *s->known.tries))
            status = error_memory(error, "tuning records");
        else
            s->known.tries[s->known.try_count++] = *t;
    }
    records_finish(&all);
    return status;
}

/* The last word on a configuration. One that was started and never ended took its process along. */
static const struct record_try *known_try(const struct session *s, const char *variant, const char *config)
{
    for (size_t i = s->known.try_count; i-- > 0;)
        if (strcmp(s->known.tries[i].config.variant, variant) == 0 &&
            strcmp(s->known.tries[i].config.config, config) == 0)
            return &s->known.tries[i];
    return NULL;
}

static bool recall(struct session *s, const char *variant, const char *config, struct measured *m)
{
    const struct record_try *t = known_try(s, variant, config);
    if (!t)
        return false;
    *m = (struct measured){.state = t->state == STATE_STARTED ? STATE_CRASH : t->state, .ms = t->config.ms};
    for (int i = 0; i < t->run_count && i < MEASURE_RUNS; i++)
        m->runs[m->run_count++] = t->runs[i];
    snprintf(m->note, sizeof m->note, "%s", t->state == STATE_STARTED ? "a session ended in it" : t->note);
    if (m->state != STATE_OK && m->state != STATE_SLOW)
        m->ms = -1;
    s->result->resumed++;
    return true;
}

/* ---- Evaluating ---- */

static void record(struct session *s, const char *variant, const char *config, const struct measured *m,
                   enum record_state state)
{
    struct record_try *t = mem_new(1, sizeof *t);
    hone_error error;
    if (!t || s->worker->no_disk) {
        free(t);
        return;
    }
    t->device = s->worker->device_record;
    t->c = s->record_case;
    t->state = state;
    t->config.ms = -1;
    t->time = (int64_t)time(NULL);
    snprintf(t->config.variant, sizeof t->config.variant, "%s", variant);
    snprintf(t->config.config, sizeof t->config.config, "%s", config);
    if (m) {
        t->config.ms = m->ms;
        t->build_ms = m->build_ms;
        t->run_count = m->run_count;
        memcpy(t->runs, m->runs, sizeof m->runs);
        snprintf(t->note, sizeof t->note, "%s", m->note);
    }
    if (records_add_try(t, &error) != HONE_OK && s->io_error.status == HONE_OK)
        s->io_error = error;
    free(t);
}

static double run_limit(const struct session *s, double best)
{
    double least = s->options->run_seconds > 0                        ? s->options->run_seconds
                   : s->worker->device_record.kind == HONE_DEVICE_CPU ? 10
                                                                      : 2;
    double by_best = best > 0 ? best * 1e-3 * 10 * MEASURE_RUNS : 0;
    return by_best > least ? by_best : least;
}

static void measure(struct session *s, const char *variant, const char *config, double best,
                    struct measured *m)
{
    double build = s->options->build_seconds > 0 ? s->options->build_seconds : 60;
    if (recall(s, variant, config, m))
        return;
    record(s, variant, config, NULL, STATE_STARTED);
    worker_measure(s->worker, variant, config, best, build, run_limit(s, best), m);
    record(s, variant, config, m, m->state);
}

static double evaluate(void *context, const struct point *point, double best)
{
    struct session *s = context;
    char config[256];
    struct measured m;
    const char *variant = s->space.paths[point->path].name;
    config_of(s, point, config, sizeof config);
    measure(s, variant, config, best, &m);
    s->result->states[m.state]++;
    s->evaluations++;
    if (s->options->progress) {
        struct text text = {0};
        point_print(&s->space, point, &text);
        bool better = m.ms >= 0 && (best < 0 || m.ms < best);
        s->options->progress(s->options->context, s->evaluations, s->options->budget, text_view(&text), &m,
                             better ? m.ms : best);
        text_finish(&text);
    }
    return m.state == STATE_OK || m.state == STATE_SLOW ? m.ms : -1;
}

/* Not on CPUs: compiling would take the cores that are being measured. */
static void upcoming(void *context, const struct point *point)
{
    struct session *s = context;
    char config[256];
    config_of(s, point, config, sizeof config);
    if (s->worker->device_record.kind != HONE_DEVICE_CPU &&
        !known_try(s, s->space.paths[point->path].name, config))
        worker_prepare(s->worker, s->space.paths[point->path].name, config);
}

static double elapsed(const struct session *s)
{
    return (double)(clock_ns() - s->start) * 1e-9;
}

static bool stop(void *context)
{
    struct session *s = context;
    if (s->options->interrupted && s->options->interrupted(s->options->context))
        s->result->interrupted = true;
    bool late = s->options->seconds > 0 && elapsed(s) > s->options->seconds * (1 - final_share);
    return s->result->interrupted || late;
}

/* ---- The final ---- */

struct finalist {
    struct point point;
    char config[256];
    double runs[MEASURE_RUNS], median, deviation;
    int run_count;
    bool hand_written;
};

static int by_score(const void *a, const void *b)
{
    const struct evaluated *x = a, *y = b;
    if ((x->ms < 0) != (y->ms < 0))
        return x->ms < 0 ? 1 : -1;
    return (x->ms > y->ms) - (x->ms < y->ms);
}

static bool is_hand_written(const struct session *s, const struct point *point)
{
    for (size_t i = 0; i < s->seed_count; i++)
        if (s->hand_written[i] && point_equal(&s->seeds[i], point))
            return true;
    return false;
}

/* The fastest, and of every path its fastest that is not hopeless. `sorted` is in order. */
static int pick_finalists(const struct session *s, const struct evaluated *sorted, size_t count,
                          struct finalist finalists[FINALISTS])
{
    int picked = 0;
    bool taken[SPACE_MAX_PATHS] = {0};
    for (int pass = 0; pass < 2; pass++) /* first of each path, then the rest */
        for (size_t i = 0; i < count && picked < FINALISTS && sorted[i].ms >= 0; i++) {
            int path = sorted[i].point.path;
            bool first = !taken[path];
            if (sorted[i].ms > sorted[0].ms * leader_limit)
                break;
            if ((pass == 0) != first && !(pass == 1 && !first))
                continue;
            bool already = false;
            for (int k = 0; k < picked; k++)
                already = already || point_equal(&finalists[k].point, &sorted[i].point);
            if (already)
                continue;
            taken[path] = true;
            finalists[picked] = (struct finalist){.point = sorted[i].point, .median = sorted[i].ms};
            finalists[picked].hand_written = is_hand_written(s, &sorted[i].point);
            config_of(s, &sorted[i].point, finalists[picked].config, sizeof finalists[picked].config);
            picked++;
        }
    return picked;
}

static json_t *race_request(const struct session *s, const struct finalist *finalists, int count)
{
    json_t *points = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(points,
                              json_pack("{s:s, s:s}", "variant", s->space.paths[finalists[i].point.path].name,
                                        "config", finalists[i].config));
    return json_pack("{s:s, s:o, s:i}", "do", "race", "points", points, "rounds", FINAL_ROUNDS);
}

static void summarise(struct finalist *f)
{
    double sorted[MEASURE_RUNS], distances[MEASURE_RUNS];
    memcpy(sorted, f->runs, sizeof sorted);
    f->median = measure_median(sorted, f->run_count);
    for (int i = 0; i < f->run_count; i++)
        distances[i] = fabs(f->runs[i] - f->median);
    f->deviation = measure_median(distances, f->run_count);
}

static void read_race(const json_t *answer, struct finalist *finalists, int count)
{
    const json_t *all = json_object_get(answer, "runs");
    for (int i = 0; i < count; i++) {
        const json_t *runs = json_array_get(all, (size_t)i);
        finalists[i].run_count = 0;
        for (size_t k = 0; k < json_array_size(runs) && k < MEASURE_RUNS; k++)
            finalists[i].runs[finalists[i].run_count++] = json_number_value(json_array_get(runs, k));
        if (finalists[i].run_count > 0)
            summarise(&finalists[i]);
    }
}

static int by_median(const void *a, const void *b)
{
    const struct finalist *x = a, *y = b;
    return (x->median > y->median) - (x->median < y->median);
}

/* Whether two medians cannot be told apart: their intervals of about two standard errors overlap. */
static bool tied(const struct finalist *a, const struct finalist *b)
{
    const double sigma = 1.4826; /* from the median absolute deviation */
    double error_a = 2 * sigma * a->deviation / sqrt(a->run_count > 0 ? a->run_count : 1);
    double error_b = 2 * sigma * b->deviation / sqrt(b->run_count > 0 ? b->run_count : 1);
    double difference = fabs(a->median - b->median), least = 0.01 * fmin(a->median, b->median);
    return difference <= fmax(least, error_a + error_b);
}

/* Of those tied with the fastest a hand-written one wins, else the first in the order of the table: the same
 * winner again and again. */
static int winner(const struct finalist *finalists, int count, int *ties)
{
    int best = 0;
    *ties = 0;
    for (int i = 1; i < count; i++) {
        if (!tied(&finalists[0], &finalists[i]))
            continue;
        ++*ties;
        const struct finalist *f = &finalists[i], *b = &finalists[best];
        bool earlier = f->point.path < b->point.path ||
                       (f->point.path == b->point.path &&
                        memcmp(f->point.values, b->point.values, sizeof b->point.values) < 0);
        if ((f->hand_written && !b->hand_written) || (f->hand_written == b->hand_written && earlier))
            best = i;
    }
    return best;
}

static void rank(struct session *s, const struct finalist *finalists, int count, int first)
{
    struct record_choice *choice = &s->result->choice;
    for (int turn = 0; turn < count + 1 && choice->count < RECORD_MAX_RANKED; turn++) {
        int i = turn == 0 ? first : turn - 1;
        if (turn > 0 && i == first)
            continue;
        struct record_config *to = &choice->ranked[choice->count++];
        snprintf(to->variant, sizeof to->variant, "%s", s->space.paths[finalists[i].point.path].name);
        snprintf(to->config, sizeof to->config, "%s", finalists[i].config);
        to->ms = finalists[i].median;
    }
}

static hone_status final(struct session *s, struct search_result *found, hone_error *error)
{
    struct finalist finalists[FINALISTS] = {0};
    char note[512] = "";
    json_t *answer = NULL;
    qsort(found->all, found->count, sizeof *found->all, by_score);
    int count = pick_finalists(s, found->all, found->count, finalists), ties = 0;
    if (count == 0)
        return error_set(error, HONE_ERROR_UNSUPPORTED, "no configuration of %s could be measured on '%s'",
                         s->c->filter->name, s->worker->device_record.name);
    json_t *request = race_request(s, finalists, count);
    double seconds = 60 + finalists[count - 1].median * 1e-3 * count * (FINAL_ROUNDS + 2) * 10;
    if (!s->result->interrupted && worker_ask(s->worker, request, seconds, &answer, note) == WORKER_ANSWERED)
        read_race(answer, finalists, count);
    json_decref(request);
    json_decref(answer);
    qsort(finalists, (size_t)count, sizeof *finalists, by_median);
    int first = winner(finalists, count, &ties);
    s->result->tied = ties;
    s->result->spread =
        finalists[first].median > 0 ? finalists[first].deviation / finalists[first].median : 0;
    rank(s, finalists, count, first);
    return HONE_OK;
}

/* ---- Comparisons that users want to see ---- */

static double measured_ms(struct session *s, const char *variant, const char *config)
{
    struct measured m;
    struct point point;
    char whole[256];
    if (s->result->interrupted || !point_of(s, variant, config, &point) || !point_legal(&s->space, &point))
        return -1;
    config_of(s, &point, whole, sizeof whole);
    measure(s, variant, whole, -1, &m);
    return m.state == STATE_OK || m.state == STATE_SLOW ? m.ms : -1;
}

static void compare(struct session *s)
{
    struct record_choice *choice = &s->result->choice;
    const struct hone_filter *filter = s->c->filter;
    choice->default_ms = choice->first_rung_ms = choice->plain_ms = -1;
    for (size_t i = 0; i < s->seed_count && choice->default_ms < 0; i++)
        if (s->hand_written[i]) {
            char config[256];
            config_of(s, &s->seeds[i], config, sizeof config);
            choice->default_ms = measured_ms(s, s->space.paths[s->seeds[i].path].name, config);
        }
    choice->plain_ms = measured_ms(s, s->space.paths[0].name, "");
    for (size_t i = 0; i < filter->rung_count && choice->first_rung_ms < 0; i++)
        choice->first_rung_ms = measured_ms(s, filter->rungs[i].variant, filter->rungs[i].config);
}

static void ask_aside(struct session *s, const char *what, json_t **answer)
{
    char note[512];
    json_t *request = json_pack("{s:s}", "do", what);
    if (request)
        worker_ask(s->worker, request, 120, answer, note);
    json_decref(request);
}

static void ask_transfers(struct session *s)
{
    json_t *answer = NULL;
    ask_aside(s, "transfers", &answer);
    s->result->upload_ms = json_number_value(json_object_get(answer, "upload_ms"));
    s->result->download_ms = json_number_value(json_object_get(answer, "download_ms"));
    json_decref(answer);
}

/* ---- The whole ---- */

static hone_status search_and_choose(struct session *s, hone_error *error)
{
    struct search_result found;
    const struct search_options options = {s->seeds, s->seed_count, s->options->budget,
                                           s->options->random_seed};
    const struct evaluator evaluator = {evaluate, upcoming, stop, s};
    json_t *ignored = NULL;
    ask_aside(s, "baseline", &ignored);
    json_decref(ignored);
    hone_status status = search_run(&s->space, &options, &evaluator, &found, error);
    if (status)
        return status;
    s->result->exhausted = found.exhausted;
    s->result->space = space_size(&s->space);
    status = final(s, &found, error);
    if (!status)
        compare(s);
    search_finish(&found);
    return status;
}

static hone_status save(struct session *s, hone_error *error)
{
    struct record_choice *choice = &s->result->choice;
    choice->device = s->worker->device_record;
    choice->c = s->record_case;
    choice->evaluations = s->evaluations;
    choice->seconds = elapsed(s);
    choice->time = (int64_t)time(NULL);
    if (s->worker->no_disk || s->result->interrupted)
        return HONE_OK; /* an interrupted session is resumed, not concluded */
    hone_status status = records_add_choice(choice, error);
    if (!status && s->io_error.status != HONE_OK) {
        if (error)
            *error = s->io_error;
        status = s->io_error.status;
    }
    return status;
}

hone_status session_tune(struct worker *worker, const struct filter_case *c,
                         const struct session_options *options, struct session_result *result,
                         hone_error *error)
{
    struct session *s = mem_new(1, sizeof *s);
    *result = (struct session_result){0};
    if (!s)
        return error_memory(error, "a tuning session");
    s->worker = worker;
    s->c = c;
    s->options = options;
    s->result = result;
    s->start = clock_ns();
    record_case_of(c, &s->record_case);
    json_t *request = session_request(c);
    hone_status status = request ? worker_target(worker, request, error) : error_memory(error, "a request");
    json_decref(request);
    if (!status)
        status = read_description(s, error);
    if (!status)
        status = load_known(s, error);
    if (!status)
        status = search_and_choose(s, error);
    if (!status) {
        ask_transfers(s);
        status = save(s, error);
    }
    records_finish(&s->known);
    free(s);
    return status;
}
