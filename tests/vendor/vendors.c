/* SPDX-License-Identifier: BSD-2-Clause */
/* Vendors' extensions: used where a device lists them (a layer plays the device), replaced or refused where
 * not. */
#include "vendor.h"

#include "cl/selftest.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char log_file[PATH_MAX];

/* Plays a device that lists `add`. Must come before the first OpenCL call, which is why each test is a
 * process. */
static void play(const char *add)
{
    setenv("OPENCL_LAYERS", support_beside_program("vendor.so"), 1);
    setenv("FAKE_ADD", add, 1);
    snprintf(log_file, sizeof log_file, "%s/log", support_folder());
    setenv("FAKE_LOG", log_file, 1);
}

static void check_logged(const char *wanted)
{
    char *log = support_read(log_file, NULL);
    CHECK_TEXT(log ? log : "", wanted);
    free(log);
    unlink(log_file);
}

static void check_used(const char *extension)
{
    hone_device *device = support_open(NULL);
    CHECK_HAS(hone_device_get_info(device)->used_extensions, extension);
    hone_device_close(&device);
}

TEST(extensions_are_noticed)
{
    play("cl_qcom_perf_hint,cl_qcom_ion_host_ptr,cl_qcom_android_native_buffer_host_ptr,cl_khr_egl_image,"
         "cl_nv_device_attribute_query,cl_amd_device_attribute_query,cl_khr_fp16,cl_khr_subgroups,cl_fake_"
         "other");
    check_used("cl_qcom_perf_hint");
    check_used("cl_qcom_ion_host_ptr");
    check_used("cl_qcom_android_native_buffer_host_ptr");
    check_used("cl_khr_egl_image");
    check_used("cl_nv_device_attribute_query");
    check_used("cl_amd_device_attribute_query");
    check_used("cl_khr_subgroups");
    hone_device *device = support_open(NULL);
    CHECK(strstr(hone_device_get_info(device)->used_extensions, "cl_fake_other") == NULL);
    CHECK(hone_device_get_info(device)->fp16 && hone_device_get_info(device)->subgroups);
    hone_device_close(&device);
}

TEST(parts_of_names_are_not_names)
{
    play("cl_qcom_perf_hint_2,xcl_khr_egl_image");
    hone_device *device = support_open(NULL);
    CHECK(strstr(hone_device_get_info(device)->used_extensions, "perf_hint") == NULL);
    CHECK(strstr(hone_device_get_info(device)->used_extensions, "egl") == NULL);
    hone_device_close(&device);
}

/* ---- cl_qcom_perf_hint ---- */

static void check_hint(hone_performance hint, const char *logged)
{
    const hone_device_request request = {.performance = hint};
    hone_device *device = support_open(&request);
    hone_device_close(&device);
    check_logged(logged);
}

TEST(performance_hint)
{
    play("cl_qcom_perf_hint");
    check_hint(HONE_PERFORMANCE_HIGH, "perf-hint 40c3\n");
    check_hint(HONE_PERFORMANCE_NORMAL, "perf-hint 40c4\n");
    check_hint(HONE_PERFORMANCE_LOW, "perf-hint 40c5\n");
    check_hint(HONE_PERFORMANCE_DEFAULT, "");
    check_hint((hone_performance)77, "");
}

TEST(performance_hint_elsewhere_is_not_given)
{
    play("");
    check_hint(HONE_PERFORMANCE_HIGH, "");
}

/* ---- Imported memory ---- */

/* Filters `in` (imported, or wrapped in its place) into an image of hone's and compares. */
static void check_import(hone_device *device, const hone_external *external, const struct view *in)
{
    struct view wanted = support_expected("box size=3", in), got = view_new(&wanted.desc);
    hone_image *source = NULL, *target = NULL;
    hone_event *done = NULL;
    hone_error error;
    hone_plan *plan =
        support_plan(device, "box size=3", &in->desc, NULL); /* the self-test copies images, too */
    unlink(log_file);
    REQUIRE_OK(hone_image_import(&source, device, &in->desc, external, &error));
    REQUIRE_OK(hone_image_create(&target, device, &in->desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_plan_run(plan, source, target, NULL, 0, &done, &error));
    REQUIRE_OK(hone_image_download(target, got.data, 0, (const hone_event *const *)&done, 1, NULL, &error));
    CHECK_SAME(&got, &wanted, 0);
    hone_event_destroy(&done);
    hone_plan_destroy(&plan);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    view_finish(&wanted);
    view_finish(&got);
}

TEST(ion_memory)
{
    play("cl_qcom_ion_host_ptr");
    struct view in = support_picture(20, 10, HONE_U8, 1, 1);
    hone_device *device = support_open(NULL);
    check_import(device, &(hone_external){.kind = HONE_EXTERNAL_ION, .handle = 42, .host = in.data}, &in);
    check_logged("ion file 42 policy 40a5 bytes 200\n");
    hone_device_close(&device);
    view_finish(&in);
}

TEST(ion_memory_elsewhere_is_wrapped)
{
    play("");
    struct view in = support_picture(20, 10, HONE_U8, 1, 1);
    hone_device *device = support_open(NULL);
    check_import(device, &(hone_external){.kind = HONE_EXTERNAL_ION, .handle = 42, .host = in.data}, &in);
    check_logged("");
    hone_device_close(&device);
    view_finish(&in);
}

TEST(android_buffers)
{
    play("cl_qcom_android_native_buffer_host_ptr");
    struct view in = support_picture(20, 10, HONE_U8, 4, 1);
    hone_device *device = support_open(NULL);
    check_import(device, &(hone_external){.kind = HONE_EXTERNAL_ANDROID_BUFFER, .host = in.data}, &in);
    check_logged("android policy 40a5 bytes 800\n");
    hone_device_close(&device);
    view_finish(&in);
}

static void check_refused(hone_external_kind kind, const char *part)
{
    const hone_image_desc desc = {20, 10, HONE_U8, 4, 0};
    struct fake_egl_image egl = {20, 10, calloc(800, 1)};
    hone_device *device = support_open(NULL);
    hone_image *image = NULL;
    hone_error error;
    CHECK_STATUS(
        hone_image_import(&image, device, &desc, &(hone_external){.kind = kind, .host = &egl}, &error),
        HONE_ERROR_UNSUPPORTED);
    CHECK(image == NULL);
    CHECK_HAS(error.message, part);
    hone_device_close(&device);
    free(egl.pixels);
}

TEST(android_buffers_elsewhere_are_refused)
{
    play("");
    check_refused(HONE_EXTERNAL_ANDROID_BUFFER, "cl_qcom_android_native_buffer_host_ptr");
}

TEST(egl_images_elsewhere_are_refused)
{
    play("");
    check_refused(HONE_EXTERNAL_EGL_IMAGE, "cl_khr_egl_image");
}

TEST(egl_images_without_their_functions_are_refused)
{
    static const char *const functions[] = {"clCreateFromEGLImageKHR", "clEnqueueAcquireEGLObjectsKHR",
                                            "clEnqueueReleaseEGLObjectsKHR"};
    play("cl_khr_egl_image");
    for (size_t i = 0; i < 3; i++) {
        setenv("FAKE_WITHOUT", functions[i], 1);
        check_refused(HONE_EXTERNAL_EGL_IMAGE, "without its functions");
    }
}

static struct view egl_view(const struct fake_egl_image *egl)
{
    const struct view view = {{egl->width, egl->height, HONE_U8, 4, 0}, egl->pixels};
    return view;
}

static void check_egl(const hone_device_request *request)
{
    struct view in = support_picture(24, 12, HONE_U8, 4, 1), wanted = support_expected("box size=3", &in);
    struct fake_egl_image from = {24, 12, in.data}, to = {24, 12, calloc(24 * 12 * 4, 1)};
    hone_device *device = support_open(request);
    hone_image *source = NULL, *target = NULL;
    hone_event *done = NULL;
    hone_error error;
    const hone_external first = {.kind = HONE_EXTERNAL_EGL_IMAGE, .host = &from, .display = FAKE_EGL_DISPLAY};
    const hone_external second = {.kind = HONE_EXTERNAL_EGL_IMAGE, .host = &to, .display = FAKE_EGL_DISPLAY};
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    unlink(log_file);
    REQUIRE_OK(hone_image_import(&source, device, &in.desc, &first, &error));
    REQUIRE_OK(hone_image_import(&target, device, &in.desc, &second, &error));
    REQUIRE_OK(hone_plan_run(plan, source, target, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    REQUIRE_OK(hone_device_finish(device, &error));
    struct view got = egl_view(&to);
    CHECK_SAME(&got, &wanted, 0);
    check_logged("egl create display right properties none\n"
                 "egl create display right properties none\n"
                 "egl acquire 1\nimage to buffer, acquired 1\negl release 1\n"
                 "egl acquire 1\nbuffer to image, acquired 1\negl release 1\n");
    hone_event_destroy(&done);
    hone_plan_destroy(&plan);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    hone_device_close(&device);
    free(to.pixels);
    view_finish(&in);
    view_finish(&wanted);
}

TEST(egl_images)
{
    play("cl_khr_egl_image");
    check_egl(NULL);
}

TEST(egl_images_out_of_order)
{
    play("cl_khr_egl_image");
    check_egl(&(hone_device_request){.out_of_order = true});
}

TEST(egl_images_of_another_size_are_refused)
{
    play("cl_khr_egl_image");
    struct fake_egl_image egl = {21, 10, calloc(21 * 10, 4)};
    const hone_image_desc desc = {20, 10, HONE_U8, 4, 0};
    hone_device *device = support_open(NULL);
    hone_image *image = NULL;
    hone_error error;
    const hone_external external = {
        .kind = HONE_EXTERNAL_EGL_IMAGE, .host = &egl, .display = FAKE_EGL_DISPLAY};
    CHECK_STATUS(hone_image_import(&image, device, &desc, &external, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "21x10");
    hone_device_close(&device);
    free(egl.pixels);
}

/* ---- Attributes ---- */

TEST(nvidia_attributes)
{
    play("cl_nv_device_attribute_query");
    hone_device *device = support_open(NULL);
    const hone_device_info *info = hone_device_get_info(device);
    CHECK_TEXT(info->architecture, "sm_90");
    CHECK_EQ(info->registers_per_group, 65536);
    CHECK_EQ(info->simd_width, 32);
    /* Listed by a device that is none of NVIDIA's: the self-test does not believe it. */
    CHECK(!selftest_holds(device, SELFTEST_PTX));
    CHECK(!selftest_holds(device, SELFTEST_HALF));
    CHECK(selftest_passes(device));
    hone_device_close(&device);
}

TEST(amd_attributes)
{
    play("cl_amd_device_attribute_query");
    hone_device *device = support_open(NULL);
    const hone_device_info *info = hone_device_get_info(device);
    CHECK_TEXT(info->board, "Radeon of the Fake");
    CHECK_TEXT(info->architecture, "gfx10.3");
    CHECK_EQ(info->simd_width, 64);
    hone_device_close(&device);
    CHECK_EQ(hone_device_open(&device, &(hone_device_request){.spec = "radeon of the fake"}, NULL), HONE_OK);
    hone_device_close(&device);
}

TEST(no_attributes_elsewhere)
{
    play("");
    hone_device *device = support_open(NULL);
    const hone_device_info *info = hone_device_get_info(device);
    /* What PoCL says itself, such as "... HSTR: pthread-x86_64-pc-linux-gnu-haswell". */
    const size_t length = strlen(info->architecture), whole = strlen(info->device_version);
    REQUIRE(length > 0 && length < whole);
    CHECK_TEXT(info->device_version + whole - length, info->architecture);
    CHECK_EQ(info->device_version[whole - length - 1], '-');
    CHECK(!strstr(info->architecture, "sm_") && !strstr(info->architecture, "gfx"));
    CHECK_TEXT(info->board, "");
    CHECK_EQ(info->simd_width, 0);
    CHECK_EQ(info->registers_per_group, 0);
    hone_device_close(&device);
}

/* ---- Features that are listed but do not work ---- */

TEST(listed_features_are_tried)
{
    play("cl_khr_fp16,cl_khr_subgroups");
    hone_device *device = support_open(NULL);
    CHECK(hone_device_get_info(device)->fp16 && hone_device_get_info(device)->subgroups);
    if (support_is_pocl(device))
        CHECK(!selftest_holds(device, SELFTEST_HALF) && !selftest_holds(device, SELFTEST_SUBGROUPS));
    struct view in = support_picture(20, 10, HONE_U8, 1, 1), wanted = support_expected("box", &in);
    struct view got = view_new(&wanted.desc);
    hone_error error;
    CHECK_STATUS(hone_apply(device, "box", &in.desc, in.data, NULL, got.data, 200, &error), HONE_OK);
    CHECK_SAME(&got, &wanted, 0);
    hone_device_close(&device);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
}

TEST(hidden_features_are_not_used)
{
    play("");
    setenv("FAKE_HIDE", "cl_khr_fp64,cl_khr_fp16", 1);
    hone_device *device = support_open(NULL);
    CHECK(!hone_device_get_info(device)->fp64 && !hone_device_get_info(device)->fp16);
    CHECK(strstr(hone_device_get_info(device)->used_extensions, "fp64") == NULL);
    hone_device_close(&device);
}

/* Running doubles are what a CPU takes for means of floats; without doubles another variant has to do. */
TEST(floats_need_no_doubles)
{
    play("");
    setenv("FAKE_HIDE", "cl_khr_fp64", 1);
    hone_device *device = support_open(NULL);
    struct view in = support_picture(20, 10, HONE_F32, 1, 1), wanted = support_expected("box size=9", &in);
    struct view got = view_new(&wanted.desc);
    const hone_plan_options running = {.variant = "doubles"};
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, "box size=9", &error));
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &in.desc, &running, &error), HONE_ERROR_UNSUPPORTED);
    if (support_is_pocl(device))
        CHECK_HAS(error.message, "no double precision");
    CHECK_STATUS(hone_apply(device, "box size=9", &in.desc, in.data, NULL, got.data,
                            hone_image_bytes(&wanted.desc), &error),
                 HONE_OK);
    CHECK_SAME(&got, &wanted, 1e-5);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
}
