/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/spec/spec.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/records.h"

#include <stdlib.h>
#include <string.h>

/* ---- Formulas and paths ---- */

hone_status formula_new(struct formula **out, const char *text, size_t length, hone_error *error)
{
    formula_free(out);
    struct formula *formula = mem_new(1, sizeof *formula);
    if (formula)
        formula->text = mem_copy_text_n(text, length);
    *out = formula;
    if (!formula || !formula->text)
        return error_memory(error, "an expression");
    return expr_parse(&formula->expr, formula->text, error);
}

void formula_free(struct formula **formula)
{
    if (*formula)
        free((*formula)->text);
    free(*formula);
    *formula = NULL;
}

hone_status formula_value(const struct formula *formula, const struct expr_scope *scope, const char *what,
                          int64_t *value, hone_error *error)
{
    hone_status status = expr_value(&formula->expr, scope, value, error);
    if (status)
        error_prefix(error, "%s '%s'", what, formula->text);
    return status;
}

char *kernel_path(const char *folder, const char *name)
{
    struct text path = {0};
    if (!folder || !*folder || name[0] == '/')
        return mem_copy_text(name);
    text_add(&path, "%s/%s", folder, name);
    return text_take(&path);
}

/* ---- Life ---- */

struct own_spec *own_spec_new(void)
{
    return mem_new(1, sizeof(struct own_spec));
}

void own_spec_clear_arguments(struct own_spec *spec)
{
    for (int i = 0; i < spec->argument_count; i++)
        own_argument_finish(&spec->arguments[i]);
    spec->argument_count = 0;
}

void own_spec_clear_checks(struct own_spec *spec)
{
    for (int i = 0; i < spec->check_count; i++)
        free(spec->checks[i]);
    spec->check_count = 0;
}

void own_spec_free(struct own_spec *spec)
{
    if (!spec)
        return;
    own_spec_clear_arguments(spec);
    own_spec_clear_checks(spec);
    for (int i = 0; i < spec->option_count; i++)
        free(spec->options[i]);
    for (int i = 0; i < spec->rule_count; i++)
        formula_free(&spec->rules[i]);
    for (int i = 0; i < spec->define_count; i++)
        formula_free(&spec->defines[i].value);
    for (int i = 0; i < 3; i++) {
        formula_free(&spec->global[i]);
        formula_free(&spec->local[i]);
    }
    formula_free(&spec->bytes);
    formula_free(&spec->flops);
    free(spec->file);
    free(spec->kernel);
    free(spec);
}

/* ---- Is it whole? ---- */

static bool has_output(const struct own_spec *spec)
{
    for (int i = 0; i < spec->argument_count; i++)
        if (spec->arguments[i].role != ROLE_IN)
            return true;
    return false;
}

static hone_status check_names(const struct own_spec *spec, hone_error *error)
{
    size_t length = 0;
    for (int i = 0; i < spec->parameter_count; i++) {
        const struct space_parameter *p = &spec->parameters[i];
        size_t longest = 0;
        for (int k = 0; k < spec->define_count; k++)
            if (strcmp(spec->defines[k].name, p->name) == 0)
                return error_usage(error, "'%s' is a parameter and a definition", p->name);
        for (int k = 0; k < p->count; k++) {
            struct text value = {0};
            own_value_print(spec, i, p->values[k], &value);
            longest = value.length > longest ? value.length : longest;
            text_finish(&value);
        }
        length += strlen(p->name) + longest + 2;
    }
    if (length > sizeof((struct record_config *)0)->config)
        return error_usage(error, "the names of the parameters are too long together");
    return HONE_OK;
}

static bool mentions_parameter(const struct own_spec *spec, const struct formula *formula)
{
    for (int i = 0; formula && i < spec->parameter_count; i++)
        if (expr_mentions(&formula->expr, spec->parameters[i].name))
            return true;
    return false;
}

/* What is compared must have the same size in every configuration. */
static hone_status check_sizes(const struct own_spec *spec, hone_error *error)
{
    for (int i = 0; i < spec->argument_count; i++) {
        const struct own_argument *a = &spec->arguments[i];
        for (int k = 0; k < 3; k++)
            if (a->kind != OWN_LOCAL && mentions_parameter(spec, a->sizes[k]))
                return error_usage(
                    error,
                    "arg '%s': the size '%s' depends on a tuned parameter; give the largest that "
                    "is needed",
                    a->text, a->sizes[k]->text);
    }
    for (int i = 0; i < spec->define_count; i++)
        if (mentions_parameter(spec, spec->defines[i].value))
            return error_usage(
                error,
                "define %s=%s depends on a tuned parameter, and a definition is the same in all "
                "configurations; write the expression where it is needed",
                spec->defines[i].name, spec->defines[i].value->text);
    return HONE_OK;
}

/* Values that are no numbers may not stand in expressions. */
static hone_status check_formula(const struct own_spec *spec, const char *what, const struct formula *formula,
                                 void *unused, hone_error *error)
{
    (void)unused;
    for (int i = 0; formula && i < spec->parameter_count; i++)
        if (own_has_words(spec, i) && expr_mentions(&formula->expr, spec->parameters[i].name))
            return error_usage(
                error,
                "%s '%s' takes %s for a number, but its values are words or fractions, such as %s: "
                "the kernel alone can use those; number them (1,2,...) where expressions need them",
                what, formula->text, spec->parameters[i].name, spec->words[i].list[0]);
    return HONE_OK;
}

typedef hone_status (*formula_visit)(const struct own_spec *spec, const char *what,
                                     const struct formula *formula, void *user, hone_error *error);

static hone_status visit_argument(const struct own_spec *spec, const struct own_argument *a,
                                  formula_visit visit, void *user, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = visit(spec, "arg", a->sizes[i], user, error);
    for (int i = 0; i < OWN_MAX_LANES && !status; i++)
        status = visit(spec, "arg", a->values[i], user, error);
    return status;
}

/* All expressions, NULL among them, until one gives an error. */
static hone_status visit_formulas(const struct own_spec *spec, formula_visit visit, void *user,
                                  hone_error *error)
{
    hone_status status = visit(spec, "bytes", spec->bytes, user, error);
    THEN(status, visit(spec, "flops", spec->flops, user, error));
    for (int i = 0; i < spec->rule_count && !status; i++)
        status = visit(spec, "restrict", spec->rules[i], user, error);
    for (int i = 0; i < 3 && !status; i++)
        status = visit(spec, "global", spec->global[i], user, error);
    for (int i = 0; i < 3 && !status; i++)
        status = visit(spec, "local", spec->local[i], user, error);
    for (int i = 0; i < spec->argument_count && !status; i++)
        status = visit_argument(spec, &spec->arguments[i], visit, user, error);
    return status;
}

struct mention {
    const char *name;
    bool found;
};

static hone_status find_mention(const struct own_spec *spec, const char *what, const struct formula *formula,
                                void *user, hone_error *error)
{
    struct mention *mention = user;
    (void)spec, (void)what, (void)error;
    mention->found = mention->found || (formula && expr_mentions(&formula->expr, mention->name));
    return HONE_OK;
}

bool own_spec_mentions(const struct own_spec *spec, int parameter)
{
    struct mention mention = {.name = spec->parameters[parameter].name};
    visit_formulas(spec, find_mention, &mention, NULL);
    for (int i = 0; i < spec->option_count; i++)
        mention.found = mention.found || strstr(spec->options[i], mention.name);
    return mention.found;
}

hone_status own_spec_check(const struct own_spec *spec, hone_error *error)
{
    if (!spec->kernel)
        return error_usage(error, "which kernel of '%s'? Name it with --kernel",
                           spec->file ? spec->file : "the file");
    if (spec->parameter_count == 0)
        return error_usage(error, "there is nothing to tune: add --param NAME=VALUE,VALUE...");
    if (!spec->global[0])
        return error_usage(error, "how many work-items? Add --global 'W/VEC,H' (and --local 'TILE,4')");
    for (int i = 0; i < 3; i++)
        if (spec->local[0] && !spec->local[i] != !spec->global[i])
            return error_usage(error, "--global and --local need the same number of sizes");
    if (spec->global_in_groups && !spec->local[0])
        return error_usage(error, "a global size in work-groups needs a local size");
    if (spec->check != CHECK_NONE && !has_output(spec))
        return error_usage(
            error, "no --arg is an output (out:TYPE:COUNT or inout:...), so that nothing could be checked; "
                   "--check none goes without");
    TRY(check_names(spec, error));
    TRY(visit_formulas(spec, check_formula, NULL, error));
    return check_sizes(spec, error);
}
