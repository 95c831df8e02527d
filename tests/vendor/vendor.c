/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * An OpenCL layer that lets any device play one of a vendor's: it lists extensions, answers their queries and
 * offers their functions, and writes down what it was asked for.
 *
 *   FAKE_ADD=cl_a,cl_b    extensions to list
 *   FAKE_HIDE=cl_c        extensions to leave out
 *   FAKE_WITHOUT=clName   extension functions that are missing although the extension is listed
 *   FAKE_TYPE=4           the device's type, a CL_DEVICE_TYPE_ (4: a GPU)
 *   FAKE_MEMORY=own       the device's memory is not the host's
 *   FAKE_CLOCK=unknown    the device's clock is 0 MHz, as Intel's driver for CPUs has it
 *   FAKE_LOG=FILE         where it writes: a line for each use
 *
 * Imported memory is the host's: an ION mapping, the address given as an Android buffer, and for EGL images a
 * `struct fake_egl_image` (vendor.h).
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include "vendor.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *target;
static cl_icd_dispatch table;
static int acquired; /* EGL images in our hands */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    const char *name = getenv("FAKE_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;
    va_list args;
    if (!file)
        return;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

static bool listed(const char *variable, const char *name, size_t length)
{
    const char *list = getenv(variable);
    for (const char *at = list; at && (at = strstr(at, name)); at++)
        if (strncmp(at, name, length) == 0 && (at == list || at[-1] == ',') && strchr(",", at[length]))
            return true;
    return false;
}

/* ---- What devices say ---- */

static cl_int answer(const void *what, size_t bytes, size_t size, void *value, size_t *size_ret)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, what, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

static cl_int extensions(cl_device_id device, size_t size, void *value, size_t *size_ret)
{
    static char own[1 << 16], result[1 << 17];
    const char *add = getenv("FAKE_ADD");
    char word[256];
    cl_int code = target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof own, own, NULL);
    if (code != CL_SUCCESS)
        return code;
    result[0] = '\0';
    for (char *save = NULL, *at = strtok_r(own, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
        snprintf(word, sizeof word, "%s", at);
        if (!listed("FAKE_HIDE", word, strlen(word)))
            strcat(strcat(result, at), " ");
    }
    for (const char *at = add; at && *at; at += strcspn(at, ","), at += *at == ',')
        strcat(strncat(result, at, strcspn(at, ",")), " ");
    return answer(result, strlen(result) + 1, size, value, size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                          size_t *size_ret)
{
    static const struct {
        cl_device_info what;
        cl_uint number;
    } numbers[] = {{0x4000, 9},  {0x4001, 0},  {0x4002, 65536}, {0x4003, 32},
                   {0x4043, 64}, {0x404A, 10}, {0x404B, 3}};
    bool nvidia = listed("FAKE_ADD", "cl_nv_device_attribute_query", 28);
    bool amd = listed("FAKE_ADD", "cl_amd_device_attribute_query", 29);
    const char *type = getenv("FAKE_TYPE");
    const cl_device_type type_bits = type ? strtoul(type, NULL, 10) : 0;
    if (what == CL_DEVICE_EXTENSIONS)
        return extensions(device, size, value, size_ret);
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && getenv("FAKE_MEMORY"))
        return answer(&(cl_bool){CL_FALSE}, sizeof(cl_bool), size, value, size_ret);
    if (what == CL_DEVICE_MAX_CLOCK_FREQUENCY && getenv("FAKE_CLOCK"))
        return answer(&(cl_uint){0}, sizeof(cl_uint), size, value, size_ret);
    if (what == CL_DEVICE_TYPE && type_bits)
        return answer(&type_bits, sizeof type_bits, size, value, size_ret);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (what == numbers[i].what && (what < 0x4010 ? nvidia : amd))
            return answer(&numbers[i].number, sizeof numbers[i].number, size, value, size_ret);
    if (what == 0x4038 && amd)
        return answer("Radeon of the Fake", sizeof "Radeon of the Fake", size, value, size_ret);
    return target->clGetDeviceInfo(device, what, size, value, size_ret);
}

/* ---- Performance hint ---- */

static cl_context CL_API_CALL create_context(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *code)
{
    cl_context_properties kept[32] = {0};
    size_t used = 0;
    for (const cl_context_properties *at = properties; at && *at; at += 2)
        if (at[0] == 0x40C2) {
            note("perf-hint %x\n", (unsigned)at[1]);
        } else {
            kept[used++] = at[0];
            kept[used++] = at[1];
        }
    return target->clCreateContext(kept, count, devices, notify, user, code);
}

/* ---- Imported memory ---- */

/* As the extensions' specifications lay them out. */
struct host_pointer {
    cl_uint type, policy;
};
struct ion_pointer {
    struct host_pointer head;
    int file;
    void *mapping;
};
struct android_pointer {
    struct host_pointer head;
    void *buffer;
};

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                        cl_int *code)
{
    const cl_mem_flags external = (cl_mem_flags)1 << 29;
    if (!(flags & external))
        return target->clCreateBuffer(context, flags, size, host, code);
    const struct host_pointer *head = host;
    if (head->type == 0x40A8) {
        const struct ion_pointer *ion = host;
        note("ion file %d policy %x bytes %zu\n", ion->file, head->policy, size);
        host = ion->mapping;
    } else if (head->type == 0x40C6) {
        note("android policy %x bytes %zu\n", head->policy, size);
        host = ((const struct android_pointer *)host)->buffer;
    } else {
        *code = CL_INVALID_HOST_PTR;
        return NULL;
    }
    return target->clCreateBuffer(context, flags & ~external, size, host, code);
}

static cl_mem CL_API_CALL create_from_egl(cl_context context, void *display, void *image, cl_mem_flags flags,
                                          const intptr_t *properties, cl_int *code)
{
    const struct fake_egl_image *egl = image;
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = egl->width, .image_height = egl->height};
    note("egl create display %s properties %s\n", display == FAKE_EGL_DISPLAY ? "right" : "wrong",
         properties ? "some" : "none");
    return target->clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, &format, &desc, egl->pixels, code);
}

static cl_int CL_API_CALL acquire_egl(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                      cl_uint waits, const cl_event *wait, cl_event *event)
{
    (void)objects;
    acquired += (int)count;
    note("egl acquire %u\n", count);
    return target->clEnqueueMarkerWithWaitList(queue, waits, wait, event);
}

static cl_int CL_API_CALL release_egl(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                      cl_uint waits, const cl_event *wait, cl_event *event)
{
    (void)objects;
    acquired -= (int)count;
    note("egl release %u\n", count);
    return target->clEnqueueMarkerWithWaitList(queue, waits, wait, event);
}

static cl_int CL_API_CALL image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                          const size_t *origin, const size_t *region, size_t offset,
                                          cl_uint waits, const cl_event *wait, cl_event *event)
{
    note("image to buffer, acquired %d\n", acquired);
    return target->clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, offset, waits, wait,
                                              event);
}

static cl_int CL_API_CALL buffer_to_image(cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
                                          const size_t *origin, const size_t *region, cl_uint waits,
                                          const cl_event *wait, cl_event *event)
{
    note("buffer to image, acquired %d\n", acquired);
    return target->clEnqueueCopyBufferToImage(queue, buffer, image, offset, origin, region, waits, wait,
                                              event);
}

static void *CL_API_CALL extension_function(cl_platform_id platform, const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {{"clCreateFromEGLImageKHR", (void (*)(void))create_from_egl},
                     {"clEnqueueAcquireEGLObjectsKHR", (void (*)(void))acquire_egl},
                     {"clEnqueueReleaseEGLObjectsKHR", (void (*)(void))release_egl}};
    if (listed("FAKE_WITHOUT", name, strlen(name)))
        return NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) {
            void *address;
            memcpy(&address, &functions[i].function, sizeof address);
            return address;
        }
    return target->clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* ---- What the loader asks for ---- */

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return answer(&version, sizeof version, size, value, size_ret);
    return what == CL_LAYER_NAME ? answer("fake vendor", sizeof "fake vendor", size, value, size_ret)
                                 : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *next,
                                            cl_uint *entries_ret, const cl_icd_dispatch **layer)
{
    size_t bytes = entries * sizeof(void *);
    target = next;
    memcpy(&table, next, bytes < sizeof table ? bytes : sizeof table);
    table.clGetDeviceInfo = get_device_info;
    table.clCreateContext = create_context;
    table.clCreateBuffer = create_buffer;
    table.clEnqueueCopyImageToBuffer = image_to_buffer;
    table.clEnqueueCopyBufferToImage = buffer_to_image;
    table.clGetExtensionFunctionAddressForPlatform = extension_function;
    *entries_ret = bytes < sizeof table ? entries : (cl_uint)(sizeof table / sizeof(void *));
    *layer = &table;
    return CL_SUCCESS;
}
