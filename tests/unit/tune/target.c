/* SPDX-License-Identifier: BSD-2-Clause */
/* What the worker process measures: a filter's case, and a kernel of the user's own. */
#include "tune/own/run/target.h"
#include "support.h"
#include "tune/worker/memory_file.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct stage {
    hone_device *device;
    struct held_file source, right;
    struct target *target;
    json_t *description;
};

static void finish(struct stage *stage)
{
    json_decref(stage->description);
    if (stage->target)
        stage->target->ops->close(stage->target);
    held_file_close(&stage->source);
    held_file_close(&stage->right);
    hone_device_close(&stage->device);
}

/* How the worker is asked to measure, and that answers are whole: a time only where it works. */
static struct measured measure(const struct stage *stage, const char *variant, const char *config)
{
    struct measured m = {.state = STATE_COUNT};
    stage->target->ops->measure(stage->target, variant, config, -1, &m);
    const bool works = m.state == STATE_OK || m.state == STATE_SLOW;
    CHECK(works == (m.note[0] == '\0'));
    return m;
}

/* ---- A kernel of the user's own ---- */

static const char source[] = "__kernel void plus(__global const uchar *in, __global uchar *out, uchar by)\n"
                             "{\n"
                             "    size_t i = get_global_id(0);\n"
                             "#if FAULT == 2\n"
                             "    nonsense;\n"
                             "#endif\n"
                             "    out[i] = in[i] + by + (FAULT == 1 && i == 70);\n"
                             "}\n";

static void no_compiling(void *context, const char *config)
{
    (void)context, (void)config;
}

static hone_status open_kernel(struct stage *stage, const char *global, hone_error *error)
{
    const struct target_opening opening = {.compiling = no_compiling};
    *stage = (struct stage){.device = support_open_quick()};
    REQUIRE(held_file_make(&stage->source, source, strlen(source), error) == HONE_OK);
    REQUIRE(held_file_make(&stage->right, "", 0, error) == HONE_OK);
    json_t *request =
        json_pack("{s:[[s, s], [s, s], [s, s], [s, s], [s, s], [s, s], [s, s]], s:s, s:s, s:[], s:s}",
                  "settings", "kernel-file", "plus.cl", "kernel", "plus", "param", "FAULT=0,1,2", "global",
                  global, "arg", "random:u8:256", "arg", "out:u8:256", "arg", "uchar:7", "source",
                  stage->source.path, "folder", "", "data", "expected", stage->right.path);
    REQUIRE(request);
    hone_status status = own_target_open(&stage->target, stage->device, request, &opening, error);
    json_decref(request);
    return status;
}

TEST(a_kernel_is_described)
{
    struct stage stage;
    hone_error error;
    REQUIRE_OK(open_kernel(&stage, "256", &error));
    stage.description = own_target_describe(stage.target);
    CHECK_TEXT(json_string_value(json_object_get(stage.description, "first")), "FAULT=0");
    const json_t *output = json_array_get(json_object_get(stage.description, "outputs"), 0);
    CHECK_EQ(json_array_size(json_object_get(stage.description, "outputs")), 1);
    CHECK_TEXT(json_string_value(json_object_get(output, "type")), "u8");
    CHECK_EQ(json_integer_value(json_object_get(output, "count")), 256);
    CHECK_EQ(json_integer_value(json_array_get(json_object_get(stage.description, "limits"), 0)),
             (json_int_t)hone_device_get_info(stage.device)->max_work_group);
    finish(&stage);
}

TEST(a_kernel_is_compared_with_its_first_configuration)
{
    struct stage stage;
    hone_error error;
    REQUIRE_OK(open_kernel(&stage, "256", &error));
    CHECK_EQ(measure(&stage, "reference", "FAULT=0").state, STATE_OK);
    struct measured m = measure(&stage, "kernel", "FAULT=0");
    CHECK_EQ(m.state, STATE_OK);
    CHECK(m.ms > 0 && m.run_count > 0);
    m = measure(&stage, "kernel", "FAULT=1");
    CHECK_EQ(m.state, STATE_WRONG);
    CHECK(m.ms < 0);
    CHECK_HAS(m.note, "1 of 256"); /* element 70 alone */
    CHECK_HAS(m.note, "70");
    m = measure(&stage, "kernel", "FAULT=2");
    CHECK_EQ(m.state, STATE_COMPILE);
    CHECK_HAS(m.note, "nonsense");
    finish(&stage);
}

TEST(kernels_that_do_not_build_have_no_runs_in_a_race)
{
    static const char *const variants[] = {"kernel", "kernel"}, *const configs[] = {"FAULT=2", "FAULT=0"};
    struct measured results[2];
    struct stage stage;
    hone_error error;
    REQUIRE_OK(open_kernel(&stage, "256", &error));
    stage.target->ops->race(stage.target, variants, configs, 2, 3, results);
    CHECK_EQ(results[0].run_count, 0);
    CHECK_EQ(results[1].run_count, 3);
    CHECK_EQ(results[1].state, STATE_OK);
    finish(&stage);
}

/* One work-item more than there are elements: it would write behind the output. */
TEST(a_kernel_that_writes_behind_its_output_is_found)
{
    struct stage stage;
    hone_error error;
    REQUIRE_OK(open_kernel(&stage, "257", &error));
    const struct measured m = measure(&stage, "reference", "FAULT=0");
    CHECK(m.state != STATE_OK);
    finish(&stage);
}

/* ---- A filter's case ---- */

static hone_status open_filter(struct stage *stage, const char *filter, const char *size, hone_error *error)
{
    *stage = (struct stage){.device = support_open_quick(), .source = {.fd = -1}};
    REQUIRE(held_file_make(&stage->right, "", 0, error) == HONE_OK);
    json_t *request =
        json_pack("{s:s, s:{s:s}, s:s, s:i, s:i, s:i, s:s}", "filter", filter, "parameters", "size", size,
                  "type", "u8", "channels", 1, "width", 200, "height", 100, "held", stage->right.path);
    REQUIRE(request);
    hone_status status = target_filter_open(&stage->target, stage->device, request, error);
    json_decref(request);
    return status;
}

TEST(a_filter_is_described)
{
    struct stage stage;
    hone_error error;
    bool direct = false;
    REQUIRE_OK(open_filter(&stage, "box", "5", &error));
    stage.description = target_filter_describe(stage.target);
    const json_t *name, *variants = json_object_get(stage.description, "variants"),
                        *names = json_object_get(stage.description, "names");
    size_t i;
    json_array_foreach(variants, i, name) direct = direct || strcmp(json_string_value(name), "direct") == 0;
    CHECK(direct);
    CHECK_EQ(json_integer_value(json_object_get(names, "W")), 200);
    CHECK_EQ(json_integer_value(json_object_get(names, "H")), 100);
    const json_t *seed = json_array_get(json_object_get(stage.description, "defaults"), 0);
    CHECK(json_is_string(json_object_get(seed, "variant")) &&
          json_is_boolean(json_object_get(seed, "known")));
    finish(&stage);
}

TEST(a_filter_is_measured)
{
    static const char *const variants[] = {"nothing", "direct"}, *const configs[] = {"", ""};
    struct measured results[2], m;
    struct stage stage;
    hone_error error;
    REQUIRE_OK(open_filter(&stage, "box", "5", &error));
    m = measure(&stage, "direct", "");
    CHECK_EQ(m.state, STATE_OK);
    CHECK(m.ms > 0 && m.run_count > 0);
    m = measure(&stage, "nothing", "");
    CHECK_EQ(m.state, STATE_COMPILE);
    CHECK_HAS(m.note, "box has no variant 'nothing'");
    m = measure(&stage, "direct", "NOTHING=1");
    CHECK_EQ(m.state, STATE_COMPILE);
    CHECK_HAS(m.note, "NOTHING");
    stage.target->ops->race(stage.target, variants, configs, 2, 3, results);
    CHECK_EQ(results[0].run_count, 0);
    CHECK_EQ(results[1].run_count, 3);
    finish(&stage);
}

TEST(what_makes_no_case_is_refused)
{
    struct stage stage;
    hone_error error;
    CHECK_STATUS(open_filter(&stage, "nothing", "5", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "there is no filter 'nothing'");
    finish(&stage);
    CHECK_STATUS(open_filter(&stage, "box", "five", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "five");
    CHECK(!stage.target);
    finish(&stage);
}
