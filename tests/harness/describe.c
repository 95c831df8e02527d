/* SPDX-License-Identifier: BSD-2-Clause */
/* Do a filter's description and its kernel files agree, and is nothing missing? */
#include "harness.h"

#include "base/mem.h"
#include "cache/programs.h"
#include "choose/choose.h"
#include "cl/device.h"
#include "cl/program.h"
#include "filter/arguments.h"
#include "filter/registry.h"
#include "test.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is looked at, for messages. */
struct look {
    const struct hone_filter *filter;
    const struct variant *variant; /* or NULL */
    hone_device *device;
    enum effort effort;
    struct report *report;
};

#define WRONG(look, format, ...)                                                                             \
    report_add((look)->report, "%s%s%s: " format, (look)->filter->name, (look)->variant ? " " : "",          \
               (look)->variant ? (look)->variant->name : "", __VA_ARGS__)

static bool is_name(const char *text, int (*letter)(int))
{
    for (const char *at = text; at && *at; at++)
        if (!letter((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '-' && *at != '_')
            return false;
    return text && *text;
}

static void need_text(const struct look *look, const char *text, const char *what)
{
    if (!text || !*text)
        WRONG(look, "%s is missing", what);
}

/* ---- The filter ---- */

static void check_parameter(const struct look *look, const struct parameter *p)
{
    struct filter_case c;
    hone_error error;
    if (!is_name(p->name, islower))
        WRONG(look, "'%s' is no name for a parameter (small letters and '-')", p->name);
    if (!p->help || !*p->help)
        WRONG(look, "parameter %s has no help", p->name);
    if ((p->kind == PARAMETER_INTEGER || p->kind == PARAMETER_REAL) && !(p->min <= p->max))
        WRONG(look, "parameter %s has an empty range", p->name);
    if (p->kind == PARAMETER_CHOICE && (!p->choices || !*p->choices))
        WRONG(look, "parameter %s has no choices", p->name);
    if (!p->fallback || case_init(&c, look->filter, &error) != HONE_OK)
        return;
    if (case_set(&c, p->name, p->fallback, &error) != HONE_OK)
        WRONG(look, "the default of parameter %s is wrong: %s", p->name, error.message);
    case_finish(&c);
}

static void check_filter(const struct look *look)
{
    const struct hone_filter *f = look->filter;
    if (!is_name(f->name, islower))
        WRONG(look, "'%s' is no name for a filter (small letters and '-')", f->name);
    need_text(look, f->summary, "the summary");
    need_text(look, f->origin, "the origin");
    if (!f->reference)
        WRONG(look, "%s", "the reference is missing");
    if (!f->types || f->types & ~(unsigned)(TYPES_ALL | TYPE_S16) || !f->channels ||
        f->channels & ~(unsigned)CHANNELS_ALL)
        WRONG(look, "types %x or channels %x are none", f->types, f->channels);
    if (f->inputs < 1 || f->inputs > 2)
        WRONG(look, "%u inputs; 1 or 2 are possible", f->inputs);
    for (int i = 0; i < 3; i++)
        if (!(f->bounds[i] >= 0 && isfinite(f->bounds[i])))
            WRONG(look, "bound %d is %g", i, f->bounds[i]);
    for (size_t i = 0; i < filter_parameter_count(f); i++)
        check_parameter(look, &f->parameters[i]);
    for (size_t i = 0; i < MAX_EXAMPLES; i++) {
        need_text(look, f->examples[i].purpose, "what comes of an example");
        need_text(look, f->examples[i].arguments, "an example");
    }
    if (f->variant_count == 0)
        WRONG(look, "%s", "there is no variant");
}

static void check_references(const struct look *look, const char *kind, const char *name, const char *variant,
                             const char *config)
{
    const struct variant *found = variant ? filter_variant(look->filter, variant) : NULL;
    struct config parsed;
    hone_error error;
    if (!found) {
        WRONG(look, "%s %s names the variant '%s', which does not exist", kind, name,
              variant ? variant : "(none)");
        return;
    }
    config_default(found, &parsed);
    if (config_parse(found, config, &parsed, &error) != HONE_OK)
        WRONG(look, "%s %s: %s", kind, name, error.message);
}

/* A name that is negated alone, and computed with then: "!W*H >= 9" is never more than "0 >= 9". NULL: there
 * is none. */
static const char *negated_alone(const char *where)
{
    for (const char *at = where; (at = strchr(at, '!')); at++) {
        const char *end = at + 1;
        while (*end == '_' || isalnum((unsigned char)*end))
            end++;
        const char next = end[strspn(end, " ")];
        if (end > at + 1 && next && strchr("*/%+-<>=", next))
            return at;
    }
    return NULL;
}

static void check_where(const struct look *look, size_t seed, const char *where)
{
    struct expr expr;
    hone_error error;
    if (expr_parse(&expr, where, &error) != HONE_OK)
        WRONG(look, "seed %zu: %s", seed, error.message);
    if (negated_alone(where))
        WRONG(look, "seed %zu negates a name alone: '%.20s'", seed, negated_alone(where));
}

static void check_seeds_and_rungs(const struct look *look)
{
    char number[24];
    for (size_t i = 0; i < look->filter->seed_count; i++) {
        const struct seed *seed = &look->filter->seeds[i];
        snprintf(number, sizeof number, "%zu", i);
        check_references(look, "seed", number, seed->variant, seed->config);
        if (seed->where)
            check_where(look, i, seed->where);
    }
    for (size_t i = 0; i < look->filter->rung_count; i++) {
        const struct rung *rung = &look->filter->rungs[i];
        check_references(look, "rung", rung->name ? rung->name : "?", rung->variant, rung->config);
        need_text(look, rung->name, "the name of a rung");
        need_text(look, rung->title, "the title of a rung");
        need_text(look, rung->where, "the source of a rung");
        for (size_t k = 0; k < i && rung->name; k++)
            if (strcmp(rung->name, look->filter->rungs[k].name) == 0)
                WRONG(look, "there are two rungs '%s'", rung->name);
    }
}

/* ---- A variant ---- */

static bool mentions(const char *text, const char *name)
{
    struct expr expr;
    return text && expr_parse(&expr, text, NULL) == HONE_OK && expr_mentions(&expr, name);
}

static bool launch_mentions(const struct variant *variant, const char *name)
{
    bool group = strcmp(name, "WG_X") == 0 || strcmp(name, "WG_Y") == 0;
    for (size_t p = 0; p < variant_pass_count(variant); p++)
        for (int d = 0; d < 3; d++)
            if ((group && !variant->passes[p].local[0]) || mentions(variant->passes[p].extent[d], name) ||
                mentions(variant->passes[p].block[d], name) || mentions(variant->passes[p].local[d], name))
                return true;
    return false;
}

static bool options_mention(const struct variant *variant, const char *name)
{
    for (size_t i = 0; i < MAX_OPTIONS && variant->options[i].text; i++)
        if (mentions(variant->options[i].where, name))
            return true;
    return false;
}

/* "#ifndef NAME", then "#define NAME value": the default in the file, or NULL. */
static const char *default_in(const char *source, const char *name)
{
    char line[128];
    snprintf(line, sizeof line, "#ifndef %s\n", name);
    const char *guard = strstr(source, line);
    if (!guard)
        return NULL;
    const char *define = guard + strlen(line);
    snprintf(line, sizeof line, "#define %s", name);
    define += strspn(define, " ");
    if (strncmp(define, line, strlen(line)) != 0 || !isspace((unsigned char)define[strlen(line)]))
        return NULL;
    define += strlen(line);
    return define + strspn(define, " \t");
}

static size_t count_uses(const char *source, const char *name)
{
    size_t count = 0, length = strlen(name);
    for (const char *at = source; (at = strstr(at, name)); at += length) {
        bool starts = at == source || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        count += starts && !isalnum((unsigned char)at[length]) && at[length] != '_';
    }
    return count;
}

/* The default in the file is one of the legal values; seldom not the first, since variants share names. */
static void check_define(const struct look *look, const char *source, const struct tunable *t,
                         const int64_t *values, size_t count)
{
    const char *otherwise = default_in(source, t->name);
    bool legal = false;
    for (size_t i = 0; otherwise && i < count; i++)
        legal = legal || strtoll(otherwise, NULL, 0) == values[i];
    if (!otherwise)
        WRONG(look, "the kernel file has no '#ifndef %s' with a '#define %s' under it", t->name, t->name);
    else if (!legal)
        WRONG(look, "%s is %.10s in the kernel file, which is none of %s", t->name, otherwise, t->values);
    if (count_uses(source, t->name) < 3)
        WRONG(look, "%s is defined in the kernel file and used nowhere", t->name);
}

static void check_tunables(const struct look *look, const char *source)
{
    for (size_t i = 0; i < variant_tunable_count(look->variant); i++) {
        const struct tunable *t = &look->variant->tunables[i];
        int64_t values[64] = {0};
        size_t count = tunable_values(t, values, COUNT_OF(values));
        if (!is_name(t->name, isupper))
            WRONG(look, "'%s' is no name for a tunable (capitals and '_')", t->name);
        need_text(look, t->help, t->name);
        if (count < 1 || count > COUNT_OF(values))
            WRONG(look, "%s has %zu values; 1 to %zu are possible", t->name, count, COUNT_OF(values));
        for (size_t k = 1; k < count && k < COUNT_OF(values); k++)
            for (size_t j = 0; j < k; j++)
                if (values[j] == values[k])
                    WRONG(look, "%s has the value %lld twice", t->name, (long long)values[k]);
        if (t->kind == TUNABLE_DEFINE)
            check_define(look, source, t, values, count < COUNT_OF(values) ? count : COUNT_OF(values));
        else if (t->kind == TUNABLE_BUILD && !options_mention(look->variant, t->name))
            WRONG(look, "%s chooses options of the compiler, but none depends on it", t->name);
        else if (t->kind == TUNABLE_LAUNCH && !launch_mentions(look->variant, t->name))
            WRONG(look, "%s changes the launch alone, but no launch depends on it", t->name);
    }
    for (size_t i = 0; i < MAX_DEFINES && look->variant->defines[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(look->variant->defines[i], "="),
                 look->variant->defines[i]);
        if (count_uses(source, name) == 0)
            WRONG(look, "the shape constant %s does not occur in the kernel file", name);
    }
}

static void check_variant_texts(const struct look *look)
{
    static const char *const paths[] = {"buffer", "image", "local", "wide", "packed"};
    const struct variant *v = look->variant;
    bool known = false, bounded = false;
    if (!is_name(v->name, islower))
        WRONG(look, "'%s' is no name for a variant", v->name);
    if (strpbrk(v->name, "-"))
        WRONG(look, "'%s' becomes -DVARIANT_%s, which takes no '-'", v->name, v->name);
    need_text(look, v->summary, "the summary");
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        known = known || (v->path && strcmp(v->path, paths[i]) == 0);
    if (!known)
        WRONG(look, "the path '%s' is none of buffer, image, local, wide, packed",
              v->path ? v->path : "(none)");
    for (int i = 0; i < 3; i++)
        bounded = bounded || v->bounds[i] > 0;
    if (v->relaxed && !bounded)
        WRONG(look, "%s", "a relaxed variant needs bounds of its own");
    if (v->exact & ~look->filter->types || (v->exact && v->relaxed))
        WRONG(look, "%s", "what it is exact for is no type of the filter's, or it is relaxed, too");
    for (int i = 0; i < 3; i++)
        if (v->exact & 1u << i && look->filter->bounds[i] == 0)
            WRONG(look, "it is exact for type %d, as every variant is", i);
    if (!v->relaxed && bounded)
        WRONG(look, "%s", "only a relaxed variant has bounds of its own");
    for (size_t i = 0; i < look->filter->variant_count && &look->filter->variants[i] != v; i++)
        if (strcmp(look->filter->variants[i].name, v->name) == 0)
            WRONG(look, "there are two variants '%s'", v->name);
    if (variant_pass_count(v) == 0)
        WRONG(look, "%s", "there is no pass");
    need_text(look, v->cost.bytes, "the cost in bytes");
    need_text(look, v->cost.loads, "the cost in loads");
    need_text(look, v->cost.operations, "the cost in operations");
}

static void check_cost(const struct look *look, const struct filter_case *c, const struct config *config)
{
    struct cost_values cost;
    hone_error error;
    if (variant_cost(c, look->variant, config, &cost, &error) != HONE_OK)
        WRONG(look, "the cost cannot be computed: %s", error.message);
    else if (!(cost.bytes > 0 && cost.loads >= 0 && cost.operations >= 0 &&
               isfinite(cost.bytes + cost.loads)))
        WRONG(look, "the cost is %g bytes, %g loads, %g operations", cost.bytes, cost.loads, cost.operations);
}

/* ---- What compiles again ---- */

static bool same_choices(const struct filter_case *a, const struct filter_case *b)
{
    for (size_t i = 0; i < filter_parameter_count(a->filter); i++)
        if (a->filter->parameters[i].kind == PARAMETER_CHOICE && a->values[i].number != b->values[i].number)
            return false;
    return a->out.type == b->out.type && a->out.channels == b->out.channels;
}

/* Numbers are arguments of kernels: another value must give the same options, or the description says why
 * not. */
static void check_arguments_stay(const struct look *look, const struct filter_case *c,
                                 const struct config *config, char (*texts)[MAX_TRIAL_TEXT], size_t count)
{
    struct text options = {0};
    variant_options(&options, look->device, c, look->variant, config, NULL);
    for (size_t i = 1; i < count && !look->variant->specialised; i++) {
        const struct shape shape = {texts[i], c->in.type, c->in.channels, c->border};
        struct filter_case other;
        struct text others = {0};
        if (shape_case(&other, look->filter, look->variant, &shape, c->in.width, c->in.height, NULL) !=
            HONE_OK)
            continue;
        if (same_choices(c, &other) && variant_usable(look->device, &other, look->variant, NULL) == HONE_OK) {
            variant_options(&others, look->device, &other, look->variant, config, NULL);
            if (strcmp(text_view(&options), text_view(&others)) != 0)
                WRONG(look, "'%s' compiles again ('%s' instead of '%s'), and `specialised` does not say why",
                      texts[i], text_view(&others), text_view(&options));
        }
        text_finish(&others);
        case_finish(&other);
    }
    text_finish(&options);
}

/* ---- Launches and arguments ---- */

static void check_launches(const struct look *look, const struct filter_case *c, const struct config *config)
{
    struct case_scope names;
    struct config_scope scope;
    hone_error error;
    case_scope_init(&names, c, look->device);
    config_scope_init(&scope, look->variant, config, &names.scope);
    for (size_t p = 0; p < variant_pass_count(look->variant); p++) {
        const struct pass *pass = &look->variant->passes[p];
        struct pass_geometry g;
        if (pass_geometry(pass, &scope.scope, &g, &error) != HONE_OK) {
            WRONG(look, "pass %s: %s", pass->kernel, error.message);
            continue;
        }
        for (unsigned d = 0; d < g.dimensions; d++) {
            if (g.global[d] * g.block[d] < g.extent[d])
                WRONG(look, "pass %s covers %lld of %lld pixels in dimension %u", pass->kernel,
                      (long long)(g.global[d] * g.block[d]), (long long)g.extent[d], d);
            if (g.local[d] && g.global[d] % g.local[d] != 0)
                WRONG(look, "pass %s: %lld work-items are no multiple of the work-group's %lld", pass->kernel,
                      (long long)g.global[d], (long long)g.local[d]);
        }
    }
}

/* What the kernel must declare for an argument: an address space, and a type (NULL: any). */
struct expected {
    char address, other; /* other: also fine; 0: none */
    const char *type, *other_type;
};

static struct expected expected_argument(const struct look *look, const struct argument *argument,
                                         unsigned part, const struct filter_case *c)
{
    switch (argument->kind) {
    case ARGUMENT_SURFACE:
        return part == 0 ? (struct expected){'g', 0, NULL, NULL} : (struct expected){'p', 0, "int", "int"};
    case ARGUMENT_IMAGE:
        return (struct expected){'g', 'p', "image2d_t", "image2d_t"};
    case ARGUMENT_SCRATCH:
        return look->variant->scratch[argument->index].width
                   ? (struct expected){'g', 'p', "image2d_t", "image2d_t"}
                   : (struct expected){'g', 0, NULL, NULL};
    case ARGUMENT_SAMPLER:
        return (struct expected){'p', 'c', "sampler_t", "sampler_t"};
    case ARGUMENT_BORDER:
        return (struct expected){'p', 0, c->in.type == HONE_F32 ? "float" : "int", "NUMBER"};
    case ARGUMENT_TABLE:
        return (struct expected){'c', 'g', NULL, NULL};
    case ARGUMENT_LOCAL:
        return (struct expected){'l', 0, NULL, NULL};
    case ARGUMENT_FLOAT:
        return (struct expected){'p', 0, "float", "float"};
    case ARGUMENT_INT:
        return (struct expected){'p', 0, "int", "uint"};
    default:
        return (struct expected){'p', 0, NULL, NULL}; /* a value */
    }
}

static void check_argument(const struct look *look, const struct kernel *kernel, const char *name,
                           unsigned slot, const char *token, const struct expected *wanted)
{
    struct kernel_argument got;
    hone_error error;
    if (kernel_get_argument(kernel, slot, &got, &error) != HONE_OK) {
        WRONG(look, "%s", error.message);
        return;
    }
    bool address = got.address == wanted->address || (wanted->other && got.address == wanted->other);
    bool type = !wanted->type || strcmp(got.type, wanted->type) == 0 ||
                strcmp(got.type, wanted->other_type) == 0 || strcmp(got.type, "BORDER_TYPE") == 0;
    if (!address || !type)
        WRONG(look,
              "kernel %s, argument %u '%s' is a '%s' (address space '%c'), but the description says '%s'",
              name, slot, got.name, got.type, got.address, token);
}

static void check_kernel(const struct look *look, struct program *program, const struct pass *pass,
                         const struct filter_case *c)
{
    struct kernel *kernel = NULL;
    struct kernel_facts facts;
    hone_error error;
    if (kernel_create(&kernel, program, pass->kernel, &error) != HONE_OK ||
        kernel_get_facts(kernel, &facts, &error) != HONE_OK) {
        WRONG(look, "%s", error.message);
        kernel_destroy(&kernel);
        return;
    }
    struct argument_list arguments;
    if (arguments_parse(&arguments, pass->arguments, 0, &error) != HONE_OK)
        WRONG(look, "%s", error.message);
    else if (facts.arguments != arguments.slots)
        WRONG(look, "kernel %s has %u arguments; its description fills %u", pass->kernel, facts.arguments,
              arguments.slots);
    for (unsigned a = 0; a < arguments.count && facts.arguments == arguments.slots && facts.has_argument_info;
         a++)
        for (unsigned part = 0; part < (arguments.list[a].kind == ARGUMENT_SURFACE ? 3 : 1); part++) {
            const struct expected wanted = expected_argument(look, &arguments.list[a], part, c);
            check_argument(look, kernel, pass->kernel, arguments.list[a].slot + part, pass->arguments[a],
                           &wanted);
        }
    kernel_destroy(&kernel);
}

/* Builds the variant's kernels for a shape with what they say of their arguments. */
static void check_kernels(const struct look *look, const struct filter_case *c, const struct config *config)
{
    struct text source = {0}, options = {0};
    struct program *program = NULL;
    hone_error error;
    const char *file = look->variant->source ? look->variant->source : "kernel.cl";
    hone_status status =
        filter_source_text(&source, device_kernel_folder(look->device), look->filter, file, &error);
    if (!status)
        status = variant_options(&options, look->device, c, look->variant, config, &error);
    text_add(&options, " -cl-kernel-arg-info");
    if (!status)
        status = program_from_source(&program, look->device, text_view(&source), text_view(&options), &error);
    if (status)
        WRONG(look, "%s %.600s", error.message, error.log);
    for (size_t p = 0; p < variant_pass_count(look->variant) && !status; p++)
        check_kernel(look, program, &look->variant->passes[p], c);
    program_destroy(&program);
    text_finish(&source);
    text_finish(&options);
}

/* ---- The reference ---- */

/* Each number is set at least once by what is tried: the defaults alone would never vary it. */
static void check_trials(const struct look *look)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    size_t count = harness_trials(look->filter, texts);
    for (size_t i = 0; i < filter_parameter_count(look->filter); i++) {
        const struct parameter *p = &look->filter->parameters[i];
        bool tried = p->kind != PARAMETER_INTEGER && p->kind != PARAMETER_REAL;
        char start[64];
        size_t length = (size_t)snprintf(start, sizeof start, "%s=", p->name);
        for (size_t k = 0; k < count && !tried; k++)
            for (const char *at = texts[k]; (at = strstr(at, start)) && !tried; at += length)
                tried = at == texts[k] || at[-1] == ' ';
        if (!tried)
            WRONG(look, "no text of .trials sets the parameter %s", p->name);
    }
}

/* The reference over a random picture whose surroundings have this value. False where the filter refuses. */
static bool run_reference(const struct look *look, const struct shape *shape, double outside,
                          struct check *check)
{
    struct filter_case c;
    if (shape_case(&c, look->filter, NULL, shape, 9, 7, NULL) != HONE_OK)
        return false;
    c.border_value = outside;
    c.filter_alpha = false; /* what alpha=filter does is compared like everything else */
    bool ran = check_init(check, NULL, &c, PATTERN_RANDOM, 1, NULL) == HONE_OK;
    case_finish(&c);
    return ran;
}

static bool same_value(const struct view *a, const struct view *b, int64_t x, int64_t y, uint32_t channel)
{
    return view_get(a, x, y, channel) == view_get(b, x, y, channel);
}

/* Alpha stays. What depends on the value of a constant border has a window that leaves the picture, and is 0
 * with zero-outside. Both follow from `spatial`, whatever the filter computes. */
static void check_pixels(const struct look *look, const struct shape *shape, const struct check *zero,
                         const struct check *dark, const struct check *bright)
{
    const struct view *result = &zero->expected;
    for (int64_t y = 0; y < result->desc.height; y++)
        for (int64_t x = 0; x < result->desc.width; x++)
            for (uint32_t channel = 0; channel < result->desc.channels; channel++) {
                double value = view_get(result, x, y, channel);
                const char *type = hone_type_name(shape->type);
                if (channel == 3 && !same_value(result, &zero->in, x, y, 3)) {
                    WRONG(look, "the reference changes alpha ('%s', %s)", shape->parameters, type);
                    return;
                }
                if (channel < 3 && value != 0 &&
                    !same_value(&dark->expected, &bright->expected, x, y, channel)) {
                    WRONG(look,
                          "the reference ignores border=zero-outside ('%s', %s): pixel (%lld,%lld) is %g, "
                          "should be 0",
                          shape->parameters, type, (long long)x, (long long)y, value);
                    return;
                }
            }
}

static bool same_layout(const struct check *check)
{
    const hone_image_desc *in = &check->in.desc, *out = &check->expected.desc;
    return in->width == out->width && in->height == out->height && in->channels == out->channels &&
           in->type == out->type;
}

static void check_reference(const struct look *look)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    size_t count = harness_trials(look->filter, texts);
    for (size_t i = 0; i < count; i++)
        for (unsigned n = 0; n < 3 * 4; n++) {
            const struct shape zero = {texts[i], (hone_type)(n / 4), n % 4 + 1, HONE_BORDER_ZERO_OUTSIDE};
            const struct shape constant = {texts[i], zero.type, zero.channels, HONE_BORDER_CONSTANT};
            struct check checks[3] = {0};
            bool takes =
                look->filter->types & 1u << zero.type && look->filter->channels & 1u << zero.channels;
            if (takes && run_reference(look, &zero, 0, &checks[0]) && same_layout(&checks[0]) &&
                run_reference(look, &constant, 0, &checks[1]) &&
                run_reference(look, &constant, type_full_scale(zero.type), &checks[2]))
                check_pixels(look, &zero, &checks[0], &checks[1], &checks[2]);
            for (int k = 0; k < 3; k++)
                check_finish(&checks[k]);
        }
}

/* ---- All of it ---- */

/* Prepares the first trial for a type, at the fewest channels that the variant takes. */
static bool usable_case(const struct look *look, struct filter_case *c, const char *parameters,
                        hone_type type)
{
    for (uint32_t channels = 1; channels <= 4; channels++) {
        const struct shape shape = {parameters, type, channels, HONE_BORDER_REPLICATE};
        if (!(look->filter->types & 1u << type) || !(look->filter->channels & 1u << channels) ||
            shape_case(c, look->filter, look->variant, &shape, 64, 48, NULL) != HONE_OK)
            continue;
        if (variant_usable(look->device, c, look->variant, NULL) == HONE_OK)
            return true;
        case_finish(c);
    }
    return false;
}

static void check_uses(const struct look *look)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    struct config *configs = NULL;
    size_t texts_count = harness_trials(look->filter, texts);
    size_t config_count = harness_configs(look->filter, look->variant, EFFORT_DEFAULT, &configs);
    for (unsigned type = HONE_U8; type <= HONE_S16; type++) {
        struct filter_case c;
        if (texts_count == 0 || !usable_case(look, &c, texts[0], (hone_type)type))
            continue;
        if (look->effort > EFFORT_QUICK)
            check_kernels(look, &c, &configs[0]);
        check_arguments_stay(look, &c, &configs[0], texts, texts_count);
        for (size_t i = 0; i < config_count; i++) {
            if (config_legal(look->device, &c, look->variant, &configs[i], NULL) != HONE_OK)
                continue;
            check_launches(look, &c, &configs[i]);
            check_cost(look, &c, &configs[i]);
        }
        case_finish(&c);
    }
    free(configs);
}

static void check_variant(const struct look *look)
{
    struct text source = {0};
    hone_error error;
    const char *file = look->variant->source ? look->variant->source : "kernel.cl";
    check_variant_texts(look);
    if (filter_source_text(&source, device_kernel_folder(look->device), look->filter, file, &error) !=
        HONE_OK) {
        WRONG(look, "%s", error.message);
    } else {
        for (size_t p = 0; p < variant_pass_count(look->variant); p++)
            if (count_uses(text_view(&source), look->variant->passes[p].kernel) == 0)
                WRONG(look, "kernel %s is not in %s", look->variant->passes[p].kernel, file);
        check_tunables(look, text_view(&source));
        check_uses(look);
    }
    text_finish(&source);
}

/* Something must be able to do each format with each border on any device. */
static void check_choices(const struct look *look)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    struct shape *shapes = NULL;
    size_t text_count = harness_trials(look->filter, texts);
    size_t count = harness_shapes(look->filter, look->effort > EFFORT_QUICK ? EFFORT_ALL : EFFORT_QUICK,
                                  texts, text_count, &shapes);
    for (size_t i = 0; i < count; i++) {
        struct filter_case c;
        struct choice choices[MAX_CHOICES];
        size_t found = 0;
        hone_error error;
        hone_status status = shape_case(&c, look->filter, NULL, &shapes[i], 63, 41, &error);
        if (status == HONE_ERROR_UNSUPPORTED || status == HONE_ERROR_USAGE)
            continue; /* the filter says that it does not take this */
        if (!status)
            status = choose(choices, &found, look->device, &c, &(struct choose_request){0}, &error);
        if (status)
            WRONG(look, "%s", error.message);
        case_finish(&c);
    }
    free(shapes);
}

void harness_describe(const struct hone_filter *filter, hone_device *device, enum effort effort,
                      struct report *report)
{
    struct look look = {filter, NULL, device, effort, report};
    check_filter(&look);
    check_seeds_and_rungs(&look);
    check_trials(&look);
    if (filter->spatial && filter->reference)
        check_reference(&look);
    for (size_t i = 0; i < filter->variant_count; i++) {
        look.variant = &filter->variants[i];
        check_variant(&look);
    }
    look.variant = NULL;
    if (report->failures == 0)
        check_choices(&look);
}

static void print_line(const struct hone_filter *filter, const struct variant *variant, hone_device *device,
                       const struct filter_case *c, const struct config *config)
{
    struct text options = {0};
    if (variant_options(&options, device, c, variant, config, NULL) == HONE_OK)
        printf("filters/%s/%s\t%s\n", filter->name, variant->source ? variant->source : "kernel.cl",
               text_view(&options));
    text_finish(&options);
}

static void print_default(const struct hone_filter *filter, const struct variant *variant,
                          hone_device *device, const struct shape *shape)
{
    struct case_scope scope;
    struct filter_case c;
    struct config config;
    int64_t holds = 0;
    if (shape_case(&c, filter, variant, shape, 64, 48, NULL) != HONE_OK)
        return;
    case_scope_init(&scope, &c, device);
    config_default(variant, &config);
    if (expr_text_value(variant->condition, &scope.scope, 1, &holds, NULL) == HONE_OK && holds)
        print_line(filter, variant, device, &c, &config);
    case_finish(&c);
}

/* What would run, of small and of large images. */
static void print_choice(const struct hone_filter *filter, hone_device *device, const struct shape *shape,
                         uint32_t width, uint32_t height)
{
    struct filter_case c;
    struct choice choices[MAX_CHOICES];
    size_t found = 0;
    if (shape_case(&c, filter, NULL, shape, width, height, NULL) != HONE_OK)
        return;
    if (choose(choices, &found, device, &c, &(struct choose_request){0}, NULL) == HONE_OK)
        print_line(filter, choices[0].variant, device, &c, &choices[0].config);
    case_finish(&c);
}

void harness_print_options(hone_device *device, enum effort effort)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    for (size_t f = 0; registry_at(f); f++) {
        const struct hone_filter *filter = registry_at(f);
        struct shape *shapes = NULL;
        size_t text_count = harness_trials(filter, texts);
        size_t count = harness_shapes(filter, effort, texts, text_count, &shapes);
        for (size_t i = 0; i < count; i++) {
            for (size_t v = 0; v < filter->variant_count; v++)
                print_default(filter, &filter->variants[v], device, &shapes[i]);
            print_choice(filter, device, &shapes[i], 512, 512);
            print_choice(filter, device, &shapes[i], 3264, 2448);
        }
        free(shapes);
    }
}
