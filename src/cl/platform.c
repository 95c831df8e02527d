/* SPDX-License-Identifier: BSD-2-Clause */
/* Discovery: platforms, devices, and every fact about a device that matters to kernels. */
#include "cl/internal.h"

#include "base/mem.h"
#include "base/text.h"
#include "cl/drivercache.h"
#include "cl/listing/patience.h"
#include "cl/listing/questions.h"
#include "cl/platforms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 16 };

static hone_status add_devices(struct found_device *list, size_t *count, cl_platform_id platform,
                               char name[128], hone_error *error)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint found = 0;
    const hone_status status = question_devices(platform, ids, &found, name, error);
    for (cl_uint i = 0; i < found && *count < MAX_DEVICES; i++) {
        struct found_device *device = &list[(*count)++];
        *device = (struct found_device){platform, ids[i], ""};
        memcpy(device->platform_name, name, sizeof device->platform_name);
    }
    return status;
}

/* The drivers begin their threads in the first process that asks, and none of its children has them. */
static pid_t first_process;

static void note_process(void)
{
    first_process = getpid();
}

static hone_status check_process(hone_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, note_process);
    return first_process == getpid() ? HONE_OK
                                     : error_usage(error,
                                                   "process %ld used OpenCL before it forked this one, in "
                                                   "which its drivers do not work: fork "
                                                   "first, or start a program",
                                                   (long)first_process);
}

static hone_status ask_platforms(cl_platform_id platforms[MAX_PLATFORMS], cl_uint *count, hone_error *error)
{
    *count = 0;
    TRY(check_process(error));
    driver_cache_prepare();
    return question_platforms(platforms, count, error);
}

hone_status platform_find_devices(struct found_device **list, size_t *count, hone_error *error)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint found = 0;
    *count = 0;
    *list = mem_new(MAX_DEVICES, sizeof **list);
    if (!*list)
        return error_memory(error, "the list of devices");
    hone_status status = ask_platforms(platforms, &found, error);
    for (cl_uint i = 0; i < found; i++) {
        char name[128];
        hone_status one = add_devices(*list, count, platforms[i], name, error);
        status = one ? one : status;
    }
    if (status && *count == 0) { /* a platform that fails must not hide the others */
        free(*list);
        *list = NULL;
        return status;
    }
    return HONE_OK;
}

/* Asking. A device that does not know a property leaves the zero that was there. */

static bool ask(cl_device_id id, cl_device_info what, void *value, size_t size)
{
    return clGetDeviceInfo(id, what, size, value, NULL) == CL_SUCCESS;
}

static unsigned ask_unsigned(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    return ask(id, what, &value, sizeof value) ? value : 0;
}

static uint64_t ask_long(cl_device_id id, cl_device_info what)
{
    cl_ulong value = 0;
    return ask(id, what, &value, sizeof value) ? value : 0;
}

static size_t ask_size(cl_device_id id, cl_device_info what)
{
    size_t value = 0;
    return ask(id, what, &value, sizeof value) ? value : 0;
}

static bool ask_bool(cl_device_id id, cl_device_info what)
{
    cl_bool value = CL_FALSE;
    return ask(id, what, &value, sizeof value) && value;
}

/* What every device has to tell, and nothing works without: the first question that fails is remembered. */
struct questions {
    cl_device_id id;
    const char *failed; /* its name; NULL: all were answered */
    cl_int code;
};

static void note_answer(struct questions *questions, const char *name, cl_int code)
{
    if (code == CL_SUCCESS || questions->failed)
        return;
    questions->failed = name;
    questions->code = code;
}

static void require(struct questions *questions, cl_device_info what, const char *name, void *value,
                    size_t size)
{
    note_answer(questions, name, clGetDeviceInfo(questions->id, what, size, value, NULL));
}

#define REQUIRE(questions, what, value) require(questions, what, #what, &(value), sizeof(value))

static char *ask_text(cl_device_id id, cl_device_info what, cl_int *code)
{
    size_t size = 0;
    *code = clGetDeviceInfo(id, what, 0, NULL, &size);
    if (*code != CL_SUCCESS || size > MAX_TEXT)
        size = 0;
    char *text = mem_new(size + 1, 1);
    if (text && size)
        *code = clGetDeviceInfo(id, what, size, text, NULL);
    if (text && *code != CL_SUCCESS)
        text[0] = '\0';
    return text;
}

char *platform_device_text(cl_device_id id, cl_device_info what)
{
    cl_int code = CL_SUCCESS;
    return ask_text(id, what, &code);
}

static void trim(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && (unsigned char)text[length - 1] <= ' ')
        text[--length] = '\0';
    size_t blanks = strspn(text, " \t");
    memmove(text, text + blanks, length - blanks + 1);
}

/* False when memory is short. */
static bool require_text(struct questions *questions, cl_device_info what, const char *name, char *to,
                         size_t size)
{
    cl_int code = CL_SUCCESS;
    char *text = ask_text(questions->id, what, &code);
    note_answer(questions, name, code);
    if (!text)
        return false;
    trim(text);
    snprintf(to, size, "%s", text);
    free(text);
    return true;
}

#define REQUIRE_TEXT(questions, what, to) require_text(questions, what, #what, to, sizeof(to))

void platform_text(cl_platform_id platform, cl_platform_info what, char *to, size_t size)
{
    char text[1024] = "";
    if (clGetPlatformInfo(platform, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    trim(text);
    snprintf(to, size, "%s", text);
}

static hone_device_kind kind_of(struct questions *questions)
{
    cl_device_type type = 0;
    REQUIRE(questions, CL_DEVICE_TYPE, type);
    if (type & CL_DEVICE_TYPE_GPU)
        return HONE_DEVICE_GPU;
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return HONE_DEVICE_ACCELERATOR;
    return type & CL_DEVICE_TYPE_CPU ? HONE_DEVICE_CPU : HONE_DEVICE_OTHER;
}

static void describe_sizes(cl_device_id id, hone_device_info *info)
{
    info->clock_mhz = ask_unsigned(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    info->address_bits = ask_unsigned(id, CL_DEVICE_ADDRESS_BITS);
    info->vendor_id = ask_unsigned(id, CL_DEVICE_VENDOR_ID);
    info->global_cache = ask_long(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    info->cache_line = ask_unsigned(id, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
    info->local_memory_is_dedicated = ask_unsigned(id, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
    info->constant_memory = ask_long(id, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE);
    info->unified_memory = ask_bool(id, CL_DEVICE_HOST_UNIFIED_MEMORY);
    info->images = ask_bool(id, CL_DEVICE_IMAGE_SUPPORT);
    info->image_width = info->images ? ask_size(id, CL_DEVICE_IMAGE2D_MAX_WIDTH) : 0;
    info->image_height = info->images ? ask_size(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT) : 0;
    info->base_align = ask_unsigned(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    info->timer_resolution = ask_size(id, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
}

static void require_work_items(struct questions *questions, hone_device_info *info)
{
    size_t items[16] = {0};
    cl_uint dimensions = 0;
    REQUIRE(questions, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, dimensions);
    if (dimensions <= COUNT_OF(items))
        require(questions, CL_DEVICE_MAX_WORK_ITEM_SIZES, "CL_DEVICE_MAX_WORK_ITEM_SIZES", items,
                dimensions * sizeof *items);
    for (int i = 0; i < 3; i++)
        info->max_work_items[i] = items[i];
}

static void require_sizes(struct questions *questions, hone_device_info *info)
{
    cl_uint units = 0;
    cl_ulong memory = 0, allocation = 0, local = 0;
    REQUIRE(questions, CL_DEVICE_MAX_COMPUTE_UNITS, units);
    REQUIRE(questions, CL_DEVICE_GLOBAL_MEM_SIZE, memory);
    REQUIRE(questions, CL_DEVICE_MAX_MEM_ALLOC_SIZE, allocation);
    REQUIRE(questions, CL_DEVICE_LOCAL_MEM_SIZE, local);
    REQUIRE(questions, CL_DEVICE_MAX_WORK_GROUP_SIZE, info->max_work_group);
    require_work_items(questions, info);
    info->compute_units = units;
    info->global_memory = memory;
    info->max_allocation = allocation;
    info->local_memory = local;
}

static bool require_names(struct questions *questions, hone_device_info *info)
{
    return REQUIRE_TEXT(questions, CL_DEVICE_NAME, info->name) &&
           REQUIRE_TEXT(questions, CL_DEVICE_VENDOR, info->vendor) &&
           REQUIRE_TEXT(questions, CL_DRIVER_VERSION, info->driver_version) &&
           REQUIRE_TEXT(questions, CL_DEVICE_VERSION, info->device_version) &&
           REQUIRE_TEXT(questions, CL_DEVICE_OPENCL_C_VERSION, info->c_version);
}

/* Properties of newer versions are asked only where the version has them. */
static void describe_features(cl_device_id id, const char *extensions, hone_device_info *info)
{
    cl_command_queue_properties queue = 0;
    ask(id, CL_DEVICE_QUEUE_PROPERTIES, &queue, sizeof queue);
    info->out_of_order = queue & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    info->fp16 = text_has_word(extensions, "cl_khr_fp16");
    info->fp64 = text_has_word(extensions, "cl_khr_fp64");
    info->subgroups = text_has_word(extensions, "cl_khr_subgroups");
    if (info->version >= 200) {
        cl_device_svm_capabilities svm = 0;
        ask(id, CL_DEVICE_SVM_CAPABILITIES, &svm, sizeof svm);
        info->svm_coarse = svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
        info->svm_fine = svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
    }
    cl_device_partition_property how[16] = {0};
    bool equally = false;
    if (info->version >= 120 && ask(id, CL_DEVICE_PARTITION_PROPERTIES, how, sizeof how))
        for (size_t i = 0; i < COUNT_OF(how) && how[i]; i++)
            equally = equally || how[i] == CL_DEVICE_PARTITION_BY_COUNTS;
    info->max_sub_devices = equally ? ask_unsigned(id, CL_DEVICE_PARTITION_MAX_SUB_DEVICES) : 0;
}

static void note_used_extensions(const char *extensions, hone_device_info *info)
{
    static const char *const used[] = {"cl_khr_fp16",
                                       "cl_khr_fp64",
                                       "cl_khr_subgroups",
                                       "cl_khr_egl_image",
                                       "cl_khr_image2d_from_buffer",
                                       "cl_khr_integer_dot_product",
                                       "cl_khr_byte_addressable_store",
                                       "cl_qcom_perf_hint",
                                       "cl_qcom_ion_host_ptr",
                                       "cl_qcom_android_native_buffer_host_ptr",
                                       "cl_nv_device_attribute_query",
                                       "cl_amd_device_attribute_query"};
    size_t length = 0;
    for (size_t i = 0; i < COUNT_OF(used); i++)
        if (text_has_word(extensions, used[i]))
            length += (size_t)snprintf(info->used_extensions + length, sizeof info->used_extensions - length,
                                       "%s%s", length ? " " : "", used[i]);
}

static hone_status check_answers(const struct questions *questions, const hone_device_info *info,
                                 hone_error *error)
{
    if (questions->failed)
        return cl_failed(error, questions->code,
                         "a device of platform '%s' does not describe itself: clGetDeviceInfo of %s",
                         info->platform, questions->failed);
    if (info->name[0] == '\0' || info->platform[0] == '\0' || info->max_work_group == 0)
        return error_set(error, HONE_ERROR_DEVICE, "a device of platform '%s' does not describe itself",
                         info->platform);
    return HONE_OK;
}

hone_status platform_describe(cl_platform_id platform, cl_device_id id, hone_device_info *info,
                              char **extensions, hone_error *error)
{
    struct questions questions = {.id = id};
    *info = (hone_device_info){0};
    platform_text(platform, CL_PLATFORM_NAME, info->platform, sizeof info->platform);
    platform_text(platform, CL_PLATFORM_VERSION, info->platform_version, sizeof info->platform_version);
    *extensions = platform_device_text(id, CL_DEVICE_EXTENSIONS);
    if (!*extensions || !require_names(&questions, info)) {
        free(*extensions);
        *extensions = NULL;
        return error_memory(error, "the description of a device");
    }
    info->kind = kind_of(&questions);
    require_sizes(&questions, info);
    hone_status status = check_answers(&questions, info, error);
    if (status) {
        free(*extensions);
        *extensions = NULL;
        return status;
    }
    unsigned major = 1, minor = 0;
    sscanf(info->device_version, "OpenCL %u.%u", &major, &minor);
    info->version = major * 100 + minor * 10;
    describe_sizes(id, info);
    describe_features(id, *extensions, info);
    note_used_extensions(*extensions, info);
    /* What is asked of a driver, and what is not, depends on whose it is. */
    vendor_describe(id, *extensions, info);
    return HONE_OK;
}

const char *hone_device_kind_name(hone_device_kind kind)
{
    static const char *const names[] = {"cpu", "gpu", "accelerator", "other"};
    return (unsigned)kind < COUNT_OF(names) ? names[kind] : "other";
}

hone_status hone_device_list(hone_device_info **list, size_t *count, hone_error *error)
{
    struct found_device *found = NULL;
    size_t all = 0;
    if (!list || !count)
        return error_usage(error, "hone_device_list needs places for the list and its length");
    *list = NULL;
    *count = 0;
    hone_status status = platform_find_devices(&found, &all, error);
    if (status)
        return status;
    hone_device_info *infos = mem_new(all, sizeof *infos);
    if (!infos)
        status = error_memory(error, "the list of devices");
    for (size_t i = 0; i < all && !status; i++) {
        char *extensions = NULL;
        hone_error why;
        /* One that cannot be described is left out; the others keep their numbers. */
        if (question_describe(&found[i], all - i, &infos[*count], &extensions, &why) == HONE_OK)
            infos[(*count)++].index = (unsigned)i;
        else if (why.status == HONE_ERROR_MEMORY && !why.cl_code)
            status = error_memory(error, "the list of devices");
        free(extensions);
    }
    free(found);
    if (status) {
        free(infos);
        *count = 0;
        return status;
    }
    *list = infos;
    return HONE_OK;
}

void hone_device_list_free(hone_device_info **list)
{
    if (!list)
        return;
    free(*list);
    *list = NULL;
}

static void examine_platform(cl_platform_id platform, struct platform_info *info)
{
    struct found_device found[MAX_DEVICES];
    size_t count = 0;
    hone_error error = {.status = HONE_OK};
    add_devices(found, &count, platform, info->name, &error);
    info->code = error.cl_code;
    info->devices = (unsigned)count;
    info->hangs = patience_is_late(platform);
    if (info->hangs)
        return;
    platform_text(platform, CL_PLATFORM_VERSION, info->version, sizeof info->version);
    platform_text(platform, CL_PLATFORM_VENDOR, info->vendor, sizeof info->vendor);
    for (size_t i = 0; i < count; i++) {
        hone_device_info device;
        char *extensions = NULL;
        info->undescribed += question_describe(&found[i], count - i, &device, &extensions, NULL) != HONE_OK;
        free(extensions);
    }
}

hone_status platform_count_devices(size_t *count, hone_error *error)
{
    struct found_device *found = NULL;
    TRY(platform_find_devices(&found, count, error));
    free(found);
    return HONE_OK;
}

hone_status platform_list(struct platform_info **list, size_t *count, hone_error *error)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint found = 0;
    *list = NULL;
    *count = 0;
    TRY(ask_platforms(platforms, &found, error));
    *list = mem_new(found, sizeof **list);
    if (!*list)
        return error_memory(error, "the list of platforms");
    for (cl_uint i = 0; i < found; i++)
        examine_platform(platforms[i], &(*list)[i]);
    *count = found;
    return HONE_OK;
}
