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
    const char *name; /* NULL: there is none */
    double number;
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
            return (struct plain){p->name, v->number, sums};
    }
    if (c->border == HONE_BORDER_CONSTANT && !c->border_share.given && c->border_value != 0 &&
        differ(NULL, one, other))
        return (struct plain){"border-value", c->border_value, false};
    return (struct plain){0};
}

static struct plain plain_in_chain(const struct engine *engine, hone_type one, hone_type other)
{
    struct plain found = {0};
    for (size_t i = 0; i < engine->given->count && !found.name; i++)
        found = plain_levels(&engine->given->steps[i].c, one, other);
    return found;
}

/* The format that a number of levels was thought for: the same whichever image is opened first. */
static hone_type meant_for(const struct plain *plain)
{
    return fabs(plain->number) <= UINT8_MAX ? HONE_U8 : HONE_U16;
}

/* The shortest percentage that is the same level in that format: a rounded one may be the next level. */
static void write_percent(const struct plain *plain, char to[32])
{
    const double full = type_full_scale(meant_for(plain)), percent = plain->number / full * 100;
    for (int digits = fabs(percent) < 99.5 ? 2 : 3; digits <= 6; digits++) { /* not 1e+02 */
        snprintf(to, 32, "%.*g", digits, percent);
        if (floor(strtod(to, NULL) * full / 100 + 0.5) == plain->number)
            return;
    }
}

/* What sums of u8 are in u16: only these two are summed up. */
static double wider_sum(const struct plain *plain)
{
    return plain->number * type_full_scale(HONE_U16) / type_full_scale(HONE_U8);
}

static void warn_of_sums(const struct engine *engine, const struct plain *plain)
{
    cli_warn(&engine->options->common,
             "the images are of several formats: %s=%g counts sums of levels of each image's own format; "
             "%s=%.0f is as strong in u16 as %g is in u8: run the formats apart (said once)",
             plain->name, plain->number, plain->name, wider_sum(plain), plain->number);
}

static void warn_of_levels(const struct engine *engine, const struct plain *plain)
{
    char percent[32];
    write_percent(plain, percent);
    cli_warn(&engine->options->common,
             "the images are of several formats: %s=%g counts levels of each image's own format; %s=%s%% is "
             "as strong in all images as %g is in %s (said once)",
             plain->name, plain->number, plain->name, percent, plain->number,
             hone_type_name(meant_for(plain)));
}

void depths_warn(struct engine *engine, hone_type type)
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
    (plain.sums ? warn_of_sums : warn_of_levels)(engine, &plain);
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
                 name, bits, plain.name, plain.number, plain.name, wider_sum(&plain));
        return;
    }
    if (meant_for(&plain) != HONE_U8)
        return;
    char percent[32];
    write_percent(&plain, percent);
    cli_warn(&engine->options->common,
             "'%s' has %u bits, which filters see as 16: %s=%g means levels of 65535; %s=%s%% is as "
             "strong as that is in 8 bits",
             name, bits, plain.name, plain.number, plain.name, percent);
}
