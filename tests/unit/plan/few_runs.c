/* SPDX-License-Identifier: BSD-2-Clause */
/* A GPU gets a short program for a few runs, until the best one is compiled. */
#include "hone/plan.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static const hone_image_desc desc = {320, 200, HONE_U8, 1, 0};

static hone_device *open_gpu(void)
{
    setenv("FAKE_TYPE", "4", 1);
    setenv("OPENCL_LAYERS", support_beside_program("vendor.so"), 1);
    setenv("XDG_CACHE_HOME", support_folder(), 1);
    hone_device *device = support_open(NULL);
    CHECK_EQ(hone_device_get_info(device)->kind, HONE_DEVICE_GPU);
    return device;
}

static bool is_brief(const hone_plan *plan, size_t step)
{
    hone_step_info info = {0};
    REQUIRE(hone_plan_step(plan, step, &info));
    return strcmp(info.origin, "quick to compile") == 0 || strcmp(info.origin, "compiled already") == 0;
}

static bool makes_brief(hone_device *device, const char *chain, const hone_plan_options *options)
{
    hone_plan *plan = support_plan(device, chain, &desc, options);
    const bool brief = is_brief(plan, 0);
    hone_plan_destroy(&plan);
    return brief;
}

static void check_run(hone_plan *plan, const char *chain, const struct view *in)
{
    hone_error error;
    struct view wanted = support_expected(chain, in), out = view_new(&wanted.desc);
    CHECK(is_brief(plan, 0));
    REQUIRE_OK(hone_plan_apply(plan, in->data, in->desc.pitch, out.data, out.desc.pitch, &error));
    CHECK_SAME(&out, &wanted, 0);
    view_finish(&out);
    view_finish(&wanted);
}

static void check_result(hone_device *device, const char *chain, hone_type type, uint32_t channels)
{
    struct view in = support_picture(321, 199, type, channels, 7);
    hone_plan *plan = support_plan(device, chain, &in.desc, &(hone_plan_options){.runs = 1});
    check_run(plan, chain, &in);
    hone_plan_destroy(&plan);
    view_finish(&in);
}

TEST(one_run_gets_a_short_program_and_the_right_result)
{
    hone_device *device = open_gpu();
    check_result(device, "box size=31", HONE_U8, 1);
    check_result(device, "box size=31", HONE_U16, 3);
    check_result(device, "sobel", HONE_U8, 4);
    check_result(device, "epsilon", HONE_U16, 1);
    hone_device_close(&device);
}

TEST(another_parameter_gets_a_short_program_too)
{
    hone_error error;
    hone_device *device = open_gpu();
    struct view in = support_picture(321, 199, HONE_U8, 3, 7);
    hone_plan *plan = support_plan(device, "box size=31", &in.desc, &(hone_plan_options){.runs = 1});
    REQUIRE_OK(hone_plan_set(plan, 0, "size=9", &error));
    check_run(plan, "box size=9", &in);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(the_best_program_serves_once_it_is_compiled)
{
    hone_device *device = open_gpu();
    const hone_plan_options once = {.runs = 1}, often = {0};
    CHECK(makes_brief(device, "box size=31", &once));
    CHECK(!makes_brief(device, "box size=31", &often));
    CHECK(!makes_brief(device, "box size=31", &once));
    hone_device_close(&device);
}

TEST(many_runs_and_large_windows_get_the_best_program)
{
    hone_device *device = open_gpu();
    const hone_device_info *info = hone_device_get_info(device);
    const double per_run = (31 + 31) * (double)desc.width * desc.height; /* additions */
    const double clock = info->clock_mhz ? info->clock_mhz : 1000;
    const double enough = 16 * info->compute_units * clock * 1e6 * 0.02 / per_run;
    CHECK(makes_brief(device, "box size=31", &(hone_plan_options){.runs = (uint32_t)(enough / 4)}));
    CHECK(!makes_brief(device, "box size=31", &(hone_plan_options){.runs = (uint32_t)(enough * 4)}));
    CHECK(!makes_brief(device, "box size=31", NULL));
    hone_device_close(&device);
}

TEST(what_is_forced_stays)
{
    hone_device *device = open_gpu();
    hone_step_info info = {0};
    hone_plan *plan =
        support_plan(device, "box size=31", &desc, &(hone_plan_options){.variant = "running", .runs = 1});
    REQUIRE(hone_plan_step(plan, 0, &info));
    CHECK_TEXT(info.variant, "running");
    CHECK_TEXT(info.origin, "forced");
    hone_plan_destroy(&plan);
    CHECK(!makes_brief(device, "gaussian exact=yes", &(hone_plan_options){.runs = 1}));
    hone_device_close(&device);
}

static void check_choice(hone_device *device, uint32_t runs, bool compiled, const char *variant)
{
    hone_step_info info = {0};
    hone_plan *plan = support_plan(device, "box size=5", &desc, &(hone_plan_options){.runs = runs});
    REQUIRE(hone_plan_step(plan, 0, &info));
    CHECK_EQ(strcmp(info.origin, "compiled already") == 0, compiled);
    if (variant)
        CHECK_TEXT(info.variant, variant);
    hone_plan_destroy(&plan);
}

TEST(what_is_compiled_already_serves_a_few_runs)
{
    hone_device *device = support_open_quick();
    hone_plan *forced =
        support_plan(device, "box size=7", &desc, &(hone_plan_options){.variant = "direct", .runs = 1});
    hone_plan_destroy(&forced);
    check_choice(device, 1, true, "direct");       /* which takes the window as arguments */
    check_choice(device, 1000000000, false, NULL); /* too many; compiles the best one */
    check_choice(device, 1, false, NULL);
    hone_device_close(&device);
}

TEST(processors_get_the_best_program_at_once)
{
    hone_device *device = support_open_quick();
    if (hone_device_get_info(device)->kind == HONE_DEVICE_GPU)
        test_skip("this device is a GPU");
    CHECK(!makes_brief(device, "box size=31", &(hone_plan_options){.runs = 1}));
    hone_device_close(&device);
}
