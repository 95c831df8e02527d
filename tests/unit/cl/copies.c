/* SPDX-License-Identifier: BSD-2-Clause */
/* What hone says that it copied, against the OpenCL calls as a layer between counted them; and how long that
 * took. */
#include "cl/device.h"
#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static hone_device *device;
static long (*layer_copies)(const char *name, unsigned long *bytes);
static long (*layer_events)(void);

/* The layer is the loader's; it counts in this process, from the first call on. */
static void begin_with(hone_device_request request)
{
    const char *path = support_beside_program("layer.so");
    setenv("OPENCL_LAYERS", path, 1);
    request.size = sizeof request;
    request.no_disk_cache = true;
    device = support_open(&request);
    void *layer = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(layer);
    *(void **)&layer_copies = dlsym(layer, "layer_copies");
    *(void **)&layer_events = dlsym(layer, "layer_events");
    REQUIRE(layer_copies && layer_events);
}

static void begin(void)
{
    begin_with((hone_device_request){.profile = true});
}

static void add(hone_copies *sum, const char *call)
{
    unsigned long bytes = 0;
    sum->count += (uint64_t)layer_copies(call, &bytes);
    sum->bytes += bytes;
}

static hone_copy_counts counted(void)
{
    hone_copy_counts sum = {0};
    add(&sum.uploads, "clEnqueueWriteBuffer");
    add(&sum.uploads, "clEnqueueWriteBufferRect");
    add(&sum.uploads, "clCreateBuffer");
    add(&sum.downloads, "clEnqueueReadBuffer");
    add(&sum.downloads, "clEnqueueReadBufferRect");
    add(&sum.moves, "clEnqueueCopyBuffer");
    add(&sum.moves, "clEnqueueCopyBufferRect");
    add(&sum.conversions, "clEnqueueCopyBufferToImage");
    add(&sum.conversions, "clEnqueueCopyImageToBuffer");
    return sum;
}

static void check_kind(const char *kind, hone_copies got, hone_copies now, hone_copies before)
{
    if (got.count != now.count - before.count || got.bytes != now.bytes - before.bytes)
        test_fail(__FILE__, __LINE__, "%s: hone says %llu of %llu bytes, there were %llu of %llu", kind,
                  (unsigned long long)got.count, (unsigned long long)got.bytes,
                  (unsigned long long)(now.count - before.count),
                  (unsigned long long)(now.bytes - before.bytes));
}

/* The calls between two looks at the layer. */
static void check_counts(hone_copy_counts got, hone_copy_counts before)
{
    const hone_copy_counts now = counted();
    check_kind("uploads", got.uploads, now.uploads, before.uploads);
    check_kind("downloads", got.downloads, now.downloads, before.downloads);
    check_kind("moves", got.moves, now.moves, before.moves);
    check_kind("conversions", got.conversions, now.conversions, before.conversions);
}

struct wanted {
    uint64_t moves, conversions; /* of the whole picture */
};

/* Pixels `in_at` and `out_at` bytes behind a page, in rows of `pitch` bytes. */
static void check_apply(const char *chain, const char *variant, size_t in_at, size_t out_at, size_t pitch,
                        struct wanted wanted)
{
    enum { WIDTH = 320, HEIGHT = 60, PAGE = 4096 };
    const hone_image_desc desc = {.width = WIDTH, .height = HEIGHT, .type = HONE_U8, .channels = 1};
    const size_t room = pitch * HEIGHT + PAGE;
    char *in = aligned_alloc(PAGE, (room + PAGE - 1) / PAGE * PAGE),
         *out = aligned_alloc(PAGE, (room + PAGE - 1) / PAGE * PAGE);
    hone_plan *plan = support_plan(device, chain, &desc, &(hone_plan_options){.variant = variant});
    hone_error error;
    REQUIRE(in && out);
    memset(in, 7, room);
    const hone_copy_counts before = counted();
    CHECK_STATUS(hone_plan_apply(plan, in + in_at, pitch, out + out_at, pitch, &error), HONE_OK);
    const hone_copy_counts got = hone_plan_copies(plan);
    check_counts(got, before);
    CHECK_EQ(got.moves.bytes, wanted.moves * WIDTH * HEIGHT);
    CHECK_EQ(got.conversions.count, wanted.conversions);
    CHECK_EQ(got.conversions.bytes, wanted.conversions * WIDTH * HEIGHT);
    CHECK_EQ(got.uploads.count + got.downloads.count + got.maps.count, 0);
    hone_plan_destroy(&plan);
    free(in);
    free(out);
}

TEST(a_run_says_what_it_copied)
{
    begin();
    if (!support_is_pocl(device)) /* which works in the host's memory */
        test_skip("no PoCL");
    check_apply("sobel", "strips", 0, 0, 320, (struct wanted){0, 0});
    check_apply("sobel", "strips", 0, 0, 321, (struct wanted){2, 0});
    check_apply("sobel", "strips", 3, 0, 320, (struct wanted){1, 0});
    check_apply("sobel", "strips", 3, 1, 325, (struct wanted){2, 0});
    check_apply("sobel", "texture", 0, 0, 320, (struct wanted){0, 1});
    check_apply("sobel", "texture", 0, 0, 336, (struct wanted){1, 1});
    hone_device_close(&device);
}

TEST(a_device_says_all_that_was_copied)
{
    begin();
    struct view picture = support_picture(317, 21, HONE_U8, 1, 6),
                result = support_picture(317, 21, HONE_U8, 1, 7);
    hone_plan *plan =
        support_plan(device, "convolve kernel='3x3: 1 2 1 2 4 2 1 2 1' | sobel", &picture.desc, NULL);
    hone_image *in = NULL, *out = NULL;
    hone_error error;
    REQUIRE_OK(hone_image_create(&in, device, &picture.desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_create(&out, device, &result.desc, HONE_MEMORY_MAPPED, &error));
    CHECK_STATUS(hone_image_upload(in, picture.data, 0, NULL, 0, NULL, &error), HONE_OK);
    CHECK_STATUS(hone_plan_run(plan, in, out, NULL, 0, NULL, &error), HONE_OK);
    CHECK_STATUS(hone_image_download(out, result.data, 0, NULL, 0, NULL, &error), HONE_OK);
    const hone_copy_counts got = hone_device_get_counts(device).copies;
    check_counts(got, (hone_copy_counts){0});
    CHECK(got.uploads.bytes >= 317 * 21 && got.downloads.bytes >= 317 * 21);
    hone_plan_destroy(&plan);
    hone_image_destroy(&in);
    hone_image_destroy(&out);
    view_finish(&picture);
    view_finish(&result);
    hone_device_close(&device);
}

/* ---- Times ---- */

struct run {
    struct view picture;
    hone_plan *plan;
    hone_image *in, *out;
};

/* All that a run of a chain takes. */
static struct run begin_run(const char *chain, const char *variant)
{
    struct run r = {.picture = support_picture(320, 240, HONE_U8, 1, 6)};
    hone_error error;
    r.plan = support_plan(device, chain, &r.picture.desc, &(hone_plan_options){.variant = variant});
    REQUIRE_OK(hone_image_create(&r.in, device, &r.picture.desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_create(&r.out, device, hone_plan_output(r.plan), HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_upload(r.in, r.picture.data, 0, NULL, 0, NULL, &error));
    return r;
}

static void end_run(struct run *r)
{
    hone_plan_destroy(&r->plan);
    hone_image_destroy(&r->in);
    hone_image_destroy(&r->out);
    view_finish(&r->picture);
}

static hone_durations run_once(const char *chain, const char *variant, uint64_t *whole)
{
    struct run r = begin_run(chain, variant);
    hone_event *done = NULL;
    hone_times times;
    hone_durations durations = {0};
    hone_error error;
    REQUIRE_OK(hone_plan_run(r.plan, r.in, r.out, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    REQUIRE_OK(hone_event_times(done, &times, &error));
    CHECK_STATUS(hone_event_durations(done, &durations, &error), HONE_OK);
    *whole = times.ended - times.started;
    hone_event_destroy(&done);
    end_run(&r);
    return durations;
}

TEST(kernels_are_timed_without_the_copies_around_them)
{
    uint64_t whole = 0;
    begin();
    if (!support_is_pocl(device))
        test_skip("no PoCL");
    hone_durations got = run_once("sobel", "direct", &whole);
    CHECK(got.copies == 0 && got.kernels == whole);
    got = run_once("sobel | box size=3", "sobel:direct,box:direct", &whole);
    CHECK(got.copies == 0 && got.kernels == whole);
    got = run_once("sobel", "texture", &whole);
    CHECK(got.copies > 0 && got.kernels > 0);
    CHECK(got.copies + got.kernels <= whole);
    hone_device_close(&device);
}

/* ---- Commands ---- */

/* All commands of a run; destroys the event. */
static size_t commands_of(hone_event *done, hone_command *list, size_t most)
{
    hone_error error;
    const size_t count = hone_event_command_count(done);
    REQUIRE(count <= most);
    for (size_t i = 0; i < count; i++)
        CHECK_STATUS(hone_event_command(done, i, &list[i], &error), HONE_OK);
    CHECK_STATUS(hone_event_command(done, count, &list[count], &error), HONE_ERROR_USAGE);
    CHECK_EQ(list[count].times.ended, 0);
    hone_event_destroy(&done);
    return count;
}

/* Runs a chain; *times and *durations are those of the run as a whole. */
static size_t run_commands(const char *chain, const char *variant, hone_command *list, size_t most,
                           hone_times *times, hone_durations *durations)
{
    struct run r = begin_run(chain, variant);
    hone_event *done = NULL;
    hone_error error;
    REQUIRE_OK(hone_plan_run(r.plan, r.in, r.out, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    REQUIRE_OK(hone_event_times(done, times, &error));
    REQUIRE_OK(hone_event_durations(done, durations, &error));
    const size_t count = commands_of(done, list, most);
    end_run(&r);
    return count;
}

static void check_texture_run(void)
{
    hone_command list[8];
    hone_times times;
    hone_durations durations;
    REQUIRE(run_commands("box size=3 | sobel", "box:direct,sobel:texture", list, 7, &times, &durations) == 3);
    CHECK(list[0].kind == HONE_COMMAND_KERNEL && list[0].step == 0 && list[0].bytes == 2 * 320 * 240);
    CHECK(list[1].kind == HONE_COMMAND_CONVERSION && list[1].step == 1 && list[1].bytes == 320 * 240);
    CHECK(list[2].kind == HONE_COMMAND_KERNEL && list[2].step == 1 && list[2].bytes == 2 * 320 * 240);
    CHECK_TEXT(list[0].name, "box_direct");
    CHECK_TEXT(list[1].name, "");
    CHECK(list[0].times.queued == times.queued && list[0].times.started == times.started);
    CHECK_EQ(list[2].times.ended, times.ended);
    CHECK_EQ(list[1].times.ended - list[1].times.started, durations.copies);
    for (size_t i = 0; i < 3; i++) {
        CHECK(list[i].times.queued && list[i].times.queued <= list[i].times.started);
        CHECK(list[i].times.started <= list[i].times.ended && list[i].enqueued > 0);
        CHECK(i == 0 || list[i].times.started >= list[i - 1].times.ended);
    }
}

TEST(each_command_has_times_of_its_own)
{
    begin();
    if (!support_is_pocl(device))
        test_skip("no PoCL");
    check_texture_run();
    device_use_host_clock(device);
    check_texture_run();
    hone_device_close(&device);
}

/* A filter of three kernels, then one whose image is copied before. */
static void check_ends(void)
{
    hone_command list[8];
    hone_times times;
    hone_durations durations;
    REQUIRE(run_commands("integral", "bands", list, 7, &times, &durations) == 2);
    CHECK_TEXT(list[0].name, "integral_band_sums");
    CHECK_TEXT(list[1].name, "integral_bands");
    CHECK_EQ(durations.kernels, list[1].times.ended - list[0].times.started);
    CHECK_EQ(durations.kernels, times.ended - times.started);
    REQUIRE(run_commands("sobel", "texture", list, 7, &times, &durations) == 2);
    CHECK_EQ(list[0].times.ended - list[0].times.started, durations.copies);
}

TEST(profile_ends_leaves_out_kernels_between_others)
{
    begin_with((hone_device_request){.profile = true, .profile_ends = true});
    if (!support_is_pocl(device))
        test_skip("no PoCL");
    check_ends();
    hone_device_close(&device);
    begin();
    hone_command list[8];
    hone_times times;
    hone_durations durations;
    CHECK_EQ(run_commands("integral", "bands", list, 7, &times, &durations), 3);
    CHECK_TEXT(list[1].name, "integral_band_carries");
    hone_device_close(&device);
}

/* Events that a run makes. */
static long events_of(const char *chain, const char *variant, bool wanted)
{
    struct run r = begin_run(chain, variant);
    hone_event *done = NULL;
    hone_error error;
    const long before = layer_events();
    REQUIRE_OK(hone_plan_run(r.plan, r.in, r.out, NULL, 0, wanted ? &done : NULL, &error));
    const long made = layer_events() - before;
    REQUIRE_OK(hone_device_finish(device, &error));
    hone_event_destroy(&done);
    end_run(&r);
    return made;
}

TEST(only_the_last_command_has_an_event_without_a_clock)
{
    begin_with((hone_device_request){.profile = false});
    if (!support_is_pocl(device))
        test_skip("no PoCL");
    CHECK_EQ(events_of("integral", "bands", true), 1);
    CHECK_EQ(events_of("integral", "bands", false), 0);
    CHECK_EQ(events_of("sobel", "texture", true), 1);
    CHECK_EQ(events_of("box size=3 | sobel | integral", "box:direct,sobel:texture,integral:bands", true), 1);
    hone_device_close(&device);
}

TEST(events_without_a_clock_have_no_commands_times)
{
    hone_command command = {.bytes = 1};
    hone_error error;
    hone_device_request request = {.profile = false};
    CHECK_EQ(hone_event_command_count(NULL), 0);
    CHECK_STATUS(hone_event_command(NULL, 0, &command, &error), HONE_ERROR_USAGE);
    device = support_open(&request);
    struct view picture = support_picture(64, 64, HONE_U8, 1, 6);
    hone_image *image = NULL;
    hone_event *done = NULL;
    REQUIRE_OK(hone_image_create(&image, device, &picture.desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_upload(image, picture.data, 0, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    CHECK_EQ(hone_event_command_count(done), 1);
    CHECK_STATUS(hone_event_command(done, 0, &command, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_EQ(command.bytes, 0);
    CHECK_TEXT(hone_command_kind_name(HONE_COMMAND_UPLOAD), "upload");
    CHECK_TEXT(hone_command_kind_name((hone_command_kind)99), "?");
    hone_event_destroy(&done);
    hone_image_destroy(&image);
    view_finish(&picture);
    hone_device_close(&device);
}
