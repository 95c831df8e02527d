/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning of a session: what the worker is told, what it answers, and what is right. */
#include "tune/own/session_internal.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "tune/own/spec/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BASELINES = 16 };
static const double reference_seconds = 600; /* for a function of the user's own */

double own_session_build_limit(const struct own_session *s)
{
    return s->options->build_seconds > 0 ? s->options->build_seconds : 60;
}

static json_t *data_json(const struct own_spec *spec)
{
    json_t *all = json_array();
    for (int i = 0; i < spec->argument_count; i++) {
        const struct own_data *d = &spec->arguments[i].data;
        json_array_append_new(all,
                              json_pack("{s:s, s:s, s:I, s:i, s:i, s:i}", "path", d->path, "type",
                                        element_name(d->element), "bytes", (json_int_t)d->bytes, "channels",
                                        (int)d->channels, "width", (int)d->width, "height", (int)d->height));
    }
    return all;
}

hone_status own_session_request(struct own_session *s, hone_error *error)
{
    hone_status status = held_file_make(&s->source, s->options->source, strlen(s->options->source), error);
    if (!status)
        status = held_file_make(&s->right, "", 0, error);
    if (status)
        return status;
    s->request =
        json_pack("{s:s, s:o, s:s, s:s, s:o, s:s}", "do", "kernel", "settings", own_spec_settings(s->spec),
                  "source", s->source.path, "folder", s->options->folder ? s->options->folder : "", "data",
                  data_json(s->spec), "expected", s->right.path);
    const json_t *pair, *settings = json_object_get(s->request, "settings");
    size_t i;
    bool whole = s->request;
    json_array_foreach(settings, i, pair) whole = whole && !json_is_null(pair);
    return whole ? HONE_OK : error_set(error, HONE_ERROR_USAGE, "names and settings must be text in UTF-8");
}

static bool mentioned(const struct formula *const *formulas, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (formulas[i] && expr_mentions(&formulas[i]->expr, name))
            return true;
    return false;
}

/* Which definitions are part of what runs: not those that only restrict, or tell what a launch costs. */
static void find_used(const struct own_spec *spec, bool used[OWN_MAX_DEFINES])
{
    for (int i = spec->define_count; i-- > 0;) {
        const char *name = spec->defines[i].name;
        used[i] = mentioned((const struct formula *const *)spec->global, 3, name) ||
                  mentioned((const struct formula *const *)spec->local, 3, name);
        for (int k = 0; k < spec->argument_count && !used[i]; k++)
            used[i] =
                mentioned((const struct formula *const *)spec->arguments[k].sizes, 3, name) ||
                mentioned((const struct formula *const *)spec->arguments[k].values, OWN_MAX_LANES, name);
        for (int k = i + 1; k < spec->define_count && !used[i]; k++) /* later ones may use earlier ones */
            used[i] = used[k] && expr_mentions(&spec->defines[k].value->expr, name);
    }
}

/* Whether another value of a setting may change the outcome of a configuration. */
static bool is_of_case(const struct own_spec *spec, const bool used[], const char *name, const char *value)
{
    static const char *const others[] = {"param", "restrict", "kernel-file", "bytes", "flops"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    for (int i = 0; strcmp(name, "define") == 0 && i < spec->define_count; i++)
        if (strlen(spec->defines[i].name) == strcspn(value, "=") &&
            strncmp(spec->defines[i].name, value, strcspn(value, "=")) == 0)
            return used[i];
    return true;
}

/* What the outcome of a configuration depends on, beside the configuration itself. */
void own_session_case(struct own_session *s)
{
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    bool used[OWN_MAX_DEFINES];
    const json_t *settings = json_object_get(s->request, "settings");
    find_used(s->spec, used);
    sha256_init(&hash);
    sha256_add_text(&hash, s->options->source);
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *pair = json_array_get(settings, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        if (!is_of_case(s->spec, used, name, value))
            continue;
        sha256_add_text(&hash, name);
        sha256_add_text(&hash, value);
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
    const struct own_session *s = context;
    struct launch launch;
    (void)path;
    return own_spec_launch(s->spec, &s->scope, &s->limits, values, &launch, NULL) == HONE_OK;
}

void own_session_config(const struct own_session *s, const struct point *point, char to[256])
{
    struct text text = {0};
    own_spec_print(s->spec, point->values, &text);
    snprintf(to, 256, "%s", text_view(&text));
    text_finish(&text);
}

static bool point_of(const struct own_session *s, const char *config, struct point *point)
{
    *point = point_default(&s->space, 0);
    return own_spec_parse(s->spec, config, point->values, NULL) == HONE_OK;
}

void own_session_add_seed(struct own_session *s, const char *config)
{
    struct point point;
    if (s->seed_count < OWN_MAX_SEEDS && point_of(s, config, &point))
        s->seeds[s->seed_count++] = point;
}

void own_session_describe(struct own_session *s)
{
    s->description = json_incref(s->worker->description);
    const json_t *limits = json_object_get(s->description, "limits");
    const char *name, *first = json_string_value(json_object_get(s->description, "first"));
    json_t *value;
    int count = 0;
    json_object_foreach(json_object_get(s->description, "names"), name, value)
    {
        if (count < OWN_MAX_NAMES) {
            s->names[count] = name;
            s->values[count++] = json_integer_value(value);
        }
    }
    s->scope = (struct expr_scope){.names = s->names, .values = s->values, .count = count};
    s->limits.max_work_group = (size_t)json_integer_value(json_array_get(limits, 0));
    for (size_t i = 0; i < 3; i++)
        s->limits.max_work_items[i] = (size_t)json_integer_value(json_array_get(limits, i + 1));
    s->limits.local_memory = (uint64_t)json_integer_value(json_array_get(limits, 4));
    own_spec_space(s->spec, &s->space);
    s->space.legal = legal;
    s->space.context = s;
    bool includes = own_source_includes(s->options->source);
    for (int i = 0; i < s->spec->parameter_count; i++)
        s->result->launch[i] = s->space.paths[0].parameters[i].launch_only =
            !includes && !own_source_mentions(s->options->source, s->spec->parameters[i].name);
    snprintf(s->result->first, sizeof s->result->first, "%s", first ? first : "");
    own_session_add_seed(s, s->result->first);
}

static hone_status check_cost(const struct own_session *s, const char *what, const struct formula *formula,
                              hone_error *error)
{
    struct own_scope scope;
    struct text names = {0};
    const struct point any = point_default(&s->space, 0);
    own_scope_init(&scope, s->spec, any.values, &s->scope);
    const char *unknown = formula ? expr_unknown(&formula->expr, &scope.scope) : NULL;
    if (!unknown)
        return HONE_OK;
    for (const struct expr_scope *at = &scope.scope; at; at = at->outer)
        for (int i = 0; i < at->count; i++)
            text_add(&names, "%s%s", names.length ? ", " : "", at->names[i]);
    hone_status status = error_set(error, HONE_ERROR_USAGE,
                                   "%s '%.128s' has the unknown name '%s': --define %s=VALUE makes one; "
                                   "there are %.512s",
                                   what, formula->text, unknown, unknown, text_view(&names));
    text_finish(&names);
    return status;
}

hone_status own_session_check_costs(const struct own_session *s, hone_error *error)
{
    hone_status status = check_cost(s, "bytes", s->spec->bytes, error);
    return status ? status : check_cost(s, "flops", s->spec->flops, error);
}

/* ---- The right outputs ---- */

static hone_status read_right(struct own_session *s, hone_error *error)
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

static void refer(struct own_session *s, const char *config, struct measured *m)
{
    double build = own_session_build_limit(s), run = reference_seconds;
    if (s->spec->check == CHECK_BASELINE)
        run = s->options->run_seconds > 0 ? s->options->run_seconds : WORKER_FIRST_SECONDS;
    worker_measure(s->worker, "reference", config, -1, build, run, m);
}

/* The first legal configuration that the device can build and launch is the baseline: what a kernel needs
 * once it is compiled is known to the driver alone. One that hangs, crashes or writes where it must not is
 * the user's to see. */
static void refer_first(struct own_session *s, struct measured *m)
{
    int64_t size = space_size(&s->space);
    int failed = 0;
    refer(s, s->result->first, m);
    for (int64_t i = 0; i < size && failed < MAX_BASELINES && s->spec->check == CHECK_BASELINE; i++) {
        const struct point point = space_at(&s->space, i);
        char config[256];
        own_session_config(s, &point, config);
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

hone_status own_session_right(struct own_session *s, hone_error *error)
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
    if (m.state == STATE_ABANDONED)
        return error_set(error, HONE_ERROR_DEVICE, "nothing can be measured: %s", m.note);
    if (m.state != STATE_OK)
        return error_set(error, HONE_ERROR_CHECK,
                         "%s failed with %s (%s): %s; put other values first, or --check none",
                         what[s->spec->check], s->result->first, record_state_name(m.state), m.note);
    json_object_set_new(s->request, "ready", json_true());
    own_session_add_seed(s, s->result->first);
    return HONE_OK;
}
