/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/program.h"

#include "base/mem.h"
#include "base/text.h"
#include "cl/drivercache.h"
#include "cl/internal.h"
#include "cl/source/builtins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    struct hone_device *device;
    cl_program object;
};

enum { MAX_SAMPLERS = 2, MAX_OTHER_SAMPLERS = 4, MAX_LOG = 1 << 20 };

struct kernel {
    struct hone_device *device;
    cl_kernel object;
    char name[64];
    /* by border; then those of kernel_set_any_sampler */
    cl_sampler samplers[MAX_SAMPLERS + MAX_OTHER_SAMPLERS];
    unsigned sampler_of[MAX_OTHER_SAMPLERS]; /* for which argument they are */
};

static hone_status new_program(struct program **out, struct hone_device *device, cl_program object,
                               cl_int code, const char *call, hone_error *error)
{
    *out = NULL;
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "%s", call);
    *out = mem_new(1, sizeof **out);
    if (!*out) {
        clReleaseProgram(object);
        return error_memory(error, "a program");
    }
    **out = (struct program){device, object};
    return HONE_OK;
}

hone_status program_log(const struct program *program, struct text *out, hone_error *error)
{
    size_t size = 0;
    cl_int code =
        clGetProgramBuildInfo(program->object, program->device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetProgramBuildInfo");
    char *log = size < MAX_LOG ? mem_new(size + 1, 1) : NULL;
    if (!log)
        return error_memory(error, "the compiler's output");
    code = clGetProgramBuildInfo(program->object, program->device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    if (code == CL_SUCCESS)
        text_add(out, "%s", log);
    free(log);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clGetProgramBuildInfo");
}

static hone_status build(struct program *program, const char *options, hone_error *error)
{
    cl_int code = clBuildProgram(program->object, 1, &program->device->id, options, NULL, NULL);
    if (code == CL_SUCCESS)
        return HONE_OK;
    struct text log = {0};
    program_log(program, &log, NULL);
    hone_status status = cl_failed(error, code, "clBuildProgram with '%s'", options);
    if (error)
        snprintf(error->log, sizeof error->log, "%s", text_view(&log));
    text_finish(&log);
    return status;
}

static hone_status settle(struct program **program, hone_status status)
{
    if (status)
        program_destroy(program);
    return status;
}

static hone_status build_source(struct program **out, struct hone_device *device, const char *const parts[],
                                cl_uint count, const char *options, hone_error *error)
{
    cl_int code = CL_SUCCESS;
    cl_program object = clCreateProgramWithSource(device->context, count, (const char **)parts, NULL, &code);
    hone_status status = new_program(out, device, object, code, "clCreateProgramWithSource", error);
    return status ? status : settle(out, build(*out, options, error));
}

static long pocl_version(const struct hone_device *device)
{
    return device_is_pocl(device) ? strtol(device->info.driver_version, NULL, 10) : 0;
}

/* Keeps clang from writing "1 error generated." to stderr: the log has all that can be said. PoCL refuses
 * options that it does not know, but looks no further than the tab. */
static const char quiet[] = "\t-fno-caret-diagnostics";
enum { WITH_HEADER = 3, FIRST_QUIET = 3, LAST_QUIET = 6 }; /* versions of which that is known */

/* Whether the driver reads all built-in functions from a header that can be left out: PoCL 3 does, for OpenCL
 * C 1.2, which is its default. */
static bool reads_header(const char *options)
{
    const char *standard = strstr(options, "-cl-std");
    return !standard || text_starts(standard, "-cl-std=CL1.2");
}

/* With declarations of the built-in functions that the source names in place of the driver's header. */
static bool build_declared(struct program **out, struct hone_device *device, const char *source,
                           const char *options)
{
    struct text declarations = {0}, more = {0};
    bool built = builtins_declare(source, &declarations);
    text_add(&declarations, "#line 1\n");
    text_add(&more, "%s %s%s", options, builtins_option, quiet);
    const char *parts[] = {text_view(&declarations), source};
    built = built && !declarations.failed && !more.failed &&
            build_source(out, device, parts, 2, text_view(&more), NULL) == HONE_OK;
    text_finish(&declarations);
    text_finish(&more);
    return built;
}

hone_status program_from_driver(struct program **out, struct hone_device *device, const char *source,
                                const char *options, hone_error *error)
{
    struct text more = {0};
    const long pocl = pocl_version(device);
    if (pocl < FIRST_QUIET || pocl > LAST_QUIET)
        return build_source(out, device, &source, 1, options, error);
    if (pocl == WITH_HEADER && reads_header(options) && build_declared(out, device, source, options))
        return HONE_OK;
    text_add(&more, "%s -DHONE_QUIET%s", options, quiet);
    hone_status status = more.failed ? error_memory(error, "build options")
                                     : build_source(out, device, &source, 1, text_view(&more), error);
    text_finish(&more);
    return status;
}

hone_status program_check_room(const struct hone_device *device, bool beside, hone_error *error)
{
    enum { ONE = 2 << 20, MANY = 32 << 20 }; /* a program takes up to 0.3 MB */
    return device_is_pocl(device) ? driver_cache_check_room(beside ? MANY : ONE, error) : HONE_OK;
}

hone_status program_from_source(struct program **out, struct hone_device *device, const char *source,
                                const char *options, hone_error *error)
{
    TRY(program_check_room(device, false, error));
    device_count_source_build(device);
    return program_from_driver(out, device, source, options, error);
}

hone_status program_from_binary(struct program **out, struct hone_device *device, const void *bytes,
                                size_t count, const char *options, hone_error *error)
{
    cl_int code = CL_SUCCESS, loaded = CL_SUCCESS;
    const unsigned char *start = bytes;
    cl_program object =
        clCreateProgramWithBinary(device->context, 1, &device->id, &count, &start, &loaded, &code);
    if (code == CL_SUCCESS && loaded != CL_SUCCESS) {
        clReleaseProgram(object);
        code = loaded;
    }
    hone_status status = new_program(out, device, object, code, "clCreateProgramWithBinary", error);
    return status ? status : settle(out, build(*out, options, error));
}

static hone_status read_binary(cl_program object, struct text *out, hone_error *error)
{
    size_t size = 0;
    cl_int code = clGetProgramInfo(object, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetProgramInfo (binary size)");
    if (size == 0)
        return error_unsupported(error, "the driver gives no program binary");
    unsigned char *bytes = mem_new(size, 1);
    if (!bytes)
        return error_memory(error, "a program binary");
    code = clGetProgramInfo(object, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        text_add_bytes(out, bytes, size);
    free(bytes);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetProgramInfo (binary)");
    return out->failed ? error_memory(error, "a program binary") : HONE_OK;
}

hone_status program_binary(const struct program *program, struct text *out, hone_error *error)
{
    return read_binary(program->object, out, error);
}

void program_destroy(struct program **program)
{
    if (!program || !*program)
        return;
    clReleaseProgram((*program)->object);
    free(*program);
    *program = NULL;
}

/* The driver says no more than that the name is wrong. */
static hone_status no_such_kernel(cl_program program, cl_int code, const char *name, hone_error *error)
{
    char names[256] = "";
    struct text listed = {0};
    hone_status status = cl_failed(error, code, "clCreateKernel '%s'", name);
    if (clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL) != CL_SUCCESS)
        names[0] = '\0'; /* none are told; so, too, if they are longer */
    for (const char *at = names; *at; at += strspn(at, ";")) {
        const size_t length = strcspn(at, ";");
        text_add(&listed, "%s%.*s", at > names ? ", " : "", (int)length, at);
        at += length;
    }
    if (error && listed.length)
        snprintf(error->message, sizeof error->message, "there is no kernel '%s'; there are %s", name,
                 text_view(&listed));
    text_finish(&listed);
    return status;
}

hone_status kernel_create(struct kernel **out, struct program *program, const char *name, hone_error *error)
{
    cl_int code = CL_SUCCESS;
    *out = mem_new(1, sizeof **out);
    if (!*out)
        return error_memory(error, "a kernel");
    (*out)->device = program->device;
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    (*out)->object = clCreateKernel(program->object, name, &code);
    if (code == CL_SUCCESS)
        return HONE_OK;
    (*out)->object = NULL;
    kernel_destroy(out);
    return code == CL_INVALID_KERNEL_NAME ? no_such_kernel(program->object, code, name, error)
                                          : cl_failed(error, code, "clCreateKernel '%s'", name);
}

void kernel_destroy(struct kernel **kernel)
{
    if (!kernel || !*kernel)
        return;
    if ((*kernel)->object)
        clReleaseKernel((*kernel)->object);
    for (int i = 0; i < MAX_SAMPLERS + MAX_OTHER_SAMPLERS; i++)
        if ((*kernel)->samplers[i])
            clReleaseSampler((*kernel)->samplers[i]);
    free(*kernel);
    *kernel = NULL;
}

cl_kernel kernel_cl(const struct kernel *kernel)
{
    return kernel->object;
}

hone_status kernel_get_facts(const struct kernel *kernel, struct kernel_facts *facts, hone_error *error)
{
    cl_ulong local = 0, private_bytes = 0;
    cl_uint arguments = 0;
    *facts = (struct kernel_facts){0};
    cl_device_id id = kernel->device->id;
    cl_int code = clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_WORK_GROUP_SIZE,
                                           sizeof facts->max_work_group, &facts->max_work_group, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local,
                                        NULL);
    size_t required[3] = {0};
    if (code == CL_SUCCESS)
        code = clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                        sizeof required, required, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetKernelWorkGroupInfo of '%s'", kernel->name);
    /* NVIDIA's driver says 256 of kernels that it compiled for larger work-groups, too. */
    const size_t declared = required[0] * required[1] * required[2];
    if (declared > facts->max_work_group)
        facts->max_work_group = declared;
    code = clGetKernelInfo(kernel->object, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetKernelInfo of '%s'", kernel->name);
    /* These two are hints: a driver that does not know them is no failure. */
    facts->has_multiple =
        clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                 sizeof facts->preferred_multiple, &facts->preferred_multiple,
                                 NULL) == CL_SUCCESS;
    if (!facts->has_multiple)
        facts->preferred_multiple = 1;
    facts->has_private = clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_PRIVATE_MEM_SIZE,
                                                  sizeof private_bytes, &private_bytes, NULL) == CL_SUCCESS;
    facts->local_memory = local;
    facts->private_memory = facts->has_private ? private_bytes : 0;
    facts->arguments = arguments;
    cl_kernel_arg_address_qualifier address;
    facts->has_argument_info =
        arguments > 0 && clGetKernelArgInfo(kernel->object, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                            sizeof address, &address, NULL) == CL_SUCCESS;
    return HONE_OK;
}

hone_status kernel_binary(const struct kernel *kernel, struct text *out, hone_error *error)
{
    cl_program program = NULL;
    cl_int code = clGetKernelInfo(kernel->object, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetKernelInfo of '%s'", kernel->name);
    return read_binary(program, out, error);
}

hone_status kernel_get_argument(const struct kernel *kernel, unsigned index, struct kernel_argument *argument,
                                hone_error *error)
{
    cl_kernel_arg_address_qualifier address = 0;
    *argument = (struct kernel_argument){0};
    cl_int code = clGetKernelArgInfo(kernel->object, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address,
                                     &address, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelArgInfo(kernel->object, index, CL_KERNEL_ARG_TYPE_NAME, sizeof argument->type - 1,
                                  argument->type, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelArgInfo(kernel->object, index, CL_KERNEL_ARG_NAME, sizeof argument->name - 1,
                                  argument->name, NULL);
    cl_kernel_arg_type_qualifier qualifiers = 0;
    cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
    if (code == CL_SUCCESS)
        code = clGetKernelArgInfo(kernel->object, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers,
                                  &qualifiers, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelArgInfo(kernel->object, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access,
                                  &access, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetKernelArgInfo %u of '%s'", index, kernel->name);
    argument->is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
    argument->access = access == CL_KERNEL_ARG_ACCESS_READ_ONLY    ? 'r'
                       : access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY ? 'w'
                       : access == CL_KERNEL_ARG_ACCESS_READ_WRITE ? 'b'
                                                                   : '-';
    argument->address = address == CL_KERNEL_ARG_ADDRESS_GLOBAL     ? 'g'
                        : address == CL_KERNEL_ARG_ADDRESS_CONSTANT ? 'c'
                        : address == CL_KERNEL_ARG_ADDRESS_LOCAL    ? 'l'
                                                                    : 'p';
    return HONE_OK;
}

static hone_status set_argument(struct kernel *kernel, unsigned index, size_t bytes, const void *value,
                                hone_error *error)
{
    cl_int code = clSetKernelArg(kernel->object, index, bytes, value);
    return code == CL_SUCCESS ? HONE_OK
                              : cl_failed(error, code, "clSetKernelArg %u of '%s'", index, kernel->name);
}

hone_status kernel_set_value(struct kernel *kernel, unsigned index, const void *value, size_t bytes,
                             hone_error *error)
{
    return set_argument(kernel, index, bytes, value, error);
}

hone_status kernel_set_memory(struct kernel *kernel, unsigned index, const struct memory *memory,
                              hone_error *error)
{
    cl_mem object = memory_cl(memory);
    return set_argument(kernel, index, sizeof object, &object, error);
}

hone_status kernel_set_local(struct kernel *kernel, unsigned index, size_t bytes, hone_error *error)
{
    return set_argument(kernel, index, bytes, NULL, error);
}

hone_status kernel_set_sampler(struct kernel *kernel, unsigned index, hone_border border, hone_error *error)
{
    int slot = border == HONE_BORDER_CONSTANT;
    if (!kernel->samplers[slot]) {
        cl_int code = CL_SUCCESS;
        kernel->samplers[slot] =
            clCreateSampler(kernel->device->context, CL_FALSE,
                            slot ? CL_ADDRESS_CLAMP : CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
        if (code != CL_SUCCESS) {
            kernel->samplers[slot] = NULL;
            return cl_failed(error, code, "clCreateSampler");
        }
    }
    return set_argument(kernel, index, sizeof kernel->samplers[slot], &kernel->samplers[slot], error);
}

static cl_int make_sampler(struct kernel *kernel, const struct sampler *wanted, cl_sampler *sampler)
{
    static const cl_addressing_mode edges[] = {[SAMPLER_EDGE_NONE] = CL_ADDRESS_NONE,
                                               [SAMPLER_EDGE_REPLICATE] = CL_ADDRESS_CLAMP_TO_EDGE,
                                               [SAMPLER_EDGE_ZERO] = CL_ADDRESS_CLAMP,
                                               [SAMPLER_EDGE_REPEAT] = CL_ADDRESS_REPEAT,
                                               [SAMPLER_EDGE_MIRROR] = CL_ADDRESS_MIRRORED_REPEAT};
    cl_int code = CL_SUCCESS;
    *sampler =
        clCreateSampler(kernel->device->context, wanted->normalised ? CL_TRUE : CL_FALSE, edges[wanted->edge],
                        wanted->linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &code);
    if (code != CL_SUCCESS)
        *sampler = NULL;
    return code;
}

hone_status kernel_set_any_sampler(struct kernel *kernel, unsigned index, const struct sampler *wanted,
                                   hone_error *error)
{
    cl_sampler *slots = kernel->samplers + MAX_SAMPLERS;
    unsigned slot = 0;
    while (slot < MAX_OTHER_SAMPLERS && slots[slot] && kernel->sampler_of[slot] != index)
        slot++;
    if (slot == MAX_OTHER_SAMPLERS)
        return error_unsupported(error, "'%s' has more than %d samplers", kernel->name, MAX_OTHER_SAMPLERS);
    cl_sampler sampler;
    cl_int code = make_sampler(kernel, wanted, &sampler);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clCreateSampler");
    if (slots[slot])
        clReleaseSampler(slots[slot]);
    slots[slot] = sampler;
    kernel->sampler_of[slot] = index;
    return set_argument(kernel, index, sizeof sampler, &sampler, error);
}

hone_status kernel_enqueue(struct kernel *kernel, const struct launch *launch, struct wait_list wait,
                           hone_event **done, hone_error *error)
{
    struct cl_waits waits;
    cl_event event = NULL;
    TRY(waits_init(&waits, wait, error));
    const size_t *local = launch->local[0] ? launch->local : NULL;
    cl_int code =
        clEnqueueNDRangeKernel(kernel->device->queue, kernel->object, launch->dimensions, NULL,
                               launch->global, local, waits.count, waits.events, done ? &event : NULL);
    waits_finish(&waits);
    if (code != CL_SUCCESS)
        return cl_failed(
            error, code,
            "clEnqueueNDRangeKernel of '%s' with %zux%zux%zu work-items in groups of %zux%zux%zu",
            kernel->name, launch->global[0], launch->global[1], launch->global[2], launch->local[0],
            launch->local[1], launch->local[2]);
    struct command_note note = {.kind = HONE_COMMAND_KERNEL, .step = HONE_NO_STEP};
    snprintf(note.name, sizeof note.name, "%s", kernel->name);
    return done ? event_made(done, kernel->device, event, &note, waits.begun, error) : HONE_OK;
}
