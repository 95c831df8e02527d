/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans: results, parameters that change, what is compiled and what is not, queues, events, errors. */
#include "hone/plan.h"

#include "base/mem.h"
#include "hone/interop.h"
#include "support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hone_device *device;

/* Without programs on disk: see support_open_quick(). */
static void begin_with(const hone_device_request *request)
{
    hone_device_request own = *request;
    own.no_disk_cache = true;
    device = support_open(&own);
}

static void begin(void)
{
    begin_with(&(hone_device_request){0});
}

/* Programs that were compiled, or loaded where another test had compiled them. */
static uint64_t made(void)
{
    hone_device_counts counts = hone_device_get_counts(device);
    return counts.built_from_source + counts.loaded_from_disk;
}

/* Applies a plan to a picture with hone_plan_apply, through rows that are `pad` bytes wider than needed. */
static struct view applied(hone_plan *plan, const struct view *in, size_t pad)
{
    struct view out = view_new(hone_plan_output(plan));
    hone_image_desc in_desc = in->desc, out_desc = out.desc;
    in_desc.pitch = hone_image_row_bytes(&in->desc) + pad;
    out_desc.pitch = hone_image_row_bytes(&out.desc) + pad;
    char *source = malloc(hone_image_bytes(&in_desc)), *target = malloc(hone_image_bytes(&out_desc));
    hone_error error;
    REQUIRE(out.data && source && target);
    for (uint32_t y = 0; y < in->desc.height; y++)
        memcpy(source + y * in_desc.pitch, (char *)in->data + y * hone_image_pitch(&in->desc),
               in_desc.pitch - pad);
    CHECK_STATUS(hone_plan_apply(plan, source, in_desc.pitch, target, out_desc.pitch, &error), HONE_OK);
    for (uint32_t y = 0; y < out.desc.height; y++)
        memcpy((char *)out.data + y * hone_image_row_bytes(&out.desc), target + y * out_desc.pitch,
               out_desc.pitch - pad);
    free(source);
    free(target);
    return out;
}

static void check_applied(hone_plan *plan, const char *chain, const struct view *in, size_t pad)
{
    struct view wanted = support_expected(chain, in), got = applied(plan, in, pad);
    CHECK_SAME(&got, &wanted, in->desc.type == HONE_F32 ? 1e-5 : 0);
    view_finish(&wanted);
    view_finish(&got);
}

TEST(results_in_padded_rows)
{
    begin();
    struct view in = support_picture(37, 21, HONE_U16, 3, 1);
    hone_plan *plan = support_plan(device, "box size=5", &in.desc, NULL);
    check_applied(plan, "box size=5", &in, 0);
    check_applied(plan, "box size=5", &in, 2);
    check_applied(plan, "box size=5", &in, 64);
    hone_plan_destroy(&plan);
    CHECK(plan == NULL);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(chains_are_one_filter_after_the_other)
{
    begin();
    struct view in = support_picture(40, 30, HONE_U8, 1, 2);
    struct view middle = support_expected("box size=3 border=wrap", &in);
    struct view wanted = support_expected("sobel output=dx", &middle);
    hone_plan *plan = support_plan(device, "box size=3 border=wrap | sobel output=dx", &in.desc, NULL);
    CHECK_EQ(hone_plan_output(plan)->type, HONE_S16);
    CHECK_EQ(hone_plan_output(plan)->width, 40);
    struct view got = applied(plan, &in, 0);
    CHECK_SAME(&got, &wanted, 0);
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&middle);
    view_finish(&wanted);
    view_finish(&got);
    hone_device_close(&device);
}

TEST(one_call_for_everything)
{
    begin();
    struct view in = support_picture(16, 9, HONE_F32, 4, 3), wanted = support_expected("box size=3", &in);
    struct view got = view_new(&wanted.desc);
    hone_image_desc desc;
    hone_error error;
    CHECK_STATUS(hone_apply(device, "box size=3", &in.desc, in.data, &desc, got.data,
                            hone_image_bytes(&got.desc), &error),
                 HONE_OK);
    CHECK_SAME(&got, &wanted, 1e-5);
    CHECK_EQ(desc.channels, 4);
    CHECK_STATUS(hone_apply(device, "box size=3", &in.desc, in.data, NULL, got.data,
                            hone_image_bytes(&got.desc) - 1, &error),
                 HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "there is room for");
    CHECK_STATUS(hone_apply(device, "bux", &in.desc, in.data, NULL, got.data, 1, &error), HONE_ERROR_USAGE);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
    hone_device_close(&device);
}

/* Variants with vectors are for vectors that lie where the compiler believes them to be. */
TEST(host_memory_at_any_address)
{
    static const char *const chains[] = {"box size=3", "box size=8", "sobel", "epsilon"};
    static const hone_type types[] = {HONE_U8, HONE_U16, HONE_F32};
    begin();
    for (size_t i = 0; i < COUNT_OF(chains) * COUNT_OF(types); i++) {
        const char *chain = chains[i / COUNT_OF(types)];
        struct view in = support_picture(67, 19, types[i % COUNT_OF(types)], 4, 3);
        struct view wanted = support_expected(chain, &in), got = view_new(&wanted.desc);
        hone_plan *plan = support_plan(device, chain, &in.desc, NULL);
        size_t bytes = hone_image_bytes(&in.desc), element = hone_type_size(in.desc.type);
        char *room = aligned_alloc(64, (2 * bytes + 511) / 64 * 64);
        REQUIRE(room);
        for (size_t at = 0; at <= 64; at += at < 16 ? element : 8) {
            char *from = room + at, *to = from + (bytes + 128) / 8 * 8 + element;
            hone_error error;
            memcpy(from, in.data, bytes);
            memset(to, 0xee, bytes);
            CHECK_STATUS(hone_plan_apply(plan, from, 0, to, 0, &error), HONE_OK);
            memcpy(got.data, to, bytes);
            CHECK_SAME(&got, &wanted, 1e-5);
        }
        free(room);
        hone_plan_destroy(&plan);
        view_finish(&in);
        view_finish(&wanted);
        view_finish(&got);
    }
    hone_device_close(&device);
}

TEST(video_frames_plane_by_plane)
{
    begin();
    /* Both planes of an NV12 frame in one piece of memory, rows wider than the picture. */
    enum { WIDTH = 34, HEIGHT = 20, PITCH = 64 };
    uint8_t *frame = malloc(PITCH * HEIGHT * 3 / 2), *result = calloc(PITCH * HEIGHT * 3 / 2, 1);
    REQUIRE(frame && result);
    for (size_t i = 0; i < PITCH * HEIGHT * 3 / 2; i++)
        frame[i] = (uint8_t)(i * 31 + i / 7);
    hone_image_desc plane;
    size_t offset;
    hone_error error;
    for (unsigned index = 0;
         hone_frame_plane(HONE_NV12, WIDTH, HEIGHT, PITCH, index, &plane, &offset, NULL) == HONE_OK;
         index++) {
        hone_plan *plan = support_plan(device, "box size=3", &plane, NULL);
        REQUIRE_OK(hone_plan_apply(plan, frame + offset, plane.pitch, result + offset, plane.pitch, &error));
        struct view in = {plane, frame + offset}, got = {plane, result + offset};
        struct view wanted = support_expected("box size=3", &in);
        CHECK_SAME(&got, &wanted, 0);
        view_finish(&wanted);
        hone_plan_destroy(&plan);
    }
    CHECK_EQ(result[WIDTH], 0); /* padding stays untouched */
    free(frame);
    free(result);
    hone_device_close(&device);
}

/* ---- Changing parameters ---- */

/* A variant that takes all parameters as arguments. */
static const hone_plan_options direct = {.variant = "direct"};

TEST(arguments_change_without_compiling)
{
    begin();
    struct view in = support_picture(33, 18, HONE_U8, 1, 4);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, &direct);
    hone_error error;
    uint64_t before = made();
    char text[64];
    for (int size = 1; size <= 12; size++) {
        snprintf(text, sizeof text, "size=%d", size);
        CHECK_STATUS(hone_plan_set(plan, 0, text, &error), HONE_OK);
        snprintf(text, sizeof text, "box size=%d", size);
        check_applied(plan, text, &in, 0);
    }
    CHECK_STATUS(hone_plan_set(plan, 0, "width=7 height=2", &error), HONE_OK);
    check_applied(plan, "box width=7 height=2", &in, 0);
    CHECK_EQ(made(), before);
    CHECK_STATUS(hone_plan_set(plan, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "hone_plan_set needs parameters, not NULL");
    CHECK_STATUS(hone_plan_set(plan, 1, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "the plan has 1 filter, counted from 0");
    CHECK_STATUS(hone_plan_prepare_range(plan, 0, NULL, 1, 2, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "hone_plan_prepare_range needs a parameter's name, not NULL");
    CHECK_STATUS(hone_plan_bind(plan, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "hone_plan_bind needs an image, not NULL");
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(shapes_compile_once)
{
    begin();
    struct view in = support_picture(33, 18, HONE_U8, 1, 4);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, &direct);
    hone_error error;
    uint64_t before = made();
    CHECK_STATUS(hone_plan_set(plan, 0, "border=wrap", &error), HONE_OK);
    CHECK_EQ(made(), before + 1);
    check_applied(plan, "box size=3 border=wrap", &in, 0);
    CHECK_STATUS(hone_plan_set(plan, 0, "border=replicate", &error), HONE_OK);
    CHECK_STATUS(hone_plan_set(plan, 0, "border=wrap", &error), HONE_OK);
    CHECK_EQ(made(), before + 1);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(border_values_are_arguments)
{
    begin();
    struct view in = support_picture(9, 8, HONE_U8, 1, 4);
    hone_plan *plan = support_plan(device, "box size=3 border=constant", &in.desc, &direct);
    hone_error error;
    uint64_t before = made();
    CHECK_STATUS(hone_plan_set(plan, 0, "border-value=200", &error), HONE_OK);
    check_applied(plan, "box size=3 border=constant border-value=200", &in, 0);
    CHECK_EQ(made(), before);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(a_change_that_changes_the_format)
{
    begin();
    struct view in = support_picture(20, 12, HONE_U8, 1, 5);
    struct view gradient = support_expected("sobel", &in),
                wanted = support_expected("epsilon threshold=20", &gradient);
    hone_plan *plan = support_plan(device, "sobel | epsilon threshold=20", &in.desc, NULL);
    hone_error error;
    struct view got = applied(plan, &in, 0);
    CHECK_SAME(&got, &wanted, 0);
    view_finish(&got);
    /* dx of u8 is s16, which epsilon does not take: the plan must stay as it was */
    CHECK_STATUS(hone_plan_set(plan, 0, "output=dx", &error), HONE_ERROR_UNSUPPORTED);
    CHECK_EQ(hone_plan_output(plan)->type, HONE_U8);
    got = applied(plan, &in, 0);
    CHECK_SAME(&got, &wanted, 0);
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&gradient);
    view_finish(&wanted);
    view_finish(&got);
    hone_device_close(&device);
}

TEST(a_wrong_change_leaves_the_plan)
{
    begin();
    struct view in = support_picture(20, 12, HONE_U8, 1, 5);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    hone_error error;
    CHECK_STATUS(hone_plan_set(plan, 0, "size=0", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_set(plan, 0, "size=5 nonsense=1", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_set(plan, 0, "size=5 | sobel", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_set(plan, 1, "size=5", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_set(plan, 0, NULL, &error), HONE_ERROR_USAGE);
    check_applied(plan, "box size=3", &in, 0);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(nothing_is_wasted_on_many_changes)
{
    begin();
    const hone_image_desc desc = {64, 64, HONE_U8, 1, 0};
    hone_plan *plan = support_plan(device, "box size=3 | sobel | box size=5", &desc, NULL);
    hone_error error;
    uint64_t held = 0, after = 0;
    hone_device_memory(device, &held, NULL);
    for (int i = 0; i < 50; i++)
        CHECK_STATUS(
            hone_plan_set(plan, (size_t)(i % 3), i % 3 == 1 ? "norm=l2" : "border=replicate", &error),
            HONE_OK);
    hone_device_memory(device, &after, NULL);
    CHECK_EQ(after, held);
    hone_plan_destroy(&plan);
    hone_device_memory(device, &after, NULL);
    CHECK_EQ(after, 0);
    hone_device_close(&device);
}

/* ---- Choices ---- */

TEST(what_was_chosen)
{
    begin();
    const hone_image_desc desc = {64, 64, HONE_U8, 1, 0};
    hone_plan *plan = support_plan(device, "box | sobel", &desc, NULL);
    hone_step_info info;
    REQUIRE(hone_plan_step(plan, 1, &info));
    CHECK_TEXT(info.filter, "sobel");
    CHECK(info.variant[0] && info.passes >= 1 && info.origin[0]);
    CHECK(!hone_plan_step(plan, 2, &info));
    hone_plan_destroy(&plan);
    hone_device_close(&device);
}

static hone_status create(const char *text, const hone_plan_options *options, hone_error *error)
{
    const hone_image_desc desc = {64, 64, HONE_U8, 1, 0};
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    REQUIRE(hone_chain_parse(&chain, text, error) == HONE_OK);
    hone_status status = hone_plan_create(&plan, device, chain, &desc, options, error);
    CHECK((plan != NULL) == (status == HONE_OK));
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    return status;
}

TEST(forced_variants_and_configurations)
{
    begin();
    const hone_image_desc desc = {64, 64, HONE_U8, 1, 0};
    hone_error error;
    const hone_plan_options forced = {.variant = "direct", .config = "WG_X=8 WG_Y=2"};
    hone_plan *plan = support_plan(device, "box", &desc, &forced);
    hone_step_info info;
    REQUIRE(hone_plan_step(plan, 0, &info));
    CHECK_TEXT(info.variant, "direct");
    CHECK_TEXT(info.origin, "forced");
    CHECK_HAS(info.config, "WG_X=8");
    hone_plan_destroy(&plan);
    CHECK_STATUS(create("box | sobel", &(hone_plan_options){.variant = "sobel:direct"}, &error), HONE_OK);
    CHECK_STATUS(create("box", &(hone_plan_options){.variant = "nonsense"}, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "box:direct");
    CHECK_STATUS(create("box", &(hone_plan_options){.variant = "sobel:direct"}, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(create("box", &(hone_plan_options){.variant = "box:nonsense"}, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(create("box", &(hone_plan_options){.config = "WG_X=7"}, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(create("box", &(hone_plan_options){.variant = "direct", .config = "WG_X=7"}, &error),
                 HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "WG_X=7 is not legal");
    hone_device_close(&device);
}

TEST(wrong_requests)
{
    begin();
    const hone_image_desc none = {0, 5, HONE_U8, 1, 0}, result = {4, 4, HONE_U32, 1, 0},
                          good = {4, 4, HONE_U8, 1, 0};
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, "box", &error));
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &none, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &result, NULL, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_STATUS(hone_plan_create(&plan, NULL, chain, &good, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_create(&plan, device, NULL, &good, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_create(&plan, device, chain, NULL, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_create(NULL, device, chain, &good, NULL, &error), HONE_ERROR_USAGE);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
}

TEST(wrong_options)
{
    begin();
    const hone_image_desc good = {4, 4, HONE_U8, 1, 0}, narrow = {4, 4, HONE_U8, 1, 3},
                          none = {0, 4, HONE_U8, 1, 0};
    const hone_plan_options wrong[] = {{.second = &good, .second_count = 1, .tune = (hone_tune)2},
                                       {.second = &narrow, .second_count = 1},
                                       {.second = &none, .second_count = 1},
                                       {.second_count = 1}},
                            right = {.second = &good, .second_count = 1, .tune = HONE_TUNE_OFF};
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, "add", &error));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_STATUS(hone_plan_create(&plan, device, chain, &good, &wrong[i], &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &good, &right, &error), HONE_OK);
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
}

/* ---- Running ---- */

struct pair {
    hone_image *in, *out;
};

static struct pair images(const hone_plan *plan, const struct view *in)
{
    struct pair pair = {0};
    hone_error error;
    REQUIRE_OK(hone_image_create(&pair.in, device, &in->desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_create(&pair.out, device, hone_plan_output(plan), HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_upload(pair.in, in->data, 0, NULL, 0, NULL, &error));
    return pair;
}

static void finish_pair(struct pair *pair)
{
    hone_image_destroy(&pair->in);
    hone_image_destroy(&pair->out);
}

static void check_downloaded(hone_image *image, const struct view *wanted)
{
    struct view got = view_new(&wanted->desc);
    hone_error error;
    CHECK_STATUS(hone_image_download(image, got.data, 0, NULL, 0, NULL, &error), HONE_OK);
    CHECK_SAME(&got, wanted, 0);
    view_finish(&got);
}

TEST(runs_without_an_event)
{
    begin();
    struct view in = support_picture(30, 20, HONE_U8, 1, 6), wanted = support_expected("box size=3", &in);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    struct pair pair = images(plan, &in);
    hone_error error;
    CHECK_STATUS(hone_plan_run(plan, pair.in, pair.out, NULL, 0, NULL, &error), HONE_OK);
    CHECK_STATUS(hone_device_finish(device, &error), HONE_OK);
    check_downloaded(pair.out, &wanted);
    finish_pair(&pair);
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&wanted);
    hone_device_close(&device);
}

static atomic_int notified;

static void count_notification(void *user, hone_status status)
{
    atomic_fetch_add((atomic_int *)user, status == HONE_OK ? 1 : 1000);
}

TEST(events)
{
    begin_with(&(hone_device_request){.profile = true});
    struct view in = support_picture(64, 48, HONE_U8, 1, 6), wanted = support_expected("box size=5", &in);
    hone_plan *plan = support_plan(device, "box size=5", &in.desc, NULL);
    struct pair pair = images(plan, &in);
    hone_event *done = NULL;
    hone_times times;
    hone_error error;
    bool over = false;
    REQUIRE_OK(hone_plan_run(plan, pair.in, pair.out, NULL, 0, &done, &error));
    CHECK_STATUS(hone_event_notify(done, count_notification, &notified, &error), HONE_OK);
    CHECK_STATUS(hone_event_wait(done, &error), HONE_OK);
    CHECK_STATUS(hone_event_poll(done, &over, &error), HONE_OK);
    CHECK(over);
    for (int i = 0; i < 2000 && atomic_load(&notified) == 0; i++)
        usleep(1000);
    CHECK_EQ(atomic_load(&notified), 1);
    CHECK_STATUS(hone_event_times(done, &times, &error), HONE_OK);
    if (support_is_pocl(device))
        CHECK(times.queued <= times.submitted && times.submitted <= times.started &&
              times.started < times.ended);
    hone_event_destroy(&done);
    CHECK(done == NULL);
    hone_event_destroy(&done);
    check_downloaded(pair.out, &wanted);
    finish_pair(&pair);
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&wanted);
    hone_device_close(&device);
}

TEST(times_need_profiling)
{
    begin();
    struct view in = support_picture(8, 8, HONE_U8, 1, 6);
    hone_plan *plan = support_plan(device, "box", &in.desc, NULL);
    struct pair pair = images(plan, &in);
    hone_event *done = NULL;
    hone_times times;
    hone_error error;
    REQUIRE_OK(hone_plan_run(plan, pair.in, pair.out, NULL, 0, &done, &error));
    CHECK_STATUS(hone_event_wait(done, &error), HONE_OK);
    CHECK_STATUS(hone_event_times(done, &times, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "profile");
    CHECK_STATUS(hone_event_times(NULL, &times, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_event_wait(NULL, &error), HONE_ERROR_USAGE);
    hone_event_destroy(&done);
    finish_pair(&pair);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(seconds_of_an_apply)
{
    begin_with(&(hone_device_request){.profile = true});
    struct view in = support_picture(64, 64, HONE_U8, 1, 6);
    hone_plan *plan = support_plan(device, "box size=9 | sobel", &in.desc, NULL);
    struct view got = applied(plan, &in, 0);
    if (support_is_pocl(device))
        CHECK(hone_plan_seconds(plan) > 0 && hone_plan_seconds(plan) < 10);
    view_finish(&got);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

/* A pipeline of uploads, runs and downloads, ordered by nothing but events. */
static void run_pipeline(void)
{
    enum { ROUNDS = 12, CHAINED = 3 };
    struct view in[ROUNDS], wanted[ROUNDS], got[ROUNDS];
    struct pair pairs[CHAINED];
    hone_event *before[CHAINED] = {0};
    hone_error error;
    const char *chain = "box size=3";
    in[0] = support_picture(50, 40, HONE_U8, 1, 100);
    hone_plan *plan = support_plan(device, chain, &in[0].desc, NULL);
    for (int i = 0; i < CHAINED; i++)
        pairs[i] = images(plan, &in[0]);
    for (int i = 0; i < ROUNDS; i++) {
        if (i > 0)
            in[i] = support_picture(50, 40, HONE_U8, 1, 100 + (uint32_t)i);
        wanted[i] = support_expected(chain, &in[i]);
        got[i] = view_new(&wanted[i].desc);
        struct pair *pair = &pairs[i % CHAINED];
        hone_event *uploaded = NULL, *run = NULL, **last = &before[i % CHAINED], *downloaded = NULL;
        const hone_event *const *wait = (const hone_event *const *)last;
        REQUIRE_OK(hone_image_upload(pair->in, in[i].data, 0, wait, *last ? 1 : 0, &uploaded, &error));
        REQUIRE_OK(
            hone_plan_run(plan, pair->in, pair->out, (const hone_event *const *)&uploaded, 1, &run, &error));
        REQUIRE_OK(hone_image_download(pair->out, got[i].data, 0, (const hone_event *const *)&run, 1,
                                       &downloaded, &error));
        hone_event_destroy(&uploaded);
        hone_event_destroy(&run);
        hone_event_destroy(last);
        *last = downloaded;
    }
    for (int i = 0; i < CHAINED; i++) {
        CHECK_STATUS(hone_event_wait(before[i], &error), HONE_OK);
        hone_event_destroy(&before[i]);
        finish_pair(&pairs[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_SAME(&got[i], &wanted[i], 0);
        view_finish(&in[i]);
        view_finish(&wanted[i]);
        view_finish(&got[i]);
    }
    hone_plan_destroy(&plan);
}

TEST(pipeline_in_order)
{
    begin();
    run_pipeline();
    hone_device_close(&device);
}

TEST(pipeline_out_of_order)
{
    begin_with(&(hone_device_request){.out_of_order = true, .profile = true});
    run_pipeline();
    hone_device_close(&device);
}

TEST(long_chains_out_of_order)
{
    begin_with(&(hone_device_request){.out_of_order = true});
    struct view in = support_picture(64, 33, HONE_U8, 1, 8), wanted = support_expected("box size=3", &in);
    for (int i = 1; i < 6; i++) {
        struct view next = support_expected("box size=3", &wanted);
        view_finish(&wanted);
        wanted = next;
    }
    hone_plan *plan = support_plan(
        device, "box size=3|box size=3|box size=3|box size=3|box size=3|box size=3", &in.desc, NULL);
    for (int i = 0; i < 10; i++) {
        struct view got = applied(plan, &in, 0);
        CHECK_SAME(&got, &wanted, 0);
        view_finish(&got);
    }
    hone_plan_destroy(&plan);
    view_finish(&in);
    view_finish(&wanted);
    hone_device_close(&device);
}

TEST(wrong_images)
{
    begin();
    struct view in = support_picture(20, 10, HONE_U8, 1, 6), other = support_picture(21, 10, HONE_U8, 1, 6);
    hone_plan *plan = support_plan(device, "box", &in.desc, NULL),
              *another = support_plan(device, "box", &other.desc, NULL);
    struct pair pair = images(plan, &in), wrong = images(another, &other);
    hone_error error;
    hone_event *done = (hone_event *)&pair;
    CHECK_STATUS(hone_plan_run(plan, wrong.in, pair.out, NULL, 0, &done, &error), HONE_ERROR_USAGE);
    CHECK(done == NULL);
    CHECK_HAS(error.message, "21x10");
    CHECK_STATUS(hone_plan_run(plan, pair.in, wrong.out, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_run(plan, pair.in, pair.in, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "different images");
    CHECK_STATUS(hone_plan_run(plan, NULL, pair.out, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_run(plan, pair.in, NULL, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_plan_bind(plan, 0, pair.in, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "takes one image");
    CHECK_STATUS(hone_plan_bind(plan, 7, pair.in, &error), HONE_ERROR_USAGE);
    finish_pair(&pair);
    finish_pair(&wrong);
    hone_plan_destroy(&plan);
    hone_plan_destroy(&another);
    view_finish(&in);
    view_finish(&other);
    hone_device_close(&device);
}

static hone_status wrapped_run(hone_plan *plan, uint8_t *from, uint8_t *to, size_t pitch)
{
    hone_image_desc desc = *hone_plan_output(plan);
    hone_image *in = NULL, *out = NULL;
    hone_error error;
    desc.pitch = pitch;
    REQUIRE_OK(hone_image_wrap(&in, device, &desc, from, &error));
    REQUIRE_OK(hone_image_wrap(&out, device, &desc, to, &error));
    hone_status status = hone_plan_run(plan, in, out, NULL, 0, NULL, &error);
    hone_device_finish(device, NULL);
    hone_image_destroy(&in);
    hone_image_destroy(&out);
    return status;
}

TEST(plans_do_not_work_in_place)
{
    enum { WIDTH = 32, HEIGHT = 9, PITCH = 80, ROOM = PITCH * (2 * HEIGHT + 1) };
    begin();
    const hone_image_desc desc = {WIDTH, HEIGHT, HONE_U8, 1, 0};
    hone_plan *plan = support_plan(device, "box size=3 | box size=3", &desc, NULL);
    uint8_t frame[ROOM], before[ROOM];
    hone_error error;
    for (int i = 0; i < ROOM; i++)
        frame[i] = before[i] = (uint8_t)(i * 31 + i / 7);
    /* Where a second picture begins, in bytes behind the first, and whether it lies in the same pixels. */
    static const struct {
        size_t distance;
        bool overlaps;
    } places[] = {{0, true},
                  {1, true},
                  {WIDTH - 1, true},
                  {WIDTH, false},
                  {PITCH - WIDTH, false},
                  {PITCH - WIDTH + 1, true},
                  {PITCH, true},
                  {(HEIGHT - 1) * PITCH + WIDTH - 1, true},
                  {(HEIGHT - 1) * PITCH + WIDTH, false},
                  {HEIGHT * PITCH, false}};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        hone_status wanted = places[i].overlaps ? HONE_ERROR_USAGE : HONE_OK;
        uint8_t *other = frame + places[i].distance;
        CHECK_STATUS(hone_plan_apply(plan, frame, PITCH, other, PITCH, &error), wanted);
        CHECK_STATUS(hone_plan_apply(plan, other, PITCH, frame, PITCH, &error), wanted);
        CHECK_STATUS(wrapped_run(plan, frame, other, PITCH), wanted);
        if (wanted)
            CHECK_HAS(error.message, "overlap");
        if (wanted)
            CHECK(memcmp(frame, before, ROOM) == 0);
        memcpy(frame, before, ROOM);
    }
    /* Rows that are not equally far apart. */
    CHECK_STATUS(hone_plan_apply(plan, frame, PITCH, frame + WIDTH, 0, &error), HONE_ERROR_USAGE);
    /* The halves of one frame. */
    struct view left = {{WIDTH, HEIGHT, HONE_U8, 1, PITCH}, before};
    struct view right = {{WIDTH, HEIGHT, HONE_U8, 1, PITCH}, frame + 40};
    REQUIRE_OK(hone_plan_apply(plan, frame, PITCH, frame + 40, PITCH, &error));
    struct view once = support_expected("box size=3", &left), twice = support_expected("box size=3", &once);
    CHECK_SAME(&right, &twice, 0);
    view_finish(&once);
    view_finish(&twice);
    hone_plan_destroy(&plan);
    hone_device_close(&device);
}

TEST(a_second_image_is_no_output)
{
    begin();
    struct view in = support_picture(20, 10, HONE_U8, 1, 6);
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    const hone_plan_options options = {.second = &in.desc, .second_count = 1};
    REQUIRE_OK(hone_chain_parse(&chain, "add", &error));
    REQUIRE_OK(hone_plan_create(&plan, device, chain, &in.desc, &options, &error));
    struct pair pair = images(plan, &in);
    REQUIRE_OK(hone_plan_bind(plan, 0, pair.out, &error));
    CHECK_STATUS(hone_plan_run(plan, pair.in, pair.out, NULL, 0, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "the second image and the output overlap");
    REQUIRE_OK(hone_plan_bind(plan, 0, pair.in, &error));
    CHECK_STATUS(hone_plan_run(plan, pair.in, pair.out, NULL, 0, NULL, &error), HONE_OK);
    CHECK_STATUS(hone_device_finish(device, &error), HONE_OK);
    finish_pair(&pair);
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    view_finish(&in);
    hone_device_close(&device);
}

/* ---- Devices ---- */

TEST(parts_of_a_device)
{
    begin();
    unsigned units = hone_device_get_info(device)->compute_units,
             parts = hone_device_get_info(device)->max_sub_devices;
    hone_device_close(&device);
    hone_error error;
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.compute_units = units + 1}, &error),
                 HONE_ERROR_UNSUPPORTED);
    CHECK(device == NULL);
    if (parts < 2)
        return;
    begin_with(&(hone_device_request){.compute_units = 1});
    CHECK_EQ(hone_device_get_info(device)->compute_units, 1);
    struct view in = support_picture(30, 20, HONE_U8, 1, 6);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    check_applied(plan, "box size=3", &in, 0);
    hone_plan_destroy(&plan);
    view_finish(&in);
    hone_device_close(&device);
}

TEST(choosing_a_device)
{
    hone_device_info *list = NULL;
    size_t count = 0;
    hone_error error;
    REQUIRE_OK(hone_device_list(&list, &count, &error));
    REQUIRE(count > 0);
    CHECK_EQ(list[0].index, 0);
    hone_device_list_free(&list);
    CHECK(list == NULL);
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = "no such device"}, &error),
                 HONE_ERROR_NO_DEVICE);
    CHECK_HAS(error.message, "no OpenCL device fits 'no such device'; the devices here: 0 '");
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = "99"}, &error),
                 HONE_ERROR_NO_DEVICE);
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = ","}, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = "no such device, 0"}, &error),
                 HONE_OK);
    hone_device_close(&device);
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = " "}, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = "CPU"}, &error), HONE_OK);
    hone_device_close(&device);
    setenv("HONE_DEVICE", "no such device", 1);
    CHECK_STATUS(hone_device_open(&device, NULL, &error), HONE_ERROR_NO_DEVICE);
    CHECK_HAS(error.message, "no OpenCL device fits 'no such device' (HONE_DEVICE); the devices here: 0 '");
    CHECK_STATUS(hone_device_open(&device, &(hone_device_request){.spec = "0"}, &error), HONE_OK);
    hone_device_close(&device);
    CHECK_STATUS(hone_device_open(NULL, NULL, &error), HONE_ERROR_USAGE);
    hone_device_close(NULL);
}

TEST(no_driver_at_all)
{
    setenv("OCL_ICD_VENDORS", support_folder(), 1);
    hone_device_info *list = NULL;
    size_t count = 9;
    hone_error error;
    CHECK_STATUS(hone_device_list(&list, &count, &error), HONE_OK);
    CHECK_EQ(count, 0);
    CHECK_STATUS(hone_device_open(&device, NULL, &error), HONE_ERROR_NO_DEVICE);
    CHECK_HAS(error.message, "apt install pocl-opencl-icd");
    hone_device_list_free(&list);
}

TEST(memory_has_a_budget)
{
    begin_with(&(hone_device_request){.memory_limit = 100000});
    const hone_image_desc small = {200, 100, HONE_U8, 1, 0}, large = {1000, 1000, HONE_U8, 1, 0};
    hone_image *image = NULL, *more = NULL;
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    uint64_t held = 1, budget = 0;
    hone_error error;
    hone_device_memory(device, &held, &budget);
    CHECK_EQ(held, 0);
    CHECK_EQ(budget, 100000);
    CHECK_STATUS(hone_image_create(&image, device, &small, HONE_MEMORY_DEVICE, &error), HONE_OK);
    hone_device_memory(device, &held, NULL);
    CHECK_EQ(held, 20000);
    CHECK_STATUS(hone_image_create(&more, device, &large, HONE_MEMORY_DEVICE, &error), HONE_ERROR_MEMORY);
    CHECK_HAS(error.message, "that hone may hold");
    CHECK(more == NULL);
    REQUIRE_OK(hone_chain_parse(&chain, "box | box", &error));
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &large, NULL, &error), HONE_ERROR_MEMORY);
    hone_device_memory(device, &held, NULL);
    CHECK_EQ(held, 20000);
    hone_image_destroy(&image);
    hone_device_memory(device, &held, NULL);
    CHECK_EQ(held, 0);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
}

TEST(budgets_are_within_what_there_is)
{
    begin();
    uint64_t budget = 0;
    hone_device_memory(device, NULL, &budget);
    CHECK(budget > 0 && budget <= hone_device_get_info(device)->global_memory / 10 * 8);
    hone_device_close(&device);
}

/* ---- Kernels from a folder ---- */

TEST(kernels_from_a_folder)
{
    const char *folder = support_kernel_folder("box", "src/filters/box");
    setenv("HONE_KERNEL_DIR", folder, 1);
    begin();
    struct view in = support_picture(20, 10, HONE_U8, 1, 6);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, &direct);
    check_applied(plan, "box size=3", &in, 0);
    hone_plan_destroy(&plan);
    hone_device_close(&device);
    /* A changed kernel is another program, not the one on disk: what it computes is checked. */
    static const char other[] =
        "__kernel void box_direct(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT "
        "*out,\n"
        "    int out_offset, int out_pitch, int width, int height, int kw, int kh, BORDER_TYPE border)\n"
        "{ int x = get_global_id(0), y = get_global_id(1);\n"
        "  if (x < width && y < height) out[out_offset + y * out_pitch + x] = 77; }\n";
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/filters/box/kernel.cl", folder);
    support_write(path, other, sizeof other - 1);
    begin();
    hone_error error;
    CHECK_STATUS(create("box size=3", &direct, &error), HONE_ERROR_CHECK);
    CHECK_HAS(error.message, "is 77, should be");
    view_finish(&in);
    hone_device_close(&device);
}

TEST(mistakes_in_a_folders_kernel_have_its_lines)
{
    const char *folder = support_kernel_folder("box", "src/filters/box");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/filters/box/kernel.cl", folder);
    /* Line 3 of the file is wrong. */
    static const char text[] = "/* one */\n\nthis_is_no_type x;\n";
    support_write(path, text, sizeof text - 1);
    begin_with(&(hone_device_request){.kernel_folder = folder});
    hone_error error;
    hone_status status = create("box", &direct, &error);
    CHECK_STATUS(status, HONE_ERROR_DEVICE);
    CHECK_HAS(error.message, "CL_BUILD_PROGRAM_FAILURE (-11)");
    CHECK_HAS(error.message, "building box direct u8");
    CHECK_HAS(error.log, "filters/box/kernel.cl:3:");
    hone_device_close(&device);
}

/* The error of a plan whose kernel file, and the one that it includes, read so. */
static hone_status create_including(const char *kernel, const char *included, hone_error *error)
{
    const char *folder = support_kernel_folder("box", "src/filters/box");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/filters/box/kernel.cl", folder);
    support_write(path, kernel, strlen(kernel));
    snprintf(path, sizeof path, "%s/filters/kit.clh", folder);
    support_write(path, included, strlen(included));
    begin_with(&(hone_device_request){.kernel_folder = folder});
    hone_status status = create("box", &direct, error);
    hone_device_close(&device);
    return status;
}

TEST(kernel_files_that_include_others_keep_their_lines)
{
    static const char including[] = "/* one */\n#include \"filters/kit.clh\"\nthis_is_no_type x;\n";
    hone_error error;
    CHECK_STATUS(create_including(including, "\ntypedef int this_is_no_type;\nneither_is_this y;\n", &error),
                 HONE_ERROR_DEVICE);
    CHECK_HAS(error.log, "filters/kit.clh:3:");
    CHECK_STATUS(create_including(including, "#define NOTHING\n", &error), HONE_ERROR_DEVICE);
    CHECK_HAS(error.log, "filters/box/kernel.cl:3:");
    CHECK_STATUS(create_including("#include \"filters/nothing.clh\"\n", "", &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "filters/nothing.clh");
    CHECK_STATUS(create_including(including, "#include \"filters/kit.clh\"\n", &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "include each other");
}

TEST(a_folder_without_kernels)
{
    begin_with(&(hone_device_request){.kernel_folder = "/nonexistent"});
    hone_error error;
    CHECK_STATUS(create("box", &direct, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "/nonexistent/filter/kernel.clh");
    hone_device_close(&device);
}

TEST(what_kernels_cannot_index_is_refused_before_anything_is_compiled)
{
    static const hone_plan_options none = {0};
    const hone_image_desc wide = {30000, 30000, HONE_U8, 3, 0}, gray = {30000, 30000, HONE_U8, 1, 0};
    hone_error error;
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    begin();
    const uint64_t before = made();
    REQUIRE_OK(hone_chain_parse(&chain, "sobel", &error));
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &wide, &none, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "30000x30000 x3");
    CHECK_HAS(error.message, "2^31 elements");
    hone_chain_destroy(&chain);
    REQUIRE_OK(hone_chain_parse(&chain, "colormap", &error)); /* the result alone is too large */
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &gray, &none, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "2^31 elements");
    CHECK(made() == before);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
}

/* ---- The catalogue ---- */

TEST(catalogue)
{
    hone_filter_info filter;
    char last[64] = "";
    size_t count = 0;
    for (; hone_filter_at(count, &filter); count++) {
        CHECK(strcmp(last, filter.name) < 0);
        snprintf(last, sizeof last, "%s", filter.name);
        hone_variant_info variant;
        hone_tunable_info tunable;
        CHECK(hone_filter_variant(filter.name, 0, &variant));
        CHECK(!hone_filter_variant(filter.name, 1000, &variant));
        CHECK(!hone_filter_tunable(filter.name, variant.name, 1000, &tunable));
        CHECK(!hone_filter_tunable(filter.name, "nonsense", 0, &tunable));
        CHECK(filter.types[0] && filter.channels[0]);
    }
    CHECK(count >= 2);
    CHECK(hone_filter_find("box", &filter));
    CHECK_TEXT(filter.types, "u8, u16, f32, s16");
    CHECK_TEXT(filter.channels, "1, 2, 3, 4");
    hone_parameter_info parameter;
    REQUIRE(hone_filter_parameter("box", 0, &parameter));
    CHECK_TEXT(parameter.name, "size");
    CHECK_TEXT(parameter.kind, "integer");
    CHECK(!hone_filter_find("nonsense", &filter));
    CHECK(!hone_filter_parameter("nonsense", 0, &parameter));
    hone_rung_info rung;
    CHECK(!hone_filter_rung("nonsense", 0, &rung));
}
