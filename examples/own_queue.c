/* SPDX-License-Identifier: BSD-2-Clause */
/* hone on the caller's own queue: a kernel of the caller's draws, hone filters, and no pixel is copied in
 * between. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1000, HEIGHT = 700, BYTES = WIDTH * HEIGHT };

static const char drawing[] = "__kernel void draw(__global uchar *image, int width) {"
                              "  int x = get_global_id(0), y = get_global_id(1);"
                              "  image[y * width + x] = (uchar)(x * y >> 4); }";

struct own {
    cl_context context;
    cl_command_queue queue;
    cl_mem drawn, filtered;
    cl_program program;
    cl_kernel kernel;
};

/* What was made of it. What is enqueued keeps what it needs. */
static void release(const struct own *own)
{
    if (own->kernel)
        clReleaseKernel(own->kernel);
    if (own->program)
        clReleaseProgram(own->program);
    if (own->filtered)
        clReleaseMemObject(own->filtered);
    if (own->drawn)
        clReleaseMemObject(own->drawn);
    if (own->queue)
        clReleaseCommandQueue(own->queue);
    if (own->context)
        clReleaseContext(own->context);
}

/* What any OpenCL program does: a queue, two buffers, and a kernel enqueued. The first code that is not
 * CL_SUCCESS. */
static cl_int draw(struct own *own)
{
    const char *source = drawing;
    const cl_int width = WIDTH;
    const size_t size[2] = {WIDTH, HEIGHT};
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = clGetPlatformIDs(1, &platform, NULL);
    code = code ? code : clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    own->context = code ? NULL : clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    own->queue = code ? NULL : clCreateCommandQueue(own->context, device, 0, &code);
    own->drawn = code ? NULL : clCreateBuffer(own->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    own->filtered = code ? NULL : clCreateBuffer(own->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    own->program = code ? NULL : clCreateProgramWithSource(own->context, 1, &source, NULL, &code);
    code = code ? code : clBuildProgram(own->program, 1, &device, "", NULL, NULL);
    own->kernel = code ? NULL : clCreateKernel(own->program, "draw", &code);
    code = code ? code : clSetKernelArg(own->kernel, 0, sizeof own->drawn, &own->drawn);
    code = code ? code : clSetKernelArg(own->kernel, 1, sizeof width, &width);
    return code ? code : clEnqueueNDRangeKernel(own->queue, own->kernel, 2, NULL, size, NULL, 0, NULL, NULL);
}

static bool filter(const struct own *own, hone_error *error)
{
    const hone_image_desc desc = {.width = WIDTH, .height = HEIGHT, .type = HONE_U8, .channels = 1};
    hone_device *device = NULL;
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_image *in = NULL, *out = NULL;
    bool failed = hone_device_from_queue(&device, own->queue, NULL, error) ||
                  hone_chain_parse(&chain, "sobel norm=l1", error) ||
                  hone_plan_create(&plan, device, chain, &desc, NULL, error) ||
                  hone_image_from_cl(&in, device, &desc, own->drawn, 0, error) ||
                  hone_image_from_cl(&out, device, &desc, own->filtered, 0, error) ||
                  hone_plan_run(plan, in, out, NULL, 0, NULL, error); /* enqueued behind `draw` */
    hone_plan_destroy(&plan);
    hone_image_destroy(&in);
    hone_image_destroy(&out);
    hone_chain_destroy(&chain);
    hone_device_close(&device); /* the queue and the buffers stay the caller's */
    return !failed;
}

static int drawn(int x, int y)
{
    x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x; /* border=replicate */
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return (x * y >> 4) & 255;
}

static int expected(int x, int y)
{
    int dx = drawn(x + 1, y - 1) + 2 * drawn(x + 1, y) + drawn(x + 1, y + 1) - drawn(x - 1, y - 1) -
             2 * drawn(x - 1, y) - drawn(x - 1, y + 1);
    int dy = drawn(x - 1, y + 1) + 2 * drawn(x, y + 1) + drawn(x + 1, y + 1) - drawn(x - 1, y - 1) -
             2 * drawn(x, y - 1) - drawn(x + 1, y - 1);
    return abs(dx) + abs(dy) > 255 ? 255 : abs(dx) + abs(dy);
}

/* How many pixels are wrong; -1: it failed, and said why. */
static int check(struct own *own)
{
    static unsigned char result[BYTES];
    hone_error error;
    int wrong = 0, code = draw(own);
    if (code)
        return fprintf(stderr, "OpenCL: %s\n", hone_cl_error_name(code)), -1;
    if (!filter(own, &error))
        return fprintf(stderr, "%s\n", error.message), -1;
    code = clEnqueueReadBuffer(own->queue, own->filtered, CL_TRUE, 0, BYTES, result, 0, NULL, NULL);
    if (code)
        return fprintf(stderr, "OpenCL: %s\n", hone_cl_error_name(code)), -1;
    for (int i = 0; i < BYTES; i++)
        wrong += result[i] != expected(i % WIDTH, i / WIDTH);
    printf("%dx%d drawn by a kernel of this program, filtered by hone: %d pixels wrong\n", WIDTH, HEIGHT,
           wrong);
    return wrong;
}

int main(void)
{
    struct own own = {0};
    const int wrong = check(&own);
    release(&own);
    return wrong != 0;
}
