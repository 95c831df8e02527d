/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that time their kernels by events may tell the mean alone, which other work on the machine
 * raises. Preloaded into one (LD_PRELOAD), this prints to stderr at the end what each kernel took, in
 * nanoseconds of the device's clock:
 *
 *   best: NAME BEST MEAN RUNS
 *
 * of those runs whose end the program asked for. bench/roofs is its user. One thread at a time.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 256, MOST_EVENTS = 1024 };

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct timed {
    char name[96];
    double best, all;
    unsigned runs;
};

static struct timed kernels[MOST_NAMES];
static size_t kernel_count;
/* The last so many launches: events are asked about soon, and their addresses come again. */
static struct {
    cl_event event;
    struct timed *kernel;
} launches[MOST_EVENTS];
static size_t launch_count;

static struct timed *named(const char *name)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    if (kernel_count == MOST_NAMES)
        return NULL;
    snprintf(kernels[kernel_count].name, sizeof kernels->name, "%s", name);
    return &kernels[kernel_count++];
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    const cl_int code = REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local,
                                                     wait_count, wait, event);
    char name[96] = "";
    if (!code && event && !clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL)) {
        const size_t at = launch_count++ % MOST_EVENTS;
        launches[at].event = *event;
        launches[at].kernel = named(name);
    }
    return code;
}

static struct timed *launched(cl_event event)
{
    const size_t kept = launch_count < MOST_EVENTS ? launch_count : MOST_EVENTS;
    for (size_t back = 1; back <= kept; back++) {
        const size_t at = (launch_count - back) % MOST_EVENTS;
        if (launches[at].event == event)
            return launches[at].kernel;
    }
    return NULL;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *value,
                               size_t *needed)
{
    const cl_int code = REAL(clGetEventProfilingInfo)(event, what, size, value, needed);
    struct timed *kernel = !code && value && what == CL_PROFILING_COMMAND_END ? launched(event) : NULL;
    cl_ulong start;
    if (!kernel ||
        REAL(clGetEventProfilingInfo)(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL))
        return code;
    const double took = (double)(*(cl_ulong *)value - start);
    kernel->best = kernel->runs && kernel->best < took ? kernel->best : took;
    kernel->all += took;
    kernel->runs++;
    return code;
}

__attribute__((destructor)) static void tell(void)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (kernels[i].runs)
            fprintf(stderr, "best: %s %.0f %.0f %u\n", kernels[i].name, kernels[i].best,
                    kernels[i].all / kernels[i].runs, kernels[i].runs);
}
