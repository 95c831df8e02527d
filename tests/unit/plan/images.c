/* SPDX-License-Identifier: BSD-2-Clause */
/* Images: made, wrapped, mapped, shared, imported; who owns the pixels when. */
#include "hone/image.h"

#include "hone/plan.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

static hone_device *device;

static bool works_on_host_memory(void)
{
    return hone_device_get_info(device)->kind == HONE_DEVICE_CPU;
}

/* Runs "box size=3" from one image to another and waits. */
static void run_box(hone_image *in, hone_image *out)
{
    hone_error error;
    hone_event *done = NULL;
    hone_plan *plan = support_plan(device, "box size=3", hone_image_get_desc(in), NULL);
    REQUIRE_OK(hone_plan_run(plan, in, out, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    hone_event_destroy(&done);
    hone_plan_destroy(&plan);
}

static void check_memory_kind(hone_memory kind, size_t pitch)
{
    device = support_open_quick();
    struct view in = support_picture(33, 14, HONE_U16, 1, 9), wanted = support_expected("box size=3", &in);
    hone_image_desc desc = in.desc;
    hone_image *source = NULL, *target = NULL;
    hone_error error;
    desc.pitch = pitch;
    if (kind == HONE_MEMORY_SHARED && !hone_device_get_info(device)->svm_coarse) {
        CHECK_STATUS(hone_image_create(&source, device, &desc, kind, &error), HONE_ERROR_UNSUPPORTED);
        CHECK(source == NULL);
        return;
    }
    REQUIRE_OK(hone_image_create(&source, device, &desc, kind, &error));
    REQUIRE_OK(hone_image_create(&target, device, &desc, kind, &error));
    CHECK_EQ(hone_image_get_desc(source)->pitch, pitch ? pitch : 66);
    CHECK_STATUS(hone_image_upload(source, in.data, 0, NULL, 0, NULL, &error), HONE_OK);
    run_box(source, target);
    struct view got = view_new(&wanted.desc);
    CHECK_STATUS(hone_image_download(target, got.data, 0, NULL, 0, NULL, &error), HONE_OK);
    CHECK_SAME(&got, &wanted, 0);
    /* and the same through mapping */
    void *pixels = NULL;
    REQUIRE_OK(hone_image_map(target, false, &pixels, &error));
    struct view mapped = {*hone_image_get_desc(target), pixels};
    CHECK_SAME(&mapped, &wanted, 0);
    CHECK_STATUS(hone_image_map(target, false, &pixels, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_unmap(target, &error), HONE_OK);
    CHECK_STATUS(hone_image_unmap(target, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_download(target, NULL, 0, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    hone_image_destroy(&source);
    CHECK(source == NULL);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
    hone_device_close(&device);
}

TEST(device_memory)
{
    check_memory_kind(HONE_MEMORY_DEVICE, 0);
    check_memory_kind(HONE_MEMORY_DEVICE, 80);
}

TEST(mapped_memory)
{
    check_memory_kind(HONE_MEMORY_MAPPED, 0);
    check_memory_kind(HONE_MEMORY_MAPPED, 80);
}

TEST(shared_virtual_memory)
{
    check_memory_kind(HONE_MEMORY_SHARED, 0);
    check_memory_kind(HONE_MEMORY_SHARED, 80);
}

TEST(writing_through_a_map)
{
    device = support_open_quick();
    struct view in = support_picture(16, 8, HONE_U8, 1, 9), wanted = support_expected("box size=3", &in);
    hone_image *source = NULL, *target = NULL;
    void *pixels = NULL;
    hone_error error;
    REQUIRE_OK(hone_image_create(&source, device, &in.desc, HONE_MEMORY_MAPPED, &error));
    REQUIRE_OK(hone_image_create(&target, device, &in.desc, HONE_MEMORY_MAPPED, &error));
    REQUIRE_OK(hone_image_map(source, true, &pixels, &error));
    memcpy(pixels, in.data, hone_image_bytes(&in.desc));
    /* still mapped: the plan hands it over by itself */
    run_box(source, target);
    struct view got = view_new(&wanted.desc);
    CHECK_STATUS(hone_image_download(target, got.data, 0, NULL, 0, NULL, &error), HONE_OK);
    CHECK_SAME(&got, &wanted, 0);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
    hone_device_close(&device);
}

/* Wrapped memory with any pitch and any alignment that the type allows. */
static void check_wrapped(size_t pitch, size_t shift)
{
    struct view in = support_picture(20, 9, HONE_U16, 1, 11), wanted = support_expected("box size=3", &in);
    hone_image_desc desc = in.desc;
    hone_image *source = NULL, *target = NULL;
    hone_error error;
    desc.pitch = pitch;
    size_t bytes = hone_image_bytes(&desc);
    char *from = malloc(bytes + shift), *to = malloc(bytes + shift);
    REQUIRE(from && to);
    memset(to, 0x77, bytes + shift);
    for (uint32_t y = 0; y < desc.height; y++)
        memcpy(from + shift + y * pitch, (char *)in.data + y * 40, 40);
    REQUIRE_OK(hone_image_wrap(&source, device, &desc, from + shift, &error));
    REQUIRE_OK(hone_image_wrap(&target, device, &desc, to + shift, &error));
    CHECK_EQ(hone_image_is_zero_copy(source), works_on_host_memory());
    run_box(source, target);
    REQUIRE_OK(hone_image_download(target, NULL, 0, NULL, 0, NULL, &error));
    struct view got = {desc, to + shift};
    CHECK_SAME(&got, &wanted, 0);
    for (uint32_t y = 0; y + 1 < desc.height; y++) /* the padding is the caller's */
        for (size_t i = 40; i < pitch; i++)
            CHECK(to[shift + y * pitch + i] == 0x77);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    free(from);
    free(to);
    view_finish(&in);
    view_finish(&wanted);
}

TEST(wrapped_memory)
{
    device = support_open_quick();
    check_wrapped(40, 0);
    check_wrapped(48, 0);
    check_wrapped(44, 2);
    check_wrapped(4096, 6);
    hone_device_close(&device);
}

TEST(wrapped_memory_frame_after_frame)
{
    device = support_open_quick();
    struct view in = support_picture(31, 17, HONE_U8, 3, 1);
    uint8_t *from = malloc(31 * 17 * 3), *to = malloc(31 * 17 * 3);
    hone_image *source = NULL, *target = NULL;
    hone_error error;
    REQUIRE(from && to);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    REQUIRE_OK(hone_image_wrap(&source, device, &in.desc, from, &error));
    REQUIRE_OK(hone_image_wrap(&target, device, &in.desc, to, &error));
    for (uint32_t frame = 0; frame < 8; frame++) {
        struct view next = support_picture(31, 17, HONE_U8, 3, 50 + frame),
                    wanted = support_expected("box size=3", &next);
        hone_event *done = NULL;
        REQUIRE_OK(
            hone_image_download(source, NULL, 0, NULL, 0, NULL, &error)); /* back to the host, to be filled */
        memcpy(from, next.data, 31 * 17 * 3);
        REQUIRE_OK(hone_image_upload(source, NULL, 0, NULL, 0, NULL, &error));
        REQUIRE_OK(hone_plan_run(plan, source, target, NULL, 0, &done, &error));
        REQUIRE_OK(hone_image_download(target, NULL, 0, (const hone_event *const *)&done, 1, NULL, &error));
        struct view got = {in.desc, to};
        CHECK_SAME(&got, &wanted, 0);
        hone_event_destroy(&done);
        view_finish(&next);
        view_finish(&wanted);
    }
    hone_plan_destroy(&plan);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    free(from);
    free(to);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(memory_may_go_as_soon_as_the_image_is_gone)
{
    device = support_open_quick();
    const hone_image_desc desc = {64, 64, HONE_U8, 1, 0};
    hone_plan *plan = support_plan(device, "box size=3", &desc, NULL);
    hone_error error;
    for (int i = 0; i < 20; i++) {
        char *from = calloc(64 * 64, 1), *to = calloc(64 * 64, 1);
        hone_image *source = NULL, *target = NULL;
        REQUIRE(from && to);
        REQUIRE_OK(hone_image_wrap(&source, device, &desc, from, &error));
        REQUIRE_OK(hone_image_wrap(&target, device, &desc, to, &error));
        REQUIRE_OK(hone_plan_run(plan, source, target, NULL, 0, NULL, &error));
        REQUIRE_OK(hone_device_finish(device, &error));
        hone_image_destroy(&source);
        hone_image_destroy(&target);
        memset(from, 0xff, 64 * 64);
        memset(to, 0xff, 64 * 64);
        free(from);
        free(to);
    }
    hone_plan_destroy(&plan);
    hone_device_close(&device);
}

TEST(uploads_and_downloads_with_pitches)
{
    device = support_open_quick();
    const hone_image_desc desc = {10, 4, HONE_U16, 2, 64};
    hone_image *image = NULL;
    uint8_t from[4 * 50], to[4 * 44];
    hone_error error;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)i;
    memset(to, 0xee, sizeof to);
    REQUIRE_OK(hone_image_create(&image, device, &desc, HONE_MEMORY_DEVICE, &error));
    CHECK_STATUS(hone_image_upload(image, from, 50, NULL, 0, NULL, &error), HONE_OK);
    CHECK_STATUS(hone_image_download(image, to, 44, NULL, 0, NULL, &error), HONE_OK);
    for (size_t y = 0; y < 4; y++)
        for (size_t x = 0; x < 44; x++)
            CHECK_EQ(to[y * 44 + x], x < 40 ? (uint8_t)(y * 50 + x) : 0xee);
    CHECK_STATUS(hone_image_upload(image, from, 39, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "shorter than a row of 40");
    CHECK_STATUS(hone_image_upload(image, from, (size_t)1 << 63, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_download(image, to, SIZE_MAX - 1, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "too large"); /* the address of the second row would be before the first */
    CHECK_STATUS(hone_image_upload(image, NULL, 0, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    hone_image_destroy(&image);
    hone_device_close(&device);
}

TEST(wrong_requests)
{
    device = support_open_quick();
    const hone_image_desc good = {4, 4, HONE_F32, 1, 0}, none = {0, 4, HONE_F32, 1, 0};
    _Alignas(16) char memory[128] = {0};
    hone_image *image = (hone_image *)memory;
    hone_error error;
    CHECK_STATUS(hone_image_create(&image, device, &none, HONE_MEMORY_DEVICE, &error), HONE_ERROR_USAGE);
    CHECK(image == NULL);
    CHECK_STATUS(hone_image_create(NULL, device, &good, HONE_MEMORY_DEVICE, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_create(&image, NULL, &good, HONE_MEMORY_DEVICE, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_create(&image, device, NULL, HONE_MEMORY_DEVICE, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_wrap(&image, device, &good, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_wrap(&image, device, &good, memory + 2, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "aligned to 4 bytes");
    CHECK_STATUS(hone_image_import(&image, device, &good, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(
        hone_image_import(&image, device, &good, &(hone_external){.kind = (hone_external_kind)17}, &error),
        HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "unknown kind of external memory (17)");
    hone_device_close(&device);
}

TEST(more_memory_than_the_device_gives)
{
    device = support_open_quick();
    const hone_image_desc huge = {1 << 20, 1 << 10, HONE_F32, 4, 0};
    hone_image *image = NULL;
    hone_error error;
    hone_status status = hone_image_create(&image, device, &huge, HONE_MEMORY_DEVICE, &error);
    if (hone_device_get_info(device)->max_allocation < hone_image_bytes(&huge)) {
        CHECK_STATUS(status, HONE_ERROR_MEMORY);
        CHECK(image == NULL);
    }
    hone_image_destroy(&image);
    hone_device_close(&device);
}
