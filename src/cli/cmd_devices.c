/* SPDX-License-Identifier: BSD-2-Clause */
/* hone devices: what OpenCL offers on this machine. */
#include "cli/cli.h"
#include "cli/show.h"

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cl/platforms.h"
#include "hone/device.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *yes(bool value)
{
    return value ? "yes" : "no";
}

static void show_bytes_row(const char *label, uint64_t bytes, const char *remark)
{
    char size[32];
    show_bytes(bytes, size, sizeof size);
    show_row(label, "%s%s", size, remark);
}

static void show_names(const hone_device_info *d)
{
    printf("%u  %s\n", d->index, d->board[0] ? d->board : d->name);
    show_row("kind", "%s", hone_device_kind_name(d->kind));
    if (d->board[0])
        show_row("name", "%s", d->name);
    show_row("vendor", "%s (0x%04x)", d->vendor, d->vendor_id);
    show_row("architecture", "%s", d->architecture);
    show_row("platform", "%s, %s", d->platform, d->platform_version);
    show_row("driver", "%s", d->driver_version);
    show_row("version", "%s; kernels: %s", d->device_version, d->c_version);
}

static void show_sizes(const hone_device_info *d)
{
    if (d->clock_mhz)
        show_row("compute units", "%u at %u MHz", d->compute_units, d->clock_mhz);
    else
        show_row("compute units", "%u", d->compute_units);
    if (d->simd_width)
        show_row("SIMD width", "%s", show_count(d->simd_width, "work-item").text);
    if (d->registers_per_group)
        show_row("registers", "%u per work-group, of 32 bits", d->registers_per_group);
    show_row("work-group", "at most %s, %zu x %zu x %zu", show_count(d->max_work_group, "work-item").text,
             d->max_work_items[0], d->max_work_items[1], d->max_work_items[2]);
    show_bytes_row("global memory", d->global_memory, d->unified_memory ? ", shared with the host" : "");
    show_bytes_row("largest buffer", d->max_allocation, "");
    show_bytes_row("global cache", d->global_cache, "");
    show_row("cache line", "%u bytes", d->cache_line);
    show_bytes_row("local memory", d->local_memory, d->local_memory_is_dedicated ? "" : ", in global memory");
    show_bytes_row("constant memory", d->constant_memory, "");
    show_row("addresses", "%u bits, buffers aligned to %u bytes", d->address_bits, d->base_align);
}

static void show_features(const hone_device_info *d)
{
    if (d->images)
        show_row("images", "up to %zu x %zu pixels", d->image_width, d->image_height);
    else
        show_row("images", "no");
    show_row("fp16, fp64", "%s, %s", yes(d->fp16), yes(d->fp64));
    show_row("subgroups", "%s", yes(d->subgroups));
    show_row("shared virtual", "%s", d->svm_fine ? "fine-grained" : d->svm_coarse ? "coarse-grained" : "no");
    show_row("out of order", "%s", yes(d->out_of_order));
    if (d->max_sub_devices > 1)
        show_row("sub-devices", "up to %u", d->max_sub_devices);
    show_row("timer", "%" PRIu64 " ns", d->timer_resolution);
    if (text_has_word(d->used_extensions, "cl_qcom_perf_hint"))
        show_row("performance", "%s", "--perf-hint of apply, bench and profile sets its clock");
    show_row("extensions used", "%s", d->used_extensions);
}

/* ---- Under -v: all that it tells ---- */

static const char *order_of(const struct format_details *format)
{
    return format->order ? format->order : format->number[0];
}

static const char *type_of(const struct format_details *format)
{
    return format->type ? format->type : format->number[1];
}

/* A line for each channel order; formats that are not both read and written say so. */
static void show_formats(const struct device_details *details)
{
    for (size_t i = 0; i < details->format_count; i++) {
        const char *order = order_of(&details->formats[i]);
        struct text line = {0};
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told = told || strcmp(order_of(&details->formats[k]), order) == 0;
        for (size_t k = i; k < details->format_count && !told; k++) {
            const struct format_details *format = &details->formats[k];
            if (strcmp(order_of(format), order) == 0)
                text_add(&line, " %s%s", type_of(format),
                         format->reads && format->writes ? ""
                         : format->reads                 ? " (read)"
                                                         : " (write)");
        }
        if (!told)
            show_row(i ? "" : "image formats", "%s:%s", order, text_view(&line));
        text_finish(&line);
    }
    if (!details->formats_known)
        show_row("image formats", "not known: the driver does not list them");
}

static void show_extensions(const char *extensions)
{
    const char *label = "extensions";
    while (*extensions) {
        const size_t length = strcspn(extensions, " ");
        show_row(label, "%.*s", (int)length, extensions);
        label = "";
        extensions += length + (extensions[length] == ' ');
    }
}

static void show_details(const struct device_details *d)
{
    show_row("profile", "%s", d->profile);
    if (d->preferred_multiple)
        show_row("preferred multiple", "%s", show_count(d->preferred_multiple, "work-item").text);
    else
        show_row("preferred multiple", "not known: asked of the device since OpenCL 3.0");
    show_row("native vectors", "%u char, %u short, %u int, %u half, %u float, %u double",
             d->native_width_char, d->native_width_short, d->native_width_int, d->native_width_half,
             d->native_width_float, d->native_width_double);
    show_row("queues", "%s%s", d->profiling ? "with time stamps" : "without time stamps",
             d->out_of_order ? ", in order or out of order" : ", in order only");
    show_row("device queues", "%s%s", d->device_queue ? "yes" : "no",
             d->device_queue && !d->device_out_of_order ? ", in order only" : "");
    show_formats(d);
    show_extensions(d->extensions);
}

static void show_device(const hone_device_info *device, bool verbose)
{
    struct device_details details;
    hone_error error;
    show_names(device);
    show_sizes(device);
    show_features(device);
    if (!verbose)
        return;
    if (device_details(&details, device->index, &error)) {
        show_row("more", "not known: %s", error.message);
        return;
    }
    show_details(&details);
    device_details_finish(&details);
}

static bool add_text(json_t *object, const char *key, const char *text)
{
    return json_object_set_new(object, key, json_text(text)) == 0;
}

static bool add_number(json_t *object, const char *key, uint64_t number)
{
    return json_object_set_new(object, key, json_integer((json_int_t)number)) == 0;
}

static bool add_flag(json_t *object, const char *key, bool value)
{
    return json_object_set_new(object, key, json_boolean(value)) == 0;
}

static bool add_names(json_t *o, const hone_device_info *d)
{
    return add_number(o, "index", d->index) && add_text(o, "kind", hone_device_kind_name(d->kind)) &&
           add_text(o, "name", d->name) && add_text(o, "board", d->board) &&
           add_text(o, "vendor", d->vendor) && add_number(o, "vendor_id", d->vendor_id) &&
           add_text(o, "architecture", d->architecture) && add_text(o, "platform", d->platform) &&
           add_text(o, "platform_version", d->platform_version) &&
           add_text(o, "driver_version", d->driver_version) &&
           add_text(o, "device_version", d->device_version) && add_text(o, "c_version", d->c_version) &&
           add_number(o, "version", d->version);
}

static bool add_sizes(json_t *o, const hone_device_info *d)
{
    json_t *items = json_pack("[III]", (json_int_t)d->max_work_items[0], (json_int_t)d->max_work_items[1],
                              (json_int_t)d->max_work_items[2]);
    return add_number(o, "compute_units", d->compute_units) && add_number(o, "clock_mhz", d->clock_mhz) &&
           add_number(o, "simd_width", d->simd_width) &&
           add_number(o, "registers_per_group", d->registers_per_group) &&
           add_number(o, "max_work_group", d->max_work_group) &&
           json_object_set_new(o, "max_work_items", items) == 0 &&
           add_number(o, "global_memory", d->global_memory) &&
           add_flag(o, "unified_memory", d->unified_memory) &&
           add_number(o, "max_allocation", d->max_allocation) &&
           add_number(o, "global_cache", d->global_cache) && add_number(o, "cache_line", d->cache_line) &&
           add_number(o, "local_memory", d->local_memory) &&
           add_flag(o, "local_memory_is_dedicated", d->local_memory_is_dedicated) &&
           add_number(o, "constant_memory", d->constant_memory) &&
           add_number(o, "address_bits", d->address_bits) && add_number(o, "base_align", d->base_align);
}

static bool add_features(json_t *o, const hone_device_info *d)
{
    return add_flag(o, "images", d->images) && add_number(o, "image_width", d->image_width) &&
           add_number(o, "image_height", d->image_height) && add_flag(o, "fp16", d->fp16) &&
           add_flag(o, "fp64", d->fp64) && add_flag(o, "subgroups", d->subgroups) &&
           add_flag(o, "svm_coarse", d->svm_coarse) && add_flag(o, "svm_fine", d->svm_fine) &&
           add_flag(o, "out_of_order", d->out_of_order) &&
           add_number(o, "max_sub_devices", d->max_sub_devices) &&
           add_number(o, "timer_resolution_ns", d->timer_resolution) &&
           add_text(o, "used_extensions", d->used_extensions);
}

static json_t *extensions_json(const char *extensions)
{
    json_t *list = json_array();
    while (*extensions) {
        const size_t length = strcspn(extensions, " ");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
                 extensions);
        json_array_append_new(list, json_text(word));
        extensions += length + (extensions[length] == ' ');
    }
    return list;
}

static json_t *formats_json(const struct device_details *d)
{
    json_t *list = d->formats_known ? json_array() : json_null();
    for (size_t i = 0; d->formats_known && i < d->format_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b}", "order", order_of(&d->formats[i]),
                                              "type", type_of(&d->formats[i]), "reads",
                                              (int)d->formats[i].reads, "writes", (int)d->formats[i].writes));
    return list;
}

static json_t *widths_json(const struct device_details *d)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "char", (int)d->native_width_char, "short",
                     (int)d->native_width_short, "int", (int)d->native_width_int, "half",
                     (int)d->native_width_half, "float", (int)d->native_width_float, "double",
                     (int)d->native_width_double);
}

/* What cannot be found out is null. */
static bool add_details(json_t *o, const hone_device_info *info)
{
    struct device_details d;
    if (device_details(&d, info->index, NULL))
        return json_object_set_new(o, "profile", json_null()) == 0;
    json_t *more = json_pack(
        "{s:o, s:o, s:o, s:o, s:{s:b, s:b}, s:{s:b, s:b, s:i}, s:o}", "profile", json_text(d.profile),
        "extensions", extensions_json(d.extensions), "preferred_multiple",
        d.preferred_multiple ? json_integer(d.preferred_multiple) : json_null(), "native_vectors",
        widths_json(&d), "queue", "profiling", (int)d.profiling, "out_of_order", (int)d.out_of_order,
        "device_queue", "there", (int)d.device_queue, "out_of_order", (int)d.device_out_of_order, "bytes",
        (int)d.device_queue_bytes, "image_formats", formats_json(&d));
    const bool ok = more && json_object_update(o, more) == 0;
    json_decref(more);
    device_details_finish(&d);
    return ok;
}

static bool print_json(const hone_device_info *list, size_t count)
{
    json_t *devices = json_array();
    bool ok = devices != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        json_t *one = json_object();
        ok = one && add_names(one, &list[i]) && add_sizes(one, &list[i]) && add_features(one, &list[i]) &&
             add_details(one, &list[i]);
        ok = json_array_append_new(devices, one) == 0 && ok;
    }
    json_t *whole = json_pack("{so}", "devices", devices);
    if (ok)
        return cli_print_json(whole);
    json_decref(whole);
    return false;
}

static int report(const struct common_options *common, const hone_device_info *list, size_t count)
{
    hone_error error;
    if (common->json && !print_json(list, count))
        return cli_reported(common, false);
    for (size_t i = 0; i < count && !common->json; i++) {
        printf("%s", i ? "\n" : "");
        show_device(&list[i], common->verbose);
    }
    if (count)
        return EXIT_DONE;
    error_set(&error, HONE_ERROR_NO_DEVICE,
              "no OpenCL device on this machine; to use the CPU, install PoCL (Debian: apt install "
              "pocl-opencl-icd), "
              "for a GPU its OpenCL driver; 'hone doctor' tells which");
    return cli_fail(common, &error);
}

static int report_one(const struct common_options *common)
{
    hone_device *device = NULL;
    hone_error error;
    if (cli_open_device(&device, common, common->device, &error))
        return cli_fail(common, &error);
    int status = report(common, hone_device_get_info(device), 1);
    hone_device_close(&device);
    return status;
}

static int run(int argc, char **argv)
{
    struct common_options common;
    struct operands operands;
    hone_device_info *list = NULL;
    size_t count = 0;
    hone_error error;
    enum parsed parsed = cli_parse(&command_devices, argc, argv, NULL, &common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    if (operands.count)
        return cli_usage(&command_devices, "it takes no operand '%s'; --device SPEC shows one device",
                         operands.items[0]);
    if (common.device)
        return report_one(&common);
    if (cli_list_devices(&list, &count, &common, &error))
        return cli_fail(&common, &error);
    int status = report(&common, list, count);
    hone_device_list_free(&list);
    return status;
}

const struct command command_devices = {
    .name = "devices",
    .summary = "list the OpenCL devices of this machine",
    .usage =
        "usage: hone devices [OPTION...]\n"
        "\n"
        "Lists the OpenCL devices with the properties that matter to kernels. --device accepts the number\n"
        "in front of a device. With --device, shows only that device. -v and --json add the profile, all\n"
        "extensions, the image formats, the preferred multiple of work-group sizes, native vector widths "
        "and\n"
        "the properties of queues. Sizes in JSON are in bytes.\n",
    .run = run,
};
