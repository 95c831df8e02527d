/* SPDX-License-Identifier: BSD-2-Clause */
/* hone_plan_set over the whole range of every numeric parameter of every filter: results and choices of a new
 * plan, every program built once, nothing built on the way back. All parameters under HONE_TEST_EFFORT=all,
 * else the first one of each filter. */
#include "filter/registry.h"
#include "hone/plan.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 9 };

static hone_device *device;

static bool thorough(void)
{
    const char *effort = getenv("HONE_TEST_EFFORT");
    return effort && strcmp(effort, "all") == 0;
}

static uint64_t built(void)
{
    return hone_device_get_counts(device).built_from_source;
}

static hone_type first_type(const struct hone_filter *filter)
{
    int type = HONE_U8;
    while (!(filter->types & 1u << type))
        type++;
    return (hone_type)type;
}

static uint32_t first_channels(const struct hone_filter *filter)
{
    uint32_t channels = 1;
    while (!(filter->channels & 1u << channels))
        channels++;
    return channels;
}

/* Parameters that must be given, or "". */
static const char *needed(const struct hone_filter *filter)
{
    for (size_t i = 0; i < filter_parameter_count(filter); i++)
        if (filter->parameters[i].kind == PARAMETER_TEXT && !filter->parameters[i].fallback)
            return filter->trials[0];
    return "";
}

/* The ends of a range and what lies between, by ratio; windows larger than any small picture are left out. */
static int values_of(const struct parameter *p, double values[MAX_VALUES])
{
    const double most = p->max < 40 ? p->max : 40, first = p->min > 0.5 ? p->min : 0.5;
    const int count = thorough() ? MAX_VALUES : 3;
    const bool whole = p->kind == PARAMETER_INTEGER;
    int used = 0;
    for (int i = 0; i < count; i++) {
        double value = i == 0 ? p->min < -1e6 ? -1e6 : p->min : first * pow(most / first, i / (count - 1.0));
        value = whole ? round(value) : value;
        if (value >= p->min && value <= most && (used == 0 || value != values[used - 1]))
            values[used++] = value;
    }
    return used;
}

/* A plan, and images for it. */
struct scene {
    const struct hone_filter *filter;
    struct view in;
    hone_plan_options options;
};

static hone_status make_plan(hone_plan **plan, const struct scene *s, const char *parameters)
{
    char text[512];
    hone_chain *chain = NULL;
    hone_error error;
    snprintf(text, sizeof text, "%s %s %s", s->filter->name, needed(s->filter), parameters);
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    hone_status status = hone_plan_create(plan, device, chain, &s->in.desc, &s->options, &error);
    hone_chain_destroy(&chain);
    return status;
}

static struct view result_of(hone_plan *plan, const struct scene *s)
{
    struct view out = view_new(hone_plan_output(plan));
    hone_image *second = NULL;
    hone_error error;
    if (s->filter->inputs > 1) {
        REQUIRE_OK(hone_image_wrap(&second, device, &s->in.desc, s->in.data, &error));
        REQUIRE_OK(hone_plan_bind(plan, 0, second, &error));
    }
    CHECK_STATUS(hone_plan_apply(plan, s->in.data, 0, out.data, 0, &error), HONE_OK);
    CHECK_STATUS(hone_device_finish(device, &error), HONE_OK);
    hone_image_destroy(&second);
    return out;
}

static bool same_choice(const hone_plan *plan, const hone_plan *other, const char *parameters)
{
    hone_step_info a, b;
    REQUIRE(hone_plan_step(plan, 0, &a) && hone_plan_step(other, 0, &b));
    bool same = strcmp(a.variant, b.variant) == 0 && strcmp(a.config, b.config) == 0 &&
                strcmp(a.origin, b.origin) == 0 && a.scratch_bytes >= b.scratch_bytes;
    if (!same)
        printf("%s %s: set has %s [%s], a new plan %s [%s]\n", a.filter, parameters, a.variant, a.config,
               b.variant, b.config);
    return same;
}

/* One value: set, then a new plan for it, which must build nothing more. */
static void check_value(hone_plan *plan, const struct scene *s, const char *parameters)
{
    hone_plan *fresh = NULL;
    hone_error error;
    hone_status status = hone_plan_set(plan, 0, parameters, &error);
    uint64_t before = built();
    CHECK_EQ(make_plan(&fresh, s, parameters), status);
    CHECK_EQ(built(), before);
    if (status || !fresh)
        return;
    CHECK(same_choice(plan, fresh, parameters));
    struct view got = result_of(plan, s), wanted = result_of(fresh, s);
    CHECK_SAME(&got, &wanted, 0);
    CHECK_EQ(built(), before);
    view_finish(&got);
    view_finish(&wanted);
    hone_plan_destroy(&fresh);
}

static void check_parameter(const struct scene *s, const struct parameter *p)
{
    double values[MAX_VALUES];
    char text[96];
    hone_plan *plan = NULL;
    hone_error error;
    int count = values_of(p, values);
    REQUIRE(make_plan(&plan, s, "") == HONE_OK);
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%s=%.9g", p->name, values[i]);
        check_value(plan, s, text);
    }
    uint64_t before = built();
    for (int i = count; i-- > 0;) {
        snprintf(text, sizeof text, "%s=%.9g", p->name, values[i]);
        hone_plan_set(plan, 0, text, &error);
    }
    CHECK_EQ(built(), before);
    hone_plan_destroy(&plan);
}

static void check_filter(const struct hone_filter *filter)
{
    struct scene s = {.filter = filter,
                      .in = support_picture(48, 21, first_type(filter), first_channels(filter), 3)};
    s.options = (hone_plan_options){.second = &s.in.desc, .second_count = filter->inputs > 1};
    for (size_t i = 0; i < filter_parameter_count(filter); i++) {
        const struct parameter *p = &filter->parameters[i];
        if ((p->kind != PARAMETER_INTEGER && p->kind != PARAMETER_REAL) || strstr(needed(filter), p->name))
            continue;
        check_parameter(&s, p);
        if (!thorough())
            break;
    }
    view_finish(&s.in);
}

TEST(every_filter_over_its_range)
{
    device = support_open_quick();
    for (size_t i = 0; registry_at(i); i++)
        check_filter(registry_at(i));
    hone_device_close(&device);
}

/* What is built ahead is what a change needs, and nothing of the plan changes. */
TEST(built_ahead)
{
    device = support_open_quick();
    const hone_image_desc desc = {64, 40, HONE_U8, 1, 0};
    hone_plan *plan = support_plan(device, "box size=3", &desc, NULL);
    hone_step_info before, after;
    hone_error error;
    uint64_t held = 0, now = 1;
    REQUIRE(hone_plan_step(plan, 0, &before));
    hone_device_memory(device, &held, NULL);
    CHECK_STATUS(hone_plan_prepare_range(plan, 0, "size", 4, 5, &error), HONE_OK);
    CHECK_STATUS(hone_plan_prepare(plan, 0, "size=31", &error), HONE_OK);
    hone_device_memory(device, &now, NULL);
    CHECK_EQ(now, held);
    REQUIRE(hone_plan_step(plan, 0, &after));
    CHECK_TEXT(after.config, before.config);
    uint64_t ahead = built();
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(hone_plan_set(plan, 0,
                                   i == 0   ? "size=31"
                                   : i == 1 ? "size=4"
                                            : "size=5",
                                   &error),
                     HONE_OK);
    CHECK_EQ(built(), ahead);
    CHECK_STATUS(hone_plan_prepare(plan, 0, "size=0", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_prepare_range(plan, 0, "size", 5, 4, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_prepare_range(plan, 0, "border", 0, 1, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_prepare_range(plan, 1, "size", 4, 5, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_prepare(NULL, 0, "size=4", &error), HONE_ERROR_USAGE);
    hone_plan_destroy(&plan);
    hone_device_close(&device);
}

/* A range of levels has what its format takes: whole numbers for integers, fractions for floats. */
TEST(ranges_ahead)
{
    static const struct {
        const char *chain, *name;
        hone_type type;
        double least, most;
        hone_status status;
        const char *later, *refused;
    } rows[] = {
        {"epsilon", "threshold", HONE_U8, 0, 20, HONE_OK, "threshold=7", "threshold=7.5"},
        {"epsilon", "threshold", HONE_U8, 0.5, 3, HONE_OK, "threshold=1", "threshold=0.5"},
        {"epsilon", "threshold", HONE_U8, 0, 255, HONE_OK, "threshold=255", "threshold=256"},
        {"epsilon", "threshold", HONE_U8, 254, 256, HONE_ERROR_USAGE, "threshold=255", "threshold=256"},
        {"epsilon", "threshold", HONE_U8, 0.2, 0.8, HONE_ERROR_USAGE, NULL, "threshold=0.2"},
        {"epsilon", "threshold", HONE_U8, -0.5, 3, HONE_ERROR_USAGE, NULL, "threshold=-0.5"},
        {"epsilon", "threshold", HONE_F32, 0.2, 0.8, HONE_OK, "threshold=0.2", NULL},
        {"box", "size", HONE_U8, 3.5, 5, HONE_OK, "size=4", "size=3.5"},
        {"box border=constant", "border-value", HONE_U8, 0, 255, HONE_OK, "border-value=9", NULL},
        {"sobel border=constant", "border-value", HONE_U8, 0, 255, HONE_OK, "border-value=9", NULL},
        {"sobel border=constant", "border-value", HONE_F32, 0, 1, HONE_OK, "border-value=0.5", NULL},
        {"gray", "border-value", HONE_U8, 0, 255, HONE_ERROR_USAGE, NULL, "border-value=9"},
    };
    device = support_open_quick();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const hone_image_desc desc = {64, 40, rows[i].type, strcmp(rows[i].chain, "gray") ? 1 : 3, 0};
        hone_plan *plan = support_plan(device, rows[i].chain, &desc, NULL);
        hone_error error;
        CHECK_STATUS(hone_plan_prepare_range(plan, 0, rows[i].name, rows[i].least, rows[i].most, &error),
                     rows[i].status);
        const uint64_t ahead = built();
        if (rows[i].later)
            CHECK_STATUS(hone_plan_set(plan, 0, rows[i].later, &error), HONE_OK);
        CHECK_EQ(built(), ahead);
        if (rows[i].refused)
            CHECK_STATUS(hone_plan_set(plan, 0, rows[i].refused, &error), HONE_ERROR_USAGE);
        hone_plan_destroy(&plan);
    }
    hone_device_close(&device);
}

/* What was forced stays forced: a value that it cannot do is an error, and leaves the plan. */
TEST(forced_variants_stay)
{
    device = support_open_quick();
    struct view in = support_picture(64, 40, HONE_U8, 1, 4), wanted = support_expected("box size=3", &in);
    const hone_plan_options forced = {.variant = "lines"};
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, &forced);
    struct view got = view_new(&in.desc);
    hone_error error;
    CHECK_STATUS(hone_plan_set(plan, 0, "size=31", &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "lines");
    CHECK_STATUS(hone_plan_apply(plan, in.data, 0, got.data, 0, &error), HONE_OK);
    CHECK_SAME(&got, &wanted, 0);
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
    hone_device_close(&device);
}
