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

hone_status own_session_request(struct session *s, hone_error *error)
{
    struct own_session *own = own_session_of(s);
    const struct own_request *asked = own->request;
    TRY(held_file_make(&own->source, asked->source, strlen(asked->source), error));
    s->request =
        json_pack("{s:s, s:o, s:s, s:s, s:o, s:s}", "do", "kernel", "settings", own_spec_settings(own->spec),
                  "source", own->source.path, "folder", asked->folder ? asked->folder : "", "data",
                  data_json(own->spec), "expected", s->right.path);
    const json_t *pair, *settings = json_object_get(s->request, "settings");
    size_t i;
    bool whole = s->request;
    json_array_foreach(settings, i, pair) whole = whole && !json_is_null(pair);
    return whole ? HONE_OK : error_usage(error, "names and settings must be text in UTF-8");
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
static void make_case(struct session *s)
{
    const struct own_session *own = own_session_of(s);
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    bool used[OWN_MAX_DEFINES];
    const json_t *settings = json_object_get(s->request, "settings");
    find_used(own->spec, used);
    sha256_init(&hash);
    sha256_add_text(&hash, own->request->source);
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *pair = json_array_get(settings, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        if (!is_of_case(own->spec, used, name, value))
            continue;
        sha256_add_text(&hash, name);
        sha256_add_text(&hash, value);
    }
    for (int i = 0; i < own->spec->argument_count; i++) {
        const uint64_t identity = own->spec->arguments[i].data.identity;
        sha256_add(&hash, &identity, sizeof identity);
    }
    sha256_end(&hash, digest);
    sha256_text(digest, text);
    struct record_case *c = &s->record_case;
    const char *slash = strrchr(own->spec->file, '/');
    *c = (struct record_case){.type = HONE_U8, .channels = 1, .width = 1, .height = 1};
    snprintf(c->filter, sizeof c->filter, "kernel:%.50s", own->spec->kernel);
    snprintf(c->parameters, sizeof c->parameters, "file=%.200s", slash ? slash + 1 : own->spec->file);
    snprintf(c->source, sizeof c->source, "%.16s", text);
}

static bool legal(const void *context, int path, const int64_t *values)
{
    const struct session *s = context;
    struct launch launch;
    (void)path;
    return own_spec_launch(own_session_of(s)->spec, &s->scope, &s->limits, values, &launch, NULL) == HONE_OK;
}

void own_session_add_seed(struct session *s, const char *config)
{
    struct point point = point_default(&s->space, 0);
    /* What won an earlier session may not be among the values of this one. */
    if (own_spec_parse(own_session_of(s)->spec, config, point.values, NULL) == HONE_OK &&
        point_listed(&s->space, &point))
        session_add_seed(s, &point);
}

static void make_space(struct session *s)
{
    const struct own_session *own = own_session_of(s);
    const char *source = own->request->source;
    bool includes = own_source_includes(source);
    own_spec_space(own->spec, &s->space);
    s->space.legal = legal;
    s->space.context = s;
    s->searched = s->space.count;
    for (int i = 0; i < own->spec->parameter_count; i++)
        own->result->launch[i] = s->space.paths[0].parameters[i].launch_only =
            !includes && !own_source_mentions(source, own->spec->parameters[i].name);
}

static hone_status check_cost(const struct session *s, const char *what, const struct formula *formula,
                              hone_error *error)
{
    struct own_scope scope;
    struct text names = {0};
    const struct point any = point_default(&s->space, 0);
    own_scope_init(&scope, own_session_of(s)->spec, any.values, &s->scope);
    const char *unknown = formula ? expr_unknown(&formula->expr, &scope.scope, NULL) : NULL;
    if (!unknown)
        return HONE_OK;
    for (const struct expr_scope *at = &scope.scope; at; at = at->outer)
        for (int i = 0; i < at->count; i++)
            text_add(&names, "%s%s", names.length ? ", " : "", at->names[i]);
    hone_status status = error_usage(error,
                                     "%s '%.128s' has the unknown name '%s': --define %s=VALUE makes one; "
                                     "there are %.512s",
                                     what, formula->text, unknown, unknown, text_view(&names));
    text_finish(&names);
    return status;
}

/* A name in what a launch costs that nobody gave is HONE_ERROR_USAGE, with the names that there are. */
static hone_status check_costs(const struct session *s, hone_error *error)
{
    const struct own_spec *spec = own_session_of(s)->spec;
    hone_status status = check_cost(s, "bytes", spec->bytes, error);
    return status ? status : check_cost(s, "flops", spec->flops, error);
}

/* ---- The right outputs ---- */

static hone_status read_right(struct session *s, hone_error *error)
{
    const struct own_request *request = own_session_of(s)->request;
    const struct own_spec *spec = request->spec;
    const json_t *outputs = json_object_get(s->description, "outputs");
    if ((int)json_array_size(outputs) != spec->check_count)
        return error_usage(
            error, "--check names %d file%s, the kernel has %zu output%s: one file for each, in their order",
            spec->check_count, spec->check_count == 1 ? "" : "s", json_array_size(outputs),
            json_array_size(outputs) == 1 ? "" : "s");
    hone_status status = HONE_OK;
    for (size_t i = 0; i < json_array_size(outputs) && !status; i++) {
        const json_t *output = json_array_get(outputs, i);
        const char *type = json_string_value(json_object_get(output, "type"));
        size_t count = (size_t)json_integer_value(json_object_get(output, "count"));
        enum element element = ELEMENT_U8;
        int lanes;
        element_parse(type, strlen(type), &element, &lanes);
        void *bytes = mem_new(count, element_size(element));
        status = bytes ? request->read_right(request->context, (int)i, element, count, bytes, error)
                       : error_memory(error, "the right outputs");
        if (!status && !file_write_all(s->right.fd, bytes, count * element_size(element)))
            status = error_memory(error, "the right outputs");
        free(bytes);
    }
    return status;
}

static void refer(struct session *s, const char *config, struct measured *m)
{
    double build = session_build_limit(s), run = reference_seconds;
    if (own_session_of(s)->spec->check == CHECK_BASELINE)
        run = s->options->run_seconds > 0 ? s->options->run_seconds : WORKER_FIRST_SECONDS;
    worker_measure(s->worker, "reference", config, -1, build, run, m);
}

/* The first legal configuration that the device can build and launch is the baseline: what a kernel needs
 * once it is compiled is known to the driver alone. One that hangs, crashes or writes where it must not is
 * the user's to see. */
static void refer_first(struct session *s, struct measured *m)
{
    struct own_session_result *r = own_session_of(s)->result;
    const enum own_check check = own_session_of(s)->spec->check;
    int64_t size = space_size(&s->space);
    int failed = 0;
    refer(s, r->first, m);
    for (int64_t i = 0; i < size && failed < MAX_BASELINES && check == CHECK_BASELINE; i++) {
        const struct point point = space_at(&s->space, i);
        char config[256];
        session_config(s, &point, config);
        if (m->state != STATE_COMPILE && m->state != STATE_RUN)
            return;
        if (!point_legal(&s->space, &point) || strcmp(config, r->first) == 0)
            continue;
        refer(s, config, m);
        if (m->state == STATE_OK)
            snprintf(r->first, sizeof r->first, "%s", config);
        failed++;
    }
}

/* Makes the right outputs. From here on a new child finds them in the file. */
static hone_status make_right(struct session *s, hone_error *error)
{
    static const char *const what[] = {"the baseline", "the comparison with --check FILE",
                                       "the reference function", ""};
    struct own_session_result *r = own_session_of(s)->result;
    const enum own_check check = own_session_of(s)->spec->check;
    struct measured m;
    if (check == CHECK_NONE)
        return HONE_OK;
    TRY(check == CHECK_FILES ? read_right(s, error) : HONE_OK);
    refer_first(s, &m);
    if (m.state == STATE_ABANDONED)
        return error_set(error, HONE_ERROR_DEVICE, "nothing can be measured: %s", m.note);
    if (m.state != STATE_OK)
        return error_set(error, HONE_ERROR_CHECK,
                         "%s failed with %s (%s): %s; put other values first, or --check none", what[check],
                         r->first, record_state_name(m.state), m.note);
    json_object_set_new(s->request, "ready", json_true());
    own_session_add_seed(s, r->first);
    return HONE_OK;
}

hone_status own_session_describe(struct session *s, hone_error *error)
{
    struct own_session_result *r = own_session_of(s)->result;
    const char *first = json_string_value(json_object_get(s->description, "first"));
    make_case(s);
    make_space(s);
    snprintf(r->first, sizeof r->first, "%s", first ? first : "");
    own_session_add_seed(s, r->first);
    TRY(check_costs(s, error));
    TRY(session_check_metrics(s, error));
    return make_right(s, error);
}
