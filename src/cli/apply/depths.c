/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: levels mean something else in each format, which is said where images of several come
 * together. */
#include "cli/apply/apply.h"

#include "filter/chain.h"
#include "filter/registry.h"

#include <string.h>

/* A number of levels that is no share, and not 0: its name, or NULL. */
static const char *plain_levels(const struct filter_case *c, double *number)
{
    for (size_t i = 0; i < filter_parameter_count(c->filter); i++) {
        const struct parameter *p = &c->filter->parameters[i];
        *number = c->values[i].number;
        if (p->unit && strcmp(p->unit, "levels") == 0 && !c->values[i].share.given && *number != 0)
            return p->name;
    }
    *number = c->border_value;
    return c->border == HONE_BORDER_CONSTANT && !c->border_share.given && *number != 0 ? "border-value"
                                                                                       : NULL;
}

/* Levels of u8 and 255ths of f32 are one thing to most filters; levels of u16 are much smaller. */
static bool are_alike(hone_type a, hone_type b)
{
    return (a == HONE_U16) == (b == HONE_U16);
}

void depths_warn(struct engine *engine, const char *name, hone_type type)
{
    struct shared_device *shared = engine->shared;
    double number = 0;
    const char *parameter = NULL;
    if (!shared->depth_seen)
        shared->depth = type;
    shared->depth_seen = true;
    if (shared->depth_said || are_alike(shared->depth, type))
        return;
    for (size_t i = 0; i < engine->given->count && !parameter; i++)
        parameter = plain_levels(&engine->given->steps[i].c, &number);
    if (!parameter)
        return;
    shared->depth_said = true;
    cli_warn(&engine->options->common,
             "'%s' is %s, and images before it were %s: %s=%g means levels of each one's own format; "
             "%s=%.2g%% is as "
             "strong in all of them as that is in %s (said once)",
             name, hone_type_name(type), hone_type_name(shared->depth), parameter, number, parameter,
             number / (shared->depth == HONE_U16 ? UINT16_MAX : UINT8_MAX) * 100,
             hone_type_name(shared->depth));
}

void depths_warn_video(const struct engine *engine, const char *name, unsigned bits)
{
    double number = 0;
    const char *parameter = NULL;
    if (bits == 8)
        return;
    for (size_t i = 0; i < engine->given->count && !parameter; i++)
        parameter = plain_levels(&engine->given->steps[i].c, &number);
    if (parameter)
        cli_warn(&engine->options->common,
                 "'%s' has %u bits, which filters see as 16: %s=%g means levels of 65535; %s=%.2g%% is as "
                 "strong as "
                 "that is in 8 bits",
                 name, bits, parameter, number, parameter, number / UINT8_MAX * 100);
}
