/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics of the user's own: values by hand, and what is told of mistakes. */
#include "tune/session/metrics.h"

#include "test.h"

#include <math.h>
#include <string.h>

static const char *const tunables[] = {"PX", "ROWS"};
static const char *const case_names[] = {"W"};
static const int64_t case_values[] = {640};
static const struct expr_scope of_case = {.names = case_names, .values = case_values, .count = 1};
static const int64_t point[] = {16};
static const struct record_figures figures = {.known = 1u << FIGURE_REGISTERS | 1u << FIGURE_ENERGY,
                                              .values = {[FIGURE_REGISTERS] = 41, [FIGURE_ENERGY] = 0.25}};

static struct metric_source source(double ms)
{
    return (struct metric_source){
        .names = {.outer = &of_case, .names = tunables, .values = point, .count = 1},
        .ms = ms,
        .bytes = 3e9,
        .flops = NAN,
        .figures = &figures};
}

static void add(struct metrics *metrics, const char *text)
{
    hone_error error;
    CHECK_STATUS(metrics_add(metrics, text, &error), HONE_OK);
}

/* Time is in seconds; a metric may use those before it. */
TEST(metrics_are_computed_from_what_is_known)
{
    struct metrics m = {0};
    const struct metric_source from = source(2);
    double values[METRICS_MOST];
    add(&m, "gbs=bytes/time/1e9");
    add(&m, "twice=2*gbs+PX");
    add(&m, "wide=W/ms");
    add(&m, "watts=energy/time");
    metrics_compute(&m, &from, values);
    CHECK(fabs(values[0] - 1500) < 1e-9);
    CHECK(fabs(values[1] - 3016) < 1e-9);
    CHECK(fabs(values[2] - 320) < 1e-9);
    CHECK(fabs(values[3] - 125) < 1e-9);
    CHECK(metrics_need(&m, FIGURE_ENERGY) && !metrics_need(&m, FIGURE_REGISTERS));
}

/* min() would take the other number, and hide it. */
TEST(what_needs_something_unknown_is_not_known)
{
    struct metrics m = {0};
    const struct metric_source from = source(2);
    double values[METRICS_MOST];
    add(&m, "a=min(spills,1)");
    add(&m, "b=registers > 40 ? 1 : spills");
    add(&m, "c=a+1");
    add(&m, "d=1/(registers-41)");
    add(&m, "e=ROWS");
    metrics_compute(&m, &from, values);
    CHECK(isnan(values[0]) && isnan(values[2]) && isnan(values[3]) && isnan(values[4]));
    CHECK(values[1] == 1);
}

TEST(more_or_less_is_better)
{
    struct metrics m = {0};
    hone_error error;
    char text[40];
    add(&m, "gbs=bytes/time/1e9");
    CHECK(metrics_by_time(&m) && metrics_by_time(NULL));
    CHECK_STATUS(metrics_set_objective(&m, "gbs", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "gbs:max");
    CHECK_STATUS(metrics_set_objective(&m, "gbs:best", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(metrics_set_objective(&m, "gbs:max", &error), HONE_OK);
    CHECK(!metrics_by_time(&m));
    CHECK(metrics_cost(&m, 20) < metrics_cost(&m, 10) && metrics_cost(&m, 10) < metrics_cost(&m, 0));
    CHECK(metrics_cost(&m, NAN) < 0 && metrics_cost(&m, -1) < 0 && metrics_cost(&m, 0) >= 0);
    metrics_print_objective(&m, text, sizeof text);
    CHECK_TEXT(text, "gbs:max");
    CHECK_STATUS(metrics_set_objective(&m, "registers:min", &error), HONE_OK);
    const struct metric_source from = source(2);
    double values[METRICS_MOST];
    metrics_compute(&m, &from, values);
    CHECK(metrics_objective(&m, &from, values) == 41);
    CHECK(metrics_cost(&m, 20) > metrics_cost(&m, 10));
    CHECK_STATUS(metrics_set_objective(&m, "energy", &error), HONE_OK);
    CHECK(metrics_need(&m, FIGURE_ENERGY) && metrics_objective(&m, &from, values) == 0.25);
    CHECK_STATUS(metrics_set_objective(&m, "time", &error), HONE_OK);
    CHECK(metrics_by_time(&m));
}

static void refused(const char *text, const char *objective, hone_status status, const char *part, int column)
{
    struct metrics m = {0};
    hone_error error = {0};
    const struct metric_source any = source(1);
    json_t *missing = json_pack("{s:s}", "spills", "nobody tells");
    if (text)
        add(&m, text);
    if (objective)
        CHECK_STATUS(metrics_set_objective(&m, objective, &error), HONE_OK);
    CHECK_STATUS(metrics_check(&m, &any, tunables, 2, missing, &error), status);
    if (status)
        CHECK_HAS(error.message, part);
    CHECK_EQ(error.column, column);
    json_decref(missing);
}

TEST(mistakes_are_told)
{
    struct metrics m = {0};
    hone_error error;
    CHECK_STATUS(metrics_add(&m, "bytes/time", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(metrics_add(&m, "9=time", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(metrics_add(&m, "time=1", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(metrics_add(&m, "a=1+", &error), HONE_ERROR_USAGE);
    add(&m, "a=1");
    CHECK_STATUS(metrics_add(&m, "a=2", &error), HONE_ERROR_USAGE);
    refused("x=ROWS*PX+W+time", NULL, HONE_OK, "", 0);
    refused("x=1 + Rows", NULL, HONE_ERROR_USAGE, "unknown name 'Rows'; there are", 7);
    refused("x=1 + Rows", NULL, HONE_ERROR_USAGE, "ROWS", 7);
    refused("x=x", NULL, HONE_ERROR_USAGE, "unknown name 'x'", 3);
    refused("x=flops/time", NULL, HONE_ERROR_USAGE, "--flops", 0);
    refused("x=2*spills", NULL, HONE_OK, "", 0);
    refused("x=2*spills", "x:min", HONE_ERROR_UNSUPPORTED, "nobody tells", 0);
    refused(NULL, "spills:min", HONE_ERROR_UNSUPPORTED, "nobody tells", 0);
    refused(NULL, "nothing:min", HONE_ERROR_USAGE, "unknown name 'nothing'", 1);
}
