/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that nobody thought of. */
#include "harness.h"

#include "filter/registry.h"
#include "image/pattern.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small enough for the reference, large enough for several bands, groups and vectors. */
enum { WIDEST = 500, HIGHEST = 200, MOST_PIXELS = 12000, MOST_VALUE = 64, TRIES = 100 };

struct draw {
    const struct hone_filter *filter;
    const struct variant *variant;
    hone_device *device;
    uint32_t state;
};

static uint32_t below(struct draw *draw, size_t count)
{
    return pattern_random(&draw->state) % (uint32_t)count;
}

/* Of 1 to `most`, each order of magnitude as often as the others. */
static double spread(struct draw *draw, double most)
{
    return exp(log(most) * (below(draw, 1u << 20) + 0.5) / (1u << 20));
}

static void draw_choice(struct draw *draw, const struct parameter *p, struct text *text)
{
    size_t count = 1;
    for (const char *at = p->choices; *at; at++)
        count += *at == '|';
    const char *at = p->choices;
    for (uint32_t skip = below(draw, count); skip > 0; skip--)
        at += strcspn(at, "|") + 1;
    text_add(text, " %s=%.*s", p->name, (int)strcspn(at, "|"), at);
}

static void draw_number(struct draw *draw, const struct parameter *p, struct text *text)
{
    const double most = fmin(p->max - p->min, MOST_VALUE), value = p->min + spread(draw, most + 1) - 1;
    if (p->kind == PARAMETER_INTEGER)
        text_add(text, " %s=%.0f", p->name, fmin(round(value), p->max));
    else
        text_add(text, " %s=%.2f", p->name, fmax(fmin(value, p->max), p->min));
}

static bool takes_text(const struct hone_filter *filter)
{
    for (size_t i = 0; i < filter_parameter_count(filter); i++)
        if (filter->parameters[i].kind == PARAMETER_TEXT)
            return true;
    return false;
}

/* What the harness tries of its own where text is wanted, and now and then elsewhere. */
static void draw_parameters(struct draw *draw, struct text *text)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    const size_t count = harness_trials(draw->filter, texts);
    if (takes_text(draw->filter) || below(draw, 4) == 0) {
        text_add(text, "%s", texts[below(draw, count)]);
        return;
    }
    for (size_t i = 0; i < filter_parameter_count(draw->filter); i++) {
        const struct parameter *p = &draw->filter->parameters[i];
        if (p->kind == PARAMETER_IMAGE || below(draw, 4) == 0)
            continue;
        if (p->kind == PARAMETER_CHOICE)
            draw_choice(draw, p, text);
        else
            draw_number(draw, p, text);
    }
}

static struct shape draw_shape(struct draw *draw, const char *parameters)
{
    struct shape shape = {.parameters = parameters};
    do
        shape.type = (hone_type)below(draw, HONE_S16 + 1);
    while (!(draw->filter->types & 1u << shape.type));
    do
        shape.channels = 1 + below(draw, 4);
    while (!(draw->filter->channels & 1u << shape.channels));
    const uint32_t border = below(draw, HONE_BORDER_ZERO_OUTSIDE + 1);
    shape.border = draw->filter->spatial ? (hone_border)border : (hone_border)0;
    return shape;
}

/* Most of what is drawn does not fit most variants. Why not, is the report's last refusal. */
static bool fits(const struct draw *draw, const struct shape *shape, uint32_t width, uint32_t height,
                 struct report *report)
{
    struct filter_case c;
    hone_error error;
    hone_status status = shape_case(&c, draw->filter, draw->variant, shape, width, height, &error);
    if (!status) {
        status = variant_usable(draw->device, &c, draw->variant, &error);
        case_finish(&c);
    }
    if (status)
        report_refuse(report, &error);
    return status == HONE_OK;
}

static bool draw_picture(struct draw *draw, struct picture *picture, struct report *report)
{
    struct text parameters = {0};
    draw_parameters(draw, &parameters);
    const struct shape shape = draw_shape(draw, text_view(&parameters));
    const uint32_t width = (uint32_t)spread(draw, WIDEST), rows = (uint32_t)spread(draw, HIGHEST);
    const uint32_t height = rows < MOST_PIXELS / width ? rows : MOST_PIXELS / width;
    const enum pattern pattern = (enum pattern)below(draw, PATTERN_COUNT);
    *picture = (struct picture){
        .layout = {.pad = below(draw, 20), .offset = below(draw, 20), .shift = below(draw, 4)}};
    const bool made = fits(draw, &shape, width, height, report) &&
                      harness_picture(picture, draw->device, draw->filter, draw->variant, &shape, width,
                                      height, pattern, 1 + below(draw, 1000), report);
    text_finish(&parameters);
    return made;
}

void harness_random(const struct hone_filter *filter, const struct variant *variant, hone_device *device,
                    unsigned long count, uint32_t seed, struct report *report)
{
    struct draw draw = {filter, variant, device, seed};
    struct config *configs = NULL;
    const size_t config_count = harness_configs(filter, variant, EFFORT_ALL, &configs);
    for (unsigned long i = 0, drawn = 0; i < count && drawn < TRIES * count; drawn++) {
        struct picture picture;
        if (!draw_picture(&draw, &picture, report))
            continue;
        const struct config *config = &configs[below(&draw, config_count)];
        report->programs += harness_compare(&picture, device, variant, config, report) == HONE_OK;
        check_finish(&picture.check);
        i++;
    }
    free(configs);
}
