/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/listing/questions.h"

#include "base/mem.h"
#include "cl/listing/patience.h"
#include "cl/platforms.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Over each question and what is made of its answer: PoCL 3.1 gives a thread devices that another one, the
 * first to ask, has not finished yet. A driver that hangs holds it for as long as one may take. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void free_question(struct question *question)
{
    free(question);
}

static hone_status ask(struct question *question, const char *what, hone_error *error)
{
    switch (patience_ask(question)) {
    case ANSWER_CAME:
        return HONE_OK;
    case ANSWER_NO_MEMORY:
        question->destroy(question);
        return error_memory(error, what);
    case ANSWER_LATE:
        break;
    }
    return error_set(error, HONE_ERROR_DEVICE, "%s took longer than %g s", what, patience_seconds());
}

hone_status question_ask(struct question *question, const char *what, hone_error *error)
{
    pthread_mutex_lock(&one_at_a_time);
    const hone_status status = ask(question, what, error);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

/* ---- The loader ---- */

struct platforms_question {
    struct question question;
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count;
    cl_int code;
};

/* What stands for it in patience.h. */
static const char loader;

static void ask_platforms(struct question *question)
{
    struct platforms_question *q = (struct platforms_question *)question;
    q->code = clGetPlatformIDs(MAX_PLATFORMS, q->platforms, &q->count);
}

static hone_status loader_hangs(hone_error *error)
{
    return error_set(error, HONE_ERROR_DEVICE,
                     "the OpenCL loader took longer than %g s to load its drivers, one of which hangs",
                     patience_seconds());
}

bool platform_loader_hangs(void)
{
    return patience_is_late(&loader);
}

static hone_status find_platforms(cl_platform_id platforms[MAX_PLATFORMS], cl_uint *count, hone_error *error)
{
    struct platforms_question *q = platform_loader_hangs() ? NULL : mem_new(1, sizeof *q);
    *count = 0;
    if (!q)
        return platform_loader_hangs() ? loader_hangs(error) : error_memory(error, "the list of platforms");
    q->question = (struct question){ask_platforms, free_question};
    const hone_status status = ask(&q->question, "listing the platforms", error);
    if (status == HONE_ERROR_MEMORY)
        return status;
    if (status) {
        patience_note_late(&loader, "%s", ""); /* the error says it */
        return loader_hangs(error);
    }
    const cl_int code = q->code;
    *count = code != CL_SUCCESS ? 0 : q->count > MAX_PLATFORMS ? MAX_PLATFORMS : q->count;
    memcpy(platforms, q->platforms, *count * sizeof *platforms);
    free(q);
    if (code != CL_SUCCESS && code != -1001) /* CL_PLATFORM_NOT_FOUND_KHR: a loader without any driver */
        return cl_failed(error, code, "clGetPlatformIDs");
    return HONE_OK;
}

hone_status question_platforms(cl_platform_id platforms[MAX_PLATFORMS], cl_uint *count, hone_error *error)
{
    pthread_mutex_lock(&one_at_a_time);
    const hone_status status = find_platforms(platforms, count, error);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

/* ---- A platform ---- */

struct devices_question {
    struct question question;
    cl_platform_id platform;
    cl_device_id ids[MAX_DEVICES];
    cl_uint count;
    cl_int code;
};

static void ask_devices(struct question *question)
{
    struct devices_question *q = (struct devices_question *)question;
    q->code = clGetDeviceIDs(q->platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, q->ids, &q->count);
}

struct name_question {
    struct question question;
    cl_platform_id platform;
    char name[128];
};

static void ask_name(struct question *question)
{
    struct name_question *q = (struct name_question *)question;
    platform_text(q->platform, CL_PLATFORM_NAME, q->name, sizeof q->name);
}

/* Says that the rest of a platform is not asked any more. */
static hone_status leave_out(cl_platform_id platform, const char *name, const char *doing, hone_error *error)
{
    patience_note_late(
        platform,
        "the OpenCL platform '%s' is left out: %s took longer than %g s (HONE_DRIVER_TIMEOUT); the devices "
        "of platforms after it have lower numbers than usual",
        name, doing, patience_seconds());
    return error_set(error, HONE_ERROR_DEVICE, "platform '%s' does not answer", name);
}

static hone_status find_name(cl_platform_id platform, char name[128], hone_error *error)
{
    struct name_question *q = mem_new(1, sizeof *q);
    if (!q)
        return error_memory(error, "the name of a platform");
    *q = (struct name_question){.question = {ask_name, free_question}, .platform = platform};
    const hone_status status = ask(&q->question, "telling its name", error);
    if (status)
        return status == HONE_ERROR_MEMORY ? status : leave_out(platform, "?", "telling its name", error);
    memcpy(name, q->name, sizeof q->name);
    free(q);
    return HONE_OK;
}

static hone_status find_devices(cl_platform_id platform, cl_device_id ids[MAX_DEVICES], cl_uint *count,
                                char name[128], hone_error *error)
{
    *count = 0;
    if (patience_is_late(platform))
        return error_set(error, HONE_ERROR_DEVICE, "a platform does not answer");
    TRY(find_name(platform, name, error));
    struct devices_question *q = mem_new(1, sizeof *q);
    if (!q)
        return error_memory(error, "the devices of a platform");
    *q = (struct devices_question){.question = {ask_devices, free_question}, .platform = platform};
    const hone_status status = ask(&q->question, "listing its devices", error);
    if (status)
        return status == HONE_ERROR_MEMORY ? status : leave_out(platform, name, "listing its devices", error);
    const cl_int code = q->code;
    *count = code != CL_SUCCESS ? 0 : q->count > MAX_DEVICES ? MAX_DEVICES : q->count;
    memcpy(ids, q->ids, *count * sizeof *ids);
    free(q);
    if (code == CL_SUCCESS || code == CL_DEVICE_NOT_FOUND)
        return HONE_OK;
    return cl_failed(error, code, "platform '%s' does not list its devices: clGetDeviceIDs", name);
}

hone_status question_devices(cl_platform_id platform, cl_device_id ids[MAX_DEVICES], cl_uint *count,
                             char name[128], hone_error *error)
{
    pthread_mutex_lock(&one_at_a_time);
    const hone_status status = find_devices(platform, ids, count, name, error);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

/* ---- A device ---- */

struct description_question {
    struct question question;
    struct found_device found;
    hone_device_info info;
    char *extensions;
    hone_error error;
    hone_status status;
};

static void ask_description(struct question *question)
{
    struct description_question *q = (struct description_question *)question;
    q->status = platform_describe(q->found.platform, q->found.id, &q->info, &q->extensions, &q->error);
}

static void free_description(struct question *question)
{
    struct description_question *q = (struct description_question *)question;
    free(q->extensions);
    free(q);
}

static hone_status device_hangs(const struct found_device *found, hone_error *error)
{
    return error_set(error, HONE_ERROR_DEVICE,
                     "a device of platform '%s' does not answer questions about itself",
                     found->platform_name);
}

/* With those of its platform that come after it: each might cost the same time. */
static void leave_out_device(const struct found_device *found, size_t count)
{
    patience_note_late(
        found->id,
        "a device of the OpenCL platform '%s' is left out, with those of the platform after it: describing "
        "itself took longer than %g s (HONE_DRIVER_TIMEOUT)",
        found->platform_name, patience_seconds());
    for (size_t i = 1; i < count && found[i].platform == found->platform; i++)
        patience_note_late(found[i].id, "%s", "");
}

static hone_status describe(const struct found_device *found, size_t count, hone_device_info *info,
                            char **extensions, hone_error *error)
{
    *extensions = NULL;
    if (patience_is_late(found->id))
        return device_hangs(found, error);
    struct description_question *q = mem_new(1, sizeof *q);
    if (!q)
        return error_memory(error, "the description of a device");
    *q = (struct description_question){.question = {ask_description, free_description}, .found = *found};
    hone_status status = ask(&q->question, "describing a device", error);
    if (status == HONE_ERROR_MEMORY)
        return status;
    if (status) {
        leave_out_device(found, count);
        return device_hangs(found, error);
    }
    status = q->status;
    *info = q->info;
    if (status)
        error_pass(error, &q->error);
    else
        *extensions = q->extensions;
    q->extensions = status ? q->extensions : NULL;
    free_description(&q->question);
    return status;
}

hone_status question_describe(const struct found_device *found, size_t count, hone_device_info *info,
                              char **extensions, hone_error *error)
{
    pthread_mutex_lock(&one_at_a_time);
    const hone_status status = describe(found, count, info, extensions, error);
    pthread_mutex_unlock(&one_at_a_time);
    return status;
}

/* ---- For those above ---- */

void platform_set_patience(double seconds)
{
    patience_set(seconds);
}

double platform_patience(void)
{
    return patience_seconds();
}

bool platform_any_hangs(void)
{
    return patience_is_late(NULL);
}

const char *platform_take_warning(void)
{
    return patience_take_note();
}
