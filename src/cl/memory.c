/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/internal.h"

#include "base/mem.h"
#include "cl/event.h"
#include "hone/interop.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    struct hone_device *device;
    atomic_uint owners;
    cl_mem object;
    size_t bytes;
    uint64_t reserved; /* of the device's budget */
    bool is_image, is_egl;
    void *mapped;
    bool written;       /* by whoever has it mapped */
    void *svm;          /* freed with the object */
    size_t skew;        /* see memory_skew */
    const void *host;   /* what it was made around, or NULL */
    const void *parent; /* of a sub-buffer, or NULL */
    size_t parent_offset;
    struct image_format format; /* of images that memory_create_image made */
    size_t width, height;
};

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

/* Commands. Each follows one pattern: events in, call, event out. */

struct command {
    struct cl_waits waits;
    cl_event event;
    cl_event *slot; /* where OpenCL puts the event; NULL: none wanted */
};

static hone_status command_begin(struct command *command, struct wait_list wait, hone_event **done,
                                 hone_error *error)
{
    command->event = NULL;
    command->slot = done ? &command->event : NULL;
    return waits_init(&command->waits, wait, error);
}

static hone_status noted_end(struct command *command, struct hone_device *device, cl_int code,
                             const char *call, hone_command_kind kind, size_t bytes, hone_event **done,
                             hone_error *error)
{
    const struct command_note note = {.kind = kind, .step = HONE_NO_STEP, .bytes = bytes};
    waits_finish(&command->waits);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "%s", call);
    return done ? event_made(done, device, command->event, &note, command->waits.begun, error) : HONE_OK;
}

static hone_status command_end(struct command *command, struct hone_device *device, cl_int code,
                               const char *call, hone_event **done, hone_error *error)
{
    return noted_end(command, device, code, call, HONE_COMMAND_OTHER, 0, done, error);
}

/* The same for commands that copy: what worked is counted. */
static hone_status copy_end(struct command *command, struct hone_device *device, cl_int code,
                            const char *call, enum copy_kind kind, size_t bytes, hone_event **done,
                            hone_error *error)
{
    static const hone_command_kind kinds[] = {[COPY_UPLOAD] = HONE_COMMAND_UPLOAD,
                                              [COPY_DOWNLOAD] = HONE_COMMAND_DOWNLOAD,
                                              [COPY_MOVE] = HONE_COMMAND_MOVE,
                                              [COPY_CONVERSION] = HONE_COMMAND_CONVERSION,
                                              [COPY_MAP] = HONE_COMMAND_MAP};
    if (code == CL_SUCCESS && bytes)
        device_count_copy(device, kind, bytes);
    return noted_end(command, device, code, call, kinds[kind], bytes, done, error);
}

static bool span_is_solid(const struct span *span, size_t host_pitch)
{
    return span->rows == 1 || (span->pitch == span->row_bytes && host_pitch == span->row_bytes);
}

/* NVIDIA's driver counts every row of a rectangle with its padding, and refuses one whose last row ends with
 * its pixels at the end of the buffer. Such a row goes by itself. */
static bool ends_early(const struct memory *memory, const struct span *span)
{
    return span->rows > 1 && (span->offset / span->pitch + span->rows) * span->pitch > memory->bytes;
}

static struct span rows_of(const struct span *span, size_t first, size_t rows)
{
    return (struct span){span->offset + first * span->pitch, span->pitch, span->row_bytes, rows};
}

/* Between a buffer and the caller's memory: `host` is written when reading, and only then. */
struct transfer {
    struct memory *memory;
    bool reads;
    char *host;
    size_t host_pitch;
    enum lane lane;
};

static enum copy_kind kind_of(const struct transfer *t)
{
    return t->reads ? COPY_DOWNLOAD : COPY_UPLOAD;
}

static hone_status transfer_run(const struct transfer *t, const struct span *span, struct wait_list wait,
                                hone_event **done, hone_error *error);

static hone_status transfer_in_two(const struct transfer *t, const struct span *span, struct wait_list wait,
                                   hone_event **done, hone_error *error)
{
    const struct span most = rows_of(span, 0, span->rows - 1), last = rows_of(span, span->rows - 1, 1);
    struct transfer rest = *t;
    hone_event *first = NULL;
    hone_status status = transfer_run(t, &most, wait, done ? &first : NULL, error);
    const hone_event *const events[] = {first};
    rest.host += most.rows * t->host_pitch;
    THEN(status, transfer_run(&rest, &last, (struct wait_list){events, first != NULL}, done, error));
    if (!status && done)
        event_join(&first, done, done);
    hone_event_destroy(&first);
    return status;
}

static hone_status copy_in_two(struct memory *from, const struct span *source, struct memory *to,
                               const struct span *target, struct wait_list wait, hone_event **done,
                               hone_error *error)
{
    const size_t rows = source->rows - 1;
    const struct span most = rows_of(source, 0, rows), last = rows_of(source, rows, 1),
                      most_to = rows_of(target, 0, rows), last_to = rows_of(target, rows, 1);
    hone_event *first = NULL;
    hone_status status = memory_copy(from, &most, to, &most_to, wait, done ? &first : NULL, error);
    const hone_event *const events[] = {first};
    const struct wait_list after = first ? (struct wait_list){events, 1} : wait;
    THEN(status, memory_copy(from, &last, to, &last_to, after, done, error));
    if (!status && done)
        event_join(&first, done, done);
    hone_event_destroy(&first);
    return status;
}

static cl_int transfer_solid(const struct transfer *t, size_t offset, size_t bytes, char *host,
                             const struct command *c, cl_bool blocking, cl_event *event)
{
    cl_command_queue queue = lane_queue(t->memory->device, t->lane);
    if (t->reads)
        return clEnqueueReadBuffer(queue, t->memory->object, blocking, offset, bytes, host, c->waits.count,
                                   c->waits.events, event);
    return clEnqueueWriteBuffer(queue, t->memory->object, blocking, offset, bytes, host, c->waits.count,
                                c->waits.events, event);
}

static cl_int transfer_rectangle(const struct transfer *t, const struct span *span, const struct command *c,
                                 cl_bool blocking)
{
    cl_command_queue queue = lane_queue(t->memory->device, t->lane);
    const size_t buffer_at[3] = {span->offset % span->pitch, span->offset / span->pitch, 0}, host_at[3] = {0},
                 region[3] = {span->row_bytes, span->rows, 1};
    if (t->reads)
        return clEnqueueReadBufferRect(queue, t->memory->object, blocking, buffer_at, host_at, region,
                                       span->pitch, 0, t->host_pitch, 0, t->host, c->waits.count,
                                       c->waits.events, c->slot);
    return clEnqueueWriteBufferRect(queue, t->memory->object, blocking, buffer_at, host_at, region,
                                    span->pitch, 0, t->host_pitch, 0, t->host, c->waits.count,
                                    c->waits.events, c->slot);
}

/* What a driver refuses as a rectangle goes row by row: slow, but it goes. All but the last block, so that
 * its event tells of all. */
static cl_int transfer_rows(const struct transfer *t, const struct span *span, const struct command *c,
                            cl_bool blocking)
{
    cl_int code = CL_SUCCESS;
    for (size_t row = 0; row < span->rows && code == CL_SUCCESS; row++) {
        bool last = row + 1 == span->rows;
        code = transfer_solid(t, span->offset + row * span->pitch, span->row_bytes,
                              t->host + row * t->host_pitch, c, last ? blocking : CL_TRUE,
                              last ? c->slot : NULL);
        if (code == CL_SUCCESS && !last)
            device_count_copy(t->memory->device, kind_of(t), span->row_bytes);
    }
    return code;
}

static hone_status transfer_run(const struct transfer *t, const struct span *span, struct wait_list wait,
                                hone_event **done, hone_error *error)
{
    const bool solid = span_is_solid(span, t->host_pitch);
    const cl_bool blocking = done ? CL_FALSE : CL_TRUE;
    const char *call = t->reads ? "clEnqueueReadBuffer" : "clEnqueueWriteBuffer";
    size_t bytes = span->row_bytes * span->rows;
    struct command c;
    cl_int code;
    if (!solid && ends_early(t->memory, span))
        return transfer_in_two(t, span, wait, done, error);
    TRY(command_begin(&c, wait, done, error));
    if (solid) {
        code = transfer_solid(t, span->offset, bytes, t->host, &c, blocking, c.slot);
    } else {
        call = t->reads ? "clEnqueueReadBufferRect" : "clEnqueueWriteBufferRect";
        code = transfer_rectangle(t, span, &c, blocking);
        if (code == CL_INVALID_VALUE) {
            code = transfer_rows(t, span, &c, blocking);
            bytes = span->row_bytes; /* the last row; the others are counted */
        }
    }
    return copy_end(&c, t->memory->device, code, call, kind_of(t), bytes, done, error);
}

hone_status memory_write(struct memory *memory, const struct span *to, const void *host, size_t host_pitch,
                         struct wait_list wait, hone_event **done, hone_error *error)
{
    const struct transfer t = {memory, false, (char *)host, host_pitch, LANE_MAIN};
    return transfer_run(&t, to, wait, done, error);
}

hone_status memory_read(struct memory *memory, const struct span *from, void *host, size_t host_pitch,
                        struct wait_list wait, hone_event **done, hone_error *error)
{
    const struct transfer t = {memory, true, host, host_pitch, LANE_MAIN};
    return transfer_run(&t, from, wait, done, error);
}

hone_status memory_send(struct memory *memory, const struct span *to, const void *host, size_t host_pitch,
                        struct wait_list wait, hone_event **done, hone_error *error)
{
    const struct transfer t = {memory, false, (char *)host, host_pitch, LANE_UPLOAD};
    return transfer_run(&t, to, wait, done, error);
}

hone_status memory_fetch(struct memory *memory, const struct span *from, void *host, size_t host_pitch,
                         struct wait_list wait, hone_event **done, hone_error *error)
{
    const struct transfer t = {memory, true, host, host_pitch, LANE_DOWNLOAD};
    return transfer_run(&t, from, wait, done, error);
}

hone_status memory_fill(struct memory *memory, const void *pattern, size_t pattern_bytes, size_t bytes,
                        struct wait_list wait, hone_event **done, hone_error *error)
{
    struct command c;
    TRY(command_begin(&c, wait, done, error));
    cl_int code = clEnqueueFillBuffer(memory->device->queue, memory->object, pattern, pattern_bytes, 0, bytes,
                                      c.waits.count, c.waits.events, c.slot);
    return command_end(&c, memory->device, code, "clEnqueueFillBuffer", done, error);
}

/* Not all of an image has to be copied; an imported one knows only its pixel. */
static size_t image_bytes(const struct memory *image, size_t width, size_t height)
{
    size_t pixel = 0;
    clGetImageInfo(image->object, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, NULL);
    return width * height * pixel;
}

hone_status memory_buffer_to_image(struct memory *buffer, size_t offset, struct memory *image, size_t width,
                                   size_t height, struct wait_list wait, hone_event **done, hone_error *error)
{
    struct command c;
    TRY(command_begin(&c, wait, done, error));
    const size_t origin[3] = {0}, region[3] = {width, height, 1};
    cl_int code = clEnqueueCopyBufferToImage(buffer->device->queue, buffer->object, image->object, offset,
                                             origin, region, c.waits.count, c.waits.events, c.slot);
    return copy_end(&c, buffer->device, code, "clEnqueueCopyBufferToImage", COPY_CONVERSION,
                    image_bytes(image, width, height), done, error);
}

hone_status memory_image_to_buffer(struct memory *image, struct memory *buffer, size_t offset, size_t width,
                                   size_t height, struct wait_list wait, hone_event **done, hone_error *error)
{
    struct command c;
    TRY(command_begin(&c, wait, done, error));
    const size_t origin[3] = {0}, region[3] = {width, height, 1};
    cl_int code = clEnqueueCopyImageToBuffer(image->device->queue, image->object, buffer->object, origin,
                                             region, offset, c.waits.count, c.waits.events, c.slot);
    return copy_end(&c, image->device, code, "clEnqueueCopyImageToBuffer", COPY_CONVERSION,
                    image_bytes(image, width, height), done, error);
}

hone_status memory_copy(struct memory *from, const struct span *source, struct memory *to,
                        const struct span *target, struct wait_list wait, hone_event **done,
                        hone_error *error)
{
    struct command c;
    if (!span_is_solid(source, target->pitch) && (ends_early(from, source) || ends_early(to, target)))
        return copy_in_two(from, source, to, target, wait, done, error);
    TRY(command_begin(&c, wait, done, error));
    cl_command_queue queue = from->device->queue;
    const char *call = "clEnqueueCopyBuffer";
    cl_int code;
    if (span_is_solid(source, target->pitch)) {
        code = clEnqueueCopyBuffer(queue, from->object, to->object, source->offset, target->offset,
                                   source->row_bytes * source->rows, c.waits.count, c.waits.events, c.slot);
    } else {
        call = "clEnqueueCopyBufferRect";
        const size_t source_at[3] = {source->offset % source->pitch, source->offset / source->pitch, 0};
        const size_t target_at[3] = {target->offset % target->pitch, target->offset / target->pitch, 0};
        const size_t region[3] = {source->row_bytes, source->rows, 1};
        code = clEnqueueCopyBufferRect(queue, from->object, to->object, source_at, target_at, region,
                                       source->pitch, 0, target->pitch, 0, c.waits.count, c.waits.events,
                                       c.slot);
    }
    return copy_end(&c, from->device, code, call, COPY_MOVE, source->row_bytes * source->rows, done, error);
}

/* Whether a mapping is the memory itself. */
static bool maps_in_place(const struct memory *memory)
{
    const hone_device_info *info = &memory->device->info;
    return info->unified_memory || info->kind == HONE_DEVICE_CPU;
}

hone_status memory_map(struct memory *memory, bool write, void **pointer, struct wait_list wait,
                       hone_event **done, hone_error *error)
{
    struct command c;
    if (memory->is_image)
        return error_unsupported(error, "a 2D image object cannot be mapped; download it");
    TRY(command_begin(&c, wait, done, error));
    cl_int code = CL_SUCCESS;
    cl_map_flags flags = CL_MAP_READ | (write ? CL_MAP_WRITE : 0);
    void *mapped = clEnqueueMapBuffer(memory->device->queue, memory->object, done ? CL_FALSE : CL_TRUE, flags,
                                      0, memory->bytes, c.waits.count, c.waits.events, c.slot, &code);
    if (code == CL_SUCCESS) {
        memory->mapped = mapped;
        memory->written = write;
        *pointer = mapped;
    }
    return copy_end(&c, memory->device, code, "clEnqueueMapBuffer", COPY_MAP,
                    maps_in_place(memory) ? 0 : memory->bytes, done, error);
}

hone_status memory_unmap(struct memory *memory, struct wait_list wait, hone_event **done, hone_error *error)
{
    struct command c;
    TRY(command_begin(&c, wait, done, error));
    cl_int code = clEnqueueUnmapMemObject(memory->device->queue, memory->object, memory->mapped,
                                          c.waits.count, c.waits.events, c.slot);
    if (code == CL_SUCCESS)
        memory->mapped = NULL;
    return copy_end(&c, memory->device, code, "clEnqueueUnmapMemObject", COPY_MAP,
                    memory->written && !maps_in_place(memory) ? memory->bytes : 0, done, error);
}

hone_status memory_mark(struct memory *memory, struct wait_list wait, hone_event **done, hone_error *error)
{
    struct command c;
    hone_status status = done ? command_begin(&c, wait, done, error) : HONE_OK;
    if (status || !done)
        return status;
    cl_int code = clEnqueueMarkerWithWaitList(memory->device->queue, c.waits.count, c.waits.events, c.slot);
    return command_end(&c, memory->device, code, "clEnqueueMarkerWithWaitList", done, error);
}

bool memory_is_lent(const struct memory *memory)
{
    return memory->is_egl;
}

hone_status memory_acquire(struct memory *memory, struct wait_list wait, hone_event **done, hone_error *error)
{
    struct command c;
    TRY(command_begin(&c, wait, done, error));
    cl_int code = memory->device->calls.acquire_egl(memory->device->queue, 1, &memory->object, c.waits.count,
                                                    c.waits.events, c.slot);
    return command_end(&c, memory->device, code, "clEnqueueAcquireEGLObjectsKHR", done, error);
}

hone_status memory_give_back(struct memory *memory, struct wait_list wait, hone_event **done,
                             hone_error *error)
{
    struct command c;
    TRY(command_begin(&c, wait, done, error));
    cl_int code = memory->device->calls.release_egl(memory->device->queue, 1, &memory->object, c.waits.count,
                                                    c.waits.events, c.slot);
    return command_end(&c, memory->device, code, "clEnqueueReleaseEGLObjectsKHR", done, error);
}
