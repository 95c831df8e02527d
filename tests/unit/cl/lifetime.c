/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a device lives, and where: beyond hone_device_close() while something of it is there, and not in a
 * forked child. */
#include "support.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hone_device *device;
static hone_chain *chain;
static hone_plan *plan;
static hone_image *in, *out;
static hone_event *event;
static struct view picture, wanted;

static void begin(void)
{
    hone_error error;
    picture = support_picture(64, 48, HONE_U8, 1, 6);
    wanted = support_expected("box size=5", &picture);
    device = support_open_quick();
    REQUIRE_OK(hone_chain_parse(&chain, "box size=5", &error));
    plan = support_plan(device, "box size=5", &picture.desc, NULL);
    REQUIRE_OK(hone_image_create(&in, device, &picture.desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_create(&out, device, &picture.desc, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(hone_image_upload(in, picture.data, 0, NULL, 0, NULL, &error));
    REQUIRE_OK(hone_plan_run(plan, in, out, NULL, 0, &event, &error));
    REQUIRE_OK(hone_event_wait(event, &error));
}

static void end(void)
{
    hone_event_destroy(&event);
    hone_plan_destroy(&plan);
    hone_image_destroy(&in);
    hone_image_destroy(&out);
    hone_chain_destroy(&chain);
    hone_device_close(&device);
    view_finish(&picture);
    view_finish(&wanted);
}

static void check_result(void)
{
    struct view got = support_picture(64, 48, HONE_U8, 1, 7);
    hone_error error;
    CHECK_STATUS(hone_image_download(out, got.data, 0, NULL, 0, NULL, &error), HONE_OK);
    CHECK_SAME(&got, &wanted, 0);
    view_finish(&got);
}

/* ---- In a child ---- */

static void check_refused(hone_status status, const hone_error *error)
{
    CHECK_EQ(status, HONE_ERROR_USAGE);
    CHECK_HAS(error->message, "fork");
}

static void check_images_refused(void)
{
    hone_image *image = NULL;
    hone_error error;
    void *pixels = NULL;
    unsigned char room[64 * 48];
    check_refused(hone_image_create(&image, device, &picture.desc, HONE_MEMORY_DEVICE, &error), &error);
    check_refused(hone_image_wrap(&image, device, &picture.desc, room, &error), &error);
    check_refused(hone_image_upload(in, room, 0, NULL, 0, NULL, &error), &error);
    check_refused(hone_image_download(out, room, 0, NULL, 0, NULL, &error), &error);
    check_refused(hone_image_map(in, true, &pixels, &error), &error);
    check_refused(hone_image_unmap(in, &error), &error);
}

static void check_plans_refused(void)
{
    hone_plan *another = NULL;
    hone_error error;
    unsigned char room[64 * 48] = {0}, result[64 * 48];
    check_refused(hone_plan_create(&another, device, chain, &picture.desc, NULL, &error), &error);
    check_refused(hone_plan_run(plan, in, out, NULL, 0, NULL, &error), &error);
    check_refused(hone_plan_apply(plan, room, 0, result, 0, &error), &error);
    check_refused(hone_plan_set(plan, 0, "size=3", &error), &error);
    check_refused(hone_apply(device, "box", &picture.desc, room, NULL, result, sizeof result, &error),
                  &error);
}

static void check_devices_refused(void)
{
    hone_device *another = NULL;
    hone_device_info *list = NULL;
    hone_feature_info feature;
    hone_error error;
    size_t count = 0;
    bool done = false;
    check_refused(hone_device_open(&another, NULL, &error), &error);
    check_refused(hone_device_list(&list, &count, &error), &error);
    check_refused(hone_device_finish(device, &error), &error);
    check_refused(hone_device_self_test(device, NULL, &error), &error);
    CHECK(!hone_device_feature(device, 0, &feature));
    check_refused(hone_event_wait(event, &error), &error);
    check_refused(hone_event_poll(event, &done, &error), &error);
}

/* Under an alarm: what this guards against is a call that never comes back. */
static void use_in_child(void)
{
    alarm(30);
    check_devices_refused();
    check_images_refused();
    check_plans_refused();
    end();
    CHECK(!plan && !in && !out && !event && !device);
    _exit(test_failed());
}

TEST(a_forked_child_is_refused_and_the_parent_goes_on)
{
    int status = -1;
    hone_error error;
    begin();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        use_in_child();
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_STATUS(hone_plan_run(plan, in, out, NULL, 0, NULL, &error), HONE_OK);
    check_result();
    end();
}

/* ---- After hone_device_close ---- */

TEST(what_was_made_of_a_device_works_after_it_was_closed)
{
    hone_error error;
    begin();
    hone_device_close(&device);
    CHECK(device == NULL);
    CHECK_STATUS(hone_plan_run(plan, in, out, NULL, 0, NULL, &error), HONE_OK);
    check_result();
    hone_image_destroy(&in);
    hone_image_destroy(&out);
    CHECK_STATUS(hone_event_wait(event, &error), HONE_OK);
    hone_event_destroy(&event);
    hone_plan_destroy(&plan);
    end();
}

TEST(the_last_one_may_be_an_event)
{
    hone_error error;
    hone_event *last = NULL;
    begin();
    REQUIRE_OK(hone_plan_run(plan, in, out, NULL, 0, &last, &error));
    end();
    CHECK_STATUS(hone_event_wait(last, &error), HONE_OK);
    hone_event_destroy(&last);
}

TEST(memory_of_an_unknown_kind_is_an_error)
{
    hone_error error;
    hone_image *image = NULL;
    begin();
    CHECK_STATUS(hone_image_create(&image, device, &picture.desc, (hone_memory)99, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "HONE_MEMORY_DEVICE");
    CHECK_STATUS(hone_image_create(&image, device, &picture.desc, (hone_memory)-1, &error), HONE_ERROR_USAGE);
    CHECK(image == NULL);
    end();
}
