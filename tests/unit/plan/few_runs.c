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
    return strcmp(info.origin, "quick to compile") == 0;
}

static bool makes_brief(hone_device *device, const char *chain, const hone_plan_options *options)
{
    hone_plan *plan = support_plan(device, chain, &desc, options);
    const bool brief = is_brief(plan, 0);
    hone_plan_destroy(&plan);
    return brief;
}

static void check_result(hone_device *device, const char *chain)
{
    hone_error error;
    struct view in = support_picture(desc.width, desc.height, HONE_U8, 1, 7), out;
    struct view wanted = support_expected(chain, &in);
    hone_plan *plan = support_plan(device, chain, &desc, &(hone_plan_options){.runs = 1});
    CHECK(is_brief(plan, 0));
    out = support_picture(desc.width, desc.height, HONE_U8, 1, 9);
    REQUIRE_OK(hone_plan_apply(plan, in.data, in.desc.pitch, out.data, out.desc.pitch, &error));
    CHECK_SAME(&out, &wanted, 0);
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&out);
    view_finish(&wanted);
}

TEST(one_run_gets_a_short_program_and_the_right_result)
{
    hone_device *device = open_gpu();
    check_result(device, "box size=31");
    check_result(device, "sobel");
    check_result(device, "epsilon");
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

TEST(processors_get_the_best_program_at_once)
{
    hone_device *device = support_open_quick();
    if (hone_device_get_info(device)->kind == HONE_DEVICE_GPU)
        test_skip("this device is a GPU");
    CHECK(!makes_brief(device, "box size=31", &(hone_plan_options){.runs = 1}));
    hone_device_close(&device);
}
