/* SPDX-License-Identifier: BSD-2-Clause */
/* Vendors' extensions, found at run time. Each has a fallback: the fact stays unknown, the hint is not given,
 * the memory is wrapped in the ordinary way. Values are those of the Khronos registry, here because
 * CL/cl_ext.h of older distributions lacks some. */
#include "cl/internal.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NV_COMPUTE_CAPABILITY_MAJOR = 0x4000,
    NV_COMPUTE_CAPABILITY_MINOR = 0x4001,
    NV_REGISTERS_PER_BLOCK = 0x4002,
    NV_WARP_SIZE = 0x4003,
    AMD_BOARD_NAME = 0x4038,
    AMD_WAVEFRONT_WIDTH = 0x4043,
    AMD_GFXIP_MAJOR = 0x404A,
    AMD_GFXIP_MINOR = 0x404B,
    QCOM_CONTEXT_PERF_HINT = 0x40C2,
    QCOM_PERF_HINT_HIGH = 0x40C3,
    QCOM_PERF_HINT_NORMAL = 0x40C4,
    QCOM_PERF_HINT_LOW = 0x40C5,
    QCOM_HOST_WRITEBACK = 0x40A5,
    QCOM_ION_HOST_PTR = 0x40A8,
    QCOM_ANDROID_NATIVE_BUFFER_HOST_PTR = 0x40C6
};
static const cl_mem_flags qcom_ext_host_ptr = (cl_mem_flags)1 << 29;

struct qcom_host_ptr {
    cl_uint allocation_type, host_cache_policy;
};
struct qcom_ion_host_ptr {
    struct qcom_host_ptr base;
    int file;
    void *mapping;
};
struct qcom_android_buffer {
    struct qcom_host_ptr base;
    void *buffer;
};

static unsigned ask(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    return clGetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static void describe_nvidia(cl_device_id id, hone_device_info *info)
{
    unsigned major = ask(id, NV_COMPUTE_CAPABILITY_MAJOR), minor = ask(id, NV_COMPUTE_CAPABILITY_MINOR);
    if (major)
        snprintf(info->architecture, sizeof info->architecture, "sm_%u%u", major, minor);
    info->registers_per_group = ask(id, NV_REGISTERS_PER_BLOCK);
    info->simd_width = ask(id, NV_WARP_SIZE);
}

static void describe_amd(cl_device_id id, hone_device_info *info)
{
    char *board = platform_device_text(id, AMD_BOARD_NAME);
    if (board && strcmp(board, info->name) != 0)
        snprintf(info->board, sizeof info->board, "%s", board);
    free(board);
    info->simd_width = ask(id, AMD_WAVEFRONT_WIDTH);
    unsigned major = ask(id, AMD_GFXIP_MAJOR), minor = ask(id, AMD_GFXIP_MINOR);
    if (text_starts(info->name, "gfx"))
        snprintf(info->architecture, sizeof info->architecture, "%.60s", info->name);
    else if (major)
        snprintf(info->architecture, sizeof info->architecture, "gfx%u.%u", major, minor);
}

/* PoCL names the processor that it compiles for at the end of the version: "... PoCL HSTR:
 * pthread-x86_64-pc-linux-gnu-haswell". Behind the name of its driver that is what programs depend on. */
static void describe_pocl(hone_device_info *info)
{
    const char *built_for = strstr(info->device_version, "PoCL HSTR: ");
    const char *dash = built_for ? strchr(built_for, '-') : NULL;
    if (dash)
        snprintf(info->architecture, sizeof info->architecture, "%.*s", (int)strcspn(dash + 1, "; "),
                 dash + 1);
}

void vendor_describe(cl_device_id id, const char *extensions, hone_device_info *info)
{
    if (info->kind == HONE_DEVICE_CPU)
        describe_pocl(info);
    if (text_has_word(extensions, "cl_nv_device_attribute_query"))
        describe_nvidia(id, info);
    if (text_has_word(extensions, "cl_amd_device_attribute_query"))
        describe_amd(id, info);
}

/* Entry points come as data pointers; memcpy is the conversion that C allows. */
static void find_call(cl_platform_id platform, const char *name, void *slot)
{
    void *address = clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(slot, &address, sizeof address);
}

void vendor_find_calls(struct hone_device *device)
{
    if (!device_has_extension(device, "cl_khr_egl_image"))
        return;
    find_call(device->platform, "clCreateFromEGLImageKHR", &device->calls.create_from_egl_image);
    find_call(device->platform, "clEnqueueAcquireEGLObjectsKHR", &device->calls.acquire_egl);
    find_call(device->platform, "clEnqueueReleaseEGLObjectsKHR", &device->calls.release_egl);
}

void vendor_context_properties(cl_device_id id, const char *extensions, hone_performance hint,
                               cl_context_properties *properties)
{
    static const cl_context_properties values[] = {0, QCOM_PERF_HINT_HIGH, QCOM_PERF_HINT_NORMAL,
                                                   QCOM_PERF_HINT_LOW};
    (void)id;
    if (hint < HONE_PERFORMANCE_HIGH || hint > HONE_PERFORMANCE_LOW ||
        !text_has_word(extensions, "cl_qcom_perf_hint"))
        return;
    while (*properties)
        properties += 2;
    properties[0] = QCOM_CONTEXT_PERF_HINT;
    properties[1] = values[hint];
    properties[2] = 0;
}

static hone_status import_host_pointer(struct hone_device *device, void *description, size_t bytes,
                                       cl_mem *object, hone_error *error)
{
    cl_int code = CL_SUCCESS;
    *object =
        clCreateBuffer(device->context, CL_MEM_USE_HOST_PTR | qcom_ext_host_ptr, bytes, description, &code);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clCreateBuffer (external memory)");
}

static hone_status import_egl(struct hone_device *device, const hone_external *external, cl_mem *object,
                              hone_error *error)
{
    cl_int code = CL_SUCCESS;
    if (!device->calls.create_from_egl_image || !device->calls.acquire_egl || !device->calls.release_egl)
        return error_unsupported(error, "the device '%s' lists cl_khr_egl_image without its functions",
                                 device->info.name);
    *object = device->calls.create_from_egl_image(device->context, external->display, external->host,
                                                  CL_MEM_READ_WRITE, NULL, &code);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clCreateFromEGLImageKHR");
}

static hone_status unsupported(struct hone_device *device, const char *extension, hone_error *error)
{
    return error_unsupported(error, "the device '%s' does not offer %s", device->info.name, extension);
}

hone_status vendor_import(struct hone_device *device, const hone_external *external, size_t bytes,
                          cl_mem *object, hone_error *error)
{
    struct qcom_ion_host_ptr ion = {
        {QCOM_ION_HOST_PTR, QCOM_HOST_WRITEBACK}, (int)external->handle, external->host};
    struct qcom_android_buffer android = {{QCOM_ANDROID_NATIVE_BUFFER_HOST_PTR, QCOM_HOST_WRITEBACK},
                                          external->host};
    switch (external->kind) {
    case HONE_EXTERNAL_ION:
        if (!device_has_extension(device, "cl_qcom_ion_host_ptr"))
            return unsupported(device, "cl_qcom_ion_host_ptr", error);
        return import_host_pointer(device, &ion, bytes, object, error);
    case HONE_EXTERNAL_ANDROID_BUFFER:
        if (!device_has_extension(device, "cl_qcom_android_native_buffer_host_ptr"))
            return unsupported(device, "cl_qcom_android_native_buffer_host_ptr", error);
        return import_host_pointer(device, &android, bytes, object, error);
    case HONE_EXTERNAL_EGL_IMAGE:
        if (!device_has_extension(device, "cl_khr_egl_image"))
            return unsupported(device, "cl_khr_egl_image", error);
        return import_egl(device, external, object, error);
    }
    return error_usage(error, "unknown kind of external memory (%d)", (int)external->kind);
}
