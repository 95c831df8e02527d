/* SPDX-License-Identifier: BSD-2-Clause */
/* hone beside the caller's own OpenCL: its queues, buffers, images and events. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "hone/interop.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cl_context context;
static cl_device_id id;
static cl_command_queue queue;
static hone_device *device;

static void begin(cl_command_queue_properties properties)
{
    cl_platform_id platform = NULL;
    cl_int code = CL_SUCCESS;
    hone_error error;
    REQUIRE(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
    REQUIRE(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) == CL_SUCCESS);
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    REQUIRE(code == CL_SUCCESS);
    queue = clCreateCommandQueue(context, id, properties, &code);
    if (code != CL_SUCCESS) /* a device without out-of-order queues */
        queue = clCreateCommandQueue(context, id, 0, &code);
    REQUIRE(code == CL_SUCCESS);
    REQUIRE_OK(hone_device_from_queue(&device, queue, NULL, &error));
}

static cl_uint references(cl_command_queue of)
{
    cl_uint count = 0;
    clGetCommandQueueInfo(of, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

static void end(void)
{
    hone_device_close(&device);
    for (int i = 0; i < 2000 && references(queue) > 1; i++)
        usleep(1000); /* a driver may let go of finished commands a little later */
    CHECK_EQ(references(queue), 1);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

static cl_mem buffer(size_t bytes)
{
    cl_int code = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    REQUIRE(code == CL_SUCCESS);
    return memory;
}

TEST(objects_are_the_callers)
{
    begin(CL_QUEUE_PROFILING_ENABLE);
    CHECK(hone_device_cl_queue(device) == queue);
    CHECK(hone_device_cl_context(device) == context);
    CHECK(hone_device_cl_device(device) == id);
    end();
}

TEST(objects_of_a_device_of_ours)
{
    hone_device *own = support_open(NULL);
    CHECK(hone_device_cl_queue(own) && hone_device_cl_context(own) && hone_device_cl_device(own));
    CHECK_EQ(references(hone_device_cl_queue(own)), 1);
    hone_device_close(&own);
}

/* Pixels at an offset in buffers with wide rows; everything around them stays as it was. */
static void check_buffers(size_t offset, size_t pitch)
{
    struct view in = support_picture(23, 12, HONE_U16, 1, 3), wanted = support_expected("box size=3", &in);
    hone_image_desc desc = in.desc;
    desc.pitch = pitch;
    size_t bytes = offset + hone_image_bytes(&desc) + 10;
    cl_mem from = buffer(bytes), to = buffer(bytes);
    uint8_t *host = malloc(bytes);
    hone_image *source = NULL, *target = NULL;
    hone_event *done = NULL;
    hone_error error;
    REQUIRE(host != NULL);
    memset(host, 0x99, bytes);
    REQUIRE(clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, bytes, host, 0, NULL, NULL) == CL_SUCCESS);
    for (uint32_t y = 0; y < desc.height; y++)
        memcpy(host + offset + y * pitch, (char *)in.data + y * 46, 46);
    REQUIRE(clEnqueueWriteBuffer(queue, from, CL_TRUE, 0, bytes, host, 0, NULL, NULL) == CL_SUCCESS);
    REQUIRE_OK(hone_image_from_cl(&source, device, &desc, from, offset, &error));
    REQUIRE_OK(hone_image_from_cl(&target, device, &desc, to, offset, &error));
    CHECK(hone_image_cl_mem(source) == from);
    hone_plan *plan = support_plan(device, "box size=3", &desc, NULL);
    REQUIRE_OK(hone_plan_run(plan, source, target, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    REQUIRE(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, bytes, host, 0, NULL, NULL) == CL_SUCCESS);
    struct view got = {desc, host + offset};
    CHECK_SAME(&got, &wanted, 0);
    for (size_t i = 0; i < bytes; i++)
        if (i < offset || (i - offset) % pitch >= 46 || (i - offset) / pitch >= desc.height)
            CHECK(host[i] == 0x99);
    hone_event_destroy(&done);
    hone_plan_destroy(&plan);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    free(host);
    view_finish(&in);
    view_finish(&wanted);
}

TEST(buffers_with_offset_and_pitch)
{
    begin(0);
    check_buffers(0, 46);
    check_buffers(2, 48);
    check_buffers(1234, 100);
    end();
}

/* Rows with padding in a buffer that ends with the last row's pixels, there and back, with events and
 * without. */
TEST(transfers_to_buffers_that_end_with_their_pixels)
{
    begin(0);
    const hone_image_desc desc = {10, 7, HONE_U8, 1, 16};
    cl_mem memory = buffer(hone_image_bytes(&desc));
    uint8_t from[7 * 13], to[7 * 11];
    hone_image *image = NULL;
    hone_event *there = NULL, *back = NULL;
    hone_error error;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7);
    REQUIRE_OK(hone_image_from_cl(&image, device, &desc, memory, 0, &error));
    for (int events = 0; events < 2; events++) {
        memset(to, 0xee, sizeof to);
        REQUIRE_OK(hone_image_upload(image, from, 13, NULL, 0, events ? &there : NULL, &error));
        const hone_event *const wait[] = {there};
        REQUIRE_OK(hone_image_download(image, to, 11, wait, events ? 1 : 0, events ? &back : NULL, &error));
        if (events)
            REQUIRE_OK(hone_event_wait(back, &error));
        for (size_t y = 0; y < 7; y++)
            for (size_t x = 0; x < 11; x++)
                CHECK_EQ(to[y * 11 + x], x < 10 ? from[y * 13 + x] : 0xee);
    }
    hone_event_destroy(&there);
    hone_event_destroy(&back);
    hone_image_destroy(&image);
    clReleaseMemObject(memory);
    end();
}

TEST(buffers_that_do_not_fit)
{
    begin(0);
    const hone_image_desc desc = {10, 10, HONE_U16, 1, 0};
    cl_mem memory = buffer(204);
    hone_image *image = NULL;
    hone_error error;
    CHECK_STATUS(hone_image_from_cl(&image, device, &desc, memory, 4, &error), HONE_OK);
    hone_image_destroy(&image);
    CHECK_STATUS(hone_image_from_cl(&image, device, &desc, memory, 6, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "does not fit a buffer of 204 bytes");
    CHECK_STATUS(hone_image_from_cl(&image, device, &desc, memory, 3, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_from_cl(&image, device, &desc, memory, SIZE_MAX - 1, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_from_cl(&image, device, &desc, NULL, 0, &error), HONE_ERROR_USAGE);
    CHECK(image == NULL);
    cl_uint count = 0;
    REQUIRE(clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS);
    CHECK_EQ(count, 1);
    clReleaseMemObject(memory);
    end();
}

/* Two descriptions of one buffer, of a buffer and a part of it, of parts of it. */
TEST(buffers_that_share_bytes)
{
    enum { SIDE = 16, BYTES = SIDE * SIDE };
    begin(0);
    const hone_image_desc desc = {SIDE, SIDE, HONE_U8, 1, 0};
    hone_plan *plan = support_plan(device, "box size=3", &desc, NULL);
    hone_error error;
    cl_int code = CL_SUCCESS, other = CL_SUCCESS;
    cl_uint align = 0;
    REQUIRE(clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align, &align, NULL) == CL_SUCCESS);
    const size_t step = align / 8 > BYTES ? align / 8 : BYTES;
    cl_mem whole = buffer(3 * step);
    const cl_buffer_region first = {0, 2 * step}, second = {step, 2 * step};
    cl_mem low = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &first, &code);
    cl_mem high = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &second, &other);
    REQUIRE(code == CL_SUCCESS && other == CL_SUCCESS);
    const struct {
        cl_mem from, to;
        size_t from_offset, to_offset;
        bool overlaps;
    } cases[] = {
        {whole, whole, 0, BYTES, false},     {whole, whole, 0, BYTES - 1, true}, {whole, low, step, 0, false},
        {whole, low, step, step, true},      {low, high, 0, 0, false},           {low, high, step, 0, true},
        {whole, high, 2 * step, step, true}, {high, whole, step, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_image *in = NULL, *out = NULL;
        REQUIRE_OK(hone_image_from_cl(&in, device, &desc, cases[i].from, cases[i].from_offset, &error));
        REQUIRE_OK(hone_image_from_cl(&out, device, &desc, cases[i].to, cases[i].to_offset, &error));
        CHECK_STATUS(hone_plan_run(plan, in, out, NULL, 0, NULL, &error),
                     cases[i].overlaps ? HONE_ERROR_USAGE : HONE_OK);
        CHECK_STATUS(hone_device_finish(device, &error), HONE_OK);
        hone_image_destroy(&in);
        hone_image_destroy(&out);
    }
    hone_plan_destroy(&plan);
    clReleaseMemObject(low);
    clReleaseMemObject(high);
    clReleaseMemObject(whole);
    end();
}

TEST(own_events_and_ours)
{
    begin(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    struct view in = support_picture(40, 30, HONE_U8, 1, 3), wanted = support_expected("box size=3", &in);
    size_t bytes = hone_image_bytes(&in.desc);
    cl_mem from = buffer(bytes), to = buffer(bytes);
    hone_image *source = NULL, *target = NULL;
    hone_event *written = NULL, *done = NULL;
    cl_event own = NULL;
    hone_error error;
    struct view got = view_new(&in.desc);
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    REQUIRE_OK(hone_image_from_cl(&source, device, &in.desc, from, 0, &error));
    REQUIRE_OK(hone_image_from_cl(&target, device, &in.desc, to, 0, &error));
    REQUIRE(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, bytes, in.data, 0, NULL, &own) == CL_SUCCESS);
    REQUIRE_OK(hone_event_from_cl(&written, device, own, &error));
    REQUIRE_OK(hone_plan_run(plan, source, target, (const hone_event *const *)&written, 1, &done, &error));
    cl_event ours = hone_event_cl(done);
    REQUIRE(ours != NULL);
    REQUIRE(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, bytes, got.data, 1, &ours, NULL) == CL_SUCCESS);
    CHECK_SAME(&got, &wanted, 0);
    cl_uint count = 0;
    hone_event_destroy(&written);
    hone_event_destroy(&done);
    REQUIRE(clFinish(queue) == CL_SUCCESS);
    REQUIRE(clGetEventInfo(own, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS);
    CHECK_EQ(count, 1);
    clReleaseEvent(own);
    hone_plan_destroy(&plan);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
    end();
}

TEST(wrong_requests)
{
    hone_error error;
    hone_event *event = NULL;
    CHECK_STATUS(hone_device_from_queue(&device, NULL, NULL, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_event_from_cl(&event, NULL, NULL, &error), HONE_ERROR_USAGE);
    CHECK(hone_event_cl(NULL) == NULL);
}

TEST(images_of_the_callers)
{
    begin(0);
    struct view in = support_picture(23, 12, HONE_U8, 1, 3), wanted = support_expected("box size=3", &in);
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 23, .image_height = 12};
    const size_t origin[3] = {0}, region[3] = {23, 12, 1};
    cl_int code = CL_SUCCESS, other = CL_SUCCESS;
    cl_mem from = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &code);
    cl_mem to = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &other);
    REQUIRE(code == CL_SUCCESS && other == CL_SUCCESS);
    REQUIRE(clEnqueueWriteImage(queue, from, CL_TRUE, origin, region, 0, 0, in.data, 0, NULL, NULL) ==
            CL_SUCCESS);
    hone_image *source = NULL, *target = NULL;
    hone_error error;
    hone_event *done = NULL;
    REQUIRE_OK(hone_image_from_cl(&source, device, &in.desc, from, 0, &error));
    REQUIRE_OK(hone_image_from_cl(&target, device, &in.desc, to, 0, &error));
    hone_plan *plan = support_plan(device, "box size=3", &in.desc, NULL);
    REQUIRE_OK(hone_plan_run(plan, source, target, NULL, 0, &done, &error));
    REQUIRE_OK(hone_event_wait(done, &error));
    struct view got = view_new(&in.desc);
    REQUIRE(clEnqueueReadImage(queue, to, CL_TRUE, origin, region, 0, 0, got.data, 0, NULL, NULL) ==
            CL_SUCCESS);
    CHECK_SAME(&got, &wanted, 0);
    /* and by way of the library */
    memset(got.data, 0, hone_image_bytes(&in.desc));
    CHECK_STATUS(hone_image_download(target, got.data, 0, NULL, 0, NULL, &error), HONE_OK);
    CHECK_SAME(&got, &wanted, 0);
    const hone_image_desc wrong = {24, 12, HONE_U8, 1, 0}, other_type = {23, 12, HONE_U16, 1, 0};
    hone_image *image = NULL;
    CHECK_STATUS(hone_image_from_cl(&image, device, &wrong, from, 0, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(hone_image_from_cl(&image, device, &other_type, from, 0, &error), HONE_ERROR_USAGE);
    hone_event_destroy(&done);
    hone_plan_destroy(&plan);
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    view_finish(&in);
    view_finish(&wanted);
    view_finish(&got);
    end();
}
