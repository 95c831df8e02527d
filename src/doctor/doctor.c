/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor/doctor.h"

#include "base/error.h"
#include "cl/drivercache.h"
#include "doctor/internal.h"
#include "hone/cache.h"

#include <stdarg.h>
#include <stdio.h>

const char *doctor_part_name(enum doctor_part part)
{
    static const char *const names[] = {"loader", "drivers", "device", "filters", "cache"};
    return names[part];
}

const char *doctor_state_name(enum doctor_state state)
{
    static const char *const names[] = {"fine", "note", "warning", "wrong"};
    return names[state];
}

void doctor_tell(struct doctor *doctor, enum doctor_part part, enum doctor_state state, int device,
                 const char *subject, const char *advice, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    doctor->result.warnings += state == DOCTOR_WARNING;
    doctor->result.wrong += state == DOCTOR_WRONG;
    const struct doctor_finding finding = {part, state, device, subject, text, advice};
    doctor->request->tell(doctor->request->user, &finding);
}

void doctor_begin(struct doctor *doctor, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    doctor->request->begin(doctor->request->user, text);
}

/* ---- The self-test of a device ---- */

static void tell_feature(struct doctor *doctor, int index, const hone_feature_info *feature)
{
    const char *advice = feature->required ? "use another device, or another version of this driver" : NULL;
    enum doctor_state state = feature->required ? DOCTOR_WRONG : DOCTOR_NOTE;
    if (!feature->holds)
        doctor_tell(doctor, DOCTOR_DEVICE, state, index, feature->name, advice, "%s: no; %s",
                    feature->meaning, feature->without);
}

static void look_at_features(struct doctor *doctor, hone_device *device)
{
    int index = (int)hone_device_get_info(device)->index;
    unsigned required = 0, hold = 0;
    hone_feature_info feature;
    hone_error error;
    doctor_begin(doctor, "the self-test of device %d", index);
    if (doctor->request->again && hone_device_self_test(device, NULL, &error))
        doctor_tell(doctor, DOCTOR_DEVICE, DOCTOR_WRONG, index, "self-test", NULL, "%s", error.message);
    for (size_t i = 0; hone_device_feature(device, i, &feature); i++) {
        required += feature.required;
        hold += feature.required && feature.holds;
    }
    if (hold == required)
        doctor_tell(doctor, DOCTOR_DEVICE, DOCTOR_FINE, index, "self-test", NULL,
                    "the %u things that must work do", required);
    for (size_t i = 0; hone_device_feature(device, i, &feature); i++)
        tell_feature(doctor, index, &feature);
}

/* ---- Devices ---- */

static void look_at_open_device(struct doctor *doctor, hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    uint64_t budget = 0;
    hone_device_memory(device, NULL, &budget);
    doctor->result.devices++;
    doctor_tell(doctor, DOCTOR_DEVICE, DOCTOR_FINE, (int)info->index,
                info->board[0] ? info->board : info->name, NULL,
                "%s, %s, driver %s; hone may use %.1f GB of its memory", hone_device_kind_name(info->kind),
                info->platform, info->driver_version, (double)budget * 1e-9);
    look_at_features(doctor, device);
    doctor_look_at_filters(doctor, device);
    doctor_look_at_quarantine(doctor, device);
}

static hone_status look_at_device(struct doctor *doctor, const char *spec, hone_error *error)
{
    hone_device *device = NULL;
    hone_device_request request = doctor->request->device;
    request.spec = spec;
    doctor_begin(doctor, "opening device %s", spec);
    TRY(hone_device_open(&device, &request, error));
    look_at_open_device(doctor, device);
    hone_device_close(&device);
    return HONE_OK;
}

static hone_status look_at_all_devices(struct doctor *doctor, hone_error *error)
{
    hone_device_info *list = NULL;
    size_t count = 0;
    hone_status status = hone_device_list(&list, &count, error);
    for (size_t i = 0; i < count && !status; i++) {
        char spec[16];
        hone_error why;
        snprintf(spec, sizeof spec, "%u", list[i].index);
        if (look_at_device(doctor, spec, &why))
            doctor_tell(doctor, DOCTOR_DEVICE, DOCTOR_WRONG, (int)list[i].index, list[i].name,
                        "clinfo shows whether other programs can use it", "it cannot be opened: %s",
                        why.message);
    }
    hone_device_list_free(&list);
    return status;
}

static hone_status look_at_devices(struct doctor *doctor, hone_error *error)
{
    const char *spec = doctor->request->device.spec;
    hone_status status = spec ? look_at_device(doctor, spec, error) : look_at_all_devices(doctor, error);
    if (status || doctor->result.devices)
        return status;
    return error_set(error, HONE_ERROR_NO_DEVICE, "no OpenCL device on this machine that hone can use");
}

/* ---- The cache folder ---- */

static void look_at_entries(struct doctor *doctor, const hone_cache_entry *list, size_t count,
                            const char *folder)
{
    size_t damaged = 0, crashed = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        damaged += list[i].present && !list[i].valid;
        crashed += list[i].crashes > 0;
        bytes += list[i].bytes;
    }
    doctor_tell(doctor, DOCTOR_CACHE, DOCTOR_FINE, -1, "folder", NULL, "%s: %zu compiled program%s, %.1f MB",
                folder, count - crashed, count - crashed == 1 ? "" : "s", (double)bytes * 1e-6);
    if (damaged)
        doctor_tell(doctor, DOCTOR_CACHE, DOCTOR_WARNING, -1, "programs",
                    "hone cache verify --repair removes them", "damaged, and therefore not used: %zu",
                    damaged);
    if (crashed)
        doctor_tell(doctor, DOCTOR_CACHE, DOCTOR_WARNING, -1, "programs", "hone cache clear allows a new try",
                    "ended the process in their driver, and are left out after two times: %zu", crashed);
}

static void look_at_cache(struct doctor *doctor)
{
    hone_cache_info info;
    hone_cache_entry *list = NULL;
    size_t count = 0;
    hone_error error;
    if (driver_cache_moved())
        doctor_tell(doctor, DOCTOR_CACHE, DOCTOR_WARNING, -1, "space",
                    "make room there, or set XDG_CACHE_HOME to a folder with room", "%s",
                    driver_cache_moved());
    if (doctor->request->device.no_disk_cache)
        return;
    if (driver_cache_damaged())
        doctor_tell(doctor, DOCTOR_CACHE, DOCTOR_WARNING, -1, "driver",
                    "hone cache verify --repair gives the driver a fresh folder",
                    "machine code that PoCL keeps is damaged, and may end the process: files: %zu",
                    driver_cache_damaged());
    if (hone_cache_get_info(&info, &error) || hone_cache_list(&list, &count, &error))
        doctor_tell(doctor, DOCTOR_CACHE, DOCTOR_WARNING, -1, "folder",
                    "without it programs are compiled at every start", "%s", error.message);
    else
        look_at_entries(doctor, list, count, info.folder);
    hone_cache_list_free(&list);
}

hone_status doctor_run(const struct doctor_request *request, struct doctor_result *result, hone_error *error)
{
    struct doctor doctor = {.request = request};
    hone_status status = doctor_look_at_setup(&doctor, error);
    THEN(status, look_at_devices(&doctor, error));
    if (status == HONE_ERROR_NO_DEVICE && doctor.result.devices == 0 && !request->device.spec)
        doctor_advise_install(&doctor);
    look_at_cache(&doctor);
    *result = doctor.result;
    return status;
}
