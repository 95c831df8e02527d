/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that a device tells of itself. */
#include "base/mem.h"
#include "cl/listing/patience.h"
#include "cl/listing/questions.h"
#include "cl/platforms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE
#define CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 0x1067
#endif

/* ---- Names ---- */

struct named {
    cl_uint number;
    const char *name;
};

#ifndef CL_DEPTH_STENCIL /* newer headers have it with the extension that it belongs to */
#define CL_DEPTH_STENCIL 0x10BE
#endif

#define ORDER(name)                                                                                          \
    {                                                                                                        \
        CL_##name, #name                                                                                     \
    }
static const struct named orders[] = {
    ORDER(R),    ORDER(A),     ORDER(RG),    ORDER(RA),        ORDER(RGB),
    ORDER(RGBA), ORDER(BGRA),  ORDER(ARGB),  ORDER(INTENSITY), ORDER(LUMINANCE),
    ORDER(Rx),   ORDER(RGx),   ORDER(RGBx),  ORDER(DEPTH),     ORDER(DEPTH_STENCIL),
    ORDER(sRGB), ORDER(sRGBx), ORDER(sRGBA), ORDER(sBGRA),     ORDER(ABGR),
};
static const struct named types[] = {
    ORDER(SNORM_INT8),       ORDER(SNORM_INT16),     ORDER(UNORM_INT8),
    ORDER(UNORM_INT16),      ORDER(UNORM_SHORT_565), ORDER(UNORM_SHORT_555),
    ORDER(UNORM_INT_101010), ORDER(SIGNED_INT8),     ORDER(SIGNED_INT16),
    ORDER(SIGNED_INT32),     ORDER(UNSIGNED_INT8),   ORDER(UNSIGNED_INT16),
    ORDER(UNSIGNED_INT32),   ORDER(HALF_FLOAT),      ORDER(FLOAT),
};

static const char *name_of(const struct named *list, size_t count, cl_uint number, char text[16])
{
    for (size_t i = 0; i < count; i++)
        if (list[i].number == number)
            return list[i].name;
    snprintf(text, 16, "0x%x", number);
    return NULL;
}

/* ---- Image formats ---- */

static cl_image_format *list_formats(cl_context context, cl_mem_flags flags, cl_uint *count)
{
    *count = 0;
    if (clGetSupportedImageFormats(context, flags, CL_MEM_OBJECT_IMAGE2D, 0, NULL, count) != CL_SUCCESS)
        return NULL;
    cl_image_format *list = mem_new(*count, sizeof *list);
    if (list && *count &&
        clGetSupportedImageFormats(context, flags, CL_MEM_OBJECT_IMAGE2D, *count, list, NULL) != CL_SUCCESS) {
        free(list);
        list = NULL;
    }
    return list;
}

static struct format_details *find_format(struct device_details *details, const struct format_details *wanted)
{
    for (size_t i = 0; i < details->format_count; i++) {
        struct format_details *have = &details->formats[i];
        if (have->order == wanted->order && have->type == wanted->type &&
            strcmp(have->number[0], wanted->number[0]) == 0 &&
            strcmp(have->number[1], wanted->number[1]) == 0)
            return have;
    }
    return NULL;
}

/* `formats` has room. */
static void add_formats(struct device_details *details, const cl_image_format *list, cl_uint count,
                        bool writes)
{
    for (cl_uint i = 0; i < count; i++) {
        struct format_details format = {0};
        format.order = name_of(orders, COUNT_OF(orders), list[i].image_channel_order, format.number[0]);
        format.type = name_of(types, COUNT_OF(types), list[i].image_channel_data_type, format.number[1]);
        struct format_details *known = find_format(details, &format);
        if (!known) {
            known = &details->formats[details->format_count++];
            *known = format;
        }
        known->reads = known->reads || !writes;
        known->writes = known->writes || writes;
    }
}

static void ask_formats(struct device_details *details, const struct found_device *found)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)found->platform,
                                                0};
    cl_int code = CL_SUCCESS;
    cl_uint read_count = 0, write_count = 0;
    cl_context context = clCreateContext(properties, 1, &found->id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return;
    cl_image_format *reads = list_formats(context, CL_MEM_READ_ONLY, &read_count);
    cl_image_format *writes = list_formats(context, CL_MEM_WRITE_ONLY, &write_count);
    if (reads && writes)
        details->formats = mem_new((size_t)read_count + write_count, sizeof *details->formats);
    if (details->formats) {
        add_formats(details, reads, read_count, false);
        add_formats(details, writes, write_count, true);
        details->formats_known = true;
    }
    free(reads);
    free(writes);
    clReleaseContext(context);
}

/* ---- The rest ---- */

static unsigned ask_unsigned(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    return clGetDeviceInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static void ask_queues(struct device_details *details, cl_device_id id, unsigned version)
{
    cl_command_queue_properties host = 0, device = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_QUEUE_PROPERTIES, sizeof host, &host, NULL) != CL_SUCCESS)
        host = 0;
    details->profiling = host & CL_QUEUE_PROFILING_ENABLE;
    details->out_of_order = host & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    if (version < 200)
        return;
    details->device_queue_bytes = ask_unsigned(id, CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE);
    details->device_queue = details->device_queue_bytes > 0;
    if (clGetDeviceInfo(id, CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, sizeof device, &device, NULL) == CL_SUCCESS)
        details->device_out_of_order = device & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

static void ask_widths(struct device_details *details, cl_device_id id, unsigned version)
{
    size_t multiple = 0;
    details->native_width_char = ask_unsigned(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR);
    details->native_width_short = ask_unsigned(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT);
    details->native_width_int = ask_unsigned(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT);
    details->native_width_half = ask_unsigned(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF);
    details->native_width_float = ask_unsigned(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    details->native_width_double = ask_unsigned(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE);
    if (version >= 300 && clGetDeviceInfo(id, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple,
                                          &multiple, NULL) == CL_SUCCESS)
        details->preferred_multiple = (unsigned)multiple;
}

/* In place. */
static void single_spaces(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at > ' ')
            *to++ = *at;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    if (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
}

static hone_status describe(struct device_details *details, const struct found_device *found,
                            hone_error *error)
{
    hone_device_info info;
    TRY(platform_describe(found->platform, found->id, &info, &details->extensions, error));
    char *profile = platform_device_text(found->id, CL_DEVICE_PROFILE);
    snprintf(details->profile, sizeof details->profile, "%s", profile ? profile : "");
    free(profile);
    single_spaces(details->extensions);
    ask_queues(details, found->id, info.version);
    ask_widths(details, found->id, info.version);
    details->formats_known = !info.images;
    if (info.images)
        ask_formats(details, found);
    return HONE_OK;
}

/* Drivers may hang here as well. */
struct details_question {
    struct question question;
    struct found_device found;
    struct device_details details;
    hone_error error;
    hone_status status;
};

static void ask_details(struct question *question)
{
    struct details_question *q = (struct details_question *)question;
    q->status = describe(&q->details, &q->found, &q->error);
}

static void free_details(struct question *question)
{
    struct details_question *q = (struct details_question *)question;
    device_details_finish(&q->details);
    free(q);
}

static hone_status ask_all(struct device_details *details, const struct found_device *found,
                           hone_error *error)
{
    struct details_question *q = mem_new(1, sizeof *q);
    if (!q)
        return error_memory(error, "the details of a device");
    *q = (struct details_question){.question = {ask_details, free_details}, .found = *found};
    TRY(question_ask(&q->question, "telling its details", error));
    const hone_status status = q->status;
    if (status)
        error_pass(error, &q->error);
    *details = q->details;
    free(q);
    return status;
}

hone_status device_details(struct device_details *details, unsigned index, hone_error *error)
{
    struct found_device *list = NULL;
    size_t count = 0;
    *details = (struct device_details){.extensions = NULL};
    hone_status status = platform_find_devices(&list, &count, error);
    if (!status && index >= count)
        status = error_set(error, HONE_ERROR_NO_DEVICE, "there is no device %u any more", index);
    THEN(status, ask_all(details, &list[index], error));
    free(list);
    if (status)
        device_details_finish(details);
    return status;
}

void device_details_finish(struct device_details *details)
{
    free(details->extensions);
    free(details->formats);
    *details = (struct device_details){.extensions = NULL};
}
