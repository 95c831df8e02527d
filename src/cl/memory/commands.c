/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands on memory. Each follows one pattern: events in, call, event out. */
#include "cl/event.h"
#include "cl/memory/internal.h"
#include "cl/selftest.h"

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

bool memory_is_in_place(const struct memory *memory)
{
    return memory->wraps && selftest_holds(memory->device, SELFTEST_IN_PLACE);
}

static void *take_mapped(struct memory *memory, bool write)
{
    memory->mapped = (void *)memory->host;
    memory->written = write;
    return memory->mapped;
}

/* The order of commands stays that of a map. */
static hone_status map_in_place(struct memory *memory, bool write, void **pointer, struct wait_list wait,
                                hone_event **done, hone_error *error)
{
    hone_event *event = NULL;
    hone_status status = memory_mark(memory, wait, done ? done : &event, error);
    if (!status && !done)
        status = hone_event_wait(event, error);
    hone_event_destroy(&event);
    if (!status)
        *pointer = take_mapped(memory, write);
    return status;
}

/* Without events there is nothing to order: what comes later is behind what came before. */
static hone_status unmap_in_place(struct memory *memory, struct wait_list wait, hone_event **done,
                                  hone_error *error)
{
    hone_event *event = NULL;
    hone_status status =
        done || wait.count ? memory_mark(memory, wait, done ? done : &event, error) : HONE_OK;
    hone_event_destroy(&event);
    if (!status)
        memory->mapped = NULL;
    return status;
}

hone_status memory_own(struct memory *memory, hone_error *error)
{
    void *mapped = NULL;
    if (!memory_is_in_place(memory))
        return memory_map(memory, true, &mapped, (struct wait_list){0}, NULL, error);
    take_mapped(memory, true);
    return HONE_OK;
}

hone_status memory_map(struct memory *memory, bool write, void **pointer, struct wait_list wait,
                       hone_event **done, hone_error *error)
{
    struct command c;
    if (memory->is_image)
        return error_unsupported(error, "a 2D image object cannot be mapped; download it");
    if (memory_is_in_place(memory))
        return map_in_place(memory, write, pointer, wait, done, error);
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
    if (memory_is_in_place(memory))
        return unmap_in_place(memory, wait, done, error);
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
