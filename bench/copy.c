/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times a plain copy on the device that hone takes (HONE_DEVICE): 16 bytes per work-item, by the kernel's own
 * time stamps. No filter that reads a byte for each that it writes can be much faster.
 *
 *   copy WIDTH HEIGHT ROUNDS    prints "# bytes moved", the least milliseconds of so many rounds, then for
 * each further line of standard input (a number of rounds) again
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <hone/hone.h>
#include <hone/interop.h>

#include <stdio.h>
#include <stdlib.h>

enum { VECTOR = 16, WARM_UP = 3 };

static const char text[] = "kernel void copy(global const uchar16 *in, global uchar16 *out)\n"
                           "{\n"
                           "    out[get_global_id(0)] = in[get_global_id(0)];\n"
                           "}\n";

struct copy {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem in, out;
    size_t vectors;
    unsigned char last; /* byte of what is copied */
};

static void check(cl_int code, const char *call)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "copy: %s gives %d\n", call, code);
    exit(1);
}

static void open_queue(struct copy *c)
{
    cl_int code = CL_SUCCESS;
    c->queue = clCreateCommandQueue(c->context, c->device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "clCreateCommandQueue");
}

static void build(struct copy *c)
{
    const char *source = text;
    cl_int code = CL_SUCCESS;
    c->program = clCreateProgramWithSource(c->context, 1, &source, NULL, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(c->program, 1, &c->device, "", NULL, NULL), "clBuildProgram");
    c->kernel = clCreateKernel(c->program, "copy", &code);
    check(code, "clCreateKernel");
}

static cl_mem new_buffer(const struct copy *c, cl_mem_flags flags, void *content)
{
    cl_int code = CL_SUCCESS;
    cl_mem buffer =
        clCreateBuffer(c->context, CL_MEM_READ_WRITE | flags, c->vectors * VECTOR, content, &code);
    check(code, "clCreateBuffer");
    return buffer;
}

/* The bytes that filters are measured on: what is all the same may be cheaper to move. */
static unsigned char *random_bytes(size_t count)
{
    unsigned char *bytes = malloc(count);
    unsigned state = 1;
    check(bytes ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "malloc");
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
    return bytes;
}

static void make_buffers(struct copy *c)
{
    unsigned char *bytes = random_bytes(c->vectors * VECTOR);
    c->last = bytes[c->vectors * VECTOR - 1];
    c->in = new_buffer(c, CL_MEM_COPY_HOST_PTR, bytes);
    c->out = new_buffer(c, 0, NULL);
    free(bytes);
    check(clSetKernelArg(c->kernel, 0, sizeof c->in, &c->in), "clSetKernelArg");
    check(clSetKernelArg(c->kernel, 1, sizeof c->out, &c->out), "clSetKernelArg");
}

static double one(const struct copy *c)
{
    cl_event done = NULL;
    cl_ulong started = 0, ended = 0;
    check(clEnqueueNDRangeKernel(c->queue, c->kernel, 1, NULL, &c->vectors, NULL, 0, NULL, &done),
          "clEnqueueNDRangeKernel");
    check(clWaitForEvents(1, &done), "clWaitForEvents");
    check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof started, &started, NULL),
          "clGetEventProfilingInfo");
    check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof ended, &ended, NULL),
          "clGetEventProfilingInfo");
    clReleaseEvent(done);
    return (double)(ended - started) * 1e-6;
}

static double least_of(const struct copy *c, int rounds)
{
    double least = 1e9;
    for (int i = 0; i < rounds; i++) {
        double ms = one(c);
        least = ms < least ? ms : least;
    }
    return least;
}

static void measure(const struct copy *c, int rounds)
{
    printf("%.6f\n", least_of(c, rounds));
    fflush(stdout);
}

/* A copy that copies nothing would be fast indeed. */
static void verify(const struct copy *c)
{
    unsigned char last = 0;
    check(clEnqueueReadBuffer(c->queue, c->out, CL_TRUE, c->vectors * VECTOR - 1, 1, &last, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    if (last == c->last)
        return;
    fprintf(stderr, "copy: the last byte is %d, not %d\n", last, c->last);
    exit(1);
}

static void release(struct copy *c)
{
    clReleaseMemObject(c->in);
    clReleaseMemObject(c->out);
    clReleaseKernel(c->kernel);
    clReleaseProgram(c->program);
    clReleaseCommandQueue(c->queue);
}

int main(int argc, char **argv)
{
    hone_device *device = NULL;
    hone_error error;
    int width = argc == 4 ? atoi(argv[1]) : 0, height = argc == 4 ? atoi(argv[2]) : 0,
        rounds = argc == 4 ? atoi(argv[3]) : 0;
    if (width < 1 || height < 1 || rounds < 1)
        return fprintf(stderr, "usage: copy WIDTH HEIGHT ROUNDS\n"), 2;
    if (hone_device_open(&device, NULL, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    struct copy c = {.context = hone_device_cl_context(device),
                     .device = hone_device_cl_device(device),
                     .vectors = ((size_t)width * (size_t)height + VECTOR - 1) / VECTOR};
    open_queue(&c);
    build(&c);
    make_buffers(&c);
    least_of(&c, WARM_UP);
    verify(&c);
    printf("# %zu\n", 2 * c.vectors * VECTOR);
    measure(&c, rounds);
    while (scanf("%d", &rounds) == 1 && rounds > 0)
        measure(&c, rounds);
    release(&c);
    hone_device_close(&device);
    return 0;
}
