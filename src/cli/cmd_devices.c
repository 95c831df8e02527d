/* SPDX-License-Identifier: BSD-2-Clause */
/* hone devices: what OpenCL offers on this machine. */
#include "cli/cli.h"
#include "cli/show.h"

#include "base/error.h"
#include "base/json_text.h"
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
    show_row("compute units", "%u at %u MHz", d->compute_units, d->clock_mhz);
    if (d->simd_width)
        show_row("SIMD width", "%u work-items", d->simd_width);
    if (d->registers_per_group)
        show_row("registers", "%u per work-group, of 32 bits", d->registers_per_group);
    show_row("work-group", "at most %zu work-items, %zu x %zu x %zu", d->max_work_group, d->max_work_items[0],
             d->max_work_items[1], d->max_work_items[2]);
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
    show_row("extensions used", "%s", d->used_extensions);
}

static void show_device(const hone_device_info *device)
{
    show_names(device);
    show_sizes(device);
    show_features(device);
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

static bool print_json(const hone_device_info *list, size_t count)
{
    json_t *devices = json_array();
    bool ok = devices != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        json_t *one = json_object();
        ok = one && add_names(one, &list[i]) && add_sizes(one, &list[i]) && add_features(one, &list[i]);
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
    if (common->json && !print_json(list, count)) {
        error_memory(&error, "the report");
        return cli_fail(common, &error);
    }
    for (size_t i = 0; i < count && !common->json; i++) {
        printf("%s", i ? "\n" : "");
        show_device(&list[i]);
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
    if (hone_device_list(&list, &count, &error))
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
        "in front of a device. With --device, shows only that device. Sizes in JSON are in bytes.\n",
    .run = run,
};
