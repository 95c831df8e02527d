/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NVIDIA's profiler sees CUDA, not OpenCL. Preloaded into a program (LD_PRELOAD), this runs each of its
 * OpenCL kernels once more by CUDA's driver interface, from the PTX that the OpenCL driver tells of, with the
 * same arguments and contents of buffers, and prints to stderr whether it wrote the same:
 *
 *   again: NAME GLOBAL LOCAL same|differs|...
 *
 * The first launch of each name counts that has AGAIN_LEAST work-items or more (default 65536) and whose
 * name does not stand in AGAIN_NOT. bench/counters is its user.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 4096, MOST_ARGUMENTS = 64, MOST_BUFFERS = 4096, MOST_NAMES = 256 };

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct argument {
    size_t size;
    unsigned char value[64];
    bool local; /* memory of a work-group */
};

struct seen {
    cl_kernel kernel;
    struct argument arguments[MOST_ARGUMENTS];
    unsigned count;
};

static struct seen kernels[MOST_KERNELS];
static size_t kernel_count, name_count;
static char names[MOST_NAMES][128];
static bool working;

/* ---- CUDA, without its headers ---- */

typedef int (*cuda_call)();
static struct {
    cuda_call init, device, attribute, retain, current, load, function, fact, take, give, put, get, launch,
        wait, unload;
    size_t reserved; /* bytes of a work-group's local memory, before what a kernel has */
} cuda;

static cuda_call find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    cuda_call call;
    memcpy(&call, &symbol, sizeof call);
    return call;
}

static bool start_cuda(void)
{
    enum { MAJOR_VERSION = 75 };
    static int state = -1;
    int device, major = 0;
    void *context;
    if (state >= 0)
        return state;
    state = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return false;
    cuda.init = find(library, "cuInit");
    cuda.device = find(library, "cuDeviceGet");
    cuda.attribute = find(library, "cuDeviceGetAttribute");
    cuda.retain = find(library, "cuDevicePrimaryCtxRetain");
    cuda.current = find(library, "cuCtxSetCurrent");
    cuda.load = find(library, "cuModuleLoadDataEx");
    cuda.function = find(library, "cuModuleGetFunction");
    cuda.fact = find(library, "cuFuncGetAttribute");
    cuda.take = find(library, "cuMemAlloc_v2");
    cuda.give = find(library, "cuMemFree_v2");
    cuda.put = find(library, "cuMemcpyHtoD_v2");
    cuda.get = find(library, "cuMemcpyDtoH_v2");
    cuda.launch = find(library, "cuLaunchKernel");
    cuda.wait = find(library, "cuCtxSynchronize");
    cuda.unload = find(library, "cuModuleUnload");
    state = cuda.init && cuda.init(0) == 0 && cuda.device(&device, 0) == 0 &&
            cuda.attribute(&major, MAJOR_VERSION, device) == 0 && cuda.retain(&context, device) == 0 &&
            cuda.current(context) == 0;
    cuda.reserved = major >= 9 ? 1024 : 0;
    return state;
}

/* ---- What the program tells OpenCL ---- */

static struct seen *known(cl_kernel kernel)
{
    for (size_t i = kernel_count; i-- > 0;)
        if (kernels[i].kernel == kernel)
            return &kernels[i];
    return NULL;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    cl_kernel kernel = REAL(clCreateKernel)(program, name, code);
    struct seen *at = known(kernel); /* an address may come again */
    if (!at && kernel_count < MOST_KERNELS)
        at = &kernels[kernel_count++];
    if (kernel && at)
        *at = (struct seen){.kernel = kernel};
    return kernel;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct seen *at = known(kernel);
    if (at && index < MOST_ARGUMENTS && (!value || size <= sizeof at->arguments[0].value)) {
        at->arguments[index] = (struct argument){.size = size, .local = !value};
        if (value)
            memcpy(at->arguments[index].value, value, size);
        at->count = index + 1 > at->count ? index + 1 : at->count;
    }
    return REAL(clSetKernelArg)(kernel, index, size, value);
}

/* ---- Again ---- */

struct buffer {
    cl_mem memory;
    size_t size;
    unsigned char *before, *after, *there;
    uint64_t device;
};

struct job {
    struct seen *seen;
    struct buffer buffers[MOST_ARGUMENTS];
    size_t count, local; /* bytes of local memory that are arguments */
    void *values[MOST_ARGUMENTS];
    char *ptx;
};

/* What an argument names, if it names memory: its type; else 0. */
static cl_mem_object_type memory_of(const struct argument *a, cl_mem *memory, size_t *size)
{
    cl_mem_object_type type = 0;
    if (a->size != sizeof *memory || a->local)
        return 0;
    memcpy(memory, a->value, sizeof *memory);
    /* Two ints are no address; the loader reads what a handle points to. */
    if ((uintptr_t)*memory <= 1ull << 32 || (uintptr_t)*memory >= 1ull << 47 ||
        clGetMemObjectInfo(*memory, CL_MEM_TYPE, sizeof type, &type, NULL) ||
        clGetMemObjectInfo(*memory, CL_MEM_SIZE, sizeof *size, size, NULL))
        return 0;
    return type;
}

static const char *list_buffers(struct job *job)
{
    for (unsigned i = 0; i < job->seen->count; i++) {
        struct argument *a = &job->seen->arguments[i];
        struct buffer *b = &job->buffers[job->count];
        job->values[i] = a->value;
        if (a->local) {
            const uint64_t at = job->local;
            memcpy(a->value, &at, sizeof at);
            job->local += (a->size + 15) / 16 * 16;
            continue;
        }
        const cl_mem_object_type type = memory_of(a, &b->memory, &b->size);
        if (!type)
            continue;
        if (type != CL_MEM_OBJECT_BUFFER)
            return "takes images";
        b->before = malloc(b->size);
        b->after = malloc(b->size);
        b->there = malloc(b->size);
        job->count++;
        if (!b->before || !b->after || !b->there)
            return "needs more memory than there is";
        job->values[i] = &b->device;
    }
    return NULL;
}

static const char *read_all(struct job *job, cl_command_queue queue, bool after)
{
    for (size_t i = 0; i < job->count; i++)
        if (clEnqueueReadBuffer(queue, job->buffers[i].memory, CL_TRUE, 0, job->buffers[i].size,
                                after ? job->buffers[i].after : job->buffers[i].before, 0, NULL, NULL))
            return "its buffers cannot be read";
    return NULL;
}

/* Of a launch from 0 on, which is all that is run again, the registers with offsets hold 0. */
static void clear_offsets(char *ptx)
{
    for (char *at = ptx; (at = strstr(at, "%envreg")) != NULL;) {
        char *end = at + strlen("%envreg");
        while (*end >= '0' && *end <= '9')
            end++;
        *at = '0';
        memset(at + 1, ' ', (size_t)(end - at - 1));
    }
}

/* CUDA has no arguments that lie in local memory: they become numbers, addresses in it. */
static void clear_spaces(char *ptx)
{
    static const char space[] = ".ptr .shared .align ";
    for (char *at = ptx; (at = strstr(at, space)) != NULL;) {
        char *end = at + strlen(space);
        while (*end >= '0' && *end <= '9')
            end++;
        memset(at, ' ', (size_t)(end - at));
    }
}

static const char *get_ptx(struct job *job)
{
    cl_program program = NULL;
    size_t size = 0;
    if (clGetKernelInfo(job->seen->kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) ||
        clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) || !size)
        return "has no binary";
    job->ptx = calloc(size + 1, 1);
    unsigned char *bytes = (unsigned char *)job->ptx;
    if (!bytes || clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL))
        return "has no binary";
    if (strncmp(job->ptx,
                "\x7f"
                "ELF",
                4) != 0) {
        clear_offsets(job->ptx);
        clear_spaces(job->ptx);
    }
    return NULL;
}

/* Says why not, as the compiler for PTX does. */
static bool load_module(void **module, const char *ptx)
{
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    static char log[4096];
    int options[] = {ERROR_LOG, ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    const int code = cuda.load(module, ptx, 2u, options, values);
    if (code)
        fprintf(stderr, "again: CUDA's compiler gives %d: %s\n", code, log);
    return code == 0;
}

/* Arguments that lie in local memory come behind what the kernel itself has there. */
static bool place_local(struct job *job, void *function)
{
    enum { SHARED_SIZE_BYTES = 1 };
    int own = 0;
    if (job->local && cuda.fact(&own, SHARED_SIZE_BYTES, function))
        return false;
    for (unsigned i = 0; i < job->seen->count; i++) {
        struct argument *a = &job->seen->arguments[i];
        uint64_t at;
        memcpy(&at, a->value, sizeof at);
        at += a->local ? cuda.reserved + ((size_t)own + 15) / 16 * 16 : 0;
        memcpy(a->value, &at, sizeof at);
    }
    return true;
}

static const char *launch(struct job *job, const char *name, const size_t *groups, const size_t *local)
{
    void *module = NULL, *function = NULL;
    const char *problem = NULL;
    if (!load_module(&module, job->ptx))
        return "is not taken by CUDA";
    if (cuda.function(&function, module, name))
        problem = "is not in the program";
    if (!problem && !place_local(job, function))
        problem = "does not say how much local memory it has";
    for (size_t i = 0; i < job->count && !problem; i++)
        if (cuda.take(&job->buffers[i].device, job->buffers[i].size) ||
            cuda.put(job->buffers[i].device, job->buffers[i].before, job->buffers[i].size))
            problem = "finds no memory";
    if (!problem && (cuda.launch(function, (unsigned)groups[0], (unsigned)groups[1], (unsigned)groups[2],
                                 (unsigned)local[0], (unsigned)local[1], (unsigned)local[2],
                                 (unsigned)job->local, NULL, job->values, NULL) ||
                     cuda.wait()))
        problem = "does not run";
    for (size_t i = 0; i < job->count && !problem; i++)
        if (cuda.get(job->buffers[i].there, job->buffers[i].device, job->buffers[i].size))
            problem = "cannot be read";
    for (size_t i = 0; i < job->count; i++)
        if (job->buffers[i].device)
            cuda.give(job->buffers[i].device);
    cuda.unload(module);
    return problem;
}

static const char *verdict(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (memcmp(job->buffers[i].after, job->buffers[i].there, job->buffers[i].size) != 0)
            return "differs";
    return "same";
}

static void finish(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        free(job->buffers[i].before);
        free(job->buffers[i].after);
        free(job->buffers[i].there);
    }
    free(job->ptx);
}

static bool wanted(const char *name, size_t items)
{
    const char *least = getenv("AGAIN_LEAST"), *not = getenv("AGAIN_NOT");
    if (items < (least ? strtoull(least, NULL, 10) : 65536) || name_count == MOST_NAMES)
        return false;
    char framed[160];
    snprintf(framed, sizeof framed, " %s ", name);
    if (not &&strstr(not, framed))
        return false;
    for (size_t i = 0; i < name_count; i++)
        if (strcmp(names[i], name) == 0)
            return false;
    snprintf(names[name_count++], sizeof *names, "%s", name);
    return true;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    struct job job = {.seen = known(kernel)};
    char name[128] = "";
    size_t all[3] = {1, 1, 1}, groups[3] = {1, 1, 1}, one[3] = {1, 1, 1};
    bool even = local != NULL && !offset;
    for (cl_uint d = 0; d < dimensions; d++) {
        all[d] = global[d];
        one[d] = local ? local[d] : 1;
        groups[d] = all[d] / one[d];
        even = even && all[d] % one[d] == 0;
    }
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    const bool again = job.seen && !working && wanted(name, all[0] * all[1] * all[2]) && start_cuda();
    const char *problem = even ? NULL : "has no even work-groups from 0 on";
    working = working || again;
    if (again && !problem)
        problem = list_buffers(&job);
    if (again && !problem)
        problem = read_all(&job, queue, false);
    const cl_int code = REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local,
                                                     wait_count, wait, event);
    if (!again)
        return code;
    if (!problem)
        problem = read_all(&job, queue, true);
    if (!problem)
        problem = get_ptx(&job);
    if (!problem)
        problem = launch(&job, name, groups, one);
    fprintf(stderr, "again: %s %zux%zux%zu %zux%zux%zu %s\n", name, all[0], all[1], all[2], one[0], one[1],
            one[2], problem ? problem : verdict(&job));
    finish(&job);
    working = false;
    return code;
}
