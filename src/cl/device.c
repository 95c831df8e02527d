/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing devices; what is shared by everything that runs on one. */
#include "cl/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "cl/select.h"
#include "hone/interop.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hone_status take_request(hone_device_request *to, const hone_device_request *from, hone_error *error)
{
    enum { FIRST = offsetof(hone_device_request, profile_ends) }; /* the members of 0.1 end there */
    return options_take(to, from, sizeof *to, FIRST, "hone_device_request", error);
}

static hone_status create_context(struct hone_device *device, const hone_device_request *request,
                                  hone_error *error)
{
    cl_context_properties properties[8] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0};
    vendor_context_properties(device->id, device->extensions, request->performance, properties);
    cl_int code = CL_SUCCESS;
    device->context = clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        device->context = NULL;
        return cl_failed(error, code, "clCreateContext for '%s'", device->info.name);
    }
    return HONE_OK;
}

static hone_status create_queue(struct hone_device *device, hone_error *error)
{
    cl_command_queue_properties properties = device->profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int code = CL_SUCCESS;
    if (device->out_of_order)
        properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    /* The call of OpenCL 1.2: the newer one is a hole in the table of some drivers. */
    device->queue = clCreateCommandQueue(device->context, device->id, properties, &code);
    if (code != CL_SUCCESS) {
        device->queue = NULL;
        return cl_failed(error, code, "clCreateCommandQueue for '%s'", device->info.name);
    }
    return HONE_OK;
}

/* Swaps the whole device for a part of it with the wanted number of compute units. */
static hone_status take_compute_units(struct hone_device *device, unsigned wanted, hone_error *error)
{
    if (wanted == 0 || wanted == device->info.compute_units)
        return HONE_OK;
    if (wanted > device->info.compute_units || device->info.max_sub_devices < 2)
        return error_unsupported(
            error, "'%s' has %u compute units and %s be divided: %u of them cannot be used alone",
            device->info.name, device->info.compute_units,
            device->info.max_sub_devices < 2 ? "cannot" : "can", wanted);
    const cl_device_partition_property how[] = {CL_DEVICE_PARTITION_BY_COUNTS,
                                                (cl_device_partition_property)wanted,
                                                CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_id part = NULL;
    cl_int code = clCreateSubDevices(device->id, how, 1, &part, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clCreateSubDevices");
    device->id = part;
    device->is_sub_device = true;
    device->info.compute_units = wanted;
    /* PoCL 3.1 ends the process (an assertion in pocl_validate_rect_copy) in copies to and from images of a
     * part. */
    if (device_is_pocl(device))
        device->info.images = false;
    return HONE_OK;
}

static hone_status copy_request(struct hone_device *device, const hone_device_request *request,
                                hone_error *error)
{
    const char *folder = request->kernel_folder ? request->kernel_folder : getenv("HONE_KERNEL_DIR");
    device->profile = request->profile;
    device->profile_ends = request->profile_ends;
    device->out_of_order = request->out_of_order && device->info.out_of_order;
    device->no_disk = request->no_disk_cache;
    device->log = request->log;
    device->log_user = request->log_user;
    device->memory_budget = budget_for(&device->info, request->memory_limit);
    if (folder && *folder) {
        device->kernel_folder = mem_copy_text(folder);
        if (!device->kernel_folder)
            return error_memory(error, "the name of the kernel folder");
    }
    return HONE_OK;
}

static struct hone_device *new_device(void)
{
    struct hone_device *device = mem_new(1, sizeof *device);
    if (device) {
        device->process = getpid();
        atomic_init(&device->users, 1);
        pthread_mutex_init(&device->lock, NULL);
        pthread_mutex_init(&device->attachment_lock, NULL);
    }
    return device;
}

hone_status device_open_found(hone_device **out, const struct found_device *found, unsigned index,
                              const hone_device_request *request, hone_error *error)
{
    struct hone_device *device = new_device();
    if (!device)
        return error_memory(error, "a device");
    device->platform = found->platform;
    device->id = found->id;
    hone_status status =
        platform_describe(found->platform, found->id, &device->info, &device->extensions, error);
    device->info.index = index;
    THEN(status, take_compute_units(device, request->compute_units, error));
    THEN(status, copy_request(device, request, error));
    THEN(status, create_context(device, request, error));
    THEN(status, create_queue(device, error));
    if (status) {
        hone_device_close(&device);
        return status;
    }
    vendor_find_calls(device);
    *out = device;
    return HONE_OK;
}

hone_status hone_device_open(hone_device **out, const hone_device_request *request, hone_error *error)
{
    if (!out)
        return error_usage(error, "hone_device_open needs a place for the device");
    *out = NULL;
    hone_device_request wanted;
    hone_status status = take_request(&wanted, request, error);
    return status ? status : select_device(out, &wanted, error);
}

/* Reads what a queue of the caller's is made for. */
static hone_status examine_queue(struct hone_device *device, cl_command_queue queue, hone_error *error)
{
    cl_command_queue_properties properties = 0;
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device->id, &device->id, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof device->context, &device->context, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (code == CL_SUCCESS)
        code =
            clGetDeviceInfo(device->id, CL_DEVICE_PLATFORM, sizeof device->platform, &device->platform, NULL);
    if (code == CL_SUCCESS)
        code = clRetainContext(device->context);
    if (code != CL_SUCCESS) {
        device->context = NULL;
        return cl_failed(error, code,
                         "clGetCommandQueueInfo, clGetDeviceInfo or clRetainContext for the caller's queue");
    }
    device->profile = properties & CL_QUEUE_PROFILING_ENABLE;
    device->out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    code = clRetainCommandQueue(queue);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clRetainCommandQueue");
    device->queue = queue;
    return HONE_OK;
}

hone_status hone_device_from_queue(hone_device **out, struct _cl_command_queue *queue,
                                   const hone_device_request *request, hone_error *error)
{
    if (!out || !queue)
        return error_usage(error, "hone_device_from_queue needs a queue and a place for the device");
    *out = NULL;
    hone_device_request wanted;
    TRY(take_request(&wanted, request, error));
    struct hone_device *device = new_device();
    if (!device)
        return error_memory(error, "a device");
    hone_status status = examine_queue(device, queue, error);
    bool profile = device->profile, out_of_order = device->out_of_order;
    THEN(status, platform_describe(device->platform, device->id, &device->info, &device->extensions, error));
    THEN(status, copy_request(device, &wanted, error));
    if (status) {
        hone_device_close(&device);
        return status;
    }
    device->profile = profile;
    device->out_of_order = out_of_order;
    device->is_foreign = true;
    vendor_find_calls(device);
    *out = device;
    return HONE_OK;
}

/* Where contexts are left: their devices stay reachable, so that nobody takes them for lost. */
static atomic_bool leaves_contexts;
static struct hone_device *_Atomic left_devices;

void device_leave_contexts(void)
{
    atomic_store(&leaves_contexts, true);
}

static void leave_device(struct hone_device *d)
{
    d->left = atomic_load(&left_devices);
    while (!atomic_compare_exchange_weak(&left_devices, &d->left, d))
        ;
}

static void destroy_device(struct hone_device *d)
{
    while (d->attachments) {
        struct attachment *attachment = d->attachments;
        d->attachments = attachment->next;
        attachment->destroy(attachment->object);
        free(attachment);
    }
    lanes_release(d);
    if (atomic_load(&leaves_contexts)) {
        leave_device(d);
        return;
    }
    if (d->context)
        clReleaseContext(d->context);
    if (d->is_sub_device)
        clReleaseDevice(d->id);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->attachment_lock);
    free(d->extensions);
    free(d->kernel_folder);
    free(d);
}

bool device_is_here(const struct hone_device *device)
{
    return device->process == getpid();
}

hone_status device_check(const struct hone_device *device, const char *call, hone_error *error)
{
    if (!device)
        return error_usage(error, "%s needs a device", call);
    if (!device_is_here(device))
        return error_usage(error,
                           "%s: the device was opened by process %ld, before fork(); OpenCL works in that "
                           "process alone: fork "
                           "first and open the device afterwards",
                           call, (long)device->process);
    return HONE_OK;
}

void device_retain(struct hone_device *device)
{
    atomic_fetch_add(&device->users, 1);
}

void device_release(struct hone_device *device)
{
    if (atomic_fetch_sub(&device->users, 1) == 1)
        destroy_device(device);
}

void hone_device_close(hone_device **device)
{
    if (!device || !*device)
        return;
    if (device_is_here(*device))
        device_release(*device);
    *device = NULL;
}

const hone_device_info *hone_device_get_info(const hone_device *device)
{
    return device ? &device->info : NULL;
}

hone_status hone_device_finish(hone_device *device, hone_error *error)
{
    TRY(device_check(device, "hone_device_finish", error));
    cl_int code = lanes_finish(device);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clFinish");
    device_has_finished(device);
    return HONE_OK;
}

void device_when_finished(struct hone_device *device, void (*function)(void *object), void *object)
{
    device->finished = function;
    atomic_store(&device->finished_object, object);
}

void device_has_finished(struct hone_device *device)
{
    void *object = atomic_exchange(&device->finished_object, NULL);
    if (object)
        device->finished(object);
}

struct _cl_context *hone_device_cl_context(const hone_device *device)
{
    return device ? device->context : NULL;
}

struct _cl_command_queue *hone_device_cl_queue(const hone_device *device)
{
    return device ? device->queue : NULL;
}

struct _cl_device_id *hone_device_cl_device(const hone_device *device)
{
    return device ? device->id : NULL;
}

bool device_has_extension(const struct hone_device *device, const char *name)
{
    return text_has_word(device->extensions, name);
}

void device_log(const struct hone_device *device, hone_log_level level, const char *format, ...)
{
    if (!device->log)
        return;
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    device->log(device->log_user, level, message);
}

void device_use_host_clock(struct hone_device *device)
{
    device->host_clock = true;
}

bool device_profiles(const struct hone_device *device)
{
    return device->profile;
}

bool device_keeps_times(const struct hone_device *device)
{
    return device->profile || device->host_clock;
}

bool device_times_ends(const struct hone_device *device)
{
    return device->profile_ends && !device->host_clock;
}

bool device_is_out_of_order(const struct hone_device *device)
{
    return device->out_of_order;
}

bool device_info_is_pocl(const hone_device_info *info)
{
    return strcmp(info->platform, "Portable Computing Language") == 0;
}

bool device_is_pocl(const struct hone_device *device)
{
    return device_info_is_pocl(&device->info);
}

bool device_uses_disk(const struct hone_device *device)
{
    return !device->no_disk;
}

const char *device_kernel_folder(const struct hone_device *device)
{
    return device->kernel_folder;
}

hone_status device_reserve(struct hone_device *device, uint64_t bytes, const char *purpose, hone_error *error)
{
    const double mega = 1e-6;
    pthread_mutex_lock(&device->lock);
    uint64_t held = device->memory_held, budget = device->memory_budget;
    bool fits = held <= budget && bytes <= budget - held;
    if (fits)
        device->memory_held += bytes;
    pthread_mutex_unlock(&device->lock);
    if (!fits)
        return error_set(error, HONE_ERROR_MEMORY,
                         "%s needs %.1f MB, but of the %.1f MB that hone may hold on '%s' %.1f MB are in use",
                         purpose, (double)bytes * mega, (double)budget * mega, device->info.name,
                         (double)held * mega);
    if (device->info.max_allocation && bytes > device->info.max_allocation) {
        device_unreserve(device, bytes);
        return error_set(error, HONE_ERROR_MEMORY,
                         "%s needs %.1f MB in one piece, but '%s' gives at most %.1f MB", purpose,
                         (double)bytes * mega, device->info.name, (double)device->info.max_allocation * mega);
    }
    return HONE_OK;
}

void device_unreserve(struct hone_device *device, uint64_t bytes)
{
    pthread_mutex_lock(&device->lock);
    device->memory_held -= bytes;
    pthread_mutex_unlock(&device->lock);
}

void hone_device_memory(const hone_device *device, uint64_t *held, uint64_t *budget)
{
    struct hone_device *d = (struct hone_device *)device; /* for the lock alone */
    if (d)
        pthread_mutex_lock(&d->lock);
    if (held)
        *held = d ? d->memory_held : 0;
    if (budget)
        *budget = d ? d->memory_budget : 0;
    if (d)
        pthread_mutex_unlock(&d->lock);
}

static void count(struct hone_device *device, uint64_t *counter)
{
    pthread_mutex_lock(&device->lock);
    ++*counter;
    pthread_mutex_unlock(&device->lock);
}

void device_count_source_build(struct hone_device *device)
{
    count(device, &device->counts.built_from_source);
}

void device_count_disk_load(struct hone_device *device)
{
    count(device, &device->counts.loaded_from_disk);
}

void device_count_memory_hit(struct hone_device *device)
{
    count(device, &device->counts.found_in_memory);
}

static _Thread_local struct copy_tally *tallies;

void copy_tally_begin(struct copy_tally *tally)
{
    *tally = (struct copy_tally){.outer = tallies};
    tallies = tally;
}

void copy_tally_end(const struct copy_tally *tally)
{
    tallies = tally->outer;
}

static void add_copies(hone_copies *sum, const hone_copies *more)
{
    sum->count += more->count;
    sum->bytes += more->bytes;
}

void copy_counts_add(hone_copy_counts *sum, const hone_copy_counts *more)
{
    add_copies(&sum->uploads, &more->uploads);
    add_copies(&sum->downloads, &more->downloads);
    add_copies(&sum->moves, &more->moves);
    add_copies(&sum->conversions, &more->conversions);
    add_copies(&sum->maps, &more->maps);
}

bool copy_counts_any(const hone_copy_counts *counts)
{
    return counts->uploads.count || counts->downloads.count || counts->moves.count ||
           counts->conversions.count || counts->maps.count;
}

static void add_copy(hone_copy_counts *counts, enum copy_kind kind, size_t bytes)
{
    hone_copies *const kinds[] = {[COPY_UPLOAD] = &counts->uploads,
                                  [COPY_DOWNLOAD] = &counts->downloads,
                                  [COPY_MOVE] = &counts->moves,
                                  [COPY_CONVERSION] = &counts->conversions,
                                  [COPY_MAP] = &counts->maps};
    kinds[kind]->count++;
    kinds[kind]->bytes += bytes;
}

void device_count_copy(struct hone_device *device, enum copy_kind kind, size_t bytes)
{
    pthread_mutex_lock(&device->lock);
    add_copy(&device->counts.copies, kind, bytes);
    pthread_mutex_unlock(&device->lock);
    for (struct copy_tally *tally = tallies; tally; tally = tally->outer)
        add_copy(&tally->counts, kind, bytes);
}

hone_device_counts hone_device_get_counts(const hone_device *device)
{
    struct hone_device *d = (struct hone_device *)device;
    if (!d)
        return (hone_device_counts){0};
    pthread_mutex_lock(&d->lock);
    hone_device_counts counts = d->counts;
    pthread_mutex_unlock(&d->lock);
    return counts;
}

/* ---- Waiting for other processes ---- */

static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER;
static struct waited waited_on_any;

static struct {
    void (*function)(void *user, bool begins);
    void *user;
} waits_told;

void device_tell_waits(void (*function)(void *user, bool begins), void *user)
{
    waits_told.function = function;
    waits_told.user = user;
}

/* Whether it is the first or the last one. */
static bool note_wait(struct waited *waited, bool begins, uint64_t now)
{
    const bool alone = begins ? waited->threads++ == 0 : --waited->threads == 0;
    if (alone) {
        waited->ns += begins ? 0 : now - waited->since;
        waited->since = now;
    }
    return alone;
}

void device_waits(struct hone_device *device, bool begins)
{
    const uint64_t now = clock_ns();
    pthread_mutex_lock(&waiting);
    const bool alone = note_wait(&waited_on_any, begins, now);
    if (device)
        note_wait(&device->waited, begins, now);
    pthread_mutex_unlock(&waiting);
    if (alone && waits_told.function)
        waits_told.function(waits_told.user, begins);
}

uint64_t device_waited_ns(const struct hone_device *device)
{
    const struct waited *waited = device ? &device->waited : &waited_on_any;
    pthread_mutex_lock(&waiting);
    const uint64_t ns = waited->ns + (waited->threads ? clock_ns() - waited->since : 0);
    pthread_mutex_unlock(&waiting);
    return ns;
}

uint64_t device_clock_ns(void)
{
    return clock_ns() - device_waited_ns(NULL);
}

static hone_status make_attachment(struct hone_device *device, const void *key,
                                   hone_status (*make)(struct hone_device *, void **, hone_error *),
                                   void (*destroy)(void *), void **object, hone_error *error)
{
    struct attachment *attachment = mem_new(1, sizeof *attachment);
    if (!attachment)
        return error_memory(error, "a device's attachment");
    hone_status status = make(device, &attachment->object, error);
    if (status) {
        free(attachment);
        return status;
    }
    attachment->key = key;
    attachment->destroy = destroy;
    attachment->next = device->attachments;
    device->attachments = attachment;
    *object = attachment->object;
    return HONE_OK;
}

hone_status device_attachment(struct hone_device *device, const void *key,
                              hone_status (*make)(struct hone_device *device, void **object,
                                                  hone_error *error),
                              void (*destroy)(void *object), void **object, hone_error *error)
{
    hone_status status = HONE_OK;
    pthread_mutex_lock(&device->attachment_lock);
    struct attachment *at = device->attachments;
    while (at && at->key != key)
        at = at->next;
    if (at)
        *object = at->object;
    else
        status = make_attachment(device, key, make, destroy, object, error);
    pthread_mutex_unlock(&device->attachment_lock);
    return status;
}

void device_identity(const struct hone_device *device, struct text *text)
{
    const hone_device_info *info = &device->info;
    text_add(text, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%u\n%u\n", info->platform, info->platform_version, info->name,
             info->vendor, info->driver_version, info->device_version, info->architecture, info->address_bits,
             (unsigned)sizeof(void *) * 8);
}
