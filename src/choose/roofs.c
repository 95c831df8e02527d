/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/roofs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cache/programs.h"
#include "cl/memory.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FORMAT = 1,
    DETAIL_FORMAT = 101, /* of entries that roofs_remember_detail makes */
    MAX_FILE = 1 << 20,
    BYTES = 32 << 20, /* of each buffer: beyond most caches, and fast to move */
    ITEMS = BYTES / 16,
    WORKERS = 1 << 16,
    ROUNDS = 64, /* of 16 multiplications and 16 additions */
    TRIES = 5
};
static const char file_name[] = "roofs.json";

static const char source[] =
    "__kernel void roofs_copy(__global const float4 *in, __global float4 *out)\n"
    "{ size_t i = get_global_id(0); out[i] = in[i]; }\n"
    "__kernel void roofs_work(__global float *out, int rounds, float factor)\n"
    "{ size_t i = get_global_id(0); float16 a = (float16)(i), b = a + factor;\n"
    "  for (int k = 0; k < rounds; k++) { a = a * factor + b; }\n"
    "  float8 c = a.lo + a.hi; float4 d = c.lo + c.hi; out[i] = d.x + d.y + d.z + d.w; }\n";
static const struct program_unit unit = {"roofs", source, ""};

/* ---- Remembering ---- */

static json_t *read_file(void)
{
    char path[PATH_MAX];
    struct text text = {0};
    int folder;
    if (file_private_folder("XDG_DATA_HOME", ".local/share", NULL, path, &folder, NULL))
        return json_array();
    hone_status status = file_private_read(folder, file_name, MAX_FILE, &text, NULL, NULL);
    close(folder);
    json_t *list = status ? NULL : json_loadb(text.data, text.length, 0, NULL);
    text_finish(&text);
    if (json_is_array(list))
        return list;
    json_decref(list);
    return json_array();
}

static void write_file(const json_t *list)
{
    char path[PATH_MAX];
    int folder;
    char *text = json_dumps(list, JSON_INDENT(1) | JSON_SORT_KEYS);
    if (text && file_private_folder("XDG_DATA_HOME", ".local/share", NULL, path, &folder, NULL) == HONE_OK) {
        file_private_write(folder, file_name, text, strlen(text), NULL);
        close(folder);
    }
    free(text);
}

static void device_key(const hone_device_info *device, char *key, size_t size)
{
    snprintf(key, size, "%s; %s; %s; %u", device->platform, device->name, device->driver_version,
             device->compute_units);
}

static size_t find(const json_t *list, const char *key, int format)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *there = json_string_value(json_object_get(entry, "device"));
        if (there && strcmp(there, key) == 0 &&
            json_integer_value(json_object_get(entry, "format")) == format)
            return i;
    }
    return SIZE_MAX;
}

/* Puts an entry (whose owner the list becomes) into the file, in the place of the one that was there. */
static void replace(json_t *list, json_t *entry, const char *key, int format)
{
    const size_t at = find(list, key, format);
    if (entry && at != SIZE_MAX)
        json_array_set_new(list, at, entry);
    else if (entry)
        json_array_append_new(list, entry);
    write_file(list);
}

/* roofs NULL: measuring begins. */
static void remember(const hone_device_info *device, const struct roofs *roofs)
{
    char key[1024];
    device_key(device, key, sizeof key);
    json_t *list = read_file(), *entry = json_pack("{s:i, s:s}", "format", FORMAT, "device", key);
    if (roofs && entry)
        json_object_update_new(entry, json_pack("{s:f, s:f, s:f, s:f, s:f}", "copy", roofs->copy, "upload",
                                                roofs->upload, "download", roofs->download, "launch",
                                                roofs->launch, "operations", roofs->operations));
    replace(list, entry, key, FORMAT);
    json_decref(list);
}

enum roofs_known roofs_recall(const hone_device_info *device, struct roofs *roofs)
{
    char key[1024];
    device_key(device, key, sizeof key);
    json_t *list = read_file(), *entry = json_array_get(list, find(list, key, FORMAT));
    enum roofs_known known = entry ? ROOFS_UNFINISHED : ROOFS_UNKNOWN;
    *roofs = (struct roofs){0};
    if (json_unpack(entry, "{s:F, s:F, s:F, s:F, s:F}", "copy", &roofs->copy, "upload", &roofs->upload,
                    "download", &roofs->download, "launch", &roofs->launch, "operations",
                    &roofs->operations) == 0 &&
        roofs->copy > 0 && roofs->launch >= 0 && roofs->operations > 0)
        known = ROOFS_KNOWN;
    json_decref(list);
    return known;
}

json_t *roofs_recall_detail(const hone_device_info *device)
{
    char key[1024];
    device_key(device, key, sizeof key);
    json_t *list = read_file(),
           *detail = json_object_get(json_array_get(list, find(list, key, DETAIL_FORMAT)), "detail");
    json_incref(detail);
    json_decref(list);
    return detail;
}

void roofs_remember_detail(const hone_device_info *device, json_t *detail)
{
    char key[1024];
    device_key(device, key, sizeof key);
    json_t *list = read_file(),
           *entry = json_pack("{s:i, s:s, s:O}", "format", DETAIL_FORMAT, "device", key, "detail", detail);
    replace(list, entry, key, DETAIL_FORMAT);
    json_decref(list);
}

/* ---- Measuring, by the host's clock: not every device has one of its own ---- */

struct probe {
    hone_device *device;
    struct memory *from, *to;
    struct kernel *copy, *work;
    void *host;
};

static hone_status probe_begin(struct probe *p, hone_error *error)
{
    p->host = mem_new(1, BYTES);
    if (!p->host)
        return error_memory(error, "a probe");
    TRY(memory_create(&p->from, p->device, BYTES, HONE_MEMORY_DEVICE, error));
    TRY(memory_create(&p->to, p->device, BYTES, HONE_MEMORY_DEVICE, error));
    TRY(programs_kernel(&p->copy, p->device, &unit, "roofs_copy", error));
    return programs_kernel(&p->work, p->device, &unit, "roofs_work", error);
}

static void probe_end(struct probe *p)
{
    kernel_destroy(&p->copy);
    kernel_destroy(&p->work);
    memory_destroy(&p->from);
    memory_destroy(&p->to);
    free(p->host);
}

static const struct span whole = {0, BYTES, BYTES, 1};

static hone_status upload(struct probe *p, hone_error *error)
{
    return memory_write(p->from, &whole, p->host, BYTES, (struct wait_list){0}, NULL, error);
}

static hone_status download(struct probe *p, hone_error *error)
{
    return memory_read(p->to, &whole, p->host, BYTES, (struct wait_list){0}, NULL, error);
}

static hone_status run_copy(struct probe *p, size_t items, hone_error *error)
{
    const struct launch launch = {.dimensions = 1, .global = {items}};
    TRY(kernel_set_memory(p->copy, 0, p->from, error));
    TRY(kernel_set_memory(p->copy, 1, p->to, error));
    TRY(kernel_enqueue(p->copy, &launch, (struct wait_list){0}, NULL, error));
    return hone_device_finish(p->device, error);
}

static hone_status copy_all(struct probe *p, hone_error *error)
{
    return run_copy(p, ITEMS, error);
}

static hone_status copy_little(struct probe *p, hone_error *error)
{
    return run_copy(p, 64, error);
}

static hone_status compute(struct probe *p, hone_error *error)
{
    const struct launch launch = {.dimensions = 1, .global = {WORKERS}};
    const int rounds = ROUNDS;
    const float factor = 0.5f;
    TRY(kernel_set_memory(p->work, 0, p->to, error));
    TRY(kernel_set_value(p->work, 1, &rounds, sizeof rounds, error));
    TRY(kernel_set_value(p->work, 2, &factor, sizeof factor, error));
    TRY(kernel_enqueue(p->work, &launch, (struct wait_list){0}, NULL, error));
    return hone_device_finish(p->device, error);
}

/* The shortest of a few runs, seconds; the first one may compile. */
static hone_status best_of(hone_status (*run)(struct probe *p, hone_error *error), struct probe *p,
                           double *seconds, hone_error *error)
{
    hone_status status = run(p, error);
    for (int i = 0; i < TRIES && !status; i++) {
        const uint64_t start = clock_ns();
        status = run(p, error);
        const double spent = (double)(clock_ns() - start) * 1e-9;
        if (i == 0 || spent < *seconds)
            *seconds = spent > 1e-9 ? spent : 1e-9;
    }
    return status;
}

static hone_status measure(struct probe *p, struct roofs *roofs, hone_error *error)
{
    double up = 0, down = 0, copy = 0, work = 0;
    hone_status status = best_of(upload, p, &up, error);
    THEN(status, best_of(copy_all, p, &copy, error));
    THEN(status, best_of(download, p, &down, error));
    THEN(status, best_of(copy_little, p, &roofs->launch, error));
    THEN(status, best_of(compute, p, &work, error));
    if (status)
        return status;
    const bool in_place = memory_can_wrap(p->device, NULL, BYTES);
    roofs->upload = in_place ? 0 : BYTES / up;
    roofs->download = in_place ? 0 : BYTES / down;
    roofs->copy = 2.0 * BYTES / copy;
    roofs->operations = 32.0 * ROUNDS * WORKERS / work;
    return HONE_OK;
}

hone_status roofs_measure(hone_device *device, struct roofs *roofs, hone_error *error)
{
    struct probe probe = {.device = device};
    *roofs = (struct roofs){0};
    remember(hone_device_get_info(device), NULL);
    hone_status status = probe_begin(&probe, error);
    THEN(status, measure(&probe, roofs, error));
    probe_end(&probe);
    if (!status)
        remember(hone_device_get_info(device), roofs);
    return status;
}
