/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory objects: made, wrapped, shared, described. */
#include "base/mem.h"
#include "cl/memory/internal.h"
#include "hone/interop.h"

#include <stdlib.h>
#include <string.h>

enum { WHOLE_PAGE = 4096, WHOLE_LINE = 64 };

static hone_status new_memory(struct memory **out, struct hone_device *device, size_t bytes,
                              hone_error *error)
{
    *out = mem_new(1, sizeof **out);
    if (!*out)
        return error_memory(error, "a memory object");
    (*out)->device = device;
    (*out)->bytes = bytes;
    atomic_init(&(*out)->owners, 1);
    return HONE_OK;
}

static hone_status reserve(struct memory *memory, const char *purpose, hone_error *error)
{
    hone_status status = device_reserve(memory->device, memory->bytes, purpose, error);
    if (!status)
        memory->reserved = memory->bytes;
    return status;
}

static hone_status create_buffer(struct memory *memory, cl_mem_flags flags, void *host, hone_error *error)
{
    cl_int code = CL_SUCCESS;
    memory->object = clCreateBuffer(memory->device->context, flags, memory->bytes, host, &code);
    if (code == CL_SUCCESS)
        return HONE_OK;
    memory->object = NULL;
    return cl_failed(error, code, "clCreateBuffer of %zu bytes on '%s'", memory->bytes,
                     memory->device->info.name);
}

static hone_status create_shared(struct memory *memory, hone_error *error)
{
    const hone_device_info *info = &memory->device->info;
    if (!info->svm_coarse)
        return error_unsupported(error, "'%s' has no coarse-grained shared virtual memory", info->name);
    memory->svm = clSVMAlloc(memory->device->context, CL_MEM_READ_WRITE, memory->bytes, 0);
    if (!memory->svm)
        return error_set(error, HONE_ERROR_MEMORY, "clSVMAlloc of %zu bytes on '%s' failed", memory->bytes,
                         info->name);
    /* A buffer over the same addresses, so that kernels take it like any other. */
    return create_buffer(memory, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory->svm, error);
}

static hone_status settle(struct memory **out, struct memory *memory, hone_status status)
{
    if (status)
        memory_destroy(&memory);
    *out = memory;
    return status;
}

hone_status memory_create(struct memory **out, struct hone_device *device, size_t bytes, hone_memory kind,
                          hone_error *error)
{
    struct memory *memory = NULL;
    hone_status status = new_memory(&memory, device, bytes, error);
    if (status)
        return *out = NULL, status;
    status = reserve(memory, "an image", error);
    if (!status && kind == HONE_MEMORY_SHARED)
        status = create_shared(memory, error);
    else if (!status)
        status = create_buffer(memory,
                               CL_MEM_READ_WRITE | (kind == HONE_MEMORY_MAPPED ? CL_MEM_ALLOC_HOST_PTR : 0),
                               NULL, error);
    return settle(out, memory, status);
}

bool memory_can_wrap(const struct hone_device *device, const void *host, size_t bytes)
{
    uintptr_t address = (uintptr_t)host;
    /* Oclgrind 21.10 takes all of such a buffer for uninitialised, whatever is written to it. */
    if (strstr(device->info.platform, "Oclgrind"))
        return false;
    if (device->info.kind == HONE_DEVICE_CPU)
        return true;
    /* GPUs that share memory copy unless they get whole pages and whole cache lines. */
    return device->info.unified_memory && address % WHOLE_PAGE == 0 && bytes % WHOLE_LINE == 0;
}

bool memory_is_shared(const struct hone_device *device)
{
    return memory_can_wrap(device, (const void *)(uintptr_t)WHOLE_PAGE, WHOLE_PAGE);
}

hone_status memory_wrap(struct memory **out, struct hone_device *device, void *host, size_t bytes,
                        hone_error *error)
{
    struct memory *memory = NULL;
    hone_status status = new_memory(&memory, device, bytes, error);
    if (status)
        return *out = NULL, status;
    memory->skew = (uintptr_t)host % WHOLE_PAGE;
    memory->host = host;
    memory->wraps = true;
    return settle(out, memory, create_buffer(memory, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host, error));
}

hone_status memory_create_table(struct memory **out, struct hone_device *device, const void *bytes,
                                size_t count, hone_error *error)
{
    struct memory *memory = NULL;
    hone_status status = new_memory(&memory, device, count, error);
    if (status)
        return *out = NULL, status;
    status = reserve(memory, "a table", error);
    THEN(status, create_buffer(memory, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (void *)bytes, error));
    if (!status)
        device_count_copy(device, COPY_UPLOAD, count);
    return settle(out, memory, status);
}

/* Images */

static cl_image_format cl_format(const struct image_format *format)
{
    static const cl_channel_order orders[] = {0, CL_R, CL_RG, 0, CL_RGBA};
    static const cl_channel_type integers[] = {[HONE_U8] = CL_UNSIGNED_INT8,
                                               [HONE_U16] = CL_UNSIGNED_INT16,
                                               [HONE_F32] = CL_FLOAT,
                                               [HONE_S16] = CL_SIGNED_INT16,
                                               [HONE_U32] = CL_UNSIGNED_INT32};
    cl_image_format result = {orders[format->channels > 4 ? 0 : format->channels], integers[format->type]};
    if (format->normalised && format->type == HONE_U8)
        result.image_channel_data_type = CL_UNORM_INT8;
    if (format->normalised && format->type == HONE_U16)
        result.image_channel_data_type = CL_UNORM_INT16;
    return result;
}

static bool format_listed(struct hone_device *device, cl_image_format wanted)
{
    cl_uint count = 0;
    if (clGetSupportedImageFormats(device->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, NULL,
                                   &count) != CL_SUCCESS ||
        count == 0)
        return false;
    cl_image_format *list = mem_new(count, sizeof *list);
    bool found = false;
    if (list && clGetSupportedImageFormats(device->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, count,
                                           list, NULL) == CL_SUCCESS)
        for (cl_uint i = 0; i < count; i++)
            found = found || (list[i].image_channel_order == wanted.image_channel_order &&
                              list[i].image_channel_data_type == wanted.image_channel_data_type);
    free(list);
    return found;
}

bool memory_image_possible(struct hone_device *device, const struct image_format *format, size_t width,
                           size_t height)
{
    cl_image_format wanted = cl_format(format);
    return device->info.images && wanted.image_channel_order && width > 0 && height > 0 &&
           width <= device->info.image_width && height <= device->info.image_height &&
           format_listed(device, wanted);
}

hone_status memory_create_image(struct memory **out, struct hone_device *device,
                                const struct image_format *format, size_t width, size_t height,
                                hone_error *error)
{
    *out = NULL;
    if (!memory_image_possible(device, format, width, height))
        return error_unsupported(error, "'%s' has no %zux%zu image of %u-channel %s%s", device->info.name,
                                 width, height, format->channels, hone_type_name(format->type),
                                 format->normalised ? " read as 0..1" : "");
    struct memory *memory = NULL;
    hone_status status =
        new_memory(&memory, device, width * height * format->channels * hone_type_size(format->type), error);
    if (status)
        return status;
    status = reserve(memory, "a 2D image", error);
    if (!status) {
        const cl_image_format wanted = cl_format(format);
        const cl_image_desc desc = {
            .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
        cl_int code = CL_SUCCESS;
        memory->object = clCreateImage(device->context, CL_MEM_READ_WRITE, &wanted, &desc, NULL, &code);
        memory->is_image = true;
        memory->format = *format;
        memory->width = width;
        memory->height = height;
        if (code != CL_SUCCESS) {
            memory->object = NULL;
            status = cl_failed(error, code, "clCreateImage of %zux%zu", width, height);
        }
    }
    return settle(out, memory, status);
}

/* Memory of others */

static hone_status object_facts(struct memory *memory, hone_error *error)
{
    cl_mem_object_type type = 0;
    size_t bytes = 0, offset = 0;
    void *host = NULL; /* where the owner made it around memory of the host */
    cl_mem parent = NULL;
    cl_int code = clGetMemObjectInfo(memory->object, CL_MEM_TYPE, sizeof type, &type, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory->object, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory->object, CL_MEM_HOST_PTR, sizeof host, &host, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory->object, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory->object, CL_MEM_OFFSET, sizeof offset, &offset, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetMemObjectInfo");
    if (type != CL_MEM_OBJECT_BUFFER && type != CL_MEM_OBJECT_IMAGE2D)
        return error_usage(error, "a memory object must be a buffer or a 2D image");
    memory->is_image = type == CL_MEM_OBJECT_IMAGE2D;
    memory->bytes = bytes;
    memory->skew = (uintptr_t)host % WHOLE_PAGE;
    memory->host = host;
    memory->parent = parent;
    memory->parent_offset = offset;
    return HONE_OK;
}

static bool same_format(const cl_image_format *there, hone_type type, uint32_t channels)
{
    const struct image_format whole = {type, channels, false}, unit = {type, channels, true};
    const cl_image_format integers = cl_format(&whole), normalised = cl_format(&unit);
    return there->image_channel_order == integers.image_channel_order &&
           (there->image_channel_data_type == integers.image_channel_data_type ||
            there->image_channel_data_type == normalised.image_channel_data_type);
}

hone_status memory_check_image(const struct memory *memory, hone_type type, uint32_t channels, size_t width,
                               size_t height, hone_error *error)
{
    cl_image_format format = {0};
    size_t its_width = 0, its_height = 0;
    cl_int code = clGetImageInfo(memory->object, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
    if (code == CL_SUCCESS)
        code = clGetImageInfo(memory->object, CL_IMAGE_WIDTH, sizeof its_width, &its_width, NULL);
    if (code == CL_SUCCESS)
        code = clGetImageInfo(memory->object, CL_IMAGE_HEIGHT, sizeof its_height, &its_height, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetImageInfo");
    if (its_width != width || its_height != height || !same_format(&format, type, channels))
        return error_usage(error,
                           "the 2D image is %zux%zu (channel order 0x%x, type 0x%x), not %zux%zu with %u "
                           "channels of %s; 1, 2 "
                           "and 4 channels are possible",
                           its_width, its_height, format.image_channel_order, format.image_channel_data_type,
                           width, height, channels, hone_type_name(type));
    return HONE_OK;
}

hone_status memory_import(struct memory **out, struct hone_device *device, const hone_external *external,
                          size_t bytes, hone_error *error)
{
    struct memory *memory = NULL;
    hone_status status = new_memory(&memory, device, bytes, error);
    if (status)
        return *out = NULL, status;
    status = vendor_import(device, external, bytes, &memory->object, error);
    memory->is_egl = external->kind == HONE_EXTERNAL_EGL_IMAGE;
    memory->is_image = memory->is_egl;
    return settle(out, memory, status);
}

hone_status memory_from_cl(struct memory **out, struct hone_device *device, struct _cl_mem *object,
                           hone_error *error)
{
    struct memory *memory = NULL;
    hone_status status = new_memory(&memory, device, 0, error);
    if (status)
        return *out = NULL, status;
    cl_int code = clRetainMemObject(object);
    if (code != CL_SUCCESS) {
        status = cl_failed(error, code, "clRetainMemObject");
    } else {
        memory->object = object;
        status = object_facts(memory, error);
    }
    return settle(out, memory, status);
}

void memory_destroy(struct memory **slot)
{
    if (!slot || !*slot)
        return;
    struct memory *memory = *slot;
    *slot = NULL;
    if (atomic_fetch_sub(&memory->owners, 1) > 1)
        return;
    if (memory->mapped) {
        memory_unmap(memory, (struct wait_list){0}, NULL, NULL);
        clFinish(memory->device->queue); /* the caller may free wrapped memory as soon as we return */
    }
    if (memory->object)
        clReleaseMemObject(memory->object);
    if (memory->svm) {
        clFinish(memory->device->queue); /* freeing does not wait for commands that use it */
        clSVMFree(memory->device->context, memory->svm);
    }
    device_unreserve(memory->device, memory->reserved);
    free(memory);
}

struct memory *memory_share(struct memory *memory)
{
    atomic_fetch_add(&memory->owners, 1);
    return memory;
}

struct _cl_mem *memory_cl(const struct memory *memory)
{
    return memory->object;
}

size_t memory_bytes(const struct memory *memory)
{
    return memory->bytes;
}

size_t memory_skew(const struct memory *memory)
{
    return memory->skew;
}

bool memory_is_image(const struct memory *memory)
{
    return memory->is_image;
}

bool memory_is_such_image(const struct memory *memory, const struct image_format *format, size_t width,
                          size_t height)
{
    return memory->is_image && memory->width == width && memory->height == height &&
           memory->format.type == format->type && memory->format.channels == format->channels &&
           memory->format.normalised == format->normalised;
}

void memory_home(const struct memory *memory, const void **space, size_t *start)
{
    *space = memory->host ? NULL : memory->parent ? memory->parent : memory->object;
    *start = memory->host ? (size_t)memory->host : memory->parent ? memory->parent_offset : 0;
}

bool memory_is_mapped(const struct memory *memory)
{
    return memory->mapped != NULL;
}
