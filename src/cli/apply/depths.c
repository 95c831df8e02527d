/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: levels mean something else in each format, which is said where images of several come
 * together. */
#include "cli/apply/apply.h"

#include "filter/chain.h"
#include "filter/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parameter in levels, or in sums of them, that was given as a plain number other than 0. */
struct plain {
    const char *name;           /* NULL: there is none */
    double number, full, other; /* full, other: what 100 % are in the first and the second of two formats */
    bool sums;
};

/* Whether 100 % differ between two formats: only then a plain number is of another strength. */
static bool differ(const struct parameter *p, hone_type one, hone_type other)
{
    return parameter_full_scale(p, one) != parameter_full_scale(p, other);
}

static bool is_levels(const struct parameter *p, const struct value *v)
{
    return p->unit && strcmp(p->unit, "levels") == 0 && !v->share.given && v->number != 0;
}

/* A sum of 1 is the least of all formats. */
static bool is_sums(const struct filter_case *c, const struct parameter *p, const struct value *v)
{
    return p->sums_under && case_number(c, p->sums_under) == 0 && v->number > 1;
}

/* The first such parameter of a step that is of another strength in the other format. */
static struct plain plain_levels(const struct filter_case *c, hone_type one, hone_type other)
{
    for (size_t i = 0; i < filter_parameter_count(c->filter); i++) {
        const struct parameter *p = &c->filter->parameters[i];
        const struct value *v = &c->values[i];
        const bool sums = is_sums(c, p, v);
        if ((sums || is_levels(p, v)) && differ(p, one, other))
            return (struct plain){p->name, v->number, parameter_full_scale(p, one),
                                  parameter_full_scale(p, other), sums};
    }
    if (c->border == HONE_BORDER_CONSTANT && !c->border_share.given && c->border_value != 0 &&
        differ(NULL, one, other))
        return (struct plain){"border-value", c->border_value, parameter_full_scale(NULL, one),
                              parameter_full_scale(NULL, other), false};
    return (struct plain){0};
}

static struct plain plain_in_chain(const struct engine *engine, hone_type one, hone_type other)
{
    struct plain found = {0};
    for (size_t i = 0; i < engine->given->count && !found.name; i++)
        found = plain_levels(&engine->given->steps[i].c, one, other);
    return found;
}

/* The shortest percentage that is the same level in the first format: a rounded one may be the next level. */
static void write_percent(const struct plain *plain, char to[32])
{
    const double percent = plain->number / plain->full * 100;
    for (int digits = 2; digits <= 6; digits++) {
        snprintf(to, 32, "%.*g", digits, percent);
        if (plain->full > 1 && floor(strtod(to, NULL) * plain->full / 100 + 0.5) == plain->number)
            return;
    }
}

static void warn_of_sums(const struct engine *engine, const struct plain *plain, const char *name,
                         const char *type)
{
    const char *earlier = hone_type_name(engine->shared->depth);
    cli_warn(
        &engine->options->common,
        "'%s' is %s, and earlier images were %s: %s=%g counts sums of levels of each image's own format; "
        "%s=%.0f is as strong in %s as %g is in %s: run the formats apart (said once)",
        name, type, earlier, plain->name, plain->number, plain->name,
        plain->number / plain->full * plain->other, type, plain->number, earlier);
}

static void warn_of_levels(const struct engine *engine, const struct plain *plain, const char *name,
                           const char *type)
{
    const char *earlier = hone_type_name(engine->shared->depth);
    char percent[32];
    write_percent(plain, percent);
    cli_warn(&engine->options->common,
             "'%s' is %s, and earlier images were %s: %s=%g counts levels of each image's own format; "
             "%s=%s%% is as strong in all images as %g is in %s (said once)",
             name, type, earlier, plain->name, plain->number, plain->name, percent, plain->number, earlier);
}

void depths_warn(struct engine *engine, const char *name, hone_type type)
{
    struct shared_device *shared = engine->shared;
    if (!shared->depth_seen)
        shared->depth = type;
    shared->depth_seen = true;
    if (shared->depth_said)
        return;
    const struct plain plain = plain_in_chain(engine, shared->depth, type);
    if (!plain.name)
        return;
    shared->depth_said = true;
    (plain.sums ? warn_of_sums : warn_of_levels)(engine, &plain, name, hone_type_name(type));
}

void depths_warn_video(const struct engine *engine, const char *name, unsigned bits)
{
    if (bits == 8)
        return;
    const struct plain plain = plain_in_chain(engine, HONE_U8, HONE_U16);
    if (!plain.name)
        return;
    if (plain.sums) {
        cli_warn(&engine->options->common,
                 "'%s' has %u bits, which filters see as 16: %s=%g counts sums of levels of 65535; "
                 "%s=%.0f is as strong as that is in 8 bits",
                 name, bits, plain.name, plain.number, plain.name, plain.number * 257);
        return;
    }
    char percent[32];
    write_percent(&plain, percent);
    cli_warn(&engine->options->common,
             "'%s' has %u bits, which filters see as 16: %s=%g means levels of 65535; %s=%s%% is as "
             "strong as that is in 8 bits",
             name, bits, plain.name, plain.number, plain.name, percent);
}
