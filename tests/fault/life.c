/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The life of devices, plans and images, for tests/fault/faults.py, which makes each call in it fail: life
 * SCENE
 *
 *   result SCENE HASH                  what came out of it, in the order of events
 *   failed STATUS CODE MESSAGE         the error that ended the scene
 *   broken TEXT                        a promise of the library that was not kept
 *
 * Exit status: 0 all went well, 1 an error was reported, 2 a promise was broken.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cl/platforms.h"
#include "cl/selftest.h"
#include "filter/arguments.h"
#include "filter/registry.h"
#include "hone/hone.h"
#include "hone/interop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ROOM: results may have larger pixels. */
enum { WIDTH = 37, HEIGHT = 11, PITCH = 48, BYTES = PITCH * HEIGHT, ROOM = 8 * BYTES };

static const hone_image_desc gray = {WIDTH, HEIGHT, HONE_U8, 1, PITCH};

static struct {
    const char *scene;
    bool broken;
} now;

__attribute__((format(printf, 1, 2))) static void broken(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("broken ");
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    now.broken = true;
}

/* Pixels without the padding behind rows. */
static void show(const char *what, const uint8_t *pixels, const hone_image_desc *desc)
{
    uint64_t hash = 0;
    for (uint32_t y = 0; y < desc->height; y++)
        hash = hash * 31 + hash_fnv(pixels + y * hone_image_pitch(desc), hone_image_row_bytes(desc));
    printf("result %s %s %016llx\n", now.scene, what, (unsigned long long)hash);
}

static uint8_t *picture(void)
{
    uint8_t *pixels = calloc(BYTES, 1);
    for (size_t i = 0; pixels && i < BYTES; i++)
        pixels[i] = (uint8_t)(i * 73 + i / 5);
    return pixels;
}

/* What a scene works with; everything is released at its end, however far it came. */
struct life {
    hone_device *device;
    hone_chain *chain;
    hone_plan *plan;
    hone_stream *stream;
    hone_image *in, *out;
    hone_event *events[4];
    uint8_t *source, *target;
};

static void life_finish(struct life *l)
{
    uint64_t held = 0;
    for (size_t i = 0; i < COUNT_OF(l->events); i++)
        hone_event_destroy(&l->events[i]);
    hone_stream_destroy(&l->stream);
    hone_plan_destroy(&l->plan);
    hone_image_destroy(&l->in);
    hone_image_destroy(&l->out);
    hone_chain_destroy(&l->chain);
    if (l->device)
        hone_device_memory(l->device, &held, NULL);
    if (held)
        broken("%llu bytes are still accounted for when everything is destroyed", (unsigned long long)held);
    hone_device_close(&l->device);
    free(l->source);
    free(l->target);
}

static hone_status life_open(struct life *l, const hone_device_request *request, const char *chain,
                             const hone_plan_options *options, hone_error *error)
{
    l->source = picture();
    l->target = calloc(ROOM, 1);
    if (!l->source || !l->target)
        return error_memory(error, "the pixels of a scene");
    hone_status status = hone_device_open(&l->device, request, error);
    if ((status == HONE_OK) != (l->device != NULL))
        broken("hone_device_open gives %d and %p", status, (void *)l->device);
    if (!status)
        status = hone_chain_parse(&l->chain, chain, error);
    if (!status)
        status = hone_plan_create(&l->plan, l->device, l->chain, &gray, options, error);
    if (!status != (l->plan != NULL))
        broken("hone_plan_create gives %d and %p", status, (void *)l->plan);
    return status;
}

/* ---- Scenes ---- */

static void ignore(void *user, hone_status status)
{
    (void)user, (void)status;
}

/* Everything that can be asked of an event. */
static hone_status question_event(const hone_event *event, hone_error *error)
{
    hone_times times;
    hone_durations durations;
    bool done = false;
    hone_status status = hone_event_notify(event, ignore, NULL, error);
    if (!status)
        status = hone_event_wait(event, error);
    if (!status)
        status = hone_event_poll(event, &done, error);
    if (!status && !done)
        broken("an event that was waited for is not done");
    if (!status)
        status = hone_event_times(event, &times, error);
    if (!status)
        status = hone_event_durations(event, &durations, error);
    return status == HONE_ERROR_UNSUPPORTED ? HONE_OK : status; /* a device without a clock that works */
}

static hone_status run_wrapped(struct life *l, const char *what, hone_error *error)
{
    memset(l->target, 0, BYTES);
    hone_event_destroy(&l->events[0]);
    hone_status status = hone_plan_run(l->plan, l->in, l->out, NULL, 0, &l->events[0], error);
    if (status && l->events[0])
        broken("hone_plan_run failed and left an event");
    if (!status)
        status = question_event(l->events[0], error);
    if (!status)
        status = hone_image_download(l->out, NULL, 0, NULL, 0, NULL, error);
    if (!status)
        show(what, l->target, &gray);
    return status;
}

/* A change that fails must leave the plan as it was, or at least in a state that says so. */
static hone_status change(struct life *l, const char *parameters, const char *what, hone_error *error)
{
    hone_error second;
    hone_status status = hone_plan_set(l->plan, 0, parameters, error);
    if (!status)
        return run_wrapped(l, what, error);
    hone_status again = run_wrapped(l, "unchanged", &second);
    if (!again)
        printf("kept %s\n", what);
    else if (!second.message[0])
        broken("hone_plan_run after a failed change says nothing");
    return status;
}

static hone_status scene_plan(struct life *l, hone_error *error)
{
    const hone_device_request request = {.profile = true};
    hone_status status =
        life_open(l, &request, "box size=3 | sobel norm=l1 | box size=2 border=wrap", NULL, error);
    if (!status)
        status = hone_image_wrap(&l->in, l->device, &gray, l->source, error);
    if (!status)
        status = hone_image_wrap(&l->out, l->device, &gray, l->target, error);
    if (!status)
        status = run_wrapped(l, "first", error);
    if (!status)
        status = change(l, "size=5", "argument", error);
    if (!status)
        status = change(l, "border=reflect", "shape", error);
    if (!status)
        status = hone_plan_apply(l->plan, l->source, PITCH, l->target, PITCH, error);
    if (!status)
        show("applied", l->target, &gray);
    return status;
}

/* Handing wrapped pixels over and back, with an event each time, in both states. */
static hone_status scene_handing(struct life *l, hone_error *error)
{
    hone_status status = life_open(l, NULL, "box size=3", NULL, error);
    if (!status)
        status = hone_image_wrap(&l->in, l->device, &gray, l->source, error);
    for (int i = 0; i < 2 && !status; i++) {
        status = hone_image_upload(l->in, NULL, 0, NULL, 0, &l->events[0], error);
        if (!status)
            status = hone_image_upload(l->in, NULL, 0, NULL, 0, &l->events[1], error);
        if (!status)
            status = hone_image_download(l->in, NULL, 0, NULL, 0, &l->events[2], error);
        if (!status)
            status = hone_image_download(l->in, NULL, 0, NULL, 0, &l->events[3], error);
        for (size_t k = 0; k < COUNT_OF(l->events); k++) {
            if (!status)
                status = hone_event_wait(l->events[k], error);
            hone_event_destroy(&l->events[k]);
        }
    }
    if (!status)
        show("handed", l->source, &gray);
    return status;
}

/* A kernel that does not compile ($HONE_KERNEL_DIR): the error is the result. */
static hone_status scene_syntax(struct life *l, hone_error *error)
{
    const hone_plan_options options = {.variant = "direct"};
    hone_status status = life_open(l, NULL, "box", &options, error);
    if (status != HONE_ERROR_DEVICE || error->cl_code != -11)
        return status;
    printf("result syntax %s\n", error->message);
    return HONE_OK;
}

/* Memory imported through vendors' extensions; needs the layer that plays them. */
static hone_status scene_vendor(struct life *l, hone_error *error)
{
    static const hone_external_kind kinds[] = {HONE_EXTERNAL_ION, HONE_EXTERNAL_ANDROID_BUFFER};
    const hone_device_request request = {.performance = HONE_PERFORMANCE_HIGH};
    hone_status status = life_open(l, &request, "box size=3", NULL, error);
    for (size_t i = 0; i < COUNT_OF(kinds) && !status; i++) {
        const hone_external from = {.kind = kinds[i], .host = l->source},
                            to = {.kind = kinds[i], .host = l->target};
        hone_image_destroy(&l->in);
        hone_image_destroy(&l->out);
        status = hone_image_import(&l->in, l->device, &gray, &from, error);
        if (!status)
            status = hone_image_import(&l->out, l->device, &gray, &to, error);
        if (!status)
            status = hone_plan_run(l->plan, l->in, l->out, NULL, 0, NULL, error);
        if (!status)
            status = hone_device_finish(l->device, error);
        if (!status)
            show("imported", l->target, &gray);
    }
    if (l->device)
        hone_device_finish(l->device, NULL);
    return status;
}

static hone_status scene_selftest(struct life *l, hone_error *error)
{
    hone_status status = hone_device_open(&l->device, NULL, error);
    printf("result %s", now.scene);
    for (int i = 0; i < SELFTEST_COUNT && !status; i++)
        printf(" %s%c", selftest_item_name((enum selftest_item)i),
               selftest_holds(l->device, (enum selftest_item)i) ? '+' : '-');
    putchar('\n');
    return status;
}

static hone_status scene_list(struct life *l, hone_error *error)
{
    hone_device_info *list = NULL;
    size_t count = 0;
    (void)l;
    hone_status status = hone_device_list(&list, &count, error);
    for (size_t i = 0; i < count; i++)
        printf("result %s %s\n", now.scene, list[i].platform);
    if (status && (list || count))
        broken("hone_device_list failed and left a list");
    hone_device_list_free(&list);
    return status;
}

/* What reports tell of platforms and devices. */
static hone_status scene_details(struct life *l, hone_error *error)
{
    struct platform_info *list = NULL;
    struct device_details details;
    size_t count = 0;
    (void)l;
    hone_status status = platform_list(&list, &count, error);
    for (size_t i = 0; i < count; i++)
        printf("result list %s\n", list[i].name);
    free(list);
    if (!status)
        status = device_details(&details, 0, error);
    if (!status)
        device_details_finish(&details);
    return status;
}

/* Uploads, runs and downloads chained by events. */
static hone_status chained(struct life *l, hone_error *error)
{
    const hone_event *const *waits = (const hone_event *const *)l->events;
    hone_status status = hone_image_upload(l->in, l->source, PITCH, NULL, 0, &l->events[0], error);
    if (!status)
        status = hone_plan_run(l->plan, l->in, l->out, waits, 1, &l->events[1], error);
    if (!status)
        status = hone_image_download(l->out, l->target, PITCH, waits + 1, 1, &l->events[2], error);
    if (!status)
        status = hone_event_wait(l->events[2], error);
    if (status && l->device)
        hone_device_finish(l->device, NULL); /* what was enqueued may still use the pixels */
    if (!status)
        show("chained", l->target, &gray);
    return status;
}

static hone_status map_both_ways(struct life *l, hone_error *error)
{
    void *pixels = NULL;
    hone_status status = hone_image_map(l->out, false, &pixels, error);
    if (!status) {
        show("mapped", pixels, hone_image_get_desc(l->out));
        status = hone_image_unmap(l->out, error);
    }
    if (!status)
        status = hone_image_map(l->in, true, &pixels, error);
    if (!status) {
        memset(pixels, 77, hone_image_bytes(hone_image_get_desc(l->in)));
        status = hone_image_unmap(l->in, error);
    }
    return status;
}

static hone_status with_memory(struct life *l, const hone_device_request *request, hone_memory memory,
                               hone_error *error)
{
    hone_status status = life_open(l, request, "box size=3 | sobel", NULL, error);
    if (!status)
        status = hone_image_create(&l->in, l->device, &gray, memory, error);
    if (!status)
        status = hone_image_create(&l->out, l->device, &gray, memory, error);
    if (!status)
        status = chained(l, error);
    if (!status)
        status = map_both_ways(l, error);
    for (size_t i = 0; i < COUNT_OF(l->events); i++)
        hone_event_destroy(&l->events[i]);
    return status ? status : chained(l, error);
}

static hone_status scene_images(struct life *l, hone_error *error)
{
    return with_memory(l, NULL, HONE_MEMORY_DEVICE, error);
}

static hone_status scene_mapped(struct life *l, hone_error *error)
{
    return with_memory(l, NULL, HONE_MEMORY_MAPPED, error);
}

static hone_status scene_shared(struct life *l, hone_error *error)
{
    return with_memory(l, NULL, HONE_MEMORY_SHARED, error);
}

static hone_status scene_disorder(struct life *l, hone_error *error)
{
    const hone_device_request request = {.out_of_order = true};
    return with_memory(l, &request, HONE_MEMORY_DEVICE, error);
}

static hone_status scene_part(struct life *l, hone_error *error)
{
    const hone_device_request request = {.compute_units = 1};
    return with_memory(l, &request, HONE_MEMORY_DEVICE, error);
}

/* One frame through a stream. */
static hone_status pass_frame(struct life *l, const char *what, hone_error *error)
{
    const hone_frame frame = {.in = {l->source}, .out = {l->target}, .out_pitch = {PITCH}};
    hone_stream_result result;
    bool got = false;
    memset(l->target, 0, BYTES);
    hone_status status = hone_stream_push(l->stream, &frame, error);
    if (!status)
        status = hone_stream_pull(l->stream, &result, &got, error);
    if (status)
        return status;
    if (!got || (result.status != HONE_OK) != (result.error != NULL))
        broken("a frame was lost, or its status %d comes without its error", result.status);
    if (result.status)
        *error = *result.error;
    else
        show(what, l->target, &gray);
    return result.status;
}

static hone_status with_stream(struct life *l, const hone_device_request *request, hone_stream_mode mode,
                               hone_error *error)
{
    const hone_stream_options options = {.slots = 2, .mode = mode};
    hone_status status = life_open(l, request, "box size=3 | sobel", NULL, error);
    if (!status)
        status = hone_stream_create(&l->stream, l->device, l->chain, &gray, 1, &options, error);
    if (!status != (l->stream != NULL))
        broken("hone_stream_create gives %d and %p", status, (void *)l->stream);
    for (int i = 0; i < 3 && !status; i++)
        status = pass_frame(l, "passed", error);
    if (!status)
        status = hone_stream_set(l->stream, 0, "size=5", error);
    if (!status)
        status = pass_frame(l, "changed", error);
    return status ? status : hone_device_finish(l->device, error);
}

static hone_status scene_stream(struct life *l, hone_error *error)
{
    return with_stream(l, NULL, HONE_STREAM_AUTO, error);
}

static hone_status scene_staged(struct life *l, hone_error *error)
{
    return with_stream(l, NULL, HONE_STREAM_STAGED, error);
}

/* ---- Variants: enough of them that every kind of argument occurs ---- */

static unsigned kinds_of(const struct variant *variant)
{
    unsigned kinds = 0;
    struct argument_list arguments;
    for (size_t p = 0; p < variant_pass_count(variant); p++) {
        if (arguments_parse(&arguments, variant->passes[p].arguments, 0, NULL) != HONE_OK)
            continue;
        for (const struct argument *a = arguments.list; a < arguments.list + arguments.count; a++)
            kinds |= 1u << a->kind << (a->kind == ARGUMENT_IMAGE ? 16 + a->surface : 0);
    }
    return kinds;
}

static hone_status run_variant(const char *filter, const char *variant, hone_error *error)
{
    struct life l = {0};
    const hone_plan_options options = {.variant = variant};
    char chain[128];
    bool relaxed = filter_variant(registry_find(filter), variant)->relaxed;
    snprintf(chain, sizeof chain, "%s%s", filter, relaxed ? " accuracy=relaxed" : "");
    hone_status status = life_open(&l, NULL, chain, &options, error);
    const bool fits = !status && hone_image_bytes(hone_plan_output(l.plan)) <= ROOM;
    if (!status && !fits)
        broken("there is no room for the result of %s", variant);
    if (fits)
        status = hone_plan_apply(l.plan, l.source, PITCH, l.target, 0, error);
    if (fits && !status) {
        char name[128];
        snprintf(name, sizeof name, "%s.%s", filter, variant);
        show(name, l.target, hone_plan_output(l.plan));
    }
    life_finish(&l);
    return status;
}

static hone_status scene_variants(struct life *l, hone_error *error)
{
    unsigned seen = 0;
    (void)l;
    for (size_t f = 0; registry_at(f); f++) {
        const struct hone_filter *filter = registry_at(f);
        for (size_t v = 0; v < filter->variant_count && filter->inputs == 1; v++) {
            const struct variant *variant = &filter->variants[v];
            if ((kinds_of(variant) & ~seen) == 0)
                continue;
            hone_status status = run_variant(filter->name, variant->name, error);
            if (status == HONE_OK)
                seen |= kinds_of(variant);
            else if (status != HONE_ERROR_UNSUPPORTED && status != HONE_ERROR_USAGE)
                return status;
        }
    }
    return HONE_OK;
}

/* ---- The caller's own objects ---- */

struct own {
    cl_context context;
    cl_command_queue queue;
    cl_mem from, to;
    cl_event written;
};

static hone_status own_failed(cl_int code, const char *call, hone_error *error)
{
    error_set(error, HONE_ERROR_DEVICE, "%s: %s (%d)", call, hone_cl_error_name(code), (int)code);
    error->cl_code = code;
    return HONE_ERROR_DEVICE;
}

static hone_status own_open(struct own *own, bool images, hone_error *error)
{
    cl_platform_id platform = NULL;
    cl_device_id id = NULL;
    const cl_image_format format = {CL_R, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
    cl_int code = clGetPlatformIDs(1, &platform, NULL);
    if (code != CL_SUCCESS)
        return own_failed(code, "clGetPlatformIDs", error);
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL);
    if (code != CL_SUCCESS)
        return own_failed(code, "clGetDeviceIDs", error);
    own->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return own_failed(code, "clCreateContext", error);
    own->queue = clCreateCommandQueue(own->context, id, 0, &code);
    if (code != CL_SUCCESS)
        return own_failed(code, "clCreateCommandQueue", error);
    own->from = images ? clCreateImage(own->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code)
                       : clCreateBuffer(own->context, CL_MEM_READ_WRITE, BYTES + 16, NULL, &code);
    if (code != CL_SUCCESS)
        return own_failed(code, images ? "clCreateImage" : "clCreateBuffer", error);
    own->to = images ? clCreateImage(own->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code)
                     : clCreateBuffer(own->context, CL_MEM_READ_WRITE, BYTES + 16, NULL, &code);
    return code == CL_SUCCESS ? HONE_OK
                              : own_failed(code, images ? "clCreateImage" : "clCreateBuffer", error);
}

static void own_close(struct own *own)
{
    if (own->written)
        clReleaseEvent(own->written);
    if (own->from)
        clReleaseMemObject(own->from);
    if (own->to)
        clReleaseMemObject(own->to);
    if (own->queue)
        clReleaseCommandQueue(own->queue);
    if (own->context)
        clReleaseContext(own->context);
}

static hone_status own_write(struct own *own, struct life *l, bool images, hone_error *error)
{
    const size_t origin[3] = {0}, region[3] = {WIDTH, HEIGHT, 1};
    cl_int code = images ? clEnqueueWriteImage(own->queue, own->from, CL_FALSE, origin, region, PITCH, 0,
                                               l->source, 0, NULL, &own->written)
                         : clEnqueueWriteBuffer(own->queue, own->from, CL_FALSE, 16, BYTES, l->source, 0,
                                                NULL, &own->written);
    return code == CL_SUCCESS
               ? HONE_OK
               : own_failed(code, images ? "clEnqueueWriteImage" : "clEnqueueWriteBuffer", error);
}

static hone_status own_plan(struct own *own, struct life *l, bool images, hone_error *error)
{
    hone_status status = hone_chain_parse(&l->chain, "box size=3", error);
    if (!status)
        status = hone_plan_create(&l->plan, l->device, l->chain, &gray, NULL, error);
    if (!status)
        status = hone_image_from_cl(&l->in, l->device, &gray, own->from, images ? 0 : 16, error);
    if (!status)
        status = hone_image_from_cl(&l->out, l->device, &gray, own->to, images ? 0 : 16, error);
    if (!status)
        status = own_write(own, l, images, error);
    if (!status)
        status = hone_event_from_cl(&l->events[0], l->device, own->written, error);
    if (!status)
        status = hone_plan_run(l->plan, l->in, l->out, (const hone_event *const *)l->events, 1, &l->events[1],
                               error);
    if (!status)
        status = hone_image_download(l->out, l->target, PITCH, (const hone_event *const *)(l->events + 1), 1,
                                     NULL, error);
    if (!status)
        show("own", l->target, &gray);
    return status;
}

static hone_status scene_of_own(struct life *l, bool images, hone_error *error)
{
    struct own own = {0};
    l->source = picture();
    l->target = calloc(BYTES, 1);
    hone_status status = l->source && l->target ? HONE_OK : error_memory(error, "the pixels of a scene");
    if (!status)
        status = own_open(&own, images, error);
    if (!status)
        status = hone_device_from_queue(&l->device, own.queue, NULL, error);
    if (!status)
        status = own_plan(&own, l, images, error);
    if (own.queue)
        clFinish(own.queue); /* nothing may still read the pixels */
    hone_event_destroy(&l->events[0]);
    hone_event_destroy(&l->events[1]);
    hone_plan_destroy(&l->plan);
    hone_image_destroy(&l->in);
    hone_image_destroy(&l->out);
    hone_device_close(&l->device);
    own_close(&own);
    return status;
}

static hone_status scene_buffers(struct life *l, hone_error *error)
{
    return scene_of_own(l, false, error);
}

static hone_status scene_objects(struct life *l, hone_error *error)
{
    return scene_of_own(l, true, error);
}

static const struct {
    const char *name;
    hone_status (*run)(struct life *l, hone_error *error);
} scenes[] = {{"plan", scene_plan},         {"selftest", scene_selftest}, {"list", scene_list},
              {"images", scene_images},     {"mapped", scene_mapped},     {"shared", scene_shared},
              {"disorder", scene_disorder}, {"part", scene_part},         {"variants", scene_variants},
              {"handing", scene_handing},   {"syntax", scene_syntax},     {"vendor", scene_vendor},
              {"buffers", scene_buffers},   {"objects", scene_objects},   {"stream", scene_stream},
              {"staged", scene_staged},     {"details", scene_details}};

static int play(size_t index)
{
    struct life l = {0};
    hone_error error = {.message = ""};
    now.scene = scenes[index].name;
    hone_status status = scenes[index].run(&l, &error);
    life_finish(&l);
    if (status) {
        printf("failed %s %d %s\n", hone_status_name(status), error.cl_code, error.message);
        if (error.status != status || !error.message[0])
            broken("status %d comes with error.status %d and the message '%s'", status, error.status,
                   error.message);
    }
    return now.broken ? 2 : status != HONE_OK;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        if (argc > 1 && strcmp(scenes[i].name, argv[1]) == 0)
            return play(i);
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        puts(scenes[i].name);
    return 2;
}
