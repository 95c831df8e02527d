/* SPDX-License-Identifier: BSD-2-Clause */
/* What makes a filter of a description: the variants of a pixel function, the window, and whether all of it
 * means something. */
#include "filter/own/own.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/arguments.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "filter/variant.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { WINDOW_MOST = 1024 };
static const char *const sides[] = {"LEFT", "RIGHT", "TOP", "BOTTOM"};

/* ---- The window ---- */

/* Real parameters count as the next whole number. */
static void name_reals(const struct filter_case *c, struct expr_scope *scope, const char **names,
                       int64_t *values)
{
    for (size_t i = 0; i < filter_parameter_count(c->filter); i++)
        if (c->filter->parameters[i].kind == PARAMETER_REAL) {
            names[scope->count] = c->filter->parameters[i].name;
            values[scope->count++] = (int64_t)ceil(fmin(fabs(c->values[i].number), 1e9));
        }
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    const struct own *own = (const struct own *)c->filter; /* its first member */
    const char *names[MAX_PARAMETERS];
    int64_t values[MAX_PARAMETERS];
    struct case_scope outer;
    struct expr_scope scope = {.outer = &outer.scope, .names = names, .values = values};
    hone_status status = HONE_OK;
    case_scope_init(&outer, c, NULL);
    name_reals(c, &scope, names, values);
    for (int i = 0; i < 4 && !status; i++) {
        int64_t side = 0;
        status = expr_text_value(own->window[i], &scope, 0, &side, error);
        if (status)
            error_prefix(error, "%s:%d: the window", own->source.path, own->window_line);
        else if (side < 0 || side > WINDOW_MOST)
            status = case_wrong(error, "%s: its window reaches %lld pixels here; 0 to %d are possible",
                                c->filter->name, (long long)side, WINDOW_MOST);
        case_set_symbol(c, sides[i], side);
    }
    return status;
}

static bool is_word_letter(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

static bool mentions(const char *text, const char *word)
{
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || !is_word_letter(at[-1])) && !is_word_letter(at[strlen(word)]))
            return true;
    return false;
}

/* Whether results depend on where in the image a pixel is: then parts of an image cannot be filtered
 * alone. */
static bool knows_place(const char *text)
{
    static const char *const words[] = {"hone_x",        "hone_y",       "hone_width",       "hone_height",
                                        "get_global_id", "get_group_id", "get_global_offset"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (mentions(text, words[i]))
            return true;
    return false;
}

/* The path as a chain and a shell take it. */
static const char *example(struct own *own)
{
    struct text chain = {0}, arguments = {0};
    const char *path = own->source.path, *quote = strpbrk(path, " \t|'") ? "\"" : "";
    text_add(&chain, "%s%s%s", quote, path, quote);
    text_add_shell(&arguments, text_view(&chain), false);
    text_add(&arguments, " in.png -o out.png");
    own->failed = own->failed || chain.failed || arguments.failed;
    const char *kept = own_keep(own, text_view(&arguments), arguments.length);
    text_finish(&chain);
    text_finish(&arguments);
    return kept;
}

static void complete_filter(struct own *own)
{
    struct hone_filter *filter = &own->filter;
    const bool window = own->window[0] != NULL;
    filter->origin = own->source.path;
    filter->summary = filter->summary && *filter->summary ? filter->summary : "a filter of one's own";
    filter->inputs = 1;
    filter->spatial = window;
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        filter->symbols[i] = sides[i];
    filter->window = (struct window){sides[0], sides[1], sides[2], sides[3]};
    filter->reads = !own->source.pixel || knows_place(own->source.text) ? READS_ELSEWHERE : READS_WINDOW;
    filter->prepare = prepare;
    filter->examples[0] = (struct example){"filter a picture", example(own)};
    filter->variants = own->variants;
    filter->variant_count = own->variant_count;
    filter->seeds = own->seeds;
    while (filter->seed_count < COUNT_OF(own->seeds) && own->seeds[filter->seed_count].variant)
        filter->seed_count++;
}

/* ---- Variants of a pixel function ---- */

/* What stands before the author's text: the parameters as its function, and as the kernels have them. */
static void write_head(struct own *own)
{
    struct text head = {0}, parameters = {0}, values = {0}, inner = {0};
    const struct hone_filter *filter = &own->filter;
    for (size_t i = 0; i < filter_parameter_count(filter); i++) {
        const struct parameter *p = &filter->parameters[i];
        const char *type = p->kind == PARAMETER_REAL ? "float" : "int";
        text_add(&inner, ", %s %s", type, p->name);
        text_add(&parameters, ", %s own_%s", type, p->name);
        text_add(&values, ", own_%s", p->name);
        int index = 0;
        for (const char *at = p->choices; at && *at; index++) {
            const int length = (int)strcspn(at, "|");
            text_add(&head, "#define %s_%.*s %d\n", p->name, length, at, index);
            at += length + (at[length] == '|');
        }
    }
    text_add(&head, "#define OWN_INNER %s\n#define OWN_PARAMETERS %s\n#define OWN_VALUES %s\n",
             text_view(&inner), text_view(&parameters), text_view(&values));
    own->failed = own->failed || head.failed || inner.failed || parameters.failed || values.failed;
    own->source.head = own_keep(own, text_view(&head), head.length);
    text_finish(&head);
    text_finish(&inner);
    text_finish(&parameters);
    text_finish(&values);
}

static void add_tunables(struct variant *v, const struct tunable *more, size_t count)
{
    size_t at = variant_tunable_count(v);
    for (size_t i = 0; i < count && at < MAX_TUNABLES; i++)
        v->tunables[at++] = more[i];
}

static struct variant *add_variant(struct own *own, const struct variant *shared, const char *name,
                                   const char *summary, const char *path)
{
    struct variant *v = &own->variants[own->variant_count++];
    *v = *shared; /* tunables, conditions and options of the author's */
    v->name = name;
    v->summary = summary;
    v->path = path;
    v->fuses = FUSES_BEFORE | FUSES_AFTER;
    v->cost = (struct cost){"2*C*BITS/8", "C*(LEFT + RIGHT + 1)*(TOP + BOTTOM + 1)",
                            "C*(LEFT + RIGHT + 1)*(TOP + BOTTOM + 1)"};
    v->passes[0].kernel = own_format(own, "own_%s", name);
    return v;
}

/* The arguments that every kernel has, `more` unless NULL, and the parameters. */
static void list_arguments(struct own *own, struct variant *v, const char *more)
{
    static const char *const common[] = {"in", "out", "W", "H", "LEFT", "RIGHT", "TOP", "BOTTOM", "border"};
    const char **to = v->passes[0].arguments;
    for (size_t i = 0; i < COUNT_OF(common); i++)
        *to++ = common[i];
    if (more)
        *to++ = more;
    for (size_t i = 0; i < filter_parameter_count(&own->filter); i++) {
        const struct parameter *p = &own->filter.parameters[i];
        *to++ = p->kind == PARAMETER_REAL ? own_format(own, "float:%s", p->name) : p->name;
    }
}

static void make_variants(struct own *own)
{
    static const struct tunable groups[] = {WORK_GROUP("16 8 32 64", "16 1 2 4 8")};
    static const struct tunable blocks[] = {{"PX", TUNABLE_DEFINE, "4 1 2 8 16 64", "pixels across"},
                                            {"ROWS", TUNABLE_DEFINE, "1 2 4 8", "rows"},
                                            WORK_GROUP("16 1 4 8 32 64", "4 1 2 8 16")};
    static const struct tunable tiles[] = {WORK_GROUP("16 8 32", "16 4 8")};
    const struct variant shared = own->variants[0];
    struct variant *v = add_variant(own, &shared, "direct", "one pixel per work-item", "buffer");
    add_tunables(v, groups, COUNT_OF(groups));
    list_arguments(own, v, NULL);
    v = add_variant(own, &shared, "blocks",
                    "a block of pixels per work-item, whose reads away from the edges need no border",
                    "buffer");
    add_tunables(v, blocks, COUNT_OF(blocks));
    v->passes[0].block[0] = "PX";
    v->passes[0].block[1] = "ROWS";
    list_arguments(own, v, NULL);
    own->seeds[0] = (struct seed){"CPU && LEFT + RIGHT + TOP + BOTTOM == 0", "blocks", "PX=64 WG_X=1 WG_Y=8"};
    own->seeds[1] = (struct seed){NULL, "direct", ""};
    own->seeds[2] = (struct seed){NULL, "blocks", "PX=1 ROWS=1"};
    if (!own->window[0])
        return;
    v = add_variant(own, &shared, "tile", "one pixel per work-item, windows from local memory", "local");
    v->needs = NEEDS_LOCAL;
    add_tunables(v, tiles, COUNT_OF(tiles));
    list_arguments(own, v, "local:(WG_X + LEFT + RIGHT)*(WG_Y + TOP + BOTTOM)*(C == 1 ? 4 : 16)");
    own->seeds[3] = own->seeds[2];
    own->seeds[2] = own->seeds[1];
    own->seeds[1] =
        (struct seed){"CPU", "tile", "WG_X=32 WG_Y=8"}; /* no branches: what PoCL makes vectors of */
}

/* ---- Variants of the author's own kernels ---- */

static void complete_variants(struct own *own)
{
    for (size_t i = 0; i < own->variant_count; i++) {
        struct variant *v = &own->variants[i];
        v->path = "buffer";
        v->cost = (struct cost){"2*C*BITS/8", "C", "C"};
    }
    own->seeds[0] = (struct seed){NULL, own->variants[0].name, ""};
}

/* ---- Whether it means something ---- */

struct checking {
    struct own *own;
    const struct variant *variant;
    const struct expr_scope *scope;
    hone_error *error;
};

static hone_status check_expression(const struct checking *k, const char *text)
{
    struct expr expr;
    if (!text)
        return HONE_OK;
    hone_status status = expr_parse(&expr, text, k->error);
    const char *unknown = status ? NULL : expr_unknown(&expr, k->scope, NULL);
    if (status)
        error_prefix(k->error, "%s: '%s'", k->own->source.path, text);
    if (!unknown)
        return status;
    return error_usage(k->error,
                       "%s: '%s' names '%s', which is no parameter, tunable or "
                       "value of hone's (docs/own-filters.md lists these)",
                       k->own->source.path, text, unknown);
}

static hone_status check_argument(const struct checking *k, const struct filter_case *c,
                                  const struct argument *a)
{
    double value;
    switch (a->kind) {
    case ARGUMENT_LOCAL:
    case ARGUMENT_INT:
        return check_expression(k, a->text);
    case ARGUMENT_FLOAT:
    case ARGUMENT_NUMBER:
        if (case_real(c, a->text, &value))
            return HONE_OK;
        return error_usage(k->error, "%s: there is no parameter '%s'", k->own->source.path, a->text);
    case ARGUMENT_TABLE:
        return error_usage(k->error, "%s: a filter of one's own has no tables", k->own->source.path);
    case ARGUMENT_SCRATCH:
        if ((size_t)a->index < variant_scratch_count(k->variant))
            return HONE_OK;
        return error_usage(k->error, "%s: tmp%d needs a line 'scratch BYTES'", k->own->source.path, a->index);
    case ARGUMENT_SURFACE:
    case ARGUMENT_IMAGE:
        if (a->surface != SURFACE_SECOND)
            return HONE_OK;
        return error_usage(k->error, "%s: a filter of one's own has one image", k->own->source.path);
    case ARGUMENT_SAMPLER:
    case ARGUMENT_BORDER:
        break;
    }
    return HONE_OK;
}

static hone_status check_pass(const struct checking *k, const struct filter_case *c, const struct pass *pass)
{
    struct argument_list arguments;
    hone_status status = arguments_parse(&arguments, pass->arguments, 0, k->error);
    for (unsigned i = 0; i < arguments.count && !status; i++)
        status = check_argument(k, c, &arguments.list[i]);
    for (int d = 0; d < 3 && !status; d++) {
        status = check_expression(k, pass->extent[d]);
        THEN(status, check_expression(k, pass->block[d]));
        THEN(status, check_expression(k, pass->local[d]));
    }
    return status;
}

/* "NAME=EXPRESSION" */
static hone_status check_define(const struct checking *k, const char *define)
{
    const char *equals = strchr(define, '=');
    if (!equals || !isalpha((unsigned char)*define) || text_starts(equals + 1, "ints") ||
        text_starts(equals + 1, "floats"))
        return error_usage(k->error, "%s: a definition is written NAME=EXPRESSION, not '%s'",
                           k->own->source.path, define);
    return check_expression(k, equals + 1);
}

static hone_status check_variant(struct checking *k, const struct filter_case *c,
                                 const struct expr_scope *outer)
{
    const struct variant *v = k->variant;
    struct config config;
    struct config_scope scope;
    config_default(v, &config);
    config_scope_init(&scope, v, &config, outer);
    k->scope = &scope.scope;
    hone_status status = check_expression(k, v->condition);
    for (size_t i = 0; i < COUNT_OF(v->constraints) && !status; i++)
        status = check_expression(k, v->constraints[i]);
    for (size_t i = 0; i < MAX_DEFINES && v->defines[i] && !status; i++)
        status = check_define(k, v->defines[i]);
    for (size_t i = 0; i < variant_scratch_count(v) && !status; i++)
        status = check_expression(k, v->scratch[i].bytes);
    for (size_t i = 0; i < variant_pass_count(v) && !status; i++)
        status = check_pass(k, c, &v->passes[i]);
    if (!status && variant_pass_count(v) == 0)
        status = error_usage(k->error, "%s: variant '%s' has no kernel", k->own->source.path, v->name);
    return status;
}

static hone_status check_variants(struct own *own, const struct filter_case *c, hone_error *error)
{
    static const char *const device[] = {"CPU",     "GPU",    "CU",   "MAXWG", "LMEM", "VENDOR",    "WARP",
                                         "UNIFIED", "IMAGES", "HALF", "WIDE",  "PTX",  "SUBGROUPS", "SM"};
    static const int64_t zeros[COUNT_OF(device)];
    struct case_scope names;
    const struct expr_scope outer = {.names = device, .values = zeros, .count = COUNT_OF(device)};
    hone_status status = HONE_OK;
    case_scope_init(&names, c, NULL);
    names.scope.outer = &outer;
    for (size_t i = 0; i < own->variant_count && !status; i++) {
        struct checking checking = {.own = own, .variant = &own->variants[i], .error = error};
        status = check_variant(&checking, c, &names.scope);
    }
    return status;
}

/* A chain could set only one of two. */
static hone_status check_names(const struct own *own, hone_error *error)
{
    const struct parameter *common;
    for (size_t i = 0; (common = case_common_parameter(&own->filter, i)); i++)
        if (filter_parameter(&own->filter, common->name) >= 0)
            return error_usage(error,
                               "%s: hone gives this filter a parameter '%s' already; choose another name",
                               own->source.path, common->name);
    return HONE_OK;
}

/* A case with the defaults on a small image of the first type and number of channels that it takes. */
static hone_status check(struct own *own, hone_error *error)
{
    struct filter_case c;
    hone_image_desc in = {.width = 64, .height = 64};
    filter_first_format(&own->filter, &in);
    TRY(check_names(own, error));
    hone_status status = case_init(&c, &own->filter, error);
    if (status) {
        error_prefix(error, "%s: a default", own->source.path);
        return status;
    }
    status = case_prepare(&c, &in, NULL, error);
    THEN(status, check_variants(own, &c, error));
    case_finish(&c);
    return status;
}

hone_status own_complete(struct own *own, hone_error *error)
{
    const bool function = mentions(own->source.text, "hone_pixel");
    if (own->source.pixel && !function)
        return error_usage(error,
                           "%s: it has neither a function 'hone_pixel { ... }' nor lines '//@filter variant' "
                           "and '//@filter kernel'",
                           own->source.path);
    if (own->source.pixel) {
        write_head(own);
        make_variants(own);
    } else {
        complete_variants(own);
    }
    complete_filter(own);
    return own->failed ? error_memory(error, "a filter") : check(own, error);
}
