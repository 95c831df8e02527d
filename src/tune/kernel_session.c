/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/kernel_session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tune/kernel_final.h"
#include "tune/kernel_inspect.h"
#include "tune/lookup.h"
#include "tune/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SEEDS = 8, MAX_NAMES = 64, MAX_BASELINES = 16, COUNT_LIMIT = 1 << 20 };
static const double final_share = 0.2;       /* of the time that is kept for the final */
static const double first_seconds = 60;      /* for a run before anything is known of how long one takes */
static const double reference_seconds = 600; /* for a function of the user's own */

struct session {
    struct worker *worker;
    const struct kernel_spec *spec;
    const struct kernel_session_options *options;
    struct kernel_session_result *result;
    json_t *request;
    json_t *description; /* by the first worker: names point into it, and workers come and go */
    struct held_file source, right;
    struct record_case record_case;
    struct records known; /* earlier tries of this kernel on these arguments */
    int64_t finished;     /* when the last session was concluded */
    struct space space;
    struct variant_limits limits;
    const char *names[MAX_NAMES];
    int64_t values[MAX_NAMES];
    struct expr_scope scope;
    struct point seeds[MAX_SEEDS];
    size_t seed_count;
    uint64_t start;
    hone_error io_error; /* the first failure to write records */
};

/* ---- Opening ---- */

static json_t *data_json(const struct kernel_spec *spec)
{
    json_t *all = json_array();
    for (int i = 0; i < spec->argument_count; i++) {
        const struct kernel_data *d = &spec->arguments[i].data;
        json_array_append_new(all,
                              json_pack("{s:s, s:s, s:I, s:i, s:i, s:i}", "path", d->path, "type",
                                        element_name(d->element), "bytes", (json_int_t)d->bytes, "channels",
                                        (int)d->channels, "width", (int)d->width, "height", (int)d->height));
    }
    return all;
}

static hone_status make_request(struct session *s, hone_error *error)
{
    hone_status status = held_file_make(&s->source, s->options->source, strlen(s->options->source), error);
    if (!status)
        status = held_file_make(&s->right, "", 0, error);
    if (status)
        return status;
    s->request =
        json_pack("{s:s, s:o, s:s, s:s, s:o, s:s}", "do", "kernel", "settings", kernel_spec_settings(s->spec),
                  "source", s->source.path, "folder", s->options->folder ? s->options->folder : "", "data",
                  data_json(s->spec), "expected", s->right.path);
    const json_t *pair, *settings = json_object_get(s->request, "settings");
    size_t i;
    bool whole = s->request;
    json_array_foreach(settings, i, pair) whole = whole && !json_is_null(pair);
    return whole ? HONE_OK : error_set(error, HONE_ERROR_USAGE, "names and settings must be text in UTF-8");
}

/* What the outcome of a configuration depends on, beside the configuration itself. */
static void make_case(struct session *s)
{
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    json_t *settings = json_object_get(s->request, "settings");
    sha256_init(&hash);
    sha256_add_text(&hash, s->options->source);
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const char *name = json_string_value(json_array_get(json_array_get(settings, i), 0));
        if (strcmp(name, "param") == 0 || strcmp(name, "restrict") == 0 || strcmp(name, "kernel-file") == 0)
            continue;
        sha256_add_text(&hash, name);
        sha256_add_text(&hash, json_string_value(json_array_get(json_array_get(settings, i), 1)));
    }
    for (int i = 0; i < s->spec->argument_count; i++)
        sha256_add(&hash, &s->spec->arguments[i].data.identity, sizeof s->spec->arguments[i].data.identity);
    sha256_end(&hash, digest);
    sha256_text(digest, text);
    struct record_case *c = &s->record_case;
    const char *slash = strrchr(s->spec->file, '/');
    *c = (struct record_case){.type = HONE_U8, .channels = 1, .width = 1, .height = 1};
    snprintf(c->filter, sizeof c->filter, "kernel:%.50s", s->spec->kernel);
    snprintf(c->parameters, sizeof c->parameters, "file=%.200s", slash ? slash + 1 : s->spec->file);
    snprintf(c->source, sizeof c->source, "%.16s", text);
}

static bool legal(const void *context, int path, const int64_t *values)
{
    const struct session *s = context;
    struct launch launch;
    (void)path;
    return kernel_spec_launch(s->spec, &s->scope, &s->limits, values, &launch, NULL) == HONE_OK;
}

static void config_of(const struct session *s, const struct point *point, char to[256])
{
    struct text text = {0};
    kernel_spec_print(s->spec, point->values, &text);
    snprintf(to, 256, "%s", text_view(&text));
    text_finish(&text);
}

static bool point_of(const struct session *s, const char *config, struct point *point)
{
    *point = point_default(&s->space, 0);
    return kernel_spec_parse(s->spec, config, point->values, NULL) == HONE_OK;
}

static void add_seed(struct session *s, const char *config)
{
    struct point point;
    if (s->seed_count < MAX_SEEDS && point_of(s, config, &point))
        s->seeds[s->seed_count++] = point;
}

static void read_description(struct session *s)
{
    s->description = json_incref(s->worker->description);
    const json_t *limits = json_object_get(s->description, "limits");
    const char *name, *first = json_string_value(json_object_get(s->description, "first"));
    json_t *value;
    int count = 0;
    json_object_foreach(json_object_get(s->description, "names"), name, value)
    {
        if (count < MAX_NAMES) {
            s->names[count] = name;
            s->values[count++] = json_integer_value(value);
        }
    }
    s->scope = (struct expr_scope){NULL, s->names, s->values, count};
    s->limits.max_work_group = (size_t)json_integer_value(json_array_get(limits, 0));
    for (size_t i = 0; i < 3; i++)
        s->limits.max_work_items[i] = (size_t)json_integer_value(json_array_get(limits, i + 1));
    s->limits.local_memory = (uint64_t)json_integer_value(json_array_get(limits, 4));
    kernel_spec_space(s->spec, &s->space);
    s->space.legal = legal;
    s->space.context = s;
    bool includes = kernel_source_includes(s->options->source);
    for (int i = 0; i < s->spec->parameter_count; i++)
        s->result->launch[i] = s->space.paths[0].parameters[i].launch_only =
            !includes && !kernel_source_mentions(s->options->source, s->spec->parameters[i].name);
    snprintf(s->result->first, sizeof s->result->first, "%s", first ? first : "");
    add_seed(s, s->result->first);
}

/* ---- The right outputs ---- */

static hone_status read_right(struct session *s, hone_error *error)
{
    const json_t *outputs = json_object_get(s->description, "outputs");
    if ((int)json_array_size(outputs) != s->spec->check_count)
        return error_set(
            error, HONE_ERROR_USAGE,
            "--check names %d files, the kernel has %zu outputs: one file for each, in their order",
            s->spec->check_count, json_array_size(outputs));
    hone_status status = HONE_OK;
    for (size_t i = 0; i < json_array_size(outputs) && !status; i++) {
        const json_t *output = json_array_get(outputs, i);
        const char *type = json_string_value(json_object_get(output, "type"));
        size_t count = (size_t)json_integer_value(json_object_get(output, "count"));
        enum element element = ELEMENT_U8;
        int lanes;
        element_parse(type, strlen(type), &element, &lanes);
        void *bytes = mem_new(count, element_size(element));
        status = bytes ? s->options->read_right(s->options->context, (int)i, element, count, bytes, error)
                       : error_memory(error, "the right outputs");
        if (!status && !file_write_all(s->right.fd, bytes, count * element_size(element)))
            status = error_memory(error, "the right outputs");
        free(bytes);
    }
    return status;
}

static void refer(struct session *s, const char *config, struct measured *m)
{
    double build = s->options->build_seconds > 0 ? s->options->build_seconds : 60, run = reference_seconds;
    if (s->spec->check == CHECK_BASELINE)
        run = s->options->run_seconds > 0 ? s->options->run_seconds : first_seconds;
    worker_measure(s->worker, "reference", config, -1, build, run, m);
}

/* The first legal configuration that the device can build and launch is the baseline: what a kernel needs
 * once it is compiled is known to the driver alone. One that hangs, crashes or writes where it must not is
 * the user's to see. */
static void refer_first(struct session *s, struct measured *m)
{
    int64_t size = space_size(&s->space);
    int failed = 0;
    refer(s, s->result->first, m);
    for (int64_t i = 0; i < size && failed < MAX_BASELINES && s->spec->check == CHECK_BASELINE; i++) {
        const struct point point = space_at(&s->space, i);
        char config[256];
        config_of(s, &point, config);
        if (m->state != STATE_COMPILE && m->state != STATE_RUN)
            return;
        if (!point_legal(&s->space, &point) || strcmp(config, s->result->first) == 0)
            continue;
        refer(s, config, m);
        if (m->state == STATE_OK)
            snprintf(s->result->first, sizeof s->result->first, "%s", config);
        failed++;
    }
}

/* From here on a new child finds the right outputs in the file. */
static hone_status make_right(struct session *s, hone_error *error)
{
    static const char *const what[] = {"the baseline", "the comparison with --check FILE",
                                       "the reference function", ""};
    struct measured m;
    if (s->spec->check == CHECK_NONE)
        return HONE_OK;
    hone_status status = s->spec->check == CHECK_FILES ? read_right(s, error) : HONE_OK;
    if (status)
        return status;
    refer_first(s, &m);
    if (m.state != STATE_OK)
        return error_set(error, HONE_ERROR_CHECK,
                         "%s failed with %s (%s): %s; put other values first, or --check none",
                         what[s->spec->check], s->result->first, record_state_name(m.state), m.note);
    json_object_set_new(s->request, "ready", json_true());
    add_seed(s, s->result->first);
    return HONE_OK;
}

/* ---- What is known from before ---- */

static bool same_case(const struct session *s, const struct record_case *c)
{
    return strcmp(c->filter, s->record_case.filter) == 0 && strcmp(c->source, s->record_case.source) == 0;
}

static bool same_device(const struct session *s, const struct record_device *device)
{
    return lookup_level_of(device, &s->worker->device_record) == LEVEL_EXACT;
}

/* Choices seed the search: of other devices and sizes too, where kernel and file have the same names. */
static int64_t read_choices(struct session *s, const struct records *all)
{
    int64_t finished = INT64_MIN;
    for (size_t i = all->choice_count; i-- > 0;) {
        const struct record_choice *choice = &all->choices[i];
        if (strcmp(choice->c.filter, s->record_case.filter) != 0 ||
            strcmp(choice->c.parameters, s->record_case.parameters) != 0)
            continue;
        if (choice->count > 0)
            add_seed(s, choice->ranked[0].config);
        if (finished == INT64_MIN && same_case(s, &choice->c) && same_device(s, &choice->device))
            finished = choice->time;
    }
    return finished;
}

/* Keeps the tries of this case. */
static hone_status load_known(struct session *s, hone_error *error)
{
    struct records all = {0};
    if (s->worker->no_disk || s->options->fresh)
        return HONE_OK;
    hone_status status = records_load(&all, READ_TRIES | READ_CHOICES, error);
    s->finished = status ? 0 : read_choices(s, &all);
    for (size_t i = 0; i < all.try_count && !status; i++) {
        const struct record_try *t = &all.tries[i];
        if (!same_case(s, &t->c) || !same_device(s, &t->device))
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

/* The last word on a configuration counts for good where it is bad, and else until a session was concluded.
 */
static const struct record_try *known_try(const struct session *s, const char *config)
{
    size_t i = s->known.try_count;
    while (i > 0 && strcmp(s->known.tries[i - 1].config.config, config) != 0)
        i--;
    const struct record_try *t = i > 0 ? &s->known.tries[i - 1] : NULL;
    bool fine = t && (t->state == STATE_OK || t->state == STATE_SLOW);
    return fine && t->time <= s->finished ? NULL : t;
}

/* One that was started and never ended took its process along. */
static bool recall(struct session *s, const char *config, struct measured *m)
{
    const struct record_try *t = known_try(s, config);
    if (!t)
        return false;
    *m = (struct measured){.state = t->state == STATE_STARTED ? STATE_CRASH : t->state, .ms = t->config.ms};
    for (int i = 0; i < t->run_count && i < MEASURE_RUNS; i++)
        m->runs[m->run_count++] = t->runs[i];
    m->build_ms = t->build_ms;
    snprintf(m->note, sizeof m->note, "%s", t->state == STATE_STARTED ? "a session ended in it" : t->note);
    if (m->state != STATE_OK && m->state != STATE_SLOW)
        m->ms = -1;
    s->result->resumed++;
    return true;
}

/* ---- Evaluating ---- */

static void record(struct session *s, const char *config, const struct measured *m, enum record_state state)
{
    struct record_try *t = s->worker->no_disk ? NULL : mem_new(1, sizeof *t);
    hone_error error;
    if (!t)
        return;
    t->device = s->worker->device_record;
    t->c = s->record_case;
    t->state = state;
    t->config.ms = -1;
    t->time = (int64_t)time(NULL);
    snprintf(t->config.variant, sizeof t->config.variant, "kernel");
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

/* Nothing is known of how long a right run takes before the first has ended. */
static double run_limit(const struct session *s, double best)
{
    double least = s->worker->device_record.kind == HONE_DEVICE_CPU ? 10 : 2;
    double by_best = best * 1e-3 * 10 * MEASURE_RUNS;
    if (s->options->run_seconds > 0)
        return s->options->run_seconds;
    return best < 0 ? first_seconds : by_best > least ? by_best : least;
}

static void keep_try(struct session *s, const struct point *point, const char *config,
                     const struct measured *m)
{
    struct kernel_session_result *r = s->result;
    r->states[m->state]++;
    if (!mem_grow(&r->tries, &r->capacity, r->count + 1, sizeof *r->tries))
        return; /* the table will be shorter; the search goes on */
    struct kernel_try *t = &r->tries[r->count++];
    *t = (struct kernel_try){.point = *point, .measured = *m, .time = (int64_t)time(NULL)};
    snprintf(t->config, sizeof t->config, "%s", config);
}

static double evaluate(void *context, const struct point *point, double best)
{
    struct session *s = context;
    char config[256];
    struct measured m;
    config_of(s, point, config);
    if (!recall(s, config, &m)) {
        record(s, config, NULL, STATE_STARTED);
        worker_measure(s->worker, "kernel", config, best,
                       s->options->build_seconds > 0 ? s->options->build_seconds : 60, run_limit(s, best),
                       &m);
        record(s, config, &m, m.state);
    }
    keep_try(s, point, config, &m);
    bool better = m.ms >= 0 && (best < 0 || m.ms < best);
    if (s->options->progress)
        s->options->progress(s->options->context, (int)s->result->count, s->options->budget, config, &m,
                             better ? m.ms : best);
    return m.state == STATE_OK || m.state == STATE_SLOW ? m.ms : -1;
}

/* Not on CPUs: compiling would take the cores that are being measured. */
static void upcoming(void *context, const struct point *point)
{
    struct session *s = context;
    char config[256];
    config_of(s, point, config);
    if (s->worker->device_record.kind != HONE_DEVICE_CPU && !known_try(s, config))
        worker_prepare(s->worker, "kernel", config);
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
    return s->result->interrupted ||
           (s->options->seconds > 0 && elapsed(s) > s->options->seconds * (1 - final_share));
}

/* ---- The whole ---- */

static double cost(const struct session *s, const struct formula *formula)
{
    struct kernel_scope scope;
    double value = 0;
    kernel_scope_init(&scope, s->spec, s->result->ranked[0].point.values, &s->scope);
    if (!formula || expr_real(&formula->expr, &scope.scope, &value, NULL) != HONE_OK)
        return 0;
    return value;
}

static void note_first(struct session *s)
{
    s->result->first_ms = -1;
    for (size_t i = 0; i < s->result->count; i++)
        if (strcmp(s->result->tries[i].config, s->result->first) == 0)
            s->result->first_ms = s->result->tries[i].measured.ms;
    for (int i = 0; i < s->result->ranked_count; i++)
        if (strcmp(s->result->ranked[i].config, s->result->first) == 0)
            s->result->first_ms = s->result->ranked[i].runs.median;
}

static hone_status search(struct session *s, hone_error *error)
{
    struct search_result found;
    const struct search_options options = {s->seeds, s->seed_count, s->options->budget,
                                           s->options->random_seed};
    const struct evaluator evaluator = {evaluate, upcoming, stop, s};
    hone_status status = search_run(&s->space, &options, &evaluator, &found, error);
    if (status)
        return status;
    s->result->exhausted = found.exhausted;
    s->result->space = space_size(&s->space);
    s->result->legal = s->result->space <= COUNT_LIMIT ? space_count_legal(&s->space, COUNT_LIMIT) : -1;
    search_finish(&found);
    kernel_final(s->worker, s->result);
    if (s->result->ranked_count == 0)
        return error_set(
            error, s->result->states[STATE_WRONG] ? HONE_ERROR_CHECK : HONE_ERROR_UNSUPPORTED,
            "%s '%s' could be measured on '%s'%s%s",
            s->result->interrupted ? "interrupted before a configuration of" : "no configuration of",
            s->spec->kernel, s->worker->device_record.name, s->result->count ? "; the last failed: " : "",
            s->result->count ? s->result->tries[s->result->count - 1].measured.note : "");
    note_first(s);
    s->result->bytes = cost(s, s->spec->bytes);
    s->result->flops = cost(s, s->spec->flops);
    return HONE_OK;
}

static hone_status save(struct session *s, hone_error *error)
{
    struct record_choice *choice = mem_new(1, sizeof *choice);
    if (!choice)
        return error_memory(error, "a tuning record");
    choice->device = s->worker->device_record;
    choice->c = s->record_case;
    choice->default_ms = s->result->first_ms;
    choice->first_rung_ms = choice->plain_ms = -1;
    choice->evaluations = (int)s->result->count;
    choice->seconds = elapsed(s);
    choice->time = (int64_t)time(NULL);
    for (int i = 0; i < s->result->ranked_count && choice->count < RECORD_MAX_RANKED; i++) {
        struct record_config *to = &choice->ranked[choice->count++];
        snprintf(to->variant, sizeof to->variant, "kernel");
        snprintf(to->config, sizeof to->config, "%s", s->result->ranked[i].config);
        to->ms = s->result->ranked[i].runs.median;
    }
    hone_status status = HONE_OK;
    if (!s->worker->no_disk && !s->result->interrupted) /* an interrupted session is resumed, not concluded */
        status = records_add_choice(choice, error);
    free(choice);
    if (!status && s->io_error.status != HONE_OK) {
        if (error)
            *error = s->io_error;
        status = s->io_error.status;
    }
    return status;
}

static hone_status run(struct session *s, hone_error *error)
{
    hone_status status = make_request(s, error);
    if (!status)
        status = worker_target(s->worker, s->request, error);
    if (status)
        return status;
    make_case(s);
    read_description(s);
    s->result->device = s->worker->device_record;
    status = make_right(s, error);
    if (!status)
        status = load_known(s, error);
    if (!status)
        status = search(s, error);
    s->result->seconds = elapsed(s);
    return status ? status : save(s, error);
}

hone_status kernel_session_tune(struct worker *worker, const struct kernel_spec *spec,
                                const struct kernel_session_options *options,
                                struct kernel_session_result *result, hone_error *error)
{
    struct session *s = mem_new(1, sizeof *s);
    *result = (struct kernel_session_result){0};
    if (!s)
        return error_memory(error, "a tuning session");
    s->worker = worker;
    s->spec = spec;
    s->options = options;
    s->result = result;
    s->source.fd = s->right.fd = -1;
    s->start = clock_ns();
    hone_status status = run(s, error);
    json_decref(s->request);
    json_decref(s->description);
    held_file_close(&s->source);
    held_file_close(&s->right);
    records_finish(&s->known);
    free(s);
    return status;
}

void kernel_session_finish(struct kernel_session_result *result)
{
    free(result->tries);
    *result = (struct kernel_session_result){0};
}
